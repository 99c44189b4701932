// The functions behind the fakes' rows: they follow the board's script and count on it.
#include "support/fake_functions.h"

#include "support/fake_kernels.hpp"

namespace {

using tenon::test::announced_control;
using tenon::test::FakeKernel;
using tenon::test::ScriptedAdd;

FakeKernel& script_of(void* context) {
  return announced_control().kernel(static_cast<const char*>(context));
}

/// The SDK's wall, with a door for the statuses that only a broken plugin gives.
template <class Body>
tenon_status guarded(tenon_reason* reason, Body&& body) noexcept {
  tenon_status scripted = TENON_OK;
  const tenon_status status = tenon::detail::guarded(reason, [&] {
    try {
      body();
    } catch (const ScriptedAdd::Status& thrown) {
      scripted = thrown.status;
      tenon::detail::write_text(reason, thrown.text);
    }
  });
  return scripted != TENON_OK ? scripted : status;
}

/// The plugin's own contract may be the whole one or the old one without alpha.
double alpha_of(const tenon_call& call) {
  return call.n_fields == 3 ? tenon::read<tenon::Number>(call, 1, "alpha").as_double() : 1.0;
}

std::int64_t count_of(const tenon_call& call) {
  std::int64_t count = 1;
  for (const std::int64_t extent : tenon::read<tenon::Span<const std::int64_t>>(call, 0, "shape"))
    count *= extent;
  return count;
}

tenon_status workspace(void* state, const tenon_call*, std::uint64_t* size_bytes) {
  *size_bytes = static_cast<const ScriptedAdd*>(state)->workspace_bytes();
  return TENON_OK;
}
tenon_status launch(void* state, const tenon_launch* launch, tenon_reason* reason) {
  return guarded(reason,
                 [&] { static_cast<const ScriptedAdd*>(state)->launch(tenon::Launch(*launch)); });
}
tenon_status tune(void* state,
                  const tenon_launch* launch,
                  std::uint64_t budget_ns,
                  tenon_reason* reason) {
  return guarded(
      reason, [&] { static_cast<ScriptedAdd*>(state)->tune(tenon::Launch(*launch), budget_ns); });
}
tenon_status config(void*, char* text, std::uint64_t capacity_bytes, std::uint64_t* size_bytes) {
  const std::string config = ScriptedAdd::config();
  *size_bytes = config.size();
  if (config.size() <= capacity_bytes) std::memcpy(text, config.data(), config.size());
  return TENON_OK;
}
void destroy(void* state) { delete static_cast<ScriptedAdd*>(state); }

}  // namespace

tenon_status fake_refuse(void* context,
                         const tenon_device*,
                         const tenon_call* call,
                         tenon_reason* reason) {
  return guarded(reason, [&] {
    FakeKernel& script = script_of(context);
    ++script.refuses;
    if (script.refuse_status != 0) {
      ScriptedAdd::throw_status(script.refuse_status, "the board says that refuse itself fails");
    }
    tenon::Refusal refusal;
    const std::int64_t count = count_of(*call);
    if (script.refuse_above != 0 && count > script.refuse_above) {
      refusal = tenon::refuse("n", tenon::at_most(script.refuse_above.load()), count);
    }
    if (script.refuse_code != 0) refusal = tenon::refuse(script.refuse_code, "the board says so");
    if (!refusal) return;
    refusal.write_to(*reason);
    throw ScriptedAdd::Status{TENON_REFUSED, reason->text};
  });
}

tenon_status fake_identity(void* context,
                           const tenon_device*,
                           const tenon_call* call,
                           void* bytes,
                           uint64_t capacity_bytes,
                           uint64_t* size_bytes) {
  return guarded(nullptr, [&] {
    ++script_of(context).identities;
    const auto identity = std::tuple{alpha_of(*call), call->fields[call->n_fields - 1].i};
    tenon::detail::write_identity(identity, bytes, capacity_bytes, size_bytes);
  });
}

tenon_status fake_build(void* context,
                        const tenon_host*,
                        const tenon_build* build,
                        tenon_kernel* out,
                        tenon_reason* reason) {
  return guarded(reason, [&] {
    FakeKernel& script = script_of(context);
    ++script.builds;
    std::this_thread::sleep_for(std::chrono::nanoseconds(script.build_delay_ns));
    if (script.build_status != 0)
      ScriptedAdd::throw_status(script.build_status, "the board says that this build fails");
    out->state = new ScriptedAdd(script, alpha_of(*build->call));
    out->workspace = &workspace;
    out->launch = &launch;
    out->tune = &tune;
    out->config = &config;
    out->destroy = &destroy;
  });
}

tenon_status fake_note_init(const char* id) {
  auto& plugin = announced_control().plugin(id);
  ++plugin.inits;
  return plugin.init_status;
}
tenon_status fake_note_enumerate(const char* id) {
  auto& plugin = announced_control().plugin(id);
  ++plugin.enumerates;
  return plugin.enumerate_status;
}
void fake_note_shutdown(const char* id) { ++announced_control().plugin(id).shutdowns; }
