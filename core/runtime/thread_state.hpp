// What one thread keeps of one instance: its frames, scratch, its hazard pointer and its last
// record.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "flows/stand_ins.hpp"
#include "runtime/binding.hpp"
#include "runtime/record_store.hpp"
#include "runtime/sub_ops.hpp"
#include "tenon/core/op.hpp"
#include "tenon/core/plan.hpp"

namespace tenon {

class HitMemo;

/// Where the address of a tensor that a kernel receives comes from.
struct ViewSource {
  enum class From : std::uint8_t { kFixed, kInput, kOut, kMade };
  From from = From::kFixed;  ///< kFixed: the same in every call of the instance
  std::uint32_t index = 0;   ///< of the input, or into ThreadState::outputs
};

struct ThreadState {
  ThreadState();
  ~ThreadState();
  ThreadState(const ThreadState&) = delete;
  ThreadState& operator=(const ThreadState&) = delete;

  // The hazard pointer: what this thread reads of the instance's binding right now.
  std::atomic<const Binding*> hazard{nullptr};
  // The binding generation under which this thread completed a call last.
  std::atomic<std::uint64_t> completed_generation{0};
  std::atomic<bool> thread_alive{true};
  std::atomic<bool> instance_alive{true};

  std::unique_ptr<CallFrame> frame;   ///< of the call in progress
  RecordStore record;                 ///< of the last success that no memo stands for
  std::unique_ptr<RecordStore> meta;  ///< of the last meta call
  RecordStore* last = nullptr;        ///< the last success: `record`, or a memo's

  // Calls of this thread that are ready to launch again, the latest first.
  static constexpr std::size_t kMemos = 4;
  std::array<std::unique_ptr<HitMemo>, kMemos> memos;
  std::uint32_t hits_without_memo = 0;

  // Scratch of one step, sized at the first call and grown only by lists that get longer.
  std::vector<tenon_value> flow_values;
  std::vector<tenon_value> fields;
  std::vector<std::int64_t> flow_scratch;
  std::vector<TensorView>
      views;  ///< one per tensor of the launch: arguments in order, list elements in place
  std::vector<ViewSource> view_sources;  ///< parallel to views
  std::vector<std::uint32_t> arg_first;  ///< argument -> first of its tensors
  std::vector<tenon_arg_facts> facts;
  std::vector<tenon_dtype> dtypes;
  std::vector<std::uint8_t> dense_wide;
  std::vector<ArgSize> sizes;  ///< per argument; filled where padding may be needed
  std::vector<std::uint64_t> key;
  std::vector<tenon_tensor> abi_tensors;
  std::vector<const tenon_tensor*> tensor_pointers;
  std::vector<std::uint32_t> launch_first;
  std::vector<tenon_value> plugin_fields;
  std::vector<tenon_arg_facts> plugin_facts;
  std::vector<const TensorView*>
      outputs;  ///< outputs in order, list elements in place; null where absent
  std::vector<std::uint32_t> output_first;  ///< output -> first of its tensors; one more at the end
  std::vector<Tensor> made;                 ///< parallel to outputs: those that this call made
  /// A dense copy that stands in for a tensor, cast or padded where the kernel type asks for it.
  struct Copy {
    std::size_t view = 0;  ///< index into views
    TensorView original;   ///< what is copied from and back to
    bool in = false;
    bool back = false;
    TensorView dense;  ///< the original's elements in it; set once memory is taken
  };
  std::vector<Copy> copies;
  std::vector<KernelTrace> traces;  ///< of the call in progress
  std::vector<StageTrace> stage_traces;
  std::size_t stage_count = 0;
  SubOps sub_ops;  ///< that this thread asked for lately, the latest last
};

}  // namespace tenon
