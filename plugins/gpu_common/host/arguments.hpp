// How kernel types read the tensors of a launch, and the facts that their refusals speak of.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>

#include "device/views.hpp"
#include "host/check.hpp"
#include "host/identity.hpp"
#include "tenon/plugin.hpp"

namespace tenon::gpu {

/// What every kernel type of the plugin declares. Built once per device; the dtype is chosen at the
/// launch.
template <class CallType>
struct GpuKernel {
  static constexpr std::array devices{kKind};
  static constexpr auto supported_archs = kBuiltArchs;
  static constexpr bool deterministic = true;
  static constexpr bool capture_safe = true;
  using Call = CallType;
  static std::tuple<> identity(const Call& /*call*/) { return {}; }
};

inline constexpr std::array kFloats{kFloat16, kBFloat16, kFloat32};
inline constexpr std::array kNumbers{
    kUInt8, kInt8, kInt16, kInt32, kInt64, kFloat16, kBFloat16, kFloat32};

/// Bytes of one vector access in device code.
inline constexpr std::uint32_t kAccessBytes = 16;

/// Throws on a dtype that the plugin's tables do not list.
[[nodiscard]] inline Element element_of(ElementType dtype) {
  switch (dtype.id()) {
    case kFloat16.id():
      return Element::kFloat16;
    case kBFloat16.id():
      return Element::kBFloat16;
    case kFloat32.id():
      return Element::kFloat32;
    case kUInt8.id():
      return Element::kU8;
    case kInt8.id():
      return Element::kI8;
    case kInt16.id():
      return Element::kI16;
    case kInt32.id():
      return Element::kI32;
    case kInt64.id():
      return Element::kI64;
    default:
      throw Failure(TENON_INVALID_ARGUMENT,
                    "a tensor of dtype " + std::string(dtype.name()) +
                        " arrived, which this kernel does not list");
  }
}

/// Refuses where an argument's first element is not aligned to a vector access.
[[nodiscard]] inline Refusal refuse_unaligned(const ArgFacts& args) {
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args.present(i) && args.align_bytes(i) < kAccessBytes) {
      return refuse("align_bytes", at_least(kAccessBytes), args.align_bytes(i))
          .with_code(TENON_REASON_ALIGNMENT)
          .at_argument(static_cast<std::int32_t>(i));
    }
  }
  return serves;
}

/// Elements of a dtype in one vector access.
[[nodiscard]] inline std::int64_t per_access(ElementType dtype) {
  return static_cast<std::int64_t>(kAccessBytes / dtype.size_bytes());
}

/// Axes [first, last) of operands of one shape, merged. All operands have the sizes of the first.
template <int kOperands>
[[nodiscard]] Axes<kOperands> merged_axes(const std::array<TensorRef, kOperands>& tensors,
                                          std::size_t first,
                                          std::size_t last) {
  Axes<kOperands> axes;
  for (std::size_t axis = first; axis < last; ++axis) {
    const std::int64_t size = tensors[0].size(axis);
    axes.count *= size;
    if (size == 1) continue;
    bool joins = axes.rank > 0;
    for (int k = 0; k < kOperands && joins; ++k) {
      const auto at = static_cast<std::size_t>(k);
      joins = axes.strides[k][axes.rank - 1] == tensors[at].stride(axis) * size;
    }
    if (!joins) {
      ++axes.rank;
      axes.sizes[axes.rank - 1] = 1;
    }
    axes.sizes[axes.rank - 1] *= size;
    for (int k = 0; k < kOperands; ++k)
      axes.strides[k][axes.rank - 1] = tensors[static_cast<std::size_t>(k)].stride(axis);
  }
  return axes;
}

/// Whether every element's number and every offset fits into 31 bits.
template <int kOperands>
[[nodiscard]] bool fits_31_bits(const Axes<kOperands>& axes) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (axes.count > kMost) return false;
  for (const auto& strides : axes.strides) {
    std::int64_t reach = 0;
    for (int axis = 0; axis < axes.rank; ++axis)
      reach += (axes.sizes[axis] - 1) * (strides[axis] < 0 ? -strides[axis] : strides[axis]);
    if (reach > kMost) return false;
  }
  return true;
}

[[nodiscard]] inline Stream stream_of(const Launch& launch) { return launch.stream<Stream>(); }

/// Makes the launch's device current, looks whose its stream is, runs the body, and asks what the
/// runtime says of it.
template <class Body>
void on_device(const Launch& launch, const char* what, Body body) {
  const std::int32_t device = launch.device().index();
  const Current current(device);
  require_stream_of(device, stream_of(launch));
  const Status pending = pending_error();
  body();
  check_launch(what, device, pending);
}

}  // namespace tenon::gpu
