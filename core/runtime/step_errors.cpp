// What is said when no kernel serves, several do, or only a reference does.
#include <algorithm>

#include "runtime/step_run.hpp"

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
    text += "\n  " + c->plugin + ":" + c->key + ": " + c->reason.text;
    if (!c->reason.arg.empty() && c->reason.text.find(c->reason.arg) == std::string::npos)
      text += " (argument " + c->reason.arg + ")";
  }
  return text;
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
  // Device kinds whose kernels would serve this very call.
  std::string others;
  for (const DeviceKind kind : snapshot.kinds()) {
    if (kind == device.device.kind) continue;
    if (std::none_of(table_.types.begin(), table_.types.end(), [&](const auto& t) {
          return t->serves(kind);
        }))
      continue;
    const auto devices = instance_.engine().devices->devices(kind);
    if (!devices || devices->empty() || devices->front().failure) continue;
    std::string forced;
    std::string forced_by;
    const SelectionQuery there = query(devices->front().facts, kind, forced, forced_by);
    if (select(there).outcome == SelectionOutcome::kChosen)
      others += (others.empty() ? "" : ", ") + std::string(kind.name());
  }
  const bool none_for_device =
      result.outcome == SelectionOutcome::kNoneForDevice && q.forced.empty();
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
