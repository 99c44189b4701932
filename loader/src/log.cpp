// spdlog behind one function: its header is dear to compile.
#include "log.hpp"

#include <exception>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include "tenon/loader/printable.hpp"

namespace tenon::loader {
namespace {

spdlog::level::level_enum to_spdlog(int level) {
  switch (level) {
    case TENON_LOG_ERROR:
      return spdlog::level::err;
    case TENON_LOG_WARN:
      return spdlog::level::warn;
    case TENON_LOG_INFO:
      return spdlog::level::info;
    default:
      return spdlog::level::debug;
  }
}

}  // namespace

Result<LogSink> make_log_sink(int level, const std::string& file) {
  try {
    spdlog::sink_ptr sink;
    if (file.empty()) {
      sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
      sink->set_pattern("tenon: %^%l%$: %v");
    } else {
      sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(file);
      sink->set_pattern("%Y-%m-%d %H:%M:%S.%e %l %v");
    }
    // Not in spdlog's registry: two Runtimes, and an application's own logger, keep out of each
    // other's way.
    auto logger = std::make_shared<spdlog::logger>("tenon", std::move(sink));
    logger->set_level(to_spdlog(level));
    logger->flush_on(spdlog::level::debug);
    return LogSink([logger](int line_level, std::string_view component, std::string_view text) {
      const std::string line =
          component.empty() ? printable(text) : printable(fmt::format("{}: {}", component, text));
      logger->log(to_spdlog(line_level), "{}", line);
    });
  } catch (const std::exception& error) {
    return fail(Error(ErrorCode::kConfigInvalid,
                      fmt::format("the log file '{}' cannot be opened: {}", file, error.what())));
  }
}

}  // namespace tenon::loader
