// The whole manifest as one JSON document. docs/manifest-json.md describes the layout.
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tenon/manifest/codegen.hpp"
#include "tenon/manifest/value_json.hpp"

namespace tenon::manifest {
namespace {

using Json = nlohmann::ordered_json;
using signature::TypeTag;

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json texts(const std::vector<Text>& list) {
  Json out = Json::array();
  for (const Text& text : list) out.push_back(text.text);
  return out;
}

Json dtypes(const std::vector<DType>& list) {
  Json out = Json::array();
  for (const DType dtype : list) out.push_back(name_of(dtype));
  return out;
}

Json dtypes(DTypeSet set) {
  Json out = Json::array();
  for (const DType dtype : all_dtypes()) {
    if (set.contains(dtype)) out.push_back(name_of(dtype));
  }
  return out;
}

Json place(const SourceLocation& where) {
  return Json{{"file", where.file}, {"line", where.line}, {"column", where.column}};
}

/// false, true, or the condition's text.
Json when_of(When when, const std::string& condition) {
  if (when == When::kConditional) return condition;
  return when == When::kAlways;
}

// ---- Signature

std::string_view name_of_kind(IndexKind kind) {
  switch (kind) {
    case IndexKind::kDim:
      return "Dim";
    case IndexKind::kShape:
      return "Shape";
    case IndexKind::kDType:
      return "DType";
    case IndexKind::kSeqInt:
      return "Seq[Int]";
    case IndexKind::kSeqShape:
      return "Seq[Shape]";
    default:
      return "Seq[Dim]";
  }
}

Json index_json(const IndexDecl& index) {
  Json json{{"name", index.name}, {"kind", name_of_kind(index.kind)}};
  if (index.kind == IndexKind::kDType) json["dtypes"] = dtypes(index.listed);
  return json;
}

std::string_view name_of_tag(TypeTag tag) {
  switch (tag) {
    case TypeTag::kInt:
      return "int";
    case TypeTag::kBool:
      return "bool";
    case TypeTag::kFloat:
      return "float";
    case TypeTag::kNumber:
      return "number";
    case TypeTag::kEnum:
      return "enum";
    case TypeTag::kStr:
      return "str";
    case TypeTag::kDType:
      return "dtype";
    case TypeTag::kSeq:
      return "sequence";
    case TypeTag::kAdt:
      return "adt";
    default:
      return "object";
  }
}

Json member_json(const signature::TypeMember& member, const signature::PlanData& data) {
  Json json{{"kind", name_of_tag(member.tag)}};
  if (member.tag == TypeTag::kEnum) json["values"] = member.names;
  if (member.tag == TypeTag::kDType) json["dtypes"] = dtypes(member.dtypes);
  if (member.tag == TypeTag::kAdt) json["adt"] = data.adts[member.adt].name;
  if (member.tag == TypeTag::kSeq) {
    json["tuple"] = member.is_tuple;
    json["length"] = member.variable ? Json(nullptr) : Json(member.optional_items.size());
    json["items_optional"] = member.optional_items;
  }
  return json;
}

Json param_json(const signature::PlanData& data, std::size_t i) {
  const ParamDecl& param = data.decl.params[i];
  Json json{{"name", param.name},
            {"type", param.type_text},
            {"optional", data.param_types[i].maybe},
            {"members", Json::array()},
            {"required", !param.default_value.has_value()},
            {"default", param.default_value ? json_of<Json>(*param.default_value) : Json(nullptr)},
            {"kw_only", param.kw_only}};
  for (const signature::TypeMember& member : data.param_types[i].members)
    json["members"].push_back(member_json(member, data));
  return json;
}

Json tensor_json(const TensorDecl& tensor) {
  Json json{{"name", tensor.name},
            {"dtype", tensor.dtype_text},
            {"dtypes", dtypes(tensor.dtypes)},
            {"shape", tensor.shape_text},
            {tensor.role == TensorRole::kOutput ? "returned" : "optional",
             when_of(tensor.optional, tensor.optional_text)}};
  if (tensor.role == TensorRole::kOutput && tensor.optional == When::kNever)
    json["returned"] = true;
  json["mutated"] = when_of(tensor.mutated, tensor.mutated_text);
  json["write_only"] = tensor.write_only;
  json["contiguous"] = tensor.contiguous;
  json["device"] = tensor.on_cpu ? Json("cpu") : Json(nullptr);
  json["buffer"] = tensor.buffer_out ? Json("out") : Json(nullptr);
  json["alias"] = text_or_null(tensor.alias);
  json["may_alias"] = tensor.may_alias;
  json["list"] = nullptr;
  if (tensor.list) json["list"] = Json{{"min", tensor.list->min}, {"max", tensor.list->max}};
  if (!tensor.list_count_text.empty()) json["list"] = Json{{"count", tensor.list_count_text}};
  json["values"] = text_or_null(tensor.values_text);
  json["requires"] = tensor.requires_texts;
  json["kw_only"] = false;
  return json;
}

Json tensors_json(const std::vector<TensorDecl>& tensors) {
  Json list = Json::array();
  for (const TensorDecl& tensor : tensors) list.push_back(tensor_json(tensor));
  return list;
}

Json pattern_json(const Pattern& pattern) {
  switch (pattern.kind) {
    case Pattern::Kind::kAny:
      return "_";
    case Pattern::Kind::kValue:
      return Json{{"value", json_of<Json>(pattern.value)}};
    default:
      return Json{{"constructor", pattern.constructor},
                  {"fields", json_of<Json>(std::span(pattern.fields))}};
  }
}

Json family_json(const FamilyDecl& family) {
  Json json{{"name", family.name},
            {"params", Json::object()},
            {"match", texts(family.match)},
            {"cases", Json::array()}};
  for (const FamilyFormal& formal : family.formals)
    json["params"][formal.name] = formal.type.source.text;
  for (const FamilyCase& each : family.cases) {
    Json when = Json::array();
    for (const Pattern& pattern : each.when) when.push_back(pattern_json(pattern));
    json["cases"].push_back(Json{{"when", std::move(when)}, {"is", each.is.text}});
  }
  return json;
}

Json signature_json(const OpSource& op) {
  const OpDecl& decl = op.data.decl;
  Json json;
  json["forall"] = Json::array();
  for (const IndexDecl& index : op.entry->indices) json["forall"].push_back(index_json(index));
  json["params"] = Json::array();
  for (std::size_t i = 0; i < decl.params.size(); ++i)
    json["params"].push_back(param_json(op.data, i));
  json["construction_tensors"] = tensors_json(decl.construction_tensors);
  json["constructor_order"] = Json::array();
  for (const auto& [is_tensor, index] : decl.constructor_order) {
    json["constructor_order"].push_back(is_tensor ? decl.construction_tensors[index].name
                                                  : decl.params[index].name);
  }
  json["inputs"] = tensors_json(decl.inputs);
  for (std::size_t i = 0; i < decl.inputs.size(); ++i)
    json["inputs"][i]["kw_only"] = op.entry->inputs[i].kw_only;
  json["outputs"] = tensors_json(decl.outputs);
  json["types"] = Json::array();
  for (const FamilyDecl& family : op.entry->families) json["types"].push_back(family_json(family));
  json["let"] = Json::array();
  for (const LetDecl& let : op.entry->lets)
    json["let"].push_back(Json{{"name", let.name}, {"value", let.value.text}});
  json["shape_rules"] = texts(op.entry->shape_rules);
  json["dtype_combos"] = Json::array();
  for (const DTypeComboRow& row : op.entry->dtype_combos) {
    Json combo = Json::object();
    for (const auto& [name, dtype] : row.assignment) combo[name] = dtype.text;
    json["dtype_combos"].push_back(std::move(combo));
  }
  return json;
}

// ---- Effects, workloads, kernels

Json branches_json(const OpDecl& decl) {
  Json list = Json::array();
  for (const EffectBranch& branch : decl.branches) {
    Json json{{"out", branch.has_out},
              {"in_place", branch.in_place},
              {"written", Json::array()},
              {"returned", Json::array()},
              {"schema", text_or_null(branch.schema)}};
    for (const std::uint32_t input : branch.written_inputs)
      json["written"].push_back(decl.inputs[input].name);
    for (const std::uint32_t output : branch.returned_outputs)
      json["returned"].push_back(decl.outputs[output].name);
    list.push_back(std::move(json));
  }
  return list;
}

Json case_tensor_json(const CaseTensor& tensor) {
  Json json{{"name", tensor.name}, {"present", tensor.present}};
  if (!tensor.present) return json;
  json["dtype"] = name_of(tensor.dtype);
  json["shape"] = tensor.list ? Json(tensor.elements) : Json(tensor.shape);
  return json;
}

Json workloads_json(const OpSource& op) {
  Json list = Json::array();
  for (const WorkloadCase& each : op.workloads.cases) {
    Json json{{"case", each.id},
              {"label", each.label},
              {"params", json_of<Json>(std::span(each.params))},
              {"indices", json_of<Json>(std::span(each.indices))},
              {"tensors", Json::array()},
              {"outputs", Json::array()},
              {"flops", each.cost ? json_of<Json>(each.cost->flops) : Json(nullptr)},
              {"bytes", each.cost ? json_of<Json>(each.cost->bytes) : Json(nullptr)}};
    for (const CaseTensor& tensor : each.tensors)
      json["tensors"].push_back(case_tensor_json(tensor));
    for (const CaseTensor& tensor : each.outputs)
      json["outputs"].push_back(case_tensor_json(tensor));
    list.push_back(std::move(json));
  }
  return list;
}

std::string_view name_of_field_kind(std::uint32_t kind) {
  switch (kind) {
    case TENON_VALUE_BOOL:
      return "bool";
    case TENON_VALUE_INT:
      return "int";
    case TENON_VALUE_FLOAT:
      return "float";
    case TENON_VALUE_DTYPE:
      return "dtype";
    case TENON_VALUE_STR:
      return "str";
    case TENON_VALUE_INTS:
      return "list[int]";
    case TENON_VALUE_FLOATS:
      return "list[float]";
    case TENON_VALUE_LIST:
      return "list";
    case TENON_FIELD_NUMBER:
      return "number";
    case TENON_FIELD_ENUM:
      return "enum";
    default:
      return "adt";
  }
}

std::string_view name_of_role(std::uint32_t role) {
  if (role == TENON_ROLE_IN) return "in";
  return role == TENON_ROLE_OUT ? "out" : "inout";
}

Json interface_json(const InterfaceDecl& interface, const OpDecl& decl) {
  Json json{
      {"name", interface.name},
      {"step",
       interface.step < decl.steps.size() ? Json(decl.steps[interface.step].name) : Json(nullptr)},
      {"when", text_or_null(interface.when_text)},
      {"call", Json::array()},
      {"args", Json::array()},
      {"contract_hash", fmt::format("{:016x}", interface.contract_hash)}};
  for (const CallFieldDecl& field : interface.fields) {
    json["call"].push_back(Json{{"name", field.name},
                                {"kind", name_of_field_kind(field.kind)},
                                {"optional", field.optional},
                                {"values", field.members},
                                {"text", field.text}});
  }
  for (const InterfaceArgDecl& arg : interface.args) {
    json["args"].push_back(Json{{"name", arg.name},
                                {"role", name_of_role(arg.role)},
                                {"temporary", arg.source == ArgSource::kTemporary},
                                {"dtypes", dtypes(arg.dtypes)},
                                {"optional", arg.optional},
                                {"list", arg.list},
                                {"shape", arg.shape_text}});
  }
  return json;
}

Json tolerance_json(const OpDecl& decl) {
  if (!decl.tolerance) return nullptr;
  Json json{{"reason", decl.tolerance->reason}, {"by_dtype", Json::object()}};
  for (const auto& [dtype, bounds] : decl.tolerance->by_dtype) {
    json["by_dtype"][std::string(name_of(dtype))] =
        Json{{"rtol", json_of<Json>(bounds.first)}, {"atol", json_of<Json>(bounds.second)}};
  }
  return json;
}

Json roofline_json(const RooflineEntry& roofline) {
  return Json{{"flops", text_or_null(roofline.flops.text)},
              {"bytes", text_or_null(roofline.bytes.text)},
              {"func", text_or_null(roofline.func.text)}};
}

Json composition_json(const OpSource& op) {
  if (!op.entry->has_composition) return nullptr;
  Json list = Json::array();
  for (const StageDecl& stage : op.data.decl.stages) {
    list.push_back(Json{{"name", stage.name},
                        {"op", text_or_null(stage.op)},
                        {"kernel", text_or_null(stage.kernel)},
                        {"optional", stage.optional}});
  }
  return list;
}

Json op_json(const OpSource& op) {
  const OpDecl& decl = op.data.decl;
  Json json;
  json["op"] = decl.name;
  json["namespace"] = decl.ns;
  json["family"] = decl.family;
  json["status"] = decl.implemented ? "implemented" : "spec-only";
  json["ref_api"] = text_or_null(decl.ref_api);
  json["schema"] =
      Json{{"name", decl.schema_name}, {"overload", text_or_null(decl.schema_overload)}};
  json["signature"] = signature_json(op);
  json["branches"] = branches_json(decl);
  json["workloads"] = workloads_json(op);
  json["skipped_rows"] = Json::array();
  for (const SkippedRow& row : op.workloads.skipped)
    json["skipped_rows"].push_back(Json{{"label", row.label}, {"reason", row.reason}});
  json["roofline"] = roofline_json(op.entry->roofline);
  json["flow"] = decl.flow;
  json["steps"] = Json::array();
  for (const StepDecl& step : decl.steps)
    json["steps"].push_back(Json{{"name", step.name}, {"optional", step.optional}});
  json["interfaces"] = Json::array();
  for (const InterfaceDecl& interface : decl.interfaces)
    json["interfaces"].push_back(interface_json(interface, decl));
  json["composition"] = composition_json(op);
  json["error_model"] = text_or_null(decl.error_model);
  json["tolerance"] = tolerance_json(decl);
  json["backward"] = nullptr;
  if (!decl.backward_op.empty())
    json["backward"] = Json{{"op", decl.backward_op}, {"saved", decl.backward_saved}};
  json["where"] = place(decl.where);
  return json;
}

Json adt_json(const AdtDecl& adt) {
  Json json{{"name", adt.name}, {"constructors", Json::array()}};
  for (const AdtConstructor& constructor : adt.constructors) {
    Json one{{"name", constructor.name},
             {"python", text_or_null(constructor.python)},
             {"fields", Json::array()},
             {"invariant", text_or_null(constructor.invariant.text)}};
    for (const AdtField& field : constructor.fields)
      one["fields"].push_back(Json{{"name", field.name},
                                   {"type", field.type.source.text},
                                   {"python", text_or_null(field.python)}});
    json["constructors"].push_back(std::move(one));
  }
  return json;
}

}  // namespace

std::string manifest_json(const ManifestSet& set, std::span<const OpSource> ops) {
  Json json;
  json["schema"] = 1;
  json["namespace"] = set.ns;
  json["adts"] = Json::array();
  for (const AdtDecl& adt : set.adts) json["adts"].push_back(adt_json(adt));
  json["ops"] = Json::array();
  for (const OpSource& op : ops) json["ops"].push_back(op_json(op));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace tenon::manifest
