// Examples of calls, made from an op's first workload case.
#pragma once

#include <string>

#include "tenon/manifest/codegen.hpp"

namespace tenon::manifest {

/// Code blocks that call the op: typed, by name, and by the command. Empty where the op has no
/// case.
[[nodiscard]] std::string examples(const OpSource& source);

}  // namespace tenon::manifest
