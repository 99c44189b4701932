// The evaluator's SignaturePlan.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "signature/instance.hpp"
#include "tenon/core/signature/plan_data.hpp"

namespace tenon {
struct RooflineCall;
}  // namespace tenon

namespace tenon::signature {

class Plan final : public SignaturePlan {
 public:
  explicit Plan(PlanData data);

  Result<std::shared_ptr<const Construction>> construct(
      std::span<const NamedValue> params,
      std::span<const std::pair<std::string, Tensor>> tensors) const override;
  std::unique_ptr<CallFrame> make_frame() const override;
  bool check(const Construction& construction,
             const CallArgs& args,
             CallFrame& frame) const override;
  Error failure(const Construction& construction,
                const CallArgs& args,
                const CallFrame& frame) const override;
  Result<RangedOutputs> infer_ranges(const Construction& construction,
                                     std::span<const std::optional<RangedTensor>> inputs,
                                     bool with_out) const override;
  std::optional<std::uint32_t> active_interface(std::uint32_t step,
                                                const Construction& construction,
                                                const CallFrame& frame) const override;
  bool eval_call(std::uint32_t interface,
                 const Construction& construction,
                 const CallArgs& args,
                 CallFrame& frame,
                 std::span<const tenon_value> flow_values,
                 std::span<tenon_value> fields) const override;
  bool eval_arg_shape(std::uint32_t interface,
                      std::uint32_t arg,
                      std::uint32_t element,
                      CallFrame& frame,
                      std::span<const tenon_value> fields,
                      Dims& shape) const override;
  std::optional<DType> temporary_dtype(std::uint32_t interface,
                                       std::uint32_t arg,
                                       const Construction& construction,
                                       const CallFrame& frame) const override;
  std::optional<DType> construction_dtype(std::uint32_t tensor,
                                          const CallFrame& frame) const override;
  std::vector<NamedValue> indices(const Construction& construction,
                                  const CallFrame& frame) const override;
  std::vector<Traffic> traffic(const Construction& construction,
                               const CallArgs& args,
                               const CallFrame& frame) const override;
  Result<Cost> cost(const Construction& construction,
                    const CallArgs& args,
                    const CallFrame& frame) const override;

  [[nodiscard]] const PlanData& data() const { return data_; }
  /// What the programs leave to the walker on the branch of the last check: steps, call specs,
  /// shapes of arguments.
  [[nodiscard]] std::size_t walked_parts(const CallFrame& frame) const;
  /// `eval_call` by walking the trees: what the program must give.
  bool walk_call(std::uint32_t interface,
                 CallFrame& call_frame,
                 std::span<const tenon_value> flow_values,
                 std::span<tenon_value> fields) const;

 private:
  [[nodiscard]] std::uint64_t mask_of(const CallArgs& args) const;
  [[nodiscard]] bool required_are_present(const CallArgs& args) const;
  // run.cpp
  struct Run;
  struct Machine;
  struct Instructions;
  // check.cpp
  State* select(const Instance& instance, Frame& frame, std::uint64_t mask) const;
  void fill(const Instance& instance, State& state) const;
  bool fill_hoists(const Program& program, Env& env, State& state) const;
  bool run(const Instance& instance, const CallArgs& args, Frame& frame, State& state) const;
  bool finish(const Instance& instance,
              const CallArgs& args,
              Frame& frame,
              State& state,
              const Device* device,
              bool nonempty) const;
  bool check_out(const Instance& instance, const CallArgs& args, Frame& frame, State& state) const;
  PrefixEntry& prefix_for(const Choices& choices) const;
  const BranchEntry& branch_for(PrefixEntry& prefix, std::uint64_t key) const;
  std::unique_ptr<BranchEntry> make_entry(const Prefix& prefix, std::uint64_t key) const;
  [[nodiscard]] std::vector<bool> unsolved_lets(const BranchEntry& entry) const;
  void finish_entry(BranchEntry& entry) const;
  // calls.cpp
  void fill_call(std::uint32_t interface, Env& env, State& state) const;
  void fill_active(Env& env, State& state) const;
  bool walk_shape(std::uint32_t interface,
                  std::uint32_t arg,
                  std::uint32_t element,
                  Frame& frame,
                  std::span<const tenon_value> fields,
                  Dims& shape) const;
  static tenon_value field_value(const CallFieldDecl& field, const Cell& cell, Arena& arena);

  // construct.cpp
  Result<std::vector<Value>> settle_params(std::span<const NamedValue> given) const;
  Result<std::vector<std::optional<Tensor>>> settle_tensors(
      std::span<const std::pair<std::string, Tensor>> given) const;
  [[nodiscard]] Choices choices_of(const std::vector<Value>& params,
                                   const std::vector<std::optional<Tensor>>& tensors) const;
  Result<void> settle(Instance& instance) const;

  // records.cpp
  [[nodiscard]] Error presence_failure(const CallArgs& args,
                                       const BranchEntry& entry,
                                       std::uint64_t mask) const;
  [[nodiscard]] std::vector<Cell> solved_cells(const Instance& instance, const Frame& frame) const;
  struct Sizes {
    std::vector<std::int64_t> bytes;  ///< by symbol; -1: absent
  };
  // roofline.cpp
  [[nodiscard]] RooflineCall roofline_call(const Instance& instance,
                                           const CallArgs& args,
                                           const Frame& frame) const;
  [[nodiscard]] Sizes tensor_sizes(const Instance& instance,
                                   const CallArgs& args,
                                   const Frame& frame) const;

  PlanData data_;
  Arena constants_;                                ///< of `shapes_`
  std::vector<std::vector<ShapeProgram>> shapes_;  ///< by interface and argument
  std::vector<bool> at_construction_;              ///< by discriminant
  std::vector<std::uint32_t> optional_inputs_;     ///< by presence bit
  std::uint64_t deciding_bits_ = 0;
  std::uint64_t out_bit_ = 0;
  std::size_t shape_count_ = 0;
  std::int32_t buffered_output_ = -1;
  mutable std::mutex prefixes_mutex_;
  mutable std::map<Choices, std::unique_ptr<PrefixEntry>> prefixes_;
};

}  // namespace tenon::signature
