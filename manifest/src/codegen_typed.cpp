// The emitter of the typed C++ API: per entry a struct of parameters, a class and free functions.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "codegen_text.hpp"
#include "codegen_types.hpp"
#include "cpp_text.hpp"
#include "tenon/manifest/codegen.hpp"

namespace tenon::manifest {
namespace {

/// How a call returns its outputs.
enum class Returns : std::uint8_t { kNothing, kTensor, kOptionalTensor, kStruct };

/// One formal of a generated function.
struct Formal {
  std::string type;
  std::string name;
  std::string default_text;  ///< empty: none
};

/// "head(formals) {", one formal a line where they do not fit on one.
std::string signature(std::string head, const std::vector<Formal>& formals, std::size_t indent) {
  constexpr std::size_t kWidth = 100;
  std::vector<std::string> parts;
  parts.reserve(formals.size());
  for (const Formal& formal : formals) {
    parts.push_back(formal.type + " " + formal.name +
                    (formal.default_text.empty() ? "" : " = " + formal.default_text));
  }
  head = std::string(indent, ' ') + head + "(";
  std::string line = fmt::format("{}{}) {{", head, fmt::join(parts, ", "));
  if (line.size() <= kWidth) return line;
  const std::string next = ",\n" + std::string(head.size(), ' ');
  return fmt::format("{}{}) {{", head, fmt::join(parts, next));
}

std::string names_of(const std::vector<Formal>& formals) {
  std::vector<std::string> names;
  names.reserve(formals.size());
  for (const Formal& formal : formals) names.push_back(formal.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Defaults may only stand at the end.
std::vector<Formal> without_defaults(std::vector<Formal> formals) {
  for (Formal& formal : formals) formal.default_text.clear();
  return formals;
}

/// One entry of a header.
class TypedEmitter {
 public:
  explicit TypedEmitter(const OpSource& source)
      : source_(source),
        decl_(source.data.decl),
        class_(decl_.name.substr(0, decl_.name.size() - 2)) {  // less "Op"
    for (std::size_t i = 0; i < decl_.params.size(); ++i)
      by_ordinal_.push_back(cpp_param(source.data, i, class_));
    for (const auto& [is_tensor, index] : decl_.constructor_order) {
      params_.push_back(is_tensor ? tensor_param(decl_.construction_tensors[index])
                                  : by_ordinal_[index]);
    }
    for (const TensorDecl& input : decl_.inputs) {
      const bool may_be_absent = input.optional != When::kNever;
      inputs_.push_back({input.list      ? "TensorListIn"
                         : may_be_absent ? "OptionalTensorIn"
                                         : "TensorIn",
                         names_.take(cpp_name(input.name)),
                         may_be_absent ? "{}" : ""});
      has_lists_ = has_lists_ || input.list;
    }
    // A result buffer that every call passes stands behind what may be absent.
    if (decl_.input_index(kRequiredOut)) inputs_ = without_defaults(std::move(inputs_));
    const auto lists =
        std::count_if(decl_.outputs.begin(), decl_.outputs.end(), [](const TensorDecl& o) {
          return o.list.has_value() || !o.list_count_text.empty();
        });
    can_return_ = lists <= 1;
    has_lists_ = has_lists_ || lists != 0;
    if (decl_.outputs.empty())
      returns_ = Returns::kNothing;
    else if (decl_.outputs.size() > 1 || lists != 0)
      returns_ = Returns::kStruct;
    else if (decl_.outputs.front().optional != When::kNever)
      returns_ = Returns::kOptionalTensor;
    else
      returns_ = Returns::kTensor;
    has_out_ = decl_.buffered_output().has_value();
    has_in_place_ = std::any_of(decl_.branches.begin(),
                                decl_.branches.end(),
                                [](const EffectBranch& b) { return b.in_place; });
    no_device_input_ = std::all_of(
        decl_.inputs.begin(), decl_.inputs.end(), [](const auto& i) { return i.on_cpu; });
    if (no_device_input_)
      device_ = {"std::optional<Device>", names_.take("device"), "std::nullopt"};
  }

  /// @errors ManifestInvalid where two names would become one.
  [[nodiscard]] Result<std::string> text(std::set<std::string>& functions) const {
    TENON_TRY(check_names());
    if (!can_return_) {
      return fmt::format("// {} returns several lists of tensors: call it by name.\n\n",
                         decl_.name);
    }
    return enums() + params_struct() + outputs_struct() + class_text() + functions_text(functions);
  }

 private:
  static CppParam tensor_param(const TensorDecl& tensor) {
    CppParam param;
    param.name = cpp_name(tensor.name);
    param.manifest_name = tensor.name;
    param.is_tensor = true;
    const bool may_be_absent = tensor.optional != When::kNever;
    param.type = may_be_absent ? "Tensor" : "Required<Tensor>";
    param.default_text = may_be_absent ? "{}" : "";
    param.comment = fmt::format("a tensor: {}{}{}",
                                tensor.dtype_text,
                                tensor.shape_text,
                                may_be_absent ? ", may be left out" : "");
    return param;
  }

  [[nodiscard]] Result<void> check_names() const {
    std::map<std::string, std::string> spelled;
    const auto add = [&](const std::string& name, const std::string& given) -> Result<void> {
      const auto [at, fresh] = spelled.emplace(name, given);
      if (fresh) return {};
      return fail(Error(ErrorCode::kManifestInvalid,
                        fmt::format("'{}' and '{}' of {} would both be '{}' in C++",
                                    at->second,
                                    given,
                                    decl_.name,
                                    name))
                      .with_where(decl_.where.to_string())
                      .with_hint("rename one of the two"));
    };
    for (const CppParam& param : params_) TENON_TRY(add(param.name, param.manifest_name));
    for (const TensorDecl& t : decl_.inputs) TENON_TRY(add(cpp_name(t.name), t.name));
    for (const TensorDecl& t : decl_.outputs) TENON_TRY(add(cpp_name(t.name), t.name));
    return {};
  }

  // ---- Parameters and outputs

  [[nodiscard]] std::string params_type() const { return class_ + "Params"; }

  [[nodiscard]] std::string enums() const {
    std::string out;
    for (const CppParam& param : params_) {
      if (param.enum_type.empty()) continue;
      out += enum_definition(param.enum_type,
                             param.enum_members,
                             fmt::format("The parameter {} of {}.", param.manifest_name, class_));
    }
    return out;
  }

  [[nodiscard]] std::string params_struct() const {
    std::string members;
    std::vector<std::string> values;
    std::vector<std::string> equal;
    for (const CppParam& param : params_) {
      members += fmt::format("  /// {}\n  {} {}{};\n",
                             param.comment,
                             param.type,
                             param.name,
                             param.default_text.empty() ? "" : " = " + param.default_text);
      if (param.is_tensor) continue;
      values.push_back(
          fmt::format("NamedValue({}, to_value(p.{}))", c_string(param.manifest_name), param.name));
      equal.push_back(fmt::format("same_param(a.{0}, b.{0})", param.name));
    }
    const bool unused = values.empty();
    std::string out = fmt::format(
        "/// Construction parameters of {0}, in the manifest's order.\nstruct {1} {{\n{2}}};\n"
        "/// What the registry is told.\n"
        "inline std::vector<NamedValue> to_values({3}const {1}& p) {{\n  return {{{4}}};\n}}\n",
        class_,
        params_type(),
        members,
        unused ? "[[maybe_unused]] " : "",
        fmt::join(values, ",\n          "));
    if (!has_construction_tensors()) {
      out += fmt::format(
          "/// True where they make the same instance.\n"
          "inline bool same_params({0}const {1}& a, {0}const {1}& b) {{\n  return {2};\n}}\n",
          unused ? "[[maybe_unused]] " : "",
          params_type(),
          unused ? "true" : fmt::format("{}", fmt::join(equal, " &&\n         ")));
    }
    return out + '\n';
  }

  [[nodiscard]] bool has_construction_tensors() const {
    return !decl_.construction_tensors.empty();
  }
  [[nodiscard]] static bool is_list(const TensorDecl& output) {
    return output.list.has_value() || !output.list_count_text.empty();
  }

  [[nodiscard]] std::string outputs_struct() const {
    if (returns_ != Returns::kStruct) return {};
    std::string members;
    for (const TensorDecl& output : decl_.outputs) {
      members += fmt::format("  /// {}\n  {} {};\n",
                             tensor_text(output),
                             is_list(output)                   ? "std::vector<Tensor>"
                             : output.optional != When::kNever ? "std::optional<Tensor>"
                                                               : "Tensor",
                             cpp_name(output.name));
    }
    return fmt::format("/// What {0} returns.\nstruct {0}Outputs {{\n{1}}};\n\n", class_, members);
  }

  // ---- The class

  [[nodiscard]] std::string result_type() const {
    switch (returns_) {
      case Returns::kNothing:
        return "Result<void>";
      case Returns::kTensor:
        return "Result<Tensor>";
      case Returns::kOptionalTensor:
        return "Result<std::optional<Tensor>>";
      default:
        return fmt::format("Result<{}Outputs>", class_);
    }
  }
  /// A single output is the caller's `out`: it is given back as it came.
  [[nodiscard]] std::string out_result_type() const {
    return returns_ == Returns::kTensor ? "Result<TensorView>" : result_type();
  }

  [[nodiscard]] std::string args_text() const {
    std::vector<std::string> args;
    args.reserve(inputs_.size());
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      args.push_back(fmt::format("{{{}, {}}}", c_string(decl_.inputs[i].name), inputs_[i].name));
    return fmt::format("{{{}}}", fmt::join(args, ", "));
  }

  /// Statements that call and return what the op returns. `out`: the name of the buffer, or empty.
  [[nodiscard]] std::string call_text(const std::string& out) const {
    std::string rest;
    if (!out.empty()) rest = fmt::format(", &{}", out);
    if (no_device_input_ && out.empty()) rest = fmt::format(", nullptr, {}", device_.name);
    const std::string short_rest =
        no_device_input_ && out.empty() ? fmt::format(", {}", device_.name) : "";
    if (returns_ == Returns::kNothing)
      return fmt::format("    return TypedOp::call_none({}{});\n", args_text(), short_rest);
    if (returns_ == Returns::kTensor && out.empty())
      return fmt::format("    return TypedOp::call_one({}{});\n", args_text(), short_rest);
    std::string text = fmt::format(
        "    std::vector<Tensor> made_outputs;\n"
        "    TENON_TRY_ASSIGN(made_outputs, TypedOp::call({}{}));\n",
        args_text(),
        rest);
    if (returns_ == Returns::kOptionalTensor)
      return text + "    return if_present(std::move(made_outputs.front()));\n";
    std::vector<std::string> members;
    const std::size_t count = decl_.outputs.size();
    bool after_list = false;
    for (std::size_t i = 0; i < count; ++i) {
      const TensorDecl& output = decl_.outputs[i];
      if (is_list(output)) {
        members.push_back(fmt::format("list_output(made_outputs, {}, {})", i, count - 1 - i));
        after_list = true;
        continue;
      }
      const std::string at =
          after_list ? fmt::format("made_outputs.size() - {}", count - i) : std::to_string(i);
      const std::string item = fmt::format("std::move(made_outputs[{}])", at);
      members.push_back(output.optional == When::kNever ? item
                                                        : fmt::format("if_present({})", item));
    }
    return text + fmt::format("    return {}Outputs{{{}}};\n", class_, fmt::join(members, ", "));
  }

  [[nodiscard]] std::vector<Formal> call_formals() const {
    std::vector<Formal> formals = inputs_;
    if (no_device_input_) formals.push_back(device_);
    return formals;
  }
  [[nodiscard]] std::vector<Formal> out_formals() const {
    std::vector<Formal> formals = without_defaults(inputs_);
    formals.push_back({"const TensorView&", "out", ""});
    return formals;
  }
  /// The first input is memory that is written.
  [[nodiscard]] std::vector<Formal> in_place_formals() const {
    std::vector<Formal> formals = inputs_;
    formals.front().type = "const TensorView&";
    return formals;
  }

  [[nodiscard]] std::string class_text() const {
    std::string out = doc_comment(source_);
    out += fmt::format(
        "class {0} : public TypedOp {{\n public:\n  using Params = {1};\n"
        "  static constexpr std::string_view kOp = {2};\n\n"
        "  /// Makes the instance; made() says whether it could be made.\n"
        "  explicit {0}(const Runtime& runtime,\n{3}const Params& params{4},\n"
        "{3}InstanceOptions options = {{}})\n"
        "      : TypedOp(runtime, kOp, to_values(params), std::move(options){5}) {{}}\n",
        class_,
        params_type(),
        c_string(decl_.full_name()),
        std::string(class_.size() + 12, ' '),
        all_defaulted() ? " = {}" : "",
        construction_tensors_text());
    out += fmt::format(
        "  /// The same, as a Result. @errors what made() says.\n"
        "  static Result<{0}> make(const Runtime& runtime,\n{1}const Params& params{2},\n"
        "{1}InstanceOptions options = {{}}) {{\n"
        "    {0} op(runtime, params, std::move(options));\n    TENON_TRY(op.made());\n"
        "    return op;\n  }}\n\n",
        class_,
        std::string(class_.size() + 23, ' '),
        all_defaulted() ? " = {}" : "");
    out += fmt::format("  /// {}\n{}\n{}  }}\n",
                       call_comment(),
                       signature(result_type() + " operator()", call_formals(), 2),
                       call_text(""));
    if (has_out_) {
      const bool is_bare = returns_ == Returns::kTensor && !has_lists_;
      out += fmt::format(
          "  /// Into `out`, memory of the caller's with exactly the output's shape and "
          "dtype; returns it.{}\n{}\n{}  }}\n",
          is_bare ? "\n  /// On a hit it allocates nothing and takes no lock." : "",
          signature(out_result_type() + " out", out_formals(), 2),
          out_text());
    }
    if (has_in_place_) {
      out +=
          fmt::format("  /// In place: writes into `{0}`.\n{1}\n    return out({2}, {0});\n  }}\n",
                      inputs_.front().name,
                      signature(out_result_type() + " in_place", in_place_formals(), 2),
                      names_of(inputs_));
    }
    return out + "};\n\n";
  }

  [[nodiscard]] std::string out_text() const {
    if (returns_ != Returns::kTensor) return call_text("out");
    if (has_lists_)
      return fmt::format("    TENON_TRY(TypedOp::call({}, &out));\n    return out;\n", args_text());
    return fmt::format("    return TypedOp::call_out(std::array<TensorIn, {}>{{{}}}, out);\n",
                       inputs_.size(),
                       names_of(inputs_));
  }

  [[nodiscard]] std::string call_comment() const {
    std::vector<std::string> written;
    for (const TensorDecl& input : decl_.inputs) {
      if (input.mutated == When::kAlways) written.push_back("`" + input.name + "`");
      if (input.mutated == When::kConditional)
        written.push_back(fmt::format("`{}` where {}", input.name, input.mutated_text));
    }
    std::string returned = returns_ == Returns::kNothing ? "" : "Returns the result";
    if (returns_ == Returns::kStruct) returned += "s";
    if (!written.empty()) {
      const std::string writes = fmt::format("rites {}", fmt::join(written, " and "));
      returned = returned.empty() ? "W" + writes : fmt::format("W{}. {}", writes, returned);
    }
    return (returned.empty() ? "Calls it" : returned) + ".";
  }

  [[nodiscard]] bool all_defaulted() const {
    return std::none_of(
        params_.begin(), params_.end(), [](const CppParam& p) { return p.default_text.empty(); });
  }

  [[nodiscard]] std::string construction_tensors_text() const {
    std::vector<std::string> tensors;
    for (const CppParam& param : params_) {
      if (param.is_tensor)
        tensors.push_back(
            fmt::format("{{{}, params.{}}}", c_string(param.manifest_name), param.name));
    }
    return tensors.empty() ? "" : fmt::format(", {{{}}}", fmt::join(tensors, ", "));
  }

  // ---- Free functions

  [[nodiscard]] std::string functions_text(std::set<std::string>& functions) const {
    if (has_construction_tensors()) {
      return fmt::format("// {} holds tensors, so it has no free function: make an instance.\n\n",
                         class_);
    }
    const std::string base = function_base(functions);
    std::string out = function(cpp_name(base), result_type(), call_formals(), "(*op)", "");
    if (has_out_)
      out += function(base + "_out", out_result_type(), out_formals(), "op->out", " with `out`");
    if (has_in_place_) {
      out += function(
          base + "_in_place", out_result_type(), in_place_formals(), "op->in_place", " in place");
    }
    return out;
  }

  /// Entries of one schema name are overloads in C++ too, unless C++ cannot tell them apart.
  [[nodiscard]] std::string function_base(std::set<std::string>& functions) const {
    std::string types;
    for (const Formal& formal : call_formals()) types += formal.type + ",";
    types += params_.empty() ? "" : all_defaulted() ? "defaults" : params_type();
    std::string base = decl_.schema_name;
    if (!functions.insert(base + "(" + types).second) {
      std::string lower = decl_.schema_overload.empty() ? decl_.name : decl_.schema_overload;
      std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      });
      base += "_" + lower;
      functions.insert(base + "(" + types);
    }
    return base;
  }

  [[nodiscard]] std::string function(const std::string& name,
                                     const std::string& result,
                                     std::vector<Formal> formals,
                                     const std::string& call,
                                     const std::string& what) const {
    Names names = names_;
    const std::string args = names_of(formals);
    const std::string runtime = names.take("runtime");
    formals.insert(formals.begin(), {"const Runtime&", runtime, ""});
    std::string params = params_type() + "{}";
    if (!params_.empty()) {
      params = names.take("params");
      const bool defaults = all_defaulted();
      if (!defaults) formals = without_defaults(std::move(formals));
      formals.push_back({fmt::format("const {}&", params_type()), params, defaults ? "{}" : ""});
    }
    const std::string op = names.take("op");
    std::string callee = call;
    if (const auto at = callee.find("op"); at != std::string::npos && op != "op")
      callee.replace(at, 2, op);
    return fmt::format(
        "/// {0}{1}, by an instance of the Runtime's table.\n"
        "{2}\n  {0}* {3} = nullptr;\n"
        "  TENON_TRY_ASSIGN({3}, find_typed<{0}>({4}, {5}));\n  return {6}({7});\n}}\n\n",
        class_,
        what,
        signature("inline " + result + " " + name, formals, 0),
        op,
        runtime,
        params,
        callee,
        args);
  }

  const OpSource& source_;
  const OpDecl& decl_;
  std::string class_;
  std::vector<CppParam> by_ordinal_;
  std::vector<CppParam> params_;  ///< in constructor order
  Names names_;
  std::vector<Formal> inputs_;
  Formal device_;
  Returns returns_ = Returns::kTensor;
  bool can_return_ = true;
  bool has_out_ = false;
  bool has_in_place_ = false;
  bool has_lists_ = false;
  bool no_device_input_ = false;
};

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
      Result<std::string> text = TypedEmitter(*op).text(functions);
      if (!text) return fail(std::move(text).error());
      out += *text;
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
