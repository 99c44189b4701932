// The entry of the `tenon` executable.
#include <string>
#include <vector>

#include "app.hpp"
#include "console.hpp"

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  tenon::cli::Console console = tenon::cli::Console::standard();
  return tenon::cli::run_tenon(words, console);
}
