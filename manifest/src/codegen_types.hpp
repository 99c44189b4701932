// Parameter types of the manifest as C++ types.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/signature/plan_data.hpp"

namespace tenon::manifest {

/// A construction parameter in C++.
struct CppParam {
  std::string name;           ///< the member's
  std::string manifest_name;  ///< what the registry is told
  std::string type;           ///< "std::optional<double>"
  std::string default_text;   ///< "std::nullopt"; empty where it must be given
  std::string enum_type;      ///< "GeluFwdApproximate", or empty
  std::vector<std::string> enum_members;
  std::string comment;     ///< the manifest's type and default
  bool is_tensor = false;  ///< a construction-time tensor
};

/// The parameter `ordinal` of an op whose class is called `class_name`.
[[nodiscard]] CppParam cpp_param(const signature::PlanData& data,
                                 std::size_t ordinal,
                                 std::string_view class_name);

/// A value of that parameter as C++ writes it, inside namespace tenon::ops.
[[nodiscard]] std::string cpp_value(const signature::PlanData& data,
                                    std::size_t ordinal,
                                    std::string_view class_name,
                                    const Value& value);

/// "kRelu" of each member of an enum, in order.
[[nodiscard]] std::vector<std::string> enumerators(const std::vector<std::string>& members);

/// An enum class with its conversion to a Value.
[[nodiscard]] std::string enum_definition(const std::string& type,
                                          const std::vector<std::string>& members,
                                          std::string_view comment);

/// The structs of an algebraic type, its name for them together, and their conversions.
[[nodiscard]] std::string adt_definition(const signature::AdtType& type);

}  // namespace tenon::manifest
