// A Runtime with the shipped manifest and the CPU plugin alone, whatever the machine's
// configuration.
#pragma once

#include <cmath>

#include <doctest/doctest.h>

#include "tenon/tenon.hpp"

namespace tenon::test {

inline Runtime cpu_runtime() {
  RuntimeOptions options;
  options.plugin_paths = {TENON_CPU_PLUGIN};
  options.standard_folders = false;
  options.environment = loader::Environment::of({});
  auto made = Runtime::create(std::move(options));
  if (!made) FAIL(made.error().to_string());
  return std::move(*made);
}

/// A dense float32 tensor with distinct, harmless values.
inline Tensor ramp(const Dims& shape, float scale = 0.01f) {
  Tensor t = Tensor::host(DType::kFloat32, shape).value();
  for (std::int64_t i = 0; i < t.view().count(); ++i)
    t.data<float>()[i] = scale * static_cast<float>(i % 97 - 48);
  return t;
}

/// What RMSNorm over the last axis gives for element (i, j) of a rank-2 view, in double.
inline double rms_norm_at(
    const TensorView& x, const float* weight, double eps, std::int64_t i, std::int64_t j) {
  const auto at = [&](std::int64_t column) {
    return static_cast<double>(
        *(reinterpret_cast<const float*>(x.first()) + i * x.strides[0] + column * x.strides[1]));
  };
  double squares = 0;
  for (std::int64_t k = 0; k < x.shape[1]; ++k) squares += at(k) * at(k);
  return at(j) / std::sqrt(squares / static_cast<double>(x.shape[1]) + eps) *
         (weight == nullptr ? 1.0 : static_cast<double>(weight[j]));
}

}  // namespace tenon::test
