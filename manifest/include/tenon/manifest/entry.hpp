// A manifest entry as the reader understood it: every construct of the language, parsed but not
// compiled. Expressions are text with their place; kinds of indices and types of parameters are
// taken apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/dtype.hpp"
#include "tenon/core/op_decl.hpp"
#include "tenon/core/value.hpp"

namespace tenon::manifest {

/// A piece of text of a manifest and where it stands. Empty where the field is absent, and also
/// where it was so wrong that the reader reported it: a check that needs it is then skipped without
/// a word.
struct Text {
  std::string text;
  SourceLocation where;    ///< of the scalar's first character, an opening quote included
  std::uint32_t lead = 0;  ///< characters before the text itself: 1 for an opening quote
  bool verbatim = false;   ///< the text stands in the file character by character on one line

  [[nodiscard]] bool empty() const { return text.empty(); }
  /// The place of the character at `offset`; the scalar's own place where the text is not verbatim.
  [[nodiscard]] SourceLocation at(std::size_t offset) const {
    SourceLocation place = where;
    if (verbatim) place.column += lead + static_cast<std::uint32_t>(offset);
    return place;
  }
};

/// A value as written: null, bool, int, float, string, list (never a tuple); a map with one key
/// that is a constructor is an AdtValue, any other map an OpaqueValue with its YAML text. Dtype
/// names and calls stay strings: the kind that is expected decides what they are.
struct RawValue {
  Value value;
  SourceLocation where;
};

// ---- Types
// ----------------------------------------------------------------------------------------

/// One member of a type text, split at `|` outside brackets and quotes.
struct TypeMember {
  enum class Atom : std::uint8_t {
    kInt,       ///< int, Int
    kDim,       ///< Dim (formals and ADT fields)
    kBool,      ///< bool, Bool
    kShape,     ///< Shape (formals)
    kSeqInt,    ///< Seq[Int] (formals)
    kLiteral,   ///< 'tanh'
    kStr,       ///< str
    kNone,      ///< None
    kDType,     ///< a registered dtype's name, or one member of DType[a | b]
    kAnyDType,  ///< torch.dtype, or DType (formals)
    kList,      ///< list[int], list[int | None]
    kTuple,     ///< tuple[int, ...], tuple[int, int | None]
    kFloat,     ///< float
    kNumber,    ///< Number
    kDict,      ///< dict
    kTensor,    ///< torch.Tensor
    kDotted,    ///< any other dotted name: an object, carried and compared
    kName,      ///< a bare name: an ADT, if the set has one
  };
  Atom atom = Atom::kInt;
  std::string text;                  ///< the literal without quotes, or the name
  DType dtype = DType::kBool;        ///< of kDType
  bool variable = false;             ///< list[X] and tuple[X, ...]: any length
  std::vector<bool> optional_items;  ///< per item (one for a variable length): it may be None
};

/// A type text taken apart. `X | None`, `Maybe[X]`: a kNone among the members. No members: the text
/// was wrong.
struct TypeText {
  Text source;
  std::vector<TypeMember> members;
  [[nodiscard]] bool optional() const {
    for (const TypeMember& m : members) {
      if (m.atom == TypeMember::Atom::kNone) return true;
    }
    return false;
  }
};

/// Kind of an index of signature.forall.
enum class IndexKind : std::uint8_t { kDim, kShape, kDType, kSeqInt, kSeqShape, kSeqDim };

/// signature.forall.NAME
struct IndexDecl {
  std::string name;
  IndexKind kind = IndexKind::kDim;
  DTypeSet dtypes;            ///< of kDType
  std::vector<DType> listed;  ///< the same, in the order written
  Text source;
  bool faulty = false;  ///< the kind was not understood, and reported
};

// ---- Signature
// ------------------------------------------------------------------------------------

/// signature.params.NAME; parallel to OpDecl::params. A default stands in OpDecl too, unconverted.
struct ParamEntry {
  TypeText type;
  std::optional<RawValue> default_value;
};

/// What a tensor declares in expressions; parallel to OpDecl's construction_tensors, inputs and
/// outputs.
struct TensorEntry {
  Text dtype;
  Text shape;
  Text optional;    ///< a condition (nullable, for an output); empty where it is a plain flag
  Text mutated;     ///< a condition; empty where it is a plain flag
  Text list_count;  ///< of an output list
  Text values;
  std::vector<Text> requirements;  ///< `requires`
  std::vector<Text> may_alias;     ///< as written; OpDecl has the names
  Text alias;
  bool kw_only = false;  ///< of an input: callers name it
  bool has_may_alias =
      false;  ///< given, if only as an empty list: the flow's default does not apply
};

/// A pattern of a type family's case.
struct Pattern {
  enum class Kind : std::uint8_t { kAny, kValue, kConstructor };
  Kind kind = Kind::kAny;
  Value value;                     ///< of kValue: a bool or a string
  std::string constructor;         ///< of kConstructor
  std::vector<NamedValue> fields;  ///< its finite fields that must match; empty for {ctor: _}
  SourceLocation where;
};

/// signature.types.NAME.params.FORMAL
struct FamilyFormal {
  std::string name;
  TypeText type;
};

/// One of signature.types.NAME.cases.
struct FamilyCase {
  std::vector<Pattern> when;  ///< one per match expression
  Text is;                    ///< a shape, or another family's application
  SourceLocation where;
};

/// signature.types.NAME
struct FamilyDecl {
  std::string name;
  std::vector<FamilyFormal> formals;
  std::vector<Text> match;
  bool match_is_list = false;
  std::vector<FamilyCase> cases;
  SourceLocation where;
};

/// signature.let.NAME
struct LetDecl {
  std::string name;
  Text value;
};

/// One row of signature.dtype_combos: names and dtype names, in the order written.
struct DTypeComboRow {
  std::vector<std::pair<std::string, Text>> assignment;
  SourceLocation where;
};

// ---- Workloads, roofline, interfaces, composition
// ---------------------------------------------------

/// One of a workload row's dtype_cases.
struct DTypeCase {
  std::vector<std::pair<std::string, Text>> assignment;
  SourceLocation where;
};

/// One workload row.
struct RowEntry {
  std::vector<std::pair<std::string, RawValue>>
      values;                              ///< parameters and indices, in the order written
  std::vector<SourceLocation> key_places;  ///< of the keys in `values`
  std::vector<Text> some;
  bool has_dtype_cases = false;
  std::vector<DTypeCase> dtype_cases;
  Text label;
  bool faulty = false;  ///< something of the row was reported: it cannot be instantiated
  SourceLocation where;
};

/// roofline
struct RooflineEntry {
  Text flops;
  Text bytes;
  Text func;
  SourceLocation where;
};

/// interfaces.NAME.call.FIELD
struct CallFieldEntry {
  std::string name;
  Text text;  ///< an expression, or "flow.<kind>"
  SourceLocation where;
};

/// interfaces.NAME.args.NAME
struct ArgEntry {
  std::string name;
  Text shape;
  Text dtype;              ///< of a temporary
  Text role;               ///< of a temporary: "in", "out" or "inout"
  bool temporary = false;  ///< written as a map
  SourceLocation where;
};

/// interfaces.NAME
struct InterfaceEntry {
  std::string name;
  Text step;  ///< empty: the only step
  Text when;
  std::vector<CallFieldEntry> call;
  std::vector<ArgEntry> args;
  SourceLocation where;
};

/// One of composition.stages.
struct StageEntry {
  Text name;
  Text op;
  Text kernel;
  SourceLocation where;
};

// ---- Entry
// ----------------------------------------------------------------------------------------

/// What the input is called that is a result buffer and that every call passes.
inline constexpr std::string_view kRequiredOut = "out";

/// One entry of a file.
///
/// `decl` holds what can be known without expressions: names, texts, flags, locations, parameters
/// with their defaults as written, tensors, steps, stages, flow, status. `decl.interfaces`,
/// `decl.branches`, `TensorDecl::dtypes`, `schema_name` where none was given, and the interface
/// contracts are the compiler's to fill.
struct Entry {
  OpDecl decl;

  std::vector<IndexDecl> indices;
  std::vector<ParamEntry> params;
  std::vector<TensorEntry> construction_tensors;
  std::vector<TensorEntry> inputs;
  std::vector<TensorEntry> outputs;
  std::vector<FamilyDecl> families;
  std::vector<LetDecl> lets;
  std::vector<Text> shape_rules;
  std::vector<DTypeComboRow> dtype_combos;
  std::vector<RowEntry> workloads;
  RooflineEntry roofline;
  std::vector<InterfaceEntry> interfaces;
  std::vector<SourceLocation>
      step_places;  ///< parallel to decl.steps; empty where `steps` is absent
  bool has_composition = false;
  std::vector<StageEntry> stages;  ///< parallel to decl.stages
  Text schema;                     ///< as written, or empty
  Text flow;
  Text backward_op;
  std::vector<Text> backward_saved;

  /// Names whose declaration was reported: uses of them say nothing more. "*": the whole signature
  /// was.
  std::vector<std::string> reported_names;
  [[nodiscard]] bool was_reported(std::string_view name) const {
    for (const std::string& n : reported_names) {
      if (n == name || n == "*") return true;
    }
    return false;
  }

  /// The reader reported an error here: the entry may still be checked further, and is never
  /// registered.
  bool faulty = false;
};

// ---- types.yaml
// -----------------------------------------------------------------------------------

/// A field of an ADT's constructor.
struct AdtField {
  std::string name;
  TypeText type;  ///< Dim, Int, Bool or an enum
  std::string python;
  SourceLocation where;
};

/// A constructor of an ADT.
struct AdtConstructor {
  std::string name;
  std::string python;
  std::vector<AdtField> fields;
  Text invariant;
  SourceLocation where;
};

/// adts.NAME
struct AdtDecl {
  std::string name;
  std::vector<AdtConstructor> constructors;
  SourceLocation where;
  bool faulty = false;
  [[nodiscard]] const AdtConstructor* find(std::string_view constructor) const {
    for (const AdtConstructor& c : constructors) {
      if (c.name == constructor) return &c;
    }
    return nullptr;
  }
};

// ---- Sets
// -----------------------------------------------------------------------------------------

/// A text that was read, kept for diagnostics.
struct SourceFile {
  std::string path;  ///< as diagnostics print it
  std::shared_ptr<const std::string> contents;
};

/// Everything that one place of manifests holds: entries sorted by file and place, ADTs by name.
struct ManifestSet {
  std::string ns = "tenon";
  std::vector<Entry> entries;
  std::vector<AdtDecl> adts;
  std::vector<SourceFile> files;

  [[nodiscard]] const Entry* find(std::string_view name) const {
    for (const Entry& e : entries) {
      if (e.decl.name == name) return &e;
    }
    return nullptr;
  }
  [[nodiscard]] const AdtDecl* find_adt(std::string_view name) const {
    for (const AdtDecl& a : adts) {
      if (a.name == name) return &a;
    }
    return nullptr;
  }
};

}  // namespace tenon::manifest
