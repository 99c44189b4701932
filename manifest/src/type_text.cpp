// Type texts of parameters, family formals and ADT fields, split into members.
#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "tenon/core/nearest.hpp"
#include "tenon/manifest/reader.hpp"

namespace tenon::manifest {
namespace {

using Atom = TypeMember::Atom;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n')) text.remove_suffix(1);
  return text;
}

bool is_dotted(std::string_view text) {
  bool dot = false;
  bool start = true;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '.') {
      if (start) return false;
      dot = true;
      start = true;
    } else if (std::isalpha(byte) != 0 || c == '_' || (!start && std::isdigit(byte) != 0)) {
      start = false;
    } else {
      return false;
    }
  }
  return dot && !start;
}

bool is_word(std::string_view text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text.front())) != 0) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  });
}

class TypeParser {
 public:
  TypeParser(const Text& text,
             bool formal,
             std::string_view entry,
             std::string_view field,
             DiagnosticList& diagnostics)
      : text_(text), formal_(formal), entry_(entry), field_(field), diagnostics_(diagnostics) {}

  TypeText run() {
    TypeText type;
    type.source = text_;
    if (!text_.text.empty() && members(text_.text, type.members)) return type;
    type.members.clear();
    return type;
  }

 private:
  bool fault(std::string_view at, std::string text, std::string expected, std::string hint = {}) {
    const std::size_t offset =
        at.data() == nullptr ? 0 : static_cast<std::size_t>(at.data() - text_.text.data());
    Diagnostic& d = diagnostics_.error(
        text_.at(offset), std::string(entry_), std::string(field_), "type", std::move(text));
    d.found = fmt::format("'{}'", text_.text);
    d.expected = std::move(expected);
    d.hint = std::move(hint);
    return false;
  }

  /// Splits at `separator` outside brackets and quotes.
  bool split(std::string_view text, char separator, std::vector<std::string_view>& parts) {
    int depth = 0;
    char quote = 0;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
      if (i == text.size() || (quote == 0 && depth == 0 && text[i] == separator)) {
        parts.push_back(trimmed(text.substr(begin, i - begin)));
        if (parts.back().empty()) parts.back() = text.substr(begin, 0);
        begin = i + 1;
        continue;
      }
      const char c = text[i];
      if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (c == '\'' || c == '"') {
        quote = c;
      } else if (c == '[') {
        ++depth;
      } else if (c == ']' && --depth < 0) {
        return fault(text.substr(i), "a ']' closes nothing", "balanced brackets");
      }
    }
    if (quote != 0) return fault(text, "a quote is not closed in a type", "a closing quote");
    if (depth != 0) return fault(text, "a '[' is not closed in a type", "a closing ']'");
    return true;
  }

  bool members(std::string_view text, std::vector<TypeMember>& out) {
    std::vector<std::string_view> parts;
    if (!split(text, '|', parts)) return false;
    for (const std::string_view part : parts) {
      if (part.empty())
        return fault(part, "a member of a type is empty", "a type on both sides of '|'");
      if (!member(part, out)) return false;
    }
    return true;
  }

  bool member(std::string_view text, std::vector<TypeMember>& out) {
    TypeMember m;
    m.text = std::string(text);
    if (text.front() == '\'' || text.front() == '"') return literal(text, std::move(m), out);
    if (const std::size_t bracket = text.find('['); bracket != std::string_view::npos) {
      return bracketed(text, text.substr(0, bracket), std::move(m), out);
    }
    struct Word {
      std::string_view name;
      Atom atom;
      bool formal_only;
    };
    static constexpr std::array kWords{Word{"int", Atom::kInt, false},
                                       Word{"bool", Atom::kBool, false},
                                       Word{"str", Atom::kStr, false},
                                       Word{"None", Atom::kNone, false},
                                       Word{"float", Atom::kFloat, false},
                                       Word{"Number", Atom::kNumber, false},
                                       Word{"dict", Atom::kDict, false},
                                       Word{"torch.Tensor", Atom::kTensor, false},
                                       Word{"torch.dtype", Atom::kAnyDType, false},
                                       Word{"Int", Atom::kInt, true},
                                       Word{"Bool", Atom::kBool, true},
                                       Word{"Dim", Atom::kDim, true},
                                       Word{"Shape", Atom::kShape, true},
                                       Word{"DType", Atom::kAnyDType, true}};
    for (const Word& word : kWords) {
      if (word.name != text || (word.formal_only && !formal_)) continue;
      m.atom = word.atom;
      out.push_back(std::move(m));
      return true;
    }
    if (const auto dtype = dtype_from_name(text)) {
      m.atom = Atom::kDType;
      m.dtype = *dtype;
    } else if (is_dotted(text)) {
      m.atom = Atom::kDotted;
    } else if (is_word(text)) {
      m.atom = Atom::kName;
    } else {
      return fault(text,
                   fmt::format("'{}' is no type", text),
                   "int, bool, float, str, a quoted word, a dtype, list[int] or a dotted name");
    }
    out.push_back(std::move(m));
    return true;
  }

  bool literal(std::string_view text, TypeMember m, std::vector<TypeMember>& out) {
    if (text.size() < 2 || text.back() != text.front() ||
        text.find(text.front(), 1) != text.size() - 1) {
      return fault(text, fmt::format("{} is no quoted word", text), "one word in quotes");
    }
    m.atom = Atom::kLiteral;
    m.text = std::string(text.substr(1, text.size() - 2));
    const bool twice = std::any_of(out.begin(), out.end(), [&](const TypeMember& other) {
      return other.atom == Atom::kLiteral && other.text == m.text;
    });
    if (twice)
      return fault(text, fmt::format("the word {} stands twice in a type", text), "each word once");
    out.push_back(std::move(m));
    return true;
  }

  bool bracketed(std::string_view text,
                 std::string_view head,
                 TypeMember m,
                 std::vector<TypeMember>& out) {
    if (text.back() != ']')
      return fault(text, fmt::format("'{}' is no type", text), "nothing after ']'");
    const std::string_view inside = text.substr(head.size() + 1, text.size() - head.size() - 2);
    std::vector<std::string_view> items;
    if (!split(inside, ',', items)) return false;
    if (head == "list") {
      if (items.size() != 1)
        return fault(text, "list[...] has one item type", "list[int] or list[int | None]");
      m.atom = Atom::kList;
      m.variable = true;
      return item(items[0], m) && (out.push_back(std::move(m)), true);
    }
    if (head == "tuple") {
      m.atom = Atom::kTuple;
      m.variable = items.size() == 2 && items[1] == "...";
      if (m.variable) items.pop_back();
      for (const std::string_view part : items) {
        if (!item(part, m)) return false;
      }
      out.push_back(std::move(m));
      return true;
    }
    if (formal_ && head == "Maybe" && items.size() == 1) {
      if (!members(inside, out)) return false;
      TypeMember none;
      none.atom = Atom::kNone;
      none.text = "None";
      out.push_back(std::move(none));
      return true;
    }
    if (formal_ && head == "Seq" && inside == "Int") {
      m.atom = Atom::kSeqInt;
      out.push_back(std::move(m));
      return true;
    }
    if (formal_ && head == "DType") return dtypes(inside, out);
    return fault(text,
                 fmt::format("'{}' is no type", text),
                 formal_ ? "list, tuple, Seq, Maybe or DType before the brackets"
                         : "list or tuple before the brackets");
  }

  bool item(std::string_view text, TypeMember& m) {
    std::vector<std::string_view> parts;
    if (!split(text, '|', parts)) return false;
    const bool optional = parts.size() == 2 && (parts[0] == "None" || parts[1] == "None");
    const std::string_view base = optional && parts[0] == "None" ? parts[1] : parts[0];
    if (base != "int" || (parts.size() != 1 && !optional)) {
      return fault(
          text, fmt::format("'{}' is no item type of a list or tuple", text), "int or int | None");
    }
    m.optional_items.push_back(optional);
    return true;
  }

  bool dtypes(std::string_view text, std::vector<TypeMember>& out) {
    std::vector<std::string_view> parts;
    if (!split(text, '|', parts)) return false;
    for (const std::string_view part : parts) {
      const auto dtype = dtype_from_name(part);
      if (!dtype)
        return fault(part,
                     fmt::format("'{}' is no dtype", part),
                     "registered dtype names",
                     dtype_hint(part));
      TypeMember m;
      m.atom = Atom::kDType;
      m.dtype = *dtype;
      m.text = std::string(part);
      out.push_back(std::move(m));
    }
    return true;
  }

  static std::string dtype_hint(std::string_view name) {
    std::vector<std::string_view> names;
    for (const DType d : all_dtypes()) names.push_back(name_of(d));
    return did_you_mean(name, names, 1);
  }

  const Text& text_;
  bool formal_;
  std::string_view entry_;
  std::string_view field_;
  DiagnosticList& diagnostics_;
};

}  // namespace

TypeText parse_type(const Text& text,
                    bool formal,
                    std::string_view entry,
                    std::string_view field,
                    DiagnosticList& diagnostics) {
  return TypeParser(text, formal, entry, field, diagnostics).run();
}

}  // namespace tenon::manifest
