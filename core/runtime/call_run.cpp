// The seven steps of a call.
#include <algorithm>

#include "runtime/call_key.hpp"
#include "runtime/call_stack.hpp"
#include "runtime/given_views.hpp"
#include "runtime/hit_memo.hpp"
#include "runtime/instance.hpp"
#include "runtime/step_run.hpp"
#include "runtime/streams.hpp"
#include "runtime/target_run.hpp"

namespace tenon {

// One call of one instance on one thread.
class CallRun {
 public:
  CallRun(Op::Instance& instance, ThreadState& state, const CallArgs& args)
      : instance_(instance), state_(state), args_(args) {}

  Result<void> run() {
    state_.stage_count = 0;
    const OpDecl& decl = instance_.decl();
    if (args_.inputs.size() != decl.inputs.size()) {
      return fail(ErrorCode::kUsageError,
                  "op '" + decl.name + "' takes " + std::to_string(decl.inputs.size()) +
                      " inputs, absent ones included; got " + std::to_string(args_.inputs.size()));
    }
    TENON_TRY(check_given(decl, args_));
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

  /// The binding that this call made; 0: an earlier call did, or none is needed.
  [[nodiscard]] std::uint64_t published() const { return published_; }
  /// The binding that it ran under; 0: none.
  [[nodiscard]] std::uint64_t generation() const { return generation_; }

 private:
  // The memo that shall keep this call, or none. Keeping costs as much as a few hits save, so a
  // thread whose calls are all different does it now and then only.
  HitMemo* memo_to_fill(const Binding& binding, const DeviceEntry& device) {
    auto& memos = state_.memos;
    const auto free = std::find(memos.begin(), memos.end(), nullptr);
    constexpr std::uint32_t kSeldom = 8;
    if (free == memos.end() && ++state_.hits_without_memo % kSeldom != 0) return nullptr;
    auto& slot = free == memos.end() ? memos.back() : *free;
    if (slot == nullptr) slot = std::make_unique<HitMemo>();
    if (state_.last == &slot->record) {
      state_.record = slot->record;
      state_.last = &state_.record;
    }
    const auto stream = instance_.engine().devices->default_stream(device);
    if (!stream) return nullptr;
    return slot->begin(instance_, state_, args_, binding, device, *stream) ? slot.get() : nullptr;
  }

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
    generation_ = binding.generation;
    return {};
  }

  Result<void> run_steps(const Binding& binding, const DeviceEntry& device, void* stream) {
    const OpDecl& decl = instance_.decl();
    const bool composes = instance_.composes();
    if (decl.interfaces.empty()) {
      if (composes) return compose(device, stream);
      return fail(Error(ErrorCode::kOpNotAvailable,
                        "op '" + decl.name + "' has no kernel interfaces" +
                            (decl.implemented ? std::string() : " (status: spec-only)") +
                            ": only a builder target can serve it")
                      .with_where(decl.where.to_string()));
    }
    if (composes) {
      bool served = true;
      TENON_TRY_ASSIGN(served, every_step_is_served(binding, device, stream));
      if (!served) return compose(device, stream);
    }
    memo_ = memo_to_fill(binding, device);
    if (memo_ != nullptr && !made_.empty()) memo_->forget_table();
    std::size_t launched = 0;
    for (std::uint32_t step = 0; step < decl.steps.size(); ++step) {
      const auto interface = active_interface(step);
      if (!interface) continue;
      TENON_TRY(run_step(binding, device, stream, step, *interface, launched));
    }
    record(launched);
    return {};
  }

  std::optional<std::uint32_t> active_interface(std::uint32_t step) const {
    return instance_.plan().active_interface(
        step, *instance_.construction.construction, *state_.frame);
  }

  // Whether kernels serve the whole call. Asked before the first one runs: a composition begins at
  // the beginning.
  Result<bool> every_step_is_served(const Binding& binding,
                                    const DeviceEntry& device,
                                    void* stream) {
    for (std::uint32_t step = 0; step < instance_.decl().steps.size(); ++step) {
      const auto interface = active_interface(step);
      if (!interface) continue;
      StepRun run(instance_, state_, args_, step, *interface);
      TENON_TRY(run.prepare());
      auto entry = hit_or_miss(binding, device, stream, run);
      if (!entry) return fail(std::move(entry).error());
      if ((*entry)->built == nullptr) return false;
    }
    return true;
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
    TENON_TRY(run.launch(**entry, device, stream, memo_));
    trace(launched++, {step, interface, &(*entry)->built->name(), run.copies()});
    return {};
  }

  Result<void> compose(const DeviceEntry& device, void* stream) {
    memo_ = nullptr;
    TENON_TRY(run_composition(instance_, state_, args_, device, stream, published_ != 0));
    record(0);
    return {};
  }

  Result<void> run_target(const Binding& binding, const DeviceEntry& device, void* stream) {
    const BuilderTarget& target = *binding.target.builder;
    if (instance_.composes() && !target.index_of(instance_.decl().full_name()))
      return compose(device, stream);
    TargetRun run(instance_, state_, args_, target);
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
      entry.mark_used();
      return &entry;
    }
    for (const auto& entry : made_) {
      if (entry->hash == hash && entry->key == state_.key) return entry.get();
    }
    TENON_TRY(require_not_capturing(
        *instance_.engine().devices, device, stream, "selecting and building a kernel"));
    instance_.engine().devices->let_go_of_passed();
    // The table is about to be replaced: a memo finds its entries in the next one.
    if (memo_ != nullptr) memo_->forget_table();
    auto missed = run.miss(device, built_);
    if (!missed) return fail(std::move(missed).error());
    made_.push_back(std::move(*missed));
    add(binding, made_.back());
    if (built_ && made_.back()->built != nullptr)
      instance_.engine().keep_bounds(*made_.back()->built);
    return made_.back().get();
  }

  void trace(std::size_t at, const KernelTrace& kernel) {
    if (state_.traces.size() <= at) state_.traces.resize(at + 1);
    state_.traces[at] = kernel;
  }

  // Publishes the new entry, unless the binding that this call saw is gone.
  void add(const Binding& seen, const std::shared_ptr<const CallEntry>& entry) {
    Op::Instance::Retired retired;  // outlives the lock: its kernels are destroyed without one
    const std::lock_guard lock(instance_.binding.mutex);
    const Binding* current = instance_.binding.current.load(std::memory_order_acquire);
    if (current == nullptr || current->generation != seen.generation) return;
    if (current->find(entry->hash, entry->key) != nullptr) return;  // another thread was first
    Engine::Internals& engine = instance_.engine();
    std::size_t evicted = 0;
    instance_.publish(current->with(entry, engine.options.call_keys_per_instance, evicted),
                      retired);
    engine.call_keys_evicted.fetch_add(evicted, std::memory_order_relaxed);
  }

  // Step 7: shapes are copied into storage that is there already; the rest is told from them when
  // it is asked for.
  void record(std::size_t launched) {
    keep_record(state_.record, launched);
    state_.last = &state_.record;
    if (memo_ == nullptr) return;
    keep_record(memo_->record, launched);
    memo_->end();
    state_.last = &memo_->record;
  }

  void keep_record(RecordStore& r, std::size_t launched) {
    r.built = built_;
    r.keep(instance_.decl(), args_, state_.frame->device);
    r.kernel_count = launched;
    if (r.kernels.size() < launched) r.kernels.resize(launched);
    std::copy_n(state_.traces.begin(), launched, r.kernels.begin());
    r.stage_count = state_.stage_count;
    if (r.stage_count != 0) std::swap(r.stages, state_.stage_traces);
  }

  Op::Instance& instance_;
  ThreadState& state_;
  const CallArgs& args_;
  std::uint64_t published_ = 0;
  std::uint64_t generation_ = 0;
  bool built_ = false;
  HitMemo* memo_ = nullptr;                             // keeps this call, if anything does
  std::vector<std::shared_ptr<const CallEntry>> made_;  // keeps entries that this call made
};

HitMemo* Op::Instance::remembered(ThreadState& state, const CallArgs& args) const {
  if (state.memos[0] == nullptr || args.meta) return nullptr;
  const Binding* now = protect(state);
  if (now == nullptr || now->default_version != default_version()) return nullptr;
  for (std::size_t i = 0; i < ThreadState::kMemos && state.memos[i] != nullptr; ++i) {
    HitMemo& memo = *state.memos[i];
    if (memo.generation() != now->generation || !memo.matches(args)) continue;
    if (!memo.belongs_to(*now)) return nullptr;
    if (i != 0) std::swap(state.memos[0], state.memos[i]);
    return state.memos[0].get();
  }
  return nullptr;
}

Result<void> Op::Instance::call(ThreadState& state, const CallArgs& args) {
  CompositeFrame* const caller = construction.is_copier ? nullptr : innermost_composition;
  if (caller != nullptr) TENON_TRY(CompositeCalls::enter(*caller, *this));
  if (HitMemo* memo = remembered(state, args)) {
    Result<void> result = memo->run(*this, state, args);
    end_call(state, caller, result.has_value(), memo->generation(), 0);
    return result;
  }
  CallRun run(*this, state, args);
  Result<void> result = run.run();
  end_call(state, caller, result.has_value(), run.generation(), run.published());
  return result;
}

void Op::Instance::end_call(ThreadState& state,
                            CompositeFrame* caller,
                            bool succeeded,
                            std::uint64_t generation,
                            std::uint64_t published) {
  state.hazard.store(nullptr, std::memory_order_release);
  if (!succeeded) {
    for (Tensor& tensor : state.made) tensor = Tensor();
    if (published != 0) undo(published);
  } else if (caller != nullptr) {
    caller->outermost().pending->push_back({this, &state, generation, published});
  } else if (generation != 0 &&
             state.completed_generation.load(std::memory_order_relaxed) != generation) {
    state.completed_generation.store(generation, std::memory_order_release);
  }
}

}  // namespace tenon
