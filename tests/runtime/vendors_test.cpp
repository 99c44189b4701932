// Two vendors beside the CPU plugin: load orders, general kernels, what configuration decides, two
// Runtimes, and the shipped composite op.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/cpu_runtime.hpp"
#include "support/fake_control.hpp"
#include "support/fakes.hpp"

using namespace tenon;
using tenon::test::fake_control;
using tenon::test::fake_path;
using tenon::test::ramp;

namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

Result<Runtime> make_runtime(std::vector<std::string> plugins, Settings settings = {}) {
  fake_control();  // the board, before the first fake is mapped
  RuntimeOptions options;
  options.plugin_paths = std::move(plugins);
  options.standard_folders = false;
  options.environment = loader::Environment::of({});
  options.settings = std::move(settings);
  options.settings.emplace_back("plugins.probe", "never");
  return Runtime::create(std::move(options));
}

Runtime all_vendors(Settings settings = {}) {
  auto made = make_runtime({TENON_CPU_PLUGIN, fake_path("alpha-cpu"), fake_path("beta-cpu")},
                           std::move(settings));
  if (!made) FAIL(made.error().to_string());
  return std::move(*made);
}

std::string kernel_of_add(const Runtime& runtime, const InstanceOptions& options = {}) {
  auto op = runtime.make("AddFwdOp", {}, options);
  if (!op) return op.error().to_string();
  const auto out = op->call({{"self", ramp({4})}, {"other", ramp({4})}});
  if (!out) return std::string(name_of(out.error().code()));
  if ((*out)[0].data<float>()[1] != 2 * ramp({4}).data<float>()[1]) return "wrong values";
  return op->last_call()->kernel();
}

std::string explained(const Runtime& runtime) {
  Op op = runtime.make("AddFwdOp").value();
  const std::vector<NamedSpec> call{{"self", ramp({4}).spec()}, {"other", ramp({4}).spec()}};
  return op.explain(call).table();
}

}  // namespace

TEST_SUITE("runtime/vendors") {
  TEST_CASE("two vendors and the CPU plugin explain a call the same in all six load orders") {
    std::array<std::string, 3> paths{
        TENON_CPU_PLUGIN, fake_path("alpha-cpu"), fake_path("beta-cpu")};
    std::sort(paths.begin(), paths.end());
    std::string first;
    int orders = 0;
    do {
      auto runtime = make_runtime({paths.begin(), paths.end()}, {{"prefer", "[\"alpha\"]"}});
      if (!runtime) FAIL(runtime.error().to_string());
      const std::string table = explained(*runtime);
      if (first.empty()) first = table;
      CHECK(table == first);
      ++orders;
    } while (std::next_permutation(paths.begin(), paths.end()));
    CHECK(orders == 6);
    CHECK(first.find("interface add_fwd: alpha:fast (round 1)") != std::string::npos);
    CHECK(first.find("configuration prefers plugin 'alpha'") != std::string::npos);
  }

  TEST_CASE(
      "D18: unordered vendors are an ambiguity with every tied name, and the rest stays usable") {
    const Runtime runtime = all_vendors();
    Op op = runtime.make("AddFwdOp").value();
    const auto failed = op.call({{"self", ramp({4})}, {"other", ramp({4})}});
    REQUIRE_FALSE(failed);
    CHECK(failed.error().code() == ErrorCode::kAmbiguousDispatch);
    CHECK(failed.error().message().find("'alpha:fast', 'beta:fast', 'cpu:vector'") !=
          std::string::npos);
    Op sum = runtime.make("SumFwdOp").value();
    CHECK(sum.call({{"x", ramp({4})}}));
  }

  TEST_CASE("two plugins that each ship a general kernel leave the call to a special one") {
    auto runtime = make_runtime({fake_path("alpha-cpu"), fake_path("beta-cpu"), TENON_CPU_PLUGIN},
                                {{"ops.AddFwdOp.disable", "[\"alpha:fast\",\"beta:fast\"]"}});
    if (!runtime) FAIL(runtime.error().to_string());
    CHECK(kernel_of_add(*runtime) == "cpu:vector");
    const std::string table = explained(*runtime);
    CHECK(table.find("it is general, and a special one serves") != std::string::npos);
    CHECK(table.find("disabled by") != std::string::npos);
  }

  TEST_CASE("prefer, kernel and disable of the configuration decide per op") {
    CHECK(kernel_of_add(all_vendors({{"prefer", "[\"beta\",\"alpha\"]"}})) == "beta:fast");
    CHECK(kernel_of_add(all_vendors(
              {{"prefer", "[\"beta\"]"}, {"ops.AddFwdOp.prefer", "[\"cpu\"]"}})) == "cpu:vector");
    CHECK(kernel_of_add(all_vendors({{"ops.AddFwdOp.kernel.add_fwd", "alpha:rows"}})) ==
          "alpha:rows");
    CHECK(kernel_of_add(all_vendors(
              {{"ops.AddFwdOp.disable", "[\"alpha:fast\",\"cpu:vector\"]"}})) == "beta:fast");
    InstanceOptions own;
    own.kernel_override = {{"add_fwd", "beta:rows"}};
    CHECK(kernel_of_add(all_vendors({{"ops.AddFwdOp.kernel.add_fwd", "alpha:rows"}}), own) ==
          "beta:rows");
  }

  TEST_CASE("a kernel that configuration forces and that refuses is an error, never replaced") {
    auto& fast = fake_control().kernel("alpha:fast");
    const Runtime runtime = all_vendors({{"ops.AddFwdOp.kernel.add_fwd", "alpha:fast"}});
    fast.refuse_above = 2;
    CHECK(kernel_of_add(runtime) == "NoImplementation");
    fast.refuse_above = 0;
  }

  TEST_CASE("two Runtimes of one process have targets, preferences and instances of their own") {
    const Runtime a = all_vendors({{"prefer", "[\"alpha\"]"}});
    const Runtime b = all_vendors({{"prefer", "[\"beta\"]"}});
    CHECK(kernel_of_add(a) == "alpha:fast");
    CHECK(kernel_of_add(b) == "beta:fast");
    REQUIRE(a.set_default_target("cpu"));
    Op in_a = a.make("AddFwdOp").value();
    Op in_b = b.make("AddFwdOp").value();
    REQUIRE(in_a.call({{"self", ramp({4})}, {"other", ramp({4})}}));
    REQUIRE(in_b.call({{"self", ramp({4})}, {"other", ramp({4})}}));
    CHECK(in_a.serving_target() == "cpu");
    CHECK(in_b.serving_target() == "builtin");
    CHECK(a.engine().counters().instances == 1);
  }
}

TEST_SUITE("runtime/composites") {
  TEST_CASE("FusedAddRMSNorm runs as an add and a norm where no fused kernel serves") {
    Runtime runtime = tenon::test::cpu_runtime();
    Op op = runtime.make("FusedAddRMSNormFwdOp", {{"eps", 1e-5}}).value();
    const Tensor x = ramp({3, 5, 16});
    const Tensor residual = ramp({3, 5, 16}, 0.3f);
    const Tensor weight = ramp({16}, 0.05f);

    const auto out = op.call({{"x", x}, {"residual", residual}, {"weight", weight}});

    if (!out) FAIL(out.error().to_string());
    REQUIRE(out->size() == 2);
    const TensorView rows((*out)[1].data<float>(), DType::kFloat32, Dims{15, 16});
    for (std::int64_t i = 0; i < 15; ++i) {
      for (std::int64_t j = 0; j < 16; ++j) {
        CHECK((*out)[1].data<float>()[i * 16 + j] ==
              x.data<float>()[i * 16 + j] + residual.data<float>()[i * 16 + j]);
        const double expected = tenon::test::rms_norm_at(rows, weight.data<float>(), 1e-5, i, j);
        CHECK((*out)[0].data<float>()[i * 16 + j] == doctest::Approx(expected).epsilon(1e-5));
      }
    }
    const SignatureCall record = op.last_call().value();
    REQUIRE(record.stages.size() == 2);
    CHECK(record.stages[0].call.kernel() == "cpu:vector");
    CHECK(record.stages[1].stage == "norm");
    CHECK(record.eval_roofline()->flops == 5.0 * 15 * 16);
    CHECK(record.roof() == "vector.float32");

    const std::vector<NamedSpec> call{
        {"x", x.spec()}, {"residual", residual.spec()}, {"weight", weight.spec()}};
    const Explanation e = op.explain(call);
    CHECK_FALSE(e.error);
    CHECK(e.composition.find("no plugin has a kernel for it") != std::string::npos);
    CHECK(e.stages.size() == 2);
  }

  TEST_CASE("a contracting op is priced by the matrix unit, any other by the vector unit") {
    Runtime runtime = tenon::test::cpu_runtime();
    Op matmul = runtime.make("MatMulFwdOp").value();
    REQUIRE(matmul.call({{"a", ramp({2, 3})}, {"b", ramp({3, 4})}}));
    CHECK(matmul.last_call()->roof() == "tensor_core.float32");
    CHECK(matmul.last_call()->eval_roofline()->flops == 2.0 * 2 * 3 * 4);
    Op sum = runtime.make("SumFwdOp").value();
    REQUIRE(sum.call({{"x", ramp({4})}}));
    CHECK(sum.last_call()->roof() == "vector.float32");
  }
}

TEST_SUITE("runtime/memo") {
  TEST_CASE("D63: a remembered call does not excuse an overlap, nor forget an exact alias") {
    Runtime runtime = tenon::test::cpu_runtime();
    Op op = runtime.make("AddFwdOp").value();
    const Tensor memory = ramp({256});
    const auto view = [&](std::int64_t at) {
      return TensorView(memory.data<float>() + at, DType::kFloat32, Dims{8});
    };
    const TensorView a = view(0);
    const TensorView b = view(64);
    const TensorView apart = view(128);
    const TensorView across = view(64 + 4);
    const TensorView* pa = &a;
    const TensorView* pb = &b;
    const TensorArg args[] = {{&pa, 1}, {&pb, 1}};
    for (int round = 0; round < 4; ++round) {
      for (int i = 0; i < 3; ++i) REQUIRE(op.call_out(args, apart));
      CHECK(op.call_out(args, across).error().code() == ErrorCode::kSignatureMismatch);
      const float before = a.data == nullptr ? 0.0f : memory.data<float>()[3];
      const float added = memory.data<float>()[64 + 3];
      REQUIRE(op.call_out(args, a));
      CHECK(memory.data<float>()[3] == before + added);
    }
  }
}
