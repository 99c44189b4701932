// Reference pages: what an op's declaration means to those who call it, one page an op, and an
// index.
#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "codegen_example.hpp"
#include "codegen_text.hpp"
#include "tenon/core/contract.hpp"
#include "tenon/manifest/codegen.hpp"

namespace tenon::manifest {
namespace {

/// Text in a cell of a table.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string code(std::string_view text) { return text.empty() ? "" : fmt::format("`{}`", text); }

/// A Markdown table; nothing where it has no row.
class MarkdownTable {
 public:
  explicit MarkdownTable(const std::vector<std::string>& heads) {
    row(heads);
    rows_ += '|';
    for (std::size_t i = 0; i < heads.size(); ++i) rows_ += " --- |";
    rows_ += '\n';
    count_ = 0;
  }
  void row(const std::vector<std::string>& cells) {
    rows_ += '|';
    for (const std::string& each : cells)
      rows_ += each.empty() ? " |" : fmt::format(" {} |", cell(each));
    rows_ += '\n';
    ++count_;
  }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] const std::string& text() const { return rows_; }

 private:
  std::string rows_;
  std::size_t count_ = 0;
};

std::string section(std::string_view title, const std::string& body) {
  return body.empty() ? "" : fmt::format("## {}\n\n{}\n", title, body);
}

std::string section(std::string_view title, const MarkdownTable& table) {
  return table.empty() ? "" : section(title, table.text());
}

std::string file_of(const OpDecl& decl) {
  return std::filesystem::path(decl.where.file).filename().string();
}

std::string heading(const OpDecl& decl) {
  std::string out = fmt::format("# {}\n\n", decl.name);
  out += fmt::format("Family `{}`, {}.",
                     decl.family,
                     decl.implemented ? "implemented" : "spec-only: no kernel serves it yet");
  if (!decl.ref_api.empty()) out += fmt::format(" Corresponds to `{}`.", decl.ref_api);
  // The texts that the build embedded have bare names; a path is somebody else's.
  const bool is_shipped = decl.where.file.find('/') == std::string::npos;
  out += is_shipped
             ? fmt::format(
                   "\nDeclared in [`manifest/ops/{0}`](../../manifest/ops/{0}), from which this "
                   "page is generated.\n\n",
                   file_of(decl))
             : fmt::format("\nDeclared in `{}`, from which this page is generated.\n\n",
                           file_of(decl));
  return out;
}

std::string branches(const OpDecl& decl) {
  MarkdownTable table({"call", "schema"});
  for (const EffectBranch& branch : decl.branches) {
    std::vector<std::string> written;
    for (const std::uint32_t input : branch.written_inputs)
      written.push_back(code(decl.inputs[input].name));
    std::string what = branch.in_place   ? "in place"
                       : branch.has_out  ? "`out` given"
                       : written.empty() ? "functional"
                                         : "";
    if (!written.empty() && !branch.in_place)
      what += fmt::format("{}writes {}", what.empty() ? "" : ", ", fmt::join(written, " and "));
    table.row({what, branch.schema.empty() ? "has none" : code(branch.schema)});
  }
  return section("Effects and schemas", table);
}

std::string parameters(const OpDecl& decl) {
  MarkdownTable table({"parameter", "type", "default"});
  for (const auto& [is_tensor, index] : decl.constructor_order) {
    if (is_tensor) {
      const TensorDecl& tensor = decl.construction_tensors[index];
      table.row({code(tensor.name),
                 "a tensor, " + code(type_text(tensor)),
                 tensor.optional == When::kNever ? "" : "absent"});
      continue;
    }
    const ParamDecl& param = decl.params[index];
    table.row({code(param.name),
               code(param.type_text),
               param.default_value ? code(param.default_value->to_string()) : "must be given"});
  }
  return section("Parameters", table);
}

std::string tensors(const OpSource& source) {
  const OpDecl& decl = source.data.decl;
  MarkdownTable inputs({"input", "dtype, shape", "is"});
  for (std::size_t i = 0; i < decl.inputs.size(); ++i) {
    const TensorDecl& tensor = decl.inputs[i];
    std::vector<std::string> facts = facts_of(tensor);
    if (source.entry->inputs[i].kw_only) facts.emplace_back("keyword-only");
    if (!tensor.values_text.empty()) facts.push_back("in workloads " + code(tensor.values_text));
    for (const std::string& text : tensor.requires_texts) facts.push_back("requires " + code(text));
    inputs.row(
        {code(tensor.name), code(type_text(tensor)), fmt::format("{}", fmt::join(facts, ", "))});
  }
  MarkdownTable outputs({"output", "dtype, shape", "is"});
  for (const TensorDecl& tensor : decl.outputs) {
    outputs.row({code(tensor.name),
                 code(type_text(tensor)),
                 fmt::format("{}", fmt::join(facts_of(tensor), ", "))});
  }
  std::string body = inputs.empty() ? "" : inputs.text();
  if (!outputs.empty()) body += (body.empty() ? "" : "\n") + outputs.text();
  if (body.empty()) return body;
  std::vector<std::string> facts = memory_facts(decl);
  body += fmt::format("\nMemory: {}. Sizes and strides are in elements.\n", fmt::join(facts, "; "));
  return section("Tensors", body);
}

std::string pattern_text(const Pattern& pattern) {
  if (pattern.kind == Pattern::Kind::kAny) return "anything";
  if (pattern.kind == Pattern::Kind::kValue) return code(pattern.value.to_string());
  std::string text = code(pattern.constructor);
  for (const auto& [name, value] : pattern.fields)
    text += fmt::format(" with `{} = {}`", name, value.to_string());
  return text;
}

std::string indices(const OpSource& source) {
  MarkdownTable table({"index", "kind"});
  for (const IndexDecl& index : source.entry->indices) {
    const bool is_dtype = index.kind == IndexKind::kDType;
    table.row({code(index.name), is_dtype ? dtypes_text(index.listed) : code(index.source.text)});
  }
  std::string body = table.empty() ? "" : table.text();
  if (!source.entry->dtype_combos.empty()) {
    body += "\nOnly these combinations:\n\n";
    for (const DTypeComboRow& row : source.entry->dtype_combos) {
      std::vector<std::string> parts;
      for (const auto& [name, dtype] : row.assignment)
        parts.push_back(fmt::format("`{}` {}", name, dtype.text));
      body += fmt::format("- {}\n", fmt::join(parts, ", "));
    }
  }
  for (const FamilyDecl& family : source.entry->families) {
    body += fmt::format("\n`{}` is, by {}:\n\n",
                        family.name,
                        fmt::join(
                            [&] {
                              std::vector<std::string> match;
                              for (const Text& text : family.match)
                                match.push_back(code(text.text));
                              return match;
                            }(),
                            ", "));
    for (const FamilyCase& each : family.cases) {
      std::vector<std::string> patterns;
      for (const Pattern& pattern : each.when) {
        patterns.push_back(pattern_text(pattern));
      }
      body += fmt::format("- {}: {}\n", fmt::join(patterns, ", "), code(each.is.text));
    }
  }
  return section("Indices and dtypes", body);
}

std::string rules(const OpSource& source) {
  std::string body;
  for (const Text& rule : source.entry->shape_rules) body += fmt::format("- {}\n", code(rule.text));
  if (!source.entry->lets.empty()) {
    body += (body.empty() ? "" : "\n") + std::string("where\n\n");
    for (const LetDecl& let : source.entry->lets)
      body += fmt::format("- `{} = {}`\n", let.name, let.value.text);
  }
  return section("Rules", body);
}

std::string errors(const OpSource& source) {
  const OpDecl& decl = source.data.decl;
  MarkdownTable table({"code", "when"});
  std::vector<std::string> mismatches;
  if (!decl.params.empty())
    mismatches.emplace_back("a parameter is unknown, missing or of another type");
  if (!decl.inputs.empty())
    mismatches.emplace_back("a tensor is missing, or not of the dtype, shape or device declared");
  if (!source.entry->shape_rules.empty()) mismatches.emplace_back("a rule does not hold");
  if (!source.entry->dtype_combos.empty())
    mismatches.emplace_back("the dtypes are none of the combinations");
  if (decl.buffered_output())
    mismatches.emplace_back(
        "`out` is not exactly the output's shape, dtype and device, or overlaps");
  table.row({"`SignatureMismatch`", fmt::format("{}", fmt::join(mismatches, "; "))});
  if (decl.interfaces.empty() && decl.stages.empty()) {
    table.row(
        {"`OpNotAvailable`", "unless a builder target serves it: it has no kernel interface"});
  } else {
    table.row({"`OpNotAvailable`", "no kernel is for this kind of device"});
    table.row({"`NoImplementation`, `AmbiguousDispatch`",
               "every kernel refuses the call; several would take it and none is preferred"});
  }
  table.row({"`UnknownTarget`, `AmbiguousTarget`, `TargetMismatch`",
             "the target asked for is not there, or serves another device"});
  table.row({"`BuildFailed`, `LaunchFailed`, `DeviceError`, `OutOfMemory`, `PluginFailed`",
             "the kernel that was chosen failed"});
  return section("Errors", table);
}

std::string interfaces(const OpDecl& decl) {
  std::string body;
  for (const InterfaceDecl& interface : decl.interfaces) {
    body += fmt::format(
        "`{}`{}, contract `{:016x}`:\n\n",
        interface.name,
        interface.when_text.empty() ? "" : fmt::format(" where {}", code(interface.when_text)),
        interface.contract_hash != 0 ? interface.contract_hash : contract_hash(interface));
    MarkdownTable table({"call field", "is"});
    for (const CallFieldDecl& field : interface.fields)
      table.row({code(field.name), code(field.text)});
    if (!table.empty()) body += table.text() + '\n';
    MarkdownTable args({"argument", "shape"});
    for (const InterfaceArgDecl& arg : interface.args)
      args.row({code(arg.name), code(arg.shape_text)});
    if (!args.empty()) body += args.text() + '\n';
  }
  if (!body.empty()) body.pop_back();
  for (const StageDecl& stage : decl.stages) {
    if (&stage == &decl.stages.front())
      body += (body.empty() ? "" : "\n") + std::string("Composed of:\n\n");
    body += fmt::format(
        "- `{}`: {}{}\n",
        stage.name,
        stage.op.empty() ? fmt::format("kernel `{}`", stage.kernel) : fmt::format("`{}`", stage.op),
        stage.optional ? ", where it is needed" : "");
  }
  return section("Kernels", body);
}

std::string shapes_of(const std::vector<CaseTensor>& tensors) {
  std::vector<std::string> parts;
  for (const CaseTensor& tensor : tensors) {
    if (!tensor.present) continue;
    parts.push_back(
        tensor.list
            ? fmt::format(
                  "{} {}[{} tensors]", tensor.name, name_of(tensor.dtype), tensor.elements.size())
            : fmt::format(
                  "{} {}[{}]", tensor.name, name_of(tensor.dtype), fmt::join(tensor.shape, ", ")));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string number(double value) { return fmt::format("{:.6g}", value); }

std::string workloads(const OpSource& source) {
  MarkdownTable table({"case", "inputs", "outputs", "operations", "bytes"});
  for (const WorkloadCase& each : source.workloads.cases) {
    table.row({code(each.id),
               shapes_of(each.tensors),
               shapes_of(each.outputs),
               each.cost ? number(each.cost->flops) : "",
               each.cost ? number(each.cost->bytes) : ""});
  }
  const RooflineEntry& roofline = source.entry->roofline;
  std::string cost;
  if (!roofline.flops.empty()) {
    cost = fmt::format("Operations of a call: {}.", code(roofline.flops.text));
    cost += roofline.bytes.empty() ? " Bytes: what is read and written."
                                   : fmt::format(" Bytes: {}.", code(roofline.bytes.text));
  } else if (!roofline.func.empty()) {
    cost = fmt::format("Costs are those of {}.", code(roofline.func.text));
  }
  return section("Workloads and cost", (table.empty() ? "" : table.text() + '\n') + cost + '\n');
}

std::string page(const OpSource& source) {
  const OpDecl& decl = source.data.decl;
  std::string out = "<!-- Generated by tenon-manifest-codegen: do not edit. -->\n" + heading(decl);
  out += branches(decl) + parameters(decl) + tensors(source) + indices(source) + rules(source) +
         errors(source) + section("Example", examples(source)) + interfaces(decl) +
         workloads(source);
  out.pop_back();  // the empty line after the last section
  return out;
}

}  // namespace

std::vector<GeneratedFile> generate_reference(std::span<const OpSource> ops) {
  std::map<std::string, std::map<std::string, const OpSource*>> families;
  std::vector<GeneratedFile> files;
  for (const OpSource& op : ops) {
    files.push_back({op.data.decl.name + ".md", page(op)});
    families[op.data.decl.family].emplace(op.data.decl.name, &op);
  }
  std::string index =
      "<!-- Generated by tenon-manifest-codegen: do not edit. -->\n# Ops\n\n"
      "One page for each entry of the manifest, generated from it.\n";
  for (const auto& [family, members] : families) {
    index += fmt::format("\n## {}\n\n", family);
    MarkdownTable table({"op", "corresponds to", "schema"});
    for (const auto& [name, op] : members) {
      const OpDecl& decl = op->data.decl;
      table.row({fmt::format("[`{0}`]({0}.md)", name),
                 code(decl.ref_api),
                 decl.branches.empty() ? "" : code(decl.branches.front().schema)});
    }
    index += table.text();
  }
  files.push_back({"README.md", std::move(index)});
  return files;
}

}  // namespace tenon::manifest
