// Starting, enumerating and ending a plugin, each of its functions called where it can do no harm.
#include "plugin_object.hpp"

#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "plugin_options.hpp"
#include "tenon/core/floating_environment.hpp"
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

tenon_reason empty_reason() {
  tenon_reason reason{};
  reason.struct_size = sizeof reason;
  reason.arg_index = -1;
  return reason;
}

/// REFUSED means something only from `refuse`, and what is no status is an internal error.
tenon_status as_error(tenon_status status) {
  return status < TENON_OK && status >= TENON_INTERNAL ? status : TENON_INTERNAL;
}

/// What a failed function has to say for itself; never empty.
std::string account(std::string_view function,
                    std::string_view id,
                    tenon_status status,
                    const tenon_reason& reason) {
  const std::string_view text(reason.text, strnlen(reason.text, sizeof reason.text));
  if (text.empty() || !is_utf8(text)) {
    return fmt::format("{} of plugin '{}' failed with {} and gave no reason",
                       function,
                       id,
                       status_name(as_error(status)));
  }
  return fmt::format("{} of plugin '{}' failed{}: {}",
                     function,
                     id,
                     status == kThrew ? "" : fmt::format(" with {}", status_name(as_error(status))),
                     printable_line(text));
}

}  // namespace

Plugin::Plugin(const tenon_plugin& table,
               std::string path,
               std::string build_id,
               std::string build,
               void (*started)(Plugin&))
    : table_(table),
      host_(std::string(view_of(table.id))),
      build_(std::move(build)),
      started_told_(started) {
  info_.id = view_of(table.id);
  info_.version = view_of(table.version);
  info_.vendor = printable_line(view_of(table.vendor));
  info_.path = std::move(path);
  info_.build_id = std::move(build_id);
  info_.host = host_.table();
}

std::string_view Plugin::manifest() const { return view_of(table_.manifest); }

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
  TENON_TRY_ASSIGN(values, settle_options(table_, info_.id, settings));
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
  const FloatingEnvironment floating;
  const tenon_status status = call_plugin(
      "init", info_.id, reason, [&] { return table_.init(host_.table(), &self_, &reason); });
  if (floating.restore()) warn_of_change("in init");
  if (status != TENON_OK) {
    return refuse(as_error(status), account("init", info_.id, status, reason));
  }
  started_told_(*this);
  return {};
}

FileResult<void> Plugin::enumerate(const PluginTransaction& transaction) {
  return enumerating_.run(
      [&]() -> FileResult<void> {
        tenon_reason reason = empty_reason();
        const FloatingEnvironment floating;
        const tenon_status status = call_plugin("enumerate", info_.id, reason, [&] {
          return table_.enumerate(self_, transaction.registrar(), &reason);
        });
        if (floating.restore()) warn_of_change("in enumerate");
        if (status == TENON_OK) return {};
        return refuse(as_error(status), account("enumerate", info_.id, status, reason));
      },
      refuse(TENON_INTERNAL, "its enumerate made a Runtime that would enumerate it again"));
}

void Plugin::shut_down() {
  if (table_.shutdown != nullptr) {
    const FloatingEnvironment floating;
    tenon_reason reason = empty_reason();
    const tenon_status status = call_plugin("shutdown", info_.id, reason, [&] {
      table_.shutdown(self_);
      return TENON_OK;
    });
    if (status != TENON_OK) {
      host_.log(TENON_LOG_WARN, account("shutdown", info_.id, status, reason));
    }
  }
  host_.close();
}

}  // namespace tenon::loader
