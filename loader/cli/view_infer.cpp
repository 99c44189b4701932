// `tenon infer` as text and as JSON.
#include "view_infer.hpp"

#include <fmt/format.h>

#include "json.hpp"
#include "text.hpp"
#include "view_ops.hpp"

namespace tenon::cli {
namespace {

const EffectBranch* branch_of(const OpDecl& decl, const Op::Inferred& inferred) {
  return inferred.branch < decl.branches.size() ? &decl.branches[inferred.branch] : nullptr;
}

std::string alias_of(const OpDecl& decl, const OutputSpec& output) {
  const auto index = static_cast<std::size_t>(output.alias_input);
  return output.alias_input >= 0 && index < decl.inputs.size() ? decl.inputs[index].name
                                                               : std::string();
}

}  // namespace

std::string inferred_text(const OpDecl& decl, const Op::Inferred& inferred, const Style& style) {
  std::string text = fmt::format(
      "{} on {}\n", inked(short_name(decl), Ink::kBold, style), inferred.device.to_string());
  const EffectBranch* const branch = branch_of(decl, inferred);
  if (branch != nullptr && !branch->schema.empty()) text += fmt::format("  {}\n", branch->schema);
  Table outputs({{"OUTPUT"}, {"DTYPE"}, {"SHAPE"}, {""}});
  for (std::size_t i = 0; i < inferred.outputs.size() && i < decl.outputs.size(); ++i) {
    const OutputSpec& output = inferred.outputs[i];
    if (!output.present) {
      outputs.row({decl.outputs[i].name, "", "", "absent"});
      continue;
    }
    const std::string alias = alias_of(decl, output);
    outputs.row({decl.outputs[i].name,
                 name_of(output.dtype),
                 output.shape.to_string(),
                 alias.empty() ? "" : fmt::format("is {}", alias)});
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
  Json json = document();
  json["op"] = short_name(decl);
  json["device"] = inferred.device.to_string();
  const EffectBranch* const branch = branch_of(decl, inferred);
  json["branch"] = Json::object();
  if (branch != nullptr) {
    json["branch"]["written"] = inferred.written_inputs;
    json["branch"]["has_out"] = branch->has_out;
    json["branch"]["schema"] = text_or_null(branch->schema);
  }
  json["indices"] = to_json(inferred.indices);
  json["outputs"] = Json::array();
  for (std::size_t i = 0; i < inferred.outputs.size() && i < decl.outputs.size(); ++i) {
    const OutputSpec& output = inferred.outputs[i];
    Json entry;
    entry["name"] = decl.outputs[i].name;
    entry["dtype"] = output.present ? Json(name_of(output.dtype)) : Json(nullptr);
    entry["shape"] = output.present ? to_json(output.shape) : Json(nullptr);
    entry["present"] = output.present;
    entry["alias"] = text_or_null(alias_of(decl, output));
    json["outputs"].push_back(std::move(entry));
  }
  json["written"] = inferred.written_inputs;
  json["flops"] = inferred.cost ? to_json(inferred.cost->flops) : Json(nullptr);
  json["bytes"] = inferred.cost ? to_json(inferred.cost->bytes) : Json(nullptr);
  return text_of(json);
}

}  // namespace tenon::cli
