// What rows point to is held against the process's memory before it is read.
#include <set>

#include <doctest/doctest.h>

#include "core/support/fake_rows.hpp"
#include "core/support/hand_plan.hpp"
#include "tenon/core/registry.hpp"

using namespace tenon;
using tenon::test::FakePlugin;
using tenon::test::HandPlan;

namespace {

/// Everything is readable and callable but what a test names.
class Memory final : public MemoryCheck {
 public:
  std::set<const void*> unreadable;
  std::set<std::uintptr_t> uncallable;
  [[nodiscard]] bool readable(const void* data, std::uint64_t) const override {
    return !unreadable.contains(data);
  }
  [[nodiscard]] bool callable(std::uintptr_t function) const override {
    return !uncallable.contains(function);
  }
};

/// One sound row, which each test spoils.
struct World {
  DeviceTable devices;
  Registry registry{devices};
  std::shared_ptr<HandPlan> plan = std::make_shared<HandPlan>();
  FakePlugin& plugin = FakePlugin::make("a");
  Memory memory;
  std::vector<tenon_kernel_type> rows;

  World() {
    REQUIRE(registry.add_op(plan));
    plugin.add("ScaleFwdOp", plan->decl().interfaces[0], "k");
    rows = plugin.abi_rows();
  }
  /// The reason that the rows are refused for, or empty.
  std::string refused() {
    PluginTransaction transaction(&plugin.info(), &memory);
    const tenon_registrar* registrar = transaction.registrar();
    tenon_reason reason{};
    reason.struct_size = sizeof reason;
    (void)registrar->add_kernel_types(
        registrar->context, rows.data(), rows.size(), sizeof(tenon_kernel_type), &reason);
    PluginRecord record;
    const auto committed = registry.commit(transaction, record);
    return committed ? std::string() : committed.error().message();
  }
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_SUITE("core/row_memory") {
  TEST_CASE("a sound row is taken, a row in unreadable memory is refused unread") {
    World w;
    CHECK(w.refused().empty());
    World bad;
    bad.memory.unreadable.insert(bad.rows.data());
    CHECK(has(bad.refused(), "row 0: tenon_kernel_type lies in memory that cannot be read"));
  }

  TEST_CASE("each thing that a row points to is named when it cannot be read") {
    const auto refused = [](auto&& spoil) {
      World w;
      w.memory.unreadable.insert(spoil(w.rows[0]));
      return w.refused();
    };
    using Row = tenon_kernel_type;
    CHECK(has(refused([](const Row& r) { return r.op.data; }), "its op"));
    CHECK(has(refused([](const Row& r) { return r.interface.data; }), "its interface"));
    CHECK(has(refused([](const Row& r) { return r.key.data; }), "its key"));
    CHECK(
        has(refused([](const Row& r) { return static_cast<const void*>(r.devices); }), "devices"));
    CHECK(has(refused([](const Row& r) { return r.devices[0].data; }), "devices"));
    CHECK(has(refused([](const Row& r) { return static_cast<const void*>(r.contract); }),
              "its contract lies in memory"));
    CHECK(has(refused([](const Row& r) { return static_cast<const void*>(r.contract->args); }),
              "arguments of its contract"));
    CHECK(has(refused([](const Row& r) { return r.contract->args[0].name.data; }),
              "an argument of its contract"));
  }

  TEST_CASE("functions must lie in memory that holds code") {
    World w;
    w.memory.uncallable.insert(reinterpret_cast<std::uintptr_t>(w.rows[0].build));
    CHECK(has(w.refused(), "its function 'build' lies in memory that holds no code"));
  }

  TEST_CASE("a contract that counts more than anybody has is refused unread") {
    World w;
    tenon_contract contract = *w.rows[0].contract;
    contract.n_args = UINT64_MAX / sizeof(tenon_arg) + 2;
    w.rows[0].contract = &contract;
    CHECK(has(w.refused(), "at most 4096 are believed"));
  }

  TEST_CASE("a gate is asked once before a kind's devices are, and its error is their reason") {
    World w;
    tenon_device_kind kind{};
    kind.struct_size = sizeof kind;
    kind.count = [](void*, std::uint32_t*, tenon_reason*) -> tenon_status {
      FAIL("the owner was asked");
      return TENON_OK;
    };
    REQUIRE(w.devices.add({DeviceKind::of("gated"), "a", kind}));
    int asked = 0;
    w.devices.set_gate([&](const DeviceKindEntry& entry) {
      ++asked;
      return std::optional(Error(ErrorCode::kDeviceError, "not " + entry.plugin));
    });
    const auto devices = w.devices.devices(DeviceKind::of("gated"));
    REQUIRE_FALSE(devices);
    CHECK(devices.error().message() == "not a");
    CHECK_FALSE(w.devices.find(Device{DeviceKind::of("gated"), 0}));
    CHECK(w.devices.no_devices_reason(DeviceKind::of("gated")) == "not a");
    CHECK(asked == 1);
  }
}
