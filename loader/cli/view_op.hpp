// Words for what declarations hold, shared by the text and the JSON of one op.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/op_decl.hpp"
#include "tenon/core/registry.hpp"

namespace tenon::cli {

/// "input", "output", "construction"
[[nodiscard]] std::string_view name_of(TensorRole role);
/// "in", "out", "inout", "temporary" for an argument of an interface.
[[nodiscard]] std::string_view role_name(const InterfaceArgDecl& arg);
/// "dense", "inner", ...
[[nodiscard]] std::string_view layout_name(std::uint32_t layout);
/// Layouts that a kernel type takes, dense first.
[[nodiscard]] std::vector<std::string> layouts_of(const KernelType& type);
/// Flags by name: "general", "reference", ...
[[nodiscard]] std::vector<std::string> flags_of(const KernelType& type);
/// Dtypes by their short names; empty for whatever the contract has.
[[nodiscard]] std::vector<std::string> dtypes_of(const DTypeSet& set);
[[nodiscard]] std::vector<std::string> names_of(const std::vector<DeviceKind>& kinds);
/// "optional if cond", "written", ...: what is special about a tensor.
[[nodiscard]] std::vector<std::string> effects_of(const TensorDecl& tensor);
/// "0123456789abcdef"
[[nodiscard]] std::string hash_text(std::uint64_t hash);

}  // namespace tenon::cli
