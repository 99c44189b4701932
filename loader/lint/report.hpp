// What tenon-plugin-lint prints.
#pragma once

#include <string>
#include <vector>

#include "rules.hpp"

namespace tenon::lint {

/// A block of lines for each file, and a line that counts.
[[nodiscard]] std::string report_text(const std::vector<FileReport>& reports);
/// {schema, files: [{path, id, rules: [{rule, verdict, text, hint}]}], failed, reported}
[[nodiscard]] std::string report_json(const std::vector<FileReport>& reports);

}  // namespace tenon::lint
