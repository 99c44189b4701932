// What the emitters of the typed C++ API share: an entry in the terms of C++.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "codegen_types.hpp"
#include "cpp_text.hpp"
#include "tenon/manifest/codegen.hpp"

namespace tenon::manifest {

/// How a call returns its outputs.
enum class Returns : std::uint8_t { kNothing, kTensor, kOptionalTensor, kStruct };

/// One formal of a generated function.
struct Formal {
  std::string type;
  std::string name;
  std::string default_text;  ///< empty: none
};

/// "head(formals) {", one formal a line where they do not fit on one.
[[nodiscard]] std::string signature_text(std::string head,
                                         const std::vector<Formal>& formals,
                                         std::size_t indent);
/// "x, weight"
[[nodiscard]] std::string names_of(const std::vector<Formal>& formals);
/// Defaults may only stand at the end.
[[nodiscard]] std::vector<Formal> without_defaults(std::vector<Formal> formals);

/// An entry as the generated header has it.
struct TypedShape {
  explicit TypedShape(const OpSource& source);

  const OpSource& source;
  const OpDecl& decl;
  std::string class_name;        ///< "RMSNormFwd"
  std::vector<CppParam> params;  ///< in constructor order
  std::vector<Formal> inputs;    ///< in manifest order
  Names names;                   ///< of the formals
  Formal device;                 ///< of a call that no tensor places
  Returns returns = Returns::kTensor;
  bool has_out = false;
  bool has_in_place = false;
  bool has_lists = false;
  bool no_device_input = false;

  /// @errors ManifestInvalid where two names would become one.
  [[nodiscard]] Result<void> check_names() const;

  [[nodiscard]] std::string params_type() const { return class_name + "Params"; }
  [[nodiscard]] bool has_construction_tensors() const { return !decl.construction_tensors.empty(); }
  [[nodiscard]] bool all_defaulted() const;
  [[nodiscard]] static bool is_list(const TensorDecl& output) {
    return output.list.has_value() || !output.list_count_text.empty();
  }
  [[nodiscard]] std::string result_type() const;
  /// A single output is the caller's `out`: it is given back as it came.
  [[nodiscard]] std::string out_result_type() const {
    return returns == Returns::kTensor ? "Result<TensorView>" : result_type();
  }
  [[nodiscard]] std::vector<Formal> call_formals() const;
  [[nodiscard]] std::vector<Formal> out_formals() const;
  /// The first input is memory that is written.
  [[nodiscard]] std::vector<Formal> in_place_formals() const;
};

/// The struct of parameters, that of outputs, and the class.
[[nodiscard]] std::string typed_class(const TypedShape& shape);
/// The free functions. `functions`: those that the headers have already, with their formals.
[[nodiscard]] std::string typed_functions(const TypedShape& shape,
                                          std::set<std::string>& functions);

}  // namespace tenon::manifest
