// Names of error codes and the one-line form of an error.
#include "tenon/core/error.hpp"

#include <array>

namespace tenon {

std::string_view name_of(ErrorCode code) noexcept {
  static constexpr std::array<std::string_view, 20> kNames{
      "ManifestInvalid", "ConfigInvalid",    "UsageError",        "SignatureMismatch",
      "OpNotFound",      "UnknownTarget",    "AmbiguousTarget",   "TargetMismatch",
      "OpNotAvailable",  "NoImplementation", "AmbiguousDispatch", "BuildFailed",
      "LaunchFailed",    "ResultMismatch",   "DeviceError",       "OutOfMemory",
      "PluginRejected",  "PluginFailed",     "ShutDown",          "Internal"};
  const auto index = static_cast<std::size_t>(code);
  return index < kNames.size() ? kNames[index] : "Internal";
}

std::string Error::to_string() const {
  std::string text(name_of(code_));
  text += ": ";
  text += message_;
  if (!where_.empty()) text += " (" + where_ + ")";
  if (!hint_.empty()) text += "; " + hint_;
  return text;
}

}  // namespace tenon
