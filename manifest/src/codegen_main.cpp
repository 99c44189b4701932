// tenon-manifest-codegen: writes the contract headers of the shipped manifest. Runs while Tenon is
// built.
#include <cstdio>
#include <string_view>

#include "tenon/manifest/codegen.hpp"
#include "tenon/manifest/reader.hpp"

int main(int argc, char** argv) {
  if (argc != 2 || std::string_view(argv[1]).empty() || argv[1][0] == '-') {
    std::fputs("usage: tenon-manifest-codegen INCLUDE_FOLDER\n", stderr);
    return 2;
  }
  tenon::manifest::LoadedSet loaded = tenon::manifest::load_shipped();
  const auto files = tenon::manifest::generate_contracts(loaded.set, loaded.diagnostics);
  if (!loaded.diagnostics.empty()) std::fputs(loaded.diagnostics.to_text().c_str(), stderr);
  if (!files) {
    std::fprintf(stderr, "%s\n", files.error().to_string().c_str());
    return 1;
  }
  const auto written = tenon::manifest::write_generated(argv[1], *files);
  if (!written) {
    std::fprintf(stderr, "%s\n", written.error().to_string().c_str());
    return 1;
  }
  return 0;
}
