// Keeps what a benchmark measured, and says which goals it meets.
#pragma once

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

namespace tenon::bench {

/// Keeps the median of every row beside what it prints: CPU time, which a busy machine does not
/// stretch, but for the rows with threads.
class Keeper final : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      if (run.error_occurred) continue;
      if (run.run_type == Run::RT_Aggregate && run.aggregate_name != "median") continue;
      const bool by_wall_clock = run.run_name.time_type == "manual_time";
      times_[run.run_name.function_name + (run.run_name.args.empty() ? "" : "/") +
             run.run_name.args] =
          by_wall_clock ? run.GetAdjustedRealTime() : run.GetAdjustedCPUTime();
    }
  }
  /// Nanoseconds of a row, "attention/inputs:8"; negative where it was not measured.
  [[nodiscard]] double ns(const std::string& row) const {
    const auto at = times_.find(row);
    return at == times_.end() ? -1 : at->second;
  }

 private:
  std::map<std::string, double> times_;
};

/// One line: what was measured, the goal, whether it is met.
inline void verdict(const char* what, double value, double goal, const char* unit) {
  if (value < 0) {
    std::printf("%-72s  not measured\n", what);
    return;
  }
  const bool met = value <= goal;
  std::printf("%-72s %8.3f %-5s goal %8.3f  %s\n", what, value, unit, goal, met ? "met" : "MISSED");
}

/// Negative where one of the two was not measured.
inline double ratio(double a, double b) { return a < 0 || b <= 0 ? -1 : a / b; }

}  // namespace tenon::bench
