// Tests of the built command: what `tenon run --check` sees of a kernel that is wrong.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "built_command.hpp"

namespace {

using tenon_test::BuiltCommand;
using tenon_test::contains;
using tenon_test::Ran;
using Words = std::vector<std::string>;

/// The command with the mock device and the plugin of wrong kernels.
class WithLies : public BuiltCommand {
 public:
  WithLies() {
    with("TENON_PLUGIN_PATH",
         std::string(TENON_CPU_PLUGIN) + ":" + TENON_MOCK_PLUGIN + ":" + TENON_LIES_PLUGIN);
  }
};

/// A checked add by one of its kernels.
Words checked(const std::string& key, const std::string& device, const Words& tensors) {
  Words words{"run", "AddFwdOp", "--check", "--device", device};
  words.insert(words.end(), tensors.begin(), tensors.end());
  words.insert(words.end(), {"--set-config", "ops.AddFwdOp.kernel.add_fwd=lies:" + key});
  return words;
}

const Words kSmall{"self=4x5:f32~normal", "other=4x5:f32~normal@1"};

/// The faults of one kernel, on memory of the host and on memory that only copies reach.
void check_fault(const std::string& key,
                 const Words& tensors,
                 const std::string& kind,
                 const std::string& tensor,
                 int count,
                 const std::string& text) {
  const WithLies tenon;
  for (const char* device : {"cpu", "fake:1"}) {
    INFO("key: ", key, ", device: ", device);
    const auto json = tenon.json(checked(key, device, tensors), 1);
    CHECK(json["kernels"][0]["key"] == "lies:" + key);
    CHECK(json["check"]["ok"] == false);
    REQUIRE(json["check"]["faults"].size() == 1);
    const auto& fault = json["check"]["faults"][0];
    CHECK(fault["kind"] == kind);
    CHECK(fault["tensor"] == tensor);
    CHECK(fault["count"] == count);
    const Ran ran = tenon.run(checked(key, device, tensors));
    CHECK(ran.status == 1);
    CHECK(contains(ran.err, text));
    CHECK(contains(ran.out, "WRONG"));
  }
}

TEST_SUITE("cli/check_e2e") {
  TEST_CASE("a kernel that is right passes with guards around its memory") {
    const WithLies tenon;

    for (const char* device : {"cpu", "fake:1"}) {
      const auto json = tenon.json(checked("honest", device, kSmall));
      CHECK(json["kernels"][0]["key"] == "lies:honest");
      CHECK(json["check"]["ok"] == true);
      CHECK(json["check"]["faults"].empty());
    }
  }

  TEST_CASE("writing past the end of an output is found, with how far and by which kernel") {
    check_fault("over2",
                kSmall,
                "past_end",
                "output",
                8,
                "kernel 'lies:over2' wrote 8 bytes past the end of output 'output' (float32[4, 5] "
                "in 80 bytes)");
  }

  TEST_CASE("what is written far behind an output is counted in bytes, and how far it is told") {
    check_fault("far_over",
                kSmall,
                "past_end",
                "output",
                4,
                "kernel 'lies:far_over' wrote 4 bytes past the end of output 'output' (float32[4, "
                "5] in 80 bytes), as far as 4004 bytes");
  }

  TEST_CASE("writing past the end of a workspace is found right behind what the kernel asked for") {
    const WithLies tenon;
    for (const char* device : {"cpu", "fake:1"}) {
      INFO("device: ", device);
      const Words words = checked("workspace_over", device, kSmall);
      const auto json = tenon.json(words, 1);
      REQUIRE(json["check"]["faults"].size() == 1);
      const auto& fault = json["check"]["faults"][0];
      CHECK(fault["kind"] == "past_end");
      CHECK(fault["tensor"].is_null());
      CHECK(fault["count"] == 4);
      CHECK(contains(tenon.run(words).err,
                     "kernel 'lies:workspace_over' wrote 4 bytes past the end of 100 bytes that "
                     "were made for the call"));
    }
  }

  TEST_CASE("memory that the check has none left of is not the application's to answer for") {
    const BuiltCommand tenon;

    // 400 TB, more than there are addresses for
    const Ran ran = tenon.run(
        {"run", "AddFwdOp", "self=10000000x1:f32~zeros", "other=1x10000000:f32~zeros", "--check"});

    CHECK(ran.status == 1);
    CHECK_MESSAGE(contains(ran.err, "allocating 400000000000000 bytes on cpu:0 failed"), ran.err);
    CHECK_MESSAGE(contains(ran.err, "--check asks for 131072 bytes more, for its guards"), ran.err);
    CHECK_FALSE(contains(ran.err, "application"));
  }

  TEST_CASE("a script for which a reference kernel is no pass says so by a setting") {
    const BuiltCommand tenon;
    const Words add{"run", "AddFwdOp", "self=4:f32", "other=4:f32", "--check"};
    Words by_reference = add;
    by_reference.insert(by_reference.end(),
                        {"--set-config", "ops.AddFwdOp.disable=[cpu:vector]", "--set-config"});

    Words allowed = by_reference;
    allowed.emplace_back("selection.reference=allow");
    const auto json = tenon.json(allowed);
    CHECK(json["check"]["compared"] == false);
    Words refused = by_reference;
    refused.emplace_back("selection.reference=error");
    CHECK(tenon.run(refused).status == 1);
    Words compared = add;
    compared.insert(compared.end(), {"--set-config", "selection.reference=error"});
    CHECK(tenon.json(compared)["check"]["compared"] == true);
  }

  TEST_CASE("writing before the start of an output is found") {
    check_fault("under1", kSmall, "before_start", "output", 4, "wrote 4 bytes before the start");
  }

  TEST_CASE("an output that is not written is found, even where what it would hold is right") {
    check_fault("nowrite",
                kSmall,
                "unwritten",
                "output",
                20,
                "kernel 'lies:nowrite' did not write output 'output' at all (20 elements)");
    // As a given output that holds the very result, and one of zeros.
    check_fault("nowrite",
                {"self=4:f32~const=1", "other=4:f32~const=2", "output=4:f32~const=3"},
                "unwritten",
                "output",
                4,
                "did not write output 'output' at all (4 elements)");
    check_fault("nowrite",
                {"self=4:f32~zeros", "other=4:f32~zeros", "output=4:f32~zeros"},
                "unwritten",
                "output",
                4,
                "did not write output 'output' at all (4 elements)");
  }

  TEST_CASE("a result that has the bits of the poison is told from one that was not written") {
    const WithLies tenon;
    const Words minus_one{"self=6:i32~zeros", "other=6:i32~const=-1"};

    const auto json = tenon.json({"run",
                                  "AddFwdOp",
                                  "--check",
                                  minus_one[0],
                                  minus_one[1],
                                  "--set-config",
                                  "ops.AddFwdOp.kernel.add_fwd=cpu:reference"});

    CHECK(json["outputs"][0]["max"] == -1);
    CHECK(json["check"]["faults"].empty());
    check_fault("leaves_last", kSmall, "unwritten", "output", 1, "did not write 1 of the 20");
  }

  TEST_CASE("a floating-point environment that a kernel leaves is found and spoils no reference") {
    const WithLies tenon;
    for (const std::string key : {"flushes", "rounds_up", "traps"}) {
      INFO("key: ", key);
      const Words words =
          checked(key, "cpu", {"self=4:f32~const=1e-40", "other=4:f32~const=1e-40"});
      const auto json = tenon.json(words, 1);
      CHECK(json["outputs"][0]["min"].get<double>() > 0);
      CHECK(json["check"]["max_ulp"] == 0);
      CHECK(json["check"]["ok"] == false);
      REQUIRE(json["check"]["faults"].size() == 1);
      CHECK(json["check"]["faults"][0]["kind"] == "environment");
      CHECK(json["check"]["faults"][0]["tensor"].is_null());
      CHECK(contains(tenon.run(words).err,
                     "kernel 'lies:" + key +
                         "' changed the floating-point environment and did not restore it"));
    }
  }

  TEST_CASE("an input that the op does not write must stay as it is") {
    check_fault("changes_input",
                kSmall,
                "input",
                "other",
                4,
                "changed 4 bytes of input 'other', which the op does not write");
  }

  TEST_CASE("where the reference kernel itself ran, nothing was compared, and that is said") {
    const BuiltCommand tenon;
    const Words words{"run",
                      "AddFwdOp",
                      "self=4:f32",
                      "other=4:f32",
                      "--check",
                      "--set-config",
                      "ops.AddFwdOp.kernel.add_fwd=cpu:reference"};

    const auto json = tenon.json(words);
    CHECK(json["check"]["compared"] == false);
    CHECK(json["check"]["not_compared"] ==
          "the reference kernel 'cpu:reference' itself ran, and agrees with itself");
    CHECK(contains(tenon.run(words).out, "check     nothing compared: the reference kernel"));
    const WithLies others;
    CHECK(others.json(checked("honest", "cpu", kSmall))["check"]["compared"] == true);
  }

  TEST_CASE("compositions are held against the references of their stages") {
    const BuiltCommand tenon;
    for (const char* dtype : {"f32", "bf16", "f16"}) {
      INFO("dtype: ", dtype);
      const std::string type = std::string(":") + dtype;
      const auto norm = tenon.json({"run",
                                    "FusedAddRMSNormFwdOp",
                                    "x=6x192" + type,
                                    "residual=6x192" + type,
                                    "weight=192" + type,
                                    "--check"});
      CHECK(norm["check"]["ok"] == true);
      CHECK(norm["check"]["compared"] == true);
      CHECK(contains(norm["check"]["reference"].get<std::string>(),
                     "the references of its stages on float64: AddFwdOp (cpu:reference), "
                     "RMSNormFwdOp (cpu:reference)"));
      const auto attention = tenon.json({"run",
                                         "GroupedQueryAttentionDenseFwdOp",
                                         "q=2x1x6x16" + type,
                                         "k=2x700x2x16" + type,
                                         "v=2x700x2x16" + type,
                                         "--check"});
      CHECK(attention["kernels"].size() == 2);
      CHECK(attention["check"]["ok"] == true);
    }
  }

  TEST_CASE("an op whose reference is nowhere fails the check and says so") {
    BuiltCommand tenon;
    tenon.with("TENON_PLUGIN_PATH", TENON_LIES_PLUGIN);

    const Ran ran = tenon.run({"run",
                               "AddFwdOp",
                               "self=4:f32",
                               "other=4:f32",
                               "--check",
                               "--set-config",
                               "ops.AddFwdOp.kernel.add_fwd=lies:honest"});

    CHECK(ran.status == 1);
    CHECK(contains(ran.err, "device kind 'cpu'"));
  }

  TEST_CASE("an input that the op writes may change") {
    const WithLies tenon;

    for (const char* device : {"cpu", "fake:1"}) {
      Words words = checked("honest", device, kSmall);
      words.emplace_back("--inplace");
      CHECK(tenon.json(words)["check"]["faults"].empty());
    }
  }

  TEST_CASE("what lies between the elements of a given output must stay as it is") {
    check_fault("fills_gap",
                {"self=4x5:f32", "other=4x5:f32", "output=4x5:f32/2"},
                "gap",
                "output",
                4,
                "changed 4 bytes beside the elements of output 'output' (strides [10, 2]), the "
                "first at byte 4 of its memory");
  }
}

}  // namespace
