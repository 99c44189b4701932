// GeluFwdOp in vector code, in both forms.
#include <cstdint>
#include <limits>

#include "kernels/row_sums.hpp"
#include "kernels/runs.hpp"
#include "kernels/vector_kernel.hpp"
#include "numeric/vector_math.hpp"
#include "tenon/contracts/elementwise.h"

namespace tenon::cpu {
namespace {

/// -inf gives NaN, as zero times infinity does in both formulas; the exponential's lower bound
/// hides it.
[[gnu::always_inline]] inline double with_limit(double x, double value) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return x == -kInfinity ? std::numeric_limits<double>::quiet_NaN() : value;
}

struct ErfForm {
  [[gnu::always_inline]] static double of(double x) {
    constexpr double kHalfRoot = 0x1.6a09e667f3bcdp-1;  // 1 / sqrt 2
    return with_limit(x, x * half_erfc_branch_free(-x * kHalfRoot));
  }
};

/// The exponent is bounded on its large side too: e^700 is beyond every type up to float32.
struct TanhForm {
  [[gnu::always_inline]] static double of(double x) {
    constexpr double kSlope = 0x1.9884533d43651p-1;  // sqrt(2 / pi), rounded to nearest
    constexpr double kCubic = 0.044715;
    const double u = -2 * kSlope * (x + kCubic * x * x * x);
    const double bounded = u > 700 ? 700 : u;
    return with_limit(x, x / (1 + exp_branch_free(bounded)));
  }
};

/// One run; strides in elements.
template <class T>
struct Run {
  const T* x = nullptr;
  T* output = nullptr;
  std::int64_t x_stride = 0;
  std::int64_t output_stride = 0;
  std::int64_t count = 0;
};

/// The output may be the very same run as x: each element is read before its result is written.
template <class Form, class T>
[[gnu::always_inline]] inline void apply(const Run<T>& run) {
  const T* x = run.x;
  T* output = run.output;
  if (run.x_stride == 1 && run.output_stride == 1) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < run.count; ++i)
      output[i] = narrow_branch_free<T>(Form::of(as_double(x[i])));
  } else {
    for (std::int64_t i = 0; i < run.count; ++i) {
      output[i * run.output_stride] =
          narrow_branch_free<T>(Form::of(as_double(x[i * run.x_stride])));
    }
  }
}

template <class T>
[[gnu::always_inline]] inline void erf_form(const Run<T>& run) {
  apply<ErfForm>(run);
}
template <class T>
[[gnu::always_inline]] inline void tanh_form(const Run<T>& run) {
  apply<TanhForm>(run);
}
TENON_CPU_VARIANTS(erf_form, Run)
TENON_CPU_VARIANTS(tanh_form, Run)

class GeluVector : public VectorKernel<contracts::gelu_fwd::Call> {
 public:
  static constexpr auto op = "GeluFwdOp", interface = "gelu_fwd", key = "vector";
  static constexpr std::array dtypes = kNarrowFloats;
  static constexpr std::uint32_t layouts = kAllLayouts;

  using VectorKernel::VectorKernel;

  void launch(const Launch& launch) const {
    const View x = view_of(launch, 0);
    const View output = view_of(launch, 1);
    require_like(x, output, "x");
    const bool tanh = launch.call<Call>().approximate == contracts::gelu_fwd::Approximate::kTanh;
    const RunLoop<2> loop(output.sizes(), {x.steps(), output.steps()});
    visit_narrow_float(output.dtype, [&]<class T>(std::type_identity<T>) {
      Run<T> run;
      run.count = loop.run_elements();
      run.x_stride = loop.run_stride(0);
      run.output_stride = loop.run_stride(1);
      loop.for_each_run([&](const auto& at) {
        run.x = x.first_as<const T>() + at[0];
        run.output = output.first_as<T>() + at[1];
        if (tanh) {
          TENON_CPU_RUN(tanh_form, T, run);
        } else {
          TENON_CPU_RUN(erf_form, T, run);
        }
      });
    });
  }
};

}  // namespace

KernelRows gelu_vector_kernels() { return kernel_rows<GeluVector>(); }

}  // namespace tenon::cpu
