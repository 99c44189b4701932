// Calls past 2^31 elements, of every op and kernel type: a block of about 1 Mi elements, repeated,
// so that windows of the result can be compared with the reference of that one block.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"

namespace tenon::gpu_check {
namespace {

constexpr DType kDType = DType::kBFloat16;
constexpr std::size_t kElementBytes = 2;

/// A call on one block, and which of its inputs are repeated along their first axis.
struct Block {
  Call call;
  std::vector<bool> repeated;
};

std::int64_t count_of(const Dims& shape) { return element_count(shape).value_or(0); }

Dims repeated_shape(const Dims& shape, std::int64_t times) {
  Dims out = shape;
  out[0] *= times;
  return out;
}

class LargeCalls {
 public:
  explicit LargeCalls(Bench& bench)
      : bench_(bench), stream_(must(bench.devices().default_stream(bench.entry()))) {}

  /// Under every key of the plugin.
  void check(const Block& block) {
    std::int64_t largest = count_of(block.call.out_shape);
    for (std::size_t i = 0; i < block.repeated.size(); ++i) {
      if (block.repeated[i])
        largest = std::max(largest, count_of(block.call.inputs[i].second.shape()));
    }
    constexpr std::int64_t kEdge = std::int64_t{1} << 31;
    const std::int64_t times = kEdge / largest + 2;
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < block.repeated.size(); ++i) {
      const Tensor one = to_device(bench_, block.call.inputs[i].second);
      inputs.push_back(block.repeated[i] ? repeat(one, times) : one);
    }
    for (const std::string& key : bench_.keys(block.call.op, kDType))
      check_key(block, key, inputs, times, {0, times / 2, kEdge / largest, times - 1});
  }

 private:
  Tensor make(const Dims& shape) {
    return must(bench_.devices().make_tensor(kDType, shape, bench_.device(), stream_));
  }
  Op copier() {
    const Call call{
        "CopyFwdOp", "copy_fwd", {}, {}, kDType, Dims{}, Layout::kDense, 1, true, std::nullopt};
    return must(bench_.make(call, std::string(bench_.device().kind.name()) + ":general"));
  }
  void copy(const TensorView& from, const TensorView& to) {
    const Tensor source({}, from);
    CallOptions options;
    options.out = &to;
    must(copier().call({{"x", source}}, options));
    must(bench_.devices().synchronize(bench_.entry()));
  }
  Tensor repeat(const Tensor& one, std::int64_t times) {
    Tensor all = make(repeated_shape(one.shape(), times));
    const std::size_t rank = one.shape().size();
    TensorView from = one.view();
    TensorView to = all.view();
    from.shape = Dims{times};
    from.strides = Dims{0};
    to.shape = Dims{times};
    to.strides = Dims{count_of(one.shape())};
    for (std::size_t i = 0; i < rank; ++i) {
      from.shape.push_back(one.shape()[i]);
      from.strides.push_back(one.view().strides[i]);
      to.shape.push_back(one.shape()[i]);
      to.strides.push_back(all.view().strides[i]);
    }
    copy(from, to);
    return all;
  }
  /// Writes what no result is into the whole tensor.
  void poison(const Tensor& tensor) {
    const Tensor host = make_host(kDType, Dims{1}, Layout::kDense);
    store_from_double(kDType, host.view().first(), 12288.0);
    const Tensor one = to_device(bench_, host);
    TensorView from = one.view();
    from.shape = tensor.shape();
    from.strides = Dims{};
    for (std::size_t i = 0; i < tensor.shape().size(); ++i) from.strides.push_back(0);
    copy(from, tensor.view());
  }

  void check_key(const Block& block,
                 const std::string& key,
                 const std::vector<Tensor>& inputs,
                 std::int64_t times,
                 const std::vector<std::int64_t>& windows) {
    const std::string group = block.call.op + " " + key + " past 2^31";
    const Tensor out = make(repeated_shape(block.call.out_shape, times));
    poison(out);
    Op op = must(bench_.make(block.call, key));
    std::vector<NamedTensor> named;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      named.emplace_back(block.call.inputs[i].first, inputs[i]);
    CallOptions options;
    options.out = &out.view();
    const auto done = op.call(named, options);
    if (!done && done.error().code() == ErrorCode::kNoImplementation)
      return bench_.tally().skip(group, done.error().message());
    if (!done) return bench_.tally().fail(group, done.error().to_string());
    if (const auto finished = bench_.devices().synchronize(bench_.entry()); !finished)
      return bench_.tally().fail(group, finished.error().to_string());

    const Expectation expected = bench_.expect(block.call, key);
    const Tensor got = must(Tensor::host(kDType, block.call.out_shape));
    const auto bytes = static_cast<std::size_t>(count_of(block.call.out_shape)) * kElementBytes;
    for (const std::int64_t window : windows) {
      const std::string what = "block " + std::to_string(window) + " of " + std::to_string(times);
      const auto copied =
          bench_.devices().copy_bytes(Device{},
                                      got.view().first(),
                                      bench_.device(),
                                      out.view().first() + static_cast<std::size_t>(window) * bytes,
                                      bytes);
      if (!copied) {
        bench_.tally().fail(group, what + ": " + copied.error().to_string());
        continue;
      }
      bench_.judge(expected, got.view(), group, what);
    }
  }

  Bench& bench_;
  void* stream_;
};

}  // namespace

void check_beyond_31_bits(Bench& bench) {
  LargeCalls large(bench);
  std::mt19937_64 random(19);
  const auto tensor = [&](const Dims& shape) {
    Tensor made = make_host(kDType, shape, Layout::kDense);
    fill(made, Values::kNormal, random);
    return made;
  };
  const auto check = [&](const char* op,
                         const char* interface,
                         std::vector<NamedValue> params,
                         std::vector<std::pair<std::string, Tensor>> inputs,
                         std::vector<bool> repeated,
                         const Dims& out,
                         std::int64_t terms) {
    large.check({{op,
                  interface,
                  std::move(params),
                  std::move(inputs),
                  kDType,
                  out,
                  Layout::kDense,
                  terms,
                  false,
                  std::nullopt},
                 std::move(repeated)});
  };
  // Neither a power of two, so that nothing that wraps around meets its own values.
  const Dims rows{1001, 1000};
  const Tensor x = tensor(rows);
  const Tensor y = tensor(rows);
  check("CopyFwdOp", "copy_fwd", {}, {{"x", x}}, {true}, rows, 1);
  check("CastFwdOp", "cast_fwd", {{"to", Value(kDType)}}, {{"x", x}}, {true}, rows, 1);
  check("AddFwdOp", "add_fwd", {}, {{"self", x}, {"other", y}}, {true, true}, rows, 1);
  check("MulFwdOp", "mul_fwd", {}, {{"self", x}, {"other", y}}, {true, true}, rows, 1);
  check("GeluFwdOp", "gelu_fwd", {}, {{"x", x}}, {true}, rows, 1);
  check("SumFwdOp", "sum_fwd", {{"dim", Value({-1})}}, {{"x", x}}, {true}, Dims{1001}, 1000);
  check("SoftmaxFwdOp", "softmax_fwd", {}, {{"x", x}}, {true}, rows, 1000);
  const Dims long_rows{15, 70'000};  // of more bytes than a row on chip
  check("SoftmaxFwdOp", "softmax_fwd", {}, {{"x", tensor(long_rows)}}, {true}, long_rows, 70'000);
  const Tensor weight = tensor(Dims{1000});
  const Tensor bias = tensor(Dims{1000});
  const std::vector<NamedValue> normalized{{"normalized_shape", Value({1000})}, {"eps", 1e-5}};
  check("RMSNormFwdOp",
        "rms_norm_fwd",
        normalized,
        {{"x", x}, {"weight", weight}},
        {true, false},
        rows,
        1000);
  check("LayerNormFwdOp",
        "layer_norm_fwd",
        normalized,
        {{"x", x}, {"weight", weight}, {"bias", bias}},
        {true, false, false},
        rows,
        1000);
  check("MatMulFwdOp",
        "matmul_fwd",
        {},
        {{"a", tensor(Dims{999, 16})}, {"b", tensor(Dims{16, 1048})}},
        {true, false},
        Dims{999, 1048},
        16);
}

}  // namespace tenon::gpu_check
