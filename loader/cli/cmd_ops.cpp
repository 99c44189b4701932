// tenon ops and tenon ops show: the ops in force, and everything about one.
#include <utility>

#include "manifest_set.hpp"
#include "run_commands.hpp"
#include "session.hpp"
#include "view_ops.hpp"

namespace tenon::cli {
namespace {

/// The rows of the manifest that the command reads; none where the op comes from elsewhere.
std::vector<WorkloadRow> workloads_of_op(const Arguments& arguments, const OpDecl& decl) {
  if (decl.ns != "tenon") return {};
  const auto loaded = read_manifests(arguments);
  const manifest::Entry* const entry = loaded ? loaded->set.find(decl.name) : nullptr;
  return entry == nullptr ? std::vector<WorkloadRow>() : workloads_of(*entry);
}

}  // namespace

Result<int> run_ops(const Arguments& arguments, Console& console) {
  auto session = Session::open(arguments, console);
  if (!session) return fail(std::move(session).error());
  const std::vector<OpRow> rows = op_rows(*session->snapshot());
  console.out(arguments.json() ? ops_json(rows) : ops_text(rows, console.out_style()));
  return kExitOk;
}

Result<int> run_ops_show(const Arguments& arguments, Console& console) {
  auto session = Session::open(arguments, console);
  if (!session) return fail(std::move(session).error());
  const auto snapshot = session->snapshot();
  auto op = snapshot->op(arguments.operands().front());
  if (!op) return fail(std::move(op).error());
  const std::vector<WorkloadRow> workloads = workloads_of_op(arguments, (*op)->plan->decl());
  console.out(arguments.json() ? op_json(**op, workloads)
                               : op_text(**op, workloads, console.out_style()));
  return kExitOk;
}

}  // namespace tenon::cli
