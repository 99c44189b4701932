// Tests of the generators: results, domains, determinism.
#include "tenon/manifest/generators.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

namespace {

using tenon::AdtValue;
using tenon::Value;
using tenon::manifest::all_generators;
using tenon::manifest::CallArg;
using tenon::manifest::find_generator;
using tenon::manifest::FormalKind;
using tenon::manifest::generate;
using tenon::manifest::GeneratedTensor;
using tenon::manifest::generator_seed;
using Ints = std::vector<std::int64_t>;
using Call = std::vector<CallArg>;

CallArg masked(std::int64_t max_m) { return AdtValue{"masked", {{"max_m", Value(max_m)}}}; }
CallArg contiguous(const char* packing, const char* metadata, std::int64_t alignment) {
  return AdtValue{"contiguous",
                  {{"packing", Value(packing)},
                   {"metadata_kind", Value(metadata)},
                   {"alignment", Value(alignment)}}};
}
CallArg num(std::int64_t n) { return n; }
CallArg word(const char* text) { return std::string(text); }

GeneratedTensor made(std::string_view name, const Call& args, std::uint32_t seed = 1) {
  auto tensor = generate(name, args, seed);
  INFO(name);
  REQUIRE_MESSAGE(tensor.has_value(), (tensor ? std::string() : tensor.error().message()));
  return std::move(*tensor);
}

std::string refusal(std::string_view name, const Call& args) {
  const auto tensor = generate(name, args);
  return tensor ? std::string("no refusal") : tensor.error().message();
}

std::vector<Ints> rows_of(const GeneratedTensor& tensor) {
  const auto width = static_cast<std::size_t>(tensor.shape.back());
  std::vector<Ints> rows;
  for (std::size_t at = 0; at < tensor.values.size(); at += width) {
    const auto first = tensor.values.begin() + static_cast<std::ptrdiff_t>(at);
    rows.emplace_back(first, first + static_cast<std::ptrdiff_t>(width));
  }
  return rows;
}

bool all_in(const Ints& values, std::int64_t low, std::int64_t high) {
  return std::all_of(
      values.begin(), values.end(), [=](std::int64_t v) { return low <= v && v < high; });
}
bool all_distinct(Ints values) {
  std::sort(values.begin(), values.end());
  return std::adjacent_find(values.begin(), values.end()) == values.end();
}

/// One accepted call of every generator.
Call example(std::string_view name) {
  if (name == "key_windows") return {Ints{2, 3}, num(1), num(3), word("end")};
  if (name == "moe.layout_metadata")
    return {contiguous("aligned", "physical_psum", 4), num(12), num(2)};
  if (name == "full") return {Ints{2, 3}, num(7)};
  if (name == "attn.sparse_topk_positions") return {Ints{5, 9}, num(3), num(4)};
  if (name == "nsa_block_indices") return {Ints{3, 40}, num(4), num(4), num(2)};
  if (name == "causal_topk_indices")
    return {num(2), num(9), num(2), num(4), num(20), num(0), num(1)};
  if (name == "paged_block_table") return {num(4), num(3), num(40)};
  if (name == "sample_indices") return {num(5), num(9)};
  Call args;
  std::int64_t next = 3;
  for (const auto& formal : find_generator(name)->formals) {
    if (formal.kind == FormalKind::kSeq) {
      args.emplace_back(Ints{3, 1, 2});
    } else {
      args.emplace_back(next++);
    }
  }
  return args;
}

TEST_SUITE("manifest/generators") {
  TEST_CASE("every generator gives a tensor of the rank it declares whose values fill its shape") {
    CHECK(all_generators().size() == 18);
    std::string_view last;
    for (const auto& info : all_generators()) {
      CAPTURE(info.name);
      CHECK(last < info.name);
      last = info.name;
      CHECK(find_generator(info.name) == &info);
      CHECK_FALSE(info.doc.empty());
      const GeneratedTensor tensor = made(info.name, example(info.name));
      const std::size_t rank = info.rank < 0 ? 2 : static_cast<std::size_t>(info.rank);
      CHECK(tensor.shape.size() == rank);
      std::int64_t count = 1;
      for (const std::int64_t extent : tensor.shape) count *= extent;
      CHECK(static_cast<std::int64_t>(tensor.values.size()) == count);
    }
  }

  TEST_CASE("a seed fixes what a random generator draws and changes nothing else") {
    std::size_t random_count = 0;
    for (const auto& info : all_generators()) {
      CAPTURE(info.name);
      const Call args = example(info.name);
      CHECK(made(info.name, args, 7) == made(info.name, args, 7));
      bool differs = false;
      for (std::uint32_t seed = 8; seed < 12; ++seed)
        differs = differs || made(info.name, args, seed) != made(info.name, args, 7);
      CHECK(differs == info.is_random);
      random_count += info.is_random ? 1 : 0;
    }
    CHECK(random_count == 8);
  }

  TEST_CASE("draws are the same on every machine") {
    // From an independent implementation of the same published algorithms.
    CHECK(made("random_ids", {num(1), num(8), num(1000)}, 1235).values ==
          Ints{139, 932, 211, 274, 185, 98, 20, 723});
    CHECK(made("topk_ids", {num(2), num(3), num(8)}, 1235).values == Ints{3, 0, 5, 2, 4, 0});
  }

  TEST_CASE("the seed of a tensor mixes the op's and the tensor's name") {
    CHECK(tenon::manifest::crc32("123456789") == 0xcbf43926u);
    CHECK(tenon::manifest::crc32("") == 0u);
    CHECK(generator_seed("Op", "ids") == (1235u ^ tenon::manifest::crc32("Op:ids")));
    CHECK(generator_seed("Op", "ids", 1) == (1u ^ tenon::manifest::crc32("Op:ids")));
    CHECK(generator_seed("Op", "ids") != generator_seed("Op", "other"));
  }

  TEST_CASE("generators of offsets and indices give the values of their definitions") {
    CHECK(made("as_tensor", {Ints{3, 0, 2}}) == GeneratedTensor{{3}, {3, 0, 2}});
    CHECK(made("as_tensor", {Ints{}}) == GeneratedTensor{{0}, {}});
    CHECK(made("prefix_sum", {Ints{}}) == GeneratedTensor{{1}, {0}});
    CHECK(made("prefix_sum", {Ints{3, 0, 2}}) == GeneratedTensor{{4}, {0, 3, 3, 5}});
    CHECK(made("exclusive_prefix_sum", {Ints{3, 0, 2}}) == GeneratedTensor{{3}, {0, 3, 3}});
    CHECK(made("chunk_indices", {Ints{5, 0, 4}, num(4)}) ==
          GeneratedTensor{{3, 2}, {0, 0, 0, 1, 2, 0}});
    CHECK(made("chunk_indices", {Ints{}, num(4)}) == GeneratedTensor{{0, 2}, {}});
    CHECK(made("chunk_offsets", {Ints{5, 0, 4}, num(4)}) == GeneratedTensor{{4}, {0, 2, 2, 3}});
    CHECK(made("token_indices", {Ints{2, 1}}) == GeneratedTensor{{3, 2}, {0, 0, 0, 1, 1, 0}});
    CHECK(made("packed_positions", {Ints{2, 3}}) == GeneratedTensor{{5}, {0, 1, 0, 1, 2}});
    CHECK(made("key_windows", {Ints{2, 3}, num(1), num(3), word("start")}).values == Ints{0, 2, 2});
    CHECK(made("key_windows", {Ints{2, 3}, num(1), num(3), word("end")}).values == Ints{2, 3, 4});
    CHECK(made("key_windows", {Ints{2, 3}, num(5), num(0), word("end")}) ==
          GeneratedTensor{{0}, {}});
    CHECK(made("full", {Ints{}, num(7)}) == GeneratedTensor{{}, {7}});
    CHECK(made("full", {Ints{0, 2}, num(7)}) == GeneratedTensor{{0, 2}, {}});
    CHECK(made("full", {Ints{2, 2}, num(-7)}) == GeneratedTensor{{2, 2}, {-7, -7, -7, -7}});
    CHECK(made("full", {Ints{std::int64_t{1} << 40, 0}, num(0)}).values.empty());
  }

  TEST_CASE("layout metadata follow the layout") {
    CHECK(made("moe.layout_metadata", {masked(5), num(15), num(3)}).values == Ints{5, 2, 5});
    CHECK(made("moe.layout_metadata", {masked(0), num(0), num(2)}).values == Ints{0, 0});
    CHECK(made("moe.layout_metadata", {contiguous("tight", "physical_psum", 1), num(5), num(3)})
              .values == Ints{2, 4, 5});
    CHECK(made("moe.layout_metadata", {contiguous("tight", "per_row", 1), num(5), num(3)}).values ==
          Ints{0, 0, 1, 1, 2});
    CHECK(made("moe.layout_metadata", {contiguous("aligned", "physical_psum", 4), num(4), num(3)})
              .values == Ints{2, 4, 4});
    CHECK(
        made("moe.layout_metadata", {contiguous("aligned", "per_row", 2), num(6), num(2)}).values ==
        Ints{0, 0, 0, 0, 1, 1});
    CHECK(made("moe.layout_metadata", {contiguous("tight", "per_row", 1), num(0), num(3)}) ==
          GeneratedTensor{{0}, {}});
  }

  TEST_CASE(
      "a page table has distinct pages over all rows where the pool suffices, else in each row") {
    const GeneratedTensor large = made("paged_block_table", {num(8), num(5), num(40)});
    CHECK(large.shape == Ints{8, 5});
    CHECK(all_distinct(large.values));
    CHECK(all_in(large.values, 0, 40));

    const GeneratedTensor small = made("paged_block_table", {num(8), num(5), num(39)});
    CHECK_FALSE(all_distinct(small.values));
    for (const Ints& row : rows_of(small)) {
      CHECK(all_distinct(row));
      CHECK(all_in(row, 0, 39));
    }
  }

  TEST_CASE("selected blocks are visible, distinct, ascending and padded") {
    const GeneratedTensor blocks = made("nsa_block_indices", {Ints{3, 40}, num(4), num(4), num(2)});
    CHECK(blocks.shape == Ints{43, 2, 4});
    const std::vector<Ints> rows = rows_of(blocks);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const std::size_t packed = row / 2;
      const std::int64_t token = static_cast<std::int64_t>(packed < 3 ? packed : packed - 3);
      const std::int64_t visible = std::max<std::int64_t>((token + 3) / 4, 1);
      const auto drawn = static_cast<std::ptrdiff_t>(std::min<std::int64_t>(4, visible));
      const Ints kept(rows[row].begin(), rows[row].begin() + drawn);
      CAPTURE(row);
      CHECK(all_in(kept, 0, visible));
      CHECK(all_distinct(kept));
      CHECK(std::is_sorted(kept.begin(), kept.end()));
      CHECK(std::count(rows[row].begin() + drawn, rows[row].end(), 43) == 4 - drawn);
    }
    const GeneratedTensor counts = made("nsa_block_counts", {num(50), num(4), num(3)});
    CHECK(all_in(counts.values, 1, 4));
    CHECK(std::set<std::int64_t>(counts.values.begin(), counts.values.end()).size() == 3);
  }

  TEST_CASE("causal keys are visible, distinct and padded with the extent") {
    const GeneratedTensor keys =
        made("causal_topk_indices", {num(2), num(30), num(2), num(4), num(9), num(2), num(2)});
    CHECK(keys.shape == Ints{2, 30, 2, 4});
    const std::vector<Ints> rows = rows_of(keys);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const auto token = static_cast<std::int64_t>(row / 2 % 30);
      const std::int64_t visible =
          std::min<std::int64_t>(std::max<std::int64_t>(1, (token + 2) / 2), 9);
      const auto drawn = static_cast<std::ptrdiff_t>(std::min<std::int64_t>(4, visible));
      const Ints kept(rows[row].begin(), rows[row].begin() + drawn);
      CAPTURE(row);
      CHECK(all_in(kept, 0, visible));
      CHECK(all_distinct(kept));
      CHECK(std::count(rows[row].begin() + drawn, rows[row].end(), 9) == 4 - drawn);
    }
  }

  TEST_CASE("sparse positions are visible to their query, distinct and padded with -1") {
    const GeneratedTensor positions =
        made("attn.sparse_topk_positions", {Ints{3, 9}, num(3), num(4)});
    CHECK(positions.shape == Ints{2, 3, 4});
    const std::vector<Ints> rows = rows_of(positions);
    const Ints visible{1, 2, 3, 7, 8, 9};
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const auto drawn = static_cast<std::ptrdiff_t>(std::min<std::int64_t>(4, visible[row]));
      const Ints kept(rows[row].begin(), rows[row].begin() + drawn);
      CAPTURE(row);
      CHECK(all_in(kept, 0, visible[row]));
      CHECK(all_distinct(kept));
      CHECK(std::count(rows[row].begin() + drawn, rows[row].end(), -1) == 4 - drawn);
    }
  }

  TEST_CASE("ids are in range, distinct where they must be, and reach the whole range") {
    const GeneratedTensor topk = made("topk_ids", {num(200), num(4), num(8)});
    for (const Ints& row : rows_of(topk)) {
      CHECK(all_distinct(row));
      CHECK(all_in(row, 0, 8));
    }
    // Every expert is drawn at every place of a row.
    for (std::size_t place = 0; place < 4; ++place) {
      std::set<std::int64_t> seen;
      for (const Ints& row : rows_of(topk)) seen.insert(row[place]);
      CHECK(seen.size() == 8);
    }
    CHECK(all_distinct(made("topk_ids", {num(1), num(8), num(8)}).values));
    const GeneratedTensor ids = made("random_ids", {num(50), num(4), num(5)});
    CHECK(all_in(ids.values, 0, 5));
    CHECK(std::set<std::int64_t>(ids.values.begin(), ids.values.end()).size() == 5);
    CHECK(made("topk_ids", {num(0), num(2), num(4)}) == GeneratedTensor{{0, 2}, {}});
  }

  TEST_CASE("samples of large ranges are distinct and as cheap as they are small") {
    const std::int64_t huge = std::int64_t{1} << 60;
    const GeneratedTensor sample = made("sample_indices", {num(10'000), num(huge)});
    CHECK(all_distinct(sample.values));
    CHECK(all_in(sample.values, 0, huge));
    CHECK(all_distinct(made("sample_indices", {num(50'000), num(1'100'000)}).values));
    CHECK(all_distinct(made("sample_indices", {num(1'000), num(1'000)}).values));
    CHECK(made("sample_indices", {num(0), num(0)}) == GeneratedTensor{{0}, {}});
  }

  TEST_CASE("an argument outside the domain is refused with its name and value") {
    struct Row {
      std::string_view name;
      Call args;
      std::string_view message;
    };
    const std::int64_t most = std::numeric_limits<std::int64_t>::max();
    for (const Row& row : std::vector<Row>{
             {"as_tensor", {Ints{1, -1}}, "as_tensor: lengths[1] is -1, expected at least 0"},
             {"prefix_sum", {Ints{-2}}, "prefix_sum: lengths[0] is -2, expected at least 0"},
             {"prefix_sum", {Ints{most, 1}}, "prefix_sum: a running sum is beyond 64 bits"},
             {"exclusive_prefix_sum",
              {Ints{}},
              "exclusive_prefix_sum: lengths is empty, expected an item at least"},
             {"exclusive_prefix_sum",
              {Ints{-1}},
              "exclusive_prefix_sum: lengths[0] is -1, expected at least 0"},
             {"chunk_indices", {Ints{5}, num(0)}, "chunk_indices: chunk is 0, expected at least 1"},
             {"chunk_indices",
              {Ints{-5}, num(2)},
              "chunk_indices: lengths[0] is -5, expected at least 0"},
             {"chunk_indices",
              {Ints{most}, num(1)},
              "chunk_indices: the tensor has more than 268435456 elements"},
             {"chunk_offsets",
              {Ints{5}, num(-1)},
              "chunk_offsets: chunk is -1, expected at least 1"},
             {"chunk_offsets",
              {Ints{-5}, num(2)},
              "chunk_offsets: lengths[0] is -5, expected at least 0"},
             {"token_indices", {Ints{2, 0}}, "token_indices: lengths[1] is 0, expected at least 1"},
             {"token_indices",
              {Ints{}},
              "token_indices: lengths is empty, expected an item at least"},
             {"packed_positions",
              {Ints{0}},
              "packed_positions: lengths[0] is 0, expected at least 1"},
             {"packed_positions",
              {Ints{}},
              "packed_positions: lengths is empty, expected an item at least"},
             {"packed_positions",
              {Ints{most, most}},
              "packed_positions: the sum of lengths is beyond 64 bits"},
             {"key_windows",
              {Ints{}, num(0), num(0), word("end")},
              "key_windows: lengths is empty, expected an item at least"},
             {"key_windows",
              {Ints{0}, num(0), num(0), word("end")},
              "key_windows: lengths[0] is 0, expected at least 1"},
             {"key_windows",
              {Ints{2}, num(-1), num(0), word("end")},
              "key_windows: first is -1, expected at least 0"},
             {"key_windows",
              {Ints{2}, num(0), num(-1), word("end")},
              "key_windows: count is -1, expected at least 0"},
             {"key_windows",
              {Ints{2, 3}, num(3), num(3), word("end")},
              "key_windows: first + count is 3 + 3, expected at most the sum of lengths, 5"},
             {"key_windows",
              {Ints{2}, num(0), num(1), word("middle")},
              "key_windows: bound is 'middle', expected 'start' or 'end'"},
             {"full", {Ints{2, -1}, num(0)}, "full: shape[1] is -1, expected at least 0"},
             {"full",
              {Ints{1 << 20, 1 << 20}, num(0)},
              "full: the tensor has more than 268435456 elements"},
             {"moe.layout_metadata",
              {masked(5), num(14), num(3)},
              "moe.layout_metadata: rows is 14, expected experts * max_m, 3 * 5, in a masked "
              "layout"},
             {"moe.layout_metadata",
              {masked(5), num(0), num(0)},
              "moe.layout_metadata: experts is 0, expected at least 1"},
             {"moe.layout_metadata",
              {masked(5), num(-1), num(1)},
              "moe.layout_metadata: rows is -1, expected at least 0"},
             {"moe.layout_metadata",
              {contiguous("aligned", "physical_psum", 4), num(10), num(2)},
              "moe.layout_metadata: rows is 10, expected a multiple of the alignment, 4"},
             {"moe.layout_metadata",
              {contiguous("loose", "per_row", 1), num(1), num(1)},
              "moe.layout_metadata: layout.packing is 'loose', expected 'aligned' or 'tight'"},
             {"moe.layout_metadata",
              {contiguous("tight", "per_column", 1), num(1), num(1)},
              "moe.layout_metadata: layout.metadata_kind is 'per_column', expected 'per_row' or "
              "'physical_psum'"},
             {"moe.layout_metadata",
              {contiguous("aligned", "per_row", 0), num(1), num(1)},
              "moe.layout_metadata: layout.alignment is 0, expected an int of at least 1"},
             {"moe.layout_metadata",
              {AdtValue{"masked", {}}, num(1), num(1)},
              "moe.layout_metadata: layout.max_m is absent, expected an int of at least 0"},
             {"moe.layout_metadata",
              {AdtValue{"ragged", {}}, num(1), num(1)},
              "moe.layout_metadata: the layout is 'ragged', expected 'masked' or 'contiguous'"},
             {"paged_block_table",
              {num(-1), num(1), num(1)},
              "paged_block_table: batch is -1, expected at least 0"},
             {"paged_block_table",
              {num(1), num(0), num(1)},
              "paged_block_table: width is 0, expected at least 1"},
             {"paged_block_table",
              {num(1), num(4), num(3)},
              "paged_block_table: width is 4, expected at most pool, 3"},
             {"nsa_block_indices",
              {Ints{}, num(1), num(1), num(1)},
              "nsa_block_indices: lengths is empty, expected an item at least"},
             {"nsa_block_indices",
              {Ints{0}, num(1), num(1), num(1)},
              "nsa_block_indices: lengths[0] is 0, expected at least 1"},
             {"nsa_block_indices",
              {Ints{1}, num(0), num(1), num(1)},
              "nsa_block_indices: block is 0, expected at least 1"},
             {"nsa_block_indices",
              {Ints{1}, num(1), num(0), num(1)},
              "nsa_block_indices: selected is 0, expected at least 1"},
             {"nsa_block_indices",
              {Ints{1}, num(1), num(1), num(0)},
              "nsa_block_indices: heads is 0, expected at least 1"},
             {"nsa_block_counts",
              {num(0), num(1), num(1)},
              "nsa_block_counts: tokens is 0, expected at least 1"},
             {"nsa_block_counts",
              {num(1), num(0), num(1)},
              "nsa_block_counts: heads is 0, expected at least 1"},
             {"nsa_block_counts",
              {num(1), num(1), num(0)},
              "nsa_block_counts: selected is 0, expected at least 1"},
             {"topk_ids",
              {num(1), num(9), num(8)},
              "topk_ids: k is 9, expected at most experts, 8"},
             {"topk_ids", {num(1), num(0), num(8)}, "topk_ids: k is 0, expected at least 1"},
             {"topk_ids", {num(-1), num(1), num(8)}, "topk_ids: rows is -1, expected at least 0"},
             {"random_ids", {num(0), num(1), num(1)}, "random_ids: rows is 0, expected at least 1"},
             {"random_ids",
              {num(1), num(0), num(1)},
              "random_ids: width is 0, expected at least 1"},
             {"random_ids",
              {num(1), num(1), num(0)},
              "random_ids: upper is 0, expected at least 1"},
             {"random_ids",
              {num(most), num(most), num(1)},
              "random_ids: the tensor has more than 268435456 elements"},
             {"sample_indices", {num(3), num(2)}, "sample_indices: n is 3, expected at most hi, 2"},
             {"sample_indices", {num(-1), num(2)}, "sample_indices: n is -1, expected at least 0"},
             {"causal_topk_indices",
              {num(0), num(1), num(1), num(1), num(1), num(0), num(1)},
              "causal_topk_indices: batch is 0, expected at least 1"},
             {"causal_topk_indices",
              {num(1), num(0), num(1), num(1), num(1), num(0), num(1)},
              "causal_topk_indices: tokens is 0, expected at least 1"},
             {"causal_topk_indices",
              {num(1), num(1), num(0), num(1), num(1), num(0), num(1)},
              "causal_topk_indices: heads is 0, expected at least 1"},
             {"causal_topk_indices",
              {num(1), num(1), num(1), num(0), num(1), num(0), num(1)},
              "causal_topk_indices: k is 0, expected at least 1"},
             {"causal_topk_indices",
              {num(1), num(1), num(1), num(1), num(0), num(0), num(1)},
              "causal_topk_indices: extent is 0, expected at least 1"},
             {"causal_topk_indices",
              {num(1), num(1), num(1), num(1), num(1), num(-1), num(1)},
              "causal_topk_indices: start is -1, expected at least 0"},
             {"causal_topk_indices",
              {num(1), num(1), num(1), num(1), num(1), num(0), num(0)},
              "causal_topk_indices: stride is 0, expected at least 1"},
             {"causal_topk_indices",
              {num(1), num(1), num(1), num(1), num(1), num(most), num(1)},
              "causal_topk_indices: start is 9223372036854775807, expected that start + tokens "
              "fits 64 bits"},
             {"attn.sparse_topk_positions",
              {Ints{5, 2}, num(3), num(4)},
              "attn.sparse_topk_positions: lengths[1] is 2, expected at least 3"},
             {"attn.sparse_topk_positions",
              {Ints{5}, num(0), num(4)},
              "attn.sparse_topk_positions: queries is 0, expected at least 1"},
             {"attn.sparse_topk_positions",
              {Ints{5}, num(1), num(0)},
              "attn.sparse_topk_positions: k is 0, expected at least 1"},
         }) {
      CAPTURE(row.name);
      CHECK(refusal(row.name, row.args) == row.message);
    }
  }

  TEST_CASE("unknown names and wrong kinds of arguments are refused") {
    const auto unknown = generate("prefixsum", Call{Ints{}});
    REQUIRE_FALSE(unknown.has_value());
    CHECK(unknown.error().message() == "there is no generator 'prefixsum'");
    CHECK(unknown.error().hint() == "did you mean 'prefix_sum'?");
    CHECK(find_generator("prefixsum") == nullptr);
    CHECK(refusal("prefix_sum", {}) == "prefix_sum: expected 1 arguments, found 0");
    CHECK(refusal("prefix_sum", {num(1)}) == "prefix_sum: lengths is an Int, expected a Seq[Int]");
    CHECK(refusal("topk_ids", {num(1), Ints{}, num(1)}) ==
          "topk_ids: k is a Seq[Int], expected an Int");
    CHECK(refusal("moe.layout_metadata", {word("masked"), num(1), num(1)}) ==
          "moe.layout_metadata: layout is a word, expected a layout");
    CHECK(refusal("as_tensor", {masked(1)}) ==
          "as_tensor: lengths is a layout, expected a Seq[Int]");
  }

  TEST_CASE("values become arguments where they hold what arguments hold") {
    using tenon::manifest::call_arg_of;
    CHECK(std::get<std::int64_t>(call_arg_of(Value(3)).value()) == 3);
    CHECK(std::get<Ints>(call_arg_of(Value::list({1, 2}, true)).value()) == Ints{1, 2});
    CHECK(std::get<std::string>(call_arg_of(Value("end")).value()) == "end");
    CHECK(std::get<AdtValue>(call_arg_of(Value(AdtValue{"masked", {}})).value()).constructor ==
          "masked");
    CHECK_FALSE(call_arg_of(Value(true)).has_value());
    CHECK_FALSE(call_arg_of(Value(1.0)).has_value());
    CHECK_FALSE(call_arg_of(Value()).has_value());
    CHECK(call_arg_of(Value::list({1, true})).error().message() ==
          "expected a list of ints, found true in it");
  }
}

}  // namespace
