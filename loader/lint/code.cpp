// Lengths of x86-64 instructions, and a walk over what is reached. Source: Intel 64 and IA-32
// Architectures Software Developer's Manual, volume 2, chapter 2 and appendix A (opcode maps).
#include "code.hpp"

#include <array>
#include <set>
#include <vector>

namespace tenon::lint {
namespace {

/// What follows an opcode.
enum Form : std::uint8_t {
  kBad = 0,
  kPlain = 1,       // nothing
  kByte = 2,        // one byte
  kWord = 4,        // two bytes
  kLong = 8,        // four bytes, two with the operand-size prefix
  kModRm = 16,      // ModRM, and what it asks for
  kRelative = 32,   // the immediate is a distance
  kEnds = 64,       // flow does not continue
  kFarData = 128u,  // an address of eight bytes
};

using Forms = std::array<std::uint8_t, 256>;

constexpr void set_range(Forms& forms, unsigned begin, unsigned end, unsigned form) {
  for (unsigned i = begin; i <= end; ++i) forms[i] = static_cast<std::uint8_t>(form);
}

/// The map of one-byte opcodes; prefixes are not in it.
constexpr Forms one_byte_forms() {
  Forms forms{};
  for (unsigned row = 0; row < 8; ++row) {  // add, or, adc, sbb, and, sub, xor, cmp
    set_range(forms, row * 8, row * 8 + 3, kModRm);
    forms[row * 8 + 4] = kByte;
    forms[row * 8 + 5] = kLong;
  }
  set_range(forms, 0x50, 0x5f, kPlain);
  forms[0x63] = kModRm;
  forms[0x68] = kLong;
  forms[0x69] = kModRm | kLong;
  forms[0x6a] = kByte;
  forms[0x6b] = kModRm | kByte;
  set_range(forms, 0x6c, 0x6f, kPlain);
  set_range(forms, 0x70, 0x7f, kByte | kRelative);
  set_range(forms, 0x80, 0x83, kModRm | kByte);
  forms[0x81] = kModRm | kLong;
  forms[0x82] = kBad;
  set_range(forms, 0x84, 0x8f, kModRm);
  set_range(forms, 0x90, 0x9f, kPlain);
  forms[0x9a] = kBad;
  set_range(forms, 0xa0, 0xa3, kFarData);
  set_range(forms, 0xa4, 0xa7, kPlain);
  forms[0xa8] = kByte;
  forms[0xa9] = kLong;
  set_range(forms, 0xaa, 0xaf, kPlain);
  set_range(forms, 0xb0, 0xb7, kByte);
  set_range(forms, 0xb8, 0xbf, kLong);
  set_range(forms, 0xc0, 0xc1, kModRm | kByte);
  forms[0xc2] = kWord | kEnds;
  forms[0xc3] = kPlain | kEnds;
  forms[0xc6] = kModRm | kByte;
  forms[0xc7] = kModRm | kLong;
  forms[0xc8] = kWord | kByte;
  forms[0xc9] = kPlain;
  forms[0xca] = kWord | kEnds;
  forms[0xcb] = kPlain | kEnds;
  forms[0xcc] = kPlain;
  forms[0xcd] = kByte;
  forms[0xcf] = kPlain | kEnds;
  set_range(forms, 0xd0, 0xd3, kModRm);
  forms[0xd7] = kPlain;
  set_range(forms, 0xd8, 0xdf, kModRm);
  set_range(forms, 0xe0, 0xe3, kByte | kRelative);
  set_range(forms, 0xe4, 0xe7, kByte);
  forms[0xe8] = kLong | kRelative;
  forms[0xe9] = kLong | kRelative | kEnds;
  forms[0xeb] = kByte | kRelative | kEnds;
  set_range(forms, 0xec, 0xef, kPlain);
  forms[0xf1] = kPlain;
  forms[0xf4] = kPlain | kEnds;
  forms[0xf5] = kPlain;
  set_range(forms, 0xf6, 0xf7, kModRm);
  set_range(forms, 0xf8, 0xfd, kPlain);
  set_range(forms, 0xfe, 0xff, kModRm);
  return forms;
}

/// The map of opcodes behind 0f; 38 and 3a lead to further maps, all of them beyond the baseline.
constexpr Forms two_byte_forms() {
  Forms forms{};
  set_range(forms, 0x00, 0xff, kModRm);
  for (unsigned i :
       {0x05, 0x06, 0x07, 0x08, 0x09, 0x0e, 0x77, 0xa0, 0xa1, 0xa2, 0xa8, 0xa9, 0xaa}) {
    forms[i] = kPlain;
  }
  for (unsigned i : {0x04, 0x0a, 0x0c, 0x24, 0x25, 0x26, 0x27, 0x36, 0x39, 0x3b, 0x3c}) {
    forms[i] = kBad;
  }
  set_range(forms, 0x3d, 0x3f, kBad);
  forms[0x0b] = kPlain | kEnds;
  set_range(forms, 0x30, 0x37, kPlain);
  set_range(forms, 0x80, 0x8f, kLong | kRelative);
  set_range(forms, 0xc8, 0xcf, kPlain);
  for (unsigned i : {0x0f, 0x70, 0x71, 0x72, 0x73, 0xa4, 0xac, 0xba, 0xc2, 0xc4, 0xc5, 0xc6}) {
    forms[i] = kModRm | kByte;
  }
  return forms;
}

constexpr Forms kOneByte = one_byte_forms();
constexpr Forms kTwoByte = two_byte_forms();

struct Prefixes {
  bool operand_size = false;
  bool address_size = false;
  bool repeat = false;      // f3
  bool repeat_not = false;  // f2
  bool rex_w = false;
};

class Decoder {
 public:
  explicit Decoder(std::string_view code) : code_(code.substr(0, kMaxBytes)) {}

  std::optional<Instruction> run();

 private:
  static constexpr std::size_t kMaxBytes = 15;

  [[nodiscard]] std::uint8_t peek(std::size_t ahead = 0) const {
    return at_ + ahead < code_.size() ? static_cast<std::uint8_t>(code_[at_ + ahead]) : 0;
  }
  void take_prefixes();
  /// Names the set of a VEX, EVEX or XOP prefix at this place.
  [[nodiscard]] std::string_view vector_prefix() const;
  [[nodiscard]] std::string_view later_set(std::uint8_t opcode) const;
  void take_mod_rm();
  void take_immediate(std::uint8_t opcode, unsigned form, bool two_bytes);
  std::int64_t take_signed(std::size_t size_bytes);

  std::string_view code_;
  std::size_t at_ = 0;
  Prefixes prefixes_;
  Instruction made_;
};

void Decoder::take_prefixes() {
  for (; at_ < code_.size(); ++at_) {
    switch (peek()) {
      case 0x66:
        prefixes_.operand_size = true;
        break;
      case 0x67:
        prefixes_.address_size = true;
        break;
      case 0xf2:
        prefixes_.repeat_not = true;
        break;
      case 0xf3:
        prefixes_.repeat = true;
        break;
      case 0x26:
      case 0x2e:
      case 0x36:
      case 0x3e:
      case 0x64:
      case 0x65:
      case 0xf0:
        break;
      default:
        if ((peek() & 0xf0) != 0x40) return;
        prefixes_.rex_w = (peek() & 8) != 0;  // REX counts only where it stands last
        ++at_;
        return;
    }
  }
}

std::string_view Decoder::vector_prefix() const {
  switch (peek()) {
    case 0xc4:
    case 0xc5:
      return "AVX (VEX)";
    case 0x62:
      return "AVX-512 (EVEX)";
    case 0x8f:
      return (peek(1) & 0x38) != 0 ? "XOP" : "";
    default:
      return "";
  }
}

/// Of instructions in the map behind 0f, those that came after the first x86-64.
std::string_view Decoder::later_set(std::uint8_t opcode) const {
  const std::uint8_t reg = (peek() >> 3) & 7;
  const bool in_register = peek() >> 6 == 3;
  switch (opcode) {
    case 0x38:
    case 0x3a:
      return "SSSE3, SSE4 or later (0f38, 0f3a)";
    case 0x12:
      return prefixes_.repeat || prefixes_.repeat_not ? "SSE3" : "";
    case 0x16:
      return prefixes_.repeat ? "SSE3" : "";
    case 0x7c:
    case 0x7d:
    case 0xd0:
      return prefixes_.repeat_not || prefixes_.operand_size ? "SSE3" : "";
    case 0xf0:
      return prefixes_.repeat_not ? "SSE3" : "";
    case 0xb8:
      return prefixes_.repeat ? "POPCNT" : "";
    case 0xbd:
      return prefixes_.repeat ? "LZCNT" : "";
    case 0xc7:
      if (in_register && reg >= 6) return "RDRAND or RDSEED";
      return !in_register && reg == 1 && prefixes_.rex_w ? "CMPXCHG16B" : "";
    default:
      return "";
  }
}

void Decoder::take_mod_rm() {
  const std::uint8_t mod_rm = peek();
  const unsigned mod = mod_rm >> 6;
  const unsigned rm = mod_rm & 7;
  ++at_;
  if (mod == 3) return;
  std::size_t displacement = mod == 1 ? 1 : mod == 2 ? 4 : 0;
  if (rm == 4) {
    if (mod == 0 && (peek() & 7) == 5) displacement = 4;
    ++at_;
  } else if (rm == 5 && mod == 0) {
    displacement = 4;  // from the next instruction
  }
  at_ += displacement;
}

std::int64_t Decoder::take_signed(std::size_t size_bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size_bytes; ++i) value |= std::uint64_t{peek(i)} << (8 * i);
  at_ += size_bytes;
  const unsigned shift = 64 - 8 * static_cast<unsigned>(size_bytes);
  return static_cast<std::int64_t>(value << shift) >> shift;
}

void Decoder::take_immediate(std::uint8_t opcode, unsigned form, bool two_bytes) {
  std::size_t size = 0;
  if ((form & kFarData) != 0) size = prefixes_.address_size ? 4 : 8;
  if ((form & kWord) != 0) size = 2;
  if ((form & kByte) != 0) size += 1;
  if ((form & kLong) != 0) {
    size = prefixes_.operand_size && (form & kRelative) == 0 ? 2 : 4;
    if (!two_bytes && opcode >= 0xb8 && opcode <= 0xbf && prefixes_.rex_w) size = 8;
  }
  if (size == 0) return;
  const std::int64_t value = take_signed(size);
  if ((form & kRelative) != 0) made_.relative = value;
}

std::optional<Instruction> Decoder::run() {
  take_prefixes();
  if (at_ >= code_.size()) return std::nullopt;
  if (const std::string_view set = vector_prefix(); !set.empty()) {
    made_.beyond_baseline = true;
    made_.set = set;
    made_.ends_flow = true;  // nobody needs to know where it ends
    made_.size_bytes = static_cast<std::uint32_t>(at_ + 1);
    return made_;
  }
  const bool two_bytes = peek() == 0x0f;
  if (two_bytes) ++at_;
  const std::uint8_t opcode = peek();
  ++at_;
  if (two_bytes) {
    if (const std::string_view set = later_set(opcode); !set.empty()) {
      made_.beyond_baseline = true;
      made_.set = set;
      made_.ends_flow = true;
      made_.size_bytes = static_cast<std::uint32_t>(at_);
      return made_;
    }
  }
  unsigned form = (two_bytes ? kTwoByte : kOneByte)[opcode];
  if (form == kBad) return std::nullopt;
  const unsigned reg = (peek() >> 3) & 7;
  if (!two_bytes && (opcode == 0xf6 || opcode == 0xf7) && reg < 2) {  // test, alone in its group
    form |= opcode == 0xf6 ? kByte : kLong;
  }
  if (!two_bytes && opcode == 0xff && (reg == 4 || reg == 5)) form |= kEnds;  // jmp through memory
  if ((form & kModRm) != 0) take_mod_rm();
  take_immediate(opcode, form, two_bytes);
  if (at_ > code_.size()) return std::nullopt;
  made_.size_bytes = static_cast<std::uint32_t>(at_);
  made_.is_call = !two_bytes && opcode == 0xe8;
  made_.ends_flow = (form & kEnds) != 0;
  return made_;
}

}  // namespace

std::optional<Instruction> decode_x86(std::string_view code) { return Decoder(code).run(); }

std::optional<BeyondBaseline> find_beyond_baseline(const Image& image, std::uint64_t entry) {
  constexpr std::size_t kMaxInstructions = 1'000'000;
  struct Place {
    std::uint64_t address;
    std::uint64_t function;
  };
  std::vector<Place> waiting{{entry, entry}};
  std::set<std::uint64_t> seen;
  while (!waiting.empty() && seen.size() < kMaxInstructions) {
    Place place = waiting.back();
    waiting.pop_back();
    while (seen.insert(place.address).second && seen.size() < kMaxInstructions) {
      const auto instruction = decode_x86(image.code_at(place.address));
      if (!instruction) break;
      if (instruction->beyond_baseline) {
        return BeyondBaseline{place.address, place.function, instruction->set};
      }
      const std::uint64_t next = place.address + instruction->size_bytes;
      if (instruction->relative) {
        const std::uint64_t target = next + static_cast<std::uint64_t>(*instruction->relative);
        const bool enters = instruction->is_call || image.begins_function(target);
        waiting.push_back({target, enters ? target : place.function});
      }
      // What follows a call that does not return is the next function, not this one.
      if (instruction->ends_flow || image.begins_function(next)) break;
      place.address = next;
    }
  }
  return std::nullopt;
}

bool is_jump_alone(const Image& image, std::uint64_t entry) {
  std::string_view code = image.code_at(entry);
  if (code.starts_with("\xf3\x0f\x1e\xfa")) code.remove_prefix(4);  // endbr64
  const auto instruction = decode_x86(code);
  return instruction && instruction->ends_flow && instruction->relative && !instruction->is_call;
}

}  // namespace tenon::lint
