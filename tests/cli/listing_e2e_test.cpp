// Tests of the built command: what it lists.
#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "built_command.hpp"

namespace {

using tenon_test::BuiltCommand;
using tenon_test::contains;
using tenon_test::Ran;

TEST_SUITE("cli/listing_e2e") {
  TEST_CASE("plugins lists the CPU plugin with its path, without asking for devices") {
    const BuiltCommand tenon;

    const Ran text = tenon.run({"plugins"});
    CHECK(text.status == 0);
    CHECK(contains(text.out, "active"));
    CHECK(contains(text.out, TENON_CPU_PLUGIN));

    const auto json = tenon.json({"plugins"});
    REQUIRE(json["plugins"].size() == 1);
    const auto& cpu = json["plugins"][0];
    CHECK(cpu["id"] == "cpu");
    CHECK(cpu["state"] == "active");
    CHECK(cpu["stage"] == "commit");
    CHECK(cpu["code"] == "OK");
    CHECK(cpu["kinds"] == std::vector<std::string>{"cpu"});
    CHECK(cpu["devices"].is_null());
    CHECK(cpu["ops"].size() >= 9);
    CHECK(cpu["kernel_types"].get<int>() >= 9);
    CHECK(cpu["rejected_rows"].empty());
  }

  TEST_CASE("plugins list is plugins, and --devices names the devices") {
    const BuiltCommand tenon;

    const auto json = tenon.json({"plugins", "list", "--devices"});

    CHECK(json["plugins"][0]["devices"] == std::vector<std::string>{"cpu:0"});
  }

  TEST_CASE("plugins --search prints every place and which setting named it") {
    const BuiltCommand tenon;

    const Ran ran = tenon.run({"plugins", "--search", "--plugin-path", "/nowhere/at/all"});

    CHECK(ran.status == 0);
    CHECK(contains(ran.out, "/nowhere/at/all"));
    CHECK(contains(ran.out, "TENON_PLUGIN_PATH"));
  }

  TEST_CASE("a home that is no folder or not known is no plugin, and --search says so") {
    BuiltCommand tenon;
    tenon.with("TENON_PLUGIN_PATH", "").with("XDG_DATA_HOME", "");

    tenon.with("HOME", "/dev/null");
    const Ran no_folder = tenon.run({"plugins", "--search"});
    CHECK(no_folder.status == 0);
    CHECK_MESSAGE(no_folder.err.empty(), no_folder.err);
    CHECK_FALSE(contains(no_folder.out, "rejected"));
    CHECK(
        contains(no_folder.out, "/dev/null/.local/share/tenon/plugins  (user folder; not there)"));
    tenon.with("HOME", "");
    const Ran unknown = tenon.run({"plugins", "--search"});
    CHECK(unknown.status == 0);
    CHECK_FALSE(contains(unknown.out, "(user folder"));
    CHECK(contains(unknown.out,
                   "no user folder is searched: neither XDG_DATA_HOME nor HOME is an absolute"));
  }

  TEST_CASE("a plugin of another ABI is listed as rejected with the reason, and the rest works") {
    const BuiltCommand tenon;

    const Ran ran = tenon.run({"plugins", "--plugin-path", TENON_WRONG_MAJOR_PLUGIN});
    CHECK(ran.status == 0);
    CHECK(contains(ran.out, "rejected"));
    CHECK(contains(ran.out, "INCOMPATIBLE at stage note"));

    const auto json = tenon.json({"plugins", "--plugin-path", TENON_WRONG_MAJOR_PLUGIN});
    CHECK(json["plugins"].size() == 2);
  }

  TEST_CASE("plugins inspect reads the note of a file and tells what is no plugin") {
    const BuiltCommand tenon;

    const auto json = tenon.json({"plugins", "inspect", TENON_CPU_PLUGIN});
    CHECK(json["loadable"] == true);
    CHECK(json["note"]["id"] == "cpu");
    CHECK(json["file"]["exports_entry"] == true);

    const std::string text = tenon.folder().file("x.so", "not a library");
    const Ran refused = tenon.run({"plugins", "inspect", text});
    CHECK(refused.status == 1);
    CHECK(contains(refused.out, "not loadable"));

    CHECK(tenon.run({"plugins", "inspect", "/no/such/file"}).status == 2);
    CHECK(tenon.run({"plugins", "inspect", tenon.folder().at("")}).status == 2);
  }

  TEST_CASE("devices lists cpu:0 with facts, and reads back as assumed devices") {
    const BuiltCommand tenon;

    const auto json = tenon.json({"devices"});
    REQUIRE(json["devices"].size() == 1);
    const auto& cpu = json["devices"][0];
    CHECK(cpu["device"] == "cpu:0");
    CHECK(cpu["plugin"] == "cpu");
    CHECK(cpu["memory_bytes"].get<std::uint64_t>() > 0);
    CHECK(cpu["unit_count"].get<int>() > 0);
    CHECK_FALSE(cpu["runs_archs"].empty());

    const std::string file = tenon.folder().file("devices.json", json.dump());
    const Ran ran =
        tenon.run({"explain", "AddFwdOp", "self=8:f32", "other=8:f32", "--assume", file});
    INFO("stderr: ", ran.err);
    CHECK(ran.status == 0);
  }

  TEST_CASE("targets lists builtin and every kind, with what detection gives them") {
    const BuiltCommand tenon;

    const auto json = tenon.json({"targets"});

    REQUIRE(json["targets"].size() == 2);
    CHECK(json["targets"][0]["name"] == "builtin");
    CHECK(json["targets"][0]["type"] == "table");
    CHECK(json["targets"][0]["ops"] == "all");
    CHECK(json["targets"][0]["claims"] == std::vector<std::string>{"cpu:0"});
    CHECK(json["targets"][1]["name"] == "cpu");
    CHECK(json["targets"][1]["plugin"] == "cpu");
    CHECK(json["targets"][1]["ops"].size() >= 9);
    CHECK(contains(tenon.run({"targets"}).out, "builtin"));
  }

  TEST_CASE("ops lists contract, kernels by kind and targets of every op") {
    const BuiltCommand tenon;

    const auto json = tenon.json({"ops"});

    bool found = false;
    for (const auto& op : json["ops"]) {
      if (op["op"] != "RMSNormFwdOp") continue;
      found = true;
      CHECK(op["family"] == "norm");
      CHECK(op["status"] == "implemented");
      CHECK(op["interfaces"] == std::vector<std::string>{"rms_norm_fwd"});
      CHECK(op["kernel_types"].get<int>() >= 1);
      CHECK(op["targets"] == std::vector<std::string>{"builtin", "cpu"});
    }
    CHECK(found);
    CHECK(contains(tenon.run({"ops", "list"}).out, "CONTRACT"));
  }

  TEST_CASE("ops show prints schemas, arguments, interfaces and the implementation table") {
    const BuiltCommand tenon;

    const Ran text = tenon.run({"ops", "show", "RMSNormFwdOp"});
    CHECK(text.status == 0);
    CHECK(contains(text.out, "tenon::rms_norm_fwd(Tensor x, Tensor? weight=None, *"));
    CHECK(contains(text.out, "INTERFACE rms_norm_fwd"));
    CHECK(contains(text.out, "cpu:"));

    const auto json = tenon.json({"ops", "show", "RMSNormFwdOp"});
    CHECK(json["op"] == "RMSNormFwdOp");
    CHECK(json["params"][0]["name"] == "normalized_shape");
    CHECK(json["inputs"].size() == 2);
    CHECK(json["schemas"].size() == 2);
    CHECK(json["interfaces"][0]["call"].size() == 5);
    CHECK(json["interfaces"][0]["contract_hash"].get<std::string>().size() == 16);
    CHECK_FALSE(json["interfaces"][0]["kernel_types"].empty());
  }

  TEST_CASE("listings fit 80 columns but for schemas and paths") {
    const BuiltCommand tenon;
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"ops"},
          {"ops", "show", "SumFwdOp"},
          {"ops", "show", "AddFwdOp"},
          {"targets"},
          {"devices"},
          {"config", "show"},
          {"explain", "AddFwdOp", "self=8x8:f32^1,0", "other=8x8:f32"}}) {
      std::istringstream lines(tenon.run(words).out);
      for (std::string line; std::getline(lines, line);) {
        const bool may_be_long = contains(line, "tenon::") || contains(line, "/");
        CHECK_MESSAGE((line.size() <= 80 || may_be_long), line);
      }
    }
  }

  TEST_CASE("an unknown op gets the nearest names and status 2") {
    const BuiltCommand tenon;

    const Ran ran = tenon.run({"ops", "show", "RMSNromFwdOp"});

    CHECK(ran.status == 2);
    CHECK(contains(ran.err, "error[OpNotFound]"));
    CHECK(contains(ran.err, "RMSNormFwdOp"));
    CHECK(tenon.json({"ops", "show", "RMSNromFwdOp"}, 2)["error"]["code"] == "OpNotFound");
  }

  TEST_CASE("config show names each value's origin") {
    BuiltCommand tenon;
    tenon.with("TENON_SELECTION_COPIES", "never");

    const auto json = tenon.json({"config", "show", "--set-config", "selection.reference=allow"});

    std::string copies;
    std::string reference;
    for (const auto& setting : json["settings"]) {
      if (setting["key"] == "selection.copies") copies = setting["from"];
      if (setting["key"] == "selection.reference") reference = setting["from"];
    }
    CHECK(copies == "environment");
    CHECK(reference == "command line");
    CHECK(contains(tenon.run({"config", "show"}).out, "selection.copies"));
  }

  TEST_CASE("config path prints the file in use, and a file of the working folder is announced") {
    const BuiltCommand tenon;
    CHECK(tenon.run({"config", "path"}).out.empty());

    const std::string file = tenon.folder().file("tenon.yaml", "target: cpu\n");

    const Ran ran = tenon.run({"config", "path"});
    CHECK(ran.status == 0);
    CHECK(contains(ran.out, "tenon.yaml"));
    CHECK(contains(ran.err, "working folder"));
  }

  TEST_CASE("an unknown key of the configuration fails with a suggestion") {
    const BuiltCommand tenon;

    const Ran ran = tenon.run({"plugins", "--set-config", "selection.copis=never"});

    CHECK(ran.status == 2);
    CHECK(contains(ran.err, "error[ConfigInvalid]"));
    CHECK(contains(ran.err, "did you mean 'copies'"));
    CHECK(tenon.run({"plugins", "--set-config", "nonsense"}).status == 2);
  }

  TEST_CASE("manifest cases gives each row's calls, one JSON document a line") {
    const BuiltCommand tenon;
    const Ran lines = tenon.run(
        {"manifest", "cases", "RMSNormFwdOp", "--json", "--manifest", TENON_MANIFEST_DIR});
    CHECK(lines.status == 0);
    std::istringstream stream(lines.out);
    std::vector<nlohmann::json> cases;
    for (std::string line; std::getline(stream, line);)
      cases.push_back(nlohmann::json::parse(line));
    REQUIRE(cases.size() == 3);
    CHECK(cases[0]["case"] == "llama-8b-prefill-float16");
    CHECK(cases[0]["tensors"][1]["shape"] == nlohmann::json::array({4096}));
    CHECK(cases[0]["outputs"][0]["shape"] == nlohmann::json::array({2048, 4096}));
    CHECK(cases[0]["flops"] == 4.0 * 2048 * 4096);
    CHECK(cases[2]["tensors"][1]["present"] == false);

    const Ran typo =
        tenon.run({"manifest", "cases", "RMSNormOp", "--manifest", TENON_MANIFEST_DIR});
    CHECK(typo.status == 2);
    CHECK(contains(typo.err, "did you mean 'RMSNormFwdOp'"));
  }

  TEST_CASE("manifest check finds a row that determines no call") {
    const BuiltCommand tenon;
    const std::string bad =
        tenon.folder().file("norm.yaml",
                            "HalfFwdOp:\n"
                            "  family: norm\n"
                            "  status: implemented\n"
                            "  signature:\n"
                            "    forall: {N: Dim, T: \"DType[float32]\"}\n"
                            "    inputs: {x: {dtype: T, shape: \"[N]\"}}\n"
                            "    outputs: {y: {dtype: T, shape: \"[N // 2]\"}}\n"
                            "  workloads:\n"
                            "  - {dtype_cases: [{T: float32}], label: no-size}\n"
                            "  roofline: {flops: \"N\"}\n");
    const Ran ran = tenon.run({"manifest", "check", bad});
    CHECK(ran.status == 1);
    CHECK(contains(ran.out, "norm.yaml:9"));
    CHECK(contains(ran.out, "N"));
  }

  TEST_CASE("manifest check passes the shipped entries and finds a fault with its place") {
    const BuiltCommand tenon;

    const Ran good = tenon.run({"manifest", "check", TENON_MANIFEST_DIR});
    CHECK(good.status == 0);
    CHECK(contains(good.err, "0 errors"));

    const std::string bad =
        tenon.folder().file("norm.yaml", "BrokenFwdOp:\n  family: norm\n  sttaus: implemented\n");
    const Ran ran = tenon.run({"manifest", "check", bad});
    CHECK(ran.status == 1);
    CHECK(contains(ran.out, "norm.yaml:3"));
    const auto json = tenon.json({"manifest", "check", bad}, 1);
    CHECK_FALSE(json["diagnostics"].empty());
    CHECK(json["diagnostics"][0]["severity"].is_string());
    CHECK(tenon.run({"manifest", "check", "/no/such/folder"}).status == 2);
  }

  TEST_CASE("manifest show and schemas print an entry as it is understood") {
    const BuiltCommand tenon;

    CHECK(
        contains(tenon.run({"manifest", "show", "AddFwdOp"}).out, "tenon::add.Tensor(Tensor self"));
    CHECK(tenon.json({"manifest", "show", "AddFwdOp"})["interfaces"][0]["name"] == "add_fwd");
    CHECK(contains(tenon.run({"manifest", "schemas", "AddFwdOp"}).out, "tenon::add.Tensor_out("));
    CHECK(tenon.json({"manifest", "schemas"})["ops"].size() >= 9);
    CHECK(contains(tenon.run({"manifest", "schemas", "AdFwdOp"}).err, "did you mean 'AddFwdOp'"));
  }

  TEST_CASE("manifest codegen writes headers, pages and JSON once") {
    const BuiltCommand tenon;
    const std::string folder = tenon.folder().at("include");

    const auto first = tenon.json({"manifest", "codegen", folder});
    for (const char* file : {"tenon/contracts/norm.h",
                             "tenon/ops/norm.hpp",
                             "tenon/ops.hpp",
                             "reference/RMSNormFwdOp.md",
                             "manifest.json"}) {
      CHECK(std::find(first["files"].begin(), first["files"].end(), file) != first["files"].end());
    }
    CHECK(first["changed"].size() == first["files"].size());

    CHECK(tenon.json({"manifest", "codegen", folder})["changed"].empty());
  }

  TEST_CASE("manifest diff of a set with itself finds nothing") {
    const BuiltCommand tenon;

    CHECK(tenon.json({"manifest", "diff", TENON_MANIFEST_DIR, TENON_MANIFEST_DIR})["changes"]
              .empty());
  }

  TEST_CASE("completion offers commands, options, ops and tensors") {
    const BuiltCommand tenon;

    CHECK(contains(tenon.run({"--complete"}).out, "explain\n"));
    CHECK(contains(tenon.run({"--complete", "plugins"}).out, "inspect\n"));
    CHECK(contains(tenon.run({"--complete", "run"}).out, "RMSNormFwdOp\n"));
    CHECK(contains(tenon.run({"--complete", "run", "RMSNormFwdOp"}).out, "weight=\n"));
    CHECK(contains(tenon.run({"--complete", "run", "RMSNormFwdOp"}).out, "--check\n"));
    CHECK(tenon.run({"--complete", "run", "RMSNormFwdOp", "--out"}).out.empty());
  }

  TEST_CASE("the completion script for bash asks the command and keeps what fits") {
    const BuiltCommand tenon;
    const std::string script = tenon.folder().file(
        "complete.sh",
        std::string("source " TENON_BASH_COMPLETION "\n"
                    "COMP_WORDS=(" TENON_EXECUTABLE
                    " exp) COMP_CWORD=1\n_tenon 2>/dev/null\necho \"${COMPREPLY[*]}\"\n"
                    "COMP_WORDS=(" TENON_EXECUTABLE
                    " plugins ins) COMP_CWORD=2\n_tenon 2>/dev/null\necho \"${COMPREPLY[*]}\"\n"));
    const std::string out = tenon.folder().at("completed");

    REQUIRE(std::system(("bash " + script + " > " + out).c_str()) == 0);

    std::ifstream file(out);
    std::string first;
    std::string second;
    std::getline(file, first);
    std::getline(file, second);
    CHECK(first == "explain");
    CHECK(second == "inspect");
  }
}

}  // namespace
