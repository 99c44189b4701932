// Specialising a plan: points of the discriminants, the branch that a point selects, the order of
// inference.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tenon/core/signature/fold.hpp"
#include "tenon/core/signature/plan_data.hpp"

namespace tenon::signature {

/// A choice per discriminant; -1: unknown. Bool and presence: 0 or 1. Enum: the member. ADT: the
/// number in `adt_choices`, after None (0) where it is Maybe.
using Choices = std::vector<std::int32_t>;

/// Every constructor with every combination of its Bool and enum fields, in declaration order.
[[nodiscard]] std::vector<AdtFacts> adt_choices(const AdtType& type);
/// The choice that the value of the discriminant's parameter is; -1 where it is none of them, and
/// for discriminants of tensors.
[[nodiscard]] std::int32_t choice_of(const PlanData& data,
                                     const Discriminant& discriminant,
                                     const Value& value);
/// How many choices a discriminant has.
[[nodiscard]] std::size_t choice_count(const PlanData& data, const Discriminant& discriminant);

/// What the choices fix; presences under conditions are completed to a fixpoint through lets.
/// `unsettled` names the first tensor whose presence stays open although every discriminant is
/// chosen.
[[nodiscard]] Facts facts_of(const PlanData& data,
                             const Choices& choices,
                             std::optional<std::uint32_t>* unsettled = nullptr);

/// An axis or splice of a shape at a point.
struct Element {
  Expr expr = kNoExpr;
  bool splice = false;
};

/// A tensor at a point.
struct TensorTerm {
  std::uint32_t symbol = 0;
  bool passed = false;  ///< present (of an output: returned); of an unknown presence: false
  Expr dtype = kNoExpr;
  std::vector<Element> elements;  ///< of a list: over its index as formal 0
  Expr list_count = kNoExpr;      ///< of an output list
};

/// What one step of a specialised plan does.
enum class StepKind : std::uint8_t {
  kTensor,      ///< presence, device, contiguity, dtype
  kRank,        ///< the rank is what the elements need: every splice is known
  kLet,         ///< target := expr
  kBindDim,     ///< target := the element's size
  kBindAffine,  ///< target := (size - e) / a
  kBindSplice,  ///< target := the matching axes
  kCheckDim,
  kCheckSplice,
  kList,  ///< every element of a list: binds `targets`, checks the rest
};
struct Step {
  StepKind kind = StepKind::kTensor;
  std::uint32_t tensor = 0;   ///< symbol
  std::uint32_t element = 0;  ///< of the tensor
  std::uint32_t target = 0;   ///< symbol
  Expr expr = kNoExpr;        ///< of a let
  bool from_back = false;     ///< the element's place is counted from the last axis
  bool binds_dtype = false;   ///< kTensor: the tensor's dtype solves the index (target)
  std::vector<std::uint32_t> targets = {};  ///< of kList: Seq[Shape], Seq[Dim] and Dim indices
};

/// A refinement that is still to be checked, folded for the branch.
struct RefinementTerm {
  std::uint32_t index = 0;  ///< into PlanData::refinements
  Expr expr = kNoExpr;
};

/// What construction can settle: one per choice of the construction-time discriminants.
struct Prefix {
  Choices choices;
  Facts facts;
  Pool pool;
  std::vector<TensorTerm> construction_tensors;
  std::vector<Step> steps;                   ///< over construction-time tensors
  std::vector<RefinementTerm> refinements;   ///< decided at construction
  std::vector<Element> sizes;                ///< axes that must be non-negative and are known
  std::vector<std::uint32_t> size_owners;    ///< the tensor of each
  std::vector<bool> known;                   ///< symbols with a value after construction
  std::vector<bool> settled;                 ///< refinements decided at construction
  std::optional<std::uint32_t> rejected_by;  ///< refinement that is false whatever the call
  std::optional<FoldError> error;
};

/// What a call does at one point.
struct Branch {
  Choices choices;
  Facts facts;
  Pool pool;
  std::optional<std::uint32_t> rejected_by;  ///< the refinement that is false at this point
  std::optional<FoldError> error;  ///< folding failed: an entry that was accepted never has it
  std::uint32_t error_symbol = 0;  ///< where: the tensor or let
  std::vector<TensorTerm> construction_tensors;
  std::vector<TensorTerm> inputs;
  std::vector<TensorTerm> outputs;
  std::vector<Step> steps;
  std::vector<RefinementTerm> refinements;
  std::vector<Expr> lets;               ///< by let; folded here, kNoExpr where not reached
  std::vector<std::uint32_t> unsolved;  ///< symbols that the branch reads and nothing solves
  std::vector<bool> written;            ///< by input
  bool has_out = false;
};

/// The plan for given choices: what construction settles, then what a call does.
[[nodiscard]] Prefix make_prefix(const PlanData& data, const Choices& choices);
[[nodiscard]] Branch make_branch(const PlanData& data,
                                 const Prefix& prefix,
                                 const Choices& choices);

/// An affine term `a * M + e` in one unknown.
[[nodiscard]] bool is_affine(const Pool& pool, Expr e, std::uint32_t unknown);

/// What a tensor's symbol stands for.
[[nodiscard]] const TensorDecl& tensor_decl(const PlanData& data, std::uint32_t symbol);
[[nodiscard]] const TensorData& tensor_data(const PlanData& data, std::uint32_t symbol);
/// Every tensor's symbol: construction-time tensors, inputs, outputs.
[[nodiscard]] inline bool is_tensor(SymbolKind kind) {
  return kind == SymbolKind::kConstruction || kind == SymbolKind::kInput ||
         kind == SymbolKind::kOutput;
}

}  // namespace tenon::signature
