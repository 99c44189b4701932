// Tuned mode, once per kernel and on tensors of its own, and what is kept of it.
#include <doctest/doctest.h>

#include "core/support/fake_target.hpp"
#include "core/support/scale_world.hpp"

using namespace tenon;
using tenon::test::FakeRow;
using tenon::test::FakeStore;
using World = tenon::test::ScaleWorld;

namespace {

EngineOptions with_mode(TuningMode mode) {
  EngineOptions options;
  options.tuning = {mode, "tenon.yaml:9"};
  return options;
}

// A row that counts how often it is tuned, and remembers the last launch it was tuned on.
struct Tuned {
  int count = 0;
  const void* x = nullptr;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  std::uint64_t workspace_bytes = 0;
  float largest = 0;
  bool has_call = false;

  void watch(FakeRow& row) {
    row.tune = [this](const tenon_launch& l, tenon_reason&) {
      ++count;
      const tenon_tensor& t = *l.tensors[l.arg_first[0]];
      x = t.data;
      shape.assign(t.shape, t.shape + t.rank);
      strides.assign(t.strides, t.strides + t.rank);
      workspace_bytes = l.workspace == nullptr ? 0 : l.workspace_bytes;
      has_call = l.call != nullptr && l.call->fields[0].i == t.shape[0];
      const auto* values =
          reinterpret_cast<const float*>(static_cast<const std::byte*>(t.data) + t.byte_offset);
      largest = std::max(largest, std::abs(values[0]));
      return TENON_OK;
    };
    row.config = "tile=64";
  }
};

}  // namespace

TEST_SUITE("core/runtime/tuning") {
  TEST_CASE("request_tune reaches what is built, once, on tensors that are not the caller's") {
    World w;
    FakeRow& row = w.row("fast");
    row.layouts = TENON_LAYOUTS_ALL;
    row.workspace_bytes = 512;
    Tuned tuned;
    tuned.watch(row);
    Op op = w.make();
    const Tensor x = w.tensor({6});
    const TensorView stepped(x.data<float>(), DType::kFloat32, Dims{3}, Dims{2}, w.fake);
    REQUIRE(op.call({{"x", stepped}}));
    CHECK(tuned.count == 0);

    CHECK(op.request_tune() == 1);

    CHECK(tuned.count == 1);
    CHECK(tuned.x != x.data<float>());
    CHECK(tuned.shape == std::vector<std::int64_t>{3});
    CHECK(tuned.strides == std::vector<std::int64_t>{2});
    CHECK(tuned.workspace_bytes == 512);
    CHECK(tuned.has_call);
    CHECK(tuned.largest >= 0.5f);
    CHECK(tuned.largest <= 1.0f);
    CHECK(op.request_tune() == 0);
    REQUIRE(op.call({{"x", stepped}}));
    CHECK(tuned.count == 1);
    CHECK(op.built_entries().at(0).tuned);
    CHECK(op.built_entries().at(0).config == "tile=64");
  }

  TEST_CASE("in tuned mode what is built later is tuned before its first launch") {
    World w;
    FakeRow& row = w.row("fast");
    Tuned tuned;
    tuned.watch(row);
    Op op = w.make();
    CHECK(op.request_tune() == 0);
    REQUIRE(op.call({{"x", w.tensor({3})}}));
    CHECK(tuned.count == 1);
    REQUIRE(op.call({{"x", w.tensor({4})}}));
    CHECK(tuned.count == 2);
    Op other = w.make();
    REQUIRE(other.call({{"x", w.tensor({5})}}));
    CHECK(tuned.count == 2);  // the mode is the instance's
    CHECK(w.engine->counters().kernels_tuned == 2);
  }

  TEST_CASE(
      "what cannot tune is said once per instance, and a tuning that fails is no failing call") {
    World w;
    w.row("fast");
    Op op = w.make();
    (void)op.request_tune();
    REQUIRE(op.call({{"x", w.tensor({3})}}));
    REQUIRE(op.call({{"x", w.tensor({4})}}));
    REQUIRE(w.log.size() == 1);
    CHECK(w.log[0] ==
          "ScaleFwdOp: kernel type 'acme:fast' of interface 'scale_fwd' cannot tune; it runs as it "
          "was built");

    World f;
    FakeRow& row = f.row("fast");
    row.tune = [](const tenon_launch&, tenon_reason& r) {
      std::snprintf(r.text, sizeof r.text, "no time");
      return TENON_UNAVAILABLE;
    };
    Op failing = f.make();
    (void)failing.request_tune();
    CHECK(failing.call({{"x", f.tensor({3})}}));
    REQUIRE(f.log.size() == 1);
    CHECK(f.log[0].find("was not tuned: no time") != std::string::npos);
    CHECK_FALSE(failing.built_entries().at(0).tuned);
  }

  TEST_CASE(
      "D94: a result is kept under everything that it depends on, and read by the next engine") {
    FakeStore& store = FakeStore::make();
    const auto with_store = [&](World& w, Tuned& tuned) -> FakeRow& {
      w.acme->info().host = &store.table;
      FakeRow& row = w.row("fast");
      tuned.watch(row);
      return row;
    };
    World first(with_mode(TuningMode::kTune));
    Tuned tuned;
    with_store(first, tuned);
    Op op = first.make();
    REQUIRE(op.call({{"x", first.tensor({3})}}));
    REQUIRE(op.call({{"x", first.tensor({4})}}));
    REQUIRE(op.call({{"x", first.tensor({3})}}));
    CHECK(tuned.count == 2);  // each size by itself
    REQUIRE(store.items.size() == 2);
    for (const auto& [key, value] : store.items) {
      CHECK(value == "tile=64");
      CHECK(key.find("fake f2 ") != std::string::npos);
      CHECK(key.find("tenon::ScaleFwdOp scale_fwd acme:fast") != std::string::npos);
    }

    World second(with_mode(TuningMode::kUse));
    Tuned again;
    FakeRow& row = with_store(second, again);
    Op later = second.make();
    REQUIRE(later.call({{"x", second.tensor({3})}}));
    CHECK(row.tuned_with == "tile=64");
    CHECK(again.count == 0);
    row.tuned_with.clear();
    REQUIRE(later.call({{"x", second.tensor({5})}}));
    CHECK(row.tuned_with.empty());
    CHECK(again.count == 0);  // `use` reads; it tunes nothing by itself

    World off;
    Tuned never;
    FakeRow& plain = with_store(off, never);
    REQUIRE(off.make().call({{"x", off.tensor({3})}}));
    CHECK(plain.tuned_with.empty());
  }
}
