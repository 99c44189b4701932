// Preparing a step: call spec, argument views, facts, key.
#include <algorithm>

#include "runtime/call_key.hpp"
#include "runtime/step_run.hpp"

namespace tenon {
namespace {

constexpr std::size_t kFlowScratch = 4 * kMaxRank;
constexpr std::int64_t kWide = 0x7fffffff;

template <class T>
void at_least(std::vector<T>& items, std::size_t count) {
  if (items.size() < count) items.resize(count);
}

}  // namespace

FlowContext StepRun::flow_context() const {
  return {instance_.plan(),
          decl_,
          *instance_.construction.construction,
          args_,
          *state_.frame,
          state_.flow_scratch};
}

Result<void> StepRun::prepare() {
  const SignaturePlan& plan = instance_.plan();
  const Construction& construction = *instance_.construction.construction;
  const Flow* flow = instance_.construction.op_class->flow;
  if (flow == nullptr) {
    return fail(Error(ErrorCode::kOpNotAvailable,
                      "op '" + instance_.decl().name + "' names flow '" + instance_.decl().flow +
                          "', which this build does not have")
                    .with_where(instance_.decl().where.to_string()));
  }
  at_least(state_.flow_scratch, kFlowScratch);
  std::size_t n_flow = 0;
  for (const auto& field : decl_.fields) n_flow += field.from_flow ? 1 : 0;
  at_least(state_.flow_values, n_flow);
  state_.fields.resize(decl_.fields.size());
  const FlowContext context = flow_context();
  const std::span<tenon_value> flow_values(state_.flow_values.data(), n_flow);
  if (!flow->flow_values(context, flow_values)) {
    return fail(Error(ErrorCode::kManifestInvalid,
                      "flow '" + std::string(flow->name()) +
                          "' does not compute the flow.* fields of interface '" + decl_.name + "'")
                    .with_where(decl_.where.to_string()));
  }
  if (!plan.eval_call(interface_, construction, args_, *state_.frame, flow_values, state_.fields)) {
    return fail(plan.failure(construction, args_, *state_.frame));
  }
  const std::size_t n_args = decl_.args.size();
  at_least(state_.arg_first, n_args + 1);
  state_.copies.clear();
  n_views_ = 0;
  for (std::uint32_t arg = 0; arg < n_args; ++arg) {
    state_.arg_first[arg] = static_cast<std::uint32_t>(n_views_);
    TENON_TRY(lay_out_arg(arg, context, *flow));
  }
  state_.arg_first[n_args] = static_cast<std::uint32_t>(n_views_);
  gather_facts();
  return {};
}

ViewSource StepRun::source_of_output(std::uint32_t output, std::uint32_t at) const {
  if (state_.outputs[at] == args_.out) return {ViewSource::From::kOut, 0};
  const std::int32_t alias = state_.frame->outputs[output].alias_input;
  if (alias >= 0) return {ViewSource::From::kInput, static_cast<std::uint32_t>(alias)};
  return {ViewSource::From::kMade, at};
}

Result<void> StepRun::lay_out_output(std::uint32_t arg,
                                     const FlowContext& context,
                                     const Flow& flow) {
  const std::uint32_t index = decl_.args[arg].index;
  const std::uint32_t first = state_.output_first[index];
  for (std::uint32_t i = first; i < state_.output_first[index + 1]; ++i) {
    if (state_.outputs[i] == nullptr) continue;
    TENON_TRY(
        lay_out(arg, i - first, *state_.outputs[i], source_of_output(index, i), context, flow));
  }
  return {};
}

Result<void> StepRun::lay_out_construction(std::uint32_t arg,
                                           const FlowContext& context,
                                           const Flow& flow) {
  const std::uint32_t index = decl_.args[arg].index;
  const auto& tensor = instance_.construction.construction->tensors()[index];
  if (!tensor) return {};
  const bool stays = instance_.decl().construction_tensors[index].on_cpu;
  const Device device = stays ? Device{} : state_.frame->device;
  const DType dtype =
      instance_.plan().construction_dtype(index, *state_.frame).value_or(tensor->dtype());
  if (tensor->device() == device && tensor->dtype() == dtype)
    return lay_out(arg, 0, tensor->view(), {}, context, flow);
  if (args_.meta) {
    // What a call would convert; behind every input, output and temporary.
    constexpr std::size_t kFirst = 12288;
    const TensorView imagined(imagined_address(kFirst + index), dtype, tensor->shape(), device);
    return lay_out(arg, 0, imagined, {}, context, flow);
  }
  const TensorView* converted = nullptr;
  TENON_TRY_ASSIGN(converted, instance_.converted(index, device, dtype));
  return lay_out(arg, 0, *converted, {}, context, flow);
}

Result<void> StepRun::lay_out_arg(std::uint32_t arg, const FlowContext& context, const Flow& flow) {
  const InterfaceArgDecl& a = decl_.args[arg];
  switch (a.source) {
    case ArgSource::kInput: {
      const TensorArg& input = args_.inputs[a.index];
      for (std::uint32_t e = 0; e < input.count && input.present(); ++e)
        TENON_TRY(
            lay_out(arg, e, *input.items[e], {ViewSource::From::kInput, a.index}, context, flow));
      return {};
    }
    case ArgSource::kOutput:
      return lay_out_output(arg, context, flow);
    case ArgSource::kConstruction:
      return lay_out_construction(arg, context, flow);
    case ArgSource::kTemporary:
      break;
  }
  return fail(Error(ErrorCode::kManifestInvalid,
                    "flow '" + std::string(flow.name()) + "' makes no temporary '" + a.name +
                        "' for interface '" + decl_.name + "'")
                  .with_where(decl_.where.to_string()));
}

Result<void> StepRun::lay_out(std::uint32_t arg,
                              std::uint32_t element,
                              const TensorView& tensor,
                              ViewSource source,
                              const FlowContext& context,
                              const Flow& flow) {
  Dims shape;
  if (!instance_.plan().eval_arg_shape(
          interface_, arg, element, *state_.frame, state_.fields, shape)) {
    return fail(
        instance_.plan().failure(*instance_.construction.construction, args_, *state_.frame));
  }
  at_least(state_.views, n_views_ + 1);
  at_least(state_.view_sources, n_views_ + 1);
  state_.view_sources[n_views_] = source;
  TensorView& view = state_.views[n_views_];
  if (!flow.view_as(context, arg, tensor, shape, view)) {
    // A dense copy of the tensor can take any shape of as many elements.
    TensorView dense(nullptr, tensor.dtype, tensor.shape, tensor.device);
    if (!flow.view_as(context, arg, dense, shape, view)) {
      return fail(Error(ErrorCode::kManifestInvalid,
                        "flow '" + std::string(flow.name()) + "' cannot pass '" +
                            decl_.args[arg].name + "', a tensor of shape " +
                            tensor.shape.to_string() + ", as " + shape.to_string())
                      .with_where(decl_.where.to_string()));
    }
    const std::uint32_t role = decl_.args[arg].role;
    state_.copies.push_back({n_views_, tensor, role != TENON_ROLE_OUT, role != TENON_ROLE_IN, {}});
  }
  ++n_views_;
  return {};
}

void StepRun::gather_facts() {
  const std::size_t n_args = decl_.args.size();
  state_.facts.resize(n_args);
  state_.dtypes.resize(n_args);
  state_.dense_wide.resize(n_args);
  for (std::size_t arg = 0; arg < n_args; ++arg) {
    const std::uint32_t first = state_.arg_first[arg];
    const std::uint32_t count = state_.arg_first[arg + 1] - first;
    tenon_arg_facts& facts = state_.facts[arg];
    if (count == 0) {
      facts = {0, TENON_LAYOUT_DENSE, 0, -1, 0, 0};
      state_.dtypes[arg] = {};
      state_.dense_wide[arg] = 0;
      continue;
    }
    facts = facts_of(state_.views[first]);
    for (std::uint32_t i = 1; i < count; ++i) {
      const tenon_arg_facts next = facts_of(state_.views[first + i]);
      facts.layout = std::max(facts.layout, next.layout);
      facts.align_log2 = std::min(facts.align_log2, next.align_log2);
      facts.wide |= next.wide;
    }
    facts.present = count;
    state_.dtypes[arg] = to_abi(state_.views[first].dtype);
    state_.dense_wide[arg] = state_.views[first].count() - 1 > kWide ? 1 : 0;
    if (decl_.args[arg].list || state_.views[first].data == nullptr) continue;
    for (std::size_t before = 0; before < arg; ++before) {
      if (state_.facts[before].present == 0 || decl_.args[before].list) continue;
      if (same_view(state_.views[state_.arg_first[before]], state_.views[first])) {
        facts.alias_of = static_cast<std::int32_t>(before);
        break;
      }
    }
  }
}

void StepRun::measure() const {
  state_.sizes.resize(decl_.args.size());
  for (std::size_t arg = 0; arg < decl_.args.size(); ++arg) {
    const std::uint32_t first = state_.arg_first[arg];
    state_.sizes[arg] =
        size_of(std::span(state_.views).subspan(first, state_.arg_first[arg + 1] - first));
  }
}

void StepRun::make_key() {
  make_call_key(
      state_.key, interface_, state_.frame->device, state_.fields, state_.facts, state_.dtypes);
}

std::string StepRun::call_text() const {
  std::string text = instance_.decl().name + "(";
  const auto& inputs = instance_.decl().inputs;
  bool first = true;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorArg& arg = args_.inputs[i];
    if (!arg.present()) continue;
    text.append(first ? "" : ", ").append(inputs[i].name).append(": ");
    for (std::uint32_t e = 0; e < arg.count; ++e)
      text.append(e == 0 ? "" : " ").append(arg.items[e]->spec().to_string());
    first = false;
  }
  return text + ") on " + state_.frame->device.to_string();
}

}  // namespace tenon
