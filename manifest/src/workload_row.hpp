// One row on its way from text to calls.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tenon/core/signature/evaluate.hpp"
#include "tenon/core/signature/fold.hpp"
#include "tenon/core/signature/specialise.hpp"
#include "tenon/manifest/workloads.hpp"

namespace tenon::manifest {

/// A generated tensor at the row's point.
struct GeneratedTerm {
  std::uint32_t symbol = 0;
  const signature::MetadataCall* call = nullptr;
  std::vector<signature::Expr> args;  ///< folded
  const signature::TensorTerm* term = nullptr;
  std::vector<bool> solved;  ///< elements of the shape that are done
  std::optional<GeneratedTensor> result;
  bool ran = false;  ///< also where only the order is looked for
};

/// What a row needs beside its values: the branch that it selects, and what is read there.
class RowInstantiator {
 public:
  RowInstantiator(const Entry& entry,
                  const signature::PlanData& data,
                  const SignaturePlan& plan,
                  std::uint32_t row,
                  DiagnosticList& diagnostics);

  /// The row's calls; fewer, and diagnostics, where something is wrong.
  std::vector<WorkloadCase> run();
  /// Whether each optional tensor is passed; empty where the branch was not reached.
  [[nodiscard]] const std::map<std::string, bool>& presence() const { return presence_; }
  /// Why the row cannot be instantiated although nothing is wrong with it.
  [[nodiscard]] const std::string& skipped() const { return skipped_; }

 private:
  using Expr = signature::Expr;

  // workload_row.cpp: from the row's values to its branch
  bool settle_params();
  bool take_value(const std::string& name, const RawValue& value, const SourceLocation& where);
  [[nodiscard]] signature::Choices choices() const;
  bool take_branch();
  void fold_metadata();
  void read_names();
  bool check_given();
  bool check_dtype_case(const DTypeCase* one);

  // workload_case.cpp: from the branch to a call
  std::optional<WorkloadCase> instantiate(const DTypeCase* one);
  bool solve_order(std::vector<bool>& known, std::vector<GeneratedTerm>& terms) const;
  [[nodiscard]] bool args_known(const GeneratedTerm& term, const std::vector<bool>& known) const;
  bool order_elements(const signature::TensorTerm& term, std::vector<bool>& known) const;
  bool solve_values(std::vector<GeneratedTerm>& terms);
  bool solve_lets(std::vector<bool>& known, bool& any);
  bool generate(GeneratedTerm& term);
  bool unify(GeneratedTerm& term);
  bool unify_element(GeneratedTerm& term, std::size_t at);
  bool unify_splice(GeneratedTerm& term,
                    std::size_t at,
                    std::optional<std::int64_t> before,
                    std::optional<std::int64_t> after);
  bool unify_axis(GeneratedTerm& term, std::size_t at, std::int64_t place);
  [[nodiscard]] std::vector<std::uint32_t> unset(Expr e) const;
  std::optional<std::int64_t> width(std::span<const signature::Element> elements);
  bool shape_mismatch(const GeneratedTerm& term, const std::string& text);
  bool check_refinements();
  bool check_combos();
  bool check_requirements(const std::vector<GeneratedTerm>& terms);
  void take_arguments(const signature::MetadataCall& call,
                      const std::vector<Expr>& folded,
                      const std::vector<GeneratedTerm>& terms,
                      std::vector<CallArg>& args,
                      std::string& why);
  bool take_tensors(const std::vector<signature::TensorTerm>& list,
                    TensorRole role,
                    const std::vector<GeneratedTerm>& terms,
                    std::vector<CaseTensor>& out);
  bool tensor_of(const signature::TensorTerm& term, TensorRole role, CaseTensor& out);
  bool shape_of(const signature::TensorTerm& term,
                std::span<const signature::Cell> formals,
                std::vector<std::int64_t>& shape);
  std::optional<std::int64_t> element_count_of(const signature::TensorTerm& term);
  bool round_trip(WorkloadCase& c);
  bool inference_fault(const std::string& text);
  bool same_indices(const WorkloadCase& c);
  bool same_outputs(const WorkloadCase& c, const CallFrame& frame);
  [[nodiscard]] std::string case_id(const DTypeCase* one) const;

  // Helpers
  [[nodiscard]] bool all_known(Expr e, const std::vector<bool>& known) const;
  bool evaluate(Expr e, signature::Cell& out, std::span<const signature::Cell> formals = {});
  [[nodiscard]] bool given(std::uint32_t symbol) const { return given_[symbol]; }
  Diagnostic& report(const SourceLocation& where,
                     std::string_view key,
                     std::string rule,
                     std::string text);
  [[nodiscard]] const std::string& name(std::uint32_t symbol) const {
    return data_.symbols[symbol].name;
  }

  const Entry& entry_;
  const signature::PlanData& data_;
  const SignaturePlan& plan_;
  const std::uint32_t index_;
  const RowEntry& row_;
  DiagnosticList& diagnostics_;

  std::vector<Value> params_;
  std::map<std::uint32_t, Value> values_;  ///< indices that the row gives, by symbol
  std::vector<bool> given_;                ///< by symbol
  signature::Prefix prefix_;
  signature::Branch branch_;
  std::vector<GeneratedTerm> metadata_;
  std::map<std::uint32_t, std::vector<std::vector<Expr>>>
      requirement_args_;              ///< by tensor's symbol
  std::vector<Expr> lets_;            ///< folded, where something of the row reads them
  std::vector<Expr> refinements_;     ///< folded; parallel to the data's
  std::vector<std::uint32_t> names_;  ///< symbols that matter here
  std::map<std::string, bool> presence_;
  std::string skipped_;

  // Of the case at hand
  signature::Arena arena_;
  std::vector<signature::Cell> cells_;
  std::string error_;
};

}  // namespace tenon::manifest
