// `tenon ops show OP` for people, in reading order.
#include <fmt/format.h>

#include "text.hpp"
#include "view_op.hpp"
#include "view_ops.hpp"

namespace tenon::cli {
namespace {

std::string title(std::string_view text, const Style& style) {
  return '\n' + inked(text, Ink::kBold, style) + '\n';
}

std::string schemas_section(const OpDecl& decl, const Style& style) {
  std::string text = title("SCHEMAS, one per effect branch", style);
  bool any = false;
  for (const EffectBranch& branch : decl.branches) {
    if (branch.schema.empty()) continue;
    text += fmt::format("  {}\n", branch.schema);
    any = true;
  }
  return any ? text : text + "  none: a parameter has no type in that notation\n";
}

/// The dtype as declared, with the dtypes that a name stands for.
std::string dtype_text(const TensorDecl& tensor) {
  if (dtype_from_name(tensor.dtype_text) || tensor.dtypes.empty()) return tensor.dtype_text;
  return fmt::format("{}: {}", tensor.dtype_text, joined(dtypes_of(tensor.dtypes), " "));
}

std::string arguments_section(const OpDecl& decl, const Style& style) {
  std::string text;
  Table params({{"PARAMETER"}, {"TYPE", false, true}, {"DEFAULT"}, {""}});
  for (const ParamDecl& param : decl.params) {
    params.row({param.name,
                param.type_text,
                param.default_value ? param.default_value->to_string() : "required",
                param.kw_only ? "keyword only" : ""});
  }
  if (!params.empty()) text += '\n' + params.render(style);
  Table tensors({{"TENSOR"},
                 {"ROLE"},
                 {"DTYPE", false, true},
                 {"SHAPE", false, true},
                 {"EFFECTS", false, true}});
  const auto add = [&](const std::vector<TensorDecl>& declared) {
    for (const TensorDecl& tensor : declared) {
      tensors.row({tensor.name,
                   name_of(tensor.role),
                   dtype_text(tensor),
                   tensor.shape_text,
                   joined(effects_of(tensor), "; ")});
    }
  };
  add(decl.construction_tensors);
  add(decl.inputs);
  add(decl.outputs);
  return text + '\n' + tensors.render(style);
}

std::string interface_section(const InterfaceDecl& interface,
                              const OpDecl& decl,
                              const Style& style) {
  const std::string step =
      interface.step < decl.steps.size() ? decl.steps[interface.step].name : std::string();
  std::string text = title(fmt::format("INTERFACE {}", interface.name), style);
  text += fmt::format("  {}flow {}, contract {}\n",
                      step.empty() || step == interface.name ? "" : fmt::format("step {}, ", step),
                      decl.flow,
                      hash_text(interface.contract_hash));
  if (!interface.when_text.empty()) text += paragraph("used when " + interface.when_text, 2, style);
  Table fields({{"CALL"}, {"VALUE", false, true}});
  for (const CallFieldDecl& field : interface.fields) fields.row({field.name, field.text});
  text += fields.render(style, 2);
  Table args({{"ARGUMENT"}, {"ROLE"}, {"SHAPE", false, true}});
  for (const InterfaceArgDecl& arg : interface.args)
    args.row({arg.name, role_name(arg), arg.shape_text});
  return text + args.render(style, 2);
}

std::string kernels_section(const InterfaceTable& table, const Style& style) {
  if (table.types.empty()) return "  no kernel type is installed\n";
  Table kernels({{"KERNEL"},
                 {"DEVICES", false, true},
                 {"ARCHS", false, true},
                 {"LAYOUTS", false, true},
                 {"FLAGS", false, true}});
  for (const auto& type : table.types) {
    kernels.row({type->qualified,
                 joined(names_of(type->devices), " "),
                 type->archs.empty() ? "any" : joined(type->archs, " "),
                 joined(layouts_of(*type), " "),
                 joined(flags_of(*type), " ")});
    if (!type->dtypes.empty()) kernels.remark("dtypes " + joined(dtypes_of(type->dtypes), " "));
    if (!type->preferred_over.empty())
      kernels.remark("preferred over " + joined(type->preferred_over, " "));
  }
  std::string text = kernels.render(style, 2);
  for (const auto& [a, b] : unordered_pairs(table)) {
    text += paragraph(
        fmt::format("unordered: {} and {}; a call that both take is AmbiguousDispatch", a, b),
        2,
        style);
  }
  for (const std::string& edge : table.dropped_edges) {
    text +=
        paragraph(fmt::format("dropped, being part of a cycle across plugins: {}", edge), 2, style);
  }
  return text;
}

std::string inference_section(const OpDecl& decl, const Style& style) {
  std::string text = title("INFERENCE", style);
  for (const TensorDecl& output : decl.outputs) {
    text += paragraph(
        fmt::format("{}: {} of shape {}", output.name, output.dtype_text, output.shape_text),
        2,
        style);
  }
  for (const auto* tensors : {&decl.construction_tensors, &decl.inputs}) {
    for (const TensorDecl& tensor : *tensors) {
      for (const std::string& rule : tensor.requires_texts) {
        text += paragraph(fmt::format("{} requires {}", tensor.name, rule), 2, style);
      }
    }
  }
  return text;
}

}  // namespace

std::string op_text(const OpClass& op, std::span<const WorkloadRow> workloads, const Style& style) {
  const OpDecl& decl = op.plan->decl();
  std::string text = inked(short_name(decl), Ink::kBold, style);
  text +=
      fmt::format(": family {}, {}", decl.family, decl.implemented ? "implemented" : "spec-only");
  if (!decl.ref_api.empty()) text += fmt::format(", like {}", decl.ref_api);
  text += '\n';
  if (!decl.where.file.empty()) text += fmt::format("  {}\n", decl.where.to_string());
  text += schemas_section(decl, style);
  text += arguments_section(decl, style);
  for (const StageDecl& stage : decl.stages) {
    text += fmt::format("\nstage {}: {}{}\n",
                        stage.name,
                        stage.op.empty() ? stage.kernel : stage.op,
                        stage.optional ? " (optional)" : "");
  }
  text += inference_section(decl, style);
  for (std::size_t i = 0; i < decl.interfaces.size(); ++i) {
    text += interface_section(decl.interfaces[i], decl, style);
    if (i < op.interfaces.size()) text += kernels_section(op.interfaces[i], style);
  }
  if (!workloads.empty()) {
    text += title("WORKLOADS", style);
    Table table({{""}, {"", false, true}});
    for (const WorkloadRow& row : workloads) table.row({row.label, row.text});
    text += table.render(style, 2);
  }
  text += title("BACKWARD", style);
  if (decl.backward_op.empty()) return text + "  none\n";
  text += fmt::format("  {}", decl.backward_op);
  if (!decl.backward_saved.empty())
    text += fmt::format(", which needs {}", joined(decl.backward_saved));
  return text + '\n';
}

}  // namespace tenon::cli
