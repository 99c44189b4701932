// `tenon plugins doctor`, and what probes leave for the next process, with the built command.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "built_command.hpp"
#include "support/fakes.hpp"

using namespace tenon_test;
using tenon::test::fake_path;
namespace fs = std::filesystem;

namespace {

/// Verdict of each check of the only plugin.
std::map<std::string, nlohmann::json> checks_of(const nlohmann::json& document) {
  REQUIRE(document["plugins"].size() == 1);
  std::map<std::string, nlohmann::json> checks;
  for (const auto& check : document["plugins"][0]["checks"]) {
    CHECK(check.size() == 5);
    checks[check["check"]] = check;
  }
  return checks;
}

std::string text(const nlohmann::json& check, const char* field) {
  return check.is_object() && check[field].is_string() ? check[field].get<std::string>() : "";
}

nlohmann::json plugin_at(const nlohmann::json& listing, const std::string& path) {
  for (const auto& plugin : listing["plugins"]) {
    if (plugin["path"] == path) return plugin;
  }
  FAIL("not listed: " << path);
  return {};
}

/// How many processes have these words among their arguments; one that has ended has none.
std::size_t processes_with(const std::string& word, const std::string& other = {}) {
  std::size_t found = 0;
  std::error_code error;
  for (const auto& process : fs::directory_iterator("/proc", error)) {
    std::ifstream file(process.path() / "cmdline");
    std::string line;
    // Bears with a process that ends meanwhile; a buffer's iterator throws.
    for (std::string part; std::getline(file, part, '\0');) line += part + ' ';
    found += contains(line, word) && contains(line, other) ? 1 : 0;
  }
  return found;
}

template <class Condition>
bool soon(const Condition& holds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < deadline) {
    if (holds()) return true;
  }
  return false;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

}  // namespace

TEST_SUITE("cli/doctor") {
  TEST_CASE("a sound plugin passes every check, with the times of its own code") {
    const BuiltCommand command;
    const auto document = command.json({"plugins", "doctor", TENON_CPU_PLUGIN});
    CHECK(document["plugins"][0]["ok"] == true);
    CHECK(document["plugins"][0]["id"] == "cpu");
    auto checks = checks_of(document);
    for (const char* name : {"file",
                             "note",
                             "ABI",
                             "entry symbol",
                             "load",
                             "handshake",
                             "init",
                             "enumerate",
                             "count cpu",
                             "describe cpu:0",
                             "registration"}) {
      CAPTURE(std::string(name));
      REQUIRE(checks.contains(name));
      CHECK(checks[name]["verdict"] != "fail");
      CHECK(checks[name]["verdict"] != "skipped");
    }
    CHECK(checks["init"]["duration_ns"].is_number());
    CHECK(checks["note"]["duration_ns"].is_null());
    CHECK(contains(text(checks["registration"], "found"), "kernel types"));
    const Ran shown = command.run({"plugins", "doctor", TENON_CPU_PLUGIN});
    CHECK(shown.status == 0);
    CHECK(contains(shown.out, "is sound"));
  }

  TEST_CASE("devices are counted and described in the child") {
    auto checks = checks_of(BuiltCommand().json({"plugins", "doctor", TENON_MOCK_PLUGIN}));
    CHECK(contains(text(checks["count fake"], "found"), "2 devices"));
    CHECK(checks["describe fake:1"]["verdict"] == "pass");
  }

  TEST_CASE("a device kind that cannot be counted or described fails, with what to mend") {
    const BuiltCommand command;
    const auto failed = [&](const char* name, const char* check, const char* found) {
      const std::string plugin = command.folder().at(std::string(name) + ".tenon.so");
      fs::copy_file(TENON_DOER_PLUGIN, plugin);
      const auto document = command.json({"plugins", "doctor", plugin}, 1);
      CAPTURE(std::string(name));
      CHECK(document["plugins"][0]["ok"] == false);
      auto checks = checks_of(document);
      CHECK(checks[check]["verdict"] == "fail");
      CHECK_MESSAGE(contains(text(checks[check], "found"), found), text(checks[check], "found"));
      // The process went on: a plugin's other kinds may work.
      CHECK(checks["registration"]["verdict"] == "pass");
      return text(checks[check], "fix");
    };
    CHECK(contains(failed("count-throw", "count doing", "threw an exception: a table is gone"),
                   "count comes back with OK, 0"));
    failed("count-many", "count doing", "5000 devices; at most 1024 are believed");
    failed("describe-throw", "describe doing:0", "threw an exception: a table is gone");
    failed("describe-fails", "describe doing:0", "DEVICE: error 719");
    for (const char* name : {"describe-heap", "describe-stack"})
      CHECK(contains(failed(name, "describe doing:0", "name is no printable text"), "static"));
    failed("describe-wild", "describe doing:0", "pci points to no memory that can be read");
  }

  TEST_CASE("what the file says of itself is judged before any of its code runs") {
    const BuiltCommand command;
    auto checks = checks_of(command.json({"plugins", "doctor", TENON_WRONG_MAJOR_PLUGIN}, 1));
    CHECK(checks["ABI"]["verdict"] == "fail");
    CHECK(contains(text(checks["ABI"], "found"), "ABI 7."));
    CHECK_FALSE(text(checks["ABI"], "fix").empty());
    CHECK(checks["load"]["verdict"] == "skipped");
    CHECK_FALSE(checks.contains("init"));

    checks = checks_of(command.json({"plugins", "doctor", fake_path("no-note")}, 1));
    CHECK(contains(text(checks["note"], "fix"), "TENON_PLUGIN_NOTE"));
    std::ofstream(command.folder().at("empty.so")) << "";
    checks = checks_of(command.json({"plugins", "doctor", command.folder().at("empty.so")}, 1));
    CHECK(checks["file"]["verdict"] == "fail");
    CHECK(command.run({"plugins", "doctor", "nowhere.tenon.so"}).status == 2);
    CHECK(command.run({"plugins", "doctor", TENON_CPU_PLUGIN, "--timeout", "soon"}).status == 2);
  }

  TEST_CASE("nothing is said of the symbols of a file that is no shared object") {
    const BuiltCommand command;
    const std::string file = command.folder().at("text.tenon.so");
    std::ofstream(file) << "no plugin";

    const auto checks = checks_of(command.json({"plugins", "doctor", file}, 1));

    CHECK(checks.at("file")["verdict"] == "fail");
    CHECK(checks.at("symbols")["verdict"] == "skipped");
    CHECK(checks.size() == 3);  // and load
  }

  TEST_CASE("the rules of the linter that hold are counted among all, with those left out") {
    const BuiltCommand command;
    auto checks = checks_of(command.json({"plugins", "doctor", TENON_CPU_PLUGIN}));

    const std::string found = text(checks["symbols"], "found");
    if (found == "tenon-plugin-lint is not installed") return;
    CHECK_MESSAGE(
        found ==
            "10 of 11 rules of tenon-plugin-lint hold; library-clash: no other plugin was "
            "given to compare with (--beside)",
        found);
  }

  TEST_CASE("a plugin that crashes or hangs is told with its step, and the command lives") {
    const BuiltCommand command;
    auto checks = checks_of(command.json({"plugins", "doctor", fake_path("constructor-abort")}, 1));
    CHECK(checks["load"]["verdict"] == "fail");
    CHECK(contains(text(checks["load"], "found"), "in a static constructor"));
    CHECK(checks["registration"]["verdict"] == "skipped");

    checks = checks_of(command.json({"plugins", "doctor", fake_path("init-exit")}, 1));
    CHECK(checks["handshake"]["verdict"] == "pass");
    CHECK(checks["init"]["verdict"] == "fail");
    CHECK(contains(text(checks["init"], "found"), "exit status"));

    checks =
        checks_of(command.json({"plugins", "doctor", fake_path("init-hang"), "--timeout", "2"}, 1));
    CHECK(contains(text(checks["init"], "found"), "did not come back within 2000 ms"));

    checks = checks_of(command.json({"plugins", "doctor", fake_path("init-error")}, 1));
    CHECK(contains(text(checks["init"], "found"), "UNAVAILABLE: the fake's licence has run out"));
    CHECK(checks["init"]["verdict"] == "fail");
    CHECK(checks["exit"]["verdict"] == "pass");
  }

  TEST_CASE("what a plugin does when the process ends is a check of its own") {
    const BuiltCommand command;
    const auto exit_of = [&](const char* name, const std::vector<std::string>& more = {}) {
      const std::string plugin = command.folder().at(std::string(name) + ".tenon.so");
      fs::copy_file(TENON_DOER_PLUGIN, plugin);
      std::vector<std::string> words{"plugins", "doctor", plugin};
      words.insert(words.end(), more.begin(), more.end());
      return checks_of(command.json(words, 1))["exit"];
    };
    for (const char* name : {"destructor-abort", "atexit-fault", "destructor-quick"}) {
      const auto check = exit_of(name);
      CAPTURE(std::string(name));
      CHECK(check["verdict"] == "fail");
      CHECK(contains(text(check, "found"), "in a destructor or exit handler"));
    }
    CHECK(contains(text(exit_of("destructor-hang", {"--timeout", "2"}), "found"),
                   "did not come back within 2000 ms"));
  }

#if defined(__x86_64__)
  TEST_CASE("a plugin that flushes subnormal numbers to zero is warned about") {
    const BuiltCommand command;
    const std::string plugin = command.folder().at("constructor-flush.tenon.so");
    fs::copy_file(TENON_DEED_PLUGIN, plugin);
    auto checks = checks_of(command.json({"plugins", "doctor", plugin}));
    CHECK(checks["floating point"]["verdict"] == "warn");
    CHECK(contains(text(checks["floating point"], "found"), "in: load"));
    CHECK(contains(text(checks["floating point"], "fix"), "-ffast-math"));
    const auto sound = checks_of(command.json({"plugins", "doctor", TENON_CPU_PLUGIN}));
    CHECK_FALSE(sound.contains("floating point"));
  }
#endif

  TEST_CASE("a plugin that registers nothing is warned about") {
    const Ran shown = BuiltCommand().run({"plugins", "doctor", fake_path("no-rows")});
    CHECK(shown.status == 0);
    auto checks = checks_of(BuiltCommand().json({"plugins", "doctor", fake_path("no-rows")}));
    CHECK(checks["registration"]["verdict"] == "warn");
    CHECK(contains(text(checks["registration"], "fix"), "enumerate"));
  }

  TEST_CASE("a doctor that is killed leaves none of its processes behind") {
    const BuiltCommand command;
    const std::string plugin = command.folder().at("init-hang.tenon.so");
    fs::copy_file(TENON_DOER_PLUGIN, plugin);
    for (const int number : {SIGKILL, SIGTERM, SIGINT}) {
      CAPTURE(number);
      const pid_t doctor = command.start({"plugins", "doctor", plugin});
      REQUIRE(soon([&] { return processes_with(plugin, "tenon-probe") == 1; }));
      REQUIRE(kill(doctor, number) == 0);
      int status = 0;
      REQUIRE(waitpid(doctor, &status, 0) == doctor);
      CHECK(WIFSIGNALED(status));
      CHECK(WTERMSIG(status) == number);
      CHECK(soon([&] { return processes_with(plugin) == 0; }));
    }
  }

  TEST_CASE("rows that would be left out are checks of their own, with the nearest name") {
    const BuiltCommand command;
    auto checks = checks_of(command.json({"plugins", "doctor", fake_path("unknown-op")}, 1));
    CHECK(checks["row fast"]["verdict"] == "fail");
    CHECK(contains(text(checks["row fast"], "found"), "did you mean 'AddFwdOp'?"));
    CHECK(contains(text(checks["registration"], "found"), "1 kernel type for 1 op, 0 targets"));
    checks = checks_of(command.json({"plugins", "doctor", fake_path("unmapped-function")}, 1));
    CHECK(checks["enumerate"]["verdict"] == "pass");
    CHECK(checks["registration"]["verdict"] == "fail");
    CHECK(contains(text(checks["registration"], "found"), "holds no code"));
  }

  TEST_CASE("without a file every plugin that is found is examined") {
    BuiltCommand command;
    command.with("TENON_PLUGIN_PATH", TENON_CPU_PLUGIN ":" TENON_MOCK_PLUGIN);
    const auto document = command.json({"plugins", "doctor"});
    REQUIRE(document["plugins"].size() == 2);
    CHECK(document["plugins"][1]["id"] == "fake");
  }
}

TEST_SUITE("cli/probes") {
  TEST_CASE("a second start runs no probe, a changed file or a corrupt cache runs one again") {
    const BuiltCommand command;
    const std::string plugin = command.folder().at("mock.tenon.so");
    fs::copy_file(TENON_MOCK_PLUGIN, plugin);
    const auto probes = [&] {
      const Ran ran = command.run({"plugins", "--verbose", "--plugin-path", plugin});
      CHECK(ran.status == 0);
      return count(ran.err, "probe of " + plugin);
    };
    CHECK(probes() == 1);
    CHECK(probes() == 0);
    CHECK(probes() == 0);
    fs::last_write_time(plugin, fs::last_write_time(plugin) + std::chrono::seconds(5));
    CHECK(probes() == 1);
    CHECK(probes() == 0);

    std::size_t files = 0;
    for (const auto& file : fs::directory_iterator(command.folder().at("cache/tenon/probes"))) {
      std::ofstream(file.path()) << "{\"schema\": 1, ";
      ++files;
    }
    CHECK(files == 2);  // the CPU plugin's, too
    const Ran warned = command.run({"plugins", "--verbose", "--plugin-path", plugin});
    CHECK(count(warned.err, "are ignored: it is no JSON object") == 2);
    CHECK(count(warned.err, "probe of " + plugin) == 1);
    CHECK(probes() == 0);
    const Ran always = command.run(
        {"plugins", "--verbose", "--plugin-path", plugin, "--set-config=plugins.probe=always"});
    CHECK(count(always.err, "probe of " + plugin) == 1);
  }

  TEST_CASE("a folder in the place of what a probe found is told once and put aside") {
    const BuiltCommand tenon;
    (void)tenon.run({"plugins"});
    const fs::path probes = tenon.folder().at("cache/tenon/probes");
    REQUIRE(fs::exists(probes));
    const fs::path entry = fs::directory_iterator(probes)->path();
    for (const bool has_contents : {false, true}) {
      CAPTURE(has_contents);
      fs::remove_all(entry);
      fs::create_directory(entry);
      if (has_contents) std::ofstream(entry / "mine") << "kept";

      const Ran first = tenon.run({"plugins"});
      const Ran second = tenon.run({"plugins"});

      CHECK(first.status == 0);
      CHECK_MESSAGE(contains(first.err, "are ignored: it is no file; what this probe finds takes"),
                    first.err);
      CHECK_MESSAGE(second.err.empty(), second.err);
      CHECK(fs::is_regular_file(entry));
      CHECK(fs::exists(entry.string() + ".aside/mine") == has_contents);
    }
  }

  TEST_CASE("a crash is remembered until the file changes, and devices have a probe of their own") {
    const BuiltCommand command;
    const std::string plugin = command.folder().at("count-abort.tenon.so");
    fs::copy_file(TENON_DEED_PLUGIN, plugin);
    const std::vector<std::string> listing{"plugins", "--plugin-path", plugin};
    CHECK(plugin_at(command.json(listing), plugin)["state"] == "active");

    // Its devices end the process that asks: the command lives, and says why there are none.
    const Ran devices = command.run({"devices", "--verbose", "--plugin-path", plugin});
    CHECK(devices.status == 0);
    CHECK(contains(devices.out + devices.err, "quarantined"));
    CHECK(contains(devices.out, "cpu:0"));
    CHECK(count(devices.err, "probe of " + plugin + " (devices)") == 1);

    // The next call's hint is short: why the plugin is put aside was told before.
    const Ran call = command.run({"run",
                                  "AddFwdOp",
                                  "self=4:f32",
                                  "other=4:f32",
                                  "--device",
                                  "deed:0",
                                  "--plugin-path",
                                  plugin});
    CHECK(call.status == 1);
    CHECK_MESSAGE(contains(call.err,
                           "hint: available: cpu:0; plugin deed is quarantined; "
                           "'tenon plugins' says why\n"),
                  call.err);

    const auto after = plugin_at(command.json(listing), plugin);
    CHECK(after["state"] == "quarantined");
    CHECK(after["stage"] == "probe");
    CHECK(after["code"] == "INTERNAL");
    CHECK(contains(after["reason"].get<std::string>(), "in count deed"));
    const Ran again = command.run({"devices", "--verbose", "--plugin-path", plugin});
    CHECK(count(again.err, "probe of") == 0);
    CHECK(contains(again.out, "cpu:0"));

    // Never loads it all the same; nobody asks for its devices here.
    const auto forced = plugin_at(
        command.json({"plugins", "--plugin-path", plugin, "--set-config=plugins.probe=never"}),
        plugin);
    CHECK(forced["state"] == "active");
    // A changed driver gives it another chance.
    std::ofstream(TENON_DRIVER_VERSION) << "version of " << ::getpid() << '\n';
    CHECK(plugin_at(command.json(listing), plugin)["state"] == "active");
    fs::remove(TENON_DRIVER_VERSION);
  }

  TEST_CASE("D07 a tool of a vendor on the path makes no device of its kind") {
    if (!fs::exists(TENON_CUDA_PLUGIN)) {
      MESSAGE("skipped: the CUDA plugin is not built");
      return;
    }
    BuiltCommand command;
    const std::string tool = command.folder().at("nvidia-smi");
    std::ofstream(tool) << "#!/bin/sh\ntouch '" << command.folder().at("asked") << "'\nexit 0\n";
    fs::permissions(tool, fs::perms::owner_all);
    command.with("PATH", command.folder().at("") + ":/usr/bin:/bin");
    const Ran plain = command.run({"devices", "--json", "--plugin-path", TENON_CUDA_PLUGIN});
    const auto document = nlohmann::json::parse(plain.out, nullptr, false);
    REQUIRE(document.is_object());
    const auto& devices = document["devices"];
    const bool any = std::any_of(devices.begin(), devices.end(), [](const auto& device) {
      return device["kind"] == "cuda";
    });
    if (any) {
      MESSAGE("skipped: there is a device of that kind here");
      return;
    }
    CHECK_FALSE(fs::exists(command.folder().at("asked")));
    CHECK(plugin_at(command.json({"plugins", "--plugin-path", TENON_CUDA_PLUGIN}),
                    fs::canonical(TENON_CUDA_PLUGIN).string())["state"] == "active");
    const Ran told = command.run({"devices", "--plugin-path", TENON_CUDA_PLUGIN});
    CHECK(contains(told.out + told.err, "driver"));
  }
}
