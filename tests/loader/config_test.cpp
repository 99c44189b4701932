// The configuration: files, layers, kinds, messages, and what the engine gets of it.
#include "tenon/loader/config.hpp"

#include <filesystem>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "support/test_env.hpp"
#include "tenon/loader/printable.hpp"

namespace tenon::loader {
namespace {

namespace fs = std::filesystem;
using test::has;
using test::TempDir;
using Variables = std::map<std::string, std::string>;

/// A configuration of one file and nothing of this machine.
class Fixture {
 public:
  Fixture() { sources.system_folder.clear(); }
  Result<Config> load(const std::string& yaml, const Variables& variables = {}) {
    sources.file = folder.write("tenon.yaml", yaml);
    return Config::load(sources, Environment::of(variables));
  }
  Error error(const std::string& yaml, const Variables& variables = {}) {
    auto config = load(yaml, variables);
    REQUIRE_FALSE(config);
    return config.error();
  }
  TempDir folder;
  ConfigSources sources;
};

TEST_SUITE_BEGIN("loader/config");

TEST_CASE("every key of the language is read with its kind") {
  Fixture fixture;
  const auto config = fixture.load(R"(
manifest: {paths: [ops]}
plugins:
  paths: [plugins, /opt/tenon]
  enable: ['*']
  disable: [bolt]
  required: [acme]
  options: {acme: {threads: 4, mode: fast}}
  probe: never
  strict: true
  allow_insecure: false
target: acme
prefer: [acme, cpu]
selection: {reference: error, copies: never, deterministic: true}
ops:
  RMSNormFwdOp:
    target: acme:1
    prefer: [cpu]
    kernel: {rms_norm_fwd: 'cpu:reference'}
    disable: ['acme:rows']
  vendor::XFwdOp: {target: cpu}
devices: {default: 'acme:2', visible: {acme: [0, 2]}}
caches: {call_keys_per_instance: 8, entries: 16, directory: cache}
tuning: {mode: off}
log: {level: debug, file: tenon.log}
)");
  REQUIRE_MESSAGE(config, config.error().to_string());
  const std::string folder = fixture.folder.path().string();
  CHECK(config->texts("manifest.paths") == std::vector{folder + "/ops"});
  CHECK(config->texts("plugins.paths") ==
        std::vector<std::string>{folder + "/plugins", "/opt/tenon"});
  CHECK(config->texts("plugins.required") == std::vector<std::string>{"acme"});
  CHECK(config->get("plugins.options.acme.threads").value == Value(4));
  CHECK(config->get("plugins.options.acme.mode").value == Value("fast"));
  CHECK(config->flag("plugins.strict"));
  CHECK(config->text("plugins.probe") == "never");
  CHECK(config->text("tuning.mode") == "off");
  CHECK(config->text("caches.directory") == folder + "/cache");
  CHECK(config->get("devices.visible.acme").value == Value({0, 2}));
  CHECK(config->get("target").from() == folder + "/tenon.yaml:12");

  const EngineOptions options = engine_options(*config);
  REQUIRE(options.target);
  CHECK(options.target->value == "acme");
  CHECK(options.target->from == folder + "/tenon.yaml:12");
  CHECK(options.default_device->value == "acme:2");
  CHECK(options.selection.reference.value == ReferencePolicy::kError);
  CHECK(options.selection.copies.value == CopyPolicy::kNever);
  CHECK(options.selection.deterministic.value);
  CHECK(options.selection.prefer.value == std::vector<std::string>{"acme", "cpu"});
  CHECK(options.call_keys_per_instance == 8);
  CHECK(options.built_entries == 16);
  REQUIRE(options.ops.contains("tenon::RMSNormFwdOp"));
  const OpOptions& op = options.ops.find("tenon::RMSNormFwdOp")->second;
  CHECK(op.target->value == "acme:1");
  CHECK(op.prefer->value == std::vector<std::string>{"cpu"});
  CHECK(op.kernel.at("rms_norm_fwd").value == "cpu:reference");
  REQUIRE(op.disable.size() == 1);
  CHECK(op.disable[0].value == "acme:rows");
  CHECK(op.disable[0].from == folder + "/tenon.yaml:20");
  CHECK(options.ops.contains("vendor::XFwdOp"));
  REQUIRE(options.excluded.size() == 1);
  CHECK(options.excluded[0].first == "acme:rows");
}

TEST_CASE("an empty file is the defaults") {
  Fixture fixture;
  const auto config = fixture.load("# nothing yet\n", {{"HOME", fixture.folder.path().string()}});
  REQUIRE(config);
  CHECK(config->text("selection.reference") == "warn");
  CHECK(config->get("selection.reference").from() == "default");
  CHECK(config->text("caches.directory") == fixture.folder / ".cache/tenon");
  CHECK(config->log().empty());
  CHECK_FALSE(engine_options(*config).target);
  CHECK(engine_options(*config).call_keys_per_instance == 256);
}

TEST_CASE("a home that is nowhere is not made for a cache, which is said for those who look") {
  Fixture fixture;
  const auto config = fixture.load("", {{"HOME", fixture.folder / "nobody"}});
  REQUIRE(config);
  CHECK(config->text("caches.directory").empty());
  REQUIRE(config->log().size() == 1);
  CHECK(config->log()[0].level == TENON_LOG_DEBUG);
  CHECK(has(config->log()[0].text, "no folder '" + (fixture.folder / "nobody") + "' (HOME)"));
}

TEST_CASE("an unknown key is refused with file, line, column and the nearest name") {
  Fixture fixture;
  const std::string file = (fixture.folder.path() / "tenon.yaml").string();
  {
    const Error error = fixture.error("target: cpu\nselection:\n  refrence: warn\n");
    CHECK(error.code() == ErrorCode::kConfigInvalid);
    CHECK(error.message() == "unknown key 'selection.refrence'");
    CHECK(error.where() == file + ":3:3");
    CHECK(has(error.hint(), "reference"));
  }
  CHECK(has(fixture.error("targets: cpu\n").hint(), "'target'"));
  CHECK(has(fixture.error("ops: {AddFwdOp: {kernels: {a: 'b:c'}}}\n").hint(), "'kernel'"));
  CHECK(has(fixture.error("log: {zzzzzzzz: 1}\n").hint(), "known keys of 'log': file, level"));
  CHECK(has(fixture.error("fallback: never\n").message(), "unknown key 'fallback'"));
}

TEST_CASE("of several mistakes the first is told, and the others stand beside it") {
  Fixture fixture;
  const Error error = fixture.error("traget: cpu\nplugns: {}\n");
  CHECK(error.code() == ErrorCode::kConfigInvalid);
  CHECK(error.message().find("traget") != std::string::npos);
  CHECK(error.where().find(":1:") != std::string::npos);
  REQUIRE(error.fields().size() == 1);
  CHECK(error.fields()[0].second.find("plugns") != std::string::npos);
}

TEST_CASE("a value of a wrong kind is refused with what was expected and found") {
  Fixture fixture;
  const auto message = [&](const std::string& yaml) { return fixture.error(yaml).message(); };
  CHECK(has(message("plugins: {strict: 1}\n"), "plugins.strict must be true or false"));
  CHECK(has(message("prefer: acme\n"), "prefer must be a list of texts"));
  CHECK(has(message("prefer: [1]\n"), "prefer must be a list of texts"));
  CHECK(has(message("caches: {entries: 0}\n"), "an integer from 1"));
  CHECK(has(message("caches: {entries: many}\n"), "an integer from 1"));
  CHECK(has(message("devices: {visible: {acme: [-1]}}\n"), "device indices"));
  CHECK(has(message("target: [a]\n"), "target must be a text"));
  CHECK(has(message("log: debug\n"), "log must be a map of keys"));
  CHECK(has(message("[1, 2]\n"), "a configuration is a map"));
  const Error error = fixture.error("selection: {reference: wran}\n");
  CHECK(has(error.message(), "selection.reference must be allow, warn or error"));
  CHECK(has(error.hint(), "'warn'"));
  CHECK(has(error.where(), "tenon.yaml:1:24"));
}

TEST_CASE("duplicate keys and broken YAML are refused with their place") {
  Fixture fixture;
  const Error twice = fixture.error("target: a\ntarget: b\n");
  CHECK(twice.code() == ErrorCode::kConfigInvalid);
  CHECK(has(twice.where(), "tenon.yaml:2"));
  const Error broken = fixture.error("plugins: {paths: [a\n");
  CHECK(broken.code() == ErrorCode::kConfigInvalid);
  CHECK(has(broken.where(), "tenon.yaml:"));
  CHECK(fixture.error(std::string(100000, '[')).code() == ErrorCode::kConfigInvalid);
}

TEST_CASE("D78 a misspelt choice is an error from a variable, a file and the caller alike") {
  Fixture fixture;
  const Error by_variable = fixture.error("", {{"TENON_SELECTION_REFERENCE", "INVALID"}});
  CHECK(by_variable.where() == "TENON_SELECTION_REFERENCE");
  CHECK(has(by_variable.message(), "allow, warn or error"));
  CHECK(has(fixture.error("selection: {reference: INVALID}\n").message(), "allow, warn or error"));
  fixture.sources.settings = {{"selection.reference", "INVALID"}};
  const Error by_api = fixture.error("");
  CHECK(by_api.where() == "api");
  CHECK(has(by_api.message(), "allow, warn or error"));
}

TEST_CASE("D81 the environment overrides the file, the caller overrides both, and each says so") {
  Fixture fixture;
  const std::string yaml = "target: file\n";
  CHECK(fixture.load(yaml)->text("target") == "file");

  const auto by_variable = fixture.load(yaml, {{"TENON_TARGET", "variable"}});
  REQUIRE(by_variable);
  CHECK(by_variable->text("target") == "variable");
  CHECK(by_variable->get("target").from() == "TENON_TARGET");

  fixture.sources.settings = {{"target", "flag"}};
  fixture.sources.settings_from = Origin::kCommandLine;
  const auto by_flag = fixture.load(yaml, {{"TENON_TARGET", "variable"}});
  REQUIRE(by_flag);
  CHECK(by_flag->text("target") == "flag");
  CHECK(by_flag->get("target").from() == "command line");
}

TEST_CASE("settings of the caller reach keys with names in them, lists and typed values") {
  Fixture fixture;
  fixture.sources.settings = {{"ops.vendor::XFwdOp.kernel.x_fwd", "acme:rows"},
                              {"plugins.options.acme.threads", "4"},
                              {"plugins.options.acme.a.b", "1.5"},
                              {"plugins.disable", "a, b"},
                              {"prefer", "[c, d]"},
                              {"devices.visible.acme", "0,2"},
                              {"caches.entries", "7"},
                              {"plugins.strict", "true"}};
  const auto config = fixture.load("");
  REQUIRE_MESSAGE(config, config.error().to_string());
  CHECK(engine_options(*config).ops.at("vendor::XFwdOp").kernel.at("x_fwd").value == "acme:rows");
  CHECK(config->get("plugins.options.acme.threads").value == Value(4));
  CHECK(config->get("plugins.options.acme.a.b").value == Value(1.5));
  CHECK(config->texts("plugins.disable") == std::vector<std::string>{"a", "b"});
  CHECK(config->texts("prefer") == std::vector<std::string>{"c", "d"});
  CHECK(config->get("devices.visible.acme").value == Value({0, 2}));
  CHECK(config->number("caches.entries") == 7);
  CHECK(config->flag("plugins.strict"));
}

TEST_CASE("an unknown or mistyped setting of the caller is refused") {
  Fixture fixture;
  const auto error = [&](const std::string& key, const std::string& text) {
    fixture.sources.settings = {{key, text}};
    return fixture.error("").to_string();
  };
  CHECK(has(error("selektion.copies", "never"), "'selection'"));
  CHECK(has(error("plugins.strict", "maybe"), "true or false"));
  CHECK(has(error("caches.entries", "x"), "an integer"));
  CHECK(has(error("selection", "warn"), "unknown key 'selection'"));
}

TEST_CASE("variables set the lists of enabled and disabled plugins, split at commas") {
  Fixture fixture;
  const auto config =
      fixture.load("plugins: {disable: [x]}\n", {{"TENON_PLUGINS_DISABLE", "a*, b"}});
  REQUIRE(config);
  CHECK(config->texts("plugins.disable") == std::vector<std::string>{"a*", "b"});
  CHECK(config->get("plugins.disable").from() == "TENON_PLUGINS_DISABLE");
}

TEST_CASE("a list that is given empty is empty, and other variables are as if they were unset") {
  Fixture fixture;
  const auto config = fixture.load(
      "plugins: {disable: [x]}\ntarget: cpu\n",
      {{"TENON_PLUGINS_ENABLE", ""}, {"TENON_PLUGINS_DISABLE", ""}, {"TENON_TARGET", ""}});
  REQUIRE(config);
  CHECK(config->texts("plugins.enable").empty());
  CHECK(config->get("plugins.enable").from() == "TENON_PLUGINS_ENABLE");
  CHECK(config->texts("plugins.disable").empty());
  CHECK(config->text("target") == "cpu");
}

TEST_CASE("the file is the named one, else TENON_CONFIG, else the user's, else the system's") {
  const TempDir folder;
  const std::string named = folder.write("named.yaml", "target: named\n");
  const std::string variable = folder.write("variable.yaml", "target: variable\n");
  folder.write("config/tenon/tenon.yaml", "target: user\n");
  folder.write("etc/tenon.yaml", "target: system\n");
  ConfigSources sources;
  sources.system_folder = folder / "etc";
  const auto target = [&](const Variables& variables) {
    const auto config = Config::load(sources, Environment::of(variables));
    return config ? config->text("target") : config.error().to_string();
  };

  CHECK(target({}) == "system");
  CHECK(target({{"XDG_CONFIG_HOME", folder / "config"}}) == "user");
  CHECK(target({{"XDG_CONFIG_HOME", folder / "config"}, {"TENON_CONFIG", variable}}) == "variable");
  sources.file = named;
  CHECK(target({{"XDG_CONFIG_HOME", folder / "config"}, {"TENON_CONFIG", variable}}) == "named");
  sources.file = folder / "none.yaml";
  CHECK(has(target({}), "no configuration file"));
  sources.file.reset();
  CHECK(has(target({{"TENON_CONFIG", folder / "none.yaml"}}), "named by TENON_CONFIG"));
}

TEST_CASE(
    "only the command takes ./tenon.yaml, says so, and trusts its plugin paths when told to") {
  const TempDir folder;
  folder.write("tenon.yaml", "target: here\nplugins: {paths: [p], allow_insecure: true}\n");
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  ConfigSources sources;
  sources.system_folder.clear();
  const auto library = Config::load(sources, Environment::of({}));
  sources.is_command = true;
  const auto command = Config::load(sources, Environment::of({}));
  sources.trust_config = true;
  const auto trusted = Config::load(sources, Environment::of({}));
  const auto secure = Config::load(sources, Environment::of({}, /*secure=*/true));
  fs::current_path(before);

  REQUIRE(library);
  CHECK_FALSE(library->file());
  REQUIRE(command);
  CHECK(command->file() == folder / "tenon.yaml");
  CHECK(command->text("target") == "here");
  CHECK(command->texts("plugins.paths").empty());
  CHECK_FALSE(command->flag("plugins.allow_insecure"));
  REQUIRE(command->log().size() == 3);
  CHECK(has(command->log()[0].text, "of the working folder"));
  CHECK(has(command->log()[1].text, "--trust-config"));
  REQUIRE(trusted);
  CHECK(trusted->texts("plugins.paths") == std::vector{folder / "p"});
  CHECK(trusted->flag("plugins.allow_insecure"));
  REQUIRE(secure);
  CHECK_FALSE(secure->file());
}

TEST_CASE("allow_insecure of a file that anybody may write is ignored with a warning") {
  Fixture fixture;
  REQUIRE(fixture.load("plugins: {allow_insecure: true}\n")->flag("plugins.allow_insecure"));
  fs::permissions(fixture.folder.path() / "tenon.yaml", fs::perms(0666));
  const auto config = Config::load(fixture.sources, Environment::of({}));
  REQUIRE(config);
  CHECK_FALSE(config->flag("plugins.allow_insecure"));
  REQUIRE(config->log().size() == 1);
  CHECK(has(config->log()[0].text, "can be written by everybody"));
}

TEST_CASE("D83 under raised privileges variables do not configure, and are named") {
  Fixture fixture;
  fixture.sources.file = fixture.folder.write("tenon.yaml", "");
  const auto config = Config::load(
      fixture.sources, Environment::of({{"TENON_TARGET", "acme"}, {"HOME", "/home/me"}}, true));
  REQUIRE(config);
  CHECK(config->text("target").empty());
  CHECK(config->text("caches.directory").empty());
  REQUIRE(config->log().size() == 1);
  CHECK(has(config->log()[0].text, "TENON_TARGET is ignored"));
}

TEST_CASE("a variable that nothing reads is told, with the nearest one") {
  Fixture fixture;
  const auto lines = [&](const Variables& variables) {
    const auto config = fixture.load("", variables);
    REQUIRE(config);
    std::string all;
    for (const LogLine& line : config->log()) all += line.text + "\n";
    return all;
  };
  CHECK(lines({{"TENON_TRAGET", "cpu"}}) ==
        "TENON_TRAGET has no effect: there is no such variable; did you mean 'TENON_TARGET'?\n");
  CHECK(has(lines({{"TENON_PREFER", "acme"}}), "prefer is a list and has none"));
  CHECK(has(lines({{"TENON_ZZZZZZZZZZZZZZZZZZZZZZ", "1"}}), "there is no such variable"));
  CHECK(lines({{"TENON_TARGET", "cpu"}, {"TENON_PLUGIN_PATH_ADD", "/"}, {"OTHER", "1"}}).empty());
  CHECK(lines({{"TENON_TRAGET", ""}}).empty());  // an empty variable is none
}

TEST_CASE("a path of plugins.paths where nothing is is told, with who named it") {
  Fixture fixture;
  fixture.folder.write("there/readme", "");
  const auto config = fixture.load("plugins: {paths: [there, gone]}\n");
  REQUIRE(config);
  REQUIRE(config->log().size() == 1);
  CHECK(config->log()[0].level == TENON_LOG_WARN);
  CHECK(has(config->log()[0].text, "plugins.paths ("));
  CHECK(has(config->log()[0].text, "tenon.yaml:1): there is no file or folder '"));
  CHECK(has(config->log()[0].text, fixture.folder / "gone"));
}

TEST_CASE("what would steer a terminal is shown in escapes, and all other text as it is") {
  CHECK(printable("plain\ttext\n") == "plain\ttext\n");
  CHECK(printable("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80") ==
        "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
  CHECK(printable("a\x1b[31mb\r\a") == "a\\x1b[31mb\\x0d\\x07");
  CHECK(printable(std::string("\0", 1)) == "\\x00");
  CHECK(printable("\x7f\xc2\x9b") == "\\u007f\\u009b");
  CHECK(printable("\xe2\x80\xae") == "\\u202e");
  CHECK(printable("\xff\xc3") == "\\xff\\xc3");           // no UTF-8, and cut off
  CHECK(printable("\xc0\x9b") == "\\xc0\\x9b");           // a control character, too long
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");  // half of a pair
}

TEST_CASE("the listing gives each key, its value and where it came from") {
  Fixture fixture;
  fixture.sources.settings = {{"log.level", "debug"}};
  const auto config = fixture.load("prefer: [acme]\n", {{"TENON_DEVICES_DEFAULT", "acme:1"}});
  REQUIRE(config);
  const auto document = nlohmann::json::parse(config->to_json());
  CHECK(document["schema"] == 1);
  const auto row = [&](const std::string& key) {
    for (const auto& setting : document["settings"]) {
      if (setting["key"] == key) return setting;
    }
    return nlohmann::json();
  };
  CHECK(row("prefer")["value"] == nlohmann::json::array({"acme"}));
  CHECK(row("prefer")["from"] == "file");
  CHECK(row("prefer")["line"] == 1);
  CHECK(row("devices.default")["from"] == "environment");
  CHECK(row("devices.default")["variable"] == "TENON_DEVICES_DEFAULT");
  CHECK(row("devices.default")["path"].is_null());
  CHECK(row("log.level")["from"] == "api");
  CHECK(row("target")["from"] == "default");
  CHECK(row("target")["value"].is_null());
  CHECK(row("caches.entries")["value"] == 4096);
}

TEST_CASE("the word shipped among manifest.paths of a file stays a word, ./shipped is a folder") {
  const TempDir folder;
  ConfigSources sources;
  sources.file = folder.write("tenon.yaml", "manifest: {paths: [shipped, ops, ./shipped]}\n");
  const auto config = Config::load(sources, Environment::of({}));
  REQUIRE_MESSAGE(config, config.error().to_string());
  CHECK(config->texts("manifest.paths") ==
        std::vector<std::string>{"shipped", folder / "ops", folder / "shipped"});
}

TEST_SUITE_END();

}  // namespace
}  // namespace tenon::loader
