// What the timings on real devices share: rows, their tensors, and device times by replays.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"

namespace tenon::gpu_check {

/// One line of the table.
struct Row {
  std::string name;
  Call call;
  std::vector<std::pair<std::string, Dims>> inputs;
  DType input_dtype = DType::kBFloat16;
  double bytes = 0;
  double flops = 0;
  bool transpose_b = false;
};

[[nodiscard]] std::int64_t bytes_of(const Dims& shape, DType dtype);

/// A row of bfloat16 tensors whose bytes are those of its inputs and its output.
[[nodiscard]] Row row(const std::string& name,
                      const char* op,
                      const char* interface,
                      std::vector<NamedValue> params,
                      std::vector<std::pair<std::string, Dims>> inputs,
                      const Dims& out,
                      double flops = 0);

/// One set of tensors of a row, with its arguments.
struct Set {
  std::vector<Tensor> tensors;
  std::vector<TensorView> views;
  std::vector<const TensorView*> pointers;
  std::vector<TensorArg> arguments;
  Tensor out;
};

[[nodiscard]] std::unique_ptr<Set> make_set(Bench& bench, const Row& row, const OpDecl& decl);

struct Times {
  double median_us = 0;
  double low_us = 0;
  double high_us = 0;
};

/// Device time of `calls` enqueued by `enqueue`, captured once and replayed.
Times time_replays(Bench& bench, void* stream, int calls, const std::function<void()>& enqueue);

/// How many calls a second the host enqueues, beside bare launches of the same kernel from the
/// shared object at `bare` (raw_launches.cu), in turn; without one of its own where it is empty.
void bench_launches(Bench& bench, void* stream, const std::string& bare);

}  // namespace tenon::gpu_check
