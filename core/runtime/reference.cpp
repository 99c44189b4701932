// The reference on wide data: what results should be before they are rounded to their dtype.
#include "runtime/reference.hpp"

#include <algorithm>
#include <cstring>

#include "runtime/call_key.hpp"
#include "runtime/given_views.hpp"
#include "runtime/step_run.hpp"
#include "runtime/streams.hpp"
#include "runtime/workspace.hpp"

namespace tenon {
namespace {

using detail::for_each_element;
using detail::is_floating;

// A dense host tensor with the view's elements, floating ones widened.
Result<Tensor> widened(const TensorView& view, bool with_contents) {
  auto made = Tensor::host(is_floating(view.dtype) ? DType::kFloat64 : view.dtype, view.shape);
  if (!made || !with_contents) return made;
  const std::size_t size = size_bytes_of(view.dtype);
  if (is_floating(view.dtype)) {
    auto* out = made->data<double>();
    for_each_element(view, [&](const std::byte* at, std::int64_t flat) {
      out[flat] = load_as_double(view.dtype, at);
    });
  } else {
    auto* out = made->data<std::byte>();
    for_each_element(view, [&](const std::byte* at, std::int64_t flat) {
      std::memcpy(out + static_cast<std::size_t>(flat) * size, at, size);
    });
  }
  return made;
}

// The same with the values that are known of the view's memory, where there are such.
Result<Tensor> widened(const TensorView& view, std::span<const WideValue> known) {
  const auto at = std::find_if(known.begin(), known.end(), [&](const WideValue& value) {
    return value.wide.defined() && value.rounded.view().first() == view.first();
  });
  const bool is_it = at != known.end() && is_floating(view.dtype) && view.is_dense() &&
                     at->wide.view().count() == view.count();
  if (!is_it) return widened(view, true);
  auto made = Tensor::host(DType::kFloat64, view.shape);
  if (!made) return made;
  std::copy_n(at->wide.data<double>(), view.count(), made->data<double>());
  return made;
}

}  // namespace

Result<std::shared_ptr<const CallEntry>> StepRun::reference(const DeviceEntry& device) {
  SelectionResult selection;
  selection.winner = instance_.construction.snapshot->reference_of(table_, device.device.kind);
  if (selection.winner == nullptr) {
    return fail(ErrorCode::kNoImplementation,
                call_text() + " (interface '" + decl_.name + "'): device kind '" +
                    std::string(device.device.kind.name()) + "' has no reference kernel for it");
  }
  std::string forced;
  std::string forced_by;
  SelectionQuery q = query(device.facts, device.device.kind, forced, forced_by);
  q.forced = selection.winner->qualified;
  q.forced_by = "the check against the reference";
  selection = select(q);
  if (selection.outcome != SelectionOutcome::kChosen) return fail(selection_error(q, device));
  bool built = false;
  return entry_for(selection, device, built);
}

Result<void> StepRun::store_wide(const KernelType& type, std::uint64_t copied_args) {
  bool possible = type.alignment() == 1 || copied_args == 0;
  for (std::size_t v = 0; v < n_views_; ++v) {
    TensorView& view = state_.views[v];
    if (is_floating(view.dtype)) continue;
    const DType stored = type.stored_as(view.dtype);
    possible = possible && same_bytes(stored, view.dtype);
    view.dtype = stored;
  }
  if (possible) return {};
  return fail(ErrorCode::kNoImplementation,
              "kernel type '" + type.qualified +
                  "' takes cast or padded tensors, of which wide launches have none");
}

Result<void> StepRun::launch_wide(const CallEntry& entry,
                                  const DeviceEntry& device,
                                  void* stream,
                                  std::span<const WideValue> known,
                                  std::vector<Tensor>& results) {
  if ((device.facts.fields().flags & TENON_DEVICE_FLAG_HOST_MEMORY) == 0) {
    return fail(ErrorCode::kUsageError,
                "the reference runs where the host reaches the memory; " +
                    device.device.to_string() + " is not such a device");
  }
  std::vector<Tensor> keep;
  results.assign(state_.outputs.size(), Tensor());
  for (std::size_t arg = 0; arg < decl_.args.size(); ++arg) {
    const InterfaceArgDecl& a = decl_.args[arg];
    for (std::uint32_t v = state_.arg_first[arg]; v < state_.arg_first[arg + 1]; ++v) {
      TensorView& view = state_.views[v];
      const auto copy = std::find_if(
          state_.copies.begin(), state_.copies.end(), [&](const auto& c) { return c.view == v; });
      // What the flow cannot view is read from the tensor itself, in the same row-major order.
      const TensorView& source = copy == state_.copies.end() ? view : copy->original;
      auto wide = a.role == TENON_ROLE_OUT ? widened(source, false) : widened(source, known);
      if (!wide) return fail(std::move(wide).error());
      if (a.source == ArgSource::kOutput) {
        // Kernels see outputs in another shape, but every flow keeps their row-major order.
        const std::uint32_t at = state_.output_first[a.index] + (v - state_.arg_first[arg]);
        results[at] =
            Tensor(wide->storage(),
                   TensorView(wide->storage()->memory(), wide->dtype(), state_.outputs[at]->shape));
      }
      view = TensorView(wide->storage()->memory(), wide->dtype(), Dims(view.shape), view.device);
      keep.push_back(std::move(*wide));
    }
  }
  state_.copies.clear();
  TENON_TRY(store_wide(entry.built->type(), entry.copied_args));
  void* workspace = nullptr;
  std::optional<WorkspaceScope> scope;
  if (entry.workspace_bytes != 0) {
    scope.emplace(workspace_of_thread(instance_.engine().devices, &device, stream));
    TENON_TRY_ASSIGN(workspace, scope->take_workspace(entry.workspace_bytes, *entry.built));
  }
  HitMemo* none = nullptr;
  return launch_views(entry, device, stream, workspace, state_.facts, TENON_LAUNCH_WIDE, none);
}

namespace {

// What an empty call gives: outputs without elements, floating ones as float64.
Result<void> widen_empty(const ThreadState& state, std::vector<Tensor>& results) {
  for (const TensorView* output : state.outputs) {
    results.emplace_back();
    if (output != nullptr) TENON_TRY_ASSIGN(results.back(), widened(*output, false));
  }
  return {};
}

// Whether the interface has a reference kernel for the kind, whatever it says to a call.
bool has_reference(const InterfaceTable& table, DeviceKind kind) {
  return std::any_of(table.types.begin(), table.types.end(), [&](const auto& type) {
    return type->reference() && type->serves(kind);
  });
}

// The host reads what streams may still write, before the launch and after it.
Result<void> wait_for(DeviceTable& devices, const DeviceEntry& device) {
  if ((device.facts.fields().flags & TENON_DEVICE_FLAG_SYNCHRONOUS) != 0) return {};
  return devices.synchronize(device);
}

Result<void> launch_between_waits(StepRun& run,
                                  DeviceTable& devices,
                                  const DeviceEntry& device,
                                  void* stream,
                                  std::span<const WideValue> known,
                                  std::vector<Tensor>& results) {
  auto entry = run.reference(device);
  if (!entry) return fail(std::move(entry).error());
  TENON_TRY(wait_for(devices, device));
  TENON_TRY(run.launch_wide(**entry, device, stream, known, results));
  return wait_for(devices, device);
}

}  // namespace

Result<void> Op::Instance::call_reference(const CallArgs& args, std::vector<Tensor>& results) {
  return run_reference(*this, args, results);
}

Result<void> run_reference(Op::Instance& instance,
                           const CallArgs& args,
                           std::vector<Tensor>& results,
                           std::span<const WideValue> known) {
  ThreadState state;
  const SignaturePlan& plan = instance.plan();
  const OpDecl& decl = instance.decl();
  state.frame = plan.make_frame();
  const Construction& c = *instance.construction.construction;
  TENON_TRY(check_given(decl, args));
  if (!plan.check(c, args, *state.frame)) return fail(plan.failure(c, args, *state.frame));
  DeviceTable& devices = *instance.engine().devices;
  auto device = devices.find(state.frame->device);
  if (!device) return fail(std::move(device).error());
  void* stream = nullptr;
  TENON_TRY_ASSIGN(stream, stream_for(devices, **device));
  TENON_TRY(instance.make_outputs(state, args, stream));
  if (state.frame->nothing_to_do) return widen_empty(state, results);
  const bool has_one = decl.steps.size() == 1 && !decl.interfaces.empty();
  const auto interface = has_one ? plan.active_interface(0, c, *state.frame) : std::nullopt;
  const bool has_kernel =
      interface &&
      has_reference(instance.construction.op_class->interfaces[*interface], (*device)->device.kind);
  if (!has_kernel && instance.composes())
    return run_composed_reference(instance, state, args, (*device)->device, results);
  if (!has_one) {
    return fail(ErrorCode::kNoImplementation,
                "op '" + decl.name + "' has " + std::to_string(decl.steps.size()) +
                    " steps; the reference runs ops of one kernel");
  }
  if (!interface)
    return fail(ErrorCode::kInternal, "op '" + decl.name + "' has no active interface");
  StepRun run(instance, state, args, 0, *interface);
  TENON_TRY(run.prepare());
  run.make_key();
  return launch_between_waits(run, devices, **device, stream, known, results);
}

}  // namespace tenon
