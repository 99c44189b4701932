// The class of an entry in the typed C++ API, its struct of parameters and that of its outputs.
#include <algorithm>

#include <fmt/format.h>

#include "codegen_text.hpp"
#include "codegen_typed.hpp"

namespace tenon::manifest {
namespace {

std::string enums(const TypedShape& shape) {
  std::string out;
  for (const CppParam& param : shape.params) {
    if (param.enum_type.empty()) continue;
    out += enum_definition(
        param.enum_type,
        param.enum_members,
        fmt::format("The parameter {} of {}.", param.manifest_name, shape.class_name));
  }
  return out;
}

std::string params_struct(const TypedShape& shape) {
  std::string members;
  std::vector<std::string> values;
  std::vector<std::string> equal;
  for (const CppParam& param : shape.params) {
    members += fmt::format("  /// {}\n  {} {}{};\n",
                           param.comment,
                           param.type,
                           param.name,
                           param.default_text.empty() ? "" : " = " + param.default_text);
    equal.push_back(fmt::format("same_param(a.{0}, b.{0})", param.name));
    if (param.is_tensor) continue;
    values.push_back(
        fmt::format("NamedValue({}, to_value(p.{}))", c_string(param.manifest_name), param.name));
  }
  constexpr std::string_view kUnused = "[[maybe_unused]] ";
  return fmt::format(
      "/// Construction parameters of {0}, in the manifest's order.\nstruct {1} {{\n{2}}};\n"
      "/// What the registry is told.\n"
      "inline std::vector<NamedValue> to_values({3}const {1}& p) {{\n  return {{{4}}};\n}}\n"
      "/// True where they make the same instance.\n"
      "inline bool same_params({5}const {1}& a, {5}const {1}& b) {{\n  return {6};\n}}\n\n",
      shape.class_name,
      shape.params_type(),
      members,
      values.empty() ? kUnused : "",
      fmt::join(values, ",\n          "),
      equal.empty() ? kUnused : "",
      equal.empty() ? "true" : fmt::format("{}", fmt::join(equal, " &&\n         ")));
}

std::string outputs_struct(const TypedShape& shape) {
  if (shape.returns != Returns::kStruct) return {};
  std::string members;
  for (const TensorDecl& output : shape.decl.outputs) {
    members += fmt::format("  /// {}\n  {} {};\n",
                           tensor_text(output),
                           TypedShape::is_list(output)       ? "std::vector<Tensor>"
                           : output.optional != When::kNever ? "std::optional<Tensor>"
                                                             : "Tensor",
                           cpp_name(output.name));
  }
  return fmt::format(
      "/// What {0} returns.\nstruct {0}Outputs {{\n{1}}};\n\n", shape.class_name, members);
}

// ---- Calls

/// Every input in manifest order.
std::string by_position(const TypedShape& shape) {
  return fmt::format("std::array<TensorIn, {}>{{{}}}", shape.inputs.size(), names_of(shape.inputs));
}

std::string by_name(const TypedShape& shape) {
  std::vector<std::string> args;
  args.reserve(shape.inputs.size());
  for (std::size_t i = 0; i < shape.inputs.size(); ++i)
    args.push_back(
        fmt::format("{{{}, {}}}", c_string(shape.decl.inputs[i].name), shape.inputs[i].name));
  return fmt::format("{{{}}}", fmt::join(args, ", "));
}

/// The call's options behind its arguments: `out`, or the device.
std::string options_text(const TypedShape& shape, bool with_out) {
  if (with_out) return ", {&out, {}}";
  if (shape.no_device_input) return fmt::format(", {{nullptr, {}}}", shape.device.name);
  return {};
}

/// Where positions say enough: no lists, a tensor that says where the call is, and no `out` beside
/// other outputs.
bool goes_by_position(const TypedShape& shape, bool with_out) {
  const auto& inputs = shape.decl.inputs;
  const bool is_placed = std::any_of(inputs.begin(), inputs.end(), [](const TensorDecl& input) {
    return !input.on_cpu && input.optional == When::kNever;
  });
  return !shape.has_lists && is_placed && (!with_out || shape.returns == Returns::kTensor);
}

/// Returns the outputs, given the expression of each.
std::string members_text(const TypedShape& shape, const std::vector<std::string>& outputs) {
  std::vector<std::string> members;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    members.push_back(shape.decl.outputs[i].optional == When::kNever ||
                              TypedShape::is_list(shape.decl.outputs[i])
                          ? outputs[i]
                          : fmt::format("if_present({})", outputs[i]));
  }
  if (shape.returns != Returns::kStruct) return fmt::format("    return {};\n", members.front());
  return fmt::format("    return {}Outputs{{{}}};\n", shape.class_name, fmt::join(members, ", "));
}

std::string call_by_name(const TypedShape& shape, bool with_out) {
  const std::string call =
      fmt::format("TypedOp::call({}{})", by_name(shape), options_text(shape, with_out));
  if (shape.returns == Returns::kNothing)
    return fmt::format("    TENON_TRY({});\n    return {{}};\n", call);
  if (shape.returns == Returns::kTensor && with_out)
    return fmt::format("    TENON_TRY({});\n    return out;\n", call);
  std::vector<std::string> outputs;
  for (const TensorDecl& output : shape.decl.outputs)
    outputs.emplace_back(TypedShape::is_list(output) ? "each_output.list()" : "each_output.one()");
  return fmt::format("    OutputReader each_output;\n    TENON_TRY_ASSIGN(each_output, {});\n{}",
                     call,
                     members_text(shape, outputs));
}

/// Statements that call and return what the op returns.
std::string call_text(const TypedShape& shape, bool with_out) {
  if (!goes_by_position(shape, with_out)) return call_by_name(shape, with_out);
  const std::string args = by_position(shape);
  if (with_out) return fmt::format("    return TypedOp::call_out({}, out);\n", args);
  if (shape.returns == Returns::kNothing)
    return fmt::format("    return TypedOp::call_none({});\n", args);
  if (shape.returns == Returns::kTensor)
    return fmt::format("    return TypedOp::call_one({});\n", args);
  std::vector<std::string> outputs;
  for (std::size_t i = 0; i < shape.decl.outputs.size(); ++i)
    outputs.push_back(fmt::format("std::move(made_outputs[{}])", i));
  return fmt::format(
      "    std::array<Tensor, {}> made_outputs;\n"
      "    TENON_TRY(TypedOp::call_into({}, made_outputs));\n{}",
      outputs.size(),
      args,
      members_text(shape, outputs));
}

std::string call_comment(const TypedShape& shape) {
  std::vector<std::string> written;
  for (const TensorDecl& input : shape.decl.inputs) {
    if (input.mutated == When::kAlways) written.push_back("`" + input.name + "`");
    if (input.mutated == When::kConditional)
      written.push_back(fmt::format("`{}` where {}", input.name, input.mutated_text));
  }
  std::string returned = shape.returns == Returns::kNothing ? "" : "Returns the result";
  if (shape.returns == Returns::kStruct) returned += "s";
  if (!written.empty()) {
    const std::string writes = fmt::format("rites {}", fmt::join(written, " and "));
    returned = returned.empty() ? "W" + writes : fmt::format("W{}. {}", writes, returned);
  }
  return (returned.empty() ? "Calls it" : returned) + ".";
}

// ---- The class

/// What construction tells of the tensors among the parameters.
std::string construction_tensors(const TypedShape& shape) {
  if (!shape.has_construction_tensors()) return {};
  std::vector<std::string> tensors;
  std::string borrow;
  for (const CppParam& param : shape.params) {
    if (!param.is_tensor) continue;
    tensors.push_back(fmt::format("{{{}, params.{}}}", c_string(param.manifest_name), param.name));
    borrow += fmt::format("    params.{0} = borrowed(params.{0});\n", param.name);
  }
  return fmt::format(
      "  /// The tensors among the parameters.\n"
      "  static TensorParams tensors_of(const Params& params) {{\n    return {{{}}};\n  }}\n"
      "  /// The same parameters, keeping no memory.\n"
      "  static Params borrowing(Params params) {{\n{}    return params;\n  }}\n",
      fmt::join(tensors, ", "),
      borrow);
}

std::string constructors(const TypedShape& shape) {
  const std::string& name = shape.class_name;
  const char* defaults = shape.all_defaulted() ? " = {}" : "";
  std::string out = fmt::format(
      "class {0} : public TypedOp {{\n public:\n  using Params = {1};\n"
      "  static constexpr std::string_view kOp = {2};\n\n"
      "  /// Makes the instance; made() says whether it could be made.\n"
      "  explicit {0}(const Runtime& runtime,\n{3}const Params& params{4},\n"
      "{3}InstanceOptions options = {{}})\n"
      "      : TypedOp(runtime, kOp, to_values(params), std::move(options){5}) {{}}\n",
      name,
      shape.params_type(),
      c_string(shape.decl.full_name()),
      std::string(name.size() + 12, ' '),
      defaults,
      shape.has_construction_tensors() ? ", tensors_of(params)" : "");
  out += fmt::format(
      "  /// The same, as a Result. @errors what made() says.\n"
      "  static Result<{0}> make(const Runtime& runtime,\n{1}const Params& params{2},\n"
      "{1}InstanceOptions options = {{}}) {{\n"
      "    {0} op(runtime, params, std::move(options));\n    TENON_TRY(op.made());\n"
      "    return op;\n  }}\n",
      name,
      std::string(name.size() + 23, ' '),
      defaults);
  return out + construction_tensors(shape) + '\n';
}

std::string class_text(const TypedShape& shape) {
  std::string out = doc_comment(shape.source) + constructors(shape);
  out += fmt::format("  /// {}\n{}\n{}  }}\n",
                     call_comment(shape),
                     signature_text(shape.result_type() + " operator()", shape.call_formals(), 2),
                     call_text(shape, false));
  if (shape.has_out) {
    const bool is_bare = goes_by_position(shape, true);
    out += fmt::format(
        "  /// Into `out`, memory of the caller's with exactly the output's shape and "
        "dtype; returns it.{}\n{}\n{}  }}\n",
        is_bare ? "\n  /// On a hit it allocates nothing and takes no lock." : "",
        signature_text(shape.out_result_type() + " out", shape.out_formals(), 2),
        call_text(shape, true));
  }
  if (shape.has_in_place) {
    out += fmt::format(
        "  /// In place: writes into `{0}`.\n{1}\n    return out({2}, {0});\n  }}\n",
        shape.inputs.front().name,
        signature_text(shape.out_result_type() + " in_place", shape.in_place_formals(), 2),
        names_of(shape.inputs));
  }
  return out + "};\n\n";
}

}  // namespace

std::string typed_class(const TypedShape& shape) {
  return enums(shape) + params_struct(shape) + outputs_struct(shape) + class_text(shape);
}

}  // namespace tenon::manifest
