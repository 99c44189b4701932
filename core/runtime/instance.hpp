// The state of an op instance in three groups, and the seven steps of a call.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "registry/selection.hpp"
#include "runtime/binding.hpp"
#include "runtime/grow_only_list.hpp"
#include "runtime/sub_ops.hpp"
#include "runtime/thread_state.hpp"
#include "runtime/tuning.hpp"
#include "tenon/core/flow.hpp"
#include "tenon/core/op.hpp"

namespace tenon {

struct CompositeFrame;

struct Engine::Internals {
  EngineOptions options;
  LogSink log;
  std::shared_ptr<DeviceTable> devices = std::make_shared<DeviceTable>();
  Registry registry{*devices};
  BuildPool builds;
  mutable std::mutex default_mutex;
  std::optional<Setting<std::string>> process_default;  ///< set_default_target
  std::atomic<std::uint64_t> default_version{1};
  std::atomic<std::size_t> call_keys_evicted{0};
  std::atomic<std::size_t> sub_ops_evicted{0};
  std::atomic<std::size_t> kernels_tuned{0};
  // Instances by key. The table owns none; each takes itself out at its end.
  mutable std::mutex instances_mutex;
  std::unordered_map<std::uint64_t, Op::Instance*> instances;
  /// The instance of a key, or null. No lock for one that this thread has called.
  [[nodiscard]] Op::Instance* find_instance(std::uint64_t key) const;
  /// Takes kernels from instances where there are more than `caches.entries`, `newest` excepted.
  /// @pre No lock is held.
  void keep_bounds(const BuiltEntry& newest);
  std::mutex warned_mutex;
  std::set<std::string> warned;  ///< "op: reason" of reference kernels that serve
};

/// Written at construction only; kept on undo.
struct ConstructionGroup {
  std::shared_ptr<Engine> engine;
  std::shared_ptr<const Snapshot> snapshot;
  const OpClass* op_class = nullptr;
  std::shared_ptr<const Construction> construction;
  InstanceOptions options;
  OpOptions configured;                                       ///< ops.<Op> of the configuration
  std::vector<std::pair<std::string, std::string>> disabled;  ///< key and setting
  std::uint64_t key = 0;
  /// The CopyFwdOp or CastFwdOp behind a flow's copies: no warning, no record.
  bool is_copier = false;
  /// Of a sub-op: the instance whose snapshot, target request and selection options it takes.
  const Op::Instance* outermost = nullptr;
};

/// Written when a target is selected and kernels are built; reset on undo. One immutable object
/// behind a pointer.
struct BindingGroup {
  std::atomic<const Binding*> current{nullptr};
  mutable std::mutex mutex;  ///< of writers
  std::vector<std::unique_ptr<const Binding>>
      owned;  ///< the current one and retired ones still seen
  std::uint64_t next_generation = 1;
  std::uint64_t next_serial = 1;
};

/// The op behind copies (CopyFwdOp), or behind casts to one dtype (CastFwdOp).
struct CopyHelper {
  std::optional<DType> to;  ///< of casts
  std::unique_ptr<Op> op;
};

/// A construction-time tensor on a device and in a dtype that it was not given in.
struct ConvertedTensor {
  std::uint32_t index = 0;
  Device device;
  Tensor tensor;
};

/// Written during calls, whatever the target; kept on undo.
struct RunningGroup {
  mutable std::mutex mutex;
  std::vector<std::shared_ptr<ThreadState>> threads;
  GrowOnlyList<CopyHelper> copy_helpers;
  GrowOnlyList<ConvertedTensor> converted;
  SubOpTable sub_ops;
  std::atomic<bool> tune_requested{false};
  std::atomic<bool> tune_warned{false};  ///< that a kernel of this instance cannot tune
};

struct Op::Instance {
  ConstructionGroup construction;
  BindingGroup binding;
  RunningGroup running;

  using Retired = std::vector<std::unique_ptr<const Binding>>;

  Instance() = default;
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;
  ~Instance();

  [[nodiscard]] const SignaturePlan& plan() const { return *construction.op_class->plan; }
  [[nodiscard]] const OpDecl& decl() const { return plan().decl(); }
  [[nodiscard]] Engine::Internals& engine() const { return construction.engine->internals(); }

  /// This thread's state of this instance; made at the thread's first call.
  ThreadState& thread_state();

  /// The seven steps. Made outputs are left in `state.made`, all outputs in `state.outputs`.
  Result<void> call(ThreadState& state, const CallArgs& args);

  /// The same with positional outputs; see Op::call_into.
  Result<void> call_positional(std::span<const TensorArg> inputs,
                               const TensorView* out,
                               std::span<Tensor> outputs);
  /// What a call would return, inferred in a frame of its own. @errors SignatureMismatch.
  [[nodiscard]] Result<std::unique_ptr<CallFrame>> checked(const CallArgs& args) const;
  /// Keeps this thread's meta call.
  void keep_meta_record(const CallArgs& args, const CallFrame& frame);

  /// The reference kernel on wide data; see Op::call_reference.
  Result<void> call_reference(const CallArgs& args, std::vector<Tensor>& results);
  /// Makes what the call returns and the caller did not give; fills state.outputs.
  Result<void> make_outputs(ThreadState& state, const CallArgs& args, void* stream);

  /// Copies between two views of one device and shape through the CopyFwdOp table, or through the
  /// CastFwdOp table where their dtypes differ. Does nothing without elements.
  Result<void> convert(const TensorView& from, const TensorView& to);
  /// A construction-time tensor on a device and in a dtype that it was not given in: made at first
  /// need, and kept. @errors NoImplementation where neither device casts.
  Result<const TensorView*> converted(std::uint32_t index, Device device, DType dtype);
  [[nodiscard]] bool can_copy(DeviceKind kind, DType dtype) const;
  [[nodiscard]] bool can_cast(DeviceKind kind, DType from, DType to) const;

  /// The target that is bound now; empty where none is.
  [[nodiscard]] std::string serving_target(ThreadState& state) const;

  Explanation explain(const CallArgs& args, std::span<const DeviceFacts> assumed);

  /// The first target request that is set: the instance's, its op's configuration, the process
  /// default, the configuration's. Nothing where none is.
  [[nodiscard]] Result<std::optional<TargetChoice>> requested_target() const;
  /// The target of a call on a device: the requested one, else a builder target that claims the
  /// device, else builtin.
  [[nodiscard]] Result<TargetChoice> choose_target(Device device) const;
  /// The instance whose target request and selection options count: the outermost one.
  [[nodiscard]] const Instance& asking() const {
    return construction.outermost == nullptr ? *this : *construction.outermost;
  }
  [[nodiscard]] bool has_own_target() const {
    const ConstructionGroup& c = asking().construction;
    return c.options.target || c.configured.target;
  }

  /// Whether the op can run as its stages where no kernel of its own serves.
  [[nodiscard]] bool composes() const {
    const Flow* flow = construction.op_class->flow;
    return !decl().stages.empty() && flow != nullptr && flow->composes();
  }
  /// The sub-op of a stage and identity, made where it is missing. `state` keeps it until the next
  /// composition begins on it.
  Result<Op*> delegate_for(ThreadState& state,
                           std::uint32_t stage,
                           std::span<const std::int64_t> identity,
                           const std::function<std::vector<NamedValue>()>& params);
  [[nodiscard]] SubOps held_sub_ops() const;
  /// Whether kernels are tuned as soon as they are built.
  [[nodiscard]] bool tuned_mode() const {
    return asking().running.tune_requested.load(std::memory_order_relaxed) ||
           running.tune_requested.load(std::memory_order_relaxed) ||
           construction.engine->options().tuning.value == TuningMode::kTune;
  }
  /// Puts the instance and its sub-ops in tuned mode, and tunes what they have built. Returns how
  /// many kernels were tuned.
  std::size_t request_tune();
  /// Tunes the kernel of an entry, unless it is tuned already, on synthetic tensors like those of
  /// `example`. What goes wrong is logged: a call does not fail for it.
  bool tune(const CallEntry& entry, const LaunchExample& example, void* stream);
  /// Lets go of kernels; what no call sees any more is put into `retired`.
  void drop(const std::set<const BuiltEntry*>& victims, Retired& retired);

  /// The kernels of cached calls, those of held sub-ops included, once each.
  [[nodiscard]] std::vector<std::shared_ptr<BuiltEntry>> reachable() const;
  /// What a kept record tells.
  [[nodiscard]] std::optional<SignatureCall> tell(const RecordStore& record, CallFrame& frame);

 private:
  friend class CallRun;
  friend struct CompositeCalls;
  Result<std::shared_ptr<SubOp>> make_sub_op(
      std::uint32_t stage,
      std::span<const std::int64_t> identity,
      const std::function<std::vector<NamedValue>()>& params) const;
  Result<Tensor> convert_tensor(const Tensor& own, Device device, DType dtype);
  Result<Tensor> dense_as(const Tensor& tensor, DType dtype);
  /// The helper that copies, or casts to a dtype; made at first need.
  /// The op that copies, or casts to a dtype; made at the first need.
  Result<Op*> copy_helper(std::optional<DType> to);
  Result<const Binding*> bound(ThreadState& state, std::uint64_t& published);
  const Binding* protect(ThreadState& state) const;
  /// The kept call that this one repeats, under a binding that still holds its kernels; or null.
  HitMemo* remembered(ThreadState& state, const CallArgs& args) const;
  /// What follows a call, with the binding it ran under and the one it made (0: none).
  void end_call(ThreadState& state,
                CompositeFrame* caller,
                bool succeeded,
                std::uint64_t generation,
                std::uint64_t published);
  /// The version of the default target that a binding must have been made under.
  [[nodiscard]] std::uint64_t default_version() const;
  /// Publishes a binding and takes out those that no thread sees any more; the caller drops them
  /// once he holds no lock. @pre binding.mutex is held.
  void publish(std::unique_ptr<Binding> next, Retired& retired);
  void reclaim(Retired& retired);
  void undo(std::uint64_t published);
};

/// An instance of an op class, with its key and nothing bound. @errors SignatureMismatch,
/// UsageError, UnknownTarget.
Result<std::unique_ptr<Op::Instance>> make_instance(std::shared_ptr<Engine> engine,
                                                    std::shared_ptr<const Snapshot> snapshot,
                                                    const OpClass& op_class,
                                                    std::span<const NamedValue> params,
                                                    const InstanceOptions& options,
                                                    const Op::Instance* outermost);
/// The Op around an instance.
[[nodiscard]] Op wrap(std::unique_ptr<Op::Instance> instance);

/// The builder target of the device's owner that claims the device, else builtin. @errors
/// AmbiguousTarget.
Result<TargetChoice> detect_target(const Snapshot& snapshot, const DeviceEntry& device);
/// Parses a target request against a snapshot. @errors UnknownTarget with the nearest names and
/// failed plugins.
Result<TargetChoice> parse_target(const Snapshot& snapshot,
                                  const std::string& request,
                                  std::string from,
                                  std::span<const std::string> assumed_kinds = {});
/// The error of a call on a device that its target does not serve.
[[nodiscard]] Error target_mismatch(const TargetChoice& target, Device device);
/// "plugins that failed to load: ...; plugins that are disabled: ..." or empty.
[[nodiscard]] std::string failed_plugins_text(const Snapshot& snapshot);

/// A made-up address for a tensor without memory, far from every other one's. Never read.
[[nodiscard]] void* imagined_address(std::size_t ordinal);

}  // namespace tenon
