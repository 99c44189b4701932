// signature: indices, parameters, tensors, type families, lets, refinements, dtype combinations.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "reader_entry.hpp"
#include "tenon/core/nearest.hpp"
#include "tenon/manifest/reader.hpp"

namespace tenon::manifest {
namespace {

constexpr std::array kSignatureKeys{KeySpec{"forall"},
                                    KeySpec{"params"},
                                    KeySpec{"inputs"},
                                    KeySpec{"outputs"},
                                    KeySpec{"types"},
                                    KeySpec{"let"},
                                    KeySpec{"shape_rules"},
                                    KeySpec{"dtype_combos"}};
constexpr std::array kParamKeys{KeySpec{"type", true}, KeySpec{"default"}, KeySpec{"kw_only"}};
constexpr std::array kConstructionKeys{KeySpec{"dtype", true},
                                       KeySpec{"shape", true},
                                       KeySpec{"contiguous"},
                                       KeySpec{"optional"},
                                       KeySpec{"device"},
                                       KeySpec{"values"},
                                       KeySpec{"requires"}};
constexpr std::array kInputKeys{KeySpec{"dtype", true},
                                KeySpec{"shape", true},
                                KeySpec{"contiguous"},
                                KeySpec{"optional"},
                                KeySpec{"kw_only"},
                                KeySpec{"device"},
                                KeySpec{"values"},
                                KeySpec{"requires"},
                                KeySpec{"mutated"},
                                KeySpec{"write_only"},
                                KeySpec{"may_alias"},
                                KeySpec{"list"}};
constexpr std::array kOutputKeys{KeySpec{"dtype", true},
                                 KeySpec{"shape", true},
                                 KeySpec{"contiguous"},
                                 KeySpec{"nullable"},
                                 KeySpec{"buffer"},
                                 KeySpec{"alias"},
                                 KeySpec{"may_alias"},
                                 KeySpec{"list"}};

class SignatureReader {
 public:
  SignatureReader(const Scope& scope, Entry& entry)
      : scope_(scope), entry_(entry), decl_(entry.decl) {}

  void run(const Node& node) {
    const Fields fields(scope_, node, kSignatureKeys, "signature");
    if (!fields.is_map()) {
      entry_.reported_names.emplace_back("*");
      return;
    }
    each(fields, "forall", [&](const Scope& s, const Node& key, const Node& value) {
      index(s, key, value);
    });
    each(fields, "params", [&](const Scope& s, const Node& key, const Node& value) {
      param(s, key, value);
    });
    each(fields, "inputs", [&](const Scope& s, const Node& key, const Node& value) {
      tensor(s, key, value, TensorRole::kInput);
    });
    each(fields, "outputs", [&](const Scope& s, const Node& key, const Node& value) {
      tensor(s, key, value, TensorRole::kOutput);
    });
    each(fields, "let", [&](const Scope& s, const Node& key, const Node& value) {
      if (declare(s, key, "a let"))
        entry_.lets.push_back({key.text, s.text(value, "an expression")});
    });
    each(fields, "types", [&](const Scope& s, const Node& key, const Node& value) {
      family(s, key, value);
    });
    if (const Node* rules = fields.section("shape_rules")) {
      entry_.shape_rules = scope_.in("shape_rules").texts(*rules, "a list of expressions");
    }
    if (const Node* rows = fields.section("dtype_combos")) combos(scope_.in("dtype_combos"), *rows);
    check_effects(scope_, entry_);
  }

 private:
  template <class F>
  void each(const Fields& fields, std::string_view section, F&& visit) {
    const Node* node = fields.section(section);
    if (node == nullptr) return;
    if (!is_section(scope_.in(section), *node, section)) {
      entry_.reported_names.emplace_back("*");
      return;
    }
    for (std::size_t i = 0; i < node->size(); ++i) {
      visit(scope_.in(section).in(node->key(i).text), node->key(i), node->mapped(i));
    }
  }

  /// Checks a name's form and that nothing else in the signature has it. `may_be_out`: the name
  /// `out` is legal, too.
  bool declare(const Scope& scope,
               const Node& key,
               std::string_view what,
               bool may_be_out = false) {
    const bool is_out = may_be_out && key.is_string() && key.text == kRequiredOut;
    if (!is_out && !scope.name(key, what)) {
      entry_.reported_names.push_back(key.text);
      return false;
    }
    for (const auto& [name, line] : names_) {
      if (name != key.text) continue;
      Diagnostic& d = scope.error(
          key, "name.duplicate", fmt::format("the name '{}' is taken at line {}", name, line));
      d.found = fmt::format("'{}' again", name);
      d.expected = "indices, parameters, lets, tensors and families with names of their own";
      d.hint = "rename one of the two";
      return false;
    }
    names_.emplace_back(key.text, key.line);
    return true;
  }

  // ---- Indices ---------------------------------------------------------------------------------

  void index(const Scope& scope, const Node& key, const Node& value) {
    if (!declare(scope, key, "an index")) return;
    IndexDecl decl;
    decl.name = key.text;
    decl.source = scope.text(value, "a kind: Dim, Shape, DType[a | b] or Seq[Int]");
    decl.faulty = decl.source.empty() || !index_kind(scope, decl);
    entry_.indices.push_back(std::move(decl));
  }

  static bool index_kind(const Scope& scope, IndexDecl& decl) {
    constexpr std::array<std::pair<std::string_view, IndexKind>, 5> kKinds{
        {{"Dim", IndexKind::kDim},
         {"Shape", IndexKind::kShape},
         {"Seq[Int]", IndexKind::kSeqInt},
         {"Seq[Shape]", IndexKind::kSeqShape},
         {"Seq[Dim]", IndexKind::kSeqDim}}};
    const std::string& text = decl.source.text;
    for (const auto& [name, kind] : kKinds) {
      if (name != text) continue;
      decl.kind = kind;
      return true;
    }
    decl.kind = IndexKind::kDType;
    if (text.rfind("DType[", 0) == 0) {
      const TypeText type =
          parse_type(decl.source, true, scope.entry_name(), scope.path(), scope.diagnostics());
      for (const TypeMember& m : type.members) {
        if (decl.dtypes.contains(m.dtype)) {
          Diagnostic& d = scope.error(
              decl.source.where, "index.kind", fmt::format("the dtype {} stands twice", m.text));
          d.expected = "each dtype once";
          return false;
        }
        decl.dtypes.insert(m.dtype);
        decl.listed.push_back(m.dtype);
      }
      return !type.members.empty();
    }
    constexpr std::array<std::string_view, 5> kNames{"Dim", "Shape", "DType", "Seq", "Seq[Int]"};
    Diagnostic& d = scope.error(
        decl.source.where, "index.kind", fmt::format("'{}' is no kind of an index", text));
    d.found = fmt::format("'{}'", text);
    d.expected = "Dim, Shape, DType[a | b] or Seq[Int]; Seq[Shape] or Seq[Dim] over a list";
    d.hint = text == "DType" ? "list the dtypes: DType[float16 | float32]"
                             : did_you_mean(text, kNames, 1);
    return false;
  }

  // ---- Parameters ------------------------------------------------------------------------------

  void param(const Scope& scope, const Node& key, const Node& value) {
    if (value.is_map() && value.find("shape") != nullptr) {
      tensor(scope, key, value, TensorRole::kConstruction);
      return;
    }
    const bool named = declare(scope, key, "a parameter");
    const Fields fields(scope, value, kParamKeys, "a parameter");
    if (!fields.is_map()) entry_.reported_names.push_back(key.text);
    if (!named || !fields.is_map()) return;
    ParamDecl decl;
    ParamEntry entry;
    decl.name = key.text;
    decl.where = scope.at(key);
    if (const Node* type = fields.get("type")) {
      const Text text = scope.in("type").text(*type, "a type");
      entry.type =
          parse_type(text, false, scope.entry_name(), scope.in("type").path(), scope.diagnostics());
      decl.type_text = text.text;
    }
    if (const Node* given = fields.get("default")) {
      entry.default_value = RawValue{value_from_yaml(*given), scope.at(*given)};
      decl.default_value = entry.default_value->value;
    }
    if (const Node* kw_only = fields.get("kw_only"))
      decl.kw_only = scope.in("kw_only").boolean(*kw_only).value_or(false);
    decl_.constructor_order.emplace_back(false, static_cast<std::uint32_t>(decl_.params.size()));
    decl_.params.push_back(std::move(decl));
    entry_.params.push_back(std::move(entry));
  }

  // ---- Tensors ---------------------------------------------------------------------------------

  void tensor(const Scope& scope, const Node& key, const Node& value, TensorRole role) {
    const bool input = role == TensorRole::kInput;
    const bool output = role == TensorRole::kOutput;
    const std::string_view what = input    ? "an input"
                                  : output ? "an output"
                                           : "a construction-time tensor";
    const bool named = declare(scope, key, what, input && is_result_buffer(value));
    const auto keys = input    ? std::span<const KeySpec>(kInputKeys)
                      : output ? std::span<const KeySpec>(kOutputKeys)
                               : std::span<const KeySpec>(kConstructionKeys);
    const Fields fields(scope, value, keys, what);
    if (!fields.is_map()) entry_.reported_names.push_back(key.text);
    if (!named || !fields.is_map()) return;
    TensorDecl decl;
    TensorEntry entry;
    decl.name = key.text;
    decl.role = role;
    decl.where = scope.at(key);
    if (const Node* node = fields.get("dtype"))
      entry.dtype = scope.in("dtype").text(*node, "a dtype, or an index of kind DType");
    if (const Node* node = fields.get("shape"))
      entry.shape = scope.in("shape").text(*node, "a shape such as \"[M, K]\"");
    decl.dtype_text = entry.dtype.text;
    decl.shape_text = entry.shape.text;
    presence(scope, fields, output, decl, entry);
    effects(scope, fields, decl, entry);
    placement(scope, fields, decl);
    generated(scope, fields, decl, entry);
    if (input || output) list(scope, fields, decl, entry);
    if (role == TensorRole::kConstruction) {
      decl_.constructor_order.emplace_back(
          true, static_cast<std::uint32_t>(decl_.construction_tensors.size()));
      decl_.construction_tensors.push_back(std::move(decl));
      entry_.construction_tensors.push_back(std::move(entry));
    } else {
      (input ? decl_.inputs : decl_.outputs).push_back(std::move(decl));
      (input ? entry_.inputs : entry_.outputs).push_back(std::move(entry));
    }
  }

  /// An input that says that it is a required result buffer: it alone may be called `out`.
  static bool is_result_buffer(const Node& value) {
    const auto is_true = [&](std::string_view key) {
      const Node* node = value.is_map() ? value.find(key) : nullptr;
      return node != nullptr && node->kind == Node::Kind::kBool && node->value == Value(true);
    };
    return is_true("mutated") && is_true("write_only") && is_true("kw_only");
  }

  void presence(
      const Scope& scope, const Fields& fields, bool output, TensorDecl& decl, TensorEntry& entry) {
    const std::string_view key = output ? "nullable" : "optional";
    const Node* node = fields.get(key);
    if (node == nullptr) return;
    if (!output && node->kind == Node::Kind::kBool && node->value == Value(true)) {
      decl.optional = When::kAlways;
      return;
    }
    if (!node->is_string()) {
      entry_.reported_names.push_back(decl.name);
      scope.in(key).wrong_kind(*node,
                               output ? "a condition" : "true or a condition",
                               node->kind == Node::Kind::kBool && !output
                                   ? "leave 'optional' out of a required tensor"
                                   : "");
      return;
    }
    entry.optional = scope.in(key).text(*node, "a condition");
    decl.optional = When::kConditional;
    decl.optional_text = entry.optional.text;
  }

  static void effects(const Scope& scope,
                      const Fields& fields,
                      TensorDecl& decl,
                      TensorEntry& entry) {
    if (const Node* node = fields.get("mutated")) {
      if (node->kind == Node::Kind::kBool) {
        decl.mutated = *node->value.get_if<bool>() ? When::kAlways : When::kNever;
      } else if (node->is_string()) {
        entry.mutated = scope.in("mutated").text(*node, "a condition");
        decl.mutated = When::kConditional;
        decl.mutated_text = entry.mutated.text;
      } else {
        scope.in("mutated").wrong_kind(*node, "true, false or a condition");
      }
    }
    if (const Node* node = fields.get("write_only"))
      decl.write_only = scope.in("write_only").boolean(*node).value_or(false);
    if (const Node* node = fields.get("kw_only"))
      entry.kw_only = scope.in("kw_only").boolean(*node).value_or(false);
    if (const Node* node = fields.get("alias")) {
      entry.alias = scope.in("alias").text(*node, "the name of an input");
      decl.alias = entry.alias.text;
    }
    if (const Node* node = fields.get("may_alias")) {
      entry.has_may_alias = true;
      entry.may_alias = scope.in("may_alias").texts(*node, "a list of inputs");
      for (const Text& name : entry.may_alias) decl.may_alias.push_back(name.text);
    }
    decl.buffer_out = word(scope, fields, "buffer", "out");
  }

  /// A key with one legal value.
  static bool word(const Scope& scope,
                   const Fields& fields,
                   std::string_view key,
                   std::string_view legal) {
    const Node* node = fields.get(key);
    if (node == nullptr) return false;
    if (node->is_string() && node->text == legal) return true;
    const std::array<std::string_view, 1> words{legal};
    if (node->is_string()) {
      scope.in(key).wrong_word(
          scope.at(*node), fmt::format("value of '{}'", key), node->text, words);
    } else {
      scope.in(key).wrong_kind(*node, fmt::format("'{}'", legal));
    }
    return false;
  }

  static void placement(const Scope& scope, const Fields& fields, TensorDecl& decl) {
    decl.on_cpu = word(scope, fields, "device", "cpu");
    if (const Node* node = fields.get("contiguous")) {
      decl.contiguous = node->kind == Node::Kind::kBool && node->value == Value(true);
      if (!decl.contiguous)
        scope.in("contiguous")
            .wrong_kind(*node, "true", "leave 'contiguous' out where any stride will do");
    }
  }

  static void generated(const Scope& scope,
                        const Fields& fields,
                        TensorDecl& decl,
                        TensorEntry& entry) {
    const Node* values = fields.get("values");
    if (values != nullptr) entry.values = scope.in("values").text(*values, "a generator call");
    decl.values_text = entry.values.text;
    const Node* node = fields.get("requires");
    if (node == nullptr) return;
    entry.requirements = scope.in("requires").texts(*node, "a list of predicate calls");
    for (const Text& text : entry.requirements) decl.requires_texts.push_back(text.text);
    if (values != nullptr) return;
    Diagnostic& d =
        scope.in("requires").error(*node, "tensor.requires", "'requires' stands without 'values'");
    d.expected = "'values' beside it";
    d.hint = "predicates are checked on generated contents: add a generator, or remove 'requires'";
  }

  static void list(const Scope& scope, const Fields& fields, TensorDecl& decl, TensorEntry& entry) {
    const Node* node = fields.get("list");
    if (node == nullptr) return;
    const Scope here = scope.in("list");
    decl.list.emplace();
    if (decl.role == TensorRole::kOutput) {
      entry.list_count = here.text(*node, "an expression for the number of tensors");
      decl.list_count_text = entry.list_count.text;
      return;
    }
    constexpr std::array kKeys{KeySpec{"min"}, KeySpec{"max"}};
    const Fields bounds(here, *node, kKeys, "list");
    const auto bound = [&](std::string_view key, std::uint32_t& out) {
      const Node* value = bounds.get(key);
      if (value == nullptr) return;
      const auto number = here.in(key).integer(*value);
      if (!number) return;
      if (*number < 0 || *number > 4096) {
        here.in(key).wrong_kind(*value, "a count from 0 to 4096");
      } else {
        out = static_cast<std::uint32_t>(*number);
      }
    };
    bound("min", decl.list->min);
    bound("max", decl.list->max);
    if (decl.list->min <= decl.list->max) return;
    Diagnostic& d = here.error(*node,
                               "tensor.list",
                               fmt::format("a list of at least {} and at most {} tensors is none",
                                           decl.list->min,
                                           decl.list->max));
    d.expected = "min at most max";
  }

  // ---- Type families ---------------------------------------------------------------------------

  void family(const Scope& scope, const Node& key, const Node& value) {
    constexpr std::array kKeys{
        KeySpec{"params", true}, KeySpec{"match", true}, KeySpec{"cases", true}};
    const bool named = declare(scope, key, "a type family");
    const Fields fields(scope, value, kKeys, "a type family");
    if (!named || !fields.is_map()) return;
    FamilyDecl family;
    family.name = key.text;
    family.where = scope.at(key);
    if (const Node* params = fields.section("params")) formals(scope.in("params"), *params, family);
    if (const Node* match = fields.get("match")) {
      family.match_is_list = match->is_list();
      if (match->is_list()) {
        family.match = scope.in("match").texts(*match, "expressions");
        if (match->items.empty())
          scope.in("match").wrong_kind(*match, "an expression, or a list of at least one");
      } else {
        const Text text = scope.in("match").text(*match, "an expression");
        if (!text.empty()) family.match.push_back(text);
      }
    }
    const Node* cases = fields.get("cases");
    if (cases != nullptr && (!cases->is_list() || cases->items.empty())) {
      scope.in("cases").wrong_kind(*cases, "a list of at least one case");
    } else if (cases != nullptr) {
      const Node* match = fields.get("match");
      const std::size_t width = match == nullptr ? 0 : match->is_list() ? match->items.size() : 1;
      for (std::size_t i = 0; i < cases->items.size(); ++i) {
        family_case(scope.in("cases").item(i), cases->items[i], width, family);
      }
    }
    entry_.families.push_back(std::move(family));
  }

  static void formals(const Scope& scope, const Node& node, FamilyDecl& family) {
    if (!is_section(scope, node, "params")) return;
    for (std::size_t i = 0; i < node.size(); ++i) {
      const Node& key = node.key(i);
      const Scope here = scope.in(key.text);
      if (!here.name(key, "a family's parameter")) continue;
      const Text text = here.text(node.mapped(i), "a kind");
      family.formals.push_back(
          {key.text, parse_type(text, true, here.entry_name(), here.path(), here.diagnostics())});
    }
  }

  static void family_case(const Scope& scope,
                          const Node& node,
                          std::size_t width,
                          FamilyDecl& family) {
    constexpr std::array kKeys{KeySpec{"when", true}, KeySpec{"is", true}};
    const Fields fields(scope, node, kKeys, "a case");
    if (!fields.is_map()) return;
    FamilyCase c;
    c.where = scope.at(node);
    const Node* when = fields.get("when");
    if (when != nullptr && family.match_is_list) {
      if (!when->is_list() || when->items.size() != width) {
        scope.in("when").wrong_kind(
            *when, fmt::format("a list of {} patterns, one for each 'match'", width));
      } else {
        for (std::size_t i = 0; i < when->items.size(); ++i)
          pattern(scope.in("when").item(i), when->items[i], c);
      }
    } else if (when != nullptr) {
      pattern(scope.in("when"), *when, c);
    }
    if (const Node* is = fields.get("is"))
      c.is = scope.in("is").text(*is, "a shape, or another family's application");
    family.cases.push_back(std::move(c));
  }

  static void pattern(const Scope& scope, const Node& node, FamilyCase& c) {
    Pattern p;
    p.where = scope.at(node);
    if (node.is_string() && node.text == "_") {
      p.kind = Pattern::Kind::kAny;
    } else if (node.is_string() || node.kind == Node::Kind::kBool) {
      p.kind = Pattern::Kind::kValue;
      p.value = node.value;
    } else if (node.is_map() && node.size() == 1) {
      p.kind = Pattern::Kind::kConstructor;
      p.constructor = node.key(0).text;
      const Node& inner = node.mapped(0);
      if (inner.is_map()) {
        for (std::size_t i = 0; i < inner.size(); ++i) {
          const Node& value = inner.mapped(i);
          if (!value.is_string() && value.kind != Node::Kind::kBool) {
            scope.in(inner.key(i).text)
                .wrong_kind(value, "a word or a bool", "a pattern tests finite fields only");
            return;
          }
          p.fields.emplace_back(inner.key(i).text, value.value);
        }
      } else if (!inner.is_string() || inner.text != "_") {
        scope.wrong_kind(inner, "'_' or a map of fields");
        return;
      }
    } else {
      scope.wrong_kind(node, "a pattern: a word, a bool, '_' or {constructor: ...}");
      return;
    }
    c.when.push_back(std::move(p));
  }

  // ---- Combinations ----------------------------------------------------------------------------

  void combos(const Scope& scope, const Node& node) {
    if (!node.is_list()) {
      scope.wrong_kind(node, "a list of maps");
      return;
    }
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      const Node& row = node.items[i];
      const Scope here = scope.item(i);
      if (!row.is_map() || row.items.empty()) {
        here.wrong_kind(row, "a map from names to dtypes");
        continue;
      }
      DTypeComboRow combo;
      combo.where = here.at(row);
      for (std::size_t k = 0; k < row.size(); ++k) {
        Text dtype = here.in(row.key(k).text).text(row.mapped(k), "a dtype");
        if (combo_value(here.in(row.key(k).text), row.key(k), dtype))
          combo.assignment.emplace_back(row.key(k).text, std::move(dtype));
      }
      if (combo.assignment.size() != row.size()) continue;
      if (entry_.dtype_combos.empty() || check_combo(here, combo))
        entry_.dtype_combos.push_back(std::move(combo));
    }
  }

  /// What a DType index allows; false where the index is faulty, which is reported already.
  bool legal_of_index(std::string_view name, DTypeSet& legal, bool& known) const {
    for (const IndexDecl& index : entry_.indices) {
      if (index.name != name) continue;
      if (index.faulty) return false;
      if (index.kind != IndexKind::kDType) continue;
      legal = index.dtypes;
      known = true;
    }
    return true;
  }

  /// What a dtype parameter allows; false where its type could not be read.
  bool legal_of_param(std::string_view name, DTypeSet& legal, bool& known) const {
    for (std::size_t i = 0; i < decl_.params.size(); ++i) {
      if (decl_.params[i].name != name) continue;
      const TypeText& type = entry_.params[i].type;
      if (type.members.empty()) return false;
      known = std::all_of(type.members.begin(), type.members.end(), [](const TypeMember& m) {
        return m.atom == TypeMember::Atom::kDType || m.atom == TypeMember::Atom::kAnyDType;
      });
      for (const TypeMember& m : type.members) {
        if (m.atom == TypeMember::Atom::kDType) legal.insert(m.dtype);
        if (m.atom != TypeMember::Atom::kAnyDType) continue;
        for (const DType d : all_dtypes()) legal.insert(d);
      }
    }
    return true;
  }

  bool combo_value(const Scope& scope, const Node& key, const Text& dtype) {
    if (dtype.empty()) return false;
    DTypeSet legal;
    bool known = false;
    if (!legal_of_index(key.text, legal, known)) return false;
    if (!legal_of_param(key.text, legal, known)) return false;
    if (!known && entry_.was_reported(key.text)) return false;
    if (!known) {
      Diagnostic& d =
          scope.error(key,
                      "combos.name",
                      fmt::format("'{}' is no DType index and no dtype parameter", key.text));
      d.found = fmt::format("'{}'", key.text);
      d.expected = "an index of kind DType, or a dtype parameter that is never None";
      return false;
    }
    const auto value = dtype_from_name(dtype.text);
    if (value && legal.contains(*value)) return true;
    Diagnostic& d =
        scope.error(dtype.where,
                    "combos.dtype",
                    fmt::format("'{}' is not among the dtypes of {}", dtype.text, key.text));
    d.found = fmt::format("'{}'", dtype.text);
    std::vector<std::string_view> names;
    for (const DType one : all_dtypes()) {
      if (legal.contains(one)) names.push_back(name_of(one));
    }
    d.expected = fmt::format("{}", fmt::join(names, " | "));
    d.hint = did_you_mean(dtype.text, names, 1);
    return false;
  }

  bool check_combo(const Scope& scope, const DTypeComboRow& combo) const {
    const auto find = [](const DTypeComboRow& row, const std::string& name) -> const Text* {
      for (const auto& [key, dtype] : row.assignment) {
        if (key == name) return &dtype;
      }
      return nullptr;
    };
    const DTypeComboRow& first = entry_.dtype_combos.front();
    const bool same_keys =
        combo.assignment.size() == first.assignment.size() &&
        std::all_of(combo.assignment.begin(), combo.assignment.end(), [&](const auto& pair) {
          return find(first, pair.first) != nullptr;
        });
    if (!same_keys) {
      Diagnostic& d = scope.error(
          combo.where,
          "combos.keys",
          fmt::format("this row has other keys than the first one, at line {}", first.where.line));
      d.expected = "the same keys in every row";
      return false;
    }
    for (const DTypeComboRow& other : entry_.dtype_combos) {
      const bool equal =
          std::all_of(combo.assignment.begin(), combo.assignment.end(), [&](const auto& pair) {
            const Text* dtype = find(other, pair.first);
            return dtype != nullptr && dtype->text == pair.second.text;
          });
      if (!equal) continue;
      Diagnostic& d =
          scope.error(combo.where,
                      "combos.duplicate",
                      fmt::format("this row stands already at line {}", other.where.line));
      d.expected = "each combination once";
      d.hint = "remove one of the two";
      return false;
    }
    return true;
  }

  Scope scope_;
  Entry& entry_;
  OpDecl& decl_;
  std::vector<std::pair<std::string, std::uint32_t>> names_;
};

}  // namespace

void read_signature(const Scope& scope, const Node& node, Entry& entry) {
  SignatureReader(scope, entry).run(node);
}

}  // namespace tenon::manifest
