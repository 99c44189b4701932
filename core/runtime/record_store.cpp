// What a kept record tells of its call.
#include "runtime/record_store.hpp"

#include "runtime/instance.hpp"

namespace tenon {
namespace {

// The same call again, as views; only those of metadata still have memory that counts.
class KeptArgs {
 public:
  KeptArgs(const OpDecl& decl, const RecordStore& r)
      : items_(decl.inputs.size()), inputs_(decl.inputs.size()) {
    std::size_t list_at = 0;
    for (std::size_t i = 0; i < decl.inputs.size(); ++i) {
      for (std::uint32_t e = 0; e < r.input_counts[i]; ++e)
        items_[i].push_back(decl.inputs[i].list ? &r.list_items[list_at++] : &r.inputs[i]);
      if (!items_[i].empty())
        inputs_[i] = {items_[i].data(), static_cast<std::uint32_t>(items_[i].size())};
    }
    args_.inputs = inputs_;
    args_.out = r.has_out ? &r.out : nullptr;
    args_.default_device = r.device;
    args_.meta = true;
  }
  [[nodiscard]] const CallArgs& args() const { return args_; }

 private:
  std::vector<std::vector<const TensorView*>> items_;
  std::vector<TensorArg> inputs_;
  CallArgs args_;
};

std::string unit_of(const Flow* flow, const SignatureCall& record) {
  const std::string unit = flow != nullptr && flow->contracts() ? "tensor_core" : "vector";
  if (record.tensors.empty()) return unit;
  return unit + "." + std::string(name_of(record.tensors.front().second.dtype));
}

void tell_tensors(const OpDecl& d, const CallArgs& args, SignatureCall& record) {
  for (std::size_t i = 0; i < d.inputs.size(); ++i) {
    const TensorArg& arg = args.inputs[i];
    for (std::uint32_t e = 0; arg.present() && e < arg.count; ++e)
      record.tensors.emplace_back(d.inputs[i].name, arg.items[e]->spec());
    if (arg.present() && !d.inputs[i].values_text.empty())
      record.metadata.emplace_back(d.inputs[i].name, *arg.items[0]);
  }
}

void tell_effects(const OpDecl& d, const CallFrame& frame, SignatureCall& record) {
  record.branch = frame.branch;
  for (std::size_t i = 0; i < d.inputs.size(); ++i) {
    if (frame.written_inputs[i]) record.written_inputs.push_back(d.inputs[i].name);
  }
  for (std::size_t i = 0; i < d.outputs.size(); ++i) {
    const OutputSpec& o = frame.outputs[i];
    if (o.present)
      record.tensors.emplace_back(
          d.outputs[i].name, TensorSpec{o.dtype, o.shape, dense_strides(o.shape), record.device});
  }
}

void tell_kernels(const OpDecl& d, const RecordStore& r, SignatureCall& record) {
  for (std::size_t k = 0; k < r.kernel_count; ++k) {
    const KernelTrace& t = r.kernels[k];
    const bool by_target = t.interface == kNoInterface;
    record.kernels.push_back({by_target ? std::string() : d.steps[t.step].name,
                              by_target ? std::string() : d.interfaces[t.interface].name,
                              *t.kernel,
                              t.copies});
    record.copies += t.copies;
  }
}

void tell_stages(const OpDecl& d, const RecordStore& r, SignatureCall& record) {
  for (std::size_t i = 0; i < r.stage_count; ++i) {
    const StageTrace& trace = r.stages[i];
    Op::Instance& sub = trace.op->instance();
    const auto frame = sub.plan().make_frame();
    auto call = sub.tell(trace.record, *frame);
    if (!call) continue;
    const std::string& stage = d.stages[trace.stage].name;
    record.built = record.built || call->built;
    record.copies += call->copies;
    for (const KernelUse& kernel : call->kernels)
      record.kernels.push_back({stage, kernel.interface, kernel.kernel, kernel.copies});
    record.stages.push_back({stage, std::move(*call)});
  }
}

}  // namespace

void RecordStore::keep(const OpDecl& decl, const CallArgs& args, Device on) {
  device = on;
  has_out = args.out != nullptr;
  if (has_out) out = *args.out;
  inputs.resize(args.inputs.size());
  input_counts.resize(args.inputs.size());
  list_items.clear();
  for (std::size_t i = 0; i < args.inputs.size(); ++i) {
    const TensorArg& arg = args.inputs[i];
    input_counts[i] = arg.present() ? arg.count : 0;
    if (!arg.present()) continue;
    if (decl.inputs[i].list) {
      for (std::uint32_t e = 0; e < arg.count; ++e) list_items.push_back(*arg.items[e]);
    } else {
      inputs[i] = *arg.items[0];
    }
  }
}

void Op::Instance::keep_meta_record(const CallArgs& args, const CallFrame& frame) {
  ThreadState& state = thread_state();
  if (state.meta == nullptr) state.meta = std::make_unique<RecordStore>();
  state.meta->keep(decl(), args, frame.device);
  state.meta->meta = true;
}

std::optional<SignatureCall> Op::last_meta() const {
  ThreadState& state = instance_->thread_state();
  if (state.meta == nullptr) return std::nullopt;
  return instance_->tell(*state.meta, *state.frame);
}

std::optional<SignatureCall> Op::Instance::tell(const RecordStore& r, CallFrame& frame) {
  const OpDecl& d = decl();
  const Construction& settled = *construction.construction;
  const KeptArgs kept(d, r);
  // What was inferred then is inferred again: the call itself keeps only what this needs.
  if (!plan().check(settled, kept.args(), frame)) return std::nullopt;
  SignatureCall record;
  record.op = d.full_name();
  record.device = r.device;
  record.has_out = r.has_out;
  record.built = r.built;
  record.meta = r.meta;
  if (!r.meta) record.target = serving_target(thread_state());
  tell_tensors(d, kept.args(), record);
  tell_effects(d, frame, record);
  tell_kernels(d, r, record);
  tell_stages(d, r, record);
  record.indices = plan().indices(settled, frame);
  record.traffic = plan().traffic(settled, kept.args(), frame);
  record.cost = plan().cost(settled, kept.args(), frame);
  record.unit = unit_of(construction.op_class->flow, record);
  return record;
}

}  // namespace tenon
