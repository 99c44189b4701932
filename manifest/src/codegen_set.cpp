// From a set of entries to generated files: each entry is compiled first.
#include <fmt/format.h>

#include "tenon/manifest/codegen.hpp"
#include "tenon/manifest/compile.hpp"

namespace tenon::manifest {

Result<std::vector<OpSource>> read_sources(const ManifestSet& set, DiagnosticList& diagnostics) {
  std::vector<OpSource> sources;
  for (const Entry& entry : set.entries) {
    auto data = compile_data(entry, set.adts, diagnostics);
    if (!data) continue;
    OpSource source;
    source.entry = &entry;
    source.data = *data;
    source.plan = signature::make_plan(std::move(*data));
    source.workloads = instantiate(entry, source.data, *source.plan, diagnostics);
    sources.push_back(std::move(source));
  }
  for (const SourceFile& file : set.files) diagnostics.attach_source(file.path, *file.contents);
  diagnostics.finish();
  if (sources.size() != set.entries.size()) {
    return fail(Error(ErrorCode::kManifestInvalid,
                      fmt::format("{} of {} entries cannot be compiled",
                                  set.entries.size() - sources.size(),
                                  set.entries.size()))
                    .with_hint("mend what the diagnostics name"));
  }
  return sources;
}

namespace {

Result<std::vector<GeneratedFile>> contracts_of(std::span<const OpSource> sources) {
  std::vector<const OpDecl*> ops;
  ops.reserve(sources.size());
  for (const OpSource& source : sources) ops.push_back(&source.plan->decl());
  return generate_contracts(ops);
}

}  // namespace

Result<std::vector<GeneratedFile>> generate_contracts(const ManifestSet& set,
                                                      DiagnosticList& diagnostics) {
  std::vector<OpSource> sources;
  TENON_TRY_ASSIGN(sources, read_sources(set, diagnostics));
  return contracts_of(sources);
}

Result<std::vector<GeneratedFile>> generate_all(const ManifestSet& set,
                                                DiagnosticList& diagnostics) {
  std::vector<OpSource> sources;
  TENON_TRY_ASSIGN(sources, read_sources(set, diagnostics));
  std::vector<GeneratedFile> files;
  TENON_TRY_ASSIGN(files, contracts_of(sources));
  std::vector<GeneratedFile> typed;
  TENON_TRY_ASSIGN(typed, generate_typed_api(sources));
  files.insert(files.end(), typed.begin(), typed.end());
  for (GeneratedFile& page : generate_reference(sources))
    files.push_back({"reference/" + page.path, std::move(page.contents)});
  files.push_back({"manifest.json", manifest_json(set, sources)});
  return files;
}

}  // namespace tenon::manifest
