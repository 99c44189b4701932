// The process's environment as the loader reads it: injectable, and mute under raised privileges.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tenon::loader {

/// Environment variables by name. Where the process runs with raised privileges (AT_SECURE) no
/// variable has a value, and those that would have had one can be named.
class Environment {
 public:
  using Lookup = std::function<std::optional<std::string>(const std::string& name)>;

  /// The process's own.
  static Environment system();
  /// These variables and no others; for tests and embedders.
  static Environment of(std::map<std::string, std::string> variables, bool secure = false);
  Environment(Lookup lookup, bool secure, std::vector<std::string> names = {})
      : lookup_(std::move(lookup)), names_(std::move(names)), secure_(secure) {}

  /// The value; nothing where it is unset, empty or ignored.
  [[nodiscard]] std::optional<std::string> get(const std::string& name) const;
  /// The same, but an empty value is one: for lists, whose emptiness says something.
  [[nodiscard]] std::optional<std::string> given(const std::string& name) const;
  /// True where the variable is set but ignored, because the process runs with raised privileges.
  [[nodiscard]] bool ignored(const std::string& name) const;
  [[nodiscard]] bool secure() const { return secure_; }
  /// Names of the variables that begin with `TENON_`, in order, whether they are ignored or not.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

 private:
  Lookup lookup_;
  std::vector<std::string> names_;
  bool secure_ = false;
};

}  // namespace tenon::loader
