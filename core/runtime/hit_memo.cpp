// Keeping a call, and launching it again.
#include "runtime/hit_memo.hpp"

#include <algorithm>
#include <bit>

#include "registry/process_fork.hpp"
#include "runtime/capture_pool.hpp"
#include "runtime/instance.hpp"
#include "runtime/plugin_errors.hpp"
#include "runtime/streams.hpp"
#include "runtime/workspace.hpp"

namespace tenon {

using From = ViewSource::From;

// ---- Keeping a call
// ---------------------------------------------------------------------------------------

void HitMemo::add_geometry(const TensorView* view) {
  Geometry g;
  if (view != nullptr) {
    g.present = true;
    g.dtype = view->dtype;
    g.device = view->device;
    g.rank = static_cast<std::uint32_t>(view->shape.size());
    g.dims = dims_.size();
    dims_.insert(dims_.end(), view->shape.begin(), view->shape.end());
    dims_.insert(dims_.end(), view->strides.begin(), view->strides.end());
    g.address = reinterpret_cast<std::uintptr_t>(view->first());
    g.align_log2 = static_cast<std::uint32_t>(std::countr_zero(g.address | 256));
    const AddressRange range = address_range(*view);
    g.low = static_cast<std::int64_t>(range.low - g.address);
    g.high = static_cast<std::int64_t>(range.high - g.address);
  }
  geometry_.push_back(g);
}

// Which tensors overlap, and which begin at one address, is what made the call what it was.
void HitMemo::relate() {
  apart_.clear();
  begins_.clear();
  for (std::uint32_t i = 0; i < geometry_.size(); ++i) {
    for (std::uint32_t j = 0; j < i; ++j) {
      const Geometry& a = geometry_[i];
      const Geometry& b = geometry_[j];
      if (!a.present || !b.present) continue;
      begins_.push_back({i, j, a.address == b.address});
      const auto is_written = [&](std::uint32_t k) {
        return std::find(written_.begin(), written_.end(), k) != written_.end();
      };
      if (is_written(i)) {
        apart_.push_back({i, j, b.address - a.address});
      } else if (is_written(j)) {
        apart_.push_back({j, i, a.address - b.address});
      }
    }
  }
}

bool HitMemo::begin(const Op::Instance& instance,
                    const ThreadState& state,
                    const CallArgs& args,
                    const Binding& binding,
                    const DeviceEntry& device,
                    void* default_stream) {
  const OpDecl& decl = instance.decl();
  const CallFrame& frame = *state.frame;
  ready_ = false;
  if (args.meta || args.device || frame.nothing_to_do) return false;
  geometry_.clear();
  dims_.clear();
  written_.clear();
  outputs_.clear();
  by_reference_.clear();
  n_launches_ = 0;
  n_inputs_ = args.inputs.size();
  has_out_ = args.out != nullptr;
  if (!keep_inputs(decl, frame, args)) return false;
  if (args.out != nullptr) {
    written_.push_back(static_cast<std::uint32_t>(geometry_.size()));
    if (args.out->count() == 0) return false;
    add_geometry(args.out);
  }
  for (const auto& tensor : instance.construction.construction->tensors()) {
    if (tensor) add_geometry(&tensor->view());
  }
  relate();
  if (!keep_outputs(decl, frame)) return false;
  generation_ = binding.generation;
  serial_ = binding.serial;
  device_ = &device;
  devices_taken_ = devices_taken.load(std::memory_order_acquire);
  // It may have been lost since the call found it.
  if (!instance.engine().devices->find(device.device)) return false;
  default_stream_ = default_stream;
  return true;
}

bool HitMemo::keep_inputs(const OpDecl& decl, const CallFrame& frame, const CallArgs& args) {
  bool placed = false;  // by a tensor, so that the call's device is that of the kept one
  for (std::uint32_t i = 0; i < n_inputs_; ++i) {
    const TensorView* view = args.inputs[i].single();
    if (decl.inputs[i].list || (view != nullptr && view->count() == 0)) return false;
    placed = placed || (view != nullptr && !decl.inputs[i].on_cpu);
    add_geometry(view);
    if (frame.written_inputs[i]) written_.push_back(i);
    if (!decl.inputs[i].values_text.empty()) by_reference_.push_back(i);
  }
  return placed;
}

bool HitMemo::keep_outputs(const OpDecl& decl, const CallFrame& frame) {
  for (std::size_t i = 0; i < decl.outputs.size(); ++i) {
    const OutputSpec& spec = frame.outputs[i];
    if (decl.outputs[i].list) return false;
    Output output;
    if (spec.present && decl.outputs[i].buffer_out && has_out_) {
      output.from = From::kOut;
    } else if (spec.present && spec.alias_input >= 0) {
      output.from = From::kInput;
      output.input = static_cast<std::uint32_t>(spec.alias_input);
    } else if (spec.present) {
      output.from = From::kMade;
      output.dtype = spec.dtype;
      output.shape = spec.shape;
      if (element_count(spec.shape) == 0) return false;
    }
    outputs_.push_back(output);
  }
  return true;
}

bool HitMemo::add(const ThreadState& state,
                  const CallArgs& args,
                  const CallEntry& entry,
                  const tenon_launch& request,
                  std::size_t n_views) {
  if (!state.copies.empty()) return false;
  if (launches_.size() == n_launches_) launches_.emplace_back();
  KeptLaunch& kept = launches_[n_launches_++];
  kept.fields.assign({request.call->fields, request.call->n_fields});
  kept.facts.assign(request.call->args, request.call->args + request.call->n_args);
  kept.key = entry.key;
  kept.hash = entry.hash;
  kept.entry = &entry;
  kept.dims.clear();
  kept.sources.clear();
  for (std::uint32_t v = 0; v < n_views; ++v) {
    const TensorView& view = state.views[v];
    const ViewSource from = state.view_sources[v];
    const TensorView* source = nullptr;
    if (from.from == From::kInput) source = args.inputs[from.index].single();
    if (from.from == From::kOut) source = args.out;
    if (from.from == From::kMade) source = state.outputs[from.index];
    if (source != nullptr) {
      // A flow that passes a part of a tensor would have to be asked again.
      if (view.data != source->data || view.byte_offset != source->byte_offset) return false;
      if (from.from == From::kMade && (reinterpret_cast<std::uintptr_t>(view.first()) & 255u) != 0)
        return false;
      kept.sources.push_back({from, v});
    }
    kept.dims.insert(kept.dims.end(), view.shape.begin(), view.shape.end());
    kept.dims.insert(kept.dims.end(), view.strides.begin(), view.strides.end());
  }
  kept.tensors.assign(state.abi_tensors.begin(),
                      state.abi_tensors.begin() + static_cast<std::ptrdiff_t>(n_views));
  const std::int64_t* dims = kept.dims.data();
  for (tenon_tensor& tensor : kept.tensors) {
    tensor.shape = dims;
    tensor.strides = dims + tensor.rank;
    dims += 2 * static_cast<std::ptrdiff_t>(tensor.rank);
  }
  const std::size_t n_pointers = request.arg_first[request.n_args];
  kept.pointers.resize(n_pointers);
  for (std::size_t i = 0; i < n_pointers; ++i) {
    const tenon_tensor* tensor = request.tensors[i];
    kept.pointers[i] =
        tensor == nullptr ? nullptr : kept.tensors.data() + (tensor - state.abi_tensors.data());
  }
  kept.first.assign(request.arg_first, request.arg_first + request.n_args + 1);
  kept.call = {sizeof(tenon_call),
               kept.fields.data(),
               request.call->n_fields,
               kept.facts.data(),
               kept.facts.size()};
  kept.request = request;
  return true;
}

// ---- Serving a call
// ---------------------------------------------------------------------------------------

bool HitMemo::fits(Geometry& g, const TensorView& view) const {
  // What is kept is well formed and has elements: these sizes and strides do too, given memory.
  if (view.shape.size() != g.rank || view.strides.size() != g.rank || view.data == nullptr ||
      view.dtype != g.dtype || !(view.device == g.device))
    return false;
  const std::int64_t* shape = dims_.data() + g.dims;
  const std::int64_t* strides = shape + g.rank;
  std::int64_t difference = 0;
  for (std::uint32_t k = 0; k < g.rank; ++k)
    difference |= (view.shape[k] ^ shape[k]) | (view.strides[k] ^ strides[k]);
  g.address = reinterpret_cast<std::uintptr_t>(view.first());
  return difference == 0 &&
         static_cast<std::uint32_t>(std::countr_zero(g.address | 256)) == g.align_log2;
}

bool HitMemo::related_as_before() const {
  for (const Begin& pair : begins_) {
    if ((geometry_[pair.a].address == geometry_[pair.b].address) != pair.same) return false;
  }
  for (const Apart& pair : apart_) {
    const Geometry& w = geometry_[pair.written];
    const Geometry& o = geometry_[pair.other];
    const std::uintptr_t distance = o.address - w.address;
    if (distance == pair.distance) continue;
    const auto from = static_cast<std::int64_t>(distance);
    if (from + o.low < w.high && w.low < from + o.high) return false;
  }
  return true;
}

bool HitMemo::matches(const CallArgs& args) {
  if (!ready_ || (args.out != nullptr) != has_out_ || args.device ||
      args.inputs.size() != n_inputs_ ||
      devices_taken.load(std::memory_order_relaxed) != devices_taken_)
    return false;
  for (std::size_t i = 0; i < n_inputs_; ++i) {
    const TensorView* view = args.inputs[i].single();
    Geometry& g = geometry_[i];
    if ((view != nullptr) != g.present || (g.present && !fits(g, *view))) return false;
  }
  if (args.out != nullptr && !fits(geometry_[n_inputs_], *args.out)) return false;
  return related_as_before();
}

bool HitMemo::belongs_to(const Binding& binding) {
  if (binding.serial == serial_) return true;
  if (binding.generation != generation_) return false;
  for (std::size_t i = 0; i < n_launches_; ++i) {
    KeptLaunch& kept = launches_[i];
    const auto* found = binding.find(kept.hash, kept.key);
    if (found == nullptr) return false;
    // Of one snapshot and one key selection takes one kernel type: the launch is the same.
    kept.entry = found->get();
  }
  serial_ = binding.serial;
  return true;
}

Result<void> HitMemo::make_output(Op::Instance& instance,
                                  ThreadState& state,
                                  std::size_t index,
                                  void* stream) {
  const Output& output = outputs_[index];
  DeviceTable& devices = *instance.engine().devices;
  auto made = make_output_tensor(devices, output.dtype, output.shape, device_->device, stream);
  if (!made) return fail(std::move(made).error());
  state.made[index] = std::move(*made);
  state.outputs[index] = &state.made[index].view();
  return {};
}

Result<void> HitMemo::launch(KeptLaunch& kept,
                             Op::Instance& instance,
                             const ThreadState& state,
                             const CallArgs& args,
                             const DeviceEntry& device,
                             void* stream) {
  kept.entry->mark_used();
  for (const KeptLaunch::Source& source : kept.sources) {
    const TensorView* view = source.from.from == From::kInput
                                 ? args.inputs[source.from.index].single()
                             : source.from.from == From::kOut ? args.out
                                                              : state.outputs[source.from.index];
    kept.tensors[source.tensor].data = view->data;
    kept.tensors[source.tensor].byte_offset = view->byte_offset;
  }
  void* workspace = nullptr;
  std::optional<WorkspaceScope> scope;
  if (kept.entry->workspace_bytes != 0) {
    scope.emplace(workspace_of_thread(instance.engine().devices, &device, stream));
    TENON_TRY_ASSIGN(workspace,
                     scope->take_workspace(kept.entry->workspace_bytes, *kept.entry->built));
  }
  tenon_launch& request = kept.request;
  request.call = &kept.call;
  request.tensors = kept.pointers.data();
  request.arg_first = kept.first.data();
  request.stream = stream;
  request.workspace = workspace;
  return launch_kernel(*kept.entry->built, request);
}

Result<void> HitMemo::place_outputs(Op::Instance& instance,
                                    ThreadState& state,
                                    const CallArgs& args,
                                    void* stream) {
  const std::size_t n_outputs = outputs_.size();
  if (state.outputs.size() != n_outputs) state.outputs.resize(n_outputs);
  if (state.made.size() != n_outputs) state.made.resize(n_outputs);
  for (std::size_t i = 0; i < n_outputs; ++i) {
    const Output& output = outputs_[i];
    if (output.from == From::kMade) {
      TENON_TRY(make_output(instance, state, i, stream));
    } else {
      state.outputs[i] = output.from == From::kOut     ? args.out
                         : output.from == From::kInput ? args.inputs[output.input].single()
                                                       : nullptr;
    }
  }
  return {};
}

Result<void> HitMemo::run(Op::Instance& instance, ThreadState& state, const CallArgs& args) {
  void* stream = default_stream_;
  if (stream_scopes_of_thread != 0)
    TENON_TRY_ASSIGN(stream, stream_for(*instance.engine().devices, *device_));
  TENON_TRY(place_outputs(instance, state, args, stream));
  for (std::size_t i = 0; i < n_launches_; ++i) {
    TENON_TRY(launch(launches_[i], instance, state, args, *device_, stream));
  }
  for (const std::uint32_t i : by_reference_) {
    if (const TensorView* view = args.inputs[i].single()) record.inputs[i] = *view;
  }
  record.built = false;
  state.last = &record;
  return {};
}

}  // namespace tenon
