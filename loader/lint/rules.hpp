// The rules of tenon-plugin-lint: what a finished plugin file must and should look like.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tenon::lint {

/// How a rule came out for a file.
enum class Verdict { kPassed, kReported, kFailed, kSkipped };

[[nodiscard]] std::string_view name_of(Verdict verdict) noexcept;

/// One rule on one file; a rule that finds several things gives several.
struct Finding {
  std::string_view rule;
  Verdict verdict = Verdict::kPassed;
  std::string text;  ///< what was found
  std::string hint;  ///< what to do; empty where there is nothing to do
};

/// A plugin file and what the rules say of it.
struct FileReport {
  std::string path;
  std::string id;  ///< of the identity note; empty where there is none
  std::vector<Finding> findings;

  [[nodiscard]] bool failed() const;
};

/// Looks at each file, alone and beside the others; `beside` are plugins that are there, too, but
/// not looked at themselves. No code of any is run.
[[nodiscard]] std::vector<FileReport> lint(const std::vector<std::string>& files,
                                           const std::vector<std::string>& beside);

/// The first rule that a file fails, as "exports: exports a beside ...; build it ..."; empty where
/// it fails none.
[[nodiscard]] std::string first_failure(const std::string& file,
                                        const std::vector<std::string>& beside);

}  // namespace tenon::lint
