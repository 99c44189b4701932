// A shared object as the linker left it: its dynamic tables, symbols, relocations and sections.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tenon::lint {

/// A symbol of the dynamic table.
struct DynamicSymbol {
  std::string name;
  std::uint8_t bind = 0;  ///< STB_*
  bool defined = false;
  std::uint64_t address = 0;
  std::string version_file;  ///< library that the symbol's version is asked of; empty: unversioned
};

/// A range of the file.
struct Range {
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;
};

/// Everything is read at once from the file's bytes, every offset checked against their number, and
/// every table bounded. Tables that do not fit are read as empty: the loader's own reader says what
/// is malformed.
class Image {
 public:
  /// Nothing where the bytes are no little-endian 64-bit ELF file.
  [[nodiscard]] static std::optional<Image> parse(std::string bytes);

  [[nodiscard]] std::uint16_t machine() const { return machine_; }
  [[nodiscard]] const std::vector<DynamicSymbol>& symbols() const { return symbols_; }
  [[nodiscard]] const std::vector<std::string>& needed() const { return needed_; }
  [[nodiscard]] const std::string& soname() const { return soname_; }
  /// DT_RUNPATH where there is one, else DT_RPATH, split at ':'.
  [[nodiscard]] const std::vector<std::string>& run_path() const { return run_path_; }
  [[nodiscard]] bool has_text_relocations() const { return text_relocations_; }
  /// Thread-local storage that is reserved when a process starts, and how much there is of any.
  [[nodiscard]] bool has_static_tls() const { return static_tls_; }
  [[nodiscard]] std::uint64_t tls_bytes() const { return tls_bytes_; }
  /// Addresses of what runs when the file is loaded: DT_INIT, DT_INIT_ARRAY, resolvers of ifuncs.
  [[nodiscard]] std::optional<std::uint64_t> init_function() const { return init_function_; }
  [[nodiscard]] const std::vector<std::uint64_t>& init_array() const { return init_array_; }
  [[nodiscard]] const std::vector<std::uint64_t>& resolvers() const { return resolvers_; }
  /// The address that a relocation puts at `address`, or what the file holds there.
  [[nodiscard]] std::optional<std::uint64_t> pointer_at(std::uint64_t address) const;
  /// The contents of a section, by the section table; nothing where it was stripped.
  [[nodiscard]] std::optional<std::string_view> section(std::string_view name) const;
  [[nodiscard]] bool has_section_table() const { return !sections_.empty(); }

  /// Bytes of code from an address to the end of its section, or of its executable segment where no
  /// section table tells; empty outside of one.
  [[nodiscard]] std::string_view code_at(std::uint64_t address) const;
  /// Whether a function begins here, as far as unwind tables and symbols tell.
  [[nodiscard]] bool begins_function(std::uint64_t address) const;
  /// The name of the function at exactly this address, demangled, else the address.
  [[nodiscard]] std::string name_of(std::uint64_t address) const;

  template <class T>
  [[nodiscard]] static std::optional<T> read(std::string_view bytes, std::uint64_t offset) {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    if (offset > bytes.size() || sizeof(T) > bytes.size() - offset) return std::nullopt;
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
  }

 private:
  struct Segment {
    std::uint64_t address = 0;
    Range file;
    bool executable = false;
  };
  using Tags = std::multimap<std::int64_t, std::uint64_t>;

  bool read_segments();
  void read_sections();
  void read_dynamic();
  void read_names(const Tags& tags);
  void read_symbols(const Tags& tags);
  void read_versions(const Tags& tags);
  void read_relocations(const Tags& tags);
  void read_load_code(const Tags& tags);
  void read_unwind_table(std::uint64_t address);
  void read_static_symbols();
  [[nodiscard]] std::uint64_t count_symbols(const Tags& tags) const;
  [[nodiscard]] std::uint64_t count_hashed_symbols(std::uint64_t table) const;
  [[nodiscard]] std::optional<std::uint64_t> offset_of(std::uint64_t address) const;
  [[nodiscard]] std::string text_at(std::uint64_t offset, std::uint64_t end) const;
  [[nodiscard]] std::string dynamic_text(std::uint64_t index) const;
  template <class T>
  [[nodiscard]] std::optional<T> at(std::uint64_t offset) const {
    return read<T>(bytes_, offset);
  }

  std::string bytes_;
  std::uint16_t machine_ = 0;
  std::vector<Segment> segments_;
  std::vector<std::pair<std::string, Range>> sections_;
  std::vector<Range> code_sections_;  ///< those with instructions, by offset
  Range dynamic_;
  std::uint64_t strings_ = 0;
  std::uint64_t strings_end_ = 0;
  std::vector<DynamicSymbol> symbols_;
  std::vector<std::string> needed_;
  std::string soname_;
  std::vector<std::string> run_path_;
  bool text_relocations_ = false;
  bool static_tls_ = false;
  std::uint64_t tls_bytes_ = 0;
  std::optional<std::uint64_t> init_function_;
  std::vector<std::uint64_t> init_array_;
  std::vector<std::uint64_t> resolvers_;
  std::map<std::uint64_t, std::uint64_t> relocated_;  ///< place to the address that it gets
  std::map<std::uint64_t, std::string> functions_;    ///< begin to mangled name, if it has one
};

}  // namespace tenon::lint
