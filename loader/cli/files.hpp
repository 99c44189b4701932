// Whole files as text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/error.hpp"
#include "tenon/loader/discovery.hpp"

namespace tenon::cli {

/// The contents of a regular file of at most 64 MiB; anything else might never end.
/// @errors UsageError with the system's reason, what it is instead, or its size.
[[nodiscard]] Result<std::string> read_text_file(const std::string& path);
/// The same of standard input. @errors UsageError
[[nodiscard]] Result<std::string> read_standard_input();

/// A regular file, open to be read; opening anything else might wait for ever.
/// @errors UsageError with the system's reason, or what it is instead.
[[nodiscard]] Result<loader::Descriptor> open_file(const std::string& path);

/// A result can be written to this path: its folder is there and may be written to, and the path is
/// no folder. @errors UsageError
[[nodiscard]] Result<void> require_place(const std::string& path, std::string_view what);

/// @errors UsageError: the first of the paths that is no file or folder that can be read.
[[nodiscard]] Result<void> require_paths(const std::vector<std::string>& paths,
                                         std::string_view what);

}  // namespace tenon::cli
