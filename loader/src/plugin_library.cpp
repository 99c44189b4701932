// The plugins of this process: each mapped and started once, enumerated once per Runtime.
#include "tenon/loader/plugin_library.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <tuple>

#include <fmt/format.h>

#include "once_state.hpp"
#include "plugin_host.hpp"
#include "shared_object.hpp"
#include "tenon/core/floating_environment.hpp"
#include "tenon/core/nearest.hpp"
#include "tenon/core/plugin_calls.hpp"
#include "tenon/loader/abi_version.hpp"
#include "tenon/loader/printable.hpp"

namespace tenon::loader {
namespace {

std::string_view view_of(tenon_str text) {
  return text.size_bytes == 0 ? std::string_view() : std::string_view(text.data, text.size_bytes);
}

tl::unexpected<PluginFault> refuse(tenon_status code, std::string text) {
  return tl::unexpected(PluginFault{PluginStage::kValidate, code, std::move(text)});
}

/// Calls a plugin's function; an exception becomes a status and a text, since foreign code may be
/// built in any way.
template <class F>
tenon_status guarded(F&& call, std::string& thrown) {
  try {
    return call();
  } catch (const std::exception& error) {
    thrown = fmt::format("threw an exception: {}", printable_line(error.what()));
  } catch (...) {
    thrown = "threw an exception of an unknown kind";
  }
  return TENON_INTERNAL;
}

tenon_reason empty_reason() {
  tenon_reason reason{};
  reason.struct_size = sizeof reason;
  reason.arg_index = -1;
  return reason;
}

/// What a failed function has to say for itself; never empty.
std::string account(std::string_view function,
                    std::string_view id,
                    tenon_status status,
                    const tenon_reason& reason,
                    const std::string& thrown) {
  if (!thrown.empty()) return fmt::format("{} of plugin '{}' {}", function, id, thrown);
  const std::string_view text(reason.text, strnlen(reason.text, sizeof reason.text));
  if (text.empty() || !is_utf8(text)) {
    return fmt::format(
        "{} of plugin '{}' failed with {} and gave no reason", function, id, status_name(status));
  }
  return fmt::format("{} of plugin '{}' failed with {}: {}",
                     function,
                     id,
                     status_name(status),
                     printable_line(text));
}

/// REFUSED means something only from `refuse`, and what is no status is an internal error.
tenon_status as_error(tenon_status status) {
  return status < TENON_OK && status >= TENON_INTERNAL ? status : TENON_INTERNAL;
}

Value default_of(const tenon_option& option) {
  const tenon_value& value = option.default_value;
  switch (option.kind) {
    case TENON_VALUE_BOOL:
      return value.i != 0;
    case TENON_VALUE_INT:
      return value.i;
    case TENON_VALUE_FLOAT:
      return value.f;
    default:
      return std::string(static_cast<const char*>(value.data),
                         value.data == nullptr ? 0 : value.count);
  }
}

/// The value as the option's kind wants it, or nothing.
std::optional<Value> fit(const tenon_option& option, const Value& value) {
  const bool good = (option.kind == TENON_VALUE_BOOL && value.get_if<bool>() != nullptr) ||
                    (option.kind == TENON_VALUE_INT && value.get_if<std::int64_t>() != nullptr) ||
                    (option.kind == TENON_VALUE_FLOAT && value.get_if<double>() != nullptr) ||
                    (option.kind == TENON_VALUE_STR && value.get_if<std::string>() != nullptr);
  if (good) return value;
  if (option.kind == TENON_VALUE_FLOAT) {
    if (const auto* number = value.get_if<std::int64_t>()) return static_cast<double>(*number);
  }
  return std::nullopt;
}

std::string_view option_kind_name(std::uint32_t kind) {
  switch (kind) {
    case TENON_VALUE_BOOL:
      return "true or false";
    case TENON_VALUE_INT:
      return "an integer";
    case TENON_VALUE_FLOAT:
      return "a number";
    default:
      return "a text";
  }
}

class Plugin final : public LoadedPlugin {
 public:
  Plugin(const tenon_plugin& table, std::string path, std::string build_id, std::string build)
      : table_(table), host_(std::string(view_of(table.id))), build_(std::move(build)) {
    info_.id = view_of(table.id);
    info_.version = view_of(table.version);
    info_.vendor = printable_line(view_of(table.vendor));
    info_.path = std::move(path);
    info_.build_id = std::move(build_id);
    info_.host = host_.table();
  }

  [[nodiscard]] const PluginInfo& info() const override { return info_; }
  [[nodiscard]] const tenon_plugin& table() const override { return table_; }
  [[nodiscard]] std::string_view manifest() const override { return view_of(table_.manifest); }
  Result<void> set_options(const std::vector<OptionSetting>& settings,
                           std::vector<LogLine>& log) override;
  FileResult<void> start(const std::shared_ptr<Engine>& engine,
                         const std::string& cache_directory) override;
  FileResult<void> enumerate(const PluginTransaction& transaction) override;
  void shut_down();
  /// Its constructors changed the floating-point environment: told when there is a log.
  void changes_when_loaded() { changes_when_loaded_ = true; }
  /// Warns of a change of the floating-point environment that was put back; once.
  void warn_of_change(std::string_view when);

 private:
  FileResult<void> init();

  tenon_plugin table_;
  PluginInfo info_;
  PluginHost host_;
  std::string build_;  // what keys its cache
  void* self_ = nullptr;
  bool changes_when_loaded_ = false;
  std::atomic<bool> warned_of_change_{false};
  std::mutex options_mutex_;
  std::optional<std::map<std::string, Value>> options_;
  OnceState<FileResult<void>> started_;
  TurnState enumerating_;
};

void told_of_change(std::string_view id, const char* function) noexcept;

/// Everything that lives as long as the process. Leaked on purpose: plugins may run until the end.
struct Process {
  Process() { watch_floating_changes(told_of_change); }
  using FileKey = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::int64_t>;
  std::mutex mutex;  // guards the tables, never a call into a plugin
  std::map<FileKey, OnceState<FileResult<LoadedPlugin*>>> files;
  std::map<std::pair<std::uint64_t, std::uint64_t>, FileIdentity> mapped;  // by device and inode
  std::map<std::string, std::vector<FileIdentity>> at_path;  // in the order of loading
  std::vector<const Plugin*> loaded;
  std::map<const tenon_plugin*, OnceState<FileResult<LoadedPlugin*>>> statics;
  std::vector<const tenon_plugin*> registered;
  std::vector<Plugin*> started;
  std::atomic<bool> shut_down{false};
};

Process& process() {
  static auto* const kProcess = new Process();
  return *kProcess;
}

/// Finds the plugin by its id, the one that was started last where there are several.
void told_of_change(std::string_view id, const char* function) noexcept {
  try {
    Plugin* plugin = nullptr;
    {
      const std::lock_guard lock(process().mutex);
      for (Plugin* each : process().started) {
        if (each->info().id == id) plugin = each;
      }
    }
    if (plugin != nullptr) plugin->warn_of_change(fmt::format("in {}", function));
  } catch (...) {  // a log line is not worth a crash; there is nobody to tell
  }
}

void Plugin::warn_of_change(std::string_view when) {
  if (warned_of_change_.exchange(true)) return;
  host_.log(TENON_LOG_WARN,
            fmt::format("plugin '{}' changes the floating-point environment {} (built with "
                        "-ffast-math?); it was restored",
                        info_.id,
                        when));
}

Result<void> Plugin::set_options(const std::vector<OptionSetting>& settings,
                                 std::vector<LogLine>& log) {
  std::map<std::string, Value> values;
  std::vector<std::string> names;
  for (std::uint64_t i = 0; i < table_.n_options; ++i) {
    names.emplace_back(view_of(table_.options[i].name));
    values[names.back()] = default_of(table_.options[i]);
  }
  for (const OptionSetting& setting : settings) {
    const auto at = std::find(names.begin(), names.end(), setting.name);
    if (at == names.end()) {
      std::string hint = names.empty() ? "it declares none"
                                       : fmt::format("its options: {}", fmt::join(names, ", "));
      if (const auto near = did_you_mean(setting.name, names); !near.empty()) hint += "; " + near;
      return fail(Error(ErrorCode::kConfigInvalid,
                        fmt::format("plugin '{}' has no option '{}'", info_.id, setting.name))
                      .with_where(setting.where)
                      .with_hint(std::move(hint)));
    }
    const tenon_option& option = table_.options[at - names.begin()];
    const auto value = fit(option, setting.value);
    if (!value) {
      return fail(Error(ErrorCode::kConfigInvalid,
                        fmt::format("option '{}' of plugin '{}' must be {}, found {}",
                                    setting.name,
                                    info_.id,
                                    option_kind_name(option.kind),
                                    setting.value.to_string()))
                      .with_where(setting.where));
    }
    values[setting.name] = *value;
  }
  const std::lock_guard lock(options_mutex_);
  if (options_ && *options_ != values) {
    log.push_back({TENON_LOG_WARN,
                   fmt::format("plugin '{}' keeps the options that it was started with in this "
                               "process; other values take effect in a new process",
                               info_.id)});
    return {};
  }
  if (!options_) {
    for (const auto& [name, value] : values) host_.set_option(name, value);
    options_ = std::move(values);
  }
  return {};
}

FileResult<void> Plugin::start(const std::shared_ptr<Engine>& engine,
                               const std::string& cache_directory) {
  host_.attach(engine);
  host_.use_cache(cache_directory, build_);
  if (changes_when_loaded_) warn_of_change("when it is loaded");
  return started_.run([this] { return init(); },
                      refuse(TENON_INTERNAL, "its init made a Runtime that would start it again"));
}

FileResult<void> Plugin::init() {
  tenon_reason reason = empty_reason();
  std::string thrown;
  const FloatingEnvironment floating;
  const PluginCall plugin_call("init", info_.id);
  const tenon_status status =
      guarded([&] { return table_.init(host_.table(), &self_, &reason); }, thrown);
  if (floating.restore()) warn_of_change("in init");
  if (status != TENON_OK) {
    return refuse(as_error(status), account("init", info_.id, as_error(status), reason, thrown));
  }
  const std::lock_guard lock(process().mutex);
  process().started.push_back(this);
  return {};
}

FileResult<void> Plugin::enumerate(const PluginTransaction& transaction) {
  return enumerating_.run(
      [&]() -> FileResult<void> {
        tenon_reason reason = empty_reason();
        std::string thrown;
        const FloatingEnvironment floating;
        const PluginCall plugin_call("enumerate", info_.id);
        const tenon_status status = guarded(
            [&] { return table_.enumerate(self_, transaction.registrar(), &reason); }, thrown);
        if (floating.restore()) warn_of_change("in enumerate");
        if (status == TENON_OK) return {};
        return refuse(as_error(status),
                      account("enumerate", info_.id, as_error(status), reason, thrown));
      },
      refuse(TENON_INTERNAL, "its enumerate made a Runtime that would enumerate it again"));
}

void Plugin::shut_down() {
  if (table_.shutdown != nullptr) {
    const FloatingEnvironment floating;
    const PluginCall plugin_call("shutdown", info_.id);
    std::string thrown;
    (void)guarded(
        [this] {
          table_.shutdown(self_);
          return TENON_OK;
        },
        thrown);
    if (!thrown.empty()) {
      host_.log(TENON_LOG_WARN, fmt::format("shutdown of plugin '{}' {}", info_.id, thrown));
    }
  }
  host_.close();
}

/// Notes which file is mapped from now on. The dynamic linker knows a file by its inode, and would
/// hand out the old code under the new file's name.
FileResult<void> claim_inode(const FileIdentity& identity) {
  const std::lock_guard lock(process().mutex);
  const auto [at, added] =
      process().mapped.try_emplace({identity.device, identity.inode}, identity);
  if (added || at->second == identity) return {};
  return tl::unexpected(PluginFault{
      PluginStage::kLoad,
      TENON_INCOMPATIBLE,
      "the file was overwritten in place after this process had loaded it, so its old code is "
      "still in memory; start a new process, and install new versions under a new inode (mv)"});
}

/// The name under which the dynamic linker opens the file and no other: it compares names before
/// inodes, and would hand out what it once loaded from the same path.
std::string name_for_linker(const std::string& path, const FileIdentity& identity) {
  const std::lock_guard lock(process().mutex);
  std::vector<FileIdentity>& before = process().at_path[path];
  auto at = std::find(before.begin(), before.end(), identity);
  if (at == before.end()) at = before.insert(before.end(), identity);
  std::string name = path;
  for (auto each = before.begin(); each != at; ++each) name.insert(name.rfind('/') + 1, "./");
  return name;
}

FileResult<LoadedPlugin*> map_file(const FoundFile& file) {
  const std::string& path = file.record.path;
  if (auto ok = claim_inode(file.identity); !ok) return tl::unexpected(std::move(ok).error());
  // Its constructors run here, and those of the libraries that it needs.
  const FloatingEnvironment floating;
  auto object = map_and_find(name_for_linker(path, file.identity), TENON_PLUGIN_SYMBOL);
  const bool changed = floating.restore();
  if (!object) {
    if (object.error().code != TENON_NOT_FOUND) {  // else it is mapped and lacks the symbol
      const std::lock_guard lock(process().mutex);
      process().mapped.erase({file.identity.device, file.identity.inode});
    }
    return tl::unexpected(std::move(object).error());
  }
  if (identify(path) != file.identity) {
    return tl::unexpected(PluginFault{
        PluginStage::kLoad,
        TENON_IO,
        "the file was replaced while it was loaded; what was mapped is not what was vetted"});
  }
  auto table = normalise_plugin(
      static_cast<const tenon_plugin*>(object->symbol), &*file.elf.note, &object->image);
  if (!table) return tl::unexpected(std::move(table).error());
  std::string build = file.elf.build_id;
  if (build.empty()) {  // nothing better tells two builds apart then
    build = fmt::format(
        "{}-{}-{}", file.record.version, file.identity.size_bytes, file.identity.modified_ns);
  }
  auto* plugin = new Plugin(*table, path, file.elf.build_id, std::move(build));
  if (changed) plugin->changes_when_loaded();
  const std::lock_guard lock(process().mutex);
  process().loaded.push_back(plugin);
  return plugin;
}

}  // namespace

FileResult<LoadedPlugin*> load_file(const FoundFile& file,
                                    const std::function<FileResult<void>()>& before) {
  const FileIdentity& id = file.identity;
  OnceState<FileResult<LoadedPlugin*>>* once = nullptr;
  {
    const std::lock_guard lock(process().mutex);
    once = &process().files[{id.device, id.inode, id.size_bytes, id.modified_ns}];
  }
  // A failure is no reason not to try again: a missing dependency may be there the next time.
  return once->run(
      [&]() -> FileResult<LoadedPlugin*> {
        if (before) {
          if (auto ok = before(); !ok) return tl::unexpected(std::move(ok).error());
        }
        return map_file(file);
      },
      tl::unexpected(PluginFault{
          PluginStage::kLoad, TENON_INTERNAL, "its constructors made a Runtime that loads it"}),
      /*keep_failure=*/false);
}

FileResult<LoadedPlugin*> load_static(const tenon_plugin* plugin) {
  OnceState<FileResult<LoadedPlugin*>>* once = nullptr;
  {
    const std::lock_guard lock(process().mutex);
    once = &process().statics[plugin];
  }
  return once->run(
      [&]() -> FileResult<LoadedPlugin*> {
        auto table = normalise_plugin(plugin, nullptr, nullptr);
        if (!table) return tl::unexpected(std::move(table).error());
        return new Plugin(*table, "static", "", "static-" + std::string(view_of(table->version)));
      },
      refuse(TENON_INTERNAL, "it is being taken already"));
}

std::vector<std::string> mapped_besides(std::string_view id, const LoadedPlugin& plugin) {
  std::vector<std::string> others;
  const std::lock_guard lock(process().mutex);
  for (const Plugin* each : process().loaded) {
    const PluginInfo& info = each->info();
    if (each != &plugin && info.id == id)
      others.push_back(fmt::format("{} at '{}'", info.version, info.path));
  }
  return others;
}

std::vector<const tenon_plugin*> static_plugins() {
  const std::lock_guard lock(process().mutex);
  return process().registered;
}

}  // namespace tenon::loader

namespace tenon {

void shutdown() {
  auto& process = loader::process();
  if (process.shut_down.exchange(true)) return;
  std::vector<loader::Plugin*> started;
  {
    const std::lock_guard lock(process.mutex);
    started.swap(process.started);
  }
  for (auto plugin = started.rbegin(); plugin != started.rend(); ++plugin) (*plugin)->shut_down();
}

bool is_shut_down() noexcept { return loader::process().shut_down.load(); }

Result<void> register_static(const tenon_plugin* plugin) {
  if (plugin == nullptr) return fail(ErrorCode::kUsageError, "register_static: a null plugin");
  auto& process = loader::process();
  const std::lock_guard lock(process.mutex);
  auto& list = process.registered;
  if (std::find(list.begin(), list.end(), plugin) == list.end()) list.push_back(plugin);
  return {};
}

}  // namespace tenon
