// Reader, compiler and rows, one after the other, over a whole set.
#include "tenon/manifest/check.hpp"

#include "tenon/core/roofline.hpp"
#include "tenon/manifest/compile.hpp"

namespace tenon::manifest {

CheckedSet check(LoadedSet loaded) {
  CheckedSet checked;
  checked.set = std::move(loaded.set);
  checked.diagnostics = std::move(loaded.diagnostics);
  for (Entry& entry : checked.set.entries) {
    checked.plans.emplace_back();
    checked.workloads.emplace_back();
    std::optional<signature::PlanData> data =
        compile_data(entry, checked.set.adts, checked.diagnostics);
    if (!data) {
      entry.faulty = true;
      continue;
    }
    if (!data->roofline_func.empty() && find_roofline(data->roofline_func) == nullptr) {
      // The plan says the same when it is asked.
      Diagnostic& d =
          checked.diagnostics.advisory(entry.roofline.func.where,
                                       entry.decl.name,
                                       "roofline.func",
                                       "roofline.unknown",
                                       "the roofline is a function that this build does not have");
      d.found = data->roofline_func;
      d.hint = "the op's roofline is reported as unavailable";
    }
    checked.plans.back() = signature::make_plan(*data);
    checked.workloads.back() =
        instantiate(entry, *data, *checked.plans.back(), checked.diagnostics);
  }
  for (const SourceFile& file : checked.set.files)
    checked.diagnostics.attach_source(file.path, *file.contents);
  checked.diagnostics.finish();
  return checked;
}

}  // namespace tenon::manifest
