// CastFwdOp: in runs of adjacent elements where everything is dense and aligned, and for any
// strides.
#include "kernels/cast.hpp"

#include "host/arguments.hpp"
#include "tenon/contracts/elementwise.h"

namespace tenon::gpu {
namespace {

CastType cast_type_of(ElementType dtype) {
  switch (dtype.id()) {
    case kBool.id():
      return CastType::kBool;
    case kUInt8.id():
      return CastType::kU8;
    case kInt8.id():
      return CastType::kI8;
    case kInt16.id():
      return CastType::kI16;
    case kInt32.id():
      return CastType::kI32;
    case kInt64.id():
      return CastType::kI64;
    case kFloat16.id():
      return CastType::kFloat16;
    case kBFloat16.id():
      return CastType::kBFloat16;
    case kFloat32.id():
      return CastType::kFloat32;
    case kFloat64.id():
      return CastType::kFloat64;
    case kFloat8E4M3FN.id():
      return CastType::kE4M3;
    case kFloat8E5M2.id():
      return CastType::kE5M2;
    default:
      throw Failure(TENON_INVALID_ARGUMENT,
                    "a tensor of dtype " + std::string(dtype.name()) +
                        " arrived, which the contract of cast_fwd does not list");
  }
}

struct CastVector : GpuKernel<contracts::cast_fwd::Call> {
  static constexpr auto op = "CastFwdOp", interface = "cast_fwd", key = "vector";
  static constexpr std::array preferred_over{"general"};

  static Refusal refusal(const Call& /*call*/, const ArgFacts& args) {
    return refuse_unaligned(args);
  }

  static void launch(const Launch& launch) {
    const ArgView x = launch[0];
    const ArgView out = launch[1];
    const std::int64_t count = out.element_count();
    if (count == 0) return;
    on_device(launch, "launching cast", [&] {
      launch_cast_vector(cast_type_of(x.dtype()),
                         cast_type_of(out.dtype()),
                         x.data(),
                         out.data(),
                         count,
                         stream_of(launch));
    });
  }
};

struct CastStrided : GpuKernel<contracts::cast_fwd::Call> {
  static constexpr auto op = "CastFwdOp", interface = "cast_fwd", key = "general";
  static constexpr bool general = true;
  static constexpr std::uint32_t layouts = kAllLayouts;

  static void launch(const Launch& launch) {
    const ArgView x = launch[0];
    const ArgView out = launch[1];
    const Axes<2> axes = merged_axes<2>({x, out}, 0, out.rank());
    if (axes.count == 0) return;
    on_device(launch, "launching cast", [&] {
      launch_cast_strided(cast_type_of(x.dtype()),
                          cast_type_of(out.dtype()),
                          x.data(),
                          out.data(),
                          axes,
                          fits_31_bits(axes),
                          stream_of(launch));
    });
  }
};

}  // namespace

KernelRows cast_kernels() { return kernel_rows<CastVector, CastStrided>(); }

}  // namespace tenon::gpu
