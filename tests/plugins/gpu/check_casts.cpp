// Casts between every pair of dtypes, bit for bit against the CPU's kernel: every value of 8 and of
// 16 bits, random bits and edges of the longer ones, dense and on views.
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "check.hpp"
#include "elements.hpp"

namespace tenon::gpu_check {
namespace {

constexpr std::array kCasts{DType::kBool,
                            DType::kUInt8,
                            DType::kInt8,
                            DType::kInt16,
                            DType::kInt32,
                            DType::kInt64,
                            DType::kFloat16,
                            DType::kBFloat16,
                            DType::kFloat32,
                            DType::kFloat64,
                            DType::kFloat8E4M3FN,
                            DType::kFloat8E5M2};

bool is_real(DType dtype) { return info_of(dtype).category == DTypeCategory::kFloat; }

/// Element number `index` of a sweep through a dtype's values.
void set_element(DType dtype, std::byte* to, std::int64_t index, std::mt19937_64& random) {
  const std::size_t size = size_bytes_of(dtype);
  std::uint64_t bits = size <= 2 ? static_cast<std::uint64_t>(index) : random();
  if (dtype == DType::kBool) bits &= 1;
  std::memcpy(to, &bits, size);
  if (size <= 2 || index % 2 == 0) return;
  // Beside powers of two, where roundings and saturations change.
  if (is_real(dtype)) {
    const auto exponent = static_cast<int>(random() % 300) - 160;
    const double near = std::ldexp(1.0, -static_cast<int>(random() % 30));
    const double value = std::ldexp(1.0 + near, exponent);
    store_from_double(dtype, to, random() % 2 == 0 ? value : -value);
  } else {
    const auto bit = static_cast<unsigned>(random() % (8 * size - 1));
    const std::uint64_t value = (std::uint64_t{1} << bit) + random() % 7 - 3;
    std::memcpy(to, &value, size);
  }
}

Tensor sweep(DType dtype, const Dims& shape, Layout layout, std::mt19937_64& random) {
  Tensor tensor = make_host(dtype, shape, layout);
  cli::for_each_element(tensor.view(), [&](std::byte* to, std::int64_t index) {
    set_element(dtype, to, index, random);
  });
  return tensor;
}

/// The first element that differs, or -1. One NaN is as good as another.
std::int64_t first_difference(const Tensor& got, const Tensor& wanted) {
  const DType dtype = got.dtype();
  const std::size_t size = size_bytes_of(dtype);
  const std::byte* expected = wanted.view().first();  // dense
  std::int64_t first = -1;
  cli::for_each_element(got.view(), [&](const std::byte* at, std::int64_t index) {
    const std::byte* other = expected + static_cast<std::size_t>(index) * size;
    if (first >= 0 || std::memcmp(at, other, size) == 0) return;
    const bool nan = is_real(dtype) && std::isnan(load_as_double(dtype, at)) &&
                     std::isnan(load_as_double(dtype, other));
    if (!nan) first = index;
  });
  return first;
}

void check_cast(Bench& bench, const Tensor& x, DType to, Layout out_layout) {
  const std::vector<NamedValue> params{{"to", Value(to)}};
  InstanceOptions on_host;
  on_host.target = "builtin";
  Op reference = must(bench.runtime().make("CastFwdOp", params, on_host));
  const Tensor wanted = must(reference.call({{"x", x}})).front();
  const Call call{"CastFwdOp",
                  "cast_fwd",
                  params,
                  {{"x", x}},
                  x.dtype(),
                  x.shape(),
                  out_layout,
                  1,
                  true,
                  std::nullopt};
  for (const std::string& key : bench.keys("CastFwdOp", x.dtype())) {
    const std::string group = "CastFwdOp " + key + " " + std::string(name_of(x.dtype())) + " to " +
                              std::string(name_of(to));
    Op op = must(bench.make(call, key));
    const Tensor input = to_device(bench, x);
    const Tensor out = to_device(bench, make_host(to, x.shape(), out_layout));
    CallOptions options;
    options.out = &out.view();
    const auto done = op.call({{"x", input}}, options);
    if (!done) {
      if (done.error().code() == ErrorCode::kNoImplementation) {
        bench.tally().skip(group, done.error().message());
      } else {
        bench.tally().fail(group, done.error().to_string());
      }
      continue;
    }
    must(bench.devices().synchronize(bench.entry()));
    const Tensor got = to_host(bench, out);
    const std::int64_t wrong = first_difference(got, wanted);
    if (!surroundings_are_whole(got)) {
      bench.tally().fail(group, "wrote outside");
    } else if (wrong >= 0) {
      bench.tally().fail(group, x.shape().to_string() + ": element " + std::to_string(wrong));
    } else {
      bench.tally().pass(group, 0);
    }
  }
}

}  // namespace

void check_casts(Bench& bench) {
  std::mt19937_64 random(22);
  for (const DType from : kCasts) {
    // Every value of 16 bits, and an end that fills no vector.
    const Tensor values = sweep(from, Dims{65536 + 13}, Layout::kDense, random);
    for (const DType to : kCasts) {
      check_cast(bench, values, to, Layout::kDense);
      for (const Layout in : {Layout::kDense,
                              Layout::kOffset,
                              Layout::kStepped,
                              Layout::kTransposed,
                              Layout::kReversed}) {
        check_cast(bench, sweep(from, Dims{33, 40}, in, random), to, Layout::kDense);
      }
      check_cast(bench, sweep(from, Dims{33, 40}, Layout::kDense, random), to, Layout::kTransposed);
      for (const Dims& shape : {Dims{}, Dims{0}, Dims{1}, Dims{7}, Dims{16}, Dims{17}, Dims{4097}})
        check_cast(bench, sweep(from, shape, Layout::kDense, random), to, Layout::kDense);
    }
  }
}

}  // namespace tenon::gpu_check
