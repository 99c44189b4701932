// The exported object of a plugin, copied into a zeroed one of ours and checked (abi.md R1, R4).
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "tenon/loader/abi_version.hpp"
#include "tenon/loader/memory_map.hpp"
#include "tenon/loader/plugin_library.hpp"

namespace tenon::loader {
namespace {

constexpr std::uint64_t kMaxStructBytes = std::uint64_t{64} * 1024;
/// Up to the last required field: shutdown, behind it, is optional (D13).
constexpr std::uint64_t kMinStructBytes =
    offsetof(tenon_plugin, enumerate) + sizeof(tenon_plugin::enumerate);
constexpr std::uint64_t kMaxTextBytes = 4096;
constexpr std::uint64_t kMaxManifestBytes = 8u << 20;
constexpr std::uint64_t kMaxRows = 1024;

tl::unexpected<PluginFault> refuse(tenon_status code, std::string text) {
  return tl::unexpected(PluginFault{PluginStage::kValidate, code, std::move(text)});
}

std::string_view view_of(tenon_str text) { return {text.data, text.size_bytes}; }

FileResult<void> check_text(std::string_view field, tenon_str text, std::uint64_t max_bytes) {
  if (text.size_bytes == 0) return {};
  if (text.data == nullptr || text.size_bytes > max_bytes) {
    return refuse(TENON_INVALID_ARGUMENT,
                  fmt::format("tenon_plugin.{} is {} of {} bytes, at most {} are taken",
                              field,
                              text.data == nullptr ? "a null pointer" : "a text",
                              text.size_bytes,
                              max_bytes));
  }
  if (!is_utf8(view_of(text))) {
    return refuse(TENON_INVALID_ARGUMENT, fmt::format("tenon_plugin.{} is not UTF-8", field));
  }
  return {};
}

/// Where things must lie, asked before anything is read. A static plugin has no image: the linker
/// put it together with the program, and it is believed.
class Containment {
 public:
  Containment(const LoadedImage* image, const MemoryMap* memory) : image_(image) {
    if (image_ != nullptr) map_ = memory == nullptr ? MemoryMap::of_process() : *memory;
  }

  /// Of the exported object and its strings.
  [[nodiscard]] FileResult<void> in_image(std::string_view what,
                                          const void* data,
                                          std::uint64_t size_bytes) const {
    if (image_ == nullptr || size_bytes == 0 || image_->contains(data, size_bytes)) return {};
    return outside(what, "lies outside of the plugin's image");
  }
  /// Of its functions.
  [[nodiscard]] FileResult<void> code_in_image(std::string_view what,
                                               std::uintptr_t address) const {
    if (image_ == nullptr || image_->contains_code(address)) return {};
    return outside(what, "is no function inside the plugin's image");
  }
  /// Of rows that it points to.
  [[nodiscard]] FileResult<void> readable(std::string_view what,
                                          const void* data,
                                          std::uint64_t size_bytes,
                                          std::uint64_t align_bytes = 1) const {
    if (size_bytes != 0 && reinterpret_cast<std::uintptr_t>(data) % align_bytes != 0) {
      return outside(what, "lies at an address that is not aligned");
    }
    if (!map_ || map_->empty() || map_->readable(data, size_bytes)) return {};
    return outside(what, "lies in memory that cannot be read");
  }

 private:
  static tl::unexpected<PluginFault> outside(std::string_view what, std::string_view how) {
    return refuse(TENON_INVALID_ARGUMENT,
                  fmt::format("tenon_plugin{}{} {}; it must be a constant of the plugin itself",
                              what.empty() ? "" : ".",
                              what,
                              how));
  }

  const LoadedImage* image_;
  std::optional<MemoryMap> map_;
};

/// A text that a row points to.
FileResult<void> check_row_text(std::string_view field,
                                tenon_str text,
                                std::uint64_t max_bytes,
                                const Containment& memory) {
  if (text.size_bytes <= max_bytes) {
    if (auto ok = memory.readable(field, text.data, text.size_bytes); !ok) return ok;
  }
  return check_text(field, text, max_bytes);
}

FileResult<void> check_option(std::uint64_t i,
                              const tenon_option& option,
                              bool knows_nothing_newer,
                              const Containment& memory) {
  if (auto ok = check_row_text(fmt::format("options[{}].name", i), option.name, 256, memory); !ok) {
    return ok;
  }
  const bool known = option.kind == TENON_VALUE_BOOL || option.kind == TENON_VALUE_INT ||
                     option.kind == TENON_VALUE_FLOAT || option.kind == TENON_VALUE_STR;
  if (option.name.size_bytes == 0 || !known || option.default_value.kind != option.kind) {
    return refuse(TENON_INVALID_ARGUMENT,
                  fmt::format("tenon_plugin.options[{}] needs a name, a kind out of BOOL, INT, "
                              "FLOAT and STR, and a default of that kind",
                              i));
  }
  if (knows_nothing_newer && option.flags != 0) {
    return refuse(TENON_INVALID_ARGUMENT,
                  fmt::format("tenon_plugin.options[{}].flags is {:#x}; expected 0: there are none",
                              i,
                              option.flags));
  }
  if (option.kind != TENON_VALUE_STR) return {};
  const tenon_str text{static_cast<const char*>(option.default_value.data),
                       option.default_value.count};
  return check_row_text(fmt::format("options[{}].default_value", i), text, kMaxTextBytes, memory);
}

FileResult<void> check_rows(const tenon_plugin& plugin, const Containment& memory) {
  const auto rows = [&](std::string_view field,
                        std::uint64_t n,
                        const void* data,
                        std::uint64_t element_bytes) -> FileResult<void> {
    if (n > kMaxRows || (n != 0 && data == nullptr)) {
      return refuse(TENON_INVALID_ARGUMENT,
                    fmt::format("tenon_plugin.{}: {} rows{}",
                                field,
                                n,
                                data == nullptr ? " at a null pointer"
                                                : fmt::format(", at most {}", kMaxRows)));
    }
    return memory.readable(field, data, n * element_bytes, alignof(std::uint64_t));
  };
  if (auto ok = rows("needs_kinds", plugin.n_needs_kinds, plugin.needs_kinds, sizeof(tenon_str));
      !ok) {
    return ok;
  }
  if (auto ok = rows("options", plugin.n_options, plugin.options, sizeof(tenon_option)); !ok) {
    return ok;
  }
  for (std::uint64_t i = 0; i < plugin.n_needs_kinds; ++i) {
    const std::string field = fmt::format("needs_kinds[{}]", i);
    if (auto ok = check_row_text(field, plugin.needs_kinds[i], 64, memory); !ok) return ok;
  }
  for (std::uint64_t i = 0; i < plugin.n_options; ++i) {
    if (auto ok = check_option(i, plugin.options[i], plugin.abi_minor <= TENON_ABI_MINOR, memory);
        !ok)
      return ok;
  }
  return {};
}

/// The object's own texts, first where they lie and then what they hold.
FileResult<void> check_texts(const tenon_plugin& plugin, const Containment& memory) {
  for (const auto& [field, text, max_bytes] :
       {std::tuple("id", plugin.id, std::uint64_t{64}),
        std::tuple("version", plugin.version, std::uint64_t{kMaxVersionBytes}),
        std::tuple("vendor", plugin.vendor, kMaxTextBytes),
        std::tuple("manifest", plugin.manifest, kMaxManifestBytes)}) {
    if (text.data != nullptr && text.size_bytes <= max_bytes) {
      if (auto ok = memory.in_image(field, text.data, text.size_bytes); !ok) return ok;
    }
    if (auto ok = check_text(field, text, max_bytes); !ok) return ok;
  }
  return {};
}

FileResult<void> check_functions(const tenon_plugin& plugin, const Containment& memory) {
  if (plugin.init == nullptr || plugin.enumerate == nullptr) {
    return refuse(TENON_INVALID_ARGUMENT,
                  fmt::format("the required function tenon_plugin.{} is missing",
                              plugin.init == nullptr ? "init" : "enumerate"));
  }
  if (auto ok = memory.code_in_image("init", address_of(plugin.init)); !ok) return ok;
  if (auto ok = memory.code_in_image("enumerate", address_of(plugin.enumerate)); !ok) return ok;
  if (plugin.shutdown == nullptr) return {};
  return memory.code_in_image("shutdown", address_of(plugin.shutdown));
}

FileResult<void> check_agreement(const tenon_plugin& plugin, const PluginNote& note) {
  const auto differ = [](std::string_view what, const auto& in_table, const auto& in_note) {
    return refuse(
        TENON_INCOMPATIBLE,
        fmt::format("the exported object and the identity note disagree: {} is '{}' in the "
                    "object and '{}' in the note; build both from one place",
                    what,
                    in_table,
                    in_note));
  };
  if (view_of(plugin.id) != note.id) return differ("id", view_of(plugin.id), note.id);
  if (view_of(plugin.version) != note.version) {
    return differ("version", view_of(plugin.version), note.version);
  }
  if (plugin.abi_major != note.abi_major) {
    return differ("abi_major", plugin.abi_major, note.abi_major);
  }
  if (plugin.abi_minor != note.abi_minor) {
    return differ("abi_minor", plugin.abi_minor, note.abi_minor);
  }
  if (plugin.min_host_minor != note.min_host_minor) {
    return differ("min_host_minor", plugin.min_host_minor, note.min_host_minor);
  }
  return {};
}

}  // namespace

FileResult<tenon_plugin> normalise_plugin(const tenon_plugin* object,
                                          const PluginNote* note,
                                          const LoadedImage* image,
                                          const MemoryMap* map) {
  const Containment memory(image, map);
  std::uint64_t size = 0;
  if (auto ok = memory.in_image("", object, sizeof size); !ok) return tl::unexpected(ok.error());
  std::memcpy(&size, object, sizeof size);
  if (size < kMinStructBytes || size > kMaxStructBytes) {
    return refuse(TENON_INVALID_ARGUMENT,
                  fmt::format("tenon_plugin.struct_size is {}; the first release has {}, and above "
                              "{} it is no struct of ours",
                              size,
                              sizeof(tenon_plugin),
                              kMaxStructBytes));
  }
  if (auto ok = memory.in_image("", object, size); !ok) return tl::unexpected(ok.error());
  tenon_plugin plugin{};
  std::memcpy(&plugin, object, std::min<std::uint64_t>(size, sizeof plugin));
  plugin.struct_size = std::min<std::uint64_t>(size, sizeof plugin);
  if (auto ok = check_texts(plugin, memory); !ok) return tl::unexpected(ok.error());
  if (!is_plugin_id(view_of(plugin.id))) {
    return refuse(TENON_INVALID_ARGUMENT, fmt::format("the {}", id_refusal(view_of(plugin.id))));
  }
  if (note == nullptr && !is_version(view_of(plugin.version))) {
    return refuse(TENON_INVALID_ARGUMENT, version_refusal(view_of(plugin.version)));
  }
  if (note != nullptr) {
    if (auto ok = check_agreement(plugin, *note); !ok) return tl::unexpected(ok.error());
  } else if (auto text =
                 abi_refusal({}, {plugin.abi_major, plugin.abi_minor, plugin.min_host_minor})) {
    return refuse(TENON_INCOMPATIBLE, *text);
  }
  if (plugin.required_features != 0) {
    return refuse(
        TENON_INCOMPATIBLE,
        fmt::format("the plugin requires features {:#x}, of which this host knows none; use "
                    "a newer release of Tenon",
                    plugin.required_features));
  }
  if (auto ok = check_functions(plugin, memory); !ok) return tl::unexpected(ok.error());
  if (auto ok = check_rows(plugin, memory); !ok) return tl::unexpected(ok.error());
  return plugin;
}

}  // namespace tenon::loader
