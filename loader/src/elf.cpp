// A bounded reader of 64-bit little-endian ELF files: notes, dynamic names, one symbol.
#include "tenon/loader/elf.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "note.hpp"

namespace tenon::loader {
namespace {

// Source: System V ABI, generic part (gABI 4.1, chapters 4 and 5) and the GNU hash table as glibc
// reads it.
constexpr std::uint64_t kHeaderBytes = 64;
constexpr std::uint64_t kProgramHeaderBytes = 56;
constexpr std::uint64_t kSymbolBytes = 24;
constexpr std::uint64_t kMaxProgramHeaders = 1024;
constexpr std::uint64_t kMaxNoteSegmentBytes = 1u << 20;
constexpr std::uint64_t kMaxDynamicEntries = 4096;
constexpr std::uint64_t kMaxNameBytes = 4096;
constexpr std::uint64_t kMaxNeeded = 512;
constexpr std::uint64_t kMaxChainSteps = 1u << 20;
constexpr std::uint32_t kPtLoad = 1;
constexpr std::uint32_t kPtDynamic = 2;
constexpr std::uint32_t kPtNote = 4;
constexpr std::uint32_t kNoteHeaderBytes = 12;
constexpr std::uint32_t kGnuBuildId = 3;
#if defined(__aarch64__)
constexpr std::uint16_t kHostMachine = 183;
#else
constexpr std::uint16_t kHostMachine = 62;
#endif

tl::unexpected<PluginFault> refuse(tenon_status code, std::string text) {
  return tl::unexpected(PluginFault{PluginStage::kNote, code, std::move(text)});
}

std::string machine_name(std::uint16_t machine) {
  switch (machine) {
    case 3:
      return "x86 (3)";
    case 40:
      return "ARM (40)";
    case 62:
      return "x86-64 (62)";
    case 183:
      return "AArch64 (183)";
    case 243:
      return "RISC-V (243)";
    default:
      return fmt::format("number {}", machine);
  }
}

/// Bytes of a file or of memory; a read that leaves them gives false.
class Source {
 public:
  explicit Source(std::span<const std::byte> bytes) : bytes_(bytes), size_bytes_(bytes.size()) {}
  Source(int descriptor, std::uint64_t size_bytes)
      : descriptor_(descriptor), size_bytes_(size_bytes) {}

  [[nodiscard]] std::uint64_t size_bytes() const { return size_bytes_; }
  [[nodiscard]] bool holds(std::uint64_t offset, std::uint64_t count) const {
    return offset <= size_bytes_ && count <= size_bytes_ - offset;
  }
  [[nodiscard]] bool read(std::uint64_t offset, void* out, std::uint64_t count) const {
    if (!holds(offset, count)) return false;
    if (count == 0) return true;
    if (descriptor_ < 0) {
      std::memcpy(out, bytes_.data() + offset, count);
      return true;
    }
    auto* to = static_cast<char*>(out);
    while (count > 0) {
      const ssize_t got = pread(descriptor_, to, count, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;  // an error, or the file shrank while we read it
      to += got;
      offset += static_cast<std::uint64_t>(got);
      count -= static_cast<std::uint64_t>(got);
    }
    return true;
  }
  template <class T>
  [[nodiscard]] std::optional<T> word(std::uint64_t offset) const {
    T value{};
    if (!read(offset, &value, sizeof value)) return std::nullopt;
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
  int descriptor_ = -1;
  std::uint64_t size_bytes_ = 0;
};

struct Segment {
  std::uint32_t type = 0;
  std::uint64_t offset = 0;
  std::uint64_t address = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t align = 0;
};

template <class T>
T load(const std::byte* at) {
  T value{};
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// What is read from the dynamic table and needed only until its names have been looked up.
struct DynamicEntries {
  std::uint64_t gnu_hash = 0;  ///< offset of the table; 0 where there is none
  std::uint64_t sysv_hash = 0;
  std::optional<std::uint64_t> soname;  ///< indices into the strings
  std::vector<std::uint64_t> needed;
  std::optional<std::uint64_t> rpath;
  std::optional<std::uint64_t> runpath;
};

class Reader {
 public:
  explicit Reader(const Source& source) : source_(source) {}

  FileResult<ElfFile> run() {
    if (auto ok = read_header(); !ok) return tl::unexpected(std::move(ok).error());
    for (const Segment& segment : segments_) {
      if (segment.type != kPtNote) continue;
      if (auto ok = read_notes(segment); !ok) return tl::unexpected(std::move(ok).error());
    }
    if (auto ok = read_dynamic(); !ok) return tl::unexpected(std::move(ok).error());
    return std::move(file_);
  }

 private:
  FileResult<void> read_header();
  FileResult<void> read_notes(const Segment& segment);
  FileResult<void> read_dynamic();
  FileResult<DynamicEntries> read_dynamic_entries(const Segment& segment);
  FileResult<void> find_entry();
  [[nodiscard]] std::optional<std::uint64_t> offset_of(std::uint64_t address) const;
  [[nodiscard]] std::optional<std::string> name_at(std::uint64_t index) const;
  [[nodiscard]] bool defines(std::uint64_t symbol, std::string_view name) const;
  [[nodiscard]] bool find_by_gnu_hash(std::uint64_t table, std::string_view name) const;
  [[nodiscard]] bool find_by_sysv_hash(std::uint64_t table, std::string_view name) const;

  const Source& source_;
  ElfFile file_;
  std::vector<Segment> segments_;
  std::uint64_t strings_ = 0;  // offsets of the dynamic tables
  std::uint64_t strings_bytes_ = 0;
  std::uint64_t symbols_ = 0;
};

FileResult<void> Reader::read_header() {
  if (source_.size_bytes() == 0) {
    return refuse(TENON_INVALID_ARGUMENT, "not a shared object: the file is empty");
  }
  unsigned char header[kHeaderBytes] = {};
  const bool magic = source_.read(0, header, 4) && std::memcmp(header, "\177ELF", 4) == 0;
  if (!magic) {
    return refuse(TENON_INVALID_ARGUMENT,
                  "not a shared object: it does not begin with the ELF magic number");
  }
  if (!source_.read(0, header, kHeaderBytes)) {
    return refuse(TENON_INVALID_ARGUMENT,
                  fmt::format("truncated ELF file: {} bytes, an ELF header has {}",
                              source_.size_bytes(),
                              kHeaderBytes));
  }
  const auto* bytes = reinterpret_cast<const std::byte*>(header);
  if (header[4] != 2) {
    return refuse(TENON_INCOMPATIBLE,
                  fmt::format("wrong ELF class: {}, this host is 64-bit",
                              header[4] == 1 ? "32-bit" : fmt::format("number {}", header[4])));
  }
  if (header[5] != 1) {
    return refuse(TENON_INCOMPATIBLE, "wrong byte order: not little-endian, as this host is");
  }
  const auto type = load<std::uint16_t>(bytes + 16);
  const auto machine = load<std::uint16_t>(bytes + 18);
  if (machine != kHostMachine) {
    return refuse(TENON_INCOMPATIBLE,
                  fmt::format("built for machine {}, this host is {}",
                              machine_name(machine),
                              machine_name(kHostMachine)));
  }
  if (type != 3) {
    return refuse(
        TENON_INVALID_ARGUMENT,
        fmt::format("not a shared object: an ELF file of type {}, wanted 3 (ET_DYN)", type));
  }
  const auto table = load<std::uint64_t>(bytes + 32);
  const auto entry_bytes = load<std::uint16_t>(bytes + 54);
  const auto count = load<std::uint16_t>(bytes + 56);
  if (entry_bytes != kProgramHeaderBytes || count == 0 || count > kMaxProgramHeaders ||
      !source_.holds(table, count * kProgramHeaderBytes)) {
    return refuse(TENON_INVALID_ARGUMENT,
                  fmt::format("truncated or malformed ELF file: {} program headers of {} bytes at "
                              "offset {} do not fit its {} bytes",
                              count,
                              entry_bytes,
                              table,
                              source_.size_bytes()));
  }
  std::vector<std::byte> raw(count * kProgramHeaderBytes);
  if (!source_.read(table, raw.data(), raw.size())) {
    return refuse(TENON_IO, "the program headers cannot be read");
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::byte* at = raw.data() + i * kProgramHeaderBytes;
    Segment segment{load<std::uint32_t>(at),
                    load<std::uint64_t>(at + 8),
                    load<std::uint64_t>(at + 16),
                    load<std::uint64_t>(at + 32),
                    load<std::uint64_t>(at + 48)};
    const bool used =
        segment.type == kPtLoad || segment.type == kPtNote || segment.type == kPtDynamic;
    if (used && !source_.holds(segment.offset, segment.file_bytes)) {
      return refuse(TENON_INVALID_ARGUMENT,
                    fmt::format("truncated ELF file: segment {} ends at byte {} of {}",
                                i,
                                segment.offset + segment.file_bytes,
                                source_.size_bytes()));
    }
    segments_.push_back(segment);
  }
  return {};
}

FileResult<void> Reader::read_notes(const Segment& segment) {
  if (segment.file_bytes > kMaxNoteSegmentBytes) {
    return refuse(TENON_INVALID_ARGUMENT,
                  fmt::format("malformed ELF file: {} bytes of notes, at most {} are read",
                              segment.file_bytes,
                              kMaxNoteSegmentBytes));
  }
  std::vector<std::byte> raw(segment.file_bytes);
  if (!source_.read(segment.offset, raw.data(), raw.size())) {
    return refuse(TENON_IO, "the notes cannot be read");
  }
  const std::uint64_t align = segment.align == 8 ? 8 : 4;
  const auto padded = [&](std::uint64_t size) { return (size + align - 1) / align * align; };
  std::uint64_t at = 0;
  while (raw.size() - at >= kNoteHeaderBytes) {
    const std::uint64_t owner_bytes = load<std::uint32_t>(raw.data() + at);
    const std::uint64_t descriptor_bytes = load<std::uint32_t>(raw.data() + at + 4);
    const auto type = load<std::uint32_t>(raw.data() + at + 8);
    const std::uint64_t owner_at = at + kNoteHeaderBytes;
    // The header counts towards alignment only in notes of 8, where it is followed by the owner's
    // pad.
    const std::uint64_t descriptor_at = at + padded(kNoteHeaderBytes + owner_bytes);
    if (owner_bytes > raw.size() - owner_at || descriptor_at > raw.size() ||
        descriptor_bytes > raw.size() - descriptor_at) {
      return refuse(
          TENON_INVALID_ARGUMENT,
          fmt::format("malformed ELF note: {} + {} bytes at {} leave the segment's {} bytes",
                      owner_bytes,
                      descriptor_bytes,
                      at,
                      raw.size()));
    }
    const std::string_view owner(reinterpret_cast<const char*>(raw.data() + owner_at), owner_bytes);
    const std::span descriptor(raw.data() + descriptor_at, descriptor_bytes);
    if (owner == std::string_view("GNU\0", 4) && type == kGnuBuildId && descriptor_bytes <= 64) {
      file_.build_id.clear();
      for (std::byte b : descriptor)
        file_.build_id += fmt::format("{:02x}", static_cast<unsigned>(b));
    } else if (owner == std::string_view("TENON\0", 6) && type == 1) {
      if (file_.note) {
        return refuse(
            TENON_INVALID_ARGUMENT,
            "two TENON notes in one file; TENON_PLUGIN_NOTE belongs into one source file");
      }
      auto note = parse_note(descriptor);
      if (!note) return tl::unexpected(std::move(note).error());
      file_.note = std::move(*note);
    }
    at = std::min<std::uint64_t>(descriptor_at + padded(descriptor_bytes), raw.size());
  }
  return {};
}

std::optional<std::uint64_t> Reader::offset_of(std::uint64_t address) const {
  for (const Segment& segment : segments_) {
    if (segment.type == kPtLoad && address >= segment.address &&
        address - segment.address < segment.file_bytes) {
      return segment.offset + (address - segment.address);
    }
  }
  return std::nullopt;
}

std::optional<std::string> Reader::name_at(std::uint64_t index) const {
  if (index >= strings_bytes_) return std::nullopt;
  const std::uint64_t limit = std::min(strings_bytes_ - index, kMaxNameBytes);
  std::string name(limit, '\0');
  if (!source_.read(strings_ + index, name.data(), limit)) return std::nullopt;
  const std::size_t end = name.find('\0');
  if (end == std::string::npos) return std::nullopt;
  name.resize(end);
  return name;
}

FileResult<DynamicEntries> Reader::read_dynamic_entries(const Segment& segment) {
  DynamicEntries entries;
  const std::uint64_t count = std::min(segment.file_bytes / 16, kMaxDynamicEntries);
  std::vector<std::byte> raw(count * 16);
  if (!source_.read(segment.offset, raw.data(), raw.size())) {
    return refuse(TENON_IO, "the dynamic table cannot be read");
  }
  for (std::size_t i = 0; i < count; ++i) {
    const auto tag = load<std::int64_t>(raw.data() + 16 * i);
    const auto value = load<std::uint64_t>(raw.data() + 16 * i + 8);
    if (tag == 0) break;
    if (tag == 1 && entries.needed.size() < kMaxNeeded) entries.needed.push_back(value);
    if (tag == 4) entries.sysv_hash = offset_of(value).value_or(0);
    if (tag == 5) strings_ = offset_of(value).value_or(0);
    if (tag == 6) symbols_ = offset_of(value).value_or(0);
    if (tag == 10) strings_bytes_ = value;
    if (tag == 14) entries.soname = value;
    if (tag == 15) entries.rpath = value;
    if (tag == 29) entries.runpath = value;
    if (tag == 0x6ffffef5) entries.gnu_hash = offset_of(value).value_or(0);
  }
  return entries;
}

FileResult<void> Reader::read_dynamic() {
  const auto segment = std::find_if(
      segments_.begin(), segments_.end(), [](const Segment& s) { return s.type == kPtDynamic; });
  if (segment == segments_.end())
    return {};  // a static executable, or a stripped oddity: no symbols
  const auto entries = read_dynamic_entries(*segment);
  if (!entries) return tl::unexpected(entries.error());
  if (strings_ == 0 || symbols_ == 0 || !source_.holds(strings_, strings_bytes_)) {
    return refuse(TENON_INVALID_ARGUMENT,
                  "malformed ELF file: its dynamic string or symbol table lies outside the file");
  }
  for (std::uint64_t index : entries->needed) {
    if (auto name = name_at(index)) file_.needed.push_back(std::move(*name));
  }
  const auto path = entries->runpath ? entries->runpath : entries->rpath;
  if (path) file_.run_path = name_at(*path).value_or("");
  if (entries->soname) file_.soname = name_at(*entries->soname).value_or("");
  if (entries->gnu_hash != 0) {
    file_.exports_entry = find_by_gnu_hash(entries->gnu_hash, TENON_PLUGIN_SYMBOL);
  }
  if (!file_.exports_entry && entries->sysv_hash != 0) {
    file_.exports_entry = find_by_sysv_hash(entries->sysv_hash, TENON_PLUGIN_SYMBOL);
  }
  return {};
}

bool Reader::defines(std::uint64_t symbol, std::string_view name) const {
  const std::uint64_t at = symbols_ + symbol * kSymbolBytes;
  const auto name_index = source_.word<std::uint32_t>(at);
  const auto info = source_.word<std::uint8_t>(at + 4);
  const auto section = source_.word<std::uint16_t>(at + 6);
  if (!name_index || !info || !section || *section == 0) return false;
  if (*info >> 4 != 1 && *info >> 4 != 2) return false;  // global or weak
  return name_at(*name_index) == name;
}

bool Reader::find_by_gnu_hash(std::uint64_t table, std::string_view name) const {
  const auto bucket_count = source_.word<std::uint32_t>(table);
  const auto first_symbol = source_.word<std::uint32_t>(table + 4);
  const auto bloom_words = source_.word<std::uint32_t>(table + 8);
  if (!bucket_count || !first_symbol || !bloom_words || *bucket_count == 0) return false;
  std::uint32_t hash = 5381;
  for (char c : name) hash = hash * 33 + static_cast<unsigned char>(c);
  const std::uint64_t buckets = table + 16 + std::uint64_t{*bloom_words} * 8;
  const std::uint64_t chain = buckets + std::uint64_t{*bucket_count} * 4;
  const auto bucket =
      source_.word<std::uint32_t>(buckets + std::uint64_t{hash % *bucket_count} * 4);
  if (!bucket || *bucket < *first_symbol) return false;
  for (std::uint64_t step = 0; step < kMaxChainSteps; ++step) {
    const std::uint64_t symbol = *bucket + step;
    const auto link = source_.word<std::uint32_t>(chain + (symbol - *first_symbol) * 4);
    if (!link) return false;
    if ((*link | 1u) == (hash | 1u) && defines(symbol, name)) return true;
    if ((*link & 1u) != 0) return false;
  }
  return false;
}

bool Reader::find_by_sysv_hash(std::uint64_t table, std::string_view name) const {
  const auto bucket_count = source_.word<std::uint32_t>(table);
  const auto chain_count = source_.word<std::uint32_t>(table + 4);
  if (!bucket_count || !chain_count || *bucket_count == 0) return false;
  std::uint32_t hash = 0;
  for (char c : name) {
    hash = (hash << 4) + static_cast<unsigned char>(c);
    const std::uint32_t high = hash & 0xf0000000u;
    hash ^= high >> 24;
    hash &= ~high;
  }
  auto symbol = source_.word<std::uint32_t>(table + 8 + std::uint64_t{hash % *bucket_count} * 4);
  for (std::uint64_t step = 0; step < kMaxChainSteps; ++step) {
    if (!symbol || *symbol == 0 || *symbol >= *chain_count) return false;
    if (defines(*symbol, name)) return true;
    symbol = source_.word<std::uint32_t>(table + 8 + (std::uint64_t{*bucket_count} + *symbol) * 4);
  }
  return false;
}

}  // namespace

FileResult<ElfFile> parse_elf(std::span<const std::byte> bytes) {
  const Source source(bytes);
  return Reader(source).run();
}

FileResult<ElfFile> read_elf(int descriptor) {
  struct stat facts {};
  if (fstat(descriptor, &facts) != 0) {
    return tl::unexpected(PluginFault{PluginStage::kFound,
                                      TENON_IO,
                                      fmt::format("cannot be examined: {}", std::strerror(errno))});
  }
  if (!S_ISREG(facts.st_mode)) {
    return tl::unexpected(
        PluginFault{PluginStage::kFound, TENON_INVALID_ARGUMENT, "not a regular file"});
  }
  const Source source(descriptor, static_cast<std::uint64_t>(facts.st_size));
  return Reader(source).run();
}

}  // namespace tenon::loader
