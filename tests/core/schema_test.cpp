// Tests of the operator schema parser, its rules and its lint, on texts of our own.
#include "tenon/core/schema.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace {

using tenon::check_schema;
using tenon::parse_schema;
using tenon::Schema;
using tenon::SchemaIssue;
using tenon::SchemaKind;
using tenon::SchemaVerdict;

struct Row {
  std::string_view text;
  std::string_view rule;
  std::uint32_t column;
};

std::string rules_of(const std::vector<SchemaIssue>& issues) {
  std::string text;
  for (const SchemaIssue& issue : issues) {
    if (!text.empty()) text += ' ';
    text += std::string(issue.rule) + '@' + std::to_string(issue.column);
  }
  return text;
}

std::string row_text(const Row& row) {
  return std::string(row.rule) + '@' + std::to_string(row.column);
}

Schema parsed(std::string_view text) {
  auto schema = parse_schema(text);
  INFO(text);
  REQUIRE(schema.has_value());
  return std::move(*schema);
}

TEST_SUITE("core/schema") {
  TEST_CASE("a schema is taken apart into names, arguments and returns") {
    const Schema schema = parsed(
        "tenon::sum.dim_IntList(Tensor(a)[] self, int[1]? dim=None, *, bool keepdim=False, "
        "ScalarType? dtype=float) -> "
        "(Tensor(a|b -> *) values, Tensor?[] indices)");

    CHECK(schema.ns == "tenon");
    CHECK(schema.name == "sum");
    CHECK(schema.overload == "dim_IntList");
    CHECK(schema.full_name() == "tenon::sum.dim_IntList");
    REQUIRE(schema.args.size() == 4);
    CHECK(schema.args[0].type.is_list());
    CHECK(schema.args[0].alias->before == "a");
    CHECK_FALSE(schema.args[0].is_written());
    CHECK(schema.args[1].type.base == "int");
    REQUIRE(schema.args[1].type.suffixes.size() == 2);
    CHECK(schema.args[1].type.suffixes[0].list_length == 1);
    CHECK(schema.args[1].type.is_optional());
    CHECK(schema.args[1].default_text == "None");
    CHECK_FALSE(schema.args[1].is_kwarg_only);
    CHECK(schema.args[2].is_kwarg_only);
    CHECK(schema.args[3].column == 83);
    REQUIRE(schema.returns.size() == 2);
    CHECK(schema.returns[0].alias->before == "ab");
    CHECK(schema.returns[0].alias->after == "*");
    CHECK(schema.returns[1].name == "indices");
  }

  TEST_CASE("what is accepted prints back byte for byte") {
    for (const std::string_view text : {
             "f() -> ()",
             "f(*, int n) -> Tensor",
             "__iand__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
             "_x9::g.O_1(Tensor?[] a, int?[2]? b, int[][] c, Tensor(a -> b|c) d) -> (Tensor, "
             "int[3]? n)",
             "f(Tensor(a!)? self, str s=\"a, b=c)\\\"\", str t='it\\'s') -> ()",
             "f(float a=-1.5e-05, float b=.5, float c=1., float d=-inf, float e=nan, int[] g=[], "
             "int[] h=[-1,2]) -> ()",
             "f(__torch__.torch.classes.a.B c, bool b=True, Generator? g=None, int r=Mean, "
             "MemoryFormat m) -> Scalar",
             "f(Tensor(a|b|c) self) -> Tensor(c)",
         }) {
      const SchemaVerdict verdict = check_schema(text);
      CAPTURE(text);
      CHECK(rules_of(verdict.errors) == "");
      REQUIRE(verdict.schema);
      CHECK(print(*verdict.schema) == text);
    }
  }

  TEST_CASE("D31: a grammar mistake is reported once with its column") {
    for (const Row& row : std::vector<Row>{
             {"", "SYNTAX", 1},
             {"9f() -> ()", "SYNTAX", 1},
             {"f", "SYNTAX", 2},
             {"f(", "SYNTAX", 3},
             {"f()", "SYNTAX", 4},
             {"f() ->", "SYNTAX", 4},
             {"f() -> ", "SYNTAX", 8},
             {"a::b::c() -> ()", "SYNTAX", 5},
             {"a::() -> ()", "SYNTAX", 4},
             {"f.a.b() -> ()", "SYNTAX", 4},
             {"f(Tensor  x) -> ()", "SYNTAX", 10},
             {"f(Tensor x,  int y) -> ()", "SYNTAX", 13},
             {"f(Tensor x = 1) -> ()", "SYNTAX", 11},
             {"f(*) -> ()", "SYNTAX", 4},
             {"f(*, *, int x) -> ()", "SYNTAX", 6},
             {"f(int[0] x) -> ()", "SYNTAX", 7},
             {"f(int[1234567890123456789] x) -> ()", "SYNTAX", 25},
             {"f(int[ x) -> ()", "SYNTAX", 7},
             {"f(int[] x=[1, 2]) -> ()", "SYNTAX", 14},
             {"f(int[] x=[1,2) -> ()", "SYNTAX", 15},
             {"f(float x=1e) -> ()", "SYNTAX", 13},
             {"f(float x=-) -> ()", "SYNTAX", 12},
             {"f(float x=2j) -> ()", "SYNTAX", 12},
             {"f(str x='a) -> ()", "SYNTAX", 18},
             {"f(str x='a\\'", "SYNTAX", 13},
             {"f(str x='a\tb') -> ()", "SYNTAX", 11},
             {"f() -> (Tensor)", "SYNTAX", 15},
             {"f() -> (Tensor, )", "SYNTAX", 17},
             {"f() -> (Tensor, int", "SYNTAX", 20},
             {"f() -> Tensor, int", "SYNTAX", 14},
             {"f(tensor x) -> ()", "UNKNOWN_TYPE", 3},
             {"f(__torch__.torch.classes. x) -> ()", "UNKNOWN_TYPE", 3},
             {"f(__torch__.torch.classes.a..b x) -> ()", "UNKNOWN_TYPE", 3},
             {"f(Tensor?(a!) x) -> ()", "ALIAS_SYNTAX", 10},
             {"f(Tensor(a x) -> ()", "ALIAS_SYNTAX", 11},
             {"f(Tensor() x) -> ()", "ALIAS_SYNTAX", 10},
             {"f(Tensor(a|) x) -> ()", "ALIAS_SYNTAX", 12},
             {"f(Tensor(a!|b) x) -> ()", "ALIAS_SYNTAX", 12},
             {"f(Tensor(a|b -> c|d) x) -> ()", "ALIAS_SYNTAX", 20},
             {"f(Tensor(a ->) x) -> ()", "ALIAS_SYNTAX", 11},
             {"f(Tensor(a)[2] x) -> ()", "ALIAS_SYNTAX", 12},
             {"f(Tensor(a)?? x) -> ()", "ALIAS_SYNTAX", 13},
         }) {
      CAPTURE(row.text);
      const SchemaVerdict verdict = check_schema(row.text);
      CHECK_FALSE(verdict.schema.has_value());
      CHECK(rules_of(verdict.errors) == row_text(row));
    }
  }

  TEST_CASE("a message says what was expected and what stands there") {
    const auto message = [](std::string_view text) {
      return check_schema(text).errors.at(0).message;
    };

    CHECK(message("f(Tensor self)->Tensor") == "expected ' -> ' and the returns, found '->Tensor'");
    CHECK(message("f(int64_t d) -> ()") ==
          "expected a type, found 'int64_t'; use 'SymInt' or 'int'");
    CHECK(message("f(double d) -> ()") == "expected a type, found 'double'; use 'float'");
    CHECK(message("f(tensor d) -> ()") ==
          "expected a type, found 'tensor'; did you mean 'Tensor'?");
    CHECK(message("f(int x") == "expected ', ' and another argument, or ')', found the end");
    CHECK(message(std::string_view("f\x01\xff\0", 4)) ==
          "expected '(' and the arguments, found '\\x01\\xff\\x00'");
  }

  TEST_CASE("each validity rule of torchgen is reported by its name and column") {
    for (const Row& row : std::vector<Row>{
             {"f.out(*, Tensor(a!) out, int n) -> Tensor(a!)", "OUT_NOT_LAST", 26},
             {"f.out(*, Tensor(a!) out) -> Tensor(b)", "OUT_RETURN_MISMATCH", 29},
             {"f.out(*, Tensor(a!) x, Tensor(b!) y) -> Tensor(a!)", "OUT_RETURN_COUNT", 10},
             {"f.out(*, Tensor(a!) _scratch_x) -> Tensor(a!)", "OUT_RETURN_COUNT", 10},
             {"f.out(*, Tensor(a!)? out) -> Tensor(a!)?", "OUT_LIST_RETURNS", 30},
             {"f_(int self) -> int", "INPLACE_SELF", 4},
             {"f_() -> ()", "INPLACE_SELF", 1},
             {"f_(Tensor(a!) self) -> ()", "INPLACE_RETURN", 4},
             {"f_(Tensor(a!) self) -> Tensor(a)", "INPLACE_RETURN", 24},
             {"f_(Tensor(a!)[] self) -> Tensor(a!)[]", "INPLACE_LIST_RETURNS", 26},
             {"f_(Tensor(a!) self, *, Tensor(a!) out) -> Tensor(a!)", "OUT_AND_INPLACE", 24},
             {"f(Tensor(b!) x) -> Tensor(b!)", "MUTABLE_POSITIONAL_RETURNED", 20},
             {"f(Tensor(a!) x, Tensor self) -> ()", "MUTABLE_BEFORE_SELF", 3},
             {"f(Tensor(a!) self) -> (Tensor, Tensor(a!))", "MIXED_RETURNS", 32},
             {"f() -> Tensor(a!)", "MUTABLE_RETURN_UNBOUND", 8},
             {"f.out(*, ScalarType dtype, Layout? layout, Device device, bool? pin_memory, "
              "Tensor(a!) o) -> Tensor(a!)",
              "TENSOR_OPTIONS_NOT_FUNCTIONAL",
              10},
             {"ns::f_out() -> ()", "NAME_OUT_SUFFIX", 5},
             {"__ifoo__() -> ()", "DUNDER_I", 1},
             {"f_functional_(Tensor(a!) self) -> Tensor(a!)", "FUNCTIONAL_NAME", 1},
             {"f.x_functional(Tensor(a!) x) -> ()", "FUNCTIONAL_OVERLOAD", 3},
         }) {
      CAPTURE(row.text);
      const SchemaVerdict verdict = check_schema(row.text);
      REQUIRE_FALSE(verdict.is_valid());
      // Some texts break a second rule on the way; the named one must be there.
      CHECK((" " + rules_of(verdict.errors) + " ").find(" " + row_text(row) + " ") !=
            std::string::npos);
      CHECK(verdict.schema.has_value());
    }
  }

  TEST_CASE("a run of dtype, layout, device, pin_memory in another form is no TensorOptions") {
    CHECK(check_schema("f.out(*, ScalarType dtype, Layout layout, Device device, bool[] "
                       "pin_memory, Tensor(a!) o) -> "
                       "Tensor(a!)")
              .is_valid());
    CHECK(check_schema("f.out(ScalarType dtype, Layout layout, Device device, bool pin_memory, *, "
                       "Tensor(a!) o) -> "
                       "Tensor(a!)")
              .is_valid());
  }

  TEST_CASE("in a schema with a namespace the first argument is self whatever its name") {
    CHECK(parsed("ns::f_(Tensor(a!) x) -> Tensor(a!)").kind() == SchemaKind::kInplace);
    CHECK(rules_of(check_schema("f_(Tensor(a!) x) -> Tensor(a!)").errors) ==
          "INPLACE_SELF@1 MUTABLE_POSITIONAL_RETURNED@21 MUTABLE_RETURN_UNBOUND@21");
    CHECK(parsed("ns::f(Tensor x, Tensor(a!) y) -> ()").kind() == SchemaKind::kMutable);
    CHECK_FALSE(parsed("ns::f(*, Tensor x) -> ()").self_index().has_value());
  }

  TEST_CASE("the kind follows the name, then the out arguments, then written positional ones") {
    CHECK(parsed("f(Tensor self) -> Tensor").kind() == SchemaKind::kFunctional);
    CHECK(parsed("f_(Tensor(a!) self, Tensor(b!) x) -> Tensor(a!)").kind() == SchemaKind::kInplace);
    CHECK(parsed("__ior__(Tensor(a!) self) -> Tensor(a!)").kind() == SchemaKind::kInplace);
    CHECK(parsed("__or__(Tensor self) -> Tensor").kind() == SchemaKind::kFunctional);
    CHECK(parsed("f.out(Tensor(b!) self, *, Tensor(a!) o) -> Tensor(a!)").kind() ==
          SchemaKind::kOut);
    CHECK(parsed("f.out(*, Tensor(a!) o, Tensor(b!) _scratch_o) -> Tensor(a!)").kind() ==
          SchemaKind::kScratch);
    CHECK(parsed("f(Tensor(a!) x) -> Tensor").kind() == SchemaKind::kMutable);
    CHECK(name_of(SchemaKind::kScratch) == "scratch");
  }

  TEST_CASE("lint reports what torchgen accepts by mistake") {
    for (const Row& row : std::vector<Row>{
             {"f(Tensor(a!) self) -> Tensor", "WRITES_UNSAID", 3},
             {"f(Tensor x, int x) -> Tensor", "DUPLICATE_ARGUMENT", 13},
             {"f(int n=1, int m) -> Tensor", "DEFAULT_ORDER", 12},
             {"f(Tensor self) -> Tensor(a)", "ALIAS_UNBOUND", 19},
             {"f.out(*, Tensor(a!) out=None) -> Tensor(a!)", "OUT_DEFAULT", 10},
             {"f.out(*, Tensor(a!) x, Tensor(a!) y) -> (Tensor(a!), Tensor(a!))",
              "SHARED_WRITTEN_SET",
              24},
             {"f.out(Tensor self, Tensor(a!) out) -> ()", "OVERLOAD_OUT", 3},
             {"n::f.my_out(Tensor self) -> ()", "OVERLOAD_OUT", 6},
             {"f(int?[]?? n) -> Tensor", "DOUBLE_OPTIONAL", 3},
             {"f() -> int??", "DOUBLE_OPTIONAL", 8},
         }) {
      CAPTURE(row.text);
      const SchemaVerdict verdict = check_schema(row.text, true);
      CHECK(verdict.is_valid());
      CHECK(rules_of(verdict.lint) == row_text(row));
      CHECK(check_schema(row.text).lint.empty());
    }
  }

  TEST_CASE("lint leaves alone what is right") {
    for (const std::string_view text : {
             "f(int n=1, int[] m) -> Tensor",
             "f(int n=1, *, int m) -> Tensor",
             "f(Tensor(a -> b) self) -> Tensor(b)",
             "f(Tensor(a -> *) self) -> Tensor(a)[]",
             "f(int?[]? n) -> Tensor",
             "n::f.mut_x(Tensor(a!) x) -> Tensor",
             "n::f.Scalar_mut_x(Tensor(a!) x) -> Tensor",
             "n::f.Scalar_out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)",
         }) {
      CAPTURE(text);
      CHECK(rules_of(check_schema(text, true).lint) == "");
    }
  }

  TEST_CASE("where the generator and the JIT differ this parser goes with the generator") {
    // Accepted by the JIT only.
    for (const std::string_view text : {
             "f( Tensor self ) -> Tensor",
             "f(Tensor! self) -> Tensor",
             "f(Tensor(*) self) -> Tensor",
             "f(Tensor(ab) self) -> Tensor",
             "f((Tensor, int) t) -> Tensor",
             "f(Dict(str, Tensor) d) -> Tensor",
             "f(Union(int, str) u) -> Tensor",
             "f(Future(Tensor) x) -> Tensor",
             "f(complex z=2j) -> Tensor",
             "f(Any x) -> Tensor",
             "f(Tensor self, ...) -> Tensor",
             "f(Tensor self) -> ...",
             "f",
         }) {
      CAPTURE(text);
      CHECK_FALSE(check_schema(text).is_valid());
    }
    // Refused by the JIT only.
    for (const std::string_view text : {
             "f.default(Tensor self) -> Tensor",
             "f.__x(Tensor self) -> Tensor",
             "f(Tensor self, int[2][] k) -> Tensor",
             "f(Tensor self, int n=1, int m) -> Tensor",
         }) {
      CAPTURE(text);
      CHECK(check_schema(text).is_valid());
    }
    // Refused by both, with the word to use.
    CHECK(check_schema("f(double x) -> ()").errors.at(0).message.find("use 'float'") !=
          std::string::npos);
    // The JIT prints this default as `1`.
    CHECK(print(parsed("f(int[2] k=[1,1]) -> ()")) == "f(int[2] k=[1,1]) -> ()");
  }

  TEST_CASE("the error of parse_schema carries the column and the rule") {
    const auto result = parse_schema("f_(Tensor self) -> Tensor");

    REQUIRE_FALSE(result.has_value());
    CHECK(result.error().code() == tenon::ErrorCode::kManifestInvalid);
    CHECK(result.error().message().find("operator schema, column 4: ") == 0);
    CHECK(result.error().fields() == std::vector<std::pair<std::string, std::string>>{
                                         {"column", "4"}, {"rule", "INPLACE_SELF"}});
  }

  TEST_CASE("texts beyond the limit are refused, and long ones below it end in time") {
    CHECK(rules_of(check_schema(std::string(tenon::kMaxSchemaBytes + 1, 'f')).errors) ==
          "LENGTH@1");

    std::string written = "f(Tensor(a!) x";
    std::string returned = ") -> (Tensor(b!)";
    for (int i = 0; i < 1'800; ++i) {
      written += ", Tensor(a!) x";
      returned += ", Tensor(b!)";
    }
    const SchemaVerdict verdict = check_schema(written + returned + ")", true);
    REQUIRE(verdict.schema);
    CHECK(verdict.schema->args.size() == 1'801);
    CHECK(verdict.errors.size() == 1'801);

    std::string suffixes = "f(int";
    for (int i = 0; i < 15'000; ++i) suffixes += "?[]";
    CHECK(check_schema(suffixes + " x) -> ()").is_valid());
  }

  TEST_CASE("a file is judged line by line in a form that tools can split") {
    const auto report = tenon::check_schema_lines(
        "f(Tensor self) -> Tensor\n\n  - func: f_(Tensor(a!) self) -> Tensor(a!)\r\n   "
        "\nf(x\nfunc: f(tensor x) -> ()\n"
        " f() -> ()\nf(Tensor(a!) self) -> Tensor",
        false);

    CHECK(report.text ==
          "ok\tfunctional\tf(Tensor self) -> Tensor\n"
          "ok\tinplace\tf_(Tensor(a!) self) -> Tensor(a!)\n"
          "error\t3\tUNKNOWN_TYPE\texpected a type, found 'x'\n"
          "error\t9\tUNKNOWN_TYPE\texpected a type, found 'tensor'; did you mean 'Tensor'?\n"
          "error\t1\tSYNTAX\texpected the operator's name, found ' f() -> ()'\n"
          "ok\tfunctional\tf(Tensor(a!) self) -> Tensor\n");
    CHECK(report.ok_count == 3);
    CHECK(report.error_count == 3);
    CHECK(tenon::check_schema_lines("f(Tensor(a!) self) -> Tensor", true)
              .text.starts_with("error\t3\tWRITES_UNSAID\t"));
    CHECK(tenon::check_schema_lines("", true).text.empty());
  }
}

}  // namespace
