// An engine with ScaleFwdOp, a device kind and a plugin, all scripted.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "core/support/fake_rows.hpp"
#include "core/support/hand_plan.hpp"
#include "tenon/core/op.hpp"

namespace tenon::test {

// Doubles x into output, honouring strides of rank 1 and 2.
inline tenon_status doubles(const tenon_launch& l, tenon_reason&) {
  const tenon_tensor& x = *l.tensors[l.arg_first[0]];
  const tenon_tensor& y = *l.tensors[l.arg_first[2]];
  const auto at = [](const tenon_tensor& t, std::int64_t i, std::int64_t j) {
    return reinterpret_cast<float*>(static_cast<std::byte*>(t.data) + t.byte_offset) +
           i * t.strides[0] + (t.rank > 1 ? j * t.strides[1] : 0);
  };
  for (std::int64_t i = 0; i < x.shape[0]; ++i) {
    for (std::int64_t j = 0; j < (x.rank > 1 ? x.shape[1] : 1); ++j)
      *at(y, i, j) = 2 * *at(x, i, j);
  }
  return TENON_OK;
}

// Copies strided to strided, as a CopyFwdOp kernel does.
inline tenon_status copies(const tenon_launch& l, tenon_reason&) {
  const tenon_tensor& x = *l.tensors[l.arg_first[0]];
  const tenon_tensor& y = *l.tensors[l.arg_first[1]];
  const auto at = [](const tenon_tensor& t, std::int64_t i, std::int64_t j) {
    return reinterpret_cast<float*>(static_cast<std::byte*>(t.data) + t.byte_offset) +
           i * t.strides[0] + (t.rank > 1 ? j * t.strides[1] : 0);
  };
  for (std::int64_t i = 0; i < x.shape[0]; ++i) {
    for (std::int64_t j = 0; j < (x.rank > 1 ? x.shape[1] : 1); ++j) *at(y, i, j) = *at(x, i, j);
  }
  return TENON_OK;
}

// ScaleFwdOp and CopyFwdOp on a scripted device kind `fake`, with a plugin `acme` whose rows the
// test adds.
struct ScaleWorld {
  explicit ScaleWorld(EngineOptions options = {}, std::string flow = "direct") {
    engine = Engine::create(std::move(options),
                            [this](int level, std::string_view, std::string_view text) {
                              if (level <= TENON_LOG_WARN) log.emplace_back(text);
                            });
    plan = std::make_shared<HandPlan>("ScaleFwdOp", "scale_fwd", std::move(flow));
    copy_plan = std::make_shared<HandPlan>("CopyFwdOp", "copy_fwd");
    REQUIRE(engine->registry().add_op(plan));
    REQUIRE(engine->registry().add_op(copy_plan));
    kind.makes_streams = true;
    device_plugin = &FakePlugin::make("dev");
    device_plugin->own_kind(kind.table("fake"));
    copy = &device_plugin->add("CopyFwdOp", copy_plan->decl().interfaces[0], "copy");
    copy->layouts = TENON_LAYOUTS_ALL;
    copy->launch = copies;
    acme = &FakePlugin::make("acme");
  }
  FakeRow& row(const std::string& key) {
    FakeRow& r = acme->add("ScaleFwdOp", plan->decl().interfaces[0], key);
    r.launch = doubles;
    return r;
  }
  void publish() {
    if (published) return;
    REQUIRE(device_plugin->commit(engine->registry()));
    REQUIRE(acme->commit(engine->registry()));
    engine->registry().publish();
    published = true;
  }
  Op make(const InstanceOptions& options = {}) {
    publish();
    return engine->make("ScaleFwdOp", {}, options).value();
  }
  Tensor tensor(const Dims& shape, float first = 1.0f) {
    Tensor t = engine->devices().make_tensor(DType::kFloat32, shape, fake).value();
    for (std::int64_t i = 0; i < t.view().count(); ++i)
      t.data<float>()[i] = first + static_cast<float>(i);
    return t;
  }

  Device fake{DeviceKind::of("fake"), 0};
  FakeKind& kind = FakeKind::make();
  std::shared_ptr<Engine> engine;
  std::shared_ptr<HandPlan> plan;
  std::shared_ptr<HandPlan> copy_plan;
  FakePlugin* device_plugin;
  FakePlugin* acme;
  FakeRow* copy;
  std::vector<std::string> log;
  bool published = false;
};

}  // namespace tenon::test
