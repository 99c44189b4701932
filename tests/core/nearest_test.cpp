// Tests of nearest-name suggestions.
#include "tenon/core/nearest.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

namespace {

using tenon::did_you_mean;
using tenon::edit_distance;
using tenon::nearest_names;
using Names = std::vector<std::string>;

TEST_SUITE("core/nearest") {
  TEST_CASE("an edit is an insertion, a deletion, a replacement or a swap of neighbours") {
    CHECK(edit_distance("shape", "shape") == 0);
    CHECK(edit_distance("shap", "shape") == 1);
    CHECK(edit_distance("shapes", "shape") == 1);
    CHECK(edit_distance("shope", "shape") == 1);
    CHECK(edit_distance("sahpe", "shape") == 1);
    CHECK(edit_distance("", "shape") == 5);
    CHECK(edit_distance("kitten", "sitting") == 3);
    CHECK(edit_distance("ca", "abc") == 3);
  }

  TEST_CASE("the case of letters costs nothing") {
    CHECK(edit_distance("Shape", "sHAPE") == 0);
    CHECK(nearest_names("rmsnormfwdop", Names{"RMSNormFwdOp"}) == Names{"RMSNormFwdOp"});
  }

  TEST_CASE("nearer names come first and equally near ones in the order of their letters") {
    const Names candidates{"sum", "optional", "nullable", "optionale", "optionals"};

    CHECK(nearest_names("optioanl", candidates) == Names{"optional", "optionale", "optionals"});
    CHECK(nearest_names("optioanl", candidates, 1) == Names{"optional"});
  }

  TEST_CASE("names that share too little are not suggested") {
    CHECK(nearest_names("M", Names{"N", "K"}).empty());
    CHECK(nearest_names("alpha", Names{"gamma", "beta"}).empty());
    CHECK(nearest_names("", Names{"x"}).empty());
    CHECK(nearest_names("x", Names{}).empty());
  }

  TEST_CASE("a name that goes on where the word stops is suggested after the misspelt ones") {
    CHECK(nearest_names("RMSNorm", Names{"RMSNormFwdOp", "LayerNormFwdOp", "RMSNorn"}) ==
          Names{"RMSNorn", "RMSNormFwdOp"});
    CHECK(nearest_names("RM", Names{"RMSNormFwdOp"}).empty());
  }

  TEST_CASE("a candidate that is given twice is suggested once") {
    CHECK(nearest_names("ep", Names{"eps", "eps"}) == Names{"eps"});
  }

  TEST_CASE("names longer than a line are no typing mistake") {
    const std::string huge(100'000, 'a');

    CHECK(nearest_names(huge, Names{huge, "a"}).empty());
    CHECK(nearest_names("a", Names{huge}).empty());
    CHECK(edit_distance(huge, "a") == SIZE_MAX);
  }

  TEST_CASE("the hint names one, two or three candidates") {
    constexpr std::array<std::string_view, 3> kCandidates{"add", "and", "abd"};

    CHECK(did_you_mean("opss", Names{"ops"}) == "did you mean 'ops'?");
    CHECK(did_you_mean("adx", kCandidates, 1) == "did you mean 'add'?");
    CHECK(did_you_mean("abd_", kCandidates, 2) == "did you mean 'abd' or 'add'?");
    CHECK(did_you_mean("axd", kCandidates) == "did you mean 'abd', 'add' or 'and'?");
    CHECK(did_you_mean("zzz", kCandidates).empty());
  }
}

}  // namespace
