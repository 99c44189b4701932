// tenon infer: the signature check and the inference of a call; selects and runs nothing.
#include <utility>

#include "prepared_call.hpp"
#include "run_commands.hpp"
#include "view_infer.hpp"

namespace tenon::cli {

Result<int> run_infer(const Arguments& arguments, Console& console) {
  auto session = Session::open(arguments, console);
  if (!session) return fail(std::move(session).error());
  auto call = prepare_call(*session, arguments);
  if (!call) return fail(std::move(call).error());
  auto specs = specs_of(*call);
  if (!specs) return fail(std::move(specs).error());
  auto op = make_instance(*session, *call);
  if (!op) return fail(std::move(op).error());
  const auto inferred = op->infer(specs->inputs, specs->out ? &*specs->out : nullptr);
  if (!inferred) return fail(inferred.error());
  console.out(arguments.json() ? inferred_json(call->decl(), *inferred)
                               : inferred_text(call->decl(), *inferred, console.out_style()));
  return kExitOk;
}

}  // namespace tenon::cli
