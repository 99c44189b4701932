// tenon manifest check, show, schemas and codegen.
#include <utility>

#include <fmt/format.h>

#include "json.hpp"
#include "manifest_set.hpp"
#include "run_commands.hpp"
#include "tenon/manifest/check.hpp"
#include "tenon/manifest/codegen.hpp"
#include "text.hpp"
#include "view_ops.hpp"

namespace tenon::cli {
namespace {

/// The entry as an op without kernel types, for the views of ops.
OpClass op_of(const CompiledEntry& compiled) {
  OpClass op;
  op.plan = compiled.plan;
  return op;
}

}  // namespace

Result<int> run_manifest_check(const Arguments& arguments, Console& console) {
  auto loaded = read_manifest_paths(arguments.operands());
  if (!loaded) return fail(std::move(loaded).error());
  const manifest::CheckedSet checked = manifest::check(std::move(*loaded));
  const manifest::DiagnosticList& found = checked.diagnostics;
  const std::size_t errors = found.error_count();
  console.out(arguments.json() ? found.to_json() : found.to_text());
  std::size_t cases = 0;
  for (const manifest::Workloads& workloads : checked.workloads) cases += workloads.cases.size();
  const std::size_t count = checked.set.entries.size();
  console.err(fmt::format("{}, {}, {}, {}\n",
                          count == 1 ? "1 entry" : fmt::format("{} entries", count),
                          counted(cases, "workload case"),
                          counted(errors, "error"),
                          counted(found.advisory_count(), "advisory finding")));
  return errors == 0 ? kExitOk : kExitFailed;
}

Result<int> run_manifest_show(const Arguments& arguments, Console& console) {
  auto loaded = read_manifests(arguments);
  if (!loaded) return fail(std::move(loaded).error());
  auto compiled = compile_one(*loaded, arguments.operands().front());
  if (!compiled) return fail(std::move(compiled).error());
  const OpClass op = op_of(*compiled);
  const std::vector<WorkloadRow> workloads = workloads_of(*compiled->entry);
  console.out(arguments.json() ? op_json(op, workloads)
                               : op_text(op, workloads, console.out_style()));
  return kExitOk;
}

Result<int> run_manifest_schemas(const Arguments& arguments, Console& console) {
  auto loaded = read_manifests(arguments);
  if (!loaded) return fail(std::move(loaded).error());
  std::vector<CompiledEntry> entries;
  if (arguments.operands().empty()) {
    entries = compile_all(*loaded);
  } else {
    auto compiled = compile_one(*loaded, arguments.operands().front());
    if (!compiled) return fail(std::move(compiled).error());
    entries.push_back(std::move(*compiled));
  }
  Json json = document();
  json["ops"] = Json::array();
  std::string text;
  std::size_t failed = 0;
  for (const CompiledEntry& compiled : entries) {
    if (compiled.plan == nullptr) {
      ++failed;
      continue;
    }
    Json entry;
    entry["op"] = compiled.entry->decl.name;
    entry["schemas"] = Json::array();
    for (const EffectBranch& branch : compiled.plan->decl().branches) {
      if (branch.schema.empty()) continue;
      text += branch.schema + '\n';
      entry["schemas"].push_back(branch.schema);
    }
    json["ops"].push_back(std::move(entry));
  }
  console.out(arguments.json() ? text_of(json) : text);
  if (failed == 0) return kExitOk;
  console.err(fmt::format("{} cannot be compiled; 'tenon manifest check' says why\n",
                          failed == 1 ? "1 entry" : fmt::format("{} entries", failed)));
  return kExitFailed;
}

Result<int> run_manifest_codegen(const Arguments& arguments, Console& console) {
  auto loaded = read_manifests(arguments);
  if (!loaded) return fail(std::move(loaded).error());
  auto files = manifest::generate_all(loaded->set, loaded->diagnostics);
  if (!files) {
    console.err(loaded->diagnostics.to_text());
    return fail(std::move(files).error());
  }
  auto changed = manifest::write_generated(arguments.operands().front(), *files);
  if (!changed) return fail(std::move(changed).error());
  if (arguments.json()) {
    Json json = document();
    json["files"] = Json::array();
    for (const manifest::GeneratedFile& file : *files) json["files"].push_back(file.path);
    json["changed"] = *changed;
    console.out(text_of(json));
  } else {
    for (const std::string& path : *changed) console.out(path + '\n');
  }
  return kExitOk;
}

}  // namespace tenon::cli
