// Tests of the built command: what plugins print, and results that cannot be written.
#include <filesystem>
#include <string>
#include <sys/resource.h>
#include <vector>

#include <doctest/doctest.h>

#include "built_command.hpp"

namespace {

using tenon_test::BuiltCommand;
using tenon_test::contains;
using tenon_test::Ran;
using Words = std::vector<std::string>;
namespace fs = std::filesystem;

/// Files that this process and its children make may have so many bytes, while this lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    (void)getrlimit(RLIMIT_FSIZE, &kept_);
    const rlimit limit{bytes, kept_.rlim_max};
    (void)setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() { (void)setrlimit(RLIMIT_FSIZE, &kept_); }

 private:
  rlimit kept_{};
};

TEST_SUITE("cli/streams_e2e") {
  TEST_CASE("what a plugin prints goes to stderr, and the data of the command stay whole") {
    for (const char* where : {"constructor", "init", "enumerate", "count", "describe"}) {
      const BuiltCommand tenon;
      const std::string plugin = tenon.folder().at(std::string(where) + "-print.tenon.so");
      fs::copy_file(TENON_DEED_PLUGIN, plugin);
      for (const Words& words : {Words{"plugins", "--devices"},
                                 Words{"devices"},
                                 Words{"targets"},
                                 Words{"ops"},
                                 Words{"run", "AddFwdOp", "self=8:f32", "other=8:f32"}}) {
        Words all = words;
        all.insert(all.end(), {"--plugin-path", plugin});
        INFO("where: ", where, ", command: ", words.front());
        const Ran ran = tenon.run(all);
        CHECK(ran.status == 0);
        CHECK_FALSE(contains(ran.out, "printed by a plugin"));
        (void)tenon.json(all);
      }
      const Ran devices = tenon.run({"devices", "--plugin-path", plugin});
      CHECK(contains(devices.err, "printed by a plugin\n"));
      CHECK(contains(devices.err, "printed by a plugin, at the end\n"));
      CHECK_FALSE(tenon.run({"plugins", "doctor", plugin, "--json"}).out.empty());
      CHECK(nlohmann::json::accept(tenon.run({"plugins", "doctor", plugin, "--json"}).out));
    }
  }

  TEST_CASE("a place for a result that cannot be is wrong usage, and the op does not run") {
    const BuiltCommand tenon;
    const Words add{"run", "AddFwdOp", "self=8:f32", "other=8:f32", "--out"};
    const auto to = [&](const std::string& file) {
      Words words = add;
      words.push_back(file);
      return tenon.run(words);
    };

    const Ran no_folder = to("no/such/y.npy");
    CHECK(no_folder.status == 2);
    CHECK(contains(no_folder.err, "cannot write 'no/such/y.npy': there is no folder 'no/such/'"));
    const Ran folder = to(tenon.folder().at("") + ".");
    CHECK(folder.status == 2);
    CHECK(contains(folder.err, "it is a folder"));
    CHECK(to("y.npy").status == 0);
    CHECK(fs::exists(tenon.folder().at("y.npy")));
  }

  TEST_CASE("a full disk is a failure of the machine, not of the command line") {
    const BuiltCommand tenon;

    const Ran ran =
        tenon.run({"run", "AddFwdOp", "self=8:f32", "other=8:f32", "--out", "/dev/full"});

    CHECK(ran.status == 1);
    CHECK(contains(ran.err, "'/dev/full' cannot be written: No space left on device"));
  }

  TEST_CASE("no command that prints ends with success where its output is lost") {
    const BuiltCommand tenon;
    const std::string plugin = TENON_CPU_PLUGIN;
    const std::string entries = TENON_MANIFEST_DIR;
    for (const Words& words : {Words{"--version"},
                               Words{"--help"},
                               Words{"help", "run"},
                               Words{"plugins"},
                               Words{"plugins", "--help"},
                               Words{"plugins", "inspect", plugin},
                               Words{"plugins", "doctor", plugin},
                               Words{"devices"},
                               Words{"targets"},
                               Words{"ops"},
                               Words{"ops", "show", "AddFwdOp"},
                               Words{"explain", "AddFwdOp", "self=4:f32", "other=4:f32"},
                               Words{"infer", "AddFwdOp", "self=4:f32", "other=4:f32"},
                               Words{"run", "AddFwdOp", "self=4:f32", "other=4:f32"},
                               Words{"manifest", "check", entries, "--json"},
                               Words{"manifest", "show", "AddFwdOp"},
                               Words{"manifest", "cases", "AddFwdOp"},
                               Words{"manifest", "schemas", "AddFwdOp"},
                               Words{"config", "show"},
                               Words{"config", "path", "--json"},
                               Words{"new-plugin", "big-fast"}}) {
      INFO("command: ", words.front(), " ", words.back());
      const Ran ran = tenon.run(words, "/dev/full");
      CHECK(ran.status == 1);
      CHECK_MESSAGE(contains(ran.err, "the output could not be written whole"), ran.err);
    }
  }

  TEST_CASE("a file that may not grow leaves nothing behind, and the reason is said") {
    const BuiltCommand tenon;
    Ran ran;
    {
      const FileSizeLimit limit(256 << 10);
      ran = tenon.run({"run", "AddFwdOp", "self=1024x1024:f32", "other=1:f32", "--out", "y.npy"});
    }

    CHECK(ran.status == 1);
    CHECK(contains(ran.err, "'y.npy' cannot be written: File too large"));
    for (const auto& entry : fs::directory_iterator(tenon.folder().at("")))
      CHECK_FALSE(contains(entry.path().filename().string(), "y.npy"));
  }
}

}  // namespace
