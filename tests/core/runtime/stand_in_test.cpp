// What a flow passes in the place of a tensor: the same bytes as another dtype, casts, padded
// copies; and the way back.
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "core/support/scale_world.hpp"
#include "flows/stand_ins.hpp"
#include "tenon/core/flow.hpp"

using namespace tenon;
using tenon::test::FakeRow;
using tenon::test::HandPlan;
using tenon::test::ScaleWorld;

namespace {

const std::vector<DType> kServed{DType::kBool,
                                 DType::kUInt8,
                                 DType::kInt32,
                                 DType::kFloat16,
                                 DType::kFloat32,
                                 DType::kFloat8E4M3FN};

// Visits the elements of two tensors of one shape, of rank 1 or 2.
template <class Body>
void for_each_pair(const tenon_tensor& x, const tenon_tensor& y, Body body) {
  const auto at = [](const tenon_tensor& t, std::int64_t i, std::int64_t j) {
    const std::int64_t step = i * t.strides[0] + (t.rank > 1 ? j * t.strides[1] : 0);
    return static_cast<std::byte*>(t.data) + t.byte_offset + step * (t.dtype.bits / 8);
  };
  for (std::int64_t i = 0; i < x.shape[0]; ++i) {
    for (std::int64_t j = 0; j < (x.rank > 1 ? x.shape[1] : 1); ++j) body(at(x, i, j), at(y, i, j));
  }
}

// Element by element through doubles: a copy where the dtypes are equal, else a cast.
tenon_status converts(const tenon_launch& l, tenon_reason&) {
  const tenon_tensor& x = *l.tensors[l.arg_first[0]];
  const tenon_tensor& y = *l.tensors[l.arg_first[1]];
  for_each_pair(x, y, [&](const std::byte* from, std::byte* to) {
    store_from_double(*dtype_from_abi(y.dtype), to, load_as_double(*dtype_from_abi(x.dtype), from));
  });
  return TENON_OK;
}

// What one launch of a scripted kernel got.
struct Seen {
  DType dtype = DType::kFloat64;
  std::vector<std::int64_t> shape;
  std::vector<double> elements;  // of x, row by row
  tenon_arg_facts facts{};
  std::int64_t n = 0;  // of the call spec
};

// ScaleFwdOp, CopyFwdOp and CastFwdOp for several dtypes.
struct World : ScaleWorld {
  explicit World(const std::string& flow = "direct", EngineOptions options = {})
      : ScaleWorld(std::move(options), flow) {
    plan->serve(kServed);
    copy_plan->serve(kServed);
    copy = &device_plugin->add("CopyFwdOp", copy_plan->decl().interfaces[0], "copy_any");
    copy->layouts = TENON_LAYOUTS_ALL;
    copy->launch = converts;
    device_plugin->drop_first();
  }
  FakeRow& cast_row() {
    if (cast_plan == nullptr) {
      cast_plan = std::make_shared<HandPlan>("CastFwdOp", "cast_fwd");
      cast_plan->serve(kServed);
      REQUIRE(engine->registry().add_op(cast_plan));
    }
    FakeRow& row = device_plugin->add("CastFwdOp", cast_plan->decl().interfaces[0], "cast");
    row.layouts = TENON_LAYOUTS_ALL;
    row.launch = converts;
    return row;
  }
  // y = 2 x in whatever dtype comes; keeps what it saw of x.
  FakeRow& doubling(const std::string& key) {
    FakeRow& r = row(key);
    r.launch = [this](const tenon_launch& l, tenon_reason&) {
      const tenon_tensor& x = *l.tensors[l.arg_first[0]];
      const tenon_tensor& y = *l.tensors[l.arg_first[2]];
      seen = {};
      seen.dtype = *dtype_from_abi(x.dtype);
      seen.shape.assign(x.shape, x.shape + x.rank);
      seen.facts = l.call->args[0];
      seen.n = l.call->fields[0].i;
      for_each_pair(x, y, [&](const std::byte* from, std::byte* to) {
        const double v = load_as_double(seen.dtype, from);
        seen.elements.push_back(v);
        store_from_double(*dtype_from_abi(y.dtype), to, 2 * v);
      });
      return TENON_OK;
    };
    return r;
  }
  Tensor of(DType dtype, const Dims& shape, const std::vector<double>& values) {
    Tensor t = engine->devices().make_tensor(dtype, shape, fake).value();
    for (std::size_t i = 0; i < values.size(); ++i)
      store_from_double(dtype, t.data<std::byte>() + i * size_bytes_of(dtype), values[i]);
    return t;
  }
  static std::vector<double> values(const TensorView& t) {
    std::vector<double> all;
    for (std::int64_t i = 0; i < t.count(); ++i) {
      const auto at = static_cast<std::size_t>(i) * size_bytes_of(t.dtype);
      all.push_back(load_as_double(t.dtype, t.first() + at));
    }
    return all;
  }
  static Explanation explained(Op& op, const Tensor& x) {
    const NamedSpec spec{"x", x.spec(), 0};
    return op.explain({&spec, 1});
  }

  std::shared_ptr<HandPlan> cast_plan;
  Seen seen;
};

using Doubles = std::vector<double>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

TEST_SUITE("core/runtime/stand_ins") {
  TEST_CASE("section 4, casts: a bool goes to a uint8 kernel as the same bytes, without a copy") {
    World w;
    FakeRow& row = w.doubling("bytes");
    row.stored = {{DType::kBool, DType::kUInt8}};
    row.launch = [&](const tenon_launch& l, tenon_reason&) {
      const tenon_tensor& x = *l.tensors[l.arg_first[0]];
      const tenon_tensor& y = *l.tensors[l.arg_first[2]];
      w.seen.dtype = *dtype_from_abi(x.dtype);
      CHECK(*dtype_from_abi(y.dtype) == DType::kUInt8);
      for_each_pair(x, y, [](const std::byte* from, std::byte* to) {
        *to = *from == std::byte{0} ? std::byte{1} : std::byte{0};
      });
      return TENON_OK;
    };
    Op op = w.make();
    const Tensor x = w.of(DType::kBool, Dims{3}, {1, 0, 1});
    for (int i = 0; i < 3; ++i) {  // a miss, a hit, a remembered call
      w.seen.dtype = DType::kFloat64;
      const auto out = op.call({{"x", x}});
      REQUIRE(out);
      CHECK(w.seen.dtype == DType::kUInt8);
      CHECK((*out)[0].dtype() == DType::kBool);
      CHECK(World::values((*out)[0]) == Doubles{0, 1, 0});
      CHECK(op.last_call()->copies == 0);
    }
    CHECK(w.copy->launches == 0);
    const Explanation e = World::explained(op, x);
    CHECK(e.steps.at(0).candidates.at(0).passed.at(0).to_string() == "x as uint8");
    CHECK(e.table().find("gets x as uint8") != std::string::npos);
  }

  TEST_CASE("section 4, casts: float8 goes to a float32 kernel through casts before and after it") {
    World w;
    FakeRow& cast = w.cast_row();
    w.doubling("wide").stored = {{DType::kFloat8E4M3FN, DType::kFloat32}};
    Op op = w.make();
    const Tensor x = w.of(DType::kFloat8E4M3FN, Dims{4}, {0.5, 1, -1.5, 448});
    for (int i = 0; i < 3; ++i) {
      const auto out = op.call({{"x", x}});
      if (!out) FAIL(out.error().to_string());
      CHECK(w.seen.dtype == DType::kFloat32);
      CHECK(w.seen.elements == Doubles{0.5, 1, -1.5, 448});
      CHECK((*out)[0].dtype() == DType::kFloat8E4M3FN);
      const Doubles got = World::values((*out)[0]);
      CHECK(got[0] == 1);
      CHECK(got[2] == -3);
      CHECK(op.last_call()->copies == 2);
      CHECK(op.last_call()->kernels.at(0).copies == 2);
    }
    CHECK(cast.launches == 6);
    const Explanation e = World::explained(op, x);
    const auto& passed = e.steps.at(0).candidates.at(0).passed;
    REQUIRE(passed.size() == 2);
    CHECK(passed[0].to_string() == "x cast to float32");
    CHECK(passed[1].to_string() == "output cast to float32");
  }

  TEST_CASE("what is cast arrives dense, in the first round, and whatever copies are allowed") {
    EngineOptions options;
    options.selection.copies = {CopyPolicy::kNever, "test"};
    World w("direct", options);
    w.cast_row();
    w.doubling("wide").stored = {{DType::kFloat16, DType::kFloat32}};
    Op op = w.make();
    const Tensor x = w.of(DType::kFloat16, Dims{6}, {1, 9, 2, 9, 3, 9});
    TensorView every_other = x.view();
    every_other.shape = Dims{3};
    every_other.strides = Dims{2};

    const auto out = op.call({{"x", every_other}});

    if (!out) FAIL(out.error().to_string());
    CHECK(w.seen.facts.layout == TENON_LAYOUT_DENSE);
    CHECK(w.seen.elements == Doubles{1, 2, 3});
    CHECK(World::values((*out)[0]) == Doubles{2, 4, 6});
  }

  TEST_CASE("a device kind without a cast refuses the kernel type, and says what is missing") {
    World w;
    w.doubling("wide").stored = {{DType::kFloat16, DType::kFloat32}};
    Op op = w.make();
    const auto failed = op.call({{"x", w.of(DType::kFloat16, Dims{2}, {1, 2})}});
    REQUIRE_FALSE(failed);
    CHECK(failed.error().code() == ErrorCode::kNoImplementation);
    CHECK(failed.error().message().find(
              "takes x as float32, and device kind 'fake' has no CastFwdOp kernel from float16 to "
              "float32") != std::string::npos);
    CHECK(op.call({{"x", w.of(DType::kFloat32, Dims{2}, {1, 2})}}).error().code() ==
          ErrorCode::kNoImplementation);  // storage also lists what is served
  }

  TEST_CASE("a storage row that lists a dtype twice is a fault of the plugin") {
    World w;
    w.doubling("wide").stored = {{DType::kFloat16, DType::kFloat32},
                                 {DType::kFloat16, DType::kFloat16}};
    const auto refused = w.acme->commit(w.engine->registry());
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message().find("storage[1] names float16 a second time") !=
          std::string::npos);
  }

  TEST_CASE("section 4, padding: innermost sizes are padded and results trimmed") {
    World w;
    w.doubling("eights").alignment_elements = 8;
    Op op = w.make();
    const Tensor x = w.of(DType::kFloat32, Dims{2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
    for (int i = 0; i < 3; ++i) {
      const auto out = op.call({{"x", x}});
      if (!out) FAIL(out.error().to_string());
      CHECK(w.seen.shape == std::vector<std::int64_t>{2, 8});
      CHECK(w.seen.n == 10);  // the call spec is that of the call
      CHECK(w.seen.elements == Doubles{1, 2, 3, 4, 5, 0, 0, 0, 6, 7, 8, 9, 10, 0, 0, 0});
      CHECK((*out)[0].shape() == Dims{2, 5});
      CHECK(World::values((*out)[0]) == Doubles{2, 4, 6, 8, 10, 12, 14, 16, 18, 20});
      CHECK(op.last_call()->copies == 2);
    }
    const Explanation e = World::explained(op, x);
    CHECK(e.steps.at(0).candidates.at(0).passed.at(0).to_string() == "x padded to 8");
    const Tensor fits = w.of(DType::kFloat32, Dims{8}, {1, 2, 3, 4, 5, 6, 7, 8});
    REQUIRE(op.call({{"x", fits}}));
    CHECK(op.last_call()->copies == 0);
    CHECK(World::explained(op, fits).steps.at(0).candidates.at(0).passed.empty());
  }

  TEST_CASE("a kernel type that handles padding gets sizes as they are") {
    World w;
    FakeRow& row = w.doubling("eights");
    row.alignment_elements = 8;
    row.flags = TENON_KERNEL_HANDLES_PADDING;
    Op op = w.make();
    REQUIRE(op.call({{"x", w.of(DType::kFloat32, Dims{5}, {1, 2, 3, 4, 5})}}));
    CHECK(w.seen.shape == std::vector<std::int64_t>{5});
    CHECK(op.last_call()->copies == 0);
  }

  TEST_CASE("a strided out gets the kept part of a padded result, and its gaps stay") {
    World w;
    w.doubling("eights").alignment_elements = 4;
    Op op = w.make();
    const Tensor x = w.of(DType::kFloat32, Dims{3}, {1, 2, 3});
    const Tensor memory = w.of(DType::kFloat32, Dims{7}, {9, 9, 9, 9, 9, 9, 9});
    TensorView out = memory.view();
    out.shape = Dims{3};
    out.strides = Dims{2};

    REQUIRE(op.call({{"x", x}}, {&out, {}}));

    CHECK(World::values(memory) == Doubles{2, 9, 4, 9, 6, 9, 9});
    REQUIRE(op.call({{"x", x}}, {&x.view(), {}}));  // in place: both are copies
    CHECK(World::values(x) == Doubles{2, 4, 6});
  }

  TEST_CASE("padding needs copies on the device kind, and says so where there are none") {
    World w;
    w.copy->dtypes = {DType::kFloat16};
    w.doubling("eights").alignment_elements = 8;
    Op op = w.make();
    const auto failed = op.call({{"x", w.of(DType::kFloat32, Dims{3}, {1, 2, 3})}});
    REQUIRE_FALSE(failed);
    CHECK(failed.error().message().find(
              "takes x padded to a multiple of 8, and device kind 'fake' has no CopyFwdOp kernel "
              "for float32") != std::string::npos);
  }

  TEST_CASE("casts and padding go together, on what the flow had to copy, too") {
    World w("row_norm");
    FakeRow& cast = w.cast_row();
    FakeRow& row = w.doubling("eights");
    row.alignment_elements = 4;
    row.stored = {{DType::kFloat16, DType::kFloat32}};
    Op op = w.make();
    const Tensor x = w.of(DType::kFloat16, Dims{2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
    TensorView columns = x.view();  // [3, 2]: no view of it has one axis
    columns.shape = Dims{3, 2};
    columns.strides = Dims{1, 5};

    const auto out = op.call({{"x", columns}});

    if (!out) FAIL(out.error().to_string());
    CHECK(w.seen.shape == std::vector<std::int64_t>{8});
    CHECK(w.seen.elements == Doubles{1, 6, 2, 7, 3, 8, 0, 0});
    CHECK(World::values((*out)[0]) == Doubles{2, 12, 4, 14, 6, 16});
    CHECK(op.last_call()->copies == 3);
    CHECK(cast.launches == 2);
  }

  TEST_CASE("padding with poison makes no difference to what is kept of an elementwise op") {
    class Poisoned final : public Flow {
     public:
      [[nodiscard]] std::string_view name() const override { return "direct"; }
      [[nodiscard]] double pad_value() const override { return std::nan(""); }
      [[nodiscard]] bool view_as(const FlowContext& context,
                                 std::uint32_t arg,
                                 const TensorView& tensor,
                                 const Dims& shape,
                                 TensorView& view) const override {
        return find_flow("direct")->view_as(context, arg, tensor, shape, view);
      }
    };
    static const Poisoned kPoisoned;
    World w;
    auto plan = std::make_shared<HandPlan>("PoisonedFwdOp", "poisoned_fwd");
    REQUIRE(w.engine->registry().add_op(plan, &kPoisoned));
    FakeRow& clean = w.doubling("eights");
    clean.alignment_elements = 8;
    FakeRow& row = w.acme->add("PoisonedFwdOp", plan->decl().interfaces[0], "eights");
    row.alignment_elements = 8;
    row.launch = clean.launch;
    Op op = w.make();
    Op poisoned = w.engine->make("PoisonedFwdOp", {}).value();
    const Tensor x = w.of(DType::kFloat32, Dims{2, 3}, {1, 2, 3, 4, 5, 6});

    const auto kept = op.call({{"x", x}});
    const auto kept_of_poisoned = poisoned.call({{"x", x}});

    REQUIRE(kept_of_poisoned);
    CHECK(std::isnan(w.seen.elements[3]));
    CHECK(World::values((*kept_of_poisoned)[0]) == World::values((*kept)[0]));
  }

  TEST_CASE("flows name what is neutral along the innermost axis") {
    CHECK(find_flow("elementwise")->pad_value() == 0);
    CHECK(find_flow("row_norm")->pad_value() == 0);
    CHECK(find_flow("matmul")->pad_value() == 0);
    CHECK(find_flow("reduce")->pad_value() == 0);
    CHECK(find_flow("reduce_max")->pad_value() == -kInfinity);
    CHECK(find_flow("reduce_min")->pad_value() == kInfinity);
    CHECK(find_flow("reduce_prod")->pad_value() == 1);
  }

  TEST_CASE("an infinity that a dtype lacks is its largest or least value") {
    const auto stored = [](DType dtype, double value) {
      std::byte element[kPadBytes];
      store_pad(dtype, value, element);
      return load_as_double(dtype, element);
    };
    CHECK(stored(DType::kFloat32, -kInfinity) == -kInfinity);
    CHECK(stored(DType::kFloat16, -kInfinity) == -kInfinity);
    CHECK(stored(DType::kFloat8E4M3FN, -kInfinity) == -448);
    CHECK(stored(DType::kFloat8E5M2, -kInfinity) == -kInfinity);
    CHECK(stored(DType::kInt32, -kInfinity) == std::numeric_limits<std::int32_t>::min());
    CHECK(stored(DType::kUInt8, -kInfinity) == 0);
    CHECK(stored(DType::kUInt8, kInfinity) == 255);
    CHECK(stored(DType::kBool, 1) == 1);
    CHECK(stored(DType::kBFloat16, 1) == 1);
  }

  TEST_CASE("what is padded is wide where the padded copy is") {
    FakeRow row;
    KernelType type;
    type.row.alignment_elements = 1024;
    CHECK_FALSE(wide_once_padded(type, {1000, 1000}));
    CHECK(wide_once_padded(type, {1, 1 << 22}));
  }

  TEST_CASE(
      "section 4, layouts: round 2 writes a copy back for a mutated input, and its gaps stay") {
    World w;
    w.plan->write_x();
    FakeRow& row = w.row("dense");
    row.launch = [](const tenon_launch& l, tenon_reason&) {
      const tenon_tensor& x = *l.tensors[l.arg_first[0]];
      const tenon_tensor& y = *l.tensors[l.arg_first[2]];
      CHECK(x.strides[0] == 1);
      for (std::int64_t i = 0; i < x.shape[0]; ++i) {
        auto* at = static_cast<float*>(x.data) + i;
        static_cast<float*>(y.data)[i] = *at;
        *at += 100;
      }
      return TENON_OK;
    };
    Op op = w.make();
    const Tensor memory = w.of(DType::kFloat32, Dims{5}, {1, 9, 2, 9, 3});
    TensorView x = memory.view();
    x.shape = Dims{3};
    x.strides = Dims{2};

    const auto out = op.call({{"x", x}});

    if (!out) FAIL(out.error().to_string());
    CHECK(World::values(memory) == Doubles{101, 9, 102, 9, 103});
    CHECK(World::values((*out)[0]) == Doubles{1, 2, 3});
    CHECK(op.last_call()->written_inputs == std::vector<std::string>{"x"});
    CHECK(op.last_call()->copies == 1);
    CHECK(w.copy->launches == 2);
  }
}
