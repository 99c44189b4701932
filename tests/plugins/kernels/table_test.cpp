// What the plugin's table declares of its kernel types.
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "support/launcher.hpp"

namespace tenon::test {
namespace {

std::string_view view(tenon_str text) { return {text.data, text.size_bytes}; }

TEST_SUITE("plugins/cpu/table") {
  TEST_CASE(
      "every op has a reference kernel that takes all layouts and all dtypes of its contract") {
    for (const char* op : {"AddFwdOp",
                           "AttentionSplitFwdOp",
                           "AttentionCombineFwdOp",
                           "MulFwdOp",
                           "GeluFwdOp",
                           "CastFwdOp",
                           "CopyFwdOp",
                           "SumFwdOp",
                           "SoftmaxFwdOp",
                           "MatMulFwdOp",
                           "RMSNormFwdOp",
                           "LayerNormFwdOp"}) {
      CAPTURE(op);
      const tenon_kernel_type& row = row_of(op);
      CHECK((row.flags & TENON_KERNEL_REFERENCE) != 0);
      CHECK((row.flags & TENON_KERNEL_DETERMINISTIC) != 0);
      CHECK(row.layouts == TENON_LAYOUTS_ALL);
      CHECK(row.n_storage == 0);
      CHECK(row.n_archs == 0);
      CHECK(row.accumulate.bits == 64);
    }
  }

  TEST_CASE("every row serves kind cpu, has a contract and a unique key in its interface") {
    std::set<std::pair<std::string, std::string>> seen;
    for (const tenon_kernel_type& row : registered().rows) {
      CAPTURE(std::string(view(row.op)));
      CAPTURE(std::string(view(row.key)));
      REQUIRE(row.n_devices == 1);
      CHECK(view(row.devices[0]) == "cpu");
      REQUIRE(row.contract != nullptr);
      CHECK(row.contract->n_args >= 2);
      CHECK(row.contract->args[row.contract->n_args - 1].role == TENON_ROLE_OUT);
      CHECK((row.build != nullptr));
      CHECK(seen.emplace(view(row.interface), view(row.key)).second);
    }
  }

  TEST_CASE("what is preferred over another names a key of its own interface") {
    for (const tenon_kernel_type& row : registered().rows) {
      for (std::uint64_t i = 0; i < row.n_preferred_over; ++i) {
        CAPTURE(std::string(view(row.key)));
        const tenon_kernel_type& other = row_of(view(row.op), view(row.preferred_over[i]));
        CHECK(view(other.interface) == view(row.interface));
      }
    }
  }
}

}  // namespace
}  // namespace tenon::test
