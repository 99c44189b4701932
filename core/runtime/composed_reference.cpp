// The reference of an op that has no kernel to be its reference, but stages that have.
#include "runtime/reference.hpp"
#include "runtime/stage_calls.hpp"

namespace tenon {
namespace {

// Writes wide values into a tensor of its own dtype, in row-major order.
void round_into(const Tensor& wide, const TensorView& view) {
  const std::size_t size = size_bytes_of(view.dtype);
  const bool rounds = detail::is_floating(view.dtype);
  detail::for_each_element(view, [&](std::byte* at, std::int64_t flat) {
    if (rounds) {
      store_from_double(view.dtype, at, wide.data<double>()[flat]);
    } else {
      std::memcpy(at, wide.data<std::byte>() + static_cast<std::size_t>(flat) * size, size);
    }
  });
}

// What a stage writes into an output of the op is rounded before another stage reads it there, as
// in the composition itself; what lives between stages only is not.
class ReferenceStages final : public StageCalls {
 public:
  ReferenceStages(Op::Instance& instance,
                  ThreadState& state,
                  const CallArgs& args,
                  Device device,
                  std::vector<Tensor>& results)
      : StageCalls(instance, state, args), device_(device), results_(results) {}
  ~ReferenceStages() = default;
  ReferenceStages(const ReferenceStages&) = delete;
  ReferenceStages& operator=(const ReferenceStages&) = delete;

  Result<void> run(const Delegate& delegate,
                   std::span<const TensorArg> inputs,
                   const TensorView& out) override {
    std::vector<Tensor> wide;
    TENON_TRY(reference_of(delegate, inputs, &out, wide));
    round_into(wide.front(), out);
    for (WideValue& value : known_) {
      if (value.rounded.view().first() == out.first()) value.wide = wide.front();
    }
    for (std::size_t at = 0; at < state_.outputs.size(); ++at) {
      if (state_.outputs[at] != nullptr && same_view(*state_.outputs[at], out))
        results_[at] = wide.front();
    }
    return {};
  }
  Result<void> run(const Delegate& delegate,
                   std::span<const TensorArg> inputs,
                   std::span<Tensor> outputs) override {
    std::vector<Tensor> wide;
    TENON_TRY(reference_of(delegate, inputs, nullptr, wide));
    Op::Instance& sub = delegate.op->instance();
    const CallArgs args = args_of(inputs, nullptr);
    std::unique_ptr<CallFrame> frame;
    TENON_TRY_ASSIGN(frame, sub.checked(args));
    for (std::size_t i = 0; i < std::min(outputs.size(), frame->outputs.size()); ++i) {
      const OutputSpec& spec = frame->outputs[i];
      if (!spec.present) continue;
      TensorView view;
      TENON_TRY_ASSIGN(view, temporary(spec.dtype, spec.shape));
      round_into(wide[i], view);
      outputs[i] = Tensor(known_.back().rounded.storage(), view);
      known_.back().wide = wide[i];
    }
    return {};
  }
  Result<TensorView> temporary(DType dtype, const Dims& shape) override {
    auto made = Tensor::host(dtype, shape);
    if (!made) return fail(std::move(made).error());
    known_.push_back({*made, Tensor()});
    TensorView view = made->view();
    view.device = device_;
    return view;
  }

  [[nodiscard]] Result<void> check_results() const {
    for (std::size_t at = 0; at < state_.outputs.size(); ++at) {
      const TensorView* const output = state_.outputs[at];
      if (output == nullptr || results_[at].defined()) continue;
      return fail(ErrorCode::kNoImplementation,
                  "no stage of op '" + decl().name + "' returns output " + std::to_string(at) +
                      " as a whole, so its reference is not known");
    }
    return {};
  }

 private:
  [[nodiscard]] CallArgs args_of(std::span<const TensorArg> inputs, const TensorView* out) const {
    CallArgs args;
    args.inputs = inputs;
    args.out = out;
    args.default_device = device_;
    return args;
  }
  Result<void> reference_of(const Delegate& delegate,
                            std::span<const TensorArg> inputs,
                            const TensorView* out,
                            std::vector<Tensor>& wide) {
    Op::Instance& sub = delegate.op->instance();
    for (const TensorDecl& input : sub.decl().inputs) {
      if (input.mutated == When::kNever) continue;
      return fail(ErrorCode::kNoImplementation,
                  "stage '" + stage_name(delegate) + "' of op '" + decl().name +
                      "' may write its input '" + input.name +
                      "', and the reference on wide data writes none");
    }
    auto done = run_reference(sub, args_of(inputs, out), wide, known_);
    if (!done) {
      Error error = std::move(done).error();
      error.add("stage", stage_name(delegate));
      return fail(std::move(error));
    }
    return {};
  }

  Device device_;
  std::vector<Tensor>& results_;
  std::vector<WideValue> known_;
};

}  // namespace

Result<void> run_composed_reference(Op::Instance& instance,
                                    ThreadState& state,
                                    const CallArgs& args,
                                    Device device,
                                    std::vector<Tensor>& results) {
  results.assign(state.outputs.size(), Tensor());
  ReferenceStages stages(instance, state, args, device, results);
  TENON_TRY(instance.construction.op_class->flow->compose(stages));
  return stages.check_results();
}

}  // namespace tenon
