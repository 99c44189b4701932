// What is said when no kernel serves, several do, or only a reference does.
#include <algorithm>

#include "runtime/step_run.hpp"
#include "tenon/core/nearest.hpp"

namespace tenon {
namespace {

// The last word on each candidate: what it was told in its last round.
std::vector<const CandidateReport*> last_words(const std::vector<CandidateReport>& report) {
  std::vector<const CandidateReport*> last;
  for (const CandidateReport& c : report) {
    const auto same = std::find_if(last.begin(), last.end(), [&](const auto* l) {
      return l->key == c.key && l->plugin == c.plugin;
    });
    if (same == last.end()) {
      last.push_back(&c);
    } else {
      *same = &c;
    }
  }
  return last;
}

std::string candidates_text(const std::vector<CandidateReport>& report) {
  std::string text;
  for (const CandidateReport* c : last_words(report)) {
    if (c->verdict == Verdict::kChosen) continue;
    text += "\n  " + c->plugin + ":" + c->key + ": " + c->reason.text;
    if (!c->reason.arg.empty() && c->reason.text.find(c->reason.arg) == std::string::npos)
      text += " (argument " + c->reason.arg + ")";
  }
  return text;
}

// What a kernel that is not registered may have meant, and what became of its plugin.
std::string forced_hint(std::string_view forced,
                        const InterfaceTable& table,
                        const Snapshot& snapshot) {
  std::string state = why_not_active(snapshot.plugins(), forced.substr(0, forced.find(':')));
  if (!state.empty()) return state;
  std::vector<std::string> names;
  std::string all;
  for (const auto& type : table.types) {
    names.push_back(type->qualified);
    all += (all.empty() ? "registered are " : ", ") + type->qualified;
  }
  std::string near = did_you_mean(forced, names);
  return near.empty() ? all : near;
}

// A kernel that was asked for by name and does not serve: that alone is what the user must hear.
Error forced_error(const SelectionQuery& q,
                   const std::string& call,
                   const std::vector<CandidateReport>& report,
                   const Snapshot& snapshot) {
  const auto& types = q.table.types;
  const bool is_registered = std::any_of(
      types.begin(), types.end(), [&](const auto& t) { return t->qualified == q.forced; });
  std::string text = call + ": kernel '" + std::string(q.forced) + "', which " +
                     std::string(q.forced_by) + " asks for, " +
                     (is_registered ? "does not serve it" : "is not registered");
  for (const CandidateReport* c : last_words(report)) {
    if (c->plugin + ":" + c->key == q.forced) text += ": " + c->reason.text;
  }
  Error error(ErrorCode::kNoImplementation, std::move(text));
  error.with_hint(is_registered ? "a kernel that is asked for by name is never replaced by another"
                                : forced_hint(q.forced, q.table, snapshot));
  return error;
}

// Device kinds other than `own` with a kernel type and a usable device for which `serves` is true.
template <class Serves>
std::string other_kinds(const Snapshot& snapshot,
                        DeviceTable& table,
                        const InterfaceTable& types,
                        DeviceKind own,
                        Serves&& serves) {
  std::string others;
  for (const DeviceKind kind : snapshot.kinds()) {
    const bool has_type = std::any_of(
        types.types.begin(), types.types.end(), [&](const auto& t) { return t->serves(kind); });
    if (kind == own || !has_type) continue;
    const auto devices = table.devices(kind);
    if (!devices) continue;
    // The first that has neither failed nor is hidden.
    const auto usable = std::find_if(devices->begin(), devices->end(), [&](const DeviceEntry& d) {
      return table.find(d.device).has_value();
    });
    if (usable != devices->end() && serves(*usable))
      others += (others.empty() ? "" : ", ") + std::string(kind.name());
  }
  return others;
}

}  // namespace

Error StepRun::selection_error(const SelectionQuery& q, const DeviceEntry& device) const {
  std::vector<CandidateReport> report;
  const SelectionResult result = select(q, &report);
  const std::string interface = " (interface '" + decl_.name + "')";
  const Snapshot& snapshot = *instance_.construction.snapshot;
  if (result.outcome == SelectionOutcome::kAmbiguous) {
    std::string names;
    for (const auto& t : result.tied) names += (names.empty() ? "'" : ", '") + t + "'";
    Error error(ErrorCode::kAmbiguousDispatch,
                call_text() + interface + ": " + names + " all serve it, and none is preferred");
    error.with_hint(
        "one of them must declare preferred_over for the other, or the configuration decide with "
        "`prefer` or `ops." +
        instance_.decl().name + ".kernel`");
    return error;
  }
  if (result.outcome == SelectionOutcome::kChosen) {
    return Error(ErrorCode::kNoImplementation,
                 call_text() + interface + ": only the reference kernel '" +
                     result.winner->qualified + "' serves it, and selection.reference is error (" +
                     instance_.engine().options.selection.reference.from + ")" +
                     candidates_text(report));
  }
  if (!q.forced.empty()) return forced_error(q, call_text() + interface, report, snapshot);
  const std::string others = other_kinds(
      snapshot, *instance_.engine().devices, table_, q.kind, [&](const DeviceEntry& there) {
        std::string forced;
        std::string forced_by;
        const SelectionQuery asked = query(there.facts, there.device.kind, forced, forced_by);
        return select(asked).outcome == SelectionOutcome::kChosen;
      });
  const bool none_for_device = result.outcome == SelectionOutcome::kNoneForDevice;
  std::string text = call_text() + interface + ": ";
  if (table_.types.empty()) {
    text += "no plugin has a kernel for it";
  } else if (none_for_device) {
    text += "no kernel is for device kind '" + std::string(device.device.kind.name()) + "'";
  } else {
    text += "no kernel serves it" + candidates_text(report);
  }
  Error error(none_for_device ? ErrorCode::kOpNotAvailable : ErrorCode::kNoImplementation,
              std::move(text));
  std::string hint = others.empty() ? std::string() : "device kinds that would serve it: " + others;
  if (const auto failed = failed_plugins_text(snapshot); !failed.empty())
    hint += (hint.empty() ? "" : "; ") + failed;
  error.with_hint(std::move(hint));
  return error;
}

void StepRun::warn_failed(const KernelType& type,
                          std::string_view function,
                          const std::string& why,
                          std::string_view consequence) const {
  Engine::Internals& engine = instance_.engine();
  const std::string what = std::string(function) + " of kernel type '" + type.qualified + "'";
  {
    const std::lock_guard lock(engine.warned_mutex);
    if (!engine.warned.insert(what).second) return;
  }
  std::string text = instance_.decl().name + ": " + what + " failed: " + why + "; ";
  text += consequence;
  instance_.construction.engine->log(TENON_LOG_WARN, "selection", text);
}

void StepRun::warn_reference(const SelectionQuery& q, const SelectionResult& selection) const {
  std::vector<CandidateReport> report;
  (void)select(q, &report);
  std::string why;
  for (const CandidateReport* c : last_words(report)) {
    if (c->verdict == Verdict::kChosen || c->reason.code == TENON_REASON_DEVICE_KIND) continue;
    why += (why.empty() ? "" : "; ") + c->plugin + ":" + c->key + " " + c->reason.text;
  }
  if (why.empty()) why = "no other kernel is for device kind '" + std::string(q.kind.name()) + "'";
  Engine::Internals& engine = instance_.engine();
  {
    const std::lock_guard lock(engine.warned_mutex);
    if (!engine.warned.insert(instance_.decl().full_name() + ": " + why).second) return;
  }
  instance_.construction.engine->log(TENON_LOG_WARN,
                                     "selection",
                                     instance_.decl().name + ": the reference kernel '" +
                                         selection.winner->qualified + "' serves a call: " + why);
}

}  // namespace tenon
