// Reads environment variables; under AT_SECURE they count as unset.
#include "tenon/loader/environment.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <sys/auxv.h>
#include <unistd.h>

namespace tenon::loader {
namespace {

constexpr std::string_view kOurs = "TENON_";

std::vector<std::string> names_in_process() {
  std::vector<std::string> names;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    const std::string_view text = *each;
    if (text.starts_with(kOurs)) names.emplace_back(text.substr(0, text.find('=')));
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

Environment Environment::system() {
  return {[](const std::string& name) -> std::optional<std::string> {
            const char* value = std::getenv(name.c_str());
            return value == nullptr ? std::nullopt : std::optional<std::string>(value);
          },
          getauxval(AT_SECURE) != 0,
          names_in_process()};
}

Environment Environment::of(std::map<std::string, std::string> variables, bool secure) {
  std::vector<std::string> names;
  for (const auto& [name, value] : variables) {
    if (name.starts_with(kOurs)) names.push_back(name);
  }
  return {
      [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        return found == variables.end() ? std::nullopt : std::optional(found->second);
      },
      secure,
      std::move(names)};
}

std::optional<std::string> Environment::get(const std::string& name) const {
  auto value = given(name);
  if (value && value->empty()) return std::nullopt;
  return value;
}

std::optional<std::string> Environment::given(const std::string& name) const {
  return secure_ ? std::nullopt : lookup_(name);
}

bool Environment::ignored(const std::string& name) const {
  if (!secure_) return false;
  const auto value = lookup_(name);
  return value && !value->empty();
}

}  // namespace tenon::loader
