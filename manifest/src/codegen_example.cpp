// Examples of calls, made from an op's first workload case.
#include "codegen_example.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "codegen_types.hpp"
#include "cpp_text.hpp"
#include "tenon/manifest/contracts.hpp"

namespace tenon::manifest {
namespace {

/// What the case says that the defaults do not.
std::vector<std::size_t> told_params(const OpSource& source, const WorkloadCase& example) {
  std::vector<std::size_t> told;
  const auto& params = source.data.decl.params;
  for (std::size_t i = 0; i < params.size() && i < example.params.size(); ++i) {
    if (!params[i].default_value || !(*params[i].default_value == example.params[i].second))
      told.push_back(i);
  }
  return told;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
    text.replace(at, from.size(), to);
    at += to.size();
  }
}

class Example {
 public:
  Example(const OpSource& source, const WorkloadCase& example)
      : source_(source),
        decl_(source.data.decl),
        case_(example),
        class_(decl_.name.substr(0, decl_.name.size() - 2)),
        told_(told_params(source, example)) {}

  [[nodiscard]] std::string typed() const {
    const std::string params = typed_params();
    std::string out = fmt::format(
        "// Typed, from <tenon/ops.hpp>: an instance, called many times.\n"
        "tenon::ops::{} op{{runtime{}}};\nauto result = op({});\n",
        class_,
        params.empty() ? "" : ", " + params,
        fmt::join(arguments(), ", "));
    const auto out_index = decl_.buffered_output();
    if (out_index) {
      std::vector<std::string> args = arguments();
      args.emplace_back("out");
      out += fmt::format("op.out({}).value();  // into memory of the caller's\n",
                         fmt::join(args, ", "));
    }
    if (!decl_.construction_tensors.empty()) return out;
    std::vector<std::string> args = arguments();
    args.insert(args.begin(), "runtime");
    if (!params.empty()) args.push_back(params);
    return out + fmt::format(
                     "\n// In one line; the Runtime keeps the instance.\n"
                     "auto same = tenon::ops::{}({});\n",
                     cpp_name(decl_.schema_name),
                     fmt::join(args, ", "));
  }

  /// Nothing where a parameter has no short form in C++.
  [[nodiscard]] std::string by_name() const {
    std::vector<std::string> params;
    for (const std::size_t i : told_) {
      const Value& value = case_.params[i].second;
      if (value.get_if<AdtValue>() != nullptr || value.get_if<OpaqueValue>() != nullptr) return {};
      const auto* list = value.get_if<ValueList>();
      if (list != nullptr &&
          std::any_of(
              list->items.begin(), list->items.end(), [](const Value& v) { return v.is_none(); }))
        return {};
      std::string text = cpp_value(source_.data, i, class_, value);
      if (const auto* word = value.get_if<std::string>()) text = c_string(*word);
      replace_all(text, "DType::", "tenon::DType::");
      replace_all(text, "Ints{", "{");
      params.push_back(fmt::format("{{{}, {}}}", c_string(decl_.params[i].name), text));
    }
    if (!decl_.construction_tensors.empty()) return {};
    std::vector<std::string> args;
    for (const CaseTensor& tensor : case_.tensors) {
      if (tensor.present && !tensor.list)
        args.push_back(fmt::format("{{{}, {}}}", c_string(tensor.name), cpp_name(tensor.name)));
      if (tensor.list) return {};
    }
    return fmt::format(
        "\n// By name.\ntenon::Op named = runtime.make({}{}).value();\n"
        "auto outputs = named.call({{{}}});\n",
        c_string(decl_.name),
        params.empty() ? "" : fmt::format(", {{{}}}", fmt::join(params, ", ")),
        fmt::join(args, ", "));
  }

  [[nodiscard]] std::string command() const {
    std::string out = "tenon infer " + decl_.name;
    for (const CaseTensor& tensor : case_.tensors) {
      if (!tensor.present) continue;
      const auto one = [&](const std::vector<std::int64_t>& shape) {
        out += fmt::format(" {}={}:{}",
                           tensor.name,
                           shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "x")),
                           info_of(tensor.dtype).short_name);
      };
      if (!tensor.list) one(tensor.shape);
      for (const auto& element : tensor.elements) one(element);
    }
    for (const std::size_t i : told_) {
      const Value& value = case_.params[i].second;
      std::string text = value.to_string();
      if (const auto* word = value.get_if<std::string>()) text = *word;
      if (value.is_none()) text = "null";
      replace_all(text, "(", "[");
      replace_all(text, ",)", "]");
      replace_all(text, ")", "]");
      replace_all(text, "None", "null");
      std::string assignment = decl_.params[i].name + "=" + text;
      if (assignment.find_first_of(" []{}'") != std::string::npos) {
        replace_all(assignment, "'", "");
        assignment = fmt::format("'{}'", assignment);
      }
      out += " --set " + assignment;
    }
    return out + '\n';
  }

 private:
  [[nodiscard]] std::string typed_params() const {
    std::vector<std::string> members;
    for (const std::size_t i : told_) {
      std::string text = cpp_value(source_.data, i, class_, case_.params[i].second);
      replace_all(text, "OptionalInts{", "{");
      replace_all(text, "Ints{", "{");
      replace_all(text, "DType::", "tenon::DType::");
      if (text.starts_with(class_)) text.insert(0, "tenon::ops::");
      for (const signature::AdtType& type : source_.data.adts) {
        for (const signature::AdtConstructorType& constructor : type.constructors) {
          const std::string name = type.name + pascal_case(constructor.name);
          replace_all(text, name, "tenon::ops::" + name);
        }
      }
      members.push_back(fmt::format(".{} = {}", cpp_name(decl_.params[i].name), text));
    }
    for (const TensorDecl& tensor : decl_.construction_tensors) {
      const bool present =
          std::any_of(case_.tensors.begin(), case_.tensors.end(), [&](const CaseTensor& t) {
            return t.present && t.name == tensor.name;
          });
      if (present) members.push_back(fmt::format(".{0} = {0}", cpp_name(tensor.name)));
    }
    return members.empty() ? "" : fmt::format("{{{}}}", fmt::join(members, ", "));
  }

  /// One for each input, absent ones at the end left out.
  [[nodiscard]] std::vector<std::string> arguments() const {
    std::vector<std::string> args;
    for (const TensorDecl& input : decl_.inputs) {
      const bool present =
          std::any_of(case_.tensors.begin(), case_.tensors.end(), [&](const CaseTensor& t) {
            return t.present && t.name == input.name;
          });
      args.push_back(present ? cpp_name(input.name) : "std::nullopt");
    }
    return args;
  }

  const OpSource& source_;
  const OpDecl& decl_;
  const WorkloadCase& case_;
  std::string class_;
  std::vector<std::size_t> told_;
};

}  // namespace

std::string examples(const OpSource& source) {
  if (source.workloads.cases.empty()) return {};
  const Example example(source, source.workloads.cases.front());
  return fmt::format(
      "```cpp\n{}{}```\n\n```sh\n{}```\n", example.typed(), example.by_name(), example.command());
}

}  // namespace tenon::manifest
