// Op: an instance of an op class, called many times; and the record of a call.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/engine.hpp"
#include "tenon/core/explain.hpp"
#include "tenon/core/plan.hpp"

namespace tenon {

/// A tensor passed by name. Keeps the memory alive where it was given as a Tensor.
struct NamedTensor {
  NamedTensor(std::string_view n, const Tensor& t) : name(n), tensor(t) {}
  NamedTensor(std::string_view n, const TensorView& v) : name(n), tensor(nullptr, v) {}
  std::string_view name;
  Tensor tensor;
};

/// A tensor spec by name, for explain and infer. `offset_elements` says where in its allocation it
/// starts.
struct NamedSpec {
  std::string_view name;
  TensorSpec spec;
  std::int64_t offset_elements = 0;
};

/// What a call may be given beside its inputs.
struct CallOptions {
  const TensorView* out = nullptr;
  std::optional<Device> device;  ///< for calls without tensor inputs
};

/// A kernel that ran in a call.
struct KernelUse {
  std::string step;
  std::string interface;
  std::string kernel;  ///< "plugin:key"
  std::uint32_t copies = 0;
};

struct StageUse;

/// What the last successful call of an instance on this thread was.
struct SignatureCall {
  std::string op;
  Device device;
  std::string target;
  std::uint32_t branch = 0;  ///< index into OpDecl::branches
  bool has_out = false;
  std::vector<NamedValue> indices;
  std::vector<std::pair<std::string, TensorSpec>> tensors;  ///< present inputs and outputs
  std::vector<std::string> written_inputs;
  std::vector<Traffic> traffic;
  /// Inputs that describe others (offsets, page tables), with the memory that they had.
  std::vector<std::pair<std::string, TensorView>> metadata;
  std::vector<KernelUse> kernels;  ///< those of stages included; empty for an empty call
  std::vector<StageUse> stages;    ///< sub-calls in order, where the call ran as a composition
  std::uint32_t copies = 0;
  bool built = false;  ///< this call built a kernel
  bool meta = false;   ///< a meta call: nothing was selected or ran
  Result<Cost> cost = fail(ErrorCode::kInternal, "no call yet");

  /// The kernel of a one-step op: "plugin:key", or empty.
  [[nodiscard]] std::string kernel() const {
    return kernels.empty() ? std::string() : kernels.front().kernel;
  }
  [[nodiscard]] const Result<Cost>& eval_roofline() const { return cost; }
  /// The unit that prices the operations: "tensor_core.bfloat16" where the flow contracts, else
  /// "vector.bfloat16", by the dtype of the first tensor; "vector" for a call without tensors.
  [[nodiscard]] std::string roof() const { return unit; }
  std::string unit;
};

/// A sub-call of a composite op and the stage that it is filed under.
struct StageUse {
  std::string stage;
  SignatureCall call;
};

/// A sub-op that a composite instance holds.
struct HeldDelegate {
  std::string stage;
  std::vector<std::int64_t> identity;
  std::shared_ptr<Op> op;  ///< not to be called once the instance has ended
};

/// A kernel that an instance reaches through its cached calls.
struct BuiltKernel {
  std::string interface;  ///< empty for a builder target's
  std::string kernel;     ///< "plugin:key"
  Device device;
  std::string config;  ///< what the kernel says of its configuration; may be empty
  bool tuned = false;
};

/// An op instance: construction parameters, the target it is bound to, the kernels it has built.
/// Movable, not copyable. [any-thread] calls on one instance are safe.
class Op {
 public:
  Op(Op&&) noexcept;
  Op& operator=(Op&&) noexcept;
  ~Op();
  Op(const Op&) = delete;
  Op& operator=(const Op&) = delete;

  [[nodiscard]] const OpDecl& decl() const;
  [[nodiscard]] const SignaturePlan& plan() const;
  [[nodiscard]] std::uint64_t key() const;  ///< process-wide, never reused

  /// Calls with named tensors; returns the outputs in manifest order (an absent nullable one is
  /// undefined). An output that is an input, or `out`, views the same memory.
  Result<std::vector<Tensor>> call(std::span<const NamedTensor> inputs,
                                   const CallOptions& options = {});
  Result<std::vector<Tensor>> call(std::initializer_list<NamedTensor> inputs,
                                   const CallOptions& options = {}) {
    return call(std::span(inputs.begin(), inputs.size()), options);
  }

  /// Calls with positional arguments in manifest order, results into `out`. For ops whose only
  /// returned output is buffered. On a hit: no allocation, no lock.
  Result<void> call_out(std::span<const TensorArg> inputs, const TensorView& out);

  /// Calls with positional arguments in manifest order; the outputs are put into `outputs`, one per
  /// output that is no list, undefined where it is absent. An output that is an input only views
  /// it.
  Result<void> call_into(std::span<const TensorArg> inputs, std::span<Tensor> outputs);

  /// What the outputs should be: the op's reference kernel on wide data. Every floating tensor is
  /// widened to float64 (inputs hold the values that they have in their own dtype), so floating
  /// results are float64 and not rounded to the output's dtype. Inputs lie on a device whose memory
  /// the host reaches. Keeps no record.
  /// @errors SignatureMismatch; NoImplementation where the device kind has no reference kernel for
  /// the op, nor for its stages one after the other.
  Result<std::vector<Tensor>> call_reference(std::span<const NamedTensor> inputs);

  /// The meta call: checks the signature and infers the outputs; runs and selects nothing.
  struct Inferred {
    Device device;
    std::uint32_t branch = 0;
    std::vector<OutputSpec> outputs;
    std::vector<std::string> written_inputs;
    std::vector<NamedValue> indices;
    Result<Cost> cost = fail(ErrorCode::kInternal, "not evaluated");
  };
  Result<Inferred> infer(std::span<const NamedSpec> inputs, const NamedSpec* out = nullptr);

  /// Which kernel the call would get, and why each other one would not. Runs and builds nothing.
  /// `assumed`: devices that are not here; their kinds count as present.
  Explanation explain(std::span<const NamedSpec> inputs,
                      const NamedSpec* out = nullptr,
                      std::span<const DeviceFacts> assumed = {});

  /// This thread's last successful call on this instance; nothing before the first.
  [[nodiscard]] std::optional<SignatureCall> last_call() const;
  /// This thread's last meta call on this instance, which last_call() skips.
  [[nodiscard]] std::optional<SignatureCall> last_meta() const;
  /// The target that serves this instance; empty before the first call.
  [[nodiscard]] std::string serving_target() const;

  /// Puts this instance and its sub-ops in tuned mode: what they have built is tuned now, once per
  /// device, and what they build later is tuned before its first launch, on tensors that the engine
  /// makes. Returns how many kernels were tuned now. What cannot tune, or fails to, is logged.
  std::size_t request_tune();

  /// Every kernel that this instance and the sub-ops it holds have built and still keep, once each.
  [[nodiscard]] std::vector<BuiltKernel> built_entries() const;
  /// The sub-ops that this instance holds, in the order in which they were made.
  [[nodiscard]] std::vector<HeldDelegate> held_delegates() const;
  /// Every implementation that an interface of this op has in the instance's snapshot: interface
  /// and "plugin:key", sorted.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> iter_kernels() const;

  struct Instance;
  [[nodiscard]] Instance& instance() { return *instance_; }

 private:
  friend class Engine;
  friend Op wrap(std::unique_ptr<Instance> instance);
  explicit Op(std::unique_ptr<Instance> instance);
  std::unique_ptr<Instance> instance_;
};

/// While it lives, this thread's calls on `device` enqueue on `stream`, a stream of the device's
/// kind. Nests.
/// Owner    the stream is the caller's, and outlives what was made on it: an output goes back in
///          the stream's order, so let go of the outputs of these calls before it is destroyed.
///          Wait for the stream first where its work may be under way: a new one may get the same
///          handle, and this thread's workspace with it. What the core keeps for later calls,
///          workspaces and kernels, does not use the stream once the calls have returned.
/// Order    calls on one stream run one after the other. Between streams nothing is ordered: what
///          was made on one is read on another after an event or a wait of the application's.
///          Copies by DeviceTable::to_device and copy_bytes, and the first use of a
///          construction-time tensor, wait for every stream themselves.
class StreamScope {
 public:
  StreamScope(Device device, void* stream);
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;
};

/// Runs `body` with this thread's calls on `device` going to `stream`.
template <class Body>
auto on_stream(Device device, void* stream, Body&& body) {
  const StreamScope scope(device, stream);
  return std::forward<Body>(body)();
}

}  // namespace tenon
