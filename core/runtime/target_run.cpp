// Builder targets: one kernel for a whole op, cached by device and each input's presence, dtype and
// shape.
#include "runtime/target_run.hpp"

#include <algorithm>

#include "registry/abi_text.hpp"
#include "runtime/abi_values.hpp"
#include "runtime/call_key.hpp"
#include "runtime/plugin_errors.hpp"
#include "runtime/streams.hpp"
#include "runtime/workspace.hpp"
#include "tenon/core/plugin_calls.hpp"

namespace tenon {

using detail::empty_reason;

void TargetRun::make_key() {
  auto& words = state_.key;
  words.clear();
  const Device device = state_.frame->device;
  words.push_back(std::uint64_t{kNoInterface} << 32 | std::uint64_t{device.kind.id()} << 16 |
                  static_cast<std::uint16_t>(device.index));
  words.push_back(args_.out != nullptr ? 1 : 0);
  for (const TensorArg& arg : args_.inputs) {
    words.push_back(arg.present() ? arg.count : 0);
    for (std::uint32_t e = 0; e < arg.count && arg.present(); ++e) {
      const TensorView& view = *arg.items[e];
      words.push_back(static_cast<std::uint64_t>(view.dtype) << 32 | view.shape.size());
      for (const std::int64_t size : view.shape) words.push_back(static_cast<std::uint64_t>(size));
    }
  }
}

void TargetRun::lay_out(bool with_outputs, const DeviceEntry& device, bool with_memory) {
  state_.abi_tensors.clear();
  state_.tensor_pointers.clear();
  state_.launch_first.clear();
  std::vector<std::size_t> absent;
  const auto add = [&](const TensorView* view) {
    if (view == nullptr) {
      absent.push_back(state_.abi_tensors.size());
      state_.abi_tensors.push_back({});
      return;
    }
    state_.abi_tensors.push_back({with_memory ? view->data : nullptr,
                                  device.launch.dlpack_type,
                                  view->device.index,
                                  static_cast<std::int32_t>(view->shape.size()),
                                  to_abi(view->dtype),
                                  view->shape.data(),
                                  view->strides.data(),
                                  with_memory ? view->byte_offset : 0});
  };
  const auto begin = [&] {
    state_.launch_first.push_back(static_cast<std::uint32_t>(state_.abi_tensors.size()));
  };
  for (const TensorArg& arg : args_.inputs) {
    begin();
    if (!arg.present()) add(nullptr);
    for (std::uint32_t e = 0; e < arg.count && arg.present(); ++e) add(arg.items[e]);
  }
  for (const auto& tensor : instance_.construction.construction->tensors()) {
    begin();
    add(tensor ? &tensor->view() : nullptr);
  }
  for (std::size_t i = 0; with_outputs && i + 1 < state_.output_first.size(); ++i) {
    begin();
    for (std::uint32_t at = state_.output_first[i]; at < state_.output_first[i + 1]; ++at)
      add(state_.outputs[at]);
  }
  n_args_ = state_.launch_first.size();
  begin();
  // Pointers only now: the tensors have stopped moving.
  for (const tenon_tensor& tensor : state_.abi_tensors) state_.tensor_pointers.push_back(&tensor);
  for (const std::size_t at : absent) state_.tensor_pointers[at] = nullptr;
}

Result<std::shared_ptr<const CallEntry>> TargetRun::miss(const DeviceEntry& device, bool& built) {
  const OpDecl& decl = instance_.decl();
  const auto index = target_.index_of(decl.full_name());
  if (!index) {
    return fail(Error(ErrorCode::kOpNotAvailable,
                      "target '" + target_.name + "' of plugin '" + target_.plugin->id +
                          "' has no builder for op '" + decl.name + "'")
                    .with_hint("choose another target for it with ops." + decl.name +
                               ".target; there is no silent fall-back")
                    .with_where(target_.plugin->path));
  }
  std::vector<std::uint64_t> identity = state_.key;
  identity.push_back(static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(&target_)));
  identity.push_back(instance_.construction.key);  // parameters are the instance's
  const auto build = [&]() -> Result<std::shared_ptr<BuiltEntry>> {
    lay_out(false, device, false);
    const AbiValues params(instance_.construction.construction->params());
    std::string tuned;
    if (instance_.engine().options.tuning.value != TuningMode::kOff) {
      tuned = kept_tuning(
          *target_.plugin,
          tuning_key(device, decl.full_name(), std::string(), target_.qualified, state_.key));
    }
    const tenon_build request{
        sizeof(tenon_build), &device.launch, nullptr, detail::str_of(tuned), 0};
    tenon_kernel kernel{};
    kernel.struct_size = sizeof kernel;
    tenon_reason reason = empty_reason();
    const tenon_status status = call_plugin("build", target_.qualified, reason, [&] {
      return target_.row.build(target_.row.context,
                               target_.plugin->host,
                               *index,
                               &request,
                               state_.tensor_pointers.data(),
                               state_.launch_first.data(),
                               n_args_,
                               params.values().data(),
                               params.values().size(),
                               &kernel,
                               &reason);
    });
    const std::string who = "target '" + target_.qualified + "', op '" + decl.name + "'";
    if (auto error = build_error(*instance_.engine().devices,
                                 device,
                                 *target_.plugin,
                                 target_.qualified,
                                 who,
                                 status,
                                 reason,
                                 kernel))
      return fail(*std::move(error));
    const auto& targets = instance_.construction.snapshot->targets();
    const auto keep = std::find_if(
        targets.begin(), targets.end(), [&](const auto& t) { return t.get() == &target_; });
    auto made = std::make_shared<BuiltEntry>(*keep, instance_.engine().devices, &device, kernel);
    if (!tuned.empty() && made->begin_tuning()) made->end_tuning(true);
    return made;
  };
  auto entry = std::make_shared<CallEntry>();
  entry->key = state_.key;
  entry->hash = hash_words(state_.key);
  auto got = instance_.engine().builds.get(identity, build, built);
  if (!got) return fail(std::move(got).error());
  entry->built = std::move(*got);
  const tenon_kernel& kernel = entry->built->kernel();
  if (kernel.workspace != nullptr) {
    tenon_reason reason = empty_reason();
    const tenon_status status = call_plugin("workspace", target_.qualified, reason, [&] {
      return kernel.workspace(kernel.state, nullptr, &entry->workspace_bytes);
    });
    if (status != TENON_OK) {
      return fail(plugin_error(*target_.plugin,
                               "target '" + target_.qualified + "'",
                               "asking for its workspace",
                               status,
                               reason,
                               ErrorCode::kPluginFailed));
    }
  }
  return std::shared_ptr<const CallEntry>(std::move(entry));
}

Result<void> TargetRun::launch(const CallEntry& entry, const DeviceEntry& device, void* stream) {
  lay_out(true, device, true);
  std::optional<WorkspaceScope> scope;
  void* workspace = nullptr;
  if (entry.workspace_bytes != 0) {
    scope.emplace(workspace_of_thread(instance_.engine().devices, &device, stream));
    TENON_TRY_ASSIGN(workspace, scope->take_workspace(entry.workspace_bytes, *entry.built));
  }
  const tenon_launch request{sizeof(tenon_launch),
                             &device.launch,
                             nullptr,
                             state_.tensor_pointers.data(),
                             state_.launch_first.data(),
                             n_args_,
                             stream,
                             workspace,
                             entry.workspace_bytes,
                             0};
  const LaunchExample& example = entry.example_of(request);
  if (instance_.tuned_mode() && !entry.built->is_tuned()) {
    TENON_TRY(
        require_not_capturing(*instance_.engine().devices, device, stream, "tuning a kernel"));
    instance_.tune(entry, example, stream);
  }
  const PluginCall plugin_call("launch", target_.qualified);
  return launch_kernel(*entry.built, request);
}

}  // namespace tenon
