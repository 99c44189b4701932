// `tenon run` as text and as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "console.hpp"
#include "stats.hpp"
#include "tenon/core/plan.hpp"

namespace tenon::cli {

struct RunInput {
  std::string name;
  std::string spec;    ///< "bfloat16[2048, 4096]"
  std::string origin;  ///< "in.npy", "normal, seed 0"
};

struct RunKernel {
  std::string step;
  std::string interface;
  std::string key;  ///< "plugin:key"
  std::string why;
};

struct RunOutput {
  std::string name;
  DType dtype = DType::kFloat32;
  Dims shape;
  std::string file;   ///< empty: written nowhere
  std::string alias;  ///< the input that it is, or empty
  TensorStats stats;
};

/// Something that a kernel did to memory or its thread, or left undone.
struct RunFault {
  std::string kind;         ///< past_end, before_start, gap, input, unwritten, environment
  std::string tensor;       ///< empty: of none, as memory that the call itself asked for
  std::uint64_t count = 0;  ///< bytes; of `unwritten`: elements; of `environment`: 1
  std::string text;
};

struct RunCheck {
  double max_ulp = 0;
  double max_abs = 0;
  double max_rel = 0;
  bool ok = true;                ///< the values, and no fault
  std::string reference;         ///< "cpu:reference in float64"
  std::string worst;             ///< where the worst element is and what it is
  bool values_ok = true;         ///< within the bound
  std::string not_compared;      ///< why the values prove nothing; empty where they were compared
  std::vector<RunFault> faults;  ///< of its memory
};

struct RunTime {
  double median_ns = 0;
  double p10_ns = 0;
  double p90_ns = 0;
  std::size_t repeats = 0;
};

struct RunReport {
  std::string op;
  std::string device;
  std::string target;
  std::vector<RunInput> inputs;
  std::vector<RunKernel> kernels;
  std::uint32_t copies = 0;
  std::vector<RunOutput> outputs;
  std::optional<RunCheck> check;
  std::optional<RunTime> time;
  std::optional<Cost> roofline;
  std::string no_roofline;  ///< why there is none
};

[[nodiscard]] std::string run_text(const RunReport& report, const Style& style);
[[nodiscard]] std::string run_json(const RunReport& report);

}  // namespace tenon::cli
