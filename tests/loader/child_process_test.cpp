// How other programs are started, and that none outlives who started it.
#include "tenon/loader/child_process.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <doctest/doctest.h>

namespace tenon::loader {
namespace {

using Clock = std::chrono::steady_clock;

/// A shell command's output and exit status; -1 where it did not end.
std::pair<std::string, int> output_of(const std::string& command) {
  const Descriptor file(memfd_create("out", MFD_CLOEXEC));
  ChildProcess child;
  REQUIRE(child.start({"/bin/sh", {"-c", command}, file.get(), file.get()}) == 0);
  const bool ended = child.wait_until(Clock::now() + std::chrono::seconds(20));
  const auto status = child.end();
  std::array<char, 4096> text{};
  const ssize_t size = pread(file.get(), text.data(), text.size(), 0);
  return {std::string(text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))),
          ended && status && WIFEXITED(*status) ? WEXITSTATUS(*status) : -1};
}

/// Whether a process ends soon. One that nobody has waited for yet has ended, too.
bool is_gone(const std::string& process) {
  const auto deadline = Clock::now() + std::chrono::seconds(20);
  while (Clock::now() < deadline) {
    std::ifstream stat("/proc/" + process + "/stat");
    std::string number;
    std::string name;
    std::string state;
    if (!(stat >> number >> name >> state) || state == "Z" || state == "X") return true;
    std::this_thread::yield();
  }
  return false;
}

TEST_SUITE_BEGIN("loader/child_process");

TEST_CASE("a child has its output, no input, and no descriptor besides") {
  const int low = open("/dev/null", O_RDONLY);
  const int extra = fcntl(low, F_DUPFD, 57);  // as an application's: not closed on exec
  close(low);
  CHECK(output_of("echo hello; exit 3") == std::pair<std::string, int>("hello\n", 3));
  CHECK(output_of("cat; echo end").first == "end\n");
  const std::string open_there = output_of("ls /proc/self/fd | tr '\n' ' '").first;
  CHECK(open_there.find(std::to_string(extra)) == std::string::npos);
  close(extra);
}

TEST_CASE("a child gets signals as a program expects them, whatever is ignored or blocked here") {
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const auto old = std::signal(SIGTERM, SIG_IGN);
  CHECK(output_of("kill -TERM $$; echo lives").first.empty());
  (void)std::signal(SIGTERM, old);
  sigset_t now;
  pthread_sigmask(SIG_SETMASK, &before, &now);
  CHECK(sigismember(&now, SIGTERM) == 1);
}

TEST_CASE("a program that cannot be started is the system's error") {
  ChildProcess child;
  CHECK(child.start({"/nowhere/program", {}}) == ENOENT);
  CHECK_FALSE(child.end());
}

TEST_CASE("a deadline is kept, and the child's group ends with it") {
  ChildProcess child;
  REQUIRE(child.start({"/bin/sleep", {"600"}}) == 0);
  CHECK_FALSE(child.wait_until(Clock::now() + std::chrono::milliseconds(20)));
  CHECK_FALSE(child.has_ended());
  const auto status = child.end();
  REQUIRE(status);
  CHECK(WIFSIGNALED(*status));
}

TEST_CASE("a child ends when the process that started it is killed") {
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  const pid_t starter = fork();
  REQUIRE(starter >= 0);
  if (starter == 0) {
    ChildProcess child;
    // The shell writes its own number, and stays.
    (void)child.start({"/bin/sh", {"-c", "echo $$; exec sleep 600"}, ends[1]});
    for (;;) pause();
  }
  std::array<char, 32> text{};
  REQUIRE(read(ends[0], text.data(), text.size() - 1) > 0);
  kill(starter, SIGKILL);
  REQUIRE(waitpid(starter, nullptr, 0) == starter);
  CHECK(is_gone(std::to_string(std::stoi(text.data()))));
  close(ends[0]);
  close(ends[1]);
}

TEST_SUITE_END();

}  // namespace
}  // namespace tenon::loader
