// What a manifest entry declares, as data: names, tensors, parameters, effects, interfaces.
// The front end fills it, the plan (plan.hpp) evaluates it, everything else reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/core/dtype.hpp"
#include "tenon/core/value.hpp"

namespace tenon {

/// A place in a manifest file. Lines and columns count from 1; 0: unknown.
struct SourceLocation {
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  /// "norm.yaml:12:7"
  [[nodiscard]] std::string to_string() const;
};

/// signature.params.NAME, of a parameter that is no tensor.
struct ParamDecl {
  std::string name;
  std::string type_text;  ///< as written: "int | list[int] | None"
  std::optional<Value> default_value;
  bool kw_only = false;
  SourceLocation where;
};

/// When a tensor is handed over: with the parameters, with the call, or by the op.
enum class TensorRole : std::uint8_t { kConstruction, kInput, kOutput };
/// When something holds: never, always, or where a condition over discriminants does.
enum class When : std::uint8_t { kNever, kAlways, kConditional };

/// How many tensors a list input takes.
struct ListBounds {
  std::uint32_t min = 1;
  std::uint32_t max = 64;
};

/// One tensor of the signature.
struct TensorDecl {
  std::string name;
  TensorRole role = TensorRole::kInput;
  std::string dtype_text;
  std::string shape_text;
  When optional = When::kNever;  ///< of an output: nullable
  std::string optional_text;     ///< the condition
  When mutated = When::kNever;
  std::string mutated_text;
  bool write_only = false;
  bool contiguous = false;
  bool on_cpu = false;  ///< device: cpu
  bool buffer_out = false;
  std::string alias;                   ///< input of which this output is the very tensor
  std::vector<std::string> may_alias;  ///< inputs that may be the very same view
  std::optional<ListBounds> list;
  std::string list_count_text;  ///< of an output list
  std::string values_text;      ///< generator call
  std::vector<std::string> requires_texts;
  DTypeSet dtypes;  ///< every dtype it may have
  SourceLocation where;
};

/// A field of a call spec. `kind` is a TENON_FIELD_* or TENON_VALUE_* number.
struct CallFieldDecl {
  std::string name;
  std::uint32_t kind = 0;
  bool optional = false;
  std::vector<std::string> members;  ///< of an enum
  bool from_flow = false;            ///< the flow computes it
  std::string text;                  ///< the expression, or "flow.int"
  std::optional<Value>
      default_value;  ///< the parameter's default where the field is just a parameter
};

/// What an argument of an interface is.
enum class ArgSource : std::uint8_t { kInput, kOutput, kConstruction, kTemporary };

/// interfaces.NAME.args.ARG
struct InterfaceArgDecl {
  std::string name;
  ArgSource source = ArgSource::kInput;
  std::uint32_t index = 0;  ///< into inputs, outputs or construction tensors
  std::uint32_t role = 0;   ///< TENON_ROLE_*
  std::vector<DType> dtypes;
  bool optional = false;
  bool list = false;
  std::string shape_text;
  std::string dtype_text;  ///< of a temporary
};

/// A place where the op calls a kernel: what selection reads, and what a kernel receives.
struct InterfaceDecl {
  std::string name;
  std::uint32_t step = 0;  ///< index into OpDecl::steps
  std::string when_text;
  std::vector<CallFieldDecl> fields;
  std::vector<InterfaceArgDecl> args;
  /// Canonical text of the contract and its 64-bit FNV-1a hash (tenon_contract.hash).
  std::string contract_text;
  std::uint64_t contract_hash = 0;
  SourceLocation where;
};

/// One step of the flow.
struct StepDecl {
  std::string name;
  bool optional = false;
};

/// One stage of a composition.
struct StageDecl {
  std::string name;
  std::string op;      ///< an entry, or
  std::string kernel;  ///< an interface
  bool optional = false;
};

/// A set of effects that a call may have, and the operator schema of it.
struct EffectBranch {
  std::vector<std::uint32_t> written_inputs;
  bool has_out = false;
  bool in_place =
      false;  ///< `out` is the first input itself (a schema of its own, no branch of a call)
  std::vector<std::uint32_t> returned_outputs;
  std::string
      schema;  ///< "tenon::add.out(Tensor self, ...) -> Tensor(a!)", empty where it has none
};

/// Bounds that replace those of the error model, with the reason.
struct ToleranceDecl {
  std::string reason;
  std::vector<std::pair<DType, std::pair<double, double>>> by_dtype;  ///< rtol, atol
};

/// An op as its manifest entry declares it, without the plan that evaluates it.
struct OpDecl {
  std::string ns = "tenon";
  std::string name;  ///< "RMSNormFwdOp"
  std::string family;
  bool implemented = false;  ///< status
  std::string ref_api;
  std::string flow = "direct";
  std::string schema_name;  ///< "rms_norm_fwd", "add"
  std::string schema_overload;
  std::string error_model;  ///< pointwise, sum, dot, norm, softmax or empty
  std::optional<ToleranceDecl> tolerance;
  std::string backward_op;
  std::vector<std::string> backward_saved;

  std::vector<ParamDecl> params;
  std::vector<TensorDecl> construction_tensors;
  std::vector<TensorDecl> inputs;
  std::vector<TensorDecl> outputs;
  /// Constructor order: true and an index into construction_tensors, or false and one into params.
  std::vector<std::pair<bool, std::uint32_t>> constructor_order;
  std::vector<StepDecl> steps;
  std::vector<InterfaceDecl> interfaces;
  std::vector<StageDecl> stages;  ///< of a composition
  std::vector<EffectBranch> branches;
  SourceLocation where;

  /// "tenon::RMSNormFwdOp"
  [[nodiscard]] std::string full_name() const { return ns + "::" + name; }
  [[nodiscard]] std::optional<std::uint32_t> input_index(std::string_view input) const;
  [[nodiscard]] std::optional<std::uint32_t> output_index(std::string_view output) const;
  [[nodiscard]] std::optional<std::uint32_t> construction_index(std::string_view tensor) const;
  /// Index of the output with `buffer: out`.
  [[nodiscard]] std::optional<std::uint32_t> buffered_output() const;
};

}  // namespace tenon
