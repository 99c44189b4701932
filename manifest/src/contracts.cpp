// The emitter of contract headers: plain C11 first, then C++17 under __cplusplus.
#include "tenon/manifest/contracts.hpp"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "cpp_text.hpp"
#include "tenon/core/contract.hpp"

namespace tenon::manifest {
namespace {

std::string str_literal(std::string_view text) {
  return fmt::format("{{{}, {}}}", c_string(text), text.size());
}

std::string kind_macro(std::uint32_t kind) {
  switch (kind) {
    case TENON_VALUE_BOOL:
      return "TENON_VALUE_BOOL";
    case TENON_VALUE_INT:
      return "TENON_VALUE_INT";
    case TENON_VALUE_FLOAT:
      return "TENON_VALUE_FLOAT";
    case TENON_VALUE_DTYPE:
      return "TENON_VALUE_DTYPE";
    case TENON_VALUE_STR:
      return "TENON_VALUE_STR";
    case TENON_VALUE_INTS:
      return "TENON_VALUE_INTS";
    case TENON_VALUE_FLOATS:
      return "TENON_VALUE_FLOATS";
    case TENON_VALUE_LIST:
      return "TENON_VALUE_LIST";
    case TENON_FIELD_NUMBER:
      return "TENON_FIELD_NUMBER";
    case TENON_FIELD_ENUM:
      return "TENON_FIELD_ENUM";
    case TENON_FIELD_ADT:
      return "TENON_FIELD_ADT";
    default:
      return fmt::format("{}u", kind);
  }
}

std::string_view role_macro(std::uint32_t role) {
  constexpr std::array<std::string_view, 3> kRoles{
      "TENON_ROLE_IN", "TENON_ROLE_OUT", "TENON_ROLE_INOUT"};
  return kRoles[std::min<std::size_t>(role, 2)];
}

std::string arg_flags(const InterfaceArgDecl& arg) {
  if (arg.optional && arg.list) return "TENON_ARG_OPTIONAL | TENON_ARG_LIST";
  return arg.optional ? "TENON_ARG_OPTIONAL" : arg.list ? "TENON_ARG_LIST" : "0u";
}

std::string dtype_items(const std::vector<DType>& dtypes) {
  std::string out;
  for (const DType d : dtypes) {
    const tenon_dtype abi = to_abi(d);
    out += fmt::format("{}{{{}, {}, {}}}", out.empty() ? "" : ", ", abi.code, abi.bits, abi.lanes);
  }
  return out;
}

/// The C++ type of a field, less the optional around it. Lists of lists and ADT values are read on
/// demand.
std::string_view cpp_type(std::uint32_t kind) {
  switch (kind) {
    case TENON_VALUE_BOOL:
      return "bool";
    case TENON_VALUE_INT:
      return "std::int64_t";
    case TENON_VALUE_FLOAT:
      return "double";
    case TENON_VALUE_DTYPE:
      return "ElementType";
    case TENON_VALUE_STR:
      return "std::string_view";
    case TENON_VALUE_INTS:
      return "Span<const std::int64_t>";
    case TENON_VALUE_FLOATS:
      return "Span<const double>";
    case TENON_FIELD_NUMBER:
      return "Number";
    default:
      return "AnyValue";
  }
}

/// One interface of a header.
class InterfaceEmitter {
 public:
  InterfaceEmitter(const OpDecl& op, const InterfaceDecl& interface)
      : op_(op),
        interface_(interface),
        prefix_("tenon_contract_" + interface.name),
        hash_(interface.contract_hash != 0 ? interface.contract_hash : contract_hash(interface)) {}

  [[nodiscard]] std::string c_part() const {
    std::string out =
        fmt::format("/* ---- {}, of {} ---- */\n\n", interface_.name, op_.full_name());
    const std::string macro = "TENON_" + upper_case(interface_.name);
    Names macros;
    for (std::size_t i = 0; i < interface_.fields.size(); ++i) {
      out += fmt::format("#define {} {}u\n",
                         macros.take(macro + "_FIELD_" + upper_case(interface_.fields[i].name)),
                         i);
    }
    for (std::size_t i = 0; i < interface_.args.size(); ++i) {
      out += fmt::format("#define {} {}u\n",
                         macros.take(macro + "_ARG_" + upper_case(interface_.args[i].name)),
                         i);
    }
    return out + '\n' + c_tables();
  }

  [[nodiscard]] Result<std::string> cpp_part() const {
    std::string out =
        fmt::format("namespace tenon::contracts::{} {{\ninline namespace h{:016x} {{\n\n",
                    cpp_name(interface_.name),
                    hash_);
    Names names;
    for (const char* used : {"Call", "AnyValue", "ElementType", "Number", "Span"})
      (void)names.take(used);
    out += constants("Field", interface_.fields, names) + constants("Arg", interface_.args, names);
    std::string members;
    std::string reads;
    std::map<std::string, std::string> spelled;
    for (std::size_t i = 0; i < interface_.fields.size(); ++i) {
      const CallFieldDecl& field = interface_.fields[i];
      std::string name = cpp_name(field.name);
      if (name == "contract" || name == "from") name += '_';
      const auto [at, fresh] = spelled.emplace(name, field.name);
      if (!fresh) {
        return fail(
            Error(ErrorCode::kManifestInvalid,
                  fmt::format(
                      "the call fields '{}' and '{}' of interface '{}' would both be '{}' in C++",
                      at->second,
                      field.name,
                      interface_.name,
                      name))
                .with_where(interface_.where.to_string())
                .with_hint("rename one of the two"));
      }
      out += enumeration(field, names, i);
      members += fmt::format("  {} {}{{}};\n", field_type(i), name);
      reads += fmt::format("    call.{} = {};\n", name, read_expression(field, i));
    }
    out += fmt::format(
        "/// The call spec of {}. Views are borrowed from the call.\nstruct Call {{\n{}\n",
        interface_.name,
        members);
    out += fmt::format("  static const tenon_contract& contract() noexcept {{ return {}; }}\n",
                       prefix_);
    if (interface_.fields.empty()) {
      out += "  static Call from(const tenon_call&) { return {}; }\n};\n\n";
    } else {
      out += "  static Call from(const tenon_call& raw) {\n    Call call;\n" + reads +
             "    return call;\n  }\n};\n\n";
    }
    return out + fmt::format("}}  // namespace h{:016x}\n}}  // namespace tenon::contracts::{}\n",
                             hash_,
                             cpp_name(interface_.name));
  }

  [[nodiscard]] std::uint64_t hash() const { return hash_; }

 private:
  std::string c_tables() const {
    std::string out;
    std::string rows;
    for (std::size_t i = 0; i < interface_.fields.size(); ++i) {
      const CallFieldDecl& f = interface_.fields[i];
      std::string values = "NULL";
      if (!f.members.empty()) {
        values = fmt::format("{}_values_{}", prefix_, i);
        std::string items;
        for (const std::string& member : f.members)
          items += (items.empty() ? "" : ", ") + str_literal(member);
        out += fmt::format("TENON_CONTRACT_DATA tenon_str {}[] = {{{}}};\n", values, items);
      }
      rows += fmt::format("    {{{}, {}, {}, {}, {}}},\n",
                          str_literal(f.name),
                          kind_macro(f.kind),
                          f.optional ? "TENON_FIELD_OPTIONAL" : "0u",
                          values,
                          f.members.size());
    }
    const std::string fields = table("tenon_field", "fields", rows, out);
    rows.clear();
    std::map<std::string, std::string> shared;  // equal dtype lists are one array
    for (std::size_t i = 0; i < interface_.args.size(); ++i) {
      const InterfaceArgDecl& a = interface_.args[i];
      std::string dtypes = "NULL";
      if (!a.dtypes.empty()) {
        const auto [at, fresh] =
            shared.emplace(dtype_items(a.dtypes), fmt::format("{}_dtypes_{}", prefix_, i));
        if (fresh)
          out += fmt::format(
              "TENON_CONTRACT_DATA tenon_dtype {}[] = {{{}}};\n", at->second, at->first);
        dtypes = at->second;
      }
      rows += fmt::format("    {{{}, {}, {}, {}, {}}},\n",
                          str_literal(a.name),
                          dtypes,
                          a.dtypes.size(),
                          role_macro(a.role),
                          arg_flags(a));
    }
    const std::string args = table("tenon_arg", "args", rows, out);
    out += fmt::format(
        "TENON_CONTRACT_DATA tenon_contract {} = {{\n    sizeof(tenon_contract), "
        "UINT64_C(0x{:016x}), {}, {}, {}, {}}};\n",
        prefix_,
        hash_,
        fields,
        interface_.fields.size(),
        args,
        interface_.args.size());
    return out;
  }

  std::string table(std::string_view type,
                    std::string_view what,
                    const std::string& rows,
                    std::string& out) const {
    if (rows.empty()) return "NULL";
    std::string name = fmt::format("{}_{}", prefix_, what);
    out += fmt::format("TENON_CONTRACT_DATA {} {}[] = {{\n{}}};\n", type, name, rows);
    return name;
  }

  template <class Decls>
  static std::string constants(std::string_view what, const Decls& decls, Names& names) {
    std::string out;
    for (std::size_t i = 0; i < decls.size(); ++i) {
      out += fmt::format("inline constexpr std::size_t {} = {};\n",
                         names.take(fmt::format("k{}{}", what, pascal_case(decls[i].name))),
                         i);
    }
    return out.empty() ? out : out + '\n';
  }

  std::string enumeration(const CallFieldDecl& field, Names& names, std::size_t index) const {
    if (field.kind != TENON_FIELD_ENUM) return {};
    const std::string type = names.take(pascal_case(field.name));
    Names members;
    std::string enumerators;
    std::string texts;
    for (const std::string& member : field.members) {
      enumerators += (enumerators.empty() ? "" : ", ") + members.take("k" + pascal_case(member));
      texts += (texts.empty() ? "" : ", ") + c_string(member);
    }
    enums_[index] = type;
    return fmt::format(
        "enum class {0} {{ {1} }};\ninline constexpr std::string_view k{0}Members[] = {{{2}}};\n\n",
        type,
        enumerators,
        texts);
  }

  std::string field_type(std::size_t index) const {
    const CallFieldDecl& field = interface_.fields[index];
    const auto found = enums_.find(index);
    const std::string type =
        found != enums_.end() ? found->second : std::string(cpp_type(field.kind));
    return field.optional && type != "AnyValue" ? fmt::format("std::optional<{}>", type) : type;
  }

  std::string read_expression(const CallFieldDecl& field, std::size_t index) const {
    const auto found = enums_.find(index);
    if (found == enums_.end())
      return fmt::format("read<{}>(raw, {}, {})", field_type(index), index, c_string(field.name));
    return fmt::format("{}<{}>(raw, {}, {}, k{}Members)",
                       field.optional ? "read_optional_enum" : "read_enum",
                       found->second,
                       index,
                       c_string(field.name),
                       found->second);
  }

  const OpDecl& op_;
  const InterfaceDecl& interface_;
  std::string prefix_;
  std::uint64_t hash_;
  mutable std::map<std::size_t, std::string> enums_;
};

Result<GeneratedFile> family_header(const std::string& family,
                                    const std::vector<const OpDecl*>& ops) {
  std::string c_parts;
  std::string cpp_parts;
  std::string hashes;
  for (const OpDecl* op : ops) {
    for (const InterfaceDecl& interface : op->interfaces) {
      const InterfaceEmitter emitter(*op, interface);
      c_parts += emitter.c_part() + '\n';
      Result<std::string> cpp = emitter.cpp_part();
      if (!cpp) return fail(std::move(cpp).error());
      cpp_parts += *cpp + '\n';
      hashes += fmt::format("{:016x}", emitter.hash());
    }
  }
  const std::string guard = fmt::format("TENON_CONTRACTS_{}_H", upper_case(family));
  const std::string version = fmt::format("tenon_contracts_{}_{:016x}", family, fnv1a64(hashes));
  std::string out = fmt::format(
      "/* Contracts of the kernel interfaces of family `{0}`. Generated from the manifest: do not "
      "edit. */\n"
      "#ifndef {1}\n#define {1}\n\n"
      "#include <stddef.h>\n#include <stdint.h>\n\n#include \"tenon/plugin.h\"\n\n"
      "#ifndef TENON_CONTRACT_DATA\n"
      "#if defined(__cplusplus)\n#define TENON_CONTRACT_DATA inline constexpr\n"
      "#elif defined(__GNUC__)\n#define TENON_CONTRACT_DATA __attribute__((unused)) static const\n"
      "#else\n#define TENON_CONTRACT_DATA static const\n#endif\n#endif\n\n"
      "#ifdef __cplusplus\n"
      "/* Named after the contracts, so that two versions of them can be linked into one program. "
      "*/\n"
      "inline namespace {2} {{\n#endif\n\n",
      family,
      guard,
      version);
  out += c_parts;
  out += fmt::format(
      "#ifdef __cplusplus\n}}  /* namespace {} */\n\n#include <cstddef>\n#include "
      "<cstdint>\n#include <optional>\n#include <string_view>\n\n"
      "#include \"tenon/plugin.hpp\"\n\n",
      version);
  out += cpp_parts;
  out += fmt::format("#endif /* __cplusplus */\n\n#endif /* {} */\n", guard);
  return GeneratedFile{fmt::format("tenon/contracts/{}.h", family), std::move(out)};
}

}  // namespace

Result<std::vector<GeneratedFile>> generate_contracts(std::span<const OpDecl* const> ops) {
  std::map<std::string, std::vector<const OpDecl*>> families;
  for (const OpDecl* op : ops) {
    if (!op->interfaces.empty()) families[op->family].push_back(op);
  }
  std::vector<GeneratedFile> files;
  for (auto& [family, members] : families) {
    std::stable_sort(members.begin(), members.end(), [](const OpDecl* a, const OpDecl* b) {
      return a->name < b->name;
    });
    Result<GeneratedFile> file = family_header(family, members);
    if (!file) return fail(std::move(file).error());
    files.push_back(*std::move(file));
  }
  return files;
}

}  // namespace tenon::manifest
