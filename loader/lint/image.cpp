// Reads the tables of an ELF file. Source: System V ABI (gABI 4.1), AMD64 psABI, LSB on
// .eh_frame_hdr.
#include "image.hpp"

#include <algorithm>
#include <cxxabi.h>
#include <elf.h>
#include <memory>

#include <fmt/format.h>

namespace tenon::lint {
namespace {

constexpr std::uint64_t kMaxEntries = 1u << 22;  // of any table
constexpr std::uint64_t kMaxNameBytes = 1u << 16;
constexpr std::uint64_t kNone = 0;

std::optional<std::uint64_t> first(const std::multimap<std::int64_t, std::uint64_t>& tags,
                                   std::int64_t tag) {
  const auto found = tags.find(tag);
  if (found == tags.end()) return std::nullopt;
  return found->second;
}

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text != nullptr ? std::string(text.get()) : name;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] != separator) continue;
    parts.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  return parts;
}

}  // namespace

std::optional<Image> Image::parse(std::string bytes) {
  Image image;
  image.bytes_ = std::move(bytes);
  if (!image.read_segments()) return std::nullopt;
  image.read_sections();
  image.read_dynamic();
  image.read_static_symbols();
  return image;
}

bool Image::read_segments() {
  const auto header = at<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB) {
    return false;
  }
  machine_ = header->e_machine;
  std::uint64_t unwind = kNone;
  for (std::uint64_t i = 0; i < header->e_phnum; ++i) {
    const auto segment = at<Elf64_Phdr>(header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) break;
    const Range file{segment->p_offset, segment->p_filesz};
    if (file.offset > bytes_.size() || file.size_bytes > bytes_.size() - file.offset) continue;
    if (segment->p_type == PT_LOAD) {
      segments_.push_back({segment->p_vaddr, file, (segment->p_flags & PF_X) != 0});
    } else if (segment->p_type == PT_DYNAMIC) {
      dynamic_ = file;
    } else if (segment->p_type == PT_TLS) {
      tls_bytes_ = segment->p_memsz;
    } else if (segment->p_type == PT_GNU_EH_FRAME) {
      unwind = segment->p_vaddr;
    }
  }
  if (unwind != kNone) read_unwind_table(unwind);
  return true;
}

void Image::read_sections() {
  const auto header = at<Elf64_Ehdr>(0);
  if (!header || header->e_shoff == 0 || header->e_shentsize != sizeof(Elf64_Shdr)) return;
  const auto names =
      at<Elf64_Shdr>(header->e_shoff + std::uint64_t{header->e_shstrndx} * sizeof(Elf64_Shdr));
  if (!names) return;
  for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto section = at<Elf64_Shdr>(header->e_shoff + i * sizeof(Elf64_Shdr));
    if (!section) return;
    if (section->sh_type == SHT_NOBITS || section->sh_offset > bytes_.size() ||
        section->sh_size > bytes_.size() - section->sh_offset) {
      continue;
    }
    sections_.emplace_back(
        text_at(names->sh_offset + section->sh_name, names->sh_offset + names->sh_size),
        Range{section->sh_offset, section->sh_size});
    if ((section->sh_flags & SHF_EXECINSTR) != 0)
      code_sections_.push_back({section->sh_offset, section->sh_size});
  }
}

std::optional<std::uint64_t> Image::offset_of(std::uint64_t address) const {
  for (const Segment& segment : segments_) {
    if (address >= segment.address && address - segment.address < segment.file.size_bytes) {
      return segment.file.offset + (address - segment.address);
    }
  }
  return std::nullopt;
}

std::string Image::text_at(std::uint64_t offset, std::uint64_t end) const {
  end = std::min<std::uint64_t>(end, bytes_.size());
  if (offset >= end) return {};
  const std::string_view text =
      std::string_view(bytes_).substr(offset, std::min(end - offset, kMaxNameBytes));
  return std::string(text.substr(0, text.find('\0')));
}

std::string Image::dynamic_text(std::uint64_t index) const {
  return text_at(strings_ + index, strings_end_);
}

void Image::read_dynamic() {
  Tags tags;
  for (std::uint64_t i = 0; i < dynamic_.size_bytes / sizeof(Elf64_Dyn); ++i) {
    const auto entry = at<Elf64_Dyn>(dynamic_.offset + i * sizeof(Elf64_Dyn));
    if (!entry || entry->d_tag == DT_NULL) break;
    tags.emplace(entry->d_tag, entry->d_un.d_val);
  }
  read_names(tags);
  read_symbols(tags);
  read_versions(tags);
  read_relocations(tags);
  read_load_code(tags);
}

void Image::read_names(const Tags& tags) {
  strings_ = offset_of(first(tags, DT_STRTAB).value_or(kNone)).value_or(kNone);
  strings_end_ = strings_ == kNone ? 0 : strings_ + first(tags, DT_STRSZ).value_or(0);
  for (auto [at, end] = tags.equal_range(DT_NEEDED); at != end; ++at) {
    needed_.push_back(dynamic_text(at->second));
  }
  if (const auto name = first(tags, DT_SONAME)) soname_ = dynamic_text(*name);
  auto path = first(tags, DT_RUNPATH);
  if (!path) path = first(tags, DT_RPATH);
  if (path) run_path_ = split(dynamic_text(*path), ':');
  const std::uint64_t flags = first(tags, DT_FLAGS).value_or(0);
  text_relocations_ = tags.count(DT_TEXTREL) != 0 || (flags & DF_TEXTREL) != 0;
  static_tls_ = (flags & DF_STATIC_TLS) != 0;
}

std::uint64_t Image::count_hashed_symbols(std::uint64_t table) const {
  const auto bucket_count = at<std::uint32_t>(table);
  const auto first_symbol = at<std::uint32_t>(table + 4);
  const auto bloom_words = at<std::uint32_t>(table + 8);
  if (!bucket_count || !first_symbol || !bloom_words) return 0;
  const std::uint64_t buckets = table + 16 + std::uint64_t{*bloom_words} * 8;
  const std::uint64_t chains = buckets + std::uint64_t{*bucket_count} * 4;
  std::uint64_t last = 0;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(*bucket_count, kMaxEntries); ++i) {
    last = std::max<std::uint64_t>(last, at<std::uint32_t>(buckets + i * 4).value_or(0));
  }
  if (last < *first_symbol) return *first_symbol;
  while (last < kMaxEntries) {  // to the end of the last bucket's chain
    const auto link = at<std::uint32_t>(chains + (last - *first_symbol) * 4);
    ++last;
    if (!link || (*link & 1u) != 0) break;
  }
  return last;
}

std::uint64_t Image::count_symbols(const Tags& tags) const {
  const auto section = std::find_if(
      sections_.begin(), sections_.end(), [](const auto& s) { return s.first == ".dynsym"; });
  if (section != sections_.end()) return section->second.size_bytes / sizeof(Elf64_Sym);
  if (const auto hash = offset_of(first(tags, DT_HASH).value_or(kNone))) {
    return at<std::uint32_t>(*hash + 4).value_or(0);
  }
  const auto hash = offset_of(first(tags, DT_GNU_HASH).value_or(kNone));
  return hash ? count_hashed_symbols(*hash) : 0;
}

void Image::read_symbols(const Tags& tags) {
  const auto table = offset_of(first(tags, DT_SYMTAB).value_or(kNone));
  if (!table) return;
  const std::uint64_t count = std::min(count_symbols(tags), kMaxEntries);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto symbol = at<Elf64_Sym>(*table + i * sizeof(Elf64_Sym));
    if (!symbol) return;
    symbols_.push_back({dynamic_text(symbol->st_name),
                        static_cast<std::uint8_t>(ELF64_ST_BIND(symbol->st_info)),
                        symbol->st_shndx != SHN_UNDEF,
                        symbol->st_value,
                        {}});
  }
}

void Image::read_versions(const Tags& tags) {
  const auto indices = offset_of(first(tags, DT_VERSYM).value_or(kNone));
  auto need_at = offset_of(first(tags, DT_VERNEED).value_or(kNone));
  if (!indices || !need_at) return;
  std::map<std::uint16_t, std::string> files;
  const std::uint64_t count = std::min(first(tags, DT_VERNEEDNUM).value_or(0), kMaxEntries);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto need = at<Elf64_Verneed>(*need_at);
    if (!need) break;
    std::uint64_t item_at = *need_at + need->vn_aux;
    for (std::uint64_t k = 0; k < need->vn_cnt; ++k) {
      const auto item = at<Elf64_Vernaux>(item_at);
      if (!item) break;
      files[item->vna_other & 0x7fff] = dynamic_text(need->vn_file);
      item_at += item->vna_next;
    }
    if (need->vn_next == 0) break;
    *need_at += need->vn_next;
  }
  for (std::uint64_t i = 0; i < symbols_.size(); ++i) {
    const auto index = at<std::uint16_t>(*indices + i * 2);
    if (!index) return;
    const auto file = files.find(*index & 0x7fff);
    if (file != files.end()) symbols_[i].version_file = file->second;
  }
}

void Image::read_relocations(const Tags& tags) {
  const auto table = offset_of(first(tags, DT_RELA).value_or(kNone));
  const std::uint64_t count =
      std::min(first(tags, DT_RELASZ).value_or(0) / sizeof(Elf64_Rela), kMaxEntries);
  if (!table) return;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto entry = at<Elf64_Rela>(*table + i * sizeof(Elf64_Rela));
    if (!entry) return;
    const auto addend = static_cast<std::uint64_t>(entry->r_addend);
    const std::uint64_t type = ELF64_R_TYPE(entry->r_info);
    const std::uint64_t symbol = ELF64_R_SYM(entry->r_info);
    const bool arm = machine_ == EM_AARCH64;
    if (type == (arm ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE)) {
      relocated_[entry->r_offset] = addend;
    } else if (type == (arm ? R_AARCH64_ABS64 : R_X86_64_64) && symbol < symbols_.size() &&
               symbols_[symbol].defined) {
      relocated_[entry->r_offset] = symbols_[symbol].address + addend;
    } else if (type == (arm ? R_AARCH64_IRELATIVE : R_X86_64_IRELATIVE)) {
      resolvers_.push_back(addend);
    } else if (type == (arm ? R_AARCH64_TLS_TPREL : R_X86_64_TPOFF64)) {
      static_tls_ = true;
    }
  }
}

std::optional<std::uint64_t> Image::pointer_at(std::uint64_t address) const {
  const auto relocated = relocated_.find(address);
  if (relocated != relocated_.end()) return relocated->second;
  const auto offset = offset_of(address);
  return offset ? at<std::uint64_t>(*offset) : std::nullopt;
}

void Image::read_load_code(const Tags& tags) {
  init_function_ = first(tags, DT_INIT);
  const auto array = first(tags, DT_INIT_ARRAY);
  if (!array) return;
  const std::uint64_t count = std::min(first(tags, DT_INIT_ARRAYSZ).value_or(0) / 8, kMaxEntries);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto function = pointer_at(*array + i * 8);
    if (function && *function != 0) init_array_.push_back(*function);
  }
}

void Image::read_unwind_table(std::uint64_t address) {
  struct Header {
    std::uint8_t version, pointer_encoding, count_encoding, table_encoding;
    std::int32_t frames;
    std::uint32_t count;
  };
  const auto offset = offset_of(address);
  const auto header = offset ? at<Header>(*offset) : std::nullopt;
  // The one form that linkers write: a four-byte count, pairs of four-byte offsets from the header.
  if (!header || header->version != 1 || header->count_encoding != 0x03 ||
      header->table_encoding != 0x3b) {
    return;
  }
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(header->count, kMaxEntries); ++i) {
    const auto begin = at<std::int32_t>(*offset + sizeof(Header) + i * 8);
    if (!begin) return;
    functions_.emplace(address + static_cast<std::uint64_t>(std::int64_t{*begin}), std::string());
  }
}

void Image::read_static_symbols() {
  const auto table = section(".symtab");
  const auto names = section(".strtab");
  if (!table || !names) return;
  const std::uint64_t count = std::min(table->size() / sizeof(Elf64_Sym), kMaxEntries);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto symbol = read<Elf64_Sym>(*table, i * sizeof(Elf64_Sym));
    if (!symbol || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF ||
        symbol->st_name >= names->size()) {
      continue;
    }
    const std::string_view name = names->substr(symbol->st_name, kMaxNameBytes);
    functions_[symbol->st_value] = std::string(name.substr(0, name.find('\0')));
  }
}

std::optional<std::string_view> Image::section(std::string_view name) const {
  for (const auto& [each, range] : sections_) {
    if (each == name) return std::string_view(bytes_).substr(range.offset, range.size_bytes);
  }
  return std::nullopt;
}

std::string_view Image::code_at(std::uint64_t address) const {
  for (const Segment& segment : segments_) {
    if (!segment.executable || address < segment.address) continue;
    const std::uint64_t inside = address - segment.address;
    if (inside >= segment.file.size_bytes) continue;
    const std::uint64_t offset = segment.file.offset + inside;
    if (code_sections_.empty())
      return std::string_view(bytes_).substr(offset, segment.file.size_bytes - inside);
    // Between two sections lies padding, which would be read as code.
    const auto section = std::ranges::find_if(code_sections_, [&](const Range& range) {
      return offset >= range.offset && offset - range.offset < range.size_bytes;
    });
    if (section == code_sections_.end()) return {};
    const std::uint64_t in_section = section->size_bytes - (offset - section->offset);
    return std::string_view(bytes_).substr(offset,
                                           std::min(in_section, segment.file.size_bytes - inside));
  }
  return {};
}

bool Image::begins_function(std::uint64_t address) const { return functions_.contains(address); }

std::string Image::name_of(std::uint64_t address) const {
  const auto found = functions_.find(address);
  if (found == functions_.end() || found->second.empty()) return fmt::format("{:#x}", address);
  return demangled(found->second);
}

}  // namespace tenon::lint
