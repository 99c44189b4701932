// An op with many scripted implementations, all of them in this process.
#pragma once

#include <string>
#include <vector>

#include "core/support/fake_rows.hpp"
#include "core/support/hand_plan.hpp"
#include "tenon/core/op.hpp"

namespace tenon::bench {

/// Of `count` kernel types every second refuses, and each of the others is preferred over the one
/// before it.
class FakeFamily {
 public:
  explicit FakeFamily(int count) {
    auto plan = std::make_shared<test::HandPlan>();
    must(engine_->registry().add_op(plan));
    test::FakePlugin& plugin = test::FakePlugin::make("many");
    plugin.own_kind(kind_.table("fake"));
    for (int i = 0; i < count; ++i) {
      test::FakeRow& row =
          plugin.add("ScaleFwdOp", plan->decl().interfaces[0], "row" + std::to_string(i));
      row.identity_is_empty = true;
      if (i % 2 == 1) row.refuse = refuse;
      if (i % 2 == 0 && i > 0) row.preferred_over = {"row" + std::to_string(i - 2)};
    }
    must(plugin.commit(engine_->registry()));
    engine_->registry().publish();
    op_.push_back(std::move(engine_->make("ScaleFwdOp").value()));
  }

  /// A call that no earlier one was like.
  void miss() {
    ++n_;
    const TensorView x(memory_.data(), DType::kFloat32, Dims{n_}, device_);
    const TensorView out(memory_.data() + memory_.size() / 2, DType::kFloat32, Dims{n_}, device_);
    const TensorView* px = &x;
    const TensorArg args[] = {{&px, 1}, {}};
    must(op_.front().call_out(args, out));
    if (n_ + 1 >= static_cast<std::int64_t>(memory_.size() / 2)) n_ = 0;
  }

  void explain() {
    const NamedSpec x{"x", {DType::kFloat32, Dims{7}, Dims{1}, device_}, 0};
    if (op_.front().explain({&x, 1}).steps.empty()) std::abort();
  }

 private:
  static tenon_status refuse(const tenon_device&, const tenon_call&, tenon_reason& reason) {
    reason.code = TENON_REASON_SIZE;
    std::snprintf(reason.text, sizeof reason.text, "serves n <= 0");
    return TENON_REFUSED;
  }
  static void must(const Result<void>& result) {
    if (result) return;
    std::fprintf(stderr, "%s\n", result.error().to_string().c_str());
    std::exit(1);
  }

  test::FakeKind& kind_ = test::FakeKind::make();
  std::shared_ptr<Engine> engine_ = Engine::create({}, {});
  Device device_{DeviceKind::of("fake"), 0};
  std::vector<float> memory_ = std::vector<float>(1 << 20);
  std::vector<Op> op_;
  std::int64_t n_ = 0;
};

}  // namespace tenon::bench
