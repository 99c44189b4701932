// Takes found files through load, validate and commit; a failed one leaves nothing but its record.
#include "plugin_intake.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "lint/rules.hpp"
#include "manifest_set.hpp"
#include "tenon/core/nearest.hpp"
#include "tenon/loader/memory_map.hpp"

namespace tenon::loader {
namespace {

constexpr std::string_view kOptions = "plugins.options.";

/// The ABI status that an error of the registry names.
tenon_status status_of(const Error& error) {
  for (const auto& [name, value] : error.fields()) {
    if (name != "status") continue;
    for (tenon_status status = TENON_REFUSED; status >= TENON_INTERNAL; --status) {
      if (status_name(status) == value) return status;
    }
  }
  return TENON_INVALID_ARGUMENT;
}

/// The process's memory as one plugin's rows need it: read when the first row comes, and again
/// where an address is new, for a plugin may make its rows as it hands them over.
class ProcessMemory final : public MemoryCheck {
 public:
  [[nodiscard]] bool readable(const void* data, std::uint64_t size_bytes) const override {
    return holds([&] { return map_.readable(data, size_bytes); });
  }
  [[nodiscard]] bool callable(std::uintptr_t function) const override {
    return holds([&] { return map_.executable(function); });
  }

 private:
  template <class F>
  bool holds(F&& asked) const {
    if (asked()) return true;
    map_ = MemoryMap::of_process();
    return map_.empty() || asked();  // where the system tells nothing, nothing can be refused
  }
  mutable MemoryMap map_;
};

Error error_of(const PluginRecord& record) {
  return Error(ErrorCode::kPluginRejected, record.reason)
      .with_where(record.path)
      .with("plugin", record.id)
      .with("stage", std::string(name_of(record.stage)))
      .with("status", std::string(status_name(record.code)));
}

}  // namespace

PluginIntake::PluginIntake(std::shared_ptr<Engine> engine,
                           const Config& config,
                           std::shared_ptr<ProbeGate> gate)
    : engine_(std::move(engine)),
      gate_(std::move(gate)),
      required_(config.texts("plugins.required")),
      required_from_(config.get("plugins.required").from()),
      target_(config.text("target")),
      cache_directory_(config.text("caches.directory")),
      strict_(config.flag("plugins.strict")) {
  for (const ConfigSetting* setting : config.under(kOptions)) {
    options_.push_back({setting->key.substr(kOptions.size()), setting->value, setting->where()});
  }
  engine_->devices().set_gate([gate_of_all = gate_](const DeviceKindEntry& kind) {
    std::optional<Error> error;
    if (auto ok = gate_of_all->before_devices(kind.plugin); !ok) {
      error = Error(ErrorCode::kDeviceError,
                    fmt::format("plugin '{}' is quarantined: {}", kind.plugin, ok.error().text))
                  .with("plugin", kind.plugin)
                  .with("status", std::string(status_name(ok.error().code)));
    }
    return error;
  });
}

std::vector<OptionSetting> PluginIntake::options_of(std::string_view id) const {
  std::vector<OptionSetting> own;
  for (const OptionSetting& option : options_) {
    const std::size_t dot = option.name.find('.');
    if (std::string_view(option.name).substr(0, dot) == id) {
      own.push_back({option.name.substr(dot + 1), option.value, option.where});
    }
  }
  return own;
}

FileResult<void> PluginIntake::check_strictly(const FoundFile& file) const {
  if (!strict_) return {};
  std::vector<std::string> beside;
  for (const PluginRecord& record : records_) {
    if (record.state == PluginState::kActive && record.path != "static") {
      beside.push_back(record.path);
    }
  }
  const std::string failure = lint::first_failure(file.record.path, beside);
  if (failure.empty()) return {};
  return tl::unexpected(
      PluginFault{PluginStage::kNote,
                  TENON_INVALID_ARGUMENT,
                  fmt::format("{} (tenon-plugin-lint; plugins.strict is set)", failure)});
}

void PluginIntake::reject(PluginRecord& record, PluginFault fault) const {
  record.state = fault.quarantine ? PluginState::kQuarantined : PluginState::kRejected;
  record.stage = fault.stage;
  record.code = fault.code;
  record.reason = std::move(fault.text);
}

void PluginIntake::report_rows(const PluginRecord& record) const {
  // Another set of manifests leaves out nearly all of a plugin's rows: that is one thing to say.
  constexpr std::size_t kTold = 3;
  const std::size_t count = record.rejected_rows.size();
  for (const RejectedRow& row : record.rejected_rows) {
    engine_->log(count > kTold ? TENON_LOG_INFO : TENON_LOG_WARN,
                 "loader",
                 fmt::format("plugin {}: kernel type {} of {} is left out: {}",
                             record.id,
                             row.key,
                             row.op,
                             row.reason));
  }
  if (count <= kTold) return;
  const RejectedRow& first = record.rejected_rows.front();
  engine_->log(TENON_LOG_WARN,
               "loader",
               fmt::format("plugin {}: {} kernel types are left out, among them {} of {}: {}; "
                           "'tenon plugins' lists them",
                           record.id,
                           count,
                           first.key,
                           first.op,
                           first.reason));
}

void PluginIntake::report(const PluginRecord& record) const {
  // Loud for who asked for it or asked for nothing; an aside where another target was chosen (D80).
  const std::string_view target = std::string_view(target_).substr(0, target_.find(':'));
  const bool concerns = target.empty() || target == record.id;
  switch (record.state) {
    case PluginState::kActive:
      engine_->log(
          TENON_LOG_INFO,
          "loader",
          fmt::format("plugin {} {} loaded from {}", record.id, record.version, record.path));
      report_rows(record);
      return;
    case PluginState::kDisabled:
    case PluginState::kShadowed:
      engine_->log(TENON_LOG_INFO, "loader", fmt::format("{}: {}", record.path, record.reason));
      return;
    default:
      engine_->log(
          concerns ? TENON_LOG_WARN : TENON_LOG_INFO,
          "loader",
          fmt::format("plugin {}{}is not used ({}): {}",
                      record.path,
                      record.id.empty() ? " " : fmt::format(" ({} {}) ", record.id, record.version),
                      name_of(record.stage),
                      record.reason));
  }
}

Result<void> PluginIntake::take_loaded(LoadedPlugin& plugin, PluginRecord& record) {
  const PluginInfo& info = plugin.info();
  record.id = info.id;
  record.version = info.version;
  record.vendor = info.vendor;
  record.abi_major = plugin.table().abi_major;
  record.abi_minor = plugin.table().abi_minor;
  std::vector<LogLine> lines;
  TENON_TRY(plugin.set_options(options_of(info.id), lines));
  for (const LogLine& line : lines) engine_->log(line.level, "loader", line.text);
  if (auto ok = plugin.start(engine_, cache_directory_); !ok) {
    return reject(record, std::move(ok).error()), Result<void>();
  }
  // Rows may lie anywhere that is mapped; a plugin that is linked in is part of the program.
  const ProcessMemory memory;
  PluginTransaction transaction(&info, record.path == "static" ? nullptr : &memory);
  if (auto ok = plugin.enumerate(transaction); !ok) {
    return reject(record, std::move(ok).error()), Result<void>();
  }
  if (!plugin.manifest().empty()) {
    if (auto ok = add_plugin_ops(engine_->registry(), info.id, plugin.manifest()); !ok) {
      drop_plugin_ops(engine_->registry(), info.id);
      reject(record,
             {PluginStage::kValidate,
              TENON_INVALID_ARGUMENT,
              "its manifest: " + ok.error().to_string()});
      return {};
    }
  }
  // The registry keeps the rows of a failed commit no more than we do.
  if (auto ok = engine_->registry().commit(transaction, record); !ok) {
    if (!plugin.manifest().empty()) drop_plugin_ops(engine_->registry(), info.id);
    reject(record, {record.stage, status_of(ok.error()), ok.error().message()});
  }
  return {};
}

Result<void> PluginIntake::take_file(FoundFile& file) {
  if (!file.load) return {};
  const bool taken = std::any_of(records_.begin(), records_.end(), [&](const PluginRecord& other) {
    return other.id == file.record.id && other.path == "static";
  });
  if (taken) {
    file.record.state = PluginState::kShadowed;
    file.record.code = TENON_ALREADY_EXISTS;
    file.record.reason =
        fmt::format("plugin '{}' is linked into the program (static); '{}' is not used",
                    file.record.id,
                    file.record.path);
    return {};
  }
  if (auto ok = check_strictly(file); !ok) {
    reject(file.record, std::move(ok).error());
    return {};
  }
  ProbeSubject subject = subject_of(file);
  auto loaded = load_file(file, [&] { return gate_->before_load(subject); });
  if (!loaded) {
    reject(file.record, std::move(loaded).error());
    return {};
  }
  gate_->remember(file.record.id, std::move(subject));
  for (const std::string& other : mapped_besides(file.record.id, **loaded)) {
    engine_->log(other.ends_with("at '" + file.record.path + "'") ? TENON_LOG_WARN : TENON_LOG_INFO,
                 "loader",
                 fmt::format("plugin '{}' {} is loaded from '{}' while the code of {} is still in "
                             "memory, where this process loaded it before",
                             file.record.id,
                             file.record.version,
                             file.record.path,
                             other));
  }
  return take_loaded(**loaded, file.record);
}

Result<void> PluginIntake::take_all(std::vector<FoundFile> files) {
  for (const tenon_plugin* plugin : static_plugins()) {
    PluginRecord record;
    record.path = "static";
    record.from = "static";
    if (auto loaded = load_static(plugin); !loaded) {
      reject(record, std::move(loaded).error());
    } else {
      TENON_TRY(take_loaded(**loaded, record));
    }
    report(record);
    records_.push_back(std::move(record));
  }
  for (FoundFile& file : files) {
    TENON_TRY(take_file(file));
    report(file.record);
    records_.push_back(std::move(file.record));
  }
  engine_->registry().set_records(records_);
  return {};
}

Result<void> PluginIntake::take_one(FoundFile file) {
  const auto known = std::find_if(records_.begin(), records_.end(), [&](const PluginRecord& other) {
    return other.state == PluginState::kActive && other.id == file.record.id;
  });
  if (known != records_.end() && known->path == file.record.path) {
    return fail(
        Error(ErrorCode::kPluginRejected, fmt::format("plugin '{}' is active already", known->id))
            .with_where(known->path)
            .with("status", std::string(status_name(TENON_ALREADY_EXISTS))));
  }
  if (file.load && known != records_.end()) {
    file.load = false;
    file.record.state = PluginState::kShadowed;
    file.record.code = TENON_ALREADY_EXISTS;
    file.record.reason = fmt::format("plugin '{}' {} is active from '{}'; '{}' is not used",
                                     known->id,
                                     known->version,
                                     known->path,
                                     file.record.path);
  }
  TENON_TRY(take_file(file));
  report(file.record);
  std::erase_if(records_, [&](const PluginRecord& other) {
    return other.state != PluginState::kActive && other.path == file.record.path;
  });
  records_.push_back(std::move(file.record));
  engine_->registry().set_records(records_);
  if (records_.back().state == PluginState::kActive) return {};
  return fail(error_of(records_.back()));
}

Result<void> PluginIntake::disable(std::string_view id, std::string_view by) {
  std::vector<std::string> active;
  for (PluginRecord& record : records_) {
    if (record.state != PluginState::kActive) continue;
    active.push_back(record.id);
    if (record.id != id) continue;
    engine_->registry().withdraw(id);
    drop_plugin_ops(engine_->registry(), id);
    record.state = PluginState::kDisabled;
    record.reason = fmt::format("disabled by {}: inactive, its code is still mapped", by);
    engine_->registry().set_records(records_);
    return {};
  }
  Error error(ErrorCode::kUsageError, fmt::format("no active plugin '{}'", id));
  const std::string near = did_you_mean(id, active);
  error.with_hint(near.empty() ? fmt::format("active: {}", fmt::join(active, ", ")) : near);
  return fail(std::move(error));
}

Result<void> PluginIntake::check_required() const {
  for (const std::string& id : required_) {
    const PluginRecord* best = nullptr;
    for (const PluginRecord& record : records_) {
      if (record.id == id && (best == nullptr || record.state == PluginState::kActive))
        best = &record;
    }
    if (best != nullptr && best->state == PluginState::kActive) continue;
    if (best == nullptr) {
      return fail(Error(ErrorCode::kPluginRejected,
                        fmt::format("the required plugin '{}' was not found", id))
                      .with_where(required_from_)
                      .with_hint("`tenon plugins --search` shows where it was looked for"));
    }
    return fail(Error(ErrorCode::kPluginRejected,
                      fmt::format("the required plugin '{}' is {} ({}): {}",
                                  id,
                                  name_of(best->state),
                                  name_of(best->stage),
                                  best->reason))
                    .with_where(best->path)
                    .with("required_by", required_from_));
  }
  return {};
}

}  // namespace tenon::loader
