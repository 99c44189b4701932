// Examines a plugin file: its bytes here, its code in child processes.
#include "doctor.hpp"

#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <system_error>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "child.hpp"
#include "json.hpp"
#include "tenon/loader/abi_version.hpp"
#include "tenon/loader/discovery.hpp"
#include "tenon/loader/elf.hpp"
#include "tenon/loader/probe.hpp"
#include "text.hpp"

namespace tenon::cli {
namespace {

using loader::ProbePart;
using loader::ProbeReport;
using loader::ProbeStep;
using loader::ProbeVerdict;

// Nobody who touches no driver needs longer.
constexpr std::uint64_t kSlowNs = 50'000'000;

/// Of what a `tenon` wrote beside its output: the line that says how it ended, else the first one.
std::string_view last_words(std::string_view text) {
  constexpr std::string_view kMark = "\ntenon: ";
  const std::size_t mark = text.starts_with(kMark.substr(1)) ? 0 : text.find(kMark);
  if (mark != std::string_view::npos && mark != 0) text.remove_prefix(mark + 1);
  return text.substr(0, text.find('\n'));
}

/// What to do about a step that came back with an error.
std::string_view fix_of(const ProbeStep& step) {
  if (step.name == "load") return "install what it needs, or link it with an $ORIGIN run path";
  if (step.name.starts_with("count "))
    return "correct what it says; where there is no driver or device, count comes back with OK, 0 "
           "and a text that says so";
  if (step.name.starts_with("describe "))
    return "correct what it says; the texts of a device are UTF-8, and static: they must live on "
           "when describe has come back";
  return "the plugin says why; correct that";
}

class Doctor {
 public:
  Doctor(std::string path, const DoctorOptions& options) : options_(options) {
    out_.path = std::move(path);
  }

  Diagnosis run() {
    const bool sound_file = examine_file();
    lint();
    if (!sound_file) {
      skip("load", "its code is not run while the file is not sound");
      return std::move(out_);
    }
    const bool survived = probe();
    if (survived) {
      registration();
    } else {
      skip("registration", "the child process did not come that far");
    }
    return std::move(out_);
  }

 private:
  void add(std::string name, CheckVerdict verdict, std::string found, std::string fix = {}) {
    out_.checks.push_back({std::move(name), verdict, std::move(found), std::move(fix), 0});
  }
  void pass(std::string name, std::string found) {
    add(std::move(name), CheckVerdict::kPass, std::move(found));
  }
  void skip(std::string name, std::string why) {
    add(std::move(name), CheckVerdict::kSkipped, std::move(why));
  }

  bool examine_file();
  bool examine_note(const loader::ElfFile& elf);
  void lint();
  bool probe();
  void step(const ProbeStep& step, const ProbeReport& report);
  void registration();
  void registered(const Json& record);
  void ending(const ChildResult& ran);
  void rows_of(const Json& record);

  const DoctorOptions& options_;
  Diagnosis out_;
  bool is_shared_object_ = false;
};

bool Doctor::examine_file() {
  const loader::Descriptor file(::open(out_.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  auto elf = loader::read_elf(file.get());
  if (!elf) {
    add("file", CheckVerdict::kFail, elf.error().text, "build it with tenon_add_plugin()");
    return false;
  }
  is_shared_object_ = true;
  const std::string folder = std::filesystem::path(out_.path).parent_path().string();
  std::optional<std::string> fault = loader::distrust(out_.path, geteuid());
  if (!fault) fault = loader::distrust(folder, geteuid());
  if (fault) {
    // Not loaded by the loader, but nothing that keeps a vendor from going on.
    add("file", CheckVerdict::kWarn, *fault, "or set plugins.allow_insecure where it is used");
  } else {
    pass("file",
         elf->build_id.empty() ? "a shared object for this machine, without a build id"
                               : "a shared object for this machine");
  }
  return examine_note(*elf);
}

bool Doctor::examine_note(const loader::ElfFile& elf) {
  if (!elf.note) {
    const auto vetted = loader::vet(elf);
    add("note",
        CheckVerdict::kFail,
        vetted ? "no TENON note" : vetted.error().text,
        "put TENON_PLUGIN_NOTE(id, version) of tenon/plugin.h into one source file");
    return false;
  }
  const loader::PluginNote& note = *elf.note;
  out_.id = note.id;
  out_.version = note.version;
  pass("note", fmt::format("plugin {} {}", note.id, note.version));
  bool sound = true;
  if (const auto refusal =
          loader::abi_refusal({}, {note.abi_major, note.abi_minor, note.min_host_minor})) {
    add("ABI",
        CheckVerdict::kFail,
        *refusal,
        "build it against the headers of the release that shall load it");
    sound = false;
  } else {
    pass("ABI",
         fmt::format("built with {}.{}, for hosts from {}.{} on; this one has {}.{}",
                     note.abi_major,
                     note.abi_minor,
                     note.abi_major,
                     note.min_host_minor,
                     TENON_ABI_MAJOR,
                     TENON_ABI_MINOR));
  }
  if (elf.exports_entry) {
    pass("entry symbol", TENON_PLUGIN_SYMBOL " is exported");
  } else {
    add("entry symbol",
        CheckVerdict::kFail,
        TENON_PLUGIN_SYMBOL " is not exported",
        "define the object with TENON_PLUGIN (C++), or as TENON_PLUGIN_OBJECT under TENON_EXPORT");
    sound = false;
  }
  if (!sound) return false;
  const auto vetted = loader::vet(elf);
  if (!vetted) {
    add("identity", CheckVerdict::kFail, vetted.error().text, "correct the note");
    return false;
  }
  return true;
}

/// One check for each rule that fails or has something to report, and one for the others.
void Doctor::lint() {
  if (!is_shared_object_)
    return skip("symbols", "not looked at in a file that cannot be read as a shared object");
  const std::string program = find_program("tenon-plugin-lint");
  if (program.empty()) return skip("symbols", "tenon-plugin-lint is not installed");
  const auto ran = run_child(program, {"--json", out_.path}, options_.timeout);
  if (!ran) return skip("symbols", ran.error().message());
  const Json report = Json::parse(ran->out, nullptr, false);
  if (ran->timed_out || !report.is_object() || !report.contains("files")) {
    return skip(
        "symbols",
        ran->timed_out
            ? "tenon-plugin-lint did not come back"
            : fmt::format("tenon-plugin-lint ended with status {}: {}", ran->status, ran->err));
  }
  std::size_t held = 0;
  std::size_t all = 0;
  std::vector<std::string> left_out;
  for (const Json& file : report["files"]) {
    for (const Json& rule : file.value("rules", Json::array())) {
      const std::string verdict = rule.value("verdict", "");
      const Json hint = rule.value("hint", Json());
      const std::string name = "lint " + rule.value("rule", "");
      ++all;
      if (verdict == "failed") {
        add(name,
            CheckVerdict::kFail,
            rule.value("text", ""),
            hint.is_string() ? hint.get<std::string>() : "link it with tenon_add_plugin()");
      } else if (verdict == "reported") {
        pass(name, rule.value("text", ""));
      } else if (verdict == "passed") {
        ++held;
      } else {
        left_out.push_back(fmt::format("{}: {}", rule.value("rule", ""), rule.value("text", "")));
      }
    }
  }
  std::string found = fmt::format("{} of {} rules of tenon-plugin-lint hold", held, all);
  if (!left_out.empty()) found += fmt::format("; {}", fmt::join(left_out, "; "));
  pass("symbols", std::move(found));
}

/// One row for a step of the child.
void Doctor::step(const ProbeStep& step, const ProbeReport& report) {
  Check check;
  check.name = step.name == "check" ? "handshake" : step.name;
  check.duration_ns = step.duration_ns;
  check.found = step.said;
  if (!step.done) {
    check.verdict = CheckVerdict::kFail;
    check.found = report.text;
    check.fix = fmt::format("'gdb --args {} devices {} 2 x 600' runs the same steps",
                            loader::find_probe_helper(),
                            out_.path);
  } else if (step.failed) {
    check.verdict = CheckVerdict::kFail;
    check.fix = fix_of(step);
  } else if (step.name == "floating point") {
    check.verdict = CheckVerdict::kWarn;
    check.fix =
        "link it without -ffast-math, which makes it change how the program computes; the host "
        "puts that back";
  } else if ((step.name == "init" || step.name == "enumerate") && step.duration_ns > kSlowNs) {
    check.verdict = CheckVerdict::kWarn;
    check.fix = fmt::format(
        "{} runs whenever plugins are listed and should touch no driver; ask for devices in the "
        "device kind's count",
        step.name);
  }
  if (check.found.empty()) {
    check.found = step.name == "check"  ? "the exported object lies in the plugin and is sound"
                  : step.name == "exit" ? "its destructors and exit handlers let the process end"
                                        : "came back";
  }
  out_.checks.push_back(std::move(check));
}

bool Doctor::probe() {
  const std::string helper = loader::find_probe_helper();
  if (helper.empty()) {
    add("child process",
        CheckVerdict::kWarn,
        "tenon-probe is not installed",
        "install it in libexec/tenon, so that a plugin that crashes is put aside");
    return true;
  }
  const ProbeReport report =
      loader::run_probe({helper, out_.path, ProbePart::kDevices, options_.timeout});
  for (const ProbeStep& each : report.steps) {
    if (each.name != "threads" || !each.done) step(each, report);
  }
  const bool told = !report.steps.empty() && !report.steps.back().done;
  if (report.verdict == ProbeVerdict::kNotRun) {
    add("child process", CheckVerdict::kWarn, report.text, "see what keeps it from being started");
    return true;
  }
  if (report.verdict == ProbeVerdict::kDied && !told) {
    add("child process", CheckVerdict::kFail, report.text, "it must not end the process");
  }
  return report.verdict == ProbeVerdict::kSurvived;
}

void Doctor::rows_of(const Json& record) {
  for (const Json& row : record.value("rejected_rows", Json::array())) {
    add(fmt::format("row {}", row.value("key", "")),
        CheckVerdict::kFail,
        fmt::format("{}, interface {}: {}",
                    row.value("op", ""),
                    row.value("interface", ""),
                    row.value("reason", "")),
        "correct the name, or build against the contracts of this release");
  }
  for (const Json& pending : record.value("pending", Json::array())) {
    if (pending.is_string())
      add("pending", CheckVerdict::kPass, "waits for " + pending.get<std::string>());
  }
}

/// What became of a child that had done its work. Nothing where it ended well: the probe says so.
void Doctor::ending(const ChildResult& ran) {
  constexpr std::string_view kWork = "'tenon plugins' with this plugin did its work, and then";
  const std::string fix = "correct the plugin's destructors and exit handlers (atexit)";
  if (ran.timed_out) {
    add("exit",
        CheckVerdict::kFail,
        fmt::format("{} did not end within {} ms", kWork, options_.timeout.count()),
        fix);
  } else if (ran.status != 0) {
    add("exit",
        CheckVerdict::kFail,
        fmt::format("{} ended with status {}: {}", kWork, ran.status, last_words(ran.err)),
        fix);
  }
}

void Doctor::registered(const Json& record) {
  const auto count = [&](const char* list) { return record.value(list, Json::array()).size(); };
  const std::uint64_t kernel_types = record.value("kernel_types", std::uint64_t{0});
  const bool brings_something = kernel_types + count("targets") + count("kinds") +
                                    count("rejected_rows") + count("pending") !=
                                0;
  add("registration",
      brings_something ? CheckVerdict::kPass : CheckVerdict::kWarn,
      fmt::format("{} for {}, {}, {}",
                  counted(kernel_types, "kernel type"),
                  counted(count("ops"), "op"),
                  counted(count("targets"), "target"),
                  counted(count("kinds"), "device kind")),
      brings_something ? ""
                       : "it serves no call: hand rows to the registrar in enumerate (in C++: name "
                         "them in TENON_PLUGIN), unless it brings manifest entries alone");
}

void Doctor::registration() {
  std::vector<std::string> words{
      "plugins", "list", "--json", "--plugin-path", out_.path, "--set-config=plugins.probe=never"};
  words.insert(words.end(), options_.common.begin(), options_.common.end());
  const auto ran = run_child(this_program(), words, options_.timeout);
  if (!ran) return skip("registration", ran.error().message());
  const Json listing = Json::parse(ran->out, nullptr, false);
  if (!listing.is_object() || !listing.contains("plugins")) {
    return add("registration",
               CheckVerdict::kFail,
               ran->timed_out
                   ? "'tenon plugins' with this plugin did not come back"
                   : fmt::format("'tenon plugins' with this plugin ended with status {}: {}",
                                 ran->status,
                                 last_words(ran->err)),
               "run that command for the whole account");
  }
  ending(*ran);
  for (const Json& record : listing["plugins"]) {
    if (record.value("path", "") != out_.path) continue;
    const std::string state = record.value("state", "");
    if (state == "active") {
      registered(record);
    } else {
      add("registration",
          CheckVerdict::kFail,
          fmt::format("{} at stage {} with {}: {}",
                      state,
                      record.value("stage", ""),
                      record.value("code", ""),
                      record.value("reason", "")),
          "the reason names the row or field");
    }
    return rows_of(record);
  }
  add("registration", CheckVerdict::kFail, "'tenon plugins' does not list it", "see its stderr");
}

}  // namespace

Diagnosis diagnose(const std::string& path, const DoctorOptions& options) {
  return Doctor(path, options).run();
}

}  // namespace tenon::cli
