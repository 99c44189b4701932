// GeluFwdOp and CopyFwdOp: in vectors where everything is dense and aligned, and for any strides.
#include "host/arguments.hpp"
#include "kernels/elementwise.hpp"
#include "tenon/contracts/elementwise.h"

namespace tenon::gpu {
namespace {

bool is_tanh(const contracts::gelu_fwd::Call& call) {
  return call.approximate == contracts::gelu_fwd::Approximate::kTanh;
}

struct GeluVector : GpuKernel<contracts::gelu_fwd::Call> {
  static constexpr auto op = "GeluFwdOp", interface = "gelu_fwd", key = "vector";
  static constexpr std::array preferred_over{"general"};
  static constexpr auto dtypes = kFloats;

  static Refusal refusal(const Call& /*call*/, const ArgFacts& args) {
    return refuse_unaligned(args);
  }

  static void launch(const Launch& launch) {
    const ArgView out = launch[1];
    const std::int64_t count = out.element_count();
    if (count == 0) return;
    const bool tanh_form = is_tanh(launch.call<Call>());
    on_device(launch, "launching gelu", [&] {
      launch_gelu_vector(element_of(out.dtype()),
                         launch[0].data(),
                         out.data(),
                         count,
                         tanh_form,
                         stream_of(launch));
    });
  }
};

struct GeluStrided : GpuKernel<contracts::gelu_fwd::Call> {
  static constexpr auto op = "GeluFwdOp", interface = "gelu_fwd", key = "general";
  static constexpr bool general = true;
  static constexpr auto dtypes = kFloats;
  static constexpr std::uint32_t layouts = kAllLayouts;

  static void launch(const Launch& launch) {
    const ArgView out = launch[1];
    const Axes<2> axes = merged_axes<2>({launch[0], out}, 0, out.rank());
    if (axes.count == 0) return;
    const bool tanh_form = is_tanh(launch.call<Call>());
    on_device(launch, "launching gelu", [&] {
      launch_gelu_strided(element_of(out.dtype()),
                          launch[0].data(),
                          out.data(),
                          axes,
                          fits_31_bits(axes),
                          tanh_form,
                          stream_of(launch));
    });
  }
};

struct CopyVector : GpuKernel<contracts::copy_fwd::Call> {
  static constexpr auto op = "CopyFwdOp", interface = "copy_fwd", key = "vector";
  static constexpr std::array preferred_over{"general"};

  static Refusal refusal(const Call& /*call*/, const ArgFacts& args) {
    return refuse_unaligned(args);
  }

  static void launch(const Launch& launch) {
    const ArgView out = launch[1];
    const auto size_bytes =
        out.element_count() * static_cast<std::int64_t>(out.dtype().size_bytes());
    if (size_bytes == 0) return;
    on_device(launch, "launching copy", [&] {
      launch_copy_vector(launch[0].data(), out.data(), size_bytes, stream_of(launch));
    });
  }
};

struct CopyStrided : GpuKernel<contracts::copy_fwd::Call> {
  static constexpr auto op = "CopyFwdOp", interface = "copy_fwd", key = "general";
  static constexpr bool general = true;
  static constexpr std::uint32_t layouts = kAllLayouts;

  static void launch(const Launch& launch) {
    const ArgView out = launch[1];
    const Axes<2> axes = merged_axes<2>({launch[0], out}, 0, out.rank());
    if (axes.count == 0) return;
    on_device(launch, "launching copy", [&] {
      launch_copy_strided(static_cast<int>(out.dtype().size_bytes()),
                          launch[0].data(),
                          out.data(),
                          axes,
                          fits_31_bits(axes),
                          stream_of(launch));
    });
  }
};

}  // namespace

KernelRows unary_kernels() {
  return kernel_rows<GeluVector, GeluStrided, CopyVector, CopyStrided>();
}

}  // namespace tenon::gpu
