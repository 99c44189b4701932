// Tensors that describe no memory are refused before anything runs, on a hit as on a miss.
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include <doctest/doctest.h>

#include "core/support/scale_world.hpp"
#include "runtime/hit_memo.hpp"
#include "runtime/instance.hpp"

using namespace tenon;
using tenon::test::FakeRow;
using World = tenon::test::ScaleWorld;

namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// The argument that the refusal names, and its message; nothing where the call ran.
struct Refusal {
  std::string argument;
  std::string message;
};

std::string argument_of(const Error& error) {
  for (const auto& [name, value] : error.fields()) {
    if (name == "argument") return value;
  }
  return {};
}

std::optional<Refusal> refusal_of(const Result<void>& result) {
  if (result) return std::nullopt;
  CHECK(result.error().code() == ErrorCode::kSignatureMismatch);
  return Refusal{argument_of(result.error()), result.error().message()};
}

// ScaleFwdOp on eight elements; `warm` calls come first, so that the thread keeps one to repeat.
struct Called {
  explicit Called(int warm) {
    row.layouts = TENON_LAYOUTS_ALL;
    op.emplace(w.make());
    x = w.tensor({8});  // of a device kind that is there now
    out = w.tensor({8});
    for (int i = 0; i < warm; ++i) REQUIRE_FALSE(call(x.view(), out.view()));
    if (warm > 1) REQUIRE(op->instance().thread_state().memos[0] != nullptr);
    launches = row.launches;
  }
  std::optional<Refusal> call(const TensorView& with, const TensorView& into) {
    const TensorView* px = &with;
    const TensorArg args[] = {{&px, 1}, {}};
    return refusal_of(op->call_out(args, into));
  }
  [[nodiscard]] bool launched() const { return row.launches != launches; }

  World w;
  FakeRow& row = w.row("fast");
  std::optional<Op> op;
  Tensor x;
  Tensor out;
  int launches = 0;
};

TensorView with_strides(const Tensor& tensor, const Dims& strides) {
  TensorView view = tensor.view();
  view.strides = strides;
  return view;
}

TensorView without_memory(const Tensor& tensor) {
  TensorView view = tensor.view();
  view.data = nullptr;
  return view;
}

}  // namespace

TEST_SUITE("core/runtime/given_views") {
  TEST_CASE("data that is null is refused where there are elements, on a first call and on a hit") {
    for (const int warm : {0, 4}) {
      INFO("calls before it: " << warm);
      Called c(warm);

      const auto input = c.call(without_memory(c.x), c.out.view());
      const auto output = c.call(c.x.view(), without_memory(c.out));

      REQUIRE(input);
      CHECK(input->argument == "x");
      CHECK(input->message == "x has no memory: its data is null, but shape [8] has elements");
      REQUIRE(output);
      CHECK(output->argument == "out");
      CHECK(output->message == "out has no memory: its data is null, but shape [8] has elements");
      CHECK_FALSE(c.launched());
    }
  }

  TEST_CASE("a view without elements needs no memory") {
    Called c(4);
    const TensorView none(nullptr, DType::kFloat32, {0}, c.w.fake);

    CHECK_FALSE(c.call(none, none));
  }

  TEST_CASE("a view has one stride for each size, on a first call and on a hit") {
    for (const int warm : {0, 4}) {
      INFO("calls before it: " << warm);
      Called c(warm);

      const auto few = c.call(with_strides(c.x, {}), c.out.view());
      const auto many = c.call(c.x.view(), with_strides(c.out, {1, 1}));

      REQUIRE(few);
      CHECK(few->argument == "x");
      CHECK(few->message == "x has 1 sizes (shape [8]) but 0 strides ([])");
      REQUIRE(many);
      CHECK(many->argument == "out");
      CHECK(many->message == "out has 1 sizes (shape [8]) but 2 strides ([1, 1])");
      CHECK_FALSE(c.launched());
    }
  }

  TEST_CASE("a view whose bytes 64 bits cannot count is refused, however it gets there") {
    for (const int warm : {0, 4}) {
      INFO("calls before it: " << warm);
      Called c(warm);
      for (const std::int64_t stride : {kMost, -kMost, std::int64_t{1} << 59, -kMost - 1}) {
        INFO("stride " << stride);
        const auto input = c.call(with_strides(c.x, {stride}), c.out.view());
        const auto output = c.call(c.x.view(), with_strides(c.out, {stride}));

        REQUIRE(input);
        CHECK(input->argument == "x");
        CHECK(input->message.find("which spans more than 64 bits can count") != std::string::npos);
        REQUIRE(output);
        CHECK(output->argument == "out");
      }
      CHECK_FALSE(c.launched());
    }
    Called c(0);
    const TensorView much(
        c.x.view().data, DType::kFloat32, {1ll << 32, 1ll << 32}, {0, 0}, c.w.fake);
    CHECK(c.call(much, c.out.view()));
    const TensorView negative(c.x.view().data, DType::kFloat32, {-8}, {1}, c.w.fake);
    const auto refused = c.call(negative, c.out.view());
    REQUIRE(refused);
    CHECK(refused->message == "x has shape [-8]: a size is negative");
  }

  TEST_CASE("the stride of a single element may be anything") {
    World w;
    w.row("fast");
    Op op = w.make();
    const Tensor x = w.tensor({1});
    const Tensor out = w.tensor({1});
    const TensorView single = with_strides(x, {kMost});
    const TensorView* px = &single;
    const TensorArg args[] = {{&px, 1}, {}};

    CHECK(op.call_out(args, out));
    CHECK(out.data<float>()[0] == 2.0f);
  }

  TEST_CASE("a null pointer in place of a tensor is refused by its name") {
    Called c(4);
    const TensorView* none = nullptr;
    const TensorArg args[] = {{&none, 1}, {}};

    const auto refused = refusal_of(c.op->call_out(args, c.out));

    REQUIRE(refused);
    CHECK(refused->message == "x is a null pointer where a tensor is expected");
  }

  TEST_CASE("the same is said where nothing runs, but for memory, which is not asked for there") {
    Called c(0);
    const NamedSpec bad{"x", {DType::kFloat32, {8}, {kMost}, c.w.fake}};
    const NamedSpec ok{"x", {DType::kFloat32, {8}, {1}, c.w.fake}};

    const auto inferred = c.op->infer(std::span(&bad, 1));
    const Explanation explained = c.op->explain(std::span(&bad, 1));

    REQUIRE_FALSE(inferred);
    CHECK(argument_of(inferred.error()) == "x");
    REQUIRE(explained.error);
    CHECK(explained.error->code() == ErrorCode::kSignatureMismatch);
    CHECK(c.op->infer(std::span(&ok, 1)));
  }
}
