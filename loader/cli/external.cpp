// Starts the programs behind external commands.
#include "external.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <spawn.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "kept_stdout.hpp"

namespace tenon::cli {
namespace {

constexpr int kSignalBase = 128;
constexpr std::array<ExternalCommand, 2> kExternal{{
    {"conform", "tenon-conform", "check that the kernels of plugins keep their contracts"},
    {"bench", "tenon-bench", "time the manifest's workloads on each target"},
}};

std::filesystem::path folder_of_this_program() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
}

/// Beside this program, or in a folder of PATH.
bool is_installed(std::string_view program) {
  std::vector<std::filesystem::path> folders{folder_of_this_program()};
  const char* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    folders.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return std::any_of(folders.begin(), folders.end(), [&](const auto& folder) {
    return access((folder / program).c_str(), X_OK) == 0;
  });
}

int start(const std::string& program, std::vector<char*>& arguments, bool search, pid_t& child) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, kept_stdout(), STDOUT_FILENO);
  const auto spawn = search ? posix_spawnp : posix_spawn;
  const int status = spawn(&child, program.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return status;
}

}  // namespace

std::span<const ExternalCommand> external_commands() {
  // Help lists what can be started here.
  static const std::vector<ExternalCommand> kInstalled = [] {
    std::vector<ExternalCommand> installed;
    for (const ExternalCommand& command : kExternal) {
      if (is_installed(command.program)) installed.push_back(command);
    }
    return installed;
  }();
  return kInstalled;
}

bool is_external(std::string_view word) {
  return std::any_of(kExternal.begin(), kExternal.end(), [&](const auto& command) {
    return command.name == word;
  });
}

Result<int> run_external(std::span<const std::string> words) {
  const auto* const command =
      std::find_if(kExternal.begin(), kExternal.end(), [&](const auto& candidate) {
        return candidate.name == words.front();
      });
  std::vector<std::string> texts(words.begin(), words.end());
  texts.front() = std::string(command->program);
  std::vector<char*> arguments;
  arguments.reserve(texts.size() + 1);
  for (std::string& text : texts) arguments.push_back(text.data());
  arguments.push_back(nullptr);

  pid_t child = 0;
  const std::string beside = (folder_of_this_program() / command->program).string();
  int status = start(beside, arguments, false, child);
  if (status == ENOENT) status = start(texts.front(), arguments, true, child);
  if (status != 0) {
    return fail(Error(ErrorCode::kInternal,
                      fmt::format("cannot start {}: {}", command->program, std::strerror(status)))
                    .with_hint(fmt::format(
                        "it was looked for as {} and in PATH; install it beside tenon", beside)));
  }
  int ended = 0;
  while (waitpid(child, &ended, 0) < 0) {
    if (errno == EINTR) continue;
    return fail(ErrorCode::kInternal,
                fmt::format("cannot wait for {}: {}", command->program, std::strerror(errno)));
  }
  return WIFSIGNALED(ended) ? kSignalBase + WTERMSIG(ended) : WEXITSTATUS(ended);
}

}  // namespace tenon::cli
