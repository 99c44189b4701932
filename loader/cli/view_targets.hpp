// `tenon targets` as a table and as JSON.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "console.hpp"

namespace tenon::cli {

struct TargetRow {
  std::string name;
  bool is_builder = false;
  std::string plugin;  ///< owner of the builder target or of the kind; empty for `builtin`
  std::vector<std::string> kinds;
  std::vector<std::string> ops;     ///< that it serves
  bool serves_all = false;          ///< whatever has a kernel on its kinds
  std::vector<std::string> claims;  ///< devices that detection gives to it
};

[[nodiscard]] std::string targets_text(std::span<const TargetRow> targets, const Style& style);
[[nodiscard]] std::string targets_json(std::span<const TargetRow> targets);

}  // namespace tenon::cli
