// The shipped set: the texts that the build embedded, read like any others.
#include "tenon/manifest/reader.hpp"

namespace tenon::manifest {

LoadedSet load_shipped() {
  std::vector<NamedText> files;
  for (const EmbeddedFile& file : shipped_manifest())
    files.push_back({std::string(file.name), std::string(file.contents)});
  return load_texts(files);
}

}  // namespace tenon::manifest
