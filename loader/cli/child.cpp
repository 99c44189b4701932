// Starts programs with their output in temporary files that have no name.
#include "child.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <sys/mman.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "tenon/loader/child_process.hpp"
#include "tenon/loader/discovery.hpp"

namespace tenon::cli {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{16} << 20;
constexpr int kSignalBase = 128;

std::string contents_of(int descriptor) {
  std::string text;
  std::array<char, 65536> block{};
  off_t at = 0;
  while (text.size() < kMaxBytes) {
    const ssize_t got = pread(descriptor, block.data(), block.size(), at);
    if (got <= 0) break;
    text.append(block.data(), static_cast<std::size_t>(got));
    at += got;
  }
  return text;
}

bool is_program(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

}  // namespace

Result<ChildResult> run_child(const std::string& program,
                              const std::vector<std::string>& arguments,
                              std::chrono::milliseconds timeout) {
  // Files, not pipes: nothing is lost or stuck however much is written.
  const loader::Descriptor out(memfd_create("out", MFD_CLOEXEC));
  const loader::Descriptor err(memfd_create("err", MFD_CLOEXEC));
  if (out.get() < 0 || err.get() < 0) {
    return fail(ErrorCode::kInternal,
                fmt::format("no memory for a program's output: {}", std::strerror(errno)));
  }
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  loader::ChildProcess child;
  if (const int error = child.start({program, arguments, out.get(), err.get()}); error != 0) {
    return fail(ErrorCode::kInternal,
                fmt::format("cannot start {}: {}", program, std::strerror(error)));
  }
  ChildResult result;
  result.timed_out = !child.wait_until(deadline);
  const int status = child.end().value_or(0);
  result.status = WIFSIGNALED(status) ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
  result.out = contents_of(out.get());
  result.err = contents_of(err.get());
  return result;
}

std::string this_program() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::string() : path.string();
}

std::string find_program(const std::string& name) {
  std::vector<std::filesystem::path> folders{std::filesystem::path(this_program()).parent_path()};
  const char* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (end > 0) folders.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  const auto found = std::find_if(folders.begin(), folders.end(), [&](const auto& folder) {
    return is_program(folder / name);
  });
  return found == folders.end() ? std::string() : (*found / name).string();
}

}  // namespace tenon::cli
