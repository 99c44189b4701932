// `tenon infer` as text and as JSON.
#include "view_infer.hpp"

#include <fmt/format.h>

#include "json.hpp"
#include "text.hpp"
#include "view_ops.hpp"

namespace tenon::cli {
namespace {

const EffectBranch* branch_of(const OpDecl& decl, std::uint32_t branch) {
  return branch < decl.branches.size() ? &decl.branches[branch] : nullptr;
}

std::string alias_of(const OpDecl& decl, std::int32_t alias_input) {
  const auto index = static_cast<std::size_t>(alias_input);
  return alias_input >= 0 && index < decl.inputs.size() ? decl.inputs[index].name : std::string();
}

/// An output's line: `shape` as text.
void add_row(Table& table,
             const OpDecl& decl,
             std::size_t index,
             bool present,
             DType dtype,
             const std::string& shape,
             std::int32_t alias_input) {
  const std::string& name = decl.outputs[index].name;
  if (!present) {
    table.row({name, "", "", "absent"});
    return;
  }
  const std::string alias = alias_of(decl, alias_input);
  table.row({name, name_of(dtype), shape, alias.empty() ? "" : fmt::format("is {}", alias)});
}

Json output_json(const OpDecl& decl,
                 std::size_t index,
                 bool present,
                 DType dtype,
                 Json shape,
                 std::int32_t alias_input) {
  Json entry;
  entry["name"] = decl.outputs[index].name;
  entry["dtype"] = present ? Json(name_of(dtype)) : Json(nullptr);
  entry["shape"] = present ? std::move(shape) : Json(nullptr);
  entry["present"] = present;
  entry["alias"] = text_or_null(alias_of(decl, alias_input));
  return entry;
}

std::string head_text(const OpDecl& decl,
                      Device device,
                      const EffectBranch* branch,
                      const Style& style) {
  std::string text =
      fmt::format("{} on {}\n", inked(short_name(decl), Ink::kBold, style), device.to_string());
  if (branch != nullptr && !branch->schema.empty()) text += fmt::format("  {}\n", branch->schema);
  return text;
}

Json head_json(const OpDecl& decl,
               Device device,
               const EffectBranch* branch,
               const std::vector<std::string>& written) {
  Json json = document();
  json["op"] = short_name(decl);
  json["device"] = device.to_string();
  json["branch"] = Json::object();
  if (branch != nullptr) {
    json["branch"]["written"] = written;
    json["branch"]["has_out"] = branch->has_out;
    json["branch"]["schema"] = text_or_null(branch->schema);
  }
  return json;
}

std::vector<std::string> written_by(const OpDecl& decl, const EffectBranch* branch) {
  std::vector<std::string> names;
  if (branch == nullptr) return names;
  for (const std::uint32_t input : branch->written_inputs) names.push_back(decl.inputs[input].name);
  return names;
}

}  // namespace

std::string inferred_text(const OpDecl& decl, const Op::Inferred& inferred, const Style& style) {
  std::string text = head_text(decl, inferred.device, branch_of(decl, inferred.branch), style);
  Table outputs({{"OUTPUT"}, {"DTYPE"}, {"SHAPE"}, {""}});
  for (std::size_t i = 0; i < inferred.outputs.size() && i < decl.outputs.size(); ++i) {
    const OutputSpec& output = inferred.outputs[i];
    add_row(outputs,
            decl,
            i,
            output.present,
            output.dtype,
            output.shape.to_string(),
            output.alias_input);
  }
  if (!outputs.empty()) text += '\n' + outputs.render(style);
  text += '\n';
  if (!inferred.written_inputs.empty())
    text += fmt::format("writes   {}\n", joined(inferred.written_inputs));
  std::vector<std::string> indices;
  for (const auto& [name, value] : inferred.indices)
    indices.push_back(fmt::format("{}={}", name, value.to_string()));
  if (!indices.empty()) text += paragraph("indices  " + joined(indices), 0, style);
  if (inferred.cost) {
    text += fmt::format("cost     {}, {}\n",
                        quantity_text(inferred.cost->flops, "flop"),
                        bytes_text(inferred.cost->bytes));
  } else {
    text += paragraph("cost     unknown: " + inferred.cost.error().message(), 0, style);
  }
  return text;
}

std::string inferred_json(const OpDecl& decl, const Op::Inferred& inferred) {
  Json json =
      head_json(decl, inferred.device, branch_of(decl, inferred.branch), inferred.written_inputs);
  json["indices"] = to_json(inferred.indices);
  json["outputs"] = Json::array();
  for (std::size_t i = 0; i < inferred.outputs.size() && i < decl.outputs.size(); ++i) {
    const OutputSpec& output = inferred.outputs[i];
    json["outputs"].push_back(output_json(
        decl, i, output.present, output.dtype, to_json(output.shape), output.alias_input));
  }
  json["written"] = inferred.written_inputs;
  json["flops"] = inferred.cost ? to_json(inferred.cost->flops) : Json(nullptr);
  json["bytes"] = inferred.cost ? to_json(inferred.cost->bytes) : Json(nullptr);
  json["guards"] = Json::array();
  return text_of(json);
}

std::string range_text(SizeRange range) {
  return range.low == range.high ? std::to_string(range.low)
                                 : fmt::format("{}..{}", range.low, range.high);
}

std::string inferred_text(const OpDecl& decl,
                          const RangedOutputs& inferred,
                          Device device,
                          const Style& style) {
  const EffectBranch* const branch = branch_of(decl, inferred.branch);
  std::string text = head_text(decl, device, branch, style);
  Table outputs({{"OUTPUT"}, {"DTYPE"}, {"SHAPE"}, {""}});
  for (std::size_t i = 0; i < inferred.outputs.size() && i < decl.outputs.size(); ++i) {
    const RangedOutputs::Output& output = inferred.outputs[i];
    std::vector<std::string> sizes;
    for (const SizeRange range : output.sizes) sizes.push_back(range_text(range));
    add_row(outputs,
            decl,
            i,
            output.present,
            output.dtype,
            fmt::format("[{}]", joined(sizes)),
            output.alias_input);
  }
  if (!outputs.empty()) text += '\n' + outputs.render(style);
  const std::vector<std::string> written = written_by(decl, branch);
  text += '\n';
  if (!written.empty()) text += fmt::format("writes   {}\n", joined(written));
  if (inferred.guards.empty()) text += "guards   none: every call in the ranges passes\n";
  for (const std::string& guard : inferred.guards)
    text += paragraph("guard    " + guard + ": some calls in the ranges meet it", 0, style);
  return text;
}

std::string inferred_json(const OpDecl& decl, const RangedOutputs& inferred, Device device) {
  const EffectBranch* const branch = branch_of(decl, inferred.branch);
  const std::vector<std::string> written = written_by(decl, branch);
  Json json = head_json(decl, device, branch, written);
  json["indices"] = Json::object();
  json["outputs"] = Json::array();
  for (std::size_t i = 0; i < inferred.outputs.size() && i < decl.outputs.size(); ++i) {
    const RangedOutputs::Output& output = inferred.outputs[i];
    Json shape = Json::array();
    for (const SizeRange range : output.sizes) {
      if (range.low == range.high) {
        shape.push_back(range.low);
      } else {
        shape.push_back(Json{{"low", range.low}, {"high", range.high}});
      }
    }
    json["outputs"].push_back(
        output_json(decl, i, output.present, output.dtype, std::move(shape), output.alias_input));
  }
  json["written"] = written;
  json["flops"] = nullptr;
  json["bytes"] = nullptr;
  json["guards"] = inferred.guards;
  return text_of(json);
}

}  // namespace tenon::cli
