// tenon-probe: tries one plugin file and reports to the process that started it.
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "probe/child.hpp"

namespace {

/// No core files, no endless loop. Address space is not limited: drivers and sanitizers reserve
/// far more of it than they use.
void limit_resources(rlim_t cpu_seconds) {
  // One byte, not none: that also keeps a core handler behind a pipe from being started.
  constexpr rlimit kNoCore{1, 1};
  (void)setrlimit(RLIMIT_CORE, &kNoCore);
  const rlimit cpu{cpu_seconds, cpu_seconds + 1};
  (void)setrlimit(RLIMIT_CPU, &cpu);
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
}

bool read_number(const char* text, int& out) {
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), out);
  return error == std::errc() && *end == '\0' && out >= 0;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int kUsage = 2;
  int descriptor = -1;
  int cpu_seconds = 0;
  const std::string part = argc == 6 ? argv[1] : "";
  const bool sound = argc == 6 && (part == "load" || part == "devices") && argv[2][0] == '/' &&
                     read_number(argv[3], descriptor) && read_number(argv[5], cpu_seconds);
  if (!sound) {
    std::fputs("tenon-probe is started by Tenon to try a plugin; see 'tenon plugins doctor'\n",
               stderr);
    return kUsage;
  }
  limit_resources(static_cast<rlim_t>(cpu_seconds));
  tenon::probe::Record record(descriptor, argv[4]);
  tenon::probe::try_plugin(argv[2], part == "devices", record);
  // Neither destructors nor exit handlers of the plugin: nothing calls them in a real process.
  _exit(0);
}
