// Moves the descriptor of standard output.
#include "kept_stdout.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace tenon::cli {
namespace {

int kept = STDOUT_FILENO;

}  // namespace

std::FILE* keep_stdout() {
  constexpr int kFirst = STDERR_FILENO + 1;
  const int copy = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, kFirst);
  std::FILE* const file = copy < 0 ? nullptr : fdopen(copy, "w");
  if (file == nullptr) {
    if (copy >= 0) (void)close(copy);
    return stdout;
  }
  if (dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    // There is no stderr: what is printed goes nowhere.
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0) {
      (void)dup2(nowhere, STDOUT_FILENO);
      if (nowhere != STDOUT_FILENO) (void)close(nowhere);
    }
  }
  kept = copy;
  return file;
}

int kept_stdout() { return kept; }

}  // namespace tenon::cli
