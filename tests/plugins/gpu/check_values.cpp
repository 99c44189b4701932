// Values: every op, dtype and kernel type, on shapes around vector, row and tile edges, empty, and
// on views of every layout, against the CPU's reference.
#include <array>
#include <cstdio>
#include <cstring>

#include "bound.hpp"
#include "check.hpp"

namespace tenon::gpu_check {
namespace {

constexpr std::array kFloats{DType::kFloat16, DType::kBFloat16, DType::kFloat32};
constexpr std::array kNumbers{DType::kUInt8,
                              DType::kInt8,
                              DType::kInt16,
                              DType::kInt32,
                              DType::kInt64,
                              DType::kFloat16,
                              DType::kBFloat16,
                              DType::kFloat32};
constexpr std::array kReadable{Layout::kDense,
                               Layout::kOffset,
                               Layout::kPadded,
                               Layout::kStepped,
                               Layout::kTransposed,
                               Layout::kReversed,
                               Layout::kExpanded};
constexpr std::array kWritable{
    Layout::kDense, Layout::kOffset, Layout::kPadded, Layout::kStepped, Layout::kTransposed};

std::string text_of(const Dims& shape, Layout in, Layout out) {
  return shape.to_string() + " " + std::string(name_of(in)) + " to " + std::string(name_of(out));
}

/// Calls visit(shape, layout of inputs, layout of the output) for edges and for views.
template <class Visit>
void over_elementwise(Visit visit) {
  for (const std::int64_t n : {1, 7, 8, 9, 15, 16, 17, 255, 256, 257, 8191, 8192, 8193, 32769})
    visit(Dims{n}, Layout::kDense, Layout::kDense);
  for (const Dims& shape : {Dims{}, Dims{0}, Dims{3, 0, 5}, Dims{1, 1}, Dims{2, 3, 5, 7}})
    visit(shape, Layout::kDense, Layout::kDense);
  for (const Layout in : kReadable) {
    for (const Layout out : kWritable) {
      visit(Dims{33, 40}, in, out);
      visit(Dims{2, 5, 24}, in, out);
    }
  }
}

void check_binary(Bench& bench, const std::string& op, const std::string& interface) {
  std::mt19937_64 random(11);
  for (const DType dtype : kNumbers) {
    over_elementwise([&](const Dims& shape, Layout in, Layout out) {
      for (const Values values : {Values::kNormal, Values::kSpecial}) {
        Call call{op, interface, {}, {}, dtype, shape, out, 1, false, std::nullopt};
        for (const char* name : {"self", "other"}) {
          const bool second = name[0] == 'o';
          const Tensor tensor =
              make_host(dtype, shape, second && in == Layout::kExpanded ? Layout::kDense : in);
          fill(tensor, values, random);
          call.inputs.emplace_back(name, tensor);
        }
        bench.check(call, text_of(shape, in, out));
        if (op != "AddFwdOp") continue;
        const bool is_float = info_of(dtype).category == DTypeCategory::kFloat;
        call.params = {{"alpha", is_float ? Value(0.3) : Value(3)}};
        bench.check(call, "alpha, " + text_of(shape, in, out));
      }
    });
    // Broadcasting, and in place.
    Call call{op, interface, {}, {}, dtype, Dims{8, 6, 16}, Layout::kDense, 1, false, std::nullopt};
    const Tensor self = make_host(dtype, Dims{8, 1, 16}, Layout::kDense);
    const Tensor other = make_host(dtype, Dims{6, 1}, Layout::kDense);
    fill(self, Values::kNormal, random);
    fill(other, Values::kNormal, random);
    call.inputs = {{"self", self}, {"other", other}};
    bench.check(call, "broadcast");
    for (const Layout layout : {Layout::kDense, Layout::kStepped}) {
      const Tensor x = make_host(dtype, Dims{64, 48}, layout);
      const Tensor y = make_host(dtype, Dims{64, 48}, Layout::kDense);
      fill(x, Values::kNormal, random);
      fill(y, Values::kNormal, random);
      call.inputs = {{"self", x}, {"other", y}};
      call.out_shape = x.shape();
      call.in_place = 0;
      bench.check(call, "in place, " + std::string(name_of(layout)));
    }
  }
}

void check_gelu(Bench& bench) {
  std::mt19937_64 random(12);
  for (const DType dtype : kFloats) {
    for (const char* form : {"none", "tanh"}) {
      over_elementwise([&](const Dims& shape, Layout in, Layout out) {
        for (const Values values : {Values::kNormal, Values::kSpecial}) {
          Call call{"GeluFwdOp",
                    "gelu_fwd",
                    {{"approximate", form}},
                    {},
                    dtype,
                    shape,
                    out,
                    1,
                    false,
                    std::nullopt};
          const Tensor x = make_host(dtype, shape, in);
          fill(x, values, random);
          call.inputs.emplace_back("x", x);
          bench.check(call, std::string(form) + " " + text_of(shape, in, out));
        }
      });
      // Every value from -16 to 16 in small steps, where the tails are.
      const std::int64_t n = 65536;
      const Tensor x = make_host(dtype, Dims{n}, Layout::kDense);
      auto* to = x.view().first();
      for (std::int64_t i = 0; i < n; ++i) {
        store_from_double(dtype, to, -16 + 32.0 * static_cast<double>(i) / static_cast<double>(n));
        to += size_bytes_of(dtype);
      }
      Call call{"GeluFwdOp",
                "gelu_fwd",
                {{"approximate", form}},
                {{"x", x}},
                dtype,
                Dims{n},
                Layout::kDense,
                1,
                false,
                std::nullopt};
      bench.check(call, std::string(form) + " sweep");
    }
  }
}

void check_copy(Bench& bench) {
  std::mt19937_64 random(13);
  for (const DType dtype : all_dtypes()) {
    if (bench.keys("CopyFwdOp", dtype).empty()) continue;
    if (dtype == DType::kComplex64 || dtype == DType::kComplex128 || dtype == DType::kBool ||
        size_bytes_of(dtype) > 8 || info_of(dtype).category == DTypeCategory::kComplex)
      continue;
    const auto listed = {DType::kUInt8,
                         DType::kInt8,
                         DType::kInt16,
                         DType::kInt32,
                         DType::kInt64,
                         DType::kFloat16,
                         DType::kBFloat16,
                         DType::kFloat32,
                         DType::kFloat64};
    if (std::find(listed.begin(), listed.end(), dtype) == listed.end()) continue;
    over_elementwise([&](const Dims& shape, Layout in, Layout out) {
      Call call{"CopyFwdOp", "copy_fwd", {}, {}, dtype, shape, out, 1, true, std::nullopt};
      const Tensor x = make_host(dtype, shape, in);
      fill(x, Values::kNormal, random);
      call.inputs.emplace_back("x", x);
      bench.check(call, text_of(shape, in, out));
    });
  }
}

/// Lengths of rows: around 16 bytes, 32 lanes, and what 1, 2, 4 and 8 vectors of a block hold.
constexpr std::array<std::int64_t, 24> kRowLengths{1,   2,    7,    8,    9,    31,   32,   33,
                                                   63,  64,   127,  128,  255,  256,  257,  512,
                                                   520, 1000, 1024, 1032, 2048, 4096, 4104, 8192};

Call norm_call(bool centered,
               const Dims& shape,
               Layout in,
               Layout out,
               DType dtype,
               bool weight,
               bool bias,
               Values values,
               std::mt19937_64& random) {
  Call call{centered ? "LayerNormFwdOp" : "RMSNormFwdOp",
            centered ? "layer_norm_fwd" : "rms_norm_fwd",
            {{"normalized_shape", Value({shape[shape.size() - 1]})}, {"eps", 1e-5}},
            {},
            dtype,
            shape,
            out,
            shape[shape.size() - 1],
            false,
            std::nullopt};
  const Tensor x = make_host(dtype, shape, in);
  fill(x, values, random);
  call.inputs.emplace_back("x", x);
  const auto add = [&](const char* name) {
    const Layout layout = in == Layout::kStepped ? Layout::kStepped : Layout::kDense;
    const Tensor vector = make_host(dtype, Dims{shape[shape.size() - 1]}, layout);
    fill(vector, Values::kNormal, random);
    call.inputs.emplace_back(name, vector);
  };
  if (weight) add("weight");
  if (bias && centered) add("bias");
  return call;
}

/// Rows whose squares are beyond float's range, or vanish, in each division among threads; every
/// third row is an ordinary one.
void check_norm_far(Bench& bench, bool centered, DType dtype, std::mt19937_64& random) {
  const std::size_t element = size_bytes_of(dtype);
  const auto whole = 8192 / static_cast<std::int64_t>(element);
  for (const double size : {1e20, 1e-25}) {
    for (const Dims& shape : {Dims{7, 40},
                              Dims{9, 1024},
                              Dims{300, 2048},
                              Dims{300, 8192},
                              Dims{1700, whole},
                              Dims{5, 1000}}) {
      Call call = norm_call(centered,
                            shape,
                            Layout::kDense,
                            Layout::kDense,
                            dtype,
                            true,
                            false,
                            Values::kNormal,
                            random);
      call.params[1] = {"eps", Value(0.0)};
      auto* at = call.inputs[0].second.view().first();
      for (std::int64_t i = 0; i < shape[0] * shape[1]; ++i, at += element) {
        if (i / shape[1] % 3 == 2) continue;
        store_from_double(dtype, at, load_as_double(dtype, at) * size);
      }
      bench.check(call, shape.to_string() + (size > 1 ? " huge" : " tiny"));
    }
  }
}

void check_norm(Bench& bench, bool centered) {
  std::mt19937_64 random(14);
  for (const DType dtype : kFloats) {
    const auto check =
        [&](const Dims& shape, Layout in, Layout out, bool weight, bool bias, Values values) {
          bench.check(norm_call(centered, shape, in, out, dtype, weight, bias, values, random),
                      text_of(shape, in, out) + (weight ? " weight" : "") + (bias ? " bias" : ""));
        };
    for (const std::int64_t n : kRowLengths)
      check(Dims{5, n}, Layout::kDense, Layout::kDense, true, true, Values::kNormal);
    for (const std::int64_t rows : {1, 2, 3, 4, 5, 131, 132, 133, 1027})
      check(Dims{rows, 64}, Layout::kDense, Layout::kDense, true, false, Values::kNormal);
    // More rows than two on each unit: another division among threads, by the row's length.
    for (const std::int64_t n : {1024, 1032, 2048, 2056, 4088, 4096, 4104, 8192, 8200})
      check(Dims{300, n}, Layout::kDense, Layout::kDense, true, false, Values::kNormal);
    // Some rows on each unit, of one length: blocks that stay for more than one row.
    if (!centered) {
      const std::int64_t n = 8192 / static_cast<std::int64_t>(size_bytes_of(dtype));
      check(Dims{1057, n}, Layout::kDense, Layout::kDense, true, false, Values::kNormal);
      check(Dims{1700, n}, Layout::kDense, Layout::kDense, false, false, Values::kSpecial);
    }
    check(Dims{0, 64}, Layout::kDense, Layout::kDense, true, true, Values::kNormal);
    check(Dims{2, 3, 72}, Layout::kDense, Layout::kDense, false, false, Values::kNormal);
    check(Dims{7, 128}, Layout::kDense, Layout::kDense, false, true, Values::kNormal);
    check(Dims{9, 128}, Layout::kDense, Layout::kDense, true, true, Values::kSpecial);
    if (dtype != DType::kFloat16) check_norm_far(bench, centered, dtype, random);
    for (const Layout in : kReadable) {
      for (const Layout out : kWritable) check(Dims{6, 40}, in, out, true, true, Values::kNormal);
    }
  }
}

void check_softmax(Bench& bench) {
  std::mt19937_64 random(15);
  for (const DType dtype : kFloats) {
    const auto check = [&](const Dims& shape, int dim, Layout in, Layout out, Values values) {
      Call call{"SoftmaxFwdOp",
                "softmax_fwd",
                {{"dim", dim}},
                {},
                dtype,
                shape,
                out,
                1,
                false,
                std::nullopt};
      const Tensor x = make_host(dtype, shape, in);
      fill(x, values, random);
      call.inputs.emplace_back("x", x);
      bench.check(call, text_of(shape, in, out));
    };
    for (const std::int64_t n : kRowLengths)
      check(Dims{5, n}, -1, Layout::kDense, Layout::kDense, Values::kNormal);
    for (const std::int64_t rows : {1, 2, 3, 4, 5, 131, 132, 133, 1027})
      check(Dims{rows, 64}, -1, Layout::kDense, Layout::kDense, Values::kNormal);
    check(Dims{0, 64}, -1, Layout::kDense, Layout::kDense, Values::kNormal);
    check(Dims{4, 33, 5}, 1, Layout::kDense, Layout::kDense, Values::kNormal);
    check(Dims{7, 9, 16}, 0, Layout::kDense, Layout::kDense, Values::kNormal);
    check(Dims{64, 72}, -1, Layout::kDense, Layout::kDense, Values::kSpecial);
    for (const Layout in : kReadable) {
      for (const Layout out : kWritable) check(Dims{6, 40}, -1, in, out, Values::kNormal);
    }
  }
}

void check_sum(Bench& bench) {
  std::mt19937_64 random(16);
  for (const DType dtype : kNumbers) {
    const auto check = [&](const Dims& shape,
                           const Value& dim,
                           const Dims& out_shape,
                           Layout in,
                           Layout out,
                           Values values) {
      std::int64_t terms = element_count(shape).value_or(0);
      const std::int64_t results = element_count(out_shape).value_or(1);
      if (results > 0) terms /= results;
      Call call{"SumFwdOp",
                "sum_fwd",
                {{"dim", dim}},
                {},
                dtype,
                out_shape,
                out,
                std::max<std::int64_t>(terms, 1),
                values == Values::kIntegers,
                std::nullopt};
      const Tensor x = make_host(dtype, shape, in);
      fill(x, values, random);
      call.inputs.emplace_back("x", x);
      bench.check(call, text_of(shape, in, out) + " over " + dim.to_string());
    };
    const Value last({-1});
    const Value first({0});
    for (const std::int64_t n : kRowLengths) {
      check(Dims{5, n}, last, Dims{5}, Layout::kDense, Layout::kDense, Values::kNormal);
      check(Dims{n, 5}, first, Dims{5}, Layout::kDense, Layout::kDense, Values::kNormal);
    }
    for (const std::int64_t n : {31, 32, 33, 64, 256, 1000})
      check(Dims{200, n}, first, Dims{n}, Layout::kDense, Layout::kDense, Values::kNormal);
    check(
        Dims{3, 100, 48}, Value({1}), Dims{3, 48}, Layout::kDense, Layout::kDense, Values::kNormal);
    check(Dims{3, 4, 5, 6},
          Value({0, 2}),
          Dims{4, 6},
          Layout::kDense,
          Layout::kDense,
          Values::kNormal);
    check(Dims{3, 4, 5, 6}, Value(), Dims{}, Layout::kDense, Layout::kDense, Values::kNormal);
    check(Dims{300000}, Value(), Dims{}, Layout::kDense, Layout::kDense, Values::kNormal);
    // No whole vectors: each row begins elsewhere in one.
    check(Dims{1000003}, Value(), Dims{}, Layout::kDense, Layout::kDense, Values::kNormal);
    for (const std::int64_t n : {65, 1001, 100003})
      check(Dims{7, n}, last, Dims{7}, Layout::kDense, Layout::kDense, Values::kIntegers);
    check(Dims{100000, 8}, first, Dims{8}, Layout::kDense, Layout::kDense, Values::kNormal);
    check(Dims{100000, 8}, first, Dims{8}, Layout::kDense, Layout::kDense, Values::kIntegers);
    check(Dims{4, 0}, last, Dims{4}, Layout::kDense, Layout::kDense, Values::kNormal);
    check(Dims{0, 4}, last, Dims{0}, Layout::kDense, Layout::kDense, Values::kNormal);
    check(Dims{12, 64}, last, Dims{12}, Layout::kDense, Layout::kDense, Values::kSpecial);
    for (const Layout in : kReadable) {
      for (const Layout out : {Layout::kDense, Layout::kStepped}) {
        check(Dims{24, 40}, last, Dims{24}, in, out, Values::kNormal);
        check(Dims{24, 40}, first, Dims{40}, in, out, Values::kNormal);
      }
    }
  }
}

void check_matmul(Bench& bench) {
  std::mt19937_64 random(17);
  for (const DType dtype : kFloats) {
    const auto check = [&](const Dims& a_shape,
                           const Dims& b_shape,
                           const Dims& out_shape,
                           Layout a_layout,
                           Layout b_layout,
                           Layout out,
                           Values values) {
      const std::int64_t k = a_shape[a_shape.size() - 1];
      Call call{"MatMulFwdOp",
                "matmul_fwd",
                {},
                {},
                dtype,
                out_shape,
                out,
                std::max<std::int64_t>(k, 1),
                values == Values::kIntegers,
                std::nullopt};
      const Tensor a = make_host(dtype, a_shape, a_layout);
      const Tensor b = make_host(dtype, b_shape, b_layout);
      fill(a, values, random);
      fill(b, values, random);
      call.inputs = {{"a", a}, {"b", b}};
      bench.check(call,
                  a_shape.to_string() + " " + std::string(name_of(a_layout)) + " x " +
                      b_shape.to_string() + " " + std::string(name_of(b_layout)) + " to " +
                      std::string(name_of(out)));
    };
    const auto square = [&](std::int64_t m, std::int64_t k, std::int64_t n, Values values) {
      check(Dims{m, k},
            Dims{k, n},
            Dims{m, n},
            Layout::kDense,
            Layout::kDense,
            Layout::kDense,
            values);
      check(Dims{m, k},
            Dims{k, n},
            Dims{m, n},
            Layout::kDense,
            Layout::kTransposed,
            Layout::kDense,
            values);
    };
    for (const std::int64_t m : {1, 63, 64, 65}) {
      for (const std::int64_t n : {1, 63, 64, 65, 129}) {
        for (const std::int64_t k : {1, 15, 16, 17, 128}) square(m, k, n, Values::kNormal);
      }
    }
    square(64, 256, 96, Values::kIntegers);
    square(200, 300, 136, Values::kNormal);
    square(32, 0, 32, Values::kNormal);
    square(0, 32, 32, Values::kNormal);
    for (const Layout a : kReadable) {
      for (const Layout b : kReadable) {
        for (const Layout out : {Layout::kDense, Layout::kPadded, Layout::kStepped})
          check(Dims{24, 40}, Dims{40, 32}, Dims{24, 32}, a, b, out, Values::kNormal);
      }
    }
    // Batches: alike, broadcast on one side, on both, and of two axes.
    const Layout dense = Layout::kDense;
    check(Dims{3, 17, 24}, Dims{3, 24, 33}, Dims{3, 17, 33}, dense, dense, dense, Values::kNormal);
    check(Dims{3, 16, 24}, Dims{24, 32}, Dims{3, 16, 32}, dense, dense, dense, Values::kNormal);
    check(Dims{16, 24}, Dims{3, 24, 32}, Dims{3, 16, 32}, dense, dense, dense, Values::kNormal);
    check(Dims{4, 1, 16, 24},
          Dims{3, 24, 32},
          Dims{4, 3, 16, 32},
          dense,
          dense,
          dense,
          Values::kNormal);
    check(Dims{4, 3, 16, 24},
          Dims{4, 3, 24, 32},
          Dims{4, 3, 16, 32},
          Layout::kTransposed,
          Layout::kTransposed,
          dense,
          Values::kNormal);
  }
}

}  // namespace

void check_values(Bench& bench) {
  check_binary(bench, "AddFwdOp", "add_fwd");
  check_binary(bench, "MulFwdOp", "mul_fwd");
  check_gelu(bench);
  check_copy(bench);
  check_norm(bench, false);
  check_norm(bench, true);
  check_softmax(bench);
  check_sum(bench);
  check_matmul(bench);
}

void check_small(Bench& bench) {
  std::mt19937_64 random(20);
  const auto tensor = [&](DType dtype, const Dims& shape, Layout layout = Layout::kDense) {
    Tensor made = make_host(dtype, shape, layout);
    fill(made, Values::kNormal, random);
    return made;
  };
  for (const DType dtype : kFloats) {
    const auto check = [&](const char* op,
                           const char* interface,
                           std::vector<NamedValue> params,
                           std::vector<std::pair<std::string, Tensor>> inputs,
                           const Dims& out,
                           std::int64_t terms) {
      bench.check({op,
                   interface,
                   std::move(params),
                   std::move(inputs),
                   dtype,
                   out,
                   Layout::kDense,
                   terms,
                   false,
                   std::nullopt},
                  "small");
    };
    const Dims shape{5, 520};
    for (const Layout layout : {Layout::kDense, Layout::kStepped}) {
      const Tensor x = tensor(dtype, shape, layout);
      check("AddFwdOp", "add_fwd", {}, {{"self", x}, {"other", tensor(dtype, shape)}}, shape, 1);
      check("MulFwdOp", "mul_fwd", {}, {{"self", x}, {"other", tensor(dtype, shape)}}, shape, 1);
      check("GeluFwdOp", "gelu_fwd", {}, {{"x", x}}, shape, 1);
      check("CopyFwdOp", "copy_fwd", {}, {{"x", x}}, shape, 1);
      check("CastFwdOp",
            "cast_fwd",
            {{"to", Value(dtype)}},
            {{"x", tensor(DType::kFloat64, shape, layout)}},
            shape,
            1);
      const Tensor vector = tensor(dtype, Dims{520});
      check("RMSNormFwdOp",
            "rms_norm_fwd",
            {{"normalized_shape", Value({520})}},
            {{"x", x}, {"weight", vector}},
            shape,
            520);
      check("LayerNormFwdOp",
            "layer_norm_fwd",
            {{"normalized_shape", Value({520})}},
            {{"x", x}, {"weight", vector}, {"bias", vector}},
            shape,
            520);
      check("SoftmaxFwdOp", "softmax_fwd", {}, {{"x", x}}, shape, 520);
      check("SumFwdOp", "sum_fwd", {{"dim", Value({-1})}}, {{"x", x}}, Dims{5}, 520);
      check("SumFwdOp", "sum_fwd", {{"dim", Value({0})}}, {{"x", x}}, Dims{520}, 5);
    }
    check("SumFwdOp", "sum_fwd", {}, {{"x", tensor(dtype, Dims{65536})}}, Dims{}, 65536);
    for (const std::int64_t n : {2048, 2064}) {
      check("RMSNormFwdOp",
            "rms_norm_fwd",
            {{"normalized_shape", Value({n})}},
            {{"x", tensor(dtype, Dims{270, n})}, {"weight", tensor(dtype, Dims{n})}},
            Dims{270, n},
            n);
    }
    if (dtype == DType::kBFloat16) {
      // Blocks that stay for more than one row.
      const Dims rows{1100, 4096};
      check("RMSNormFwdOp",
            "rms_norm_fwd",
            {{"normalized_shape", Value({4096})}},
            {{"x", tensor(dtype, rows)}, {"weight", tensor(dtype, Dims{4096})}},
            rows,
            4096);
    }
    check("MatMulFwdOp",
          "matmul_fwd",
          {},
          {{"a", tensor(dtype, Dims{65, 40})}, {"b", tensor(dtype, Dims{40, 72})}},
          Dims{65, 72},
          40);
  }
}

void check_long_rows(Bench& bench) {
  std::mt19937_64 random(18);
  for (const std::int64_t n : {16384, 32768, 32776, 65536, 65544, 131072, 262144}) {
    for (const DType dtype : kFloats) {
      const Dims shape{2, n};
      for (const bool centered : {false, true}) {
        bench.check(norm_call(centered,
                              shape,
                              Layout::kDense,
                              Layout::kDense,
                              dtype,
                              true,
                              true,
                              Values::kNormal,
                              random),
                    shape.to_string());
      }
      Call softmax{"SoftmaxFwdOp",
                   "softmax_fwd",
                   {},
                   {},
                   dtype,
                   shape,
                   Layout::kDense,
                   1,
                   false,
                   std::nullopt};
      const Tensor x = make_host(dtype, shape, Layout::kDense);
      fill(x, Values::kNormal, random);
      softmax.inputs.emplace_back("x", x);
      bench.check(softmax, shape.to_string());
      Call sum{"SumFwdOp",
               "sum_fwd",
               {{"dim", Value({-1})}},
               {{"x", x}},
               dtype,
               Dims{2},
               Layout::kDense,
               n,
               false,
               std::nullopt};
      bench.check(sum, shape.to_string());
    }
  }
}

}  // namespace tenon::gpu_check
