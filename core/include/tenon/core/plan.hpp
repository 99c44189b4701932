// SignaturePlan: a manifest entry compiled; and its evaluator, which checks a call without parsing
// or allocating.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/error.hpp"
#include "tenon/core/op_decl.hpp"
#include "tenon/core/tensor.hpp"
#include "tenon/core/value.hpp"

namespace tenon {

/// One tensor argument of a call. Absent: items is null. A plain tensor: count 1. A list: its
/// elements.
struct TensorArg {
  const TensorView* const* items = nullptr;
  std::uint32_t count = 0;
  [[nodiscard]] bool present() const { return items != nullptr; }
  [[nodiscard]] const TensorView* single() const { return items == nullptr ? nullptr : *items; }
};

/// The arguments of one call, borrowed: inputs in manifest order, one entry each.
struct CallArgs {
  std::span<const TensorArg> inputs;
  const TensorView* out = nullptr;
  /// The call option `device`, for calls without tensor inputs.
  std::optional<Device> device;
  /// Where a call lives that nothing else places.
  Device default_device;
  /// A meta call: views carry no memory, so nothing that reads an address is checked.
  bool meta = false;
};

/// An output as inferred.
struct OutputSpec {
  bool present = false;
  DType dtype = DType::kFloat32;
  Dims shape;
  std::int32_t alias_input = -1;  ///< the output is this input itself
  std::uint32_t list_count = 0;   ///< of a list output: elements lie in CallFrame::list_outputs
};

/// What construction settled once: parameters, construction-time indices and presence. Immutable,
/// shared by threads.
class Construction {
 public:
  virtual ~Construction() = default;
  Construction(const Construction&) = delete;
  Construction& operator=(const Construction&) = delete;

  /// Every parameter in manifest order, defaults filled in.
  [[nodiscard]] const std::vector<Value>& params() const { return params_; }
  /// Construction-time tensors in manifest order; null where absent.
  [[nodiscard]] const std::vector<std::optional<Tensor>>& tensors() const { return tensors_; }

 protected:
  Construction() = default;
  std::vector<Value> params_;
  std::vector<std::optional<Tensor>> tensors_;
};

/// The working storage of one call on one thread, sized by the plan; reused call after call.
class CallFrame {
 public:
  virtual ~CallFrame() = default;
  CallFrame(const CallFrame&) = delete;
  CallFrame& operator=(const CallFrame&) = delete;

  // Valid after a successful check, until the next one:
  std::uint32_t branch = 0;    ///< index into OpDecl::branches
  Device device;               ///< the call device
  bool nothing_to_do = false;  ///< something is returned or written, and none of it has an element
  std::vector<OutputSpec> outputs;  ///< in manifest order; sized once
  std::vector<OutputSpec> list_outputs;
  std::vector<bool> written_inputs;  ///< in manifest order; sized once

 protected:
  CallFrame() = default;
};

/// Floating-point operations and bytes of one call.
struct Cost {
  double flops = 0;
  double bytes = 0;
};

/// Bytes that a call reads and writes of one tensor.
struct Traffic {
  std::string tensor;
  std::uint64_t read_bytes = 0;
  std::uint64_t written_bytes = 0;
};

/// A size of which only the range is known, both ends included.
struct SizeRange {
  std::int64_t low = 0;
  std::int64_t high = 0;
  friend bool operator==(const SizeRange&, const SizeRange&) = default;
};

/// A tensor as a tracer sees it: its rank is known, its sizes may not be.
struct RangedTensor {
  DType dtype = DType::kFloat32;
  std::vector<SizeRange> sizes;
  Device device;
};

/// Outputs for every call whose sizes lie in the ranges.
struct RangedOutputs {
  struct Output {
    bool present = false;
    DType dtype = DType::kFloat32;
    std::vector<SizeRange> sizes;
    std::int32_t alias_input = -1;
  };
  std::vector<Output> outputs;
  std::uint32_t branch = 0;
  /// What the ranges leave open, each as a condition that a call must meet. Empty: every call in
  /// the ranges passes.
  std::vector<std::string> guards;
};

/// A manifest entry, compiled. Immutable; every member may be called from any thread.
class SignaturePlan {
 public:
  virtual ~SignaturePlan() = default;
  SignaturePlan(const SignaturePlan&) = delete;
  SignaturePlan& operator=(const SignaturePlan&) = delete;

  [[nodiscard]] const OpDecl& decl() const { return decl_; }

  /// Settles the parameters and checks whatever can be checked without a call.
  /// @errors SignatureMismatch: unknown parameter (nearest name), missing one, wrong type, a
  /// refinement that fails.
  [[nodiscard]] virtual Result<std::shared_ptr<const Construction>> construct(
      std::span<const NamedValue> params,
      std::span<const std::pair<std::string, Tensor>> tensors) const = 0;

  /// Storage for `check`; make it once per thread and instance.
  [[nodiscard]] virtual std::unique_ptr<CallFrame> make_frame() const = 0;

  /// Checks a call against the signature in the order of the manifest language: presence, domain
  /// restrictions, branch, device, inference with refinements, `out` and written tensors, overlap.
  /// Allocates nothing where it succeeds; on false `failure` says why.
  [[nodiscard]] virtual bool check(const Construction& construction,
                                   const CallArgs& args,
                                   CallFrame& frame) const = 0;
  /// The reason why the last check on this frame failed, with the same arguments.
  [[nodiscard]] virtual Error failure(const Construction& construction,
                                      const CallArgs& args,
                                      const CallFrame& frame) const = 0;

  /// Infers outputs from sizes that are given as ranges. Inputs in manifest order, nothing where
  /// absent. No lists.
  /// @errors SignatureMismatch where no call in the ranges can pass. Allocates.
  /// A plan of another make may leave this out: OpNotAvailable.
  [[nodiscard]] virtual Result<RangedOutputs> infer_ranges(
      const Construction& construction,
      std::span<const std::optional<RangedTensor>> inputs,
      bool with_out) const {
    (void)construction;
    (void)inputs;
    (void)with_out;
    return fail(ErrorCode::kOpNotAvailable, decl_.name + " does not infer from ranges");
  }

  // ---- After a successful check on `frame`
  // ---------------------------------------------------------

  /// The interface that a step uses on this branch, or nothing for an optional step that is off.
  [[nodiscard]] virtual std::optional<std::uint32_t> active_interface(
      std::uint32_t step, const Construction& construction, const CallFrame& frame) const = 0;

  /// Evaluates the call spec. `flow_values` holds one value per field declared `flow.<kind>`, in
  /// field order. Lists and strings in `fields` point into the frame, the construction or the plan,
  /// and live until its next check. False, without a message, only where an expression has no value
  /// (a checked overflow); then `failure` tells.
  [[nodiscard]] virtual bool eval_call(std::uint32_t interface,
                                       const Construction& construction,
                                       const CallArgs& args,
                                       CallFrame& frame,
                                       std::span<const tenon_value> flow_values,
                                       std::span<tenon_value> fields) const = 0;

  /// The shape in which the kernel receives an argument (element `element` of a list), over the
  /// call's fields.
  [[nodiscard]] virtual bool eval_arg_shape(std::uint32_t interface,
                                            std::uint32_t arg,
                                            std::uint32_t element,
                                            CallFrame& frame,
                                            std::span<const tenon_value> fields,
                                            Dims& shape) const = 0;
  /// The dtype of a temporary argument.
  [[nodiscard]] virtual std::optional<DType> temporary_dtype(std::uint32_t interface,
                                                             std::uint32_t arg,
                                                             const Construction& construction,
                                                             const CallFrame& frame) const = 0;

  /// The dtype in which this call needs a construction-time tensor; nothing: the tensor's own.
  [[nodiscard]] virtual std::optional<DType> construction_dtype(std::uint32_t tensor,
                                                                const CallFrame& frame) const {
    (void)tensor;
    (void)frame;
    return std::nullopt;
  }

  /// Every solved index and reached let, by name. For records and messages; allocates.
  [[nodiscard]] virtual std::vector<NamedValue> indices(const Construction& construction,
                                                        const CallFrame& frame) const = 0;
  /// Bytes by tensor as the effects say. Allocates.
  [[nodiscard]] virtual std::vector<Traffic> traffic(const Construction& construction,
                                                     const CallArgs& args,
                                                     const CallFrame& frame) const = 0;
  /// The roofline, or why there is none (a registered function that this build does not have).
  [[nodiscard]] virtual Result<Cost> cost(const Construction& construction,
                                          const CallArgs& args,
                                          const CallFrame& frame) const = 0;

 protected:
  explicit SignaturePlan(OpDecl decl) : decl_(std::move(decl)) {}
  OpDecl decl_;
};

}  // namespace tenon
