// Tests of the schemas that declarations print.
#include "tenon/core/schema_of.hpp"

#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tenon/core/schema.hpp"

namespace {

using tenon::BranchSchemas;
using tenon::effect_branches;
using tenon::OpDecl;
using tenon::ParamDecl;
using tenon::SchemaContext;
using tenon::TensorDecl;
using tenon::TensorRole;
using tenon::Value;
using tenon::When;

/// Builds declarations as the reader would, one line a part.
class Entry {
 public:
  Entry(std::string_view name, std::string_view schema, std::string_view overload = "") {
    decl_.name = name;
    decl_.schema_name = schema;
    decl_.schema_overload = overload;
  }
  Entry& param(std::string_view name, std::string_view type) {
    ParamDecl param;
    param.name = name;
    param.type_text = type;
    decl_.constructor_order.emplace_back(false, static_cast<std::uint32_t>(decl_.params.size()));
    decl_.params.push_back(std::move(param));
    return *this;
  }
  Entry& param(std::string_view name, std::string_view type, Value value) {
    param(name, type);
    decl_.params.back().default_value = std::move(value);
    return *this;
  }
  Entry& held(std::string_view name, When optional = When::kNever) {
    decl_.constructor_order.emplace_back(
        true, static_cast<std::uint32_t>(decl_.construction_tensors.size()));
    decl_.construction_tensors.push_back(tensor(name, TensorRole::kConstruction, optional));
    return *this;
  }
  Entry& input(std::string_view name, When optional = When::kNever) {
    decl_.inputs.push_back(tensor(name, TensorRole::kInput, optional));
    return *this;
  }
  Entry& written(std::string_view condition = "") {
    decl_.inputs.back().mutated = condition.empty() ? When::kAlways : When::kConditional;
    decl_.inputs.back().mutated_text = condition;
    return *this;
  }
  Entry& list() {
    (decl_.outputs.empty() ? decl_.inputs : decl_.outputs).back().list.emplace();
    return *this;
  }
  Entry& output(std::string_view name, When nullable = When::kNever) {
    decl_.outputs.push_back(tensor(name, TensorRole::kOutput, nullable));
    return *this;
  }
  Entry& buffered(std::vector<std::string> may_alias = {}) {
    decl_.outputs.back().buffer_out = true;
    decl_.outputs.back().may_alias = std::move(may_alias);
    return *this;
  }
  Entry& alias(std::string_view input) {
    decl_.outputs.back().alias = input;
    return *this;
  }
  OpDecl decl_;

 private:
  static TensorDecl tensor(std::string_view name, TensorRole role, When optional) {
    TensorDecl tensor;
    tensor.name = name;
    tensor.role = role;
    tensor.optional = optional;
    tensor.dtype_text = "T";
    tensor.shape_text = "[*S]";
    return tensor;
  }
};

/// The schemas of an entry, a line each; `! reason` where there is none. Each printed one is valid
/// and clean.
std::string schemas(const BranchSchemas& result) {
  std::string text;
  REQUIRE(result.branches.size() == result.reasons.size());
  for (std::size_t i = 0; i < result.branches.size(); ++i) {
    const std::string& schema = result.branches[i].schema;
    CHECK(schema.empty() != result.reasons[i].empty());
    if (!schema.empty()) {
      const auto verdict = tenon::check_schema(schema, true);
      CHECK(verdict.is_valid());
      CHECK(verdict.lint.empty());
    }
    text += (schema.empty() ? "! " + result.reasons[i] : schema) + "\n";
  }
  return text;
}
std::string schemas(const Entry& entry, const SchemaContext& context = {}) {
  return schemas(effect_branches(entry.decl_, context));
}

std::string type_of(std::string_view type, const SchemaContext& context = {}) {
  const std::string text = schemas(Entry("FFwdOp", "f").param("p", type), context);
  if (text[0] == '!') return text.substr(0, text.size() - 1);
  const std::size_t start = text.find("*, ") + 3;
  return text.substr(start, text.find(" p)") - start);
}

std::string default_of(std::string_view type, Value value) {
  const std::string text = schemas(Entry("FFwdOp", "f").param("p", type, std::move(value)));
  if (text[0] == '!') return text.substr(0, text.size() - 1);
  const std::size_t start = text.find('=') + 1;
  return text.substr(start, text.find(") -> ()") - start);
}

TEST_SUITE("core/schema_of") {
  TEST_CASE("an op's name without a declared schema is split at its words") {
    CHECK(tenon::default_schema_name("RMSNormFwdOp") == "rms_norm_fwd");
    CHECK(tenon::default_schema_name("Conv2dFwdOp") == "conv2d_fwd");
    CHECK(tenon::default_schema_name("GQAPrefillPagedWithKVCacheFwdOp") ==
          "gqa_prefill_paged_with_kv_cache_fwd");
    CHECK(tenon::default_schema_name("FP8LightningIndexerFwdOp") == "fp8_lightning_indexer_fwd");
    CHECK(tenon::default_schema_name("BatchNormTrainFwdOp") == "batch_norm_train_fwd");
    CHECK(tenon::default_schema_name("FusedQKNormRoPEFwdOp") == "fused_qk_norm_ro_pe_fwd");
  }

  TEST_CASE("elementwise entries have a functional, an out and an in-place schema") {
    const Entry add = Entry("AddFwdOp", "add", "Tensor")
                          .param("alpha", "Number", 1)
                          .input("self")
                          .input("other")
                          .output("output")
                          .buffered({"self", "other"});

    const BranchSchemas result = effect_branches(add.decl_);

    CHECK(schemas(result) ==
          "tenon::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n"
          "tenon::add.Tensor_out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> "
          "Tensor(a!)\n"
          "tenon::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)\n");
    REQUIRE(result.branches.size() == 3);
    CHECK(result.branches[0].written_inputs.empty());
    CHECK_FALSE(result.branches[0].has_out);
    CHECK(result.branches[1].has_out);
    CHECK_FALSE(result.branches[1].in_place);
    CHECK(result.branches[2].in_place);
    CHECK(result.branches[2].written_inputs == std::vector<std::uint32_t>{0});
    CHECK(result.branches[2].returned_outputs == std::vector<std::uint32_t>{0});
    CHECK(schemas(Entry("MulFwdOp", "mul", "Tensor")
                      .input("self")
                      .input("other")
                      .output("output")
                      .buffered({"self"})) ==
          "tenon::mul.Tensor(Tensor self, Tensor other) -> Tensor\n"
          "tenon::mul.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)\n"
          "tenon::mul_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)\n");
    CHECK(schemas(Entry("GeluFwdOp", "gelu_fwd")
                      .param("approximate", "'none' | 'tanh'", "none")
                      .input("x")
                      .output("output")
                      .buffered({"x"})) ==
          "tenon::gelu_fwd(Tensor x, *, str approximate='none') -> Tensor\n"
          "tenon::gelu_fwd.out(Tensor x, *, str approximate='none', Tensor(a!) out) -> Tensor(a!)\n"
          "tenon::gelu_fwd_(Tensor(a!) x, *, str approximate='none') -> Tensor(a!)\n");
    CHECK(schemas(Entry("CopyFwdOp", "copy_fwd").input("x").output("output").buffered({"x"})) ==
          "tenon::copy_fwd(Tensor x) -> Tensor\n"
          "tenon::copy_fwd.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)\n"
          "tenon::copy_fwd_(Tensor(a!) x) -> Tensor(a!)\n");
  }

  TEST_CASE("an output buffer that may not be an input gives no in-place schema") {
    CHECK(
        schemas(Entry("MatMulFwdOp", "matmul").input("a").input("b").output("output").buffered()) ==
        "tenon::matmul(Tensor a, Tensor b) -> Tensor\n"
        "tenon::matmul.out(Tensor a, Tensor b, *, Tensor(a!) out) -> Tensor(a!)\n");
    CHECK(schemas(Entry("RMSNormFwdOp", "rms_norm_fwd")
                      .param("normalized_shape", "list[int] | tuple[int, ...]")
                      .param("eps", "float | None", Value())
                      .input("x")
                      .input("weight", When::kAlways)
                      .output("output")
                      .buffered()) ==
          "tenon::rms_norm_fwd(Tensor x, Tensor? weight=None, *, int[] normalized_shape, float? "
          "eps=None) -> Tensor\n"
          "tenon::rms_norm_fwd.out(Tensor x, Tensor? weight=None, *, int[] normalized_shape, "
          "float? eps=None, "
          "Tensor(a!) out) -> Tensor(a!)\n");
    CHECK(schemas(Entry("LayerNormFwdOp", "layer_norm_fwd")
                      .param("normalized_shape", "list[int] | tuple[int, ...]")
                      .param("eps", "float", 1.0e-5)
                      .input("x")
                      .input("weight", When::kAlways)
                      .input("bias", When::kAlways)
                      .output("output")
                      .buffered()) ==
          "tenon::layer_norm_fwd(Tensor x, Tensor? weight=None, Tensor? bias=None, *, int[] "
          "normalized_shape, float "
          "eps=1e-05) -> Tensor\n"
          "tenon::layer_norm_fwd.out(Tensor x, Tensor? weight=None, Tensor? bias=None, *, int[] "
          "normalized_shape, float "
          "eps=1e-05, Tensor(a!) out) -> Tensor(a!)\n");
    CHECK(schemas(Entry("SoftmaxFwdOp", "softmax_fwd")
                      .param("dim", "int", -1)
                      .input("x")
                      .output("output")
                      .buffered()) ==
          "tenon::softmax_fwd(Tensor x, *, int dim=-1) -> Tensor\n"
          "tenon::softmax_fwd.out(Tensor x, *, int dim=-1, Tensor(a!) out) -> Tensor(a!)\n");
    CHECK(schemas(Entry("SumFwdOp", "sum", "dim_IntList")
                      .param("dim", "int | list[int] | tuple[int, ...] | None", Value())
                      .param("keepdim", "bool", false)
                      .input("x")
                      .output("output")
                      .buffered()) ==
          "tenon::sum.dim_IntList(Tensor x, *, int[1]? dim=None, bool keepdim=False) -> Tensor\n"
          "tenon::sum.dim_IntList_out(Tensor x, *, int[1]? dim=None, bool keepdim=False, "
          "Tensor(a!) out) -> "
          "Tensor(a!)\n");
  }

  TEST_CASE("a Bool that only decides what is written is left out") {
    Entry relu = Entry("ReluFwdOp", "relu_fwd")
                     .param("inplace", "bool", false)
                     .input("input")
                     .written("inplace")
                     .output("output")
                     .alias("input");
    CHECK(schemas(relu) ==
          "tenon::relu_fwd(Tensor input) -> Tensor\n"
          "tenon::relu_fwd_(Tensor(a!) input) -> Tensor(a!)\n");

    const std::vector<std::string> lets{"inplace"};
    SchemaContext context;
    context.names_read_elsewhere = lets;
    CHECK(schemas(relu, context) ==
          "tenon::relu_fwd(Tensor input, *, bool inplace=False) -> Tensor\n"
          "tenon::relu_fwd_(Tensor(a!) input, *, bool inplace=False) -> Tensor(a!)\n");

    relu.decl_.inputs[0].shape_text = "[2 if inplace else 1]";
    CHECK(schemas(relu).find("bool inplace=False") != std::string::npos);
  }

  TEST_CASE("written inputs that are not the first alone are named in the overload") {
    CHECK(schemas(Entry("BatchNormFwdOp", "batch_norm_fwd")
                      .param("training", "bool", false)
                      .input("x")
                      .input("running_mean", When::kAlways)
                      .written("training")
                      .input("running_var", When::kAlways)
                      .written("training")
                      .output("output")) ==
          "tenon::batch_norm_fwd(Tensor x, Tensor? running_mean=None, Tensor? running_var=None) -> "
          "Tensor\n"
          "tenon::batch_norm_fwd.mut_running_mean_running_var(Tensor x, Tensor(a!)? "
          "running_mean=None, Tensor(b!)? "
          "running_var=None) -> Tensor\n");
    CHECK(
        schemas(
            Entry("CacheWriteFwdOp", "cache_write", "paged").input("k").input("cache").written()) ==
        "tenon::cache_write.paged_mut_cache(Tensor k, Tensor(a!) cache) -> ()\n");
    CHECK(schemas(Entry("FusedFwdOp", "fused")
                      .input("x")
                      .written()
                      .input("residual")
                      .written()
                      .output("y")
                      .alias("x")
                      .output("z")
                      .alias("residual")) ==
          "tenon::fused.mut_x_residual(Tensor(a!) x, Tensor(b!) residual) -> ()\n");
    CHECK(schemas(Entry("StepFwdOp", "step")
                      .input("x")
                      .input("state")
                      .written()
                      .output("y")
                      .buffered({"x"})) ==
          "tenon::step.mut_state(Tensor x, Tensor(a!) state) -> Tensor\n"
          "tenon::step.mut_state_out(Tensor x, Tensor(a!) state, *, Tensor(b!) out) -> Tensor(b!)\n"
          "tenon::step_(Tensor(a!) x, Tensor state) -> Tensor(a!)\n");
  }

  TEST_CASE("the first input written alone is in-place where the notation allows") {
    CHECK(schemas(Entry("RotateFwdOp", "rotate").input("qkv").written().input("positions")) ==
          "tenon::rotate_(Tensor(a!) qkv, Tensor positions) -> Tensor(a!)\n");
    CHECK(schemas(Entry("ScaleFwdOp", "scale").input("xs").list().written()) ==
          "tenon::scale_(Tensor(a!)[] xs) -> ()\n");
    CHECK(schemas(Entry("UpdateFwdOp", "update").input("state").written().input("x").output("y")) ==
          "tenon::update.mut_state(Tensor(a!) state, Tensor x) -> Tensor\n");
  }

  TEST_CASE("several outputs keep their names and nullable ones are optional") {
    CHECK(schemas(Entry("AttentionFwdOp", "attention")
                      .input("q")
                      .output("o")
                      .output("lse", When::kConditional)) ==
          "tenon::attention(Tensor q) -> (Tensor o, Tensor? lse)\n");
    CHECK(schemas(Entry("SplitFwdOp", "split")
                      .param("sizes", "list[int]")
                      .input("x")
                      .output("parts")
                      .list()) == "tenon::split(Tensor x, *, int[] sizes) -> Tensor[]\n");
    CHECK(schemas(Entry("ConcatFwdOp", "concat").input("xs").list().output("y")) ==
          "tenon::concat(Tensor[] xs) -> Tensor\n");
    CHECK(schemas(Entry("AlibiFwdOp", "alibi").param("dtype", "torch.dtype").output("y")) ==
          "tenon::alibi(*, ScalarType dtype) -> Tensor\n");
  }

  TEST_CASE("construction-time tensors stand among the parameters in constructor order") {
    CHECK(schemas(Entry("RopeFwdOp", "rope")
                      .param("base", "float")
                      .held("factors", When::kAlways)
                      .param("scale", "float", 1.0)
                      .held("table")
                      .input("x")
                      .output("y")) ==
          "tenon::rope(Tensor x, *, float base, Tensor? factors=None, float scale=1.0, Tensor "
          "table) -> Tensor\n");
  }

  TEST_CASE("a branch that the notation cannot say has a reason instead of a schema") {
    CHECK(
        schemas(
            Entry("TopkFwdOp", "topk").input("x").output("values").buffered().output("indices")) ==
        "tenon::topk(Tensor x) -> (Tensor values, Tensor indices)\n"
        "! 'out' is returned beside fresh outputs, which the notation cannot say\n");
    CHECK(schemas(Entry("RouteFwdOp", "route")
                      .param("epilogue", "RoutingEpilogueSpec | None", Value())
                      .input("x")) ==
          "! parameter 'epilogue': type 'RoutingEpilogueSpec' has no schema type\n");
    CHECK(schemas(Entry("BadFwdOp", "bad_out").input("x"))
              .starts_with(
                  "! 'tenon::bad_out(Tensor x) -> ()' would break NAME_OUT_SUFFIX at column 8: "));
    CHECK(
        schemas(Entry("ListsFwdOp", "lists").input("x").input("ys", When::kAlways).list().written())
            .starts_with("! 'tenon::lists.mut_ys(Tensor x, Tensor(a!)[]? ys=None) -> ()' would "
                         "break ALIAS_SYNTAX"));
  }

  TEST_CASE("each manifest type has its schema type") {
    const std::vector<std::string> adts{"Layout"};
    SchemaContext context;
    context.adt_names = adts;

    CHECK(type_of("int") == "int");
    CHECK(type_of("float") == "float");
    CHECK(type_of("bool | None") == "bool?");
    CHECK(type_of("str") == "str");
    CHECK(type_of("'a|b' | 'c' | None") == "str?");
    CHECK(type_of("'a' | str") == "str");
    CHECK(type_of("float16 | bfloat16 | None") == "ScalarType?");
    CHECK(type_of("torch.dtype") == "ScalarType");
    CHECK(type_of("torch.device | str | None") == "Device?");
    CHECK(type_of("Number") == "Scalar");
    CHECK(type_of("int | float") == "Scalar");
    CHECK(type_of("float | int | None") == "Scalar?");
    CHECK(type_of("list[int]") == "int[]");
    CHECK(type_of("tuple[int, int]") == "int[]");
    CHECK(type_of("list[int] | tuple[int, ...] | None") == "int[]?");
    CHECK(type_of("int | tuple[int, int]") == "int[2]");
    CHECK(type_of("int | list[int]") == "int[1]");
    CHECK(type_of("int | tuple[int, int] | tuple[int, int, int]") == "int[1]");
    CHECK(type_of("tuple[int | None, int | None]") == "int?[]");
    CHECK(type_of("list[int] | list[int | None]") == "int?[]");
    CHECK(type_of("list[list[int]]") == "int[][]");
    CHECK(type_of("Layout | None", context) == "str?");
    CHECK(type_of("int | tuple[int, int] | 'valid' | 'same'") == "str");
    CHECK(type_of("Layout") == "! parameter 'p': type 'Layout' has no schema type");
    CHECK(type_of("dict | None") == "! parameter 'p': type 'dict' has no schema type");
    CHECK(type_of("torch.Tensor") == "! parameter 'p': type 'torch.Tensor' has no schema type");
    CHECK(type_of("None") == "! parameter 'p': type 'None' has no schema type");
    CHECK(type_of("") == "! parameter 'p': type '' has no schema type");
    CHECK(type_of("list[") == "! parameter 'p': type 'list[' has no schema type");
    std::string deep = "int";
    for (int i = 0; i < 1000; ++i) deep = "list[" + deep + "]";
    CHECK(type_of(deep) == "! parameter 'p': lists are nested too deeply for a schema");
  }

  TEST_CASE("each default has its spelling") {
    CHECK(default_of("int", -3) == "-3");
    CHECK(default_of("int | None", Value()) == "None");
    CHECK(default_of("bool", true) == "True");
    CHECK(default_of("float", 1.0) == "1.0");
    CHECK(default_of("float", 1) == "1");
    CHECK(default_of("float", 0.1) == "0.1");
    CHECK(default_of("float", 1e-6) == "1e-06");
    CHECK(default_of("float", 123456789.0) == "123456789.0");
    CHECK(default_of("float", 1e22) == "1e+22");
    CHECK(default_of("float", -0.0) == "-0.0");
    CHECK(default_of("float", -INFINITY) == "-inf");
    CHECK(default_of("float", static_cast<double>(NAN)) == "nan");
    CHECK(default_of("'a' | 'b'", "a") == "'a'");
    CHECK(default_of("str", "it's \\ a\n") == "'it\\'s \\\\ a\\n'");
    CHECK(default_of("float16 | bfloat16", tenon::DType::kBFloat16) == "bfloat16");
    CHECK(default_of("float16 | bfloat16 | None", "bfloat16") == "bfloat16");
    CHECK(default_of("list[int]", Value({1, 2})) == "[1,2]");
    CHECK(default_of("list[int]", Value::list({})) == "[]");
    CHECK(default_of("list[int | None]", Value::list({Value(), 2})) == "[None,2]");
    CHECK(default_of("int | tuple[int, int] | 'same'", 0) == "'0'");
    CHECK(default_of("int | tuple[int | None, int] | 'same'", Value::list({Value(), 1}, true)) ==
          "'[null, 1]'");
    CHECK(default_of("int | 'no' | 'it\\'s'", "no") == "'\\'no\\''");
    CHECK(default_of("int | 'a' | Number", true) == "'true'");
    CHECK(default_of("float | 'a'", -INFINITY) == "'-.inf'");
    CHECK(default_of("float | 'a'", 1e-6) == "'1.0e-06'");
    CHECK(default_of("int | tuple[int, int] | 'same'", "same") == "'same'");
    CHECK(default_of("int | tuple[int, int] | 'same' | None", Value()) == "None");
    CHECK(default_of("list[list[int]]", Value::list({Value::list({1})})) ==
          "! parameter 'p': the default [1] has no spelling in a schema");
  }

  TEST_CASE("a default of an algebraic type is its YAML form in a string") {
    const std::vector<std::string> adts{"Layout"};
    SchemaContext context;
    context.adt_names = adts;
    const Value layout =
        tenon::AdtValue{"masked", {{"max_m", Value(128)}, {"packing", Value("tight")}}};

    CHECK(schemas(Entry("FFwdOp", "f").param("layout", "Layout", layout), context) ==
          "tenon::f(*, str layout='{masked: {max_m: 128, packing: tight}}') -> ()\n");
  }

  TEST_CASE("the declaration alone gives the sets of written inputs, conditions apart") {
    const Entry entry = Entry("FFwdOp", "f")
                            .input("a")
                            .written("p")
                            .input("b")
                            .input("c")
                            .written("q")
                            .input("d")
                            .written("p")
                            .input("e")
                            .written();

    CHECK(written_sets_of(entry.decl_) ==
          std::vector<std::vector<std::uint32_t>>{{4}, {0, 3, 4}, {2, 4}, {0, 2, 3, 4}});
    CHECK(written_sets_of(Entry("FFwdOp", "f").input("a").decl_) ==
          std::vector<std::vector<std::uint32_t>>{{}});

    Entry many("FFwdOp", "f");
    for (int i = 0; i < 20; ++i)
      many.input("x" + std::to_string(i)).written("c" + std::to_string(i));
    CHECK(written_sets_of(many.decl_).size() == 256);
  }

  TEST_CASE("sets that the caller gives are taken once each and in their order") {
    const Entry entry = Entry("FFwdOp", "f").input("a").input("b").output("y");
    const std::vector<std::vector<std::uint32_t>> sets{{1}, {}, {1}, {7}};

    CHECK(schemas(effect_branches(entry.decl_, sets)) ==
          "tenon::f.mut_b(Tensor a, Tensor(a!) b) -> Tensor\n"
          "tenon::f(Tensor a, Tensor b) -> Tensor\n");
  }

  TEST_CASE("the branches of one entry are one family") {
    const BranchSchemas result = effect_branches(Entry("AddFwdOp", "add", "Tensor")
                                                     .param("alpha", "Number", 1)
                                                     .input("self")
                                                     .input("other")
                                                     .output("output")
                                                     .buffered({"self"})
                                                     .decl_);
    std::vector<tenon::Schema> variants;
    for (const auto& branch : result.branches)
      variants.push_back(tenon::parse_schema(branch.schema).value());

    CHECK(tenon::check_family(variants).empty());
  }
}

}  // namespace
