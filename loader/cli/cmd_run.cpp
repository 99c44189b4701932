// tenon run: runs an op on real data and says what ran, why, and what came out.
#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "files.hpp"
#include "run_call.hpp"
#include "run_commands.hpp"
#include "supervise.hpp"
#include "tenon/loader/npy.hpp"
#include "text.hpp"
#include "view_ops.hpp"
#include "view_run.hpp"
#include "waiting.hpp"
#include "watched_call.hpp"

namespace tenon::cli {
namespace {

/// What the candidates of a step say about its winner.
struct Competition {
  std::vector<std::string> outranked;   ///< in the winner's round
  std::vector<std::string> references;  ///< in a later one
  std::vector<std::string> copies;      ///< that the winner needs
  std::size_t refused = 0;
};

Competition competition_of(const StepReport& step) {
  Competition found;
  for (const CandidateReport& candidate : step.candidates) {
    const Verdict verdict = candidate.verdict;
    const bool same_round = candidate.round == step.round;
    if (same_round && verdict == Verdict::kChosen) found.copies = candidate.copies;
    if (verdict == Verdict::kOutranked && candidate.round >= step.round) {
      auto& list = same_round ? found.outranked : found.references;
      list.push_back(fmt::format("{}:{}", candidate.plugin, candidate.key));
    }
    const bool not_taken = verdict == Verdict::kRefused || verdict == Verdict::kUnavailable;
    if (not_taken && same_round) ++found.refused;
  }
  return found;
}

std::string why_text(const StepReport& step) {
  const auto [outranked, references, copies, refused] = competition_of(step);
  std::vector<std::string> parts;
  if (!copies.empty()) parts.push_back("takes the call on dense copies of " + joined(copies));
  if (step.round == 3) parts.emplace_back("a reference kernel: no other one takes the call");
  if (!outranked.empty()) parts.push_back("preferred over " + joined(outranked));
  if (refused > 0)
    parts.push_back(counted(refused, "other kernel") +
                    (refused == 1 ? " does not take it" : " do not take it"));
  if (parts.empty()) {
    parts.push_back(references.empty() ? std::string("the only kernel for this call")
                                       : "takes the call as it is; the reference " +
                                             joined(references) + " is asked last");
  }
  return joined(parts, "; ");
}

/// Why a kernel was chosen, in a sentence: whom it outranks, and how many others do not take the
/// call.
std::string why_text(const Explanation& explanation, const KernelUse& kernel) {
  for (const StepReport& step : explanation.steps) {
    if (step.interface == kernel.interface && step.winner == kernel.kernel) return why_text(step);
  }
  return {};
}

std::vector<RunInput> describe_inputs(const PreparedCall& call, const NamedTensors& tensors) {
  std::vector<RunInput> inputs;
  const auto add = [&](const TensorSource& source, const TensorView& view) {
    const std::string origin = source.is_file() ? source.file : source.fill.to_string();
    const std::string layout =
        view.is_dense() ? "" : fmt::format("strides {}; ", view.strides.to_string());
    inputs.push_back({source.name, view.spec().to_string(), layout + origin});
  };
  for (std::size_t i = 0; i < tensors.inputs.size(); ++i)
    add(*call.tensors.inputs[i], tensors.inputs[i].tensor.view());
  if (call.tensors.out != nullptr && tensors.out) add(*call.tensors.out, tensors.out->view());
  return inputs;
}

std::string alias_of(const PreparedCall& call, std::size_t output, const SignatureCall& record) {
  const std::string& alias = call.decl().outputs[output].alias;
  if (call.out_is_first_input && call.decl().outputs[output].buffer_out)
    return call.decl().inputs.front().name;
  const bool written =
      std::find(record.written_inputs.begin(), record.written_inputs.end(), alias) !=
      record.written_inputs.end();
  return written ? alias : std::string();
}

/// That the file can be named was looked at before the call: what fails here is the machine's, such
/// as a full disk.
Result<void> write_result(const std::string& file, const TensorView& view) {
  auto saved = save_npy(file, view);
  std::error_code ignored;
  if (saved || std::filesystem::is_fifo(file, ignored)) return saved;
  return fail(ErrorCode::kInternal, saved.error().message());
}

Result<void> add_outputs(const PreparedCall& call,
                         const std::vector<Tensor>& results,
                         const std::map<std::string, std::string>& files,
                         const SignatureCall& record,
                         RunReport& report) {
  const OpDecl& decl = call.decl();
  for (std::size_t i = 0; i < results.size(); ++i) {
    // Elements of a list output follow each other under its name.
    const std::size_t output = std::min(i, decl.outputs.size() - 1);
    const Tensor& result = results[i];
    const auto file = files.find(decl.outputs[output].name);
    if (!result.defined()) {
      if (file == files.end()) continue;
      return fail(ErrorCode::kUsageError,
                  fmt::format("output '{}' is absent in this call: nothing to write", file->first));
    }
    RunOutput described{decl.outputs[output].name,
                        result.dtype(),
                        result.shape(),
                        {},
                        alias_of(call, output, record),
                        stats_of(result.view())};
    if (file != files.end()) {
      TENON_TRY(write_result(file->second, result.view()));
      described.file = file->second;
    }
    report.outputs.push_back(std::move(described));
  }
  return {};
}

void describe_kernels(const Explanation& explanation,
                      const SignatureCall& record,
                      RunReport& report) {
  for (const KernelUse& kernel : record.kernels) {
    report.kernels.push_back(
        {kernel.step, kernel.interface, kernel.kernel, why_text(explanation, kernel)});
  }
  if (record.cost) {
    report.roofline = *record.cost;
  } else {
    report.no_roofline = record.cost.error().message();
  }
}

/// On guarded memory of the call's device and of the host.
Result<WatchedCall> watched_run(const Session& session,
                                Op& op,
                                const PreparedCall& call,
                                const NamedTensors& host) {
  const std::array kinds{DeviceKind{}, call.device.kind};
  auto memory = GuardedMemory::over(session.engine().devices(), kinds);
  if (!memory) return fail(std::move(memory).error());
  return watched_call(session, op, call, host, *memory);
}

Result<WatchedCall> plain_run(const Session& session,
                              Op& op,
                              const PreparedCall& call,
                              const NamedTensors& host) {
  auto called = call_once(session, op, call, host, Placement::kShare);
  if (!called) return fail(std::move(called).error());
  return WatchedCall{std::move(*called), {}};
}

/// What a run is made of, found and made before anything runs.
struct Ready {
  std::map<std::string, std::string> files;  ///< by output
  NamedTensors host;
  CallSpecs specs;
  std::optional<Op> op;
};

Result<Ready> prepare_run(const Session& session,
                          const PreparedCall& call,
                          const Arguments& arguments) {
  Ready ready;
  TENON_TRY_ASSIGN(ready.files, parse_outs(call.decl(), arguments.values("out")));
  for (const auto& [output, file] : ready.files) TENON_TRY(require_place(file, "--out"));
  TENON_TRY(require_device(session, call));
  session.back_to_folder();
  TENON_TRY_ASSIGN(ready.host, host_tensors(call));
  TENON_TRY_ASSIGN(ready.specs, specs_of(call));
  TENON_TRY_ASSIGN(ready.op, make_instance(session, call));
  return ready;
}

/// The report of a call that was made, its results written.
Result<RunReport> report_of(const Session& session,
                            const PreparedCall& call,
                            Ready& ready,
                            const CalledOnce& called) {
  const SignatureCall& record = called.record;
  const CallSpecs& specs = ready.specs;
  RunReport report;
  report.op = short_name(call.decl());
  report.device = record.device.to_string();
  report.target = record.target;
  report.copies = record.copies;
  report.inputs = describe_inputs(call, ready.host);
  describe_kernels(
      ready.op->explain(specs.inputs, specs.out ? &*specs.out : nullptr), record, report);
  end_where_forked();
  session.back_to_folder();
  TENON_TRY(add_outputs(call, called.host_results, ready.files, record, report));
  return report;
}

/// Everything that `tenon run` does after its arguments are read.
Result<RunReport> run(const Session& session,
                      const PreparedCall& call,
                      const Arguments& arguments,
                      Console& console) {
  Waiting waiting(console, "making the tensors");
  auto ready = prepare_run(session, call, arguments);
  if (!ready) return fail(std::move(ready).error());
  Op& op = *ready->op;
  const bool checks = arguments.has("check");

  waiting.now("the call");
  auto watched = checks ? watched_run(session, op, call, ready->host)
                        : plain_run(session, op, call, ready->host);
  if (!watched) return fail(std::move(watched).error());
  const auto& [tensors, results, host_results, record] = watched->called;
  auto report = report_of(session, call, *ready, watched->called);
  if (!report) return report;
  if (checks) {
    waiting.now("--check: the reference");
    TENON_TRY_ASSIGN(report->check,
                     check_results(session, call, ready->host, host_results, record));
    report->check->ok = report->check->ok && watched->faults.empty();
    report->check->faults = std::move(watched->faults);
  }
  if (arguments.has("time")) {
    waiting.now("--time: the first runs");
    Progress progress(console, "timed runs");
    TENON_TRY_ASSIGN(report->time,
                     time_call(session, op, call, tensors, results, waiting, progress));
  }
  return report;
}

}  // namespace

Result<int> run_run(const Arguments& arguments, Console& console) {
  auto session = Session::open(arguments, console);
  if (!session) return fail(std::move(session).error());
  auto call = prepare_call(*session, arguments);
  if (!call) return fail(std::move(call).error());
  auto report = run(*session, *call, arguments, console);
  if (!report) return fail(std::move(report).error());
  console.out(arguments.json() ? run_json(*report) : run_text(*report, console.out_style()));
  if (!report->check || report->check->ok) return kExitOk;
  for (const RunFault& fault : report->check->faults) console.err(fault.text + '\n');
  if (!report->check->values_ok) {
    console.err(
        fmt::format("the results of {} lie beyond the bound of its reference\n", report->op));
  }
  return kExitFailed;
}

}  // namespace tenon::cli
