// GroupedQueryAttentionDenseFwdOp on the CPU: two stages over runs of the keys, against plain sums
// over all of them and against constants.
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "runtime/cpu_runtime.hpp"

using namespace tenon;
using tenon::test::cpu_runtime;

namespace {

struct Sizes {
  std::int64_t b, s_q, s_kv, h, h_kv, d;
};

// Numbers of a fixed sequence, in [-2, 2), rounded to the dtype.
Tensor numbers(DType dtype, const Dims& shape, std::uint32_t seed) {
  Tensor t = Tensor::host(dtype, shape).value();
  for (std::int64_t i = 0; i < t.view().count(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    const double value = static_cast<double>(seed >> 8) / (1u << 22) - 2;
    store_from_double(
        dtype, t.data<std::byte>() + static_cast<std::size_t>(i) * size_bytes_of(dtype), value);
  }
  return t;
}

double at(const Tensor& t, std::initializer_list<std::int64_t> index) {
  std::int64_t flat = 0;
  std::size_t axis = 0;
  for (const std::int64_t i : index) flat += i * t.strides()[axis++];
  return load_as_double(
      t.dtype(), t.data<std::byte>() + static_cast<std::size_t>(flat) * size_bytes_of(t.dtype()));
}

struct Case {
  Sizes n;
  DType dtype = DType::kFloat32;
  bool is_causal = false;
  std::optional<double> scale{};
};

// One element, as the definition says it: softmax over every visible key.
double expected(const Case& c,
                const std::array<Tensor, 3>& x,
                std::int64_t b,
                std::int64_t i,
                std::int64_t h,
                std::int64_t d) {
  const auto& [q, k, v] = x;
  const std::int64_t group = h / (c.n.h / c.n.h_kv);
  const double scale = c.scale.value_or(1 / std::sqrt(static_cast<double>(c.n.d)));
  std::vector<double> weights;
  for (std::int64_t j = 0; j < c.n.s_kv; ++j) {
    if (c.is_causal && j > i + c.n.s_kv - c.n.s_q) break;
    double dot = 0;
    for (std::int64_t e = 0; e < c.n.d; ++e) dot += at(q, {b, i, h, e}) * at(k, {b, j, group, e});
    weights.push_back(std::exp(dot * scale));
  }
  double sum = 0;
  double weighted = 0;
  for (std::size_t j = 0; j < weights.size(); ++j) {
    sum += weights[j];
    weighted += weights[j] * at(v, {b, static_cast<std::int64_t>(j), group, d});
  }
  return weighted / sum;
}

Op make(const Runtime& runtime, bool is_causal, std::optional<double> scale = {}) {
  std::vector<NamedValue> params{{"is_causal", Value(is_causal)}};
  if (scale) params.emplace_back("scale", Value(*scale));
  auto op = runtime.make("GroupedQueryAttentionDenseFwdOp", params);
  if (!op) FAIL(op.error().to_string());
  return std::move(*op);
}

std::array<Tensor, 3> inputs(const Case& c) {
  return {numbers(c.dtype, Dims{c.n.b, c.n.s_q, c.n.h, c.n.d}, 1),
          numbers(c.dtype, Dims{c.n.b, c.n.s_kv, c.n.h_kv, c.n.d}, 2),
          numbers(c.dtype, Dims{c.n.b, c.n.s_kv, c.n.h_kv, c.n.d}, 3)};
}

// The largest error, in units of what the output's rounding and float32 parts allow.
double worst_error(const Case& c, const std::array<Tensor, 3>& x, const Tensor& got) {
  const double unit = c.dtype == DType::kFloat32   ? 0x1p-22
                      : c.dtype == DType::kFloat16 ? 0x1p-10
                                                   : 0x1p-7;
  double worst = 0;
  for (std::int64_t b = 0; b < c.n.b; ++b) {
    for (std::int64_t i = 0; i < c.n.s_q; ++i) {
      for (std::int64_t h = 0; h < c.n.h; ++h) {
        for (std::int64_t d = 0; d < c.n.d; ++d) {
          const double want = expected(c, x, b, i, h, d);
          worst = std::max(
              worst, std::abs(at(got, {b, i, h, d}) - want) / (unit * (std::abs(want) + 0.25)));
        }
      }
    }
  }
  return worst;
}

}  // namespace

TEST_SUITE("runtime/attention") {
  TEST_CASE("decode runs in two stages, attention over runs of the keys and their combination") {
    const Runtime runtime = cpu_runtime();
    const Case c{{2, 1, 1000, 8, 2, 16}};
    const auto x = inputs(c);
    Op op = make(runtime, false);

    const auto out = op.call({{"q", x[0]}, {"k", x[1]}, {"v", x[2]}});

    if (!out) FAIL(out.error().to_string());
    CHECK(worst_error(c, x, out->front()) < 1);
    const SignatureCall record = op.last_call().value();
    REQUIRE(record.stages.size() == 2);
    CHECK(record.stages[0].stage == "partial");
    CHECK(record.stages[0].call.op == "tenon::AttentionSplitFwdOp");
    CHECK(record.stages[0].call.tensors.at(3).second.shape == Dims{4, 2, 1, 8, 16});
    CHECK(record.stages[1].stage == "combine");
    CHECK(record.stages[1].call.op == "tenon::AttentionCombineFwdOp");
    CHECK(record.roof() == "tensor_core.float32");
    CHECK(record.eval_roofline()->flops == 4.0 * 2 * 1000 * 8 * 16);
    REQUIRE(op.call({{"q", x[0]}, {"k", x[1]}, {"v", x[2]}}));
    CHECK(op.held_delegates().size() == 2);

    const NamedSpec specs[] = {{"q", x[0].spec(), 0}, {"k", x[1].spec(), 0}, {"v", x[2].spec(), 0}};
    const Explanation e = op.explain(specs);
    CHECK_FALSE(e.error);
    REQUIRE(e.stages.size() == 2);
    CHECK(e.stages[0].explanation.steps.at(0).winner == "cpu:reference");
    CHECK(e.stages[1].explanation.steps.at(0).winner == "cpu:reference");
  }

  TEST_CASE("lengths around the runs' bounds, causal and not, in every dtype") {
    const Runtime runtime = cpu_runtime();
    for (const std::int64_t keys : {1, 7, 256, 257, 511, 513, 1025}) {
      for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
        for (const bool is_causal : {false, true}) {
          CAPTURE(keys);
          CAPTURE(name_of(dtype));
          CAPTURE(is_causal);
          const Case c{{1, std::min<std::int64_t>(keys, 3), keys, 6, 2, 4}, dtype, is_causal, 0.5};
          const auto x = inputs(c);
          Op op = make(runtime, is_causal, 0.5);
          const auto out = op.call({{"q", x[0]}, {"k", x[1]}, {"v", x[2]}});
          if (!out) FAIL(out.error().to_string());
          CHECK(worst_error(c, x, out->front()) < 1);
        }
      }
    }
  }

  TEST_CASE("D35: query heads that the key heads do not divide are refused, with both numbers") {
    const Runtime runtime = cpu_runtime();
    Op op = make(runtime, false);
    const auto call = [&](std::int64_t heads, std::int64_t kv_heads) {
      const Tensor q = numbers(DType::kFloat32, Dims{1, 1, heads, 2}, 1);
      Tensor k = Tensor::host(DType::kFloat32, Dims{1, 1, kv_heads, 2}).value();
      for (std::int64_t h = 0; h < kv_heads; ++h) k.data<float>()[2 * h] = static_cast<float>(h);
      return op.call({{"q", q}, {"k", k}, {"v", k}});
    };
    for (const auto& [heads, kv_heads] :
         std::vector<std::pair<std::int64_t, std::int64_t>>{{8, 3}, {3, 2}, {4, 0}, {2, 4}}) {
      const auto refused = call(heads, kv_heads);
      REQUIRE_FALSE(refused);
      CHECK(refused.error().code() == ErrorCode::kSignatureMismatch);
      CHECK(refused.error().to_string().find(std::to_string(heads)) != std::string::npos);
      CHECK(refused.error().to_string().find(std::to_string(kv_heads)) != std::string::npos);
    }
    for (const auto& [heads, kv_heads] :
         std::vector<std::pair<std::int64_t, std::int64_t>>{{6, 2}, {8, 1}, {8, 8}}) {
      const auto out = call(heads, kv_heads);
      REQUIRE(out);
      // One key a head: the result is that key head's value.
      for (std::int64_t h = 0; h < heads; ++h)
        CHECK(at(out->front(), {0, 0, h, 0}) == static_cast<double>(h / (heads / kv_heads)));
    }
  }

  TEST_CASE(
      "D47: a causal mask is aligned to the last key, and more queries than keys are refused") {
    const Runtime runtime = cpu_runtime();
    Op op = make(runtime, true);
    const auto call = [&](std::int64_t queries, std::int64_t keys) {
      const Tensor q = Tensor::host(DType::kFloat32, Dims{1, queries, 1, 1}).value();
      const Tensor k = Tensor::host(DType::kFloat32, Dims{1, keys, 1, 1}).value();
      Tensor v = Tensor::host(DType::kFloat32, Dims{1, keys, 1, 1}).value();
      for (std::int64_t j = 0; j < keys; ++j) v.data<float>()[j] = static_cast<float>(j);
      return op.call({{"q", q}, {"k", k}, {"v", v}});
    };
    const auto out = call(2, 5);
    REQUIRE(out);
    CHECK(out->front().data<float>()[0] == 1.5f);
    CHECK(out->front().data<float>()[1] == 2.0f);
    CHECK(call(5, 2).error().code() == ErrorCode::kSignatureMismatch);
  }

  TEST_CASE("D43: a row that sees no key is 0, and its log-sum-exp is -inf") {
    const Runtime runtime = cpu_runtime();
    const Tensor q = numbers(DType::kFloat32, Dims{1, 2, 1, 3}, 1);
    const Tensor none = Tensor::host(DType::kFloat32, Dims{1, 0, 1, 3}).value();
    const auto out = make(runtime, false).call({{"q", q}, {"k", none}, {"v", none}});
    if (!out) FAIL(out.error().to_string());
    for (int i = 0; i < 6; ++i) CHECK(out->front().data<float>()[i] == 0.0f);
    Op split = runtime.make("AttentionSplitFwdOp", {{"splits", Value(2)}}).value();
    const auto parts = split.call({{"q", q}, {"k", none}, {"v", none}});
    REQUIRE(parts);
    CHECK((*parts)[1].data<float>()[0] == -std::numeric_limits<float>::infinity());
  }

  TEST_CASE("transposed heads and an out with gaps give the same") {
    const Runtime runtime = cpu_runtime();
    const Case c{{1, 2, 600, 4, 2, 8}};
    const auto x = inputs(c);
    Op op = make(runtime, false);
    // [B, H, S, D] memory, seen as [B, S, H, D].
    const Tensor memory = numbers(DType::kFloat32, Dims{1, 4, 2, 8}, 9);
    TensorView q = memory.view();
    q.shape = Dims{1, 2, 4, 8};
    q.strides = Dims{64, 8, 16, 1};
    Tensor dense = Tensor::host(DType::kFloat32, Dims{1, 2, 4, 8}).value();
    for (std::int64_t i = 0; i < 2; ++i) {
      for (std::int64_t h = 0; h < 4; ++h) {
        for (std::int64_t d = 0; d < 8; ++d)
          dense.data<float>()[i * 32 + h * 8 + d] = memory.data<float>()[h * 16 + i * 8 + d];
      }
    }
    const auto same = op.call({{"q", dense}, {"k", x[1]}, {"v", x[2]}});
    const auto out = op.call({{"q", q}, {"k", x[1]}, {"v", x[2]}});
    REQUIRE(same);
    REQUIRE(out);
    for (int i = 0; i < 64; ++i)
      CHECK(out->front().data<float>()[i] == same->front().data<float>()[i]);
  }
}
