// Tests of the comparison of two versions of a manifest.
#include "tenon/manifest/diff.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tenon/core/schema_of.hpp"

namespace {

using tenon::CallFieldDecl;
using tenon::DType;
using tenon::EffectBranch;
using tenon::InterfaceArgDecl;
using tenon::InterfaceDecl;
using tenon::OpDecl;
using tenon::ParamDecl;
using tenon::TensorDecl;
using tenon::TensorRole;
using tenon::Value;
using tenon::When;

TensorDecl tensor(std::string_view name, TensorRole role) {
  TensorDecl made;
  made.name = name;
  made.role = role;
  made.dtype_text = "T";
  made.shape_text = "[*S]";
  made.dtypes = {DType::kFloat16, DType::kFloat32};
  return made;
}

ParamDecl param(std::string_view name,
                std::string_view type,
                std::optional<Value> value = std::nullopt) {
  ParamDecl made;
  made.name = name;
  made.type_text = type;
  made.default_value = std::move(value);
  return made;
}

CallFieldDecl field(std::string_view name, std::uint32_t kind, std::string_view text) {
  CallFieldDecl made;
  made.name = name;
  made.kind = kind;
  made.text = text;
  return made;
}

InterfaceArgDecl arg(std::string_view name, std::uint32_t role) {
  InterfaceArgDecl made;
  made.name = name;
  made.role = role;
  made.dtypes = {DType::kFloat16, DType::kFloat32};
  made.shape_text = "[n]";
  return made;
}

/// An op with a parameter, an input, a buffered output and an interface.
OpDecl scale_op() {
  OpDecl op;
  op.name = "ScaleFwdOp";
  op.schema_name = "scale";
  op.flow = "elementwise";
  op.implemented = true;
  op.where = {"elementwise.yaml", 3, 1};
  op.params.push_back(param("alpha", "float", Value(1.0)));
  op.inputs.push_back(tensor("x", TensorRole::kInput));
  op.outputs.push_back(tensor("y", TensorRole::kOutput));
  op.outputs[0].buffer_out = true;
  op.outputs[0].may_alias = {"x"};
  InterfaceDecl interface;
  interface.name = "scale_fwd";
  interface.fields = {field("n", TENON_VALUE_INT, "prod(S)"),
                      field("alpha", TENON_VALUE_FLOAT, "alpha")};
  interface.args = {arg("x", TENON_ROLE_IN), arg("y", TENON_ROLE_OUT)};
  op.interfaces.push_back(interface);
  return op;
}

void finish(OpDecl& op) { op.branches = tenon::effect_branches(op).branches; }

std::string changes(OpDecl older, OpDecl newer) {
  finish(older);
  finish(newer);
  const OpDecl* before = &older;
  const OpDecl* now = &newer;
  return tenon::manifest::to_text(tenon::manifest::diff({&before, 1}, {&now, 1}));
}

/// What an edit of the op breaks, without the op's name.
template <class Edit>
std::string after(Edit edit) {
  OpDecl newer = scale_op();
  edit(newer);
  std::string text = changes(scale_op(), std::move(newer));
  const std::string prefix = "tenon::ScaleFwdOp: ";
  for (std::size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix))
    text.erase(at, prefix.size());
  return text;
}

TEST_SUITE("manifest/diff") {
  TEST_CASE("equal declarations break nobody and nothing is said") {
    CHECK(changes(scale_op(), scale_op()) == "");
    CHECK(tenon::manifest::diff({}, {}).empty());
  }

  TEST_CASE("ops that go break their callers and their kernels, ops that come break nobody") {
    OpDecl op = scale_op();
    OpDecl other = scale_op();
    other.name = "OtherFwdOp";
    other.where.line = 9;
    CHECK(changes(std::move(op), std::move(other)) ==
          "tenon::OtherFwdOp: breaks nobody: the op is new (elementwise.yaml:9:1)\n"
          "tenon::ScaleFwdOp: breaks callers: the op is gone (elementwise.yaml:3:1)\n"
          "tenon::ScaleFwdOp: breaks plugins: the op is gone (elementwise.yaml:3:1)\n");
    CHECK(after([](OpDecl& o) { o.implemented = false; }) ==
          "breaks callers: the op is spec-only now (elementwise.yaml:3:1)\n");
    CHECK(
        after([](OpDecl& o) { o.flow = "direct"; }) ==
        "may break plugins: the flow is 'direct' now, was 'elementwise' (elementwise.yaml:3:1)\n");
  }

  TEST_CASE("a change of a parameter is told once though every branch's schema has it") {
    CHECK(after([](OpDecl& o) { o.params[0].default_value = Value(2.0); }) ==
          "breaks callers: argument 'alpha' has default 2.0 now, was 1.0 (elementwise.yaml:3:1)\n"
          "may break plugins: for builder targets, argument 'alpha' has default 2.0 now, was 1.0 "
          "(elementwise.yaml:3:1)\n");
    CHECK(after([](OpDecl& o) { o.params.push_back(param("beta", "float")); }) ==
          "breaks callers: argument 'beta' is new and has no default (elementwise.yaml:3:1)\n"
          "may break plugins: for builder targets, argument 'beta' is new and may be passed "
          "(elementwise.yaml:3:1)\n");
  }

  TEST_CASE("a branch that goes takes its schema along") {
    const std::string text = after([](OpDecl& o) { o.outputs[0].may_alias.clear(); });

    CHECK(text.find("breaks callers: schema 'tenon::scale_' is gone") != std::string::npos);
    CHECK(text.find("breaks callers: output 'y' may not be 'x' itself any more") !=
          std::string::npos);
    const std::string renamed = after([](OpDecl& o) { o.schema_overload = "Tensor"; });
    CHECK(renamed.find("breaks callers: schema 'tenon::scale' is gone") != std::string::npos);
    CHECK(renamed.find("breaks nobody: schema 'tenon::scale.Tensor' is new") != std::string::npos);
  }

  TEST_CASE("without a schema the parameters are compared by themselves") {
    const auto opaque = [](OpDecl& o) { o.params.push_back(param("spec", "a.b.Spec")); };
    OpDecl older = scale_op();
    opaque(older);
    OpDecl newer = older;
    newer.params[0] = param("alpha", "int");
    newer.params.push_back(param("gamma", "int", Value(1)));
    newer.params.push_back(param("delta", "int"));

    CHECK(
        changes(older, newer) ==
        "tenon::ScaleFwdOp: may break callers: parameter 'alpha' has type 'int' now, was 'float'\n"
        "tenon::ScaleFwdOp: breaks callers: parameter 'alpha' has lost its default\n"
        "tenon::ScaleFwdOp: breaks nobody: parameter 'gamma' is new\n"
        "tenon::ScaleFwdOp: breaks callers: parameter 'delta' is new and has no default\n");
    OpDecl fewer = older;
    fewer.params.erase(fewer.params.begin());
    CHECK(changes(older, fewer) ==
          "tenon::ScaleFwdOp: breaks callers: parameter 'alpha' is gone\n");
  }

  TEST_CASE("narrower inputs break callers, wider ones nobody, and outputs may break either way") {
    CHECK(after([](OpDecl& o) { o.inputs[0].dtypes = {DType::kFloat32}; }) ==
          "breaks callers: input 'x' is never float16 any more\n");
    CHECK(after([](OpDecl& o) { o.inputs[0].dtypes.insert(DType::kInt8); }) ==
          "breaks nobody: input 'x' may be int8 now\n");
    CHECK(after([](OpDecl& o) {
            o.outputs[0].dtypes = {DType::kFloat16, DType::kFloat64};
          }) ==
          "may break callers: output 'y' is never float32 any more\n"
          "may break callers: output 'y' may be float64 now\n");
    CHECK(after([](OpDecl& o) { o.inputs[0].contiguous = true; }) ==
          "breaks callers: input 'x' must be contiguous now\n");
    CHECK(after([](OpDecl& o) { o.inputs[0].on_cpu = true; }) ==
          "breaks callers: input 'x' stays on the CPU now\n");
    CHECK(after([](OpDecl& o) { o.inputs[0].shape_text = "[M]"; }) ==
          "may break callers: input 'x' has shape '[M]' now, was '[*S]'\n");
    const std::string optional = after([](OpDecl& o) {
      o.inputs[0].optional = When::kConditional;
      o.inputs[0].optional_text = "affine";
    });
    CHECK(optional.find("may break callers: input 'x' is optional when 'affine', was never\n") !=
          std::string::npos);
  }

  TEST_CASE("a tensor that comes breaks callers who do not pass it") {
    CHECK(after([](OpDecl& o) {
            o.inputs.push_back(tensor("w", TensorRole::kInput));
            o.inputs.back().optional = When::kAlways;
          }).find("breaks nobody: input 'w' is new\n") != std::string::npos);
    CHECK(after([](OpDecl& o) {
            o.inputs.push_back(tensor("w", TensorRole::kInput));
          }).find("breaks callers: input 'w' is new\n") != std::string::npos);
  }

  TEST_CASE(
      "an interface is compatible as long as a plugin built against the older one is accepted") {
    CHECK(after([](OpDecl& o) { o.interfaces.clear(); }) ==
          "breaks plugins: interface 'scale_fwd' is gone\n");
    CHECK(after([](OpDecl& o) {
            o.interfaces.push_back(o.interfaces[0]);
            o.interfaces[1].name = "scale_wide";
          }) ==
          "may break callers: interface 'scale_wide' is new, and older plugins do not fill it\n");
    CHECK(after([](OpDecl& o) {
            CallFieldDecl added = field("beta", TENON_VALUE_FLOAT, "beta");
            added.default_value = Value(0.0);
            o.interfaces[0].fields.push_back(added);
          }) ==
          "breaks nobody: the contract of interface 'scale_fwd' has grown; older plugins are "
          "accepted, and refuse calls "
          "that use what is new\n");
    CHECK(after([](OpDecl& o) {
            o.interfaces[0].fields.push_back(field("beta", TENON_VALUE_FLOAT, "beta"));
          }).starts_with("breaks plugins: call field 'beta' of interface 'scale_fwd' is required"));
    CHECK(
        after([](OpDecl& o) { o.interfaces[0].fields[1].kind = TENON_VALUE_INT; })
            .starts_with(
                "breaks plugins: call field 'alpha' of interface 'scale_fwd' is of kind int here"));
    CHECK(after([](OpDecl& o) {
            o.interfaces[0].args[0].dtypes = {DType::kFloat32};
          }).starts_with("breaks plugins: argument 'x' of interface 'scale_fwd' is never float16"));
  }

  TEST_CASE("what a contract does not hold may break plugins all the same") {
    CHECK(after([](OpDecl& o) { o.interfaces[0].fields[0].text = "len(S)"; }) ==
          "may break plugins: call field 'n' of interface 'scale_fwd' is 'len(S)' now, was "
          "'prod(S)'\n");
    CHECK(after([](OpDecl& o) { o.interfaces[0].args[0].shape_text = "[n, 1]"; }) ==
          "may break plugins: argument 'x' of interface 'scale_fwd' has shape '[n, 1]' now, was "
          "'[n]'\n");
  }
}

}  // namespace
