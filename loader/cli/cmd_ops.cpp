// tenon ops and tenon ops show: the ops in force, and everything about one.
#include <utility>

#include "run_commands.hpp"
#include "session.hpp"
#include "view_ops.hpp"

namespace tenon::cli {

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
  console.out(arguments.json() ? op_json(**op, {}) : op_text(**op, {}, console.out_style()));
  return kExitOk;
}

}  // namespace tenon::cli
