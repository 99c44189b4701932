// Tests of the built command: explain, infer and run, and what they say to wrong calls.
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "built_command.hpp"
#include "tenon/loader/npy.hpp"

namespace {

using tenon_test::BuiltCommand;
using tenon_test::contains;
using tenon_test::Ran;
using Words = std::vector<std::string>;

const Words kNorm{
    "RMSNormFwdOp", "x=64x256:bf16", "weight=256:bf16", "--set", "normalized_shape=[256]"};

Words command(const char* name, Words call, const Words& more = {}) {
  call.insert(call.begin(), name);
  call.insert(call.end(), more.begin(), more.end());
  return call;
}

/// A wrong call must fail alike in infer, explain and run, with these words on stderr and a JSON
/// error.
void check_wrong(const Words& call,
                 int status,
                 const char* code,
                 const std::vector<const char*>& words) {
  const BuiltCommand tenon;
  for (const char* name : {"infer", "run"}) {
    const Ran ran = tenon.run(command(name, call));
    INFO("command: ", name, ", stderr: ", ran.err);
    CHECK(ran.status == status);
    CHECK(ran.out.empty());
    CHECK(contains(ran.err, code));
    for (const char* word : words) CHECK_MESSAGE(contains(ran.err, word), word);
    const auto json = tenon.json(command(name, call), status);
    CHECK(json["error"]["code"] == code);
    CHECK_FALSE(json["error"]["text"].get<std::string>().empty());
  }
  const Ran explained = tenon.run(command("explain", call));
  INFO("explain, stderr: ", explained.err);
  CHECK(explained.status == status);
  CHECK(contains(explained.err, code));
}

TEST_SUITE("cli/call_e2e") {
  TEST_CASE("explain names the kernel of a call and why each other one is not") {
    const BuiltCommand tenon;

    const auto json = tenon.json(command("explain", kNorm));

    CHECK(json["op"] == "RMSNormFwdOp");
    CHECK(json["device"] == "cpu:0");
    CHECK(json["target"]["name"] == "builtin");
    CHECK(json["error"].is_null());
    REQUIRE(json["steps"].size() == 1);
    const auto& step = json["steps"][0];
    CHECK(step["call"]["n"] == 256);
    CHECK(step["call"]["affine"] == true);
    REQUIRE(step["winner"].is_string());
    std::size_t chosen = 0;
    for (const auto& candidate : step["candidates"]) {
      if (candidate["verdict"] != "chosen") continue;
      ++chosen;
      CHECK(candidate["plugin"].get<std::string>() + ":" + candidate["key"].get<std::string>() ==
            step["winner"]);
    }
    CHECK(chosen == 1);
    const Ran text = tenon.run(command("explain", kNorm));
    CHECK(contains(text.out, "chosen: " + step["winner"].get<std::string>()));
  }

  TEST_CASE(
      "explain of a transposed tensor shows the rounds, and never copies where copies are off") {
    const BuiltCommand tenon;
    Words call = kNorm;
    call[1] = "x=64x256:bf16^1,0";

    const auto allowed = tenon.json(command("explain", call));
    const auto never =
        tenon.json(command("explain", call, {"--set-config", "selection.copies=never"}));

    CHECK(allowed["steps"][0]["facts"]["x"].get<std::string>().find("strided") == 0);
    CHECK(allowed["steps"][0]["winner"].is_string());
    for (const auto& candidate : never["steps"][0]["candidates"]) CHECK(candidate["round"] != 2);
    CHECK(never["steps"][0]["round"] != 2);
  }

  TEST_CASE("explain --assume asks for hardware that is not here") {
    const BuiltCommand tenon;
    const std::string file = tenon.folder().file(
        "acme.json",
        R"({"schema": 1, "devices": [{"device": "acme:0", "arch": "a3"}, {"device": "acme:1", "arch": "a2"}]})");

    const Ran ran = tenon.run(command("explain", kNorm, {"--assume", file}));
    CHECK(ran.status == 1);
    CHECK(contains(ran.out, "on acme:0"));
    CHECK(contains(ran.err, "error[OpNotAvailable]"));

    const auto json =
        tenon.json(command("explain", kNorm, {"--assume", file, "--device", "acme:1"}), 1);
    CHECK(json["device"] == "acme:1");
    for (const auto& candidate : json["steps"][0]["candidates"])
      CHECK(candidate["verdict"] == "unavailable");

    const Ran wrong =
        tenon.run(command("explain", kNorm, {"--assume", file, "--device", "acme:7"}));
    CHECK(wrong.status == 2);
    CHECK(contains(wrong.err, "its devices are acme:0, acme:1"));
  }

  TEST_CASE("infer gives outputs, branch, indices and cost") {
    const BuiltCommand tenon;

    const auto json = tenon.json(command("infer", kNorm));

    REQUIRE(json["outputs"].size() == 1);
    CHECK(json["outputs"][0]["name"] == "output");
    CHECK(json["outputs"][0]["dtype"] == "bfloat16");
    CHECK(json["outputs"][0]["shape"] == std::vector<int>{64, 256});
    CHECK(json["outputs"][0]["present"] == true);
    CHECK(json["branch"]["has_out"] == false);
    CHECK(json["written"].empty());
    CHECK(json["flops"] == 4 * 64 * 256);
    CHECK(json["bytes"] == 2 * (2 * 64 * 256 + 256));
    CHECK(contains(tenon.run(command("infer", kNorm)).out, "[64, 256]"));
  }

  TEST_CASE("infer on ranges gives the bounds of every output, and what they leave open") {
    const BuiltCommand tenon;

    const auto norm = tenon.json({"infer",
                                  "RMSNormFwdOp",
                                  "x=[1..4096]x256:bf16",
                                  "weight=256:bf16",
                                  "--set",
                                  "normalized_shape=[256]"});
    REQUIRE(norm["outputs"].size() == 1);
    CHECK(norm["outputs"][0]["dtype"] == "bfloat16");
    CHECK(norm["outputs"][0]["shape"][0]["low"] == 1);
    CHECK(norm["outputs"][0]["shape"][0]["high"] == 4096);
    CHECK(norm["outputs"][0]["shape"][1] == 256);
    CHECK(norm["guards"].empty());
    CHECK(norm["flops"].is_null());
    CHECK(norm["branch"]["has_out"] == false);

    const Words matmul{"infer", "MatMulFwdOp", "a=4x[8..128]:f32", "b=[32..200]x7:f32"};
    const auto open = tenon.json(matmul);
    CHECK(open["outputs"][0]["shape"] == std::vector<int>{4, 7});
    CHECK(open["guards"] == std::vector<std::string>{"size of b on axis 0 == K"});
    const std::string text = tenon.run(matmul).out;
    CHECK(contains(text, "[4, 7]"));
    CHECK(contains(text, "guard    size of b on axis 0 == K"));
    CHECK(contains(tenon.run({"infer", "AddFwdOp", "self=[1..8]:f32", "other=[1..8]:f32"}).out,
                   "[1..8]"));

    const Ran never = tenon.run({"infer", "MatMulFwdOp", "a=4x[8..16]:f32", "b=[32..200]x7:f32"});
    CHECK(never.status == 1);
    CHECK(contains(never.err, "b has size 32..200 on axis 0, but K is 8..16"));
    CHECK(contains(never.err, "matmul.yaml:"));
  }

  TEST_CASE("out and --inplace are checked against the ranges too, and other commands need sizes") {
    const BuiltCommand tenon;

    const auto out = tenon.json(
        {"infer", "AddFwdOp", "self=[1..8]x4:f32", "other=4:f32", "output=[2..9]x4:f32"});
    CHECK(out["branch"]["has_out"] == true);
    CHECK(out["guards"] ==
          std::vector<std::string>{"size of out on axis 0 == size of output there"});
    const Ran wrong = tenon.run(
        {"infer", "AddFwdOp", "self=[1..8]x4:f32", "other=4:f32", "output=[9..12]x4:f32"});
    CHECK(wrong.status == 1);
    CHECK(contains(wrong.err, "out has size 9..12 on axis 0, expected 1..8"));
    CHECK(tenon.json({"infer",
                      "AddFwdOp",
                      "self=[1..8]x4:f32",
                      "other=4:f32",
                      "--inplace"})["branch"]["has_out"] == true);

    for (const char* name : {"run", "explain"}) {
      const Ran ran = tenon.run({name, "AddFwdOp", "self=[1..8]:f32", "other=8:f32"});
      CHECK(ran.status == 2);
      CHECK(contains(ran.err, "'self=[1..8]:f32' gives ranges, but each size is needed here"));
    }
  }

  TEST_CASE("run makes data, runs the chosen kernel and says what came out") {
    const BuiltCommand tenon;
    const auto explained = tenon.json(command("explain", kNorm));

    const auto json = tenon.json(command("run", kNorm));

    REQUIRE(json["kernels"].size() == 1);
    CHECK(json["kernels"][0]["key"] == explained["steps"][0]["winner"]);
    CHECK(json["copies"] == 0);
    CHECK(json["outputs"][0]["shape"] == std::vector<int>{64, 256});
    CHECK(json["outputs"][0]["nan_count"] == 0);
    CHECK(json["outputs"][0]["file"].is_null());
    CHECK(json["check"].is_null());
    CHECK(json["time"].is_null());
    CHECK(json["roofline"]["flops"] == 4 * 64 * 256);
    const Ran text = tenon.run(command("run", kNorm));
    CHECK(contains(text.out, "normal, seed 0"));
    CHECK(contains(text.out, json["kernels"][0]["key"].get<std::string>()));
  }

  TEST_CASE("run --check compares with the reference in units of the output's dtype") {
    const BuiltCommand tenon;

    for (const char* dtype : {"f32", "bf16", "f16", "f64"}) {
      INFO("dtype: ", dtype);
      const auto json = tenon.json({"run",
                                    "RMSNormFwdOp",
                                    std::string("x=64x256:") + dtype,
                                    "--set",
                                    "normalized_shape=[256]",
                                    "--check"});
      CHECK(json["check"]["ok"] == true);
      CHECK(json["check"]["max_ulp"].get<double>() < 8);
    }
    CHECK(tenon.json(
              {"run", "SumFwdOp", "x=64x256:f32", "--set", "dim=1", "--check"})["check"]["ok"] ==
          true);
    CHECK(tenon.json(
              {"run", "AddFwdOp", "self=16x8:i32", "other=8:i32", "--check"})["check"]["max_abs"] ==
          0);
    CHECK(contains(tenon.run(command("run", kNorm, {"--check"})).out, "check     ok"));
  }

  TEST_CASE("run --time repeats the call") {
    const BuiltCommand tenon;

    const auto json = tenon.json({"run", "AddFwdOp", "self=16:f32", "other=16:f32", "--time"});

    CHECK(json["time"]["repeats"].get<int>() >= 10);
    CHECK(json["time"]["median_ns"].get<double>() > 0);
    CHECK(json["time"]["p10_ns"].get<double>() <= json["time"]["p90_ns"].get<double>());
  }

  TEST_CASE("run reads .npy files and writes results to .npy files") {
    const BuiltCommand tenon;
    const std::string x = tenon.folder().at("x.npy");
    const std::string y = tenon.folder().at("y.npy");
    CHECK(tenon.run({"run", "AddFwdOp", "self=3:f32~arange", "other=3:f32~const=10", "--out", x})
              .status == 0);

    const auto json =
        tenon.json({"run", "AddFwdOp", "self=" + x, "other=" + x, "--out", "output=" + y});

    CHECK(json["outputs"][0]["file"] == y);
    CHECK(json["outputs"][0]["min"] == 20);
    CHECK(json["outputs"][0]["max"] == 24);
    const auto loaded = tenon::load_npy(y);
    REQUIRE(loaded.has_value());
    CHECK(loaded->data<float>()[2] == 24.0f);
  }

  TEST_CASE("bfloat16 travels through .npy files in its integer carrier") {
    const BuiltCommand tenon;
    const std::string x = tenon.folder().at("x.npy");
    CHECK(tenon.run({"run", "AddFwdOp", "self=3:bf16~arange", "other=3:bf16~const=1", "--out", x})
              .status == 0);

    const auto json = tenon.json({"run", "AddFwdOp", "self=" + x + ":bf16", "other=3:bf16~zeros"});

    CHECK(json["outputs"][0]["dtype"] == "bfloat16");
    CHECK(json["outputs"][0]["max"] == 3);
  }

  TEST_CASE("--inplace writes into the first input, and a named output is passed as out") {
    const BuiltCommand tenon;

    const auto in_place = tenon.json(
        {"run", "AddFwdOp", "self=4:f32~arange", "other=4:f32~const=1", "--inplace", "--check"});
    CHECK(in_place["outputs"][0]["alias"] == "self");
    CHECK(in_place["outputs"][0]["max"] == 4);
    CHECK(in_place["check"]["ok"] == true);

    const auto out = tenon.json({"run",
                                 "AddFwdOp",
                                 "self=2x3:f32~arange",
                                 "other=3:f32~const=1",
                                 "output=2x3:f32^1,0~zeros"});
    CHECK(out["outputs"][0]["max"] == 6);

    const Ran none = tenon.run({"run", "MatMulFwdOp", "--inplace"});
    CHECK(none.status != 0);
  }

  TEST_CASE("strided, stepped, offset, reversed and expanded inputs give what dense ones give") {
    const BuiltCommand tenon;
    const auto sum_of = [&](const char* x) {
      INFO("x: ", x);
      const auto json = tenon.json(
          {"run", "AddFwdOp", std::string("self=") + x, "other=4x6:f32~zeros", "--check"});
      CHECK(json["check"]["ok"] == true);
      CHECK(json["outputs"][0]["nan_count"] == 0);
      return json["outputs"][0]["mean"].get<double>();
    };
    const double dense = sum_of("4x6:f32~arange");

    CHECK(sum_of("4x6:f32^1,0~arange") == dense);
    CHECK(sum_of("4x6:f32/2~arange") == dense);
    CHECK(sum_of("4x6:f32+3~arange") == dense);
    CHECK(sum_of("4x6:f32/-1~arange") == dense);
    CHECK(sum_of("4x6e:f32~const=2") == 2);
  }

  TEST_CASE("a call without elements runs no kernel") {
    const BuiltCommand tenon;

    const auto json = tenon.json({"run", "AddFwdOp", "self=0x4:f32", "other=4:f32"});

    CHECK(json["kernels"].empty());
    CHECK(json["outputs"][0]["shape"] == std::vector<int>{0, 4});
    CHECK(json["outputs"][0]["min"].is_null());
    CHECK(contains(tenon.run({"run", "AddFwdOp", "self=0x4:f32", "other=4:f32"}).out, "none ran"));
  }

  TEST_CASE("a device whose memory the host does not reach is fed by copies") {
    BuiltCommand tenon;
    tenon.with("TENON_PLUGIN_PATH", std::string(TENON_CPU_PLUGIN) + ":" + TENON_MOCK_PLUGIN);

    const auto json = tenon.json({"run",
                                  "AddFwdOp",
                                  "self=4x5:f32~arange",
                                  "other=4x5:f32^1,0~arange",
                                  "--device",
                                  "fake:1",
                                  "--check"});

    CHECK(json["device"] == "fake:1");
    CHECK(json["kernels"][0]["key"] == "fake:rows");
    CHECK(json["outputs"][0]["max"] == 38);
    CHECK(json["check"]["ok"] == true);
    CHECK(tenon.json(
              {"run", "AddFwdOp", "self=4:f32", "other=4:f32", "--target", "fake"})["device"] ==
          "fake:0");
  }

  TEST_CASE("a missing input is named") {
    check_wrong({"AddFwdOp", "self=4:f32"}, 1, "SignatureMismatch", {"other"});
  }

  TEST_CASE("a wrong rank is named") {
    check_wrong(
        {"RMSNormFwdOp", "x=256:f32", "weight=2x256:f32", "--set", "normalized_shape=[256]"},
        1,
        "SignatureMismatch",
        {"weight"});
  }

  TEST_CASE("sizes that do not agree name both tensors and the dimension") {
    check_wrong(
        {"MatMulFwdOp", "a=4x5:f32", "b=6x7:f32"}, 1, "SignatureMismatch", {"a", "b", "5", "6"});
  }

  TEST_CASE("a dtype outside the set is named with the set") {
    check_wrong({"RMSNormFwdOp", "x=4x256:i32", "--set", "normalized_shape=[256]"},
                1,
                "SignatureMismatch",
                {"int32", "float16", "x"});
  }

  TEST_CASE("a missing and an unknown parameter are named, with the nearest names") {
    check_wrong({"RMSNormFwdOp", "x=4x256:f32"}, 1, "SignatureMismatch", {"normalized_shape"});
    check_wrong({"RMSNormFwdOp", "x=4x256:f32", "--set", "normalised_shape=[256]"},
                2,
                "UsageError",
                {"normalised_shape", "did you mean 'normalized_shape'?"});
  }

  TEST_CASE("an unknown op and an unknown tensor get the nearest names") {
    check_wrong({"RMSNromFwdOp", "x=4:f32"}, 2, "OpNotFound", {"RMSNormFwdOp"});
    check_wrong(
        {"RMSNormFwdOp", "x=4x256:f32", "wieght=256:f32", "--set", "normalized_shape=[256]"},
        2,
        "UsageError",
        {"did you mean 'weight'?"});
  }

  TEST_CASE("an out of the wrong shape or dtype is refused") {
    check_wrong({"AddFwdOp", "self=4:f32", "other=4:f32", "output=5:f32"},
                1,
                "SignatureMismatch",
                {"4", "5"});
    check_wrong({"AddFwdOp", "self=4:f32", "other=4:f32", "output=4:f64"},
                1,
                "SignatureMismatch",
                {"float64"});
  }

  TEST_CASE("a tensor that cannot be read has a caret under the fault") {
    const BuiltCommand tenon;

    const Ran ran = tenon.run({"run", "AddFwdOp", "self=4x5:f23", "other=5:f32"});

    CHECK(ran.status == 2);
    CHECK(contains(ran.err, "  self=4x5:f23\n           ^\n"));
    CHECK(contains(ran.err, "did you mean 'f32'"));
    CHECK(tenon.run({"run", "AddFwdOp", "self=/no/such.npy", "other=5:f32"}).status == 2);
  }

  TEST_CASE("D72: an unknown target or device is answered with what there is") {
    const BuiltCommand tenon;

    const Ran target =
        tenon.run({"run", "AddFwdOp", "self=4:f32", "other=4:f32", "--target", "acme"});
    CHECK(target.status == 1);
    CHECK(contains(target.err, "there is no target 'acme'"));
    CHECK(contains(target.err, "available: builtin, cpu"));

    const Ran device =
        tenon.run({"run", "AddFwdOp", "self=4:f32", "other=4:f32", "--device", "cpu:7"});
    CHECK(device.status == 1);
    CHECK(contains(device.err, "cpu:7"));
    CHECK(contains(device.err, "available: cpu:0"));

    const Ran failed = tenon.run({"run",
                                  "AddFwdOp",
                                  "self=4:f32",
                                  "other=4:f32",
                                  "--target",
                                  "acme",
                                  "--plugin-path",
                                  TENON_WRONG_MAJOR_PLUGIN});
    CHECK(contains(failed.err, TENON_WRONG_MAJOR_PLUGIN));
  }

  TEST_CASE(
      "D73: where no kernel serves, the text has op, call and a reason per candidate, and explain "
      "has the same as data") {
    BuiltCommand tenon;
    tenon.with("TENON_PLUGIN_PATH", std::string(TENON_CPU_PLUGIN) + ":" + TENON_MOCK_PLUGIN);
    const Words call{"AddFwdOp", "self=4:f64", "other=4:f64", "--device", "fake:0"};

    const Ran ran = tenon.run(command("run", call));
    CHECK(ran.status == 1);
    CHECK(contains(ran.err, "error[NoImplementation]"));
    CHECK(contains(ran.err, "AddFwdOp"));
    CHECK(contains(ran.err, "fake:rows"));
    CHECK(contains(ran.err, "float64"));

    const auto json = tenon.json(command("explain", call), 1);
    CHECK(json["error"]["code"] == "NoImplementation");
    bool found = false;
    for (const auto& candidate : json["steps"][0]["candidates"]) {
      if (candidate["plugin"] != "fake" || candidate["round"] != 1) continue;
      found = true;
      CHECK(candidate["verdict"] == "unavailable");
      CHECK(candidate["reason"]["code"] == "DTYPE");
      CHECK_FALSE(candidate["reason"]["text"].get<std::string>().empty());
    }
    CHECK(found);
  }

  TEST_CASE(
      "D78: a misspelt target fails the same by variable, by file and by flag, and nothing runs") {
    const Words call{"run", "AddFwdOp", "self=4:f32", "other=4:f32"};
    BuiltCommand by_variable;
    by_variable.with("TENON_TARGET", "INVALID");
    const BuiltCommand by_file;
    const std::string file = by_file.folder().file("c.yaml", "target: INVALID\n");
    const BuiltCommand by_flag;

    for (const Ran& ran :
         {by_variable.run(call),
          by_file.run(command("run", Words(call.begin() + 1, call.end()), {"--config", file})),
          by_flag.run(command("run", Words(call.begin() + 1, call.end()), {"--target", "INVALID"})),
          by_flag.run(command(
              "run", Words(call.begin() + 1, call.end()), {"--set-config", "target=INVALID"}))}) {
      INFO("stderr: ", ran.err);
      CHECK(ran.status == 1);
      CHECK(ran.out.empty());
      CHECK(contains(ran.err, "error[UnknownTarget]"));
      CHECK(contains(ran.err, "INVALID"));
      CHECK(contains(ran.err, "builtin, cpu"));
    }
  }

  TEST_CASE("two unordered kernels are an error that names both") {
    BuiltCommand tenon;
    tenon.with("TENON_PLUGIN_PATH",
               std::string(TENON_ALPHA_PLUGIN) + ":" + TENON_BETA_PLUGIN + ":" + TENON_CPU_PLUGIN);

    const auto json = tenon.json({"explain", "AddFwdOp", "self=4:f32", "other=4:f32"}, 1);

    CHECK(json["error"]["code"] == "AmbiguousDispatch");
    std::size_t tied = 0;
    for (const auto& candidate : json["steps"][0]["candidates"])
      tied += candidate["verdict"] == "tied" ? 1u : 0u;
    CHECK(tied >= 2);
    CHECK(contains(
        tenon
            .run({"run", "AddFwdOp", "self=4:f32", "other=4:f32", "--set-config", "prefer=[alpha]"})
            .out,
        "alpha:fast"));
  }
}

}  // namespace
