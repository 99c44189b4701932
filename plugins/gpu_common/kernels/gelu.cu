// Gelu, in both forms.
#include "device/visit.cuh"
#include "kernels/elementwise.hpp"
#include "kernels/elementwise_loops.cuh"

namespace tenon::gpu {
namespace {

/// 2^x, with the few correct digits that 16-bit results need. Small results count: bfloat16 goes as
/// far down as float does.
__device__ inline float quick_exp2(float x) {
#if TENON_GPU_PTX
  float out = 0;
  asm("ex2.approx.f32 %0, %1;" : "=f"(out) : "f"(x));
  return out;
#else
  return exp2f(x);
#endif
}

__device__ inline float quick_reciprocal(float x) {
#if TENON_GPU_PTX
  float out = 0;
  asm("rcp.approx.f32 %0, %1;" : "=f"(out) : "f"(x));
  return out;
#else
  return 1.0F / x;
#endif
}

/// x * P(N(0, 1) <= x).
template <class T>
struct ErfForm {
  /// For 16-bit results. P(N <= -|x|) = exp(-x^2 / 2) * t * p(t) / 2 with t = 1 / (1 + c |x|): p is
  /// a fit of exp(z^2) erfc(z) / t over z = |x| / sqrt 2 in [0, 10], 8e-6 relative at most, and so
  /// right in the tails, too. (An own fit: weighted least squares, weights moved to the extremes.)
  __device__ static float small(float x) {
    constexpr float kSlope = 0.425F * 0.70710678F;
    constexpr float kExponent = -0.5F * 1.44269504F;
    const float magnitude = fabsf(x);
    const float t = quick_reciprocal(fmaf(kSlope, magnitude, 1.0F));
    float p = -0.153828121F;
    p = fmaf(p, t, 0.427956319F);
    p = fmaf(p, t, -0.0298200097F);
    p = fmaf(p, t, 0.286884562F);
    p = fmaf(p, t, 0.228282244F);
    p = fmaf(p, t, 0.240533061F);
    const float tail = 0.5F * t * p * quick_exp2(kExponent * x * x);
    return x * (x > 0 ? 1.0F - tail : tail);
  }
  __device__ static float floats(float x) {
    if constexpr (sizeof(T) == 2) {
      return small(x);
    } else if (x < -12.0F) {
      // Here the probability has fewer digits than its product with x.
      const auto wide = static_cast<double>(x);
      return static_cast<float>(wide * normcdf(wide));
    } else {
      return x * normcdff(x);
    }
  }
};

/// x / (1 + exp(u)), u = -2 sqrt(2 / pi) (x + 0.044715 x^3). Through exp(-|u|), which does not
/// overflow.
template <class T>
struct TanhForm {
  __device__ static float floats(float x) {
    if constexpr (sizeof(T) == 2) {
      constexpr float kSlope = -2.0F * 0.797884561F * 1.44269504F;
      const float u = kSlope * x * fmaf(0.044715F * x, x, 1.0F);
      const float power = quick_exp2(-fabsf(u));
      const float share = quick_reciprocal(1.0F + power);
      return x * (u > 0.0F ? power * share : share);
    } else {
      // The exponent in two parts: an error of it is an error of the result's digits.
      constexpr double kSlope = -2.0 * 0.79788456080286535588;
      const auto wide = static_cast<double>(x);
      const double u = kSlope * wide * fma(0.044715 * wide, wide, 1.0);
      const auto head = static_cast<float>(u);
      // Beyond that the power is 0, and the rest means nothing.
      const float rest =
          fabsf(head) < 200.0F ? static_cast<float>(u - static_cast<double>(head)) : 0;
      if (head > 80.0F) {
        // The power alone would lose digits before x gives it back.
        const float half = expf(-0.5F * head);
        return fmaf(-rest, x * half, x * half) * half;
      }
      const float plain = expf(-fabsf(head));
      const float power = fmaf(head > 0.0F ? -rest : rest, plain, plain);
      return head > 0.0F ? x * power / (1.0F + power) : x / (1.0F + power);
    }
  }
};

template <class T, template <class> class Form>
struct Gelu {
  __device__ Vector<T> vector(const Vector<T>& x) const {
    Floats<T> values = to_floats(x);
#pragma unroll
    for (int i = 0; i < kPerVector<T>; ++i) values.items[i] = Form<T>::floats(values.items[i]);
    return to_vector<T>(values);
  }
  __device__ T one(T x) const { return nearest<T>(Form<T>::floats(as_float(x))); }
};

template <template <class> class Form>
void vector(Element element, const void* x, void* out, std::int64_t count, Stream stream) {
  visit_float(element, [&](auto zero) {
    using T = decltype(zero);
    unary_vector<T>
        <<<vector_blocks<kPerVector<T>, kUnaryVectors>(count), kElementwiseThreads, 0, stream>>>(
            Gelu<T, Form>{}, static_cast<const T*>(x), static_cast<T*>(out), count);
  });
}

template <template <class> class Form>
void strided(
    Element element, const void* x, void* out, const Axes<2>& axes, bool narrow, Stream stream) {
  const unsigned blocks = strided_blocks(axes.count);
  visit_float(element, [&](auto zero) {
    using T = decltype(zero);
    const auto* from = static_cast<const T*>(x);
    auto* to = static_cast<T*>(out);
    if (narrow) {
      unary_strided<T, std::int32_t>
          <<<blocks, kElementwiseThreads, 0, stream>>>(Gelu<T, Form>{}, from, to, axes);
    } else {
      unary_strided<T, std::int64_t>
          <<<blocks, kElementwiseThreads, 0, stream>>>(Gelu<T, Form>{}, from, to, axes);
    }
  });
}

}  // namespace

void launch_gelu_vector(
    Element element, const void* x, void* out, std::int64_t count, bool tanh_form, Stream stream) {
  if (tanh_form) {
    vector<TanhForm>(element, x, out, count, stream);
  } else {
    vector<ErfForm>(element, x, out, count, stream);
  }
}

void launch_gelu_strided(Element element,
                         const void* x,
                         void* out,
                         const Axes<2>& axes,
                         bool narrow,
                         bool tanh_form,
                         Stream stream) {
  if (tanh_form) {
    strided<TanhForm>(element, x, out, axes, narrow, stream);
  } else {
    strided<ErfForm>(element, x, out, axes, narrow, stream);
  }
}

}  // namespace tenon::gpu
