// The entry of the `tenon` executable.
#include <cstdio>
#include <string>
#include <vector>

#include "app.hpp"
#include "console.hpp"

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  tenon::cli::Console console = tenon::cli::Console::standard();
  const int status = tenon::cli::run_tenon(words, console);
  // A full disk or a closed pipe loses data: that is no success.
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  console.err("tenon: the output could not be written whole\n");
  return status == 0 ? 1 : status;
}
