// tenon plugins doctor: every check that a plugin file has to pass, its code run by child
// processes.
#include <charconv>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "child.hpp"
#include "doctor.hpp"
#include "files.hpp"
#include "json.hpp"
#include "run_commands.hpp"

namespace tenon::cli {
namespace {

Result<std::chrono::milliseconds> timeout_of(const Arguments& arguments) {
  const std::string text = arguments.value("timeout").value_or("30");
  int seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  constexpr int kMost = 3600;
  if (error != std::errc() || end != text.data() + text.size() || seconds < 1 || seconds > kMost) {
    return fail(ErrorCode::kUsageError,
                fmt::format("--timeout takes seconds from 1 to {}, found '{}'", kMost, text));
  }
  return std::chrono::seconds(seconds);
}

/// The words that configure a child as this command was configured.
std::vector<std::string> common_words(const Arguments& arguments) {
  std::vector<std::string> words;
  for (const char* option : {"config", "set-config", "plugin-path", "manifest"}) {
    for (const std::string& value : arguments.values(option)) {
      words.push_back(fmt::format("--{}={}", option, value));
    }
  }
  if (arguments.has("trust-config")) words.emplace_back("--trust-config");
  return words;
}

/// The files of every plugin that is found and neither shadowed nor disabled.
Result<std::vector<std::string>> all_files(const DoctorOptions& options) {
  std::vector<std::string> words{"plugins", "list", "--json"};
  words.insert(words.end(), options.common.begin(), options.common.end());
  ChildResult ran;
  TENON_TRY_ASSIGN(ran, run_child(this_program(), words, options.timeout));
  const Json listing = Json::parse(ran.out, nullptr, false);
  if (!listing.is_object() || !listing.contains("plugins")) {
    return fail(
        Error(ErrorCode::kInternal,
              fmt::format("'tenon plugins' ended with status {}: {}", ran.status, ran.err)));
  }
  std::vector<std::string> files;
  for (const Json& plugin : listing["plugins"]) {
    const std::string state = plugin.value("state", "");
    if (state != "shadowed" && state != "disabled") files.push_back(plugin.value("path", ""));
  }
  return files;
}

}  // namespace

Result<int> run_plugins_doctor(const Arguments& arguments, Console& console) {
  DoctorOptions options;
  TENON_TRY_ASSIGN(options.timeout, timeout_of(arguments));
  options.common = common_words(arguments);
  std::vector<std::string> files;
  if (arguments.operands().empty()) {
    TENON_TRY_ASSIGN(files, all_files(options));
  } else {
    const std::string& given = arguments.operands().front();
    TENON_TRY(open_file(given));
    std::error_code error;
    const auto path = std::filesystem::canonical(given, error);
    files.push_back(error ? given : path.string());
  }
  std::vector<Diagnosis> all;
  bool ok = true;
  for (const std::string& file : files) {
    all.push_back(diagnose(file, options));
    ok = ok && all.back().ok();
  }
  console.out(arguments.json() ? diagnosis_json(all) : diagnosis_text(all, console.out_style()));
  return ok ? kExitOk : kExitFailed;
}

}  // namespace tenon::cli
