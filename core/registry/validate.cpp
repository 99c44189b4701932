// Validation of a plugin's rows: names, counts, required functions, uniqueness, contracts,
// precedence.
#include "registry/validate.hpp"

#include <algorithm>
#include <set>

#include "registry/abi_text.hpp"
#include "registry/known_flags.hpp"
#include "registry/precedence.hpp"
#include "tenon/core/nearest.hpp"
#include "values/kind_name.hpp"

namespace tenon {

using detail::valid_utf8;
using detail::view_of;

namespace {

constexpr std::uint64_t kMaxListItems = 4096;
constexpr std::uint64_t kMaxNameBytes = 256;
// Far above every tile of a kernel, and small enough that a padded copy of a row is no surprise.
constexpr std::uint32_t kMaxAlignmentElements = 65536;

tl::unexpected<Error> reject(const PluginTransaction::Staged& staged,
                             tenon_status status,
                             std::string text) {
  return fail(Error(ErrorCode::kPluginRejected, std::move(text))
                  .with_where(staged.plugin->path)
                  .with("plugin", staged.plugin->id)
                  .with("status", std::string(status_name(status))));
}

// Why a name cannot be one, or empty. `extra`: characters allowed beside letters, digits, '-', '_'
// and '.'.
std::string name_fault(tenon_str name, std::string_view extra = "") {
  const std::string_view text = view_of(name);
  if (text.empty()) return "is empty";
  if (text.size() > kMaxNameBytes)
    return "has " + std::to_string(text.size()) + " bytes; at most " +
           std::to_string(kMaxNameBytes) + " are allowed";
  if (!valid_utf8(text)) return "is not UTF-8";
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.';
    if (plain || extra.find(c) != std::string_view::npos) continue;
    const bool ascii = static_cast<unsigned char>(c) < 0x80;
    return "'" + detail::clean_text(text) + "' has " +
           (ascii ? "the character '" + detail::clean_text({&c, 1}) + "'"
                  : "a character outside of ASCII");
  }
  return {};
}

// A list of strings as ours, or the fault.
Result<std::vector<std::string>> strings_of(const tenon_str* items,
                                            std::uint64_t count,
                                            std::string_view what,
                                            std::string_view extra = "") {
  std::vector<std::string> all;
  if (count > kMaxListItems) {
    return fail(ErrorCode::kPluginRejected,
                "n_" + std::string(what) + " is " + std::to_string(count) + "; at most " +
                    std::to_string(kMaxListItems) + " are believed");
  }
  if (count > 0 && items == nullptr) {
    return fail(
        ErrorCode::kPluginRejected,
        std::string(what) + " is null but n_" + std::string(what) + " is " + std::to_string(count));
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    if (auto fault = name_fault(items[i], extra); !fault.empty()) {
      return fail(ErrorCode::kPluginRejected,
                  std::string(what) + "[" + std::to_string(i) + "] " + fault);
    }
    all.emplace_back(view_of(items[i]));
  }
  return all;
}

// Whether an entry of preferred_over has a form that can name any: "key", "plugin:key", "plugin:*".
bool names_kernel_types(std::string_view entry) {
  const auto is_name = [](std::string_view part) {
    return !part.empty() && part.find_first_of(":*") == std::string_view::npos;
  };
  const std::size_t colon = entry.find(':');
  if (colon == std::string_view::npos) return is_name(entry);
  const std::string_view key = entry.substr(colon + 1);
  return is_name(entry.substr(0, colon)) && (key == "*" || is_name(key));
}

std::string label_of(const tenon_kernel_type& row) {
  return "kernel type '" + std::string(view_of(row.op)) + "/" +
         std::string(view_of(row.interface)) + "/" + std::string(view_of(row.key)) + "'";
}

class Validator {
 public:
  Validator(const PluginTransaction::Staged& staged,
            const ValidationContext& ops,
            PluginRecord& record)
      : staged_(staged), ops_(ops), record_(record) {}

  Result<AcceptedPlugin> run() {
    if (staged_.status != TENON_OK) return reject(staged_, staged_.status, staged_.fault);
    accepted_.info = staged_.plugin;
    for (const auto& kind : staged_.kinds) TENON_TRY(add_kind(kind));
    for (const auto& target : staged_.targets) TENON_TRY(add_target(target));
    for (const auto& row : staged_.types) TENON_TRY(add_type(row));
    TENON_TRY(check_interfaces());
    fill_record();
    return std::move(accepted_);
  }

 private:
  // A kind that nobody could name, or that is spoken for whatever else is loaded.
  Result<void> check_kind_name(const std::string& name) const {
    const std::string declared =
        "plugin '" + staged_.plugin->id + "' declares the device kind '" + name + "'";
    if (!detail::is_kind_name(name)) {
      return reject(staged_,
                    TENON_INVALID_ARGUMENT,
                    declared + ", but " + std::string(detail::kKindNameRule) + ": rename the kind");
    }
    if (name == "builtin") {
      return reject(staged_,
                    TENON_ALREADY_EXISTS,
                    declared +
                        ", but 'builtin' is the host's own target and kinds are targets by "
                        "their names: rename the kind");
    }
    if (name == "cpu" && staged_.plugin->id != "cpu") {
      return reject(staged_,
                    TENON_ALREADY_EXISTS,
                    declared +
                        ", but only the plugin with the id 'cpu' may own that kind: rename "
                        "the kind, or leave it out and list 'cpu' in needs_kinds to bring "
                        "kernels for it");
    }
    return {};
  }

  Result<void> add_kind(const tenon_device_kind& kind) {
    if (auto fault = name_fault(kind.kind); !fault.empty())
      return reject(staged_, TENON_INVALID_ARGUMENT, "a device kind's name " + fault);
    const std::string name(view_of(kind.kind));
    TENON_TRY(check_kind_name(name));
    const std::pair<const char*, bool> required[] = {{"count", kind.count != nullptr},
                                                     {"describe", kind.describe != nullptr},
                                                     {"alloc", kind.alloc != nullptr},
                                                     {"free", kind.free != nullptr},
                                                     {"copy", kind.copy != nullptr},
                                                     {"synchronize", kind.synchronize != nullptr},
                                                     {"last_error", kind.last_error != nullptr}};
    for (const auto& [function, present] : required) {
      if (!present)
        return reject(staged_,
                      TENON_INVALID_ARGUMENT,
                      "device kind '" + name + "' lacks the required function '" + function + "'");
    }
    if (auto fault = unknown_bits(kind, record_.abi_minor); !fault.empty())
      return reject(staged_, TENON_INVALID_ARGUMENT, "device kind '" + name + "': its " + fault);
    for (const auto& other : accepted_.kinds) {
      if (other.kind.name() == name)
        return reject(
            staged_, TENON_ALREADY_EXISTS, "device kind '" + name + "' is declared twice");
    }
    accepted_.kinds.push_back(
        {DeviceKind::of(name), staged_.plugin->id, kind, staged_.plugin->host});
    ignore_newer_bits(accepted_.kinds.back().table, record_.abi_minor);
    return {};
  }

  Result<void> add_target(const tenon_target& row) {
    if (auto fault = name_fault(row.name); !fault.empty())
      return reject(staged_, TENON_INVALID_ARGUMENT, "a target's name " + fault);
    auto target = std::make_shared<BuilderTarget>();
    target->plugin = staged_.plugin;
    target->name = view_of(row.name);
    target->qualified = staged_.plugin->id + ":" + target->name;
    target->row = row;
    if (row.claims == nullptr || row.build == nullptr) {
      return reject(staged_,
                    TENON_INVALID_ARGUMENT,
                    "target '" + target->name + "' lacks the required function '" +
                        (row.claims == nullptr ? "claims" : "build") + "'");
    }
    if (target->name == "builtin")
      return reject(staged_, TENON_ALREADY_EXISTS, "target 'builtin' is the host's own");
    for (const auto& other : accepted_.targets) {
      if (other->name == target->name)
        return reject(
            staged_, TENON_ALREADY_EXISTS, "target '" + target->name + "' is declared twice");
    }
    auto kinds = strings_of(row.kinds, row.n_kinds, "kinds");
    if (!kinds)
      return reject(staged_,
                    TENON_INVALID_ARGUMENT,
                    "target '" + target->name + "': " + kinds.error().message());
    for (const auto& kind : *kinds) target->kinds.push_back(DeviceKind::of(kind));
    auto ops = strings_of(row.ops, row.n_ops, "ops", ":");
    if (!ops)
      return reject(staged_,
                    TENON_INVALID_ARGUMENT,
                    "target '" + target->name + "': " + ops.error().message());
    for (const auto& op : *ops) {
      const SignaturePlan* plan = ops_.find_plan(ops_.context, op);
      if (plan == nullptr)
        record_.rejected_rows.push_back({op, "", target->name, TENON_NOT_FOUND, unknown_op(op)});
      target->ops.push_back(plan == nullptr ? std::string() : plan->decl().full_name());
    }
    accepted_.targets.push_back(std::move(target));
    return {};
  }

  [[nodiscard]] std::string unknown_op(const std::string& op) const {
    const auto near = nearest_names(op, ops_.op_names);
    return "no manifest in force has op '" + op + "'" +
           (near.empty() ? "" : "; did you mean '" + near.front() + "'?");
  }

  // False: the row was dropped alone.
  Result<bool> resolve(const tenon_kernel_type& row, KernelType& type) {
    const auto drop = [&](tenon_status status, std::string why) {
      record_.rejected_rows.push_back(
          {std::string(view_of(row.op)), type.interface, type.key, status, std::move(why)});
      return false;
    };
    const std::string op(view_of(row.op));
    const SignaturePlan* plan = ops_.find_plan(ops_.context, op);
    if (plan == nullptr) return drop(TENON_NOT_FOUND, unknown_op(op));
    const OpDecl& decl = plan->decl();
    type.op = decl.full_name();
    const auto at = std::find_if(decl.interfaces.begin(),
                                 decl.interfaces.end(),
                                 [&](const auto& i) { return i.name == type.interface; });
    if (at == decl.interfaces.end()) {
      std::vector<std::string> names;
      for (const auto& i : decl.interfaces) names.push_back(i.name);
      const auto near = nearest_names(type.interface, names);
      return drop(TENON_NOT_FOUND,
                  "op '" + op + "' has no interface '" + type.interface + "'" +
                      (near.empty() ? "" : "; did you mean '" + near.front() + "'?"));
    }
    auto match = match_contract(*row.contract, *at);
    if (!match) return drop(TENON_INCOMPATIBLE, match.error().message());
    type.contract = std::move(*match);
    return true;
  }

  tl::unexpected<Error> bad(const tenon_kernel_type& row, const std::string& why) const {
    return reject(staged_, TENON_INVALID_ARGUMENT, label_of(row) + ": " + why);
  }

  Result<void> check_names(const tenon_kernel_type& row) const {
    const std::pair<const char*, tenon_str> names[] = {
        {"op", row.op}, {"interface", row.interface}, {"key", row.key}};
    for (const auto& [what, name] : names) {
      const auto fault = name_fault(name, std::string_view(what) == "op" ? ":" : "");
      if (fault.empty()) continue;
      return reject(
          staged_, TENON_INVALID_ARGUMENT, "a kernel type's " + std::string(what) + " " + fault);
    }
    if (row.build == nullptr) return bad(row, "the required function 'build' is missing");
    if (row.contract == nullptr) return bad(row, "it has no contract");
    if (auto fault = unknown_bits(row, record_.abi_minor); !fault.empty())
      return bad(row, "its " + fault);
    if (row.alignment_elements > kMaxAlignmentElements) {
      return bad(row,
                 "its alignment_elements is " + std::to_string(row.alignment_elements) +
                     "; expected at most " + std::to_string(kMaxAlignmentElements));
    }
    if (row.contract->struct_size >= sizeof(tenon_contract)) return {};
    return bad(row,
               "its contract's struct_size is " + std::to_string(row.contract->struct_size) +
                   "; expected at least " + std::to_string(sizeof(tenon_contract)));
  }

  // What the row lists: device kinds, archs, preferences.
  Result<void> take_lists(const tenon_kernel_type& row, KernelType& type) const {
    auto devices = strings_of(row.devices, row.n_devices, "devices");
    if (!devices) return bad(row, devices.error().message());
    if (devices->empty()) return bad(row, "it serves no device kind");
    type.devices.reserve(devices->size());
    for (const auto& kind : *devices) type.devices.push_back(DeviceKind::of(kind));
    auto archs = strings_of(row.archs, row.n_archs, "archs", ":+");
    if (!archs) return bad(row, archs.error().message());
    type.archs = std::move(*archs);
    auto over = strings_of(row.preferred_over, row.n_preferred_over, "preferred_over", ":*");
    if (!over) return bad(row, over.error().message());
    type.preferred_over.reserve(over->size());
    for (const auto& name : *over) {
      if (!names_kernel_types(name)) {
        return bad(row,
                   "preferred_over[" + std::to_string(type.preferred_over.size()) + "] is '" +
                       name + "'; expected \"key\" of this plugin, \"plugin:key\" or \"plugin:*\"");
      }
      const bool own = name.find(':') == std::string::npos;
      type.preferred_over.push_back(own ? staged_.plugin->id + ":" + name : name);
    }
    return {};
  }

  Result<void> take_storage(const tenon_kernel_type& row, KernelType& type) const {
    if (row.n_storage > kMaxListItems || (row.n_storage > 0 && row.storage == nullptr)) {
      return bad(row, "storage is null or too long");
    }
    for (std::uint64_t i = 0; i < row.n_storage; ++i) {
      const auto dtype = dtype_from_abi(row.storage[i].dtype);
      const auto stored_as = dtype_from_abi(row.storage[i].stored_as);
      if (!dtype || !stored_as) {
        return bad(row,
                   "storage[" + std::to_string(i) + "] names a dtype that this host does not know");
      }
      if (type.dtypes.contains(*dtype)) {
        return bad(row,
                   "storage[" + std::to_string(i) + "] names " + std::string(name_of(*dtype)) +
                       " a second time");
      }
      type.dtypes.insert(*dtype);
      if (*stored_as != *dtype) type.stored.emplace_back(*dtype, *stored_as);
    }
    return {};
  }

  Result<void> add_type(const tenon_kernel_type& row) {
    TENON_TRY(check_names(row));
    auto type = std::make_shared<KernelType>();
    type->plugin = staged_.plugin;
    type->interface = view_of(row.interface);
    type->key = view_of(row.key);
    type->qualified = staged_.plugin->id + ":" + type->key;
    type->row = row;
    TENON_TRY(take_lists(row, *type));
    TENON_TRY(take_storage(row, *type));
    auto resolved = resolve(row, *type);
    if (!resolved) return fail(std::move(resolved).error());
    if (!*resolved) return {};
    auto& table = accepted_.types[{type->op, type->interface}];
    const bool taken = std::any_of(
        table.begin(), table.end(), [&](const auto& other) { return other->key == type->key; });
    if (taken) {
      return reject(staged_,
                    TENON_ALREADY_EXISTS,
                    label_of(row) + ": plugin '" + staged_.plugin->id + "' (" +
                        staged_.plugin->path + ") registers this key twice");
    }
    table.push_back(std::move(type));
    return {};
  }

  Result<void> check_interfaces() {
    for (auto& [place, types] : accepted_.types) {
      std::sort(types.begin(), types.end(), [](const auto& a, const auto& b) {
        return a->qualified < b->qualified;
      });
      std::map<std::uint16_t, const KernelType*> generals;
      for (const auto& type : types) {
        TENON_TRY(check_edges(*type, types, place.second));
        if (!type->general()) continue;
        for (const DeviceKind kind : type->devices) {
          const auto [at, added] = generals.emplace(kind.id(), type.get());
          if (!added) {
            return reject(staged_,
                          TENON_ALREADY_EXISTS,
                          "interface '" + place.second +
                              "' has two general kernel types for device kind '" +
                              std::string(kind.name()) + "': '" + at->second->key + "' and '" +
                              type->key + "'");
          }
        }
      }
      if (const std::string cycle = own_cycle(types); !cycle.empty()) {
        return reject(
            staged_,
            TENON_INVALID_ARGUMENT,
            "interface '" + place.second + "': preferred_over goes in a circle through " + cycle);
      }
    }
    return {};
  }

  Result<void> check_edges(const KernelType& type,
                           const std::vector<std::shared_ptr<const KernelType>>& types,
                           const std::string& interface) {
    const std::string own = staged_.plugin->id + ":";
    for (const std::string& over : type.preferred_over) {
      if (over.ends_with(":*") || !over.starts_with(own)) continue;
      if (over == type.qualified) {
        return reject(staged_,
                      TENON_INVALID_ARGUMENT,
                      "kernel type '" + type.key + "' of interface '" + interface +
                          "' is preferred_over itself, which is a circle of one");
      }
      const bool there = std::any_of(
          types.begin(), types.end(), [&](const auto& t) { return t->qualified == over; });
      const bool dropped = std::any_of(record_.rejected_rows.begin(),
                                       record_.rejected_rows.end(),
                                       [&](const auto& r) { return own + r.key == over; });
      if (there || dropped) continue;
      std::vector<std::string> keys;
      keys.reserve(types.size());
      for (const auto& t : types) keys.push_back(t->key);
      const auto near = nearest_names(over.substr(own.size()), keys);
      return reject(staged_,
                    TENON_NOT_FOUND,
                    "kernel type '" + type.key + "' of interface '" + interface +
                        "' is preferred_over '" + over.substr(own.size()) +
                        "', which the plugin does not have there" +
                        (near.empty() ? "" : "; did you mean '" + near.front() + "'?"));
    }
    return {};
  }

  void fill_record() {
    std::set<std::string> ops;
    record_.kernel_types = 0;
    for (const auto& [place, types] : accepted_.types) {
      ops.insert(place.first);
      record_.kernel_types += types.size();
    }
    for (const auto& target : accepted_.targets) {
      record_.targets.push_back(target->name);
      for (const auto& op : target->ops) {
        if (!op.empty()) ops.insert(op);
      }
    }
    for (const auto& kind : accepted_.kinds) record_.kinds.emplace_back(kind.kind.name());
    record_.ops.assign(ops.begin(), ops.end());
  }

  const PluginTransaction::Staged& staged_;
  const ValidationContext& ops_;
  PluginRecord& record_;
  AcceptedPlugin accepted_;
};

}  // namespace

Result<AcceptedPlugin> validate(const PluginTransaction::Staged& staged,
                                const ValidationContext& ops,
                                PluginRecord& record) {
  return Validator(staged, ops, record).run();
}

}  // namespace tenon
