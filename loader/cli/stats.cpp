// Minimum, maximum, mean and NaN count.
#include "stats.hpp"

#include <cmath>

#include "elements.hpp"

namespace tenon::cli {
namespace {

double magnitude(DType dtype, const std::byte* element) {
  if (info_of(dtype).category != DTypeCategory::kComplex) return load_as_double(dtype, element);
  const DType part = dtype == DType::kComplex64 ? DType::kFloat32 : DType::kFloat64;
  return std::hypot(load_as_double(part, element),
                    load_as_double(part, element + size_bytes_of(part)));
}

}  // namespace

TensorStats stats_of(const TensorView& view) {
  TensorStats stats;
  double sum = 0;
  std::int64_t count = 0;
  for_each_element(view, [&](const std::byte* element, std::int64_t) {
    const double value = magnitude(view.dtype, element);
    if (std::isnan(value)) {
      ++stats.nan_count;
      return;
    }
    if (!stats.min || value < *stats.min) stats.min = value;
    if (!stats.max || value > *stats.max) stats.max = value;
    sum += value;
    ++count;
  });
  if (count > 0) stats.mean = sum / static_cast<double>(count);
  return stats;
}

}  // namespace tenon::cli
