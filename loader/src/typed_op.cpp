// Typed calls as calls by name: the messages are the same because the calls are.
#include "tenon/loader/typed_op.hpp"

#include <iterator>

namespace tenon {
namespace {

std::vector<NamedTensor> named(std::initializer_list<TypedArg> args) {
  std::vector<NamedTensor> tensors;
  tensors.reserve(args.size());
  for (const TypedArg& arg : args) {
    for (const Tensor& element : arg.list) tensors.emplace_back(arg.name, element);
    if (arg.tensor.owner() != nullptr) {
      tensors.emplace_back(arg.name, *arg.tensor.owner());
    } else if (arg.tensor.view() != nullptr) {
      tensors.emplace_back(arg.name, *arg.tensor.view());
    }
  }
  return tensors;
}

InstanceOptions with_tensors(InstanceOptions options,
                             const std::vector<std::pair<std::string, Tensor>>& tensors) {
  for (const auto& [name, tensor] : tensors) {
    if (tensor.defined()) options.tensors.emplace_back(name, tensor);
  }
  return options;
}

}  // namespace

std::vector<Tensor> list_output(std::vector<Tensor>& outputs,
                                std::size_t before,
                                std::size_t after) {
  const auto first = std::make_move_iterator(outputs.begin());
  return {first + static_cast<std::ptrdiff_t>(before),
          first + static_cast<std::ptrdiff_t>(outputs.size() - after)};
}

TypedOp::TypedOp(const Runtime& runtime,
                 std::string_view op,
                 std::span<const NamedValue> params,
                 InstanceOptions options,
                 const std::vector<std::pair<std::string, Tensor>>& tensors)
    : op_(runtime.make(op, params, with_tensors(std::move(options), tensors))) {}

Result<void> TypedOp::made() const {
  if (!op_) return fail(op_.error());
  return {};
}

std::optional<SignatureCall> TypedOp::last_call() const {
  return op_ ? op_->last_call() : std::nullopt;
}

std::string TypedOp::serving_target() const { return op_ ? op_->serving_target() : std::string(); }

Result<std::vector<Tensor>> TypedOp::call(std::initializer_list<TypedArg> args,
                                          const TensorView* out,
                                          std::optional<Device> device) {
  if (!op_) return fail(op_.error());
  return op_->call(named(args), {out, device});
}

Result<Tensor> TypedOp::call_one(std::initializer_list<TypedArg> args,
                                 std::optional<Device> device) {
  std::vector<Tensor> outputs;
  TENON_TRY_ASSIGN(outputs, call(args, nullptr, device));
  return std::move(outputs.front());
}

Result<void> TypedOp::call_none(std::initializer_list<TypedArg> args,
                                std::optional<Device> device) {
  TENON_TRY(call(args, nullptr, device));
  return {};
}

Result<TensorView> TypedOp::call_views(std::span<const TensorArg> args, const TensorView& out) {
  if (!op_) return fail(op_.error());
  TENON_TRY(op_->call_out(args, out));
  return out;
}

}  // namespace tenon
