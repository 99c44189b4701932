// Selecting, building and launching the kernel of a step.
#include <algorithm>
#include <bit>
#include <cstring>

#include "registry/abi_text.hpp"
#include "runtime/call_key.hpp"
#include "runtime/hit_memo.hpp"
#include "runtime/plugin_errors.hpp"
#include "runtime/step_run.hpp"
#include "runtime/streams.hpp"
#include "runtime/workspace.hpp"
#include "tenon/core/plugin_calls.hpp"

namespace tenon {

using detail::empty_reason;

namespace {

std::string named(const KernelType& type) {
  return "kernel type '" + type.qualified + "' of interface '" + type.interface + "'";
}

}  // namespace

bool StepRun::can_copy(DeviceKind kind) const {
  // A copy has none of itself; a cast that takes dense tensors only has.
  if (instance_.construction.is_copier && instance_.decl().params.empty()) return false;
  for (std::size_t a = 0; a < decl_.args.size(); ++a) {
    if (state_.facts[a].present == 0 || state_.facts[a].layout == TENON_LAYOUT_DENSE) continue;
    const auto dtype = dtype_from_abi(state_.dtypes[a]);
    if (!dtype || !instance_.can_copy(kind, *dtype)) return false;
  }
  return true;
}

std::string StepRun::left_out_copies(DeviceKind kind) const {
  const std::optional<CopyPolicy>& own = instance_.construction.options.copies;
  const Setting<CopyPolicy>& configured = instance_.engine().options.selection.copies;
  if (own.value_or(configured.value) == CopyPolicy::kAllow || !can_copy(kind)) return {};
  return "selection.copies is never, from " +
         (own ? std::string("the instance's options") : configured.from);
}

bool StepRun::refuses_reference(const SelectionQuery& query,
                                const SelectionResult& selection) const {
  return selection.winner != nullptr && selection.winner->reference() &&
         !instance_.construction.is_copier && query.forced.empty() &&
         instance_.engine().options.selection.reference.value == ReferencePolicy::kError;
}

SelectionQuery StepRun::query(const DeviceFacts& facts,
                              DeviceKind kind,
                              std::string& forced,
                              std::string& forced_by) const {
  const ConstructionGroup& c = instance_.construction;
  const SelectionOptions& options = instance_.engine().options.selection;
  const CopyPolicy copies = c.options.copies.value_or(options.copies.value);
  forced.clear();
  if (const auto own = c.options.kernel_override.find(decl_.name);
      own != c.options.kernel_override.end()) {
    forced = own->second;
    forced_by = "kernel_override of the instance";
  } else if (const auto configured = c.configured.kernel.find(decl_.name);
             configured != c.configured.kernel.end()) {
    // By configuration a kernel is forced on the device kinds that it declares, and only there.
    const auto type = std::find_if(table_.types.begin(), table_.types.end(), [&](const auto& t) {
      return t->qualified == configured->second.value;
    });
    if (type == table_.types.end() || (*type)->serves(kind)) {
      forced = configured->second.value;
      forced_by = configured->second.from;
    }
  }
  const auto& prefer = c.configured.prefer ? c.configured.prefer->value : options.prefer.value;
  measure();
  return SelectionQuery{decl_,
                        table_,
                        state_.fields,
                        state_.facts,
                        state_.dtypes,
                        state_.dense_wide,
                        kind,
                        facts,
                        copies == CopyPolicy::kAllow && can_copy(kind),
                        c.options.deterministic.value_or(options.deterministic.value),
                        prefer,
                        forced,
                        forced_by,
                        c.disabled,
                        true,
                        state_.sizes,
                        [this, kind](DType from, DType to) {
                          return from == to ? instance_.can_copy(kind, from)
                                            : instance_.can_cast(kind, from, to);
                        }};
}

void StepRun::project(const KernelType& type,
                      std::span<const tenon_arg_facts> facts,
                      tenon_call& call) {
  call = {
      sizeof(tenon_call), state_.fields.data(), state_.fields.size(), facts.data(), facts.size()};
  if (type.contract.exact()) return;
  state_.plugin_fields.resize(type.contract.fields().size());
  state_.plugin_facts.resize(type.contract.args().size());
  type.contract.project(state_.fields, facts, state_.plugin_fields, state_.plugin_facts);
  call.fields = state_.plugin_fields.data();
  call.n_fields = state_.plugin_fields.size();
  call.args = state_.plugin_facts.data();
  call.n_args = state_.plugin_facts.size();
}

Result<std::shared_ptr<const CallEntry>> StepRun::miss(const DeviceEntry& device, bool& built) {
  std::string forced;
  std::string forced_by;
  const SelectionQuery q = query(device.facts, device.device.kind, forced, forced_by);
  const SelectionResult selection = select(q);
  for (const auto& [type, why] : selection.failed)
    warn_failed(*type, "refuse", why, "it is passed over as if it had refused");
  const bool chosen = selection.outcome == SelectionOutcome::kChosen;
  const bool may_compose = instance_.composes() && q.forced.empty();
  if (!chosen && may_compose && selection.outcome != SelectionOutcome::kAmbiguous)
    return composed_entry();
  if (!chosen) return fail(selection_error(q, device));
  if (refuses_reference(q, selection)) {
    if (may_compose) return composed_entry();
    return fail(selection_error(q, device));
  }
  if (selection.winner->reference() && !instance_.construction.is_copier && q.forced.empty() &&
      instance_.engine().options.selection.reference.value == ReferencePolicy::kWarn)
    warn_reference(q, selection);
  return entry_for(selection, device, built);
}

std::shared_ptr<const CallEntry> StepRun::composed_entry() const {
  auto entry = std::make_shared<CallEntry>();
  entry->key = state_.key;
  entry->hash = hash_words(state_.key);
  return entry;
}

Result<std::shared_ptr<const CallEntry>> StepRun::entry_for(const SelectionResult& selection,
                                                            const DeviceEntry& device,
                                                            bool& built) {
  std::vector<tenon_arg_facts> facts(state_.facts.size());
  facts_for(*selection.winner,
            state_.facts,
            state_.dense_wide,
            state_.sizes,
            selection.copied_args,
            facts);
  tenon_call call{};
  project(*selection.winner, facts, call);
  auto entry = std::make_shared<CallEntry>();
  entry->key = state_.key;
  entry->hash = hash_words(state_.key);
  entry->round = selection.round;
  entry->copied_args = selection.copied_args;
  auto got = instance_.engine().builds.get(
      identity_of(*selection.winner, device, call),
      [&] { return build(selection, device, call); },
      built);
  if (!got) return fail(std::move(got).error());
  entry->built = std::move(*got);
  if (selection.winner->alignment() != 1 && selection.copied_args != 0)
    TENON_TRY_ASSIGN(entry->pads, pads_of(*selection.winner, device));
  const tenon_kernel& kernel = entry->built->kernel();
  if (kernel.workspace != nullptr) {
    tenon_reason reason = empty_reason();
    const tenon_status status = call_plugin("workspace", selection.winner->qualified, reason, [&] {
      return kernel.workspace(kernel.state, &call, &entry->workspace_bytes);
    });
    if (status != TENON_OK)
      return fail(plugin_error(*selection.winner->plugin,
                               named(*selection.winner),
                               "asking for its workspace",
                               status,
                               reason,
                               ErrorCode::kPluginFailed));
  }
  return std::shared_ptr<const CallEntry>(std::move(entry));
}

std::vector<std::uint64_t> StepRun::identity_of(const KernelType& type,
                                                const DeviceEntry& device,
                                                const tenon_call& call) const {
  std::vector<std::uint64_t> words{
      static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(&type)),
      std::uint64_t{device.device.kind.id()} << 16 |
          static_cast<std::uint16_t>(device.device.index)};
  if (type.row.identity == nullptr) {
    make_call_key(words,
                  interface_,
                  device.device,
                  {call.fields, call.n_fields},
                  {call.args, call.n_args},
                  state_.dtypes);
    words.push_back(static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(&type)));
    return words;
  }
  std::vector<std::byte> bytes(256);
  std::uint64_t size = 0;
  tenon_reason reason = empty_reason();
  const auto ask = [&] {
    return call_plugin("identity", type.qualified, reason, [&] {
      return type.row.identity(
          type.row.context, &device.facts.abi(), &call, bytes.data(), bytes.size(), &size);
    });
  };
  tenon_status status = ask();
  if (status == TENON_OK && size > bytes.size() && size < detail::kMaxStructBytes) {
    bytes.resize(static_cast<std::size_t>(size));
    status = ask();
  }
  if (status != TENON_OK || size > bytes.size()) {
    // Without an identity of its own every call key is one.
    warn_failed(type,
                "identity",
                status == TENON_OK ? "it gave " + std::to_string(size) + " bytes, and then others"
                                   : detail::failure_text(status, reason),
                "a kernel is built for every new call");
    words.insert(words.end(), state_.key.begin(), state_.key.end());
    return words;
  }
  words.push_back(size);
  for (std::size_t at = 0; at < size; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(
        &word, bytes.data() + at, std::min<std::size_t>(8, static_cast<std::size_t>(size) - at));
    words.push_back(word);
  }
  return words;
}

Result<std::shared_ptr<BuiltEntry>> StepRun::build(const SelectionResult& selection,
                                                   const DeviceEntry& device,
                                                   const tenon_call& call) {
  const KernelType& type = *selection.winner;
  std::string tuned;
  if (instance_.engine().options.tuning.value != TuningMode::kOff) {
    tuned = kept_tuning(
        *type.plugin,
        tuning_key(device, instance_.decl().full_name(), decl_.name, type.qualified, state_.key));
  }
  const tenon_build request{sizeof(tenon_build), &device.launch, &call, detail::str_of(tuned), 0};
  tenon_kernel kernel{};
  kernel.struct_size = sizeof kernel;
  tenon_reason reason = empty_reason();
  const tenon_status status = call_plugin("build", type.qualified, reason, [&] {
    return type.row.build(type.row.context, type.plugin->host, &request, &kernel, &reason);
  });
  if (auto error = build_error(*instance_.engine().devices,
                               device,
                               *type.plugin,
                               type.qualified,
                               named(type),
                               status,
                               reason,
                               kernel))
    return fail(*std::move(error));
  const auto at = std::find_if(
      table_.types.begin(), table_.types.end(), [&](const auto& t) { return t.get() == &type; });
  auto built = std::make_shared<BuiltEntry>(*at, instance_.engine().devices, &device, kernel);
  if (!tuned.empty() && built->begin_tuning()) built->end_tuning(true);
  return built;
}

Result<void> StepRun::launch(const CallEntry& entry,
                             const DeviceEntry& device,
                             void* stream,
                             HitMemo*& memo) {
  std::span<const tenon_arg_facts> facts = state_.facts;
  std::array<tenon_arg_facts, kMaxCopiedArgs> copied_facts;
  const KernelType& type = entry.built->type();
  if (entry.copied_args != 0) {
    if (type.alignment() != 1) measure();
    facts_for(type, state_.facts, state_.dense_wide, state_.sizes, entry.copied_args, copied_facts);
    facts = std::span(copied_facts.data(), state_.facts.size());
  }
  void* workspace = nullptr;
  std::optional<WorkspaceScope> scope;
  if (!state_.copies.empty() || entry.copied_args != 0 || entry.workspace_bytes != 0) {
    scope.emplace(workspace_of_thread(instance_.engine().devices, &device, stream));
    TENON_TRY(make_copies(*scope));
    if (entry.copied_args != 0) TENON_TRY(make_stand_ins(entry, *scope));
    if (entry.workspace_bytes != 0)
      TENON_TRY_ASSIGN(workspace, scope->take_workspace(entry.workspace_bytes, *entry.built));
  }
  if (!type.stored.empty()) reinterpret(type, entry.copied_args);

  TENON_TRY(launch_views(entry, device, stream, workspace, facts, 0, memo));
  return copy_back();
}

void StepRun::place_tensors(const KernelType& type, std::size_t n_args, const DeviceEntry& device) {
  if (state_.abi_tensors.size() < n_views_) state_.abi_tensors.resize(n_views_);
  if (state_.tensor_pointers.size() < n_views_ + n_args)
    state_.tensor_pointers.resize(n_views_ + n_args);
  if (state_.launch_first.size() < n_args + 1) state_.launch_first.resize(n_args + 1);
  std::uint32_t pointer = 0;
  for (std::size_t i = 0; i < n_args; ++i) {
    const std::size_t arg = type.contract.exact() ? i : type.contract.args()[i];
    state_.launch_first[i] = pointer;
    const std::uint32_t first = state_.arg_first[arg];
    const std::uint32_t last = state_.arg_first[arg + 1];
    if (first == last) {
      state_.tensor_pointers[pointer++] = nullptr;
      continue;
    }
    for (std::uint32_t v = first; v < last; ++v) {
      const TensorView& view = state_.views[v];
      state_.abi_tensors[v] = {view.data,
                               device.launch.dlpack_type,
                               view.device.index,
                               static_cast<std::int32_t>(view.shape.size()),
                               to_abi(view.dtype),
                               view.shape.data(),
                               view.strides.data(),
                               view.byte_offset};
      state_.tensor_pointers[pointer++] = &state_.abi_tensors[v];
    }
  }
  state_.launch_first[n_args] = pointer;
}

Result<void> StepRun::launch_views(const CallEntry& entry,
                                   const DeviceEntry& device,
                                   void* stream,
                                   void* workspace,
                                   std::span<const tenon_arg_facts> facts,
                                   std::uint64_t flags,
                                   HitMemo*& memo) {
  const KernelType& type = entry.built->type();
  tenon_call call{};
  project(type, facts, call);
  const std::size_t n_args = call.n_args;
  place_tensors(type, n_args, device);
  const tenon_launch request{sizeof(tenon_launch),
                             &device.launch,
                             &call,
                             state_.tensor_pointers.data(),
                             state_.launch_first.data(),
                             n_args,
                             stream,
                             workspace,
                             entry.workspace_bytes,
                             flags};
  if (flags == 0) {
    const LaunchExample& example = entry.example_of(request);
    if (instance_.tuned_mode() && !entry.built->is_tuned()) {
      TENON_TRY(
          require_not_capturing(*instance_.engine().devices, device, stream, "tuning a kernel"));
      instance_.tune(entry, example, stream);
    }
  }
  {
    const PluginCall plugin_call("launch", type.qualified);
    TENON_TRY(launch_kernel(*entry.built, request));
  }
  if (memo != nullptr && !memo->add(state_, args_, entry, request, n_views_)) {
    memo->forget();
    memo = nullptr;
  }
  return {};
}

}  // namespace tenon
