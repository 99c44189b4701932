// `tenon ops show OP --json`.
#include "json.hpp"
#include "tenon/core/contract.hpp"
#include "view_op.hpp"
#include "view_ops.hpp"

namespace tenon::cli {
namespace {

Json place_json(const SourceLocation& where) {
  return where.file.empty() ? Json(nullptr) : Json(where.to_string());
}

Json param_json(const ParamDecl& param) {
  Json json;
  json["name"] = param.name;
  json["type"] = param.type_text;
  json["required"] = !param.default_value.has_value();
  json["default"] = param.default_value ? to_json(*param.default_value) : Json(nullptr);
  json["kw_only"] = param.kw_only;
  json["where"] = place_json(param.where);
  return json;
}

Json tensor_json(const TensorDecl& tensor) {
  Json json;
  json["name"] = tensor.name;
  json["role"] = name_of(tensor.role);
  json["dtype"] = tensor.dtype_text;
  json["dtypes"] = Json::array();
  for (const DType dtype : all_dtypes()) {
    if (tensor.dtypes.contains(dtype)) json["dtypes"].push_back(name_of(dtype));
  }
  json["shape"] = tensor.shape_text;
  json["optional"] = tensor.optional != When::kNever;
  json["written"] = tensor.mutated != When::kNever;
  json["buffer_out"] = tensor.buffer_out;
  json["alias"] = text_or_null(tensor.alias);
  json["may_alias"] = tensor.may_alias;
  json["effects"] = effects_of(tensor);
  json["requires"] = tensor.requires_texts;
  json["where"] = place_json(tensor.where);
  return json;
}

Json kernel_json(const KernelType& type) {
  Json json;
  json["key"] = type.key;
  json["plugin"] = type.plugin->id;
  json["devices"] = names_of(type.devices);
  json["archs"] = type.archs;
  json["general"] = type.general();
  json["reference"] = type.reference();
  json["preferred_over"] = type.preferred_over;
  json["dtypes"] = type.dtypes.empty() ? Json(nullptr) : Json(dtypes_of(type.dtypes));
  json["layouts"] = layouts_of(type);
  json["flags"] = flags_of(type);
  return json;
}

Json interface_json(const InterfaceDecl& interface, const InterfaceTable* table) {
  Json json;
  json["name"] = interface.name;
  json["call"] = Json::array();
  for (const CallFieldDecl& field : interface.fields) {
    json["call"].push_back({{"name", field.name},
                            {"kind", contract_kind_name(field.kind)},
                            {"optional", field.optional},
                            {"text", field.text}});
  }
  json["args"] = Json::array();
  for (const InterfaceArgDecl& arg : interface.args) {
    json["args"].push_back({{"name", arg.name},
                            {"role", role_name(arg)},
                            {"shape", arg.shape_text},
                            {"optional", arg.optional},
                            {"list", arg.list}});
  }
  json["contract_hash"] = hash_text(interface.contract_hash);
  json["kernel_types"] = Json::array();
  json["unordered"] = Json::array();
  if (table == nullptr) return json;
  for (const auto& type : table->types) json["kernel_types"].push_back(kernel_json(*type));
  for (const auto& [a, b] : unordered_pairs(*table)) json["unordered"].push_back({a, b});
  return json;
}

}  // namespace

std::string op_json(const OpClass& op, std::span<const WorkloadRow> workloads) {
  const OpDecl& decl = op.plan->decl();
  Json json = document();
  json["op"] = short_name(decl);
  json["family"] = decl.family;
  json["status"] = decl.implemented ? "implemented" : "spec-only";
  json["flow"] = decl.flow;
  json["where"] = place_json(decl.where);
  json["params"] = Json::array();
  for (const ParamDecl& param : decl.params) json["params"].push_back(param_json(param));
  json["inputs"] = Json::array();
  for (const auto* tensors : {&decl.construction_tensors, &decl.inputs}) {
    for (const TensorDecl& tensor : *tensors) json["inputs"].push_back(tensor_json(tensor));
  }
  json["outputs"] = Json::array();
  for (const TensorDecl& tensor : decl.outputs) json["outputs"].push_back(tensor_json(tensor));
  json["schemas"] = Json::array();
  for (const EffectBranch& branch : decl.branches) {
    if (!branch.schema.empty()) json["schemas"].push_back(branch.schema);
  }
  json["interfaces"] = Json::array();
  for (std::size_t i = 0; i < decl.interfaces.size(); ++i) {
    json["interfaces"].push_back(
        interface_json(decl.interfaces[i], i < op.interfaces.size() ? &op.interfaces[i] : nullptr));
  }
  json["workloads"] = Json::array();
  for (const WorkloadRow& row : workloads)
    json["workloads"].push_back({{"label", row.label}, {"text", row.text}});
  json["backward"] = text_or_null(decl.backward_op);
  return text_of(json);
}

}  // namespace tenon::cli
