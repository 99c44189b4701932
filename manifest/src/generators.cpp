// The table of generators, and those that draw nothing.
#include "tenon/manifest/generators.hpp"

#include <array>

#include "generators_internal.hpp"
#include "tenon/core/nearest.hpp"

namespace tenon::manifest {
namespace {

using detail::Args;
using detail::ceil_div;
using detail::Ints;
using detail::MoeLayout;
using detail::Random;

std::int64_t length_of(const Ints& items) { return static_cast<std::int64_t>(items.size()); }

GeneratedTensor vector_of(Ints values) {
  GeneratedTensor tensor;
  tensor.shape = {length_of(values)};
  tensor.values = std::move(values);
  return tensor;
}

/// 0 and the running sums of `parts` (not negative); an error beyond int64.
Result<Ints> sums_from_zero(const Args& args, const Ints& parts) {
  Ints sums{0};
  sums.reserve(parts.size() + 1);
  for (const std::int64_t part : parts) {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(sums.back(), part, &sum))
      return args.reject("a running sum is beyond 64 bits");
    sums.push_back(sum);
  }
  return sums;
}

Result<GeneratedTensor> as_tensor(const Args& args, Random&) {
  TENON_TRY(args.items_at_least(0, 0, false));
  return vector_of(args.seq(0));
}

Result<GeneratedTensor> prefix_sum(const Args& args, Random&) {
  TENON_TRY(args.items_at_least(0, 0, false));
  Ints sums;
  TENON_TRY_ASSIGN(sums, sums_from_zero(args, args.seq(0)));
  return vector_of(std::move(sums));
}

Result<GeneratedTensor> exclusive_prefix_sum(const Args& args, Random&) {
  TENON_TRY(args.items_at_least(0, 0, true));
  Ints sums;
  TENON_TRY_ASSIGN(sums, sums_from_zero(args, args.seq(0)));
  sums.pop_back();
  return vector_of(std::move(sums));
}

/// Rows (i, j) with j in [0, counts[i]).
Result<GeneratedTensor> index_rows(const Args& args, const Ints& counts) {
  Ints sums;
  TENON_TRY_ASSIGN(sums, sums_from_zero(args, counts));
  TENON_TRY(args.elements({sums.back(), 2}));
  GeneratedTensor tensor;
  tensor.shape = {sums.back(), 2};
  tensor.values.reserve(static_cast<std::size_t>(2 * sums.back()));
  for (std::size_t i = 0; i < counts.size(); ++i) {
    for (std::int64_t j = 0; j < counts[i]; ++j) {
      tensor.values.push_back(static_cast<std::int64_t>(i));
      tensor.values.push_back(j);
    }
  }
  return tensor;
}

Result<Ints> chunk_counts(const Args& args) {
  TENON_TRY(args.at_least(1, 1));
  TENON_TRY(args.items_at_least(0, 0, false));
  Ints counts = args.seq(0);
  for (std::int64_t& count : counts) count = ceil_div(count, args.integer(1));
  return counts;
}

Result<GeneratedTensor> chunk_indices(const Args& args, Random&) {
  Ints counts;
  TENON_TRY_ASSIGN(counts, chunk_counts(args));
  return index_rows(args, counts);
}

Result<GeneratedTensor> chunk_offsets(const Args& args, Random&) {
  Ints counts;
  TENON_TRY_ASSIGN(counts, chunk_counts(args));
  Ints sums;
  TENON_TRY_ASSIGN(sums, sums_from_zero(args, counts));
  return vector_of(std::move(sums));
}

Result<GeneratedTensor> token_indices(const Args& args, Random&) {
  TENON_TRY(args.items_at_least(0, 1, true));
  return index_rows(args, args.seq(0));
}

Result<GeneratedTensor> packed_positions(const Args& args, Random&) {
  TENON_TRY(args.items_at_least(0, 1, true));
  std::int64_t total = 0;
  TENON_TRY_ASSIGN(total, args.total(0));
  TENON_TRY(args.elements({total}));
  Ints positions;
  positions.reserve(static_cast<std::size_t>(total));
  for (const std::int64_t count : args.seq(0)) {
    for (std::int64_t j = 0; j < count; ++j) positions.push_back(j);
  }
  return vector_of(std::move(positions));
}

Result<GeneratedTensor> key_windows(const Args& args, Random&) {
  TENON_TRY(args.items_at_least(0, 1, true));
  TENON_TRY(args.at_least(1, 0));
  TENON_TRY(args.at_least(2, 0));
  std::int64_t total = 0;
  TENON_TRY_ASSIGN(total, args.total(0));
  const std::int64_t first = args.integer(1);
  const std::int64_t count = args.integer(2);
  if (first > total || count > total - first) {
    return args.reject("first + count is " + std::to_string(first) + " + " + std::to_string(count) +
                       ", expected at most the sum of lengths, " + std::to_string(total));
  }
  TENON_TRY(args.elements({count}));
  Ints bounds;
  bounds.reserve(static_cast<std::size_t>(count));
  const Ints& lengths = args.seq(0);
  std::size_t sequence = 0;
  std::int64_t start = 0;  // of that sequence
  for (std::int64_t p = first; p < first + count; ++p) {
    while (p >= start + lengths[sequence]) start += lengths[sequence++];
    bounds.push_back(args.word(3) == "start" ? start : p + 1);
  }
  return vector_of(std::move(bounds));
}

Result<GeneratedTensor> full(const Args& args, Random&) {
  TENON_TRY(args.items_at_least(0, 0, false));
  std::int64_t count = 1;
  for (const std::int64_t extent : args.seq(0)) {
    // A zero anywhere empties the tensor, whatever the other extents are.
    if (extent == 0) count = 0;
  }
  for (const std::int64_t extent : args.seq(0)) {
    if (count != 0) TENON_TRY_ASSIGN(count, args.elements({count, extent}));
  }
  return GeneratedTensor{args.seq(0), Ints(static_cast<std::size_t>(count), args.integer(1))};
}

/// The id of each of the rows, `sizes[i] * unit` rows for expert i.
Ints ids_by_row(const Ints& sizes, std::int64_t unit) {
  Ints ids;
  for (std::size_t expert = 0; expert < sizes.size(); ++expert) {
    ids.insert(ids.end(),
               static_cast<std::size_t>(sizes[expert] * unit),
               static_cast<std::int64_t>(expert));
  }
  return ids;
}

Result<GeneratedTensor> masked_metadata(const Args& args, const MoeLayout& layout) {
  const std::int64_t rows = args.integer(1);
  const std::int64_t experts = args.integer(2);
  std::int64_t padded = 0;
  if (__builtin_mul_overflow(experts, layout.max_m, &padded) || padded != rows) {
    return args.reject("rows is " + std::to_string(rows) + ", expected experts * max_m, " +
                       std::to_string(experts) + " * " + std::to_string(layout.max_m) +
                       ", in a masked layout");
  }
  Ints counts(static_cast<std::size_t>(experts), layout.max_m);
  for (std::size_t i = 1; i < counts.size(); i += 2) counts[i] = layout.max_m / 2;
  return vector_of(std::move(counts));
}

Result<GeneratedTensor> moe_layout_metadata(const Args& args, Random&) {
  MoeLayout layout;
  TENON_TRY_ASSIGN(layout, args.layout(0));
  TENON_TRY(args.at_least(1, 0));
  TENON_TRY(args.at_least(2, 1));
  const std::int64_t rows = args.integer(1);
  const std::int64_t experts = args.integer(2);
  TENON_TRY(args.elements({std::max(rows, experts)}));
  if (layout.is_masked) return masked_metadata(args, layout);

  const std::int64_t unit = layout.is_aligned ? layout.alignment : 1;
  if (rows % unit != 0) {
    return args.reject("rows is " + std::to_string(rows) +
                       ", expected a multiple of the alignment, " + std::to_string(unit));
  }
  const Ints tiles = detail::balanced_sizes(rows / unit, experts);
  if (layout.is_per_row) return vector_of(ids_by_row(tiles, unit));
  Ints ends;
  std::int64_t start = 0;
  for (const std::int64_t count : tiles) {
    // Each aligned expert ends half a tile short, so that padding occurs.
    const std::int64_t short_by = layout.is_aligned && count > 0 ? unit / 2 : 0;
    ends.push_back(unit * (start + count) - short_by);
    start += count;
  }
  return vector_of(std::move(ends));
}

constexpr std::array<std::string_view, 2> kStartOrEnd{"start", "end"};
constexpr std::array<FormalArg, 1> kLengths{{{"lengths", FormalKind::kSeq}}};
constexpr std::array<FormalArg, 2> kChunked{
    {{"lengths", FormalKind::kSeq}, {"chunk", FormalKind::kInt}}};
constexpr std::array<FormalArg, 4> kWindows{{{"lengths", FormalKind::kSeq},
                                             {"first", FormalKind::kInt},
                                             {"count", FormalKind::kInt},
                                             {"bound", FormalKind::kWord, kStartOrEnd}}};
constexpr std::array<FormalArg, 2> kFull{
    {{"shape", FormalKind::kSeq}, {"value", FormalKind::kInt}}};
constexpr std::array<FormalArg, 3> kMoe{
    {{"layout", FormalKind::kLayout}, {"rows", FormalKind::kInt}, {"experts", FormalKind::kInt}}};
constexpr std::array<FormalArg, 3> kPaged{
    {{"batch", FormalKind::kInt}, {"width", FormalKind::kInt}, {"pool", FormalKind::kInt}}};
constexpr std::array<FormalArg, 4> kBlocks{{{"lengths", FormalKind::kSeq},
                                            {"block", FormalKind::kInt},
                                            {"selected", FormalKind::kInt},
                                            {"heads", FormalKind::kInt}}};
constexpr std::array<FormalArg, 3> kCounts{
    {{"tokens", FormalKind::kInt}, {"heads", FormalKind::kInt}, {"selected", FormalKind::kInt}}};
constexpr std::array<FormalArg, 3> kTopk{
    {{"rows", FormalKind::kInt}, {"k", FormalKind::kInt}, {"experts", FormalKind::kInt}}};
constexpr std::array<FormalArg, 3> kRandom{
    {{"rows", FormalKind::kInt}, {"width", FormalKind::kInt}, {"upper", FormalKind::kInt}}};
constexpr std::array<FormalArg, 2> kSample{{{"n", FormalKind::kInt}, {"hi", FormalKind::kInt}}};
constexpr std::array<FormalArg, 7> kCausal{{{"batch", FormalKind::kInt},
                                            {"tokens", FormalKind::kInt},
                                            {"heads", FormalKind::kInt},
                                            {"k", FormalKind::kInt},
                                            {"extent", FormalKind::kInt},
                                            {"start", FormalKind::kInt},
                                            {"stride", FormalKind::kInt}}};
constexpr std::array<FormalArg, 3> kSparse{
    {{"lengths", FormalKind::kSeq}, {"queries", FormalKind::kInt}, {"k", FormalKind::kInt}}};

constexpr std::size_t kGeneratorCount = 18;

// Sorted by name. The doc gives the result's shape and its values.
constexpr std::array<GeneratorInfo, kGeneratorCount> kGenerators{{
    {"as_tensor", kLengths, 1, false, "[len]: the list; items >= 0"},
    {"attn.sparse_topk_positions",
     kSparse,
     3,
     true,
     "[len, queries, k]: distinct visible positions of each query, padded with -1"},
    {"causal_topk_indices",
     kCausal,
     4,
     true,
     "[batch, tokens, heads, k]: distinct visible keys of each token, padded with extent"},
    {"chunk_indices", kChunked, 2, false, "[chunks, 2]: rows (sequence, chunk)"},
    {"chunk_offsets", kChunked, 1, false, "[len + 1]: running sums of the chunk counts"},
    {"exclusive_prefix_sum",
     kLengths,
     1,
     false,
     "[len]: the sum of the items before each; non-empty"},
    {"full", kFull, -1, false, "shape: a constant"},
    {"key_windows",
     kWindows,
     1,
     false,
     "[count]: for each packed position its sequence's start, or its own end"},
    {"moe.layout_metadata", kMoe, 1, false, "[rows] by row, else [experts]: metadata of a layout"},
    {"nsa_block_counts", kCounts, 2, true, "[tokens, heads]: 1 to selected"},
    {"nsa_block_indices",
     kBlocks,
     3,
     true,
     "[sum, heads, selected]: ascending visible blocks of each token, padded with the sum of "
     "lengths"},
    {"packed_positions",
     kLengths,
     1,
     false,
     "[sum]: positions that restart at each sequence; items > 0"},
    {"paged_block_table",
     kPaged,
     2,
     true,
     "[batch, width]: distinct pages, over all rows if the pool suffices"},
    {"prefix_sum", kLengths, 1, false, "[len + 1]: running sums from 0"},
    {"random_ids", kRandom, 2, true, "[rows, width]: independent numbers in [0, upper)"},
    {"sample_indices", kSample, 1, true, "[n]: distinct numbers in [0, hi)"},
    {"token_indices", kLengths, 2, false, "[sum, 2]: rows (sequence, position); items > 0"},
    {"topk_ids", kTopk, 2, true, "[rows, k]: k distinct numbers in [0, experts) in each row"},
}};

constexpr std::array<detail::GeneratorFn, kGeneratorCount> kFunctions{{
    as_tensor,
    detail::sparse_topk_positions,
    detail::causal_topk_indices,
    chunk_indices,
    chunk_offsets,
    exclusive_prefix_sum,
    full,
    key_windows,
    moe_layout_metadata,
    detail::nsa_block_counts,
    detail::nsa_block_indices,
    packed_positions,
    detail::paged_block_table,
    prefix_sum,
    detail::random_ids,
    detail::sample_indices,
    token_indices,
    detail::topk_ids,
}};

}  // namespace

std::span<const GeneratorInfo> all_generators() noexcept { return kGenerators; }

const GeneratorInfo* find_generator(std::string_view name) noexcept {
  for (const GeneratorInfo& info : kGenerators) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

std::uint32_t crc32(std::string_view bytes) noexcept {
  std::uint32_t crc = 0xffffffffu;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1u) != 0 ? 0xedb88320u : 0u);
  }
  return ~crc;
}

std::uint32_t generator_seed(std::string_view op_name,
                             std::string_view tensor_name,
                             std::uint32_t workload_seed) noexcept {
  std::string key(op_name);
  key += ':';
  key += tensor_name;
  return workload_seed ^ crc32(key);
}

Result<GeneratedTensor> generate(std::string_view name,
                                 std::span<const CallArg> args,
                                 std::uint32_t seed) {
  const GeneratorInfo* info = find_generator(name);
  if (info == nullptr) {
    std::vector<std::string_view> names;
    names.reserve(kGenerators.size());
    for (const GeneratorInfo& known : kGenerators) names.push_back(known.name);
    return fail(
        Error(ErrorCode::kManifestInvalid, "there is no generator '" + std::string(name) + "'")
            .with_hint(did_you_mean(name, names)));
  }
  const Args checked(info->name, info->formals, args);
  TENON_TRY(checked.check());
  Random random(seed);
  return kFunctions[static_cast<std::size_t>(info - kGenerators.data())](checked, random);
}

}  // namespace tenon::manifest
