// tenon-manifest-compile: writes the shipped manifest, or another, as C++ source. Runs while Tenon
// is built.
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <vector>

#include "tenon/manifest/codegen.hpp"
#include "tenon/manifest/compile.hpp"
#include "tenon/manifest/compiled.hpp"
#include "tenon/manifest/reader.hpp"

int main(int argc, char** argv) {
  namespace manifest = tenon::manifest;
  if (argc < 2 || std::string_view(argv[1]).empty() || argv[1][0] == '-') {
    std::fputs("usage: tenon-manifest-compile SOURCE_FILE [MANIFEST...]\n", stderr);
    return 2;
  }
  const std::vector<std::filesystem::path> paths(argv + 2, argv + argc);
  tenon::Result<manifest::LoadedSet> read =
      paths.empty() ? manifest::load_shipped() : manifest::load_files(paths);
  if (!read) {
    std::fprintf(stderr, "%s\n", read.error().to_string().c_str());
    return 1;
  }
  manifest::LoadedSet loaded = std::move(*read);
  std::vector<tenon::signature::PlanData> plans;
  for (const manifest::Entry& entry : loaded.set.entries) {
    if (auto data = manifest::compile_data(entry, loaded.set.adts, loaded.diagnostics))
      plans.push_back(std::move(*data));
  }
  loaded.diagnostics.finish();
  if (!loaded.diagnostics.empty()) std::fputs(loaded.diagnostics.to_text().c_str(), stderr);
  if (plans.size() != loaded.set.entries.size()) return 1;
  const std::filesystem::path path(argv[1]);
  const std::vector<manifest::GeneratedFile> files{
      {path.filename().string(), manifest::compiled_source(plans)}};
  const auto written = manifest::write_generated(path.parent_path(), files);
  if (!written) {
    std::fprintf(stderr, "%s\n", written.error().to_string().c_str());
    return 1;
  }
  return 0;
}
