// The Runtime: what plugins go through, what is kept of the bad ones, and the services that they
// get.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <thread>

#include <doctest/doctest.h>

#include "loader/fakes.hpp"
#include "loader/runtime_fixture.hpp"
#include "support/test_env.hpp"
#include "tenon/tenon.hpp"

namespace tenon {
namespace {

namespace fs = std::filesystem;
using test::fake;
using test::has;
using test::TempDir;

using Fixture = test::RuntimeFixture;

const PluginRecord& record_of(const Runtime& runtime, const std::string& id) {
  for (const PluginRecord& record : runtime.plugins()) {
    if (record.id == id) return record;
  }
  FAIL("no record of " << id);
  return runtime.plugins().front();
}

TEST_SUITE_BEGIN("loader/runtime");

TEST_CASE("a plugin is loaded, started and enumerated, and its devices are there") {
  Fixture fixture({fake("other", "bolt")});
  auto runtime = fixture.try_make();
  REQUIRE_MESSAGE(runtime, runtime.error().to_string());

  const PluginRecord& bolt = record_of(*runtime, "bolt");
  CHECK(bolt.state == PluginState::kActive);
  CHECK(bolt.stage == PluginStage::kCommit);
  CHECK(bolt.vendor == "Tests");
  CHECK(bolt.kinds == std::vector<std::string>{"bolt"});
  CHECK(runtime->snapshot()->plugins().size() == 1);
  CHECK(runtime->snapshot()->owner_of(DeviceKind::of("bolt")) == "bolt");
  CHECK(runtime->device("bolt:2").to_string() == "bolt:2");
  CHECK(runtime->default_device().to_string() == "cpu:0");
  CHECK(runtime->plugins_searched().size() == 1);
}

TEST_CASE("an empty list of enabled plugins enables none, and each record says so") {
  Fixture fixture({fake("other", "bolt")});
  fixture.set("plugins.enable", "");
  const auto runtime = fixture.try_make();
  REQUIRE(runtime);
  const PluginRecord& bolt = record_of(*runtime, "bolt");
  CHECK(bolt.state == PluginState::kDisabled);
  CHECK_MESSAGE(has(bolt.reason, "plugins.enable (api) is an empty list"), bolt.reason);
}

TEST_CASE("D02 D09 each bad plugin is one record and one line, and the good ones work") {
  Fixture fixture({fake("good", "acme"),
                   fake("init_fails", "sleepy"),
                   fake("init_mute", "mute"),
                   fake("enumerate_fails", "half"),
                   fake("throws", "thrower"),
                   fake("undefined", "undefined"),
                   fake("other", "bolt")});
  auto runtime = fixture.try_make();
  REQUIRE(runtime);

  CHECK(record_of(*runtime, "acme").state == PluginState::kActive);
  CHECK(record_of(*runtime, "bolt").state == PluginState::kActive);
  const auto check = [&](const char* id, PluginStage stage, tenon_status code, const char* part) {
    CAPTURE(std::string(id));
    const PluginRecord& record = record_of(*runtime, id);
    CHECK(record.state == PluginState::kRejected);
    CHECK(record.stage == stage);
    CHECK(record.code == code);
    CHECK(has(record.reason, part));
    CHECK(fixture.count(record.path, TENON_LOG_WARN) == 1);
    CHECK(fixture.count(record.path, TENON_LOG_ERROR) == 0);
  };
  check("sleepy", PluginStage::kValidate, TENON_UNAVAILABLE, "the license server is asleep");
  check("mute", PluginStage::kValidate, TENON_UNAVAILABLE, "gave no reason");
  check("half", PluginStage::kValidate, TENON_INTERNAL, "the second table is missing");
  check("thrower", PluginStage::kValidate, TENON_INTERNAL, "threw an exception: no such luck");
  check("undefined", PluginStage::kLoad, TENON_INCOMPATIBLE, "tenon_fake_nobody_defines_this");
  // Nothing that a failed plugin registered before it failed remains.
  CHECK(runtime->snapshot()->owner_of(DeviceKind::of("half")).empty());
  const auto targets = runtime->snapshot()->target_names();
  CHECK(std::find(targets.begin(), targets.end(), "half") == targets.end());
}

TEST_CASE(
    "D13 a table shorter by its optional end is taken, a missing required function is named") {
  Fixture fixture({fake("short", "shorter"), fake("no_enumerate", "blank")});
  auto runtime = fixture.try_make();
  REQUIRE(runtime);
  CHECK(record_of(*runtime, "shorter").state == PluginState::kActive);
  CHECK(record_of(*runtime, "blank").state == PluginState::kRejected);
  CHECK(has(record_of(*runtime, "blank").reason, "tenon_plugin.enumerate is missing"));
}

TEST_CASE("note and object must agree, sizes must be sound, unknown features are refused") {
  Fixture fixture({fake("note_differs", "liar"),
                   fake("size_zero", "zero"),
                   fake("size_huge", "huge"),
                   fake("feature", "featured"),
                   fake("bad_utf8", "bytes")});
  auto runtime = fixture.try_make();
  REQUIRE(runtime);
  const auto reason = [&](const char* id) {
    CHECK(record_of(*runtime, id).stage == PluginStage::kValidate);
    return record_of(*runtime, id).reason;
  };
  CHECK(has(reason("liar"), "version is '1.0.0' in the object and '9.9' in the note"));
  CHECK(has(reason("zero"), "struct_size is 0"));
  CHECK(has(reason("huge"), "struct_size is 1048576"));
  CHECK(has(reason("featured"), "requires features 0x8"));
  CHECK(has(reason("bytes"), "tenon_plugin.vendor is not UTF-8"));
}

TEST_CASE(
    "a version that cannot be compared is refused with what is expected; a suffix ranks below") {
  Fixture fixture({fake("version_word", "worded"),
                   fake("version_rc", "ranked"),
                   fake("version_old", "ranked")});
  auto runtime = fixture.try_make();
  REQUIRE(runtime);
  const PluginRecord& worded = record_of(*runtime, "worded");
  CHECK(worded.state == PluginState::kRejected);
  CHECK(worded.stage == PluginStage::kNote);
  CHECK_MESSAGE(
      has(worded.reason, "its version is 'latest'; expected numbers between dots, such as 1.2.3"),
      worded.reason);
  CHECK(record_of(*runtime, "ranked").version == "1.10-rc1");
}

TEST_CASE("init runs once per process, enumerate once per Runtime, also for two at a time") {
  Fixture first({fake("counted", "counted")});
  Fixture second({fake("counted", "counted")});
  std::thread other([&] { CHECK(second.try_make()); });
  CHECK(first.try_make());
  other.join();
  CHECK(first.count("init of counted") + second.count("init of counted") == 1);
  CHECK(first.count("enumerate of counted") + second.count("enumerate of counted") == 2);
}

TEST_CASE("two Runtimes of one process have registries of their own") {
  Fixture both({fake("good", "acme"), fake("other", "bolt")});
  Fixture one({fake("good", "acme")});
  auto first = both.try_make();
  auto second = one.try_make();
  REQUIRE(first);
  REQUIRE(second);
  CHECK(first->plugins().size() == 2);
  CHECK(second->plugins().size() == 1);
  CHECK(second->snapshot()->owner_of(DeviceKind::of("bolt")).empty());
  Runtime moved = std::move(*first);
  CHECK(moved.plugins().size() == 2);
}

TEST_CASE(
    "D80 a failing plugin is loud unless another target was chosen, and stops only who requires "
    "it") {
  const std::vector<std::string> plugins{fake("init_fails", "sleepy"), fake("good", "acme")};
  {
    Fixture fixture(plugins);
    REQUIRE(fixture.try_make());
    CHECK(fixture.count("asleep", TENON_LOG_WARN) == 1);
  }
  {
    Fixture fixture(plugins);
    fixture.set("target", "cpu");
    REQUIRE(fixture.try_make());
    CHECK(fixture.count("asleep", TENON_LOG_WARN) == 0);
    CHECK(fixture.count("asleep", TENON_LOG_INFO) == 1);
  }
  {
    Fixture fixture(plugins);
    fixture.set("plugins.required", "acme");
    CHECK(fixture.try_make());
  }
  {
    Fixture fixture(plugins);
    fixture.set("plugins.required", "acme, sleepy");
    const auto runtime = fixture.try_make();
    REQUIRE_FALSE(runtime);
    CHECK(runtime.error().code() == ErrorCode::kPluginRejected);
    CHECK(has(runtime.error().message(), "the license server is asleep"));
  }
  {
    Fixture fixture(plugins);
    fixture.set("plugins.required", "absent");
    CHECK(has(fixture.try_make().error().message(), "'absent' was not found"));
  }
}

TEST_CASE(
    "D84 a plugin sees its own options, and an unknown one is refused with place and known ones") {
  {
    Fixture fixture({fake("options", "tunable")});
    fixture.set("plugins.options.tunable.threads", "4");
    fixture.set("plugins.options.other.threads", "9");
    REQUIRE(fixture.try_make());
    CHECK(fixture.count("threads is 4") == 1);
    CHECK(fixture.count("no plugin 'other' was found", TENON_LOG_WARN) == 1);
  }
  {
    Fixture fixture({fake("options", "tunable")});
    fixture.options.config_file = fixture.folder.write(
        "tenon.yaml", "target: cpu\nplugins:\n  options:\n    tunable: {thraeds: 4}\n");
    const auto runtime = fixture.try_make();
    REQUIRE_FALSE(runtime);
    CHECK(runtime.error().code() == ErrorCode::kConfigInvalid);
    CHECK(has(runtime.error().message(), "plugin 'tunable' has no option 'thraeds'"));
    CHECK(has(runtime.error().where(), "tenon.yaml:4:15"));
    CHECK(has(runtime.error().hint(), "threads, mode"));
  }
  {
    Fixture fixture({fake("options", "tunable")});
    fixture.set("plugins.options.tunable.threads", "many");
    CHECK(has(fixture.try_make().error().message(),
              "'threads' of plugin 'tunable' must be an integer"));
  }
}

TEST_CASE("the default of an option is what its plugin declared") {
  Fixture fixture({fake("defaults", "untuned")});
  REQUIRE(fixture.try_make());
  CHECK(fixture.count("threads is 1") == 1);
}

TEST_CASE("D68 what a plugin puts into the cache is there for the next process of the same build") {
  Fixture fixture({fake("cache", "cached")});
  REQUIRE(fixture.try_make());
  CHECK(fixture.count("cache miss") == 1);
  CHECK(fixture.count("cache put") == 1);
  std::size_t entries = 0;
  for (const auto& each : fs::recursive_directory_iterator(fixture.folder / "cache")) {
    if (each.path().extension() == ".bin") ++entries;
  }
  CHECK(entries == 1);
}

TEST_CASE(
    "D06 a plugin loaded at run time is listed and selectable, and gone after it is disabled") {
  Fixture fixture({fake("good", "acme")});
  auto runtime = fixture.try_make();
  REQUIRE(runtime);
  const auto before = runtime->snapshot();
  const auto has_target = [&] {
    const auto names = runtime->snapshot()->target_names();
    return std::find(names.begin(), names.end(), "bolt") != names.end();
  };
  CHECK_FALSE(has_target());

  REQUIRE(runtime->load_plugin(fake("other", "bolt")));
  CHECK(has_target());
  CHECK(runtime->snapshot()->plugins().size() == 2);
  CHECK(before->plugins().size() == 1);  // a snapshot never changes

  const auto again = runtime->load_plugin(fake("other", "bolt"));
  REQUIRE_FALSE(again);
  CHECK(again.error().code() == ErrorCode::kPluginRejected);

  REQUIRE(runtime->disable_plugin("bolt"));
  CHECK_FALSE(has_target());
  CHECK(has(runtime->disable_plugin("acmee").error().hint(), "acme"));
  const auto bolt =
      std::find_if(runtime->plugins().begin(), runtime->plugins().end(), [](const PluginRecord& r) {
        return r.state == PluginState::kDisabled;
      });
  REQUIRE(bolt != runtime->plugins().end());
  CHECK(has(bolt->reason, "still mapped"));
}

TEST_CASE("a second owner of a device kind is rejected, naming both") {
  Fixture fixture({fake("other", "bolt"), fake("second_owner", "usurper")});
  auto runtime = fixture.try_make();
  REQUIRE(runtime);
  const PluginRecord& record = record_of(*runtime, "usurper");
  CHECK(record.state == PluginState::kRejected);
  CHECK(record.stage == PluginStage::kValidate);
  CHECK(record.code == TENON_ALREADY_EXISTS);
  CHECK(has(record.reason, "'bolt'"));
  CHECK(has(record.reason, "'usurper'"));
}

TEST_CASE("the kind cpu is the plugin cpu's, in both orders of loading") {
  const std::string owner = fake("cpu", "cpu");
  const std::string other = fake("false_cpu", "false-cpu");
  for (const bool owner_first : {true, false}) {
    CAPTURE(owner_first);
    Fixture fixture(owner_first ? std::vector<std::string>{owner, other}
                                : std::vector<std::string>{other, owner});
    auto runtime = fixture.try_make();
    REQUIRE(runtime);
    const PluginRecord& record = record_of(*runtime, "false-cpu");
    CHECK(record.state == PluginState::kRejected);
    CHECK(record.stage == PluginStage::kValidate);
    CHECK(record.code == TENON_ALREADY_EXISTS);
    CHECK(has(record.reason, "'false-cpu' declares the device kind 'cpu'"));
    CHECK(has(record.reason, "only the plugin with the id 'cpu' may own that kind"));
    CHECK(has(record.reason, "needs_kinds"));
    CHECK(record_of(*runtime, "cpu").state == PluginState::kActive);
    CHECK(runtime->device("cpu:2").get());
  }
}

TEST_CASE("a device kind that is the host's target or no kind's name rejects its plugin") {
  Fixture fixture({fake("kind_builtin", "host-kind"),
                   fake("kind_form", "kind-form"),
                   fake("kind_digit", "kind-digit")});
  auto runtime = fixture.try_make();
  REQUIRE(runtime);
  const auto rejected = [&](const std::string& id, tenon_status code, const std::string& why) {
    const PluginRecord& record = record_of(*runtime, id);
    CHECK(record.state == PluginState::kRejected);
    CHECK(record.code == code);
    CHECK_MESSAGE(has(record.reason, why), record.reason);
    CHECK(has(record.reason, "rename the kind"));
  };
  rejected("host-kind", TENON_ALREADY_EXISTS, "'builtin' is the host's own target");
  rejected("kind-form", TENON_INVALID_ARGUMENT, "'Bad_Kind', but a kind has lower-case letters");
  rejected("kind-digit", TENON_INVALID_ARGUMENT, "'1st', but a kind has lower-case letters");
}

TEST_CASE("D82 the index of the configured device counts, and visible ones keep their numbers") {
  Fixture fixture({fake("other", "bolt")});
  fixture.set("devices.default", "bolt:2");
  fixture.set("devices.visible.bolt", "[1, 2]");
  auto runtime = fixture.try_make();
  REQUIRE(runtime);
  CHECK(runtime->default_device().to_string() == "bolt:2");
  CHECK(runtime->device("bolt:1").get());
  CHECK_FALSE(runtime->device("bolt:0").get());
  const auto beyond = runtime->device("bolt:3");
  REQUIRE_FALSE(beyond.get());
  CHECK(has(beyond.get().error().to_string(), "2"));
  CHECK_FALSE(runtime->device("bolt:-1").get());
  CHECK_FALSE(runtime->device("bolt:x").get());
}

TEST_CASE("names in the configuration that nothing answers to are told with the nearest ones") {
  Fixture fixture({fake("good", "acme"), fake("other", "bolt")});
  fixture.set("prefer", "amce");
  fixture.set("devices.visible.blot", "0");
  fixture.set("devices.default", "bolt:0");
  fixture.set("plugins.disable", "acmee, zzz, else*");
  fixture.set("ops.RMSNormFwdOp.kernel.rms_norm_fwdd", "acme:rows");
  fixture.set("ops.RMSNormFwdOp.kernel.rms_norm_fwd", "acme:rosw");
  fixture.set("ops.RMSNormFwdOp.disable", "acme:rowz");
  fixture.set("ops.RMSNormFwdOp.target", "botl");
  fixture.set("ops.RMSNromFwdOp.target", "bolt");
  auto runtime = fixture.try_make();
  REQUIRE_MESSAGE(runtime, runtime.error().to_string());
  const auto told = [&](const char* part) {
    INFO(std::string(part));
    CHECK(fixture.count(part, TENON_LOG_WARN) == 1);
  };
  told("prefer (api): no plugin 'amce' was found; did you mean 'acme'?");
  told(
      "devices.visible.blot (api): no plugin in use owns a device kind 'blot'; did you mean "
      "'bolt'");
  told("plugins.disable (api): no plugin 'acmee' was found; did you mean 'acme'");
  told("plugins.disable (api): no plugin 'zzz' was found; there are: acme, bolt");
  told("op RMSNormFwdOp has no interface 'rms_norm_fwdd'; did you mean 'rms_norm_fwd'");
  told("interface rms_norm_fwd has no kernel 'acme:rosw'");
  told("op RMSNormFwdOp has no kernel 'acme:rowz'");
  told("there is no target 'botl'; did you mean 'bolt'");
  told("RMSNormFwdOp'?");
  CHECK(fixture.count("else*") == 0);  // a glob may be meant for another machine
  CHECK(fixture.count("devices.default") == 0);
}

TEST_CASE("a kernel that the configuration names says when its plugin is out of use") {
  Fixture fixture({fake("good", "acme")});
  fixture.set("plugins.disable", "acme");
  fixture.set("ops.RMSNormFwdOp.kernel.rms_norm_fwd", "acme:rows");
  auto runtime = fixture.try_make();
  REQUIRE(runtime);
  CHECK(fixture.count("has no kernel 'acme:rows'; plugin 'acme' is disabled: disabled by api",
                      TENON_LOG_WARN) == 1);
}

TEST_CASE("a hidden device is refused with the setting that hides it") {
  Fixture fixture({fake("other", "bolt")});
  fixture.set("devices.visible.bolt", "[1]");
  auto runtime = fixture.try_make();
  REQUIRE(runtime);
  const auto hidden = runtime->device("bolt:0");
  REQUIRE_FALSE(hidden.get());
  CHECK(hidden.get().error().message() == "device bolt:0 is hidden by devices.visible (api)");
}

TEST_CASE(
    "log.file takes the lines up to log.level, of the command too, control characters shown") {
  Fixture fixture({fake("good", "acme"), fake("init_fails", "sleepy")});
  const std::string file = fixture.folder / "tenon.log";
  fixture.options.is_command = true;
  fixture.set("log.file", file);
  fixture.set("log.level", "info");
  fixture.set("prefer", "\x1b[31m");
  REQUIRE(fixture.try_make());

  std::ifstream in(file);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  CHECK(has(text, "info loader: plugin acme 1.0.0 loaded"));
  CHECK(has(text, "the license server is asleep"));
  CHECK(has(text, "no plugin '\\x1b[31m' was found"));
  CHECK(fixture.lines.empty());

  Fixture unwritable({});
  unwritable.options.is_command = true;
  unwritable.set("log.file", "/dev/null/tenon.log");
  CHECK(unwritable.try_make().error().code() == ErrorCode::kConfigInvalid);
}

TEST_CASE("log.level decides what the command shows, and verbose adds information") {
  const auto lines_at = [](const std::string& level, bool verbose) {
    Fixture fixture({fake("good", "acme"), fake("init_fails", "sleepy")});
    fixture.options.is_command = true;
    fixture.options.verbose = verbose;
    if (!level.empty()) fixture.set("log.level", level);
    REQUIRE(fixture.try_make());
    return std::pair(fixture.count("loaded from", TENON_LOG_INFO),
                     fixture.count("asleep", TENON_LOG_WARN));
  };
  using Counts = std::pair<std::size_t, std::size_t>;
  CHECK(lines_at("", false) == Counts(0, 1));
  CHECK(lines_at("", true) == Counts(1, 1));
  CHECK(lines_at("error", false) == Counts(0, 0));
  CHECK(lines_at("info", false) == Counts(1, 1));
  CHECK(lines_at("error", true) == Counts(1, 1));
}

TEST_CASE("a file name with line ends makes one line of the log, not three") {
  Fixture fixture({});
  const std::string log = fixture.folder / "log";
  fixture.options.plugin_paths = {
      fixture.folder.write("a\nforged line\tb.tenon.so", "no shared object")};
  fixture.options.log = {};
  fixture.set("log.file", log);
  REQUIRE(fixture.try_make());
  const std::string text = test::read_file(log);
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
  CHECK(has(text, "a\\x0aforged line\\x09b.tenon.so"));
}

TEST_CASE("D78 a target that nothing serves is an error that lists the names, whoever sets it") {
  const auto error = [](const Fixture& fixture) {
    auto runtime = Runtime::create(fixture.options);
    REQUIRE(runtime);
    const auto op = runtime->make("AddFwdOp");  // refused at construction already
    REQUIRE_FALSE(op);
    CHECK(op.error().code() == ErrorCode::kUnknownTarget);
    return op.error().to_string();
  };
  Fixture by_setting({fake("other", "bolt")});
  by_setting.set("target", "INVALID");
  CHECK(has(error(by_setting), "bolt"));
  Fixture by_variable({fake("other", "bolt")});
  by_variable.options.environment = loader::Environment::of({{"TENON_TARGET", "INVALID"}});
  CHECK(has(error(by_variable), "bolt"));
  Fixture by_file({fake("other", "bolt")});
  by_file.options.config_file = by_file.folder.write("tenon.yaml", "target: INVALID\n");
  CHECK(has(error(by_file), "bolt"));

  Fixture plain({fake("other", "bolt")});
  auto runtime = plain.try_make();
  REQUIRE(runtime);
  const auto set = runtime->set_default_target("INVALID");
  REQUIRE_FALSE(set);
  CHECK(set.error().code() == ErrorCode::kUnknownTarget);
}

TEST_CASE("the shipped ops are there, and another set takes their place") {
  Fixture fixture({});
  auto runtime = fixture.try_make();
  REQUIRE_MESSAGE(runtime, runtime.error().to_string());
  CHECK(runtime->snapshot()->find("AddFwdOp") != nullptr);
  CHECK(runtime->make("AddFwdOp"));
  const auto wrong = runtime->make("AddFwdO");
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().code() == ErrorCode::kOpNotFound);

  fixture.options.manifest_paths = {fixture.folder / "nowhere"};
  const auto missing = fixture.try_make();
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code() == ErrorCode::kManifestInvalid);
}

TEST_CASE("the word shipped keeps the shipped ops beside another set") {
  constexpr const char* kOwn =
      "NegFwdOp:\n  family: own\n  status: spec-only\n  signature:\n"
      "    forall: {S: Shape, T: \"DType[float32]\"}\n"
      "    inputs: {x: {dtype: T, shape: \"[*S]\"}}\n"
      "    outputs: {y: {dtype: T, shape: \"[*S]\"}}\n"
      "  workloads: [{S: [4], dtype_cases: [{T: float32}], label: a}]\n"
      "  roofline: {flops: \"0\"}\n";
  Fixture fixture({});
  const std::string own = fixture.folder.write("own.yaml", kOwn);

  fixture.options.manifest_paths = {own};
  const auto alone = fixture.try_make();
  fixture.options.manifest_paths = {own, "shipped"};
  const auto both = fixture.try_make();

  REQUIRE_MESSAGE(alone, alone.error().to_string());
  CHECK(alone->snapshot()->find("NegFwdOp") != nullptr);
  CHECK(alone->snapshot()->find("AddFwdOp") == nullptr);
  REQUIRE_MESSAGE(both, both.error().to_string());
  CHECK(both->snapshot()->find("NegFwdOp") != nullptr);
  CHECK(both->snapshot()->find("AddFwdOp") != nullptr);
}

TEST_CASE("load_npy puts a file onto the default device") {
  Fixture fixture({fake("other", "bolt")});
  fixture.set("devices.default", "bolt:1");
  auto runtime = fixture.try_make();
  REQUIRE(runtime);
  const std::string file = fixture.folder / "x.npy";
  Tensor tensor = Tensor::host(DType::kFloat32, {2, 2}).value();
  tensor.data<float>()[3] = 7;
  REQUIRE(save_npy(file, tensor));
  const auto loaded = load_npy(file, runtime->default_device());
  REQUIRE_MESSAGE(loaded, loaded.error().to_string());
  CHECK(loaded->device().to_string() == "bolt:1");
  CHECK(loaded->data<float>()[3] == 7);  // the fake's memory is the host's
}

TEST_CASE("D65 what is no plugin is never mapped, and loading again grows nothing") {
  const auto mapped = [](const std::string& path) {
    return test::read_file("/proc/self/maps").find(path) != std::string::npos;
  };
  const auto descriptors = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  Fixture fixture({fake("no_entry", "noentry"), fake("no_note", "nonote"), fake("good", "acme")});
  REQUIRE(fixture.try_make());
  CHECK_FALSE(mapped(fake("no_entry", "noentry")));
  CHECK_FALSE(mapped(fake("no_note", "nonote")));
  CHECK(mapped(fake("good", "acme")));
  const auto before = descriptors();
  const auto maps = test::read_file("/proc/self/maps");
  const auto lines = std::count(maps.begin(), maps.end(), '\n');
  for (int i = 0; i < 20; ++i) REQUIRE(fixture.try_make());
  CHECK(descriptors() == before);
  const auto maps_after = test::read_file("/proc/self/maps");
  CHECK(std::count(maps_after.begin(), maps_after.end(), '\n') <= lines + 8);
}

TEST_SUITE_END();

}  // namespace
}  // namespace tenon
