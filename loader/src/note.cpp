// Parses the identity note, and says what a file must have before it may be loaded.
#include "note.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "tenon/loader/abi_version.hpp"
#include "tenon/loader/printable.hpp"

namespace tenon::loader {
namespace {

constexpr std::uint64_t kTextCount = 4;
constexpr std::uint64_t kMaxTextBytes = 4096;
constexpr std::uint64_t kNoteFixedBytes = 44;  // 11 words of the descriptor before its texts

tl::unexpected<PluginFault> refuse(tenon_status code, std::string text) {
  return tl::unexpected(PluginFault{PluginStage::kNote, code, std::move(text)});
}

template <class T>
T load(const std::byte* at) {
  T value{};
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace

FileResult<PluginNote> parse_note(std::span<const std::byte> descriptor) {
  if (descriptor.size() < kNoteFixedBytes) {
    return refuse(TENON_INVALID_ARGUMENT,
                  fmt::format("malformed TENON note: {} bytes, it has at least {}",
                              descriptor.size(),
                              kNoteFixedBytes));
  }
  const auto word = [&](std::size_t i) { return load<std::uint32_t>(descriptor.data() + 4 * i); };
  PluginNote note;
  note.note_version = word(0);
  note.abi_major = word(1);
  note.abi_minor = word(2);
  note.min_host_minor = word(3);
  note.sanitizer = word(4);
  note.header_hash = word(5) | static_cast<std::uint64_t>(word(6)) << 32;
  if (note.note_version == 0) {
    return refuse(TENON_INVALID_ARGUMENT, "malformed TENON note: its version is 0");
  }
  std::string texts[kTextCount];
  std::uint64_t at = kNoteFixedBytes;
  for (std::size_t i = 0; i < kTextCount; ++i) {
    const std::uint64_t size = word(7 + i);
    if (size == 0 || size > kMaxTextBytes || size > descriptor.size() - at ||
        descriptor[at + size - 1] != std::byte{0}) {
      return refuse(
          TENON_INVALID_ARGUMENT,
          fmt::format("malformed TENON note: text {} of {} bytes at {} does not end with a "
                      "zero byte inside its {} bytes",
                      i,
                      size,
                      at,
                      descriptor.size()));
    }
    texts[i].assign(reinterpret_cast<const char*>(descriptor.data() + at), size - 1);
    if (!is_utf8(texts[i])) {
      return refuse(TENON_INVALID_ARGUMENT,
                    fmt::format("malformed TENON note: text {} is not UTF-8", i));
    }
    at += size;
  }
  const auto lines = [](std::string_view text) {
    std::vector<std::string> out;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      if (end > 0) out.emplace_back(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
  };
  note.id = texts[0];
  note.version = printable_line(texts[1]);
  note.archs = lines(texts[2]);
  note.depends = lines(texts[3]);
  return note;
}

namespace {

std::string_view sanitizer_name(std::uint32_t kind) {
  switch (kind) {
    case 0:
      return "no sanitizer";
    case 1:
      return "AddressSanitizer";
    case 2:
      return "ThreadSanitizer";
    case 3:
      return "MemorySanitizer";
    default:
      return "an unknown sanitizer";
  }
}

#if defined(__SANITIZE_ADDRESS__)
constexpr std::uint32_t kHostSanitizer = 1;
#elif defined(__SANITIZE_THREAD__)
constexpr std::uint32_t kHostSanitizer = 2;
#else
constexpr std::uint32_t kHostSanitizer = 0;
#endif

}  // namespace

FileResult<void> vet(const ElfFile& file) {
  if (!file.note) {
    if (!file.exports_entry) {
      return refuse(TENON_NOT_FOUND,
                    "not a plugin: no entry symbol " TENON_PLUGIN_SYMBOL " and no TENON note");
    }
    return refuse(TENON_NOT_FOUND,
                  "no TENON note, without which a plugin is not loaded although it "
                  "exports " TENON_PLUGIN_SYMBOL
                  "; build it with tenon_add_plugin, or put "
                  "TENON_PLUGIN_NOTE(id, version) of tenon/plugin.h into one source file");
  }
  const PluginNote& note = *file.note;
  if (auto text = abi_refusal({}, {note.abi_major, note.abi_minor, note.min_host_minor})) {
    return refuse(TENON_INCOMPATIBLE,
                  fmt::format("plugin {} {}: {}", note.id, note.version, *text));
  }
  if (!is_plugin_id(note.id)) {
    return refuse(TENON_INVALID_ARGUMENT, fmt::format("the note's {}", id_refusal(note.id)));
  }
  if (!is_version(note.version)) {
    return refuse(TENON_INVALID_ARGUMENT,
                  fmt::format("plugin {}: {}", note.id, version_refusal(note.version)));
  }
  if (!file.exports_entry) {
    return refuse(TENON_NOT_FOUND,
                  fmt::format("plugin {} {}: no entry symbol " TENON_PLUGIN_SYMBOL
                              " is exported; define it with TENON_EXPORT",
                              note.id,
                              note.version));
  }
  // NOLINTNEXTLINE(misc-redundant-expression): the two differ in a build with a sanitizer
  if (note.sanitizer != kHostSanitizer && note.sanitizer != 0) {
    return refuse(TENON_INCOMPATIBLE,
                  fmt::format("plugin {} {}: built with {}, this host with {}",
                              note.id,
                              note.version,
                              sanitizer_name(note.sanitizer),
                              sanitizer_name(kHostSanitizer)));
  }
  return {};
}

}  // namespace tenon::loader
