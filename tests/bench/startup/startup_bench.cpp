// Times starts of a process with 20 plugins of 500 kernel types each and 400 ops: the first one,
// which probes, and later ones, which do not.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "tenon/tenon.hpp"

namespace {

constexpr double kBoundMs = 250;  // of a start whose probes are known

/// Processor time of this process so far.
double cpu_ms() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto ms = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
  };
  return ms(used.ru_utime) + ms(used.ru_stime);
}

/// The process that is timed: one start, its time, its processor time and its probes on stdout.
int start_once(const std::string& cache) {
  const auto began = std::chrono::steady_clock::now();
  std::size_t probes = 0;
  tenon::RuntimeOptions options;
  options.plugin_paths = {TENON_STARTUP_PLUGINS};
  options.standard_folders = false;
  options.environment = tenon::loader::Environment::of({});
  options.settings = {{"caches.directory", cache}};
  options.log = [&](int level, std::string_view, std::string_view text) {
    if (text.starts_with("probe of")) ++probes;
    if (level <= TENON_LOG_WARN) fmt::print(stderr, "{}\n", text);
  };
  const auto runtime = tenon::Runtime::create(options);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
  if (!runtime) {
    fmt::print(stderr, "{}\n", runtime.error().to_string());
    return 1;
  }
  std::size_t rows = 0;
  for (const tenon::PluginRecord& plugin : runtime->plugins()) {
    if (plugin.state == tenon::PluginState::kActive) rows += plugin.kernel_types;
  }
  constexpr std::size_t kRows = 500;
  if (rows != kRows * TENON_STARTUP_PLUGIN_COUNT ||
      runtime->snapshot()->ops().size() != TENON_STARTUP_OP_COUNT) {
    fmt::print(
        stderr, "{} kernel types and {} ops are there\n", rows, runtime->snapshot()->ops().size());
    return 1;
  }
  fmt::print("{:.3f} {:.3f} {}\n", took.count(), cpu_ms(), probes);
  return 0;
}

struct Start {
  double ms = 0;
  double cpu_ms = 0;  // of the whole process
  unsigned probes = 0;
};

/// Runs this program again for one start.
Start start_process(const char* self, const std::string& cache) {
  std::FILE* out = popen(fmt::format("'{}' --once '{}'", self, cache).c_str(), "r");
  Start start{-1, 0, 0};
  if (out == nullptr) return start;
  if (std::fscanf(out, "%lf %lf %u", &start.ms, &start.cpu_ms, &start.probes) != 3) start.ms = -1;
  if (pclose(out) != 0) start.ms = -1;
  return start;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 2 && words[0] == "--once") return start_once(words[1]);
  int starts = 15;
  double guard_ms = 0;
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    if (words[i] == "--starts") starts = std::atoi(words[i + 1].c_str());
    if (words[i] == "--guard-ms") guard_ms = std::atof(words[i + 1].c_str());
  }
  if (words.size() % 2 != 0 || starts < 1) {
    fmt::print(stderr, "usage: tenon_startup_bench [--starts N] [--guard-ms MS]\n");
    return 2;
  }
  std::string folder = (std::filesystem::temp_directory_path() / "tenon-startup-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  const Start first = start_process(argv[0], folder);
  std::vector<double> times;
  std::vector<double> cpu_times;
  unsigned probes = 0;
  bool failed = first.ms < 0;
  for (int i = 0; i < starts && !failed; ++i) {
    const Start start = start_process(argv[0], folder);
    failed = start.ms < 0;
    probes += start.probes;
    times.push_back(start.ms);
    cpu_times.push_back(start.cpu_ms);
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  if (failed) return 1;
  std::sort(times.begin(), times.end());
  std::sort(cpu_times.begin(), cpu_times.end());
  const double median = times[times.size() / 2];
  fmt::print("{} plugins of 500 kernel types each, {} ops\n",
             TENON_STARTUP_PLUGIN_COUNT,
             TENON_STARTUP_OP_COUNT);
  fmt::print("first start   {:8.1f} ms, {} probes\n", first.ms, first.probes);
  fmt::print(
      "later starts  {:8.1f} ms median, {:.1f} to {:.1f}, of {}; {} probes; bound {:.0f} ms: {}\n",
      median,
      times.front(),
      times.back(),
      times.size(),
      probes,
      kBoundMs,
      median <= kBoundMs ? "kept" : "not kept");
  fmt::print("              {:8.1f} ms median of processor time, {:.1f} to {:.1f}\n",
             cpu_times[cpu_times.size() / 2],
             cpu_times.front(),
             cpu_times.back());
  if (first.probes != TENON_STARTUP_PLUGIN_COUNT || probes != 0) {
    fmt::print(stderr, "expected {} probes and then none\n", TENON_STARTUP_PLUGIN_COUNT);
    return 1;
  }
  // On a machine that does other things only the processor time means something.
  if (guard_ms > 0 && cpu_times.front() > guard_ms) {
    fmt::print(
        stderr, "even the cheapest start took more than {} ms of processor time\n", guard_ms);
    return 1;
  }
  return 0;
}
