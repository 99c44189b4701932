// tenon-probe: tries one plugin file and reports to the process that started it.
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/resource.h>

#include "probe/child.hpp"
#include "src/probe_ending.hpp"
#include "src/ready_unwinder.hpp"

#if defined(__SANITIZE_ADDRESS__)
// What a plugin keeps for the process is no fault of its.
extern "C" int __lsan_is_turned_off() { return 1; }  // NOLINT(bugprone-reserved-identifier)
#endif

namespace {

/// No core files, no endless loop. Address space is not limited: drivers and sanitizers reserve
/// far more of it than they use.
void limit_resources(rlim_t cpu_seconds) {
  // One byte, not none: that also keeps a core handler behind a pipe from being started.
  constexpr rlimit kNoCore{1, 1};
  (void)setrlimit(RLIMIT_CORE, &kNoCore);
  const rlimit cpu{cpu_seconds, cpu_seconds + 1};
  (void)setrlimit(RLIMIT_CPU, &cpu);
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
  tenon::loader::ready_unwinder();
  tenon::probe::Record record(descriptor, argv[4]);
  tenon::probe::try_plugin(argv[2], part == "devices", record);
  // Destructors and exit handlers of the plugin run here as they will in a real process; that they
  // let the process end is what the status says.
  record.begin("exit");
  std::exit(tenon::loader::good_ending(argv[4]));
}
