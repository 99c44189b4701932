// What a plugin file says about itself, read from its bytes before any of its code is mapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "tenon/core/plugin_record.hpp"
#include "tenon/plugin.h"

namespace tenon::loader {

/// The identity note (docs/abi.md), taken apart.
struct PluginNote {
  std::uint32_t note_version = 0;
  std::uint32_t abi_major = 0;
  std::uint32_t abi_minor = 0;  ///< that the plugin was built with
  std::uint32_t min_host_minor = 0;
  std::uint32_t sanitizer = 0;    ///< 0 none, 1 address, 2 thread, 3 memory
  std::uint64_t header_hash = 0;  ///< diagnostic only
  std::string id;
  std::string version;
  std::vector<std::string> archs;    ///< of device code inside, for listings
  std::vector<std::string> depends;  ///< files whose change makes a probe's result stale
};

/// Where and why the way of a plugin file into the process ended.
struct PluginFault {
  PluginStage stage = PluginStage::kFound;
  tenon_status code = TENON_INTERNAL;
  std::string text;
  bool quarantine = false;  ///< it was tried in a child process, which it did not survive
};
template <class T>
using FileResult = tl::expected<T, PluginFault>;

/// A shared object for this machine, as far as its bytes tell.
struct ElfFile {
  std::string build_id;  ///< lower-case hex; empty without one
  std::string soname;
  std::vector<std::string> needed;  ///< DT_NEEDED, in order
  std::string run_path;             ///< DT_RUNPATH, or DT_RPATH without one, as it stands there
  std::optional<PluginNote> note;
  bool exports_entry = false;  ///< defines TENON_PLUGIN_SYMBOL
};

/// Reads a regular file through its descriptor, every offset checked against the file's size; maps
/// and runs nothing. The work is bounded whatever the file holds.
/// @errors stage note: not a shared object, wrong class or machine, truncated, malformed note.
[[nodiscard]] FileResult<ElfFile> read_elf(int descriptor);
/// The same of bytes in memory.
[[nodiscard]] FileResult<ElfFile> parse_elf(std::span<const std::byte> bytes);

/// What every plugin file must have before it may be loaded: a note whose ABI this host serves, an
/// id by the grammar, and the entry symbol.
/// @errors stage note, naming what was found, what is wanted and what to do.
[[nodiscard]] FileResult<void> vet(const ElfFile& file);

}  // namespace tenon::loader
