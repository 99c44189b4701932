// AddFwdOp and MulFwdOp: in vectors where everything is dense and aligned, and for any strides.
#include "host/arguments.hpp"
#include "kernels/elementwise.hpp"
#include "tenon/contracts/elementwise.h"

namespace tenon::gpu {
namespace {

// Of the call alpha alone is read: this is on every launch.
AddParameters parameters_of(const Launch& launch) {
  const auto alpha = read<Number>(*launch.raw().call, contracts::add_fwd::kFieldAlpha, "alpha");
  AddParameters parameters;
  parameters.scale = alpha.as_double();
  parameters.factor = alpha.is_int() ? alpha.as_int() : 0;
  parameters.scaled = parameters.scale != 1;
  return parameters;
}

template <class Call>
struct VectorKernel : GpuKernel<Call> {
  static constexpr auto key = "vector";
  static constexpr std::array preferred_over{"general"};
  static constexpr auto dtypes = kNumbers;
  static Refusal refusal(const Call& /*call*/, const ArgFacts& args) {
    return refuse_unaligned(args);
  }
};

template <class Call>
struct StridedKernel : GpuKernel<Call> {
  static constexpr auto key = "general";
  static constexpr bool general = true;
  static constexpr auto dtypes = kNumbers;
  static constexpr std::uint32_t layouts = kAllLayouts;
};

struct AddVector : VectorKernel<contracts::add_fwd::Call> {
  static constexpr auto op = "AddFwdOp", interface = "add_fwd";

  static void launch(const Launch& launch) {
    const ArgView out = launch[2];
    const std::int64_t count = out.element_count();
    if (count == 0) return;
    const AddParameters parameters = parameters_of(launch);
    on_device(launch, "launching add", [&] {
      launch_add_vector(element_of(out.dtype()),
                        launch[0].data(),
                        launch[1].data(),
                        out.data(),
                        count,
                        parameters,
                        stream_of(launch));
    });
  }
};

struct AddStrided : StridedKernel<contracts::add_fwd::Call> {
  static constexpr auto op = "AddFwdOp", interface = "add_fwd";

  static void launch(const Launch& launch) {
    const ArgView out = launch[2];
    const Axes<3> axes = merged_axes<3>({launch[0], launch[1], out}, 0, out.rank());
    if (axes.count == 0) return;
    const AddParameters parameters = parameters_of(launch);
    on_device(launch, "launching add", [&] {
      launch_add_strided(element_of(out.dtype()),
                         launch[0].data(),
                         launch[1].data(),
                         out.data(),
                         axes,
                         fits_31_bits(axes),
                         parameters,
                         stream_of(launch));
    });
  }
};

struct MulVector : VectorKernel<contracts::mul_fwd::Call> {
  static constexpr auto op = "MulFwdOp", interface = "mul_fwd";

  static void launch(const Launch& launch) {
    const ArgView out = launch[2];
    const std::int64_t count = out.element_count();
    if (count == 0) return;
    on_device(launch, "launching mul", [&] {
      launch_mul_vector(element_of(out.dtype()),
                        launch[0].data(),
                        launch[1].data(),
                        out.data(),
                        count,
                        stream_of(launch));
    });
  }
};

struct MulStrided : StridedKernel<contracts::mul_fwd::Call> {
  static constexpr auto op = "MulFwdOp", interface = "mul_fwd";

  static void launch(const Launch& launch) {
    const ArgView out = launch[2];
    const Axes<3> axes = merged_axes<3>({launch[0], launch[1], out}, 0, out.rank());
    if (axes.count == 0) return;
    on_device(launch, "launching mul", [&] {
      launch_mul_strided(element_of(out.dtype()),
                         launch[0].data(),
                         launch[1].data(),
                         out.data(),
                         axes,
                         fits_31_bits(axes),
                         stream_of(launch));
    });
  }
};

}  // namespace

KernelRows arithmetic_kernels() {
  return kernel_rows<AddVector, AddStrided, MulVector, MulStrided>();
}

}  // namespace tenon::gpu
