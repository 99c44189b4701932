// What a step passes in the place of tensors: dense copies, casts, padding; and the way back.
#include <algorithm>

#include "runtime/step_run.hpp"
#include "runtime/workspace.hpp"

namespace tenon {
namespace {

constexpr char kTooLarge[] = "a copy of an argument has more bytes than can be addressed: shape ";

// Memory for a dense tensor of this shape.
Result<void*> take_for(WorkspaceScope& scope, DType dtype, const Dims& shape) {
  const auto count = element_count(shape);
  std::int64_t bytes = 0;
  if (!count ||
      __builtin_mul_overflow(*count, static_cast<std::int64_t>(size_bytes_of(dtype)), &bytes))
    return fail(ErrorCode::kOutOfMemory, kTooLarge + shape.to_string());
  return scope.take(static_cast<std::size_t>(bytes));
}

}  // namespace

Result<void> StepRun::make_copies(WorkspaceScope& scope) {
  for (ThreadState::Copy& copy : state_.copies) {
    void* memory = nullptr;
    TENON_TRY_ASSIGN(memory, take_for(scope, copy.original.dtype, copy.original.shape));
    copy.dense = TensorView(memory, copy.original.dtype, copy.original.shape, copy.original.device);
    // A copy that is written only may leave elements of the original unwritten by the kernel's
    // fault; that is the kernel's.
    if (copy.in) TENON_TRY(instance_.convert(copy.original, copy.dense));
    TensorView& view = state_.views[copy.view];
    view.data = memory;
    view.byte_offset = 0;
  }
  return {};
}

Result<void> StepRun::make_stand_ins(const CallEntry& entry, WorkspaceScope& scope) {
  for (std::size_t arg = 0; arg < decl_.args.size(); ++arg) {
    if (((entry.copied_args >> arg) & 1u) == 0) continue;
    for (std::size_t v = state_.arg_first[arg]; v < state_.arg_first[arg + 1]; ++v)
      TENON_TRY(make_stand_in(entry, arg, v, scope));
  }
  return {};
}

Result<void> StepRun::make_stand_in(const CallEntry& entry,
                                    std::size_t arg,
                                    std::size_t at,
                                    WorkspaceScope& scope) {
  TensorView& view = state_.views[at];
  const KernelType& type = entry.built->type();
  const StandIn passed = stand_in_for(type, view.dtype, size_of({&view, 1}));
  const std::uint32_t role = decl_.args[arg].role;
  Dims shape = view.shape;
  if (passed.pads) {
    std::int64_t& innermost = shape[shape.size() - 1];
    const auto padded = padded_size(innermost, type.alignment());
    if (!padded) return fail(ErrorCode::kOutOfMemory, kTooLarge + shape.to_string());
    innermost = *padded;
  }
  ThreadState::Copy copy{at, view, role != TENON_ROLE_OUT, role != TENON_ROLE_IN, {}};
  const DType dtype = passed.casts ? passed.dtype : view.dtype;
  auto taken = take_for(scope, dtype, shape);
  if (!taken) {
    return fail(error_for("a cast or padded copy of argument '" + decl_.args[arg].name + "'",
                          *entry.built,
                          taken.error()));
  }
  void* const memory = *taken;
  const TensorView whole(memory, dtype, shape, view.device);
  copy.dense = whole;
  copy.dense.shape = view.shape;
  if (copy.in) {
    TENON_TRY(instance_.convert(copy.original, copy.dense));
    if (passed.pads) TENON_TRY(fill_padding(entry, arg, whole, view.shape[shape.size() - 1]));
  }
  view = whole;
  view.dtype = passed.dtype;
  state_.copies.push_back(copy);
  return {};
}

Result<void> StepRun::fill_padding(const CallEntry& entry,
                                   std::size_t arg,
                                   const TensorView& whole,
                                   std::int64_t kept) {
  TensorView region = whole;
  std::int64_t& innermost = region.shape[region.shape.size() - 1];
  innermost -= kept;
  region.byte_offset = static_cast<std::uint64_t>(kept) * size_bytes_of(whole.dtype);
  TensorView element = region;
  element.data = entry.pads->memory();
  element.byte_offset = arg * kPadBytes;
  std::fill_n(element.strides.data(), element.strides.size(), 0);
  return instance_.convert(element, region);
}

Result<std::shared_ptr<Storage>> StepRun::pads_of(const KernelType& type,
                                                  const DeviceEntry& device) const {
  const double value = instance_.construction.op_class->flow->pad_value();
  std::vector<std::byte> elements(decl_.args.size() * kPadBytes);
  for (std::size_t arg = 0; arg < decl_.args.size(); ++arg) {
    const auto dtype = dtype_from_abi(state_.dtypes[arg]);
    if (state_.facts[arg].present == 0 || !dtype) continue;
    const StandIn passed = stand_in_for(type, *dtype, state_.sizes[arg]);
    store_pad(passed.casts ? passed.dtype : *dtype, value, elements.data() + arg * kPadBytes);
  }
  DeviceTable& devices = *instance_.engine().devices;
  auto made = devices.make_tensor(
      DType::kUInt8, Dims{static_cast<std::int64_t>(elements.size())}, device.device);
  if (!made) return fail(std::move(made).error());
  TENON_TRY(devices.copy_bytes(
      device.device, made->storage()->memory(), Device{}, elements.data(), elements.size()));
  return made->storage();
}

void StepRun::reinterpret(const KernelType& type, std::uint64_t copied_args) {
  for (std::size_t arg = 0; arg < decl_.args.size(); ++arg) {
    if (arg < kMaxCopiedArgs && ((copied_args >> arg) & 1u) != 0) continue;
    for (std::size_t v = state_.arg_first[arg]; v < state_.arg_first[arg + 1]; ++v)
      state_.views[v].dtype = type.stored_as(state_.views[v].dtype);
  }
}

// The latest first: a stand-in of a flow's copy goes back to that copy.
Result<void> StepRun::copy_back() {
  for (std::size_t i = state_.copies.size(); i-- > 0;) {
    const ThreadState::Copy& copy = state_.copies[i];
    if (copy.back) TENON_TRY(instance_.convert(copy.dense, copy.original));
  }
  return {};
}

}  // namespace tenon
