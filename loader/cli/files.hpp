// Whole files as text.
#pragma once

#include <string>

#include "tenon/core/error.hpp"

namespace tenon::cli {

/// The contents of a file; `-` reads standard input. @errors UsageError with the system's reason.
[[nodiscard]] Result<std::string> read_text_file(const std::string& path);

}  // namespace tenon::cli
