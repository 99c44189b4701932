// The registry: snapshots, devices and what a plugin may register.
#include "tenon/core/registry.hpp"

#include <thread>

#include <doctest/doctest.h>

#include "core/support/fake_rows.hpp"
#include "core/support/hand_plan.hpp"

using namespace tenon;
using tenon::test::FakeKind;
using tenon::test::FakePlugin;
using tenon::test::FakeRow;
using tenon::test::HandPlan;

namespace {

struct World {
  DeviceTable devices;
  Registry registry{devices};
  std::shared_ptr<HandPlan> plan = std::make_shared<HandPlan>();
  World() { REQUIRE(registry.add_op(plan)); }
  const InterfaceDecl& interface() const { return plan->decl().interfaces[0]; }
  FakeRow& row(FakePlugin& p, std::string key) {
    return p.add("ScaleFwdOp", interface(), std::move(key));
  }
  std::vector<std::string> keys() {
    registry.publish();
    std::vector<std::string> all;
    for (const auto& t : registry.snapshot()->find("ScaleFwdOp")->interfaces[0].types)
      all.push_back(t->qualified);
    return all;
  }
};

std::string field(const Error& e, const std::string& name) {
  for (const auto& [n, v] : e.fields()) {
    if (n == name) return v;
  }
  return {};
}

}  // namespace

TEST_SUITE("core/registry") {
  TEST_CASE(
      "D06: what is listed is what was committed, before and after a later commit and a "
      "withdrawal") {
    World w;
    FakePlugin& a = FakePlugin::make("a");
    w.row(a, "k");
    FakePlugin& b = FakePlugin::make("b");
    w.row(b, "k");
    REQUIRE(a.commit(w.registry));
    CHECK(w.keys() == std::vector<std::string>{"a:k"});
    const auto old = w.registry.snapshot();
    REQUIRE(b.commit(w.registry));
    CHECK(w.keys() == std::vector<std::string>{"a:k", "b:k"});
    CHECK(old->find("ScaleFwdOp")->interfaces[0].types.size() == 1);  // a snapshot never changes
    CHECK(w.registry.withdraw("a"));
    CHECK(w.keys() == std::vector<std::string>{"b:k"});
    CHECK_FALSE(w.registry.withdraw("a"));
  }

  TEST_CASE("a row for an unknown op or interface is dropped alone, with the nearest name") {
    World w;
    FakePlugin& a = FakePlugin::make("a");
    w.row(a, "good");
    a.add("ScalFwdOp", w.interface(), "op");
    InterfaceDecl other = w.interface();
    other.name = "scale_fw";
    a.add("ScaleFwdOp", other, "interface");
    PluginRecord record;

    REQUIRE(a.commit(w.registry, record));

    CHECK(w.keys() == std::vector<std::string>{"a:good"});
    REQUIRE(record.rejected_rows.size() == 2);
    CHECK(record.rejected_rows[0].reason ==
          "no manifest in force has op 'ScalFwdOp'; did you mean 'ScaleFwdOp'?");
    CHECK(record.rejected_rows[1].reason ==
          "op 'ScaleFwdOp' has no interface 'scale_fw'; did you mean 'scale_fwd'?");
    CHECK(record.rejected_rows[1].code == TENON_NOT_FOUND);
    CHECK(record.kernel_types == 1);
    CHECK(record.ops == std::vector<std::string>{"tenon::ScaleFwdOp"});
  }

  TEST_CASE("a row with an incompatible contract is dropped alone, naming what differs") {
    World w;
    FakePlugin& a = FakePlugin::make("a");
    w.row(a, "good");
    InterfaceDecl other = w.interface();
    other.fields.push_back({"gamma", TENON_VALUE_FLOAT, false, {}, false, "gamma", {}});
    a.add("ScaleFwdOp", other, "newer");
    PluginRecord record;
    REQUIRE(a.commit(w.registry, record));
    REQUIRE(record.rejected_rows.size() == 1);
    CHECK(record.rejected_rows[0].code == TENON_INCOMPATIBLE);
    CHECK(record.rejected_rows[0].reason.find("gamma") != std::string::npos);
    CHECK(record.kernel_types == 1);
  }

  TEST_CASE("any other fault rejects the whole plugin and leaves nothing of it") {
    struct Case {
      const char* what;
      void (*break_it)(FakeRow&);
      const char* status;
      const char* text;
    };
    const Case cases[] = {
        {"no device",
         [](FakeRow& r) { r.devices.clear(); },
         "INVALID_ARGUMENT",
         "serves no device kind"},
        {"bad key", [](FakeRow& r) { r.key = "a:b"; }, "INVALID_ARGUMENT", "has the character ':'"},
        {"empty key", [](FakeRow& r) { r.key = ""; }, "INVALID_ARGUMENT", "key is empty"},
        {"bytes", [](FakeRow& r) { r.key = "\xff\xfe"; }, "INVALID_ARGUMENT", "is not UTF-8"},
        {"same key",
         [](FakeRow& r) { r.key = "first"; },
         "ALREADY_EXISTS",
         "registers this key twice"},
        {"own edge",
         [](FakeRow& r) { r.preferred_over = {"frist"}; },
         "NOT_FOUND",
         "did you mean 'first'?"},
        {"unknown flag",
         [](FakeRow& r) { r.flags = TENON_KERNEL_DETERMINISTIC | 0x140; },
         "INVALID_ARGUMENT",
         "its flags is 0x148, of which ABI 0.1 does not know 0x140; expected bits of "
         "TENON_KERNEL_*"},
        {"unknown layout",
         [](FakeRow& r) { r.layouts = TENON_LAYOUTS_ALL + 1; },
         "INVALID_ARGUMENT",
         "its layouts is 0x20, of which ABI 0.1 does not know 0x20"},
        {"huge alignment",
         [](FakeRow& r) { r.alignment_elements = 0xffffffff; },
         "INVALID_ARGUMENT",
         "its alignment_elements is 4294967295; expected at most 65536"},
        {"two generals",
         [](FakeRow& r) { r.flags = TENON_KERNEL_GENERAL; },
         "ALREADY_EXISTS",
         "two general kernel types"},
    };
    for (const Case& c : cases) {
      CAPTURE(c.what);
      World w;
      FakePlugin& a = FakePlugin::make("a");
      FakeRow& first = w.row(a, "first");
      if (std::string(c.what) == "two generals") first.flags = TENON_KERNEL_GENERAL;
      c.break_it(w.row(a, "second"));

      const auto committed = a.commit(w.registry);

      REQUIRE_FALSE(committed);
      CHECK(committed.error().code() == ErrorCode::kPluginRejected);
      CHECK(field(committed.error(), "status") == c.status);
      CHECK(committed.error().message().find(c.text) != std::string::npos);
      CHECK(committed.error().where() == "/plugins/a.tenon.so");
      CHECK(w.keys().empty());
    }
  }

  TEST_CASE("a plugin of a newer minor may set flags that this host ignores") {
    World w;
    FakePlugin& a = FakePlugin::make("a");
    w.row(a, "first").flags = 0x140;
    PluginRecord record;
    record.abi_minor = TENON_ABI_MINOR + 1;
    CHECK(a.commit(w.registry, record));
    CHECK(w.keys() == std::vector<std::string>{"a:first"});
  }

  TEST_CASE("a device kind with a flag that nobody knows is refused by its name") {
    World w;
    FakePlugin& a = FakePlugin::make("a");
    FakeKind& kind = FakeKind::make();
    kind.flags = 0x80;
    a.own_kind(kind.table("odd"));
    w.row(a, "first");
    const auto committed = a.commit(w.registry);
    REQUIRE_FALSE(committed);
    CHECK(
        committed.error().message() ==
        "device kind 'odd': its flags is 0x80, of which ABI 0.1 does not know 0x80; expected bits "
        "of TENON_DEVICE_FLAG_*");
  }

  TEST_CASE("a device whose description has a flag that nobody knows fails by its name") {
    World w;
    FakePlugin& a = FakePlugin::make("a");
    FakeKind& kind = FakeKind::make();
    kind.count = 2;
    kind.described_flags = 0x100;
    a.own_kind(kind.table("odder"));
    w.row(a, "first");
    REQUIRE(a.commit(w.registry));
    const auto found = w.devices.find(Device{DeviceKind::of("odder"), 1});
    REQUIRE_FALSE(found);
    CHECK(found.error().code() == ErrorCode::kPluginFailed);
    CHECK_MESSAGE(
        found.error().message() ==
            "plugin 'a' describes odder:1: its flags is 0x100, of which ABI 0.1 does not know "
            "0x100; expected bits of TENON_DEVICE_FLAG_*",
        found.error().message());
  }

  TEST_CASE("the devices of a plugin of a newer minor may have flags, which this host ignores") {
    World w;
    FakePlugin& a = FakePlugin::make("a");
    FakeKind& kind = FakeKind::make();
    kind.flags |= 0x80;
    kind.described_flags = 0x100;
    a.own_kind(kind.table("newer"));
    w.row(a, "first");
    PluginRecord record;
    record.abi_minor = TENON_ABI_MINOR + 1;
    REQUIRE(a.commit(w.registry, record));
    const auto found = w.devices.find(Device{DeviceKind::of("newer"), 0});
    REQUIRE(found);
    CHECK((*found)->facts.fields().flags ==
          (TENON_DEVICE_FLAG_SYNCHRONOUS | TENON_DEVICE_FLAG_HOST_MEMORY));
  }

  TEST_CASE("an entry of preferred_over that can name nothing is refused with the forms that can") {
    for (const char* entry : {"*", "*:*", "*:row", "b:*:x", "b:row*", "b:", ":*", "b:x:y", "ro*"}) {
      CAPTURE(entry);
      World w;
      FakePlugin& a = FakePlugin::make("a");
      w.row(a, "row");
      w.row(a, "first").preferred_over = {"row", entry};
      const auto committed = a.commit(w.registry);
      REQUIRE_FALSE(committed);
      CHECK(field(committed.error(), "status") == "INVALID_ARGUMENT");
      CHECK_MESSAGE(committed.error().message() ==
                        "kernel type 'ScaleFwdOp/scale_fwd/first': preferred_over[1] is '" +
                            std::string(entry) +
                            "'; expected \"key\" of this plugin, \"plugin:key\" or \"plugin:*\"",
                    committed.error().message());
    }
    World w;
    FakePlugin& a = FakePlugin::make("a");
    w.row(a, "row");
    w.row(a, "first").preferred_over = {"row", "a:row", "a:*", "b:*", "b:key"};
    CHECK(a.commit(w.registry));
  }

  TEST_CASE("a preferred_over circle inside one plugin rejects it") {
    World w;
    FakePlugin& a = FakePlugin::make("a");
    w.row(a, "x").preferred_over = {"y"};
    w.row(a, "y").preferred_over = {"x"};
    const auto committed = a.commit(w.registry);
    REQUIRE_FALSE(committed);
    CHECK(committed.error().message() ==
          "interface 'scale_fwd': preferred_over goes in a circle through a:x, a:y");
  }

  TEST_CASE(
      "D74: each conflict names the two registrants that are truly involved, with their files") {
    World w;
    FakePlugin& first = FakePlugin::make("same");
    FakePlugin& second = FakePlugin::make("same");
    second.info().path = "/elsewhere/same.tenon.so";
    second.info().version = "2.0.0";
    REQUIRE(first.commit(w.registry));
    const auto again = second.commit(w.registry);
    REQUIRE_FALSE(again);
    CHECK(again.error().message() ==
          "plugin id 'same' is in use by /plugins/same.tenon.so (version 1.0.0); this one is "
          "/elsewhere/same.tenon.so (version 2.0.0)");
  }

  TEST_CASE("a device kind has one owner; the second is rejected and both are named") {
    World w;
    static FakeKind kind;
    FakePlugin& a = FakePlugin::make("a");
    a.own_kind(kind.table("owned"));
    FakePlugin& b = FakePlugin::make("b");
    b.own_kind(kind.table("owned"));
    w.row(b, "k");
    REQUIRE(a.commit(w.registry));
    const auto second = b.commit(w.registry);
    REQUIRE_FALSE(second);
    CHECK(second.error().message() ==
          "device kind 'owned' of plugin 'b' is owned by plugin 'a' already");
    CHECK(w.keys().empty());
  }

  TEST_CASE("D13: a device kind without a required function is refused by the function's name") {
    World w;
    static FakeKind kind;
    tenon_device_kind table = kind.table("partial");
    table.alloc = nullptr;
    FakePlugin& a = FakePlugin::make("a");
    a.own_kind(table);
    const auto committed = a.commit(w.registry);
    REQUIRE_FALSE(committed);
    CHECK(committed.error().message() ==
          "device kind 'partial' lacks the required function 'alloc'");
  }

  TEST_CASE("D11: rows larger than the host knows are read up to what it knows") {
    World w;
    struct Newer {
      tenon_kernel_type row;
      std::uint64_t unknown;
    };
    FakePlugin& a = FakePlugin::make("a");
    w.row(a, "k1");
    w.row(a, "k2");
    std::vector<Newer> rows;
    for (const auto& r : a.abi_rows()) {
      rows.push_back({r, ~std::uint64_t{0}});
      rows.back().row.struct_size = sizeof(Newer);
    }
    PluginTransaction t(&a.info());
    tenon_reason reason{};
    CHECK(t.registrar()->add_kernel_types(
              t.registrar()->context, &rows[0].row, 2, sizeof(Newer), &reason) == TENON_OK);
    PluginRecord record;
    REQUIRE(w.registry.commit(t, record));
    CHECK(w.keys() == std::vector<std::string>{"a:k1", "a:k2"});
  }

  TEST_CASE(
      "an impossible struct size is refused with the number, to the plugin and in the record") {
    World w;
    for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{8}, std::uint64_t{1} << 40}) {
      FakePlugin& a = FakePlugin::make("a");
      w.row(a, "k");
      auto rows = a.abi_rows();
      rows[0].struct_size = size;
      PluginTransaction t(&a.info());
      tenon_reason reason{};
      CHECK(t.registrar()->add_kernel_types(
                t.registrar()->context, rows.data(), 1, sizeof(tenon_kernel_type), &reason) ==
            TENON_INCOMPATIBLE);
      CHECK(std::string(reason.text).find(std::to_string(size)) != std::string::npos);
      PluginRecord record;
      const auto committed = w.registry.commit(t, record);
      REQUIRE_FALSE(committed);
      CHECK(field(committed.error(), "status") == "INCOMPATIBLE");
    }
  }

  TEST_CASE("an op or interface declared twice is refused with both places") {
    World w;
    const auto twice = w.registry.add_op(std::make_shared<HandPlan>());
    REQUIRE_FALSE(twice);
    CHECK(twice.error().message() ==
          "op 'tenon::ScaleFwdOp' is declared twice: here and at test.yaml:1:1");
    const auto taken = w.registry.add_op(std::make_shared<HandPlan>("OtherFwdOp"));
    REQUIRE_FALSE(taken);
    CHECK(taken.error().message().find(
              "interface 'scale_fwd' of op 'OtherFwdOp' is taken by op 'ScaleFwdOp'") == 0);
  }

  TEST_CASE("the ops of a namespace can be taken out again, and their names are free") {
    World w;
    w.registry.drop_ops("tenon");
    w.registry.publish();
    CHECK(w.registry.snapshot()->ops().empty());
    CHECK(w.registry.add_op(std::make_shared<HandPlan>()));
  }

  TEST_CASE("an unknown op is answered with the nearest names") {
    World w;
    w.registry.publish();
    const auto found = w.registry.snapshot()->op("ScaleFwdO");
    REQUIRE_FALSE(found);
    CHECK(found.error().code() == ErrorCode::kOpNotFound);
    CHECK(found.error().hint() == "did you mean 'ScaleFwdOp'?");
    CHECK(w.registry.snapshot()->find("tenon::ScaleFwdOp") != nullptr);
  }

  TEST_CASE("what waits for a kind or a plugin that is not there is pending, and no error") {
    World w;
    FakePlugin& a = FakePlugin::make("a");
    FakeRow& row = w.row(a, "k");
    row.devices = {"nowhere"};
    row.preferred_over = {"gone:*"};
    PluginRecord record;
    REQUIRE(a.commit(w.registry, record));
    w.registry.set_records({record});
    w.registry.publish();
    CHECK(w.registry.snapshot()->plugins()[0].pending ==
          std::vector<std::string>{"device kind 'nowhere'", "preferred_over 'gone:*'"});
  }

  TEST_CASE("D70: readers see the table before or after a change, never in between") {
    World w;
    FakePlugin& a = FakePlugin::make("a");
    w.row(a, "k1");
    w.row(a, "k2");
    w.registry.publish();
    std::atomic<bool> stop{false};
    std::atomic<int> odd{0};
    std::atomic<long> reads{0};
    std::vector<std::thread> readers;
    for (int i = 0; i < 4; ++i) {
      readers.emplace_back([&] {
        while (!stop.load()) {
          const std::size_t n =
              w.registry.snapshot()->find("ScaleFwdOp")->interfaces[0].types.size();
          if (n != 0 && n != 2) ++odd;
          ++reads;
        }
      });
    }
    while (reads.load() < 4) std::this_thread::yield();  // they are on their way
    for (int i = 0; i < 200; ++i) {
      REQUIRE(a.commit(w.registry));
      w.registry.publish();
      REQUIRE(w.registry.withdraw("a"));
      w.registry.publish();
    }
    stop = true;
    for (auto& t : readers) t.join();
    CHECK(odd == 0);
    CHECK(reads > 0);
  }
}

TEST_SUITE("core/registry/devices") {
  TEST_CASE("D96: devices are enumerated at first need, once, whatever the number of threads") {
    DeviceTable devices;
    FakeKind kind;
    kind.count = 2;
    REQUIRE(devices.add({DeviceKind::of("lazy"), "acme", kind.table("lazy")}));
    CHECK(devices.kinds().size() == 1);
    CHECK(kind.enumerations == 0);
    std::vector<std::thread> threads;
    std::atomic<int> found{0};
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        found += devices.find(Device{DeviceKind::of("lazy"), 1}) ? 1 : 0;
      });
    }
    for (auto& t : threads) t.join();
    CHECK(found == 8);
    CHECK(kind.enumerations == 1);
  }

  TEST_CASE(
      "D08: a device that fails keeps its number and says why; an absurd count is refused with the "
      "number") {
    DeviceTable devices;
    FakeKind kind;
    kind.count = 3;
    kind.failing = {1};
    REQUIRE(devices.add({DeviceKind::of("partial3"), "acme", kind.table("partial3")}));
    const DeviceKind k = DeviceKind::of("partial3");
    CHECK(devices.find(Device{k, 0}));
    CHECK(devices.find(Device{k, 2}).value()->facts.fields().index == 2);
    const auto failed = devices.find(Device{k, 1});
    REQUIRE_FALSE(failed);
    CHECK(failed.error().message() == "describing partial3:1 failed: device 1 does not answer");

    FakeKind absurd;
    absurd.count = 0xffffffffu;
    REQUIRE(devices.add({DeviceKind::of("absurd"), "acme", absurd.table("absurd")}));
    const auto refused = devices.devices(DeviceKind::of("absurd"));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message().find("4294967295") != std::string::npos);
  }

  TEST_CASE("D02: a kind whose enumeration fails does not hide the others") {
    DeviceTable devices;
    FakeKind good;
    FakeKind bad;
    bad.count_status = TENON_DEVICE;
    bad.no_devices = "the driver is asleep";
    REQUIRE(devices.add({DeviceKind::of("awake"), "a", good.table("awake")}));
    REQUIRE(devices.add({DeviceKind::of("asleep"), "b", bad.table("asleep")}));
    CHECK(devices.devices(DeviceKind::of("awake")).value().size() == 1);
    CHECK(devices.devices(DeviceKind::of("asleep")).error().message() ==
          "enumerating the devices of kind 'asleep' failed: the driver is asleep");
  }

  TEST_CASE(
      "D82: an index out of range is answered with the range, and no devices with the owner's "
      "reason") {
    DeviceTable devices;
    FakeKind three;
    three.count = 3;
    FakeKind none;
    none.count = 0;
    none.no_devices = "no driver";
    REQUIRE(devices.add({DeviceKind::of("three"), "a", three.table("three")}));
    REQUIRE(devices.add({DeviceKind::of("none"), "b", none.table("none")}));
    CHECK(devices.find(Device{DeviceKind::of("three"), 3}).error().message() ==
          "no device three:3: of kind 'three' there are 3, 0..2");
    CHECK(devices.find(Device{DeviceKind::of("none"), 0}).error().message() ==
          "no device none:0: of kind 'none' there are none: no driver");
    CHECK(devices.find(Device{DeviceKind::of("unowned"), 0}).error().message() ==
          "no plugin owns device kind 'unowned'");
    devices.set_visible(DeviceKind::of("three"), {2});
    CHECK(devices.find(Device{DeviceKind::of("three"), 2}));  // hiding never renumbers
    CHECK(devices.find(Device{DeviceKind::of("three"), 0}).error().message() ==
          "device three:0 is hidden by devices.visible");
  }

  TEST_CASE("a tensor gives its memory back to its owner, also after the table is gone") {
    FakeKind kind;
    Tensor survivor;
    {
      DeviceTable devices;
      REQUIRE(devices.add({DeviceKind::of("owner"), "a", kind.table("owner")}));
      survivor = devices.make_tensor(DType::kFloat32, Dims{16}, Device{DeviceKind::of("owner"), 0})
                     .value();
      CHECK(kind.live_bytes == 64);
    }
    survivor = Tensor();
    CHECK(kind.live_bytes == 0);
  }

  TEST_CASE("bytes cross between two kinds through host memory") {
    DeviceTable devices;
    FakeKind a;
    FakeKind b;
    REQUIRE(devices.add({DeviceKind::of("left"), "a", a.table("left")}));
    REQUIRE(devices.add({DeviceKind::of("right"), "b", b.table("right")}));
    Tensor host = Tensor::host(DType::kInt32, Dims{3}).value();
    host.data<std::int32_t>()[2] = 42;
    const Tensor there = devices.to_device(host, Device{DeviceKind::of("left"), 0}).value();
    const Tensor across = devices.to_device(there, Device{DeviceKind::of("right"), 0}).value();
    CHECK(devices.to_device(across, Device{}).value().data<std::int32_t>()[2] == 42);
  }
}
