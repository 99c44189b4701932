// Tests of the built command: mistakes in settings, files and arguments, and what is said to them.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <doctest/doctest.h>

#include "built_command.hpp"

namespace {

using tenon_test::BuiltCommand;
using tenon_test::contains;
using tenon_test::Ran;
using Words = std::vector<std::string>;

const Words kAdd{"explain", "AddFwdOp", "self=8:f32", "other=8:f32"};

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::string contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST_SUITE("cli/mistakes_e2e") {
  TEST_CASE("TENON_LOG_FILE and TENON_LOG_LEVEL decide where log lines go and which") {
    BuiltCommand tenon;
    const std::string file = tenon.folder().at("tenon.log");
    tenon.with("TENON_LOG_FILE", file).with("TENON_LOG_LEVEL", "info");

    const Ran ran = tenon.run({"plugins", "--set-config", "prefer=[acmeeee]"});

    CHECK(ran.status == 0);
    CHECK(contains(contents(file), "plugin cpu"));
    CHECK(contains(contents(file), "no plugin 'acmeeee' was found"));
    CHECK_FALSE(contains(ran.err, "acmeeee"));
    tenon.with("TENON_LOG_FILE", "");
    CHECK(contains(tenon.run({"plugins"}).err, "plugin cpu"));
    tenon.with("TENON_LOG_LEVEL", "error");
    CHECK(tenon.run({"plugins", "--set-config", "prefer=[acmeeee]"}).err.empty());
  }

  TEST_CASE("a misspelt variable is told by every command that reads the configuration") {
    BuiltCommand tenon;
    tenon.with("TENON_TRAGET", "cpu").with("TENON_LOG_LEVEL", "error");

    for (const Words& words :
         {Words{"plugins"}, Words{"config", "show"}, Words{"config", "path"}}) {
      const Ran ran = tenon.run(words);
      CHECK(ran.status == 0);
      CHECK(contains(ran.err, "TENON_TRAGET has no effect"));
      CHECK(contains(ran.err, "did you mean 'TENON_TARGET'?"));
    }
  }

  TEST_CASE("config show tells names that nothing answers to") {
    const BuiltCommand tenon;

    const Ran ran = tenon.run({"config",
                               "show",
                               "--set-config",
                               "ops.AddFwdOp.kernel.add_fwd=cpu:referense",
                               "--set-config",
                               "ops.AddFwdOp.disable=[cpu:vectr]",
                               "--set-config",
                               "devices.visible.cpuu=[0]"});

    CHECK(ran.status == 0);
    CHECK(contains(ran.out, "devices.visible.cpuu"));
    CHECK(contains(ran.err, "no kernel 'cpu:referense'; did you mean 'cpu:reference'"));
    CHECK(contains(ran.err, "no kernel 'cpu:vectr'; did you mean"));
    CHECK(contains(ran.err, "owns a device kind 'cpuu'; did you mean 'cpu'"));
  }

  TEST_CASE("config show shows the settings that no op can be made with") {
    const BuiltCommand tenon;

    const Ran ran = tenon.run({"config", "show", "--set-config", "plugins.required=[absent]"});

    CHECK(ran.status == 0);
    CHECK(contains(ran.out, "['absent']"));
    CHECK(contains(ran.err, "'absent' was not found"));
  }

  TEST_CASE("a forced kernel that does not exist is named with the setting and the nearest one") {
    const BuiltCommand tenon;

    const Ran ran =
        tenon.run(with(kAdd, {"--set-config", "ops.AddFwdOp.kernel.add_fwd=cpu:referense"}));

    CHECK(ran.status == 1);
    CHECK(contains(ran.err,
                   "kernel 'cpu:referense', which command line asks for, is not registered"));
    CHECK(contains(ran.err, "hint: did you mean 'cpu:reference'?"));
  }

  TEST_CASE("a forced kernel of a disabled plugin says that it is disabled") {
    BuiltCommand tenon;
    tenon.with("TENON_PLUGIN_PATH", std::string(TENON_CPU_PLUGIN) + ":" + TENON_ALPHA_PLUGIN);

    const Ran ran = tenon.run(with(kAdd,
                                   {"--set-config",
                                    "plugins.disable=[alpha]",
                                    "--set-config",
                                    "ops.AddFwdOp.kernel.add_fwd=alpha:rows"}));

    CHECK(ran.status == 1);
    CHECK(contains(ran.err, "hint: plugin 'alpha' is disabled: disabled by command line"));
  }

  TEST_CASE("a disabled plugin failed at no stage, and explain lists it as excluded") {
    const BuiltCommand tenon;
    const Words off{"--set-config", "plugins.disable=[alpha]", "--plugin-path", TENON_ALPHA_PLUGIN};

    const Ran listed = tenon.run(with({"plugins"}, off));
    CHECK(contains(listed.out, "disabled by command line ('alpha')"));
    CHECK_FALSE(contains(listed.out, "at stage"));

    const auto json = tenon.json(with(kAdd, off));
    CHECK(json["rejected_plugins"].empty());
    REQUIRE(json["excluded"].size() == 1);
    CHECK(json["excluded"][0]["what"] == "alpha");
  }

  TEST_CASE("a device kind that nobody owns is told with the nearest one") {
    BuiltCommand tenon;
    tenon.with("TENON_PLUGIN_PATH", std::string(TENON_CPU_PLUGIN) + ":" + TENON_MOCK_PLUGIN);

    const Ran ran = tenon.run(with(kAdd, {"--device", "fkae:0"}));

    CHECK(ran.status == 1);
    CHECK_MESSAGE(contains(ran.err, "no plugin owns device kind 'fkae'"), ran.err);
    CHECK_MESSAGE(contains(ran.err, "hint: did you mean 'fake'?; available: cpu:0, fake:0"),
                  ran.err);
  }

  TEST_CASE("assumed facts of a kind that no plugin brings are told, with the way to one") {
    const BuiltCommand tenon;
    const auto ask = [&](const std::string& kind, Words more) {
      std::ofstream(tenon.folder().at("facts.json"))
          << R"({"schema": 1, "devices": [{"device": ")" << kind << R"(:0", "arch": "w1"}]})";
      return tenon.run(
          with(with({"explain", "AddFwdOp", "self=4:f32", "other=4:f32", "--assume", "facts.json"},
                    more),
               {}));
    };

    const Ran own = ask("widget", {});
    CHECK(own.status == 1);
    CHECK_MESSAGE(contains(own.err,
                           "facts.json has facts of device kind 'widget', which no plugin in use "
                           "brings: --plugin-path FILE adds one that is built already; "
                           "docs/vendor/README.md says how to make one, and 'tenon new-plugin NAME "
                           "--device widget' begins it"),
                  own.err);
    const auto json = nlohmann::json::parse(ask("widget", {"--json"}).out);
    CHECK(contains(json["error"]["hint"].get<std::string>(), "has facts of device kind 'widget'"));
    const Ran target = ask("widget", {"--target", "widget"});
    CHECK(contains(target.err, "has facts of device kind 'widget'"));
    const Ran shipped = ask("hip", {});
    CHECK_MESSAGE(contains(shipped.err, "Tenon's sources have a plugin 'hip', and docs/gpu/README"),
                  shipped.err);
    CHECK_FALSE(contains(ask("cpu", {}).err, "has facts of"));
  }

  TEST_CASE("a hidden device is not available, and the setting that hides it is named") {
    const BuiltCommand tenon;
    const Words hide{"--set-config", "devices.visible.cpu=[]"};

    const Ran ran = tenon.run(with(kAdd, hide));
    CHECK(ran.status == 1);
    CHECK(contains(ran.err, "device cpu:0 is hidden by devices.visible (command line)"));
    CHECK(contains(ran.err, "available: no device"));

    const Ran listed = tenon.run(with({"devices"}, hide));
    CHECK_FALSE(contains(listed.out, "cpu:0"));
    CHECK(contains(listed.err, "1 device of kind 'cpu' is hidden by devices.visible.cpu"));
    CHECK(tenon.json(with({"devices"}, hide))["devices"].empty());
  }

  TEST_CASE("a reference kernel that settings forbid is reported without an empty reason") {
    const BuiltCommand tenon;

    const Ran ran = tenon.run(with(kAdd,
                                   {"--set-config",
                                    "selection.reference=error",
                                    "--set-config",
                                    "ops.AddFwdOp.disable=[cpu:vector]"}));

    CHECK(ran.status == 1);
    CHECK(contains(ran.err, "only the reference kernel 'cpu:reference' serves it"));
    CHECK_FALSE(contains(ran.err, "cpu:reference: \n"));
    CHECK_FALSE(contains(ran.err, "cpu:reference:\n"));
  }

  TEST_CASE("a tie names what it is tied with, and nothing is said to have won") {
    BuiltCommand tenon;
    tenon.with("TENON_PLUGIN_PATH",
               std::string(TENON_CPU_PLUGIN) + ":" + TENON_ALPHA_PLUGIN + ":" + TENON_BETA_PLUGIN);

    const auto json =
        tenon.json(with(kAdd, {"--set-config", "ops.AddFwdOp.disable=[cpu:vector]"}), 1);

    CHECK(json["error"]["code"] == "AmbiguousDispatch");
    std::size_t tied = 0;
    for (const auto& candidate : json["steps"][0]["candidates"]) {
      const std::string text = candidate["reason"]["text"];
      CHECK_FALSE(contains(text, "has a winner"));
      if (candidate["verdict"] != "tied") continue;
      ++tied;
      CHECK(text == "no preferred_over decides between them");
      CHECK(candidate["with"].size() == 1);
    }
    CHECK(tied == 2);
  }

  TEST_CASE("control characters of arguments and files are shown as escapes, and JSON stays JSON") {
    const BuiltCommand tenon;
    const std::string nasty = "A\x1b[31mB\x7f\xc2\x9b";

    const Ran unknown = tenon.run({"ops", "show", nasty});
    CHECK(unknown.status == 2);
    CHECK(contains(unknown.err, "A\\x1b[31mB\\u007f\\u009b"));
    CHECK_FALSE(contains(unknown.err, "\x1b"));
    const auto json = tenon.json({"ops", "show", nasty}, 2);
    CHECK(contains(json["error"]["text"].get<std::string>(), nasty));

    const std::string folder = tenon.folder().at(nasty);
    REQUIRE(mkdir(folder.c_str(), 0700) == 0);
    const Ran searched = tenon.run({"plugins", "--search", "--plugin-path", folder});
    CHECK(searched.status == 0);
    CHECK(contains(searched.out, "A\\x1b[31mB"));
    CHECK_FALSE(contains(searched.out, "\x1b"));
    const auto search = tenon.json({"plugins", "--search", "--plugin-path", folder});
    CHECK(contains(search["searched"][0]["path"].get<std::string>(), nasty));
  }

  TEST_CASE("files that never end are refused, and missing ones are wrong usage everywhere") {
    const BuiltCommand tenon;
    const std::string fifo = tenon.folder().at("fifo");
    REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);

    for (const std::string& file : {fifo, std::string("/dev/zero"), tenon.folder().at("")}) {
      CHECK(tenon.run({"schema", file}).status == 2);
      CHECK(tenon.run({"plugins", "inspect", file}).status == 2);
      CHECK(tenon.run(with(kAdd, {"--assume", file})).status == 2);
      CHECK(tenon.run({"config", "show", "--config", file}).status == 2);
    }
    for (const std::string& file : {fifo, std::string("/dev/zero")}) {
      CHECK(tenon.run({"manifest", "check", file}).status == 2);
      CHECK(tenon.run({"ops", "--manifest", file}).status == 2);
    }
    CHECK(contains(tenon.run({"schema", fifo}).err, "it is a FIFO, no regular file"));
    CHECK(contains(tenon.run({"schema", "/dev/zero"}).err, "it is a device"));

    for (const Words& words : {Words{"schema", "/no/such"},
                               with(kAdd, {"--assume", "/no/such"}),
                               Words{"plugins", "--config", "/no/such"},
                               Words{"plugins", "inspect", "/no/such"},
                               Words{"manifest", "check", "/no/such"},
                               Words{"manifest", "show", "AddFwdOp", "--manifest", "/no/such"},
                               Words{"ops", "--manifest", "/no/such"},
                               Words{"run", "AddFwdOp", "self=/no/such.npy", "other=8:f32"}}) {
      const Ran ran = tenon.run(words);
      INFO("command: tenon ", words.front(), ", stderr: ", ran.err);
      CHECK(ran.status == 2);
      CHECK(contains(ran.err, "/no/such"));
    }
  }

  TEST_CASE(
      "a FIFO that nobody reads takes no result and no log, and no folder is made for a log") {
    BuiltCommand tenon;
    const std::string fifo = tenon.folder().at("fifo");
    REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);

    const Ran written =
        tenon.run({"run", "AddFwdOp", "self=8:f32", "other=8:f32", "--out", "output=" + fifo});
    CHECK(written.status == 2);
    CHECK(contains(written.err, "cannot be written: it is a FIFO that nobody reads"));

    const Ran logged = tenon.run({"plugins", "--set-config", "log.file=" + fifo});
    CHECK(logged.status == 2);
    CHECK(contains(logged.err, "cannot be opened: it is a FIFO, no regular file"));
    tenon.with("TENON_LOG_FILE", fifo);
    CHECK(tenon.run({"plugins"}).status == 1);
    tenon.with("TENON_LOG_FILE", tenon.folder().at("no/such/tenon.log"));
    const Ran missing = tenon.run({"plugins"});
    CHECK(missing.status == 1);
    CHECK(contains(missing.err, "there is no folder '" + tenon.folder().at("no/such") + "'"));
    CHECK(access(tenon.folder().at("no").c_str(), F_OK) != 0);
  }

  TEST_CASE("a set of manifests that lacks most ops is told in one line, and each with --verbose") {
    const BuiltCommand tenon;
    const std::string entries = std::string(TENON_MANIFEST_DIR) + "/matmul.yaml";

    const Ran ran = tenon.run({"ops", "list", "--manifest", entries});
    INFO("stderr: ", ran.err);
    CHECK(contains(ran.out, "MatMulFwdOp"));
    CHECK(contains(ran.err, "kernel types are left out, among them"));
    CHECK(std::count(ran.err.begin(), ran.err.end(), '\n') < 4);

    const Ran verbose = tenon.run({"ops", "list", "--manifest", entries, "--verbose"});
    CHECK(std::count(verbose.err.begin(), verbose.err.end(), '\n') > 10);
  }

  TEST_CASE("a wrong --set-config is wrong usage, a wrong variable is named and is none") {
    BuiltCommand tenon;
    for (const char* wrong : {"no.such=1", "log.level=loud", "devices.default=cpu:-1"}) {
      const Ran ran = tenon.run({"plugins", "--set-config", wrong});
      INFO("setting: ", wrong, ", stderr: ", ran.err);
      CHECK(ran.status == 2);
      CHECK(contains(ran.err, "error[ConfigInvalid]"));
    }
    const Ran large = tenon.run({"plugins", "--set-config", "caches.entries=99999999999999999999"});
    CHECK(large.status == 2);
    CHECK(contains(large.err, "64 bits"));

    tenon.with("TENON_DEVICES_DEFAULT", "cpu:-1");
    const Ran variable = tenon.run({"plugins"});
    CHECK(variable.status == 1);
    CHECK(
        contains(variable.err, "error[ConfigInvalid]: devices.default: 'cpu:-1' is not a device"));
    CHECK(contains(variable.err, "at TENON_DEVICES_DEFAULT"));
  }

  TEST_CASE("config show shows the defaults that the documentation names") {
    const BuiltCommand tenon;

    for (const auto& setting : tenon.json({"config", "show"})["settings"]) {
      const std::string key = setting["key"];
      if (key == "manifest.paths") CHECK(setting["value"] == std::vector<std::string>{"shipped"});
      if (key == "plugins.enable") CHECK(setting["value"] == std::vector<std::string>{"*"});
    }
  }

  TEST_CASE("the name of a plugin file makes no row of its own") {
    const BuiltCommand tenon;
    const std::string file = tenon.folder().at("a\nforged 1.0 active.tenon.so");
    std::ofstream(file) << "no plugin";

    const Ran ran = tenon.run({"plugins", "--plugin-path", file});

    CHECK(contains(ran.out, "a\\x0aforged 1.0 active.tenon.so"));
    CHECK_FALSE(contains(ran.out, "\n  forged"));
    CHECK_FALSE(contains(ran.out, "\nforged"));
  }

  TEST_CASE("an expanded tensor beyond any kernel's time is explained, and refused by run") {
    const BuiltCommand tenon;
    const Words call{"AddFwdOp", "self=1099511627776e:f32", "other=1:f32"};

    CHECK(tenon.run(with({"explain"}, call)).status == 0);
    CHECK(tenon.run(with({"infer"}, call)).status == 0);
    const Ran ran = tenon.run(with({"run"}, with(call, {"--check"})));
    CHECK(ran.status == 2);
    CHECK(contains(ran.err, "'self' has 1099511627776 elements; run takes tensors of at most"));
    CHECK(contains(ran.err, "explain"));
  }

  TEST_CASE("output that cannot be written whole is no success") {
    const BuiltCommand tenon;

    const Ran ran = tenon.run({"ops"}, "/dev/full");

    CHECK(ran.status == 1);
    CHECK(contains(ran.err, "the output could not be written whole"));
    CHECK(tenon.run({"ops"}, "/dev/null").status == 0);
  }

  TEST_CASE("help names only those programs that are there, and -h asks for it anywhere") {
    const BuiltCommand tenon;
    const auto is_there = [&](const char* name) {
      const std::string folder = TENON_EXECUTABLE;
      return access((folder.substr(0, folder.rfind('/') + 1) + name).c_str(), X_OK) == 0;
    };

    const Ran overview = tenon.run({"--help"});
    CHECK(contains(overview.out, "\n  conform ") == is_there("tenon-conform"));
    CHECK(contains(overview.out, "\n  bench ") == is_there("tenon-bench"));

    CHECK(tenon.run({"-h"}).out == overview.out);
    for (const Words& words : {Words{"run"}, Words{"plugins", "inspect"}, Words{"manifest"}}) {
      const Ran asked = tenon.run(with(words, {"--help"}));
      CHECK(asked.status == 0);
      CHECK(contains(asked.out, "usage: tenon " + words.front()));
      CHECK(tenon.run(with(words, {"-h"})).out == asked.out);
      CHECK(tenon.run(with({"-h"}, words)).out == asked.out);
    }
    CHECK(tenon.run({"run", "AddFwdOp", "-h"}).status == 0);
    CHECK(tenon.run({"run", "-x"}).status == 2);
  }
}

}  // namespace
