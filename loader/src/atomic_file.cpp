// Writes a file beside its place and renames it, so that no reader ever sees half of it.
#include "atomic_file.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tenon::loader {
namespace {

bool write_all(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = write(descriptor, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(wrote));
  }
  return true;
}

/// The mode that a plain open would give: mkstemp's 0600 is for secrets.
void give_default_mode(int descriptor) {
  const mode_t mask = umask(0);
  umask(mask);
  (void)fchmod(descriptor, 0666 & ~mask);  // where it fails the file stays private, which is safe
}

}  // namespace

std::string write_atomically(const std::filesystem::path& file,
                             std::span<const std::span<const std::byte>> parts) {
  std::string temporary = file.string() + ".XXXXXX";
  const int descriptor = mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0) return std::strerror(errno);
  give_default_mode(descriptor);
  bool good = true;
  for (const auto& part : parts) good = good && write_all(descriptor, part);
  std::string reason = good ? std::string() : std::strerror(errno);
  if (close(descriptor) != 0 && good) {
    good = false;
    reason = std::strerror(errno);
  }
  if (good && std::rename(temporary.c_str(), file.c_str()) != 0) {
    good = false;
    reason = std::strerror(errno);
  }
  if (!good) (void)unlink(temporary.c_str());
  return reason;
}

}  // namespace tenon::loader
