// Compares two versions of a manifest by what callers and plugins rely on.
#include "tenon/manifest/diff.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "tenon/core/contract.hpp"
#include "tenon/core/dtype.hpp"
#include "tenon/core/schema.hpp"

namespace tenon::manifest {
namespace {

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

/// The contract that a plugin got when it was built against a declaration. Points into the
/// declaration.
class BuiltContract {
 public:
  explicit BuiltContract(const InterfaceDecl& interface) : hash_(contract_hash(interface)) {
    members_.reserve(interface.fields.size());
    for (const CallFieldDecl& field : interface.fields) {
      std::vector<tenon_str>& members = members_.emplace_back();
      for (const std::string& member : field.members) members.push_back(view_of(member));
      tenon_field built{};
      built.name = view_of(field.name);
      built.kind = field.kind;
      built.flags = field.optional ? TENON_FIELD_OPTIONAL : 0;
      built.values = members.data();
      built.n_values = members.size();
      fields_.push_back(built);
    }
    dtypes_.reserve(interface.args.size());
    for (const InterfaceArgDecl& arg : interface.args) {
      std::vector<tenon_dtype>& dtypes = dtypes_.emplace_back();
      for (const DType dtype : arg.dtypes) dtypes.push_back(to_abi(dtype));
      tenon_arg built{};
      built.name = view_of(arg.name);
      built.role = arg.role;
      built.flags = (arg.optional ? TENON_ARG_OPTIONAL : 0) | (arg.list ? TENON_ARG_LIST : 0);
      built.dtypes = dtypes.data();
      built.n_dtypes = dtypes.size();
      args_.push_back(built);
    }
  }

  [[nodiscard]] tenon_contract contract() const {
    return {
        sizeof(tenon_contract), hash_, fields_.data(), fields_.size(), args_.data(), args_.size()};
  }

 private:
  static tenon_str view_of(const std::string& text) { return {text.data(), text.size()}; }

  std::uint64_t hash_;
  std::vector<std::vector<tenon_str>> members_;
  std::vector<std::vector<tenon_dtype>> dtypes_;
  std::vector<tenon_field> fields_;
  std::vector<tenon_arg> args_;
};

/// The names of the dtypes in one set and not in the other; empty: none.
std::string only_in(DTypeSet set, DTypeSet other) {
  std::string names;
  for (const DType dtype : all_dtypes()) {
    if (!set.contains(dtype) || other.contains(dtype)) continue;
    names += names.empty() ? "" : ", ";
    names += name_of(dtype);
  }
  return names;
}

/// One op in both versions.
class OpComparison {
 public:
  OpComparison(const OpDecl& older, const OpDecl& newer, std::vector<ManifestChange>& changes)
      : older_(older), newer_(newer), changes_(changes) {}

  void run() {
    compare_status();
    const bool have_schemas = compare_schemas_of_branches();
    if (!have_schemas) compare_params();
    compare_tensors(
        "construction-time tensor", older_.construction_tensors, newer_.construction_tensors);
    compare_tensors("input", older_.inputs, newer_.inputs);
    compare_tensors("output", older_.outputs, newer_.outputs);
    compare_interfaces();
  }

 private:
  void add(DiffAffected affected,
           bool is_certain,
           std::string message,
           const SourceLocation& where) {
    // The branches of an op share their parameters: a change of one is told once.
    if (!told_.emplace(affected, message).second) return;
    changes_.push_back({newer_.full_name(), affected, is_certain, std::move(message), where});
  }
  void callers(std::string message, const SourceLocation& where) {
    add(DiffAffected::kCallers, true, std::move(message), where);
  }
  void perhaps_callers(std::string message, const SourceLocation& where) {
    add(DiffAffected::kCallers, false, std::move(message), where);
  }
  void nobody(std::string message, const SourceLocation& where) {
    add(DiffAffected::kNobody, true, std::move(message), where);
  }

  void compare_status() {
    if (older_.implemented && !newer_.implemented) callers("the op is spec-only now", newer_.where);
    if (!older_.implemented && newer_.implemented)
      nobody("the op is implemented now", newer_.where);
    if (older_.flow != newer_.flow) {
      add(DiffAffected::kPlugins,
          false,
          "the flow is " + quoted(newer_.flow) + " now, was " + quoted(older_.flow),
          newer_.where);
    }
  }

  static std::map<std::string, Schema> schemas_of(const OpDecl& decl) {
    std::map<std::string, Schema> by_name;
    for (const EffectBranch& branch : decl.branches) {
      auto schema = parse_schema(branch.schema);
      if (schema) by_name.emplace(schema->full_name(), std::move(*schema));
    }
    return by_name;
  }

  /// False where a version has no schema, so that parameters must be compared by themselves.
  bool compare_schemas_of_branches() {
    const std::map<std::string, Schema> older = schemas_of(older_);
    const std::map<std::string, Schema> newer = schemas_of(newer_);
    for (const auto& [name, schema] : older) {
      const auto found = newer.find(name);
      if (found == newer.end()) {
        callers("schema " + quoted(name) + " is gone", newer_.where);
        continue;
      }
      for (const SchemaBreak& broken : compare_schemas(schema, found->second)) {
        if (broken.affected == SchemaAffected::kCallers) {
          callers(broken.message, newer_.where);
        } else {
          // A builder target serves the whole op and sees its parameters; kernels see call fields
          // only.
          add(DiffAffected::kPlugins,
              false,
              "for builder targets, " + broken.message,
              newer_.where);
        }
      }
    }
    for (const auto& [name, schema] : newer) {
      if (older.find(name) == older.end())
        nobody("schema " + quoted(name) + " is new", newer_.where);
    }
    return !older.empty() && !newer.empty();
  }

  void compare_params() {
    const auto find = [](const OpDecl& decl, const std::string& name) -> const ParamDecl* {
      for (const ParamDecl& param : decl.params) {
        if (param.name == name) return &param;
      }
      return nullptr;
    };
    for (const ParamDecl& older : older_.params) {
      const std::string which = "parameter " + quoted(older.name);
      const ParamDecl* newer = find(newer_, older.name);
      if (newer == nullptr) {
        callers(which + " is gone", older.where);
        continue;
      }
      if (older.type_text != newer->type_text) {
        perhaps_callers(which + " has type " + quoted(newer->type_text) + " now, was " +
                            quoted(older.type_text),
                        newer->where);
      }
      if (older.default_value && !newer->default_value)
        callers(which + " has lost its default", newer->where);
      if (older.default_value && newer->default_value &&
          !(*older.default_value == *newer->default_value)) {
        callers(which + " has default " + newer->default_value->to_string() + " now, was " +
                    older.default_value->to_string(),
                newer->where);
      }
    }
    for (const ParamDecl& newer : newer_.params) {
      if (find(older_, newer.name) != nullptr) continue;
      const std::string which = "parameter " + quoted(newer.name) + " is new";
      if (newer.default_value) {
        nobody(which, newer.where);
      } else {
        callers(which + " and has no default", newer.where);
      }
    }
  }

  void compare_tensors(std::string_view role,
                       const std::vector<TensorDecl>& older_tensors,
                       const std::vector<TensorDecl>& newer_tensors) {
    for (const TensorDecl& older : older_tensors) {
      const auto newer =
          std::find_if(newer_tensors.begin(), newer_tensors.end(), [&](const TensorDecl& tensor) {
            return tensor.name == older.name;
          });
      const std::string which = std::string(role) + " " + quoted(older.name);
      if (newer == newer_tensors.end()) {
        callers(which + " is gone", older.where);
      } else {
        compare_tensor(which, older, *newer);
      }
    }
    for (const TensorDecl& newer : newer_tensors) {
      const bool is_new =
          std::none_of(older_tensors.begin(), older_tensors.end(), [&](const TensorDecl& tensor) {
            return tensor.name == newer.name;
          });
      if (!is_new) continue;
      const std::string which = std::string(role) + " " + quoted(newer.name) + " is new";
      if (newer.role != TensorRole::kOutput && newer.optional == When::kAlways) {
        nobody(which, newer.where);
      } else if (newer.optional == When::kConditional) {
        perhaps_callers(which, newer.where);
      } else {
        callers(which, newer.where);
      }
    }
  }

  void compare_tensor(const std::string& which, const TensorDecl& older, const TensorDecl& newer) {
    const bool is_output = newer.role == TensorRole::kOutput;
    const std::string gone = only_in(older.dtypes, newer.dtypes);
    const std::string added = only_in(newer.dtypes, older.dtypes);
    if (!gone.empty()) {
      const std::string message = which + " is never " + gone + " any more";
      if (is_output) {
        perhaps_callers(message, newer.where);
      } else {
        callers(message, newer.where);
      }
    }
    if (!added.empty()) {
      const std::string message = which + " may be " + added + " now";
      if (is_output) {
        perhaps_callers(message, newer.where);
      } else {
        nobody(message, newer.where);
      }
    }
    if (older.shape_text != newer.shape_text) {
      perhaps_callers(which + " has shape " + quoted(newer.shape_text) + " now, was " +
                          quoted(older.shape_text),
                      newer.where);
    }
    if (!older.contiguous && newer.contiguous)
      callers(which + " must be contiguous now", newer.where);
    if (older.on_cpu != newer.on_cpu) {
      callers(which + (newer.on_cpu ? " stays on the CPU now" : " is on the call's device now"),
              newer.where);
    }
    if (older.list && newer.list &&
        (older.list->min < newer.list->min || older.list->max > newer.list->max)) {
      callers(which + " has " + std::to_string(newer.list->min) + " to " +
                  std::to_string(newer.list->max) + " tensors now, had " +
                  std::to_string(older.list->min) + " to " + std::to_string(older.list->max),
              newer.where);
    }
    compare_conditions(which, older, newer);
  }

  /// What schemas cannot say: under which condition a tensor is there or is written, and what it
  /// may share.
  void compare_conditions(const std::string& which,
                          const TensorDecl& older,
                          const TensorDecl& newer) {
    const auto when = [](When at, const std::string& text) {
      return at == When::kNever    ? std::string("never")
             : at == When::kAlways ? "always"
                                   : "when " + quoted(text);
    };
    const auto compare =
        [&](std::string_view what, const std::string& before, const std::string& now) {
          if (before == now) return;
          perhaps_callers(which + " is " + std::string(what) + " " + now + ", was " + before,
                          newer.where);
        };
    compare(newer.role == TensorRole::kOutput ? "nullable" : "optional",
            when(older.optional, older.optional_text),
            when(newer.optional, newer.optional_text));
    compare("written",
            when(older.mutated, older.mutated_text),
            when(newer.mutated, newer.mutated_text));
    for (const std::string& input : older.may_alias) {
      if (std::find(newer.may_alias.begin(), newer.may_alias.end(), input) != newer.may_alias.end())
        continue;
      callers(which + " may not be " + quoted(input) + " itself any more", newer.where);
    }
  }

  void compare_interfaces() {
    const auto find = [](const OpDecl& decl, const std::string& name) -> const InterfaceDecl* {
      for (const InterfaceDecl& interface : decl.interfaces) {
        if (interface.name == name) return &interface;
      }
      return nullptr;
    };
    for (const InterfaceDecl& older : older_.interfaces) {
      const std::string which = "interface " + quoted(older.name);
      if (const InterfaceDecl* newer = find(newer_, older.name)) {
        compare_interface(which, older, *newer);
      } else {
        add(DiffAffected::kPlugins, true, which + " is gone", older.where);
      }
    }
    for (const InterfaceDecl& newer : newer_.interfaces) {
      if (find(older_, newer.name) != nullptr) continue;
      // Older plugins have no kernels there: calls that reach it find none.
      perhaps_callers(
          "interface " + quoted(newer.name) + " is new, and older plugins do not fill it",
          newer.where);
    }
  }

  void compare_interface(const std::string& which,
                         const InterfaceDecl& older,
                         const InterfaceDecl& newer) {
    const BuiltContract built(older);
    const Result<ContractMatch> match = match_contract(built.contract(), newer);
    if (!match) {
      add(DiffAffected::kPlugins, true, match.error().message(), newer.where);
    } else if (!match->exact()) {
      add(DiffAffected::kNobody,
          true,
          "the contract of " + which +
              " has grown; older plugins are accepted, and refuse calls that use what is new",
          newer.where);
    }
    for (const CallFieldDecl& field : older.fields) compare_meaning(which, field, newer);
    for (const InterfaceArgDecl& arg : older.args) {
      for (const InterfaceArgDecl& now : newer.args) {
        if (now.name != arg.name || now.shape_text == arg.shape_text) continue;
        add(DiffAffected::kPlugins,
            false,
            "argument " + quoted(arg.name) + " of " + which + " has shape " +
                quoted(now.shape_text) + " now, was " + quoted(arg.shape_text),
            newer.where);
      }
    }
  }

  /// The contract has a field's kind, and not what it is computed from.
  void compare_meaning(const std::string& which,
                       const CallFieldDecl& field,
                       const InterfaceDecl& newer) {
    for (const CallFieldDecl& now : newer.fields) {
      if (now.name != field.name || now.text == field.text) continue;
      add(DiffAffected::kPlugins,
          false,
          "call field " + quoted(field.name) + " of " + which + " is " + quoted(now.text) +
              " now, was " + quoted(field.text),
          newer.where);
    }
  }

  const OpDecl& older_;
  const OpDecl& newer_;
  std::vector<ManifestChange>& changes_;
  std::set<std::pair<DiffAffected, std::string>> told_;
};

std::map<std::string, const OpDecl*> by_name(std::span<const OpDecl* const> ops) {
  std::map<std::string, const OpDecl*> named;
  for (const OpDecl* op : ops) named.emplace(op->full_name(), op);
  return named;
}

}  // namespace

std::string_view name_of(DiffAffected affected) noexcept {
  switch (affected) {
    case DiffAffected::kNobody:
      return "nobody";
    case DiffAffected::kCallers:
      return "callers";
    case DiffAffected::kPlugins:
      return "plugins";
  }
  return "nobody";
}

std::vector<ManifestChange> diff(std::span<const OpDecl* const> older,
                                 std::span<const OpDecl* const> newer) {
  const std::map<std::string, const OpDecl*> before = by_name(older);
  const std::map<std::string, const OpDecl*> now = by_name(newer);
  std::set<std::string> names;
  for (const auto& [name, op] : before) names.insert(name);
  for (const auto& [name, op] : now) names.insert(name);

  std::vector<ManifestChange> changes;
  for (const std::string& name : names) {
    const auto old_op = before.find(name);
    const auto new_op = now.find(name);
    if (old_op == before.end()) {
      changes.push_back(
          {name, DiffAffected::kNobody, true, "the op is new", new_op->second->where});
    } else if (new_op != now.end()) {
      OpComparison(*old_op->second, *new_op->second, changes).run();
    } else {
      changes.push_back(
          {name, DiffAffected::kCallers, true, "the op is gone", old_op->second->where});
      if (!old_op->second->interfaces.empty()) {
        changes.push_back(
            {name, DiffAffected::kPlugins, true, "the op is gone", old_op->second->where});
      }
    }
  }
  return changes;
}

std::string to_text(std::span<const ManifestChange> changes) {
  std::string text;
  for (const ManifestChange& change : changes) {
    text += change.op + ": ";
    if (change.affected == DiffAffected::kNobody) {
      text += "breaks nobody";
    } else {
      text += change.is_certain ? "breaks " : "may break ";
      text += name_of(change.affected);
    }
    text += ": " + change.message;
    const std::string where = change.where.to_string();
    if (!where.empty()) text += " (" + where + ")";
    text += '\n';
  }
  return text;
}

}  // namespace tenon::manifest
