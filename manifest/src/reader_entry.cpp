// An entry's own fields: family, status, roofline, composition, tolerance, flow, schema, backward.
#include "reader_entry.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "tenon/core/nearest.hpp"
#include "tenon/core/roofline.hpp"
#include "tenon/manifest/reader.hpp"

namespace tenon::manifest {
namespace {

constexpr std::array kEntryKeys{KeySpec{"family", true},
                                KeySpec{"status", true},
                                KeySpec{"ref_api"},
                                KeySpec{"signature", true},
                                KeySpec{"workloads", true},
                                KeySpec{"roofline", true},
                                KeySpec{"composition"},
                                KeySpec{"interfaces"},
                                KeySpec{"steps"},
                                KeySpec{"tolerance"},
                                KeySpec{"flow"},
                                KeySpec{"schema"},
                                KeySpec{"error_model"},
                                KeySpec{"backward"}};

bool is_family(std::string_view name) {
  return !name.empty() && name.front() >= 'a' && name.front() <= 'z' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
         });
}

bool is_dotted_name(std::string_view text) {
  std::size_t parts = 0;
  while (true) {
    const std::size_t dot = text.find('.');
    if (!is_identifier(text.substr(0, dot))) return false;
    ++parts;
    if (dot == std::string_view::npos) return parts >= 2;
    text.remove_prefix(dot + 1);
  }
}

void read_heading(const Scope& scope, const Fields& fields, OpDecl& decl) {
  if (const Node* node = fields.get("family")) {
    const Text text = scope.in("family").text(*node, "a family's name");
    if (!text.empty() && !is_family(text.text)) {
      Diagnostic& d = scope.in("family").error(
          text.where, "family.form", fmt::format("'{}' is no family name", text.text));
      d.found = fmt::format("'{}'", text.text);
      d.expected = "lower-case letters, digits and '_', beginning with a letter";
    } else {
      decl.family = text.text;
    }
  }
  if (const Node* node = fields.get("status")) {
    constexpr std::array<std::string_view, 2> kStatus{"implemented", "spec-only"};
    const Text text = scope.in("status").text(*node, "implemented or spec-only");
    decl.implemented = text.text == kStatus[0];
    if (!text.empty() && std::find(kStatus.begin(), kStatus.end(), text.text) == kStatus.end()) {
      scope.in("status").wrong_word(text.where, "status", text.text, kStatus);
    }
  }
  if (const Node* node = fields.section("ref_api")) {
    const Text text = scope.in("ref_api").text(*node, "a dotted name");
    decl.ref_api = text.text;
    if (!text.empty() && !is_dotted_name(text.text)) {
      Diagnostic& d = scope.in("ref_api").error(
          text.where, "ref_api.form", fmt::format("'{}' is no dotted name", text.text));
      d.found = fmt::format("'{}'", text.text);
      d.expected = "at least two names joined by '.'";
    }
  }
}

void read_schema(const Scope& scope, const Node& node, Entry& entry) {
  entry.schema = scope.text(node, "NAME or NAME.OVERLOAD");
  if (entry.schema.empty()) return;
  const std::string& text = entry.schema.text;
  const std::size_t dot = text.find('.');
  const std::string name = text.substr(0, dot);
  const std::string overload = dot == std::string::npos ? "" : text.substr(dot + 1);
  if (!is_identifier(name) || (dot != std::string::npos && !is_identifier(overload))) {
    Diagnostic& d = scope.error(
        entry.schema.where, "schema.form", fmt::format("'{}' names no operator schema", text));
    d.found = fmt::format("'{}'", text);
    d.expected = "NAME or NAME.OVERLOAD, such as add.Tensor";
    entry.schema = {};
    return;
  }
  entry.decl.schema_name = name;
  entry.decl.schema_overload = overload;
}

void read_roofline(const Scope& scope, const Node& node, RooflineEntry& roofline) {
  constexpr std::array kKeys{KeySpec{"flops"}, KeySpec{"bytes"}, KeySpec{"func"}};
  roofline.where = scope.at(node);
  const Fields fields(scope, node, kKeys, "roofline");
  if (!fields.is_map()) return;
  const auto expression = [&](std::string_view key) -> Text {
    const Node* value = fields.get(key);
    if (value == nullptr) return {};
    if (value->kind == Node::Kind::kInt) return scope.as_text(*value);  // a count needs no quotes
    return scope.in(key).text(*value, "an expression");
  };
  roofline.flops = expression("flops");
  roofline.bytes = expression("bytes");
  const Node* func = fields.get("func");
  const bool flops = fields.get("flops") != nullptr;
  if (flops == (func != nullptr)) {
    Diagnostic& d = scope.error(
        node,
        "roofline.form",
        flops ? "roofline has both 'flops' and 'func'" : "roofline has neither 'flops' nor 'func'");
    d.expected = "exactly one of the two";
    d.hint = flops ? "remove one" : "add 'flops: \"...\"'";
  }
  if (fields.get("bytes") != nullptr && !flops) {
    Diagnostic& d = scope.error(node, "roofline.form", "'bytes' stands without 'flops'");
    d.expected = "'bytes' beside 'flops' only";
    d.hint = "a registered function gives the bytes itself";
  }
  if (func == nullptr) return;
  roofline.func = scope.in("func").text(*func, "a registered function's name");
  const std::string& name = roofline.func.text;
  if (!name.empty() && !is_roofline_name(name)) {
    Diagnostic& d = scope.in("func").error(
        *func, "roofline.func", fmt::format("'{}' is no name of a roofline function", name));
    d.found = fmt::format("'{}'", name);
    d.expected = fmt::format("a dotted name such as {}NAME", kRooflinePrefix);
    roofline.func = {};
  }
}

void read_stage(const Scope& scope, const Node& node, Entry& entry) {
  constexpr std::array kKeys{
      KeySpec{"name", true}, KeySpec{"op"}, KeySpec{"kernel"}, KeySpec{"optional"}};
  const Fields fields(scope, node, kKeys, "a stage");
  if (!fields.is_map()) return;
  StageEntry stage;
  stage.where = scope.at(node);
  StageDecl decl;
  if (const Node* name = fields.get("name")) {
    stage.name = scope.in("name").text(*name, "a stage's name");
    decl.name = stage.name.text;
    for (const StageEntry& other : entry.stages) {
      if (stage.name.empty() || other.name.text != stage.name.text) continue;
      Diagnostic& d = scope.in("name").error(
          stage.name.where, "stage.name", fmt::format("two stages are called '{}'", decl.name));
      d.found = fmt::format("'{}' again, first at line {}", decl.name, other.name.where.line);
      d.hint = "give each stage a name of its own";
    }
  }
  const Node* op = fields.get("op");
  const Node* kernel = fields.get("kernel");
  if ((op == nullptr) == (kernel == nullptr)) {
    Diagnostic& d = scope.error(node,
                                "stage.form",
                                op == nullptr ? "a stage has neither 'op' nor 'kernel'"
                                              : "a stage has both 'op' and 'kernel'");
    d.expected = "exactly one of the two";
    op = kernel = nullptr;
  }
  if (op != nullptr) stage.op = scope.in("op").text(*op, "the name of an entry");
  if (kernel != nullptr)
    stage.kernel = scope.in("kernel").text(*kernel, "the name of an interface");
  if (const Node* optional = fields.get("optional"))
    decl.optional = scope.in("optional").boolean(*optional).value_or(false);
  decl.op = stage.op.text;
  decl.kernel = stage.kernel.text;
  entry.stages.push_back(std::move(stage));
  entry.decl.stages.push_back(std::move(decl));
}

void read_composition(const Scope& scope, const Node& node, Entry& entry) {
  constexpr std::array kKeys{KeySpec{"kind", true}, KeySpec{"stages", true}};
  entry.has_composition = true;
  const Fields fields(scope, node, kKeys, "composition");
  if (const Node* kind = fields.get("kind")) {
    constexpr std::array<std::string_view, 1> kKinds{"composite"};
    const Text text = scope.in("kind").text(*kind, "composite");
    if (!text.empty() && text.text != kKinds[0])
      scope.in("kind").wrong_word(text.where, "kind of composition", text.text, kKinds);
  }
  const Node* stages = fields.get("stages");
  if (stages == nullptr) return;
  if (!stages->is_list() || stages->items.empty()) {
    scope.in("stages").wrong_kind(*stages, "a list of at least one stage");
    return;
  }
  for (std::size_t i = 0; i < stages->items.size(); ++i)
    read_stage(scope.in("stages").item(i), stages->items[i], entry);
}

std::optional<double> read_bound(const Scope& scope, const Node& node) {
  std::optional<double> value;
  if (const double* f = node.value.get_if<double>()) value = *f;
  if (const std::int64_t* i = node.value.get_if<std::int64_t>()) value = static_cast<double>(*i);
  if (node.is_scalar() && value && *value >= 0) return value;
  scope.wrong_kind(node,
                   "a number of at least 0",
                   node.is_string() ? "YAML needs a point and a signed exponent: 1.0e-3" : "");
  return std::nullopt;
}

void read_tolerance(const Scope& scope, const Node& node, OpDecl& decl) {
  if (!node.is_map()) {
    scope.wrong_kind(node, "a map with 'reason' and dtypes");
    return;
  }
  ToleranceDecl tolerance;
  for (std::size_t i = 0; i < node.size(); ++i) {
    const Node& key = node.key(i);
    const Scope here = scope.in(key.text);
    if (key.text == "reason") {
      tolerance.reason = here.text(node.mapped(i), "why the usual bound does not hold").text;
      continue;
    }
    const auto dtype = dtype_from_name(key.text);
    if (!dtype) {
      std::vector<std::string_view> names{"reason"};
      for (const DType d : all_dtypes()) names.push_back(name_of(d));
      Diagnostic& d =
          scope.error(key, "key.unknown", fmt::format("tolerance has no key '{}'", key.text));
      d.found = fmt::format("'{}'", key.text);
      d.expected = "reason, or a dtype";
      d.hint = did_you_mean(key.text, names, 1);
      continue;
    }
    constexpr std::array kKeys{KeySpec{"rtol", true}, KeySpec{"atol", true}};
    const Fields bounds(here, node.mapped(i), kKeys, "a bound");
    const Node* rtol = bounds.get("rtol");
    const Node* atol = bounds.get("atol");
    const std::optional<double> relative =
        rtol == nullptr ? std::nullopt : read_bound(here.in("rtol"), *rtol);
    const std::optional<double> absolute =
        atol == nullptr ? std::nullopt : read_bound(here.in("atol"), *atol);
    if (relative && absolute)
      tolerance.by_dtype.emplace_back(*dtype, std::pair(*relative, *absolute));
  }
  if (node.find("reason") == nullptr) {
    Diagnostic& d = scope.error(node, "key.missing", "tolerance needs the key 'reason'");
    d.expected = "the key 'reason'";
    d.hint = "say why the bound of the error model does not hold";
  }
  decl.tolerance = std::move(tolerance);
}

void read_backward(const Scope& scope, const Node& node, Entry& entry) {
  constexpr std::array kKeys{KeySpec{"op", true}, KeySpec{"saved"}};
  const Fields fields(scope, node, kKeys, "backward");
  if (const Node* op = fields.get("op"))
    entry.backward_op = scope.in("op").text(*op, "the name of an entry");
  if (const Node* saved = fields.section("saved")) {
    entry.backward_saved = scope.in("saved").texts(*saved, "a list of inputs and outputs");
  }
  entry.decl.backward_op = entry.backward_op.text;
  for (const Text& name : entry.backward_saved) {
    entry.decl.backward_saved.push_back(name.text);
    if (entry.decl.input_index(name.text) || entry.decl.output_index(name.text) ||
        entry.was_reported(name.text))
      continue;
    std::vector<std::string> names;
    for (const TensorDecl& t : entry.decl.inputs) names.push_back(t.name);
    for (const TensorDecl& t : entry.decl.outputs) names.push_back(t.name);
    Diagnostic& d =
        scope.in("saved").error(name.where,
                                "backward.saved",
                                fmt::format("'{}' is no input or output of this entry", name.text));
    d.found = fmt::format("'{}'", name.text);
    d.expected = "an input or output";
    d.hint = did_you_mean(name.text, names, 1);
  }
}

void read_flow(const Scope& scope, const Fields& fields, Entry& entry) {
  if (const Node* node = fields.section("flow")) {
    entry.flow = scope.in("flow").text(*node, "the name of a flow");
    if (!entry.flow.empty() && !is_family(entry.flow.text)) {
      Diagnostic& d = scope.in("flow").error(
          entry.flow.where, "flow.form", fmt::format("'{}' is no name of a flow", entry.flow.text));
      d.found = fmt::format("'{}'", entry.flow.text);
      d.expected = "lower-case letters, digits and '_'";
    }
    if (!entry.flow.empty()) entry.decl.flow = entry.flow.text;
  }
  if (const Node* node = fields.section("error_model")) {
    constexpr std::array<std::string_view, 5> kModels{"pointwise", "sum", "dot", "norm", "softmax"};
    const Text text = scope.in("error_model").text(*node, "an error model");
    entry.decl.error_model = text.text;
    if (!text.empty() && std::find(kModels.begin(), kModels.end(), text.text) == kModels.end()) {
      scope.in("error_model").wrong_word(text.where, "error model", text.text, kModels);
    }
  }
}

void check_name(const Scope& scope, const Node& key) {
  if (key.is_string() && is_op_name(key.text)) return;
  Diagnostic& d = scope.error(key, "entry.name", fmt::format("'{}' is no op name", key.text));
  d.found = fmt::format("'{}'", key.text);
  d.expected = "[A-Z][A-Za-z0-9]*(Fwd|Bwd)Op";
  d.hint = "name the direction before 'Op': RMSNormFwdOp";
}

}  // namespace

bool is_op_name(std::string_view name) noexcept {
  if (name.size() < 6 || name.front() < 'A' || name.front() > 'Z') return false;
  const std::string_view tail = name.substr(name.size() - 5);
  if (tail != "FwdOp" && tail != "BwdOp") return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0;
  });
}

Entry read_entry(const Scope& file, const Node& key, const Node& body) {
  const Scope scope = file.entry(key.text);
  Entry entry;
  entry.decl.name = key.text;
  entry.decl.where = scope.at(key);
  check_name(scope, key);
  const Fields fields(scope, body, kEntryKeys, "an entry");
  if (!fields.is_map()) return entry;
  read_heading(scope, fields, entry.decl);
  read_flow(scope, fields, entry);
  if (const Node* node = fields.get("signature")) {
    read_signature(scope.in("signature"), *node, entry);
  } else {
    entry.reported_names.emplace_back("*");
  }
  if (const Node* node = fields.get("workloads"))
    read_workloads(scope.in("workloads"), *node, entry);
  if (const Node* node = fields.get("roofline"))
    read_roofline(scope.in("roofline"), *node, entry.roofline);
  if (const Node* node = fields.section("schema")) read_schema(scope.in("schema"), *node, entry);
  if (const Node* node = fields.section("composition"))
    read_composition(scope.in("composition"), *node, entry);
  if (const Node* node = fields.section("tolerance"))
    read_tolerance(scope.in("tolerance"), *node, entry.decl);
  if (const Node* node = fields.section("backward"))
    read_backward(scope.in("backward"), *node, entry);
  read_interfaces(scope, fields.section("steps"), fields.section("interfaces"), entry);
  return entry;
}

}  // namespace tenon::manifest
