// Starts programs with their output in temporary files that have no name.
#include "child.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <spawn.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

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

/// Waits until the deadline, then kills the whole group. Its wait status.
int wait_for(pid_t child, std::chrono::milliseconds timeout, bool& timed_out) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  int status = 0;
  auto pause = std::chrono::microseconds(500);
  while (true) {
    const pid_t got = waitpid(child, &status, WNOHANG);
    if (got == child || (got < 0 && errno != EINTR)) return status;
    if (std::chrono::steady_clock::now() >= deadline) break;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(20000));
  }
  timed_out = true;
  (void)kill(-child, SIGKILL);
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
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
  std::vector<std::string> texts{program};
  texts.insert(texts.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  argv.reserve(texts.size() + 1);
  for (std::string& text : texts) argv.push_back(text.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.get(), STDERR_FILENO);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t child = 0;
  const int error =
      posix_spawn(&child, program.c_str(), &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return fail(ErrorCode::kInternal,
                fmt::format("cannot start {}: {}", program, std::strerror(error)));
  }
  ChildResult result;
  const int status = wait_for(child, timeout, result.timed_out);
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
