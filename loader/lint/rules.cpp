// Each rule on its own; a row for every rule and file, also where it passed.
#include "rules.hpp"

#include <algorithm>
#include <elf.h>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "code.hpp"
#include "device_code.hpp"
#include "image.hpp"
#include "libraries.hpp"
#include "tenon/loader/elf.hpp"
#include "tenon/plugin.h"

namespace tenon::lint {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIdentity = "identity";
constexpr std::string_view kExports = "exports";
constexpr std::string_view kUnique = "unique-symbols";
constexpr std::string_view kUndefined = "undefined-symbols";
constexpr std::string_view kClash = "library-clash";
constexpr std::string_view kTextRelocations = "text-relocations";
constexpr std::string_view kRunPath = "run-path";
constexpr std::string_view kBaseline = "baseline-code";
constexpr std::string_view kStaticTls = "static-tls";
constexpr std::string_view kConstructors = "static-constructors";
constexpr std::string_view kDeviceCode = "device-code";
constexpr std::size_t kMaxNames = 5;

/// One file with all that the rules read.
struct Subject {
  std::string path;
  const Image* image = nullptr;
  std::optional<loader::ElfFile> elf;
  std::vector<NeededLibrary> needs;
};

class Linter {
 public:
  Linter(const std::vector<std::string>& files, const std::vector<std::string>& beside);
  std::vector<FileReport> run();

 private:
  void prepare(Subject& subject, FileReport& report);
  void check_exports(const Subject& subject);
  void check_unique(const Subject& subject);
  void check_undefined(const Subject& subject);
  void check_clash(const Subject& subject);
  void check_clash_with(const Subject& subject, const Subject& other, bool& clashes);
  void check_text_relocations(const Subject& subject);
  void check_run_path(const Subject& subject);
  void check_baseline(const Subject& subject);
  void check_entry(const Subject& subject,
                   std::uint64_t entry,
                   const std::string& what,
                   Verdict verdict);
  void check_static_tls(const Subject& subject);
  void check_constructors(const Subject& subject);
  void check_device_code(const Subject& subject);

  void add(std::string_view rule, Verdict verdict, std::string text, std::string hint = {}) {
    report_->findings.push_back({rule, verdict, std::move(text), std::move(hint)});
  }
  /// A row that says that nothing was found, if the rule has none yet.
  void pass(std::string_view rule, std::string text) {
    const bool silent = std::ranges::none_of(
        report_->findings, [&](const Finding& each) { return each.rule == rule; });
    if (silent) add(rule, Verdict::kPassed, std::move(text));
  }

  LibraryFiles files_;
  std::vector<Subject> subjects_;
  std::size_t looked_at_ = 0;  ///< the first so many subjects
  FileReport* report_ = nullptr;
};

/// The first few of many, and how many there are.
std::string some_of(const std::vector<std::string>& names) {
  const std::size_t shown = std::min(names.size(), kMaxNames);
  std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<long>(shown), ", "));
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

std::string symbols_text(const std::vector<std::string>& names) {
  return names.size() == 1 ? fmt::format("the symbol '{}'", names.front())
                           : fmt::format("the symbols {}", some_of(names));
}

std::string file_name(const std::string& path) { return fs::path(path).filename().string(); }

std::string canonical(const std::string& path) {
  std::error_code error;
  const fs::path made = fs::canonical(path, error);
  return error ? path : made.string();
}

bool same_bytes(const std::string& a, const std::string& b) {
  std::string problem;
  const auto of_a = read_file(a, problem);
  const auto of_b = read_file(b, problem);
  return of_a && of_b && *of_a == *of_b;
}

Linter::Linter(const std::vector<std::string>& files, const std::vector<std::string>& beside) {
  std::set<std::string> seen;
  for (const auto* list : {&files, &beside}) {
    for (const std::string& path : *list) {
      if (seen.insert(canonical(path)).second) subjects_.push_back({canonical(path), {}, {}, {}});
    }
    if (list == &files) looked_at_ = subjects_.size();
  }
}

void Linter::prepare(Subject& subject, FileReport& report) {
  report_ = &report;
  report.path = subject.path;
  std::string problem;
  const auto bytes = read_file(subject.path, problem);
  if (!bytes) {
    add(kIdentity, Verdict::kFailed, fmt::format("the file cannot be read: {}", problem));
    return;
  }
  auto elf = loader::parse_elf(std::as_bytes(std::span(*bytes)));
  if (!elf) {
    add(kIdentity, Verdict::kFailed, elf.error().text);
    return;
  }
  subject.elf = std::move(*elf);
  subject.image = files_.image(subject.path);
  subject.needs = files_.needs_of(subject.path);
  if (subject.elf->note) report.id = subject.elf->note->id;
  if (auto vetted = loader::vet(*subject.elf); !vetted) {
    add(kIdentity, Verdict::kFailed, vetted.error().text);
  } else {
    add(kIdentity,
        Verdict::kPassed,
        fmt::format("{} {}, ABI {}.{}",
                    subject.elf->note->id,
                    subject.elf->note->version,
                    subject.elf->note->abi_major,
                    subject.elf->note->abi_minor));
  }
}

std::vector<FileReport> Linter::run() {
  std::vector<FileReport> reports(subjects_.size());
  for (std::size_t i = 0; i < subjects_.size(); ++i) prepare(subjects_[i], reports[i]);
  reports.resize(looked_at_);
  for (std::size_t i = 0; i < looked_at_; ++i) {
    report_ = &reports[i];
    const Subject& subject = subjects_[i];
    if (subject.image == nullptr || !subject.elf) continue;
    check_exports(subject);
    check_unique(subject);
    check_undefined(subject);
    check_clash(subject);
    check_text_relocations(subject);
    check_run_path(subject);
    check_baseline(subject);
    check_static_tls(subject);
    check_constructors(subject);
    check_device_code(subject);
  }
  return reports;
}

void Linter::check_exports(const Subject& subject) {
  std::vector<std::string> others;
  for (const DynamicSymbol& symbol : subject.image->symbols()) {
    if (symbol.defined && !symbol.name.empty() && symbol.name != TENON_PLUGIN_SYMBOL &&
        symbol.bind != STB_LOCAL) {
      others.push_back(symbol.name);
    }
  }
  if (!others.empty()) {
    add(kExports,
        Verdict::kFailed,
        fmt::format("exports {} beside " TENON_PLUGIN_SYMBOL, some_of(others)),
        "build it with tenon_add_plugin(), or link with the version script "
        "{ global: " TENON_PLUGIN_SYMBOL "; local: *; };");
  }
  pass(kExports, "nothing but " TENON_PLUGIN_SYMBOL);
}

void Linter::check_unique(const Subject& subject) {
  std::vector<std::string> unique;
  for (const DynamicSymbol& symbol : subject.image->symbols()) {
    if (symbol.bind == STB_GNU_UNIQUE) unique.push_back(symbol.name);
  }
  if (!unique.empty()) {
    add(kUnique,
        Verdict::kFailed,
        fmt::format("{} would be shared with every other plugin that has them (STB_GNU_UNIQUE)",
                    some_of(unique)),
        "compile with -fno-gnu-unique or -fvisibility=hidden");
  }
  pass(kUnique, "none");
}

void Linter::check_undefined(const Subject& subject) {
  std::set<std::string> given;
  std::set<std::string> named;
  std::vector<std::string> lost;
  for (const NeededLibrary& library : subject.needs) {
    named.insert(library.name);
    const Image* image = library.path.empty() ? nullptr : files_.image(library.path);
    if (image == nullptr) {
      lost.push_back(library.name);
      continue;
    }
    for (const DynamicSymbol& symbol : image->symbols()) {
      if (symbol.defined) given.insert(symbol.name);
    }
  }
  std::vector<std::string> of_host;
  std::vector<std::string> missing;
  for (const DynamicSymbol& symbol : subject.image->symbols()) {
    if (symbol.defined || symbol.name.empty() || symbol.bind == STB_WEAK) continue;
    if (symbol.name.starts_with("tenon_") || symbol.name.starts_with("_ZN5tenon") ||
        symbol.name.starts_with("_ZNK5tenon")) {
      of_host.push_back(symbol.name);
    } else if (!named.contains(symbol.version_file) && !given.contains(symbol.name)) {
      missing.push_back(symbol.name);
    }
  }
  if (!of_host.empty()) {
    add(kUndefined,
        Verdict::kFailed,
        fmt::format("asks the host for {}", some_of(of_host)),
        "a plugin links against nothing of Tenon: use the table that init gets");
  }
  if (!missing.empty() && lost.empty()) {
    add(kUndefined,
        Verdict::kFailed,
        fmt::format("no library that it names defines {}", some_of(missing)),
        "link with -Wl,-z,defs, as tenon_add_plugin() does, and name the library that has them");
  } else if (!missing.empty()) {
    add(kUndefined,
        Verdict::kReported,
        fmt::format("cannot tell what defines {}: not found on this machine: {}",
                    symbols_text(missing),
                    some_of(lost)));
  }
  pass(kUndefined, "each is defined by a library that it names");
}

void Linter::check_clash_with(const Subject& subject, const Subject& other, bool& clashes) {
  for (const NeededLibrary& mine : subject.needs) {
    if (!other.image->soname().empty() && mine.name == other.image->soname()) {
      clashes = true;
      add(kClash,
          Verdict::kFailed,
          fmt::format("needs {}, which is the plugin {}", mine.name, other.path),
          "plugins do not link to one another");
      continue;
    }
    const auto theirs = std::ranges::find(other.needs, mine.name, &NeededLibrary::name);
    if (theirs == other.needs.end() || mine.path == theirs->path) continue;
    if (!mine.bundled && !theirs->bundled) continue;
    clashes = true;
    const bool equal = same_bytes(mine.path, theirs->path);
    add(kClash,
        equal ? Verdict::kReported : Verdict::kFailed,
        fmt::format("{} is {} here and {} for {}: whichever is loaded first serves both{}",
                    mine.name,
                    mine.path.empty() ? "nowhere" : mine.path,
                    theirs->path.empty() ? "nowhere" : theirs->path,
                    file_name(other.path),
                    equal ? " (the files are equal)" : ""),
        "link the library statically, or give the copy that you ship a SONAME of its own");
  }
}

void Linter::check_clash(const Subject& subject) {
  bool alone = true;
  bool clashes = false;
  for (const Subject& other : subjects_) {
    if (&other == &subject || other.image == nullptr) continue;
    alone = false;
    check_clash_with(subject, other, clashes);
  }
  if (alone) {
    add(kClash, Verdict::kSkipped, "no other plugin was given to compare with (--beside)");
  } else if (!clashes) {
    pass(kClash, "shares no library that a plugin ships");
  }
}

void Linter::check_text_relocations(const Subject& subject) {
  if (subject.image->has_text_relocations()) {
    add(kTextRelocations,
        Verdict::kFailed,
        "its code is changed while it is loaded (TEXTREL)",
        "compile every object with -fPIC");
  }
  pass(kTextRelocations, "none");
}

void Linter::check_run_path(const Subject& subject) {
  std::vector<std::string> outside;
  bool has_empty = false;
  for (const std::string& entry : subject.image->run_path()) {
    bool inside = false;
    for (const std::string_view origin : {"$ORIGIN", "${ORIGIN}"}) {
      inside = inside || entry == origin || entry.starts_with(std::string(origin) + "/");
    }
    if (!inside && !entry.empty()) outside.push_back("'" + entry + "'");
    has_empty = has_empty || entry.empty();
  }
  if (!outside.empty()) {
    add(kRunPath,
        Verdict::kFailed,
        fmt::format("libraries are searched in {}, which is a folder of another machine",
                    some_of(outside)),
        "begin each entry with $ORIGIN, or link without a run path");
  }
  if (has_empty) {
    add(kRunPath,
        Verdict::kFailed,
        "an empty entry lets libraries be searched in the working directory of whoever loads it",
        "begin each entry with $ORIGIN, without a ':' too many; in CMake, set "
        "BUILD_WITH_INSTALL_RPATH, as tenon_add_plugin() does for CMAKE_INSTALL_RPATH");
  }
  pass(kRunPath, subject.image->run_path().empty() ? "none" : "all of it below $ORIGIN");
}

void Linter::check_entry(const Subject& subject,
                         std::uint64_t entry,
                         const std::string& what,
                         Verdict verdict) {
  const auto found = find_beyond_baseline(*subject.image, entry);
  if (!found) return;
  std::string text = fmt::format("{} reaches {} at {:#x}", what, found->set, found->address);
  if (found->function != entry) text += ", in " + subject.image->name_of(found->function);
  add(kBaseline,
      verdict,
      std::move(text),
      verdict == Verdict::kFailed
          ? "an older processor dies here before anything can be asked: keep what runs at load "
            "out of the files that are compiled for later instruction sets"
          : "see that it is reached only where the processor has it");
}

void Linter::check_baseline(const Subject& subject) {
  const Image& image = *subject.image;
  if (image.machine() != EM_X86_64) {
    add(kBaseline, Verdict::kSkipped, "only x86-64 code is looked at");
    return;
  }
  std::size_t entries = image.init_array().size() + image.resolvers().size();
  if (const auto init = image.init_function()) {
    ++entries;
    check_entry(subject, *init, "the function DT_INIT", Verdict::kFailed);
  }
  for (const std::uint64_t entry : image.init_array()) {
    check_entry(subject,
                entry,
                fmt::format("the static constructor {}", image.name_of(entry)),
                Verdict::kFailed);
  }
  for (const std::uint64_t entry : image.resolvers()) {
    check_entry(
        subject, entry, fmt::format("the resolver {}", image.name_of(entry)), Verdict::kFailed);
  }
  const auto object = std::ranges::find_if(image.symbols(), [](const DynamicSymbol& symbol) {
    return symbol.defined && symbol.name == TENON_PLUGIN_SYMBOL;
  });
  if (object != image.symbols().end()) {
    for (const auto& [name, offset] : {std::pair("init", offsetof(tenon_plugin, init)),
                                       std::pair("enumerate", offsetof(tenon_plugin, enumerate))}) {
      const auto entry = image.pointer_at(object->address + offset);
      if (entry && *entry != 0) check_entry(subject, *entry, name, Verdict::kReported);
    }
  }
  pass(kBaseline,
       fmt::format("what runs at load ({} entries) needs no more than the first x86-64", entries));
}

void Linter::check_static_tls(const Subject& subject) {
  if (subject.image->has_static_tls()) {
    add(kStaticTls,
        Verdict::kReported,
        fmt::format("{} bytes come out of a reserve that all later loaded libraries share",
                    subject.image->tls_bytes()),
        "compile without -ftls-model=initial-exec");
  }
  pass(kStaticTls, "none");
}

void Linter::check_constructors(const Subject& subject) {
  std::vector<std::string> names;
  for (const std::uint64_t entry : subject.image->init_array()) {
    if (!is_jump_alone(*subject.image, entry)) names.push_back(subject.image->name_of(entry));
  }
  if (!names.empty()) {
    add(kConstructors,
        Verdict::kReported,
        fmt::format("{} run before the host can catch a failure: {}", names.size(), some_of(names)),
        "make globals constant, or make them in init");
  }
  pass(kConstructors, "none");
}

void Linter::check_device_code(const Subject& subject) {
  const DeviceCode code = find_device_code(*subject.image);
  std::vector<std::string> listed;
  if (subject.elf->note) listed = subject.elf->note->archs;
  std::ranges::sort(listed);
  std::vector<std::string> unlisted;
  std::vector<std::string> absent;
  std::ranges::set_difference(code.archs, listed, std::back_inserter(unlisted));
  std::ranges::set_difference(listed, code.archs, std::back_inserter(absent));
  if (!subject.image->has_section_table() && !listed.empty()) {
    add(kDeviceCode, Verdict::kSkipped, "the section table was stripped, so none can be found");
    return;
  }
  if (code.compressed) {
    add(kDeviceCode, Verdict::kReported, "some of it is compressed and was not looked into");
    return;
  }
  if (!unlisted.empty()) {
    add(kDeviceCode,
        Verdict::kReported,
        fmt::format("there is code for {}, which the note does not list", some_of(unlisted)),
        "list it (TENON_PLUGIN_NOTE_WITH), or leave the code out");
  }
  if (!absent.empty() && !code.archs.empty()) {
    add(kDeviceCode,
        Verdict::kReported,
        fmt::format("the note lists {}, for which there is no code", some_of(absent)),
        "compile for it, or take it out of the note");
  }
  pass(kDeviceCode,
       code.archs.empty() ? "none" : "for " + some_of(code.archs) + ", as the note says");
}

}  // namespace

std::string_view name_of(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::kPassed:
      return "passed";
    case Verdict::kReported:
      return "reported";
    case Verdict::kFailed:
      return "failed";
    case Verdict::kSkipped:
      return "skipped";
  }
  return "skipped";
}

bool FileReport::failed() const {
  return std::ranges::any_of(findings,
                             [](const Finding& each) { return each.verdict == Verdict::kFailed; });
}

std::vector<FileReport> lint(const std::vector<std::string>& files,
                             const std::vector<std::string>& beside) {
  return Linter(files, beside).run();
}

std::string first_failure(const std::string& file, const std::vector<std::string>& beside) {
  for (const FileReport& report : lint({file}, beside)) {
    for (const Finding& each : report.findings) {
      if (each.verdict != Verdict::kFailed) continue;
      return fmt::format(
          "{}: {}{}{}", each.rule, each.text, each.hint.empty() ? "" : "; ", each.hint);
    }
  }
  return {};
}

}  // namespace tenon::lint
