// The signature check step by step: the meaning that the compiled program repeats faster, and the
// source of messages.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "signature/instance.hpp"
#include "tenon/core/signature/plan_data.hpp"

namespace tenon::signature {

/// Walks the steps of one call. With `error` it says why a step fails; without it allocates
/// nothing.
class Walker {
 public:
  Walker(const PlanData& data,
         const Instance& instance,
         const CallArgs& args,
         Frame& frame,
         State& state,
         Error* error);

  /// All of a call's checks, in the order of the language. `entry` is the branch of the presences.
  bool run(const BranchEntry& entry);
  /// One step of the branch, and what follows inference, for programs that leave it to the walker.
  bool run_step(const BranchEntry& entry, const Step& s);
  bool run_effects(const BranchEntry& entry);
  bool run_written(const BranchEntry& entry, const TensorView& view, std::uint32_t symbol);
  bool run_devices(const BranchEntry& entry);
  /// Steps and refinements of construction.
  bool run_prefix(const Prefix& prefix);

 private:
  void enter(const BranchEntry& entry);
  // Steps
  bool step(const Step& step, const Branch& branch);
  bool apply(const Step& step, const TensorTerm& term);
  bool tensor_step(const Step& step, const TensorTerm& term);
  bool rank_step(const TensorTerm& term);
  bool let_step(const Step& step);
  bool bind_dim(const Step& step, const TensorTerm& term);
  bool bind_affine(const Step& step, const TensorTerm& term);
  bool bind_splice(const Step& step, const TensorTerm& term);
  bool check_dim(const Step& step, const TensorTerm& term);
  bool check_splice(const Step& step, const TensorTerm& term);
  bool list_step(const Step& step, const TensorTerm& term);
  bool list_element(const Step& step, const TensorTerm& term, std::uint32_t k);
  bool list_lengths(const Step& step, const TensorTerm& term);
  /// One tensor of a list under the step that reads the list.
  struct ListItem {
    const Step& step;
    const TensorTerm& term;
    std::uint32_t k;
    const Dims& shape;
  };
  [[nodiscard]] std::optional<std::uint32_t> bound_by(const ListItem& item, const Element& e) const;
  bool list_item_rank(const ListItem& item, std::size_t& open_length);
  void bind_list_item(const ListItem& item,
                      std::uint32_t target,
                      std::size_t at,
                      std::optional<std::size_t> splice_length);
  bool check_list_item(const ListItem& item, const Element& e, std::size_t& at);
  bool wrong_item(const ListItem& item, std::string_view text);
  // After inference
  bool refinement(const RefinementTerm& term);
  bool combos();
  bool output(std::uint32_t index, const TensorTerm& term);
  bool output_list(const TensorTerm& term, OutputSpec& spec);
  bool infer_shape(const TensorTerm& term, OutputSpec& spec);
  bool append_axis(const TensorTerm& term, Expr e, const Cell& item, OutputSpec& spec);
  bool view_step(const Step& step, const TensorTerm& term, const TensorView& view, bool first);
  bool out_matches(std::uint32_t index, const OutputSpec& spec);
  bool devices(const Branch& branch);
  bool device_of(const TensorTerm& term,
                 const TensorView& view,
                 const Device*& first,
                 std::uint32_t& first_symbol);
  bool effects(const Branch& branch);
  bool written_inputs(const Branch& branch, bool& any, bool& all_empty);
  bool alias_fits(std::uint32_t index, const OutputSpec& spec);
  bool written_tensor(const TensorView& view, std::uint32_t symbol, const Branch& branch);
  bool may_overlap(const TensorView& view,
                   std::uint32_t symbol,
                   const TensorView& input,
                   const TensorDecl& input_decl,
                   bool written);
  [[nodiscard]] std::string written_label(std::uint32_t symbol) const;

  // Places
  struct Window {
    const std::int64_t* sizes = nullptr;
    std::int64_t rank = 0;
  };
  [[nodiscard]] const TensorView* view_of(std::uint32_t symbol) const;
  bool value(Expr e, Cell& out);
  bool width(const Element& element, std::int64_t& out);
  bool place(const Step& step, const TensorTerm& term, std::int64_t& position);
  bool size_at(const Step& step,
               const TensorTerm& term,
               std::int64_t& size,
               std::int64_t& position);

  // Messages
  struct Origin {
    std::string tensor;
    std::int64_t axis = 0;
  };
  bool mismatch(std::string text, std::uint32_t symbol);
  bool wrong_rank(const TensorTerm& term);
  bool no_value(std::string_view what, std::uint32_t symbol);
  [[nodiscard]] std::string name(std::uint32_t symbol) const { return data_.symbols[symbol].name; }
  [[nodiscard]] std::string expected_size(const TensorTerm& term,
                                          const Element& element,
                                          std::int64_t item,
                                          std::int64_t expected);
  [[nodiscard]] std::optional<Origin> origin_of(std::uint32_t symbol, std::int64_t item);
  [[nodiscard]] std::string values_of(Expr e);
  bool no_shape(Expr e, std::uint32_t symbol);
  /// "self [4, 5] and other [4, 6]: sizes 5 and 6 ...", where `e` holds a broadcast of tensors'
  /// shapes that has no value; else empty.
  [[nodiscard]] std::string broadcast_fault(Expr e);
  [[nodiscard]] std::string shape_label(std::uint32_t symbol);
  /// What is wrong with the axes, where the expression is one of the predicates on axes: "axis 3
  /// ...: ".
  [[nodiscard]] std::string axes_fault(Expr e);
  [[nodiscard]] std::string label_of(Expr e);

  const PlanData& data_;
  const Instance& instance_;
  const CallArgs& args_;
  Frame& frame_;
  State& state_;
  Error* error_;
  std::string text_;  ///< of evaluation errors
  Env env_;
  std::array<Cell, 1> formals_;  ///< the index into a list
  const std::vector<Step>* steps_ = nullptr;
  const std::vector<Step>* prefix_steps_ = nullptr;
  const Branch* branch_ = nullptr;
  const Prefix* prefix_ = nullptr;
};

}  // namespace tenon::signature
