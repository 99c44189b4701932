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

Error::Error(ErrorCode code, std::string message)
    : parts_(std::make_unique<Parts>(Parts{code, std::move(message), {}, {}, {}})) {}

Error::Error(const Error& other) : parts_(std::make_unique<Parts>(other.parts())) {}

Error& Error::operator=(const Error& other) {
  if (this != &other) parts_ = std::make_unique<Parts>(other.parts());
  return *this;
}

const Error::Parts& Error::no_parts() {
  static const Parts* const kNone = new Parts();  // never destroyed: errors may outlive statics
  return *kNone;
}

const Error::Parts& Error::parts() const noexcept {
  return parts_ == nullptr ? no_parts() : *parts_;
}

Error::Parts& Error::own() {
  if (parts_ == nullptr) parts_ = std::make_unique<Parts>();
  return *parts_;
}

Error&& Error::with_hint(std::string hint) && {
  own().hint = std::move(hint);
  return std::move(*this);
}

Error&& Error::with_where(std::string where) && {
  own().where = std::move(where);
  return std::move(*this);
}

Error&& Error::with(std::string field, std::string value) && {
  add(std::move(field), std::move(value));
  return std::move(*this);
}

Error& Error::with_hint(std::string hint) & {
  own().hint = std::move(hint);
  return *this;
}

void Error::add(std::string field, std::string value) {
  own().fields.emplace_back(std::move(field), std::move(value));
}

std::string Error::to_string() const {
  std::string text(name_of(code()));
  text += ": ";
  text += message();
  if (!where().empty()) text += " (" + where() + ")";
  if (!hint().empty()) text += "; " + hint();
  return text;
}

}  // namespace tenon
