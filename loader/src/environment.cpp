// Reads environment variables; under AT_SECURE they count as unset.
#include "tenon/loader/environment.hpp"

#include <cstdlib>
#include <sys/auxv.h>

namespace tenon::loader {

Environment Environment::system() {
  return {[](const std::string& name) -> std::optional<std::string> {
            const char* value = std::getenv(name.c_str());
            return value == nullptr ? std::nullopt : std::optional<std::string>(value);
          },
          getauxval(AT_SECURE) != 0};
}

Environment Environment::of(std::map<std::string, std::string> variables, bool secure) {
  return {
      [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        return found == variables.end() ? std::nullopt : std::optional(found->second);
      },
      secure};
}

std::optional<std::string> Environment::get(const std::string& name) const {
  if (secure_) return std::nullopt;
  auto value = lookup_(name);
  if (value && value->empty()) return std::nullopt;
  return value;
}

bool Environment::ignored(const std::string& name) const {
  if (!secure_) return false;
  const auto value = lookup_(name);
  return value && !value->empty();
}

}  // namespace tenon::loader
