// The headers of the typed C++ API: per entry a struct of parameters, a class and free functions.
#include "codegen_typed.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace tenon::manifest {
namespace {

/// Entries of one schema name are overloads in C++ too, unless C++ cannot tell them apart.
std::string function_base(const TypedShape& shape, std::set<std::string>& functions) {
  std::string types;
  for (const Formal& formal : shape.call_formals()) types += formal.type + ",";
  types += shape.params.empty() ? "" : shape.all_defaulted() ? "defaults" : shape.params_type();
  std::string base = shape.decl.schema_name;
  if (!functions.insert(base + "(" + types).second) {
    std::string lower =
        shape.decl.schema_overload.empty() ? shape.decl.name : shape.decl.schema_overload;
    std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    base += "_" + lower;
    functions.insert(base + "(" + types);
  }
  return base;
}

/// One way of calling the op as a function.
struct FunctionForm {
  std::string name;
  std::string result;
  std::vector<Formal> formals;
  std::string call;  ///< of the instance behind the pointer {}
  std::string what;  ///< for the comment
};

std::string function_text(const TypedShape& shape, const FunctionForm& form) {
  Names names = shape.names;
  std::vector<Formal> formals = form.formals;
  const std::string args = names_of(formals);
  const std::string runtime = names.take("runtime");
  formals.insert(formals.begin(), {"const Runtime&", runtime, ""});
  std::string params = shape.params_type() + "{}";
  if (!shape.params.empty()) {
    params = names.take("params");
    const bool defaults = shape.all_defaulted();
    if (!defaults) formals = without_defaults(std::move(formals));
    formals.push_back(
        {fmt::format("const {}&", shape.params_type()), params, defaults ? "{}" : ""});
  }
  const std::string op = names.take("op");
  return fmt::format(
      "/// {0}{1}, by an instance of the Runtime's table{8}.\n"
      "{2}\n  {0}* {3} = nullptr;\n"
      "  TENON_TRY_ASSIGN({3}, find_typed<{0}>({4}, {5}));\n  return {6}({7});\n}}\n\n",
      shape.class_name,
      form.what,
      signature_text("inline " + form.result + " " + form.name, formals, 0),
      op,
      runtime,
      params,
      fmt::format(fmt::runtime(form.call), op),
      args,
      shape.has_construction_tensors() ? ", which holds the tensors among the parameters" : "");
}

}  // namespace

std::string typed_functions(const TypedShape& shape, std::set<std::string>& functions) {
  const std::string base = function_base(shape, functions);
  std::string out = function_text(
      shape, {cpp_name(base), shape.result_type(), shape.call_formals(), "(*{})", ""});
  if (shape.has_out) {
    out += function_text(
        shape,
        {base + "_out", shape.out_result_type(), shape.out_formals(), "{}->out", " with `out`"});
  }
  if (shape.has_in_place) {
    out += function_text(shape,
                         {base + "_in_place",
                          shape.out_result_type(),
                          shape.in_place_formals(),
                          "{}->in_place",
                          " in place"});
  }
  return out;
}

namespace {

constexpr std::string_view kHead =
    "// {0} Generated from the manifest: do not edit.\n#pragma once\n\n"
    "#include <array>\n#include <cstddef>\n#include <cstdint>\n#include <limits>\n"
    "#include <optional>\n#include <string>\n"
    "#include <string_view>\n#include <utility>\n#include <vector>\n\n"
    "{1}\nnamespace tenon::ops {{\n\nusing tenon::same_param;\nusing tenon::to_value;\n\n";

GeneratedFile adt_header(const std::map<std::string, const signature::AdtType*>& adts) {
  std::string out = fmt::format(fmt::runtime(kHead),
                                "Algebraic parameter types.",
                                "#include \"tenon/loader/typed_params.hpp\"\n");
  for (const auto& [name, type] : adts) out += adt_definition(*type);
  return {"tenon/ops/types.hpp", out + "}  // namespace tenon::ops\n"};
}

}  // namespace

Result<std::vector<GeneratedFile>> generate_typed_api(std::span<const OpSource> ops) {
  std::map<std::string, std::vector<const OpSource*>> families;
  std::map<std::string, const signature::AdtType*> adts;
  for (const OpSource& op : ops) {
    families[op.data.decl.family].push_back(&op);
    for (const signature::AdtType& type : op.data.adts) adts.emplace(type.name, &type);
  }
  std::vector<GeneratedFile> files;
  std::set<std::string> functions;
  std::string includes;
  for (auto& [family, members] : families) {
    std::stable_sort(members.begin(), members.end(), [](const OpSource* a, const OpSource* b) {
      return a->data.decl.name < b->data.decl.name;
    });
    std::string include = "#include \"tenon/loader/typed_op.hpp\"\n";
    if (!adts.empty()) include += "#include \"tenon/ops/types.hpp\"\n";
    std::string out =
        fmt::format(fmt::runtime(kHead), fmt::format("The ops of family `{}`.", family), include);
    for (const OpSource* op : members) {
      const TypedShape shape(*op);
      TENON_TRY(shape.check_names());
      out += typed_class(shape) + typed_functions(shape, functions);
    }
    files.push_back(
        {fmt::format("tenon/ops/{}.hpp", family), out + "}  // namespace tenon::ops\n"});
    includes += fmt::format("#include \"tenon/ops/{}.hpp\"\n", family);
  }
  if (!adts.empty()) {
    files.push_back(adt_header(adts));
    includes += "#include \"tenon/ops/types.hpp\"\n";
  }
  files.push_back({"tenon/ops.hpp",
                   "// Every op of the manifest, typed. Generated from the manifest: do not edit.\n"
                   "#pragma once\n\n" +
                       (includes.empty() ? "" : includes)});
  return files;
}

}  // namespace tenon::manifest
