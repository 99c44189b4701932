// The entry of the `tenon` executable.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "app.hpp"
#include "console.hpp"
#include "external.hpp"
#include "kept_stdout.hpp"
#include "process_state.hpp"
#include "supervise.hpp"

namespace {

int run(const std::vector<std::string>& words) {
  // A file that may grow no further is a failed write with a reason, not the end of the process.
  (void)std::signal(SIGXFSZ, SIG_IGN);
  std::FILE* const out = tenon::cli::keep_stdout();
  tenon::cli::ProcessState::keep_of_process(tenon::cli::kept_stdout(), tenon::cli::supervisor());
  tenon::cli::Console console = tenon::cli::Console::standard(out);
  const int status = tenon::cli::run_tenon(words, console);
  // A full disk or a closed pipe loses data: that is no success.
  if (std::fflush(out) == 0 && std::ferror(out) == 0) return status;
  console.err("tenon: the output could not be written whole\n");
  return status == 0 ? 1 : status;
}

/// Whether it loads no plugin here: another program's, and what a shell waits for at a key.
bool loads_nothing(const std::vector<std::string>& words) {
  return words.empty() || tenon::cli::is_external(words.front()) || words.front() == "--complete" ||
         words.front() == "--version";
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  if (loads_nothing(words)) return run(words);
  const bool as_json = std::find(words.begin(), words.end(), "--json") != words.end();
  return tenon::cli::supervised([&] { return run(words); }, as_json);
}
