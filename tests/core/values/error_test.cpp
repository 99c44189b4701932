// An error is one pointer, and yet a value.
#include "tenon/core/error.hpp"

#include <utility>

#include <doctest/doctest.h>

using namespace tenon;

TEST_SUITE("error") {
  TEST_CASE("a copy is another error, and a moved one is empty") {
    Error first = Error(ErrorCode::kBuildFailed, "no compiler")
                      .with_hint("install one")
                      .with_where("a.yaml:1:2")
                      .with("op", "AddFwdOp");
    Error copy = first;
    copy.with_hint("look again");
    copy.add("step", "main");

    CHECK(first.to_string() == "BuildFailed: no compiler (a.yaml:1:2); install one");
    CHECK(copy.to_string() == "BuildFailed: no compiler (a.yaml:1:2); look again");
    CHECK(first.fields().size() == 1);
    CHECK(copy.fields().size() == 2);

    const Error moved = std::move(first);
    CHECK(moved.message() == "no compiler");
    // NOLINTBEGIN(bugprone-use-after-move): what is left of it is what is asked
    CHECK(first.code() == ErrorCode::kInternal);
    CHECK(first.message().empty());
    first = copy;
    // NOLINTEND(bugprone-use-after-move)
    CHECK(first.hint() == "look again");
  }

  TEST_CASE("a result of nothing is little more than its error's pointer") {
    CHECK(sizeof(Error) == sizeof(void*));
    CHECK(sizeof(Result<void>) <= 2 * sizeof(void*));
  }
}
