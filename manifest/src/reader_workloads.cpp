// workloads, steps and interfaces, as far as they need no expression.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "reader_entry.hpp"
#include "tenon/core/nearest.hpp"
#include "tenon/manifest/reader.hpp"

namespace tenon::manifest {
namespace {

// ---- Rows
// -----------------------------------------------------------------------------------------

bool is_label(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
}

class RowReader {
 public:
  RowReader(const Scope& scope, const Entry& entry) : scope_(scope), entry_(entry) {}

  RowEntry run(const Node& node) {
    const std::size_t before = scope_.diagnostics().error_count();
    row_.where = scope_.at(node);
    if (!node.is_map()) {
      scope_.wrong_kind(node, "a row as a map");
    } else {
      for (std::size_t i = 0; i < node.size(); ++i) member(node.key(i), node.mapped(i));
      if (node.find("label") == nullptr) {
        Diagnostic& d = scope_.error(node, "key.missing", "a row needs the key 'label'");
        d.expected = "the key 'label'";
        d.hint = "add 'label: ...'";
      }
    }
    row_.faulty = scope_.diagnostics().error_count() != before;
    return std::move(row_);
  }

 private:
  void member(const Node& key, const Node& value) {
    const Scope here = scope_.in(key.text);
    if (key.text == "label") {
      label(here, value);
    } else if (key.text == "some") {
      some(here, value);
    } else if (key.text == "dtype_cases") {
      dtype_cases(here, value);
    } else if (known(here, key)) {
      row_.values.emplace_back(key.text, RawValue{value_from_yaml(value), here.at(value)});
      row_.key_places.push_back(here.at(key));
    }
  }

  bool known(const Scope& scope, const Node& key) const {
    std::vector<std::string_view> names{"some", "dtype_cases", "label"};
    for (const ParamDecl& p : entry_.decl.params) names.push_back(p.name);
    for (const IndexDecl& index : entry_.indices) {
      if (index.name == key.text && !index.faulty && index.kind == IndexKind::kDType) {
        Diagnostic& d = scope.error(key, "row.key", fmt::format("'{}' is a DType index", key.text));
        d.expected = "DType indices under 'dtype_cases'";
        d.hint = fmt::format("write dtype_cases: [{{{}: ...}}]", key.text);
        return false;
      }
      names.push_back(index.name);
    }
    if (std::find(names.begin(), names.end(), key.text) != names.end()) return true;
    if (entry_.was_reported(key.text)) return false;
    Diagnostic& d = scope.error(
        key, "row.key", fmt::format("'{}' is no parameter and no index of this entry", key.text));
    d.found = fmt::format("'{}'", key.text);
    d.expected = fmt::format("one of {}", fmt::join(names, ", "));
    d.hint = did_you_mean(key.text, names, 1);
    return false;
  }

  void label(const Scope& scope, const Node& value) {
    row_.label = scope.text(value, "a label");
    const std::string& text = row_.label.text;
    if (text.empty()) return;
    if (!is_label(text)) {
      Diagnostic& d = scope.error(value, "row.label", fmt::format("'{}' is no label", text));
      d.found = fmt::format("'{}'", text);
      d.expected = "letters, digits, '.', '_' and '-'";
      d.hint = "write '-' for a blank";
    } else if (text.size() > 28) {
      Diagnostic& d = scope.advisory(row_.label.where,
                                     "row.label-length",
                                     fmt::format("the label has {} characters", text.size()));
      d.expected = "28 at most, so that case ids stay readable";
    }
  }

  void some(const Scope& scope, const Node& value) {
    const std::vector<Text> given = scope.texts(value, "a list of optional tensors");
    std::vector<std::string> optional;
    for (const auto* tensors : {&entry_.decl.construction_tensors, &entry_.decl.inputs}) {
      for (const TensorDecl& t : *tensors) {
        if (t.optional == When::kAlways) optional.push_back(t.name);
      }
    }
    for (const Text& name : given) {
      const bool twice = std::any_of(
          row_.some.begin(), row_.some.end(), [&](const Text& t) { return t.text == name.text; });
      if (!twice && std::find(optional.begin(), optional.end(), name.text) != optional.end()) {
        row_.some.push_back(name);
        continue;
      }
      if (!twice && entry_.was_reported(name.text)) continue;
      Diagnostic& d =
          scope.error(name.where,
                      "row.some",
                      twice ? fmt::format("'{}' stands twice", name.text)
                            : fmt::format("'{}' is no tensor with 'optional: true'", name.text));
      d.found = fmt::format("'{}'", name.text);
      d.expected = optional.empty() ? "no name: the entry has no such tensor"
                                    : fmt::format("{}", fmt::join(optional, ", "));
      d.hint = twice ? "remove one of the two" : did_you_mean(name.text, optional, 1);
    }
  }

  void dtype_cases(const Scope& scope, const Node& value) {
    row_.has_dtype_cases = true;
    if (!value.is_list() || value.items.empty()) {
      scope.wrong_kind(value,
                       "a list of at least one assignment",
                       "leave 'dtype_cases' out of an entry without DType indices");
      return;
    }
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      const Node& node = value.items[i];
      const Scope here = scope.item(i);
      if (!node.is_map() || node.items.empty()) {
        here.wrong_kind(node, "a map from DType indices to dtypes");
        continue;
      }
      DTypeCase one;
      one.where = here.at(node);
      for (std::size_t k = 0; k < node.size(); ++k) {
        const Scope there = here.in(node.key(k).text);
        Text dtype = there.text(node.mapped(k), "a dtype");
        if (!dtype.empty() && legal(there, node.key(k), dtype))
          one.assignment.emplace_back(node.key(k).text, std::move(dtype));
      }
      row_.dtype_cases.push_back(std::move(one));
    }
  }

  bool legal(const Scope& scope, const Node& key, const Text& dtype) const {
    std::vector<std::string_view> names;
    for (const IndexDecl& index : entry_.indices) {
      if (index.kind != IndexKind::kDType) continue;
      names.push_back(index.name);
      if (index.name != key.text) continue;
      if (index.faulty) return true;
      const auto value = dtype_from_name(dtype.text);
      if (value && index.dtypes.contains(*value)) return true;
      std::vector<std::string_view> listed;
      for (const DType d : index.listed) listed.push_back(name_of(d));
      Diagnostic& d =
          scope.error(dtype.where,
                      "row.dtype",
                      fmt::format("'{}' is not among the dtypes of {}", dtype.text, key.text));
      d.found = fmt::format("'{}'", dtype.text);
      d.expected = fmt::format("{}", fmt::join(listed, " | "));
      d.hint = did_you_mean(dtype.text, listed, 1);
      return false;
    }
    if (entry_.was_reported(key.text)) return false;
    Diagnostic& d = scope.error(
        key, "row.dtype", fmt::format("'{}' is no DType index of this entry", key.text));
    d.found = fmt::format("'{}'", key.text);
    d.expected = names.empty() ? "no dtype_cases: the entry has no DType index"
                               : fmt::format("one of {}", fmt::join(names, ", "));
    d.hint = did_you_mean(key.text, names, 1);
    return false;
  }

  Scope scope_;
  const Entry& entry_;
  RowEntry row_;
};

// ---- Steps and interfaces
// -------------------------------------------------------------------------

void read_steps(const Scope& scope, const Node& node, Entry& entry) {
  if (!node.is_list() || node.items.empty()) {
    scope.wrong_kind(node, "a list of at least one step");
    return;
  }
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const Node& item = node.items[i];
    const Scope here = scope.item(i);
    StepDecl step;
    Text name;
    if (item.is_map()) {
      constexpr std::array kKeys{KeySpec{"name", true}, KeySpec{"optional"}};
      const Fields fields(here, item, kKeys, "a step");
      if (const Node* given = fields.get("name"))
        name = here.in("name").text(*given, "a step's name");
      if (const Node* optional = fields.get("optional"))
        step.optional = here.in("optional").boolean(*optional).value_or(false);
    } else {
      name = here.text(item, "a step's name, or {name: NAME, optional: true}");
    }
    if (name.empty()) continue;
    step.name = name.text;
    const bool twice = std::any_of(entry.decl.steps.begin(),
                                   entry.decl.steps.end(),
                                   [&](const StepDecl& s) { return s.name == step.name; });
    if (!is_identifier(step.name) || twice) {
      Diagnostic& d =
          here.error(name.where,
                     "step.name",
                     twice ? fmt::format("two steps are called '{}'", step.name)
                           : fmt::format("'{}' cannot be the name of a step", step.name));
      d.found = fmt::format("'{}'", step.name);
      d.expected = "letters, digits and '_', each name once";
      continue;
    }
    entry.decl.steps.push_back(std::move(step));
    entry.step_places.push_back(name.where);
  }
}

class InterfaceReader {
 public:
  InterfaceReader(const Scope& scope, Entry& entry) : scope_(scope), entry_(entry) {}

  void run(const Node& key, const Node& node) {
    constexpr std::array kKeys{
        KeySpec{"call", true}, KeySpec{"args", true}, KeySpec{"when"}, KeySpec{"step"}};
    if (!scope_.name(key, "an interface")) return;
    interface_.name = key.text;
    interface_.where = scope_.at(key);
    const Fields fields(scope_, node, kKeys, "an interface");
    if (!fields.is_map()) return;
    if (const Node* when = fields.get("when"))
      interface_.when = scope_.in("when").text(*when, "a condition");
    step(fields.get("step"), node);
    if (const Node* call = fields.get("call");
        call != nullptr && is_section(scope_.in("call"), *call, "call")) {
      for (std::size_t i = 0; i < call->size(); ++i) field(call->key(i), call->mapped(i));
    }
    if (const Node* args = fields.get("args");
        args != nullptr && is_section(scope_.in("args"), *args, "args")) {
      for (std::size_t i = 0; i < args->size(); ++i) arg(args->key(i), args->mapped(i));
    }
    entry_.interfaces.push_back(std::move(interface_));
  }

 private:
  void step(const Node* node, const Node& body) {
    std::vector<std::string> names;
    for (const StepDecl& s : entry_.decl.steps) names.push_back(s.name);
    if (node == nullptr) {
      if (names.size() < 2) return;
      Diagnostic& d = scope_.error(
          body, "key.missing", "an interface of an op with several steps needs the key 'step'");
      d.expected = fmt::format("step: one of {}", fmt::join(names, ", "));
      return;
    }
    const Scope here = scope_.in("step");
    interface_.step = here.text(*node, "a step's name");
    if (interface_.step.empty() ||
        std::find(names.begin(), names.end(), interface_.step.text) != names.end())
      return;
    Diagnostic& d = here.error(
        *node, "step.unknown", fmt::format("the entry has no step '{}'", interface_.step.text));
    d.found = fmt::format("'{}'", interface_.step.text);
    d.expected = names.empty() ? "no step: the entry declares none"
                               : fmt::format("one of {}", fmt::join(names, ", "));
    d.hint = did_you_mean(interface_.step.text, names, 1);
    interface_.step = {};
  }

  void field(const Node& key, const Node& value) {
    const Scope here = scope_.in("call").in(key.text);
    if (!here.name(key, "a call field")) return;
    CallFieldEntry f;
    f.name = key.text;
    f.where = here.at(key);
    f.text = here.text(value, "an expression, or flow.<kind>");
    interface_.call.push_back(std::move(f));
  }

  void arg(const Node& key, const Node& value) {
    const Scope here = scope_.in("args").in(key.text);
    if (!here.name(key, "an argument")) return;
    const OpDecl& decl = entry_.decl;
    const bool tensor = decl.input_index(key.text) || decl.output_index(key.text) ||
                        decl.construction_index(key.text);
    ArgEntry a;
    a.name = key.text;
    a.where = here.at(key);
    if (!value.is_map()) {
      a.shape = here.text(value, "the shape in which the kernel gets it");
      if (!tensor && !entry_.was_reported(key.text)) unknown(here, key);
      if (tensor) interface_.args.push_back(std::move(a));
      return;
    }
    constexpr std::array kKeys{
        KeySpec{"dtype", true}, KeySpec{"shape", true}, KeySpec{"role", true}};
    if (tensor) {
      Diagnostic& d =
          here.error(value, "arg.form", fmt::format("'{}' is a tensor of the signature", key.text));
      d.expected = "its shape only: dtype and role follow from the signature";
      return;
    }
    a.temporary = true;
    const Fields fields(here, value, kKeys, "a temporary");
    if (const Node* node = fields.get("dtype")) a.dtype = here.in("dtype").text(*node, "a dtype");
    if (const Node* node = fields.get("shape")) a.shape = here.in("shape").text(*node, "a shape");
    if (const Node* node = fields.get("role")) {
      constexpr std::array<std::string_view, 3> kRoles{"in", "out", "inout"};
      a.role = here.in("role").text(*node, "in, out or inout");
      if (!a.role.empty() && std::find(kRoles.begin(), kRoles.end(), a.role.text) == kRoles.end()) {
        here.in("role").wrong_word(a.role.where, "role", a.role.text, kRoles);
        a.role = {};
      }
    }
    interface_.args.push_back(std::move(a));
  }

  void unknown(const Scope& scope, const Node& key) const {
    std::vector<std::string> names;
    for (const auto* tensors :
         {&entry_.decl.inputs, &entry_.decl.construction_tensors, &entry_.decl.outputs}) {
      for (const TensorDecl& t : *tensors) names.push_back(t.name);
    }
    Diagnostic& d =
        scope.error(key, "arg.unknown", fmt::format("'{}' is no tensor of this entry", key.text));
    d.found = fmt::format("'{}'", key.text);
    d.expected =
        fmt::format("one of {}; or a temporary with dtype, shape and role", fmt::join(names, ", "));
    d.hint = did_you_mean(key.text, names, 1);
  }

  Scope scope_;
  Entry& entry_;
  InterfaceEntry interface_;
};

/// Every step has an interface, and the flow `direct` one step.
void check_steps(const Scope& scope, const Node* steps, const Entry& entry) {
  if (entry.decl.flow == "direct" && entry.decl.steps.size() > 1 && steps != nullptr) {
    Diagnostic& d =
        scope.in("steps").error(*steps,
                                "step.direct",
                                fmt::format("the flow 'direct' has one step, the entry declares {}",
                                            entry.decl.steps.size()));
    d.expected = "one step, or another flow";
    d.hint = "name the flow that runs the steps: 'flow: NAME'";
  }
  const bool open = std::any_of(
      entry.interfaces.begin(), entry.interfaces.end(), [&](const InterfaceEntry& interface) {
        return interface.step.empty() && entry.decl.steps.size() > 1;  // its step was reported
      });
  if (entry.interfaces.empty() || entry.step_places.empty() || open) return;
  for (std::size_t i = 0; i < entry.decl.steps.size(); ++i) {
    const std::string& name = entry.decl.steps[i].name;
    const bool served = std::any_of(
        entry.interfaces.begin(), entry.interfaces.end(), [&](const InterfaceEntry& interface) {
          return interface.step.text == name ||
                 (interface.step.empty() && entry.decl.steps.size() == 1);
        });
    if (served) continue;
    Diagnostic& d = scope.in("steps").error(
        entry.step_places[i], "step.unserved", fmt::format("no interface has 'step: {}'", name));
    d.expected = "at least one interface for each step";
    d.hint = "add an interface, or remove the step";
  }
}

}  // namespace

void read_workloads(const Scope& scope, const Node& node, Entry& entry) {
  if (!node.is_list() || node.items.empty()) {
    scope.wrong_kind(node, "a list of at least one row");
    return;
  }
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    entry.workloads.push_back(RowReader(scope.item(i), entry).run(node.items[i]));
  }
}

void read_interfaces(const Scope& scope, const Node* steps, const Node* interfaces, Entry& entry) {
  if (steps != nullptr) read_steps(scope.in("steps"), *steps, entry);
  if (interfaces != nullptr && is_section(scope.in("interfaces"), *interfaces, "interfaces")) {
    for (std::size_t i = 0; i < interfaces->size(); ++i) {
      const Scope here = scope.in("interfaces").in(interfaces->key(i).text);
      InterfaceReader(here, entry).run(interfaces->key(i), interfaces->mapped(i));
    }
  }
  check_steps(scope, steps, entry);
  if (entry.decl.steps.empty()) entry.decl.steps.push_back({"main", false});
}

}  // namespace tenon::manifest
