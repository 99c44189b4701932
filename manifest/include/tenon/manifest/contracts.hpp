// Contract headers: what each interface passes to a kernel, as C data and as typed C++ on top of
// it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/error.hpp"
#include "tenon/core/op_decl.hpp"

namespace tenon::manifest {

/// A file to be written, by its path below an include folder.
struct GeneratedFile {
  std::string path;  ///< "tenon/contracts/norm.h"
  std::string contents;
};

/// One header for each family that has interfaces, sorted by path. The declarations are compiled
/// ones: their interfaces have fields and arguments with kinds, roles and dtypes.
///
/// In C: `tenon_contract_<interface>`, and TENON_<INTERFACE>_FIELD_<NAME> and ..._ARG_<NAME>, the
/// indices of fields and arguments. In C++ besides: `tenon::contracts::<interface>` with the struct
/// Call, an enum class for each enum field, and the argument indices as constants. Names that C++
/// reserves get a trailing '_'.
/// @errors ManifestInvalid where two names of one interface would become the same name in C++.
[[nodiscard]] Result<std::vector<GeneratedFile>> generate_contracts(
    std::span<const OpDecl* const> ops);

/// A manifest name as C++ can spell it: "do" -> "do_".
[[nodiscard]] std::string cpp_name(std::string_view name);

}  // namespace tenon::manifest
