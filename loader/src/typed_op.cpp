// Typed calls: by position, or by name where positions do not say enough; the messages are the
// same.
#include "tenon/loader/typed_op.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

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

InstanceOptions with_tensors(InstanceOptions options, const TensorParams& tensors) {
  for (const auto& [name, tensor] : tensors) {
    if (tensor.defined()) options.tensors.emplace_back(name, tensor);
  }
  return options;
}

}  // namespace

Tensor OutputReader::one() {
  ++next_output_;
  return std::move(outputs_[next_tensor_++]);
}

std::vector<Tensor> OutputReader::list() {
  const auto first =
      std::make_move_iterator(outputs_.begin() + static_cast<std::ptrdiff_t>(next_tensor_));
  const std::size_t count = counts_[next_output_++];
  next_tensor_ += count;
  return {first, first + static_cast<std::ptrdiff_t>(count)};
}

bool add_identities(const TensorParams& tensors, std::vector<NamedValue>& values) {
  for (const auto& [name, tensor] : tensors) {
    const TensorView& view = tensor.view();
    if (!tensor.defined()) {
      if (view.data != nullptr) return false;
      continue;
    }
    values.emplace_back(name,
                        fmt::format("{} {} {} {} {}",
                                    static_cast<const void*>(tensor.storage().get()),
                                    static_cast<const void*>(view.first()),
                                    name_of(view.dtype),
                                    view.shape.to_string(),
                                    view.strides.to_string()));
  }
  return true;
}

TypedOp::TypedOp(const Runtime& runtime,
                 std::string_view op,
                 std::span<const NamedValue> params,
                 InstanceOptions options,
                 const TensorParams& tensors)
    : op_(runtime.make(op, params, with_tensors(std::move(options), tensors))) {}

Result<void> TypedOp::made() const {
  if (!op_) return fail(op_.error());
  return {};
}

std::optional<SignatureCall> TypedOp::last_call() const {
  return op_ ? op_->last_call() : std::nullopt;
}

std::string TypedOp::serving_target() const { return op_ ? op_->serving_target() : std::string(); }

Result<OutputReader> TypedOp::call(std::initializer_list<TypedArg> args,
                                   const CallOptions& options) {
  if (!op_) return fail(op_.error());
  std::vector<Tensor> outputs;
  TENON_TRY_ASSIGN(outputs, op_->call(named(args), options));
  std::vector<std::size_t> counts;
  TENON_TRY_ASSIGN(counts, output_counts(args, outputs.size()));
  return OutputReader(std::move(outputs), std::move(counts));
}

/// How many tensors each output is, of `total` in all. Where several are lists, inference tells.
Result<std::vector<std::size_t>> TypedOp::output_counts(std::initializer_list<TypedArg> args,
                                                        std::size_t total) {
  const std::vector<TensorDecl>& outputs = op_->decl().outputs;
  const auto is_list = [](const TensorDecl& output) {
    return output.list.has_value() || !output.list_count_text.empty();
  };
  const auto lists = std::count_if(outputs.begin(), outputs.end(), is_list);
  std::vector<std::size_t> counts(outputs.size(), 1);
  if (lists == 0) return counts;
  if (lists == 1) {
    const auto at = std::find_if(outputs.begin(), outputs.end(), is_list) - outputs.begin();
    counts[static_cast<std::size_t>(at)] = total - (outputs.size() - 1);
    return counts;
  }
  const std::vector<NamedTensor> inputs = named(args);
  std::vector<NamedSpec> specs;
  specs.reserve(inputs.size());
  for (const NamedTensor& input : inputs) specs.push_back({input.name, input.tensor.spec()});
  const Result<Op::Inferred> inferred = op_->infer(specs);
  if (!inferred) return fail(inferred.error());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (is_list(outputs[i])) counts[i] = inferred->outputs[i].list_count;
  }
  return counts;
}

Result<void> TypedOp::call_views(std::span<const TensorIn> inputs,
                                 std::span<const TensorArg> args,
                                 std::span<Tensor> outputs) {
  if (!op_) return fail(op_.error());
  TENON_TRY(op_->call_into(args, outputs));
  for (Tensor& output : outputs) {
    if (output.defined() || output.view().data == nullptr) continue;
    // An input or `out`: the same memory, kept alive where the caller gave a Tensor.
    for (const TensorIn& input : inputs) {
      if (input.owner() == nullptr || input.view()->first() != output.view().first()) continue;
      output = Tensor(input.owner()->storage(), output.view());
    }
  }
  return {};
}

Result<TensorView> TypedOp::call_views(std::span<const TensorArg> args, const TensorView& out) {
  if (!op_) return fail(op_.error());
  TENON_TRY(op_->call_out(args, out));
  return out;
}

}  // namespace tenon
