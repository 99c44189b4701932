// The account of plugins' functions: what it says of nested ones, of those that pass, and of a
// fault.
#include "plugin_account.hpp"

#include <cstring>
#include <memory>
#include <string>
#include <sys/types.h>
#include <unistd.h>

#include <doctest/doctest.h>

using namespace tenon::cli;

namespace {

struct Kept {
  std::unique_ptr<PluginAccount> account = std::make_unique<PluginAccount>();
  AccountWatch watch{*account};
  [[nodiscard]] std::string place() const { return place_text(*account); }
  void fault_in(const char* plugin, pid_t thread) const {
    std::strcpy(account->fault.plugin.data(), plugin);
    account->fault.thread = thread;
    account->fault.known = true;
  }
};

}  // namespace

TEST_SUITE("cli/plugin_account") {
  TEST_CASE("a function is where it is while it runs, and the last one afterwards") {
    Kept k;
    CHECK(k.place() == "before any function of a plugin was called");
    k.watch.begins("launch", "acme:fast");
    CHECK(k.place() == "in launch of 'acme:fast'");
    CHECK(plugin_to_blame(*k.account) == "acme");
    k.watch.ends();
    CHECK(
        k.place() ==
        "after launch of 'acme:fast', the last function of a plugin that was called for the first "
        "time");
    CHECK(plugin_to_blame(*k.account).empty());
  }

  TEST_CASE("a function within another gives the blame back to it") {
    Kept k;
    k.watch.begins("build", "acme:fast");
    k.watch.begins("alloc", "bolt");
    CHECK(k.place() == "in alloc of 'bolt'");
    CHECK(plugin_to_blame(*k.account) == "bolt");
    k.watch.ends();
    CHECK(k.place() == "in build of 'acme:fast'");
    k.watch.begins("synchronize", "bolt");
    k.watch.ends();
    CHECK(k.place() == "in build of 'acme:fast'");
    k.watch.ends();
  }

  TEST_CASE("memory that comes and goes hides no kernel that was launched before it") {
    Kept k;
    k.watch.begins("launch", "acme:fast");
    k.watch.ends();
    for (int i = 0; i < 3; ++i) {
      k.watch.begins("free", "bolt");
      CHECK(k.place() == "in free of 'bolt'");
      k.watch.ends();
      CHECK(k.place().find("after launch of 'acme:fast'") == 0);
    }
    CHECK(k.account->n_told == 2);
  }

  TEST_CASE("more functions than there is room for are told one after the other") {
    Kept k;
    for (int i = 0; i < 1000; ++i) {
      const std::string name = "acme:k" + std::to_string(i);
      k.watch.begins("launch", name);
      CHECK(k.place() == "in launch of '" + name + "'");
      k.watch.ends();
    }
  }

  TEST_CASE("a fault in another plugin's code is that one's, whatever function runs") {
    Kept k;
    k.watch.begins("launch", "acme:fast");
    k.fault_in("bolt", gettid() + 1);
    CHECK(k.place() == "in code of plugin 'bolt' on another thread, in launch of 'acme:fast'");
    CHECK(plugin_to_blame(*k.account) == "bolt");
    k.fault_in("bolt", gettid());
    k.account->fault.brought = true;
    CHECK(k.place() ==
          "in code of plugin 'bolt' or of a library that came with it, in launch of 'acme:fast'");
    k.account->fault.brought = false;
    k.fault_in("acme", gettid());
    CHECK(k.place() == "in launch of 'acme:fast'");
    k.watch.ends();
    CHECK(k.place().find("in code of plugin 'acme', after launch of 'acme:fast'") == 0);
  }
}
