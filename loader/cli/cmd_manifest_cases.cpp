// tenon manifest cases: workload rows as the calls that they determine.
#include <utility>

#include <fmt/format.h>

#include "json.hpp"
#include "manifest_set.hpp"
#include "run_commands.hpp"
#include "tenon/core/nearest.hpp"
#include "tenon/manifest/check.hpp"
#include "text.hpp"

namespace tenon::cli {
namespace {

const char* role_name(TensorRole role) {
  switch (role) {
    case TensorRole::kConstruction:
      return "construction";
    case TensorRole::kInput:
      return "input";
    default:
      return "output";
  }
}

Json to_json(const manifest::CaseTensor& tensor) {
  Json json;
  json["name"] = tensor.name;
  json["role"] = role_name(tensor.role);
  json["dtype"] = tensor.present ? Json(std::string(name_of(tensor.dtype))) : Json(nullptr);
  json["shape"] = !tensor.present ? Json(nullptr)
                  : tensor.list   ? Json(tensor.elements)
                                  : Json(tensor.shape);
  json["present"] = tensor.present;
  json["values"] = tensor.values ? Json(tensor.values->values) : Json(nullptr);
  return json;
}

std::string case_line(const manifest::WorkloadCase& c) {
  Json json = document();
  json["op"] = c.op;
  json["case"] = c.id;
  json["params"] = tenon::cli::to_json(std::span(c.params));
  json["tensors"] = Json::array();
  for (const auto& tensor : c.tensors) json["tensors"].push_back(to_json(tensor));
  json["outputs"] = Json::array();
  for (const auto& output : c.outputs) json["outputs"].push_back(to_json(output));
  json["flops"] = c.cost ? Json(c.cost->flops) : Json(nullptr);
  json["bytes"] = c.cost ? Json(c.cost->bytes) : Json(nullptr);
  return line_of(json);
}

std::string shapes_text(const std::vector<manifest::CaseTensor>& tensors) {
  std::vector<std::string> parts;
  for (const auto& tensor : tensors) {
    if (!tensor.present) continue;
    if (tensor.list) {
      parts.push_back(fmt::format(
          "{} {}[{} tensors]", tensor.name, name_of(tensor.dtype), tensor.elements.size()));
    } else {
      parts.push_back(fmt::format(
          "{} {}[{}]", tensor.name, name_of(tensor.dtype), fmt::join(tensor.shape, ", ")));
    }
  }
  return joined(parts);
}

}  // namespace

Result<int> run_manifest_cases(const Arguments& arguments, Console& console) {
  auto loaded = read_manifests(arguments);
  if (!loaded) return fail(std::move(loaded).error());
  const manifest::CheckedSet checked = manifest::check(std::move(*loaded));
  const std::string wanted =
      arguments.operands().empty() ? std::string() : arguments.operands().front();
  std::vector<std::string> names;
  std::string out;
  std::size_t cases = 0;
  for (std::size_t i = 0; i < checked.set.entries.size(); ++i) {
    const std::string& name = checked.set.entries[i].decl.name;
    names.push_back(name);
    if (!wanted.empty() && name != wanted) continue;
    Table table({{"CASE"}, {"INPUTS"}, {"OUTPUTS"}});
    for (const manifest::WorkloadCase& c : checked.workloads[i].cases) {
      ++cases;
      if (arguments.json())
        out += case_line(c);
      else
        table.row({{c.id}, {shapes_text(c.tensors)}, {shapes_text(c.outputs)}});
    }
    if (!arguments.json() && !table.empty())
      out += name + "\n" + table.render(console.out_style(), 2);
    for (const manifest::SkippedRow& row : checked.workloads[i].skipped) {
      console.err(fmt::format(
          "{}: row {} ('{}') is not instantiable: {}\n", name, row.row + 1, row.label, row.reason));
    }
  }
  if (!wanted.empty() && std::find(names.begin(), names.end(), wanted) == names.end()) {
    return fail(Error(ErrorCode::kOpNotFound, fmt::format("there is no op '{}'", wanted))
                    .with_hint(did_you_mean(wanted, names)));
  }
  console.out(out);
  if (!checked.diagnostics.has_errors()) return kExitOk;
  console.err(fmt::format("{}; 'tenon manifest check' says which\n",
                          counted(checked.diagnostics.error_count(), "error")));
  return kExitFailed;
}

}  // namespace tenon::cli
