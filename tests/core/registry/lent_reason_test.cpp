// A reason that callees share must look new to each of them.
#include "registry/lent_reason.hpp"

#include <cstring>
#include <string>
#include <thread>

#include <doctest/doctest.h>

using tenon::detail::empty_reason;
using tenon::detail::LentReason;

namespace {

bool is_empty(const tenon_reason& reason) {
  const tenon_reason empty = empty_reason();
  return std::memcmp(&reason, &empty, sizeof empty) == 0;
}

}  // namespace

TEST_SUITE("lent reason") {
  TEST_CASE("every callee gets zeros, whatever the one before it wrote") {
    {
      LentReason reason;
      REQUIRE(is_empty(*reason));
      // A C plugin that counts on the zeros behind its text.
      std::memcpy(reason.get()->text, "the driver is old", 17);
      CHECK(tenon::detail::text_of(*reason) == "the driver is old");
    }
    {
      LentReason reason;
      CHECK(is_empty(*reason));
      std::memcpy(reason.get()->text, "no", 2);
      CHECK(tenon::detail::text_of(*reason) == "no");
    }
    for (int field = 0; field < 4; ++field) {
      {
        LentReason reason;
        if (field == 0) reason.get()->code = 3;
        if (field == 1) reason.get()->arg_index = 0;
        if (field == 2) reason.get()->expected.kind = TENON_VALUE_INT;
        if (field == 3) std::strcpy(reason.get()->attribute, "n");
      }
      LentReason reason;
      CHECK(is_empty(*reason));
    }
  }

  TEST_CASE("a call within a call gets a reason of its own") {
    LentReason outer;
    std::strcpy(outer.get()->text, "outer");
    {
      LentReason inner;
      CHECK(inner.get() != outer.get());
      CHECK(is_empty(*inner));
      std::strcpy(inner.get()->text, "inner");
    }
    CHECK(std::string(outer.get()->text) == "outer");
  }

  TEST_CASE("threads have reasons of their own") {
    LentReason mine;
    const tenon_reason* theirs = nullptr;
    std::thread([&] { theirs = LentReason().get(); }).join();
    CHECK(theirs != mine.get());
  }
}
