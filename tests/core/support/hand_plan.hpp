// A signature plan written by hand, so that the core is tested without a front end: ScaleFwdOp(x
// [*S], weight [*S]?) -> output [*S].
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tenon/core/contract.hpp"
#include "tenon/core/plan.hpp"

namespace tenon::test {

class HandPlan final : public SignaturePlan {
 public:
  explicit HandPlan(std::string name = "ScaleFwdOp",
                    std::string interface = "scale_fwd",
                    std::string flow = "direct")
      : SignaturePlan(declare(std::move(name), std::move(interface), std::move(flow))) {}

  /// Makes the op a composite of these stages; without kernels of its own it keeps no interface.
  HandPlan& compose_of(std::vector<StageDecl> stages, bool has_kernels = false) {
    decl_.stages = std::move(stages);
    if (!has_kernels) decl_.interfaces.clear();
    return *this;
  }

  /// Takes tensors of these dtypes.
  HandPlan& serve(const std::vector<DType>& dtypes) {
    DTypeSet set;
    for (const DType d : dtypes) set.insert(d);
    for (TensorDecl& input : decl_.inputs) input.dtypes = set;
    for (TensorDecl& output : decl_.outputs) output.dtypes = set;
    for (InterfaceArgDecl& arg : decl_.interfaces[0].args) arg.dtypes = dtypes;
    renew_contract();
    return *this;
  }
  /// Declares that the kernel writes x, too.
  HandPlan& write_x() {
    writes_x_ = true;
    decl_.interfaces[0].args[0].role = TENON_ROLE_INOUT;
    renew_contract();
    return *this;
  }

  [[nodiscard]] Result<std::shared_ptr<const Construction>> construct(
      std::span<const NamedValue> params,
      std::span<const std::pair<std::string, Tensor>>) const override {
    auto c = std::make_shared<Made>();
    if (params.size() == 1 && !decl_.params.empty()) {
      c->to = *params.front().second.get_if<DType>();
      return std::shared_ptr<const Construction>(std::move(c));
    }
    if (!params.empty())
      return fail(ErrorCode::kSignatureMismatch,
                  "op '" + decl_.name + "' has no parameter '" + params.front().first + "'");
    return std::shared_ptr<const Construction>(std::move(c));
  }
  [[nodiscard]] std::unique_ptr<CallFrame> make_frame() const override {
    auto f = std::make_unique<Frame>();
    f->outputs.resize(1);
    f->written_inputs.resize(decl_.inputs.size());
    return f;
  }

  [[nodiscard]] bool check(const Construction& construction,
                           const CallArgs& args,
                           CallFrame& frame) const override {
    auto& f = static_cast<Frame&>(frame);
    const TensorView* x = args.inputs[0].single();
    const TensorView* w = args.inputs.size() > 1 ? args.inputs[1].single() : nullptr;
    f.why = nullptr;
    if (x == nullptr) f.why = "input x is missing";
    if (f.why == nullptr && !decl_.inputs[0].dtypes.contains(x->dtype))
      f.why = "x has a dtype that is not served";
    if (f.why == nullptr && w != nullptr && !(w->shape == x->shape))
      f.why = "weight has another shape than x";
    if (f.why == nullptr && args.out != nullptr && !(args.out->shape == x->shape))
      f.why = "out has another shape than x";
    if (f.why != nullptr) return false;
    f.device = x->device;
    f.outputs[0].present = true;
    f.outputs[0].dtype = static_cast<const Made&>(construction).to.value_or(x->dtype);
    f.written_inputs[0] = writes_x_;
    f.outputs[0].shape = x->shape;
    f.nothing_to_do = x->count() == 0;
    f.n = x->count();
    return true;
  }
  [[nodiscard]] Error failure(const Construction&,
                              const CallArgs&,
                              const CallFrame& frame) const override {
    return {ErrorCode::kSignatureMismatch, static_cast<const Frame&>(frame).why};
  }
  [[nodiscard]] std::optional<std::uint32_t> active_interface(std::uint32_t,
                                                              const Construction&,
                                                              const CallFrame&) const override {
    return 0;
  }
  [[nodiscard]] bool eval_call(std::uint32_t,
                               const Construction&,
                               const CallArgs&,
                               CallFrame& frame,
                               std::span<const tenon_value>,
                               std::span<tenon_value> fields) const override {
    fields[0] = {TENON_VALUE_INT, 0, 0, static_cast<Frame&>(frame).n, 0, nullptr};
    return true;
  }
  [[nodiscard]] bool eval_arg_shape(std::uint32_t,
                                    std::uint32_t,
                                    std::uint32_t,
                                    CallFrame& frame,
                                    std::span<const tenon_value>,
                                    Dims& shape) const override {
    if (decl_.flow == "direct") {
      shape = frame.outputs[0].shape;
    } else {
      shape = Dims{static_cast<Frame&>(frame).n};  // row_norm: folded to one axis
    }
    return true;
  }
  [[nodiscard]] std::optional<DType> temporary_dtype(std::uint32_t,
                                                     std::uint32_t,
                                                     const Construction&,
                                                     const CallFrame&) const override {
    return std::nullopt;
  }
  [[nodiscard]] std::vector<NamedValue> indices(const Construction&,
                                                const CallFrame& frame) const override {
    return {{"n", static_cast<const Frame&>(frame).n}};
  }
  [[nodiscard]] std::vector<Traffic> traffic(const Construction&,
                                             const CallArgs&,
                                             const CallFrame&) const override {
    return {};
  }
  [[nodiscard]] Result<Cost> cost(const Construction&,
                                  const CallArgs&,
                                  const CallFrame& frame) const override {
    return Cost{static_cast<double>(static_cast<const Frame&>(frame).n), 0};
  }

 private:
  void renew_contract() {
    InterfaceDecl& i = decl_.interfaces[0];
    i.contract_text = contract_text(i);
    i.contract_hash = contract_hash(i);
  }

  bool writes_x_ = false;
  struct Made final : Construction {
    Made() = default;
    std::optional<DType> to;  // of a cast
  };
  struct Frame final : CallFrame {
    Frame() = default;
    const char* why = nullptr;
    std::int64_t n = 0;
  };

  static OpDecl declare(std::string name, std::string interface, std::string flow) {
    const std::vector<DType> dtypes{DType::kFloat16, DType::kFloat32};
    OpDecl d;
    d.name = std::move(name);
    d.family = "test";
    d.implemented = true;
    d.flow = std::move(flow);
    d.where = {"test.yaml", 1, 1};
    TensorDecl t;
    t.dtypes = DTypeSet{DType::kFloat16, DType::kFloat32};
    t.dtype_text = "T";
    t.shape_text = "[*S]";
    t.name = "x";
    d.inputs.push_back(t);
    // Which the copies and casts of flows call.
    const bool has_weight = d.name != "CopyFwdOp" && d.name != "CastFwdOp";
    if (d.name == "CastFwdOp") {
      d.params.emplace_back();
      d.params.back().name = "to";
    }
    t.name = "weight";
    t.optional = When::kAlways;
    if (has_weight) d.inputs.push_back(t);
    t.name = "output";
    t.optional = When::kNever;
    t.role = TensorRole::kOutput;
    t.buffer_out = true;
    d.outputs.push_back(t);
    d.steps.push_back({"main", false});
    InterfaceDecl i;
    i.name = std::move(interface);
    i.fields.push_back({"n", TENON_VALUE_INT, false, {}, false, "n", {}});
    i.args.push_back({"x", ArgSource::kInput, 0, TENON_ROLE_IN, dtypes, false, false, "[*S]", ""});
    if (has_weight)
      i.args.push_back(
          {"weight", ArgSource::kInput, 1, TENON_ROLE_IN, dtypes, true, false, "[*S]", ""});
    i.args.push_back(
        {"output", ArgSource::kOutput, 0, TENON_ROLE_OUT, dtypes, false, false, "[*S]", ""});
    i.contract_text = contract_text(i);
    i.contract_hash = contract_hash(i);
    d.interfaces.push_back(i);
    return d;
  }
};

}  // namespace tenon::test
