// tenon manifest diff: what a change of the manifest breaks, and for whom.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "json.hpp"
#include "manifest_set.hpp"
#include "run_commands.hpp"
#include "tenon/manifest/diff.hpp"

namespace tenon::cli {
namespace {

/// Compiled entries of one path, with what keeps them alive.
struct Side {
  manifest::LoadedSet loaded;
  std::vector<CompiledEntry> entries;
  std::vector<const OpDecl*> decls;
};

Result<Side> read_side(const std::string& path, Console& console) {
  auto loaded = read_manifest_paths({path});
  if (!loaded) return fail(std::move(loaded).error());
  Side side;
  side.loaded = std::move(*loaded);
  side.entries = compile_all(side.loaded);
  if (side.loaded.diagnostics.has_errors()) {
    console.err(side.loaded.diagnostics.to_text());
    return fail(
        Error(ErrorCode::kManifestInvalid, fmt::format("{} has errors", path))
            .with_hint(
                "'tenon manifest check' prints them; a comparison needs entries that compile"));
  }
  for (const CompiledEntry& compiled : side.entries) {
    if (compiled.plan != nullptr) side.decls.push_back(&compiled.plan->decl());
  }
  return side;
}

std::string changes_json(const std::vector<manifest::ManifestChange>& changes) {
  Json json = document();
  json["changes"] = Json::array();
  for (const manifest::ManifestChange& change : changes) {
    json["changes"].push_back({{"op", change.op},
                               {"affected", manifest::name_of(change.affected)},
                               {"certain", change.is_certain},
                               {"text", change.message},
                               {"where", change.where.to_string()}});
  }
  return text_of(json);
}

}  // namespace

Result<int> run_manifest_diff(const Arguments& arguments, Console& console) {
  auto older = read_side(arguments.operands()[0], console);
  if (!older) return fail(std::move(older).error());
  auto newer = read_side(arguments.operands()[1], console);
  if (!newer) return fail(std::move(newer).error());
  const std::vector<manifest::ManifestChange> changes = manifest::diff(older->decls, newer->decls);
  console.out(arguments.json() ? changes_json(changes) : manifest::to_text(changes));
  const bool breaks =
      std::any_of(changes.begin(), changes.end(), [](const manifest::ManifestChange& change) {
        return change.affected != manifest::DiffAffected::kNobody;
      });
  return breaks ? kExitFailed : kExitOk;
}

}  // namespace tenon::cli
