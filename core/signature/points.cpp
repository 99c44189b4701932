// Points: what a choice of the discriminants fixes.
#include <algorithm>

#include <fmt/format.h>

#include "tenon/core/signature/specialise.hpp"

namespace tenon::signature {

const TensorDecl& tensor_decl(const PlanData& data, std::uint32_t symbol) {
  const Symbol& s = data.symbols[symbol];
  if (s.kind == SymbolKind::kConstruction) return data.decl.construction_tensors[s.ordinal];
  return s.kind == SymbolKind::kInput ? data.decl.inputs[s.ordinal] : data.decl.outputs[s.ordinal];
}

const TensorData& tensor_data(const PlanData& data, std::uint32_t symbol) {
  const Symbol& s = data.symbols[symbol];
  if (s.kind == SymbolKind::kConstruction) return data.construction_tensors[s.ordinal];
  return s.kind == SymbolKind::kInput ? data.inputs[s.ordinal] : data.outputs[s.ordinal];
}

std::vector<AdtFacts> adt_choices(const AdtType& type) {
  std::vector<AdtFacts> all;
  for (const AdtConstructorType& constructor : type.constructors) {
    std::vector<AdtFacts> here{{constructor.name, {}}};
    for (const AdtFieldType& field : constructor.fields) {
      std::vector<Value> values;
      if (field.tag == TypeTag::kBool) values = {Value(false), Value(true)};
      if (field.tag == TypeTag::kEnum) values.assign(field.names.begin(), field.names.end());
      if (values.empty()) continue;
      std::vector<AdtFacts> wider;
      for (const AdtFacts& base : here) {
        for (const Value& value : values) {
          wider.push_back(base);
          wider.back().fields.emplace_back(field.name, value);
        }
      }
      here = std::move(wider);
    }
    all.insert(all.end(), here.begin(), here.end());
  }
  return all;
}

namespace {

std::int32_t enum_choice(const Value& value, const Discriminant& d) {
  for (std::size_t k = 0; k < d.names.size(); ++k) {
    if (value == Value(d.names[k])) return static_cast<std::int32_t>(k);
  }
  return -1;
}

std::int32_t adt_choice(const Value& value, const Discriminant& d, const AdtType& type) {
  std::int32_t choice = 0;  // None, or the first until a better one is found
  const auto* adt = value.get_if<AdtValue>();
  const std::vector<AdtFacts> all = adt_choices(type);
  for (std::size_t k = 0; adt != nullptr && k < all.size(); ++k) {
    const bool same =
        all[k].constructor == adt->constructor &&
        std::all_of(all[k].fields.begin(), all[k].fields.end(), [&](const auto& fact) {
          return std::find(adt->fields.begin(), adt->fields.end(), NamedValue(fact)) !=
                 adt->fields.end();
        });
    if (same) choice = static_cast<std::int32_t>(k) + (d.maybe ? 1 : 0);
  }
  return choice;
}

}  // namespace

std::int32_t choice_of(const PlanData& data, const Discriminant& discriminant, const Value& value) {
  switch (discriminant.kind) {
    case Discriminant::Kind::kBool:
      return value == Value(true) ? 1 : 0;
    case Discriminant::Kind::kParamPresence:
      return value.is_none() ? 0 : 1;
    case Discriminant::Kind::kEnum:
      return enum_choice(value, discriminant);
    case Discriminant::Kind::kAdt:
      return adt_choice(value, discriminant, data.adts[discriminant.adt]);
    default:
      return -1;
  }
}

std::size_t choice_count(const PlanData& data, const Discriminant& discriminant) {
  switch (discriminant.kind) {
    case Discriminant::Kind::kEnum:
      return discriminant.names.size();
    case Discriminant::Kind::kAdt:
      return adt_choices(data.adts[discriminant.adt]).size() + (discriminant.maybe ? 1 : 0);
    default:
      return 2;
  }
}

namespace {

void apply(const PlanData& data,
           const Discriminant& discriminant,
           std::int32_t choice,
           Facts& facts) {
  const std::uint32_t symbol = discriminant.symbol;
  switch (discriminant.kind) {
    case Discriminant::Kind::kBool:
      facts.fixed[symbol] = Value(choice != 0);
      break;
    case Discriminant::Kind::kEnum:
      facts.fixed[symbol] = Value(discriminant.names[static_cast<std::size_t>(choice)]);
      break;
    case Discriminant::Kind::kAdt:
      facts.presence[symbol] = discriminant.maybe && choice == 0 ? 0 : 1;
      if (facts.presence[symbol] == 1) {
        facts.adts[symbol] = adt_choices(data.adts[discriminant.adt])[static_cast<std::size_t>(
            choice - (discriminant.maybe ? 1 : 0))];
      }
      break;
    default:
      facts.presence[symbol] = static_cast<std::int8_t>(choice);
      break;
  }
}

/// Every tensor with a role and its plain flag: 1, or -1 where a condition or a discriminant
/// decides.
std::vector<std::uint32_t> conditional_tensors(const PlanData& data, Facts& facts) {
  std::vector<std::uint32_t> open;
  for (std::uint32_t symbol = 0; symbol < data.symbols.size(); ++symbol) {
    const SymbolKind kind = data.symbols[symbol].kind;
    if (kind == SymbolKind::kParam && !data.param_types[data.symbols[symbol].ordinal].maybe)
      facts.presence[symbol] = 1;
    if (!is_tensor(kind)) continue;
    const When when = tensor_decl(data, symbol).optional;
    if (when == When::kNever) facts.presence[symbol] = 1;
    if (when == When::kConditional) open.push_back(symbol);
  }
  if (!data.decl.buffered_output()) facts.presence[data.out_symbol] = 0;
  return open;
}

}  // namespace

Facts facts_of(const PlanData& data,
               const Choices& choices,
               std::optional<std::uint32_t>* unsettled) {
  Facts facts(data.symbols.size());
  std::vector<std::uint32_t> open = conditional_tensors(data, facts);
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (choices[i] >= 0) apply(data, data.discriminants[i], choices[i], facts);
  }
  bool progress = true;
  while (progress && !open.empty()) {
    progress = false;
    for (std::size_t i = 0; i < open.size(); ++i) {
      Pool scratch;
      Folder folder(data, facts, scratch);
      const auto value =
          constant_bool(scratch, folder.fold(tensor_data(data, open[i]).optional.root));
      if (!value) continue;
      facts.presence[open[i]] = *value ? 1 : 0;
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(i));
      progress = true;
      break;
    }
  }
  if (unsettled != nullptr) {
    unsettled->reset();
    if (!open.empty()) *unsettled = open.front();
  }
  return facts;
}

}  // namespace tenon::signature
