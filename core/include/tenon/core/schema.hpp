// Operator schemas in the notation of PyTorch's native_functions.yaml: parse, print, check,
// compare.
//
// Two verdicts: `parse` follows the grammar and the validity rules of PyTorch's own generator
// (torchgen, 2.14); `lint` also reports what torchgen accepts by mistake. PyTorch has a second
// parser of this notation, the JIT's (function_schema_parser.cpp). Where the two differ this one
// goes with torchgen:
//   - The JIT takes free white space; here one space stands where the grammar shows it and none
//   elsewhere, so that every
//     accepted text prints back byte for byte. The JIT parses defaults to values: its `[1,1]`
//     prints as `1`.
//   - Not types here: `complex`, `Any`, tuples, `Dict(k, v)`, `Union(..)`, `Future(T)`, `Await(T)`,
//   `RRef(T)`, type
//     variables, `...`, `2j`; nor the fresh set `Tensor!`, the wildcard `Tensor(*)` and alias sets
//     of several letters.
//   - A bare operator name is no schema; neither are dotted overloads.
//   - The JIT refuses the overloads `default` and `__x`, a sized list that is not the outermost
//   suffix, and a positional
//     argument without default after one with a default. Here only the last one is met, by lint
//     (DEFAULT_ORDER), and lists are excepted as in the JIT.
//   - `double` and `int64_t` are refused by both with the word to use instead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/error.hpp"

namespace tenon {

/// What a schema does to its arguments, decided in this order: the name is in-place; an out
/// argument is named
/// `_scratch_*`; there is an out argument (keyword-only, written); a positional argument after self
/// is written.
enum class SchemaKind : std::uint8_t { kFunctional, kInplace, kOut, kMutable, kScratch };
[[nodiscard]] std::string_view name_of(SchemaKind kind) noexcept;

/// An alias annotation: `(a)`, `(a!)`, `(a|b)`, `(a -> *)`.
struct SchemaAlias {
  std::string before;     ///< the letters of the set: "a", "ab" for `a|b`
  bool is_write = false;  ///< `!`
  std::string after;      ///< the letters behind `->`, "*" for the wildcard; empty: no arrow
  friend bool operator==(const SchemaAlias&, const SchemaAlias&) = default;
};

/// `?` or `[]` or `[size]` behind a type.
struct SchemaSuffix {
  bool is_list = false;
  std::uint64_t list_length = 0;  ///< `[2]`; 0: none is given
  friend bool operator==(const SchemaSuffix&, const SchemaSuffix&) = default;
};

/// A base type and its suffixes from the inside out: `int[]?` is an optional list.
struct SchemaType {
  std::string base;
  std::vector<SchemaSuffix> suffixes;
  [[nodiscard]] bool is_plain_tensor() const { return base == "Tensor" && suffixes.empty(); }
  [[nodiscard]] bool is_optional() const { return !suffixes.empty() && !suffixes.back().is_list; }
  [[nodiscard]] bool is_list() const { return !suffixes.empty() && suffixes.back().is_list; }
  friend bool operator==(const SchemaType&, const SchemaType&) = default;
};

/// One argument; those behind `*` are keyword-only.
struct SchemaArg {
  SchemaType type;
  std::optional<SchemaAlias> alias;
  std::string name;
  std::optional<std::string> default_text;  ///< as written: `None`, `[0,1]`, `'mean'`
  bool is_kwarg_only = false;
  std::uint32_t column = 0;  ///< where it starts in the text, from 1; 0: not parsed
  [[nodiscard]] bool is_written() const { return alias && alias->is_write; }
};

/// One return.
struct SchemaReturn {
  SchemaType type;
  std::optional<SchemaAlias> alias;
  std::string name;          ///< may be empty
  std::uint32_t column = 0;  ///< as above
  [[nodiscard]] bool is_written() const { return alias && alias->is_write; }
};

/// A parsed schema. What `parse_schema` gives is valid; one built by hand is checked by
/// `check_schema(print(...))`.
struct Schema {
  std::string ns;  ///< "tenon"; may be empty
  std::string name;
  std::string overload;  ///< may be empty
  std::vector<SchemaArg> args;
  std::vector<SchemaReturn> returns;

  /// `x_`, or one of `__iadd__`, `__isub__` and their like.
  [[nodiscard]] bool is_inplace_name() const;
  /// "add_.Tensor", "aten::add"
  [[nodiscard]] std::string full_name() const;
  /// Index of the argument that counts as self: the positional one of that name; in a schema with a
  /// namespace the first positional argument, whatever its name.
  [[nodiscard]] std::optional<std::size_t> self_index() const;
  [[nodiscard]] SchemaKind kind() const;
};

/// The schema as text. Of a parsed one: byte for byte what was parsed.
[[nodiscard]] std::string print(const Schema& schema);
[[nodiscard]] std::string print(const SchemaType& type,
                                const std::optional<SchemaAlias>& alias = std::nullopt);
[[nodiscard]] std::string print(const SchemaArg& arg);
[[nodiscard]] std::string print(const SchemaReturn& ret);

/// A violated rule. Grammar: SYNTAX, UNKNOWN_TYPE, ALIAS_SYNTAX, LENGTH. Validity (of torchgen):
/// OUT_NOT_LAST, OUT_RETURN_MISMATCH, OUT_RETURN_COUNT, OUT_LIST_RETURNS, INPLACE_SELF,
/// INPLACE_RETURN, INPLACE_LIST_RETURNS, OUT_AND_INPLACE, MUTABLE_POSITIONAL_RETURNED,
/// MUTABLE_BEFORE_SELF, MIXED_RETURNS, MUTABLE_RETURN_UNBOUND, TENSOR_OPTIONS_NOT_FUNCTIONAL,
/// NAME_OUT_SUFFIX, DUNDER_I, FUNCTIONAL_NAME, FUNCTIONAL_OVERLOAD. Lint: WRITES_UNSAID,
/// DUPLICATE_ARGUMENT, DEFAULT_ORDER, ALIAS_UNBOUND, OUT_DEFAULT, SHARED_WRITTEN_SET, OVERLOAD_OUT,
/// DOUBLE_OPTIONAL.
struct SchemaIssue {
  std::uint32_t column = 0;  ///< in bytes, from 1
  std::string_view rule;     ///< static text
  std::string message;       ///< what was found and what was expected there; printable, on one line
};

/// Longer texts are refused (LENGTH): the longest real schema has about 1,000 bytes, and some rules
/// compare each written argument with each return.
inline constexpr std::size_t kMaxSchemaBytes = std::size_t{1} << 16;

/// The whole verdict on one text.
struct SchemaVerdict {
  std::optional<Schema> schema;     ///< where the grammar holds, even if a rule does not
  std::vector<SchemaIssue> errors;  ///< grammar (the first mistake only) or rules, by column
  std::vector<SchemaIssue> lint;    ///< by column; only asked for, and only where there is no error
  [[nodiscard]] bool is_valid() const { return errors.empty(); }
};

/// Reads one schema. Any bytes may be given: reading is linear in their number, nothing recurses,
/// nothing is thrown but std::bad_alloc.
[[nodiscard]] SchemaVerdict check_schema(std::string_view text, bool with_lint = false);

/// The same for callers that need the schema or the first reason.
/// Errors  ManifestInvalid with fields `column` and `rule`.
[[nodiscard]] Result<Schema> parse_schema(std::string_view text);

/// What the verdict `lint` reports beyond the rules, for a valid schema. An author who names an
/// overload `mut_...` says that it writes: WRITES_UNSAID does not concern it.
[[nodiscard]] std::vector<SchemaIssue> lint_schema(const Schema& schema);

// ---- Families and versions -----------------------------------------------------------------

/// What the functional, in-place, out and mutable variants of one function have in common
/// (torchgen's `signature()`), as text: overload, in-place mark, out arguments, annotations, return
/// names and the run dtype, layout, device, pin_memory are stripped; what is written and not
/// returned becomes a return.
[[nodiscard]] std::string signature_of(const Schema& schema);

/// Checks that schemas are variants of one function. Gives one message per schema that differs from
/// the first one, saying where: "'add_.Tensor' differs from 'add.Tensor': ...". Defaults count, as
/// they do in torchgen.
[[nodiscard]] std::vector<std::string> check_family(std::span<const Schema> variants);

/// Whom a change hurts.
enum class SchemaAffected : std::uint8_t {
  kCallers,       ///< code that calls by the old schema: a call is refused, or means something else
  kImplementers,  ///< code that implements the old schema: a call by the new one does not fit it
};
[[nodiscard]] std::string_view name_of(SchemaAffected affected) noexcept;

/// One thing that a new version of a schema breaks.
struct SchemaBreak {
  SchemaAffected affected;
  std::string message;  ///< "argument 'alpha' has lost its default 1"
};

/// What breaks when `newer` takes the place of `older`; empty: nothing, in either direction. Names
/// and namespaces must be equal.
[[nodiscard]] std::vector<SchemaBreak> compare_schemas(const Schema& older, const Schema& newer);

// ---- Files ---------------------------------------------------------------------------------

/// The verdicts on a file of schemas, in the form of `tenon schema [--lint] FILE`.
struct SchemaFileReport {
  /// A line per schema, tab-separated: `ok`, kind, the schema printed back; or `error`, column,
  /// rule, message (of the leftmost mistake; with lint, findings of lint are mistakes).
  std::string text;
  std::size_t ok_count = 0;
  std::size_t error_count = 0;
};

/// Checks one schema a line. Blank lines are passed over; `- func: ` or `func: ` before a schema is
/// allowed, as in a native_functions.yaml, and counts for the column.
[[nodiscard]] SchemaFileReport check_schema_lines(std::string_view text, bool with_lint);

}  // namespace tenon
