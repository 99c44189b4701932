// Prints the schemas of a declaration's effect branches.
#include "tenon/core/schema_of.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "signature/schema_of_types.hpp"
#include "tenon/core/schema.hpp"

namespace tenon {
namespace {

using WrittenSet = std::vector<std::uint32_t>;

constexpr std::size_t kIndependentConditions = 8;
constexpr std::string_view kTooManyWritten =
    "more than 26 arguments are written, and alias sets have one letter";

bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// Whether an expression reads a name: the name as a whole word, not behind a point.
bool reads(std::string_view expression, std::string_view name) {
  for (std::size_t at = expression.find(name); at != std::string_view::npos;
       at = expression.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    const bool starts = at == 0 || (!is_word_char(expression[at - 1]) && expression[at - 1] != '.');
    const bool ends = end == expression.size() || !is_word_char(expression[end]);
    if (starts && ends) return true;
  }
  return false;
}

bool contains(const WrittenSet& set, std::uint32_t input) {
  return std::find(set.begin(), set.end(), input) != set.end();
}

bool tensor_reads(const TensorDecl& tensor, std::string_view name) {
  return reads(tensor.dtype_text, name) || reads(tensor.shape_text, name) ||
         reads(tensor.optional_text, name) || reads(tensor.list_count_text, name) ||
         reads(tensor.values_text, name) ||
         std::any_of(tensor.requires_texts.begin(),
                     tensor.requires_texts.end(),
                     [&](const std::string& text) { return reads(text, name); });
}

bool interface_reads(const InterfaceDecl& interface, std::string_view name) {
  return reads(interface.when_text, name) ||
         std::any_of(
             interface.fields.begin(), interface.fields.end(), [&](const CallFieldDecl& field) {
               return !field.from_flow && reads(field.text, name);
             });
}

/// Whether a parameter is a Bool that `mutated` conditions read and nothing else does.
bool only_decides_effects(const OpDecl& decl,
                          const ParamDecl& param,
                          const SchemaContext& context) {
  if (param.type_text != "bool") return false;
  const auto in = [&](const std::vector<TensorDecl>& tensors) {
    return std::any_of(tensors.begin(), tensors.end(), [&](const TensorDecl& tensor) {
      return tensor_reads(tensor, param.name);
    });
  };
  const bool decides =
      std::any_of(decl.inputs.begin(), decl.inputs.end(), [&](const TensorDecl& input) {
        return reads(input.mutated_text, param.name);
      });
  const auto& names = context.names_read_elsewhere;
  return decides && !in(decl.inputs) && !in(decl.outputs) && !in(decl.construction_tensors) &&
         std::none_of(decl.interfaces.begin(),
                      decl.interfaces.end(),
                      [&](const InterfaceDecl& interface) {
                        return interface_reads(interface, param.name);
                      }) &&
         std::find(names.begin(), names.end(), param.name) == names.end();
}

SchemaType tensor_type(const TensorDecl& tensor) {
  SchemaType type{"Tensor", {}};
  if (tensor.list) type.suffixes.push_back({true, 0});
  if (tensor.optional != When::kNever) type.suffixes.push_back({false, 0});
  return type;
}

/// What every branch of an entry shares, and the schema of each.
class BranchPrinter {
 public:
  BranchPrinter(const OpDecl& decl, const SchemaContext& context)
      : decl_(decl), required_(decl.input_index("out")) {
    const auto& keywords = context.keyword_inputs;
    for (const TensorDecl& input : decl.inputs) {
      is_keyword_.push_back(std::find(keywords.begin(), keywords.end(), input.name) !=
                            keywords.end());
    }
    add_params(context);
  }

  void print_into(BranchSchemas& result, EffectBranch branch) const {
    std::string reason = reason_;
    if (reason.empty()) reason = print_branch(branch);
    result.branches.push_back(std::move(branch));
    result.reasons.push_back(std::move(reason));
  }

  /// Whether a set of written inputs has the in-place spelling.
  [[nodiscard]] bool is_inplace(const WrittenSet& written, bool has_out) const {
    return written == WrittenSet{0} && !has_out && required_ != 0u &&
           std::all_of(decl_.outputs.begin(), decl_.outputs.end(), [&](const TensorDecl& output) {
             return output.alias == decl_.inputs[0].name;
           });
  }

 private:
  void add_params(const SchemaContext& context) {
    std::vector<std::pair<bool, std::uint32_t>> order = decl_.constructor_order;
    if (order.empty()) {
      for (std::uint32_t i = 0; i < decl_.params.size(); ++i) order.emplace_back(false, i);
      for (std::uint32_t i = 0; i < decl_.construction_tensors.size(); ++i)
        order.emplace_back(true, i);
    }
    for (const auto& [is_tensor, index] : order) {
      SchemaArg arg;
      arg.is_kwarg_only = true;
      if (is_tensor) {
        const TensorDecl& tensor = decl_.construction_tensors[index];
        arg.name = tensor.name;
        arg.type = tensor_type(tensor);
        if (tensor.optional != When::kNever) arg.default_text = "None";
      } else {
        const ParamDecl& param = decl_.params[index];
        if (only_decides_effects(decl_, param, context)) continue;
        const Result<void> filled = fill_param(param, context, arg);
        if (!filled) {
          reason_ = "parameter '" + param.name + "': " + filled.error().message();
          return;
        }
      }
      params_.push_back(std::move(arg));
    }
  }

  static Result<void> fill_param(const ParamDecl& param,
                                 const SchemaContext& context,
                                 SchemaArg& arg) {
    detail::ParamSchemaType type;
    TENON_TRY_ASSIGN(type, detail::param_schema_type(param.type_text, context.adt_names));
    arg.name = param.name;
    arg.type = type.type;
    if (param.default_value) {
      std::string text;
      TENON_TRY_ASSIGN(text, detail::schema_default(*param.default_value, type));
      arg.default_text = std::move(text);
    }
    return {};
  }

  [[nodiscard]] std::string overload_of(const EffectBranch& branch) const {
    std::string overload = decl_.schema_overload;
    const auto append = [&](std::string_view part) {
      if (!overload.empty()) overload += '_';
      overload += part;
    };
    if (branch.in_place || is_inplace(branch.written_inputs, branch.has_out)) return overload;
    bool first = true;
    for (const std::uint32_t input : branch.written_inputs) {
      if (input == required_) continue;
      if (first) append("mut");
      first = false;
      append(decl_.inputs[input].name);
    }
    if (branch.has_out || required_) append("out");
    return overload;
  }

  /// Fills `branch.schema`; says why where there is none.
  std::string print_branch(EffectBranch& branch) const {
    const bool inplace = branch.in_place || is_inplace(branch.written_inputs, branch.has_out);
    Schema schema;
    schema.ns = decl_.ns;
    schema.name = decl_.schema_name + (inplace ? "_" : "");
    schema.overload = overload_of(branch);
    char letter = 'a';
    std::vector<SchemaArg> named;
    for (std::uint32_t i = 0; i < decl_.inputs.size(); ++i) {
      const TensorDecl& input = decl_.inputs[i];
      if (i == required_) continue;  // the last of all
      SchemaArg arg;
      arg.name = input.name;
      arg.type = tensor_type(input);
      if (input.optional != When::kNever) arg.default_text = "None";
      const bool is_written = contains(branch.written_inputs, i);
      if (is_written) {
        if (letter > 'z') return std::string(kTooManyWritten);
        arg.alias = SchemaAlias{std::string(1, letter++), true, {}};
      }
      // A keyword that is written would be a result in this notation.
      arg.is_kwarg_only = is_keyword_[i] && !is_written;
      (arg.is_kwarg_only ? named : schema.args).push_back(std::move(arg));
    }
    schema.args.insert(schema.args.end(), named.begin(), named.end());
    schema.args.insert(schema.args.end(), params_.begin(), params_.end());
    if (inplace) {
      const SchemaArg& self = schema.args[0];
      if (self.type.is_plain_tensor()) schema.returns.push_back({self.type, self.alias, {}, 0});
    } else if (std::string reason = add_returns(branch, letter, schema); !reason.empty()) {
      return reason;
    }
    return settle(schema, branch);
  }

  std::string add_returns(const EffectBranch& branch, char letter, Schema& schema) const {
    const std::optional<std::uint32_t> buffered = decl_.buffered_output();
    for (std::uint32_t i = 0; i < decl_.outputs.size(); ++i) {
      const TensorDecl& output = decl_.outputs[i];
      const std::optional<std::uint32_t> alias = decl_.input_index(output.alias);
      const bool is_out = required_ ? alias == required_ : branch.has_out && buffered == i;
      if (alias && !is_out && contains(branch.written_inputs, *alias)) continue;
      SchemaReturn ret;
      ret.type = tensor_type(output);
      if (is_out) {
        if (letter > 'z') return std::string(kTooManyWritten);
        SchemaArg out;
        out.name = "out";
        out.is_kwarg_only = true;
        out.type = SchemaType{"Tensor", {}};
        out.alias = ret.alias = SchemaAlias{std::string(1, letter), true, {}};
        ret.type = out.type;
        schema.args.push_back(std::move(out));
      }
      ret.name = output.name;
      schema.returns.push_back(std::move(ret));
    }
    if ((branch.has_out || required_) && schema.returns.size() > 1) {
      return "'out' is returned beside fresh outputs, which the notation cannot say";
    }
    if (schema.returns.size() == 1) schema.returns[0].name.clear();
    return {};
  }

  /// Our own checker has the last word on what is printed.
  static std::string settle(const Schema& schema, EffectBranch& branch) {
    std::string text = print(schema);
    const SchemaVerdict verdict = check_schema(text, true);
    const std::vector<SchemaIssue>& issues = verdict.errors.empty() ? verdict.lint : verdict.errors;
    if (!issues.empty()) {
      return "'" + text + "' would break " + std::string(issues[0].rule) + " at column " +
             std::to_string(issues[0].column) + ": " + issues[0].message;
    }
    branch.schema = std::move(text);
    return {};
  }

  const OpDecl& decl_;
  std::optional<std::uint32_t> required_;  ///< the result buffer `out` that every call passes
  std::vector<bool> is_keyword_;           ///< by input
  std::vector<SchemaArg> params_;
  std::string reason_;
};

/// Whether the buffered output may be the very first input, as a schema of its own can say.
bool has_inplace_form(const OpDecl& decl) {
  if (decl.outputs.size() != 1 || decl.inputs.empty() || !decl.outputs[0].buffer_out) return false;
  const TensorDecl& output = decl.outputs[0];
  const TensorDecl& first = decl.inputs[0];
  const auto& names = output.may_alias;
  return !output.list && output.optional == When::kNever && !first.list &&
         first.optional == When::kNever && first.mutated == When::kNever &&
         std::find(names.begin(), names.end(), first.name) != names.end();
}

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string default_schema_name(std::string_view op_name) {
  if (op_name.ends_with("Op")) op_name.remove_suffix(2);
  std::string name;
  for (std::size_t i = 0; i < op_name.size(); ++i) {
    const char c = op_name[i];
    if (i > 0 && is_upper(c)) {
      const char before = op_name[i - 1];
      const bool ends_run = is_upper(before) && i + 1 < op_name.size() && is_lower(op_name[i + 1]);
      if (is_lower(before) || is_digit(before) || ends_run) name += '_';
    }
    name += is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return name;
}

std::vector<std::vector<std::uint32_t>> written_sets_of(const OpDecl& decl) {
  std::vector<std::string_view> conditions;
  const auto group_of = [&](const TensorDecl& input) {
    const auto found = std::find(conditions.begin(), conditions.end(), input.mutated_text);
    const auto index = static_cast<std::size_t>(found - conditions.begin());
    return std::min(index, kIndependentConditions - 1);
  };
  for (const TensorDecl& input : decl.inputs) {
    if (input.mutated != When::kConditional) continue;
    if (std::find(conditions.begin(), conditions.end(), input.mutated_text) == conditions.end()) {
      conditions.emplace_back(input.mutated_text);
    }
  }
  const std::size_t groups = std::min(conditions.size(), kIndependentConditions);
  std::vector<WrittenSet> sets;
  for (std::size_t mask = 0; mask < (std::size_t{1} << groups); ++mask) {
    WrittenSet set;
    for (std::uint32_t i = 0; i < decl.inputs.size(); ++i) {
      const TensorDecl& input = decl.inputs[i];
      const bool holds =
          input.mutated == When::kConditional && ((mask >> group_of(input)) & 1u) != 0;
      if (holds || input.mutated == When::kAlways) set.push_back(i);
    }
    sets.push_back(std::move(set));
  }
  return sets;
}

BranchSchemas effect_branches(const OpDecl& decl,
                              std::span<const std::vector<std::uint32_t>> written_sets,
                              const SchemaContext& context) {
  const BranchPrinter printer(decl, context);
  BranchSchemas result;
  std::vector<std::uint32_t> all_outputs(decl.outputs.size());
  for (std::uint32_t i = 0; i < all_outputs.size(); ++i) all_outputs[i] = i;

  std::vector<WrittenSet> seen;
  bool has_inplace_name = false;
  for (WrittenSet written : written_sets) {
    std::sort(written.begin(), written.end());
    std::erase_if(written, [&](std::uint32_t input) { return input >= decl.inputs.size(); });
    if (std::find(seen.begin(), seen.end(), written) != seen.end()) continue;
    seen.push_back(written);
    EffectBranch branch;
    branch.written_inputs = written;
    branch.returned_outputs = all_outputs;
    has_inplace_name = has_inplace_name || printer.is_inplace(written, false);
    printer.print_into(result, branch);
    if (!decl.buffered_output()) continue;
    branch.has_out = true;
    printer.print_into(result, std::move(branch));
  }
  if (has_inplace_form(decl) && !has_inplace_name) {
    EffectBranch branch;
    branch.written_inputs = {0};
    branch.has_out = true;
    branch.in_place = true;
    branch.returned_outputs = all_outputs;
    printer.print_into(result, std::move(branch));
  }
  return result;
}

BranchSchemas effect_branches(const OpDecl& decl, const SchemaContext& context) {
  const std::vector<WrittenSet> sets = written_sets_of(decl);
  return effect_branches(decl, sets, context);
}

}  // namespace tenon
