// types.yaml: the algebraic types that entries share.
#include <array>

#include <fmt/format.h>

#include "reader_entry.hpp"
#include "tenon/manifest/reader.hpp"

namespace tenon::manifest {
namespace {

bool finite_or_dim(const TypeText& type) {
  using Atom = TypeMember::Atom;
  if (type.members.size() == 1) {
    const Atom atom = type.members[0].atom;
    return atom == Atom::kDim || atom == Atom::kInt || atom == Atom::kBool ||
           atom == Atom::kLiteral;
  }
  for (const TypeMember& m : type.members) {
    if (m.atom != Atom::kLiteral) return false;
  }
  return true;
}

std::string python_text(const Scope& scope, const Fields& fields) {
  const Node* node = fields.section("python");
  return node == nullptr ? std::string() : scope.in("python").text(*node, "a dotted name").text;
}

void read_field(const Scope& scope,
                const Node& key,
                const Node& value,
                AdtConstructor& constructor) {
  if (!scope.name(key, "a field")) return;
  AdtField field;
  field.name = key.text;
  field.where = scope.at(key);
  Text type;
  if (value.is_map()) {
    constexpr std::array kKeys{KeySpec{"type", true}, KeySpec{"python"}};
    const Fields fields(scope, value, kKeys, "a field");
    if (const Node* node = fields.get("type"))
      type = scope.in("type").text(*node, "Dim, Int, Bool or quoted words");
    field.python = python_text(scope, fields);
  } else {
    type = scope.text(value, "Dim, Int, Bool or quoted words");
  }
  field.type = parse_type(type, true, scope.entry_name(), scope.path(), scope.diagnostics());
  if (!field.type.members.empty() && !finite_or_dim(field.type)) {
    Diagnostic& d = scope.error(
        type.where, "adt.field", fmt::format("'{}' cannot be the kind of a field", type.text));
    d.found = fmt::format("'{}'", type.text);
    d.expected = "Dim, Int, Bool or quoted words";
    field.type.members.clear();
  }
  constructor.fields.push_back(std::move(field));
}

void read_constructor(const Scope& scope, const Node& key, const Node& value, AdtDecl& adt) {
  constexpr std::array kKeys{KeySpec{"python"}, KeySpec{"fields"}, KeySpec{"invariant"}};
  if (!scope.name(key, "a constructor")) return;
  AdtConstructor constructor;
  constructor.name = key.text;
  constructor.where = scope.at(key);
  if (!value.is_null()) {
    const Fields fields(scope, value, kKeys, "a constructor");
    constructor.python = python_text(scope, fields);
    const Node* list = fields.section("fields");
    if (list != nullptr && is_section(scope.in("fields"), *list, "fields")) {
      for (std::size_t i = 0; i < list->size(); ++i) {
        read_field(
            scope.in("fields").in(list->key(i).text), list->key(i), list->mapped(i), constructor);
      }
    }
    if (const Node* node = fields.section("invariant"))
      constructor.invariant = scope.in("invariant").text(*node, "a condition");
  }
  adt.constructors.push_back(std::move(constructor));
}

void read_adt(const Scope& scope, const Node& key, const Node& value, std::vector<AdtDecl>& adts) {
  constexpr std::array kKeys{KeySpec{"sum", true}};
  if (!scope.name(key, "a type")) return;
  AdtDecl adt;
  adt.name = key.text;
  adt.where = scope.at(key);
  const Text as_type = scope.as_text(key);
  const std::size_t before = scope.diagnostics().error_count();
  const TypeText own =
      parse_type(as_type, true, scope.entry_name(), scope.path(), scope.diagnostics());
  if (own.members.size() == 1 && own.members[0].atom != TypeMember::Atom::kName) {
    Diagnostic& d = scope.error(
        key, "name.reserved", fmt::format("'{}' is a type of the language itself", key.text));
    d.hint = "choose another name";
  }
  const Fields fields(scope, value, kKeys, "a type");
  if (const Node* sum = fields.get("sum")) {
    if (!sum->is_map() || sum->items.empty()) {
      scope.in("sum").wrong_kind(*sum, "a map of at least one constructor");
    } else {
      for (std::size_t i = 0; i < sum->size(); ++i) {
        read_constructor(scope.in("sum").in(sum->key(i).text), sum->key(i), sum->mapped(i), adt);
      }
    }
  }
  adt.faulty = scope.diagnostics().error_count() != before;
  adts.push_back(std::move(adt));
}

}  // namespace

void read_types(const Scope& file, const Node& root, std::vector<AdtDecl>& adts) {
  constexpr std::array kKeys{KeySpec{"adts", true}};
  if (root.is_null()) return;
  const Fields fields(file, root, kKeys, "types.yaml");
  const Node* node = fields.section("adts");
  if (node == nullptr || !is_section(file.in("adts"), *node, "adts")) return;
  for (std::size_t i = 0; i < node->size(); ++i) {
    // The ADT stands where an entry's name would: diagnostics name it.
    read_adt(file.entry(node->key(i).text), node->key(i), node->mapped(i), adts);
  }
}

}  // namespace tenon::manifest
