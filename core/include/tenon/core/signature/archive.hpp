// Plan data as bytes: what generated source holds instead of YAML.
#pragma once

#include <string>
#include <string_view>

#include "tenon/core/error.hpp"
#include "tenon/core/signature/plan_data.hpp"

namespace tenon::signature {

/// The same bytes for equal data, on every machine.
[[nodiscard]] std::string write_plan(const PlanData& data);

/// @errors ManifestInvalid where the bytes are cut, of another format, or name what is not there.
/// Never reads outside.
[[nodiscard]] Result<PlanData> read_plan(std::string_view bytes);

}  // namespace tenon::signature
