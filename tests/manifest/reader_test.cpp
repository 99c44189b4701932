// Entries as the reader understands them, and what it says of wrong ones.
#include "tenon/manifest/reader.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include "support.hpp"

using namespace tenon;            // NOLINT(google-build-using-namespace): one layer's names
using namespace tenon::manifest;  // NOLINT(google-build-using-namespace)
using test::entry;
using test::kUnary;
using test::lines;
using test::load;
using test::rules;

namespace {

const Entry& only(const LoadedSet& loaded) {
  REQUIRE_MESSAGE(loaded.diagnostics.empty(), loaded.diagnostics.to_text());
  REQUIRE(loaded.set.entries.size() == 1);
  return loaded.set.entries.front();
}

/// A folder that goes away with the test.
struct TempFolder {
  std::filesystem::path path;
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "tenon-reader-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~TempFolder() {
    std::error_code code;
    std::filesystem::remove_all(path, code);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  void write(std::string_view name, std::string_view contents) const {
    std::ofstream(path / name) << contents;
  }
};

}  // namespace

TEST_SUITE("manifest/reader") {
  TEST_CASE("a whole entry is taken apart with every place") {
    const auto loaded = load(R"yaml(
ScaleFwdOp:
  family: demo
  status: implemented
  ref_api: torch.mul
  schema: scale.Tensor
  signature:
    forall: {S: Shape, D: Dim, L: "Seq[Int]", T: "DType[float16 | float32]"}
    params:
      factor: {type: "float | None", default: 1.0e-6, kw_only: true}
      table: {dtype: T, shape: "[D]", optional: true}
      mode: {type: "'a' | 'b'", default: a}
    inputs:
      x: {dtype: T, shape: "[*S, D]", mutated: "mode == 'b'"}
      lens: {dtype: int32, shape: "[D]", values: "as_tensor(L)", requires: ["sums_to(8)"]}
      w: {dtype: T, shape: "[D]", optional: "mode == 'a'", contiguous: true}
    outputs:
      y: {dtype: T, shape: "[*S, D]", alias: x}
      z: {dtype: T, shape: "[D]", nullable: "mode == 'b'"}
    let: {n: "D + 1"}
    shape_rules:
    - >-
      D > 0
      and n > 1
    dtype_combos: [{T: float16}, {T: float32}]
  workloads:
  - {S: [2], D: 4, L: "repeat(2, 4)", some: [table], dtype_cases: [{T: float16}], label: first}
  roofline: {flops: 2, bytes: "8 * D"}
  flow: scan
  error_model: sum
  tolerance: {reason: rounds twice, float16: {rtol: 1.0e-2, atol: 0}}
  backward: {op: other::ScaleBwdOp, saved: [x]}
  composition: {kind: composite, stages: [{name: s, kernel: scale_main, optional: true}]}
  steps: [prepare, {name: finish, optional: true}]
  interfaces:
    scale_prepare: {step: prepare, call: {n: n}, args: {x: "[n]"}}
    scale_main: {step: finish, when: "mode == 'a'", call: {n: n, k: flow.int}, args: {x: "[n]", tmp: {dtype: float32, shape: "[n]", role: inout}}}
)yaml");
    const Entry& e = only(loaded);
    const OpDecl& d = e.decl;

    CHECK(d.full_name() == "tenon::ScaleFwdOp");
    CHECK(d.family == "demo");
    CHECK(d.implemented);
    CHECK(d.ref_api == "torch.mul");
    CHECK(d.schema_name == "scale");
    CHECK(d.schema_overload == "Tensor");
    CHECK(d.flow == "scan");
    CHECK(d.error_model == "sum");
    CHECK(d.where.to_string() == "demo.yaml:2:1");
    REQUIRE(e.indices.size() == 4);
    CHECK(e.indices[2].kind == IndexKind::kSeqInt);
    CHECK(e.indices[3].dtypes == DTypeSet{DType::kFloat16, DType::kFloat32});
    REQUIRE(d.params.size() == 2);
    CHECK(d.params[0].kw_only);
    CHECK(d.params[0].default_value == Value(1.0e-6));
    CHECK(e.params[0].type.optional());
    CHECK(e.params[1].type.members[1].text == "b");
    CHECK(d.constructor_order ==
          std::vector<std::pair<bool, std::uint32_t>>{{false, 0}, {true, 0}, {false, 1}});
    CHECK(d.construction_tensors[0].optional == When::kAlways);
    REQUIRE(d.inputs.size() == 3);
    CHECK(d.inputs[0].mutated == When::kConditional);
    CHECK(d.inputs[2].optional_text == "mode == 'a'");
    CHECK(d.inputs[2].contiguous);
    CHECK(e.inputs[1].requirements[0].text == "sums_to(8)");
    CHECK(d.outputs[0].alias == "x");
    CHECK(d.outputs[1].optional == When::kConditional);
    CHECK(e.lets[0].value.text == "D + 1");
    CHECK(e.shape_rules[0].text == "D > 0 and n > 1");
    CHECK_FALSE(e.shape_rules[0].verbatim);
    CHECK(e.dtype_combos.size() == 2);
    CHECK(e.roofline.flops.text == "2");
    CHECK(e.roofline.bytes.text == "8 * D");
    REQUIRE(e.workloads.size() == 1);
    CHECK(e.workloads[0].values[2].second.value == Value("repeat(2, 4)"));
    CHECK(e.workloads[0].some[0].text == "table");
    CHECK(e.workloads[0].dtype_cases[0].assignment[0].second.text == "float16");
    CHECK(d.tolerance->by_dtype[0].second.first == 1.0e-2);
    CHECK(d.backward_saved == std::vector<std::string>{"x"});
    CHECK(d.stages[0].optional);
    CHECK(d.steps[1].optional);
    CHECK(e.interfaces[1].call[1].text.text == "flow.int");
    CHECK(e.interfaces[1].args[1].temporary);
    CHECK(e.interfaces[1].args[1].role.text == "inout");
  }

  TEST_CASE("a place inside an expression counts from its first character") {
    const auto loaded = load(entry(kUnary));
    const Text& shape = only(loaded).inputs[0].shape;

    CHECK(shape.at(1).to_string() == "demo.yaml:6:37");
    CHECK(shape.text[1] == '*');
  }

  TEST_CASE("types, families and patterns of every form are read") {
    const std::vector<NamedText> files{
        {"types.yaml",
         "adts:\n  Layout:\n    sum:\n      dense: {python: a.b.Dense, fields: {align: Dim, pack: "
         "{type: \"'tight' | 'loose'\", python: a.b.P}}, "
         "invariant: \"align > 0\"}\n      masked: {fields: {max_m: int}}\n      bare:\n"},
        {"demo.yaml",
         entry(R"yaml(    forall: {R: Dim, C: Dim, T: "DType[float32]"}
    params: {layout: {type: "Layout | None", default: null}, t: {type: bool}}
    inputs: {x: {dtype: T, shape: "Mat[t, layout, R, C]"}}
    types:
      Mat:
        params: {t: Bool, g: "Maybe[Layout]", R: Dim, C: Dim}
        match: [t, "present(g)", g.value]
        cases:
        - {when: [false, false, _], is: "[R, C]"}
        - {when: [true, true, {dense: {pack: tight}}], is: "[C, R]"}
        - {when: [_, true, {masked: _}], is: "[R]"}
      One: {params: {m: "'1d' | '2d'"}, match: m, cases: [{when: 1d, is: "[1]"}]}
)yaml",
               "",
               "DemoFwdOp",
               "[{R: 1, C: 1, t: true, dtype_cases: [{T: float32}], label: a}]")}};

    const auto loaded = load_texts(files);

    const Entry& e = only(loaded);
    REQUIRE(loaded.set.adts.size() == 1);
    const AdtDecl& adt = loaded.set.adts[0];
    CHECK(adt.constructors.size() == 3);
    CHECK(adt.find("dense")->fields[1].type.members[1].text == "loose");
    CHECK(adt.find("dense")->invariant.text == "align > 0");
    const FamilyDecl& mat = e.families[0];
    CHECK(mat.match_is_list);
    CHECK(mat.formals[1].type.optional());
    CHECK(mat.cases[0].when[0].value == Value(false));
    CHECK(mat.cases[0].when[2].kind == Pattern::Kind::kAny);
    CHECK(mat.cases[1].when[2].fields[0].second == Value("tight"));
    CHECK(mat.cases[2].when[2].constructor == "masked");
    CHECK(e.families[1].cases[0].when[0].value == Value("1d"));
  }

  TEST_CASE("parameter types of every form are taken apart") {
    DiagnosticList diagnostics;
    const auto type = [&](std::string text, bool formal = false) {
      Text t{std::move(text), {"f", 1, 1}, 0, true};
      return parse_type(t, formal, "E", "f", diagnostics);
    };
    using Atom = TypeMember::Atom;

    CHECK(type("int | tuple[int, int] | 'valid' | 'same'").members.size() == 4);
    CHECK(type("tuple[int, ...]").members[0].variable);
    CHECK(type("tuple[int | None, int]").members[0].optional_items ==
          std::vector<bool>{true, false});
    CHECK(type("tuple[int]").members[0].optional_items.size() == 1);
    CHECK(type("list[int | None] | None").optional());
    CHECK(type("torch.dtype").members[0].atom == Atom::kAnyDType);
    CHECK(type("torch.device | str | None").members[0].atom == Atom::kDotted);
    CHECK(type("float16 | float8_e4m3fn").members[1].dtype == DType::kFloat8E4M3FN);
    CHECK(type("Number").members[0].atom == Atom::kNumber);
    CHECK(type("Layout").members[0].atom == Atom::kName);
    CHECK(type("Dim").members[0].atom == Atom::kName);
    CHECK(type("Dim", true).members[0].atom == Atom::kDim);
    CHECK(type("Maybe['a' | 'b']", true).optional());
    CHECK(type("Seq[Int]", true).members[0].atom == Atom::kSeqInt);
    CHECK(diagnostics.empty());
    for (const char* wrong : {"list[float]",
                              "list[int, int]",
                              "tuple[]",
                              "int |",
                              "'a' | 'a'",
                              "list[int",
                              "a-b",
                              "dict[str]",
                              "'open",
                              "int]"}) {
      INFO("type: ", wrong);
      const std::size_t before = diagnostics.size();
      CHECK(type(wrong).members.empty());
      CHECK(diagnostics.size() == before + 1);
    }
  }

  TEST_CASE("every mistake of an entry is reported in one run, sorted, and the entry is faulty") {
    const auto loaded = load(R"yaml(
DemoFwdOp:
  family: demo
  status: done
  signatur: {}
  signature:
    forall: {S: Shap, T: "DType[float16 | flaot32]"}
    params: {p: {typ: int}, q: {type: "itn"}}
    inputs:
      x: {dtype: T, shape: [S], optional: false}
      y: {dtpye: T, shape: "[*S]"}
  workloads: []
)yaml");

    CHECK(rules(loaded.diagnostics) ==
          "key.missing@3:3 value.choice@4:11 key.unknown@5:3 index.kind@7:17 type@7:43 "
          "key.missing@8:17 key.unknown@8:18 "
          "type.unknown@8:40 value.kind@10:28 value.kind@10:43 key.missing@11:10 key.unknown@11:11 "
          "value.kind@12:14");
    CHECK(loaded.set.entries[0].faulty);
    const auto text = lines(loaded.diagnostics);
    CHECK(text[2] ==
          "demo.yaml:5:3: error: DemoFwdOp: an entry has no key 'signatur' [key.unknown]; found "
          "'signatur'; expected one of family, "
          "status, ref_api, signature, workloads, roofline, composition, interfaces, steps, "
          "tolerance, flow, schema, error_model, "
          "backward; did you mean 'signature'?");
    CHECK(text[4] ==
          "demo.yaml:7:43: error: DemoFwdOp: signature.forall.T: 'flaot32' is no dtype [type]; "
          "found 'DType[float16 | flaot32]'; "
          "expected registered dtype names; did you mean 'float32'?");
  }

  TEST_CASE("diagnostics print the source line with a caret, and as JSON") {
    const auto loaded = load(entry(kUnary, "  flow: Row\n"));

    CHECK(loaded.diagnostics.to_text() ==
          "demo.yaml:10:9: error: DemoFwdOp: flow: 'Row' is no name of a flow [flow.form]; found "
          "'Row'; expected lower-case letters, "
          "digits and '_'\n    flow: Row\n          ^\n");
    CHECK(loaded.diagnostics.to_json().find("\"rule\": \"flow.form\"") != std::string::npos);
    CHECK(loaded.diagnostics.to_json().find("\"line\": 10") != std::string::npos);
  }

  TEST_CASE("D27: a key twice costs its entry, an op twice costs that op, and others stay") {
    const std::vector<NamedText> files{
        {"demo.yaml",
         entry(kUnary, "  roofline: {flops: \"1\"}\n") + entry(kUnary, "", "GoodFwdOp")},
        {"demo_two.yaml", entry(kUnary, "", "TwiceFwdOp") + entry(kUnary, "", "TwiceFwdOp")},
        {"demo_three.yaml", entry(kUnary, "", "OtherFwdOp")}};

    const auto loaded = load_texts(files);

    CHECK(rules(loaded.diagnostics) == "yaml.duplicate-key@10:3 yaml.duplicate-key@10:1");
    CHECK(loaded.set.find("DemoFwdOp")->faulty);
    CHECK_FALSE(loaded.set.find("GoodFwdOp")->faulty);
    CHECK(loaded.set.find("TwiceFwdOp")->faulty);
    CHECK_FALSE(loaded.set.find("OtherFwdOp")->faulty);
  }

  TEST_CASE(
      "D28: an op in two files is refused with both places, equal or not, and the first stays") {
    const std::vector<NamedText> files{{"demo.yaml", entry(kUnary)},
                                       {"demo_more.yaml", "\n" + entry(kUnary)}};

    const auto loaded = load_texts(files);

    REQUIRE(loaded.diagnostics.size() == 2);
    CHECK(loaded.diagnostics.items()[0].text ==
          "the op 'DemoFwdOp' is declared twice: at demo.yaml:1:1 and at demo_more.yaml:2:1");
    CHECK_FALSE(loaded.set.entries[0].faulty);
    CHECK(loaded.set.entries[1].faulty);
  }

  TEST_CASE("interfaces and schema names are given once in a set") {
    const std::string interfaces = "  interfaces: {go: {call: {s: S}, args: {x: \"[*s]\"}}}\n";
    const auto loaded = load(entry(kUnary, "  schema: same.A\n" + interfaces) +
                             entry(kUnary, "  schema: same.A\n" + interfaces, "TwoFwdOp"));

    CHECK(rules(loaded.diagnostics) == "schema.duplicate@21:11 interface.duplicate@22:16");
    CHECK(rules(load(entry(kUnary) + entry(kUnary, "  schema: demo_fwd\n", "TwoFwdOp"))
                    .diagnostics) == "schema.duplicate@19:11");
  }

  TEST_CASE("a file's entries are of one family, which the file's name begins with") {
    CHECK(load(entry(kUnary), "a/b/demo.yaml").diagnostics.empty());
    CHECK(load(entry(kUnary), "demo_shard.yaml").diagnostics.empty());
    CHECK(rules(load(entry(kUnary), "demons.yaml").diagnostics) == "family.file@1:1");
    std::string other = entry(kUnary, "", "TwoFwdOp");
    other.replace(other.find("demo"), 4, "norm");
    CHECK(rules(load(entry(kUnary) + other).diagnostics) == "family.mixed@10:1");
    const std::vector<NamedText> brought{{"plugin.tenon.so", entry(kUnary)}};
    CHECK(load_texts(brought, {.ns = "acme", .file_names_families = false}).diagnostics.empty());
  }

  TEST_CASE("names are distinct, usable and not reserved") {
    const auto with = [](std::string_view forall, std::string_view inputs) {
      return rules(load(entry("    forall: {S: Shape, T: \"DType[float32]\"" + std::string(forall) +
                              "}\n    inputs: {" + std::string(inputs) + "}\n"))
                       .diagnostics);
    };
    CHECK(with("", "do: {dtype: T, shape: \"[*S]\"}, min: {dtype: T, shape: \"[*S]\"}").empty());
    CHECK(with(", d: Dim", "d: {dtype: T, shape: \"[d]\"}") == "name.duplicate@6:14");
    CHECK(with("", "out: {dtype: T, shape: \"[*S]\"}") == "name.reserved@6:14");
    CHECK(with("", "on: {dtype: T, shape: \"[*S]\"}") == "name.kind@6:14");
    CHECK(with("", "\"on\": {dtype: T, shape: \"[*S]\"}").empty());
    CHECK(with(", inf: Dim", "x: {dtype: T, shape: \"[*S]\"}") == "name.form@5:45");
    CHECK(with(", a-b: Dim", "x: {dtype: T, shape: \"[*S]\"}") == "name.form@5:45");
  }

  TEST_CASE("composition cycles and unknown entries are found in the set") {
    const auto composed = [](std::string_view op) {
      return "  composition: {kind: composite, stages: [{name: s, op: " + std::string(op) + "}]}\n";
    };
    const auto loaded = load(entry(kUnary, composed("TwoFwdOp")) +
                             entry(kUnary, composed("DemoFwdOp"), "TwoFwdOp") +
                             entry(kUnary, composed("DemoFwOp"), "ThreeFwdOp"));

    REQUIRE(loaded.diagnostics.size() == 2);
    CHECK(loaded.diagnostics.items()[0].text ==
          "the composition leads back to itself: DemoFwdOp -> TwoFwdOp -> DemoFwdOp");
    CHECK(loaded.diagnostics.items()[1].hint == "did you mean 'DemoFwdOp'?");
  }

  TEST_CASE("D31: files that are no manifest get file, place and the expected form") {
    CHECK(lines(load("").diagnostics)[0] ==
          "demo.yaml:1:1: error: the file holds no entries [file.form]; found nothing; expected a "
          "map 'OpName: {...}'");
    CHECK(rules(load("- a\n").diagnostics) == "file.form@1:1");
    CHECK(rules(load("just text\n").diagnostics) == "file.form@1:1");
    CHECK(rules(load("DemoFwdOp: [1]\n").diagnostics) == "value.kind@1:12");
    CHECK(rules(load("{}\n").diagnostics) == "file.form@1:1");
    CHECK(load("\xef\xbb\xbf" + entry(kUnary)).diagnostics.empty());
    std::string crlf;
    for (const char c : entry(kUnary)) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
    CHECK(load(crlf).diagnostics.empty());
  }

  TEST_CASE("folders and files are read, with the types beside them") {
    const TempFolder folder;
    folder.write("types.yaml", "adts: {Flag: {sum: {on_: , off_: }}}\n");
    folder.write("demo.yaml",
                 entry("    forall: {S: Shape, T: \"DType[float32]\"}\n    params: {f: {type: "
                       "Flag}}\n    inputs: {x: {dtype: T, shape: \"[*S]\"}}\n",
                       "",
                       "DemoFwdOp",
                       "[{S: [4], f: {on_: {}}, dtype_cases: [{T: float32}], label: a}]"));
    folder.write("notes.txt", "not a manifest");

    const auto whole = load_folder(folder.path);
    const std::vector<std::filesystem::path> one{folder.path / "demo.yaml"};
    const auto single = load_files(one);

    REQUIRE(whole.has_value());
    CHECK(whole->diagnostics.empty());
    CHECK(whole->set.files.size() == 2);
    REQUIRE(single.has_value());
    CHECK(single->diagnostics.empty());
    CHECK(single->set.adts.size() == 1);
    std::filesystem::create_directory(folder.path / "spec");
    std::filesystem::rename(folder.path / "demo.yaml", folder.path / "spec" / "demo.yaml");
    const auto below = load_folder(folder.path / "spec");
    REQUIRE(below.has_value());
    CHECK(below->diagnostics.empty());
    CHECK(below->set.adts.size() == 1);
    const auto missing = load_folder(folder.path / "none");
    REQUIRE_FALSE(missing.has_value());
    CHECK(missing.error().code() == ErrorCode::kManifestInvalid);
  }

  TEST_CASE("an op that a single file does not hold may stand in another") {
    const TempFolder folder;
    folder.write(
        "demo.yaml",
        entry(kUnary,
              "  composition: {kind: composite, stages: [{name: s, op: ElsewhereFwdOp}]}\n"));
    const std::vector<std::filesystem::path> one{folder.path / "demo.yaml"};

    const auto single = load_files(one);
    const auto whole = load_folder(folder.path);

    REQUIRE(single.has_value());
    CHECK(single->diagnostics.error_count() == 0);
    CHECK(single->diagnostics.size() == 1);
    REQUIRE(whole.has_value());
    CHECK(whole->diagnostics.error_count() == 1);
  }

  TEST_CASE("the shipped manifest is embedded as it stands in its files, and read without a word") {
    const auto from_files =
        load_folder(std::filesystem::path(TENON_SOURCE_DIR) / "manifest" / "ops");

    const auto shipped = load_shipped();

    CHECK_MESSAGE(shipped.diagnostics.empty(), shipped.diagnostics.to_text());
    CHECK(shipped.set.find("RMSNormFwdOp")->interfaces[0].call.size() == 5);
    REQUIRE(from_files.has_value());
    REQUIRE(from_files->set.files.size() == shipped.set.files.size());
    for (std::size_t i = 0; i < shipped.set.files.size(); ++i) {
      CHECK(*shipped.set.files[i].contents == *from_files->set.files[i].contents);
    }
  }
}
