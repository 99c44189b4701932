// `tenon infer` as text and as JSON.
#pragma once

#include <string>

#include "console.hpp"
#include "tenon/core/op.hpp"

namespace tenon::cli {

[[nodiscard]] std::string inferred_text(const OpDecl& decl,
                                        const Op::Inferred& inferred,
                                        const Style& style);
[[nodiscard]] std::string inferred_json(const OpDecl& decl, const Op::Inferred& inferred);

}  // namespace tenon::cli
