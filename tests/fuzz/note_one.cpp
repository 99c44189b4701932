// The properties of the reader of plugin files that hold for any bytes.
#include "note_one.hpp"

#include <algorithm>
#include <span>

#include "note.hpp"
#include "tenon/loader/abi_version.hpp"
#include "tenon/loader/elf.hpp"

namespace tenon::fuzz {
namespace {

using loader::ElfFile;
using loader::PluginFault;
using loader::PluginNote;

std::string broken_fault(const PluginFault& fault) {
  if (fault.stage != PluginStage::kNote) return "a fault of another stage: " + fault.text;
  if (fault.code >= TENON_OK) return "a fault that is no error: " + fault.text;
  if (fault.text.empty()) return "a fault without a text";
  if (!loader::is_utf8(fault.text)) return "a fault whose text is not UTF-8";
  return {};
}

/// The descriptor that says the same.
std::string written(const PluginNote& note) {
  std::string bytes;
  const auto word = [&bytes](std::uint64_t value) {
    for (unsigned i = 0; i < 4; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  };
  const auto list = [](const std::vector<std::string>& items) {
    std::string text;
    for (const std::string& item : items) text += (text.empty() ? "" : "\n") + item;
    return text;
  };
  const std::string texts[] = {note.id, note.version, list(note.archs), list(note.depends)};
  for (const std::uint64_t value : {std::uint64_t{note.note_version},
                                    std::uint64_t{note.abi_major},
                                    std::uint64_t{note.abi_minor},
                                    std::uint64_t{note.min_host_minor},
                                    std::uint64_t{note.sanitizer},
                                    note.header_hash & 0xffffffff,
                                    note.header_hash >> 32}) {
    word(value);
  }
  for (const std::string& text : texts) word(text.size() + 1);
  for (const std::string& text : texts) bytes.append(text.c_str(), text.size() + 1);
  return bytes;
}

bool same(const PluginNote& a, const PluginNote& b) {
  return a.note_version == b.note_version && a.abi_major == b.abi_major &&
         a.abi_minor == b.abi_minor && a.min_host_minor == b.min_host_minor &&
         a.sanitizer == b.sanitizer && a.header_hash == b.header_hash && a.id == b.id &&
         a.version == b.version && a.archs == b.archs && a.depends == b.depends;
}

std::string broken_note(const PluginNote& note) {
  for (const auto* list : {&note.archs, &note.depends}) {
    for (const std::string& item : *list) {
      if (item.empty() || item.find('\n') != std::string::npos || !loader::is_utf8(item)) {
        return "an item of a list that is none: " + item;
      }
    }
  }
  const std::string bytes = written(note);
  const auto again = loader::parse_note(std::as_bytes(std::span(bytes)));
  if (!again) return "a note does not read back: " + again.error().text;
  return same(note, *again) ? "" : "a note changes when it is written and read";
}

std::string broken_file(const ElfFile& file, std::size_t size_bytes) {
  std::size_t named = file.soname.size();
  for (const std::string& name : file.needed) named += name.size();
  if (file.needed.size() > 512 || file.soname.size() > size_bytes || named > 513 * 4096) {
    return "more names than the file can hold";
  }
  if (file.build_id.size() > 128) return "a build id of " + std::to_string(file.build_id.size());
  if (const auto vetted = loader::vet(file); !vetted) return broken_fault(vetted.error());
  if (!file.note || !file.exports_entry || !loader::is_plugin_id(file.note->id)) {
    return "a file was taken without note, entry symbol or a good id";
  }
  return broken_note(*file.note);
}

}  // namespace

std::string broken_note_property(std::string_view bytes) {
  const auto span = std::as_bytes(std::span(bytes));
  const auto file = loader::parse_elf(span);
  std::string broken = file ? broken_file(*file, bytes.size()) : broken_fault(file.error());
  if (!broken.empty()) return broken;
  const auto note = loader::parse_note(span);
  return note ? broken_note(*note) : broken_fault(note.error());
}

}  // namespace tenon::fuzz
