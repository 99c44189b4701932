// The properties of the configuration's reader that hold for any text.
#include "config_one.hpp"

#include <map>
#include <sys/mman.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "tenon/loader/config.hpp"

namespace tenon::fuzz {
namespace {

using loader::Config;
using loader::Origin;

constexpr std::string_view kRest = "\n=====\n";

/// A file in memory that is written anew for each text.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(memfd_create("tenon.yaml", 0)) {}
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { close(descriptor_); }

  std::string write(std::string_view text) const {
    const bool whole =
        ftruncate(descriptor_, 0) == 0 &&
        pwrite(descriptor_, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
    return whole ? "/proc/self/fd/" + std::to_string(descriptor_) : "";
  }

 private:
  int descriptor_;
};

struct Input {
  loader::ConfigSources sources;
  std::map<std::string, std::string> variables;
};

Input split(std::string_view text, const MemoryFile& file) {
  Input input;
  const auto rest = text.find(kRest);
  input.sources.file = file.write(text.substr(0, rest));
  input.sources.system_folder = "/nowhere";
  if (rest == std::string_view::npos) return input;
  text.remove_prefix(rest + kRest.size());
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const auto equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string key(line.substr(0, equals));
    const std::string value(line.substr(equals + 1));
    // A variable that names another file would leave the text.
    if (key == "TENON_CONFIG") continue;
    if (key.starts_with("TENON_")) {
      input.variables[key] = value;
    } else {
      input.sources.settings.emplace_back(key, value);
    }
  }
  return input;
}

std::string broken_error(const Error& error) {
  if (error.code() != ErrorCode::kConfigInvalid && error.code() != ErrorCode::kUsageError) {
    return "an error of another code: " + error.to_string();
  }
  return error.message().empty() ? "an error without a text" : "";
}

std::string broken_setting(const loader::ConfigSetting& setting) {
  if (setting.key.empty()) return "a setting without a key";
  if (setting.from().empty() || setting.where().empty()) return "a setting from nowhere";
  if (setting.origin == Origin::kFile && setting.line == 0) {
    return "a setting of no line: " + setting.key;
  }
  if (setting.origin == Origin::kEnvironment && setting.variable.empty()) {
    return "a setting of no variable: " + setting.key;
  }
  return {};
}

std::string broken_config(const Config& config) {
  for (const auto& setting : config.settings()) {
    if (std::string broken = broken_setting(setting); !broken.empty()) return broken;
  }
  if (!nlohmann::json::accept(config.to_json())) return "the listing is no JSON";
  const int level = log_level(config);
  if (level < TENON_LOG_ERROR || level > TENON_LOG_DEBUG) return "a log level that is none";
  (void)engine_options(config);
  for (const auto& line : config.log()) {
    if (line.text.empty()) return "a log line without a text";
  }
  return {};
}

}  // namespace

std::string broken_config_property(std::string_view text) {
  static const MemoryFile kFile;
  const Input input = split(text, kFile);
  const auto environment = loader::Environment::of(input.variables);
  const auto config = Config::load(input.sources, environment);
  std::string broken = config ? broken_config(*config) : broken_error(config.error());
  if (!broken.empty()) return broken;
  const auto again = Config::load(input.sources, environment);
  if (again.has_value() != config.has_value()) return "the same text is taken once only";
  if (config && again->to_json() != config->to_json()) return "the same text gives other settings";
  if (!config && again.error().to_string() != config.error().to_string()) {
    return "the same text gives another error";
  }
  return {};
}

}  // namespace tenon::fuzz
