// Log lines of the runtime as the command prints them, and the configuration that the command line
// names.
#include "log_lines.hpp"

#include <fmt/format.h>

#include "call_args.hpp"
#include "session.hpp"
#include "tenon/loader/printable.hpp"
#include "tenon/plugin.h"

namespace tenon::cli {

void print_log_line(Console& console,
                    int level,
                    std::string_view component,
                    std::string_view text) {
  const Style& style = console.err_style();
  std::string word = inked(level == TENON_LOG_DEBUG ? "debug:" : "note:", Ink::kDim, style);
  if (level == TENON_LOG_ERROR) word = inked("error:", Ink::kBad, style);
  if (level == TENON_LOG_WARN) word = inked("warning:", Ink::kWarn, style);
  const std::string line = loader::printable_line(text);
  console.err(component.empty() ? fmt::format("{} {}\n", word, line)
                                : fmt::format("{} {}: {}\n", word, component, line));
}

Result<loader::ConfigSources> config_sources(const Arguments& arguments) {
  loader::ConfigSources sources;
  sources.file = arguments.value("config");
  sources.is_command = true;
  sources.trust_config = arguments.has("trust-config");
  sources.settings_from = loader::Origin::kCommandLine;
  for (const std::string& text : arguments.values("set-config")) {
    auto setting = split_assignment("set-config", text);
    if (!setting) return fail(std::move(setting).error());
    sources.settings.push_back(std::move(*setting));
  }
  return sources;
}

}  // namespace tenon::cli
