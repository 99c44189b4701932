// Names that are taken: ids and device kinds of the plugins that Tenon ships.
#include <algorithm>

#include "plugin_templates.hpp"

namespace tenon::cli {

bool is_shipped_plugin(std::string_view id) noexcept {
  const auto texts = plugin_templates();
  // One a line.
  const auto found = std::ranges::find(texts, "plugins/ids.txt", &EmbeddedFile::name);
  std::string_view left = found == texts.end() ? std::string_view() : found->text;
  while (!left.empty()) {
    const std::size_t end = std::min(left.find('\n'), left.size());
    if (left.substr(0, end) == id) return true;
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return false;
}

}  // namespace tenon::cli
