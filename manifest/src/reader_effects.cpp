// Rules between the tensors of a signature: their order, what is written, what is the very same.
#include <algorithm>

#include <fmt/format.h>

#include "reader_entry.hpp"
#include "tenon/core/nearest.hpp"

namespace tenon::manifest {
namespace {

class EffectChecker {
 public:
  EffectChecker(const Scope& scope, const Entry& entry)
      : scope_(scope), entry_(entry), decl_(entry.decl) {}

  void run() const {
    check_order();
    check_effects();
  }

 private:
  /// Required inputs, optional ones, those that are named at a call: each group after the one
  /// before.
  void check_order() const {
    const TensorDecl* optional = nullptr;
    const TensorDecl* keyword = nullptr;
    for (std::size_t i = 0; i < decl_.inputs.size(); ++i) {
      const TensorDecl& t = decl_.inputs[i];
      const bool kw_only = entry_.inputs[i].kw_only;
      if (keyword != nullptr && !kw_only) {
        Diagnostic& d = tensor_error(t,
                                     t.where,
                                     "tensor.order",
                                     fmt::format("the positional input '{}' follows '{}', which is "
                                                 "keyword-only",
                                                 t.name,
                                                 keyword->name));
        d.expected = "keyword-only inputs after all others";
        d.hint = "move it up";
      } else if (t.optional == When::kNever && !kw_only && optional != nullptr) {
        Diagnostic& d = tensor_error(
            t,
            t.where,
            "tensor.order",
            fmt::format(
                "the required input '{}' follows the optional one '{}'", t.name, optional->name));
        d.expected = "optional inputs after the required ones";
        d.hint = "move it up";
      }
      if (kw_only) check_keyword(t);
      if (t.optional != When::kNever) optional = &t;
      if (kw_only) keyword = &t;
    }
  }

  void check_keyword(const TensorDecl& t) const {
    if (t.name == kRequiredOut || t.optional != When::kNever || entry_.was_reported(t.name)) return;
    Diagnostic& d = tensor_error(t,
                                 t.where,
                                 "tensor.kw_only",
                                 fmt::format("the keyword-only input '{}' is required", t.name));
    d.expected = "an optional input, or the result buffer 'out'";
    d.hint = "add 'optional: true', or remove 'kw_only'";
  }

  Diagnostic& tensor_error(const TensorDecl& t,
                           const SourceLocation& where,
                           std::string rule,
                           std::string text) const {
    return scope_.in(t.role == TensorRole::kOutput ? "outputs" : "inputs")
        .in(t.name)
        .error(where, std::move(rule), std::move(text));
  }

  void check_effects() const {
    const TensorDecl* buffered = nullptr;
    for (std::size_t i = 0; i < decl_.inputs.size(); ++i) {
      const TensorDecl& t = decl_.inputs[i];
      if (t.write_only && t.mutated != When::kAlways) {
        Diagnostic& d =
            tensor_error(t, t.where, "effect.write_only", "'write_only' needs 'mutated: true'");
        d.found = t.mutated == When::kNever ? "no 'mutated'" : "a condition under 'mutated'";
        d.expected = "mutated: true";
        d.hint = "a result buffer is always written";
      }
      if (entry_.inputs[i].has_may_alias && t.mutated == When::kNever) {
        Diagnostic& d = tensor_error(
            t, t.where, "effect.may_alias", "'may_alias' stands at an input that is never written");
        d.expected = "an output, or an input with 'mutated'";
      }
      check_aliases(t, entry_.inputs[i]);
    }
    for (std::size_t i = 0; i < decl_.outputs.size(); ++i) {
      const TensorDecl& t = decl_.outputs[i];
      check_aliases(t, entry_.outputs[i]);
      check_alias(t, entry_.outputs[i].alias);
      if (t.buffer_out && buffered != nullptr) {
        Diagnostic& d = tensor_error(
            t,
            t.where,
            "effect.buffer",
            fmt::format("a second output has 'buffer: out', after '{}'", buffered->name));
        d.expected = "one output with 'buffer: out' at most";
      }
      if (t.buffer_out) buffered = &t;
      if (t.buffer_out && !t.alias.empty()) {
        Diagnostic& d =
            tensor_error(t, t.where, "effect.alias", "'alias' and 'buffer' exclude each other");
        d.expected = "one of the two";
        d.hint = "an output that is an input itself needs no buffer";
      }
    }
    if (const auto out = decl_.input_index(kRequiredOut))
      check_required_out(decl_.inputs[*out], buffered);
  }

  /// The result buffer that every call passes: it is returned, and there is no other.
  void check_required_out(const TensorDecl& out, const TensorDecl* buffered) const {
    if (out.optional != When::kNever) {
      Diagnostic& d =
          tensor_error(out, out.where, "effect.out", "the input 'out' may not be absent");
      d.found = "'optional' at the input 'out'";
      d.expected = "a result buffer that every call passes";
      d.hint = "a buffer that calls may leave out is declared at the output: 'buffer: out'";
    }
    if (out.list) {
      Diagnostic& d = tensor_error(out, out.where, "effect.out", "the input 'out' is a list");
      d.expected = "one tensor";
      d.hint = "give the list another name";
    }
    if (buffered != nullptr) {
      Diagnostic& d = tensor_error(*buffered,
                                   buffered->where,
                                   "effect.buffer",
                                   "'buffer: out' stands beside an input called 'out'");
      d.expected = "one of the two";
      d.hint = fmt::format("write 'alias: out' at '{}', and remove 'buffer'", buffered->name);
      return;
    }
    const bool returned = std::any_of(decl_.outputs.begin(),
                                      decl_.outputs.end(),
                                      [](const TensorDecl& t) { return t.alias == kRequiredOut; });
    if (returned) return;
    Diagnostic& d =
        tensor_error(out, out.where, "effect.out", "no output is the input 'out' itself");
    d.expected = "an output with 'alias: out'";
    d.hint = "add 'alias: out' to the output that is written into it";
  }

  void check_alias(const TensorDecl& t, const Text& alias) const {
    if (alias.empty() || entry_.was_reported(alias.text)) return;
    const auto index = decl_.input_index(alias.text);
    if (!index) {
      unknown_input(t, "alias", alias);
    } else if (decl_.inputs[*index].mutated == When::kNever) {
      Diagnostic& d = tensor_error(
          t,
          alias.where,
          "effect.alias",
          fmt::format("'alias' names the input '{}', which is never written", alias.text));
      d.expected = "an input with 'mutated'";
      d.hint = "an output is fresh, or is a written input: there are no views";
    }
  }

  void check_aliases(const TensorDecl& t, const TensorEntry& entry) const {
    for (const Text& name : entry.may_alias) {
      if (entry_.was_reported(name.text)) continue;
      if (!decl_.input_index(name.text)) {
        unknown_input(t, "may_alias", name);
      } else if (name.text == t.name) {
        Diagnostic& d = tensor_error(
            t, name.where, "effect.may_alias", fmt::format("'{}' may not alias itself", t.name));
        d.expected = "another input";
      }
    }
  }

  void unknown_input(const TensorDecl& t, std::string_view key, const Text& name) const {
    std::vector<std::string> inputs;
    for (const TensorDecl& input : decl_.inputs) inputs.push_back(input.name);
    Diagnostic& d = tensor_error(t,
                                 name.where,
                                 "effect.input",
                                 fmt::format("'{}' names '{}', which is no input", key, name.text));
    d.found = fmt::format("'{}'", name.text);
    d.expected = inputs.empty() ? "an input" : fmt::format("one of {}", fmt::join(inputs, ", "));
    d.hint = did_you_mean(name.text, inputs, 1);
  }

  Scope scope_;
  const Entry& entry_;
  const OpDecl& decl_;
};

}  // namespace

void check_effects(const Scope& scope, const Entry& entry) { EffectChecker(scope, entry).run(); }

}  // namespace tenon::manifest
