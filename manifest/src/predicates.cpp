// The predicates on the contents of metadata tensors.
#include "tenon/manifest/predicates.hpp"

#include <array>

#include "generators_internal.hpp"
#include "tenon/core/nearest.hpp"

namespace tenon::manifest {
namespace {

using detail::Args;
using detail::Ints;
using detail::MoeLayout;
using detail::Wide;

bool is_non_decreasing(const Ints& x) { return std::is_sorted(x.begin(), x.end()); }

Wide sum_of(const Ints& x) {
  Wide sum = 0;
  for (const std::int64_t value : x) sum += value;
  return sum;
}

/// x[i + 1] - x[i], of any two values.
Wide step(const Ints& x, std::size_t i) { return Wide{x[i + 1]} - x[i]; }

Result<bool> prefix_offsets(const GeneratedTensor& tensor, const Args& args) {
  const Ints& x = tensor.values;
  return !x.empty() && x.front() == 0 && is_non_decreasing(x) && x.back() == args.integer(0);
}

Result<bool> max_segment(const GeneratedTensor& tensor, const Args& args) {
  const Ints& x = tensor.values;
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    if (step(x, i) > args.integer(0)) return false;
  }
  return true;
}

Result<bool> in_range(const GeneratedTensor& tensor, const Args& args) {
  return std::all_of(tensor.values.begin(), tensor.values.end(), [&](std::int64_t value) {
    return args.integer(0) <= value && value < args.integer(1);
  });
}

Result<bool> sums_to(const GeneratedTensor& tensor, const Args& args) {
  return sum_of(tensor.values) == args.integer(0);
}

Result<bool> exclusive_prefix_of(const GeneratedTensor& tensor, const Args& args) {
  const Ints& lengths = args.seq(0);
  if (tensor.values.size() != lengths.size()) return false;
  Wide before = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (tensor.values[i] != before) return false;
    before += lengths[i];
  }
  return true;
}

Result<bool> indices_within(const GeneratedTensor& tensor, const Args& args) {
  const Ints& offsets = args.seq(0);
  if (tensor.shape[1] != 2) return false;
  for (std::size_t row = 0; row + 1 < tensor.values.size(); row += 2) {
    const std::int64_t i = tensor.values[row];
    const std::int64_t j = tensor.values[row + 1];
    if (i < 0 || j < 0 || i + 1 >= static_cast<std::int64_t>(offsets.size())) return false;
    if (j >= step(offsets, static_cast<std::size_t>(i))) return false;
  }
  return true;
}

Result<bool> chunk_offsets_of(const GeneratedTensor& tensor, const Args& args) {
  const Ints& offsets = args.seq(0);
  const std::int64_t chunk = args.integer(1);
  const Ints& x = tensor.values;
  // Sums of the counts between the offsets, from 0: one for each offset, and 0 alone where there is
  // none.
  const std::size_t segments = offsets.empty() ? 0 : offsets.size() - 1;
  if (chunk <= 0 || x.size() != segments + 1 || x[0] != 0) return false;
  Wide sum = 0;
  for (std::size_t i = 0; i < segments; ++i) {
    const Wide segment = step(offsets, i);
    // Rounded up, a segment above -chunk counts as no chunk.
    const Wide count = segment > 0 ? (segment + chunk - 1) / chunk : segment / chunk;
    if (count < 0) return false;
    sum += count;
    if (x[i + 1] != sum) return false;
  }
  return true;
}

Result<bool> paged_fits(const GeneratedTensor& tensor, const Args& args) {
  const Ints& x = tensor.values;
  const Ints& cu = args.seq(0);
  if (cu.size() != x.size() + 1) return false;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] + step(cu, i) > args.integer(1)) return false;
  }
  return true;
}

bool is_valid_by_row(const Ints& x, const MoeLayout& layout, std::int64_t experts) {
  // One id more stands for padding rows.
  const Wide upper = Wide{experts} + (layout.is_aligned ? 1 : 0);
  if (!is_non_decreasing(x)) return false;
  if (!x.empty() && (x.front() < 0 || x.back() >= upper)) return false;
  const auto alignment = static_cast<std::size_t>(layout.alignment);
  for (std::size_t i = 1; i < x.size(); ++i) {
    if (x[i] != x[i - 1] && i % alignment != 0) return false;
  }
  return true;
}

bool is_valid_by_end(const Ints& x, const MoeLayout& layout, std::int64_t rows) {
  if (x.empty()) return rows == 0;
  if (!layout.is_aligned) return x.front() >= 0 && is_non_decreasing(x) && x.back() == rows;
  Wide start = 0;
  for (const std::int64_t end : x) {
    if (end < start) return false;
    start = (Wide{end} + layout.alignment - 1) / layout.alignment * layout.alignment;
  }
  return x.back() <= rows;
}

Result<bool> moe_layout_valid(const GeneratedTensor& tensor, const Args& args) {
  MoeLayout layout;
  TENON_TRY_ASSIGN(layout, args.layout(0));
  const Ints& x = tensor.values;
  const std::int64_t rows = args.integer(1);
  const std::int64_t experts = args.integer(2);
  const bool by_row = !layout.is_masked && layout.is_per_row;
  if (static_cast<std::int64_t>(x.size()) != (by_row ? rows : experts)) return false;
  if (by_row) return is_valid_by_row(x, layout, experts);
  if (!layout.is_masked) return is_valid_by_end(x, layout, rows);
  return std::all_of(
      x.begin(), x.end(), [&](std::int64_t value) { return 0 <= value && value <= layout.max_m; });
}

constexpr std::array<FormalArg, 1> kTotal{{{"total", FormalKind::kInt}}};
constexpr std::array<FormalArg, 1> kBound{{{"bound", FormalKind::kInt}}};
constexpr std::array<FormalArg, 2> kRange{{{"lo", FormalKind::kInt}, {"hi", FormalKind::kInt}}};
constexpr std::array<FormalArg, 1> kLengths{{{"lengths", FormalKind::kSeq}}};
constexpr std::array<FormalArg, 1> kOffsets{{{"offsets", FormalKind::kSeq}}};
constexpr std::array<FormalArg, 2> kChunks{
    {{"offsets", FormalKind::kSeq}, {"chunk", FormalKind::kInt}}};
constexpr std::array<FormalArg, 2> kPaged{{{"cu", FormalKind::kSeq}, {"cap", FormalKind::kInt}}};
constexpr std::array<FormalArg, 3> kMoe{
    {{"layout", FormalKind::kLayout}, {"rows", FormalKind::kInt}, {"experts", FormalKind::kInt}}};

using PredicateFn = Result<bool> (*)(const GeneratedTensor&, const Args&);
constexpr std::size_t kPredicateCount = 9;

// Sorted by name.
constexpr std::array<PredicateInfo, kPredicateCount> kPredicates{{
    {"attn.paged_fits", kPaged, 1, "one element per segment of cu; element + segment at most cap"},
    {"chunk_offsets_of", kChunks, 1, "sums of each segment's chunk count"},
    {"exclusive_prefix_of", kLengths, 1, "one sum of the lengths before each"},
    {"in_range", kRange, -1, "every element in [lo, hi)"},
    {"indices_within", kOffsets, 2, "rows (i, j): segment i exists, j lies in it"},
    {"max_segment", kBound, 1, "adjacent differences at most bound"},
    {"moe.layout_valid", kMoe, 1, "valid metadata of that layout"},
    {"prefix_offsets", kTotal, 1, "starts at 0, non-decreasing, ends at total"},
    {"sums_to", kTotal, 1, "the elements sum to total"},
}};

constexpr std::array<PredicateFn, kPredicateCount> kFunctions{{
    paged_fits,
    chunk_offsets_of,
    exclusive_prefix_of,
    in_range,
    indices_within,
    max_segment,
    moe_layout_valid,
    prefix_offsets,
    sums_to,
}};

}  // namespace

std::span<const PredicateInfo> all_predicates() noexcept { return kPredicates; }

const PredicateInfo* find_predicate(std::string_view name) noexcept {
  for (const PredicateInfo& info : kPredicates) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

Result<bool> holds(std::string_view name,
                   const GeneratedTensor& tensor,
                   std::span<const CallArg> args) {
  const PredicateInfo* info = find_predicate(name);
  if (info == nullptr) {
    std::vector<std::string_view> names;
    names.reserve(kPredicates.size());
    for (const PredicateInfo& known : kPredicates) names.push_back(known.name);
    return fail(
        Error(ErrorCode::kManifestInvalid, "there is no predicate '" + std::string(name) + "'")
            .with_hint(did_you_mean(name, names)));
  }
  const Args checked(info->name, info->formals, args);
  TENON_TRY(checked.check());
  const auto rank = static_cast<std::int32_t>(tensor.shape.size());
  if (info->rank >= 0 && rank != info->rank) {
    return checked.reject("the tensor has rank " + std::to_string(rank) + ", expected " +
                          std::to_string(info->rank));
  }
  return kFunctions[static_cast<std::size_t>(info - kPredicates.data())](tensor, checked);
}

}  // namespace tenon::manifest
