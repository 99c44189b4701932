// Tests of what listings and reports look like, against golden files, and that their JSON is valid.
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "golden.hpp"
#include "run_support.hpp"
#include "view_devices.hpp"
#include "view_explanation.hpp"
#include "view_infer.hpp"
#include "view_ops.hpp"
#include "view_plugins.hpp"
#include "view_run.hpp"
#include "view_targets.hpp"

namespace {

using namespace tenon;
using namespace tenon::cli;
using tenon_test::check_golden;
using tenon_test::contains;

PluginListing sample_plugins() {
  PluginRecord cpu;
  cpu.id = "cpu";
  cpu.version = "0.1.0";
  cpu.vendor = "Tenon";
  cpu.path = "/usr/lib/tenon/plugins/cpu.tenon.so";
  cpu.from = "system folder";
  cpu.state = PluginState::kActive;
  cpu.stage = PluginStage::kCommit;
  cpu.abi_minor = 1;
  cpu.kinds = {"cpu"};
  cpu.ops = {"tenon::AddFwdOp", "tenon::RMSNormFwdOp"};
  cpu.kernel_types = 3;
  cpu.rejected_rows = {{"tenon::OldFwdOp",
                        "old_fwd",
                        "rows",
                        TENON_NOT_FOUND,
                        "no op of that name; did you mean 'GeluFwdOp'?"}};
  cpu.pending = {"device kind acme"};
  PluginRecord broken;
  broken.path =
      "/home/me/a/rather/long/folder/name/that/does/not/fit/into/eighty/columns/acme.tenon.so";
  broken.from = "command line";
  broken.state = PluginState::kRejected;
  broken.stage = PluginStage::kNote;
  broken.code = TENON_INCOMPATIBLE;
  broken.reason =
      "built for plugin ABI 2.0, this host serves 0.1; build the plugin against the headers of "
      "this version";
  PluginListing listing;
  listing.plugins = {cpu, broken};
  listing.searched = {{"/home/me/a", "command line"}, {"/usr/lib/tenon/plugins", "system folder"}};
  return listing;
}

DeviceRow sample_device() {
  DeviceFacts::Fields fields;
  fields.kind = "acme";
  fields.index = 1;
  fields.name = "Acme A3";
  fields.arch = "a3";
  fields.runs_archs = {"a3", "a2"};
  fields.memory_bytes = std::uint64_t{80} << 30;
  fields.unit_count = 96;
  fields.warp_size = 32;
  fields.shared_per_block_bytes = 49152;
  fields.pci = "0000:3b:00.0";
  fields.flags = TENON_DEVICE_FLAG_HOST_MEMORY;
  return {Device{DeviceKind::of("acme"), 1},
          "acme",
          DeviceFacts(fields),
          {Device{DeviceKind::of("bcme"), 0}},
          {}};
}

CandidateReport candidate(const char* plugin,
                          const char* key,
                          std::uint32_t round,
                          Verdict verdict,
                          const char* text = "") {
  CandidateReport report;
  report.plugin = plugin;
  report.key = key;
  report.round = round;
  report.verdict = verdict;
  report.reason.text = text;
  return report;
}

Explanation sample_explanation() {
  Explanation e;
  e.op = "RMSNormFwdOp";
  e.target = "builtin";
  e.target_from = "detection";
  e.branch = {{"present(weight)", true}, {"present(out)", false}};
  StepReport step;
  step.step = "rms_norm_fwd";
  step.interface = "rms_norm_fwd";
  step.call = {
      {"m", 2048}, {"n", 4096}, {"eps", Value()}, {"dtype", DType::kBFloat16}, {"affine", true}};
  step.facts = {{"x", "strided, 256-byte aligned"}, {"weight", "dense, 256-byte aligned"}};
  step.winner = "cpu:vector";
  step.round = 2;
  CandidateReport refused = candidate(
      "cpu", "vector", 1, Verdict::kUnavailable, "takes dense and inner layouts of x, got strided");
  refused.reason.code = TENON_REASON_LAYOUT;
  refused.reason.arg = "x";
  refused.reason.attribute = "layout";
  refused.reason.expected = "dense, inner";
  refused.reason.actual = "strided";
  CandidateReport chosen = candidate("cpu", "vector", 2, Verdict::kChosen);
  chosen.copies = {"x"};
  CandidateReport outranked = candidate("cpu", "rows", 2, Verdict::kOutranked);
  outranked.by = "cpu:vector";
  CandidateReport elsewhere = candidate(
      "acme", "rows", 1, Verdict::kUnavailable, "serves device kind acme, the call is on cpu");
  elsewhere.reason.code = TENON_REASON_DEVICE_KIND;
  step.candidates = {refused, elsewhere, chosen, outranked};
  e.steps = {step};
  e.rejected_plugins = {{"/opt/bad.tenon.so", "note", "not a plugin: no note"}};
  e.excluded = {{"cpu:slow", "tenon.yaml:4"}};
  return e;
}

RunReport sample_run() {
  RunReport report;
  report.op = "RMSNormFwdOp";
  report.device = "cpu:0";
  report.target = "builtin";
  report.inputs = {{"x", "bfloat16[2048, 4096]", "in.npy"},
                   {"weight", "bfloat16[4096]", "normal, seed 0"}};
  report.kernels = {{"rms_norm_fwd", "rms_norm_fwd", "cpu:vector", "preferred over cpu:rows"}};
  RunOutput output;
  output.name = "output";
  output.dtype = DType::kBFloat16;
  output.shape = Dims{2048, 4096};
  output.file = "/tmp/y.npy";
  output.stats = {-4.5, 4.25, 0.0001234, 2};
  report.outputs = {output};
  report.check = RunCheck{0.5,
                          0.00390625,
                          0.00195,
                          true,
                          "cpu:reference in float64",
                          "output[3, 17]: got 0.5, reference 0.501",
                          true,
                          {},
                          {}};
  report.time = RunTime{1234567, 1200000, 1400000, 400};
  report.roofline = Cost{33554432, 33562624};
  return report;
}

TEST_SUITE("cli/view") {
  TEST_CASE("plugins are listed with their path whole and the reason why one is not in use") {
    check_golden("plugins.txt", plugins_text(sample_plugins(), true, {}));
    check_golden("plugins.json", plugins_json(sample_plugins()));
  }

  TEST_CASE("no plugin at all is said, with the way to find out more") {
    CHECK(contains(plugins_text({}, false, {}), "no plugin was found; 'tenon plugins --search'"));
    CHECK(nlohmann::json::parse(plugins_json({}))["plugins"].empty());
  }

  TEST_CASE("devices of plugins are null in JSON until they were asked for") {
    PluginListing listing = sample_plugins();
    CHECK(nlohmann::json::parse(plugins_json(listing))["plugins"][0]["devices"].is_null());

    listing.devices.emplace();
    (*listing.devices)["cpu"] = {"cpu:0"};

    const auto json = nlohmann::json::parse(plugins_json(listing));
    CHECK(json["plugins"][0]["devices"] == std::vector<std::string>{"cpu:0"});
    CHECK(json["plugins"][1]["devices"].empty());
  }

  TEST_CASE("a plugin without devices says why in text and in JSON, once they were asked for") {
    PluginListing listing;
    PluginRecord widget;
    widget.id = "widget";
    widget.state = PluginState::kActive;
    widget.kinds = {"widget"};
    PluginRecord extra;
    extra.id = "extra";
    extra.state = PluginState::kActive;
    listing.plugins = {widget, extra};
    CHECK_FALSE(contains(plugins_text(listing, false, {}), "no device"));
    CHECK(nlohmann::json::parse(plugins_json(listing))["plugins"][0]["no_devices"].is_null());

    listing.devices.emplace();
    listing.no_devices["widget"] = {{"widget", "the driver\nis too old"}};

    const std::string text = plugins_text(listing, false, {});
    CHECK_MESSAGE(contains(text, "no device of kind widget: the driver\\x0ais too old"), text);
    CHECK_MESSAGE(contains(text, "no devices: it owns no device kind"), text);
    const auto json = nlohmann::json::parse(plugins_json(listing));
    CHECK(json["plugins"][0]["no_devices"][0]["kind"] == "widget");
    CHECK(json["plugins"][0]["no_devices"][0]["reason"] == "the driver\nis too old");
    CHECK(json["plugins"][1]["no_devices"].empty());
  }

  TEST_CASE(
      "devices are listed with the same card under another kind, and kinds without one with the "
      "reason") {
    const std::vector<DeviceRow> rows{sample_device()};
    const std::vector<AbsentKind> absent{{"bcme", "bcme", "the driver is not installed"}};

    check_golden("devices.txt", devices_text(rows, absent, {}));
    check_golden("devices.json", devices_json(rows, absent));
  }

  TEST_CASE("the JSON of devices reads back as assumed devices") {
    const DeviceRow row = sample_device();

    const auto assumed = parse_assumed(devices_json(std::vector{row}, {}), "devices.json");

    REQUIRE(assumed.has_value());
    REQUIRE(assumed->size() == 1);
    const DeviceFacts::Fields& back = assumed->front().fields();
    const DeviceFacts::Fields& was = row.facts.fields();
    CHECK(back.kind == was.kind);
    CHECK(back.index == was.index);
    CHECK(back.name == was.name);
    CHECK(back.arch == was.arch);
    CHECK(back.runs_archs == was.runs_archs);
    CHECK(back.memory_bytes == was.memory_bytes);
    CHECK(back.unit_count == was.unit_count);
    CHECK(back.warp_size == was.warp_size);
    CHECK(back.shared_per_block_bytes == was.shared_per_block_bytes);
    CHECK(back.pci == was.pci);
    CHECK(back.flags == was.flags);
  }

  TEST_CASE("a file of assumed devices says which device and field is at fault") {
    const auto fault = [](std::string_view text) {
      const auto assumed = parse_assumed(text, "d.json");
      REQUIRE_FALSE(assumed.has_value());
      CHECK(assumed.error().code() == ErrorCode::kUsageError);
      return assumed.error().message();
    };

    CHECK(contains(fault("not json"), "d.json holds no devices: it is not JSON"));
    CHECK(contains(fault("{}"), "there is no list 'devices'"));
    CHECK(contains(fault(R"({"devices": []})"), "is empty"));
    CHECK(contains(fault(R"({"devices": [{"arch": "a3"}]})"),
                   "device 1: neither 'device' nor 'kind'"));
    CHECK(contains(fault(R"({"devices": [{"kind": "acme"}]})"), "device 1: 'arch' is missing"));
    CHECK(contains(
        fault(R"({"devices": [{"device": "acme:0", "arch": "a3", "unit_count": "many"}]})"),
        "'unit_count' must be a whole number of its range, found \"many\""));
    CHECK(
        contains(fault(R"({"devices": [{"device": "acme:0", "arch": "a3", "runs_archs": "a3"}]})"),
                 "'runs_archs' must be a list of texts"));
    CHECK(contains(fault(R"({"devices": [{"device": "acme:x", "arch": "a3"}]})"),
                   "device 1: 'acme:x' is not a device"));
    CHECK(fault(R"({"devices": [{"kind": "acme"}]})") == "d.json: device 1: 'arch' is missing");
    CHECK(contains(fault(R"({"schema": 2, "devices": [{"device": "acme:0", "arch": "a3"}]})"),
                   "its 'schema' is 2; 1 is read"));
    CHECK(contains(fault(R"({"devices": [{"device": "acme:0", "index": 1, "arch": "a3"}]})"),
                   "'device' is acme:0, but 'kind' and 'index' are acme:1"));
  }

  TEST_CASE("targets are listed with what they claim and serve") {
    const std::vector<TargetRow> rows{
        {"builtin", false, "", {"acme", "cpu"}, {}, true, {"cpu:0"}},
        {"cpu", false, "cpu", {"cpu"}, {"AddFwdOp", "RMSNormFwdOp"}, false, {}},
        {"acme-graph", true, "acme", {"acme"}, {"RMSNormFwdOp"}, false, {"acme:0", "acme:1"}},
    };

    check_golden("targets.txt", targets_text(rows, {}));
    check_golden("targets.json", targets_json(rows));
  }

  TEST_CASE("ops are listed with contract, kernels and backward as columns of their own") {
    std::vector<OpRow> rows(2);
    rows[0] = {"RMSNormFwdOp",
               "norm",
               true,
               {"rms_norm_fwd"},
               3,
               {{"acme", 1}, {"cpu", 2}},
               {"builtin", "acme", "cpu"},
               "RMSNormBwdOp",
               false};
    rows[1] = {"acme::FooFwdOp", "foo", false, {}, 0, {}, {}, "", false};

    check_golden("ops.txt", ops_text(rows, {}));
    check_golden("ops.json", ops_json(rows));
  }

  TEST_CASE("kernel types between which nothing decides are named in pairs") {
    const auto type = [](const char* name, const char* kind, std::uint64_t flags) {
      auto made = std::make_shared<KernelType>();
      made->qualified = name;
      made->devices = {DeviceKind::of(kind)};
      made->row.flags = flags;
      return made;
    };
    InterfaceTable table;
    table.types = {type("a:fast", "cpu", 0),
                   type("a:rows", "cpu", TENON_KERNEL_GENERAL),
                   type("b:fast", "cpu", 0),
                   type("c:fast", "acme", 0),
                   type("d:reference", "cpu", TENON_KERNEL_REFERENCE)};
    table.beats.assign(25, false);
    using Pairs = std::vector<std::pair<std::string, std::string>>;
    CHECK(unordered_pairs(table) == Pairs{{"a:fast", "b:fast"}});

    table.beats[2 * 5 + 0] = true;  // b:fast is preferred over a:fast

    CHECK(unordered_pairs(table).empty());
  }

  TEST_CASE(
      "an explanation shows the winner first, then every other candidate by round with its "
      "reason") {
    check_golden("explanation.txt", explanation_text(sample_explanation(), {}));
    check_golden("explanation.json", explanation_json(sample_explanation()));
  }

  TEST_CASE("an explanation without a winner says so") {
    Explanation e = sample_explanation();
    e.steps[0].winner.reset();
    e.steps[0].candidates.resize(2);
    e.error = Error(ErrorCode::kNoImplementation, "no kernel takes the call");

    CHECK(contains(explanation_text(e, {}), "chosen: none"));
    const auto json = nlohmann::json::parse(explanation_json(e));
    CHECK(json["steps"][0]["winner"].is_null());
    CHECK(json["error"]["code"] == "NoImplementation");
  }

  TEST_CASE("an inference shows outputs, written inputs, indices and cost") {
    OpDecl decl;
    decl.name = "RMSNormFwdOp";
    decl.inputs.resize(1);
    decl.inputs[0].name = "x";
    decl.outputs.resize(2);
    decl.outputs[0].name = "output";
    decl.outputs[1].name = "rstd";
    decl.branches.resize(1);
    decl.branches[0].schema = "tenon::rms_norm_fwd(Tensor x) -> Tensor";
    Op::Inferred inferred;
    inferred.outputs.resize(2);
    inferred.outputs[0] = {true, DType::kBFloat16, Dims{2, 3}, 0, 0};
    inferred.outputs[1].present = false;
    inferred.written_inputs = {"x"};
    inferred.indices = {{"m", 2}, {"n", 3}};
    inferred.cost = Cost{24, 96};

    check_golden("infer.txt", inferred_text(decl, inferred, {}));
    check_golden("infer.json", inferred_json(decl, inferred));
  }

  TEST_CASE("a run shows inputs, kernel and why, outputs, cost, check and time") {
    check_golden("run.txt", run_text(sample_run(), {}));
    check_golden("run.json", run_json(sample_run()));
  }

  TEST_CASE("numbers that JSON lacks are written as texts") {
    RunReport report = sample_run();
    report.outputs[0].stats.max = std::numeric_limits<double>::infinity();
    report.outputs[0].stats.mean.reset();
    report.check->max_ulp = std::numeric_limits<double>::infinity();

    const auto json = nlohmann::json::parse(run_json(report));

    CHECK(json["outputs"][0]["max"] == "inf");
    CHECK(json["outputs"][0]["mean"].is_null());
    CHECK(json["check"]["max_ulp"] == "inf");
  }

  TEST_CASE("every table fits 80 columns but for paths") {
    for (const std::string& text : {devices_text(std::vector{sample_device()}, {}, {}),
                                    explanation_text(sample_explanation(), {}),
                                    run_text(sample_run(), {})}) {
      std::size_t start = 0;
      while (start < text.size()) {
        const std::size_t end = text.find('\n', start);
        CHECK_MESSAGE(end - start <= 80, text.substr(start, end - start));
        start = end + 1;
      }
    }
  }
}

}  // namespace
