// Faults that only the whole set shows: names given twice, references that lead nowhere, cycles.
#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "reader_entry.hpp"
#include "tenon/core/nearest.hpp"
#include "tenon/core/schema_of.hpp"
#include "tenon/manifest/reader.hpp"

namespace tenon::manifest {
namespace {

class SetChecker {
 public:
  SetChecker(ManifestSet& set, const LoadOptions& options, DiagnosticList& diagnostics)
      : set_(set), options_(options), diagnostics_(diagnostics) {}

  void run() {
    for (const AdtDecl& adt : set_.adts)
      check_twice(adts_, adt.name, adt.where, adt.name, "", "adt.duplicate", "type");
    for (Entry& entry : set_.entries) {
      check_twice(
          ops_, entry.decl.name, entry.decl.where, entry.decl.name, "", "entry.duplicate", "op");
      for (const InterfaceEntry& interface : entry.interfaces) {
        check_twice(interfaces_,
                    interface.name,
                    interface.where,
                    entry.decl.name,
                    "interfaces." + interface.name,
                    "interface.duplicate",
                    "interface");
      }
      check_schema(entry);
      check_types(entry);
      check_references(entry);
    }
    check_cycles();
  }

 private:
  using Seen = std::map<std::string, SourceLocation, std::less<>>;

  void check_twice(Seen& seen,
                   const std::string& name,
                   const SourceLocation& where,
                   const std::string& entry,
                   std::string field,
                   std::string rule,
                   std::string_view what) {
    const auto [at, fresh] = seen.emplace(name, where);
    if (fresh) return;
    Diagnostic& d = diagnostics_.error(where,
                                       entry,
                                       std::move(field),
                                       std::move(rule),
                                       fmt::format("the {} '{}' is declared twice: at {} and at {}",
                                                   what,
                                                   name,
                                                   at->second.to_string(),
                                                   where.to_string()));
    d.found = fmt::format("'{}' again, first at {}", name, at->second.to_string());
    d.expected = fmt::format("each {} once in a set", what);
    d.hint = "remove or rename one of the two";
  }

  void check_schema(const Entry& entry) {
    if (!is_op_name(entry.decl.name)) return;
    const bool given = !entry.schema.empty();
    std::string name = given ? entry.decl.schema_name : default_schema_name(entry.decl.name);
    if (!entry.decl.schema_overload.empty()) name += "." + entry.decl.schema_overload;
    check_twice(schemas_,
                name,
                given ? entry.schema.where : entry.decl.where,
                entry.decl.name,
                given ? "schema" : "",
                "schema.duplicate",
                "operator schema");
  }

  void check_types(Entry& entry) {
    for (std::size_t i = 0; i < entry.params.size(); ++i) {
      check_type(entry,
                 entry.params[i].type,
                 fmt::format("signature.params.{}.type", entry.decl.params[i].name),
                 true);
    }
    for (FamilyDecl& family : entry.families) {
      for (FamilyFormal& formal : family.formals) {
        check_type(entry,
                   formal.type,
                   fmt::format("signature.types.{}.params.{}", family.name, formal.name),
                   false);
      }
    }
  }

  /// A capitalised name that is near none that is known is a class of another library, as a dotted
  /// name is: a parameter of it is carried and compared, and no shape can read it.
  void check_type(const Entry& entry,
                  TypeText& type,
                  const std::string& field,
                  bool objects_are_legal) {
    for (TypeMember& m : type.members) {
      if (m.atom != TypeMember::Atom::kName || set_.find_adt(m.text) != nullptr) continue;
      std::vector<std::string_view> names{
          "int", "bool", "float", "str", "Number", "dict", "None", "torch.dtype"};
      for (const DType d : all_dtypes()) names.push_back(name_of(d));
      for (const AdtDecl& adt : set_.adts) names.push_back(adt.name);
      if (objects_are_legal && m.text.front() >= 'A' && m.text.front() <= 'Z' &&
          nearest_names(m.text, names, 1).empty()) {
        m.atom = TypeMember::Atom::kDotted;
        Diagnostic& d = diagnostics_.advisory(
            type.source.at(type.source.text.find(m.text)),
            entry.decl.name,
            field,
            "type.object",
            fmt::format("'{}' is no type and no ADT of this set: its values are carried as objects",
                        m.text));
        d.found = fmt::format("'{}'", m.text);
        d.hint = "an algebraic type is declared under 'adts' of types.yaml";
        continue;
      }
      Diagnostic& d =
          diagnostics_.error(type.source.at(type.source.text.find(m.text)),
                             entry.decl.name,
                             field,
                             "type.unknown",
                             fmt::format("'{}' is no type and no ADT of this set", m.text));
      d.found = fmt::format("'{}'", m.text);
      d.expected =
          "int, bool, float, str, a quoted word, a dtype, list[int], a dotted name, or a name "
          "under 'adts' of types.yaml";
      d.hint = did_you_mean(m.text, names, 1);
    }
  }

  void check_references(const Entry& entry) {
    if (!entry.backward_op.empty()) check_backward(entry);
    for (std::size_t i = 0; i < entry.stages.size(); ++i) {
      const StageEntry& stage = entry.stages[i];
      if (!stage.op.empty()) check_op(entry, stage.op, fmt::format("composition.stages[{}].op", i));
      if (!stage.kernel.empty() && !entry.interfaces.empty()) check_kernel(entry, stage.kernel, i);
    }
  }

  void check_backward(const Entry& entry) {
    check_op(entry, entry.backward_op, "backward.op");
    if (entry.backward_op.text.ends_with("BwdOp")) return;
    Diagnostic& d = diagnostics_.error(
        entry.backward_op.where,
        entry.decl.name,
        "backward.op",
        "backward.op",
        fmt::format("'{}' is not named as a backward op", entry.backward_op.text));
    d.found = fmt::format("'{}'", entry.backward_op.text);
    d.expected = "the name of an entry that ends in BwdOp";
  }

  void check_op(const Entry& entry, const Text& op, std::string field) {
    if (set_.find(op.text) != nullptr || op.text.find("::") != std::string::npos) return;
    std::vector<std::string> names;
    for (const Entry& other : set_.entries) names.push_back(other.decl.name);
    Diagnostic& d = diagnostics_.error(op.where,
                                       entry.decl.name,
                                       std::move(field),
                                       "op.unknown",
                                       fmt::format("there is no entry '{}' in this set", op.text));
    d.found = fmt::format("'{}'", op.text);
    d.expected = "the name of an entry";
    d.hint = did_you_mean(op.text, names, 1);
    if (options_.complete) return;
    d.severity = Severity::kAdvisory;  // it may stand in a file that was not named
    if (d.hint.empty()) d.hint = "check it together with the files that hold the other ops";
  }

  void check_kernel(const Entry& entry, const Text& kernel, std::size_t stage) {
    std::vector<std::string> names;
    for (const InterfaceEntry& interface : entry.interfaces) names.push_back(interface.name);
    if (std::find(names.begin(), names.end(), kernel.text) != names.end()) return;
    Diagnostic& d = diagnostics_.error(kernel.where,
                                       entry.decl.name,
                                       fmt::format("composition.stages[{}].kernel", stage),
                                       "interface.unknown",
                                       fmt::format("the entry has no interface '{}'", kernel.text));
    d.found = fmt::format("'{}'", kernel.text);
    d.expected = fmt::format("one of {}", fmt::join(names, ", "));
    d.hint = did_you_mean(kernel.text, names, 1);
  }

  /// A composite op whose stages lead back to itself could never run.
  void check_cycles() {
    std::map<std::string, int, std::less<>> state;  // 1: on the path, 2: done
    for (const Entry& entry : set_.entries) {
      std::vector<std::string> path;
      visit(entry, state, path);
    }
  }

  void visit(const Entry& entry,
             std::map<std::string, int, std::less<>>& state,
             std::vector<std::string>& path) {
    constexpr std::size_t kDeepest = 256;
    if (state[entry.decl.name] == 2 || path.size() > kDeepest) return;
    state[entry.decl.name] = 1;
    path.push_back(entry.decl.name);
    for (std::size_t i = 0; i < entry.stages.size(); ++i) {
      const Entry* next = set_.find(entry.stages[i].op.text);
      if (next == nullptr) continue;
      if (state[next->decl.name] != 1) {
        visit(*next, state, path);
        continue;
      }
      const auto begin = std::find(path.begin(), path.end(), next->decl.name);
      Diagnostic& d =
          diagnostics_.error(entry.stages[i].op.where,
                             entry.decl.name,
                             fmt::format("composition.stages[{}].op", i),
                             "composition.cycle",
                             fmt::format("the composition leads back to itself: {} -> {}",
                                         fmt::join(begin, path.end(), " -> "),
                                         next->decl.name));
      d.expected = "stages that never reach the op itself";
    }
    path.pop_back();
    state[entry.decl.name] = 2;
  }

  ManifestSet& set_;
  const LoadOptions& options_;
  DiagnosticList& diagnostics_;
  Seen ops_;
  Seen adts_;
  Seen interfaces_;
  Seen schemas_;
};

}  // namespace

void check_set(ManifestSet& set, const LoadOptions& options, DiagnosticList& diagnostics) {
  SetChecker(set, options, diagnostics).run();
}

}  // namespace tenon::manifest
