// From a set of entries to generated files: each entry is compiled first.
#include <fmt/format.h>

#include "tenon/manifest/codegen.hpp"
#include "tenon/manifest/compile.hpp"

namespace tenon::manifest {

Result<std::vector<GeneratedFile>> generate_contracts(const ManifestSet& set,
                                                      DiagnosticList& diagnostics) {
  std::vector<std::shared_ptr<const SignaturePlan>> plans;
  std::vector<const OpDecl*> ops;
  for (const Entry& entry : set.entries) {
    plans.push_back(compile(entry, set.adts, diagnostics));
    if (plans.back() != nullptr) ops.push_back(&plans.back()->decl());
  }
  for (const SourceFile& file : set.files) diagnostics.attach_source(file.path, *file.contents);
  diagnostics.finish();
  if (ops.size() != set.entries.size()) {
    return fail(Error(ErrorCode::kManifestInvalid,
                      fmt::format("{} of {} entries cannot be compiled",
                                  set.entries.size() - ops.size(),
                                  set.entries.size()))
                    .with_hint("mend what the diagnostics name"));
  }
  return generate_contracts(ops);
}

}  // namespace tenon::manifest
