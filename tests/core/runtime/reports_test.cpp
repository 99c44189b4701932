// Public reports turned into checks, those of calls and targets that stand in no other file.
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/support/fake_target.hpp"
#include "core/support/scale_world.hpp"

using namespace tenon;
using tenon::test::doubles;
using tenon::test::FakeKind;
using tenon::test::FakePlugin;
using tenon::test::FakeRow;
using tenon::test::FakeStore;
using tenon::test::refuse_with;
using World = tenon::test::ScaleWorld;

namespace {

// A second device kind beside World's `fake`, owned by a plugin of its own with a kernel of its
// own. Its devices, as those of `fake` where `fake_has_it` too, report one PCI address.
tenon_status describe_card(void*, std::uint32_t, tenon_device* out, tenon_reason*) {
  constexpr std::string_view kArch = "f1";
  constexpr std::string_view kPci = "0000:3b:00.0";
  out->arch = {kArch.data(), kArch.size()};
  out->pci = {kPci.data(), kPci.size()};
  out->warp_size = 1;
  return TENON_OK;
}

std::string status_of(const Error& error) {
  for (const auto& [name, value] : error.fields()) {
    if (name == "status") return value;
  }
  return {};
}

struct TwoKinds : World {
  TwoKinds() {
    here = &row("here");
    other_plugin = &FakePlugin::make("other");
    tenon_device_kind table = other_kind.table("other");
    table.describe = describe_card;
    other_plugin->own_kind(table);
    tenon_device_kind mine = kind.table("fake");
    mine.describe = describe_card;
    device_plugin->own_kind(mine);
    there = &other_plugin->add("ScaleFwdOp", plan->decl().interfaces[0], "there");
    there->devices = {"other"};
    there->launch = doubles;
    REQUIRE(other_plugin->commit(engine->registry()));
    publish();
  }
  Tensor on_other() {
    Tensor t = engine->devices().make_tensor(DType::kFloat32, Dims{2}, other).value();
    t.data<float>()[0] = 4;
    return t;
  }

  FakeKind& other_kind = FakeKind::make();
  Device other{DeviceKind::of("other"), 0};
  FakePlugin* other_plugin;
  FakeRow* here;
  FakeRow* there;
};

}  // namespace

TEST_SUITE("core/runtime/reports") {
  TEST_CASE("D20: a kernel that accepts a call and then fails is named, and others go on") {
    World w;
    FakeRow& fast = w.row("fast");
    FakeRow& slow = w.row("slow");
    fast.preferred_over = {"slow"};
    fast.launch = [](const tenon_launch& l, tenon_reason& r) {
      if (l.call->fields[0].i == 576) {
        std::snprintf(r.text, sizeof r.text, "no head dim of 576");
        return TENON_UNAVAILABLE;
      }
      return doubles(l, r);
    };
    Op op = w.make();
    for (const std::int64_t n : {64, 128, 576, 64}) {
      const auto out = op.call({{"x", w.tensor({n})}});
      if (n != 576) {
        REQUIRE(out);
        continue;
      }
      REQUIRE_FALSE(out);
      CHECK(out.error().code() == ErrorCode::kLaunchFailed);
      CHECK(out.error().message().find("acme:fast") != std::string::npos);
      CHECK(out.error().message().find("no head dim of 576") != std::string::npos);
    }
    CHECK(slow.launches == 0);  // no other kernel is tried, so that explain is right
  }

  TEST_CASE("D21: two usable device kinds are no error, and each call goes where its tensors are") {
    TwoKinds w;
    Op op = w.engine->make("ScaleFwdOp").value();
    REQUIRE(op.call({{"x", w.tensor({2})}}));
    CHECK(op.last_call()->kernel() == "acme:here");
    REQUIRE(op.call({{"x", w.on_other()}}));
    CHECK(op.last_call()->kernel() == "other:there");
    CHECK(op.serving_target() == "builtin");
    CHECK(w.engine->default_device().value() == Device{});
    for (const char* target : {"fake", "other"}) {
      InstanceOptions options;
      options.target = target;
      Op named = w.engine->make("ScaleFwdOp", {}, options).value();
      const bool is_fake = std::string(target) == "fake";
      CHECK(named.call({{"x", is_fake ? w.tensor({2}) : w.on_other()}}));
      CHECK(named.call({{"x", is_fake ? w.on_other() : w.tensor({2})}}).error().code() ==
            ErrorCode::kTargetMismatch);
    }
  }

  TEST_CASE("D22: one card under two kinds is marked on both, and no call is split over them") {
    TwoKinds w;
    DeviceTable& devices = w.engine->devices();
    const DeviceEntry* mine = devices.find(w.fake).value();
    const DeviceEntry* theirs = devices.find(w.other).value();
    CHECK(devices.same_card_as(*mine) == std::vector<Device>{w.other});
    CHECK(devices.same_card_as(*theirs) == std::vector<Device>{w.fake});
    Op op = w.engine->make("ScaleFwdOp").value();
    for (int i = 0; i < 3; ++i) {
      REQUIRE(op.call({{"x", w.tensor({2})}}));
      CHECK(op.last_call()->device == w.fake);
      REQUIRE(op.call({{"x", w.on_other()}}));
      CHECK(op.last_call()->device == w.other);
    }
    CHECK(w.here->launches == 3);
    CHECK(w.there->launches == 3);
    const Tensor x = w.on_other();
    const NamedSpec spec{"x", x.spec(), 0};
    const Explanation e = op.explain({&spec, 1});
    CHECK(e.target == "builtin");
    CHECK(e.target_from == "detection");
    CHECK(e.steps.at(0).winner == "other:there");
  }

  TEST_CASE("D71: launches of one op on two streams share neither arguments nor workspace") {
    World w;
    w.kind.flags = TENON_DEVICE_FLAG_HOST_MEMORY;  // launches are enqueued
    w.device_plugin->own_kind(w.kind.table("fake"));
    FakeRow& row = w.row("fast");
    row.workspace_bytes = 1024;
    struct Job {
      const float* from;
      float* to;
      std::int64_t count;
      float* scratch;
    };
    std::vector<Job> queues[2];
    int streams[2] = {};
    row.launch = [&](const tenon_launch& l, tenon_reason&) {
      const tenon_tensor& x = *l.tensors[l.arg_first[0]];
      const tenon_tensor& y = *l.tensors[l.arg_first[2]];
      CHECK(l.workspace_bytes >= 1024);
      queues[l.stream == &streams[0] ? 0 : 1].push_back({static_cast<const float*>(x.data),
                                                         static_cast<float*>(y.data),
                                                         x.shape[0],
                                                         static_cast<float*>(l.workspace)});
      return TENON_OK;
    };
    Op op = w.make();
    constexpr int kLaunches = 1000;
    std::vector<Tensor> inputs[2];
    std::vector<Tensor> outputs[2];
    for (int i = 0; i < kLaunches; ++i) {
      for (int s = 0; s < 2; ++s) {
        const std::int64_t n = s == 0 ? 3 + i % 5 : 11 + i % 7;
        inputs[s].push_back(w.tensor({n}, static_cast<float>(i)));
        outputs[s].push_back(w.tensor({n}, -1.0f));
        on_stream(w.fake, &streams[s], [&] {
          REQUIRE(op.call({{"x", inputs[s].back()}}, {&outputs[s].back().view(), {}}));
        });
      }
    }

    // The two streams run at the same time: each first half, then each second half of a launch.
    for (std::size_t i = 0; i < kLaunches; ++i) {
      for (const auto& queue : queues) {
        for (std::int64_t k = 0; k < queue[i].count; ++k)
          queue[i].scratch[k] = 2 * queue[i].from[k];
      }
      for (const auto& queue : queues) std::copy_n(queue[i].scratch, queue[i].count, queue[i].to);
    }

    bool all = true;
    for (int s = 0; s < 2; ++s) {
      for (std::size_t i = 0; i < kLaunches; ++i) {
        for (std::int64_t k = 0; k < outputs[s][i].view().count(); ++k) {
          all = all && outputs[s][i].data<float>()[k] ==
                           2 * (static_cast<float>(i) + static_cast<float>(k));
        }
      }
    }
    CHECK(all);
  }

  TEST_CASE("D75: a duplicate registration is told by its status and text alone, without a log") {
    auto engine = Engine::create({}, {});  // no log sink
    auto plan = std::make_shared<tenon::test::HandPlan>();
    REQUIRE(engine->registry().add_op(plan));
    FakePlugin& twice = FakePlugin::make("twice");
    twice.add("ScaleFwdOp", plan->decl().interfaces[0], "k");
    twice.add("ScaleFwdOp", plan->decl().interfaces[0], "k");
    const auto refused = twice.commit(engine->registry());
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code() == ErrorCode::kPluginRejected);
    CHECK(status_of(refused.error()) == "ALREADY_EXISTS");
    for (const char* part : {"ScaleFwdOp", "scale_fwd", "'twice'", "/plugins/twice.tenon.so"})
      CHECK(refused.error().message().find(part) != std::string::npos);

    tenon::test::FakeTarget mine{"accel"};
    FakePlugin& first = FakePlugin::make("first");
    FakePlugin& second = FakePlugin::make("second");
    first.add_target(mine.row());
    second.add_target(mine.row());
    REQUIRE(first.commit(engine->registry()));
    const auto taken = second.commit(engine->registry());
    REQUIRE_FALSE(taken);
    CHECK(status_of(taken.error()) == "ALREADY_EXISTS");
    const std::string text = taken.error().to_string();
    for (const char* part : {"accel", "first", "second"})
      CHECK(text.find(part) != std::string::npos);
  }

  TEST_CASE("D93: a target whose plugin failed to load is an error with the reason, and no run") {
    World w;
    FakeRow& row = w.row("fast");
    PluginRecord failed;
    failed.id = "broken";
    failed.path = "/plugins/broken.tenon.so";
    failed.state = PluginState::kRejected;
    failed.stage = PluginStage::kLoad;
    failed.reason = "libdriver.so.1: cannot open shared object file";
    w.engine->registry().set_records({failed});
    w.publish();
    InstanceOptions options;
    options.target = "broken";
    const auto made = w.engine->make("ScaleFwdOp", {}, options);
    REQUIRE_FALSE(made);
    CHECK(made.error().code() == ErrorCode::kUnknownTarget);
    CHECK(made.error().to_string().find("libdriver.so.1") != std::string::npos);
    CHECK(row.launches == 0);
  }

  TEST_CASE("D95: what is kept on disk does not depend on what the process built before") {
    FakeStore& store = FakeStore::make();
    EngineOptions tune;
    tune.tuning = {TuningMode::kTune, "test"};
    int tuned = 0;
    // One process: its builds, in its order.
    const auto process = [&](const std::vector<std::int64_t>& sizes) {
      World w(tune);
      w.acme->info().host = &store.table;
      FakeRow& row = w.row("fast");
      row.config = "tile=64";
      row.tune = [&](const tenon_launch&, tenon_reason&) {
        ++tuned;
        return TENON_OK;
      };
      Op op = w.make();
      for (const std::int64_t n : sizes) REQUIRE(op.call({{"x", w.tensor({n})}}));
      return row.tuned_with;
    };
    const auto keys = [&] {
      std::vector<std::string> all;
      for (const auto& [key, value] : store.items) all.push_back(key);
      return all;
    };

    process({3, 8});
    const auto first = keys();
    const std::string of_second = process({8, 3});
    const std::string of_third = process({8});

    CHECK(first.size() == 2);
    CHECK(keys() == first);
    CHECK(tuned == 2);  // by the first process alone
    CHECK(of_second == "tile=64");
    CHECK(of_third == "tile=64");
  }
}
