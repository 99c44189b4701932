// The typed API: each shipped op through its class and its function gives what a call by name
// gives, right or wrong; and the table in which functions find their instances.
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "runtime/cpu_runtime.hpp"
#include "tenon/ops.hpp"

using namespace tenon;
using tenon::test::cpu_runtime;
using tenon::test::ramp;

namespace {

Tensor by_name(const Runtime& runtime,
               std::string_view op,
               std::initializer_list<NamedValue> params,
               std::initializer_list<NamedTensor> inputs) {
  return runtime.make(op, params).value().call(inputs).value().front();
}

void check_equal(const Result<Tensor>& got, const Tensor& expected) {
  REQUIRE_MESSAGE(got.has_value(), got.error().to_string());
  REQUIRE(got->shape() == expected.shape());
  REQUIRE(got->dtype() == expected.dtype());
  CHECK(std::memcmp(got->data<std::byte>(),
                    expected.data<std::byte>(),
                    static_cast<std::size_t>(expected.view().count()) *
                        size_bytes_of(expected.dtype())) == 0);
}

/// A result with memory of its own, to be written by the out form.
Tensor like(const Tensor& tensor) { return Tensor::host(tensor.dtype(), tensor.shape()).value(); }

}  // namespace

TEST_SUITE("runtime/typed") {
  TEST_CASE("elementwise ops give what calls by name give, in all forms") {
    const Runtime runtime = cpu_runtime();
    const Tensor a = ramp({4, 1, 3});
    const Tensor b = ramp({5, 3}, 0.02f);
    const Tensor sum = by_name(runtime, "AddFwdOp", {{"alpha", 2}}, {{"self", a}, {"other", b}});
    const Tensor product = by_name(runtime, "MulFwdOp", {}, {{"self", a}, {"other", b}});
    const Tensor gelu = by_name(runtime, "GeluFwdOp", {{"approximate", "tanh"}}, {{"x", a}});
    const Tensor copy = by_name(runtime, "CopyFwdOp", {}, {{"x", a}});

    ops::AddFwd add{runtime, {.alpha = 2}};
    check_equal(add(a, b), sum);
    const Tensor out = like(sum);
    CHECK(add.out(a, b, out).value().data == out.view().data);
    check_equal(out, sum);
    check_equal(ops::add(runtime, a, b, {.alpha = 2}), sum);
    const Tensor again = like(sum);
    REQUIRE(ops::add_out(runtime, a, b, again, {.alpha = 2}));
    check_equal(again, sum);

    ops::MulFwd mul{runtime};
    check_equal(mul(a, b), product);
    check_equal(ops::mul(runtime, a, b), product);

    ops::GeluFwd tanh{runtime, {.approximate = ops::GeluFwdApproximate::kTanh}};
    check_equal(tanh(a), gelu);
    check_equal(ops::gelu_fwd(runtime, a, {.approximate = ops::GeluFwdApproximate::kTanh}), gelu);

    check_equal(ops::CopyFwd{runtime}(a), copy);
    check_equal(ops::copy_fwd(runtime, a), copy);
  }

  TEST_CASE("in place writes into the first input") {
    const Runtime runtime = cpu_runtime();
    const Tensor b = ramp({4, 3}, 0.02f);
    const Tensor sum = by_name(runtime, "AddFwdOp", {}, {{"self", ramp({4, 3})}, {"other", b}});

    const Tensor by_class = ramp({4, 3});
    const Tensor by_function = ramp({4, 3});
    ops::AddFwd add{runtime};
    REQUIRE(add.in_place(by_class, b));
    REQUIRE(ops::add_in_place(runtime, by_function, b));

    check_equal(by_class, sum);
    check_equal(by_function, sum);
  }

  TEST_CASE("norms give what calls by name give, with and without their optional inputs") {
    const Runtime runtime = cpu_runtime();
    const Tensor x = ramp({6, 16});
    const Tensor w = ramp({16}, 0.05f);
    const Tensor b = ramp({16}, 0.5f);
    const Tensor rms = by_name(runtime,
                               "RMSNormFwdOp",
                               {{"normalized_shape", {16}}, {"eps", 1e-3}},
                               {{"x", x}, {"weight", w}});
    const Tensor plain = by_name(runtime, "RMSNormFwdOp", {{"normalized_shape", {16}}}, {{"x", x}});
    const Tensor layer =
        by_name(runtime, "LayerNormFwdOp", {{"normalized_shape", {16}}}, {{"x", x}, {"bias", b}});

    ops::RMSNormFwd rms_norm{runtime, {.normalized_shape = {16}, .eps = 1e-3}};
    check_equal(rms_norm(x, w), rms);
    check_equal(ops::rms_norm_fwd(runtime, x, w, {.normalized_shape = {16}, .eps = 1e-3}), rms);
    const Tensor out = like(rms);
    REQUIRE(rms_norm.out(x, w, out));
    check_equal(out, rms);

    ops::RMSNormFwd without{runtime, {.normalized_shape = {16}}};
    check_equal(without(x), plain);
    check_equal(without(x, std::nullopt), plain);
    check_equal(without(x, Tensor()), plain);
    check_equal(ops::rms_norm_fwd(runtime, x, {}, {.normalized_shape = {16}}), plain);

    ops::LayerNormFwd layer_norm{runtime, {.normalized_shape = {16}}};
    check_equal(layer_norm(x, std::nullopt, b), layer);
    check_equal(ops::layer_norm_fwd(runtime, x, std::nullopt, b, {.normalized_shape = {16}}),
                layer);
  }

  TEST_CASE("reductions and products give what calls by name give") {
    const Runtime runtime = cpu_runtime();
    const Tensor x = ramp({3, 4, 5});
    const Tensor m = ramp({2, 5, 7});
    const Tensor all = by_name(runtime, "SumFwdOp", {}, {{"x", x}});
    const Tensor two =
        by_name(runtime, "SumFwdOp", {{"dim", {0, 2}}, {"keepdim", true}}, {{"x", x}});
    const Tensor soft = by_name(runtime, "SoftmaxFwdOp", {{"dim", 1}}, {{"x", x}});
    const Tensor dot = by_name(runtime, "MatMulFwdOp", {}, {{"a", ramp({2, 4, 5})}, {"b", m}});

    check_equal(ops::sum(runtime, x), all);
    check_equal(ops::sum(runtime, x, {.dim = std::nullopt}), all);
    check_equal(ops::sum(runtime, x, {.dim = {0, 2}, .keepdim = true}), two);
    check_equal(ops::SumFwd{runtime, {.dim = Ints{0, 2}, .keepdim = true}}(x), two);
    check_equal(ops::sum(runtime, x, {.dim = -1}), ops::sum(runtime, x, {.dim = {-1}}).value());
    check_equal(ops::softmax_fwd(runtime, x, {.dim = 1}), soft);
    check_equal(ops::SoftmaxFwd{runtime, {.dim = 1}}(x), soft);
    check_equal(ops::matmul(runtime, ramp({2, 4, 5}), m), dot);
    check_equal(ops::MatMulFwd{runtime}(ramp({2, 4, 5}), m), dot);
  }

  TEST_CASE("memory of the caller's goes in as a view") {
    const Runtime runtime = cpu_runtime();
    std::vector<float> memory(12, 1.5f);
    const TensorView view(memory.data(), DType::kFloat32, Dims{3, 4});

    const Result<Tensor> total = ops::sum(runtime, view);

    REQUIRE(total);
    CHECK(total->data<float>()[0] == 18.0f);
  }

  TEST_CASE("wrong calls say what wrong calls by name say") {
    const Runtime runtime = cpu_runtime();
    const Tensor x = ramp({6, 16});
    const Tensor w = ramp({15});
    Op named = runtime.make("RMSNormFwdOp", {{"normalized_shape", {16}}}).value();
    const std::string shape = named.call({{"x", x}, {"weight", w}}).error().to_string();
    const std::string empty =
        runtime.make("RMSNormFwdOp", {{"normalized_shape", Value::list({})}}).error().to_string();
    InstanceOptions nowhere;
    nowhere.target = "nowhere";
    const std::string target =
        runtime.make("MulFwdOp", std::span<const NamedValue>(), nowhere).error().to_string();

    ops::RMSNormFwd norm{runtime, {.normalized_shape = {16}}};
    CHECK(norm(x, w).error().to_string() == shape);
    CHECK(norm.out(x, w, like(x)).error().to_string() == shape);
    CHECK(ops::rms_norm_fwd(runtime, x, w, {.normalized_shape = {16}}).error().to_string() ==
          shape);

    ops::RMSNormFwd wrong{runtime, {.normalized_shape = Ints{}}};
    REQUIRE_FALSE(wrong.made());
    CHECK(wrong.made().error().to_string() == empty);
    CHECK(wrong(x).error().to_string() == empty);
    CHECK(wrong.out(x, std::nullopt, like(x)).error().to_string() == empty);
    CHECK(wrong.op() == nullptr);
    CHECK_FALSE(wrong.last_call());
    CHECK(wrong.serving_target().empty());
    CHECK(ops::rms_norm_fwd(runtime, x, {}, {.normalized_shape = Ints{}}).error().to_string() ==
          empty);
    CHECK(ops::RMSNormFwd::make(runtime, {.normalized_shape = Ints{}}).error().to_string() ==
          empty);
    CHECK(ops::MulFwd(runtime, {}, nowhere).made().error().to_string() == target);
  }

  TEST_CASE("an instance tells its record and explains itself") {
    const Runtime runtime = cpu_runtime();
    const Tensor x = ramp({6, 16});
    auto norm = ops::RMSNormFwd::make(runtime, {.normalized_shape = {16}});
    REQUIRE(norm);
    CHECK_FALSE(norm->last_call());

    REQUIRE((*norm)(x));

    CHECK(norm->last_call()->kernel().starts_with("cpu:"));
    CHECK(norm->serving_target() == "builtin");
    const std::vector<NamedSpec> call{{"x", x.spec()}};
    CHECK(norm->op()->explain(call).table().find("cpu:") != std::string::npos);
  }
}

TEST_SUITE("runtime/op_table") {
  TEST_CASE("functions of equal parameters share an instance, and unequal ones do not") {
    const Runtime runtime = cpu_runtime();
    const Tensor x = ramp({4, 8});
    const auto find = [&](ops::RMSNormFwdParams params) {
      return find_typed<ops::RMSNormFwd>(runtime, params).value()->op()->key();
    };

    const auto key = find({.normalized_shape = {8}, .eps = 0.0});

    CHECK(find({.normalized_shape = {8}, .eps = 0.0}) == key);
    CHECK(find({.normalized_shape = {8}, .eps = -0.0}) != key);
    CHECK(find({.normalized_shape = {8}}) != key);
    CHECK(find({.normalized_shape = {8}, .eps = std::nan("")}) ==
          find({.normalized_shape = {8}, .eps = -std::nan("")}));
    CHECK(find_typed<ops::AddFwd>(runtime, {.alpha = 1}).value() !=
          find_typed<ops::AddFwd>(runtime, {.alpha = 1.0}).value());
    CHECK(runtime.op_table().size() == 6);
    std::uint64_t elsewhere = 0;
    std::thread([&] { elsewhere = find({.normalized_shape = {8}, .eps = 0.0}); }).join();
    CHECK(elsewhere == key);
  }

  TEST_CASE("two runtimes share no instance") {
    const Runtime one = cpu_runtime();
    const Runtime two = cpu_runtime();

    const auto* first = find_typed<ops::MulFwd>(one, {}).value();
    const auto* second = find_typed<ops::MulFwd>(two, {}).value();

    CHECK(first != second);
    CHECK(find_typed<ops::MulFwd>(one, {}).value() == first);
    CHECK(find_typed<ops::MulFwd>(two, {}).value() == second);
  }

  TEST_CASE("a new runtime at an old one's place finds nothing of the old one") {
    const Tensor x = ramp({4, 8});
    for (int round = 0; round < 3; ++round) {
      const Runtime runtime = cpu_runtime();
      CHECK(runtime.op_table().size() == 0);
      check_equal(ops::copy_fwd(runtime, x), x);
      CHECK(runtime.op_table().size() == 1);
    }
  }

  TEST_CASE("the table is bounded and lets go of what was not used for longest") {
    RuntimeOptions options;
    options.plugin_paths = {TENON_CPU_PLUGIN};
    options.standard_folders = false;
    options.environment = loader::Environment::of({});
    options.op_table_entries = 3;
    const Runtime runtime = Runtime::create(options).value();
    const auto key = [&](std::int64_t dim) {
      return find_typed<ops::SoftmaxFwd>(runtime, {.dim = dim}).value()->op()->key();
    };

    const auto zero = key(0);
    for (std::int64_t dim = 1; dim < 40; ++dim) {
      key(dim);
      CHECK(key(0) == zero);  // used again and again, so it stays
      CHECK(runtime.op_table().size() <= 3);
    }
    std::uint64_t again = 0;
    std::uint64_t kept = 0;
    std::thread([&] {  // a thread that remembers nothing sees what the table holds
      kept = key(0);
      again = key(1);
    })
        .join();

    CHECK(kept == zero);
    CHECK(again != key(2));
    CHECK(runtime.op_table().capacity() == 3);
  }

  TEST_CASE("an instance that cannot be made is not kept") {
    const Runtime runtime = cpu_runtime();
    const Tensor x = ramp({4, 8});

    CHECK_FALSE(ops::rms_norm_fwd(runtime, x, {}, {.normalized_shape = Ints{}}));

    CHECK(runtime.op_table().size() == 0);
  }

  TEST_CASE("after a plugin is disabled, functions use what is there now") {
    Runtime runtime = cpu_runtime();
    const Tensor x = ramp({4, 8});
    REQUIRE(ops::copy_fwd(runtime, x));
    const auto before = runtime.op_table().generation();

    REQUIRE(runtime.disable_plugin("cpu"));

    CHECK(runtime.op_table().generation() != before);
    CHECK(runtime.op_table().size() == 0);
    CHECK(ops::copy_fwd(runtime, x).error().code() == ErrorCode::kOpNotAvailable);
  }

  TEST_CASE("threads that call one function together share one instance") {
    const Runtime runtime = cpu_runtime();
    const Tensor x = ramp({64});
    std::atomic<int> failures{0};
    std::vector<std::thread> threads;

    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 200; ++i) {
          const auto dim = static_cast<std::int64_t>(-1);
          if (!ops::softmax_fwd(runtime, x, {.dim = dim})) ++failures;
          if (!ops::sum(runtime, x, {.keepdim = i % 2 == 0})) ++failures;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();

    CHECK(failures == 0);
    CHECK(runtime.op_table().size() == 3);
  }
}
