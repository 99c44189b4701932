// Whole files as text.
#include "files.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace tenon::cli {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{64} << 20;

tl::unexpected<Error> unreadable(const std::string& name, std::string_view why) {
  return fail(ErrorCode::kUsageError, fmt::format("cannot read {}: {}", name, why));
}

std::string_view what_it_is(mode_t mode) {
  if (S_ISDIR(mode)) return "it is a folder";
  if (S_ISFIFO(mode)) return "it is a FIFO, no regular file";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "it is a device, no regular file";
  if (S_ISSOCK(mode)) return "it is a socket, no regular file";
  return "it is no regular file";
}

Result<std::string> read_all(int descriptor, const std::string& name) {
  std::string text;
  std::array<char, 65536> block;
  while (true) {
    const ssize_t got = read(descriptor, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unreadable(name, std::strerror(errno));
    if (got == 0) return text;
    text.append(block.data(), static_cast<std::size_t>(got));
    if (text.size() > kMaxBytes)
      return unreadable(name, fmt::format("it has more than {} MiB", kMaxBytes >> 20));
  }
}

}  // namespace

Result<loader::Descriptor> open_file(const std::string& path) {
  // O_NONBLOCK: opening a FIFO must not wait for its writer.
  loader::Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat facts {};
  if (file.get() < 0 || fstat(file.get(), &facts) != 0)
    return unreadable(path, std::strerror(errno));
  if (!S_ISREG(facts.st_mode)) return unreadable(path, what_it_is(facts.st_mode));
  return file;
}

Result<std::string> read_text_file(const std::string& path) {
  auto file = open_file(path);
  if (!file) return fail(std::move(file).error());
  return read_all(file->get(), path);
}

Result<std::string> read_standard_input() { return read_all(STDIN_FILENO, "standard input"); }

Result<void> require_place(const std::string& path, std::string_view what) {
  const auto wrong = [&](std::string_view why) {
    return fail(ErrorCode::kUsageError, fmt::format("{}: cannot write '{}': {}", what, path, why));
  };
  struct stat facts {};
  if (stat(path.c_str(), &facts) == 0) {
    if (S_ISDIR(facts.st_mode)) return wrong("it is a folder");
    // A device or a pipe is written to; a file is replaced, which only its folder must allow.
    if (!S_ISREG(facts.st_mode))
      return access(path.c_str(), W_OK) == 0 ? Result<void>() : wrong(std::strerror(errno));
  } else if (errno != ENOENT) {
    return wrong(std::strerror(errno));
  }
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (stat(folder.c_str(), &facts) != 0) {
    if (errno == ENOENT) return wrong(fmt::format("there is no folder '{}'", folder));
    return wrong(std::strerror(errno));
  }
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    return wrong(fmt::format("its folder: {}", std::strerror(errno)));
  return {};
}

Result<void> require_paths(const std::vector<std::string>& paths, std::string_view what) {
  for (const std::string& path : paths) {
    const auto wrong = [&](std::string_view why) {
      return fail(ErrorCode::kUsageError, fmt::format("{}: cannot read '{}': {}", what, path, why));
    };
    struct stat facts {};
    if (stat(path.c_str(), &facts) != 0) {
      if (errno != ENOENT) return wrong(std::strerror(errno));
      return fail(ErrorCode::kUsageError,
                  fmt::format("{}: there is no file or folder '{}'", what, path));
    }
    const bool is_folder = S_ISDIR(facts.st_mode);
    if (!is_folder && !S_ISREG(facts.st_mode)) return wrong(what_it_is(facts.st_mode));
    if (access(path.c_str(), is_folder ? R_OK | X_OK : R_OK) != 0)
      return wrong(std::strerror(errno));
  }
  return {};
}

}  // namespace tenon::cli
