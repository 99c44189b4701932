// The seven steps of a call, the binding and its undo, the states of threads.
#include "runtime/instance.hpp"

#include <algorithm>
#include <unordered_map>

#include "runtime/call_key.hpp"
#include "runtime/step_run.hpp"
#include "runtime/streams.hpp"
#include "runtime/target_run.hpp"

namespace tenon {
namespace {

constexpr std::uint64_t kOwnTarget = ~std::uint64_t{0};

// This thread's states by instance key. Keys are never reused, so a stale entry is garbage, never
// wrong.
struct ThreadTable {
  struct Slot {
    std::uint64_t key = 0;
    ThreadState* state = nullptr;
  };
  static constexpr std::size_t kSlots = 64;
  std::array<Slot, kSlots> recent{};
  std::unordered_map<std::uint64_t, std::shared_ptr<ThreadState>> all;
  std::size_t sweep_at = 128;

  ThreadTable() = default;
  ThreadTable(const ThreadTable&) = delete;
  ThreadTable& operator=(const ThreadTable&) = delete;
  ~ThreadTable() {
    for (auto& [key, state] : all) state->thread_alive.store(false, std::memory_order_release);
  }
};

ThreadTable& thread_table() {
  static thread_local ThreadTable mine;
  return mine;
}

}  // namespace

Op::Instance::~Instance() {
  const std::lock_guard lock(running.mutex);
  for (const auto& state : running.threads)
    state->instance_alive.store(false, std::memory_order_release);
}

ThreadState& Op::Instance::thread_state() {
  ThreadTable& table = thread_table();
  ThreadTable::Slot& slot = table.recent[construction.key % ThreadTable::kSlots];
  if (slot.key == construction.key) return *slot.state;
  auto& mine = table.all[construction.key];
  if (mine == nullptr) {
    mine = std::make_shared<ThreadState>();
    mine->frame = plan().make_frame();
    mine->last_frame = plan().make_frame();
    const std::lock_guard lock(running.mutex);
    std::erase_if(running.threads,
                  [](const auto& s) { return !s->thread_alive.load(std::memory_order_acquire); });
    running.threads.push_back(mine);
  }
  slot = {construction.key, mine.get()};
  ThreadState& state = *mine;
  if (table.all.size() > table.sweep_at) {
    std::erase_if(table.all, [&](const auto& e) {
      return !e.second->instance_alive.load(std::memory_order_acquire);
    });
    table.sweep_at = std::max<std::size_t>(128, table.all.size() * 2);
  }
  return state;
}

// ---- Binding
// --------------------------------------------------------------------------------------

const Binding* Op::Instance::protect(ThreadState& state) const {
  const Binding* seen = binding.current.load(std::memory_order_acquire);
  while (true) {
    state.hazard.store(seen, std::memory_order_seq_cst);
    const Binding* again = binding.current.load(std::memory_order_seq_cst);
    if (again == seen) return seen;
    seen = again;
  }
}

const Binding* Op::Instance::publish(std::unique_ptr<const Binding> next) {
  const Binding* raw = next.get();
  if (next != nullptr) binding.owned.push_back(std::move(next));
  binding.current.store(raw, std::memory_order_seq_cst);
  reclaim();
  return raw;
}

void Op::Instance::reclaim() {
  const Binding* current = binding.current.load(std::memory_order_seq_cst);
  std::vector<const Binding*> seen;
  {
    const std::lock_guard lock(running.mutex);
    for (const auto& state : running.threads)
      seen.push_back(state->hazard.load(std::memory_order_seq_cst));
  }
  std::erase_if(binding.owned, [&](const auto& b) {
    return b.get() != current && std::find(seen.begin(), seen.end(), b.get()) == seen.end();
  });
}

Result<const Binding*> Op::Instance::bound(ThreadState& state, std::uint64_t& published) {
  const std::uint64_t version =
      has_own_target() ? kOwnTarget : engine().default_version.load(std::memory_order_acquire);
  const Binding* now = protect(state);
  if (now != nullptr && now->default_version == version) return now;
  TargetChoice choice;
  TENON_TRY_ASSIGN(choice, choose_target(state.frame->device));
  {
    const std::lock_guard lock(binding.mutex);
    const Binding* current = binding.current.load(std::memory_order_acquire);
    if (current == nullptr || current->default_version != version) {
      auto next = std::make_unique<Binding>();
      // Another default that means the same target keeps what was built.
      if (current != nullptr && current->target.name == choice.name &&
          current->target.kind == choice.kind) {
        next->slots = current->slots;
        next->count = current->count;
      }
      next->target = std::move(choice);
      next->default_version = version;
      next->generation = binding.next_generation++;
      published = next->generation;
      publish(std::move(next));
    }
  }
  return protect(state);
}

void Op::Instance::undo(std::uint64_t published) {
  const std::lock_guard lock(binding.mutex);
  const Binding* current = binding.current.load(std::memory_order_acquire);
  if (current == nullptr || current->generation != published) return;
  {
    const std::lock_guard threads(running.mutex);
    for (const auto& state : running.threads) {
      if (state->completed_generation.load(std::memory_order_acquire) == published) return;
    }
  }
  publish(nullptr);
}

std::string Op::Instance::serving_target(ThreadState& state) const {
  const Binding* now = protect(state);
  std::string name = now == nullptr ? std::string() : now->target.name;
  state.hazard.store(nullptr, std::memory_order_release);
  return name;
}

// ---- The call
// ---------------------------------------------------------------------------------------

// One call of one instance on one thread.
class CallRun {
 public:
  CallRun(Op::Instance& instance, ThreadState& state, const CallArgs& args)
      : instance_(instance), state_(state), args_(args) {}

  Result<void> run() {
    const Construction& construction = *instance_.construction.construction;
    if (!instance_.plan().check(construction, args_, *state_.frame)) {
      return fail(instance_.plan().failure(construction, args_, *state_.frame));
    }
    const CallFrame& frame = *state_.frame;
    if (frame.nothing_to_do) {
      TENON_TRY(instance_.make_outputs(state_, args_, nullptr));
      record(0);
      return {};
    }
    return run_bound();
  }

  [[nodiscard]] std::uint64_t published() const { return published_; }

 private:
  // Steps 4 to 7.
  Result<void> run_bound() {
    const CallFrame& frame = *state_.frame;
    auto bound = instance_.bound(state_, published_);
    if (!bound) return fail(std::move(bound).error());
    const Binding& binding = **bound;
    const TargetChoice& target = binding.target;
    if ((target.builder != nullptr && !target.builder->serves(frame.device.kind)) ||
        (target.kind && *target.kind != frame.device.kind) ||
        (target.device_index && *target.device_index != frame.device.index)) {
      return fail(target_mismatch(target, frame.device));
    }
    auto device = instance_.engine().devices->find(frame.device);
    if (!device) return fail(std::move(device).error());
    void* stream = nullptr;
    TENON_TRY_ASSIGN(stream, stream_for(*instance_.engine().devices, **device));
    TENON_TRY(instance_.make_outputs(state_, args_, stream));
    if (target.builder != nullptr) {
      TENON_TRY(run_target(binding, **device, stream));
    } else {
      TENON_TRY(run_steps(binding, **device, stream));
    }
    state_.completed_generation.store(binding.generation, std::memory_order_release);
    return {};
  }

  Result<void> run_steps(const Binding& binding, const DeviceEntry& device, void* stream) {
    const OpDecl& decl = instance_.decl();
    if (decl.interfaces.empty()) {
      return fail(Error(ErrorCode::kOpNotAvailable,
                        "op '" + decl.name + "' has no kernel interfaces" +
                            (decl.implemented ? std::string() : " (status: spec-only)") +
                            ": only a builder target can serve it")
                      .with_where(decl.where.to_string()));
    }
    std::size_t launched = 0;
    for (std::uint32_t step = 0; step < decl.steps.size(); ++step) {
      const auto interface = instance_.plan().active_interface(
          step, *instance_.construction.construction, *state_.frame);
      if (!interface) continue;
      TENON_TRY(run_step(binding, device, stream, step, *interface, launched));
    }
    record(launched);
    return {};
  }

  Result<void> run_step(const Binding& binding,
                        const DeviceEntry& device,
                        void* stream,
                        std::uint32_t step,
                        std::uint32_t interface,
                        std::size_t& launched) {
    StepRun run(instance_, state_, args_, step, interface);
    TENON_TRY(run.prepare());
    auto entry = hit_or_miss(binding, device, stream, run);
    if (!entry) return fail(std::move(entry).error());
    TENON_TRY(run.launch(**entry, device, stream));
    trace(launched++, {step, interface, &(*entry)->built->name(), run.copies()});
    return {};
  }

  Result<void> run_target(const Binding& binding, const DeviceEntry& device, void* stream) {
    TargetRun run(instance_, state_, args_, *binding.target.builder);
    auto entry = hit_or_miss(binding, device, stream, run);
    if (!entry) return fail(std::move(entry).error());
    TENON_TRY(run.launch(**entry, device, stream));
    trace(0, {0, kNoInterface, &(*entry)->built->name(), 0});
    record(1);
    return {};
  }

  // The entry of the key that `run` makes: found in the binding, or made and published.
  template <class Run>
  Result<const CallEntry*> hit_or_miss(const Binding& binding,
                                       const DeviceEntry& device,
                                       void* stream,
                                       Run& run) {
    run.make_key();
    const std::uint64_t hash = hash_words(state_.key);
    if (const auto* found = binding.find(hash, state_.key)) {
      const CallEntry& entry = **found;
      if (!entry.used.load(std::memory_order_relaxed))
        entry.used.store(true, std::memory_order_relaxed);
      return &entry;
    }
    TENON_TRY(require_not_capturing(
        *instance_.engine().devices, device, stream, "selecting and building a kernel"));
    auto missed = run.miss(device, built_);
    if (!missed) return fail(std::move(missed).error());
    made_ = std::move(*missed);
    add(binding, made_);
    return made_.get();
  }

  void trace(std::size_t at, const KernelTrace& kernel) {
    if (state_.traces.size() <= at) state_.traces.resize(at + 1);
    state_.traces[at] = kernel;
  }

  // Publishes the new entry, unless the binding that this call saw is gone.
  void add(const Binding& seen, const std::shared_ptr<const CallEntry>& entry) {
    const std::lock_guard lock(instance_.binding.mutex);
    const Binding* current = instance_.binding.current.load(std::memory_order_acquire);
    if (current == nullptr || current->generation != seen.generation) return;
    if (current->find(entry->hash, entry->key) != nullptr) return;  // another thread was first
    instance_.publish(current->with(entry, instance_.engine().options.call_keys_per_instance));
  }

  // Step 7: the frame becomes the last one; shapes are copied into storage that is there already.
  void record(std::size_t launched) {
    RecordStore& r = state_.record;
    r.valid = true;
    r.built = built_;
    r.device = state_.frame->device;
    r.has_out = args_.out != nullptr;
    if (r.has_out) r.out = *args_.out;
    r.inputs.resize(args_.inputs.size());
    r.input_counts.resize(args_.inputs.size());
    r.list_items.clear();
    for (std::size_t i = 0; i < args_.inputs.size(); ++i) {
      const TensorArg& arg = args_.inputs[i];
      r.input_counts[i] = arg.present() ? arg.count : 0;
      if (!arg.present()) continue;
      if (instance_.decl().inputs[i].list) {
        for (std::uint32_t e = 0; e < arg.count; ++e) r.list_items.push_back(*arg.items[e]);
      } else {
        r.inputs[i] = *arg.items[0];
      }
    }
    r.kernel_count = launched;
    if (r.kernels.size() < launched) r.kernels.resize(launched);
    std::copy_n(state_.traces.begin(), launched, r.kernels.begin());
    std::swap(state_.frame, state_.last_frame);
  }

  Op::Instance& instance_;
  ThreadState& state_;
  const CallArgs& args_;
  std::uint64_t published_ = 0;
  bool built_ = false;
  std::shared_ptr<const CallEntry> made_;  // keeps an entry that this call made
};

Result<void> Op::Instance::call(ThreadState& state, const CallArgs& args) {
  CallRun run(*this, state, args);
  Result<void> result = run.run();
  state.hazard.store(nullptr, std::memory_order_release);
  if (!result) {
    for (Tensor& tensor : state.made) tensor = Tensor();
    if (run.published() != 0) undo(run.published());
  }
  return result;
}

// ---- Copies
namespace {

Result<void> make_output(DeviceTable& devices,
                         ThreadState& state,
                         const CallArgs& args,
                         std::uint32_t at,
                         const OutputSpec& spec,
                         const TensorDecl& decl,
                         void* stream) {
  if (!spec.present) return {};
  if (decl.buffer_out && args.out != nullptr) {
    state.outputs[at] = args.out;
  } else if (spec.alias_input >= 0) {
    state.outputs[at] = args.inputs[static_cast<std::size_t>(spec.alias_input)].single();
  } else {
    auto made = devices.make_tensor(spec.dtype, spec.shape, state.frame->device, stream);
    if (!made) return fail(std::move(made).error());
    state.made[at] = std::move(*made);
    state.outputs[at] = &state.made[at].view();
  }
  return {};
}

}  // namespace

Result<void> Op::Instance::make_outputs(ThreadState& state, const CallArgs& args, void* stream) {
  const CallFrame& frame = *state.frame;
  const auto& declared = decl().outputs;
  state.output_first.resize(declared.size() + 1);
  std::size_t total = 0;
  for (std::size_t i = 0; i < declared.size(); ++i) {
    state.output_first[i] = static_cast<std::uint32_t>(total);
    total += declared[i].list ? frame.outputs[i].list_count : 1;
  }
  state.output_first[declared.size()] = static_cast<std::uint32_t>(total);
  state.outputs.assign(total, nullptr);
  state.made.resize(total);
  std::size_t from_lists = 0;
  for (std::size_t i = 0; i < declared.size(); ++i) {
    for (std::uint32_t at = state.output_first[i]; at < state.output_first[i + 1]; ++at) {
      const OutputSpec& spec =
          declared[i].list ? frame.list_outputs[from_lists++] : frame.outputs[i];
      TENON_TRY(make_output(*engine().devices, state, args, at, spec, declared[i], stream));
    }
  }
  return {};
}

// -----------------------------------------------------------------------------------------

bool Op::Instance::can_copy(DeviceKind kind, DType dtype) const {
  const OpClass* copy = construction.snapshot->find("CopyFwdOp");
  if (copy == nullptr || copy->interfaces.empty() ||
      !copy->plan->decl().inputs.front().dtypes.contains(dtype))
    return false;
  const auto& types = copy->interfaces.front().types;
  return std::any_of(types.begin(), types.end(), [&](const auto& t) {
    return t->serves(kind) && (t->dtypes.empty() || t->dtypes.contains(dtype));
  });
}

Result<void> Op::Instance::copy(const TensorView& from, const TensorView& to) {
  Op* copier = running.copier.load(std::memory_order_acquire);
  if (copier == nullptr) {
    const std::lock_guard lock(running.mutex);
    copier = running.copier.load(std::memory_order_acquire);
    if (copier == nullptr) {
      const OpClass* op_class = construction.snapshot->find("CopyFwdOp");
      if (op_class == nullptr) {
        return fail(
            ErrorCode::kNoImplementation,
            "a tensor must be copied to be passed to a kernel, and there is no op CopyFwdOp");
      }
      auto made = std::make_unique<Instance>();
      made->construction.engine = construction.engine;
      made->construction.snapshot = construction.snapshot;
      made->construction.op_class = op_class;
      made->construction.is_copier = true;
      made->construction.options.target = "builtin";
      made->construction.key = construction.engine->next_instance_key();
      auto built = op_class->plan->construct({}, {});
      if (!built) return fail(std::move(built).error());
      made->construction.construction = std::move(*built);
      running.copier_owner.reset(new Op(std::move(made)));
      copier = running.copier_owner.get();
      running.copier.store(copier, std::memory_order_release);
    }
  }
  const TensorView* items[] = {&from};
  const TensorArg inputs[] = {{items, 1}};
  return copier->call_out(inputs, to);
}

}  // namespace tenon
