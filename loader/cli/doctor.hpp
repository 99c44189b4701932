// What `tenon plugins doctor` asks of a plugin file, and what came out.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "console.hpp"

namespace tenon::cli {

enum class CheckVerdict : std::uint8_t { kPass, kWarn, kFail, kSkipped };
/// "pass", "warn", "fail", "skipped".
[[nodiscard]] std::string_view name_of(CheckVerdict verdict) noexcept;

/// One question and its answer.
struct Check {
  std::string name;
  CheckVerdict verdict = CheckVerdict::kPass;
  std::string found;
  std::string fix;                ///< what to do, unless it passed
  std::uint64_t duration_ns = 0;  ///< of the plugin's own code; 0 where none ran
};

/// Everything about one file.
struct Diagnosis {
  std::string path;
  std::string id;
  std::string version;
  std::vector<Check> checks;

  [[nodiscard]] bool ok() const;
};

/// How to examine a file.
struct DoctorOptions {
  std::chrono::milliseconds timeout{30000};  ///< of each child process
  std::vector<std::string> common;           ///< words that configure a child, such as --manifest
};

/// Examines a file. Its code runs in child processes only.
[[nodiscard]] Diagnosis diagnose(const std::string& path, const DoctorOptions& options);

[[nodiscard]] std::string diagnosis_text(const std::vector<Diagnosis>& all, const Style& style);
/// {schema, plugins: [{path, id, version, ok, checks: [{check, verdict, found, fix,
/// duration_ns}]}]}
[[nodiscard]] std::string diagnosis_json(const std::vector<Diagnosis>& all);

}  // namespace tenon::cli
