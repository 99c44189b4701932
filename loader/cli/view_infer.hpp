// `tenon infer` as text and as JSON.
#pragma once

#include <string>

#include "console.hpp"
#include "tenon/core/op.hpp"
#include "tenon/core/plan.hpp"

namespace tenon::cli {

[[nodiscard]] std::string inferred_text(const OpDecl& decl,
                                        const Op::Inferred& inferred,
                                        const Style& style);
[[nodiscard]] std::string inferred_json(const OpDecl& decl, const Op::Inferred& inferred);

/// "7", "1..4096"
[[nodiscard]] std::string range_text(SizeRange range);
/// What holds for every call whose sizes lie in the ranges, and the conditions that some of them do
/// not meet.
[[nodiscard]] std::string inferred_text(const OpDecl& decl,
                                        const RangedOutputs& inferred,
                                        Device device,
                                        const Style& style);
[[nodiscard]] std::string inferred_json(const OpDecl& decl,
                                        const RangedOutputs& inferred,
                                        Device device);

}  // namespace tenon::cli
