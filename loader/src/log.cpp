// spdlog behind one function: its header is dear to compile.
#include "log.hpp"

#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <sys/stat.h>
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

tl::unexpected<Error> cannot_open(const std::string& file, std::string_view why) {
  return fail(ErrorCode::kConfigInvalid,
              fmt::format("the log file '{}' cannot be opened: {}", file, why));
}

/// spdlog would wait for the reader of a FIFO, and make the folders that a misspelt path names.
Result<void> check_log_file(const std::string& file) {
  struct stat facts {};
  if (stat(file.c_str(), &facts) == 0) {
    if (S_ISREG(facts.st_mode) || S_ISCHR(facts.st_mode)) return {};
    return cannot_open(file,
                       S_ISDIR(facts.st_mode)    ? "it is a folder"
                       : S_ISFIFO(facts.st_mode) ? "it is a FIFO, no regular file"
                                                 : "it is no regular file");
  }
  if (errno != ENOENT) return cannot_open(file, std::strerror(errno));
  const std::string folder = std::filesystem::path(file).parent_path().string();
  if (folder.empty() || stat(folder.c_str(), &facts) == 0) return {};
  return cannot_open(file, fmt::format("there is no folder '{}'", folder));
}

}  // namespace

Result<LogSink> make_log_sink(int level, const std::string& file) {
  if (!file.empty()) TENON_TRY(check_log_file(file));
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
      const std::string line = printable_line(
          component.empty() ? std::string(text) : fmt::format("{}: {}", component, text));
      logger->log(to_spdlog(line_level), "{}", line);
    });
  } catch (const std::exception& error) {
    return cannot_open(file, error.what());
  }
}

}  // namespace tenon::loader
