// Finds tenon.yaml, reads it, and lays variables and the caller's settings over it.
#include "tenon/loader/config.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "config_keys.hpp"
#include "config_names.hpp"
#include "tenon/core/nearest.hpp"
#include "tenon/manifest/yaml.hpp"

namespace tenon::loader {
namespace fs = std::filesystem;

std::string_view name_of(Origin origin) noexcept {
  switch (origin) {
    case Origin::kDefault:
      return "default";
    case Origin::kFile:
      return "file";
    case Origin::kEnvironment:
      return "environment";
    case Origin::kCommandLine:
      return "command line";
    case Origin::kApi:
      return "api";
  }
  return "default";
}

std::string ConfigSetting::from() const {
  if (origin == Origin::kFile) return fmt::format("{}:{}", path, line);
  if (origin == Origin::kEnvironment) return variable;
  return std::string(name_of(origin));
}

std::string ConfigSetting::where() const {
  return origin == Origin::kFile ? fmt::format("{}:{}:{}", path, line, column) : from();
}

std::string variable_of(std::string_view key) {
  std::string name = "TENON_";
  for (char c : key) {
    name += c == '.' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  }
  return name;
}

/// Builds a Config layer by layer.
class ConfigLoader {
 public:
  ConfigLoader(const ConfigSources& sources, const Environment& environment)
      : sources_(sources), environment_(environment) {}

  Result<Config> run() {
    add_defaults();
    TENON_TRY(find_file());
    if (config_.file_) TENON_TRY(read_file(*config_.file_));
    TENON_TRY(read_environment());
    for (const auto& [key, text] : sources_.settings) TENON_TRY(read_setting(key, text));
    drop_what_is_not_trusted();
    add_unknown_variables(environment_, config_.log_);
    add_missing_places(config_, config_.log_);
    return std::move(config_);
  }

 private:
  void add_defaults();
  Result<void> find_file();
  bool look(const std::string& path, const std::string& from);
  Result<void> read_file(const std::string& path);
  void walk(const manifest::Node& map, std::vector<std::string>& segments);
  void read_leaf(const KeySpec& spec,
                 const std::vector<std::string>& segments,
                 const manifest::Node& name,
                 const manifest::Node& node);
  Result<void> read_environment();
  Result<void> read_setting(const std::string& key, const std::string& text);
  void drop_what_is_not_trusted();
  void reset(std::string_view key);
  void put(ConfigSetting setting);
  [[nodiscard]] Error unknown_key(std::span<const std::string> segments) const;
  void complain(Error error, const manifest::Node& at) {
    errors_.push_back(
        std::move(error).with_where(fmt::format("{}:{}:{}", *config_.file_, at.line, at.column)));
  }

  const ConfigSources& sources_;
  const Environment& environment_;
  Config config_;
  std::vector<Error> errors_;
  bool from_working_folder_ = false;
};

void ConfigLoader::put(ConfigSetting setting) {
  if (ConfigSetting* old = config_.find(setting.key)) {
    *old = std::move(setting);
  } else {
    config_.settings_.push_back(std::move(setting));
  }
}

void ConfigLoader::add_defaults() {
  for (const KeySpec& spec : key_table()) {
    if (spec.has_names()) continue;
    ConfigSetting setting;
    setting.key = spec.pattern;
    if (spec.is_list()) setting.value = Value::list({});
    if (!spec.default_text.empty()) {
      setting.value = check_text(spec, spec.pattern, spec.default_text).value_or(Value());
    }
    put(std::move(setting));
  }
  ConfigSetting& directory = *config_.find("caches.directory");
  if (auto cache = environment_.get("XDG_CACHE_HOME"); cache && cache->front() == '/') {
    directory.value = Value(*cache + "/tenon");
  } else if (auto home = environment_.get("HOME"); home && home->front() == '/') {
    // A service's user may have a home that is nowhere: it is not for us to make.
    std::error_code error;
    if (fs::is_directory(*home, error)) {
      directory.value = Value(*home + "/.cache/tenon");
    } else {
      config_.log_.push_back(
          {TENON_LOG_DEBUG,
           fmt::format("nothing is cached: there is no folder '{}' (HOME); caches.directory names "
                       "another one",
                       *home)});
    }
  }
}

bool ConfigLoader::look(const std::string& path, const std::string& from) {
  std::error_code error;
  const bool found = fs::exists(path, error);
  config_.looked_at_.push_back({path, from, found});
  if (found && !config_.file_) {
    const fs::path canonical = fs::canonical(path, error);
    config_.file_ = error ? path : canonical.string();
    return true;
  }
  return false;
}

Result<void> ConfigLoader::find_file() {
  const auto named = [&](const std::string& path, const std::string& from) -> Result<void> {
    if (look(path, from)) return {};
    return fail(Error(ErrorCode::kUsageError,
                      fmt::format("no configuration file '{}' (named by {})", path, from)));
  };
  const std::string api = sources_.is_command ? "command line" : "api";
  if (sources_.file) return named(*sources_.file, api);
  if (environment_.ignored("TENON_CONFIG")) {
    config_.log_.push_back(
        {TENON_LOG_WARN, "TENON_CONFIG is ignored: the process runs with raised privileges"});
  }
  if (auto file = environment_.get("TENON_CONFIG")) return named(*file, "TENON_CONFIG");
  if (sources_.is_command && !environment_.secure() && look("./tenon.yaml", "working folder")) {
    from_working_folder_ = true;
    config_.log_.push_back(
        {TENON_LOG_WARN, fmt::format("using '{}' of the working folder", *config_.file_)});
  }
  if (auto folder = environment_.get("XDG_CONFIG_HOME"); folder && folder->front() == '/') {
    (void)look(*folder + "/tenon/tenon.yaml", "user folder");
  } else if (auto home = environment_.get("HOME"); home && home->front() == '/') {
    (void)look(*home + "/.config/tenon/tenon.yaml", "user folder");
  }
  if (!sources_.system_folder.empty()) {
    (void)look(sources_.system_folder + "/tenon.yaml", "system folder");
  }
  return {};
}

Result<void> ConfigLoader::read_file(const std::string& path) {
  constexpr std::uintmax_t kMaxBytes = 1u << 20;
  std::error_code error;
  const auto cannot = [&](std::string_view why) {
    return fail(Error(ErrorCode::kUsageError,
                      fmt::format("configuration file '{}' cannot be read: {}", path, why)));
  };
  if (!fs::is_regular_file(path, error)) return cannot("not a regular file");
  if (fs::file_size(path, error) > kMaxBytes) return cannot("it has more than 1 MiB");
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  if (in && fs::file_size(path, error) != 0) text << in.rdbuf();
  if (!in || !text) {
    return cannot(std::strerror(errno));
  }
  manifest::DiagnosticList diagnostics;
  const auto root = manifest::parse_yaml(path, text.str(), diagnostics);
  diagnostics.finish();
  for (const manifest::Diagnostic& found : diagnostics) {
    if (found.severity != manifest::Severity::kError) continue;
    errors_.push_back(Error(ErrorCode::kConfigInvalid, found.text)
                          .with_hint(found.hint)
                          .with_where(found.where.to_string()));
  }
  std::vector<std::string> segments;
  if (root && root->is_map()) {
    walk(*root, segments);
  } else if (root && !root->is_null()) {
    complain(Error(ErrorCode::kConfigInvalid,
                   fmt::format("a configuration is a map of keys, found {}", root->describe())),
             *root);
  }
  if (errors_.empty()) return {};
  Error first = std::move(errors_.front());
  if (errors_.size() > 1) {
    std::string more;
    for (std::size_t i = 1; i < errors_.size(); ++i) more += "\n" + errors_[i].to_string();
    first.add("more", more.substr(1));
  }
  return fail(std::move(first));
}

Error ConfigLoader::unknown_key(std::span<const std::string> segments) const {
  // The longest beginning that the table knows tells what could have stood behind it.
  std::size_t known = segments.size() - 1;
  while (known > 0 && names_behind(segments.first(known)).empty()) --known;
  std::vector<std::string> names = names_behind(segments.first(known));
  std::erase(names, "*");
  std::sort(names.begin(), names.end());
  Error error(ErrorCode::kConfigInvalid, fmt::format("unknown key '{}'", join_key(segments)));
  std::string hint = did_you_mean(segments[known], names);
  if (hint.empty() && !names.empty()) {
    hint = fmt::format("known {}: {}",
                       known == 0 ? "keys" : "keys of '" + join_key(segments.first(known)) + "'",
                       fmt::join(names, ", "));
  }
  error.with_hint(std::move(hint));
  return error;
}

void ConfigLoader::walk(const manifest::Node& map, std::vector<std::string>& segments) {
  for (std::size_t i = 0; i < map.size(); ++i) {
    const manifest::Node& name = map.key(i);
    const manifest::Node& node = map.mapped(i);
    segments.push_back(name.text);
    if (const KeySpec* spec = find_key(segments)) {
      read_leaf(*spec, segments, name, node);
    } else if (!name.is_scalar() || name.text.empty() || names_behind(segments).empty()) {
      complain(unknown_key(segments), name);
    } else if (node.is_map()) {
      walk(node, segments);  // no deeper than the table's longest key
    } else if (!node.is_null()) {
      complain(
          Error(ErrorCode::kConfigInvalid,
                fmt::format(
                    "{} must be a map of keys, found {}", join_key(segments), node.describe())),
          node);
    }
    segments.pop_back();
  }
}

void ConfigLoader::read_leaf(const KeySpec& spec,
                             const std::vector<std::string>& segments,
                             const manifest::Node& name,
                             const manifest::Node& node) {
  ConfigSetting setting;
  setting.key = join_key(segments);
  auto value = check_value(spec, setting.key, node);
  if (!value) return complain(std::move(value).error(), node);
  const fs::path folder = fs::path(*config_.file_).parent_path();
  const auto absolute = [&](const std::string& path) {
    return (folder / path).lexically_normal().string();
  };
  if (spec.kind == KeyKind::kPath) value = Value(absolute(node.text));
  if (spec.kind == KeyKind::kPaths) {
    std::vector<Value> paths;
    for (const manifest::Node& item : node.items) {
      // A word, not a path: the ops that are linked in.
      const bool word = spec.pattern == "manifest.paths" && item.text == kShipped;
      paths.emplace_back(word ? item.text : absolute(item.text));
    }
    value = Value::list(std::move(paths));
  }
  setting.value = std::move(*value);
  setting.origin = Origin::kFile;
  setting.path = *config_.file_;
  setting.line = name.line;
  setting.column = name.column;
  put(std::move(setting));
}

Result<void> ConfigLoader::read_environment() {
  for (const KeySpec& spec : key_table()) {
    if (!spec.has_variable()) continue;
    const std::string variable = variable_of(spec.pattern);
    if (environment_.ignored(variable)) {
      config_.log_.push_back(
          {TENON_LOG_WARN,
           fmt::format("{} is ignored: the process runs with raised privileges", variable)});
    }
    // A list may be empty, and that says something.
    const auto text = spec.is_list() ? environment_.given(variable) : environment_.get(variable);
    if (!text) continue;
    auto value = check_text(spec, spec.pattern, *text);
    if (!value) return fail(std::move(value).error().with_where(variable));
    ConfigSetting setting;
    setting.key = spec.pattern;
    setting.value = std::move(*value);
    setting.origin = Origin::kEnvironment;
    setting.variable = variable;
    put(std::move(setting));
  }
  return {};
}

Result<void> ConfigLoader::read_setting(const std::string& key, const std::string& text) {
  const std::string where(name_of(sources_.settings_from));
  const std::vector<std::string> segments = split_key(key);
  const KeySpec* spec = find_key(segments);
  if (spec == nullptr) return fail(unknown_key(segments).with_where(where));
  auto value = check_text(*spec, key, text);
  if (!value) return fail(std::move(value).error().with_where(where));
  ConfigSetting setting;
  setting.key = key;
  setting.value = std::move(*value);
  setting.origin = sources_.settings_from;
  put(std::move(setting));
  return {};
}

void ConfigLoader::reset(std::string_view key) {
  ConfigSetting& setting = *config_.find(key);
  const bool list = setting.value.get_if<ValueList>() != nullptr;
  ConfigSetting plain;
  plain.key = key;
  plain.value = list ? Value::list({}) : Value(false);
  setting = std::move(plain);
}

void ConfigLoader::drop_what_is_not_trusted() {
  const auto from_file = [&](std::string_view key) {
    const ConfigSetting& setting = config_.get(key);
    return setting.origin == Origin::kFile;
  };
  if (from_working_folder_ && !sources_.trust_config) {
    for (const char* key : {"plugins.paths", "plugins.allow_insecure"}) {
      if (!from_file(key)) continue;
      config_.log_.push_back({TENON_LOG_WARN,
                              fmt::format("{} ({}) is ignored: the file lies in the "
                                          "working folder; --trust-config takes it",
                                          key,
                                          config_.get(key).from())});
      reset(key);
    }
  }
  // Who can write the file could otherwise switch off the test that keeps his plugins out.
  if (!from_file("plugins.allow_insecure") || !config_.flag("plugins.allow_insecure")) return;
  const fs::path file = *config_.file_;
  for (const std::string& each : {file.string(), file.parent_path().string()}) {
    const auto fault = distrust(each, geteuid());
    if (!fault) continue;
    config_.log_.push_back({TENON_LOG_WARN,
                            fmt::format("plugins.allow_insecure ({}) is ignored: {}",
                                        config_.get("plugins.allow_insecure").from(),
                                        *fault)});
    return reset("plugins.allow_insecure");
  }
}

Result<Config> Config::load(const ConfigSources& sources, const Environment& environment) {
  return ConfigLoader(sources, environment).run();
}

ConfigSetting* Config::find(std::string_view key) {
  const auto found = std::find_if(
      settings_.begin(), settings_.end(), [&](const ConfigSetting& s) { return s.key == key; });
  return found == settings_.end() ? nullptr : &*found;
}

const ConfigSetting& Config::get(std::string_view key) const {
  static const ConfigSetting kNone;
  const auto found = std::find_if(
      settings_.begin(), settings_.end(), [&](const ConfigSetting& s) { return s.key == key; });
  return found == settings_.end() ? kNone : *found;
}

std::string Config::text(std::string_view key) const {
  const auto* value = get(key).value.get_if<std::string>();
  return value == nullptr ? std::string() : *value;
}

bool Config::flag(std::string_view key) const {
  const auto* value = get(key).value.get_if<bool>();
  return value != nullptr && *value;
}

std::int64_t Config::number(std::string_view key) const {
  const auto* value = get(key).value.get_if<std::int64_t>();
  return value == nullptr ? 0 : *value;
}

std::vector<std::string> Config::texts(std::string_view key) const {
  std::vector<std::string> texts;
  if (const auto* list = get(key).value.get_if<ValueList>()) {
    for (const Value& item : list->items) {
      if (const auto* text = item.get_if<std::string>()) texts.push_back(*text);
    }
  }
  return texts;
}

std::vector<const ConfigSetting*> Config::under(std::string_view prefix) const {
  std::vector<const ConfigSetting*> found;
  for (const ConfigSetting& setting : settings_) {
    if (setting.key.starts_with(prefix)) found.push_back(&setting);
  }
  std::sort(found.begin(), found.end(), [](const ConfigSetting* a, const ConfigSetting* b) {
    return a->key < b->key;
  });
  return found;
}

}  // namespace tenon::loader
