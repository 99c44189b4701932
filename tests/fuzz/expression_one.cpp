// The properties of the expression language that hold for any text.
#include "expression_one.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include "signature/plan.hpp"
#include "tenon/manifest/compile.hpp"
#include "tenon/manifest/expr.hpp"
#include "tenon/manifest/reader.hpp"

namespace tenon::fuzz {
namespace {

using manifest::DiagnosticList;
using manifest::ExprError;
using manifest::Grammar;
using manifest::NamedText;

// ---- Text to tree and back
// ------------------------------------------------------------------------

std::string broken_text(std::string_view text, Grammar grammar) {
  signature::Pool pool;
  ExprError error;
  const signature::Expr root = manifest::parse(text, grammar, pool, error);
  if (root == signature::kNoExpr) {
    if (error.rule.empty() || error.text.empty()) return "a refusal without rule or text";
    return error.column > text.size() ? "a column outside of the text" : "";
  }
  // A type family prints as its number: its name is not in the tree once it is resolved.
  const auto is_family = [](const signature::Node& n) { return n.op == signature::Op::kFamily; };
  if (std::ranges::any_of(pool.nodes, is_family)) return "";
  const std::string printed = signature::print(pool, root);
  signature::Pool again;
  const signature::Expr copy = manifest::parse(printed, grammar, again, error);
  if (copy == signature::kNoExpr) return "the expression prints as no expression: " + printed;
  if (!signature::same(pool, root, again, copy))
    return "the expression prints as another: " + printed;
  return {};
}

// ---- Program and tree
// -----------------------------------------------------------------------------

constexpr std::string_view kTypes =
    "adts: {Layout: {sum: {tiled: {python: a.b.C, fields: {tile: Dim, packing: \"'tight' | "
    "'aligned'\"}}, masked: {python: a.b.M, fields: {max_m: Dim, flag: Bool}}}}}\n";

constexpr std::string_view kSignature =
    "DemoFwdOp:\n"
    "  family: demo\n"
    "  status: spec-only\n"
    "  signature:\n"
    "    forall: {S: Shape, M: Dim, N: Dim, T: \"DType[float16 | int32]\"}\n"
    "    params: {n: {type: int}, ks: {type: \"list[int]\"}, mode: {type: \"'a' | 'b' | "
    "'full'\"},\n"
    "      f: {type: float}, w: {type: \"int | None\", default: null}, u: {type: bool},\n"
    "      p: {type: \"int | tuple[int, int] | 'same'\"}, l: {type: \"Layout | None\", default: "
    "null}}\n"
    "    let: {L: \"M * 2 + n\"}\n"
    "    inputs:\n"
    "      x: {dtype: T, shape: \"[*S, M]\"}\n"
    "      z: {dtype: int32, shape: \"[N, 2 * N]\"}\n"
    "      y: {dtype: T, shape: \"[M]\", optional: true}\n"
    "    outputs: {o: {dtype: T, shape: \"[M]\"}}\n";
constexpr std::string_view kRest =
    "  workloads: [{S: [], M: 1, N: 1, n: 0, ks: [], mode: a, f: 0, u: true, p: 1, dtype_cases: "
    "[{T: "
    "int32}], label: a}]\n"
    "  roofline: {flops: \"0\"}\n";

/// In single quotes, as YAML escapes it; nothing where the text is not of printable characters.
std::optional<std::string> quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f)
      return std::nullopt;
    out += c;
    if (c == '\'') out += c;
  }
  return out + "'";
}

std::shared_ptr<const SignaturePlan> compiled(const std::string& entry) {
  const std::vector<NamedText> files{{"demo.yaml", entry}, {"types.yaml", std::string(kTypes)}};
  const manifest::LoadedSet loaded = manifest::load_texts(files);
  if (loaded.diagnostics.has_errors() || loaded.set.entries.size() != 1) return nullptr;
  DiagnosticList diagnostics;
  return manifest::compile(loaded.set.entries.front(), loaded.set.adts, diagnostics);
}

void append_value(const tenon_value& v, std::string& out) {
  out += std::to_string(v.kind) + ":";
  switch (v.kind) {
    case TENON_VALUE_STR:
      out.append(static_cast<const char*>(v.data), v.count);
      break;
    case TENON_VALUE_INTS:
      for (std::uint64_t i = 0; i < v.count; ++i)
        out += std::to_string(static_cast<const std::int64_t*>(v.data)[i]) + ",";
      break;
    case TENON_VALUE_LIST:
      for (std::uint64_t i = 0; i < v.count; ++i)
        append_value(static_cast<const tenon_value*>(v.data)[i], out);
      break;
    case TENON_VALUE_FLOAT: {
      std::uint64_t bits = 0;
      std::memcpy(&bits, &v.f, sizeof bits);
      out += std::to_string(bits);
      break;
    }
    default:
      out += std::to_string(v.i);
  }
  out += ";";
}

struct DemoCall {
  Dims x;
  Dims z;
  DType dtype = DType::kFloat16;
  bool with_y = false;
  std::vector<NamedValue> params;
};

std::vector<DemoCall> demo_calls() {
  AdtValue tiled;
  tiled.constructor = "tiled";
  tiled.fields = {{"tile", Value(8)}, {"packing", Value("tight")}};
  AdtValue masked;
  masked.constructor = "masked";
  masked.fields = {{"max_m", Value(128)}, {"flag", Value(true)}};
  return {
      {{2, 3, 5},
       {4, 8},
       DType::kFloat16,
       false,
       {{"n", -7}, {"ks", {4, 1}}, {"mode", "a"}, {"f", 1.5}, {"u", true}, {"p", 3}, {"l", tiled}}},
      {{0},
       {0, 0},
       DType::kInt32,
       true,
       {{"n", 0},
        {"ks", ValueList{}},
        {"mode", "full"},
        {"f", 0.0},
        {"u", false},
        {"p", "same"},
        {"w", 6}}},
      {{1, 7},
       {1, 2},
       DType::kInt32,
       true,
       {{"n", std::int64_t{1} << 62},
        {"ks", {0, -1, 9}},
        {"mode", "b"},
        {"f", -1e300},
        {"u", true},
        {"p", Value::list({2, 3}, true)},
        {"w", 0},
        {"l", masked}}},
  };
}

/// One call in both ways.
std::string broken_call(const SignaturePlan& plan, const DemoCall& demo) {
  const auto construction = plan.construct(demo.params, {});
  if (!construction) return {};
  const TensorView x(nullptr, demo.dtype, demo.x);
  const TensorView z(nullptr, DType::kInt32, demo.z);
  const TensorView y(nullptr, demo.dtype, {demo.x[demo.x.size() - 1]});
  const std::array pointers{&x, &z, &y};
  std::array<TensorArg, 3> inputs{
      TensorArg{&pointers[0], 1}, TensorArg{&pointers[1], 1}, TensorArg{}};
  if (demo.with_y) inputs[2] = {&pointers[2], 1};
  CallArgs args;
  args.inputs = inputs;
  args.meta = true;
  const auto frame = plan.make_frame();
  const bool passes = plan.check(**construction, args, *frame);
  const Error reason = plan.failure(**construction, args, *frame);
  if (passes != (reason.code() == ErrorCode::kInternal))
    return "program and tree disagree on the check: " + reason.to_string();
  if (!passes || plan.decl().interfaces.empty()) return {};

  std::array<tenon_value, 1> fields{};
  std::string by_program = "none";
  if (plan.eval_call(0, **construction, args, *frame, {}, fields)) {
    by_program.clear();
    append_value(fields[0], by_program);
  }
  std::string by_tree = "none";
  if (static_cast<const signature::Plan&>(plan).walk_call(0, *frame, {}, fields)) {
    by_tree.clear();
    append_value(fields[0], by_tree);
  }
  return by_program == by_tree ? "" : "the program gives " + by_program + ", the tree " + by_tree;
}

std::string broken_calls(const std::string& entry) {
  const auto plan = compiled(entry);
  if (plan == nullptr) return {};
  for (const DemoCall& demo : demo_calls()) {
    if (std::string broken = broken_call(*plan, demo); !broken.empty()) return broken;
  }
  return {};
}

}  // namespace

std::string broken_expression_property(std::string_view text) {
  for (const Grammar grammar : {Grammar::kExpression, Grammar::kShape, Grammar::kCall}) {
    if (std::string broken = broken_text(text, grammar); !broken.empty()) return broken;
  }
  const auto yaml = quoted(text);
  if (!yaml || text.size() > 400) return {};
  const std::string head(kSignature);
  const std::string rest(kRest);
  if (std::string broken =
          broken_calls(head + rest + "  interfaces: {demo: {call: {v: " + *yaml +
                       "}, args: {x: \"[]\", z: \"[]\", y: \"[]\", o: \"[]\"}}}\n");
      !broken.empty())
    return broken;
  return broken_calls(head + "    shape_rules: [" + *yaml + "]\n" + rest);
}

}  // namespace tenon::fuzz
