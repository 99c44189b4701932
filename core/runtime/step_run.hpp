// One step of a call: what the flow passes to the interface, the key of that, and the launch.
#pragma once

#include "runtime/instance.hpp"

namespace tenon {

class WorkspaceScope;
struct WideValue;

/// Works on one thread's scratch; made anew for each step.
class StepRun {
 public:
  StepRun(Op::Instance& instance,
          ThreadState& state,
          const CallArgs& args,
          std::uint32_t step,
          std::uint32_t interface)
      : instance_(instance),
        state_(state),
        args_(args),
        step_(step),
        interface_(interface),
        decl_(instance.decl().interfaces[interface]),
        table_(instance.construction.op_class->interfaces[interface]) {}

  /// Evaluates the call spec and lays out the arguments; needs state.outputs. Reads no tensor's
  /// contents.
  Result<void> prepare();
  /// Fills state.key.
  void make_key();

  /// The query of this call's selection, for `device`. Spans point into the thread's state.
  [[nodiscard]] SelectionQuery query(const DeviceFacts& facts,
                                     DeviceKind kind,
                                     std::string& forced,
                                     std::string& forced_by) const;

  /// Whether the winner is a reference kernel that the configuration wants an error for.
  [[nodiscard]] bool refuses_reference(const SelectionQuery& query,
                                       const SelectionResult& selection) const;
  /// The setting but for which there would be a round 2 on devices of `kind`; empty where none.
  [[nodiscard]] std::string left_out_copies(DeviceKind kind) const;

  /// Selects and builds for the key in the state.
  Result<std::shared_ptr<const CallEntry>> miss(const DeviceEntry& device, bool& built);

  /// The same for the interface's reference kernel type, whatever selection would take.
  Result<std::shared_ptr<const CallEntry>> reference(const DeviceEntry& device);
  /// Launches on float64 copies of every floating tensor, dense ones of the others. `results` gets
  /// the outputs, in the order of state.outputs; null for what is not present. `known`: what inputs
  /// were before they were rounded.
  Result<void> launch_wide(const CallEntry& entry,
                           const DeviceEntry& device,
                           void* stream,
                           std::span<const WideValue> known,
                           std::vector<Tensor>& results);

  /// Copies in, launches, copies back. `memo`, where given, keeps the launch, or is set to null if
  /// it cannot.
  Result<void> launch(const CallEntry& entry,
                      const DeviceEntry& device,
                      void* stream,
                      HitMemo*& memo);

  [[nodiscard]] const InterfaceDecl& interface_decl() const { return decl_; }
  [[nodiscard]] std::uint32_t copies() const {
    return static_cast<std::uint32_t>(state_.copies.size());
  }
  /// Why selection has no winner, with every candidate's reason.
  [[nodiscard]] Error selection_error(const SelectionQuery& query, const DeviceEntry& device) const;
  /// "RMSNormFwdOp(x: bfloat16[2048, 4096], ...)"
  [[nodiscard]] std::string call_text() const;

 private:
  FlowContext flow_context() const;
  /// Whether what is not dense can be copied on devices of `kind`.
  [[nodiscard]] bool can_copy(DeviceKind kind) const;
  /// The entry that says that no kernel serves the key in the state.
  [[nodiscard]] std::shared_ptr<const CallEntry> composed_entry() const;
  Result<void> lay_out_arg(std::uint32_t arg, const FlowContext& context, const Flow& flow);
  Result<void> lay_out_output(std::uint32_t arg, const FlowContext& context, const Flow& flow);
  Result<void> lay_out_construction(std::uint32_t arg,
                                    const FlowContext& context,
                                    const Flow& flow);
  Result<void> lay_out(std::uint32_t arg,
                       std::uint32_t element,
                       const TensorView& tensor,
                       ViewSource source,
                       const FlowContext& context,
                       const Flow& flow);
  [[nodiscard]] ViewSource source_of_output(std::uint32_t output, std::uint32_t at) const;
  void gather_facts();
  /// Fills state.sizes.
  void measure() const;
  void project(const KernelType& type, std::span<const tenon_arg_facts> facts, tenon_call& call);
  Result<std::shared_ptr<const CallEntry>> entry_for(const SelectionResult& selection,
                                                     const DeviceEntry& device,
                                                     bool& built);
  /// Makes the copies that the flow's reshapes need, and puts them in the place of the originals.
  Result<void> make_copies(WorkspaceScope& scope);
  /// Puts copies in the place of the arguments that the entry's kernel does not take as they are.
  Result<void> make_stand_ins(const CallEntry& entry, WorkspaceScope& scope);
  Result<void> make_stand_in(const CallEntry& entry,
                             std::size_t arg,
                             std::size_t view,
                             WorkspaceScope& scope);
  /// Fills the innermost elements of a copy from `kept` on.
  Result<void> fill_padding(const CallEntry& entry,
                            std::size_t arg,
                            const TensorView& whole,
                            std::int64_t kept);
  /// Names the bytes of arguments as the dtype that the kernel type stores them as.
  void reinterpret(const KernelType& type, std::uint64_t copied_args);
  /// The padding elements of an entry, on its device.
  Result<std::shared_ptr<Storage>> pads_of(const KernelType& type, const DeviceEntry& device) const;
  /// The same for a wide launch, whose tensors are float64 or as they were.
  Result<void> store_wide(const KernelType& type, std::uint64_t copied_args);
  /// Writes the copies that the kernel wrote back to their originals.
  Result<void> copy_back();
  /// Lays out the launch's tensors in the order of the plugin's own arguments.
  void place_tensors(const KernelType& type, std::size_t n_args, const DeviceEntry& device);
  Result<void> launch_views(const CallEntry& entry,
                            const DeviceEntry& device,
                            void* stream,
                            void* workspace,
                            std::span<const tenon_arg_facts> facts,
                            std::uint64_t flags,
                            HitMemo*& memo);
  Result<std::shared_ptr<BuiltEntry>> build(const SelectionResult& selection,
                                            const DeviceEntry& device,
                                            const tenon_call& call);
  std::vector<std::uint64_t> identity_of(const KernelType& type,
                                         const DeviceEntry& device,
                                         const tenon_call& call) const;
  /// Logs that a function of a kernel type failed, once for each type and function.
  void warn_failed(const KernelType& type,
                   std::string_view function,
                   const std::string& why,
                   std::string_view consequence) const;
  void warn_reference(const SelectionQuery& query, const SelectionResult& selection) const;

  Op::Instance& instance_;
  ThreadState& state_;
  const CallArgs& args_;
  std::uint32_t step_;
  std::uint32_t interface_;
  const InterfaceDecl& decl_;
  const InterfaceTable& table_;
  std::size_t n_views_ = 0;
};

}  // namespace tenon
