// Makes plans of the data that the build linked in.
#include "tenon/manifest/compiled.hpp"

#include "tenon/core/signature/archive.hpp"

namespace tenon::manifest {

Result<std::vector<std::shared_ptr<const SignaturePlan>>> load_compiled() {
  std::vector<std::shared_ptr<const SignaturePlan>> plans;
  for (const CompiledEntry& entry : compiled_manifest()) {
    auto data = signature::read_plan(entry.bytes);
    if (!data) return fail(std::move(data).error());
    plans.push_back(signature::make_plan(std::move(*data)));
  }
  return plans;
}

}  // namespace tenon::manifest
