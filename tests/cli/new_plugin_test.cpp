// Tests of `tenon new-plugin`: what it writes, and what it refuses to do. That the projects build
// and pass is shown by the package tests.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "run_support.hpp"

namespace {

namespace fs = std::filesystem;
using tenon_test::contains;
using tenon_test::run_tenon;
using tenon_test::TempFolder;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::set<std::string> files_below(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) names.insert(fs::relative(entry.path(), folder).string());
  }
  return names;
}

TEST_SUITE("cli/new_plugin") {
  TEST_CASE("a project has the plugin's own words and none of the template's") {
    const TempFolder folder;
    for (const auto& extra : {std::vector<std::string>{},
                              std::vector<std::string>{"--device", "gadget"},
                              std::vector<std::string>{"--lang", "c"}}) {
      const std::string place =
          folder.at("p" + std::to_string(extra.size()) + (extra.empty() ? "" : extra.back()));
      std::vector<std::string> words{"new-plugin", "big-fast", "--into", place};
      words.insert(words.end(), extra.begin(), extra.end());
      const auto ran = run_tenon(words);
      REQUIRE_MESSAGE(ran.status == 0, ran.err);
      for (const std::string& name : files_below(place)) {
        const std::string text = text_of(fs::path(place) / name);
        CHECK_FALSE(text.empty());
        CHECK_MESSAGE(contains(ran.out, name), name);
        for (const char* word : {"acme", "Acme", "widget"})
          CHECK_FALSE_MESSAGE(contains(text, word), name << " has " << word);
      }
      CHECK(contains(text_of(fs::path(place) / "CMakeLists.txt"), "tenon_add_plugin(big-fast "));
      CHECK((fs::status(fs::path(place) / "ci.sh").permissions() & fs::perms::owner_exec) !=
            fs::perms::none);
    }
    CHECK(contains(text_of(folder.at("p0/entry.cpp")), "big_fast_plugin::ShortRows"));
    CHECK(contains(text_of(folder.at("p2gadget/devices.hpp")), "kind = \"gadget\""));
    CHECK(contains(text_of(folder.at("p2c/rows.c")), "TENON_PLUGIN_NOTE(\"big-fast\""));
  }

  TEST_CASE("a name with a word of the template in it is exchanged once") {
    const TempFolder folder;
    const auto ran = run_tenon({"new-plugin",
                                "acme-widget",
                                "--into",
                                folder.at("p"),
                                "--device",
                                "acme-widget",
                                "--json"});
    REQUIRE(ran.status == 0);
    const auto json = nlohmann::json::parse(ran.out);
    CHECK(json["name"] == "acme-widget");
    CHECK(json["device"] == "acme-widget");
    const auto names = files_below(folder.at("p"));
    CHECK(json["files"].size() == names.size());
    for (const auto& name : json["files"]) CHECK(names.count(name.get<std::string>()) == 1);
    const std::string entry = text_of(folder.at("p/entry.cpp"));
    CHECK(contains(entry, "tenon::plugin(\"acme-widget\", "));
    CHECK(contains(entry, "acme_widget_plugin::Devices"));
  }

  TEST_CASE("names that are no ids, languages without a template and both at once are refused") {
    const TempFolder folder;
    for (const char* name : {"Acme", "1st", "a_b", "", "../up", "a b"}) {
      const auto ran = run_tenon({"new-plugin", name, "--into", folder.at("p")});
      CHECK(ran.status == 2);
      CHECK_MESSAGE(contains(ran.err, "cannot be a plugin's name"), ran.err);
    }
    const auto kind = run_tenon({"new-plugin", "a", "--device", "G:0", "--into", folder.at("p")});
    CHECK(kind.status == 2);
    CHECK(contains(kind.err, "'G:0' cannot be a device kind"));
    const auto rust = run_tenon({"new-plugin", "a", "--lang", "rust", "--into", folder.at("p")});
    CHECK(rust.status == 2);
    CHECK(contains(rust.err, "there is no template in 'rust'"));
    const auto both = run_tenon(
        {"new-plugin", "a", "--lang", "c", "--device", "gadget", "--into", folder.at("p")});
    CHECK(both.status == 2);
    CHECK(contains(both.err, "in C brings kernels for 'cpu' only"));
    CHECK_FALSE(fs::exists(folder.at("p")));
  }

  TEST_CASE("a name that is longer than the loader takes an id is refused with the limit") {
    const TempFolder folder;
    for (const auto& words : {std::vector<std::string>{std::string(65, 'a')},
                              std::vector<std::string>{"a", "--device", std::string(65, 'a')}}) {
      std::vector<std::string> all{"new-plugin", "--into", folder.at("p")};
      all.insert(all.end(), words.begin(), words.end());
      const auto ran = run_tenon(all);
      CHECK(ran.status == 2);
      CHECK_MESSAGE(contains(ran.err, "of 65 characters, 'aaaa"), ran.err);
      CHECK_MESSAGE(contains(ran.err, "at most 64, as the loader takes ids"), ran.err);
    }
    CHECK_FALSE(fs::exists(folder.at("p")));
    CHECK(run_tenon({"new-plugin", std::string(64, 'a'), "--into", folder.at("p")}).status == 0);
  }

  TEST_CASE("both languages begin with the same version") {
    const TempFolder folder;
    const auto project = [&](const std::string& language) {
      const std::string place = folder.at(language);
      REQUIRE(run_tenon({"new-plugin", "fast", "--lang", language, "--into", place}).status == 0);
      return place;
    };
    CHECK(contains(text_of(project("c") + "/rows.c"), "TENON_PLUGIN_NOTE(\"fast\", \"0.1.0\")"));
    CHECK(contains(text_of(folder.at("c/CMakeLists.txt")), "VERSION 0.1.0"));
    CHECK(contains(text_of(project("c++") + "/entry.cpp"), "plugin(\"fast\", \"0.1.0\")"));
    CHECK(contains(text_of(folder.at("c++/CMakeLists.txt")), "VERSION 0.1.0"));
  }

  TEST_CASE("names that CMake keeps or that a shipped plugin has are refused with the reason") {
    const TempFolder folder;
    for (const char* name : {"all", "test", "clean", "help", "install", "package"}) {
      const auto ran = run_tenon({"new-plugin", name, "--into", folder.at("p")});
      CHECK_MESSAGE(ran.status == 2, name);
      CHECK(contains(ran.err, "CMake keeps that name"));
    }
    for (const char* name : {"cpu", "cuda", "hip", "hip-nvidia", "maca"}) {
      const auto ran = run_tenon({"new-plugin", name, "--into", folder.at("p")});
      CHECK_MESSAGE(ran.status == 2, name);
      CHECK(contains(ran.err, "a plugin that Tenon ships has that id"));
    }
    const auto kind = run_tenon({"new-plugin", "a", "--device", "cuda", "--into", folder.at("p")});
    CHECK(kind.status == 2);
    CHECK(contains(kind.err, "a plugin that Tenon ships owns it"));
    const auto cpu = run_tenon({"new-plugin", "a", "--device", "cpu", "--into", folder.at("p")});
    CHECK(cpu.status == 2);
    CHECK(contains(cpu.err, "the plugin 'cpu' owns it"));
    CHECK(contains(cpu.err, "leave --device out"));
    const auto host =
        run_tenon({"new-plugin", "a", "--device", "builtin", "--into", folder.at("p")});
    CHECK(host.status == 2);
    CHECK(contains(host.err, "'builtin' cannot be a device kind"));
    CHECK_FALSE(fs::exists(folder.at("p")));
  }

  TEST_CASE("nothing that is there is overwritten, and an empty folder is taken") {
    const TempFolder folder;
    fs::create_directory(folder.at("full"));
    std::ofstream(folder.at("full/README.md")) << "mine";
    const auto full = run_tenon({"new-plugin", "a", "--into", folder.at("full")});
    CHECK(full.status != 0);
    CHECK(contains(full.err, "is there already, and no empty folder"));
    CHECK(text_of(folder.at("full/README.md")) == "mine");
    CHECK(files_below(folder.at("full")).size() == 1);

    std::ofstream(folder.at("file")) << "mine";
    CHECK(run_tenon({"new-plugin", "a", "--into", folder.at("file")}).status != 0);
    CHECK(text_of(folder.at("file")) == "mine");

    fs::create_directory(folder.at("empty"));
    CHECK(run_tenon({"new-plugin", "a", "--into", folder.at("empty")}).status == 0);
  }

  TEST_CASE("where a file cannot be written, nothing is left and the reason is said") {
    const TempFolder folder;
    // A path below a file can never be made, whoever runs the test.
    std::ofstream(folder.at("file")) << "mine";
    const auto ran = run_tenon({"new-plugin", "a", "--into", folder.at("file/below")});
    CHECK(ran.status != 0);
    CHECK_MESSAGE(contains(ran.err, "cannot make the folder"), ran.err);
    CHECK(files_below(folder.at("")).size() == 1);
  }
}

}  // namespace
