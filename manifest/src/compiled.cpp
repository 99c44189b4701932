// Makes plans of the data that the build linked in.
#include "tenon/manifest/compiled.hpp"

#include "tenon/core/signature/archive.hpp"

namespace tenon::manifest {
namespace {

Result<std::shared_ptr<const SignaturePlan>> plan_of(const CompiledEntry& entry) {
  auto data = signature::read_plan(entry.bytes);
  if (!data) return fail(std::move(data).error());
  return signature::make_plan(std::move(*data));
}

}  // namespace

Result<std::vector<std::shared_ptr<const SignaturePlan>>> load_compiled() {
  std::vector<std::shared_ptr<const SignaturePlan>> plans;
  for (const CompiledEntry& entry : compiled_manifest()) {
    auto plan = plan_of(entry);
    if (!plan) return fail(std::move(plan).error());
    plans.push_back(*std::move(plan));
  }
  return plans;
}

Result<std::shared_ptr<const SignaturePlan>> load_compiled(std::string_view name) {
  for (const CompiledEntry& entry : compiled_manifest()) {
    if (entry.name == name) return plan_of(entry);
  }
  return fail(ErrorCode::kOpNotFound, "no shipped op is called '" + std::string(name) + "'");
}

}  // namespace tenon::manifest
