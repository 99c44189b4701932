// What one thread keeps of one instance: its frames, scratch, its hazard pointer and its last
// record.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/binding.hpp"
#include "tenon/core/op.hpp"
#include "tenon/core/plan.hpp"

namespace tenon {

/// The interface of a builder target's kernel.
inline constexpr std::uint32_t kNoInterface = 0xffffffff;

/// A kernel launch of the last call. Names live as long as the instance's snapshot.
struct KernelTrace {
  std::uint32_t step = 0;
  std::uint32_t interface = 0;
  const std::string* kernel = nullptr;  ///< "plugin:key"
  std::uint32_t copies = 0;
};

/// The last successful call, kept in storage that is made at the thread's first call and reused.
struct RecordStore {
  bool valid = false;
  bool has_out = false;
  bool built = false;
  Device device;
  std::vector<TensorView> inputs;  ///< shapes and dtypes without memory; one per single input
  std::vector<std::uint32_t> input_counts;
  std::vector<TensorView> list_items;
  TensorView out;
  std::vector<KernelTrace> kernels;
  std::size_t kernel_count = 0;
};

struct ThreadState {
  // The hazard pointer: what this thread reads of the instance's binding right now.
  std::atomic<const Binding*> hazard{nullptr};
  // The binding generation under which this thread completed a call last.
  std::atomic<std::uint64_t> completed_generation{0};
  std::atomic<bool> thread_alive{true};
  std::atomic<bool> instance_alive{true};

  std::unique_ptr<CallFrame> frame;       ///< of the call in progress
  std::unique_ptr<CallFrame> last_frame;  ///< of the last success
  RecordStore record;

  // Scratch of one step, sized at the first call and grown only by lists that get longer.
  std::vector<tenon_value> flow_values;
  std::vector<tenon_value> fields;
  std::vector<std::int64_t> flow_scratch;
  std::vector<TensorView>
      views;  ///< one per tensor of the launch: arguments in order, list elements in place
  std::vector<std::uint32_t> arg_first;  ///< argument -> first of its tensors
  std::vector<tenon_arg_facts> facts;
  std::vector<tenon_dtype> dtypes;
  std::vector<std::uint8_t> dense_wide;
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
  /// A dense copy that stands in for a tensor.
  struct Copy {
    std::size_t view = 0;    ///< index into views
    TensorView original;     ///< what is copied from and back to
    bool from_flow = false;  ///< the flow's reshape is no view; otherwise round 2 asked for it
    bool in = false;
    bool back = false;
    TensorView dense;  ///< set once memory is taken
  };
  std::vector<Copy> copies;
  std::vector<KernelTrace> traces;  ///< of the call in progress
};

}  // namespace tenon
