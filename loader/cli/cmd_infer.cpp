// tenon infer: the signature check and the inference of a call; selects and runs nothing. Sizes may
// be ranges.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "prepared_call.hpp"
#include "run_commands.hpp"
#include "view_infer.hpp"

namespace tenon::cli {
namespace {

bool has_ranges(const PreparedCall& call) {
  const auto& tensors = call.text.tensors;
  return std::any_of(
      tensors.begin(), tensors.end(), [](const TensorSource& t) { return t.is_ranged(); });
}

Result<RangedTensor> ranged(const TensorSource& source, Device device) {
  if (source.is_ranged()) return RangedTensor{source.spec.dtype, source.ranges, device};
  auto spec = spec_of(source, device);
  if (!spec) return fail(std::move(spec).error());
  RangedTensor tensor{spec->spec.dtype, {}, device};
  for (const std::int64_t size : spec->spec.shape) tensor.sizes.push_back({size, size});
  return tensor;
}

tl::unexpected<Error> no_such_out(const OpDecl& decl, std::string text) {
  return fail(Error(ErrorCode::kSignatureMismatch, std::move(text))
                  .with_where(decl.outputs[*decl.buffered_output()].where.to_string())
                  .with("argument", "out"));
}

/// `out` has exactly the inferred shape and dtype: what the ranges leave open becomes a guard.
Result<void> meet_out(const OpDecl& decl, const RangedTensor& out, RangedOutputs& inferred) {
  const RangedOutputs::Output& expected = inferred.outputs[*decl.buffered_output()];
  if (!expected.present) return {};
  if (out.dtype != expected.dtype)
    return no_such_out(
        decl, fmt::format("out is {}, expected {}", name_of(out.dtype), name_of(expected.dtype)));
  if (out.sizes.size() != expected.sizes.size())
    return no_such_out(
        decl, fmt::format("out has rank {}, expected {}", out.sizes.size(), expected.sizes.size()));
  for (std::size_t axis = 0; axis < out.sizes.size(); ++axis) {
    const SizeRange a = out.sizes[axis];
    const SizeRange b = expected.sizes[axis];
    if (a.high < b.low || b.high < a.low)
      return no_such_out(
          decl,
          fmt::format(
              "out has size {} on axis {}, expected {}", range_text(a), axis, range_text(b)));
    if (a.low != a.high || b.low != b.high)
      inferred.guards.push_back(fmt::format("size of out on axis {} == size of {} there",
                                            axis,
                                            decl.outputs[*decl.buffered_output()].name));
  }
  return {};
}

Result<RangedOutputs> infer_ranges(const PreparedCall& call) {
  const OpDecl& decl = call.decl();
  std::vector<std::pair<std::string, Tensor>> constants;
  for (const TensorSource* source : call.tensors.construction) {
    auto host = host_tensor(*source);
    if (!host) return fail(std::move(host).error());
    constants.emplace_back(source->name, std::move(*host));
  }
  const auto construction = call.op->plan->construct(call.params, constants);
  if (!construction) return fail(construction.error());
  std::vector<std::optional<RangedTensor>> inputs(decl.inputs.size());
  const TensorSource* out_source = call.tensors.out;
  for (const TensorSource* source : call.tensors.inputs) {
    const std::size_t index = *decl.input_index(source->name);
    if (inputs[index])
      return fail(Error(ErrorCode::kUsageError,
                        fmt::format("'{}' is a list, which ranges do not cover", source->name)));
    TENON_TRY_ASSIGN(inputs[index],
                     ranged(*source, decl.inputs[index].on_cpu ? Device{} : call.device));
    if (call.out_is_first_input && index == 0) out_source = source;
  }
  auto inferred = call.op->plan->infer_ranges(**construction, inputs, out_source != nullptr);
  if (!inferred || out_source == nullptr) return inferred;
  const auto out = ranged(*out_source, call.device);
  if (!out) return fail(out.error());
  TENON_TRY(meet_out(decl, *out, *inferred));
  return inferred;
}

}  // namespace

Result<int> run_infer(const Arguments& arguments, Console& console) {
  auto session = Session::open(arguments, console);
  if (!session) return fail(std::move(session).error());
  auto call = prepare_call(*session, arguments);
  if (!call) return fail(std::move(call).error());
  if (has_ranges(*call)) {
    const auto inferred = infer_ranges(*call);
    if (!inferred) return fail(inferred.error());
    console.out(arguments.json()
                    ? inferred_json(call->decl(), *inferred, call->device)
                    : inferred_text(call->decl(), *inferred, call->device, console.out_style()));
    return kExitOk;
  }
  auto specs = specs_of(*call);
  if (!specs) return fail(std::move(specs).error());
  auto op = make_instance(*session, *call);
  if (!op) return fail(std::move(op).error());
  const auto inferred = op->infer(specs->inputs, specs->out ? &*specs->out : nullptr);
  if (!inferred) return fail(inferred.error());
  console.out(arguments.json() ? inferred_json(call->decl(), *inferred)
                               : inferred_text(call->decl(), *inferred, console.out_style()));
  return kExitOk;
}

}  // namespace tenon::cli
