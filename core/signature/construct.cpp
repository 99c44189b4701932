// Construction: parameters and construction-time tensors settle, and whatever needs no call is
// checked.
#include <algorithm>
#include <atomic>

#include <fmt/format.h>

#include "signature/plan.hpp"
#include "signature/walker.hpp"
#include "tenon/core/nearest.hpp"
#include "tenon/core/signature/convert.hpp"

namespace tenon::signature {
namespace {

std::uint64_t next_instance_number() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

Error unknown_parameter(const OpDecl& decl, const std::string& name) {
  std::vector<std::string> names;
  for (const ParamDecl& p : decl.params) names.push_back(p.name);
  for (const TensorDecl& t : decl.construction_tensors) names.push_back(t.name);
  std::string hint = did_you_mean(name, names);
  if (hint.empty()) {
    for (const std::string& n : names) hint += hint.empty() ? "parameters: " + n : ", " + n;
    if (hint.empty()) hint = "it takes no parameters";
  }
  for (const TensorDecl& t : decl.inputs) {
    if (t.name == name) hint = fmt::format("'{}' is an input: pass it to the call", name);
  }
  return Error(ErrorCode::kSignatureMismatch,
               fmt::format("{} has no parameter '{}'", decl.name, name))
      .with_where(decl.where.to_string())
      .with("argument", name)
      .with_hint(std::move(hint));
}

}  // namespace

Result<std::vector<Value>> Plan::settle_params(std::span<const NamedValue> given) const {
  std::vector<std::optional<Value>> values(decl_.params.size());
  for (const auto& [name, value] : given) {
    const auto found = std::find_if(decl_.params.begin(),
                                    decl_.params.end(),
                                    [&n = name](const ParamDecl& p) { return p.name == n; });
    if (found == decl_.params.end()) return fail(unknown_parameter(decl_, name));
    const auto index = static_cast<std::size_t>(found - decl_.params.begin());
    if (values[index]) {
      return fail(
          Error(ErrorCode::kSignatureMismatch, fmt::format("parameter '{}' is given twice", name))
              .with("argument", name));
    }
    auto converted = convert(data_.param_types[index], found->type_text, data_, value);
    if (!converted) {
      Error error(
          ErrorCode::kSignatureMismatch,
          fmt::format("parameter '{}' of {}: {}", name, decl_.name, converted.error().message()));
      return fail(std::move(error)
                      .with_where(found->where.to_string())
                      .with("argument", name)
                      .with("expected", found->type_text)
                      .with_hint(converted.error().hint()));
    }
    values[index] = std::move(*converted);
  }
  std::vector<Value> settled;
  settled.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const ParamDecl& param = decl_.params[i];
    if (!values[i] && !param.default_value) {
      return fail(Error(ErrorCode::kSignatureMismatch,
                        fmt::format("{} needs parameter '{}' ({}), which has no default",
                                    decl_.name,
                                    param.name,
                                    param.type_text))
                      .with_where(param.where.to_string())
                      .with("argument", param.name));
    }
    if (values[i]) {
      settled.push_back(std::move(*values[i]));
    } else {
      settled.push_back(*param.default_value);
    }
  }
  return settled;
}

Result<std::vector<std::optional<Tensor>>> Plan::settle_tensors(
    std::span<const std::pair<std::string, Tensor>> given) const {
  std::vector<std::optional<Tensor>> tensors(decl_.construction_tensors.size());
  for (const auto& [name, tensor] : given) {
    const auto index = decl_.construction_index(name);
    if (!index) return fail(unknown_parameter(decl_, name));
    if (!tensor.defined()) continue;
    const TensorDecl& decl = decl_.construction_tensors[*index];
    if (!decl.dtypes.empty() && !decl.dtypes.contains(tensor.dtype())) {
      return fail(Error(ErrorCode::kSignatureMismatch,
                        fmt::format("{} is {}, which {} does not allow",
                                    name,
                                    name_of(tensor.dtype()),
                                    decl.dtype_text))
                      .with_where(decl.where.to_string())
                      .with("argument", name));
    }
    tensors[*index] = tensor;
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorDecl& decl = decl_.construction_tensors[i];
    if (tensors[i] || decl.optional != When::kNever) continue;
    return fail(
        Error(ErrorCode::kSignatureMismatch,
              fmt::format("{} needs the tensor '{}' at construction", decl_.name, decl.name))
            .with_where(decl.where.to_string())
            .with("argument", decl.name));
  }
  return tensors;
}

Choices Plan::choices_of(const std::vector<Value>& params,
                         const std::vector<std::optional<Tensor>>& tensors) const {
  Choices choices(data_.discriminants.size(), -1);
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const Discriminant& d = data_.discriminants[i];
    if (!at_construction_[i]) continue;
    const Symbol& symbol = data_.symbols[d.symbol];
    if (symbol.kind == SymbolKind::kConstruction) {
      choices[i] = tensors[symbol.ordinal] ? 1 : 0;
      continue;
    }
    choices[i] = choice_of(data_, d, params[symbol.ordinal]);
  }
  return choices;
}

Result<std::shared_ptr<const Construction>> Plan::construct(
    std::span<const NamedValue> params,
    std::span<const std::pair<std::string, Tensor>> tensors) const {
  auto instance = std::make_shared<Instance>(next_instance_number());
  TENON_TRY_ASSIGN(instance->mutable_params(), settle_params(params));
  TENON_TRY_ASSIGN(instance->mutable_tensors(), settle_tensors(tensors));
  TENON_TRY(settle(*instance));
  return std::shared_ptr<const Construction>(std::move(instance));
}

Result<void> Plan::settle(Instance& instance) const {
  instance.cells.resize(data_.symbols.size());
  for (std::uint32_t i = 0; i < decl_.params.size(); ++i) {
    instance.cells[data_.first_param + i] = cell_of(instance.params()[i], instance.arena);
    const auto* device =
        decl_.params[i].name == "device" ? instance.params()[i].get_if<std::string>() : nullptr;
    if (device != nullptr) {
      auto parsed = Device::parse(*device);
      if (!parsed) return fail(std::move(parsed).error());
      instance.device = *parsed;
    }
  }
  instance.prefix = &prefix_for(choices_of(instance.params(), instance.tensors()));
  const Prefix& prefix = instance.prefix->prefix;
  if (prefix.rejected_by) {
    const TextExpr& source = data_.refinements[*prefix.rejected_by];
    return fail(
        Error(ErrorCode::kSignatureMismatch,
              fmt::format("'{}' does not hold for these parameters of {}", source.text, decl_.name))
            .with_where(source.where.to_string())
            .with("refinement", source.text));
  }
  for (std::uint32_t i = 0; i < decl_.construction_tensors.size(); ++i) {
    const TensorDecl& decl = decl_.construction_tensors[i];
    const std::int8_t expected = prefix.facts.presence[data_.first_construction + i];
    if (decl.optional == When::kConditional && expected >= 0 &&
        instance.tensors()[i].has_value() != (expected == 1)) {
      return fail(Error(ErrorCode::kSignatureMismatch,
                        fmt::format("{} is {}, but it is present exactly when {}",
                                    decl.name,
                                    expected == 1 ? "absent" : "given",
                                    decl.optional_text))
                      .with_where(decl.where.to_string())
                      .with("argument", decl.name));
    }
  }
  Frame frame;
  State state;
  state.cells = instance.cells;
  state.shapes.resize(shape_count_ * kMaxRank);
  Error error(ErrorCode::kSignatureMismatch, "");
  const CallArgs none;
  if (!Walker(data_, instance, none, frame, state, &error).run_prefix(prefix))
    return fail(std::move(error));
  // Keep what was solved, in memory of the instance.
  for (std::uint32_t i = 0; i < state.cells.size(); ++i) {
    if (!prefix.known[i] || instance.cells[i].tag != Tag::kUnset) continue;
    const Cell& cell = state.cells[i];
    const bool is_tuple = cell.is_tuple;
    instance.cells[i] = cell.is_sequence() || cell.tag == Tag::kStr || cell.tag == Tag::kAdt
                            ? cell_of(value_of(cell), instance.arena)
                            : cell;
    instance.cells[i].is_tuple = is_tuple;
  }
  return {};
}

bool Walker::run_prefix(const Prefix& prefix) {
  prefix_ = &prefix;
  prefix_steps_ = &prefix.steps;
  env_.pool = &prefix.pool;
  env_.presence = prefix.facts.presence;
  for (const Step& s : prefix.steps) {
    if (s.kind == StepKind::kLet) {
      if (!let_step(s)) return false;
      continue;
    }
    if (!apply(s, prefix.construction_tensors[data_.symbols[s.tensor].ordinal])) return false;
  }
  for (std::size_t i = 0; i < prefix.sizes.size(); ++i) {
    Cell cell;
    const std::uint32_t owner = prefix.size_owners[i];
    if (!value(prefix.sizes[i].expr, cell)) return no_value("axis", owner);
    const std::size_t count = prefix.sizes[i].splice ? cell.count : 1;
    for (std::size_t k = 0; k < count; ++k) {
      const Cell item = prefix.sizes[i].splice ? cell.item(k) : cell;
      if (item.tag == Tag::kInt && item.i >= 0) continue;
      return mismatch(fmt::format("{} would have an axis of size {}, declared as {}",
                                  name(owner),
                                  print(item),
                                  print(prefix.pool, prefix.sizes[i].expr, data_.symbol_names)),
                      owner);
    }
  }
  for (const RefinementTerm& r : prefix.refinements) {
    if (!refinement(r)) return false;
  }
  return true;
}

}  // namespace tenon::signature
