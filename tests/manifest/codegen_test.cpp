// Generated files: the typed API and the JSON document against golden files, the reference pages
// against those that are committed.
#include "tenon/manifest/codegen.hpp"

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "support.hpp"

using namespace tenon::manifest;  // NOLINT(google-build-using-namespace): one layer's names
using tenon::Result;

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

const fs::path kSource = TENON_SOURCE_DIR;

std::string read(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// A set with what is generated of it.
struct Generated {
  LoadedSet loaded;
  std::vector<GeneratedFile> files;
  [[nodiscard]] const std::string& file(std::string_view path) const {
    for (const GeneratedFile& f : files) {
      if (f.path == path) return f.contents;
    }
    FAIL("no file " << path);
    return files.front().contents;
  }
};

Generated generate(LoadedSet set) {
  Generated out{std::move(set), {}};
  auto files = generate_all(out.loaded.set, out.loaded.diagnostics);
  REQUIRE_MESSAGE(files, out.loaded.diagnostics.to_text());
  out.files = *std::move(files);
  return out;
}

const Generated& shipped() {
  static const Generated kShipped = generate(load_shipped());
  return kShipped;
}

const Generated& style() {
  static const Generated kStyle =
      generate(load_folder(kSource / "tests" / "manifest" / "tileops_style").value());
  return kStyle;
}

/// Compares with a golden file; where it differs, what was found lies beside the build.
void check_golden(const std::string& contents, const std::string& name) {
  const bool equal = contents == read(kSource / "tests" / "golden" / "manifest" / name);
  if (!equal) std::ofstream(fs::path(TENON_BINARY_DIR) / name, std::ios::binary) << contents;
  CHECK_MESSAGE(equal, name, " differs from ", TENON_BINARY_DIR, "/", name);
}

Result<std::vector<GeneratedFile>> generate_text(const std::string& text) {
  LoadedSet loaded = test::load(text);
  auto sources = read_sources(loaded.set, loaded.diagnostics);
  REQUIRE_MESSAGE(sources, loaded.diagnostics.to_text());
  return generate_typed_api(*sources);
}

std::set<std::string> keys_of(const Json& object) {
  std::set<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.insert(key);
  return keys;
}

/// The names that docs/manifest-json.md lists as keys under a heading.
std::set<std::string> documented(const std::string& heading) {
  const std::string text = read(kSource / "docs" / "manifest-json.md");
  const std::size_t from = text.find("## " + heading + "\n");
  REQUIRE_MESSAGE(from != std::string::npos, heading);
  const std::size_t to = text.find("\n## ", from + 1);
  std::set<std::string> keys;
  for (std::size_t at = text.find("\n| `", from); at < to; at = text.find("\n| `", at + 1)) {
    const std::size_t end = text.find(" | ", at + 2);
    std::string cell = text.substr(at + 3, end - at - 3);
    for (std::size_t open = cell.find('`'); open != std::string::npos;) {
      const std::size_t close = cell.find('`', open + 1);
      keys.insert(cell.substr(open + 1, close - open - 1));
      open = cell.find('`', close + 1);
    }
  }
  return keys;
}

void check_keys(const Json& object,
                const std::string& heading,
                std::set<std::string> may_lack = {}) {
  std::set<std::string> expected = documented(heading);
  for (const std::string& key : may_lack) {
    if (!object.contains(key)) expected.erase(key);
  }
  INFO(heading, ": ", object.dump());
  CHECK(keys_of(object) == expected);
}

void check_op(const Json& op) {
  check_keys(op, "An op");
  const Json& signature = op["signature"];
  check_keys(signature, "A signature");
  for (const Json& index : signature["forall"]) check_keys(index, "An index", {"dtypes"});
  for (const Json& param : signature["params"]) {
    check_keys(param, "A parameter");
    for (const Json& member : param["members"])
      check_keys(member,
                 "A member of a parameter's type",
                 {"values", "dtypes", "adt", "tuple", "length", "items_optional"});
  }
  for (const char* role : {"construction_tensors", "inputs", "outputs"}) {
    for (const Json& tensor : signature[role])
      check_keys(tensor, "A tensor", {"optional", "returned"});
  }
  for (const Json& family : signature["types"]) check_keys(family, "A type family");
  for (const Json& branch : op["branches"]) check_keys(branch, "A branch");
  for (const Json& workload : op["workloads"]) check_keys(workload, "A workload");
  for (const Json& interface : op["interfaces"]) {
    check_keys(interface, "An interface");
    for (const Json& field : interface["call"]) check_keys(field, "A call field");
    for (const Json& arg : interface["args"]) check_keys(arg, "An argument");
  }
}

}  // namespace

TEST_SUITE("manifest/codegen") {
  TEST_CASE("the typed API of the norms is what the golden file says") {
    check_golden(shipped().file("tenon/ops/norm.hpp"), "typed_norm.txt");
  }

  TEST_CASE("the typed API of every construct is what the golden files say") {
    check_golden(style().file("tenon/ops/moe.hpp"), "typed_moe.txt");
    check_golden(style().file("tenon/ops/lists.hpp"), "typed_lists.txt");
    check_golden(style().file("tenon/ops/types.hpp"), "typed_types.txt");
  }

  TEST_CASE("the header of all ops includes each family's") {
    const std::string& all = shipped().file("tenon/ops.hpp");

    for (const char* family : {"elementwise", "matmul", "norm", "reduction"})
      CHECK(all.find(std::string("#include \"tenon/ops/") + family + ".hpp\"") !=
            std::string::npos);
  }

  TEST_CASE("words of C++ and names of the generated code can be tensors") {
    const auto files = generate_text(test::entry(
        "    forall: {S: Shape, T: \"DType[float32]\"}\n"
        "    params: {int: {type: int, default: 0}, template: {type: bool, default: true}}\n"
        "    inputs:\n"
        "      do: {dtype: T, shape: \"[*S]\"}\n"
        "      runtime: {dtype: T, shape: \"[*S]\"}\n"
        "      params: {dtype: T, shape: \"[*S]\"}\n"
        "      op: {dtype: T, shape: \"[*S]\"}\n"
        "    outputs: {y: {dtype: T, shape: \"[*S]\"}}\n"));

    REQUIRE_MESSAGE(files, files.error().to_string());
    const std::string& text = files->front().contents;
    CHECK(text.find("std::int64_t int_ = 0;") != std::string::npos);
    CHECK(text.find("bool template_ = true;") != std::string::npos);
    CHECK(text.find("TypedOp::call_one(std::array<TensorIn, 4>{do_, runtime, params, op})") !=
          std::string::npos);
    CHECK(text.find("const Runtime& runtime_") != std::string::npos);
    CHECK(text.find("const DemoFwdParams& params_ = {}") != std::string::npos);
    CHECK(text.find("return (*op_)(do_, runtime, params, op);") != std::string::npos);
  }

  TEST_CASE("two names that C++ would not tell apart are refused") {
    const auto files = generate_text(test::entry(
        "    forall: {S: Shape, T: \"DType[float32]\"}\n"
        "    inputs: {do: {dtype: T, shape: \"[*S]\"}, do_: {dtype: T, shape: \"[*S]\"}}\n"
        "    outputs: {y: {dtype: T, shape: \"[*S]\"}}\n"));

    REQUIRE_FALSE(files);
    CHECK(files.error().message() == "'do' and 'do_' of DemoFwdOp would both be 'do_' in C++");
    CHECK(files.error().where() == "demo.yaml:1:1");
  }

  TEST_CASE("the committed reference pages are those that the manifest gives") {
    const fs::path folder = kSource / "docs" / "reference";
    std::set<std::string> expected;

    for (const GeneratedFile& file : shipped().files) {
      if (!file.path.starts_with("reference/")) continue;
      const std::string name = file.path.substr(std::string("reference/").size());
      expected.insert(name);
      CHECK_MESSAGE(read(folder / name) == file.contents,
                    name,
                    " is not up to date: run tenon-manifest-codegen reference docs/reference");
    }

    std::set<std::string> committed;
    for (const auto& each : fs::directory_iterator(folder))
      committed.insert(each.path().filename().string());
    CHECK(committed == expected);
  }

  TEST_CASE("every entry has a page with its schemas, rules and cases") {
    for (const Generated* set : {&shipped(), &style()}) {
      for (const Entry& entry : set->loaded.set.entries) {
        const std::string& page = set->file("reference/" + entry.decl.name + ".md");
        INFO(entry.decl.name);
        CHECK(page.find("# " + entry.decl.name + "\n") != std::string::npos);
        for (const Text& rule : entry.shape_rules) CHECK(page.find(rule.text) != std::string::npos);
        for (const RowEntry& row : entry.workloads)
          CHECK(page.find(row.label.text) != std::string::npos);
      }
    }
  }

  TEST_CASE("the JSON of a small set is what the golden file says") {
    const std::vector<fs::path> paths{kSource / "tests/manifest/tileops_style/lists.yaml"};
    LoadOptions options;
    options.complete = false;

    std::string json = generate(load_files(paths, options).value()).file("manifest.json");
    // Files are named as they were given; the golden file holds them without the source folder.
    const std::string folder = kSource.string() + "/";
    for (std::size_t at = json.find(folder); at != std::string::npos; at = json.find(folder, at))
      json.erase(at, folder.size());
    check_golden(json, "manifest_json.txt");
  }

  TEST_CASE("the JSON of whole sets has the layout that is documented") {
    for (const Generated* set : {&shipped(), &style()}) {
      const Json json = Json::parse(set->file("manifest.json"));

      check_keys(json, "The document");
      CHECK(json["schema"] == 1);
      CHECK(json["adts"].size() == set->loaded.set.adts.size());
      REQUIRE(json["ops"].size() == set->loaded.set.entries.size());
      for (std::size_t i = 0; i < json["ops"].size(); ++i) {
        CHECK(json["ops"][i]["op"] == set->loaded.set.entries[i].decl.name);
        CHECK_FALSE(json["ops"][i]["workloads"].empty());
        check_op(json["ops"][i]);
      }
    }
  }
}
