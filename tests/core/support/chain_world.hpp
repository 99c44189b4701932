// Composite ops over scripted kernels: PairFwdOp of a doubling and a halving, OuterFwdOp of a
// doubling and a pair.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "core/support/scale_world.hpp"
#include "tenon/core/composition.hpp"
#include "tenon/core/flow.hpp"

namespace tenon::test {

inline std::vector<NamedValue> no_params() { return {}; }

// Passes x through the stages of the entry, one after the other, unless the test scripts it.
class ChainFlow final : public Flow {
 public:
  std::function<Result<void>(Composition&)> script;

  [[nodiscard]] std::string_view name() const override { return "direct"; }
  [[nodiscard]] bool view_as(const FlowContext& context,
                             std::uint32_t arg,
                             const TensorView& tensor,
                             const Dims& shape,
                             TensorView& view) const override {
    return find_flow("direct")->view_as(context, arg, tensor, shape, view);
  }
  [[nodiscard]] bool composes() const override { return true; }
  [[nodiscard]] Result<void> compose(Composition& c) const override {
    if (script) return script(c);
    TensorView at = *c.input("x");
    const auto& stages = c.decl().stages;
    for (std::size_t i = 0; i < stages.size(); ++i) {
      TensorView to = *c.output("output");
      if (i + 1 < stages.size()) TENON_TRY_ASSIGN(to, c.temporary(at.dtype, at.shape));
      Composition::Delegate delegate;
      TENON_TRY_ASSIGN(delegate, c.delegate_for(stages[i].name, {}, no_params));
      const TensorView* px = &at;
      const TensorArg args[] = {{&px, 1}, {}};
      TENON_TRY(c.run(delegate, args, to));
      at = to;
    }
    return {};
  }
};

// ScaleFwdOp and HalveFwdOp with kernels; PairFwdOp of both; OuterFwdOp of Scale and Pair.
struct ChainWorld : ScaleWorld {
  explicit ChainWorld(EngineOptions options = {}, bool pair_has_kernels = false)
      : ScaleWorld(std::move(options)) {
    halve_plan = std::make_shared<HandPlan>("HalveFwdOp", "halve_fwd");
    pair_plan = std::make_shared<HandPlan>("PairFwdOp", "pair_fwd");
    outer_plan = std::make_shared<HandPlan>("OuterFwdOp", "outer_fwd");
    pair_plan->compose_of({{"first", "ScaleFwdOp", "", false}, {"second", "HalveFwdOp", "", false}},
                          pair_has_kernels);
    outer_plan->compose_of({{"scale", "ScaleFwdOp", "", false}, {"pair", "PairFwdOp", "", false}});
    REQUIRE(engine->registry().add_op(halve_plan));
    REQUIRE(engine->registry().add_op(pair_plan, &pair_flow));
    REQUIRE(engine->registry().add_op(outer_plan, &outer_flow));
    scale = &row("twice");
    halve = &acme->add("HalveFwdOp", halve_plan->decl().interfaces[0], "half");
    halve->launch = [](const tenon_launch& l, tenon_reason&) {
      const tenon_tensor& x = *l.tensors[l.arg_first[0]];
      const tenon_tensor& y = *l.tensors[l.arg_first[2]];
      for (std::int64_t i = 0; i < x.shape[0]; ++i)
        static_cast<float*>(y.data)[i] = static_cast<float*>(x.data)[i] / 2 + 1;
      return TENON_OK;
    };
  }
  Op make_op(const char* name, const InstanceOptions& options = {}) {
    publish();
    auto made = engine->make(name, {}, options);
    if (!made) FAIL(made.error().to_string());
    return std::move(*made);
  }
  static tenon_status broken(const tenon_launch&, tenon_reason&) { return TENON_DEVICE; }

  ChainFlow pair_flow;
  ChainFlow outer_flow;
  std::shared_ptr<HandPlan> halve_plan;
  std::shared_ptr<HandPlan> pair_plan;
  std::shared_ptr<HandPlan> outer_plan;
  FakeRow* scale;
  FakeRow* halve;
};

}  // namespace tenon::test
