// Plugins that would end the process: each is put aside by its probe, and the good one beside it
// computes.
#include "tenon/loader/probe.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>

#include <doctest/doctest.h>

#include "loader/fakes.hpp"
#include "loader/runtime_fixture.hpp"
#include "support/fake_control.hpp"
#include "support/fakes.hpp"
#include "support/test_env.hpp"
#include "tenon/tenon.hpp"

namespace tenon {
namespace {

using loader::ProbePart;
using loader::ProbeReport;
using loader::ProbeVerdict;
using test::has;
using test::TempDir;

/// With a good plugin, the mock device, and what a test adds.
class Fixture : public test::RuntimeFixture {
 public:
  explicit Fixture(std::vector<std::string> plugins)
      : RuntimeFixture(with_mock(std::move(plugins))) {
    options.probe_helper = TENON_PROBE_HELPER;
  }

 private:
  static std::vector<std::string> with_mock(std::vector<std::string> plugins) {
    test::fake_control();  // the board, before the first fake is mapped
    plugins.push_back(test::fake_path("fake"));
    return plugins;
  }
};

/// 1 + 1 on the mock device, in a word or the error.
std::string computed(const Runtime& runtime) {
  DeviceTable& devices = runtime.engine().devices();
  Tensor one = Tensor::host(DType::kFloat32, {4}).value();
  for (int i = 0; i < 4; ++i) one.data<float>()[i] = 1;
  const auto there = devices.to_device(one, Device{DeviceKind::of("fake"), 0});
  if (!there) return there.error().to_string();
  auto op = runtime.make("AddFwdOp");
  if (!op) return op.error().to_string();
  const auto sum = op->call({{"self", *there}, {"other", *there}});
  if (!sum) return sum.error().to_string();
  const auto here = devices.to_device(sum->front(), Device{});
  if (!here) return here.error().to_string();
  return here->data<float>()[3] == 2 ? "two" : "wrong";
}

ProbeReport probe(const std::string& file,
                  ProbePart part = ProbePart::kLoad,
                  int timeout_ms = 30000) {
  return loader::run_probe({TENON_PROBE_HELPER, file, part, std::chrono::milliseconds(timeout_ms)});
}

TEST_SUITE_BEGIN("loader/probe");

TEST_CASE("a plugin that ends the process while it loads is quarantined, the good one computes") {
  for (const char* where : {"constructor", "init", "enumerate"}) {
    for (const char* what : {"abort", "exit", "quick", "trap", "fault"}) {
      CAPTURE(std::string(where));
      CAPTURE(std::string(what));
      const TempDir folder;
      const std::string name = std::string(where) + "-" + what + ".tenon.so";
      Fixture fixture({folder.copy(test::fake("deed", "deed"), name)});
      const Runtime runtime = fixture.make();
      REQUIRE(runtime.plugins().size() == 2);
      const PluginRecord& bad = runtime.plugins()[0];
      CHECK(bad.state == PluginState::kQuarantined);
      CHECK(bad.stage == PluginStage::kProbe);
      CHECK(bad.code == TENON_INTERNAL);
      CHECK_MESSAGE(has(bad.reason,
                        std::string(where) == "constructor" ? "in a static constructor"
                                                            : std::string("in ") + where),
                    bad.reason);
      CHECK_MESSAGE((has(bad.reason, "killed by SIG") || has(bad.reason, "exit status")),
                    bad.reason);
      CHECK(fixture.count(bad.path + " (deed 1.0.0) is not used (probe)", TENON_LOG_WARN) == 1);
      CHECK(runtime.plugins()[1].state == PluginState::kActive);
      CHECK(computed(runtime) == "two");
      // It was never mapped here.
      CHECK_FALSE(has(test::read_file("/proc/self/maps"), bad.path));
    }
  }
}

TEST_CASE("a plugin that hangs while it loads is given up at the deadline, with what it ran") {
  for (const char* where : {"constructor", "init", "enumerate"}) {
    CAPTURE(std::string(where));
    const TempDir folder;
    const std::string name = std::string(where) + "-hang.tenon.so";
    Fixture fixture({folder.copy(test::fake("deed", "deed"), name)});
    // Long enough for the good one under a sanitizer.
    fixture.options.probe_timeout = std::chrono::milliseconds(3000);
    const Runtime runtime = fixture.make();
    const PluginRecord& bad = runtime.plugins()[0];
    CHECK(bad.state == PluginState::kQuarantined);
    CHECK(bad.stage == PluginStage::kProbe);
    CHECK_MESSAGE(has(bad.reason, "did not come back within 3000 ms"), bad.reason);
    CHECK(computed(runtime) == "two");
  }
}

TEST_CASE("a thread that a plugin starts and that aborts a little later is caught, too") {
  Fixture fixture({test::fake_path("late-abort")});
  const Runtime runtime = fixture.make();
  const PluginRecord& bad = runtime.plugins()[0];
  CHECK(bad.state == PluginState::kQuarantined);
  CHECK_MESSAGE(has(bad.reason, "it had started"), bad.reason);
  CHECK(computed(runtime) == "two");
}

TEST_CASE("C++ constructors that throw and init that throws end nothing but the probe") {
  Fixture fixture({test::fake_path("constructor-throw"), test::fake_path("init-throw")});
  const Runtime runtime = fixture.make();
  CHECK(runtime.plugins()[0].state == PluginState::kQuarantined);
  CHECK_MESSAGE(has(runtime.plugins()[0].reason, "it wrote: "), runtime.plugins()[0].reason);
  // What comes back as an error is no crash: it is refused where it always was.
  CHECK(runtime.plugins()[1].state == PluginState::kRejected);
  CHECK(runtime.plugins()[1].stage == PluginStage::kValidate);
  CHECK(has(runtime.plugins()[1].reason, "threw an exception: thrown by a fake"));
  CHECK(computed(runtime) == "two");
}

#if defined(__SSE__)
TEST_CASE("a plugin that closes every descriptor of its probe did that, and ended nothing") {
  const TempDir folder;
  const std::string path = folder / "init-closes.tenon.so";
  std::filesystem::copy_file(TENON_LOADER_FAKES "/doer/doer.tenon.so", path);
  const ProbeReport report = probe(path);
  CHECK(report.verdict == ProbeVerdict::kDied);
  CHECK_MESSAGE(report.text ==
                    "it closed the process's descriptors, the one that the probe reports by among "
                    "them, in init",
                report.text);
}

/// A plugin with an unwinder of its own that throws in `init`; empty where the build has none.
std::string thrower_apart(const TempDir& folder) {
  const std::string from = TENON_LOADER_FAKES "/doer-apart/doer.tenon.so";
  if (!std::filesystem::exists(from)) {
    MESSAGE("skipped: builds with sanitizers have no plugin with an unwinder of its own");
    return {};
  }
  std::filesystem::copy_file(from, folder / "init-throw.tenon.so");
  return folder / "init-throw.tenon.so";
}

TEST_CASE("a probe catches what a plugin with an unwinder of its own throws") {
  const TempDir folder;
  const std::string path = thrower_apart(folder);
  if (path.empty()) return;
  const ProbeReport report = probe(path);
  CHECK(report.verdict == ProbeVerdict::kFailed);
  CHECK_MESSAGE(report.text == "threw an exception: a driver is missing", report.text);
}

// In a process of its own, in which nothing else has thrown.
TEST_CASE("the loader catches what a plugin with an unwinder of its own throws") {
  const TempDir folder;
  const std::string path = thrower_apart(folder);
  if (path.empty()) return;
  Fixture fixture({path});
  fixture.options.settings.emplace_back("plugins.probe", "never");
  const Runtime runtime = fixture.make();
  const PluginRecord& thrower = runtime.plugins()[0];
  CHECK(thrower.state == PluginState::kRejected);
  CHECK_MESSAGE(has(thrower.reason, "it threw an exception: a driver is missing"), thrower.reason);
  CHECK(computed(runtime) == "two");
}

TEST_CASE("a plugin that flushes subnormal numbers to zero as it is loaded changes nothing here") {
  constexpr unsigned kExceptions = 0x3f;
  for (const char* where : {"constructor", "init", "enumerate", "count", "describe"}) {
    CAPTURE(std::string(where));
    const TempDir folder;
    const std::string name = std::string(where) + "-flush.tenon.so";
    Fixture fixture({folder.copy(test::fake("deed", "deed"), name)});
    const unsigned before = __builtin_ia32_stmxcsr();
    const Runtime runtime = fixture.make();
    const RuntimeDevice device = runtime.device("deed:0");
    const unsigned after = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before);
    CHECK((after & ~kExceptions) == (before & ~kExceptions));
    CHECK(device.get());
    CHECK(runtime.plugins()[0].state == PluginState::kActive);
    CHECK(fixture.count("changes the floating-point environment", TENON_LOG_WARN) == 1);
    const std::string when =
        std::string(where) == "constructor" ? "when it is loaded" : "in " + std::string(where);
    CHECK(fixture.count("plugin 'deed' changes the floating-point environment " + when +
                        " (built with -ffast-math?); it was restored") == 1);
    const Runtime again = fixture.make();
    CHECK(fixture.count("changes the floating-point environment") == 1);
  }
  // Nobody is told of a plugin that leaves it alone.
  Fixture fixture({});
  const Runtime runtime = fixture.make();
  CHECK(computed(runtime) == "two");
  CHECK(fixture.count("floating-point environment") == 0);
}

TEST_CASE("a probe tells which steps of a plugin changed the floating-point environment") {
  const TempDir folder;
  const auto said = [&](const std::string& name) {
    const ProbeReport report =
        probe(folder.copy(test::fake("deed", "deed"), name + ".tenon.so"), ProbePart::kDevices);
    CHECK(report.verdict == ProbeVerdict::kSurvived);
    const auto step = std::find_if(report.steps.begin(), report.steps.end(), [](const auto& each) {
      return each.name == "floating point";
    });
    return step == report.steps.end() ? std::string() : step->said;
  };
  CHECK(has(said("constructor-flush"), "in: load"));
  CHECK(has(said("init-flush"), "in: init"));
  CHECK(has(said("describe-flush"), "in: describe deed:0, describe deed:1"));
  CHECK(said("well-behaved").empty());
}
#endif

TEST_CASE("devices whose enumeration ends the process fail with the reason, others compute") {
  for (const char* name :
       {"count-abort", "count-exit", "count-trap", "count-fault", "count-hang", "describe-abort"}) {
    CAPTURE(std::string(name));
    const TempDir folder;
    Fixture fixture({folder.copy(test::fake("deed", "deed"), std::string(name) + ".tenon.so")});
    fixture.options.probe_timeout = std::chrono::milliseconds(3000);
    const Runtime runtime = fixture.make();
    // Loading asks for no device.
    CHECK(runtime.plugins()[0].state == PluginState::kActive);
    CHECK(fixture.count("(devices)") == 0);
    const RuntimeDevice device = runtime.device("deed:0");
    REQUIRE_FALSE(device.get());
    CHECK(device.get().error().code() == ErrorCode::kDeviceError);
    CHECK_MESSAGE(has(device.to_string(), "plugin 'deed' is quarantined"), device.to_string());
    const std::string step = std::string(name).substr(0, std::string(name).find('-'));
    CHECK_MESSAGE(has(device.to_string(), "in " + step + " deed"), device.to_string());
    CHECK(computed(runtime) == "two");
    CHECK(fixture.count("probe of " + runtime.plugins()[0].path + " (devices)") == 1);

    // The next Runtime does not take the plugin at all; only a new process can show that it is not
    // even mapped.
    Fixture next({runtime.plugins()[0].path});
    next.options.settings = fixture.options.settings;
    const Runtime again = next.make();
    CHECK_FALSE(again.device("deed:0").get());
    CHECK(computed(again) == "two");
  }
}

TEST_CASE("a plugin that survives its probe is loaded, and tried once per process") {
  const TempDir folder;
  const std::string file = folder.copy(test::fake("deed", "deed"), "plain.tenon.so");
  Fixture first({file});
  const Runtime runtime = first.make();
  CHECK(runtime.plugins()[0].state == PluginState::kActive);
  CHECK(first.count("probe of " + file + " (load): survived", TENON_LOG_INFO) == 1);
  CHECK(runtime.device("deed:2").to_string() == "deed:2");
  CHECK(first.count("probe of " + file + " (devices): survived", TENON_LOG_INFO) == 1);
  Fixture second({file});
  const Runtime again = second.make();
  CHECK(again.device("deed:2").to_string() == "deed:2");
  CHECK(second.count("probe of " + file) == 0);
}

TEST_CASE("without a helper plugins are loaded all the same, which is said once; always refuses") {
  const TempDir folder;
  const std::string file = folder.copy(test::fake("deed", "deed"), "plain.tenon.so");
  Fixture automatic({file, folder.copy(test::fake("other", "bolt"), "bolt.tenon.so")});
  automatic.options.probe_helper = "";
  const Runtime runtime = automatic.make();
  CHECK(runtime.plugins()[0].state == PluginState::kActive);
  CHECK(automatic.count("loaded without a probe", TENON_LOG_WARN) == 1);

  const std::string other = folder.copy(test::fake("deed", "deed"), "always.tenon.so");
  Fixture always({other});
  always.options.probe_helper = "";
  always.options.settings.emplace_back("plugins.probe", "always");
  const Runtime refused = always.make();
  CHECK(refused.plugins()[0].state == PluginState::kRejected);
  CHECK(refused.plugins()[0].stage == PluginStage::kProbe);
  CHECK(refused.plugins()[0].code == TENON_UNAVAILABLE);

  const std::string third = folder.copy(test::fake("deed", "deed"), "never.tenon.so");
  Fixture never({third});
  never.options.settings.emplace_back("plugins.probe", "never");
  const Runtime loaded = never.make();
  CHECK(loaded.plugins()[0].state == PluginState::kActive);
  CHECK(never.count("probe of") == 0);

  Fixture broken({folder.copy(test::fake("deed", "deed"), "broken.tenon.so")});
  broken.options.probe_helper = folder / "no-such-helper";
  CHECK(broken.make().plugins()[0].state == PluginState::kActive);
  CHECK(broken.count("is loaded without a probe: '", TENON_LOG_WARN) >= 1);
}

TEST_CASE("a probe reports its steps with their times, and dies with all of its descendants") {
  const TempDir folder;
  const std::string file = folder.copy(test::fake("deed", "deed"), "plain.tenon.so");
  const ProbeReport report = probe(file, ProbePart::kDevices);
  CHECK(report.verdict == ProbeVerdict::kSurvived);
  std::vector<std::string> names;
  for (const auto& step : report.steps) {
    names.push_back(step.name);
    CHECK(step.done);
  }
  CHECK(names == std::vector<std::string>{"load",
                                          "check",
                                          "init",
                                          "enumerate",
                                          "count deed",
                                          "describe deed:0",
                                          "describe deed:1",
                                          "describe deed:2",
                                          "exit"});
  CHECK(has(report.steps[4].said, "3 devices"));
  CHECK(report.steps[0].duration_ns > 0);
  CHECK(report.duration_ns >= report.steps[0].duration_ns);

  const ProbeReport refused = probe(test::fake("init_fails", "sleepy"));
  CHECK(refused.verdict == ProbeVerdict::kFailed);
  CHECK_MESSAGE(has(refused.text, "UNAVAILABLE: the license server is asleep"), refused.text);
  CHECK(refused.steps.back().name == "exit");
  CHECK(refused.steps.back().done);
  REQUIRE(refused.steps.size() > 1);
  CHECK(refused.steps[refused.steps.size() - 2].failed);
  const ProbeReport missing = probe(folder / "nothing.tenon.so");
  CHECK(missing.verdict == ProbeVerdict::kFailed);
  CHECK(has(missing.text, "cannot open shared object file"));
}

TEST_CASE("what a plugin does when the process ends belongs to its probe") {
  for (const char* name : {"destructor-abort",
                           "destructor-fault",
                           "destructor-quick",
                           "destructor-raw",
                           "destructor-hang",
                           "atexit-abort",
                           "atexit-quick"}) {
    CAPTURE(std::string(name));
    const TempDir folder;
    const std::string file =
        folder.copy(test::fake("doer", "doer"), std::string(name) + ".tenon.so");
    const ProbeReport report = probe(file, ProbePart::kLoad, 3000);
    CHECK(report.verdict == ProbeVerdict::kDied);
    CHECK_MESSAGE(has(report.text, "in a destructor or exit handler"), report.text);
    REQUIRE_FALSE(report.steps.empty());
    CHECK(report.steps.back().name == "exit");
    CHECK_FALSE(report.steps.back().done);
  }
  const TempDir folder;
  Fixture fixture({folder.copy(test::fake("doer", "doer"), "destructor-abort.tenon.so")});
  const Runtime runtime = fixture.make();
  CHECK(runtime.plugins().front().state == PluginState::kQuarantined);
  CHECK(computed(runtime) == "two");
}

TEST_CASE("a library that a plugin brings along and that is mended lifts its quarantine") {
  const TempDir folder;
  const std::string file = folder.copy(test::fake("leans", "leans"), "leans.tenon.so");
  const auto state = [&] {
    Fixture fixture({file});
    fixture.set("caches.directory", folder / "cache");
    const Runtime runtime = fixture.make();
    return runtime.plugins().front().state;
  };
  folder.copy(TENON_LOADER_FAKES "/leans/libtenon_fake_prop_bad.so", "libtenon_fake_prop.so");
  CHECK(state() == PluginState::kQuarantined);
  folder.copy(TENON_LOADER_FAKES "/leans/libtenon_fake_prop_good.so", "libtenon_fake_prop.so");
  CHECK(state() == PluginState::kActive);
}

TEST_CASE("a child that somebody else may have ended is tried again at the next start") {
  const TempDir folder;
  Fixture fixture({folder.copy(test::fake("deed", "deed"), "init-kill.tenon.so")});
  for (int start = 1; start <= 2; ++start) {
    const Runtime runtime = fixture.make();
    const PluginRecord& record = runtime.plugins().front();
    CHECK(record.state == PluginState::kQuarantined);
    CHECK_MESSAGE(has(record.reason, "SIGKILL"), record.reason);
    CHECK_MESSAGE(has(record.reason, "tried again at the next start"), record.reason);
    CHECK(computed(runtime) == "two");
  }
  std::size_t kept = 0;
  std::error_code none;  // then there is no folder either
  for (const auto& each :
       std::filesystem::directory_iterator(fixture.folder / "cache/probes", none)) {
    std::ifstream in(each.path());
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    kept += has(text, "init-kill") ? 1 : 0;
  }
  CHECK(kept == 0);
}

TEST_CASE("a helper that is no helper, or says nothing, is no success") {
  const auto verdict = [](const char* helper) {
    return loader::run_probe(
        {helper, "/x.tenon.so", ProbePart::kLoad, std::chrono::milliseconds(5000)});
  };
  // Nothing of a plugin has run: that a helper ends is no plugin's fault.
  CHECK(verdict("/bin/true").verdict == ProbeVerdict::kNotRun);
  CHECK(has(verdict("/bin/true").text, "exit status 0"));
  CHECK(has(verdict("/bin/true").text, "before it began"));
  CHECK(verdict("/nowhere/tenon-probe").verdict == ProbeVerdict::kNotRun);
}

TEST_CASE("the helper of this build is found beside its executables") {
  CHECK(loader::find_probe_helper() == std::filesystem::canonical(TENON_PROBE_HELPER).string());
}

TEST_SUITE_END();

}  // namespace
}  // namespace tenon
