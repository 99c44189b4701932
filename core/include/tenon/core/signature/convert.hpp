// Conversion of given values by the types of parameters: defaults, constructor arguments, workload
// rows.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tenon/core/error.hpp"
#include "tenon/core/signature/plan_data.hpp"

namespace tenon::signature {

/// The value as the first member of the type that accepts it takes it. An ADT's invariant is
/// checked.
/// @errors SignatureMismatch: what was given, and what the type takes. The caller adds the
/// parameter's name.
[[nodiscard]] Result<Value> convert(const ParamType& type,
                                    std::string_view type_text,
                                    const PlanData& data,
                                    const Value& given);

/// The value as an ADT literal: a map with one key, `{masked: {max_m: 128}}`, or an AdtValue.
[[nodiscard]] Result<Value> convert_adt(const AdtType& type,
                                        const Pool& pool,
                                        const AdtValue& given);

}  // namespace tenon::signature
