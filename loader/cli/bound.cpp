// The error bound by model, dtype and function, and the comparison under it.
#include "bound.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "elements.hpp"

namespace tenon::cli {
namespace {

/// Precision in bits (the hidden one counts) and the exponent of the smallest normal value.
struct Format {
  int precision;
  int min_exponent;
};

Format format_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return {11, -14};
    case DType::kBFloat16:
      return {8, -126};
    case DType::kFloat32:
    case DType::kComplex64:
      return {24, -126};
    case DType::kFloat8E4M3FN:
    case DType::kFloat8E4M3:
      return {4, -6};
    case DType::kFloat8E4M3FNUZ:
      return {4, -7};
    case DType::kFloat8E5M2:
      return {3, -14};
    case DType::kFloat8E5M2FNUZ:
      return {3, -15};
    case DType::kFloat8E8M0FNU:
      return {1, -127};
    default:
      return {53, -1022};
  }
}

bool is_inexact(DType dtype) {
  const DTypeCategory category = info_of(dtype).category;
  return category == DTypeCategory::kFloat || category == DTypeCategory::kComplex;
}

/// c of float32 and float64 results by the name in the op's schema.
constexpr std::array<std::pair<std::string_view, double>, 24> kFunctions{{
    {"copy", 0.5},  {"clone", 0.5}, {"neg", 0.5},     {"abs", 0.5},        {"add", 0.5},
    {"sub", 0.5},   {"mul", 0.5},   {"maximum", 0.5}, {"minimum", 0.5},    {"relu", 0.5},
    {"where", 0.5}, {"div", 2.5},   {"sqrt", 2.5},    {"reciprocal", 2.5}, {"exp", 3},
    {"log", 3},     {"rsqrt", 3},   {"sin", 4},       {"cos", 4},          {"tanh", 5},
    {"gelu", 8},    {"sigmoid", 8}, {"erf", 16},      {"pow", 16},
}};
constexpr double kNormsAndSoftmax = 8;
constexpr double kOneRounding = 0.5;
constexpr double kSmallFloats = 1;
/// A function without a row of its own gets the widest.
constexpr double kUnlisted = 16;

double function_c(std::string_view schema_name) {
  // "gelu_fwd" -> "gelu"
  const std::string_view name =
      schema_name.ends_with("_fwd") ? schema_name.substr(0, schema_name.size() - 4) : schema_name;
  for (const auto& [function, c] : kFunctions) {
    if (function == name) return c;
  }
  return kUnlisted;
}

double model_c(const OpDecl& decl, DType output) {
  const bool is_wide = output == DType::kFloat32 || output == DType::kFloat64 ||
                       info_of(output).category == DTypeCategory::kComplex;
  if (!is_wide) return kSmallFloats;
  if (decl.error_model == "norm" || decl.error_model == "softmax") return kNormsAndSoftmax;
  if (sums_terms(decl)) return kOneRounding;
  return function_c(decl.schema_name);
}

double tiny_of(DType dtype) { return is_inexact(dtype) ? ulp_at(dtype, 0) : 0; }

/// The element as `dtype` would round it.
double rounded_to(DType dtype, double value) {
  std::array<std::byte, 16> element{};
  store_from_double(dtype, element.data(), value);
  return load_as_double(dtype, element.data());
}

struct ElementError {
  double abs = 0;
  bool comparable = true;  ///< false: NaN against a number, or an infinity against a finite value
};

ElementError error_of(DType dtype, double got, double ref) {
  if (std::isnan(got) && std::isnan(ref)) return {};
  // A format without infinities has NaN beyond its largest number.
  if (std::isnan(got) && is_inexact(dtype) && std::isnan(rounded_to(dtype, ref))) return {};
  if (std::isnan(got) || std::isnan(ref)) return {std::numeric_limits<double>::infinity(), false};
  if (got == ref) return {};
  if (std::isinf(got) || std::isinf(ref)) {
    if (is_inexact(dtype) && rounded_to(dtype, ref) == got) return {};
    return {std::numeric_limits<double>::infinity(), false};
  }
  return {std::fabs(got - ref), true};
}

}  // namespace

double ulp_at(DType dtype, double value) {
  if (!is_inexact(dtype)) return 1;
  const Format format = format_of(dtype);
  const double magnitude = std::fabs(value);
  int exponent = format.min_exponent;
  if (std::isfinite(magnitude) && magnitude > 0)
    exponent = std::max(exponent, std::ilogb(magnitude));
  return std::ldexp(1.0, exponent - (format.precision - 1));
}

double epsilon_of(DType dtype) { return std::ldexp(1.0, 1 - format_of(dtype).precision); }

double Bound::at(DType dtype, double ref, double terms) const {
  return c * ulp_at(dtype, ref) + g * eps * terms + tiny_of(dtype);
}

bool sums_terms(const OpDecl& decl) {
  return decl.error_model == "sum" || decl.error_model == "dot";
}

Bound bound_of(const OpDecl& decl, DType output, const SumFacts& sums) {
  Bound bound;
  if (!is_inexact(output)) return bound;
  bound.c = model_c(decl, output);
  if (!sums_terms(decl)) return bound;
  const auto terms = static_cast<double>(std::max<std::int64_t>(sums.term_count, 1));
  bound.g = sums.sequential ? terms : 2 * std::ceil(std::log2(terms));
  bound.eps = epsilon_of(sums.accumulate.value_or(output));
  return bound;
}

OutputCheck compare(const TensorView& got,
                    const TensorView& reference,
                    const TensorView* terms,
                    const Bound& bound) {
  const auto count = static_cast<std::size_t>(got.count());
  std::vector<double> expected;
  expected.reserve(count);
  for_each_element(reference, [&](const std::byte* element, std::int64_t) {
    expected.push_back(load_as_double(reference.dtype, element));
  });
  std::vector<double> magnitudes;
  if (terms != nullptr) {
    magnitudes.reserve(count);
    for_each_element(*terms, [&](const std::byte* element, std::int64_t) {
      magnitudes.push_back(std::fabs(load_as_double(terms->dtype, element)));
    });
  }
  OutputCheck check;
  double worst_excess = -1;
  for_each_element(got, [&](const std::byte* element, std::int64_t index) {
    const auto at = static_cast<std::size_t>(index);
    const double value = load_as_double(got.dtype, element);
    const double ref = expected[at];
    const ElementError error = error_of(got.dtype, value, ref);
    const double ulps = error.abs / ulp_at(got.dtype, ref);
    const double allowed = bound.at(got.dtype, ref, terms == nullptr ? 0 : magnitudes[at]);
    // Terms with a NaN or an infinity leave no bound; what is equal needs none.
    const bool fits = error.comparable && (error.abs == 0 || error.abs <= allowed);
    check.max_abs = std::max(check.max_abs, error.abs);
    check.max_ulp = std::max(check.max_ulp, ulps);
    if (error.abs > 0) check.max_rel = std::max(check.max_rel, error.abs / std::fabs(ref));
    if (!fits) ++check.wrong_count;
    const double excess = error.abs == 0 ? 0
                                         : (allowed > 0 ? error.abs / allowed
                                                        : std::numeric_limits<double>::infinity());
    if (excess > worst_excess) {
      worst_excess = excess;
      check.worst_index = index;
      check.worst_got = value;
      check.worst_ref = ref;
    }
  });
  check.ok = check.wrong_count == 0;
  return check;
}

}  // namespace tenon::cli
