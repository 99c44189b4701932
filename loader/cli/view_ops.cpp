// The listing of ops.
#include "view_ops.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "json.hpp"
#include "text.hpp"

namespace tenon::cli {
namespace {

std::string kernels_text(const OpRow& op) {
  std::vector<std::string> parts;
  for (const auto& [kind, count] : op.by_kind) parts.push_back(fmt::format("{} {}", kind, count));
  if (parts.empty()) return op.composition ? "composition" : "none";
  return joined(parts);
}

void count_kinds(const KernelType& type, std::map<std::string, std::size_t>& by_kind) {
  for (const DeviceKind kind : type.devices) ++by_kind[std::string(kind.name())];
}

}  // namespace

std::string short_name(const OpDecl& decl) {
  return decl.ns == "tenon" ? decl.name : decl.full_name();
}

std::vector<OpRow> op_rows(const Snapshot& snapshot) {
  std::vector<OpRow> rows;
  for (const auto& [full_name, op] : snapshot.ops()) {
    const OpDecl& decl = op.plan->decl();
    OpRow row;
    row.op = short_name(decl);
    row.family = decl.family;
    row.implemented = decl.implemented;
    row.backward = decl.backward_op;
    row.composition = !decl.stages.empty();
    std::map<std::string, std::size_t> by_kind;
    for (const InterfaceDecl& interface : decl.interfaces) row.interfaces.push_back(interface.name);
    for (const InterfaceTable& table : op.interfaces) {
      row.kernel_types += table.types.size();
      for (const auto& type : table.types) count_kinds(*type, by_kind);
    }
    row.by_kind.assign(by_kind.begin(), by_kind.end());
    if (!by_kind.empty()) row.targets.emplace_back("builtin");
    for (const auto& [kind, count] : by_kind) row.targets.push_back(kind);
    for (const auto& target : snapshot.targets()) {
      if (std::find(target->ops.begin(), target->ops.end(), full_name) != target->ops.end()) {
        row.targets.push_back(target->name);
      }
    }
    rows.push_back(std::move(row));
  }
  std::sort(rows.begin(), rows.end(), [](const OpRow& a, const OpRow& b) { return a.op < b.op; });
  return rows;
}

std::string ops_text(std::span<const OpRow> ops, const Style& style) {
  if (ops.empty()) return "no op is in force\n";
  Table table(
      {{"OP"}, {"FAMILY"}, {"CONTRACT"}, {"KERNELS", false, true}, {"BACKWARD", false, true}});
  for (const OpRow& op : ops) {
    table.row({op.op,
               op.family,
               op.implemented ? "implemented" : "spec-only",
               kernels_text(op),
               op.backward.empty() ? "-" : op.backward});
  }
  return table.render(style);
}

std::string ops_json(std::span<const OpRow> ops) {
  Json json = document();
  json["ops"] = Json::array();
  for (const OpRow& op : ops) {
    Json entry;
    entry["op"] = op.op;
    entry["family"] = op.family;
    entry["status"] = op.implemented ? "implemented" : "spec-only";
    entry["interfaces"] = op.interfaces;
    entry["kernel_types"] = op.kernel_types;
    entry["targets"] = op.targets;
    entry["kernel_types_by_kind"] = Json::object();
    for (const auto& [kind, count] : op.by_kind) entry["kernel_types_by_kind"][kind] = count;
    entry["backward"] = text_or_null(op.backward);
    json["ops"].push_back(std::move(entry));
  }
  return text_of(json);
}

}  // namespace tenon::cli
