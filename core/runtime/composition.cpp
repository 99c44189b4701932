// Composite ops: their stages, the sub-ops that they hold, and what becomes of those on a failure.
#include "tenon/core/composition.hpp"

#include <algorithm>
#include <deque>
#include <optional>

#include "runtime/call_stack.hpp"
#include "runtime/stage_calls.hpp"
#include "runtime/workspace.hpp"

namespace tenon {

Result<void> Flow::compose(Composition& composition) const {
  return fail(
      ErrorCode::kInternal,
      "flow '" + std::string(name()) + "' does not compose '" + composition.decl().name + "'");
}

// ---- Sub-calls
// ---------------------------------------------------------------------------------------

Result<void> CompositeCalls::enter(CompositeFrame& caller, const Op::Instance& instance) {
  if (caller.expected == &instance) {
    caller.expected = nullptr;
    return {};
  }
  if (caller.unfiled.empty()) caller.unfiled = instance.decl().name;
  return fail(ErrorCode::kInternal,
              "op '" + caller.instance->decl().name + "' calls op '" + instance.decl().name +
                  "' outside its declared stages");
}

void CompositeCalls::undo(std::vector<CompositeFrame::Pending>& pending, std::size_t from) {
  for (std::size_t i = pending.size(); i-- > from;) {
    if (pending[i].published != 0) pending[i].instance->undo(pending[i].published);
  }
  pending.resize(std::min(from, pending.size()));
}

void CompositeCalls::complete(std::vector<CompositeFrame::Pending>& pending) {
  for (const CompositeFrame::Pending& call : pending) {
    if (call.generation != 0)
      call.state->completed_generation.store(call.generation, std::memory_order_release);
  }
  pending.clear();
}

// ---- Stages
// ---------------------------------------------------------------------------------------

const TensorView* StageCalls::input(std::string_view name) const {
  const auto index = decl().input_index(name);
  return index ? args_.inputs[*index].single() : nullptr;
}

const TensorView* StageCalls::output(std::string_view name) const {
  const auto index = decl().output_index(name);
  return index ? state_.outputs[state_.output_first[*index]] : nullptr;
}

Value StageCalls::param(std::string_view name) const {
  const auto& params = decl().params;
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (params[i].name == name) return instance_.construction.construction->params()[i];
  }
  return {};
}

Result<Composition::Delegate> StageCalls::delegate_for(std::string_view stage,
                                                       std::span<const std::int64_t> identity,
                                                       const Params& params) {
  const auto& stages = decl().stages;
  const auto at = std::find_if(
      stages.begin(), stages.end(), [&](const StageDecl& s) { return s.name == stage; });
  if (at == stages.end() || at->op.empty()) {
    return fail(
        ErrorCode::kInternal,
        "op '" + decl().name + "' declares no stage '" + std::string(stage) + "' that calls an op");
  }
  Delegate delegate;
  delegate.stage = static_cast<std::uint32_t>(at - stages.begin());
  TENON_TRY_ASSIGN(delegate.op, instance_.delegate_for(state_, delegate.stage, identity, params));
  return delegate;
}

// ---- Running
// ---------------------------------------------------------------------------------------

namespace {

class RunningStages final : public StageCalls {
 public:
  RunningStages(Op::Instance& instance,
                ThreadState& state,
                const CallArgs& args,
                const DeviceEntry& device,
                void* stream,
                CompositeFrame& frame)
      : StageCalls(instance, state, args), device_(device), stream_(stream), frame_(frame) {}
  ~RunningStages() = default;
  RunningStages(const RunningStages&) = delete;
  RunningStages& operator=(const RunningStages&) = delete;

  Result<void> run(const Delegate& delegate,
                   std::span<const TensorArg> inputs,
                   const TensorView& out) override {
    TENON_TRY(file(delegate, [&] { return delegate.op->call_out(inputs, out); }));
    mark_written(out);
    mark_written_inputs(delegate, inputs);
    return {};
  }
  Result<void> run(const Delegate& delegate,
                   std::span<const TensorArg> inputs,
                   std::span<Tensor> outputs) override {
    TENON_TRY(file(delegate, [&] { return delegate.op->call_into(inputs, outputs); }));
    mark_written_inputs(delegate, inputs);
    return {};
  }

  /// Step 6: what the op returns came from a stage.
  [[nodiscard]] Result<void> check_written() const {
    const auto& declared = decl().outputs;
    for (std::size_t i = 0; i < declared.size(); ++i) {
      for (std::uint32_t at = state_.output_first[i]; at < state_.output_first[i + 1]; ++at) {
        const TensorView* output = state_.outputs[at];
        if (output == nullptr || output->count() == 0 || is_written(at) || is_input(*output))
          continue;
        return fail(Error(ErrorCode::kResultMismatch,
                          "flow '" + std::string(instance_.construction.op_class->flow->name()) +
                              "' of op '" + decl().name + "' ended, and no stage wrote output '" +
                              declared[i].name + "'")
                        .with_hint("a stage must be given the output to write into"));
      }
    }
    return {};
  }

  Result<TensorView> temporary(DType dtype, const Dims& shape) override {
    const auto count = element_count(shape);
    std::int64_t bytes = 0;
    if (!count ||
        __builtin_mul_overflow(*count, static_cast<std::int64_t>(size_bytes_of(dtype)), &bytes)) {
      return fail(
          ErrorCode::kOutOfMemory,
          "a tensor of shape " + shape.to_string() + " has more bytes than can be addressed");
    }
    if (!scope_) scope_.emplace(workspace_of_thread(instance_.engine().devices, &device_, stream_));
    void* memory = nullptr;
    TENON_TRY_ASSIGN(memory, scope_->take(static_cast<std::size_t>(bytes)));
    return TensorView(memory, dtype, shape, device_.device);
  }

 private:
  [[nodiscard]] bool is_written(std::uint32_t output) const {
    return output >= kMarks || ((written_ >> output) & 1u) != 0;
  }
  // An output that is a written input holds what the caller put there, at least.
  [[nodiscard]] bool is_input(const TensorView& output) const {
    return std::any_of(args_.inputs.begin(), args_.inputs.end(), [&](const TensorArg& input) {
      return input.single() == &output;
    });
  }
  void mark_written(const TensorView& view) {
    for (std::size_t at = 0; at < std::min(state_.outputs.size(), kMarks); ++at) {
      if (state_.outputs[at] != nullptr && !disjoint(view, *state_.outputs[at]))
        written_ |= std::uint64_t{1} << at;
    }
  }
  void mark_written_inputs(const Delegate& delegate, std::span<const TensorArg> inputs) {
    const auto& declared = delegate.op->decl().inputs;
    for (std::size_t i = 0; i < std::min(inputs.size(), declared.size()); ++i) {
      if (declared[i].mutated != When::kNever && inputs[i].single() != nullptr)
        mark_written(*inputs[i].single());
    }
  }

  // The thread's own hold on a sub-op, which delegate_for has put there.
  [[nodiscard]] const std::shared_ptr<Op>& held_by_thread(const Delegate& delegate) const {
    const auto at = std::find_if(state_.sub_ops.begin(),
                                 state_.sub_ops.end(),
                                 [&](const auto& sub) { return sub->op.get() == delegate.op; });
    static const std::shared_ptr<Op> kNone;
    return at == state_.sub_ops.end() ? kNone : (*at)->op;
  }

  // Makes a sub-call, and files it under its stage.
  template <class Call>
  Result<void> file(const Delegate& delegate, const Call& call) {
    Op::Instance& sub = delegate.op->instance();
    frame_.expected = &sub;
    auto called = call();
    frame_.expected = nullptr;
    if (!called) {
      Error error = std::move(called).error();
      error.add("stage", stage_name(delegate));
      return fail(std::move(error));
    }
    auto& traces = state_.stage_traces;
    if (traces.size() <= state_.stage_count) traces.resize(state_.stage_count + 1);
    StageTrace& trace = traces[state_.stage_count++];
    trace.stage = delegate.stage;
    trace.keep(held_by_thread(delegate));
    trace.record = *sub.thread_state().last;
    return {};
  }

  const DeviceEntry& device_;
  void* stream_;
  CompositeFrame& frame_;
  std::optional<WorkspaceScope> scope_;
  static constexpr std::size_t kMarks = 64;
  std::uint64_t written_ = 0;  // bit i: a stage wrote into output i
};

class ExplainedStages final : public StageCalls {
 public:
  ExplainedStages(Op::Instance& instance,
                  ThreadState& state,
                  const CallArgs& args,
                  std::span<const DeviceFacts> assumed,
                  Explanation& explanation)
      : StageCalls(instance, state, args), assumed_(assumed), explanation_(explanation) {}
  ~ExplainedStages() = default;
  ExplainedStages(const ExplainedStages&) = delete;
  ExplainedStages& operator=(const ExplainedStages&) = delete;

  Result<void> run(const Delegate& delegate,
                   std::span<const TensorArg> inputs,
                   const TensorView& out) override {
    CallArgs args;
    args.inputs = inputs;
    args.out = &out;
    args.default_device = explanation_.device;
    args.meta = true;
    explanation_.stages.push_back(
        {stage_name(delegate), delegate.op->instance().explain(args, assumed_)});
    const Explanation& sub = explanation_.stages.back().explanation;
    if (sub.error) return fail(*sub.error);
    return {};
  }
  Result<void> run(const Delegate& delegate,
                   std::span<const TensorArg> inputs,
                   std::span<Tensor> outputs) override {
    Op::Instance& sub = delegate.op->instance();
    CallArgs args;
    args.inputs = inputs;
    args.default_device = explanation_.device;
    args.meta = true;
    explanation_.stages.push_back({stage_name(delegate), sub.explain(args, assumed_)});
    const Explanation& told = explanation_.stages.back().explanation;
    if (told.error) return fail(*told.error);
    std::unique_ptr<CallFrame> frame;
    TENON_TRY_ASSIGN(frame, sub.checked(args));
    for (std::size_t i = 0; i < std::min(outputs.size(), frame->outputs.size()); ++i) {
      const OutputSpec& spec = frame->outputs[i];
      if (!spec.present) continue;
      TensorView view;
      TENON_TRY_ASSIGN(view, temporary(spec.dtype, spec.shape));
      outputs[i] = Tensor(nullptr, view);
    }
    return {};
  }
  Result<TensorView> temporary(DType dtype, const Dims& shape) override {
    constexpr std::size_t kFirst = 8192;  // behind every input and output
    return TensorView(imagined_address(kFirst + temporaries_++), dtype, shape, explanation_.device);
  }

 private:
  std::span<const DeviceFacts> assumed_;
  Explanation& explanation_;
  std::size_t temporaries_ = 0;
};

// Puts a composition on the thread's stack.
class OnStack {
 public:
  explicit OnStack(CompositeFrame& frame) {
    frame.parent = innermost_composition;
    innermost_composition = &frame;
  }
  ~OnStack() { innermost_composition = innermost_composition->parent; }
  OnStack(const OnStack&) = delete;
  OnStack& operator=(const OnStack&) = delete;
};

// Lets go of sub-ops that this thread has not asked for lately, but of none that a call in progress
// may yet have to undo. Between two compositions: within one, a flow has pointers to them.
void trim(SubOps& mine, std::size_t limit, const std::vector<CompositeFrame::Pending>& pending) {
  const std::size_t most = std::clamp<std::size_t>(limit, 2, 64);
  if (mine.size() <= most) return;
  std::size_t excess = mine.size() - most / 2;
  std::erase_if(mine, [&](const auto& sub) {
    const bool is_pending = std::any_of(pending.begin(), pending.end(), [&](const auto& call) {
      return call.instance == &sub->op->instance();
    });
    if (excess == 0 || is_pending) return false;
    --excess;
    return true;
  });
}

// The calls of this thread's outermost composition.
std::vector<CompositeFrame::Pending>& pending_of_thread() {
  static thread_local std::vector<CompositeFrame::Pending> pending;
  return pending;
}

}  // namespace

Result<void> run_composition(Op::Instance& instance,
                             ThreadState& state,
                             const CallArgs& args,
                             const DeviceEntry& device,
                             void* stream,
                             bool bound_here) {
  CompositeFrame frame;
  frame.instance = &instance;
  auto& pending = pending_of_thread();
  frame.pending = &pending;
  const bool is_outermost = innermost_composition == nullptr;
  if (is_outermost) pending.clear();
  const std::size_t first = pending.size();
  state.stage_count = 0;
  trim(state.sub_ops, instance.engine().options.call_keys_per_instance, pending);
  Result<void> result = [&]() -> Result<void> {
    const OnStack on_stack(frame);
    RunningStages stages(instance, state, args, device, stream, frame);
    TENON_TRY(instance.construction.op_class->flow->compose(stages));
    if (!frame.unfiled.empty()) return {};
    return stages.check_written();
  }();
  if (result && !frame.unfiled.empty()) {
    result = fail(ErrorCode::kInternal,
                  "op '" + instance.decl().name + "' called op '" + frame.unfiled +
                      "' outside its declared stages");
  }
  if (!result && bound_here) CompositeCalls::undo(pending, first);
  if (is_outermost) CompositeCalls::complete(pending);
  return result;
}

void explain_composition(Op::Instance& instance,
                         ThreadState& state,
                         const CallArgs& args,
                         std::span<const DeviceFacts> assumed,
                         Explanation& explanation) {
  ExplainedStages stages(instance, state, args, assumed, explanation);
  auto explained = instance.construction.op_class->flow->compose(stages);
  explanation.error.reset();
  if (!explained) explanation.error = std::move(explained).error();
}

}  // namespace tenon
