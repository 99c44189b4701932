// Dense copies through the CopyFwdOp table of the call's device.
#include <algorithm>

#include "runtime/instance.hpp"

namespace tenon {

bool Op::Instance::can_copy(DeviceKind kind, DType dtype) const {
  const OpClass* copy = construction.snapshot->find("CopyFwdOp");
  if (copy == nullptr || copy->interfaces.empty() ||
      !copy->plan->decl().inputs.front().dtypes.contains(dtype))
    return false;
  const auto& types = copy->interfaces.front().types;
  return std::any_of(types.begin(), types.end(), [&](const auto& t) {
    return t->serves(kind) && (t->dtypes.empty() || t->dtypes.contains(dtype));
  });
}

Result<void> Op::Instance::copy(const TensorView& from, const TensorView& to) {
  Op* copier = running.copier.load(std::memory_order_acquire);
  if (copier == nullptr) {
    const OpClass* op_class = construction.snapshot->find("CopyFwdOp");
    if (op_class == nullptr) {
      return fail(ErrorCode::kNoImplementation,
                  "a tensor must be copied to be passed to a kernel, and there is no op CopyFwdOp");
    }
    InstanceOptions options;
    options.target = "builtin";
    auto made =
        make_instance(construction.engine, construction.snapshot, *op_class, {}, options, nullptr);
    if (!made) return fail(std::move(made).error());
    (*made)->construction.is_copier = true;
    auto op = std::make_unique<Op>(wrap(std::move(*made)));
    // Only now: making an instance registers it, and who holds the register may wait for this lock.
    const std::lock_guard lock(running.mutex);
    copier = running.copier.load(std::memory_order_acquire);
    if (copier == nullptr) {
      running.copier_owner = std::move(op);
      copier = running.copier_owner.get();
      running.copier.store(copier, std::memory_order_release);
    }
  }
  const TensorView* items[] = {&from};
  const TensorArg inputs[] = {{items, 1}};
  return copier->call_out(inputs, to);
}

}  // namespace tenon
