// Runs the built `tenon` as a process of its own, in an environment without the user's settings.
#pragma once

#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <map>
#include <spawn.h>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "run_support.hpp"

namespace tenon_test {

/// The command with the CPU plugin as the only one beside what the arguments name.
class BuiltCommand {
 public:
  BuiltCommand() {
    variables_["TENON_PLUGIN_PATH"] = TENON_CPU_PLUGIN;
    variables_["PATH"] = "/usr/bin:/bin";
    variables_["HOME"] = folder_.at("home");
    variables_["XDG_CACHE_HOME"] = folder_.at("cache");
    variables_["XDG_CONFIG_HOME"] = folder_.at("config");
    variables_["XDG_DATA_HOME"] = folder_.at("data");
  }

  /// Sets a variable of the environment; an empty value takes it out.
  BuiltCommand& with(const std::string& name, const std::string& value) {
    variables_[name] = value;
    return *this;
  }
  [[nodiscard]] const TempFolder& folder() const { return folder_; }

  /// Runs `tenon WORDS` in the temporary folder, its output going to `out_file` where one is named.
  [[nodiscard]] Ran run(const std::vector<std::string>& words,
                        const std::string& out_file = {}) const {
    const pid_t child = start(words, out_file);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    Ran ran;
    ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    if (out_file.empty()) ran.out = contents(folder_.at("stdout"));
    ran.err = contents(folder_.at("stderr"));
    return ran;
  }

  /// Starts it, and leaves it to the test to wait for it.
  [[nodiscard]] pid_t start(const std::vector<std::string>& words,
                            const std::string& out_file = {}) const {
    std::vector<std::string> texts{TENON_EXECUTABLE};
    texts.insert(texts.end(), words.begin(), words.end());
    std::vector<std::string> environment;
    for (const auto& [name, value] : variables_) {
      if (!value.empty()) environment.push_back(name + "=" + value);
    }
    const std::string out = out_file.empty() ? folder_.at("stdout") : out_file;
    const std::string err = folder_.at("stderr");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    constexpr int kWrite = O_WRONLY | O_CREAT | O_TRUNC;
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), kWrite, 0600);
    posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), kWrite, 0600);
    const std::string working = folder_.at("");
    posix_spawn_file_actions_addchdir_np(&actions, working.c_str());
    std::vector<char*> argv = pointers(texts);
    std::vector<char*> envp = pointers(environment);
    pid_t child = 0;
    const int started =
        posix_spawn(&child, TENON_EXECUTABLE, &actions, nullptr, argv.data(), envp.data());
    posix_spawn_file_actions_destroy(&actions);
    REQUIRE(started == 0);
    return child;
  }

  /// The document that `tenon WORDS --json` prints; the words must be right.
  [[nodiscard]] nlohmann::json json(std::vector<std::string> words, int status = 0) const {
    words.emplace_back("--json");
    const Ran ran = run(words);
    INFO("stderr: ", ran.err);
    REQUIRE(ran.status == status);
    auto document = nlohmann::json::parse(ran.out, nullptr, false);
    REQUIRE_FALSE(document.is_discarded());
    CHECK(document["schema"] == 1);
    return document;
  }

 private:
  static std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> all;
    for (std::string& text : texts) all.push_back(text.data());
    all.push_back(nullptr);
    return all;
  }
  static std::string contents(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  TempFolder folder_;
  std::map<std::string, std::string> variables_;
};

}  // namespace tenon_test
