// The shipped entries as plans: inference, branches, messages, fields, records.
#include "plan_support.hpp"

namespace tenon::manifest::test {
namespace {

TEST_SUITE_BEGIN("manifest/plan_shipped");

constexpr auto kF32 = DType::kFloat32;
constexpr auto kF16 = DType::kFloat16;

TEST_CASE("every shipped entry compiles without a finding") {
  const LoadedSet loaded = load_folder(std::string(TENON_SOURCE_DIR) + "/manifest/ops").value();
  REQUIRE(loaded.set.entries.size() >= 9);

  for (const Entry& entry : loaded.set.entries) {
    DiagnosticList diagnostics;
    const auto plan = compile(entry, loaded.set.adts, diagnostics);

    INFO(entry.decl.name << "\n" << diagnostics.to_text());
    CHECK(plan != nullptr);
    CHECK(diagnostics.empty());
    for (const InterfaceDecl& interface : plan->decl().interfaces)
      CHECK(interface.contract_hash != 0);
    for (const EffectBranch& branch : plan->decl().branches) CHECK_FALSE(branch.schema.empty());
  }
}

TEST_CASE("RMSNorm infers its output and binds the leading axes") {
  Call call(shipped("RMSNormFwdOp"), {{"normalized_shape", {4096}}});
  call.set("x", kF16, {2, 3, 4096});

  REQUIRE(call.check());

  CHECK(call.output() == "float16[2, 3, 4096]");
  CHECK(call.index("B") == Value::list({2, 3}, true));
  CHECK(call.plan().decl().branches[call.frame().branch].has_out == false);
  call.set("weight", kF16, {4096}).out(kF16, {2, 3, 4096});
  REQUIRE(call.check());
  CHECK(call.plan().decl().branches[call.frame().branch].has_out == true);
}

TEST_CASE("a weight of the wrong size names both sides and the declaration") {
  Call call(shipped("RMSNormFwdOp"), {{"normalized_shape", {4096}}});
  call.set("x", kF32, {2, 4096}).set("weight", kF32, {4095});

  const Error error = call.why();

  CHECK(error.message() == "weight has size 4095 on axis 0, but normalized_shape[0] is 4096");
  CHECK(error.where().find("norm.yaml:") != std::string::npos);
  CHECK(error.fields().front() == std::pair<std::string, std::string>("argument", "weight"));
}

TEST_CASE("RMSNorm refuses an empty normalized_shape at construction") {
  Call call(shipped("RMSNormFwdOp"), {{"normalized_shape", Value::list({})}});

  REQUIRE(call.construction_error());
  CHECK(call.construction_error()->message().find("len(normalized_shape) > 0") !=
        std::string::npos);
}

TEST_CASE("an unknown parameter suggests the nearest") {
  Call call(shipped("RMSNormFwdOp"), {{"normalized_shape", {8}}, {"ep", 1e-5}});

  REQUIRE(call.construction_error());
  CHECK(call.construction_error()->message() == "RMSNormFwdOp has no parameter 'ep'");
  CHECK(call.construction_error()->hint() == "did you mean 'eps'?");
}

TEST_CASE("matmul binds K once and names who bound it") {
  Call call(shipped("MatMulFwdOp"));
  call.set("a", kF32, {4, 1, 33, 65}).set("b", kF32, {3, 64, 17});

  CHECK(call.why().message() == "b has K = 64 on axis 1, but a bound K = 65 on axis 3");
  call.set("b", kF32, {3, 65, 17});
  REQUIRE(call.check());
  CHECK(call.output() == "float32[4, 3, 33, 17]");
}

TEST_CASE("a rank below the declared shape says so") {
  Call call(shipped("MatMulFwdOp"));
  call.set("a", kF32, {65}).set("b", kF32, {65, 17});

  CHECK(call.why().message() == "a has rank 1 (shape [65]), but is declared [*A, M, K]");
}

TEST_CASE("D40: add broadcasts and refuses what does not") {
  Call call(shipped("AddFwdOp"));
  const auto result = [&](const Dims& a, const Dims& b) {
    call.set("self", kF32, a).set("other", kF32, b);
    return call.check() ? call.output() : call.why().message();
  };

  CHECK(result({4, 7}, {1, 7}) == "float32[4, 7]");
  CHECK(result({4, 7}, {7}) == "float32[4, 7]");
  CHECK(result({4, 7}, {1, 1}) == "float32[4, 7]");
  CHECK(result({4, 7}, {}) == "float32[4, 7]");
  CHECK(result({4, 7}, {4, 1, 7}) == "float32[4, 4, 7]");
  CHECK(result({0, 7}, {1, 7}) == "float32[0, 7]");
  CHECK(result({4, 7}, {1, 5}) ==
        "the shape of output has no value: self [4, 7] and other [1, 5]: sizes 7 and 5 do not "
        "broadcast on axis -1");
  CHECK(result({4, 7}, {2, 7}).find("sizes 4 and 2 do not broadcast on axis -2") !=
        std::string::npos);
  CHECK(result({0, 7}, {2, 7}).find("sizes 0 and 2 do not broadcast on axis -2") !=
        std::string::npos);
}

TEST_CASE("two batches that do not broadcast are named as parts of their tensors") {
  Call call(shipped("MatMulFwdOp"));
  call.set("a", kF32, {2, 4, 3}).set("b", kF32, {5, 3, 6});

  REQUIRE_FALSE(call.check());
  CHECK(call.why().message() ==
        "the shape of output has no value: A [2] of a and B [5] of b: sizes 2 and 5 do not "
        "broadcast on axis -1");
}

TEST_CASE("an output may have 2^63 - 1 bytes, and no more") {
  Call call(shipped("CopyFwdOp"));
  call.set("x", DType::kInt8, {std::int64_t{1} << 60});
  REQUIRE(call.check());
  CHECK(call.output() == "int8[1152921504606846976]");
  call.set("x", kF32, {std::int64_t{1} << 60});
  CHECK(call.check());

  call.set("x", kF32, {std::int64_t{1} << 61});

  REQUIRE_FALSE(call.check());
  CHECK(call.why().message().find(
            "would be float32[2305843009213693952], which has more than 2^63 - 1 bytes") !=
        std::string::npos);
}

TEST_CASE("add checks alpha against the dtype of the call") {
  Call real(shipped("AddFwdOp"), {{"alpha", 1.5}});
  real.set("self", DType::kInt32, {4}).set("other", DType::kInt32, {4});
  CHECK(real.why().message().find("category(T) == 'float' or category(alpha) != 'float'") !=
        std::string::npos);

  Call big(shipped("AddFwdOp"), {{"alpha", 300}});
  big.set("self", DType::kUInt8, {4}).set("other", DType::kUInt8, {4});
  CHECK(big.why().message().find("representable(alpha, T)") != std::string::npos);
  big.set("self", DType::kInt32, {4}).set("other", DType::kInt32, {4});
  CHECK(big.check());
}

TEST_CASE("two dtypes under one index name both arguments") {
  Call call(shipped("MulFwdOp"));
  call.set("self", kF32, {4}).set("other", kF16, {4});

  CHECK(call.why().message() == "other is float16, but self is float32: both are declared T");
  call.set("self", DType::kComplex64, {4});
  CHECK(call.why().message().find("self is complex64, but T is one of uint8, int8") == 0);
}

TEST_CASE("D34: a reduced axis out of range names the allowed ones, a repeated one is refused") {
  const auto shape = [](Value dim) {
    Call call(shipped("SumFwdOp"), {{"dim", std::move(dim)}});
    call.set("x", kF32, {2, 3, 4});
    return call.check() ? call.output() : call.why().message();
  };

  CHECK(shape(-3) == "float32[3, 4]");
  CHECK(shape(-1) == "float32[2, 3]");
  CHECK(shape(0) == "float32[3, 4]");
  CHECK(shape(2) == "float32[2, 3]");
  CHECK(shape(-4).find("axis -4 is out of range: allowed are [-3, 2] at rank 3") !=
        std::string::npos);
  CHECK(shape(3).find("axis 3 is out of range: allowed are [-3, 2] at rank 3") !=
        std::string::npos);
  CHECK(shape({0, -3}).find("repeated axis") != std::string::npos);
  CHECK(shape({0, -1}) == "float32[3]");
  CHECK(shape(Value::list({})) == "float32[]");
}

TEST_CASE("D41: a call is empty by its outputs, not by its inputs") {
  Call sum(shipped("SumFwdOp"), {{"dim", {0}}});
  sum.set("x", kF32, {0, 8});
  REQUIRE(sum.check());
  CHECK(sum.output() == "float32[8]");
  CHECK_FALSE(sum.frame().nothing_to_do);

  Call matmul(shipped("MatMulFwdOp"));
  matmul.set("a", kF32, {4, 0}).set("b", kF32, {0, 5});
  REQUIRE(matmul.check());
  CHECK(matmul.output() == "float32[4, 5]");
  CHECK_FALSE(matmul.frame().nothing_to_do);
  matmul.set("a", kF32, {0, 3}).set("b", kF32, {3, 5});
  REQUIRE(matmul.check());
  CHECK(matmul.frame().nothing_to_do);
}

TEST_CASE("out must have the inferred shape and dtype, and may not overlap itself") {
  Call call(shipped("GeluFwdOp"));
  call.set("x", kF32, {3});

  call.out(kF32, {4});
  CHECK(call.why().message() == "out has shape [4], but output has shape [3] in this call");
  call.out(kF16, {3});
  CHECK(call.why().message() == "out is float16, but output is float32 in this call");
  call.out(TensorView(reinterpret_cast<void*>(64), kF32, {3}, {0}));
  CHECK(call.why().message().find("out overlaps itself") == 0);
}

TEST_CASE(
    "D63 and D64: out in part on an input is refused, exactly on it only where the manifest says "
    "so") {
  auto* memory = reinterpret_cast<void*>(4096);
  Call add(shipped("AddFwdOp"));
  add.set("self", TensorView(memory, kF32, {8})).set("other", kF32, {8});
  add.out(TensorView(memory, kF32, {8}));
  CHECK(add.check());
  add.out(TensorView(static_cast<std::byte*>(memory) + 4, kF32, {8}));
  CHECK(add.why().message() == "out overlaps self in part");

  Call matmul(shipped("MatMulFwdOp"));
  matmul.set("a", TensorView(memory, kF32, {4, 4}))
      .set("b", kF32, {4, 4})
      .out(TensorView(memory, kF32, {4, 4}));
  CHECK(matmul.why().message() == "out is a itself, which out may not be");
}

TEST_CASE("D66: mixed devices name both arguments") {
  const Device other{DeviceKind::of("acme"), 1};
  Call call(shipped("AddFwdOp"));
  call.set("self", kF32, {4}, other).set("other", kF32, {4});

  CHECK(call.why().message() ==
        "self is on acme:1, but other is on cpu:0: one call runs on one device");
  call.set("other", kF32, {4}, other);
  REQUIRE(call.check());
  CHECK(call.frame().device == other);
}

TEST_CASE("a missing input and a missing parameter are named") {
  Call call(shipped("AddFwdOp"));
  call.set("self", kF32, {4});
  CHECK(call.why().message() == "AddFwdOp needs its input 'other' ([*B])");

  Call norm(shipped("RMSNormFwdOp"));
  REQUIRE(norm.construction_error());
  CHECK(norm.construction_error()->message().find(
            "RMSNormFwdOp needs parameter 'normalized_shape'") == 0);
}

TEST_CASE("the call spec of RMSNorm and the shapes in which a kernel gets its arguments") {
  Call call(shipped("RMSNormFwdOp"), {{"normalized_shape", {4, 8}}, {"eps", 1e-6}});
  call.set("x", kF16, {2, 3, 4, 8}).set("weight", kF16, {4, 8});
  REQUIRE(call.check());
  const auto& plan = call.plan();
  REQUIRE(plan.active_interface(0, call.construction(), call.frame()) == 0);

  std::vector<tenon_value> fields(plan.decl().interfaces[0].fields.size());
  REQUIRE(plan.eval_call(0, call.construction(), call.arguments(), call.frame(), {}, fields));

  CHECK(fields[0].kind == TENON_VALUE_INT);
  CHECK(fields[0].i == 6);
  CHECK(fields[1].i == 32);
  CHECK(fields[2].kind == TENON_VALUE_FLOAT);
  CHECK(fields[2].f == doctest::Approx(1e-6));
  CHECK(fields[3].kind == TENON_VALUE_DTYPE);
  CHECK(fields[4].kind == TENON_VALUE_BOOL);
  CHECK(fields[4].i == 1);
  Dims shape;
  REQUIRE(plan.eval_arg_shape(0, 0, 0, call.frame(), fields, shape));
  CHECK(shape == Dims{6, 32});
  REQUIRE(plan.eval_arg_shape(0, 1, 0, call.frame(), fields, shape));
  CHECK(shape == Dims{32});
}

TEST_CASE("sum takes a field from its flow") {
  Call call(shipped("SumFwdOp"), {{"dim", {1}}});
  call.set("x", kF32, {2, 3, 4});
  REQUIRE(call.check());
  const auto& plan = call.plan();
  const std::int64_t axes[] = {3};
  tenon_value flow{};
  flow.kind = TENON_VALUE_INTS;
  flow.count = 1;
  flow.data = axes;

  std::vector<tenon_value> fields(3);
  REQUIRE(
      plan.eval_call(0, call.construction(), call.arguments(), call.frame(), {&flow, 1}, fields));

  REQUIRE(fields[0].kind == TENON_VALUE_INTS);
  CHECK(fields[0].count == 2);
  CHECK(static_cast<const std::int64_t*>(fields[0].data)[1] == 4);
  Dims shape;
  REQUIRE(plan.eval_arg_shape(0, 0, 0, call.frame(), fields, shape));
  CHECK(shape == Dims{2, 4, 3});
}

TEST_CASE("contracts list fields and arguments with their kinds") {
  const auto plan = shipped("GeluFwdOp");
  const InterfaceDecl& gelu = plan->decl().interfaces.front();
  CHECK(gelu.fields[0].kind == TENON_VALUE_INTS);
  CHECK(gelu.fields[1].kind == TENON_FIELD_ENUM);
  CHECK(gelu.fields[1].members == std::vector<std::string>{"none", "tanh"});
  CHECK(gelu.fields[1].default_value == Value("none"));
  CHECK(gelu.args[0].dtypes.size() == 4);
  CHECK(gelu.args[1].role == TENON_ROLE_OUT);

  const auto norm = shipped("RMSNormFwdOp");
  const InterfaceDecl& rms = norm->decl().interfaces.front();
  CHECK(rms.fields[2].kind == TENON_VALUE_FLOAT);
  CHECK(rms.fields[2].optional);
  CHECK(rms.args[1].optional);
  CHECK(shipped("AddFwdOp")->decl().interfaces.front().fields[1].kind == TENON_FIELD_NUMBER);
}

TEST_CASE("schemas of the effect branches are printed as the language spells them") {
  const auto plan = shipped("AddFwdOp");
  std::vector<std::string> add;
  for (const EffectBranch& b : plan->decl().branches) add.push_back(b.schema);
  REQUIRE(add.size() == 3);
  CHECK(add[2] ==
        "tenon::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)");
  CHECK(shipped("RMSNormFwdOp")->decl().branches[0].schema ==
        "tenon::rms_norm_fwd(Tensor x, Tensor? weight=None, *, int[] normalized_shape, float? "
        "eps=None) -> Tensor");
}

TEST_CASE("traffic and cost follow the effects and the roofline") {
  Call call(shipped("RMSNormFwdOp"), {{"normalized_shape", {8}}});
  call.set("x", kF16, {4, 8}).set("weight", kF16, {8});
  REQUIRE(call.check());

  const auto traffic = call.plan().traffic(call.construction(), call.arguments(), call.frame());
  const auto cost = call.plan().cost(call.construction(), call.arguments(), call.frame());

  REQUIRE(traffic.size() == 3);
  CHECK(traffic[0].read_bytes == 64);
  CHECK(traffic[2].written_bytes == 64);
  REQUIRE(cost);
  CHECK(cost->flops == 4 * 4 * 8);
  CHECK(cost->bytes == 64 + 16 + 64);
}

TEST_CASE("softmax wraps its axis in a let that only the call spec reads") {
  Call call(shipped("SoftmaxFwdOp"), {{"dim", -2}});
  call.set("x", kF32, {8, 1000, 17});
  REQUIRE(call.check());
  CHECK(call.index("axis") == Value(1));

  std::vector<tenon_value> fields(4);
  REQUIRE(
      call.plan().eval_call(0, call.construction(), call.arguments(), call.frame(), {}, fields));

  CHECK(fields[0].i == 8);
  CHECK(fields[1].i == 1000);
  CHECK(fields[2].i == 17);
}

TEST_SUITE_END();

}  // namespace
}  // namespace tenon::manifest::test
