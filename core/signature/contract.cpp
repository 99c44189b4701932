// Canonical contract text, its hash, and the field-by-field comparison with a plugin's contract.
#include "tenon/core/contract.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include "tenon/core/dtype.hpp"

namespace tenon {
namespace {

std::string_view view(const tenon_str& s) {
  return s.data == nullptr ? std::string_view{} : std::string_view(s.data, s.size_bytes);
}

bool same(tenon_dtype a, tenon_dtype b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

std::string dtype_text(tenon_dtype dtype) {
  if (auto known = dtype_from_abi(dtype)) return std::string(name_of(*known));
  return fmt::format("dtype({},{},{})", dtype.code, dtype.bits, dtype.lanes);
}

std::string_view role_name(std::uint32_t role) {
  switch (role) {
    case TENON_ROLE_IN:
      return "in";
    case TENON_ROLE_OUT:
      return "out";
    case TENON_ROLE_INOUT:
      return "inout";
    default:
      return "unknown";
  }
}

void append_sorted(std::string& text, std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (!names.empty()) text += ' ';
  text += fmt::format("{}", fmt::join(names, "|"));
}

void append_field(std::string& text,
                  std::string_view name,
                  std::uint32_t kind,
                  bool optional,
                  std::vector<std::string> members) {
  const std::string_view kind_name = contract_kind_name(kind);
  text += fmt::format("field {} {}{}",
                      name,
                      kind_name.empty() ? std::to_string(kind) : std::string(kind_name),
                      optional ? " optional" : "");
  append_sorted(text, std::move(members));
  text += '\n';
}

void append_arg(std::string& text,
                std::string_view name,
                std::uint32_t role,
                bool optional,
                bool list,
                std::vector<std::string> dtypes) {
  text += fmt::format(
      "arg {} {}{}{}", name, role_name(role), optional ? " optional" : "", list ? " list" : "");
  append_sorted(text, std::move(dtypes));
  text += '\n';
}

/// One item of a list of a call; nothing where the value is no list.
std::optional<tenon_value> item_of(const tenon_value& list, std::size_t i) {
  tenon_value item{};
  if (list.kind == TENON_VALUE_INTS) {
    item.kind = TENON_VALUE_INT;
    item.i = static_cast<const std::int64_t*>(list.data)[i];
  } else if (list.kind == TENON_VALUE_FLOATS) {
    item.kind = TENON_VALUE_FLOAT;
    item.f = static_cast<const double*>(list.data)[i];
  } else if (list.kind == TENON_VALUE_LIST) {
    item = static_cast<const tenon_value*>(list.data)[i];
  } else {
    return std::nullopt;
  }
  return item;
}

/// True where a value of a call is what a default says.
bool equals(const tenon_value& got, const Value& expected) {
  if (expected.is_none()) return got.kind == TENON_VALUE_NONE;
  if (const bool* b = expected.get_if<bool>())
    return got.kind == TENON_VALUE_BOOL && (got.i != 0) == *b;
  if (const std::int64_t* i = expected.get_if<std::int64_t>()) {
    return (got.kind == TENON_VALUE_INT && got.i == *i) ||
           (got.kind == TENON_VALUE_FLOAT && got.f == static_cast<double>(*i));
  }
  if (const double* f = expected.get_if<double>()) {
    if (got.kind == TENON_VALUE_INT) return static_cast<double>(got.i) == *f;
    if (got.kind != TENON_VALUE_FLOAT) return false;
    return got.f == *f || (got.f != got.f && *f != *f);
  }
  if (const DType* d = expected.get_if<DType>()) {
    const tenon_dtype abi = to_abi(*d);
    return got.kind == TENON_VALUE_DTYPE &&
           got.i == (abi.code | (abi.bits << 8) | (abi.lanes << 16));
  }
  if (const std::string* s = expected.get_if<std::string>()) {
    return got.kind == TENON_VALUE_STR && got.count == s->size() &&
           (s->empty() || std::memcmp(got.data, s->data(), s->size()) == 0);
  }
  const ValueList* list = expected.get_if<ValueList>();
  if (list == nullptr || got.count != list->items.size()) return false;
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    const std::optional<tenon_value> item = item_of(got, i);
    if (!item || !equals(*item, list->items[i])) return false;
  }
  return true;
}

tl::unexpected<Error> reject(std::string_view what,
                             std::string_view name,
                             std::string expected,
                             std::string found,
                             std::string message) {
  return fail(Error(ErrorCode::kPluginRejected, std::move(message))
                  .with("what", std::string(what))
                  .with("name", std::string(name))
                  .with("expected", std::move(expected))
                  .with("found", std::move(found))
                  .with_hint("build the plugin again against this version's contract header"));
}

/// The plugin's members or dtypes, by name, of which the host must have each.
std::optional<std::string> first_missing(const std::vector<std::string>& listed,
                                         const std::vector<std::string>& host) {
  for (const std::string& name : listed) {
    if (std::find(host.begin(), host.end(), name) == host.end()) return name;
  }
  return std::nullopt;
}

std::vector<std::string> names_of(const tenon_field& field) {
  std::vector<std::string> names;
  for (std::uint64_t i = 0; field.values != nullptr && i < field.n_values; ++i)
    names.emplace_back(view(field.values[i]));
  return names;
}

std::vector<std::string> names_of(const tenon_arg& arg) {
  std::vector<std::string> names;
  for (std::uint64_t i = 0; arg.dtypes != nullptr && i < arg.n_dtypes; ++i)
    names.push_back(dtype_text(arg.dtypes[i]));
  return names;
}

std::vector<std::string> names_of(const std::vector<DType>& dtypes) {
  std::vector<std::string> names;
  names.reserve(dtypes.size());
  for (const DType d : dtypes) names.push_back(dtype_text(to_abi(d)));
  return names;
}

std::optional<std::string> malformed(const tenon_contract& contract) {
  if (contract.n_fields != 0 && contract.fields == nullptr)
    return "its fields are null though it counts some";
  if (contract.n_args != 0 && contract.args == nullptr)
    return "its arguments are null though it counts some";
  for (std::uint64_t i = 0; i < contract.n_fields; ++i) {
    if (contract.fields[i].n_values != 0 && contract.fields[i].values == nullptr) {
      return fmt::format("the values of field '{}' are null though it counts some",
                         view(contract.fields[i].name));
    }
  }
  for (std::uint64_t i = 0; i < contract.n_args; ++i) {
    if (contract.args[i].n_dtypes != 0 && contract.args[i].dtypes == nullptr) {
      return fmt::format("the dtypes of argument '{}' are null though it counts some",
                         view(contract.args[i].name));
    }
  }
  return std::nullopt;
}

}  // namespace

std::uint64_t fnv1a64(std::string_view bytes) noexcept {
  std::uint64_t hash = 14695981039346656037ull;
  for (const char c : bytes) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1099511628211ull;
  }
  return hash;
}

std::string_view contract_kind_name(std::uint32_t kind) noexcept {
  switch (kind) {
    case TENON_VALUE_BOOL:
      return "bool";
    case TENON_VALUE_INT:
      return "int";
    case TENON_VALUE_FLOAT:
      return "float";
    case TENON_VALUE_DTYPE:
      return "dtype";
    case TENON_VALUE_STR:
      return "str";
    case TENON_VALUE_INTS:
      return "ints";
    case TENON_VALUE_FLOATS:
      return "floats";
    case TENON_VALUE_LIST:
      return "list";
    case TENON_FIELD_NUMBER:
      return "number";
    case TENON_FIELD_ENUM:
      return "enum";
    case TENON_FIELD_ADT:
      return "adt";
    default:
      return {};
  }
}

std::string contract_text(const InterfaceDecl& interface) {
  std::string text = "tenon contract 1\n";
  for (const CallFieldDecl& f : interface.fields)
    append_field(text, f.name, f.kind, f.optional, f.members);
  for (const InterfaceArgDecl& a : interface.args)
    append_arg(text, a.name, a.role, a.optional, a.list, names_of(a.dtypes));
  return text;
}

std::string contract_text(const tenon_contract& contract) {
  std::string text = "tenon contract 1\n";
  for (std::uint64_t i = 0; i < contract.n_fields; ++i) {
    const tenon_field& f = contract.fields[i];
    append_field(text, view(f.name), f.kind, (f.flags & TENON_FIELD_OPTIONAL) != 0, names_of(f));
  }
  for (std::uint64_t i = 0; i < contract.n_args; ++i) {
    const tenon_arg& a = contract.args[i];
    append_arg(text,
               view(a.name),
               a.role,
               (a.flags & TENON_ARG_OPTIONAL) != 0,
               (a.flags & TENON_ARG_LIST) != 0,
               names_of(a));
  }
  return text;
}

std::uint64_t contract_hash(const InterfaceDecl& interface) {
  return fnv1a64(contract_text(interface));
}

/// Builds a ContractMatch; one object per comparison.
class ContractMatcher {
 public:
  ContractMatcher(const tenon_contract& plugin, const InterfaceDecl& host)
      : plugin_(plugin),
        host_(host),
        listed_fields_(host.fields.size()),
        listed_args_(host.args.size()) {}

  Result<ContractMatch> run();

 private:
  Result<void> take_field(const tenon_field& field);
  Result<void> take_arg(const tenon_arg& arg, std::int32_t index);
  Result<void> watch_unlisted();

  const tenon_contract& plugin_;
  const InterfaceDecl& host_;
  std::vector<bool> listed_fields_;
  std::vector<bool> listed_args_;
  ContractMatch match_;
};

Result<ContractMatch> match_contract(const tenon_contract& plugin, const InterfaceDecl& host) {
  if (auto fault = malformed(plugin)) {
    return fail(
        Error(ErrorCode::kPluginRejected,
              fmt::format("the contract for interface '{}' is malformed: {}", host.name, *fault)));
  }
  return ContractMatcher(plugin, host).run();
}

Result<ContractMatch> ContractMatcher::run() {
  const std::uint64_t hash = host_.contract_hash != 0 ? host_.contract_hash : contract_hash(host_);
  if (plugin_.hash == hash && plugin_.n_fields == host_.fields.size() &&
      plugin_.n_args == host_.args.size()) {
    match_.exact_ = true;
    for (std::uint32_t i = 0; i < host_.fields.size(); ++i) match_.fields_.push_back(i);
    for (std::uint32_t i = 0; i < host_.args.size(); ++i) match_.args_.push_back(i);
    return match_;
  }
  for (std::uint64_t i = 0; i < plugin_.n_fields; ++i) TENON_TRY(take_field(plugin_.fields[i]));
  for (std::uint64_t i = 0; i < plugin_.n_args; ++i) {
    TENON_TRY(take_arg(plugin_.args[i], static_cast<std::int32_t>(i)));
  }
  TENON_TRY(watch_unlisted());
  return std::move(match_);
}

Result<void> ContractMatcher::take_field(const tenon_field& field) {
  const std::string name(view(field.name));
  std::uint32_t at = 0;
  while (at < host_.fields.size() && host_.fields[at].name != name) ++at;
  if (at == host_.fields.size()) {
    return reject(
        "field",
        name,
        std::string(contract_kind_name(field.kind)),
        "nothing",
        fmt::format("interface '{}' has no call field '{}', which the plugin's contract lists",
                    host_.name,
                    name));
  }
  const CallFieldDecl& h = host_.fields[at];
  if (listed_fields_[at]) {
    return reject(
        "field",
        name,
        "once",
        "twice",
        fmt::format("the plugin's contract for interface '{}' lists call field '{}' twice",
                    host_.name,
                    name));
  }
  if (h.kind != field.kind) {
    return reject("field",
                  name,
                  std::string(contract_kind_name(field.kind)),
                  std::string(contract_kind_name(h.kind)),
                  fmt::format("call field '{}' of interface '{}' is of kind {} here and of kind {} "
                              "in the plugin's contract",
                              name,
                              host_.name,
                              contract_kind_name(h.kind),
                              contract_kind_name(field.kind)));
  }
  const std::vector<std::string> members = names_of(field);
  if (auto gone = first_missing(members, h.members)) {
    return reject("field",
                  name,
                  *gone,
                  fmt::format("{}", fmt::join(h.members, " | ")),
                  fmt::format("call field '{}' of interface '{}' has no member '{}', which the "
                              "plugin's contract lists",
                              name,
                              host_.name,
                              *gone));
  }
  listed_fields_[at] = true;
  match_.fields_.push_back(at);
  ContractMatch::FieldWatch watch;
  watch.host = at;
  watch.none_unlisted = h.optional && (field.flags & TENON_FIELD_OPTIONAL) == 0;
  watch.some_unlisted = first_missing(h.members, members).has_value();
  if (watch.some_unlisted) watch.members = members;
  if (watch.none_unlisted || watch.some_unlisted) match_.field_watches_.push_back(std::move(watch));
  return {};
}

Result<void> ContractMatcher::take_arg(const tenon_arg& arg, std::int32_t index) {
  const std::string name(view(arg.name));
  std::uint32_t at = 0;
  while (at < host_.args.size() && host_.args[at].name != name) ++at;
  if (at == host_.args.size()) {
    return reject(
        "argument",
        name,
        std::string(role_name(arg.role)),
        "nothing",
        fmt::format("interface '{}' has no argument '{}', which the plugin's contract lists",
                    host_.name,
                    name));
  }
  const InterfaceArgDecl& h = host_.args[at];
  if (listed_args_[at]) {
    return reject("argument",
                  name,
                  "once",
                  "twice",
                  fmt::format("the plugin's contract for interface '{}' lists argument '{}' twice",
                              host_.name,
                              name));
  }
  if (h.role != arg.role) {
    return reject("argument",
                  name,
                  std::string(role_name(arg.role)),
                  std::string(role_name(h.role)),
                  fmt::format("argument '{}' of interface '{}' has the role '{}' here and '{}' in "
                              "the plugin's contract",
                              name,
                              host_.name,
                              role_name(h.role),
                              role_name(arg.role)));
  }
  const auto form = [](bool list) { return list ? "a list of tensors" : "one tensor"; };
  const bool list = (arg.flags & TENON_ARG_LIST) != 0;
  if (h.list != list) {
    return reject(
        "argument",
        name,
        form(list),
        form(h.list),
        fmt::format("argument '{}' of interface '{}' is {} here and {} in the plugin's contract",
                    name,
                    host_.name,
                    form(h.list),
                    form(list)));
  }
  const std::vector<std::string> dtypes = names_of(arg);
  const std::vector<std::string> host_dtypes = names_of(h.dtypes);
  if (auto gone = first_missing(dtypes, host_dtypes)) {
    return reject(
        "argument",
        name,
        *gone,
        fmt::format("{}", fmt::join(host_dtypes, " | ")),
        fmt::format(
            "argument '{}' of interface '{}' is never {}, which the plugin's contract lists",
            name,
            host_.name,
            *gone));
  }
  listed_args_[at] = true;
  match_.args_.push_back(at);
  ContractMatch::ArgWatch watch;
  watch.host = at;
  watch.plugin = index;
  watch.absent_unlisted = h.optional && (arg.flags & TENON_ARG_OPTIONAL) == 0;
  watch.some_unlisted = first_missing(host_dtypes, dtypes).has_value();
  if (watch.some_unlisted && arg.n_dtypes != 0)
    watch.dtypes.assign(arg.dtypes, arg.dtypes + arg.n_dtypes);
  if (watch.absent_unlisted || watch.some_unlisted) match_.arg_watches_.push_back(std::move(watch));
  return {};
}

Result<void> ContractMatcher::watch_unlisted() {
  for (std::uint32_t at = 0; at < host_.fields.size(); ++at) {
    const CallFieldDecl& h = host_.fields[at];
    if (listed_fields_[at]) continue;
    if (!h.optional && !h.default_value) {
      return reject("field",
                    h.name,
                    "a field that the plugin's contract lists",
                    std::string(contract_kind_name(h.kind)),
                    fmt::format("call field '{}' of interface '{}' is required, and the plugin's "
                                "contract does not list it",
                                h.name,
                                host_.name));
    }
    ContractMatch::FieldWatch watch;
    watch.host = at;
    watch.unlisted = true;
    watch.expected = h.default_value.value_or(Value{});
    match_.field_watches_.push_back(std::move(watch));
  }
  for (std::uint32_t at = 0; at < host_.args.size(); ++at) {
    const InterfaceArgDecl& h = host_.args[at];
    if (listed_args_[at]) continue;
    if (!h.optional) {
      return reject("argument",
                    h.name,
                    "an argument that the plugin's contract lists",
                    std::string(role_name(h.role)),
                    fmt::format("argument '{}' of interface '{}' is required, and the plugin's "
                                "contract does not list it",
                                h.name,
                                host_.name));
    }
    ContractMatch::ArgWatch watch;
    watch.host = at;
    match_.arg_watches_.push_back(std::move(watch));
  }
  return {};
}

std::optional<ContractMatch::Newer> ContractMatch::newer_field(const FieldWatch& watch,
                                                               const CallFieldDecl& host,
                                                               const tenon_value& got) {
  if (watch.unlisted) {
    if (equals(got, watch.expected)) return std::nullopt;
    return Newer{host.name,
                 -1,
                 fmt::format("the plugin's contract has no field '{}', and this call does not "
                             "leave it at {}",
                             host.name,
                             watch.expected.to_string())};
  }
  if (got.kind == TENON_VALUE_NONE) {
    if (!watch.none_unlisted) return std::nullopt;
    return Newer{host.name,
                 -1,
                 fmt::format("the plugin's contract does not list field '{}' as optional, and "
                             "this call has none",
                             host.name)};
  }
  if (!watch.some_unlisted || got.kind != TENON_VALUE_STR) return std::nullopt;
  const std::string_view member(static_cast<const char*>(got.data), got.count);
  if (std::find(watch.members.begin(), watch.members.end(), member) != watch.members.end())
    return std::nullopt;
  return Newer{
      host.name,
      -1,
      fmt::format("the plugin's contract has no member '{}' in field '{}'", member, host.name)};
}

std::optional<ContractMatch::Newer> ContractMatch::newer_arg(const ArgWatch& watch,
                                                             const InterfaceArgDecl& host,
                                                             bool present,
                                                             std::span<const tenon_dtype> dtypes) {
  if (watch.plugin < 0) {
    if (!present) return std::nullopt;
    return Newer{host.name,
                 -1,
                 fmt::format("the plugin's contract has no argument '{}', which this call passes",
                             host.name)};
  }
  if (!present) {
    if (!watch.absent_unlisted) return std::nullopt;
    return Newer{host.name,
                 watch.plugin,
                 fmt::format("the plugin's contract does not list argument '{}' as optional, and "
                             "this call leaves it out",
                             host.name)};
  }
  if (!watch.some_unlisted) return std::nullopt;
  const tenon_dtype& got = dtypes[watch.host];
  if (std::any_of(
          watch.dtypes.begin(), watch.dtypes.end(), [&](tenon_dtype d) { return same(d, got); }))
    return std::nullopt;
  return Newer{
      host.name,
      watch.plugin,
      fmt::format(
          "the plugin's contract does not list {} for argument '{}'", dtype_text(got), host.name)};
}

std::optional<ContractMatch::Newer> ContractMatch::newer(
    const InterfaceDecl& host,
    std::span<const tenon_value> fields,
    std::span<const tenon_arg_facts> args,
    std::span<const tenon_dtype> dtypes) const {
  for (const FieldWatch& watch : field_watches_) {
    auto found = newer_field(watch, host.fields[watch.host], fields[watch.host]);
    if (found) return found;
  }
  for (const ArgWatch& watch : arg_watches_) {
    auto found = newer_arg(watch, host.args[watch.host], args[watch.host].present != 0, dtypes);
    if (found) return found;
  }
  return std::nullopt;
}

void ContractMatch::project(std::span<const tenon_value> fields,
                            std::span<const tenon_arg_facts> args,
                            std::span<tenon_value> plugin_fields,
                            std::span<tenon_arg_facts> plugin_args) const {
  for (std::size_t i = 0; i < fields_.size(); ++i) plugin_fields[i] = fields[fields_[i]];
  for (std::size_t i = 0; i < args_.size(); ++i) {
    plugin_args[i] = args[args_[i]];
    std::int32_t& alias = plugin_args[i].alias_of;
    if (exact_ || alias < 0) continue;
    const auto found = std::find(args_.begin(), args_.end(), static_cast<std::uint32_t>(alias));
    alias = found == args_.end() ? -1 : static_cast<std::int32_t>(found - args_.begin());
  }
}

}  // namespace tenon
