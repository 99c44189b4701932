// Texts about an op that generated headers and reference pages share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/manifest/codegen.hpp"

namespace tenon::manifest {

/// "T[*B, N]", or "T Mat[trans, M, N]" where a type family gives the shape.
[[nodiscard]] std::string type_text(const TensorDecl& tensor);
/// What else is declared of a tensor of any role, one fact each: "optional", "written".
[[nodiscard]] std::vector<std::string> facts_of(const TensorDecl& tensor);
/// Both, separated by commas.
[[nodiscard]] std::string tensor_text(const TensorDecl& tensor);
/// "float16, bfloat16 or float32".
[[nodiscard]] std::string dtypes_text(const std::vector<DType>& dtypes);
/// What a call needs of memory and places, one fact each.
[[nodiscard]] std::vector<std::string> memory_facts(const OpDecl& decl);
/// The comment block of an op's class.
[[nodiscard]] std::string doc_comment(const OpSource& source);

}  // namespace tenon::manifest
