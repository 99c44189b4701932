// What the compiler accepts and rejects: kinds, guards, families, algebraic types, effects, points.
#include "plan_support.hpp"

namespace tenon::manifest::test {
namespace {

TEST_SUITE_BEGIN("manifest/plan_reject");

/// A GEMM whose parts can be replaced.
struct Gemm {
  std::string match = "t";
  std::string a_shape = "Mat[trans_a, M, K]";
  std::string out_shape = "[M, N]";
  std::string out_dtype = "T";
  std::string more_params = {};
  std::string more_inputs = {};
  std::string more_types = {};
  std::string rest = {};

  [[nodiscard]] Compiled compile() const {
    return compile_text(
        demo("    forall: {M: Dim, K: Dim, N: Dim, T: \"DType[float16 | float32]\", U: "
             "\"DType[float16 | float32]\"}\n"
             "    params: {trans_a: {type: bool, default: false}" +
             more_params +
             "}\n"
             "    inputs:\n      a: {dtype: T, shape: \"" +
             a_shape + "\"}\n      b: {dtype: T, shape: \"[K, N]\"}\n" + more_inputs +
             "    outputs: {output: {dtype: " + out_dtype + ", shape: \"" + out_shape +
             "\"}}\n"
             "    types:\n      Mat: {params: {t: Bool, R: Dim, C: Dim}, match: \"" +
             match + "\", cases: [{when: false, is: \"[R, C]\"}, {when: true, is: \"[C, R]\"}]}\n" +
             more_types + rest));
  }
  [[nodiscard]] std::string verdict() const {
    const Compiled c = compile();
    return c.plan != nullptr               ? "accepted"
           : c.diagnostics.items().empty() ? "rejected without a word"
                                           : c.diagnostics.items().front().to_string();
  }
  [[nodiscard]] bool accepted() const { return verdict() == "accepted"; }
  void says(std::string_view part) const {
    const std::string text = verdict();
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
  }
};

TEST_CASE("a type family transposes by its argument") {
  Gemm gemm;
  const Compiled compiled = gemm.compile();
  INFO(compiled.text());
  REQUIRE(compiled.plan != nullptr);
  Call call(compiled.plan, {{"trans_a", true}});
  call.set("a", DType::kFloat32, {3, 2}).set("b", DType::kFloat32, {3, 5});
  REQUIRE(call.check());
  CHECK(call.output() == "float32[2, 5]");
  Call plain(compiled.plan);
  plain.set("a", DType::kFloat32, {3, 2}).set("b", DType::kFloat32, {3, 5});
  CHECK(plain.why().message() == "b has K = 3 on axis 0, but a bound K = 2 on axis 1");
}

TEST_CASE("a Bool is no integer") {
  Gemm{.out_shape = "[M, -trans_a]"}.says("arithmetic with Bool");
}

TEST_CASE("a family needs all of its arguments, a finite match and a use") {
  Gemm{.a_shape = "Mat[trans_a, M]"}.says("type family 'Mat' takes 3 arguments, not 2");
  Gemm{.match = "len(())"}.says("a match on Dim");
  Gemm{.more_types = "      Other: {params: {t: Bool}, match: t, cases: [{when: _, is: \"[]\"}]}\n"}
      .says("no shape applies type family 'Other'");
  Gemm{.a_shape = "Mot[trans_a, M, K]"}.says("'Mot' is no type family");
}

TEST_CASE("a rule is a Bool over indices, never over tensors or None") {
  Gemm{.rest = "    shape_rules: [\"M + 1\"]\n"}.says("the rule is Dim");
  Gemm{.rest = "    shape_rules: [\"M == None\"]\n"}.says("a comparison with None");
  Gemm{.rest = "    shape_rules: [\"a.shape == (M, K)\"]\n"}.says("'.shape' of tensor 'a'");
  Gemm{.rest = "    shape_rules: [\"a is None\"]\n"}.says("'is' is not in the language");
  Gemm{.rest = "    shape_rules: [\"a == 1\"]\n"}.says("tensor 'a' is read as a value");
  Gemm{.rest = "    shape_rules: [\"Q > 0\"]\n"}.says("'Q' is no name that can be read here");
}

TEST_CASE("a dtype is compared with names of its set") {
  CHECK(Gemm{.rest = "    shape_rules: [\"T == 'float16' or M > 0\"]\n"}.accepted());
  Gemm{.rest = "    shape_rules: [\"T == 'float61' or M > 0\"]\n"}.says("compared with");
  Gemm{.rest = "    shape_rules: [\"T == 'bfloat16' or M > 0\"]\n"}.says("compared with");
}

TEST_CASE("guards narrow a parameter to its payload and its strings") {
  const std::string p = ", p: {type: \"int | 'auto' | None\", default: null}";
  CHECK(Gemm{.out_shape = "[M, N if not present(p) else (1 if p.value == 'auto' else p.value)]",
             .more_params = p}
            .accepted());
  Gemm{.out_shape = "[M, N if not present(p) else p.value]", .more_params = p}.says("Int | 'auto'");
  CHECK(Gemm{
      .more_params = ", padding: {type: \"int | tuple[int, int] | 'valid' | 'same'\"}",
      .rest =
          "    shape_rules: [\"padding in ('same', 'valid') or per_axis(padding, 0, 2) >= 0\"]\n"}
            .accepted());
  Gemm{.more_params = ", padding: {type: \"int | tuple[int, int] | 'valid' | 'same'\"}",
       .rest = "    shape_rules: [\"padding == 'same' or per_axis(padding, 0, 2) >= 0\"]\n"}
      .says("argument 'value' of per_axis");
  CHECK(Gemm{
      .more_params = ", d: {type: \"float16 | float32 | None\", default: null}",
      .rest = "    shape_rules: [\"not present(d) or d.value == T or d.value == 'float32'\"]\n"}
            .accepted());
  Gemm{.more_params = ", d: {type: \"float16 | float32 | None\", default: null}",
       .rest = "    shape_rules: [\"d.value == T\"]\n"}
      .says("at trans_a=false, d absent");
}

TEST_CASE("arms of a conditional need a common kind") {
  Gemm{.rest = "    let: {L: \"1 if trans_a else 'x'\"}\n"}.says(
      "the arms of a conditional are Dim and 'x'");
  CHECK(Gemm{.out_shape = "[L, N]", .rest = "    let: {L: \"M if trans_a else M - 1 + 1\"}\n"}
            .accepted());
  Gemm{.rest = "    let: {L: \"K2 + 1\", K2: \"L\"}\n"}.says("depends on itself");
}

TEST_CASE("an output dtype must be solved by an input") {
  Gemm{.out_dtype = "U"}.says("nothing solves 'U'");
}

TEST_CASE("conditions read discriminants only") {
  Gemm{.more_inputs = "      w: {dtype: T, shape: \"[M]\", mutated: \"M > 0\"}\n"}.says(
      "reads more than discriminants");
  Gemm{.more_inputs = "      w: {dtype: T, shape: \"[M]\", optional: \"M > 0\"}\n"}.says(
      "reads more than discriminants");
}

TEST_CASE("a literal argument needs a kind within its words") {
  const std::string mode =
      ", mode: {type: \"'full' | 'noop' | 'other'\", default: full}, dim: {type: \"int | None\", "
      "default: null}";
  Gemm{
      .more_params = mode,
      .rest =
          "    let: {L: \"reduced((M,), dim, False, mode)\"}\n    shape_rules: [\"len(L) >= 0\"]\n"}
      .says("argument 'empty' of reduced is 'full' | 'noop' | 'other'");
  CHECK(Gemm{.more_params = mode,
             .rest = "    let: {L: \"len(reduced((M,), dim, False, mode)) if mode != 'other' else "
                     "0\"}\n    shape_rules: [\"L >= 0\"]\n"}
            .accepted());
}

TEST_CASE("primitives say which argument is missing or too many") {
  Gemm{.rest = "    let: {L: \"max(default=M)\"}\n"}.says("argument 'sequence' of max is missing");
  Gemm{.rest = "    let: {L: \"len((M,), 1)\"}\n"}.says("len takes at most 1 arguments, not 2");
  Gemm{.rest = "    let: {L: \"ceil_div(M, b=2)\"}\n"}.says("ceil_div takes no keyword 'b'");
  Gemm{.rest = "    let: {L: \"broadcst((M,), (N,))\"}\n"}.says("did you mean 'broadcast'?");
  Gemm{.rest = "    let: {L: \"len(M)\"}\n"}.says("argument 'sequence' of len is Dim");
}

TEST_CASE("a Value stays out of shapes and types") {
  Gemm{.out_shape = "[M, alpha]", .more_params = ", alpha: {type: float, default: 1.0}"}.says(
      "parameter 'alpha' is a Value");
  CHECK(Gemm{.more_params = ", alpha: {type: float, default: 1.0}",
             .rest = "    shape_rules: [\"0 < alpha < inf\", \"all(-inf <= f <= inf and f != 0 for "
                     "f in (alpha, alpha * 2))\"]\n"}
            .accepted());
}

TEST_CASE("rank 0 takes the axes 0 and -1, and only once") {
  const auto plan = shipped("SumFwdOp");
  const auto accepts = [&](const Dims& shape, Value dim) {
    Call call(plan, {{"dim", std::move(dim)}});
    call.set("x", DType::kFloat32, shape);
    return call.check();
  };
  CHECK_FALSE(accepts({2, 3}, {0, 0}));
  CHECK(accepts({}, -1));
  CHECK(accepts({}, {0}));
  CHECK(accepts({}, {-1}));
  CHECK_FALSE(accepts({}, 1));
  CHECK_FALSE(accepts({}, {0, -1}));
}

// ---- Algebraic types
// --------------------------------------------------------------------------------------

constexpr std::string_view kTypes = R"(adts:
  Layout:
    sum:
      contiguous:
        python: a.b.C
        fields:
          alignment: Dim
          packing: {type: "'tight' | 'aligned'", python: a.b.P}
        invariant: "alignment > 0"
      masked: {python: a.b.M, fields: {max_m: Dim}}
  Flagged:
    sum:
      lit: {python: a.b.On, fields: {flag: Bool}}
      dark: {python: a.b.Off, fields: {}}
)";

std::string moe(std::string_view params, std::string_view shape, std::string_view rest = "") {
  return demo(
      "    forall: {P: Dim, T: \"DType[float32]\"}\n    params: {" + std::string(params) +
      "}\n    inputs: {x: {dtype: T, shape: \"[P]\"}}\n    outputs: {y: {dtype: T, shape: \"" +
      std::string(shape) + "\"}}\n" + std::string(rest));
}

std::string moe_verdict(std::string_view params,
                        std::string_view shape,
                        std::string_view rest = "") {
  const Compiled c = compile_text(moe(params, shape, rest), kTypes);
  if (c.plan != nullptr) return "accepted";
  return c.diagnostics.items().empty() ? "rejected without a word"
                                       : c.diagnostics.items().front().to_string();
}

TEST_CASE("a field is read on its constructor's branch") {
  CHECK(moe_verdict("layout: {type: Layout}", "[layout.max_m if layout.kind == 'masked' else P]") ==
        "accepted");
  CHECK(moe_verdict("layout: {type: Layout}", "[layout.max_m]")
            .find("constructor 'contiguous' of Layout has no field 'max_m'") != std::string::npos);
  CHECK(
      moe_verdict("layout: {type: Layout}", "[layout.mux_m]").find("Layout has no field 'mux_m'") !=
      std::string::npos);
}

TEST_CASE("a Maybe of an algebraic type is guarded by presence and by constructor") {
  CHECK(moe_verdict("\"q\": {type: \"Layout | None\", default: null}",
                    "[P, z]",
                    "    let: {z: \"q.value.max_m if present(q) else 0\"}\n")
            .find("has no field 'max_m'") != std::string::npos);
  CHECK(moe_verdict("\"q\": {type: \"Layout | None\", default: null}",
                    "[P, z]",
                    "    let: {z: \"(q.value.max_m if q.value.kind == 'masked' else 1) if "
                    "present(q) else 0\"}\n") == "accepted");
  CHECK(moe_verdict("\"size\": {type: \"int | None\", default: null}", "[size.value]")
            .find("size absent") != std::string::npos);
  CHECK(moe_verdict("\"size\": {type: \"int | None\", default: null}",
                    "[size.value if present(size) else P]") == "accepted");
}

TEST_CASE("patterns match finite fields, and cover every accepted point once") {
  const auto family = [](std::string_view cases) {
    return moe_verdict("layout: {type: Layout}",
                       "F[layout, P]",
                       "    types:\n      F: {params: {x: Layout, n: Dim}, match: x, cases: [" +
                           std::string(cases) + "]}\n");
  };
  CHECK(family("{when: {masked: _}, is: \"[n, x.max_m]\"}, {when: {contiguous: {packing: tight}}, "
               "is: \"[n]\"}, {when: {contiguous: {packing: aligned}}, is: \"[n, n]\"}") ==
        "accepted");
  CHECK(family("{when: {masked: {max_m: few}}, is: \"[n]\"}, {when: _, is: \"[n]\"}")
            .find("field 'max_m' is not finite") != std::string::npos);
  CHECK(family("{when: {masked: {size: few}}, is: \"[n]\"}, {when: _, is: \"[n]\"}")
            .find("has no field 'size'") != std::string::npos);
  CHECK(family("{when: {masked: _}, is: \"[n]\"}").find("0 cases of type family 'F' match") !=
        std::string::npos);
  CHECK(family("{when: {masked: _}, is: \"[n]\"}, {when: _, is: \"[n]\"}")
            .find("2 cases of type family 'F' match") != std::string::npos);
}

TEST_CASE("a match on presence and payload is finite") {
  CHECK(moe_verdict("g: {type: \"Flagged | None\", default: null}",
                    "F[g, P]",
                    "    types:\n      F: {params: {g: \"Maybe[Flagged]\", n: Dim}, match: "
                    "[\"present(g)\", g.value], cases: [{when: [false, _], is: \"[n]\"}, {when: "
                    "[true, {lit: {flag: true}}], is: \"[n, 1]\"}, {when: [true, {lit: {flag: "
                    "false}}], is: \"[n, 2]\"}, {when: [true, {dark: _}], is: \"[n, 3]\"}]}\n") ==
        "accepted");
}

TEST_CASE("algebraic values are converted, checked and read") {
  const Compiled compiled =
      compile_text(moe("layout: {type: Layout}", "[moe.capacity(layout, P, 3)]"), kTypes);
  INFO(compiled.text());
  REQUIRE(compiled.plan != nullptr);
  const auto adt = [](std::string constructor, std::vector<NamedValue> fields) {
    return Value(AdtValue{std::move(constructor), std::move(fields)});
  };
  Call masked(compiled.plan, {{"layout", adt("masked", {{"max_m", 5}})}});
  masked.set("x", DType::kFloat32, {10});
  REQUIRE(masked.check());
  CHECK(masked.output() == "float32[15]");
  Call aligned(compiled.plan,
               {{"layout", adt("contiguous", {{"packing", "aligned"}, {"alignment", 8}})}});
  aligned.set("x", DType::kFloat32, {10});
  REQUIRE(aligned.check());
  CHECK(aligned.output() == "float32[32]");
  const auto why = [&](Value v) {
    return Call(compiled.plan, {{"layout", std::move(v)}}).construction_error()->message();
  };
  CHECK(why(adt("masked", {})).find("masked of Layout lacks its field 'max_m'") !=
        std::string::npos);
  CHECK(why(adt("masked", {{"max_m", -1}}))
            .find("field 'max_m' of masked is -1, expected an integer >= 0") != std::string::npos);
  CHECK(why(adt("contiguous", {{"alignment", 0}, {"packing", "tight"}}))
            .find("'alignment > 0', the invariant of contiguous, does not hold") !=
        std::string::npos);
  CHECK(why(adt("mask", {{"max_m", 5}})).find("Layout has no constructor 'mask'") !=
        std::string::npos);
}

TEST_CASE(
    "interfaces of a step are disjoint and cover every branch, payloads of Maybe enums included") {
  const auto verdict = [](std::string_view first,
                          std::string_view second,
                          std::string_view param =
                              "mode: {type: \"'trunc' | 'floor' | None\", default: null}") {
    const Compiled c = compile_text(demo(
        "    forall: {S: Shape, T: \"DType[float32]\"}\n    params: {" + std::string(param) +
            "}\n    inputs: {x: {dtype: T, shape: \"[*S]\"}}\n    outputs: {y: {dtype: T, shape: "
            "\"[*S]\"}}\n",
        "  interfaces:\n    one: {when: \"" + std::string(first) +
            "\", call: {n: \"prod(S)\"}, args: {x: \"[n]\", y: \"[n]\"}}\n    two: {when: \"" +
            std::string(second) + "\", call: {n: \"prod(S)\"}, args: {x: \"[n]\", y: \"[n]\"}}\n"));
    return c.plan != nullptr ? std::string("accepted") : c.text();
  };
  CHECK(verdict("not present(mode)", "present(mode)") == "accepted");
  CHECK(verdict("present(mode) and mode.value == 'floor'",
                "not present(mode) or mode.value != 'floor'") == "accepted");
  CHECK(
      verdict("present(mode) and mode.value == 'floor'", "present(mode) and mode.value != 'floor'")
          .find("has 0 active interfaces (at mode absent") != std::string::npos);
  CHECK(verdict("present(mode)", "not present(mode) or mode.value != 'floor'")
            .find("has 2 active interfaces") != std::string::npos);
  CHECK(verdict("k > 0", "k <= 0", "k: {type: int, default: 1}")
            .find("reads 'k', which is no discriminant") != std::string::npos);
}

TEST_CASE("the payload of a Maybe enum decides the interface of a call") {
  const auto plan = plan_of(
      "    forall: {S: Shape, T: \"DType[float32]\"}\n    params: {mode: {type: \"'trunc' | "
      "'floor' | None\", default: null}}\n    inputs: {x: {dtype: T, shape: \"[*S]\"}}\n    "
      "outputs: {y: {dtype: T, shape: \"[*S]\"}}\n",
      "  interfaces:\n    one: {when: \"present(mode) and mode.value == 'floor'\", call: {n: "
      "\"prod(S)\"}, args: {x: \"[n]\", y: \"[n]\"}}\n    two: {when: \"not present(mode) or "
      "mode.value != 'floor'\", call: {n: \"prod(S)\"}, args: {x: \"[n]\", y: \"[n]\"}}\n");
  const auto active = [&](Value mode) {
    Call call(plan, {{"mode", std::move(mode)}});
    call.set("x", DType::kFloat32, {4});
    REQUIRE(call.check());
    return plan->active_interface(0, call.construction(), call.frame());
  };
  CHECK(active("floor") == 0u);
  CHECK(active("trunc") == 1u);
  CHECK(active({}) == 1u);
}

TEST_CASE("every combination rejected is a fault, and a condition that no point settles is one") {
  Gemm{.rest = "    shape_rules: [\"trans_a and not trans_a\"]\n"}.says(
      "every combination of discriminants is rejected");
}

TEST_CASE("more combinations of discriminants than can be visited are refused at once") {
  for (const int count : {17, 24, 70}) {
    std::string params;
    std::string rule;
    for (int i = 0; i < count; ++i) {
      params += (i == 0 ? "" : ", ") + ("p" + std::to_string(i)) + ": {type: bool}";
      rule += (i == 0 ? "" : " and ") + ("p" + std::to_string(i));
    }
    const Compiled c = compile_text(demo("    params: {" + params +
                                         "}\n    inputs: {}\n    outputs: {}\n"
                                         "    shape_rules: [\"" +
                                         rule + " and not p0\"]\n"));
    CHECK(c.plan == nullptr);
    CHECK(
        c.mentions("too many combinations of discriminants [points.too_many]; expected at most "
                   "65536"));
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace tenon::manifest::test
