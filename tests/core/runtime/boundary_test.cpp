// Instances by key, the schema that a framework registers, calls and meta calls by key.
#include "tenon/core/boundary.hpp"

#include <thread>

#include <doctest/doctest.h>

#include "core/support/scale_world.hpp"

using namespace tenon;
using tenon::test::FakeRow;
using World = tenon::test::ScaleWorld;

TEST_SUITE("core/runtime/boundary") {
  TEST_CASE("an instance is called by its key, and a key that is gone is no instance") {
    World w;
    FakeRow& row = w.row("fast");
    std::optional<Op> op = w.make();
    const std::uint64_t key = op->key();
    const Tensor x = w.tensor({3});
    const TensorView* px = &x.view();
    const TensorArg args[] = {{&px, 1}, {}};
    Tensor out;

    REQUIRE(call_by_key(*w.engine, key, args, nullptr, {&out, 1}));
    CHECK(out.data<float>()[2] == 6.0f);
    const Tensor given = w.tensor({3});
    Tensor same;
    REQUIRE(call_by_key(*w.engine, key, args, &given.view(), {&same, 1}));
    CHECK(same.data<float>() == given.data<float>());
    CHECK(row.launches == 2);
    std::thread([&] { CHECK(call_by_key(*w.engine, key, args, nullptr, {&out, 1})); }).join();

    op.reset();
    const auto gone = call_by_key(*w.engine, key, args, nullptr, {&out, 1});
    REQUIRE_FALSE(gone);
    CHECK(gone.error().code() == ErrorCode::kUsageError);
    CHECK(gone.error().message() == "no instance has key " + std::to_string(key));
  }

  TEST_CASE("keys are never used twice, whatever Runtime they are of, and belong to theirs") {
    World a;
    a.row("fast");
    World b;
    b.row("fast");
    Op in_a = a.make();
    Op in_b = b.make();
    CHECK(in_a.key() != in_b.key());
    const Tensor x = a.tensor({3});
    const TensorView* px = &x.view();
    const TensorArg args[] = {{&px, 1}, {}};
    Tensor out;
    REQUIRE(call_by_key(*a.engine, in_a.key(), args, nullptr, {&out, 1}));
    CHECK_FALSE(call_by_key(*b.engine, in_a.key(), args, nullptr, {&out, 1}));
  }

  TEST_CASE(
      "a meta call checks and infers, runs nothing, and keeps a record that last_call skips") {
    World w;
    FakeRow& row = w.row("fast");
    Op op = w.make();
    REQUIRE(op.call({{"x", w.tensor({3})}}));
    const TensorSpec x{DType::kFloat32, Dims{7}, Dims{1}, w.fake};
    const std::optional<TensorSpec> inputs[] = {x, std::nullopt};

    const auto outputs = meta_by_key(*w.engine, op.key(), inputs);

    REQUIRE(outputs);
    CHECK(outputs->at(0).shape == Dims{7});
    CHECK(row.launches == 1);
    CHECK(op.last_call()->indices == std::vector<NamedValue>{{"n", 3}});
    CHECK_FALSE(op.last_call()->meta);
    CHECK(op.last_meta()->meta);
    CHECK(op.last_meta()->indices == std::vector<NamedValue>{{"n", 7}});
    CHECK(op.last_meta()->target.empty());
    const TensorSpec wrong{DType::kFloat32, Dims{8}, Dims{1}, w.fake};
    const std::optional<TensorSpec> bad[] = {x, wrong};
    CHECK(meta_by_key(*w.engine, op.key(), bad).error().code() == ErrorCode::kSignatureMismatch);
  }

  TEST_CASE("the boundary's schema has the tensors and effects of the contract, and an instance") {
    OpDecl decl;
    decl.name = "RMSNormFwdOp";
    for (const char* name : {"x", "weight"}) {
      TensorDecl t;
      t.name = name;
      decl.inputs.push_back(t);
    }
    EffectBranch out;
    out.schema =
        "tenon::rms_norm_fwd.out(Tensor x, Tensor? weight=None, *, int[] normalized_shape, float? "
        "eps=None, Tensor(a!) out) -> Tensor(a!)";
    CHECK(boundary_schema(decl, out).value() ==
          "tenon_boundary::rms_norm_fwd.out(int instance, Tensor x, Tensor? weight=None, *, "
          "Tensor(a!) out) -> Tensor(a!)");
    EffectBranch plain;
    plain.schema =
        "tenon::rms_norm_fwd(Tensor x, Tensor? weight=None, *, int[] normalized_shape, float? "
        "eps=None) -> Tensor";
    CHECK(boundary_schema(decl, plain).value() ==
          "tenon_boundary::rms_norm_fwd(int instance, Tensor x, Tensor? weight=None) -> Tensor");
    CHECK(boundary_schema(decl, {}).error().code() == ErrorCode::kOpNotAvailable);
    decl.stages.push_back({"a", "AddFwdOp", "", false});
    CHECK_FALSE(has_boundary(decl));
    CHECK(boundary_schema(decl, plain).error().message() ==
          "op 'RMSNormFwdOp' has no boundary: frameworks see its sub-ops");
  }
}
