// Tests of the arguments of a call: tensors sorted by the op, values of --set, files of --out.
#include "call_args.hpp"

#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "fill.hpp"
#include "run_support.hpp"
#include "stats.hpp"

namespace {

using namespace tenon;
using namespace tenon::cli;
using tenon_test::contains;

OpDecl sample_decl() {
  OpDecl decl;
  decl.name = "SampleFwdOp";
  decl.params = {{"normalized_shape", "list[int] | tuple[int, ...]", {}, false, {}},
                 {"eps", "float | None", Value(), false, {}},
                 {"mode", "'none' | 'tanh'", Value("none"), false, {}},
                 {"dtype", "torch.dtype", {}, false, {}},
                 {"alpha", "Number", Value(1), true, {}}};
  decl.inputs.resize(2);
  decl.inputs[0].name = "x";
  decl.inputs[1].name = "weight";
  decl.construction_tensors.resize(1);
  decl.construction_tensors[0].name = "scale";
  decl.outputs.resize(2);
  decl.outputs[0].name = "output";
  decl.outputs[0].buffer_out = true;
  decl.outputs[1].name = "rstd";
  return decl;
}

CallText call_with(std::initializer_list<std::string_view> tensors) {
  CallText call;
  for (const std::string_view text : tensors) {
    auto tensor = parse_tensor_argument(text);
    REQUIRE(tensor.has_value());
    call.tensors.push_back(*tensor);
  }
  return call;
}

Error refused(std::initializer_list<std::string_view> tensors) {
  const CallText call = call_with(tensors);
  const auto sorted = sort_tensors(sample_decl(), call);
  REQUIRE_FALSE(sorted.has_value());
  CHECK(sorted.error().code() == ErrorCode::kUsageError);
  return sorted.error();
}

Value value_of(const char* name, const char* text) {
  auto value = parse_set_value(sample_decl(), name, text);
  REQUIRE(value.has_value());
  return *value;
}

TEST_SUITE("cli/call_args") {
  TEST_CASE("tensors go to inputs, construction and out by their names") {
    const CallText call = call_with({"weight=4:f32", "scale=1:f32", "output=4:f32", "x=4:f32"});

    const auto sorted = sort_tensors(sample_decl(), call);

    REQUIRE(sorted.has_value());
    CHECK(sorted->inputs.size() == 2);
    CHECK(sorted->construction.size() == 1);
    REQUIRE(sorted->out != nullptr);
    CHECK(sorted->out->name == "output");
  }

  TEST_CASE("a misspelt tensor gets the nearest names") {
    const Error error = refused({"wieght=4:f32"});

    CHECK(contains(error.message(), "SampleFwdOp has no tensor 'wieght'"));
    CHECK(contains(error.hint(), "did you mean 'weight'?"));
  }

  TEST_CASE("a name far from all lists them") {
    CHECK(contains(refused({"qqqqqq=4:f32"}).hint(), "its tensors are scale, x, weight, output"));
  }

  TEST_CASE(
      "a parameter written as a tensor, and an output that cannot be passed, say what to write") {
    CHECK(contains(refused({"eps=4:f32"}).hint(), "write --set eps=4:f32"));
    CHECK(contains(refused({"rstd=4:f32"}).hint(), "--out rstd=FILE"));
  }

  TEST_CASE("a tensor given twice is refused") {
    CHECK(contains(refused({"x=4:f32", "x=5:f32"}).message(), "tensor 'x' is given twice"));
  }

  TEST_CASE("values are YAML scalars and lists") {
    CHECK(value_of("normalized_shape", "[4096]") == Value{4096});
    CHECK(value_of("eps", "1.0e-6") == Value(1.0e-6));
    CHECK(value_of("eps", "null") == Value());
    CHECK(value_of("alpha", "2") == Value(2));
    CHECK(value_of("mode", "tanh") == Value("tanh"));
    CHECK(value_of("mode", "'none'") == Value("none"));
  }

  TEST_CASE("a float may be written without a dot, which YAML 1.1 takes for a text") {
    CHECK(value_of("eps", "1e-6") == Value(1e-6));
    CHECK(value_of("alpha", "1e3") == Value(1000.0));
    CHECK(value_of("mode", "1e-6") == Value("1e-6"));
    CHECK(value_of("eps", "small") == Value("small"));
  }

  TEST_CASE("a dtype parameter takes either name") {
    CHECK(value_of("dtype", "bf16") == Value(DType::kBFloat16));
    CHECK(value_of("dtype", "bfloat16") == Value(DType::kBFloat16));
  }

  TEST_CASE("a misspelt parameter gets the nearest names, a tensor's name says so") {
    const auto misspelt = parse_set_value(sample_decl(), "ep", "1");
    REQUIRE_FALSE(misspelt.has_value());
    CHECK(contains(misspelt.error().message(), "SampleFwdOp has no parameter 'ep'"));
    CHECK(contains(misspelt.error().hint(), "did you mean 'eps'?"));

    const auto tensor = parse_set_value(sample_decl(), "x", "1");
    REQUIRE_FALSE(tensor.has_value());
    CHECK(contains(tensor.error().message(), "'x' of SampleFwdOp is a tensor"));
  }

  TEST_CASE("a value that is no YAML is refused") {
    CHECK_FALSE(parse_set_value(sample_decl(), "normalized_shape", "[1, 2").has_value());
  }

  TEST_CASE("results go to the files that are named") {
    const auto files = parse_outs(sample_decl(), {"output=y.npy", "rstd=a=b.npy"});

    REQUIRE(files.has_value());
    CHECK(files->at("output") == "y.npy");
    CHECK(files->at("rstd") == "a=b.npy");
  }

  TEST_CASE("the name may be left out where there is one output") {
    OpDecl decl = sample_decl();
    decl.outputs.resize(1);

    CHECK(parse_outs(decl, {"y.npy"}).value().at("output") == "y.npy");
    CHECK(parse_outs(decl, {"a=1/y.npy"}).error().message() == "SampleFwdOp has no output 'a'");
    CHECK(parse_outs(decl, {"./a=1/y.npy"}).value().at("output") == "./a=1/y.npy");
    CHECK(contains(parse_outs(sample_decl(), {"y.npy"}).error().message(),
                   "does not say which output"));
  }

  TEST_CASE("a misspelt output, an empty file and a repeated name are refused") {
    CHECK(contains(parse_outs(sample_decl(), {"ouput=y.npy"}).error().hint(),
                   "did you mean 'output'?"));
    CHECK(contains(parse_outs(sample_decl(), {"output="}).error().message(), "names no file"));
    CHECK(contains(parse_outs(sample_decl(), {"output=a", "output=b"}).error().message(), "twice"));
  }

  TEST_CASE("a summary leaves NaN out of minimum, maximum and mean, and counts it") {
    auto source = parse_tensor_argument("x=4:f32~arange");
    REQUIRE(source.has_value());
    auto tensor = make_tensor(*source);
    REQUIRE(tensor.has_value());
    store_from_double(DType::kFloat32, tensor->view().first() + 12, std::nan(""));

    const TensorStats stats = stats_of(tensor->view());

    CHECK(stats.min == 0);
    CHECK(stats.max == 2);
    CHECK(stats.mean == 1);
    CHECK(stats.nan_count == 1);
    CHECK_FALSE(stats_of(make_tensor(parse_tensor_argument("x=0:f32").value()).value().view())
                    .mean.has_value());
  }
}

}  // namespace
