// Writes a file beside its place and renames it, so that no reader ever sees half of it.
#include "atomic_file.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
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

/// The mode of the file that is replaced, else what a plain open would give: mkstemp's 0600 is for
/// secrets.
void give_mode(int descriptor, const struct stat* replaced) {
  mode_t mode = replaced != nullptr ? replaced->st_mode & 0777 : 0;
  if (replaced == nullptr) {
    const mode_t mask = umask(0);
    umask(mask);
    mode = 0666 & ~mask;
  }
  (void)fchmod(descriptor, mode);  // where it fails the file stays private, which is safe
}

/// Closes; the reason of the first failure, or empty.
std::string write_and_close(int descriptor, std::span<const std::span<const std::byte>> parts) {
  std::string reason;
  for (const auto& part : parts) {
    if (reason.empty() && !write_all(descriptor, part)) reason = std::strerror(errno);
  }
  if (close(descriptor) != 0 && reason.empty()) reason = std::strerror(errno);
  return reason;
}

/// A device or a pipe is written to, never replaced.
std::string write_in_place(const std::filesystem::path& file,
                           bool is_pipe,
                           std::span<const std::span<const std::byte>> parts) {
  // O_NONBLOCK: opening a FIFO must not wait for its reader. Writing to one that has a reader may.
  const int descriptor = open(file.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    return is_pipe && errno == ENXIO ? "it is a FIFO that nobody reads" : std::strerror(errno);
  }
  const int flags = fcntl(descriptor, F_GETFL);
  if (flags < 0 || fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK) != 0) {
    const int reason = errno;
    close(descriptor);
    return std::strerror(reason);
  }
  return write_and_close(descriptor, parts);
}

}  // namespace

std::string write_atomically(const std::filesystem::path& file,
                             std::span<const std::span<const std::byte>> parts,
                             Existing existing) {
  std::filesystem::path target = file;
  struct stat there {};
  bool exists = false;
  if (existing == Existing::kKeep) {
    // A link stays a link: what it points to is replaced.
    std::error_code error;
    const std::filesystem::path resolved = std::filesystem::weakly_canonical(file, error);
    if (!error) target = resolved;
    exists = stat(target.c_str(), &there) == 0;
    if (exists && !S_ISREG(there.st_mode))
      return write_in_place(target, S_ISFIFO(there.st_mode), parts);
  }
  std::string temporary = target.string() + ".XXXXXX";
  const int descriptor = mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0) return std::strerror(errno);
  give_mode(descriptor, exists ? &there : nullptr);
  std::string reason = write_and_close(descriptor, parts);
  if (reason.empty() && std::rename(temporary.c_str(), target.c_str()) != 0) {
    reason = std::strerror(errno);
  }
  if (!reason.empty()) (void)unlink(temporary.c_str());
  return reason;
}

}  // namespace tenon::loader
