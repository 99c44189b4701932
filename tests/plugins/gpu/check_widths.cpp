// D99: rows of 1 to 130 elements, around what 32 and 64 lanes hold, with values whose sums are
// exact: a reduction over half a wave, or over two, cannot hide in them.
#include <cstdio>

#include "check.hpp"

namespace tenon::gpu_check {
namespace {

constexpr std::int64_t kMostWidth = 130;

Tensor integers(DType dtype, const Dims& shape, Layout layout, std::mt19937_64& random) {
  Tensor tensor = make_host(dtype, shape, layout);
  fill(tensor, Values::kIntegers, random);
  return tensor;
}

void check_sums(Bench& bench, std::int64_t width, Layout layout, std::mt19937_64& random) {
  for (const bool last : {true, false}) {
    const Dims shape = last ? Dims{5, width} : Dims{width, 5};
    Call call{"SumFwdOp",
              "sum_fwd",
              {{"dim", last ? Value({-1}) : Value({0})}},
              {{"x", integers(DType::kFloat32, shape, layout, random)}},
              DType::kFloat32,
              Dims{5},
              Layout::kDense,
              width,
              true,  // every sum is exact
              std::nullopt};
    bench.check(call, "D99 integers, " + shape.to_string());
  }
}

void check_rows(Bench& bench, std::int64_t width, std::mt19937_64& random) {
  const Dims shape{5, width};
  const auto check = [&](const char* op, const char* interface, std::vector<NamedValue> params) {
    Call call{op,
              interface,
              std::move(params),
              {{"x", integers(DType::kFloat32, shape, Layout::kDense, random)}},
              DType::kFloat32,
              shape,
              Layout::kDense,
              width,
              false,  // quotients and powers are rounded
              std::nullopt};
    bench.check(call, "D99 integers, " + shape.to_string());
  };
  check("RMSNormFwdOp", "rms_norm_fwd", {{"normalized_shape", Value({width})}});
  check("LayerNormFwdOp", "layer_norm_fwd", {{"normalized_shape", Value({width})}});
  check("SoftmaxFwdOp", "softmax_fwd", {{"dim", -1}});
}

}  // namespace

void check_widths(Bench& bench) {
  std::mt19937_64 random(23);
  const auto& facts = bench.entry().facts.fields();
  std::printf(
      "%s says that %u lanes run in step\n", bench.device().to_string().c_str(), facts.warp_size);
  for (std::int64_t width = 1; width <= kMostWidth; ++width) {
    for (const Layout layout : {Layout::kDense, Layout::kStepped, Layout::kTransposed})
      check_sums(bench, width, layout, random);
    check_rows(bench, width, random);
  }
}

}  // namespace tenon::gpu_check
