// Tests of the predicates on metadata tensors.
#include "tenon/manifest/predicates.hpp"

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

namespace {

using tenon::AdtValue;
using tenon::Value;
using tenon::manifest::CallArg;
using tenon::manifest::GeneratedTensor;
using Ints = std::vector<std::int64_t>;
using Call = std::vector<CallArg>;

CallArg num(std::int64_t n) { return n; }
CallArg masked(std::int64_t max_m) { return AdtValue{"masked", {{"max_m", Value(max_m)}}}; }
CallArg contiguous(const char* packing, const char* metadata, std::int64_t alignment) {
  return AdtValue{"contiguous",
                  {{"packing", Value(packing)},
                   {"metadata_kind", Value(metadata)},
                   {"alignment", Value(alignment)}}};
}
GeneratedTensor vec(Ints values) {
  GeneratedTensor tensor{{static_cast<std::int64_t>(values.size())}, {}};
  tensor.values = std::move(values);
  return tensor;
}
GeneratedTensor pairs(Ints values) {
  return {{static_cast<std::int64_t>(values.size() / 2), 2}, std::move(values)};
}

bool holds(std::string_view name, const GeneratedTensor& tensor, const Call& args) {
  const auto result = tenon::manifest::holds(name, tensor, args);
  INFO(name);
  REQUIRE_MESSAGE(result.has_value(), (result ? std::string() : result.error().message()));
  return *result;
}

TEST_SUITE("manifest/predicates") {
  TEST_CASE("there are nine, each found by its name") {
    CHECK(tenon::manifest::all_predicates().size() == 9);
    std::string_view last;
    for (const auto& info : tenon::manifest::all_predicates()) {
      CHECK(last < info.name);
      last = info.name;
      CHECK(tenon::manifest::find_predicate(info.name) == &info);
      CHECK_FALSE(info.doc.empty());
    }
    CHECK(tenon::manifest::find_predicate("in_rang") == nullptr);
  }

  TEST_CASE("prefix_offsets starts at 0, never falls and ends at the total") {
    CHECK(holds("prefix_offsets", vec({0, 3, 3, 5}), {num(5)}));
    CHECK(holds("prefix_offsets", vec({0}), {num(0)}));
    CHECK_FALSE(holds("prefix_offsets", vec({}), {num(0)}));
    CHECK_FALSE(holds("prefix_offsets", vec({1, 5}), {num(5)}));
    CHECK_FALSE(holds("prefix_offsets", vec({0, 5, 4, 5}), {num(5)}));
    CHECK_FALSE(holds("prefix_offsets", vec({0, 4}), {num(5)}));
  }

  TEST_CASE("max_segment bounds every step up and none down") {
    CHECK(holds("max_segment", vec({0, 3, 7}), {num(4)}));
    CHECK_FALSE(holds("max_segment", vec({0, 3, 7}), {num(3)}));
    CHECK(holds("max_segment", vec({9, 0}), {num(0)}));
    CHECK(holds("max_segment", vec({}), {num(-1)}));
    const auto most = std::numeric_limits<std::int64_t>::max();
    CHECK_FALSE(holds("max_segment", vec({-most, most}), {num(most)}));
  }

  TEST_CASE("in_range takes tensors of any rank") {
    CHECK(holds("in_range", {{1, 2}, {0, 3}}, {num(0), num(4)}));
    CHECK_FALSE(holds("in_range", {{1, 2}, {0, 4}}, {num(0), num(4)}));
    CHECK_FALSE(holds("in_range", {{}, {-1}}, {num(0), num(4)}));
    CHECK(holds("in_range", vec({}), {num(0), num(0)}));
  }

  TEST_CASE("sums_to and exclusive_prefix_of do not overflow") {
    const auto most = std::numeric_limits<std::int64_t>::max();
    CHECK(holds("sums_to", vec({1, 2}), {num(3)}));
    CHECK(holds("sums_to", vec({}), {num(0)}));
    CHECK_FALSE(holds("sums_to", vec({most, most}), {num(-2)}));
    CHECK(holds("exclusive_prefix_of", vec({0, 2}), {Ints{2, 3}}));
    CHECK_FALSE(holds("exclusive_prefix_of", vec({0, 2}), {Ints{2}}));
    CHECK_FALSE(holds("exclusive_prefix_of", vec({0, 1}), {Ints{2, 3}}));
    CHECK_FALSE(holds("exclusive_prefix_of", vec({0, most, -2}), {Ints{most, most, 0}}));
    CHECK(holds("exclusive_prefix_of", vec({}), {Ints{}}));
  }

  TEST_CASE("indices_within needs pairs that lie in their segment") {
    CHECK(holds("indices_within", pairs({0, 1, 1, 2}), {Ints{0, 2, 5}}));
    CHECK_FALSE(holds("indices_within", pairs({0, 2}), {Ints{0, 2, 5}}));
    CHECK_FALSE(holds("indices_within", pairs({2, 0}), {Ints{0, 2, 5}}));
    CHECK_FALSE(holds("indices_within", pairs({-1, 0}), {Ints{0, 2, 5}}));
    CHECK_FALSE(holds("indices_within", pairs({0, -1}), {Ints{0, 2, 5}}));
    CHECK_FALSE(holds("indices_within", pairs({0, 0}), {Ints{}}));
    CHECK(holds("indices_within", pairs({}), {Ints{}}));
    CHECK_FALSE(holds("indices_within", {{1, 3}, {0, 0, 0}}, {Ints{0, 2}}));
  }

  TEST_CASE("chunk_offsets_of sums the chunk counts of segments") {
    CHECK(holds("chunk_offsets_of", vec({0, 2, 2, 3}), {Ints{0, 5, 5, 9}, num(4)}));
    CHECK_FALSE(holds("chunk_offsets_of", vec({0, 1, 2, 3}), {Ints{0, 5, 5, 9}, num(4)}));
    CHECK_FALSE(holds("chunk_offsets_of", vec({1, 3}), {Ints{0, 5}, num(4)}));
    CHECK_FALSE(holds("chunk_offsets_of", vec({0, 1}), {Ints{0, 5}, num(0)}));
    CHECK_FALSE(holds("chunk_offsets_of", vec({0, -1}), {Ints{4, 0}, num(4)}));
    CHECK_FALSE(holds("chunk_offsets_of", vec({0}), {Ints{0, 5}, num(4)}));
    CHECK(holds("chunk_offsets_of", vec({0}), {Ints{0}, num(4)}));
    CHECK(holds("chunk_offsets_of", vec({0}), {Ints{}, num(4)}));
  }

  TEST_CASE("attn.paged_fits bounds each sequence with its new part") {
    CHECK(holds("attn.paged_fits", vec({4, 2}), {Ints{0, 1, 3}, num(5)}));
    CHECK_FALSE(holds("attn.paged_fits", vec({4, 2}), {Ints{0, 1, 3}, num(4)}));
    CHECK_FALSE(holds("attn.paged_fits", vec({1, 2}), {Ints{0, 1}, num(8)}));
    CHECK(holds("attn.paged_fits", vec({}), {Ints{0}, num(0)}));
  }

  TEST_CASE("moe.layout_valid follows each layout") {
    const CallArg tight = contiguous("tight", "physical_psum", 1);
    const CallArg aligned = contiguous("aligned", "physical_psum", 4);
    const CallArg tight_rows = contiguous("tight", "per_row", 1);
    const CallArg aligned_rows = contiguous("aligned", "per_row", 4);
    const auto valid = [](Ints values, CallArg layout, std::int64_t rows, std::int64_t experts) {
      return holds(
          "moe.layout_valid", vec(std::move(values)), {std::move(layout), num(rows), num(experts)});
    };

    CHECK(valid({5, 0, 2}, masked(5), 15, 3));
    CHECK_FALSE(valid({6, 0, 2}, masked(5), 15, 3));
    CHECK_FALSE(valid({-1, 0, 2}, masked(5), 15, 3));
    CHECK_FALSE(valid({5, 0}, masked(5), 15, 3));
    CHECK(valid({2, 4, 5}, tight, 5, 3));
    CHECK_FALSE(valid({2, 4, 4}, tight, 5, 3));
    CHECK_FALSE(valid({3, 2, 5}, tight, 5, 3));
    CHECK_FALSE(valid({-1, 4, 5}, tight, 5, 3));
    CHECK(valid({2, 6}, aligned, 8, 2));
    CHECK_FALSE(valid({3, 3}, aligned, 8, 2));
    CHECK_FALSE(valid({2, 9}, aligned, 8, 2));
    CHECK_FALSE(valid({-1, 4}, aligned, 8, 2));
    CHECK(valid({0, 0, 1, 2}, tight_rows, 4, 3));
    CHECK_FALSE(valid({0, 0, 1, 3}, tight_rows, 4, 3));
    CHECK_FALSE(valid({0, 1, 0, 2}, tight_rows, 4, 3));
    CHECK(valid({0, 0, 0, 0, 1, 1, 1, 1}, aligned_rows, 8, 1));
    CHECK_FALSE(valid({0, 0, 0, 0, 2, 2, 2, 2}, aligned_rows, 8, 1));
    CHECK_FALSE(valid({0, 0, 0, 1, 1, 1, 1, 1}, aligned_rows, 8, 2));
    CHECK(valid({}, tight_rows, 0, 3));
  }

  TEST_CASE("what a generator makes is valid") {
    for (const CallArg& layout : {contiguous("tight", "physical_psum", 1),
                                  contiguous("aligned", "physical_psum", 4),
                                  contiguous("tight", "per_row", 1),
                                  contiguous("aligned", "per_row", 4)}) {
      for (const std::int64_t rows : {0, 4, 12, 40}) {
        for (const std::int64_t experts : {1, 2, 7}) {
          const Call args{layout, num(rows), num(experts)};
          const auto made = tenon::manifest::generate("moe.layout_metadata", args);
          REQUIRE(made.has_value());
          CAPTURE(rows);
          CAPTURE(experts);
          CHECK(holds("moe.layout_valid", *made, args));
        }
      }
    }
    const auto offsets = tenon::manifest::generate("prefix_sum", Call{Ints{3, 0, 9}});
    CHECK(holds("prefix_offsets", offsets.value(), {num(12)}));
    const auto rows = tenon::manifest::generate("token_indices", Call{Ints{3, 1, 9}});
    CHECK(holds("indices_within", rows.value(), {Ints{0, 3, 4, 13}}));
  }

  TEST_CASE("unknown names, wrong ranks and wrong arguments are refused") {
    const auto message =
        [](std::string_view name, const GeneratedTensor& tensor, const Call& args) {
          const auto result = tenon::manifest::holds(name, tensor, args);
          return result ? std::string("no refusal") : result.error().to_string();
        };

    CHECK(message("sum_to", vec({}), {num(1)}).find("there is no predicate 'sum_to'") !=
          std::string::npos);
    CHECK(message("sum_to", vec({}), {num(1)}).find("did you mean 'sums_to'?") !=
          std::string::npos);
    CHECK(message("sums_to", {{1, 1}, {1}}, {num(1)})
              .find("sums_to: the tensor has rank 2, expected 1") != std::string::npos);
    CHECK(message("indices_within", vec({}), {Ints{}}).find("the tensor has rank 1, expected 2") !=
          std::string::npos);
    CHECK(message("sums_to", vec({}), {}).find("sums_to: expected 1 arguments, found 0") !=
          std::string::npos);
    CHECK(message("sums_to", vec({}), {Ints{}}).find("total is a Seq[Int], expected an Int") !=
          std::string::npos);
    CHECK(message("moe.layout_valid", vec({}), {AdtValue{"x", {}}, num(0), num(0)})
              .find("the layout is 'x'") != std::string::npos);
  }
}

}  // namespace
