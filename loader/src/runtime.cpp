// tenon::Runtime: brings configuration, manifest and plugins into a published registry.
#include <algorithm>

#include <fmt/format.h>

#include "config_names.hpp"
#include "log.hpp"
#include "manifest_set.hpp"
#include "plugin_intake.hpp"
#include "tenon/tenon.hpp"

namespace tenon {

using loader::Config;
using loader::ConfigSetting;
using loader::Discovery;
using loader::LogLine;
using loader::PatternList;
using loader::PluginIntake;

struct Runtime::State {
  Config config;
  std::shared_ptr<Engine> engine;
  std::vector<loader::SearchPlace> searched;
  std::unique_ptr<PluginIntake> intake;
  std::unique_ptr<OpTable> ops;
  loader::Environment environment = loader::Environment::system();
};

namespace {

LogSink up_to(int level, LogSink sink) {
  return [level, sink = std::move(sink)](
             int line_level, std::string_view component, std::string_view text) {
    if (line_level <= level) sink(line_level, component, text);
  };
}

/// The application's sink with the level that the configuration asks for, or one made here.
Result<LogSink> choose_sink(const RuntimeOptions& options, const Config& config) {
  const int asked = loader::log_level(config);
  const int level = options.is_command && options.verbose ? std::max(asked, TENON_LOG_INFO) : asked;
  const std::string file = config.text("log.file");
  if (options.log && (!options.is_command || file.empty())) {
    // An application that set no level filters for itself.
    const bool is_set = config.get("log.level").origin != loader::Origin::kDefault;
    return options.is_command || is_set ? up_to(level, options.log) : options.log;
  }
  if (file.empty() && !options.is_command) return LogSink();
  auto sink = loader::make_log_sink(level, file);
  if (!sink && !file.empty()) {
    return fail(std::move(sink).error().with_where(config.get("log.file").where()));
  }
  return sink;
}

/// What the configuration says about itself: the user of the command sees it whatever it sets.
void tell_of_config(const RuntimeOptions& options, const Config& config, const Engine& engine) {
  const bool to_terminal = options.is_command && options.log;
  const bool to_engine = !to_terminal || !config.text("log.file").empty();
  const int level =
      std::max(loader::log_level(config), options.verbose ? TENON_LOG_INFO : TENON_LOG_WARN);
  for (const LogLine& line : config.log()) {
    if (to_terminal && line.level <= level) options.log(line.level, "config", line.text);
    if (to_engine) engine.log(line.level, "config", line.text);
  }
}

/// The list as it is set. Empty, it enables or disables nothing.
PatternList patterns(const Config& config, std::string_view key) {
  return {config.texts(key), config.get(key).from()};
}

loader::DiscoveryOptions discovery_options(const RuntimeOptions& options, const Config& config) {
  loader::DiscoveryOptions out;
  for (const std::string& path : options.plugin_paths) {
    out.explicit_paths.push_back({path, options.is_command ? "command line" : "api"});
  }
  for (std::string& path : config.texts("plugins.paths")) {
    out.configured_paths.push_back({std::move(path), config.get("plugins.paths").from()});
  }
  out.enable = patterns(config, "plugins.enable");
  out.disable = patterns(config, "plugins.disable");
  out.allow_insecure = config.flag("plugins.allow_insecure");
  if (options.standard_folders) out.use_standard_folders(options.environment);
  return out;
}

loader::ProbeOptions probe_options(const RuntimeOptions& options, const Config& config) {
  loader::ProbeOptions out;
  const std::string policy = config.text("plugins.probe");
  out.policy = policy == "never"    ? loader::ProbePolicy::kNever
               : policy == "always" ? loader::ProbePolicy::kAlways
                                    : loader::ProbePolicy::kAuto;
  if (out.policy != loader::ProbePolicy::kNever)
    out.helper = options.probe_helper.value_or(loader::find_probe_helper());
  out.cache_directory = config.text("caches.directory");
  out.timeout = options.probe_timeout;
  return out;
}

/// `devices.visible.<kind>`, for the kinds that are there; their devices are not enumerated yet.
void hide_devices(Engine& engine, const Config& config) {
  constexpr std::string_view kPrefix = "devices.visible.";
  for (const ConfigSetting* setting : config.under(kPrefix)) {
    std::vector<std::int32_t> indices;
    if (const auto* list = setting->value.get_if<ValueList>()) {
      for (const Value& item : list->items) {
        if (const auto* index = item.get_if<std::int64_t>()) {
          indices.push_back(static_cast<std::int32_t>(*index));
        }
      }
    }
    engine.devices().set_visible(
        DeviceKind::of(setting->key.substr(kPrefix.size())), std::move(indices), setting->from());
  }
}

/// What the registry warns of; the first is an error where the configuration is strict.
Result<void> tell_warnings(Engine& engine, const Config& config) {
  for (const std::string& warning : engine.registry().warnings()) {
    if (config.flag("plugins.strict")) {
      return fail(Error(ErrorCode::kPluginRejected, warning).with_hint("plugins.strict is set"));
    }
    engine.log(TENON_LOG_WARN, "registry", warning);
  }
  return {};
}

}  // namespace

Runtime::Runtime(std::unique_ptr<State> state) : state_(std::move(state)) {}
Runtime::Runtime(Runtime&&) noexcept = default;
Runtime& Runtime::operator=(Runtime&&) noexcept = default;
Runtime::~Runtime() = default;

Result<Runtime> Runtime::create(const RuntimeOptions& options) {
  if (is_shut_down()) {
    return fail(ErrorCode::kShutDown, "tenon::shutdown() was called in this process");
  }
  auto state = std::make_unique<State>();
  state->ops = std::make_unique<OpTable>(options.op_table_entries);
  state->environment = options.environment;
  loader::ConfigSources sources;
  sources.file = options.config_file;
  sources.is_command = options.is_command;
  sources.trust_config = options.trust_config;
  sources.settings = options.settings;
  sources.settings_from = options.is_command ? loader::Origin::kCommandLine : loader::Origin::kApi;
  TENON_TRY_ASSIGN(state->config, Config::load(sources, options.environment));
  const Config& config = state->config;
  LogSink sink;
  TENON_TRY_ASSIGN(sink, choose_sink(options, config));

  Discovery found = loader::discover(discovery_options(options, config), options.environment);
  state->searched = found.searched;
  state->engine = Engine::create(loader::engine_options(config), std::move(sink));
  Engine& engine = *state->engine;
  const auto tell = [&](const std::vector<LogLine>& lines) {
    for (const LogLine& line : lines) engine.log(line.level, "loader", line.text);
  };
  tell_of_config(options, config, engine);
  tell(found.log);

  std::vector<std::string> manifest_paths = options.manifest_paths;
  if (manifest_paths.empty()) manifest_paths = config.texts("manifest.paths");
  TENON_TRY(loader::add_ops(engine.registry(), manifest_paths));

  state->intake = std::make_unique<PluginIntake>(
      state->engine,
      config,
      std::make_shared<loader::ProbeGate>(probe_options(options, config), state->engine));
  TENON_TRY(state->intake->take_all(std::move(found.files)));
  hide_devices(engine, config);
  TENON_TRY(state->intake->check_required());
  engine.registry().publish();
  TENON_TRY(tell_warnings(engine, config));
  tell(loader::unknown_names(config, *engine.registry().snapshot(), state->intake->records()));
  return Runtime(std::move(state));
}

Result<Op> Runtime::make(std::string_view op,
                         std::span<const NamedValue> params,
                         const InstanceOptions& options) const {
  if (is_shut_down()) {
    return fail(ErrorCode::kShutDown, "tenon::shutdown() was called in this process");
  }
  return state_->engine->make(op, params, options);
}

RuntimeDevice Runtime::default_device() const {
  return {state_->engine, state_->engine->default_device()};
}

RuntimeDevice Runtime::device(std::string_view name) const {
  const auto find = [&]() -> Result<Device> {
    Device device;
    TENON_TRY_ASSIGN(device, Device::parse(name));
    TENON_TRY(state_->engine->devices().find(device));
    return device;
  };
  return {state_->engine, find()};
}

Result<void> Runtime::set_default_target(std::string target) const {
  return state_->engine->set_default_target(std::move(target), "api");
}

Engine& Runtime::engine() const { return *state_->engine; }
const std::shared_ptr<Engine>& Runtime::shared_engine() const { return state_->engine; }
OpTable& Runtime::op_table() const { return *state_->ops; }
std::shared_ptr<const Snapshot> Runtime::snapshot() const {
  return state_->engine->registry().snapshot();
}
const Config& Runtime::config() const { return state_->config; }
const std::vector<PluginRecord>& Runtime::plugins() const { return state_->intake->records(); }
const std::vector<loader::SearchPlace>& Runtime::plugins_searched() const {
  return state_->searched;
}

Result<void> Runtime::load_plugin(const std::string& path) {
  if (is_shut_down()) {
    return fail(ErrorCode::kShutDown, "tenon::shutdown() was called in this process");
  }
  loader::DiscoveryOptions options;
  options.explicit_paths = {{path, "api"}};
  options.allow_insecure = state_->config.flag("plugins.allow_insecure");
  options.enable = patterns(state_->config, "plugins.enable");
  options.disable = patterns(state_->config, "plugins.disable");
  // Only this path: variables name what is looked for at the start.
  Discovery found = loader::discover(options, loader::Environment::of({}));
  for (const LogLine& line : found.log) state_->engine->log(line.level, "loader", line.text);
  if (found.files.empty()) {
    return fail(ErrorCode::kUsageError, fmt::format("'{}' is no plugin file", path));
  }
  auto taken = state_->intake->take_one(std::move(found.files.front()));
  hide_devices(*state_->engine, state_->config);
  state_->engine->registry().publish();
  state_->ops->clear();
  return taken;
}

Result<void> Runtime::disable_plugin(std::string_view id) {
  TENON_TRY(state_->intake->disable(id, "api"));
  state_->engine->registry().publish();
  state_->ops->clear();
  return {};
}

std::string RuntimeDevice::to_string() const {
  return device_ ? device_->to_string() : device_.error().to_string();
}

Result<Tensor> load_npy(const std::filesystem::path& file,
                        const RuntimeDevice& device,
                        std::optional<DType> as) {
  if (!device.get()) return fail(device.get().error());
  Tensor tensor;
  TENON_TRY_ASSIGN(tensor, load_npy(file, as));
  if (device.get()->kind == DeviceKind() && device.get()->index == 0) return tensor;
  if (!tensor.view().is_dense()) {
    return fail(
        ErrorCode::kUsageError,
        fmt::format("'{}' is in Fortran order, which goes to no device but cpu; save it with "
                    "numpy.ascontiguousarray",
                    file.string()));
  }
  return device.engine()->devices().to_device(tensor, *device.get());
}

}  // namespace tenon
