// Names and literals in generated C and C++.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tenon::manifest {

[[nodiscard]] std::string upper_case(std::string_view text);
/// "has_weight" -> "HasWeight", "1d" -> "1d": words joined, each with a capital.
[[nodiscard]] std::string pascal_case(std::string_view text);
/// A string literal, quotes included; what is not ASCII is escaped.
[[nodiscard]] std::string c_string(std::string_view text);

/// Names of one scope, each given once; a second "M" becomes "M_".
class Names {
 public:
  std::string take(std::string name);

 private:
  std::vector<std::string> taken_;
};

}  // namespace tenon::manifest
