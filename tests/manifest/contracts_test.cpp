// Contract headers: they compile alone in every language version, and say what the declarations
// say.
#include "tenon/manifest/contracts.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include "tenon/core/contract.hpp"
#include "tenon/manifest/codegen.hpp"

namespace {

using tenon::DType;
using tenon::InterfaceArgDecl;
using tenon::OpDecl;
using tenon::manifest::GeneratedFile;

tenon::CallFieldDecl field(std::string name,
                           std::uint32_t kind,
                           bool optional = false,
                           std::vector<std::string> members = {}) {
  tenon::CallFieldDecl f;
  f.name = std::move(name);
  f.kind = kind;
  f.optional = optional;
  f.members = std::move(members);
  return f;
}

InterfaceArgDecl arg(std::string name,
                     std::uint32_t role,
                     std::vector<DType> dtypes,
                     bool optional = false,
                     bool list = false) {
  InterfaceArgDecl a;
  a.name = std::move(name);
  a.role = role;
  a.dtypes = std::move(dtypes);
  a.optional = optional;
  a.list = list;
  return a;
}

/// An op whose interface has a field of every kind, and names that C++ would not take.
OpDecl everything() {
  OpDecl op;
  op.name = "EverythingFwdOp";
  op.family = "demo";
  op.interfaces.resize(2);
  tenon::InterfaceDecl& all = op.interfaces[0];
  all.name = "everything_fwd";
  all.fields = {field("m", TENON_VALUE_INT),
                field("M", TENON_VALUE_INT, true),
                field("eps", TENON_VALUE_FLOAT, true),
                field("scale", TENON_VALUE_FLOAT),
                field("alpha", TENON_FIELD_NUMBER),
                field("beta", TENON_FIELD_NUMBER, true),
                field("affine", TENON_VALUE_BOOL),
                field("dtype", TENON_VALUE_DTYPE),
                field("out_dtype", TENON_VALUE_DTYPE, true),
                field("note", TENON_VALUE_STR, true),
                field("do", TENON_VALUE_INTS),
                field("pads", TENON_VALUE_INTS, true),
                field("scales", TENON_VALUE_FLOATS),
                field("nested", TENON_VALUE_LIST, true),
                field("layout", TENON_FIELD_ADT),
                field("mode", TENON_FIELD_ENUM, false, {"none", "1d", "full-x", "full_x", ""}),
                field("number", TENON_FIELD_ENUM, true, {"a\"b"}),
                field("from", TENON_VALUE_INT)};
  all.args = {arg("do", TENON_ROLE_IN, {DType::kFloat16, DType::kBFloat16}),
              arg("xs", TENON_ROLE_IN, {DType::kFloat16, DType::kBFloat16}, true, true),
              arg("tmp", TENON_ROLE_INOUT, {DType::kFloat32}, true),
              arg("y", TENON_ROLE_OUT, {DType::kFloat16, DType::kBFloat16})};
  op.interfaces[1].name = "nothing_fwd";
  return op;
}

struct TempFolder {
  std::filesystem::path path;
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "tenon-contracts-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~TempFolder() {
    std::error_code code;
    std::filesystem::remove_all(path, code);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
};

std::vector<GeneratedFile> generate(const OpDecl& op) {
  const OpDecl* ops[] = {&op};
  auto files = tenon::manifest::generate_contracts(ops);
  REQUIRE_MESSAGE(files.has_value(), (files ? "" : files.error().message()));
  return *std::move(files);
}

bool compiles(const std::filesystem::path& folder,
              const std::string& compiler,
              const std::string& flags,
              const std::string& source,
              const std::string& text) {
  std::ofstream(folder / source) << text;
  const std::string command =
      compiler + " " + flags + " -Wall -Wextra -pedantic -Wshadow -Werror -fsyntax-only -I" +
      folder.string() + " -I" TENON_SOURCE_DIR "/plugin_api/include " + (folder / source).string() +
      " >" + (folder / "log").string() + " 2>&1";
  const bool ok = std::system(command.c_str()) == 0;
  std::ifstream log(folder / "log");
  if (!ok) MESSAGE(std::string(std::istreambuf_iterator<char>(log), {}).substr(0, 2000));
  return ok;
}

}  // namespace

TEST_SUITE("manifest/contracts") {
  TEST_CASE("a header with every kind of field compiles without a warning as C11, C17 and C++17") {
    const TempFolder folder;
    REQUIRE(tenon::manifest::write_generated(folder.path, generate(everything())).has_value());
    const std::string c =
        "#include \"tenon/contracts/demo.h\"\n"
        "_Static_assert(TENON_EVERYTHING_FWD_FIELD_EPS == 2, \"field index\");\n"
        "_Static_assert(TENON_EVERYTHING_FWD_ARG_Y == 3, \"argument index\");\n"
        "int main(void) { return tenon_contract_everything_fwd.n_fields == 18 ? 0 : 1; }\n";
    const std::string cpp =
        "#include \"tenon/contracts/demo.h\"\n"
        "namespace c = tenon::contracts::everything_fwd;\n"
        "static_assert(c::kArgDo == 0 && c::kFieldM == 0 && c::kFieldM_ == 1, \"indices\");\n"
        "static_assert(tenon_contract_everything_fwd.n_args == 4, \"constant data\");\n"
        "std::int64_t use(const tenon_call& raw) {\n"
        "  const c::Call call = c::Call::from(raw);\n"
        "  if (call.mode == c::Mode::k1d || (call.number && *call.number == c::Number_::kAB)) "
        "return call.do_.size() ? 1 : 0;\n"
        "  return call.M ? *call.M : call.from_ + c::Call::contract().n_args;\n"
        "}\n";

    CHECK(compiles(folder.path, TENON_C_COMPILER, "-std=c11", "a.c", c));
    CHECK(compiles(folder.path, TENON_C_COMPILER, "-std=c17", "b.c", c));
    CHECK(compiles(folder.path, TENON_CXX_COMPILER, "-std=c++17", "c.cpp", cpp));
    CHECK(compiles(folder.path, TENON_CXX_COMPILER, "-std=c++20", "d.cpp", cpp));
  }

  TEST_CASE("the tables say what the declaration says, hash included") {
    const OpDecl op = everything();
    const std::string text = generate(op)[0].contents;

    CHECK(generate(op)[0].path == "tenon/contracts/demo.h");
    CHECK(text.find("{{\"eps\", 3}, TENON_VALUE_FLOAT, TENON_FIELD_OPTIONAL, NULL, 0}") !=
          std::string::npos);
    CHECK(
        text.find(
            "{{\"mode\", 4}, TENON_FIELD_ENUM, 0u, tenon_contract_everything_fwd_values_15, 5}") !=
        std::string::npos);
    CHECK(text.find("{{\"xs\", 2}, tenon_contract_everything_fwd_dtypes_0, 2, TENON_ROLE_IN, "
                    "TENON_ARG_OPTIONAL | TENON_ARG_LIST}") != std::string::npos);
    CHECK(text.find("{{2, 16, 1}, {4, 16, 1}}") != std::string::npos);
    char hash[32];
    std::snprintf(hash,
                  sizeof hash,
                  "0x%016llx",
                  static_cast<unsigned long long>(tenon::contract_hash(op.interfaces[0])));
    CHECK(text.find(hash) != std::string::npos);
    CHECK(text.find("enum class Mode { kNone, k1d, kFullX, kFullX_, kEmpty };") !=
          std::string::npos);
  }

  TEST_CASE("two fields that C++ would call the same are refused") {
    OpDecl op = everything();
    op.interfaces[0].fields.push_back(field("do_", TENON_VALUE_INT));
    const OpDecl* ops[] = {&op};

    const auto files = tenon::manifest::generate_contracts(ops);

    REQUIRE_FALSE(files.has_value());
    CHECK(
        files.error().message() ==
        "the call fields 'do' and 'do_' of interface 'everything_fwd' would both be 'do_' in C++");
  }

  TEST_CASE("a file that would not change is left alone") {
    const TempFolder folder;
    const auto files = generate(everything());

    CHECK(tenon::manifest::write_generated(folder.path, files).value().size() == 1);
    CHECK(tenon::manifest::write_generated(folder.path, files).value().empty());
    std::ofstream(folder.path / files[0].path) << "changed";
    CHECK(tenon::manifest::write_generated(folder.path, files).value() ==
          std::vector<std::string>{"tenon/contracts/demo.h"});
  }
}
