// How far a kernel's results may lie from the reference.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tenon/core/dtype.hpp"
#include "tenon/core/op_decl.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon::cli {

/// The distance between neighbouring values of a float dtype at `value`, its smallest step below
/// the normal range. 1 for integers and bool. Of a complex dtype: that of its parts.
[[nodiscard]] double ulp_at(DType dtype, double value);
/// The distance between 1 and the next value of a float dtype.
[[nodiscard]] double epsilon_of(DType dtype);

/// abs(got - ref) <= c * ulp(ref) + g * eps * terms + tiny, where `terms` is the sum of the
/// absolute terms.
struct Bound {
  double c = 0;
  double g = 0;    ///< 0: no sum
  double eps = 0;  ///< of the dtype in which sums are made
  [[nodiscard]] double at(DType dtype, double ref, double terms) const;
};

/// What the bound of an output depends on beside its dtype.
struct SumFacts {
  std::int64_t term_count = 1;      ///< terms of each sum
  std::optional<DType> accumulate;  ///< declared by the kernel
  bool sequential = false;          ///< the kernel sums in order
};

/// The bound of an op's error model: `pointwise`, `norm` and `softmax` have c only; `sum` and `dot`
/// add the sums' share. By dtype: float16, bfloat16 and float8 results have c = 1; float32 and
/// float64 the c of the function that the op computes. An op without a model is held to
/// `pointwise`. Integers and bool must be equal.
[[nodiscard]] Bound bound_of(const OpDecl& decl, DType output, const SumFacts& sums);

/// True where the terms of a sum count: run the reference on absolute values for them.
[[nodiscard]] bool sums_terms(const OpDecl& decl);

/// How one output compares with its reference.
struct OutputCheck {
  double max_ulp = 0;
  double max_abs = 0;
  double max_rel = 0;
  bool ok = true;
  std::int64_t wrong_count = 0;  ///< elements beyond the bound
  std::int64_t worst_index =
      -1;  ///< the element farthest beyond its bound, or with the largest error in ulp
  double worst_got = 0;
  double worst_ref = 0;
};

/// Compares element by element; both in host memory, of one shape. `reference` is float64 (or the
/// result's own dtype), `terms` of float64 or null. NaN agrees with NaN only, an infinity with what
/// rounds to it.
[[nodiscard]] OutputCheck compare(const TensorView& got,
                                  const TensorView& reference,
                                  const TensorView* terms,
                                  const Bound& bound);

}  // namespace tenon::cli
