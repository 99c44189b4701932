// SumFwdOp in vector code: along the summed axis where its elements are adjacent, across the kept
// one where those are.
#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

#include "kernels/row_sums.hpp"
#include "kernels/runs.hpp"
#include "kernels/vector_kernel.hpp"
#include "tenon/contracts/reduction.h"

namespace tenon::cpu {
namespace {

/// What sums of T are made in: double, or 64 bits that wrap around.
template <class T>
using Accumulator = std::conditional_t<std::is_integral_v<T>, std::uint64_t, double>;

template <class T>
[[gnu::always_inline]] inline Accumulator<T> term_of(T value) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<std::uint64_t>(value);
  } else {
    return as_double(value);
  }
}

template <class T>
[[gnu::always_inline]] inline T result_of(Accumulator<T> sum) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(sum);
  } else {
    return narrow_branch_free<T>(sum);
  }
}

/// A run of x to add to one sum; or to add element by element to as many sums.
template <class T>
struct Run {
  const T* x = nullptr;
  std::int64_t x_stride = 0;
  std::int64_t count = 0;
  Accumulator<T>* sums = nullptr;
};

template <class T>
[[gnu::always_inline]] inline void add_along(const Run<T>& run) {
  if constexpr (!std::is_integral_v<T>) {
    if (run.x_stride == 1) {
      *run.sums += sum_along_row(run.x, run.count, Itself{});
      return;
    }
  }
  Accumulator<T> sum = 0;
  if (run.x_stride == 1) {
    for (std::int64_t i = 0; i < run.count; ++i) sum += term_of(run.x[i]);
  } else {
    for (std::int64_t i = 0; i < run.count; ++i) sum += term_of(run.x[i * run.x_stride]);
  }
  *run.sums += sum;
}

/// x is adjacent.
template <class T>
[[gnu::always_inline]] inline void add_across(const Run<T>& run) {
  const T* x = run.x;
  Accumulator<T>* sums = run.sums;
#pragma GCC ivdep  // sums are apart from x
  for (std::int64_t i = 0; i < run.count; ++i) sums[i] += term_of(x[i]);
}

TENON_CPU_VARIANTS(add_along, Run)
TENON_CPU_VARIANTS(add_across, Run)

class SumVector : public VectorKernel<contracts::sum_fwd::Call> {
 public:
  static constexpr auto op = "SumFwdOp", interface = "sum_fwd", key = "vector";
  static constexpr std::array dtypes{
      kUInt8, kInt8, kInt16, kInt32, kInt64, kFloat16, kBFloat16, kFloat32};
  static constexpr std::uint32_t layouts = kAllLayouts;

  using VectorKernel::VectorKernel;

  void launch(const Launch& launch) const {
    const View x = view_of(launch, 0);
    const View output = view_of(launch, 1);
    require_dtype(x, output.dtype, "x");
    require_prefix(x, output.sizes(), "x");
    const ElementType dtype = output.dtype;
    if (visit_integer(dtype, [&]<class T>(std::type_identity<T>) { sum<T>(x, output); })) return;
    visit_narrow_float(dtype, [&]<class T>(std::type_identity<T>) { sum<T>(x, output); });
  }

 private:
  /// Sums made at a time across: 16 KiB of them, which stay in the first cache.
  static constexpr std::int64_t kColumns = 2048;

  template <class T>
  void sum(const View& x, const View& output) const {
    const RunLoop<2> kept(output.sizes(), {x.steps().first(output.rank), output.steps()});
    const RunLoop<1> summed(x.sizes_from(output.rank), {x.steps_from(output.rank)});
    const bool across = kept.run_stride(0) == 1 && kept.run_elements() > 1 &&
                        !(summed.run_stride(0) == 1 && summed.run_elements() > 1);
    kept.for_each_run([&](const auto& at) {
      for (std::int64_t start = 0; start < kept.run_elements();) {
        const std::int64_t width = across ? std::min(kColumns, kept.run_elements() - start) : 1;
        const T* from = x.first_as<const T>() + at[0] + start * kept.run_stride(0);
        T* to = output.first_as<T>() + at[1] + start * kept.run_stride(1);
        if (across) {
          sum_across(summed, from, to, kept.run_stride(1), width);
        } else {
          *to = result_of<T>(sum_along(summed, from));
        }
        start += width;
      }
    });
  }

  template <class T>
  Accumulator<T> sum_along(const RunLoop<1>& summed, const T* from) const {
    Accumulator<T> total = 0;
    Run<T> run{nullptr, summed.run_stride(0), summed.run_elements(), &total};
    summed.for_each_run([&](const auto& at) {
      run.x = from + at[0];
      TENON_CPU_RUN(add_along, T, run);
    });
    return total;
  }

  template <class T>
  void sum_across(const RunLoop<1>& summed,
                  const T* from,
                  T* to,
                  std::int64_t to_stride,
                  std::int64_t width) const {
    std::array<Accumulator<T>, kColumns> sums;
    for (std::int64_t i = 0; i < width; ++i) sums[static_cast<std::size_t>(i)] = 0;
    Run<T> run{nullptr, 1, width, sums.data()};
    summed.for_each_run([&](const auto& at) {
      for (std::int64_t i = 0; i < summed.run_elements(); ++i) {
        run.x = from + at[0] + i * summed.run_stride(0);
        TENON_CPU_RUN(add_across, T, run);
      }
    });
    for (std::int64_t i = 0; i < width; ++i)
      to[i * to_stride] = result_of<T>(sums[static_cast<std::size_t>(i)]);
  }
};

}  // namespace

KernelRows sum_vector_kernels() { return kernel_rows<SumVector>(); }

}  // namespace tenon::cpu
