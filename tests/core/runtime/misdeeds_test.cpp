// Plugins that do what no function of theirs may: throw, end the thread, give bad memory, lose
// their device. The call that met it fails by name, and everything else goes on.
#include <atomic>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "core/support/fake_target.hpp"
#include "core/support/scale_world.hpp"
#include "tenon/core/capture.hpp"
#include "tenon/core/plugin_calls.hpp"

using namespace tenon;
using tenon::test::doubles;
using tenon::test::FakeKind;
using tenon::test::FakeRow;
using tenon::test::FakeStore;
using tenon::test::FakeTarget;
using World = tenon::test::ScaleWorld;

namespace {

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

[[noreturn]] void lets_pass() { throw std::runtime_error("a table is gone"); }
constexpr std::string_view kThrown = "it threw an exception: a table is gone";

// Whose kernels throw where the test says; each function is the row's own otherwise.
struct Throwing {
  std::string in;
  int launches = 0;

  static tenon_kernel_type over(tenon_kernel_type row, Throwing& self) {
    static Throwing* now = nullptr;
    now = &self;
    row.identity =
        [](void*, const tenon_device*, const tenon_call*, void*, std::uint64_t, std::uint64_t* size)
        -> tenon_status {
      if (now->in == "identity") lets_pass();
      *size = 0;
      return TENON_OK;
    };
    row.refuse = [](void*, const tenon_device*, const tenon_call*, tenon_reason*) -> tenon_status {
      if (now->in == "refuse") lets_pass();
      return TENON_OK;
    };
    row.build = [](void*, const tenon_host*, const tenon_build*, tenon_kernel* out, tenon_reason*)
        -> tenon_status {
      if (now->in == "build") lets_pass();
      out->workspace = [](void*, const tenon_call*, std::uint64_t* size) -> tenon_status {
        if (now->in == "workspace") lets_pass();
        *size = 0;
        return TENON_OK;
      };
      out->launch = [](void*, const tenon_launch* l, tenon_reason* r) -> tenon_status {
        ++now->launches;
        if (now->in == "launch") lets_pass();
        if (now->in == "launch, no exception") throw 42;
        if (now->in == "end of the thread") pthread_exit(nullptr);
        return doubles(*l, *r);
      };
      out->tune = [](void*, const tenon_launch*, std::uint64_t, tenon_reason*) -> tenon_status {
        if (now->in == "tune") lets_pass();
        return TENON_OK;
      };
      out->config = [](void*, char*, std::uint64_t, std::uint64_t* size) -> tenon_status {
        if (now->in == "config") lets_pass();
        *size = 0;
        return TENON_OK;
      };
      out->destroy = [](void*) {
        if (now->in == "destroy") lets_pass();
      };
      return TENON_OK;
    };
    return row;
  }
};

// One plugin whose one kernel is a Throwing.
struct ThrowingWorld : World {
  ThrowingWorld() {
    row("fast");
    copy->flags = 0;
    log_into(*acme);
    publish_rows();
  }
  void log_into(test::FakePlugin& plugin) {
    static std::vector<std::string>* lines = nullptr;
    lines = &logged;
    FakeStore& store = FakeStore::make();
    store.table.log = [](const tenon_host*, std::int32_t, tenon_str text) {
      lines->emplace_back(text.data, text.size_bytes);
    };
    plugin.info().host = &store.table;
  }
  void publish_rows() {
    REQUIRE(device_plugin->commit(engine->registry()));
    PluginTransaction transaction(&acme->info());
    auto rows = acme->abi_rows();
    rows[0] = Throwing::over(rows[0], does);
    tenon_reason reason{};
    reason.struct_size = sizeof reason;
    const tenon_registrar* r = transaction.registrar();
    REQUIRE(r->add_kernel_types(r->context, rows.data(), 1, sizeof rows[0], &reason) == TENON_OK);
    PluginRecord record;
    record.id = "acme";
    REQUIRE(engine->registry().commit(transaction, record));
    engine->registry().publish();
    published = true;
  }

  Throwing does;
  std::vector<std::string> logged;
};

// What log lines of a kind's owner say.
std::vector<std::string>& kind_lines() {
  static std::vector<std::string> lines;
  return lines;
}

// The device kind of a world, with one function of its own.
struct KindWorld : World {
  template <class Change>
  explicit KindWorld(Change change) {
    row("fast");
    tenon_device_kind table = kind.table("fake");
    change(table);
    device_plugin->own_kind(table);
    kind_lines().clear();
    FakeStore& store = FakeStore::make();
    store.table.log = [](const tenon_host*, std::int32_t, tenon_str text) {
      kind_lines().emplace_back(text.data, text.size_bytes);
    };
    device_plugin->info().host = &store.table;
    publish();
  }
};

}  // namespace

TEST_SUITE("misdeeds of plugins") {
  TEST_CASE(
      "an exception that a kernel's function lets pass fails the call by name, and no other") {
    for (const char* function : {"build", "workspace", "launch"}) {
      CAPTURE(std::string(function));
      ThrowingWorld w;
      w.does.in = function;
      Op op = w.make();

      const auto called = op.call({{"x", w.tensor({3})}});

      REQUIRE_FALSE(called);
      CHECK(called.error().code() == ErrorCode::kPluginFailed);
      CHECK_MESSAGE(has(called.error().message(), "kernel type 'acme:fast'"),
                    called.error().message());
      CHECK(has(called.error().message(), function));
      CHECK(has(called.error().message(), kThrown));
      w.does.in.clear();
      const auto again = op.call({{"x", w.tensor({3})}});
      REQUIRE(again);
      CHECK((*again)[0].data<float>()[2] == 6.0f);
    }
  }

  TEST_CASE("an exception of a repeated launch is the same error, and the kernel stays usable") {
    ThrowingWorld w;
    Op op = w.make();
    for (int i = 0; i < 3; ++i) REQUIRE(op.call({{"x", w.tensor({3})}}));
    for (const char* how : {"launch", "launch, no exception"}) {
      w.does.in = how;
      const int before = w.does.launches;
      const auto called = op.call({{"x", w.tensor({3})}});
      REQUIRE_FALSE(called);
      CHECK(w.does.launches == before + 1);
      CHECK(called.error().code() == ErrorCode::kPluginFailed);
      CHECK(has(called.error().message(), "it threw an exception"));
    }
    w.does.in.clear();
    CHECK(op.call({{"x", w.tensor({3})}}));
  }

  TEST_CASE("an exception of refuse or identity is told like any failure of it") {
    ThrowingWorld w;
    w.does.in = "identity";
    Op op = w.make();
    REQUIRE(op.call({{"x", w.tensor({3})}}));
    REQUIRE(w.log.size() == 1);
    CHECK_MESSAGE(has(w.log[0], "identity of kernel type 'acme:fast' failed: INTERNAL: it threw"),
                  w.log[0]);
    w.does.in = "refuse";
    const auto called = op.call({{"x", w.tensor({4})}});
    REQUIRE_FALSE(called);
    CHECK_MESSAGE(has(called.error().message(), kThrown), called.error().message());
  }

  TEST_CASE("an exception of tune leaves the kernel as it was built; one of config says nothing") {
    ThrowingWorld w;
    w.does.in = "tune";
    Op op = w.make();
    REQUIRE(op.call({{"x", w.tensor({3})}}));
    CHECK(op.request_tune() == 0);
    REQUIRE_FALSE(w.log.empty());
    CHECK_MESSAGE(has(w.log.back(), kThrown), w.log.back());
    w.does.in = "config";
    CHECK(op.built_entries().at(0).config.empty());
  }

  TEST_CASE("an exception of destroy is logged under the plugin's id") {
    ThrowingWorld w;
    {
      Op op = w.make();
      REQUIRE(op.call({{"x", w.tensor({3})}}));
      w.does.in = "destroy";
    }
    REQUIRE(w.logged.size() == 1);
    CHECK_MESSAGE(has(w.logged[0], "destroy of a kernel of 'acme:fast' failed: it threw"),
                  w.logged[0]);
  }

  TEST_CASE("a target whose claims throws fails the detection by name") {
    World w;
    w.row("fast");
    FakeTarget target("own");
    tenon_target row = target.row();
    row.claims = [](void*, const tenon_device*, std::uint32_t*) -> tenon_status { lets_pass(); };
    w.device_plugin->add_target(row);
    Op op = w.make();
    const auto called = op.call({{"x", w.tensor({3})}});
    REQUIRE_FALSE(called);
    CHECK(called.error().code() == ErrorCode::kPluginFailed);
    CHECK_MESSAGE(has(called.error().message(), "target 'dev:own': claims failed: it threw"),
                  called.error().message());
  }

  TEST_CASE("a kernel that ends its thread ends that one, and others use the instance") {
    ThrowingWorld w;
    Op op = w.make();
    const Tensor x = w.tensor({3});
    w.does.in = "end of the thread";
    pthread_t thread{};
    struct Work {
      Op* op;
      const Tensor* x;
      bool came_back = false;
    } work{&op, &x};
    REQUIRE(pthread_create(
                &thread,
                nullptr,
                [](void* data) -> void* {
                  auto& mine = *static_cast<Work*>(data);
                  (void)mine.op->call({{"x", *mine.x}});
                  mine.came_back = true;
                  return data;
                },
                &work) == 0);
    void* gave = &work;
    REQUIRE(pthread_join(thread, &gave) == 0);
    CHECK(gave == nullptr);
    CHECK_FALSE(work.came_back);
    w.does.in.clear();
    CHECK(op.call({{"x", x}}));
  }

  TEST_CASE("an exception of a device kind's function is an error with the owner's name") {
    const auto check = [](const Error& error) {
      CHECK(error.code() == ErrorCode::kPluginFailed);
      CHECK_MESSAGE(has(error.message(), kThrown), error.message());
      CHECK(has(error.to_string(), "dev"));
    };
    KindWorld counting([](tenon_device_kind& k) {
      k.count = [](void*, std::uint32_t*, tenon_reason*) -> tenon_status { lets_pass(); };
    });
    check(counting.engine->devices().find(counting.fake).error());
    KindWorld describing([](tenon_device_kind& k) {
      k.describe = [](void*, std::uint32_t, tenon_device*, tenon_reason*) -> tenon_status {
        lets_pass();
      };
    });
    check(describing.engine->devices().find(describing.fake).error());
    KindWorld allocating([](tenon_device_kind& k) {
      k.alloc =
          [](void*, const tenon_device*, std::uint32_t, std::uint64_t, void*, void**, tenon_reason*)
          -> tenon_status { lets_pass(); };
    });
    check(allocating.engine->devices().make_tensor(DType::kFloat32, {3}, allocating.fake).error());
    KindWorld copying([](tenon_device_kind& k) {
      k.copy = [](void*,
                  const tenon_device*,
                  void*,
                  const tenon_device*,
                  const void*,
                  std::uint64_t,
                  void*,
                  tenon_reason*) -> tenon_status { lets_pass(); };
    });
    const Tensor host = Tensor::host(DType::kFloat32, {3}).value();
    check(copying.engine->devices().to_device(host, copying.fake).error());
    KindWorld streaming([](tenon_device_kind& k) {
      k.stream_default = [](void*, const tenon_device*, void**, tenon_reason*) -> tenon_status {
        lets_pass();
      };
    });
    check(streaming.make().call({{"x", streaming.tensor({3})}}).error());
    KindWorld waiting([](tenon_device_kind& k) {
      k.synchronize = [](void*, const tenon_device*, tenon_reason*) -> tenon_status {
        lets_pass();
      };
    });
    const DeviceEntry* device = waiting.engine->devices().find(waiting.fake).value();
    check(waiting.engine->devices().synchronize(*device).error());
  }

  TEST_CASE("a free that fails or throws is logged once for its kind, with its words") {
    KindWorld w([](tenon_device_kind& k) {
      k.free = [](void*,
                  const tenon_device*,
                  std::uint32_t,
                  void* memory,
                  std::uint64_t,
                  void*,
                  tenon_reason* reason) -> tenon_status {
        std::free(memory);
        std::snprintf(reason->text, sizeof reason->text, "the heap is damaged");
        return TENON_INTERNAL;
      };
    });
    for (int i = 0; i < 3; ++i) (void)w.tensor({3});
    REQUIRE(kind_lines().size() == 1);
    CHECK_MESSAGE(has(kind_lines()[0],
                      "free of device kind 'fake' failed (12 bytes on fake:0): INTERNAL: the heap "
                      "is damaged"),
                  kind_lines()[0]);
    KindWorld throwing([](tenon_device_kind& k) {
      k.free = [](void*,
                  const tenon_device*,
                  std::uint32_t,
                  void* memory,
                  std::uint64_t,
                  void*,
                  tenon_reason*) -> tenon_status {
        std::free(memory);
        lets_pass();
      };
    });
    (void)throwing.tensor({3});
    REQUIRE(kind_lines().size() == 1);
    CHECK_MESSAGE(has(kind_lines()[0], kThrown), kind_lines()[0]);
  }

  TEST_CASE("memory that is not aligned as promised is given back and refused by the kind's name") {
    static int freed = 0;
    static char memory[1024];
    KindWorld w([](tenon_device_kind& k) {
      k.alloc = [](void*,
                   const tenon_device*,
                   std::uint32_t,
                   std::uint64_t,
                   void*,
                   void** out,
                   tenon_reason*) -> tenon_status {
        const auto at = reinterpret_cast<std::uintptr_t>(memory + 255) / 256 * 256 + 64;
        *out = reinterpret_cast<void*>(at);
        return TENON_OK;
      };
      k.free = [](void*,
                  const tenon_device*,
                  std::uint32_t,
                  void* given,
                  std::uint64_t size,
                  void*,
                  tenon_reason*) -> tenon_status {
        CHECK(reinterpret_cast<std::uintptr_t>(given) % 256 == 64);
        CHECK(size == 12);
        ++freed;
        return TENON_OK;
      };
    });
    const auto made = w.engine->devices().make_tensor(DType::kFloat32, {3}, w.fake);
    REQUIRE_FALSE(made);
    CHECK(made.error().code() == ErrorCode::kPluginFailed);
    CHECK_MESSAGE(has(made.error().message(), "alloc of device kind 'fake' (plugin 'dev') gave"),
                  made.error().message());
    CHECK(has(made.error().message(), "no multiple of 256; it was given back"));
    CHECK(freed == 1);
    KindWorld empty([](tenon_device_kind& k) {
      k.alloc =
          [](void*, const tenon_device*, std::uint32_t, std::uint64_t, void*, void**, tenon_reason*)
          -> tenon_status { return TENON_OK; };
    });
    const auto none = empty.engine->devices().make_tensor(DType::kFloat32, {3}, empty.fake);
    REQUIRE_FALSE(none);
    CHECK(none.error().code() == ErrorCode::kPluginFailed);
    CHECK_MESSAGE(has(none.error().message(), "answered OK without memory"),
                  none.error().message());
  }

  TEST_CASE("an allocator of the application is held to the alignment, too") {
    World w;
    w.row("fast");
    w.publish();
    static char memory[1024];
    int freed = 0;
    REQUIRE(w.engine->devices().set_allocator(
        w.fake.kind,
        {[](Device, std::size_t, void*) -> void* {
           return reinterpret_cast<void*>(
               reinterpret_cast<std::uintptr_t>(memory + 255) / 256 * 256 + 8);
         },
         [&](Device, void*, std::size_t, void*) { ++freed; }}));
    const auto made = w.engine->devices().make_tensor(DType::kFloat32, {3}, w.fake);
    REQUIRE_FALSE(made);
    CHECK(made.error().code() == ErrorCode::kUsageError);
    CHECK_MESSAGE(has(made.error().message(), "application's allocator gave memory at"),
                  made.error().message());
    CHECK(freed == 1);
  }

  TEST_CASE("a device that is lost in a call serves nobody from then on, kept calls included") {
    World w;
    FakeRow& fast = w.row("fast");
    w.publish();
    Op op = w.make();
    Op other = w.make();
    const Tensor x = w.tensor({3});
    for (int i = 0; i < 3; ++i) {
      REQUIRE(op.call({{"x", x}}));
      REQUIRE(other.call({{"x", x}}));
    }
    const int before = fast.launches;
    // Not yet lost: an error of its own does not take the device away.
    fast.launch = [](const tenon_launch&, tenon_reason&) { return TENON_DEVICE; };
    REQUIRE_FALSE(op.call({{"x", x}}));
    fast.launch = doubles;
    REQUIRE(op.call({{"x", x}}));

    w.kind.described_flags = TENON_DEVICE_FLAG_LOST;
    CHECK(other.call({{"x", x}}));  // a call that works asks nothing
    fast.launch = [](const tenon_launch&, tenon_reason&) { return TENON_DEVICE; };
    REQUIRE_FALSE(op.call({{"x", x}}));
    fast.launch = doubles;
    const int launched = fast.launches;
    for (Op* each : {&op, &other}) {
      const auto called = each->call({{"x", x}});
      REQUIRE_FALSE(called);
      CHECK(called.error().message() == "fake:0 is lost: plugin 'dev' says that it cannot go on");
    }
    CHECK(fast.launches == launched);
    CHECK(launched > before);
  }

  TEST_CASE("a device whose owner loses it in a function of the kind is lost for all") {
    static bool broken = false;
    KindWorld w([](tenon_device_kind& k) {
      k.synchronize = [](void*, const tenon_device*, tenon_reason*) -> tenon_status {
        return broken ? TENON_DEVICE : TENON_OK;
      };
    });
    const DeviceEntry* device = w.engine->devices().find(w.fake).value();
    broken = true;
    CHECK_FALSE(w.engine->devices().synchronize(*device));
    CHECK(w.engine->devices().find(w.fake));
    w.kind.described_flags = TENON_DEVICE_FLAG_LOST;
    CHECK_FALSE(w.engine->devices().synchronize(*device));
    CHECK_FALSE(w.engine->devices().find(w.fake));
    broken = false;
  }

  TEST_CASE("every function of a device kind is told to the watch, and so is a nested one") {
    struct Watch final : PluginCallWatch {
      std::vector<std::string> begun;
      int open = 0;
      void begins(const char* function, std::string_view of) noexcept override {
        ++open;
        begun.push_back(std::string(function) + " of " + std::string(of));
      }
      void ends() noexcept override { --open; }
    };
    World w;
    w.row("fast");
    w.publish();
    Op op = w.make();
    static Watch watch;
    watch_plugin_calls(&watch);
    (void)op.call({{"x", w.tensor({3})}});
    watch_plugin_calls(nullptr);
    for (const char* told : {"count of dev",
                             "describe of dev",
                             "alloc of dev",
                             "free of dev",
                             "launch of acme:fast"}) {
      CAPTURE(std::string(told));
      CHECK(std::find(watch.begun.begin(), watch.begun.end(), told) != watch.begun.end());
    }
    CHECK(watch.open == 0);
  }
}
