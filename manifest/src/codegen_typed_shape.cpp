// An entry in the terms of C++: its formals, its result, its names.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "codegen_typed.hpp"

namespace tenon::manifest {

std::string signature_text(std::string head,
                           const std::vector<Formal>& formals,
                           std::size_t indent) {
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

std::vector<Formal> without_defaults(std::vector<Formal> formals) {
  for (Formal& formal : formals) formal.default_text.clear();
  return formals;
}

namespace {

CppParam tensor_param(const TensorDecl& tensor) {
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

Formal input_formal(const TensorDecl& input, Names& names) {
  const bool may_be_absent = input.optional != When::kNever;
  return {input.list      ? "TensorListIn"
          : may_be_absent ? "OptionalTensorIn"
                          : "TensorIn",
          names.take(cpp_name(input.name)),
          may_be_absent ? "{}" : ""};
}

Returns returns_of(const OpDecl& decl) {
  if (decl.outputs.empty()) return Returns::kNothing;
  const TensorDecl& first = decl.outputs.front();
  if (decl.outputs.size() > 1 || TypedShape::is_list(first)) return Returns::kStruct;
  return first.optional != When::kNever ? Returns::kOptionalTensor : Returns::kTensor;
}

}  // namespace

TypedShape::TypedShape(const OpSource& of)
    : source(of),
      decl(of.data.decl),
      class_name(decl.name.substr(0, decl.name.size() - 2)),  // less "Op"
      returns(returns_of(decl)) {
  // What the bodies call their own.
  for (const char* taken : {"made_outputs", "each_output"}) (void)names.take(taken);
  for (const auto& [is_tensor, index] : decl.constructor_order) {
    params.push_back(is_tensor ? tensor_param(decl.construction_tensors[index])
                               : cpp_param(of.data, index, class_name));
  }
  for (const TensorDecl& input : decl.inputs) {
    inputs.push_back(input_formal(input, names));
    has_lists = has_lists || input.list.has_value();
  }
  // A result buffer that every call passes stands behind what may be absent.
  if (decl.input_index(kRequiredOut)) inputs = without_defaults(std::move(inputs));
  has_lists = has_lists || std::any_of(decl.outputs.begin(), decl.outputs.end(), is_list);
  has_out = decl.buffered_output().has_value();
  has_in_place = std::any_of(decl.branches.begin(), decl.branches.end(), [](const auto& branch) {
    return branch.in_place;
  });
  no_device_input = std::all_of(
      decl.inputs.begin(), decl.inputs.end(), [](const auto& input) { return input.on_cpu; });
  if (no_device_input) device = {"std::optional<Device>", names.take("device"), "std::nullopt"};
}

Result<void> TypedShape::check_names() const {
  std::map<std::string, std::string> spelled;
  const auto add = [&](const std::string& name, const std::string& given) -> Result<void> {
    const auto [at, fresh] = spelled.emplace(name, given);
    if (fresh) return {};
    return fail(Error(ErrorCode::kManifestInvalid,
                      fmt::format("'{}' and '{}' of {} would both be '{}' in C++",
                                  at->second,
                                  given,
                                  decl.name,
                                  name))
                    .with_where(decl.where.to_string())
                    .with_hint("rename one of the two"));
  };
  for (const CppParam& param : params) TENON_TRY(add(param.name, param.manifest_name));
  for (const TensorDecl& t : decl.inputs) TENON_TRY(add(cpp_name(t.name), t.name));
  for (const TensorDecl& t : decl.outputs) TENON_TRY(add(cpp_name(t.name), t.name));
  return {};
}

bool TypedShape::all_defaulted() const {
  return std::none_of(
      params.begin(), params.end(), [](const CppParam& p) { return p.default_text.empty(); });
}

std::string TypedShape::result_type() const {
  switch (returns) {
    case Returns::kNothing:
      return "Result<void>";
    case Returns::kTensor:
      return "Result<Tensor>";
    case Returns::kOptionalTensor:
      return "Result<std::optional<Tensor>>";
    default:
      return fmt::format("Result<{}Outputs>", class_name);
  }
}

std::vector<Formal> TypedShape::call_formals() const {
  std::vector<Formal> formals = inputs;
  if (no_device_input) formals.push_back(device);
  return formals;
}

std::vector<Formal> TypedShape::out_formals() const {
  std::vector<Formal> formals = without_defaults(inputs);
  formals.push_back({"const TensorView&", "out", ""});
  return formals;
}

std::vector<Formal> TypedShape::in_place_formals() const {
  std::vector<Formal> formals = inputs;
  formals.front().type = "const TensorView&";
  return formals;
}

}  // namespace tenon::manifest
