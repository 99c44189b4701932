// Names and literals in generated C and C++.
#include "cpp_text.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "tenon/manifest/contracts.hpp"

namespace tenon::manifest {
namespace {

char upper(char c) { return static_cast<char>(std::toupper(static_cast<unsigned char>(c))); }

}  // namespace

std::string upper_case(std::string_view text) {
  std::string out;
  for (const char c : text) out += upper(c);
  return out;
}

std::string pascal_case(std::string_view text) {
  std::string out;
  bool start = true;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) {
      start = true;
      continue;
    }
    out += start ? upper(c) : c;
    start = false;
  }
  return out.empty() ? "Empty" : out;
}

std::string c_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte > 0x7e) {
      out += fmt::format("\\{:03o}", byte);  // octal escapes end after three digits
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string Names::take(std::string name) {
  while (std::find(taken_.begin(), taken_.end(), name) != taken_.end()) name += '_';
  taken_.push_back(name);
  return name;
}

std::string cpp_name(std::string_view name) {
  static constexpr std::array<std::string_view, 104> kReserved{
      "alignas",       "alignof",     "and",
      "and_eq",        "asm",         "auto",
      "bitand",        "bitor",       "bool",
      "break",         "case",        "catch",
      "char",          "char16_t",    "char32_t",
      "char8_t",       "class",       "co_await",
      "co_return",     "co_yield",    "compl",
      "concept",       "const",       "const_cast",
      "consteval",     "constexpr",   "constinit",
      "continue",      "decltype",    "default",
      "delete",        "do",          "double",
      "dynamic_cast",  "else",        "enum",
      "explicit",      "export",      "extern",
      "false",         "float",       "for",
      "friend",        "goto",        "if",
      "inline",        "int",         "long",
      "mutable",       "namespace",   "new",
      "noexcept",      "not",         "not_eq",
      "nullptr",       "operator",    "or",
      "or_eq",         "private",     "protected",
      "public",        "register",    "reinterpret_cast",
      "requires",      "return",      "short",
      "signed",        "sizeof",      "static",
      "static_assert", "static_cast", "struct",
      "switch",        "template",    "this",
      "thread_local",  "throw",       "true",
      "try",           "typedef",     "typeid",
      "typename",      "union",       "unsigned",
      "using",         "virtual",     "void",
      "volatile",      "wchar_t",     "while",
      "xor",           "xor_eq",  // words, and below macros of common headers
      "EOF",           "NULL",        "NAN",
      "INFINITY",      "I",           "assert",
      "errno",         "linux",       "unix",
      "major"};
  std::string out(name);
  if (std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end()) out += '_';
  return out;
}

}  // namespace tenon::manifest
