// A compiled manifest entry as plain data: what the front end makes, and generated source may hold
// instead.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/core/op_decl.hpp"
#include "tenon/core/plan.hpp"
#include "tenon/core/signature/expr.hpp"

namespace tenon::signature {

/// An expression and the text it came from. No root: the field is absent.
struct TextExpr {
  Expr root = kNoExpr;
  std::string text;
  SourceLocation where;
  [[nodiscard]] bool given() const { return root != kNoExpr; }
};

/// What a name of an entry stands for.
enum class SymbolKind : std::uint8_t {
  kDim,
  kShape,
  kDType,
  kSeqInt,
  kSeqShape,  ///< of a list: one Shape per element
  kSeqDim,    ///< of a list: one Dim per element
  kParam,
  kLet,
  kConstruction,
  kInput,
  kOutput,
  kOut,  ///< the caller's `out`: it has a presence and no value
};

/// One name of an entry.
struct Symbol {
  std::string name;
  SymbolKind kind = SymbolKind::kDim;
  std::uint32_t ordinal = 0;  ///< among its kind: into params, lets, inputs, ...
  DTypeSet dtypes;            ///< of a dtype index or dtype parameter
  SourceLocation where;
};

// ---- Parameter types
// --------------------------------------------------------------------------------

/// Kind of one member of a parameter's type.
enum class TypeTag : std::uint8_t {
  kInt,
  kBool,
  kFloat,
  kNumber,
  kEnum,
  kStr,
  kDType,
  kSeq,
  kAdt,
  kObject
};

/// One member of a parameter's type, and what it takes.
struct TypeMember {
  TypeTag tag = TypeTag::kInt;
  std::vector<std::string> names;  ///< of an enum
  DTypeSet dtypes;
  bool is_tuple = false;
  bool variable = false;             ///< any length
  std::vector<bool> optional_items;  ///< per item (one for a variable length): it may be None
  std::uint32_t adt = 0;
};

/// The members in the order written; a value is taken by the first that accepts it.
struct ParamType {
  std::vector<TypeMember> members;
  bool maybe = false;  ///< None too
};

/// A field of an ADT's constructor.
struct AdtFieldType {
  std::string name;
  TypeTag tag = TypeTag::kInt;  ///< kInt, kBool or kEnum
  bool is_dim = false;
  std::vector<std::string> names;
};
struct AdtConstructorType {
  std::string name;
  std::vector<AdtFieldType> fields;
  TextExpr invariant;  ///< over the fields as formals
};
struct AdtType {
  std::string name;
  std::vector<AdtConstructorType> constructors;
};

// ---- Type families
// ----------------------------------------------------------------------------------

/// A `when` of a type family's case.
struct PatternData {
  enum class Kind : std::uint8_t { kAny, kValue, kConstructor };
  Kind kind = Kind::kAny;
  Value value;
  std::string constructor;
  std::vector<NamedValue> fields;
};
struct FamilyCaseData {
  std::vector<PatternData> when;
  TextExpr is;
};
struct FamilyData {
  std::string name;
  std::vector<std::string> formals;
  std::vector<TextExpr> match;
  std::vector<FamilyCaseData> cases;
  SourceLocation where;
};

// ---- The signature
// ----------------------------------------------------------------------------------

/// A generator's call (`values`) or a predicate's (one of `requires`). Only workload rows evaluate
/// them.
struct MetadataCall {
  std::string name;
  std::vector<Expr> args;               ///< kNoExpr where the argument is another tensor's contents
  std::vector<std::uint32_t> contents;  ///< parallel: the symbol of that tensor
  bool known = true;  ///< false: no such function here; the row cannot be instantiated
  std::string text;
  SourceLocation where;
};

/// The compiled expressions of a tensor.
struct TensorData {
  TextExpr dtype;
  TextExpr shape;
  TextExpr optional;    ///< condition; absent where the flag in OpDecl says it all
  TextExpr mutated;     ///< likewise
  TextExpr list_count;  ///< of an output list
  std::optional<MetadataCall> values;
  std::vector<MetadataCall> requirements;
};

/// Something that tells calls apart and has finitely many values.
struct Discriminant {
  enum class Kind : std::uint8_t {
    kBool,  ///< a Bool parameter
    kEnum,  ///< an enum parameter
    kAdt,   ///< an ADT parameter: constructor and finite fields; None too where it is Maybe
    kParamPresence,   ///< of any other Maybe parameter
    kTensorPresence,  ///< of a tensor with `optional: true`
    kOutPresence,
  };
  Kind kind = Kind::kBool;
  std::uint32_t symbol = 0;
  std::vector<std::string> names;  ///< of an enum
  std::uint32_t adt = 0;
  bool maybe = false;
};

/// The compiled expressions of an interface's argument, and of the interface.
struct ArgData {
  TextExpr
      shape;  ///< over the call's fields as formals; the one after them is the element of a list
  TextExpr dtype;  ///< of a temporary
};
struct InterfaceData {
  TextExpr when;
  std::vector<TextExpr> fields;  ///< absent where the flow computes the field
  std::vector<ArgData> args;
};

/// One row of dtype_combos.
struct ComboRow {
  std::vector<std::pair<std::uint32_t, DType>> assignment;  ///< symbol and dtype
};

/// An entry, compiled: the declaration and every expression, before any choice is made.
struct PlanData {
  OpDecl decl;
  Pool pool;
  std::vector<Symbol> symbols;
  std::vector<std::string> symbol_names;  ///< parallel
  std::vector<ParamType> param_types;     ///< parallel to decl.params
  std::vector<AdtType> adts;
  std::vector<FamilyData> families;
  std::vector<TensorData> construction_tensors;
  std::vector<TensorData> inputs;
  std::vector<TensorData> outputs;
  std::vector<TextExpr> lets;
  std::vector<TextExpr> refinements;
  std::vector<Discriminant> discriminants;
  std::vector<ComboRow> combos;
  SourceLocation combos_where;
  std::vector<InterfaceData> interfaces;
  TextExpr flops;
  TextExpr bytes;
  std::string roofline_func;

  // First symbol number of each group; groups stand in this order.
  std::uint32_t first_param = 0;
  std::uint32_t first_let = 0;
  std::uint32_t first_construction = 0;
  std::uint32_t first_input = 0;
  std::uint32_t first_output = 0;
  std::uint32_t out_symbol = 0;
};

/// The evaluator of a compiled entry.
[[nodiscard]] std::shared_ptr<const SignaturePlan> make_plan(PlanData data);

}  // namespace tenon::signature
