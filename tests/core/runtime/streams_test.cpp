// What the core does where work is under way: copies come after what makes their source, nothing
// that may wait ends a capture, kept memory leaves the caller's streams alone, and errors that show
// late are said to be.
#include <algorithm>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "core/support/deferred_world.hpp"
#include "tenon/core/capture.hpp"

using namespace tenon;
using tenon::test::FakeRow;
using World = tenon::test::DeferredWorld;

namespace {

std::vector<float> values(const Tensor& tensor) {
  const auto* first = tensor.data<float>();
  return {first, first + tensor.view().count()};
}

bool is_late(const Error& error) {
  return std::any_of(error.fields().begin(), error.fields().end(), [](const auto& field) {
    return field.first == "late" && field.second == "true";
  });
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const DeviceEntry& entry_of(World& w, std::int16_t index = 0) {
  return *w.engine->devices().find(Device{w.fake.kind, index}).value();
}

/// A world with a kernel, an op, a tensor of three, and a stream of the application's.
struct Ready : World {
  FakeRow& fast = row("fast");
  Op op = make();
  char stream = 0;
  Tensor x = tensor({3});

  /// The op of x on the stream, which is under way.
  Tensor on_its_stream() {
    auto made = on_stream(fake, &stream, [&] { return op.call({{"x", x}}); });
    REQUIRE(made);
    return std::move((*made)[0]);
  }
};

}  // namespace

TEST_SUITE("streams") {
  TEST_CASE("a copy to another device comes after the work that makes its source") {
    World w;
    w.row("fast");
    Op op = w.make();
    const Tensor y = op.call({{"x", w.tensor({3})}}).value()[0];

    const auto there = w.engine->devices().to_device(y, Device{w.fake.kind, 1});

    REQUIRE(there);
    CHECK(values(*there) == std::vector<float>{2, 4, 6});
  }

  TEST_CASE("a copy comes after what was made on a stream of the application's") {
    Ready w;
    const Tensor y = w.on_its_stream();

    const auto on_host = w.engine->devices().to_device(y, Device{});

    REQUIRE(on_host);
    CHECK(values(*on_host) == std::vector<float>{2, 4, 6});
  }

  TEST_CASE("a copy into a tensor comes after the work that still reads it") {
    Ready w;
    const Tensor y = w.on_its_stream();
    const std::vector<float> next{7, 8, 9};

    REQUIRE(w.engine->devices().copy_bytes(w.fake, w.x.view().first(), Device{}, next.data(), 12));

    REQUIRE(w.engine->devices().synchronize(entry_of(w)));
    CHECK(values(w.x) == next);
    CHECK(values(y) == std::vector<float>{2, 4, 6});
  }

  TEST_CASE("a copy while a stream captures says why not, and does not end the capture") {
    Ready w;
    (void)w.on_its_stream();
    const auto check = [&](const char* where) {
      CAPTURE(std::string(where));
      for (const Device to : {Device{}, Device{w.fake.kind, 1}}) {
        const auto copied = w.engine->devices().to_device(w.x, to);
        REQUIRE_FALSE(copied);
        CHECK(copied.error().code() == ErrorCode::kUsageError);
        CHECK(has(copied.error().message(), "while a stream of fake:0 captures"));
        CHECK(has(copied.error().hint(), "before the capture"));
      }
      const Tensor host = Tensor::host(DType::kFloat32, {3}).value();
      CHECK_FALSE(w.engine->devices().to_device(host, w.fake));
      CHECK_FALSE(w.devices().capture_ended);
    };
    {
      w.devices().capturing = &w.stream;
      const StreamScope scope(w.fake, &w.stream);
      check("inside of the stream's scope");
      w.devices().capturing = nullptr;
    }
    auto scope = CaptureScope::open(*w.engine, w.fake);
    REQUIRE(scope);
    w.devices().capturing = &w.stream;
    (void)w.on_its_stream();
    check("outside of it, with a capture scope open");
    std::thread([&] { check("on another thread"); }).join();
    w.devices().capturing = nullptr;
    CHECK(w.engine->devices().to_device(w.x, Device{}));
    REQUIRE(scope->close());
  }

  TEST_CASE("whatever function of the kind meets it, an error of earlier work is late") {
    World w;
    FakeRow& row = w.row("fast");
    Op op = w.make();
    const Tensor x = w.tensor({3});
    const Tensor host = Tensor::host(DType::kFloat32, {3}).value();
    const Tensor other = w.tensor({7});
    CallOptions into;
    into.out = &other.view();
    REQUIRE(op.call({{"x", x}}));
    DeviceTable& devices = w.engine->devices();
    const DeviceEntry& device = entry_of(w);
    const auto met = [&](const char* where, const Error& error) {
      CAPTURE(std::string(where));
      CAPTURE(error.to_string());
      CHECK(error.code() == ErrorCode::kDeviceError);
      const bool late = w.devices().left_behind != nullptr;
      CHECK(is_late(error) == late);
      CHECK(has(error.message(), "earlier work on fake:0 failed: an illegal address") == late);
    };
    for (const char* left : {"an illegal address", static_cast<const char*>(nullptr)}) {
      w.devices().left_behind = left;
      w.devices().status = TENON_DEVICE;
      met("an output", op.call({{"x", x}}).error());
      met("a tensor", devices.make_tensor(DType::kFloat32, {3}, w.fake).error());
      met("a copy of bytes",
          devices.copy_bytes(w.fake, x.view().first(), Device{}, host.data<float>(), 12).error());
      met("a wait", devices.synchronize(device).error());
      met("a stream", CaptureScope::open(*w.engine, w.fake).error());
      met("a miss", op.call({{"x", other}}, into).error());
      w.devices().status = TENON_OK;
      row.build = [](tenon_reason&) { return TENON_DEVICE; };
      met("a build", op.call({{"x", w.tensor({left == nullptr ? 5 : 4})}}).error());
      row.build = nullptr;
    }
  }

  TEST_CASE("a workspace of a caller's stream is given back without that stream") {
    World w;
    w.row("fast").workspace_bytes = 1000;
    Op op = w.make();
    char stream = 0;
    const Tensor x = w.tensor({3});
    int waits = 0;

    std::thread([&] {
      std::vector<Tensor> made = on_stream(w.fake, &stream, [&] {
                                   return op.call({{"x", x}});
                                 }).value();
      made.clear();
      w.devices().frees.clear();
      waits = w.devices().waits;
    }).join();

    REQUIRE(w.devices().frees.size() == 1);
    CHECK(w.devices().frees[0].second == nullptr);
    CHECK(w.devices().waits > waits);
  }

  TEST_CASE("a thread that ends while another captures leaves its workspace for later") {
    World w;
    w.row("fast").workspace_bytes = 1000;
    Op op = w.make();
    char theirs = 0;
    char mine = 0;
    const Tensor x = w.tensor({3});
    REQUIRE(on_stream(w.fake, &mine, [&] { return op.call({{"x", x}}); }));
    auto scope = CaptureScope::open(*w.engine, w.fake);
    REQUIRE(scope);
    w.devices().frees.clear();

    std::thread([&] {
      auto made = on_stream(w.fake, &theirs, [&] { return op.call({{"x", x}}); });
      REQUIRE(made);
      w.devices().capturing = &mine;
    }).join();

    CHECK_FALSE(w.devices().capture_ended);
    CHECK(w.devices().frees.size() == 1);  // the output
    w.devices().capturing = nullptr;
    REQUIRE(scope->close());
    CHECK(w.devices().frees.size() == 2);
    CHECK(w.devices().frees[1].second == nullptr);
  }

  TEST_CASE("a kernel that is let go while a stream captures is destroyed after the capture") {
    World w;
    FakeRow& row = w.row("fast");
    char stream = 0;
    std::optional<Op> op = w.make();
    const Tensor x = w.tensor({3});
    REQUIRE(on_stream(w.fake, &stream, [&] { return op->call({{"x", x}}); }));

    SUBCASE("with a scope open, whichever thread lets go") {
      auto scope = CaptureScope::open(*w.engine, w.fake);
      auto outer = CaptureScope::open(*w.engine, w.fake);
      REQUIRE(scope);
      REQUIRE(outer);
      w.devices().capturing = &stream;
      std::thread([&] { op.reset(); }).join();
      CHECK(row.destroys.load() == 0);
      CHECK_FALSE(w.devices().capture_ended);
      w.devices().capturing = nullptr;
      REQUIRE(scope->close());
      CHECK(row.destroys.load() == 0);  // the other one is open
      REQUIRE(outer->close());
      CHECK(row.destroys.load() == 1);
    }
    SUBCASE("without a scope, on the thread whose calls go to the stream") {
      {
        const StreamScope scope(w.fake, &stream);
        w.devices().capturing = &stream;
        op.reset();
        CHECK(row.destroys.load() == 0);
        CHECK_FALSE(w.devices().capture_ended);
        w.devices().capturing = nullptr;
      }
      SUBCASE("at the next wait") { REQUIRE(w.engine->devices().synchronize(entry_of(w))); }
      std::optional<Op> other;
      SUBCASE("at the next call that builds") {
        other = w.make();
        REQUIRE(other->call({{"x", x}}));
      }
      CHECK(row.destroys.load() == 1);
    }
    SUBCASE("where nothing captures at once, once the device has passed its launches") {
      const int waits = w.devices().waits;
      op.reset();
      CHECK(row.destroys.load() == 1);
      CHECK(w.devices().waits == waits + 1);
    }
    CHECK_FALSE(w.devices().capture_ended);
  }

  TEST_CASE("what is put off outlives the Runtime") {
    char stream = 0;
    FakeRow* row = nullptr;
    std::optional<World> w(std::in_place);
    row = &w->row("fast");
    std::optional<Op> op = w->make();
    const Tensor x = w->tensor({3});  // as long as the stream works on it
    {
      const StreamScope scope(w->fake, &stream);
      REQUIRE(op->call({{"x", x}}));
      World::devices().capturing = &stream;
      op.reset();
    }
    w.reset();
    CHECK(row->destroys.load() == 0);
    CHECK_FALSE(World::devices().capture_ended);
    World next;
    next.row("fast");
    Op other = next.make();
    REQUIRE(other.call({{"x", next.tensor({3})}}));
    CHECK(row->destroys.load() == 1);
  }

  TEST_CASE("a graph's memory that is let go while another is captured is freed afterwards") {
    Ready w;
    (void)w.on_its_stream();
    std::optional<Tensor> replayed;
    {
      auto first = CaptureScope::open(*w.engine, w.fake);
      REQUIRE(first);
      replayed = w.op.call({{"x", w.x}}).value()[0];
    }
    auto second = CaptureScope::open(*w.engine, w.fake);
    REQUIRE(second);
    w.devices().frees.clear();
    w.devices().capturing = &w.stream;

    replayed.reset();

    CHECK(w.devices().frees.empty());
    CHECK_FALSE(w.devices().capture_ended);
    w.devices().capturing = nullptr;
    REQUIRE(second->close());
    CHECK(w.devices().frees.size() == 1);
  }
}
