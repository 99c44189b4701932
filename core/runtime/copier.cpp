// Dense copies and casts through the CopyFwdOp and CastFwdOp tables of the call's device.
#include <algorithm>

#include "runtime/instance.hpp"

namespace tenon {
namespace {

constexpr std::string_view kCopy = "CopyFwdOp";
constexpr std::string_view kCast = "CastFwdOp";

bool lists(const std::vector<DType>& dtypes, DType dtype) {
  return std::find(dtypes.begin(), dtypes.end(), dtype) != dtypes.end();
}

// An op of one input, one output and, of a cast, one parameter, which serves as a helper.
Result<std::unique_ptr<Op>> make_helper(const ConstructionGroup& c,
                                        std::string_view name,
                                        std::span<const NamedValue> params) {
  const OpClass* op_class = c.snapshot->find(name);
  if (op_class == nullptr) {
    return fail(ErrorCode::kNoImplementation,
                "a tensor must be copied to be passed to a kernel, and there is no op " +
                    std::string(name));
  }
  InstanceOptions options;
  options.target = "builtin";
  auto made = make_instance(c.engine, c.snapshot, *op_class, params, options, nullptr);
  if (!made) return fail(std::move(made).error());
  (*made)->construction.is_copier = true;
  return std::make_unique<Op>(wrap(std::move(*made)));
}

}  // namespace

bool Op::Instance::can_copy(DeviceKind kind, DType dtype) const {
  const OpClass* copy = construction.snapshot->find(kCopy);
  if (copy == nullptr || copy->interfaces.empty() ||
      !copy->plan->decl().inputs.front().dtypes.contains(dtype))
    return false;
  const auto& types = copy->interfaces.front().types;
  return std::any_of(types.begin(), types.end(), [&](const auto& t) {
    return t->serves(kind) && (t->dtypes.empty() || t->dtypes.contains(dtype));
  });
}

bool Op::Instance::can_cast(DeviceKind kind, DType from, DType to) const {
  const OpClass* cast = construction.snapshot->find(kCast);
  if (cast == nullptr || cast->interfaces.empty()) return false;
  const auto& args = cast->plan->decl().interfaces.front().args;
  const NamedValue params[] = {{"to", Value(to)}};
  if (args.size() != 2 || !lists(args[0].dtypes, from) || !lists(args[1].dtypes, to) ||
      !cast->plan->construct(params, {}))
    return false;
  const auto& types = cast->interfaces.front().types;
  return std::any_of(types.begin(), types.end(), [&](const auto& t) {
    return t->serves(kind) &&
           (t->dtypes.empty() || (t->dtypes.contains(from) && t->dtypes.contains(to)));
  });
}

// Helpers are made before the lock: making an instance registers it, and who holds the register may
// wait for this lock.
Result<Op*> Op::Instance::copy_helper(std::optional<DType> to) {
  const auto is_it = [&](const CopyHelper& helper) { return helper.to == to; };
  if (const CopyHelper* found = running.copy_helpers.find(is_it)) return found->op.get();
  std::vector<NamedValue> params;
  if (to) params.emplace_back("to", Value(*to));
  CopyHelper made{to, nullptr};
  TENON_TRY_ASSIGN(made.op, make_helper(construction, to ? kCast : kCopy, params));
  const std::lock_guard lock(running.mutex);
  return running.copy_helpers.add(std::move(made), is_it).op.get();
}

Result<void> Op::Instance::convert(const TensorView& from, const TensorView& to) {
  if (from.count() == 0) return {};
  Op* op = nullptr;
  TENON_TRY_ASSIGN(
      op, copy_helper(from.dtype == to.dtype ? std::nullopt : std::optional<DType>(to.dtype)));
  const TensorView* items[] = {&from};
  const TensorArg inputs[] = {{items, 1}};
  return op->call_out(inputs, to);
}

}  // namespace tenon
