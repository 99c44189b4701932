// Checks the arguments of generators and predicates, and reads layouts out of them.
#include "generators_internal.hpp"

namespace tenon::manifest {

std::string_view name_of(FormalKind kind) noexcept {
  switch (kind) {
    case FormalKind::kInt:
      return "an Int";
    case FormalKind::kSeq:
      return "a Seq[Int]";
    case FormalKind::kWord:
      return "a word";
    case FormalKind::kLayout:
      return "a layout";
  }
  return "an Int";
}

Result<CallArg> call_arg_of(const Value& value) {
  if (const auto* number = value.get_if<std::int64_t>()) return CallArg(*number);
  if (const auto* text = value.get_if<std::string>()) return CallArg(*text);
  if (const auto* adt = value.get_if<AdtValue>()) return CallArg(*adt);
  if (const auto* list = value.get_if<ValueList>()) {
    std::vector<std::int64_t> items;
    items.reserve(list->items.size());
    for (const Value& item : list->items) {
      const auto* number = item.get_if<std::int64_t>();
      if (number == nullptr) {
        return fail(ErrorCode::kManifestInvalid,
                    "expected a list of ints, found " + item.to_string() + " in it");
      }
      items.push_back(*number);
    }
    return CallArg(std::move(items));
  }
  return fail(ErrorCode::kManifestInvalid,
              "expected an int, a list of ints, a word or a value of an algebraic type, found " +
                  value.to_string());
}

namespace detail {
namespace {

FormalKind kind_of(const CallArg& arg) {
  constexpr std::array<FormalKind, 4> kKinds{
      FormalKind::kInt, FormalKind::kSeq, FormalKind::kWord, FormalKind::kLayout};
  return kKinds[arg.index()];
}

const Value* field_of(const AdtValue& adt, std::string_view name) {
  for (const auto& [field, value] : adt.fields) {
    if (field == name) return &value;
  }
  return nullptr;
}

}  // namespace

Result<void> Args::check() const {
  if (args_.size() != formals_.size()) {
    return reject("expected " + std::to_string(formals_.size()) + " arguments, found " +
                  std::to_string(args_.size()));
  }
  for (std::size_t i = 0; i < args_.size(); ++i) {
    const FormalArg& formal = formals_[i];
    const std::string name(formal.name);
    if (kind_of(args_[i]) != formal.kind) {
      return reject(name + " is " + std::string(name_of(kind_of(args_[i]))) + ", expected " +
                    std::string(name_of(formal.kind)));
    }
    if (formal.kind != FormalKind::kWord) continue;
    if (std::find(formal.words.begin(), formal.words.end(), word(i)) != formal.words.end())
      continue;
    std::string message = name + " is '" + word(i) + "', expected";
    for (std::size_t w = 0; w < formal.words.size(); ++w) {
      message += (w == 0 ? " '" : " or '") + std::string(formal.words[w]) + '\'';
    }
    return reject(message);
  }
  return {};
}

Result<MoeLayout> Args::layout(std::size_t i) const {
  const auto& adt = std::get<AdtValue>(args_[i]);
  MoeLayout layout;
  if (adt.constructor == "masked") {
    layout.is_masked = true;
    TENON_TRY_ASSIGN(layout.max_m, layout_int(adt, "max_m", 0));
    return layout;
  }
  if (adt.constructor != "contiguous") {
    return reject("the layout is '" + adt.constructor + "', expected 'masked' or 'contiguous'");
  }
  TENON_TRY_ASSIGN(layout.is_aligned, layout_word(adt, "packing", "aligned", "tight"));
  TENON_TRY_ASSIGN(layout.is_per_row,
                   layout_word(adt, "metadata_kind", "per_row", "physical_psum"));
  TENON_TRY_ASSIGN(layout.alignment, layout_int(adt, "alignment", 1));
  return layout;
}

Result<std::int64_t> Args::layout_int(const AdtValue& layout,
                                      std::string_view field,
                                      std::int64_t least) const {
  const Value* value = field_of(layout, field);
  const auto* number = value != nullptr ? value->get_if<std::int64_t>() : nullptr;
  if (number != nullptr && *number >= least) return *number;
  return reject("layout." + std::string(field) + " is " +
                (value != nullptr ? value->to_string() : "absent") +
                ", expected an int of at least " + std::to_string(least));
}

Result<bool> Args::layout_word(const AdtValue& layout,
                               std::string_view field,
                               std::string_view yes,
                               std::string_view no) const {
  const Value* value = field_of(layout, field);
  const auto* text = value != nullptr ? value->get_if<std::string>() : nullptr;
  if (text != nullptr && (*text == yes || *text == no)) return *text == yes;
  return reject("layout." + std::string(field) + " is " +
                (value != nullptr ? value->to_string() : "absent") + ", expected '" +
                std::string(yes) + "' or '" + std::string(no) + "'");
}

Result<void> Args::at_least(std::size_t i, std::int64_t least) const {
  if (integer(i) >= least) return {};
  return reject(std::string(formals_[i].name) + " is " + std::to_string(integer(i)) +
                ", expected at least " + std::to_string(least));
}

Result<void> Args::items_at_least(std::size_t i, std::int64_t least, bool non_empty) const {
  const std::string name(formals_[i].name);
  if (non_empty && seq(i).empty()) return reject(name + " is empty, expected an item at least");
  for (std::size_t k = 0; k < seq(i).size(); ++k) {
    if (seq(i)[k] >= least) continue;
    return reject(name + "[" + std::to_string(k) + "] is " + std::to_string(seq(i)[k]) +
                  ", expected at least " + std::to_string(least));
  }
  return {};
}

Result<std::int64_t> Args::elements(std::initializer_list<std::int64_t> sizes) const {
  std::int64_t product = 1;
  bool fits = true;
  for (const std::int64_t size : sizes) {
    if (size == 0) return 0;
    fits = fits && !__builtin_mul_overflow(product, size, &product) &&
           product <= kMaxGeneratedElements;
  }
  if (fits) return product;
  return reject("the tensor has more than " + std::to_string(kMaxGeneratedElements) + " elements");
}

Result<std::int64_t> Args::total(std::size_t i) const {
  std::int64_t sum = 0;
  for (const std::int64_t item : seq(i)) {
    if (!__builtin_add_overflow(sum, item, &sum)) continue;
    return reject("the sum of " + std::string(formals_[i].name) + " is beyond 64 bits");
  }
  return sum;
}

}  // namespace detail
}  // namespace tenon::manifest
