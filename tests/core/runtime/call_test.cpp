// The seven steps of a call and the state of an instance, on scripted kernel types.
#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "core/support/scale_world.hpp"

using namespace tenon;
using tenon::test::doubles;
using tenon::test::FakeKind;
using tenon::test::FakePlugin;
using tenon::test::FakeRow;
using tenon::test::refuse_with;
using World = tenon::test::ScaleWorld;

TEST_SUITE("core/runtime/call") {
  TEST_CASE("a call makes its output, launches once, and keeps a record") {
    World w;
    FakeRow& row = w.row("fast");
    Op op = w.make();
    CHECK_FALSE(op.last_call());

    const auto out = op.call({{"x", w.tensor({3})}});

    REQUIRE(out);
    CHECK((*out)[0].data<float>()[2] == 6.0f);
    CHECK(row.launches == 1);
    const SignatureCall record = op.last_call().value();
    CHECK(record.kernel() == "acme:fast");
    CHECK(record.built);
    CHECK(record.device.to_string() == "fake:0");
    CHECK(record.target == "builtin");
    CHECK(record.indices == std::vector<NamedValue>{{"n", 3}});
    CHECK(record.tensors.size() == 2);
    CHECK(op.serving_target() == "builtin");
  }

  TEST_CASE("the same key builds once; another key builds again; the first is still there") {
    World w;
    FakeRow& row = w.row("fast");
    Op op = w.make();
    REQUIRE(op.call({{"x", w.tensor({3})}}));
    REQUIRE(op.call({{"x", w.tensor({3})}}));
    CHECK(row.builds == 1);
    CHECK_FALSE(op.last_call()->built);
    REQUIRE(op.call({{"x", w.tensor({4})}}));
    CHECK(row.builds == 2);
    REQUIRE(op.call({{"x", w.tensor({3})}}));
    CHECK(row.builds == 2);
    CHECK(row.refuses == 2);
  }

  TEST_CASE(
      "an identity that does not read the call is built once for every call and every instance") {
    World w;
    FakeRow& row = w.row("fast");
    row.identity_is_empty = true;
    {
      Op a = w.make();
      Op b = w.make();
      REQUIRE(a.call({{"x", w.tensor({3})}}));
      REQUIRE(a.call({{"x", w.tensor({5})}}));
      REQUIRE(b.call({{"x", w.tensor({3})}}));
      CHECK(row.builds == 1);
      CHECK(row.destroys == 0);
    }
    CHECK(row.destroys == 1);
  }

  TEST_CASE("an empty call makes the output, selects nothing and has no kernel") {
    World w;
    FakeRow& row = w.row("fast");
    Op op = w.make();
    const auto out = op.call({{"x", w.tensor({0})}});
    REQUIRE(out);
    CHECK((*out)[0].shape() == Dims{0});
    CHECK(row.refuses + row.builds + row.launches == 0);
    CHECK(op.last_call()->kernels.empty());
    CHECK(op.serving_target().empty());
  }

  TEST_CASE("a call given out writes there and makes nothing") {
    World w;
    w.row("fast");
    Op op = w.make();
    Tensor x = w.tensor({3});
    Tensor y = w.tensor({3}, 0.0f);
    const int before = w.kind.allocations;
    const auto out = op.call({{"x", x}}, {&y.view(), {}});
    REQUIRE(out);
    CHECK(y.data<float>()[0] == 2.0f);
    CHECK((*out)[0].data<float>() == y.data<float>());
    CHECK(w.kind.allocations == before);
    CHECK(op.last_call()->has_out);
  }

  TEST_CASE("a signature error keeps the last record and selects nothing") {
    World w;
    FakeRow& row = w.row("fast");
    Op op = w.make();
    REQUIRE(op.call({{"x", w.tensor({3})}}));
    const auto bad = op.call({{"x", w.tensor({3})}, {"weight", w.tensor({4})}});
    REQUIRE_FALSE(bad);
    CHECK(bad.error().code() == ErrorCode::kSignatureMismatch);
    CHECK(row.refuses == 1);
    CHECK(op.last_call()->indices == std::vector<NamedValue>{{"n", 3}});
  }

  TEST_CASE("an unknown or repeated input name is refused, with the nearest one") {
    World w;
    w.row("fast");
    Op op = w.make();
    const auto unknown = op.call({{"wieght", w.tensor({3})}});
    REQUIRE_FALSE(unknown);
    CHECK(unknown.error().hint() == "did you mean 'weight'? its inputs are: x, weight");
    const auto twice = op.call({{"x", w.tensor({3})}, {"x", w.tensor({3})}});
    REQUIRE_FALSE(twice);
    CHECK(twice.error().message() == "input 'x' of op 'ScaleFwdOp' is given twice");
  }

  TEST_CASE(
      "a failing build is BuildFailed, undoes the binding that this call made, and the next call "
      "tries again") {
    World w;
    FakeRow& row = w.row("fast");
    bool fail_now = true;
    row.build = [&](tenon_reason& r) {
      if (!fail_now) return TENON_OK;
      std::snprintf(r.text, sizeof r.text, "the compiler is missing");
      return TENON_UNAVAILABLE;
    };
    Op op = w.make();
    const auto failed = op.call({{"x", w.tensor({3})}});
    REQUIRE_FALSE(failed);
    CHECK(failed.error().code() == ErrorCode::kBuildFailed);
    CHECK(failed.error().message() ==
          "kernel type 'acme:fast' of interface 'scale_fwd': the build failed: the compiler is "
          "missing");
    CHECK(failed.error().where() == "/plugins/acme.tenon.so");
    CHECK(op.serving_target().empty());
    fail_now = false;
    CHECK(op.call({{"x", w.tensor({3})}}));
    CHECK(row.builds == 2);
    CHECK(op.serving_target() == "builtin");
  }

  TEST_CASE("a failing launch under an earlier binding keeps target and kernels") {
    World w;
    FakeRow& row = w.row("fast");
    Op op = w.make();
    REQUIRE(op.call({{"x", w.tensor({3})}}));
    row.launch = [](const tenon_launch&, tenon_reason&) { return TENON_DEVICE; };
    const auto failed = op.call({{"x", w.tensor({3})}});
    REQUIRE_FALSE(failed);
    CHECK(failed.error().code() == ErrorCode::kDeviceError);
    CHECK(op.serving_target() == "builtin");
    row.launch = doubles;
    REQUIRE(op.call({{"x", w.tensor({3})}}));
    CHECK(row.builds == 1);
  }

  TEST_CASE("REFUSED from build or launch is the plugin's failure, and no other kernel is tried") {
    World w;
    FakeRow& row = w.row("fast");
    row.preferred_over = {"spare"};
    FakeRow& spare = w.row("spare");
    row.launch = [](const tenon_launch&, tenon_reason& r) {
      return refuse_with(r, TENON_REASON_SIZE, 0, "n", "after all not");
    };
    Op op = w.make();
    const auto failed = op.call({{"x", w.tensor({3})}});
    REQUIRE_FALSE(failed);
    CHECK(failed.error().code() == ErrorCode::kPluginFailed);
    CHECK(spare.launches == 0);
    row.build = [](tenon_reason& r) {
      return refuse_with(r, TENON_REASON_SIZE, 0, "n", "after all not");
    };
    CHECK(op.call({{"x", w.tensor({4})}}).error().code() == ErrorCode::kPluginFailed);
  }

  TEST_CASE(
      "D73: when nothing serves, the text has the call, every candidate's reason and the plugins "
      "that failed to load") {
    World w;
    w.row("small").refuse = [](const tenon_device&, const tenon_call&, tenon_reason& r) {
      return refuse_with(r, TENON_REASON_SIZE, 0, "n", "serves n <= 2, got 3");
    };
    w.row("halves").dtypes = {DType::kFloat16};
    PluginRecord broken;
    broken.path = "/plugins/broken.tenon.so";
    broken.stage = PluginStage::kLoad;
    broken.reason = "undefined symbol: foo";
    w.engine->registry().set_records({broken});
    Op op = w.make();

    const auto failed = op.call({{"x", w.tensor({3})}});

    REQUIRE_FALSE(failed);
    CHECK(failed.error().code() == ErrorCode::kNoImplementation);
    const std::string& text = failed.error().message();
    CHECK(text.find(
              "ScaleFwdOp(x: float32[3]) on fake:0 (interface 'scale_fwd'): no kernel serves it") ==
          0);
    CHECK(text.find("acme:small: serves n <= 2, got 3") != std::string::npos);
    CHECK(text.find("acme:halves: serves dtype of x float16, got float32") != std::string::npos);
    CHECK(failed.error().hint() ==
          "plugins that failed to load: /plugins/broken.tenon.so (load: undefined symbol: foo)");
  }

  TEST_CASE("an ambiguity names the tied keys and what would settle it") {
    World w;
    w.row("a");
    w.row("b");
    Op op = w.make();
    const auto failed = op.call({{"x", w.tensor({3})}});
    REQUIRE_FALSE(failed);
    CHECK(failed.error().code() == ErrorCode::kAmbiguousDispatch);
    CHECK(failed.error().message().find("'acme:a', 'acme:b' all serve it") != std::string::npos);
    CHECK(failed.error().hint().find("preferred_over") != std::string::npos);
  }

  TEST_CASE(
      "a strided input is copied for a dense kernel, counted in the record, and gives the right "
      "result") {
    World w;
    FakeRow& row = w.row("dense");
    Op op = w.make();
    Tensor base = w.tensor({4, 3});
    const TensorView transposed(
        base.data<float>(), DType::kFloat32, Dims{3, 4}, Dims{1, 3}, w.fake);

    const auto out = op.call({{"x", transposed}});

    REQUIRE(out);
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 4; ++j)
        CHECK((*out)[0].data<float>()[i * 4 + j] == 2 * base.data<float>()[j * 3 + i]);
    }
    CHECK(row.launches == 1);
    CHECK(w.copy->launches == 1);
    CHECK(op.last_call()->copies == 1);
    CHECK(op.last_call()->kernels.size() == 1);
  }

  TEST_CASE("a strided out is written through a copy, and its gaps stay") {
    World w;
    w.row("dense");
    Op op = w.make();
    Tensor x = w.tensor({3});
    Tensor room = w.tensor({6}, -1.0f);
    const TensorView out(room.data<float>(), DType::kFloat32, Dims{3}, Dims{2}, w.fake);
    REQUIRE(op.call({{"x", x}}, {&out, {}}));
    CHECK(room.data<float>()[0] == 2.0f);
    CHECK(room.data<float>()[1] == 0.0f);  // the gap: -1 + 1
    CHECK(room.data<float>()[4] == 6.0f);
    CHECK(op.last_call()->copies == 1);
  }

  TEST_CASE(
      "without copies a strided call has no kernel, and with a strided kernel it needs none") {
    EngineOptions options;
    options.selection.copies = {CopyPolicy::kNever, "tenon.yaml:2"};
    World w(options);
    w.row("dense");
    Op op = w.make();
    Tensor base = w.tensor({6});
    const TensorView stepped(base.data<float>(), DType::kFloat32, Dims{3}, Dims{2}, w.fake);
    CHECK(op.call({{"x", stepped}}).error().code() == ErrorCode::kNoImplementation);
    InstanceOptions allow;
    allow.copies = CopyPolicy::kAllow;
    CHECK(w.make(allow).call({{"x", stepped}}));
  }

  TEST_CASE(
      "a reshape that is no view goes through a dense copy in every round, even without copies") {
    EngineOptions options;
    options.selection.copies = {CopyPolicy::kNever, "tenon.yaml:2"};
    World w(options, "row_norm");
    w.row("dense");
    Op op = w.make();
    Tensor base = w.tensor({4, 3});
    const TensorView transposed(
        base.data<float>(), DType::kFloat32, Dims{3, 4}, Dims{1, 3}, w.fake);
    const auto out = op.call({{"x", transposed}});
    REQUIRE(out);
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 4; ++j)
        CHECK((*out)[0].data<float>()[i * 4 + j] == 2 * base.data<float>()[j * 3 + i]);
    }
    CHECK(op.last_call()->copies == 1);
  }

  TEST_CASE("dense, transposed and offset calls alternate on one instance and stay right") {
    World w;
    FakeRow& any = w.row("any");
    any.layouts = TENON_LAYOUTS_ALL;
    Op op = w.make();
    Tensor base = w.tensor({5, 5});
    const TensorView views[] = {
        TensorView(base.data<float>(), DType::kFloat32, Dims{4, 4}, w.fake),
        TensorView(base.data<float>(), DType::kFloat32, Dims{4, 4}, Dims{1, 4}, w.fake),
        TensorView(base.data<float>() + 1, DType::kFloat32, Dims{4, 4}, w.fake)};
    for (int round = 0; round < 30; ++round) {
      const TensorView& x = views[round % 3];
      const auto out = op.call({{"x", x}});
      REQUIRE(out);
      for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j) {
          REQUIRE((*out)[0].data<float>()[i * 4 + j] ==
                  2 * *(reinterpret_cast<float*>(x.first()) + i * x.strides[0] + j * x.strides[1]));
        }
      }
    }
    CHECK(any.builds == 3);
  }

  TEST_CASE(
      "D90: a reference kernel that serves is said once per op and reason; error makes it no "
      "implementation") {
    World w;
    FakeRow& reference = w.row("reference");
    reference.flags = TENON_KERNEL_REFERENCE;
    w.row("fast").refuse = [](const tenon_device&, const tenon_call&, tenon_reason& r) {
      return refuse_with(r, TENON_REASON_VALUE, -1, "n", "not on Sundays");
    };
    Op op = w.make();
    REQUIRE(op.call({{"x", w.tensor({3})}}));
    REQUIRE(op.call({{"x", w.tensor({4})}}));
    REQUIRE(w.log.size() == 1);
    CHECK(w.log[0] ==
          "ScaleFwdOp: the reference kernel 'acme:reference' serves a call: acme:fast not on "
          "Sundays");

    EngineOptions strict;
    strict.selection.reference = {ReferencePolicy::kError, "tenon.yaml:4"};
    World s(strict);
    s.row("reference").flags = TENON_KERNEL_REFERENCE;
    const auto failed = s.make().call({{"x", s.tensor({3})}});
    REQUIRE_FALSE(failed);
    CHECK(failed.error().code() == ErrorCode::kNoImplementation);
    CHECK(failed.error().message().find("selection.reference is error (tenon.yaml:4)") !=
          std::string::npos);
  }

  TEST_CASE(
      "D78: an unknown target is refused at construction, by configuration and by the API, with "
      "what there is") {
    World w;
    w.row("fast");
    w.make();
    InstanceOptions bad;
    bad.target = "fak";
    const auto made = w.engine->make("ScaleFwdOp", {}, bad);
    REQUIRE_FALSE(made);
    CHECK(made.error().code() == ErrorCode::kUnknownTarget);
    CHECK(made.error().hint() == "did you mean 'fake'? available: builtin, fake");
    CHECK(w.engine->set_default_target("INVALID").error().code() == ErrorCode::kUnknownTarget);

    EngineOptions options;
    options.target = Setting<std::string>{"INVALID", "TENON_TARGET"};
    World configured(options);
    FakeRow& row = configured.row("fast");
    configured.publish();
    const auto failed = configured.engine->make("ScaleFwdOp");
    REQUIRE_FALSE(failed);
    CHECK(failed.error().code() == ErrorCode::kUnknownTarget);
    CHECK(failed.error().message() == "there is no target 'INVALID' (from TENON_TARGET)");
    CHECK(row.launches == 0);
  }

  TEST_CASE(
      "a target of one kind or device does not serve another: TargetMismatch, and nothing runs") {
    World w;
    w.kind.count = 3;
    FakeRow& row = w.row("fast");
    InstanceOptions second;
    second.target = "fake:2";
    w.make();
    Op op = w.make(second);
    const auto failed = op.call({{"x", w.tensor({3})}});
    REQUIRE_FALSE(failed);
    CHECK(failed.error().code() == ErrorCode::kTargetMismatch);
    CHECK(row.launches == 0);
    Tensor there =
        w.engine->devices().make_tensor(DType::kFloat32, Dims{3}, Device{w.fake.kind, 2}).value();
    CHECK(op.call({{"x", there}}));
    CHECK(op.serving_target() == "fake");
  }

  TEST_CASE(
      "D81: a new default target takes effect at the next call of every instance without a target "
      "of its own") {
    World w;
    w.row("fast");
    Op follows = w.make();
    InstanceOptions own;
    own.target = "builtin";
    Op keeps = w.make(own);
    Tensor x = w.tensor({3});
    REQUIRE(follows.call({{"x", x}}));
    REQUIRE(keeps.call({{"x", x}}));
    REQUIRE(w.engine->set_default_target("fake"));
    REQUIRE(follows.call({{"x", x}}));
    REQUIRE(keeps.call({{"x", x}}));
    CHECK(follows.serving_target() == "fake");
    CHECK(keeps.serving_target() == "builtin");
    REQUIRE(w.engine->set_default_target(""));
    REQUIRE(follows.call({{"x", x}}));
    CHECK(follows.serving_target() == "builtin");
  }

  TEST_CASE(
      "an override is used as it is, and one that refuses is an error that is never replaced") {
    World w;
    w.row("best").preferred_over = {"other"};
    FakeRow& other = w.row("other");
    w.make();
    InstanceOptions forced;
    forced.kernel_override = {{"scale_fwd", "acme:other"}};
    Op op = w.make(forced);
    REQUIRE(op.call({{"x", w.tensor({3})}}));
    CHECK(op.last_call()->kernel() == "acme:other");
    other.refuse = [](const tenon_device&, const tenon_call&, tenon_reason& r) {
      return refuse_with(r, TENON_REASON_SIZE, -1, "n", "no");
    };
    CHECK(op.call({{"x", w.tensor({4})}}).error().code() == ErrorCode::kNoImplementation);
    forced.kernel_override = {{"scale_fwd", "acme:othr"}};
    CHECK(w.engine->make("ScaleFwdOp", {}, forced).error().hint() == "did you mean 'acme:other'?");
  }

  TEST_CASE("workspace is 256-byte aligned, as large as asked for, and asked for once per key") {
    World w;
    FakeRow& row = w.row("fast");
    row.workspace_bytes = 1000;
    std::uint64_t got = 0;
    bool aligned = false;
    row.launch = [&](const tenon_launch& l, tenon_reason& r) {
      got = l.workspace_bytes;
      aligned = reinterpret_cast<std::uintptr_t>(l.workspace) % 256 == 0 && l.workspace != nullptr;
      return doubles(l, r);
    };
    Op op = w.make();
    REQUIRE(op.call({{"x", w.tensor({3})}}));
    CHECK(got == 1000);
    CHECK(aligned);
  }

  TEST_CASE("a workspace of more bytes than can be addressed is refused, not a small one given") {
    World w;
    FakeRow& row = w.row("fast");
    const std::uint64_t wraps = std::numeric_limits<std::uint64_t>::max();
    for (const std::uint64_t bytes : {wraps, wraps - 1000, wraps / 2}) {
      row.workspace_bytes = bytes;
      Op op = w.make();
      const auto called = op.call({{"x", w.tensor({3})}});
      REQUIRE_FALSE(called);
      CHECK(called.error().code() == ErrorCode::kOutOfMemory);
      CHECK(called.error().message().find("the workspace of " + std::to_string(bytes) +
                                          " bytes for kernel type '") == 0);
    }
    CHECK(row.launches == 0);
  }

  TEST_CASE("a device that says that it is lost serves no call") {
    World w;
    w.row("fast");
    w.kind.described_flags = TENON_DEVICE_FLAG_LOST;
    w.publish();
    const auto found = w.engine->devices().find(w.fake);
    REQUIRE_FALSE(found);
    CHECK(found.error().code() == ErrorCode::kDeviceError);
    CHECK(found.error().message() == "fake:0 is lost: plugin 'dev' says that it cannot go on");
    CHECK(w.engine->devices().devices(w.fake.kind).value().size() == 1);
  }

  TEST_CASE("a device with more archs than are believed is left out with that reason") {
    World w;
    w.row("fast");
    w.kind.claimed_archs = std::uint64_t{1} << 60;
    w.publish();
    const auto found = w.engine->devices().find(w.fake);
    REQUIRE_FALSE(found);
    CHECK(found.error().code() == ErrorCode::kPluginFailed);
    CHECK(found.error().message().find("plugin 'dev' says that fake:0 runs code of "
                                       "1152921504606846976 archs (runs_archs); at most 4096") ==
          0);
  }

  TEST_CASE("the table of call keys is bounded, and what was evicted is built again") {
    EngineOptions options;
    options.call_keys_per_instance = 4;
    World w(options);
    FakeRow& row = w.row("fast");
    Op op = w.make();
    for (std::int64_t n = 1; n <= 20; ++n) REQUIRE(op.call({{"x", w.tensor({n})}}));
    CHECK(row.builds == 20);
    CHECK(row.destroys >= 14);
    REQUIRE(op.call({{"x", w.tensor({20})}}));
    CHECK(row.builds == 20);
    REQUIRE(op.call({{"x", w.tensor({1})}}));
    CHECK(row.builds == 21);
  }

  TEST_CASE("a stream scope reaches the launch, nests, and ends") {
    World w;
    FakeRow& row = w.row("fast");
    std::vector<void*> streams;
    row.launch = [&](const tenon_launch& l, tenon_reason& r) {
      streams.push_back(l.stream);
      return doubles(l, r);
    };
    Op op = w.make();
    Tensor x = w.tensor({3});
    int outer = 0;
    int inner = 0;
    on_stream(w.fake, &outer, [&] {
      REQUIRE(op.call({{"x", x}}));
      on_stream(w.fake, &inner, [&] { REQUIRE(op.call({{"x", x}})); });
      on_stream(Device{}, &inner, [&] { REQUIRE(op.call({{"x", x}})); });
    });
    REQUIRE(op.call({{"x", x}}));
    CHECK(streams == std::vector<void*>{&outer, &inner, &outer, nullptr});
  }

  TEST_CASE("while a stream captures nothing is built; a call that was made before goes through") {
    World w;
    FakeRow& row = w.row("fast");
    Op op = w.make();
    const Tensor out = w.tensor({3});
    CallOptions into;
    into.out = &out.view();
    const Tensor x = w.tensor({3});
    REQUIRE(op.call({{"x", x}}, into));

    w.kind.capturing = true;
    const auto hit = op.call({{"x", x}}, into);
    const auto miss = op.call({{"x", w.tensor({4})}});
    w.kind.capturing = false;
    const auto after = op.call({{"x", w.tensor({4})}});

    CHECK(hit);
    REQUIRE_FALSE(miss);
    CHECK(miss.error().code() == ErrorCode::kBuildFailed);
    CHECK(miss.error().message().find("captures") != std::string::npos);
    CHECK(miss.error().hint().find("before the capture") != std::string::npos);
    CHECK(after);
    CHECK(row.builds == 2);
  }

  TEST_CASE("while a stream captures no workspace is made") {
    World w;
    FakeRow& row = w.row("fast");
    row.workspace_bytes = 1000;
    row.identity_is_empty = true;
    Op op = w.make();
    const Tensor out = w.tensor({3});
    CallOptions into;
    into.out = &out.view();
    const Tensor x = w.tensor({3});
    REQUIRE(op.call({{"x", x}}, into));
    int other_stream = 0;

    w.kind.capturing = true;
    const auto refused = on_stream(w.fake, &other_stream, [&] {
      return op.call({{"x", x}}, into);
    });

    w.kind.capturing = false;
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code() == ErrorCode::kBuildFailed);
    CHECK(on_stream(w.fake, &other_stream, [&] { return op.call({{"x", x}}, into); }));
  }

  TEST_CASE("what an earlier launch left behind is a late DeviceError, not this launch's failure") {
    World w;
    FakeRow& row = w.row("fast");
    Op op = w.make();
    REQUIRE(op.call({{"x", w.tensor({3})}}));
    row.launch = [](const tenon_launch&, tenon_reason&) { return TENON_DEVICE; };

    w.kind.left = "an illegal address";
    const auto late = op.call({{"x", w.tensor({3})}});
    w.kind.left = nullptr;
    const auto own = op.call({{"x", w.tensor({3})}});

    const auto has = [](const Error& error, const std::string& field) {
      return std::any_of(error.fields().begin(), error.fields().end(), [&](const auto& each) {
        return each.first == field;
      });
    };
    REQUIRE_FALSE(late);
    CHECK(late.error().code() == ErrorCode::kDeviceError);
    CHECK(late.error().message().find("an illegal address") != std::string::npos);
    CHECK(has(late.error(), "late"));
    REQUIRE_FALSE(own);
    CHECK_FALSE(has(own.error(), "late"));
  }

  TEST_CASE("D67: threads released together build an identity once and all get the same kernel") {
    World w;
    FakeRow& row = w.row("fast");
    row.build = [](tenon_reason&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      return TENON_OK;
    };
    Op op = w.make();
    std::atomic<bool> go{false};
    std::atomic<int> right{0};
    std::vector<std::thread> threads;
    std::vector<Tensor> inputs;
    for (int i = 0; i < 16; ++i) inputs.push_back(w.tensor({3}, static_cast<float>(i)));
    row.launch = doubles;
    for (int i = 0; i < 16; ++i) {
      threads.emplace_back([&, i] {
        while (!go.load()) std::this_thread::yield();
        Tensor out = Tensor::host(DType::kFloat32, Dims{3}).value();
        const TensorView view(out.data<float>(), DType::kFloat32, Dims{3}, w.fake);
        const TensorView* items[] = {&inputs[static_cast<std::size_t>(i)].view()};
        const TensorArg args[] = {{items, 1}, {}};
        if (op.call_out(args, view) &&
            out.data<float>()[2] == 2.0f * (static_cast<float>(i) + 2.0f) &&
            op.last_call()->kernel() == "acme:fast")
          ++right;
      });
    }
    go = true;
    for (auto& t : threads) t.join();
    CHECK(right == 16);
    CHECK(row.builds == 1);
  }

  TEST_CASE("the record belongs to the thread: another thread's call does not change it") {
    World w;
    w.row("fast");
    Op op = w.make();
    REQUIRE(op.call({{"x", w.tensor({3})}}));
    bool none_before = false;
    std::thread([&] {
      none_before = !op.last_call().has_value();
      const Tensor t = w.tensor({7});
      (void)op.call({{"x", t}});
    }).join();
    CHECK(none_before);
    CHECK(op.last_call()->indices == std::vector<NamedValue>{{"n", 3}});
  }
}

TEST_SUITE("core/runtime/failing_questions") {
  TEST_CASE("a refuse function that fails is told once with its text, and explain shows it") {
    World w;
    FakeRow& broken = w.row("broken");
    broken.refuse = [](const tenon_device&, const tenon_call&, tenon_reason& r) {
      std::snprintf(r.text, sizeof r.text, "the table of tiles is missing");
      return TENON_UNAVAILABLE;
    };
    w.row("sound");
    Op op = w.make();

    REQUIRE(op.call({{"x", w.tensor({3})}}));
    REQUIRE(op.call({{"x", w.tensor({4})}}));

    CHECK(op.last_call()->kernel() == "acme:sound");
    REQUIRE(w.log.size() == 1);
    CHECK(w.log[0] ==
          "ScaleFwdOp: refuse of kernel type 'acme:broken' failed: UNAVAILABLE: the table of tiles "
          "is missing; it is passed over as if it had refused");
    const NamedSpec x{"x", {DType::kFloat32, Dims{3}, Dims{1}, w.fake}, 0};
    CHECK(op.explain({&x, 1}).table().find("refuse failed: UNAVAILABLE: the table of tiles is") !=
          std::string::npos);
    CHECK(w.log.size() == 1);
  }

  TEST_CASE("an identity function that fails is told once, and a kernel is built for each call") {
    World w;
    FakeRow& row = w.row("fast");
    row.identity_fails = true;
    Op op = w.make();

    REQUIRE(op.call({{"x", w.tensor({3})}}));
    REQUIRE(op.call({{"x", w.tensor({4})}}));

    CHECK(row.builds == 2);
    REQUIRE(w.log.size() == 1);
    CHECK(w.log[0] ==
          "ScaleFwdOp: identity of kernel type 'acme:fast' failed: UNAVAILABLE; a kernel is built "
          "for every new call");
  }
}

TEST_SUITE("core/runtime/reference") {
  TEST_CASE(
      "the reference gets float64 tensors, the facts of the real ones, and the flag that says so") {
    World w;
    w.row("fast");
    FakeRow& reference = w.row("reference");
    reference.flags = TENON_KERNEL_REFERENCE;
    reference.layouts = TENON_LAYOUTS_ALL;
    std::uint32_t layout = 99;
    std::uint64_t flags = 0;
    reference.launch = [&](const tenon_launch& l, tenon_reason&) {
      layout = l.call->args[0].layout;
      flags = l.flags;
      const tenon_tensor& x = *l.tensors[l.arg_first[0]];
      const tenon_tensor& y = *l.tensors[l.arg_first[2]];
      REQUIRE(x.dtype.bits == 64);
      REQUIRE(y.dtype.bits == 64);
      for (int i = 0; i < 12; ++i)
        static_cast<double*>(y.data)[i] = static_cast<double*>(x.data)[i] / 3;
      return TENON_OK;
    };
    Op op = w.make();
    Tensor base = w.tensor({4, 3});
    const TensorView transposed(
        base.data<float>(), DType::kFloat32, Dims{3, 4}, Dims{1, 3}, w.fake);
    const NamedTensor x("x", transposed);

    const auto results = op.call_reference({&x, 1});

    REQUIRE(results);
    CHECK((*results)[0].dtype() == DType::kFloat64);
    CHECK((*results)[0].data<double>()[1] == 4.0 / 3);
    CHECK(layout == TENON_LAYOUT_STRIDED);
    CHECK(flags == TENON_LAUNCH_WIDE);
    CHECK_FALSE(op.last_call());
  }

  TEST_CASE("the reference is that of the kind's owner, whatever other plugins call theirs") {
    World w;
    w.row("fast");
    const auto add = [&](FakePlugin& plugin, double divisor) {
      FakeRow& row = plugin.add("ScaleFwdOp", w.plan->decl().interfaces[0], "reference");
      row.flags = TENON_KERNEL_REFERENCE;
      row.launch = [divisor](const tenon_launch& l, tenon_reason&) {
        const tenon_tensor& x = *l.tensors[l.arg_first[0]];
        const tenon_tensor& y = *l.tensors[l.arg_first[2]];
        *static_cast<double*>(y.data) = *static_cast<double*>(x.data) / divisor;
        return TENON_OK;
      };
    };
    FakePlugin& last = FakePlugin::make("zeta");
    add(*w.acme, 3);
    add(*w.device_plugin, 4);
    add(last, 5);
    REQUIRE(last.commit(w.engine->registry()));
    Op op = w.make();
    const NamedTensor x("x", w.tensor({1}));
    const auto results = op.call_reference({&x, 1});
    REQUIRE(results);
    CHECK((*results)[0].data<double>()[0] == 1.0 / 4);
  }

  TEST_CASE("an op without a reference on this kind says so") {
    World w;
    w.row("fast");
    Op op = w.make();
    const NamedTensor x("x", w.tensor({3}));
    CHECK(op.call_reference({&x, 1}).error().code() == ErrorCode::kNoImplementation);
  }
}

TEST_SUITE("core/runtime/explain") {
  TEST_CASE("explaining runs and builds nothing, and agrees with what then runs") {
    World w;
    FakeRow& row = w.row("dense");
    FakeRow& reference = w.row("reference");
    reference.flags = TENON_KERNEL_REFERENCE;
    reference.layouts = TENON_LAYOUTS_ALL;
    Op op = w.make();
    NamedSpec x{"x", {DType::kFloat32, Dims{3, 4}, Dims{1, 3}, w.fake}, 0};

    const Explanation e = op.explain({&x, 1});

    CHECK_FALSE(e.error);
    REQUIRE(e.steps.size() == 1);
    CHECK(e.steps[0].winner == "acme:dense");
    CHECK(e.steps[0].round == 2);
    CHECK(e.steps[0].candidates.size() == 3);
    CHECK(row.builds + row.launches == 0);
    CHECK(op.serving_target().empty());
    const std::string table = e.table();
    CHECK(table.find("interface scale_fwd: acme:dense (round 2)") != std::string::npos);
    CHECK(table.find("on a dense copy of x") != std::string::npos);
    CHECK(table.find("acme:reference") != std::string::npos);
  }

  TEST_CASE("with selection.reference: error the reference kernel is refused, and nothing wins") {
    EngineOptions options;
    options.selection.reference = {ReferencePolicy::kError, "TENON_SELECTION_REFERENCE"};
    World w(std::move(options));
    w.row("never").refuse = [](const tenon_device&, const tenon_call&, tenon_reason& r) {
      return refuse_with(r, TENON_REASON_OTHER, -1, "", "never");
    };
    w.row("reference").flags = TENON_KERNEL_REFERENCE;
    Op op = w.make();
    NamedSpec x{"x", {DType::kFloat32, Dims{3}, Dims{1}, w.fake}, 0};

    const Explanation e = op.explain({&x, 1});

    REQUIRE(e.error);
    CHECK(e.error->code() == ErrorCode::kNoImplementation);
    REQUIRE(e.steps.size() == 1);
    CHECK_FALSE(e.steps[0].winner);
    REQUIRE(e.steps[0].candidates.size() == 2);
    const CandidateReport& last = e.steps[0].candidates[1];
    CHECK(last.key == "reference");
    CHECK(last.verdict == Verdict::kRefused);
    CHECK(last.reason.text == "selection.reference is error (TENON_SELECTION_REFERENCE)");
    CHECK(e.table().find("interface scale_fwd: no kernel") != std::string::npos);
    CHECK(op.call({{"x", w.tensor({3})}}).error().code() == ErrorCode::kNoImplementation);
  }

  TEST_CASE("a reference kernel that is forced serves, whatever selection.reference says") {
    EngineOptions options;
    options.selection.reference = {ReferencePolicy::kError, "configuration"};
    World w(std::move(options));
    w.row("reference").flags = TENON_KERNEL_REFERENCE;
    InstanceOptions force;
    force.kernel_override["scale_fwd"] = "acme:reference";
    Op op = w.make(force);
    NamedSpec x{"x", {DType::kFloat32, Dims{3}, Dims{1}, w.fake}, 0};

    const Explanation e = op.explain({&x, 1});

    CHECK_FALSE(e.error);
    CHECK(e.steps.at(0).winner == "acme:reference");
    CHECK(op.call({{"x", w.tensor({3})}}));
  }

  TEST_CASE("explain names the kernel that selection.copies: never leaves out, and the setting") {
    EngineOptions options;
    options.selection.copies = {CopyPolicy::kNever, "tenon.yaml:3"};
    World w(std::move(options));
    w.row("dense");
    FakeRow& reference = w.row("reference");
    reference.flags = TENON_KERNEL_REFERENCE;
    reference.layouts = TENON_LAYOUTS_ALL;
    Op op = w.make();
    const NamedSpec strided{"x", {DType::kFloat32, Dims{3, 4}, Dims{1, 3}, w.fake}, 0};
    const NamedSpec dense{"x", {DType::kFloat32, Dims{3, 4}, Dims{4, 1}, w.fake}, 0};

    const Explanation left_out = op.explain({&strided, 1});
    const Explanation served = op.explain({&dense, 1});

    CHECK(left_out.steps.at(0).winner == "acme:reference");
    REQUIRE(left_out.excluded.size() == 1);
    CHECK(left_out.excluded[0].first ==
          "round 2 of interface scale_fwd, in which acme:dense would serve on dense copies");
    CHECK(left_out.excluded[0].second == "selection.copies is never, from tenon.yaml:3");
    CHECK(served.steps.at(0).winner == "acme:dense");
    CHECK(served.excluded.empty());
  }

  TEST_CASE("devices that are not here can be assumed") {
    World w;
    w.kind.count = 0;
    w.row("f9only").archs = {"f9"};
    Op op = w.make();
    NamedSpec x{"x", {DType::kFloat32, Dims{3}, Dims{1}, w.fake}, 0};
    CHECK(op.explain({&x, 1}).error->code() == ErrorCode::kDeviceError);
    DeviceFacts::Fields f;
    f.kind = "fake";
    f.arch = "f9";
    f.runs_archs = {"f9"};
    const DeviceFacts assumed(f);
    const Explanation e = op.explain({&x, 1}, nullptr, {&assumed, 1});
    CHECK_FALSE(e.error);
    CHECK(e.steps.at(0).winner == "acme:f9only");
  }

  TEST_CASE("a call that nothing serves is explained with its error, and so is a bad signature") {
    World w;
    w.row("never").refuse = [](const tenon_device&, const tenon_call&, tenon_reason& r) {
      return refuse_with(r, TENON_REASON_OTHER, -1, "", "never");
    };
    Op op = w.make();
    NamedSpec x{"x", {DType::kFloat32, Dims{3}, Dims{1}, w.fake}, 0};
    const Explanation none = op.explain({&x, 1});
    REQUIRE(none.error);
    CHECK(none.error->code() == ErrorCode::kNoImplementation);
    CHECK(none.steps.at(0).candidates.at(0).reason.text == "never");
    CHECK(op.explain({}).error->code() == ErrorCode::kSignatureMismatch);
  }

  TEST_CASE("D79: another device kind never serves, and the text ends with the kinds that would") {
    World w;
    static FakeKind second;
    FakePlugin& other = FakePlugin::make("other");
    other.own_kind(second.table("fake2"));
    FakeRow& row = other.add("ScaleFwdOp", w.plan->decl().interfaces[0], "k");
    row.devices = {"fake2"};
    REQUIRE(other.commit(w.engine->registry()));
    w.row("never").refuse = [](const tenon_device&, const tenon_call&, tenon_reason& r) {
      return refuse_with(r, TENON_REASON_OTHER, -1, "", "never");
    };
    Op op = w.make();
    const auto failed = op.call({{"x", w.tensor({3})}});
    REQUIRE_FALSE(failed);
    CHECK(failed.error().code() == ErrorCode::kNoImplementation);
    CHECK(failed.error().hint() == "device kinds that would serve it: fake2");
    CHECK(row.launches == 0);
  }
}
