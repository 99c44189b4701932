// Tests of dispatch, options, help, errors and exit statuses.
#include "app.hpp"

#include <chrono>
#include <future>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "help.hpp"
#include "run_support.hpp"
#include "text.hpp"
#include "waiting.hpp"

namespace {

using tenon_test::contains;
using tenon_test::run_tenon;

TEST_SUITE("cli/app") {
  TEST_CASE("without words the overview goes to stderr and the status is 2") {
    const auto ran = run_tenon({});

    CHECK(ran.status == 2);
    CHECK(ran.out.empty());
    CHECK(contains(ran.err, "usage: tenon COMMAND"));
  }

  TEST_CASE("--help, -h and help list every command on stdout") {
    for (const char* word : {"--help", "-h", "help"}) {
      const auto ran = run_tenon({word});
      CHECK(ran.status == 0);
      CHECK(ran.err.empty());
      for (const auto& command : tenon::cli::all_commands()) CHECK(contains(ran.out, command.name));
    }
  }

  TEST_CASE("every command has help with examples that fits the width") {
    for (const auto& command : tenon::cli::all_commands()) {
      INFO("command: ", std::string(command.name));
      const std::string help = tenon::cli::help_text(command, {});
      CHECK(contains(help, "\nexamples\n  tenon "));
      CHECK(contains(help, "--json"));
      const std::string prose = help.substr(0, help.find("\nexamples\n"));
      for (const std::string& line : tenon::cli::wrapped(prose, 10000))
        CHECK_MESSAGE(line.size() <= 80, line);
    }
  }

  TEST_CASE("the help of a first word lists what may follow it") {
    for (const auto& ran : {run_tenon({"manifest", "--help"}), run_tenon({"help", "manifest"})}) {
      CHECK(ran.status == 0);
      CHECK(contains(ran.out, "manifest check"));
      CHECK(contains(ran.out, "manifest codegen"));
      CHECK_FALSE(contains(ran.out, "plugins"));
    }
    CHECK(contains(run_tenon({"plugins", "--help"}).out, "plugins inspect"));
    const auto alone = run_tenon({"manifest"});
    CHECK(alone.status == 2);
    CHECK(contains(alone.err, "'tenon manifest' needs a second word"));
    CHECK(contains(run_tenon({"manifest", "chekc"}).err, "did you mean 'check'?"));
  }

  TEST_CASE("--version prints the version and the plugin ABI") {
    const auto ran = run_tenon({"--version"});

    CHECK(ran.status == 0);
    CHECK(ran.out.starts_with("tenon "));
    CHECK(contains(ran.out, "plugin ABI"));
  }

  TEST_CASE("a misspelt command gets the nearest names and status 2") {
    const auto ran = run_tenon({"shcema", "x"});

    CHECK(ran.status == 2);
    CHECK(ran.out.empty());
    CHECK(contains(ran.err, "error[UsageError]: there is no command 'shcema'"));
    CHECK(contains(ran.err, "did you mean 'schema'?"));
  }

  TEST_CASE("a misspelt option gets the nearest names and status 2") {
    const auto ran = run_tenon({"schema", "--lnit", "x"});

    CHECK(ran.status == 2);
    CHECK(contains(ran.err, "'tenon schema' has no option '--lnit'"));
    CHECK(contains(ran.err, "did you mean '--lint'?"));
  }

  TEST_CASE("options are not abbreviated") {
    CHECK(run_tenon({"schema", "--lin", "x"}).status == 2);
  }

  TEST_CASE("missing and surplus operands are named") {
    const auto missing = run_tenon({"schema"});
    CHECK(missing.status == 2);
    CHECK(contains(missing.err, "'tenon schema' needs FILE"));

    const auto surplus = run_tenon({"schema", "a", "b"});
    CHECK(surplus.status == 2);
    CHECK(contains(surplus.err, "got also 'b'"));
  }

  TEST_CASE("with --json an error is a document on stdout beside the text on stderr") {
    const auto ran = run_tenon({"schema", "--json", "/no/such/file"});

    CHECK(ran.status == 2);
    CHECK(contains(ran.err, "cannot read /no/such/file"));
    const auto json = nlohmann::json::parse(ran.out);
    CHECK(json["schema"] == 1);
    CHECK(json["error"]["code"] == "UsageError");
    CHECK(contains(json["error"]["text"].get<std::string>(), "/no/such/file"));
    CHECK(json["error"].contains("where"));
    CHECK(json["error"].contains("hint"));
  }

  TEST_CASE("an error about a wrong command line is JSON too when --json is anywhere on it") {
    const auto ran = run_tenon({"nonsense", "--json"});

    CHECK(ran.status == 2);
    CHECK(nlohmann::json::parse(ran.out)["error"]["code"] == "UsageError");
  }

  TEST_CASE("options that every command takes may stand before it") {
    const auto ran = run_tenon({"--json", "schema", "/no/such/file"});

    CHECK(ran.status == 2);
    CHECK(nlohmann::json::parse(ran.out)["error"]["code"] == "UsageError");
  }

  TEST_CASE("the error text has a caret under the column at fault") {
    const auto error = tenon::Error(tenon::ErrorCode::kUsageError, "found 'q'")
                           .with("source", "x=20q8:f32")
                           .with("column", "5")
                           .with_hint("mend it");

    CHECK(tenon::cli::error_text(error, {}) ==
          "error[UsageError]: found 'q'\n"
          "  x=20q8:f32\n"
          "      ^\n"
          "  hint: mend it\n");
  }

  TEST_CASE("a progress line appears only on a terminal and not in the first second") {
    std::string printed;
    const auto sink = [&](std::string_view text) { printed += text; };
    for (const bool is_terminal : {false, true}) {
      tenon::cli::Console console([](std::string_view) {}, sink, {}, {}, is_terminal);
      tenon::cli::Progress progress(console, "timed runs");
      progress.update(3, 10);
    }

    CHECK(printed.empty());
  }

  TEST_CASE("work that cannot be counted is told on a terminal, and the line is gone at its end") {
    using std::chrono::hours;
    using std::chrono::milliseconds;
    std::string err;
    std::promise<void> shown;
    const auto sink = [&](std::string_view text) {
      if (err.empty()) shown.set_value();
      err += text;
    };
    const auto console = [&](bool is_terminal) {
      return tenon::cli::Console([](std::string_view) {}, sink, {}, {}, is_terminal);
    };

    auto terminal = console(true);
    {
      const tenon::cli::Waiting waiting(terminal, "the call", milliseconds(0), hours(1));
      shown.get_future().wait();
    }
    CHECK(contains(err, "\r\x1b[Kthe call, 0 s"));
    CHECK(err.ends_with("\r\x1b[K"));
    err.clear();
    { const tenon::cli::Waiting short_work(terminal, "the call", hours(1)); }
    auto file = console(false);
    { const tenon::cli::Waiting no_terminal(file, "the call", milliseconds(0)); }
    CHECK(err.empty());
  }

  TEST_CASE("schema prints a verdict a line and fails when one is an error") {
    const tenon_test::TempFolder folder;
    const std::string path = folder.file(
        "schemas.txt", "add(Tensor self, Tensor other) -> Tensor\nbad(Tensor self -> Tensor\n");

    const auto text = run_tenon({"schema", path});
    const auto json = run_tenon({"schema", path, "--json"});

    CHECK(text.status == 1);
    CHECK(
        text.out.starts_with("ok\tfunctional\tadd(Tensor self, Tensor other) -> Tensor\nerror\t"));
    const auto document = nlohmann::json::parse(json.out);
    CHECK(document["ok"] == 1);
    CHECK(document["errors"] == 1);
    CHECK(document["schemas"][0]["kind"] == "functional");
    CHECK(document["schemas"][1]["verdict"] == "error");
    CHECK(document["schemas"][1]["column"].is_number());
  }
}

}  // namespace
