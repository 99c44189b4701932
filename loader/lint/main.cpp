// The entry of the `tenon-plugin-lint` executable.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report.hpp"
#include "rules.hpp"

namespace {

constexpr std::string_view kHelp =
    R"(Checks finished plugin files before they are shipped; runs none of their code.

Usage: tenon-plugin-lint [--json] [--beside PATH]... PATH...
  PATH            a plugin file, or a folder: every NAME.tenon.so in it
  --beside PATH   plugins that will be installed, too: only clashes with them are looked for
  --json          the report as JSON
Exit status: 0 nothing failed, 1 something failed, 2 wrong usage.

failed:   identity, exports, unique-symbols, undefined-symbols, library-clash, text-relocations,
          run-path, baseline-code (code in constructors that the first x86-64 does not have)
reported: static-tls, static-constructors, device-code (against the archs that the note lists)

Examples:
  tenon-plugin-lint build/acme.tenon.so
  tenon-plugin-lint --json --beside /usr/lib/tenon/plugins build/acme.tenon.so
)";

struct Arguments {
  bool json = false;
  bool help = false;
  std::vector<std::string> files;
  std::vector<std::string> beside;
};

/// The file, or the plugins of the folder in byte order. False: there is nothing at the path.
bool add_path(const std::string& path, std::vector<std::string>& files) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return false;
  if (!std::filesystem::is_directory(path, error)) {
    files.push_back(path);
    return true;
  }
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    if (entry.path().string().ends_with(".tenon.so")) found.push_back(entry.path().string());
  }
  std::sort(found.begin(), found.end());
  files.insert(files.end(), found.begin(), found.end());
  return true;
}

/// Nothing where the words make no command line; `problem` says why.
std::optional<Arguments> parse(const std::vector<std::string>& words, std::string& problem) {
  Arguments arguments;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool beside = word == "--beside";
    if (beside && ++i == words.size()) {
      problem = "--beside needs a path";
      return std::nullopt;
    }
    if (word == "--json") {
      arguments.json = true;
    } else if (word == "-h" || word == "--help") {
      arguments.help = true;
    } else if (!beside && word.starts_with("-")) {
      problem = "unknown option " + word;
      return std::nullopt;
    } else if (!add_path(words[i], beside ? arguments.beside : arguments.files)) {
      problem = words[i] + ": there is no such file";
      return std::nullopt;
    }
  }
  if (arguments.files.empty() && !arguments.help) {
    problem = "no plugin file was given, or none is in the folder";
    return std::nullopt;
  }
  return arguments;
}

/// The exit status: a full disk or a closed pipe loses data, and that is no success.
int print(std::string_view text) {
  const bool whole = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (whole && std::fflush(stdout) == 0) return 0;
  std::fputs("tenon-plugin-lint: the output could not be written whole\n", stderr);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::string problem;
  const auto arguments =
      parse(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc), problem);
  if (!arguments) {
    std::fputs(("tenon-plugin-lint: " + problem + "; see --help\n").c_str(), stderr);
    return 2;
  }
  if (arguments->help) return print(kHelp);
  const auto reports = tenon::lint::lint(arguments->files, arguments->beside);
  const bool failed = std::any_of(
      reports.begin(), reports.end(), [](const auto& report) { return report.failed(); });
  const int status = print(arguments->json ? tenon::lint::report_json(reports)
                                           : tenon::lint::report_text(reports));
  return status != 0 || failed ? 1 : 0;
}
