// The search path, what becomes of every file in it, and whom it trusts.
#include "tenon/loader/discovery.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "loader/fakes.hpp"
#include "support/test_env.hpp"

namespace tenon::loader {
namespace {

namespace fs = std::filesystem;
using test::fake;
using test::TempDir;
using Variables = std::map<std::string, std::string>;

DiscoveryOptions explicitly(const std::vector<std::string>& paths) {
  DiscoveryOptions options;
  for (const std::string& path : paths) options.explicit_paths.push_back({path, "command line"});
  return options;
}

Discovery find(const std::vector<std::string>& paths, const Variables& variables = {}) {
  return discover(explicitly(paths), Environment::of(variables));
}

const PluginRecord& record_at(const Discovery& found, const std::string& path) {
  for (const FoundFile& file : found.files) {
    if (file.record.path == path) return file.record;
  }
  FAIL("no record of " << path);
  return found.files.front().record;
}

std::vector<std::string> loaded(const Discovery& found) {
  std::vector<std::string> paths;
  for (const FoundFile& file : found.files) {
    if (file.load) paths.push_back(file.record.path);
  }
  return paths;
}

bool logged(const Discovery& found, int level, const std::string& part) {
  return std::any_of(found.log.begin(), found.log.end(), [&](const LogLine& line) {
    return line.level == level && line.text.find(part) != std::string::npos;
  });
}

TEST_SUITE_BEGIN("loader/discovery");

TEST_CASE("D01 every folder looked in is listed with the setting that named it") {
  const TempDir folder;
  folder.copy(fake("good", "acme"), "x/acme.tenon.so");
  DiscoveryOptions options;
  options.configured_paths = {{folder / "x", "tenon.yaml:3"}};
  options.user_folder = folder / "user";
  options.system_folder = folder / "system";
  options.core_folder = folder / "core";

  const Discovery found = discover(options, Environment::of({}));

  CHECK(loaded(found) == std::vector{folder / "x/acme.tenon.so"});
  REQUIRE(found.searched.size() == 4);
  CHECK(found.searched[0].path == folder / "x");
  CHECK(found.searched[0].from == "tenon.yaml:3");
  CHECK(found.searched[0].found);
  CHECK(found.searched[1].from == "user folder");
  CHECK_FALSE(found.searched[1].found);
  CHECK(found.searched[2].from == "system folder");
  CHECK(found.searched[3].from == "core folder");
}

TEST_CASE("D01 TENON_PLUGIN_PATH replaces what follows it, _ADD comes before the configuration") {
  DiscoveryOptions options = explicitly({"/explicit"});
  options.configured_paths = {{"/configured", "tenon.yaml:3"}};
  options.user_folder = "/user";
  options.system_folder = "/system";
  options.core_folder = "/core";
  const auto paths = [&](const Variables& variables) {
    std::string text;
    for (const auto& place : search_path(options, Environment::of(variables), nullptr)) {
      text += place.path + " ";
    }
    return text;
  };

  CHECK(paths({}) == "/explicit /configured /user /system /core ");
  CHECK(paths({{"TENON_PLUGIN_PATH", "/a:/b"}}) == "/explicit /a /b ");
  CHECK(paths({{"TENON_PLUGIN_PATH_ADD", "/c"}}) ==
        "/explicit /c /configured /user /system /core ");
  CHECK(paths({{"TENON_PLUGIN_PATH", "/a"}, {"TENON_PLUGIN_PATH_ADD", "/c"}}) ==
        "/explicit /a /c ");
  CHECK(paths({{"TENON_PLUGIN_PATH", ":/a::"}}) ==
        "/explicit /a ");  // empty is not the working folder
}

TEST_CASE("D03 a missing file and a dangling link stop nothing that stands beside them") {
  const TempDir folder;
  const std::string good = folder.copy(fake("good", "acme"), "good.so");
  const std::string missing = folder / "missing.so";
  const std::string dangling = folder / "dangling.so";
  fs::create_symlink("nowhere.so", dangling);

  for (const auto& paths :
       {std::vector{missing, good, dangling}, std::vector{good, dangling, missing}}) {
    const Discovery found = find(paths);
    CHECK(loaded(found) == std::vector{good});
    CHECK(found.files.size() == 3);
    CHECK(record_at(found, missing).state == PluginState::kRejected);
    CHECK(record_at(found, missing).stage == PluginStage::kFound);
    CHECK(record_at(found, missing).code == TENON_NOT_FOUND);
    CHECK(record_at(found, dangling).code == TENON_NOT_FOUND);
    CHECK(record_at(found, dangling).reason.find("'nowhere.so'") != std::string::npos);
  }
}

TEST_CASE("D04 five spellings of one folder give one set of plugins under one canonical path") {
  const TempDir folder;
  folder.copy(fake("good", "acme"), "p/acme.tenon.so");
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  std::vector<Discovery> found;
  for (const char* spelling : {"/p", "/p/", "/p//"}) {
    found.push_back(find({}, {{"TENON_PLUGIN_PATH", folder.path().string() + spelling}}));
  }
  for (const char* spelling : {"./p", "p"})
    found.push_back(find({}, {{"TENON_PLUGIN_PATH", spelling}}));
  found.push_back(find({}, {{"TENON_PLUGIN_PATH", "p:./p/:" + (folder / "p")}}));
  fs::current_path(before);

  for (const Discovery& each : found) {
    CHECK(each.files.size() == 1);
    CHECK(loaded(each) == std::vector{folder / "p/acme.tenon.so"});
    CHECK(each.searched.size() == 1);
    CHECK(each.searched[0].path == folder / "p");
  }
}

TEST_CASE("D05 an explicit path beats a folder, and the other is shadowed with both paths") {
  const TempDir folder;
  const std::string scanned = folder.copy(fake("v1_10", "acme"), "d/acme.tenon.so");
  const std::string named = folder.copy(fake("v1_8", "acme"), "mine.so");
  DiscoveryOptions options = explicitly({named});
  options.configured_paths = {{folder / "d", "tenon.yaml:1"}};

  const Discovery found = discover(options, Environment::of({}));

  CHECK(loaded(found) == std::vector{named});
  const PluginRecord& other = record_at(found, scanned);
  CHECK(other.state == PluginState::kShadowed);
  CHECK(other.reason.find(named) != std::string::npos);
  CHECK(other.reason.find(scanned) != std::string::npos);
}

TEST_CASE("D14 inside one folder the highest version is taken, compared numerically") {
  const TempDir folder;
  // Names whose order is not that of the versions.
  folder.copy(fake("v1_8", "acme"), "c.tenon.so");
  folder.copy(fake("v1_10", "acme"), "b.tenon.so");
  folder.copy(fake("v1_9", "acme"), "a.tenon.so");

  const Discovery found = find({folder.path().string()});

  CHECK(loaded(found) == std::vector{folder / "b.tenon.so"});
  CHECK(record_at(found, folder / "a.tenon.so").state == PluginState::kShadowed);
  CHECK(record_at(found, folder / "c.tenon.so").state == PluginState::kShadowed);
  CHECK(found.files[0].record.path == folder / "a.tenon.so");  // bytewise by name
}

TEST_CASE("a place that a variable names and that is missing is told, a standard folder is not") {
  const TempDir folder;
  DiscoveryOptions options;
  options.explicit_paths = {{folder / "q", "command line"}, {folder / "q", "command line"}};
  options.user_folder = folder / "user";

  const Discovery added =
      discover(options, Environment::of({{"TENON_PLUGIN_PATH_ADD", folder / "added"}}));
  CHECK(logged(added, TENON_LOG_WARN, "added' (named by TENON_PLUGIN_PATH_ADD)"));
  CHECK(logged(added, TENON_LOG_WARN, "q' (named by command line)"));
  CHECK_FALSE(logged(added, TENON_LOG_WARN, "user folder"));
  CHECK(logged(added, TENON_LOG_DEBUG, "user folder"));
  CHECK(logged(discover({}, Environment::of({{"TENON_PLUGIN_PATH", folder / "only"}})),
               TENON_LOG_WARN,
               "only' (named by TENON_PLUGIN_PATH)"));
}

TEST_CASE("a file of the same build but with other content is no copy") {
  const TempDir folder;
  folder.copy(fake("good", "acme"), "a.tenon.so");
  const std::string other = folder.copy(fake("good", "acme"), "b.tenon.so");
  std::ofstream(other, std::ios::app) << "more";

  const Discovery found = find({folder.path().string()});

  const std::string reason = record_at(found, folder / "b.tenon.so").reason;
  CHECK_FALSE(reason.empty());
  CHECK(reason.find("copy of the same build") == std::string::npos);
}

TEST_CASE("a copy and a hard link of a plugin are shadowed as such") {
  const TempDir folder;
  const std::string first = folder.copy(fake("good", "acme"), "a.tenon.so");
  folder.copy(fake("good", "acme"), "b.tenon.so");
  fs::create_hard_link(first, folder / "c.tenon.so");

  const Discovery found = find({folder.path().string()});

  CHECK(loaded(found) == std::vector{first});
  CHECK(record_at(found, folder / "b.tenon.so").reason.find("copy of the same build") !=
        std::string::npos);
  CHECK(record_at(found, folder / "c.tenon.so").reason.find("the same file") != std::string::npos);
}

TEST_CASE(
    "D76 strays in a plugin folder are each one record, and only NAME.tenon.so is looked at") {
  const TempDir folder;
  const std::string good = folder.copy(fake("good", "acme"), "acme.tenon.so");
  folder.write("notes.txt", "hello");
  folder.copy(fake("good", "acme"), "libacme.so");
  folder.write(".tenon.so", "");
  folder.write("text.tenon.so", "hello");
  folder.write("empty.tenon.so", "");
  fs::create_directory(folder / "folder.tenon.so");
  REQUIRE(mkfifo((folder / "fifo.tenon.so").c_str(), 0600) == 0);
  fs::create_symlink("loop.tenon.so", folder / "loop.tenon.so");
  folder.copy(fake("no_note", "nonote"), "nonote.tenon.so");

  const Discovery found = find({folder.path().string()});

  CHECK(loaded(found) == std::vector{good});
  CHECK(found.files.size() == 7);
  const auto check = [&](const char* name, PluginStage stage, const char* part) {
    CAPTURE(std::string(name));
    const PluginRecord& record = record_at(found, folder / name);
    CHECK(record.state == PluginState::kRejected);
    CHECK(record.stage == stage);
    CHECK(record.reason.find(part) != std::string::npos);
    CHECK(record.reason.find('\n') == std::string::npos);
  };
  check("text.tenon.so", PluginStage::kNote, "not a shared object");
  check("empty.tenon.so", PluginStage::kNote, "empty");
  check("folder.tenon.so", PluginStage::kFound, "a folder");
  check("fifo.tenon.so", PluginStage::kFound, "a FIFO");
  check("loop.tenon.so", PluginStage::kFound, "Too many levels of symbolic links");
  check("nonote.tenon.so", PluginStage::kNote, "TENON_PLUGIN_NOTE");
}

TEST_CASE("D77 a file that may not be read says so, with the system's reason") {
  if (geteuid() == 0) {
    MESSAGE("skipped: root may read every file");
    return;
  }
  const TempDir folder;
  const std::string closed = folder.copy(fake("good", "acme"), "closed.tenon.so");
  REQUIRE(chmod(closed.c_str(), 0000) == 0);
  const Discovery found = find({closed});
  CHECK(record_at(found, closed).reason.find("Permission denied") != std::string::npos);
  CHECK(record_at(found, closed).code == TENON_IO);
}

TEST_CASE(
    "D83 under raised privileges path variables are ignored with one warning, system folders are "
    "not") {
  const TempDir folder;
  folder.copy(fake("good", "acme"), "evil/acme.tenon.so");
  folder.copy(fake("other", "bolt"), "system/bolt.tenon.so");
  DiscoveryOptions options;
  options.configured_paths = {{folder / "evil", "tenon.yaml:1"}};
  options.system_folder = folder / "system";

  const Discovery found =
      discover(options, Environment::of({{"TENON_PLUGIN_PATH", folder / "evil"}}, /*secure=*/true));

  CHECK(loaded(found) == std::vector{folder / "system/bolt.tenon.so"});
  CHECK(found.files.size() == 1);
  CHECK(logged(found, TENON_LOG_WARN, "TENON_PLUGIN_PATH is ignored"));
  CHECK(logged(found, TENON_LOG_WARN, "raised privileges"));
}

TEST_CASE("globs of ids enable and disable, and the record names the setting") {
  const TempDir folder;
  const std::string acme = folder.copy(fake("good", "acme"), "acme.tenon.so");
  const std::string bolt = folder.copy(fake("other", "bolt"), "bolt.tenon.so");
  DiscoveryOptions options = explicitly({folder.path().string()});

  SUBCASE("what is disabled") {
    options.disable = PatternList{{"x", "b*"}, "tenon.yaml:7"};
    const Discovery found = discover(options, Environment::of({}));
    CHECK(loaded(found) == std::vector{acme});
    CHECK(record_at(found, bolt).state == PluginState::kDisabled);
    CHECK(record_at(found, bolt).reason == "disabled by tenon.yaml:7 ('b*')");
  }
  SUBCASE("only what is enabled") {
    options.enable = PatternList{{"z*", "acm?"}, "TENON_PLUGINS_ENABLE"};
    const Discovery found = discover(options, Environment::of({}));
    CHECK(loaded(found) == std::vector{acme});
    CHECK(record_at(found, bolt).reason ==
          "not among those that TENON_PLUGINS_ENABLE enables (z*, acm?)");
  }
}

TEST_CASE(
    "files and folders that others may write are refused, unless the configuration allows it") {
  const TempDir folder;
  const std::string file = folder.copy(fake("good", "acme"), "d/acme.tenon.so");
  DiscoveryOptions options = explicitly({folder / "d"});
  const auto reason = [&] {
    const Discovery found = discover(options, Environment::of({}));
    return found.files[0].load ? std::string("loaded") : found.files[0].record.reason;
  };
  CHECK(reason() == "loaded");

  fs::permissions(file, fs::perms(0757));
  CHECK(reason().find("can be written by everybody") != std::string::npos);
  options.allow_insecure = true;
  CHECK(reason() == "loaded");
  CHECK(logged(discover(options, Environment::of({})), TENON_LOG_WARN, "plugins.allow_insecure"));
  options.allow_insecure = false;
  fs::permissions(file, fs::perms(0755));

  fs::permissions(folder / "d", fs::perms(0777));
  CHECK(reason().find("folder") != std::string::npos);
  fs::permissions(folder / "d", fs::perms(01777));
  CHECK(reason() == "loaded");  // sticky
  fs::permissions(folder / "d", fs::perms(0755));

  if (geteuid() == 0) {
    REQUIRE(chown(file.c_str(), 12345, 12345) == 0);
    CHECK(reason().find("belongs to user 12345") != std::string::npos);
    options.user = 12345;
    CHECK(reason() == "loaded");
  } else {
    options.user = geteuid() + 1;
    CHECK(reason().find("belongs to user") != std::string::npos);
  }
}

TEST_CASE("a link into a folder that others may write is not trusted either") {
  const TempDir folder;
  const std::string file = folder.copy(fake("good", "acme"), "open/acme.tenon.so");
  fs::create_directory(folder / "mine");
  fs::create_symlink(file, folder / "mine/acme.tenon.so");
  fs::permissions(folder / "open", fs::perms(0777));

  const Discovery found = find({folder / "mine"});

  CHECK(loaded(found).empty());
  CHECK(record_at(found, file).reason.find("not trusted") == 0);
}

TEST_CASE("the folder of the core is the executable's where the core is linked into it") {
  CHECK(core_library_folder() == fs::canonical("/proc/self/exe").parent_path().string());
}

TEST_SUITE_END();

}  // namespace
}  // namespace tenon::loader
