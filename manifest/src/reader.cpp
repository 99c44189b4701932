// Files, folders and embedded text to a ManifestSet with its diagnostics.
#include "tenon/manifest/reader.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include "reader_entry.hpp"
#include "tenon/manifest/yaml.hpp"

namespace tenon::manifest {
namespace {

namespace fs = std::filesystem;

/// Of one file that are kept whether right or wrong.
constexpr std::size_t kMostEntries = 10'000;

std::string stem_of(std::string_view name) {
  const std::size_t slash = name.find_last_of('/');
  std::string stem(slash == std::string_view::npos ? name : name.substr(slash + 1));
  if (const std::size_t dot = stem.rfind('.'); dot != std::string::npos) stem.resize(dot);
  return stem;
}

/// All entries of a file name one family, and the file's stem is that family, or begins with it and
/// '_'.
void check_families(const Scope& scope, std::string_view file, const std::vector<Entry>& entries) {
  const std::string stem = stem_of(file);
  const Entry* first = nullptr;
  for (const Entry& entry : entries) {
    const std::string& family = entry.decl.family;
    if (family.empty()) continue;
    const Scope here = scope.entry(entry.decl.name).in("family");
    if (first != nullptr && first->decl.family != family) {
      Diagnostic& d = here.error(
          entry.decl.where,
          "family.mixed",
          fmt::format("the entry is of family '{}', but '{}' of this file of family '{}'",
                      family,
                      first->decl.name,
                      first->decl.family));
      d.found = fmt::format("'{}'", family);
      d.expected = fmt::format("'{}', as at line {}", first->decl.family, first->decl.where.line);
      d.hint = "move the entry to its family's file";
      continue;
    }
    if (first != nullptr) continue;
    first = &entry;
    if (stem == family || stem.rfind(family + "_", 0) == 0) continue;
    Diagnostic& d = here.error(
        entry.decl.where,
        "family.file",
        fmt::format("the file '{}' holds entries of family '{}'", stem + ".yaml", family));
    d.found = fmt::format("'{}'", family);
    d.expected = fmt::format("a file {0}.yaml or {0}_<shard>.yaml", family);
    d.hint = "rename the file or the family";
  }
}

void read_entries(const Scope& scope,
                  std::string_view file,
                  const Node& root,
                  const LoadOptions& options,
                  ManifestSet& set) {
  if (!root.is_map() || root.items.empty()) {
    const bool empty = root.is_null() || (root.is_map() && root.items.empty());
    Node at = root;
    if (at.line == 0) at.line = at.column = 1;
    Diagnostic& d = scope.error(
        at,
        "file.form",
        empty ? "the file holds no entries"
              : fmt::format("the file holds {}, not a map of entries", root.describe()));
    d.found = empty ? "nothing" : root.describe();
    d.expected = "a map 'OpName: {...}'";
    return;
  }
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < root.size(); ++i) {
    // No manifest comes near this number: beyond it what is wrong is counted, and not kept.
    const bool keep_all = entries.size() < kMostEntries;
    const std::size_t errors = keep_all ? 0 : scope.diagnostics().error_count();
    Entry entry = read_entry(scope, root.key(i), root.mapped(i));
    if (!keep_all && scope.diagnostics().error_count() != errors) continue;
    entry.decl.ns = options.ns;
    entries.push_back(std::move(entry));
  }
  if (options.file_names_families) check_families(scope, file, entries);
  std::move(entries.begin(), entries.end(), std::back_inserter(set.entries));
}

void mark_faulty(ManifestSet& set, const DiagnosticList& diagnostics) {
  std::set<std::pair<std::string_view, std::string_view>> faulty;  // file, entry
  for (const Diagnostic& d : diagnostics) {
    if (d.severity == Severity::kError) faulty.emplace(d.where.file, d.entry);
  }
  const auto is_faulty = [&](const SourceLocation& where, const std::string& name) {
    return faulty.contains({where.file, name}) || diagnostics.has_unlisted_error(where.file, name);
  };
  for (Entry& entry : set.entries)
    entry.faulty = entry.faulty || is_faulty(entry.decl.where, entry.decl.name);
  for (AdtDecl& adt : set.adts) adt.faulty = adt.faulty || is_faulty(adt.where, adt.name);
}

tl::unexpected<Error> unreadable(const fs::path& path, std::string_view why, std::string hint) {
  return fail(Error(ErrorCode::kManifestInvalid,
                    fmt::format("cannot read the manifest '{}': {}", path.string(), why))
                  .with("path", path.string())
                  .with_hint(std::move(hint)));
}

Result<NamedText> read_file(const fs::path& path) {
  std::error_code code;
  const fs::file_status status = fs::status(path, code);
  if (!fs::exists(status)) return unreadable(path, "there is no such file", "check the path");
  if (!fs::is_regular_file(status))
    return unreadable(path, "it is no regular file", "name a file or a folder of *.yaml files");
  const std::uintmax_t size_bytes = fs::file_size(path, code);
  const std::size_t limit = YamlLimits{}.size_bytes;
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return unreadable(path, "it cannot be opened", "check its permissions");
  NamedText file;
  file.name = path.string();
  if (!code && size_bytes > limit) {
    file.contents.resize(limit + 1);  // enough for the parser to refuse it, and no more
    stream.read(file.contents.data(), static_cast<std::streamsize>(file.contents.size()));
  } else {
    file.contents.assign(std::istreambuf_iterator<char>(stream), {});
  }
  if (stream.bad()) return unreadable(path, "reading failed", "check the file system");
  return file;
}

Result<std::vector<fs::path>> yaml_files(const fs::path& folder) {
  std::error_code code;
  std::vector<fs::path> paths;
  for (fs::directory_iterator it(folder, code), end; !code && it != end; it.increment(code)) {
    if (it->path().extension() == ".yaml" && !it->is_directory(code)) paths.push_back(it->path());
  }
  if (code) return unreadable(folder, code.message(), "check the folder and its permissions");
  std::sort(paths.begin(), paths.end(), [](const fs::path& a, const fs::path& b) {
    return a.native() < b.native();
  });
  if (paths.empty())
    return unreadable(folder, "the folder holds no *.yaml file", "name a folder of manifest files");
  return paths;
}

/// The types of a folder's entries: in `types.yaml` of the folder, else of the one above it.
void add_types(const fs::path& folder, std::vector<fs::path>& paths) {
  std::error_code code;
  for (const fs::path& place : {folder, folder / ".."}) {
    const fs::path types = place / "types.yaml";
    if (!fs::is_regular_file(types, code)) continue;
    paths.push_back(types.lexically_normal());
    return;
  }
}

}  // namespace

LoadedSet load_texts(std::span<const NamedText> files, const LoadOptions& options) {
  LoadedSet loaded;
  loaded.set.ns = options.ns;
  for (const NamedText& file : files) {
    loaded.set.files.push_back({file.name, std::make_shared<const std::string>(file.contents)});
    const std::optional<Node> root = parse_yaml(file.name, file.contents, loaded.diagnostics);
    if (!root) continue;
    const Scope scope(file.name, loaded.diagnostics);
    if (stem_of(file.name) == "types") {
      read_types(scope, *root, loaded.set.adts);
    } else {
      read_entries(scope, file.name, *root, options, loaded.set);
    }
  }
  check_set(loaded.set, options, loaded.diagnostics);
  mark_faulty(loaded.set, loaded.diagnostics);
  for (const SourceFile& file : loaded.set.files)
    loaded.diagnostics.attach_source(file.path, *file.contents);
  loaded.diagnostics.finish();
  return loaded;
}

Result<LoadedSet> load_folder(const fs::path& folder, const LoadOptions& options) {
  const std::array<fs::path, 1> paths{folder};
  std::error_code code;
  if (!fs::is_directory(folder, code))
    return unreadable(folder, "there is no such folder", "check the path");
  return load_files(paths, options);
}

Result<LoadedSet> load_files(std::span<const fs::path> paths, const LoadOptions& given) {
  LoadOptions options = given;
  std::vector<fs::path> all;
  for (const fs::path& path : paths) {
    std::error_code code;
    if (!fs::is_directory(path, code)) {
      options.complete = false;
      all.push_back(path);
      if (path.filename() != "types.yaml") add_types(path.parent_path(), all);
      continue;
    }
    Result<std::vector<fs::path>> found = yaml_files(path);
    if (!found) return fail(std::move(found).error());
    all.insert(all.end(), found->begin(), found->end());
    add_types(path, all);
  }
  std::vector<NamedText> files;
  std::set<fs::path> seen;
  for (const fs::path& path : all) {
    std::error_code code;
    if (!seen.insert(fs::weakly_canonical(path, code)).second) continue;
    Result<NamedText> file = read_file(path);
    if (!file) return fail(std::move(file).error());
    files.push_back(*std::move(file));
  }
  return load_texts(files, options);
}

}  // namespace tenon::manifest
