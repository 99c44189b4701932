// tenon-manifest-codegen: writes what the shipped manifest gives rise to. Runs while Tenon is
// built, and by hand to refresh the reference pages.
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <vector>

#include "tenon/manifest/codegen.hpp"
#include "tenon/manifest/reader.hpp"

namespace {

using tenon::Result;
using tenon::manifest::GeneratedFile;
using tenon::manifest::LoadedSet;
using Files = Result<std::vector<GeneratedFile>>;

constexpr const char* kUsage =
    "usage: tenon-manifest-codegen WHAT FOLDER [MANIFEST...]\n"
    "  WHAT      headers: contracts and the typed API\n"
    "            reference: a page for each op\n"
    "            all: everything, manifest.json too\n"
    "  MANIFEST  files and folders; default: the shipped manifest\n";

/// What of the generated files a word selects, by paths below the folder.
Files select(std::string_view what, Files all) {
  constexpr std::string_view kReference = "reference/";
  if (!all || what == "all") return all;
  std::vector<GeneratedFile> chosen;
  for (GeneratedFile& file : *all) {
    if (what == "headers" && file.path.starts_with("tenon/")) {
      chosen.push_back(std::move(file));
    } else if (what == "reference" && file.path.starts_with(kReference)) {
      chosen.push_back({file.path.substr(kReference.size()), std::move(file.contents)});
    }
  }
  return chosen;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc >= 3 ? argv[1] : "";
  if (what != "headers" && what != "reference" && what != "all") {
    std::fputs(kUsage, stderr);
    return 2;
  }
  const auto failed = [](const tenon::Error& error) {
    std::fprintf(stderr, "%s\n", error.to_string().c_str());
    return 1;
  };
  const std::vector<std::filesystem::path> paths(argv + 3, argv + argc);
  Result<LoadedSet> loaded =
      paths.empty() ? tenon::manifest::load_shipped() : tenon::manifest::load_files(paths);
  if (!loaded) return failed(loaded.error());
  const Files files = select(what, tenon::manifest::generate_all(loaded->set, loaded->diagnostics));
  if (!files || paths.empty()) std::fputs(loaded->diagnostics.to_text().c_str(), stderr);
  if (!files) return failed(files.error());
  const auto written = tenon::manifest::write_generated(argv[2], *files);
  return written ? 0 : failed(written.error());
}
