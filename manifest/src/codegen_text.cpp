// Texts about an op that generated headers and reference pages share.
#include "codegen_text.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

namespace tenon::manifest {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::string_view kIndent = "         ";

/// A line of a comment block: a label and a text, wrapped.
std::string labelled(std::string_view label, std::string_view text) {
  std::string out;
  std::string line = fmt::format("/// {:<9}", label);
  bool at_start = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (!at_start && line.size() + 1 + word.size() > kWidth) {
      out += line + '\n';
      line = fmt::format("/// {}", kIndent);
      at_start = true;
    }
    if (!at_start) line += ' ';
    line += word;
    at_start = false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out + line + '\n';
}

std::string joined(const std::vector<std::string>& parts, std::string_view last) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i != 0) out += i + 1 == parts.size() ? fmt::format(" {} ", last) : ", ";
    out += parts[i];
  }
  return out;
}

}  // namespace

std::string type_text(const TensorDecl& tensor) {
  return tensor.dtype_text + (tensor.shape_text.starts_with('[') ? "" : " ") + tensor.shape_text;
}

std::vector<std::string> facts_of(const TensorDecl& tensor) {
  std::vector<std::string> facts;
  const auto add = [&](When when, std::string_view always, const std::string& condition) {
    if (when == When::kAlways) facts.emplace_back(always);
    if (when == When::kConditional)
      facts.push_back(fmt::format("{} where `{}`", always, condition));
  };
  if (!tensor.list_count_text.empty()) {
    facts.push_back(fmt::format("a list of `{}`", tensor.list_count_text));
  } else if (tensor.list) {
    facts.push_back(fmt::format("a list of {} to {}", tensor.list->min, tensor.list->max));
  }
  if (tensor.role == TensorRole::kOutput) {
    if (tensor.optional == When::kConditional)
      add(tensor.optional, "returned", tensor.optional_text);
    if (!tensor.alias.empty())
      facts.push_back(fmt::format("`{}` itself where that is written", tensor.alias));
    if (tensor.buffer_out) facts.emplace_back("may be given as `out`");
    return facts;
  }
  if (tensor.optional == When::kAlways) facts.emplace_back("optional");
  if (tensor.optional == When::kConditional) add(tensor.optional, "present", tensor.optional_text);
  add(tensor.mutated, tensor.write_only ? "overwritten" : "written", tensor.mutated_text);
  if (tensor.contiguous) facts.emplace_back("contiguous");
  if (tensor.on_cpu) facts.emplace_back("in host memory");
  return facts;
}

std::string tensor_text(const TensorDecl& tensor) {
  std::string out = type_text(tensor);
  for (const std::string& fact : facts_of(tensor)) out += ", " + fact;
  return out;
}

std::string dtypes_text(const std::vector<DType>& dtypes) {
  std::vector<std::string> names;
  names.reserve(dtypes.size());
  for (const DType d : dtypes) names.emplace_back(name_of(d));
  return joined(names, "or");
}

std::vector<std::string> memory_facts(const OpDecl& decl) {
  std::vector<std::string> facts;
  std::vector<std::string> on_cpu;
  std::vector<std::string> dense;
  std::vector<std::string> elsewhere;
  for (const TensorDecl& input : decl.inputs) {
    (input.on_cpu ? on_cpu : elsewhere).push_back("`" + input.name + "`");
    if (input.contiguous) dense.push_back("`" + input.name + "`");
  }
  if (elsewhere.size() > 1 || (elsewhere.size() == 1 && !decl.outputs.empty()))
    facts.emplace_back("all tensors on one device");
  if (!on_cpu.empty())
    facts.push_back(fmt::format("{} in host memory, whatever the device", joined(on_cpu, "and")));
  facts.push_back(dense.empty()
                      ? "any strides"
                      : fmt::format("{} contiguous, any strides otherwise", joined(dense, "and")));
  bool writes = false;
  for (const TensorDecl& input : decl.inputs) writes = writes || input.mutated != When::kNever;
  for (const TensorDecl& output : decl.outputs) {
    if (!output.buffer_out) continue;
    writes = true;
    std::vector<std::string> same;
    for (const std::string& name : output.may_alias) same.push_back("`" + name + "`");
    if (!same.empty())
      facts.push_back(fmt::format("`out` may be the very view of {}", joined(same, "or")));
  }
  if (writes) facts.emplace_back("what is written overlaps neither itself nor, in part, an input");
  return facts;
}

std::string doc_comment(const OpSource& source) {
  const OpDecl& decl = source.data.decl;
  std::string out = fmt::format("/// {}{}.{}\n",
                                decl.name,
                                decl.ref_api.empty() ? "" : ": " + decl.ref_api,
                                decl.implemented ? "" : " No kernel serves it yet.");
  for (const EffectBranch& branch : decl.branches) {
    if (!branch.schema.empty()) out += labelled("Schema", branch.schema);
  }
  std::vector<std::string> shapes;
  for (const TensorDecl& t : decl.inputs) shapes.push_back(t.name + ": " + tensor_text(t));
  for (const TensorDecl& t : decl.outputs) shapes.push_back(t.name + ": " + tensor_text(t));
  out += labelled("Shape",
                  fmt::format("{}{}sizes and strides in elements",
                              fmt::join(shapes, "; "),
                              shapes.empty() ? "" : "; "));
  std::vector<std::string> dtypes;
  for (const IndexDecl& index : source.entry->indices) {
    if (index.kind == IndexKind::kDType)
      dtypes.push_back(fmt::format("{}: {}", index.name, dtypes_text(index.listed)));
  }
  if (!dtypes.empty()) out += labelled("Dtypes", fmt::format("{}", fmt::join(dtypes, "; ")));
  std::vector<std::string> rules;
  for (const Text& rule : source.entry->shape_rules) rules.push_back(rule.text);
  if (!rules.empty()) out += labelled("Rules", fmt::format("{}", fmt::join(rules, "; ")));
  out += labelled("Memory", fmt::format("{}", fmt::join(memory_facts(decl), "; ")));
  out +=
      labelled("Owner",
               "tensors are borrowed for the call, and until the stream has passed it; results are "
               "the caller's");
  out += labelled("Threads", "[any-thread] [stream-ordered]");
  out +=
      labelled("Errors",
               "SignatureMismatch: not as declared; OpNotAvailable, NoImplementation, "
               "AmbiguousDispatch: not exactly one kernel; BuildFailed, LaunchFailed, DeviceError, "
               "OutOfMemory");
  out += labelled("Source", std::filesystem::path(decl.where.file).filename().string());
  return out;
}

}  // namespace tenon::manifest
