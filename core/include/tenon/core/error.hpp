// Errors and Result: one error type with a stable code, a message and structured fields.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

namespace tenon {

/// Stable, append-only codes of the C++ API and of JSON output.
enum class ErrorCode : std::uint8_t {
  kManifestInvalid,
  kConfigInvalid,
  kUsageError,
  kSignatureMismatch,
  kOpNotFound,
  kUnknownTarget,
  kAmbiguousTarget,
  kTargetMismatch,
  kOpNotAvailable,
  kNoImplementation,
  kAmbiguousDispatch,
  kBuildFailed,
  kLaunchFailed,
  kResultMismatch,
  kDeviceError,
  kOutOfMemory,
  kPluginRejected,  ///< never ran, or was not committed
  kPluginFailed,    ///< ran and broke its contract
  kShutDown,
  kInternal,
};

/// The code as it is printed: "SignatureMismatch".
[[nodiscard]] std::string_view name_of(ErrorCode code) noexcept;

/// What failed, on what, why, and what would mend it. One pointer wide, so that a Result is little
/// more than its value; one that was moved from has no text.
class Error {
 public:
  Error(ErrorCode code, std::string message);
  Error(const Error& other);
  Error(Error&&) noexcept = default;
  Error& operator=(const Error& other);
  Error& operator=(Error&&) noexcept = default;
  ~Error() = default;

  [[nodiscard]] ErrorCode code() const noexcept { return parts().code; }
  [[nodiscard]] const std::string& message() const noexcept { return parts().message; }
  /// What to do about it; may be empty.
  [[nodiscard]] const std::string& hint() const noexcept { return parts().hint; }
  /// Where the violated declaration stands ("norm.yaml:12:7", a plugin's path); may be empty.
  [[nodiscard]] const std::string& where() const noexcept { return parts().where; }
  /// Named facts for programs: {"argument", "x"}, {"expected", "4096"}.
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& fields() const noexcept {
    return parts().fields;
  }

  Error&& with_hint(std::string hint) &&;
  Error&& with_where(std::string where) &&;
  Error&& with(std::string field, std::string value) &&;
  Error& with_hint(std::string hint) &;

  /// Adds a named fact to an error that is kept; with() is for one that is being made.
  void add(std::string field, std::string value);

  /// "SignatureMismatch: message (where); hint" on one line.
  [[nodiscard]] std::string to_string() const;

 private:
  struct Parts {
    ErrorCode code = ErrorCode::kInternal;
    std::string message;
    std::string hint;
    std::string where;
    std::vector<std::pair<std::string, std::string>> fields;
  };
  [[nodiscard]] static const Parts& no_parts();
  [[nodiscard]] const Parts& parts() const noexcept;
  [[nodiscard]] Parts& own();

  std::unique_ptr<Parts> parts_;
};

/// A value, or why there is none. `value()` throws tl::bad_expected_access where there is none.
template <class T>
using Result = tl::expected<T, Error>;

/// Makes the error side of a Result.
[[nodiscard]] inline tl::unexpected<Error> fail(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error(code, std::move(message)));
}
[[nodiscard]] inline tl::unexpected<Error> fail(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace tenon

/// Returns the error of a Result<...> expression from the enclosing function.
#define TENON_TRY(expression)                                      \
  do {                                                             \
    if (auto tenon_try_result = (expression); !tenon_try_result) { \
      return ::tenon::fail(std::move(tenon_try_result).error());   \
    }                                                              \
  } while (0)

/// Assigns the value of a Result<...> expression to `target`, or returns its error.
#define TENON_TRY_ASSIGN(target, expression)                     \
  do {                                                           \
    auto tenon_try_result = (expression);                        \
    if (!tenon_try_result) {                                     \
      return ::tenon::fail(std::move(tenon_try_result).error()); \
    }                                                            \
    (target) = std::move(tenon_try_result).value();              \
  } while (0)
