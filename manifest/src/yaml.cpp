// YAML text to nodes through the library's event interface; every exception of the library ends
// here.
#include "tenon/manifest/yaml.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <map>
#include <memory>
#include <sstream>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/node/node.h>
#include <yaml-cpp/parser.h>

#include "tenon/manifest/scalar.hpp"
#include "yaml_scan.hpp"

namespace tenon::manifest {
namespace {

/// Thrown by the handler through the library to stop at a bound.
struct Stop {};

constexpr std::string_view kStrTag = "tag:yaml.org,2002:str";

struct Document {
  std::string_view file;
  std::vector<std::string_view> lines;
  DiagnosticList* diagnostics = nullptr;
  YamlLimits limits;

  SourceLocation place(std::uint32_t line, std::uint32_t column) const {
    return {std::string(file), line, column};
  }
};

/// Builds the tree from events with a stack of its own, so that depth costs heap and not stack.
class Builder final : public YAML::EventHandler {
 public:
  explicit Builder(const Document& document) : document_(document) {}

  Node take() { return std::move(root_); }
  bool done() const { return done_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (!done_) return;
    report(mark, "yaml.documents", "the file holds more than one YAML document").hint =
        "put the entries of all documents under one map, or into files of their own";
    throw Stop{};
  }
  void OnDocumentEnd() override { done_ = true; }

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Node node = make(mark, Node::Kind::kNull);
    node.text = null_text(node);
    if (node.text.empty()) place_empty(node);
    finish(std::move(node), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) {
      report(mark, "yaml.alias", "an alias stands inside the very value that it names").hint =
          "write the value out";
      throw Stop{};
    }
    count(mark, found->second.second);
    attach(Node(found->second.first), found->second.second);
  }

  void OnScalar(const YAML::Mark& mark,
                const std::string& tag,
                YAML::anchor_t anchor,
                const std::string& text) override {
    Node node = make(mark, Node::Kind::kString);
    node.text = text;
    node.quoted = tag == "!";
    locate(node);
    if (tag == "?" || tag.empty()) {
      resolve(node, mark);
    } else if (node.quoted || tag == kStrTag) {
      node.value = text;
    } else {
      tagged(node, mark, tag);
    }
    finish(std::move(node), anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark,
                       const std::string& tag,
                       YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Node::Kind::kList, "tag:yaml.org,2002:seq");
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark,
                  const std::string& tag,
                  YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Node::Kind::kMap, "tag:yaml.org,2002:map");
  }
  void OnMapEnd() override {
    merge(stack_.back());
    close();
  }

 private:
  struct Frame {
    Node node;
    YAML::anchor_t anchor = 0;
    std::size_t size = 1;  ///< nodes in it, itself included
    bool skip_value = false;
    std::unordered_map<std::string, std::uint32_t> key_lines;
    std::vector<std::size_t> merges;  ///< indices of `<<` keys among the items
  };

  static std::uint32_t one_based(int value) {
    return value < 0 ? 1u : static_cast<std::uint32_t>(value) + 1u;
  }

  Node make(const YAML::Mark& mark, Node::Kind kind) const {
    Node node;
    node.kind = kind;
    node.line = one_based(mark.line);
    node.column = one_based(mark.column);
    return node;
  }

  std::string_view rest_of_line(const Node& node) const {
    if (node.line > document_.lines.size()) return {};
    const std::string_view line = document_.lines[node.line - 1];
    return node.column > line.size() ? std::string_view{} : line.substr(node.column - 1);
  }

  void locate(Node& node) const {
    std::string_view rest = rest_of_line(node);
    if (node.quoted) {
      if (rest.empty() || (rest.front() != '"' && rest.front() != '\'')) return;  // a block scalar
      node.lead = 1;
      rest.remove_prefix(1);
    }
    node.verbatim =
        rest.substr(0, node.text.size()) == node.text && node.text.find('\n') == std::string::npos;
  }

  std::string null_text(const Node& node) const {
    const std::string_view rest = rest_of_line(node);
    for (const std::string_view word : {"~", "null", "Null", "NULL"}) {
      if (rest.substr(0, word.size()) == word) return std::string(word);
    }
    return {};
  }

  /// An empty value is reported by the library where the next token stands: its key tells more.
  void place_empty(Node& node) const {
    if (stack_.empty()) return;
    const Node& parent = stack_.back().node;
    if (parent.is_map() && parent.items.size() % 2 == 1) {
      node.line = parent.items.back().line;
      node.column = parent.items.back().column;
    }
  }

  Diagnostic& report(const YAML::Mark& mark, std::string rule, std::string text) {
    return report(one_based(mark.line), one_based(mark.column), std::move(rule), std::move(text));
  }
  Diagnostic& report(std::uint32_t line, std::uint32_t column, std::string rule, std::string text) {
    std::string entry;
    std::string path;
    for (std::size_t i = 0; i < stack_.size(); ++i) {
      const Node& node = stack_[i].node;
      if (node.is_list()) {
        path += fmt::format("[{}]", node.items.size());
      } else if (node.items.size() % 2 == 1) {
        const std::string& key = node.items.back().text;
        if (i == 0) {
          entry = key;
        } else {
          path += (path.empty() ? "" : ".") + key;
        }
      }
    }
    return document_.diagnostics->error(document_.place(line, column),
                                        std::move(entry),
                                        std::move(path),
                                        std::move(rule),
                                        std::move(text));
  }

  void resolve(Node& node, const YAML::Mark& mark) {
    Scalar scalar = resolve_plain(node.text);
    node.value = std::move(scalar.value);
    switch (scalar.kind) {
      case Scalar::Kind::kNull:
        node.kind = Node::Kind::kNull;
        return;
      case Scalar::Kind::kBool:
        node.kind = Node::Kind::kBool;
        return;
      case Scalar::Kind::kInt:
        node.kind = Node::Kind::kInt;
        return;
      case Scalar::Kind::kFloat:
        node.kind = Node::Kind::kFloat;
        return;
      case Scalar::Kind::kString:
      case Scalar::Kind::kMerge:
        return;
      case Scalar::Kind::kTimestamp:
        refuse_scalar(node, mark, "a date");
        return;
      case Scalar::Kind::kSexagesimal:
        refuse_scalar(node, mark, "a number in base 60");
        return;
      case Scalar::Kind::kReserved:
        refuse_scalar(node, mark, "a reserved sign");
        return;
      case Scalar::Kind::kOutOfRange: {
        Diagnostic& d = report(
            mark, "yaml.int-range", fmt::format("the integer {} does not fit 64 bits", node.text));
        d.found = node.text;
        d.expected = "an integer from -9223372036854775808 to 9223372036854775807";
        return;
      }
    }
  }

  void refuse_scalar(const Node& node, const YAML::Mark& mark, std::string_view what) {
    Diagnostic& d =
        report(mark,
               "yaml.scalar",
               fmt::format("the plain scalar {} reads as {} in YAML 1.1", node.text, what));
    d.found = node.text;
    d.expected = "a string in quotes";
    d.hint = fmt::format("write \"{}\"", node.text);
  }

  void tagged(Node& node, const YAML::Mark& mark, const std::string& tag) {
    constexpr std::pair<std::string_view, Scalar::Kind> kKinds[] = {
        {"tag:yaml.org,2002:int", Scalar::Kind::kInt},
        {"tag:yaml.org,2002:float", Scalar::Kind::kFloat},
        {"tag:yaml.org,2002:bool", Scalar::Kind::kBool},
        {"tag:yaml.org,2002:null", Scalar::Kind::kNull}};
    node.value = node.text;
    for (const auto& [name, kind] : kKinds) {
      if (tag != name) continue;
      if (resolve_plain(node.text).kind == kind) {
        resolve(node, mark);
      } else {
        report(mark,
               "yaml.tag",
               fmt::format("'{}' is no value of its tag !!{}", node.text, name.substr(18)));
      }
      return;
    }
    refuse_tag(mark, tag);
  }

  void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    Diagnostic& d = report(mark, "yaml.tag", fmt::format("the tag {} is not understood", tag));
    d.found = tag;
    d.expected = "no tag, or one of !!str !!int !!float !!bool !!null !!seq !!map";
    d.hint = "remove the tag";
  }

  void open(const YAML::Mark& mark,
            const std::string& tag,
            YAML::anchor_t anchor,
            Node::Kind kind,
            std::string_view own_tag) {
    if (stack_.size() >= document_.limits.depth) {
      Diagnostic& d =
          report(mark,
                 "yaml.depth",
                 fmt::format("the text nests deeper than {} levels", document_.limits.depth));
      d.expected = fmt::format("at most {} levels", document_.limits.depth);
      d.hint = "no manifest needs that depth: look for brackets that were never closed";
      throw Stop{};
    }
    if (!tag.empty() && tag != "?" && tag != "!" && tag != own_tag) refuse_tag(mark, tag);
    count(mark, 1);
    Frame frame;
    frame.node = make(mark, kind);
    frame.anchor = anchor;
    stack_.push_back(std::move(frame));
  }

  void close() {
    Frame frame = std::move(stack_.back());
    stack_.pop_back();
    if (frame.anchor != 0) anchors_[frame.anchor] = {frame.node, frame.size};
    attach(std::move(frame.node), frame.size);
  }

  void finish(Node node, YAML::anchor_t anchor) {
    YAML::Mark mark;
    mark.line = static_cast<int>(node.line) - 1;
    mark.column = static_cast<int>(node.column) - 1;
    count(mark, 1);
    if (anchor != 0) anchors_[anchor] = {node, 1};
    attach(std::move(node), 1);
  }

  void count(const YAML::Mark& mark, std::size_t nodes) {
    nodes_ += nodes;
    if (nodes_ <= document_.limits.nodes) return;
    Diagnostic& d =
        report(mark,
               "yaml.size",
               fmt::format("the document has more than {} values once its aliases are written out",
                           document_.limits.nodes));
    d.hint = "split the file, or use fewer aliases of aliases";
    throw Stop{};
  }

  void attach(Node node, std::size_t size) {
    if (stack_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& parent = stack_.back();
    parent.size += size;
    const bool is_map = !parent.node.is_list();
    if (is_map && parent.node.items.size() % 2 == 0) {
      add_key(parent, std::move(node));
    } else if (is_map && parent.skip_value) {
      parent.skip_value = false;
      parent.node.items.pop_back();
    } else {
      parent.node.items.push_back(std::move(node));
    }
  }

  void add_key(Frame& parent, Node key) {
    if (!key.is_scalar()) {
      Diagnostic& d = report(key.line, key.column, "yaml.key", "a key is a list or a map");
      d.found = key.describe();
      d.expected = "a name";
      key = Node{.kind = Node::Kind::kString,
                 .line = key.line,
                 .column = key.column,
                 .text = "?",
                 .value = "?",
                 .items = {}};
      parent.skip_value = true;
      parent.node.items.push_back(std::move(key));
      return;
    }
    if (key.text == "<<" && !key.quoted) {
      parent.merges.push_back(parent.node.items.size());
      parent.node.items.push_back(std::move(key));
      return;
    }
    const std::uint32_t line = key.line;
    const std::uint32_t column = key.column;
    const std::string text = key.text;
    const auto [at, fresh] = parent.key_lines.emplace(text, line);
    parent.node.items.push_back(std::move(key));
    if (fresh) return;
    Diagnostic& d =
        report(line,
               column,
               "yaml.duplicate-key",
               fmt::format("the key '{}' stands twice in one map: at line {} and at line {}",
                           text,
                           at->second,
                           line));
    d.found = fmt::format("'{}' again, first at line {}", text, at->second);
    d.expected = "each key once";
    d.hint = "remove one of the two, or rename it";
    parent.skip_value = true;
  }

  /// `<<: *base`: what the map itself says wins over what is merged, an earlier merge over a later
  /// one.
  void merge(Frame& frame) {
    if (frame.merges.empty()) return;
    std::vector<Node> own;
    std::vector<Node> merged;
    for (std::size_t i = 0; i + 1 < frame.node.items.size(); i += 2) {
      Node& key = frame.node.items[i];
      Node& value = frame.node.items[i + 1];
      if (std::find(frame.merges.begin(), frame.merges.end(), i) == frame.merges.end()) {
        own.push_back(std::move(key));
        own.push_back(std::move(value));
        continue;
      }
      std::vector<Node> sources;
      if (value.is_list()) {
        sources = std::move(value.items);
      } else {
        sources.push_back(std::move(value));
      }
      for (Node& source : sources) {
        if (!source.is_map()) {
          Diagnostic& d = report(
              source.line, source.column, "yaml.merge", "'<<' merges something that is no map");
          d.found = source.describe();
          d.expected = "a map, or a list of maps";
          continue;
        }
        for (Node& item : source.items) merged.push_back(std::move(item));
      }
    }
    for (std::size_t i = 0; i + 1 < merged.size(); i += 2) {
      if (!frame.key_lines.emplace(merged[i].text, merged[i].line).second) continue;
      own.push_back(std::move(merged[i]));
      own.push_back(std::move(merged[i + 1]));
    }
    frame.node.items = std::move(own);
  }

  const Document& document_;
  std::vector<Frame> stack_;
  std::map<YAML::anchor_t, std::pair<Node, std::size_t>> anchors_;
  std::size_t nodes_ = 0;
  Node root_;
  bool done_ = false;
};

/// What the library says, in our words. The first whose text the message starts with.
struct Phrase {
  std::string_view starts;
  std::string_view text;
  std::string_view expected;
  std::string_view hint;
};
constexpr Phrase kPhrases[] = {
    {"end of sequence flow not found",
     "a list in brackets is not closed",
     "',' or ']'",
     "close the '[' or quote the text"},
    {"end of map flow not found",
     "a map in braces is not closed",
     "',' or '}'",
     "close the '{' or quote the text"},
    {"end of sequence not found",
     "this line does not continue the list",
     "'- ' at the list's indentation",
     "check the indentation"},
    {"end of map not found",
     "this text does not continue the map",
     "'key: value' at the map's indentation",
     "check the indentation, and quote text that goes on after a closing quote"},
    {"illegal tab",
     "a tab stands where indentation is expected",
     "spaces",
     "replace the tab by spaces"},
    {"illegal map value",
     "a ':' stands where no value may follow",
     "one 'key: value' a line",
     "check the indentation, and quote text that holds ': '"},
    {"illegal map key", "a key stands where none may", "a value", "check the indentation"},
    {"illegal block entry",
     "a '- ' stands where no list item may",
     "a value",
     "check the indentation"},
    {"illegal flow end",
     "a closing bracket has no opening one",
     "no bracket",
     "remove it, or quote the text"},
    {"the referenced anchor",
     "an alias names an anchor that is not defined before it",
     "an anchor given earlier with '&'",
     "quote text that begins with '*'"},
    {"unknown escape character",
     "a backslash sequence in double quotes is not known",
     "one of \\n \\t \\\\ \\\" \\xNN \\uNNNN",
     "double the backslash, or use single quotes"},
    {"unknown token",
     "a plain scalar cannot begin with this character",
     "a value",
     "quote the text"},
    {"illegal EOF in scalar", "the text ends inside quotes", "a closing quote", "close the quote"},
    {"illegal document indicator",
     "a line of '---' or '...' stands inside a scalar",
     "a closing quote",
     "close the quote"},
    {"invalid unicode", "an escape names no character", "a Unicode scalar value", ""},
    {"bad character found while scanning hex",
     "an escape has a character that is no hexadecimal digit",
     "hexadecimal digits",
     ""},
    {"cannot assign multiple",
     "a value has two anchors, tags or aliases",
     "one at most",
     "remove one"},
    {"aliases can't have any content",
     "an alias is followed by a value",
     "nothing after it",
     "remove the alias or the value"},
    {"cannot set zero indentation", "a block scalar is given an indentation of 0", "1 to 9", ""},
    {"unexpected character in block scalar",
     "the header of a block scalar has a character that it cannot have",
     "'|' or '>', then '-' or '+' and a digit",
     ""},
    {"alias not found",
     "'*' is followed by no name",
     "an anchor's name",
     "quote text that begins with '*'"},
    {"anchor not found",
     "'&' is followed by no name",
     "an anchor's name",
     "quote text that begins with '&'"},
    {"illegal character found while scanning",
     "an anchor or alias has a character that it cannot have",
     "letters and digits",
     "quote text that begins with '*' or '&'"},
};

void report_syntax(const Document& document,
                   const YamlScan& scan,
                   const YAML::Mark& mark,
                   const std::string& message) {
  std::uint32_t line = mark.line < 0 ? 1 : static_cast<std::uint32_t>(mark.line) + 1;
  std::uint32_t column = mark.column < 0 ? 1 : static_cast<std::uint32_t>(mark.column) + 1;
  for (const TextPlace& tab : scan.indent_tabs) {
    if (tab.line > line) break;
    if (tab.line != line) continue;
    Diagnostic& d = document.diagnostics->error(document.place(tab.line, tab.column),
                                                "",
                                                "",
                                                "yaml.tab",
                                                "a tab stands where indentation is expected");
    d.found = "a tab";
    d.expected = "spaces";
    d.hint = "replace the tab by spaces";
    return;
  }
  const Phrase* phrase = nullptr;
  for (const Phrase& candidate : kPhrases) {
    if (message.compare(0, candidate.starts.size(), candidate.starts) == 0) {
      phrase = &candidate;
      break;
    }
  }
  std::string text = phrase != nullptr ? std::string(phrase->text) : "the text is not YAML here";
  // The library reports where it gave up; the bracket that was left open is what a reader looks
  // for.
  if (phrase != nullptr && phrase->starts.find("flow not found") != std::string_view::npos &&
      !scan.open_brackets.empty()) {
    const OpenMark& open = scan.open_brackets.back();
    text = fmt::format("the '{}' that opens here is not closed", open.mark);
    line = open.place.line;
    column = open.place.column;
  }
  Diagnostic& d = document.diagnostics->error(
      document.place(line, column), "", "", "yaml.syntax", std::move(text));
  if (phrase == nullptr) return;
  d.expected = std::string(phrase->expected);
  d.hint = std::string(phrase->hint);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

/// Line ends as "\n", without a byte order mark.
std::string normalized(std::string_view text) {
  if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      plain += text[i];
    } else if (i + 1 >= text.size() || text[i + 1] != '\n') {
      plain += '\n';
    }
  }
  return plain;
}

/// "ESC (0x1b)"
std::string control_name(unsigned char byte) {
  constexpr std::array<std::string_view, 32> kNames{
      "NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "BEL", "BS",  "HT",  "LF",
      "VT",  "FF",  "CR",  "SO",  "SI",  "DLE", "DC1", "DC2", "DC3", "DC4", "NAK",
      "SYN", "ETB", "CAN", "EM",  "SUB", "ESC", "FS",  "GS",  "RS",  "US"};
  return fmt::format("{} (0x{:02x})", byte < kNames.size() ? kNames.at(byte) : "DEL", byte);
}

bool refused_before_parsing(const Document& document,
                            const std::string& text,
                            const YamlScan& scan) {
  if (const auto bad = find_bad_byte(text)) {
    Diagnostic& d = document.diagnostics->error(
        document.place(bad->place.line, bad->place.column),
        "",
        "",
        "yaml.encoding",
        bad->control
            ? fmt::format("the file holds the control character {}", control_name(bad->byte))
            : fmt::format("the byte 0x{:02x} is not UTF-8", bad->byte));
    d.found = bad->control ? control_name(bad->byte) : fmt::format("0x{:02x}", bad->byte);
    d.expected = bad->control ? "text without control characters" : "UTF-8 text";
    d.hint = bad->control
                 ? fmt::format("take it out, or write it as \\x{:02X} in double quotes", bad->byte)
                 : "save the file as UTF-8";
    return true;
  }
  if (scan.too_deep) {
    Diagnostic& d = document.diagnostics->error(
        document.place(scan.too_deep->line, scan.too_deep->column),
        "",
        "",
        "yaml.depth",
        fmt::format("the text nests deeper than {} levels", document.limits.depth));
    d.expected = fmt::format("at most {} levels", document.limits.depth);
    d.hint = "no manifest needs that depth: look for brackets that were never closed";
    return true;
  }
  return false;
}

}  // namespace

std::optional<Node> parse_yaml(std::string_view file,
                               std::string_view text,
                               DiagnosticList& diagnostics,
                               const YamlLimits& limits) {
  Document document;
  document.file = file;
  document.diagnostics = &diagnostics;
  document.limits = limits;
  if (text.size() > limits.size_bytes) {
    Diagnostic& d = diagnostics.error(
        document.place(1, 1),
        "",
        "",
        "yaml.size",
        fmt::format("the file has more than the {} bytes that are read", limits.size_bytes));
    // Who reads a file stops behind the limit, so its whole size is not known here.
    d.found = fmt::format("more than {} bytes", limits.size_bytes);
    d.expected = fmt::format("at most {} bytes", limits.size_bytes);
    d.hint = "split the file";
    return std::nullopt;
  }
  const std::string plain = normalized(text);
  document.lines = lines_of(plain);
  const YamlScan scan = scan_yaml(plain, limits.depth);
  if (refused_before_parsing(document, plain, scan)) return std::nullopt;

  Builder builder(document);
  try {
    std::istringstream stream(plain);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Stop&) {
    return std::nullopt;
  } catch (const YAML::Exception& exception) {
    report_syntax(document, scan, exception.mark, exception.msg);
    return std::nullopt;
  } catch (const std::exception& exception) {
    diagnostics.error(document.place(1, 1),
                      "",
                      "",
                      "yaml.syntax",
                      fmt::format("the file cannot be read: {}", exception.what()));
    return std::nullopt;
  }
  if (scan.open_quote) {  // the library takes the end of the file for a closing quote
    Diagnostic& d = diagnostics.error(
        document.place(scan.open_quote->place.line, scan.open_quote->place.column),
        "",
        "",
        "yaml.syntax",
        "the quote that opens here is not closed");
    d.expected = "a closing quote";
    d.hint = "close the quote";
    return std::nullopt;
  }
  return builder.take();
}

}  // namespace tenon::manifest
