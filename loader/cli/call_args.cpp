// Reads the arguments of a call and sorts them by the op's declaration.
#include "call_args.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "tenon/core/nearest.hpp"
#include "tenon/manifest/yaml.hpp"

namespace tenon::cli {
namespace {

tl::unexpected<Error> usage(std::string message, std::string hint = {}) {
  return fail(Error(ErrorCode::kUsageError, std::move(message)).with_hint(std::move(hint)));
}

const ParamDecl* find_param(const OpDecl& decl, std::string_view name) {
  const auto found = std::find_if(decl.params.begin(),
                                  decl.params.end(),
                                  [&](const ParamDecl& param) { return param.name == name; });
  return found == decl.params.end() ? nullptr : &*found;
}

std::vector<std::string> tensor_names(const OpDecl& decl) {
  std::vector<std::string> names;
  for (const TensorDecl& tensor : decl.construction_tensors) names.push_back(tensor.name);
  for (const TensorDecl& tensor : decl.inputs) names.push_back(tensor.name);
  if (const auto out = decl.buffered_output()) names.push_back(decl.outputs[*out].name);
  return names;
}

tl::unexpected<Error> unknown_tensor(const OpDecl& decl, const TensorSource& tensor) {
  const std::string message = fmt::format("{} has no tensor '{}'", decl.name, tensor.name);
  if (find_param(decl, tensor.name) != nullptr) {
    return usage(
        message,
        fmt::format(
            "'{}' is a parameter: write --set {}={}", tensor.name, tensor.name, tensor.text));
  }
  for (const TensorDecl& output : decl.outputs) {
    if (output.name != tensor.name) continue;
    return usage(
        fmt::format("'{}' is an output of {} that cannot be passed in", tensor.name, decl.name),
        fmt::format("to write it to a file: --out {}=FILE", tensor.name));
  }
  const std::vector<std::string> names = tensor_names(decl);
  std::string hint = did_you_mean(tensor.name, names);
  if (hint.empty()) hint = fmt::format("its tensors are {}", fmt::join(names, ", "));
  return usage(message, std::move(hint));
}

/// "1e-6" and "1.0e6" are texts in YAML 1.1.
std::optional<double> number_in(const std::string& text) {
  double value = 0;
  const char* const first = text.data() + (text.starts_with('+') ? 1 : 0);
  const auto [end, status] = std::from_chars(first, text.data() + text.size(), value);
  if (status != std::errc{} || end != text.data() + text.size() || text.empty())
    return std::nullopt;
  return value;
}

bool admits(std::string_view type, std::string_view word) {
  return type.find(word) != std::string_view::npos;
}

/// A text as what the parameter's type makes of it; recurses into lists.
Value fitted(Value value, std::string_view type) {
  if (const auto* const list = value.get_if<ValueList>()) {
    ValueList fit = *list;
    for (Value& item : fit.items) item = fitted(std::move(item), type);
    return fit;
  }
  const auto* const text = value.get_if<std::string>();
  if (text == nullptr) return value;
  if (admits(type, "dtype")) {
    if (const auto dtype = dtype_from_name(*text, true)) return *dtype;
  }
  const bool takes_text = admits(type, "str") || admits(type, "'") || admits(type, "\"");
  const bool takes_number =
      admits(type, "float") || admits(type, "Number") || admits(type, "Float");
  if (takes_text || !takes_number) return value;
  const auto number = number_in(*text);
  return number ? Value(*number) : value;
}

}  // namespace

Result<std::pair<std::string, std::string>> split_assignment(std::string_view option,
                                                             const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return usage(fmt::format("--{} needs NAME=VALUE, got '{}'", option, text));
  }
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

Result<CallText> parse_call(const Arguments& arguments) {
  CallText call;
  const std::vector<std::string>& operands = arguments.operands();
  call.op = operands.front();
  if (call.op.find('=') != std::string::npos) {
    return usage(fmt::format("expected the name of an op, got '{}'", call.op),
                 "the op stands before its tensors");
  }
  for (std::size_t i = 1; i < operands.size(); ++i) {
    auto tensor = parse_tensor_argument(operands[i]);
    if (!tensor) return fail(std::move(tensor).error());
    call.tensors.push_back(std::move(*tensor));
  }
  for (const std::string& text : arguments.values("set")) {
    auto set = split_assignment("set", text);
    if (!set) return fail(std::move(set).error());
    const bool twice = std::any_of(call.sets.begin(), call.sets.end(), [&](const auto& earlier) {
      return earlier.first == set->first;
    });
    if (twice) return usage(fmt::format("parameter '{}' is set twice", set->first));
    call.sets.push_back(std::move(*set));
  }
  call.target = arguments.value("target");
  if (const auto device = arguments.value("device")) {
    auto parsed = Device::parse(*device);
    if (!parsed) return fail(std::move(parsed).error());
    call.device = *parsed;
  }
  call.in_place = arguments.has("inplace");
  return call;
}

Result<CallTensors> sort_tensors(const OpDecl& decl, const CallText& call) {
  CallTensors sorted;
  const auto out = decl.buffered_output();
  for (std::size_t i = 0; i < call.tensors.size(); ++i) {
    const TensorSource& tensor = call.tensors[i];
    const auto input = decl.input_index(tensor.name);
    const bool takes_several = input && decl.inputs[*input].list.has_value();
    for (std::size_t j = 0; j < i && !takes_several; ++j) {
      if (call.tensors[j].name == tensor.name)
        return usage(fmt::format("tensor '{}' is given twice", tensor.name));
    }
    if (input) {
      sorted.inputs.push_back(&tensor);
    } else if (decl.construction_index(tensor.name)) {
      sorted.construction.push_back(&tensor);
    } else if (out && decl.outputs[*out].name == tensor.name) {
      sorted.out = &tensor;
    } else {
      return unknown_tensor(decl, tensor);
    }
  }
  return sorted;
}

Result<Value> parse_set_value(const OpDecl& decl,
                              const std::string& name,
                              const std::string& text) {
  const ParamDecl* const param = find_param(decl, name);
  if (param == nullptr) {
    const std::vector<std::string> tensors = tensor_names(decl);
    if (std::find(tensors.begin(), tensors.end(), name) != tensors.end()) {
      return usage(fmt::format("'{}' of {} is a tensor", name, decl.name),
                   fmt::format("write {}=TENSOR", name));
    }
    std::vector<std::string> names;
    for (const ParamDecl& known : decl.params) names.push_back(known.name);
    std::string hint = did_you_mean(name, names);
    if (hint.empty()) {
      hint = names.empty() ? "it has none"
                           : fmt::format("its parameters are {}", fmt::join(names, ", "));
    }
    return usage(fmt::format("{} has no parameter '{}'", decl.name, name), std::move(hint));
  }
  auto value = manifest::value_from_yaml(text);
  if (!value) return fail(std::move(value).error());
  return fitted(std::move(*value), param->type_text);
}

Result<std::vector<NamedValue>> parse_sets(const OpDecl& decl, const CallText& call) {
  std::vector<NamedValue> values;
  for (const auto& [name, text] : call.sets) {
    auto value = parse_set_value(decl, name, text);
    if (!value) return fail(std::move(value).error());
    values.emplace_back(name, std::move(*value));
  }
  return values;
}

Result<std::map<std::string, std::string>> parse_outs(const OpDecl& decl,
                                                      const std::vector<std::string>& texts) {
  std::vector<std::string> names;
  for (const TensorDecl& output : decl.outputs) names.push_back(output.name);
  std::map<std::string, std::string> files;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const std::string name = equals == std::string::npos ? std::string() : text.substr(0, equals);
    const bool known = std::find(names.begin(), names.end(), name) != names.end();
    // A path may hold '=': without a known name before it the whole text is a path of the only
    // output.
    const bool is_path =
        equals == std::string::npos || (!known && name.find('/') != std::string::npos);
    if (is_path && names.size() != 1) {
      return usage(
          fmt::format("--out '{}' does not say which output of {} it takes", text, decl.name),
          fmt::format("write --out NAME=FILE; its outputs are {}", fmt::join(names, ", ")));
    }
    if (!is_path && !known) {
      std::string hint = did_you_mean(name, names);
      if (hint.empty()) hint = fmt::format("its outputs are {}", fmt::join(names, ", "));
      return usage(fmt::format("{} has no output '{}'", decl.name, name), std::move(hint));
    }
    const std::string& output = is_path ? names.front() : name;
    const std::string file = is_path ? text : text.substr(equals + 1);
    if (file.empty()) return usage(fmt::format("--out {} names no file", text));
    if (!files.emplace(output, file).second)
      return usage(fmt::format("--out names '{}' twice", output));
  }
  return files;
}

}  // namespace tenon::cli
