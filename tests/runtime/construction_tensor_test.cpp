// Construction-time tensors: given once, converted to the device and dtype of the call that needs
// them, and kept, whatever becomes of the call.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/support/fake_rows.hpp"
#include "support/test_env.hpp"
#include "tenon/tenon.hpp"

using namespace tenon;
using tenon::test::FakeKind;
using tenon::test::FakePlugin;
using tenon::test::FakeRow;
using tenon::test::TempDir;

namespace {

constexpr const char* kEntries =
    "ScaleRowsFwdOp:\n  family: own\n  status: implemented\n  signature:\n"
    "    forall: {B: Dim, N: Dim, T: \"DType[float16 | float32]\"}\n"
    "    params: {weight: {dtype: T, shape: \"[N]\"}}\n"
    "    inputs: {x: {dtype: T, shape: \"[B, N]\"}}\n"
    "    outputs: {y: {dtype: T, shape: \"[B, N]\"}}\n"
    "  workloads: [{B: 2, N: 3, dtype_cases: [{T: float32}], label: a}]\n"
    "  roofline: {flops: \"B * N\"}\n"
    "  interfaces: {scale_rows_fwd: {call: {m: B, n: N, dtype: T},\n"
    "    args: {x: \"[m, n]\", weight: \"[n]\", y: \"[m, n]\"}}}\n";

// Element by element through doubles, rank 1 and 2.
tenon_status converts(const tenon_launch& l, tenon_reason&) {
  const tenon_tensor& x = *l.tensors[0];
  const tenon_tensor& y = *l.tensors[1];
  const auto at = [](const tenon_tensor& t, std::int64_t i) {
    return static_cast<std::byte*>(t.data) + t.byte_offset + i * t.strides[0] * (t.dtype.bits / 8);
  };
  for (std::int64_t i = 0; i < x.shape[0]; ++i)
    store_from_double(
        *dtype_from_abi(y.dtype), at(y, i), load_as_double(*dtype_from_abi(x.dtype), at(x, i)));
  return TENON_OK;
}

struct World {
  World() {
    RuntimeOptions options;
    options.standard_folders = false;
    options.environment = loader::Environment::of({});
    options.manifest_paths = {"shipped", folder.write("own.yaml", kEntries)};
    auto made = Runtime::create(std::move(options));
    if (!made) FAIL(made.error().to_string());
    runtime.emplace(std::move(*made));
    kind.count = 2;
    vendor = &FakePlugin::make("acme");
    vendor->own_kind(kind.table("acme-card"));
    row = &add("ScaleRowsFwdOp", "rows");
    row->launch = [this](const tenon_launch& l, tenon_reason&) {
      if (fails) return TENON_DEVICE;
      const tenon_tensor& w = *l.tensors[1];
      weight = w.data;
      dtype = *dtype_from_abi(w.dtype);
      values.clear();
      for (std::int64_t i = 0; i < w.shape[0]; ++i)
        values.push_back(load_as_double(dtype,
                                        static_cast<std::byte*>(w.data) + w.byte_offset +
                                            i * w.strides[0] * (w.dtype.bits / 8)));
      return TENON_OK;
    };
  }
  FakeRow& add(const char* op, const char* key) {
    const OpClass* op_class = runtime->snapshot()->find(op);
    FakeRow& made = vendor->add(op, op_class->plan->decl().interfaces[0], key);
    made.devices = {"acme-card"};
    made.layouts = TENON_LAYOUTS_ALL;
    return made;
  }
  FakeRow& add_casts() {
    FakeRow& copy = add("CopyFwdOp", "copy");
    copy.launch = converts;
    FakeRow& cast = add("CastFwdOp", "cast");
    cast.launch = converts;
    return cast;
  }
  Op make() {
    REQUIRE(vendor->commit(runtime->engine().registry()));
    runtime->engine().registry().publish();
    Tensor given = Tensor::host(DType::kFloat32, Dims{3}).value();
    for (int i = 0; i < 3; ++i) given.data<float>()[i] = 0.5f * static_cast<float>(i + 1);
    InstanceOptions options;
    options.tensors.emplace_back("weight", given);
    auto op = runtime->make("ScaleRowsFwdOp", {}, options);
    if (!op) FAIL(op.error().to_string());
    return std::move(*op);
  }
  Tensor x(DType type, std::int16_t index = 0) {
    return runtime->engine()
        .devices()
        .make_tensor(type, Dims{2, 3}, Device{DeviceKind::of("acme-card"), index})
        .value();
  }

  TempDir folder;
  std::optional<Runtime> runtime;
  FakeKind& kind = FakeKind::make();
  FakePlugin* vendor = nullptr;
  FakeRow* row = nullptr;
  bool fails = false;
  const void* weight = nullptr;
  DType dtype = DType::kBool;
  std::vector<double> values;
};

const std::vector<double> kGiven{0.5, 1, 1.5};

}  // namespace

TEST_SUITE("runtime/construction_tensors") {
  TEST_CASE("one is converted to the call's device and dtype once, and kept beside the original") {
    World w;
    FakeRow& cast = w.add_casts();
    Op op = w.make();
    const Tensor half = w.x(DType::kFloat16);
    REQUIRE(op.call({{"x", half}}));
    CHECK(w.dtype == DType::kFloat16);
    CHECK(w.values == kGiven);
    const void* kept = w.weight;
    for (int i = 0; i < 3; ++i) {
      REQUIRE(op.call({{"x", half}}));
      CHECK(w.weight == kept);
    }
    CHECK(cast.launches == 1);

    REQUIRE(op.call({{"x", w.x(DType::kFloat32)}}));  // another dtype, beside it
    CHECK(w.dtype == DType::kFloat32);
    CHECK(w.values == kGiven);
    REQUIRE(op.call({{"x", w.x(DType::kFloat16, 1)}}));  // another device
    CHECK(w.weight != kept);
    CHECK(w.values == kGiven);
    REQUIRE(op.call({{"x", half}}));
    CHECK(w.weight == kept);
    CHECK(cast.launches == 2);
  }

  TEST_CASE("what was converted survives the undo of the call that needed it") {
    World w;
    FakeRow& cast = w.add_casts();
    Op op = w.make();
    const Tensor half = w.x(DType::kFloat16);
    w.fails = true;
    REQUIRE_FALSE(op.call({{"x", half}}));
    CHECK(op.serving_target().empty());
    w.fails = false;
    REQUIRE(op.call({{"x", half}}));
    CHECK(w.values == kGiven);
    CHECK(cast.launches == 1);
  }

  TEST_CASE("where no device casts, the call says what is missing; explain converts nothing") {
    World w;
    Op op = w.make();
    const Tensor half = w.x(DType::kFloat16);
    const NamedSpec spec{"x", half.spec(), 0};
    CHECK(op.explain({&spec, 1}).steps.at(0).winner == "acme:rows");
    const auto failed = op.call({{"x", half}});
    REQUIRE_FALSE(failed);
    CHECK(failed.error().code() == ErrorCode::kNoImplementation);
    CHECK(
        failed.error().message() ==
        "a construction-time tensor of op 'ScaleRowsFwdOp' is float32 and the call needs float16: "
        "neither device kind 'acme-card' nor 'cpu' has a CastFwdOp kernel for it");
    REQUIRE(op.call({{"x", w.x(DType::kFloat32)}}));  // moving alone needs none
    CHECK(w.values == kGiven);
  }
}
