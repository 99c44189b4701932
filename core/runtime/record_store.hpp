// The last successful call of an instance on a thread, as little of it as tells the rest again.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tenon/core/plan.hpp"

namespace tenon {

class Op;

/// The interface of a builder target's kernel.
inline constexpr std::uint32_t kNoInterface = 0xffffffff;

/// A kernel launch of the last call. Names live as long as the instance's snapshot.
struct KernelTrace {
  std::uint32_t step = 0;
  std::uint32_t interface = 0;
  const std::string* kernel = nullptr;  ///< "plugin:key"
  std::uint32_t copies = 0;
};

struct StageTrace;

/// The last successful call, kept in storage that is made at the thread's first call and reused.
struct RecordStore {
  /// Keeps the arguments of a call. `inputs` has one entry per declared input.
  void keep(const OpDecl& decl, const CallArgs& args, Device on);

  bool has_out = false;
  bool built = false;
  bool meta = false;  ///< nothing ran
  Device device;
  std::vector<TensorView> inputs;  ///< shapes and dtypes without memory; one per single input
  std::vector<std::uint32_t> input_counts;
  std::vector<TensorView> list_items;
  TensorView out;
  std::vector<KernelTrace> kernels;
  std::size_t kernel_count = 0;
  std::vector<StageTrace> stages;  ///< of a call that ran as a composition
  std::size_t stage_count = 0;
};

/// A sub-call of a composite op.
struct StageTrace {
  StageTrace() = default;
  ~StageTrace() = default;
  StageTrace(const StageTrace&) = default;
  StageTrace(StageTrace&&) = default;
  StageTrace& operator=(StageTrace&&) = default;
  // Calls that repeat touch no count that threads share.
  StageTrace& operator=(const StageTrace& other) {
    if (this == &other) return *this;
    stage = other.stage;
    keep(other.op);
    record = other.record;
    return *this;
  }
  void keep(const std::shared_ptr<Op>& sub) {
    if (op != sub) op = sub;
  }

  std::uint32_t stage = 0;
  std::shared_ptr<Op> op;
  RecordStore record;
};

}  // namespace tenon
