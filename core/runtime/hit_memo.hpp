// A call that a thread made lately, ready to launch again where only addresses differ.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/thread_state.hpp"
#include "runtime/value_copies.hpp"
#include "tenon/core/plan.hpp"

namespace tenon {

/// What a launch passes, kept beyond the call that made it.
struct KeptLaunch {
  struct Source {
    ViewSource from;
    std::uint32_t tensor = 0;  ///< index into `tensors`
  };
  ValueCopies fields;
  std::vector<tenon_arg_facts> facts;
  std::vector<std::int64_t> dims;
  std::vector<tenon_tensor> tensors;
  std::vector<const tenon_tensor*> pointers;
  std::vector<std::uint32_t> first;
  std::vector<Source> sources;  ///< of every tensor that is not fixed
  std::vector<std::uint64_t> key;
  std::uint64_t hash = 0;
  const CallEntry* entry = nullptr;  ///< of the binding that HitMemo::serial names
  tenon_call call{};
  tenon_launch request{};
};

/// Everything about one call but its addresses, and what must hold for other addresses to do.
class HitMemo {
 public:
  /// Begins to keep the call that runs on `state`; false where such a call cannot be kept.
  bool begin(const Op::Instance& instance,
             const ThreadState& state,
             const CallArgs& args,
             const Binding& binding,
             const DeviceEntry& device,
             void* default_stream);
  /// Keeps the launch that has just been made; false as begin.
  bool add(const ThreadState& state,
           const CallArgs& args,
           const CallEntry& entry,
           const tenon_launch& request,
           std::size_t n_views);
  /// Ends it. From here on it may serve.
  void end() { ready_ = true; }
  void forget() { ready_ = false; }
  /// Its entries lie in another table of the target: belongs_to finds them.
  void forget_table() { serial_ = 0; }

  /// Whether these arguments are the kept call's but for their addresses, and their addresses
  /// relate to each other as the kept ones do. Reads no tensor's contents.
  [[nodiscard]] bool matches(const CallArgs& args);
  /// Finds the entries again in another table of the same target; false where one is gone.
  [[nodiscard]] bool belongs_to(const Binding& binding);
  /// Makes the outputs that the call returns and launches. @pre matches and belongs_to.
  Result<void> run(Op::Instance& instance, ThreadState& state, const CallArgs& args);

  [[nodiscard]] std::uint64_t generation() const { return generation_; }
  /// What it launches, with the addresses of the latest call.
  [[nodiscard]] std::span<const KeptLaunch> launches() const {
    return {launches_.data(), n_launches_};
  }

  RecordStore record;

 private:
  struct Geometry {
    bool present = false;
    DType dtype = DType::kFloat32;
    Device device;
    std::uint32_t rank = 0;
    std::uint32_t align_log2 = 0;
    std::size_t dims = 0;  ///< index of its shape, then its strides, in dims_
    std::int64_t low = 0;  ///< bytes from its first element to its lowest one, and past its highest
    std::int64_t high = 0;
    std::uintptr_t address = 0;  ///< of the first element, in the call that is matched
  };
  /// A written tensor and another one: they lie apart, or as far from each other as they did.
  struct Apart {
    std::uint32_t written = 0;
    std::uint32_t other = 0;
    std::uintptr_t distance = 0;
  };
  /// Two tensors that begin at one address, or do not, as they did: so aliases are what they were.
  struct Begin {
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    bool same = false;
  };
  struct Output {
    ViewSource::From from = ViewSource::From::kFixed;  ///< kFixed: absent
    std::uint32_t input = 0;
    DType dtype = DType::kFloat32;
    Dims shape;
  };

  [[nodiscard]] bool keep_inputs(const OpDecl& decl, const CallFrame& frame, const CallArgs& args);
  [[nodiscard]] bool keep_outputs(const OpDecl& decl, const CallFrame& frame);
  void add_geometry(const TensorView* view);
  void relate();
  // Each is called in few places, all on a hit.
  [[gnu::always_inline]] inline bool fits(Geometry& geometry, const TensorView& view) const;
  [[nodiscard, gnu::always_inline]] inline bool related_as_before() const;
  [[gnu::always_inline]] inline Result<void> place_outputs(Op::Instance& instance,
                                                           ThreadState& state,
                                                           const CallArgs& args,
                                                           void* stream);
  Result<void> make_output(Op::Instance& instance,
                           ThreadState& state,
                           std::size_t index,
                           void* stream);
  [[gnu::always_inline]] static inline Result<void> launch(KeptLaunch& kept,
                                                           Op::Instance& instance,
                                                           const ThreadState& state,
                                                           const CallArgs& args,
                                                           const DeviceEntry& device,
                                                           void* stream);

  bool ready_ = false;
  bool has_out_ = false;
  std::size_t n_inputs_ = 0;
  std::vector<Geometry> geometry_;  ///< inputs, `out` where given, construction-time tensors
  std::vector<std::int64_t> dims_;
  std::vector<std::uint32_t> written_;  ///< indices into geometry_
  std::vector<Apart> apart_;
  std::vector<Begin> begins_;
  std::vector<Output> outputs_;
  std::vector<std::uint32_t> by_reference_;  ///< inputs that the record keeps with their memory
  std::vector<KeptLaunch> launches_;
  std::size_t n_launches_ = 0;
  std::uint64_t generation_ = 0;
  std::uint64_t serial_ = 0;
  std::uint32_t devices_taken_ = 0;  ///< what that was when the call was kept
  const DeviceEntry* device_ = nullptr;
  void* default_stream_ = nullptr;  ///< of the device: it is the same for ever
};

}  // namespace tenon
