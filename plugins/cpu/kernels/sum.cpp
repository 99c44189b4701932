// SumFwdOp, reference: sums over the trailing axes of x, which the flow has put there.
#include "kernels/element_types.hpp"
#include "kernels/reference.hpp"
#include "tenon/contracts/reduction.h"

namespace tenon::cpu {
namespace {

/// Calls add(offset in x) for each term of one sum, in the order of its indices.
template <class Add>
void for_each_term(const View& x, std::size_t kept_rank, std::int64_t start, Add add) {
  for_each_index<1>(x.sizes_from(kept_rank), {x.steps_from(kept_rank)}, [&](const auto& at) {
    add(start + at[0]);
  });
}

template <FloatElement T>
void sum_floats(const View& x, const View& output) {
  for_each_index<2>(output.sizes(), {x.steps(), output.steps()}, [&](const auto& at) {
    CompensatedSum<Compute<T>> sum;
    for_each_term(
        x, output.rank, at[0], [&](std::int64_t offset) { sum.add(widen(x.load<T>(offset))); });
    output.store(at[1], narrow<T>(sum.value()));
  });
}

/// In 64 bits, and the low bits of that: wraps around.
template <class T>
void sum_integers(const View& x, const View& output) {
  for_each_index<2>(output.sizes(), {x.steps(), output.steps()}, [&](const auto& at) {
    std::uint64_t sum = 0;
    for_each_term(x, output.rank, at[0], [&](std::int64_t offset) {
      sum += static_cast<std::uint64_t>(x.load<T>(offset));
    });
    output.store(at[1], static_cast<T>(sum));
  });
}

struct SumReference : ReferenceKernel<contracts::sum_fwd::Call> {
  static constexpr auto op = "SumFwdOp", interface = "sum_fwd";

  static void launch(const Launch& launch) {
    const View x = view_of(launch, 0);
    const View output = view_of(launch, 1);
    require_dtype(x, output.dtype, "x");
    require_prefix(x, output.sizes(), "x");
    const ElementType dtype = output.dtype;
    if (visit_float(dtype, [&]<class T>(std::type_identity<T>) { sum_floats<T>(x, output); }))
      return;
    if (visit_integer(dtype, [&]<class T>(std::type_identity<T>) { sum_integers<T>(x, output); }))
      return;
    unknown_dtype(dtype);
  }
};

}  // namespace

KernelRows sum_kernels() { return kernel_rows<SumReference>(); }

}  // namespace tenon::cpu
