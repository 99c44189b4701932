// Attention, reference: over runs of the keys, and the sum of the runs. Scores, weights and sums in
// double, one rounding at the end.
#include "tenon/contracts/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/element_types.hpp"
#include "kernels/reference.hpp"

namespace tenon::cpu {
namespace {

using Load = double (*)(const View&, std::int64_t);
using Store = void (*)(const View&, std::int64_t, double);
constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

Load load_of(ElementType dtype) {
  Load load = nullptr;
  const bool known = visit_float(dtype, [&]<class T>(std::type_identity<T>) {
    load = [](const View& x, std::int64_t at) { return static_cast<double>(widen(x.load<T>(at))); };
  });
  if (!known) unknown_dtype(dtype);
  return load;
}
Store store_of(ElementType dtype) {
  Store store = nullptr;
  const bool known = visit_float(dtype, [&]<class T>(std::type_identity<T>) {
    store = [](const View& x, std::int64_t at, double value) { x.store(at, narrow<T>(value)); };
  });
  if (!known) unknown_dtype(dtype);
  return store;
}

/// The offset of an index of as many axes as are given.
template <class... Index>
std::int64_t offset(const View& view, Index... index) {
  std::int64_t at = 0;
  std::size_t axis = 0;
  ((at += static_cast<std::int64_t>(index) * view.strides[axis++]), ...);
  return at;
}

/// The larger, or NaN where either is.
double largest(double a, double b) { return std::isnan(a) || a > b ? a : b; }

struct SplitReference : ReferenceKernel<contracts::attention_split_fwd::Call> {
  static constexpr auto op = "AttentionSplitFwdOp", interface = "attention_split_fwd";

  static std::int64_t keys_of_a_run(const Call& call) {
    return (call.s_kv + call.splits - 1) / call.splits;
  }
  static std::uint64_t workspace_bytes(const Call& call) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(keys_of_a_run(call), 1)) *
           sizeof(double);
  }

  /// One query head over one run of keys.
  struct Row {
    const Call& call;
    View q, k, v;
    Load load;
    double scale;
    double* scores;

    /// Attends to the keys [first, last); returns the log-sum-exp of their scores.
    template <class Emit>
    double attend(std::int64_t b,
                  std::int64_t i,
                  std::int64_t h,
                  std::int64_t first,
                  std::int64_t last,
                  Emit emit) const {
      const std::int64_t group = h / (call.heads / call.kv_heads);
      double most = kMinusInfinity;
      for (std::int64_t j = first; j < last; ++j) {
        CompensatedSum<double> dot;
        for (std::int64_t d = 0; d < call.d; ++d)
          dot.add(load(q, offset(q, b, i, h, d)) * load(k, offset(k, b, j, group, d)));
        const double score = dot.value() * scale;
        scores[j - first] = score;
        most = j == first ? score : largest(most, score);
      }
      CompensatedSum<double> weights;
      for (std::int64_t j = 0; j < last - first; ++j) {
        scores[j] = std::exp(scores[j] - most);
        weights.add(scores[j]);
      }
      for (std::int64_t d = 0; d < call.d; ++d) {
        CompensatedSum<double> sum;
        for (std::int64_t j = first; j < last; ++j)
          sum.add(scores[j - first] * load(v, offset(v, b, j, group, d)));
        emit(d, first < last ? sum.value() / weights.value() : 0.0);
      }
      return first < last ? most + std::log(weights.value()) : kMinusInfinity;
    }
  };

  static void launch(const Launch& launch) {
    const Call call = launch.call<Call>();
    const View q = view_of(launch, 0);
    const View partial = view_of(launch, 3);
    const View lse = view_of(launch, 4);
    require_rank(q, 4, "q");
    require_rank(partial, 5, "partial");
    if (launch.workspace_bytes() < workspace_bytes(call))
      throw Failure(TENON_INVALID_ARGUMENT, "the workspace is smaller than this kernel asked for");
    const Row row{call,
                  q,
                  view_of(launch, 1),
                  view_of(launch, 2),
                  load_of(q.dtype),
                  call.scale ? *call.scale : 1.0 / std::sqrt(static_cast<double>(call.d)),
                  launch.workspace<double>()};
    const Store store_partial = store_of(partial.dtype);
    const Store store_lse = store_of(lse.dtype);
    const std::int64_t run = keys_of_a_run(call);
    const auto one = [&](std::int64_t n, std::int64_t b, std::int64_t i, std::int64_t h) {
      // Query i stands at key i + s_kv - s_q, and sees up to it.
      const std::int64_t seen = call.is_causal ? i + call.s_kv - call.s_q + 1 : call.s_kv;
      const std::int64_t first = std::min(n * run, seen);
      const std::int64_t last = std::min((n + 1) * run, seen);
      const double log_sum = row.attend(b, i, h, first, last, [&](std::int64_t d, double value) {
        store_partial(partial, offset(partial, n, b, i, h, d), value);
      });
      store_lse(lse, offset(lse, n, b, i, h), log_sum);
    };
    for (std::int64_t n = 0; n < call.splits; ++n) {
      for (std::int64_t b = 0; b < call.batch; ++b) {
        for (std::int64_t i = 0; i < call.s_q; ++i) {
          for (std::int64_t h = 0; h < call.heads; ++h) one(n, b, i, h);
        }
      }
    }
  }
};

struct CombineReference : ReferenceKernel<contracts::attention_combine_fwd::Call> {
  static constexpr auto op = "AttentionCombineFwdOp", interface = "attention_combine_fwd";

  static void launch(const Launch& launch) {
    const Call call = launch.call<Call>();
    const View partial = view_of(launch, 0);
    const View lse = view_of(launch, 1);
    const View output = view_of(launch, 2);
    require_rank(partial, 5, "partial");
    require_rank(output, 4, "output");
    const Load load = load_of(partial.dtype);
    const Load load_lse = load_of(lse.dtype);
    const Store store = store_of(output.dtype);
    const auto log_sum = [&](std::int64_t n, std::int64_t b, std::int64_t i, std::int64_t h) {
      return load_lse(lse, offset(lse, n, b, i, h));
    };
    const auto one = [&](std::int64_t b, std::int64_t i, std::int64_t h) {
      double most = kMinusInfinity;
      for (std::int64_t n = 0; n < call.n; ++n) most = largest(log_sum(n, b, i, h), most);
      // A row that sees no key at all.
      const bool is_empty = most == kMinusInfinity;
      for (std::int64_t d = 0; d < call.d; ++d) {
        CompensatedSum<double> sum;
        CompensatedSum<double> weights;
        for (std::int64_t n = 0; n < call.n && !is_empty; ++n) {
          const double weight = std::exp(log_sum(n, b, i, h) - most);
          weights.add(weight);
          // A run without keys has weight 0 and value 0.
          sum.add(weight * load(partial, offset(partial, n, b, i, h, d)));
        }
        store(output, offset(output, b, i, h, d), is_empty ? 0.0 : sum.value() / weights.value());
      }
    };
    for (std::int64_t b = 0; b < call.batch; ++b) {
      for (std::int64_t i = 0; i < call.s_q; ++i) {
        for (std::int64_t h = 0; h < call.heads; ++h) one(b, i, h);
      }
    }
  }
};

}  // namespace

KernelRows attention_kernels() { return kernel_rows<SplitReference, CombineReference>(); }

}  // namespace tenon::cpu
