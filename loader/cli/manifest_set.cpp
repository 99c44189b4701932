// The manifest entries that a command reads, and what they compile to.
#include "manifest_set.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "files.hpp"
#include "tenon/core/nearest.hpp"
#include "tenon/manifest/compile.hpp"

namespace tenon::cli {
namespace {

void finish(manifest::LoadedSet& loaded) {
  for (const manifest::SourceFile& file : loaded.set.files) {
    loaded.diagnostics.attach_source(file.path, *file.contents);
  }
  loaded.diagnostics.finish();
}

}  // namespace

Result<manifest::LoadedSet> read_manifest_paths(const std::vector<std::string>& paths) {
  TENON_TRY(require_paths(paths, "manifest"));
  return manifest::load_files(std::vector<std::filesystem::path>(paths.begin(), paths.end()));
}

Result<manifest::LoadedSet> read_manifests(const Arguments& arguments) {
  const std::vector<std::string> paths = arguments.values("manifest");
  return paths.empty() ? manifest::load_shipped() : read_manifest_paths(paths);
}

std::vector<CompiledEntry> compile_all(manifest::LoadedSet& loaded) {
  std::vector<CompiledEntry> compiled;
  for (const manifest::Entry& entry : loaded.set.entries) {
    compiled.push_back({&entry, manifest::compile(entry, loaded.set.adts, loaded.diagnostics)});
  }
  finish(loaded);
  return compiled;
}

Result<CompiledEntry> compile_one(manifest::LoadedSet& loaded, const std::string& op) {
  constexpr std::string_view kOwn = "tenon::";
  const std::string name = op.starts_with(kOwn) ? op.substr(kOwn.size()) : op;
  const manifest::Entry* const entry = loaded.set.find(name);
  if (entry == nullptr) {
    std::vector<std::string> names;
    for (const manifest::Entry& known : loaded.set.entries) names.push_back(known.decl.name);
    return fail(
        Error(ErrorCode::kOpNotFound, fmt::format("there is no op '{}' in this manifest", op))
            .with_hint(did_you_mean(name, names)));
  }
  manifest::DiagnosticList diagnostics;
  auto plan = manifest::compile(*entry, loaded.set.adts, diagnostics);
  diagnostics.append(loaded.diagnostics);
  diagnostics.finish();
  if (plan != nullptr) return CompiledEntry{entry, std::move(plan)};
  for (const manifest::Diagnostic& each : diagnostics) {
    if (each.severity != manifest::Severity::kError || each.entry != name) continue;
    return fail(Error(ErrorCode::kManifestInvalid, fmt::format("{}: {}", name, each.text))
                    .with_where(each.where.to_string())
                    .with_hint(each.hint));
  }
  return fail(ErrorCode::kManifestInvalid, fmt::format("{} cannot be compiled", name));
}

std::vector<WorkloadRow> workloads_of(const manifest::Entry& entry) {
  std::vector<WorkloadRow> rows;
  for (const manifest::RowEntry& row : entry.workloads) {
    std::vector<std::string> parts;
    for (const auto& [name, raw] : row.values)
      parts.push_back(fmt::format("{}={}", name, raw.value.to_string()));
    std::vector<std::string> present;
    for (const manifest::Text& tensor : row.some) present.push_back(tensor.text);
    if (!present.empty()) parts.push_back(fmt::format("with {}", fmt::join(present, " and ")));
    std::vector<std::string> cases;
    for (const manifest::DTypeCase& each : row.dtype_cases) {
      std::vector<std::string> dtypes;
      for (const auto& [name, dtype] : each.assignment)
        dtypes.push_back(fmt::format("{}={}", name, dtype.text));
      cases.push_back(fmt::format("{}", fmt::join(dtypes, " ")));
    }
    if (!cases.empty()) parts.push_back(fmt::format("{}", fmt::join(cases, " | ")));
    rows.push_back({row.label.text, fmt::format("{}", fmt::join(parts, ", "))});
  }
  return rows;
}

}  // namespace tenon::cli
