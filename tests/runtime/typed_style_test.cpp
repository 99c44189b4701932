// The typed API of a set with every construct of the language: it compiles, and its parameters say
// to the registry what the same words by name say.
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "tenon/ops.hpp"

using namespace tenon;

namespace {

Runtime style_runtime() {
  RuntimeOptions options;
  options.standard_folders = false;
  options.environment = loader::Environment::of({});
  options.manifest_paths = {TENON_STYLE_MANIFEST};
  auto made = Runtime::create(options);
  if (!made) FAIL(made.error().to_string());
  return std::move(*made);
}

TensorSpec spec(DType dtype, const Dims& shape) {
  return {dtype, shape, dense_strides(shape), Device{}};
}

/// The outputs that an instance infers, or why it does not.
std::string inferred(TypedOp& op, const std::vector<NamedSpec>& inputs) {
  if (!op.made()) return op.made().error().message();
  const auto result = op.op()->infer(inputs);
  if (!result) return result.error().message();
  std::string text;
  for (const OutputSpec& output : result->outputs) {
    text += text.empty() ? "" : " ";
    text +=
        output.present ? std::string(name_of(output.dtype)) + output.shape.to_string() : "absent";
  }
  return text;
}

}  // namespace

TEST_SUITE("runtime/typed_style") {
  TEST_CASE("scalars, lists and words share a parameter") {
    const Runtime runtime = style_runtime();
    const std::vector<NamedSpec> call{{"x", spec(DType::kFloat32, {2, 3, 10})},
                                      {"w", spec(DType::kFloat32, {4, 3, 3})}};

    ops::Conv1dFwd plain{runtime};
    ops::Conv1dFwd strided{runtime, {.stride = {2}, .padding = 1}};
    ops::Conv1dFwd same{runtime, {.padding = ops::Conv1dFwdPadding::kSame}};
    ops::Conv1dFwd wrong{runtime, {.stride = {2, 2}}};

    CHECK(inferred(plain, call) == "float32[2, 4, 8]");
    CHECK(inferred(strided, call) == "float32[2, 4, 5]");
    CHECK(inferred(same, call) == "float32[2, 4, 10]");
    CHECK(wrong.made().error().message() ==
          runtime.make("Conv1dFwdOp", {{"stride", {2, 2}}}).error().message());
  }

  TEST_CASE("None is std::nullopt, in a list too") {
    const Runtime runtime = style_runtime();
    const std::vector<NamedSpec> call{{"x", spec(DType::kFloat32, {2, 5, 6})}};

    ops::ResizeFwd resize{runtime, {.size = {std::nullopt, 9}}};
    ops::ResizeFwd linear{runtime, {.size = {7, 9}, .mode = ops::ResizeFwdMode::kLinear}};

    CHECK(inferred(resize, call) == "float32[2, 5, 9]");
    CHECK(inferred(linear, call) == "float32[2, 7, 9]");
  }

  TEST_CASE("dtypes and devices are parameters, and a call without tensors takes a device") {
    const Runtime runtime = style_runtime();

    ops::FillFwd fill{runtime,
                      {.size = {2, 3}, .value = 1.5, .dtype = DType::kFloat16, .device = Device{}}};
    ops::MeanFwd mean{runtime, {.dim = {0}, .keepdim = true, .dtype = DType::kFloat64}};

    CHECK(inferred(fill, {}) == "float16[2, 3]");
    CHECK(inferred(mean, {{"x", spec(DType::kFloat16, {4, 3})}}) == "float64[1, 3]");
    CHECK_FALSE(fill());                                              // no kernel, but a call
    CHECK(fill(Device{}).error().code() == ErrorCode::kDeviceError);  // and no plugin has one
    CHECK(ops::FillFwd(runtime, {.size = {2}, .value = 300, .dtype = DType::kUInt8})
              .made()
              .error()
              .code() == ErrorCode::kSignatureMismatch);
  }

  TEST_CASE("algebraic values are structs") {
    const Runtime runtime = style_runtime();
    const std::vector<NamedSpec> call{{"x", spec(DType::kBFloat16, {3, 4, 5})},
                                      {"w", spec(DType::kBFloat16, {3, 6, 5})},
                                      {"meta", spec(DType::kInt32, {3})}};

    ops::ExpertFwd masked{runtime, {.layout = ops::RowsMasked{.max_m = 4}}};
    ops::ExpertFwd wrong{
        runtime,
        {.layout = ops::RowsContiguous{.alignment = 4,
                                       .packing = ops::RowsContiguousPacking::kTight,
                                       .metadata_kind = ops::RowsContiguousMetadataKind::kPerRow}}};

    CHECK(inferred(masked, call) == "bfloat16[3, 4, 6]");
    CHECK(wrong.made().error().message().find("the invariant of contiguous") != std::string::npos);
    ops::GateFwd open{runtime, {.gate = ops::GateOpen{.soft = false, .shift = -1}}};
    CHECK(inferred(open, {{"x", spec(DType::kFloat16, {2, 3, 3})}}) == "float16[2, 2]");
  }

  TEST_CASE("construction-time tensors stand among the parameters") {
    const Runtime runtime = style_runtime();
    const Tensor bias = Tensor::host(DType::kFloat32, {8}).value();
    const std::vector<NamedSpec> call{{"logits", spec(DType::kFloat32, {5, 8})}};

    ops::RouteFwd with{runtime, {.k = 2, .bias = bias}};
    ops::RouteFwd without{runtime, {.k = 2, .scoring = "sigmoid"}};

    CHECK(inferred(with, call) == "float32[5, 2] int32[5, 2]");
    CHECK(inferred(without, call) == "float32[5, 2] int32[5, 2]");
    CHECK(inferred(with, {{"logits", spec(DType::kFloat32, {5, 9})}}).find("bias") !=
          std::string::npos);
  }

  TEST_CASE("several outputs are a struct; a nullable one may be empty") {
    const Runtime runtime = style_runtime();
    const Tensor x = Tensor::host(DType::kFloat32, {0, 3}).value();

    // An empty call runs no kernel, so the results can be seen without one.
    const Result<ops::SplitExponentFwdOutputs> parts = ops::split_exponent_fwd(runtime, x);
    REQUIRE_MESSAGE(parts, parts.error().to_string());
    CHECK(parts->mantissa.dtype() == DType::kFloat32);
    CHECK(parts->exponent.dtype() == DType::kInt32);

    const Tensor image = Tensor::host(DType::kFloat32, {0, 3, 8}).value();
    const auto pooled = ops::max_pool1d_fwd(runtime, image, {.window = 2});
    const auto indexed = ops::max_pool1d_fwd(runtime, image, {.window = 2, .with_indices = true});
    REQUIRE_MESSAGE(pooled, pooled.error().to_string());
    CHECK(pooled->y.shape() == Dims{0, 3, 4});
    CHECK_FALSE(pooled->indices);
    REQUIRE(indexed);
    CHECK(indexed->indices->dtype() == DType::kInt64);
  }

  TEST_CASE("lists of tensors go in and come out") {
    const Runtime runtime = style_runtime();
    const std::vector<Tensor> xs{Tensor::host(DType::kFloat32, {2, 0}).value(),
                                 Tensor::host(DType::kFloat32, {3, 0}).value()};

    const Result<Tensor> joined = ops::join_fwd(runtime, xs);
    REQUIRE_MESSAGE(joined, joined.error().to_string());
    CHECK(joined->shape() == Dims{5, 0});

    const Result<ops::CutFwdOutputs> cut = ops::cut_fwd(runtime, *joined, {.sizes = {1, 4}});
    REQUIRE_MESSAGE(cut, cut.error().to_string());
    REQUIRE(cut->parts.size() == 2);
    CHECK(cut->parts[1].shape() == Dims{4, 0});
    CHECK(ops::join_fwd(runtime, {}).error().code() == ErrorCode::kSignatureMismatch);
  }

  TEST_CASE("several lists come out, each with its own length") {
    const Runtime runtime = style_runtime();
    const Tensor x = Tensor::host(DType::kFloat32, {6, 0}).value();

    const auto dealt = ops::deal_fwd(runtime, x, x, {.left = {1, 5}, .right = {2, 2, 2}});
    const auto none = ops::deal_fwd(runtime, x, x, {.left = {6}, .right = {6}});

    REQUIRE_MESSAGE(dealt, dealt.error().to_string());
    REQUIRE(dealt->lefts.size() == 2);
    REQUIRE(dealt->rights.size() == 3);
    CHECK(dealt->lefts[1].shape() == Dims{5, 0});
    CHECK(dealt->both.shape() == Dims{6, 0});
    CHECK(dealt->rights[2].shape() == Dims{2, 0});
    REQUIRE_MESSAGE(none, none.error().to_string());
    CHECK(none->lefts.size() == 1);
    CHECK(none->rights.size() == 1);
  }

  TEST_CASE("a function holds an instance for each construction-time tensor") {
    const Runtime runtime = style_runtime();
    const Tensor bias = Tensor::host(DType::kFloat32, {8}).value();
    const Tensor other = Tensor::host(DType::kFloat32, {8}).value();
    const auto key = [&](const ops::RouteFwdParams& params) {
      return find_typed<ops::RouteFwd>(runtime, params).value()->op()->key();
    };

    const auto first = key({.k = 2, .bias = bias});

    CHECK(key({.k = 2, .bias = bias}) == first);
    CHECK(key({.k = 2, .bias = other}) != first);
    CHECK(key({.k = 2}) != first);
    CHECK(key({.k = 3, .bias = bias}) != first);
    // Another view of the same memory is another tensor.
    CHECK(key({.k = 2,
               .bias = Tensor(bias.storage(),
                              TensorView(bias.data<float>(), DType::kFloat32, Dims{4}))}) != first);
    CHECK(runtime.op_table().size() == 5);
    std::uint64_t elsewhere = 0;
    std::thread([&] { elsewhere = key({.k = 2, .bias = bias}); }).join();
    CHECK(elsewhere == first);
    const Tensor logits = Tensor::host(DType::kFloat32, {0, 8}).value();
    const auto routed = ops::route_fwd(runtime, logits, {.k = 2, .bias = bias});
    REQUIRE_MESSAGE(routed, routed.error().to_string());
    CHECK(ops::route_fwd(runtime, logits, {.k = 2, .bias = logits}).error().code() ==
          ErrorCode::kSignatureMismatch);
  }

  TEST_CASE("the table keeps a tensor's memory, and a memory that nobody keeps is never found") {
    const Runtime runtime = style_runtime();
    std::weak_ptr<Storage> memory;
    {
      const Tensor bias = Tensor::host(DType::kFloat32, {8}).value();
      memory = bias.storage();
      REQUIRE(find_typed<ops::RouteFwd>(runtime, {.k = 2, .bias = bias}));
    }
    CHECK_FALSE(memory.expired());

    std::vector<float> plain(8);
    const Tensor view(nullptr, TensorView(plain.data(), DType::kFloat32, Dims{8}));
    const auto key = [&] {
      return find_typed<ops::RouteFwd>(runtime, {.k = 2, .bias = view}).value()->op()->key();
    };
    const std::size_t before = runtime.op_table().size();
    const auto first = key();
    CHECK(key() != first);
    CHECK(runtime.op_table().size() == before);

    runtime.op_table().clear();
    CHECK(find_typed<ops::RouteFwd>(runtime, {.k = 2}));  // this thread lets go of what it had
  }

  TEST_CASE("a result buffer that every call passes is the last argument") {
    const Runtime runtime = style_runtime();
    const Tensor x = Tensor::host(DType::kFloat32, {3, 0}).value();
    const Tensor counts = Tensor::host(DType::kInt64, {3}).value();
    const Tensor out = Tensor::host(DType::kFloat32, {6, 0}).value();

    const auto repeated = ops::repeat_rows_fwd(runtime, x, counts, std::nullopt, out);
    ops::RepeatRowsFwd op{runtime};
    const auto again = op(x, counts, x, out);

    REQUIRE_MESSAGE(repeated, repeated.error().to_string());
    CHECK(repeated->storage() == out.storage());
    CHECK_FALSE(again);  // scale is [D]
    const auto named = op.op()->call({{"x", x}, {"counts", counts}, {"out", out}});
    REQUIRE(named);
    CHECK(named->front().storage() == out.storage());
    const auto as_option = op.op()->call({{"x", x}, {"counts", counts}}, {&out.view(), {}});
    REQUIRE_FALSE(as_option);
    CAPTURE(as_option.error().to_string());
    CHECK(as_option.error().hint() == "'out' is an input here: pass it with the others");
  }

  TEST_CASE("keyword-only inputs keep their place") {
    const Runtime runtime = style_runtime();
    const Tensor x = Tensor::host(DType::kFloat32, {0, 4}).value();
    const Tensor vector = Tensor::host(DType::kFloat32, {4}).value();

    CHECK(ops::affine_fwd(runtime, x));
    CHECK(ops::affine_fwd(runtime, x, vector));
    CHECK(ops::affine_fwd(runtime, x, std::nullopt, vector).error().message().find("state") !=
          std::string::npos);
  }

  TEST_CASE("an output that is an input is that very tensor") {
    const Runtime runtime = style_runtime();
    const Tensor x = Tensor::host(DType::kFloat32, {0}).value();

    ops::ClampFwd clamp{runtime, {.low = 0, .inplace = true}};
    const Result<Tensor> y = clamp(x);

    REQUIRE_MESSAGE(y, y.error().to_string());
    CHECK(y->storage() == x.storage());
  }
}
