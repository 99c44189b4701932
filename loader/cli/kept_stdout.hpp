// The command's own standard output, out of reach of what plugins and their libraries print.
#pragma once

#include <cstdio>

namespace tenon::cli {

/// Keeps what descriptor 1 is under another number, and makes 1 another name of stderr: data that
/// the command writes stay whole, whatever else in the process prints. Once, before any plugin is
/// loaded. Returns the stream of the kept descriptor, or `stdout` where there is none to keep.
[[nodiscard]] std::FILE* keep_stdout();
/// The kept descriptor, for programs that stand for this command; 1 where none was kept.
[[nodiscard]] int kept_stdout();

}  // namespace tenon::cli
