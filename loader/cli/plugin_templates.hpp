// The files of plugins/template/ and the C example, as the build embedded them.
#pragma once

#include <span>
#include <string_view>

namespace tenon::cli {

/// A file by its path below the repository.
struct EmbeddedFile {
  std::string_view name;
  std::string_view text;
};
[[nodiscard]] std::span<const EmbeddedFile> plugin_templates() noexcept;

/// Whether a plugin that Tenon ships has that id or owns that device kind.
[[nodiscard]] bool is_shipped_plugin(std::string_view id) noexcept;

}  // namespace tenon::cli
