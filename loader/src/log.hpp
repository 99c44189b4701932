// Where log lines go when the application takes none itself.
#pragma once

#include <string>

#include "tenon/core/engine.hpp"

namespace tenon::loader {

/// A sink for lines up to `level` (TENON_LOG_*): appended to a file, or to stderr where `file` is
/// empty.
/// @errors ConfigInvalid: the file cannot be opened.
[[nodiscard]] Result<LogSink> make_log_sink(int level, const std::string& file);

}  // namespace tenon::loader
