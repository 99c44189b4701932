// Generated files to disk.
#include "tenon/manifest/codegen.hpp"

#include <fstream>
#include <iterator>
#include <system_error>

#include <fmt/format.h>

namespace tenon::manifest {
namespace {

namespace fs = std::filesystem;

bool holds(const fs::path& path, const std::string& contents) {
  std::ifstream stream(path, std::ios::binary);
  return stream && std::string(std::istreambuf_iterator<char>(stream), {}) == contents;
}

tl::unexpected<Error> unwritable(const fs::path& path, std::string_view why) {
  return fail(
      Error(ErrorCode::kManifestInvalid, fmt::format("cannot write '{}': {}", path.string(), why))
          .with("path", path.string())
          .with_hint("check the folder and its permissions"));
}

}  // namespace

Result<std::vector<std::string>> write_generated(const fs::path& folder,
                                                 std::span<const GeneratedFile> files) {
  std::vector<std::string> changed;
  for (const GeneratedFile& file : files) {
    const fs::path path = folder / file.path;
    if (holds(path, file.contents)) continue;
    std::error_code code;
    fs::create_directories(path.parent_path(), code);
    if (code) return unwritable(path.parent_path(), code.message());
    fs::path temporary = path;
    temporary += ".tmp";
    {
      std::ofstream stream(temporary, std::ios::binary | std::ios::trunc);
      stream << file.contents;
      stream.flush();
      if (!stream) return unwritable(temporary, "writing failed");
    }
    fs::rename(temporary, path, code);
    if (code) return unwritable(path, code.message());
    changed.push_back(file.path);
  }
  return changed;
}

}  // namespace tenon::manifest
