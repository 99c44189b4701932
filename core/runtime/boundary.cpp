// Schemas, calls and meta calls of the boundary.
#include "tenon/core/boundary.hpp"

#include <algorithm>

#include "runtime/given_views.hpp"
#include "runtime/instance.hpp"
#include "tenon/core/schema.hpp"

namespace tenon {

bool has_boundary(const OpDecl& decl) { return !decl.inputs.empty() && decl.stages.empty(); }

Result<std::string> boundary_schema(const OpDecl& decl, const EffectBranch& branch) {
  if (!has_boundary(decl)) {
    return fail(Error(ErrorCode::kOpNotAvailable,
                      "op '" + decl.name + "' has no boundary: " +
                          (decl.inputs.empty() ? "it takes no tensor at a call"
                                               : "frameworks see its sub-ops"))
                    .with_where(decl.where.to_string()));
  }
  if (branch.schema.empty()) {
    return fail(Error(ErrorCode::kOpNotAvailable,
                      "op '" + decl.name + "' has no schema for this effect branch")
                    .with_where(decl.where.to_string()));
  }
  auto parsed = parse_schema(branch.schema);
  if (!parsed) return fail(std::move(parsed).error());
  Schema schema = std::move(*parsed);
  schema.ns = "tenon_boundary";
  std::erase_if(schema.args, [&](const SchemaArg& arg) {
    return arg.name != "out" && !decl.input_index(arg.name);
  });
  SchemaArg instance;
  instance.type.base = "int";
  instance.name = "instance";
  schema.args.insert(schema.args.begin(), instance);
  return print(schema);
}

namespace {

tl::unexpected<Error> no_instance(std::uint64_t key) {
  return fail(Error(ErrorCode::kUsageError, "no instance has key " + std::to_string(key))
                  .with_hint("keep the instance for as long as a graph may call it"));
}

}  // namespace

Result<void> call_by_key(Engine& engine,
                         std::uint64_t key,
                         std::span<const TensorArg> inputs,
                         const TensorView* out,
                         std::span<Tensor> outputs) {
  Op::Instance* instance = engine.internals().find_instance(key);
  if (instance == nullptr) return no_instance(key);
  return instance->call_positional(inputs, out, outputs);
}

Result<std::vector<OutputSpec>> meta_by_key(Engine& engine,
                                            std::uint64_t key,
                                            std::span<const std::optional<TensorSpec>> inputs,
                                            const TensorSpec* out) {
  Op::Instance* instance = engine.internals().find_instance(key);
  if (instance == nullptr) return no_instance(key);
  const OpDecl& decl = instance->decl();
  if (inputs.size() != decl.inputs.size()) {
    return fail(ErrorCode::kUsageError,
                "op '" + decl.name + "' has " + std::to_string(decl.inputs.size()) +
                    " inputs, absent ones included; got " + std::to_string(inputs.size()));
  }
  std::vector<TensorView> views;
  views.reserve(inputs.size() + 1);
  std::vector<const TensorView*> pointers(inputs.size());
  std::vector<TensorArg> positional(inputs.size());
  const auto imagine = [&](const TensorSpec& spec) {
    views.emplace_back(
        imagined_address(views.size()), spec.dtype, spec.shape, spec.strides, spec.device);
    return &views.back();
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) continue;
    pointers[i] = imagine(*inputs[i]);
    positional[i] = {&pointers[i], 1};
  }
  CallArgs args;
  args.inputs = positional;
  args.out = out == nullptr ? nullptr : imagine(*out);
  args.meta = true;
  TENON_TRY(check_given(instance->decl(), args));
  std::unique_ptr<CallFrame> frame;
  TENON_TRY_ASSIGN(frame, instance->checked(args));
  instance->keep_meta_record(args, *frame);
  return frame->outputs;
}

Result<RangedOutputs> meta_by_key(Engine& engine,
                                  std::uint64_t key,
                                  std::span<const std::optional<RangedTensor>> inputs,
                                  bool with_out) {
  Op::Instance* instance = engine.internals().find_instance(key);
  if (instance == nullptr) return no_instance(key);
  return instance->plan().infer_ranges(*instance->construction.construction, inputs, with_out);
}

}  // namespace tenon
