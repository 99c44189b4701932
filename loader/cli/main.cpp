// The entry of the `tenon` executable.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>
#include <vector>

#include "app.hpp"
#include "console.hpp"

namespace {

bool returned = false;

// A plugin that calls exit() in a launch would otherwise look like success.
void tell_of_exit() {
  if (returned) return;
  (void)std::fflush(stdout);
  constexpr char kText[] =
      "tenon: the process was ended by exit() before the command was done, most likely by a "
      "plugin; "
      "nothing is finished\n";
  (void)!write(STDERR_FILENO, kText, sizeof kText - 1);
  _exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  (void)std::atexit(tell_of_exit);
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  tenon::cli::Console console = tenon::cli::Console::standard();
  const int status = tenon::cli::run_tenon(words, console);
  returned = true;
  // A full disk or a closed pipe loses data: that is no success.
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  console.err("tenon: the output could not be written whole\n");
  return status == 0 ? 1 : status;
}
