// Plugins that end the process of a command: no command takes that for success, and its last words
// name the function.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <thread>
#include <utility>

#include "built_command.hpp"

using namespace tenon_test;
namespace fs = std::filesystem;

namespace {

/// The plugin whose deed is its name, and the command that adds with it.
class Doer {
 public:
  explicit Doer(const std::string& deed) : path_(command_.folder().at(deed + ".tenon.so")) {
    fs::copy_file(TENON_DOER_PLUGIN, path_);
  }
  [[nodiscard]] const BuiltCommand& command() const { return command_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] Ran run(const std::string& first = "run") const {
    return command_.run({first, "AddFwdOp", "self=4:f32", "other=4:f32", "--plugin-path", path_});
  }

 private:
  BuiltCommand command_;
  std::string path_;
};

/// The same on the kind that a doer owns whose deed is one of the kind's functions'.
Ran run_on_own_kind(const Doer& doer, const std::vector<std::string>& more = {}) {
  std::vector<std::string> words{"run",
                                 "AddFwdOp",
                                 "self=4:f32",
                                 "other=4:f32",
                                 "--device=doing:0",
                                 "--plugin-path",
                                 doer.path()};
  words.insert(words.end(), more.begin(), more.end());
  return doer.command().run(words);
}

}  // namespace

TEST_SUITE("cli/ended") {
  TEST_CASE("a plugin that ends the process without a signal makes no command a success") {
    for (const char* where : {"refuse", "build", "launch", "destroy"}) {
      for (const char* how : {"exit", "quick", "raw"}) {
        CAPTURE(std::string(where));
        CAPTURE(std::string(how));
        const Ran ran = Doer(std::string(where) + "-" + how).run();
        CHECK(ran.status == 1);
        CHECK(ran.out.empty());
        CHECK_MESSAGE(contains(ran.err, std::string("in ") + where + " of 'doer:doing'"), ran.err);
        CHECK_MESSAGE(contains(ran.err, "nothing is finished"), ran.err);
      }
    }
    CHECK(Doer("refuse-quick").run("explain").status == 1);
  }

  TEST_CASE("with --json an end that a plugin made is a document with its plugin and stage") {
    const std::map<std::string, std::string> ends{
        {"launch-exit", "exit() was called in launch of 'doer:doing'"},
        {"build-quick",
         "the process was ended with status 0 (_exit or the like) in build of 'doer:doing'"},
        {"refuse-raw",
         "the process was ended with status 0 (_exit or the like) in refuse of 'doer:doing'"},
        {"launch-fault", "ended by SIGSEGV in launch of 'doer:doing'"},
        {"build-abort", "ended by SIGABRT in build of 'doer:doing'"},
        {"refuse-kill", "ended by SIGKILL in refuse of 'doer:doing'"},
        {"init-abort", "ended by SIGABRT in init of 'doer'"}};
    for (const auto& [deed, text] : ends) {
      CAPTURE(deed);
      const Doer doer(deed);
      const Ran ran = doer.command().run({"run",
                                          "AddFwdOp",
                                          "self=4:f32",
                                          "other=4:f32",
                                          "--json",
                                          "--set-config=plugins.probe=never",
                                          "--plugin-path",
                                          doer.path()});
      CHECK(ran.status != 0);
      const auto document = nlohmann::json::parse(ran.out, nullptr, false);
      REQUIRE_MESSAGE(document.is_object(), ran.out);
      CHECK(document["schema"] == 1);
      const auto& error = document["error"];
      CHECK(error["code"] == "PluginFailed");
      CHECK(error["text"] == text + "; nothing is finished");
      CHECK(error["plugin"] == "doer");
      CHECK(error["stage"] == deed.substr(0, deed.find('-')));
      CHECK(contains(error["hint"].get<std::string>(), "plugins.disable=doer"));
      CHECK(contains(ran.err, text));
    }
  }

  TEST_CASE("with --json an end after the work adds no second document") {
    const Doer doer("destructor-abort");
    const Ran ran = doer.command().run({"run",
                                        "AddFwdOp",
                                        "self=4:f32",
                                        "other=4:f32",
                                        "--json",
                                        "--set-config=plugins.probe=never",
                                        "--plugin-path",
                                        doer.path()});
    CHECK(ran.status == -SIGABRT);
    const auto document = nlohmann::json::parse(ran.out, nullptr, false);
    REQUIRE_MESSAGE(document.is_object(), ran.out);
    CHECK(document["kernels"][0]["key"] == "doer:doing");
  }

  TEST_CASE("a signal stays the command's end, and the function of the plugin is named") {
    const Ran fault = Doer("launch-fault").run();
    CHECK(fault.status == -SIGSEGV);
    CHECK_MESSAGE(contains(fault.err, "ended by SIGSEGV in launch of 'doer:doing'"), fault.err);
    const Ran aborted = Doer("build-abort").run();
    CHECK(aborted.status == -SIGABRT);
    CHECK_MESSAGE(contains(aborted.err, "ended by SIGABRT in build of 'doer:doing'"), aborted.err);
    const Ran killed = Doer("refuse-kill").run();
    CHECK(killed.status == -SIGKILL);
    CHECK_MESSAGE(contains(killed.err, "ended by SIGKILL in refuse of 'doer:doing'"), killed.err);
  }

  TEST_CASE("a signal that a plugin raises is told, whatever signal it is") {
    const std::map<std::string, std::pair<int, std::string>> ends{{"pipe", {SIGPIPE, "SIGPIPE"}},
                                                                  {"term", {SIGTERM, "SIGTERM"}},
                                                                  {"int", {SIGINT, "SIGINT"}},
                                                                  {"user", {SIGUSR1, "SIGUSR1"}},
                                                                  {"traced", {SIGSEGV, "SIGSEGV"}}};
    for (const auto& [deed, end] : ends) {
      CAPTURE(deed);
      const Ran ran = Doer("launch-" + deed).run();
      CHECK(ran.status == -end.first);
      CHECK_MESSAGE(contains(ran.err, "ended by " + end.second + " in launch of 'doer:doing'"),
                    ran.err);
      CHECK_MESSAGE(contains(ran.err, "plugins.disable=doer leaves this one out"), ran.err);
    }
  }

  TEST_CASE("who interrupts a command learns what was running") {
    const Doer doer("launch-hang");
    std::string err;
    std::string out;
    const auto text_of = [&](const char* name) {
      std::ifstream file(doer.command().folder().at(name));
      return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    };
    // Nothing tells that it has come to the launch: a busy machine gets more time.
    for (int wait_ms = 500; wait_ms <= 16000 && !contains(err, "interrupted"); wait_ms *= 2) {
      const pid_t command = doer.command().start(
          {"run", "AddFwdOp", "self=4:f32", "other=4:f32", "--json", "--plugin-path", doer.path()});
      std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms));
      CHECK(kill(command, SIGINT) == 0);
      int status = 0;
      REQUIRE(waitpid(command, &status, 0) == command);
      CHECK(WIFSIGNALED(status));
      CHECK(WTERMSIG(status) == SIGINT);
      err = text_of("stderr");
      out = text_of("stdout");
    }
    CHECK_MESSAGE(contains(err, "interrupted in launch of 'doer:doing' (SIGINT)"), err);
    const auto document = nlohmann::json::parse(out, nullptr, false);
    REQUIRE_MESSAGE(document.is_object(), out);
    CHECK(document["error"]["code"] == "ShutDown");
    CHECK(document["error"]["plugin"] == "doer");
    CHECK(document["error"]["stage"] == "launch");
  }

  TEST_CASE("a child that a plugin forks and that comes back is not the command") {
    for (const char* where : {"launch", "build", "refuse"}) {
      CAPTURE(std::string(where));
      const Doer doer(std::string(where) + "-fork");
      const auto json = doer.command().json({"run",
                                             "AddFwdOp",
                                             "self=4:f32",
                                             "other=4:f32",
                                             "--out=y.npy",
                                             "--plugin-path",
                                             doer.path()});
      CHECK(json["kernels"][0]["key"] == "doer:doing");
    }
  }

  TEST_CASE("results lie where the command line says, wherever a plugin goes") {
    for (const char* where : {"init", "launch"}) {
      CAPTURE(std::string(where));
      const Doer doer(std::string(where) + "-away");
      const Ran ran = doer.command().run({"run",
                                          "AddFwdOp",
                                          "self=4:f32",
                                          "other=4:f32",
                                          "--out",
                                          "output=y.npy",
                                          "--plugin-path",
                                          doer.path()});
      CHECK_MESSAGE(ran.status == 0, ran.err);
      CHECK(fs::exists(doer.command().folder().at("y.npy")));
    }
  }

  TEST_CASE("a plugin's text is one line of an error and forges none") {
    const Ran ran = Doer("launch-text").run();
    CHECK(ran.status == 1);
    CHECK_MESSAGE(contains(ran.err, "first\\x0a\\x1b[31mtenon: all is well\\x09and so on\n"),
                  ran.err);
  }

  TEST_CASE("what ends the process after the work is told, and changes no status to success") {
    const Ran works = Doer("launch-well").run();
    CHECK(works.status == 0);
    CHECK_MESSAGE(works.err.empty(), works.err);
    CHECK(contains(works.out, "doer:doing"));
    const std::vector<std::string> never{"--set-config=plugins.probe=never"};
    const auto run = [&](const Doer& doer, const std::string& op) {
      return doer.command().run({"run",
                                 op,
                                 "self=4:f32",
                                 "other=4:f32",
                                 "--plugin-path",
                                 doer.path(),
                                 "--set-config=plugins.probe=never"});
    };
    const Ran crash = run(Doer("destructor-abort"), "AddFwdOp");
    CHECK(crash.status == -SIGABRT);
    CHECK(contains(crash.out, "doer:doing"));
    CHECK_MESSAGE(contains(crash.err, "after the command was done"), crash.err);
    const Ran hidden = Doer("destructor-quick")
                           .command()
                           .run({"run", "NoSuchOp", "--set-config=plugins.probe=never"});
    CHECK(hidden.status == 2);
    const Doer failing("atexit-quick");
    const Ran failed = failing.command().run({"run",
                                              "AddFwdOp",
                                              "self=4:f32",
                                              "other=5:f32",
                                              "--plugin-path",
                                              failing.path(),
                                              "--set-config=plugins.probe=never"});
    CHECK(failed.status == 1);
    CHECK_MESSAGE(contains(failed.err, "made it 0"), failed.err);
  }

  TEST_CASE("a fault on a thread that a plugin made is that plugin's, and no function's") {
    const Ran ran = Doer("build-thread").run();
    CHECK(ran.status == -SIGSEGV);
    CHECK_MESSAGE(
        contains(ran.err,
                 "ended by SIGSEGV in code of plugin 'doer' on another thread, in build of "
                 "'doer:doing'"),
        ran.err);
    const Ran same = Doer("launch-address").run();
    CHECK_MESSAGE(contains(same.err, "ended by SIGSEGV in launch of 'doer:doing'; nothing"),
                  same.err);
  }

  TEST_CASE("a fault in a destructor is its plugin's") {
    const Doer doer("destructor-address");
    const Ran ran = doer.command().run({"run",
                                        "AddFwdOp",
                                        "self=4:f32",
                                        "other=4:f32",
                                        "--plugin-path",
                                        doer.path(),
                                        "--set-config=plugins.probe=never"});
    CHECK(ran.status == -SIGSEGV);
    CHECK_MESSAGE(contains(ran.err, "in a destructor or exit handler, of plugin 'doer'"), ran.err);
    CHECK(contains(ran.err, "plugins.disable=doer leaves this one out"));
  }

  TEST_CASE("a plugin that closes the command's output is told, and the output is there") {
    for (const char* where : {"refuse", "launch", "destroy"}) {
      CAPTURE(std::string(where));
      const Ran ran = Doer(std::string(where) + "-closes").run();
      CHECK(ran.status == 0);
      CHECK_MESSAGE(contains(ran.out, "doer:doing"), ran.out);
      CHECK_MESSAGE(
          contains(ran.err,
                   std::string(where) +
                       " of 'doer:doing' closed the command's output; it was opened again"),
          ran.err);
    }
    // Every launch does: the ones that are repeated are told by whoever writes next.
    const Doer doer("launch-closes");
    const Ran timed = doer.command().run(
        {"run", "AddFwdOp", "self=4:f32", "other=4:f32", "--time", "--plugin-path", doer.path()});
    CHECK(timed.status == 0);
    CHECK_MESSAGE(contains(timed.out, "doer:doing"), timed.err);
  }

  TEST_CASE("a plugin that changes the umask or blocks signals is told, and it is put back") {
    const Ran mask = Doer("launch-umask").run();
    CHECK(mask.status == 0);
    CHECK_MESSAGE(
        contains(mask.err, "launch of 'doer:doing' changed the process's umask; it was put back"),
        mask.err);
    const Ran blocked = Doer("build-blocks").run();
    CHECK(blocked.status == 0);
    CHECK_MESSAGE(contains(blocked.err,
                           "build of 'doer:doing' left the thread with other signals blocked than "
                           "before; that was put back"),
                  blocked.err);
  }

  TEST_CASE("what giving and taking memory does to the process is told as theirs, at once") {
    const std::map<std::string, std::string> deeds{
        {"umask", "changed the process's umask; it was put back"},
        {"blocks", "left the thread with other signals blocked than before; that was put back"},
        {"closes", "closed the command's output; it was opened again"}};
    for (const std::string function : {"alloc", "free"}) {
      for (const auto& [deed, text] : deeds) {
        CAPTURE(function);
        CAPTURE(deed);
        const Ran ran = run_on_own_kind(
            Doer(function + "-" + deed),
            deed == "closes" ? std::vector<std::string>{} : std::vector<std::string>{"--time"});
        CHECK(ran.status == 0);
        CHECK(contains(ran.out, "doer:doing"));
        std::istringstream lines(ran.err);
        std::size_t told = 0;
        for (std::string line; std::getline(lines, line); ++told) {
          const bool is_its_own = line == "tenon: " + function + " of 'doer' " + text;
          const bool is_repeated = line == "tenon: a plugin, in calls that were repeated, " + text;
          CHECK_MESSAGE((is_its_own || is_repeated), ran.err);
          CHECK((told != 0 || is_its_own));
        }
        CHECK(told != 0);
      }
    }
  }

  TEST_CASE("a thread that a plugin ends is told with the function that did") {
    for (const char* where : {"refuse", "build", "launch", "destroy"}) {
      CAPTURE(std::string(where));
      const Ran ran = Doer(std::string(where) + "-leaves").run();
      CHECK(ran.status == 1);
      CHECK_MESSAGE(contains(ran.err,
                             std::string("tenon: the thread was ended (pthread_exit) in ") + where +
                                 " of 'doer:doing'; nothing is finished\n"),
                    ran.err);
    }
    for (const char* where : {"alloc", "free", "copy"}) {
      CAPTURE(std::string(where));
      const Ran ran = run_on_own_kind(Doer(std::string(where) + "-leaves"), {"--json"});
      CHECK(ran.status == 1);
      const auto document = nlohmann::json::parse(ran.out, nullptr, false);
      REQUIRE_MESSAGE(document.is_object(), ran.out);
      CHECK(document["error"]["code"] == "PluginFailed");
      CHECK(document["error"]["text"] == std::string("the thread was ended (pthread_exit) in ") +
                                             where + " of 'doer'; nothing is finished");
    }
  }

  TEST_CASE("an exception that a plugin lets pass is an error of the command") {
    const Ran ran = Doer("launch-throw").run();
    CHECK(ran.status == 1);
    CHECK_MESSAGE(contains(ran.err, "the launch failed: it threw an exception: a table is gone"),
                  ran.err);
  }

  TEST_CASE("what a device kind's own function does is its owner's, and no kernel's") {
    const auto run = [](const std::string& deed, const std::vector<std::string>& more = {}) {
      return run_on_own_kind(Doer(deed), more);
    };
    const Ran works = run("copy-well");
    CHECK_MESSAGE(works.status == 0, works.err);
    CHECK(contains(works.out, "doer:doing"));
    for (const char* function : {"alloc", "free", "copy"}) {
      CAPTURE(std::string(function));
      for (const char* how : {"-address", "-abort"}) {
        const Ran ran = run(std::string(function) + how);
        CHECK_MESSAGE(contains(ran.err, std::string(" in ") + function + " of 'doer'; nothing"),
                      ran.err);
        CHECK(contains(ran.err, "plugins.disable=doer leaves this one out"));
      }
    }
    const Ran idle = run("copy-idle", {"--check"});
    CHECK(idle.status == 1);
    CHECK_MESSAGE(contains(idle.err, "copy of device kind 'doing' (plugin 'doer') does not copy"),
                  idle.err);
    const Ran throws = run("alloc-throw");
    CHECK(throws.status == 1);
    CHECK_MESSAGE(contains(throws.err, "alloc of plugin 'doer': it threw an exception"),
                  throws.err);
    const Ran checked = run("alloc-throw", {"--check"});
    CHECK(checked.status == 1);
    CHECK_MESSAGE(checked.err == throws.err, checked.err);
    const Ran odd = run("alloc-odd");
    CHECK(odd.status == 1);
    CHECK_MESSAGE(contains(odd.err, "no multiple of 256; it was given back"), odd.err);
    const Ran failing = run("free-fails");
    CHECK(failing.status == 0);
    CHECK_MESSAGE(contains(failing.err, "free of device kind 'doing' failed (16 bytes on doing:0)"),
                  failing.err);
    CHECK(contains(failing.err, "DEVICE: the heap is damaged"));
  }
}
