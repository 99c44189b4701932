// Makes what a call returns and the caller did not give.
#include "runtime/capture_pool.hpp"
#include "runtime/instance.hpp"

namespace tenon {
namespace {

Result<void> make_output(DeviceTable& devices,
                         ThreadState& state,
                         const CallArgs& args,
                         std::uint32_t at,
                         const OutputSpec& spec,
                         const TensorDecl& decl,
                         void* stream) {
  if (!spec.present) return {};
  if (decl.buffer_out && args.out != nullptr) {
    state.outputs[at] = args.out;
  } else if (spec.alias_input >= 0) {
    state.outputs[at] = args.inputs[static_cast<std::size_t>(spec.alias_input)].single();
  } else {
    auto made = make_output_tensor(devices, spec.dtype, spec.shape, state.frame->device, stream);
    if (!made) return fail(std::move(made).error());
    state.made[at] = std::move(*made);
    state.outputs[at] = &state.made[at].view();
  }
  return {};
}

}  // namespace

Result<void> Op::Instance::make_outputs(ThreadState& state, const CallArgs& args, void* stream) {
  const CallFrame& frame = *state.frame;
  const auto& declared = decl().outputs;
  state.output_first.resize(declared.size() + 1);
  std::size_t total = 0;
  for (std::size_t i = 0; i < declared.size(); ++i) {
    state.output_first[i] = static_cast<std::uint32_t>(total);
    total += declared[i].list ? frame.outputs[i].list_count : 1;
  }
  state.output_first[declared.size()] = static_cast<std::uint32_t>(total);
  state.outputs.assign(total, nullptr);
  state.made.resize(total);
  std::size_t from_lists = 0;
  for (std::size_t i = 0; i < declared.size(); ++i) {
    for (std::uint32_t at = state.output_first[i]; at < state.output_first[i + 1]; ++at) {
      const OutputSpec& spec =
          declared[i].list ? frame.list_outputs[from_lists++] : frame.outputs[i];
      TENON_TRY(make_output(*engine().devices, state, args, at, spec, declared[i], stream));
    }
  }
  return {};
}

}  // namespace tenon
