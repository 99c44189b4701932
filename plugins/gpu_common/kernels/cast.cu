// Casts: one kernel for each pair of dtypes where the elements lie adjacent, and one for all pairs
// and any strides, which asks for the dtypes at each element.
#include "device/convert.cuh"
#include "device/offsets.cuh"
#include "kernels/cast.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/elementwise_loops.cuh"

namespace tenon::gpu {
namespace {

/// Calls visit with a value of the type.
template <class Visit>
void visit_type(CastType type, Visit visit) {
  switch (type) {
    case CastType::kBool:
      return visit(Bool{});
    case CastType::kU8:
      return visit(std::uint8_t{});
    case CastType::kI8:
      return visit(std::int8_t{});
    case CastType::kI16:
      return visit(std::int16_t{});
    case CastType::kI32:
      return visit(std::int32_t{});
    case CastType::kI64:
      return visit(std::int64_t{});
    case CastType::kFloat16:
      return visit(Half{});
    case CastType::kBFloat16:
      return visit(BFloat16{});
    case CastType::kFloat32:
      return visit(float{});
    case CastType::kFloat64:
      return visit(double{});
    case CastType::kE4M3:
      return visit(E4M3{});
    case CastType::kE5M2:
      return visit(E5M2{});
  }
}

// ---- Adjacent elements ------------------------------------------------------------------------

/// So many bytes in one access.
template <int kBytes>
struct AccessOf;
template <>
struct AccessOf<1> {
  using Type = std::uint8_t;
};
template <>
struct AccessOf<2> {
  using Type = std::uint16_t;
};
template <>
struct AccessOf<4> {
  using Type = std::uint32_t;
};
template <>
struct AccessOf<8> {
  using Type = uint2;
};
template <>
struct AccessOf<16> {
  using Type = uint4;
};

/// Elements that are loaded or stored as one.
template <class T, int kItems>
struct alignas(sizeof(T) * kItems) Run {
  using Access = typename AccessOf<static_cast<int>(sizeof(T)) * kItems>::Type;
  T items[kItems];

  __device__ void load(const T* from) {
    *reinterpret_cast<Access*>(items) = *reinterpret_cast<const Access*>(from);
  }
  __device__ void store(T* to) const {
    *reinterpret_cast<Access*>(to) = *reinterpret_cast<const Access*>(items);
  }
};

/// Elements of a run: 16 bytes of the wider type.
template <class From, class To>
inline constexpr int kPerRun = kVectorBytes / static_cast<int>(sizeof(From) > sizeof(To)
                                                                   ? sizeof(From)
                                                                   : sizeof(To));

template <class From, class To, int kPer>
__device__ inline void narrow(const Run<From, kPer>& in, Run<To, kPer>& results) {
#pragma unroll
  for (int i = 0; i < kPer; ++i) results.items[i] = narrowed<To>(widened(in.items[i]));
}

#if TENON_GPU_HAS_FLOAT8_PAIRS
/// By the card's own conversion, unless a number is too large for it or none.
template <class From, class To, int kPer>
__device__ inline void narrow_to_float8(const Run<From, kPer>& in, Run<To, kPer>& results) {
  float wide[kPer];
  bool fits = true;
#pragma unroll
  for (int i = 0; i < kPer; ++i) {
    wide[i] = widened(in.items[i]);
    fits = fits && fabsf(wide[i]) <= kLargestOf<To>;
  }
  if (!fits) return narrow(in, results);
#pragma unroll
  for (int i = 0; i < kPer; i += 2) {
    const std::uint16_t pair = float8_pair<To>(wide[i], wide[i + 1]);
    results.items[i].bits = static_cast<std::uint8_t>(pair);
    results.items[i + 1].bits = static_cast<std::uint8_t>(pair >> 8);
  }
}
#endif

template <class From, class To>
__global__ void __launch_bounds__(kElementwiseThreads)
    cast_vector(const From* x, To* out, std::int64_t count) {
  constexpr int kPer = kPerRun<From, To>;
  Run<From, kPer> in[kUnaryVectors];
  over_vectors<kPer, kUnaryVectors>(
      count,
      [&](int u, std::int64_t at) { in[u].load(x + at); },
      [&](int u, std::int64_t at) {
        Run<To, kPer> results;
#if TENON_GPU_HAS_FLOAT8_PAIRS
        if constexpr (kLargestOf < To >> 0 && std::is_same_v<decltype(widened(From{})), float>) {
          narrow_to_float8(in[u], results);
        } else {
          narrow(in[u], results);
        }
#else
        narrow(in[u], results);
#endif
        results.store(out + at);
      },
      [&](std::int64_t at) { out[at] = narrowed<To>(widened(x[at])); });
}

/// Whether the elements are the same bytes in both types. A bool may hold other bytes than 0 and 1.
template <class From, class To>
inline constexpr bool kSameBytes =
    std::is_same_v<From, To>
        ? !std::is_same_v<From, Bool>
        : std::is_integral_v<From> && std::is_integral_v<To> && sizeof(From) == sizeof(To);

// ---- Any strides ------------------------------------------------------------------------------

template <class Wide>
__device__ inline void store_as(CastType type, void* out, std::int64_t at, Wide value) {
  switch (type) {
    case CastType::kBool:
      static_cast<Bool*>(out)[at] = narrowed<Bool>(value);
      break;
    case CastType::kU8:
      static_cast<std::uint8_t*>(out)[at] = narrowed<std::uint8_t>(value);
      break;
    case CastType::kI8:
      static_cast<std::int8_t*>(out)[at] = narrowed<std::int8_t>(value);
      break;
    case CastType::kI16:
      static_cast<std::int16_t*>(out)[at] = narrowed<std::int16_t>(value);
      break;
    case CastType::kI32:
      static_cast<std::int32_t*>(out)[at] = narrowed<std::int32_t>(value);
      break;
    case CastType::kI64:
      static_cast<std::int64_t*>(out)[at] = narrowed<std::int64_t>(value);
      break;
    case CastType::kFloat16:
      static_cast<Half*>(out)[at] = narrowed<Half>(value);
      break;
    case CastType::kBFloat16:
      static_cast<BFloat16*>(out)[at] = narrowed<BFloat16>(value);
      break;
    case CastType::kFloat32:
      static_cast<float*>(out)[at] = narrowed<float>(value);
      break;
    case CastType::kFloat64:
      static_cast<double*>(out)[at] = narrowed<double>(value);
      break;
    case CastType::kE4M3:
      static_cast<E4M3*>(out)[at] = narrowed<E4M3>(value);
      break;
    case CastType::kE5M2:
      static_cast<E5M2*>(out)[at] = narrowed<E5M2>(value);
      break;
  }
}

__device__ inline long long load_integer(CastType type, const void* x, std::int64_t at) {
  switch (type) {
    case CastType::kBool:
      return widened(static_cast<const Bool*>(x)[at]);
    case CastType::kU8:
      return widened(static_cast<const std::uint8_t*>(x)[at]);
    case CastType::kI8:
      return widened(static_cast<const std::int8_t*>(x)[at]);
    case CastType::kI16:
      return widened(static_cast<const std::int16_t*>(x)[at]);
    case CastType::kI32:
      return widened(static_cast<const std::int32_t*>(x)[at]);
    default:
      return widened(static_cast<const std::int64_t*>(x)[at]);
  }
}
__device__ inline float load_real(CastType type, const void* x, std::int64_t at) {
  switch (type) {
    case CastType::kFloat16:
      return widened(static_cast<const Half*>(x)[at]);
    case CastType::kBFloat16:
      return widened(static_cast<const BFloat16*>(x)[at]);
    case CastType::kE4M3:
      return widened(static_cast<const E4M3*>(x)[at]);
    case CastType::kE5M2:
      return widened(static_cast<const E5M2*>(x)[at]);
    default:
      return static_cast<const float*>(x)[at];
  }
}

/// The dtypes are the same for all threads, so no two of a warp go different ways.
template <class Index>
__global__ void __launch_bounds__(kElementwiseThreads)
    cast_strided(CastType from, CastType to, const void* x, void* out, Axes<2> axes) {
  over_strided<Index>(axes, [&](const Index(&at)[2]) {
    if (from <= CastType::kI64) {
      store_as(to, out, at[1], load_integer(from, x, at[0]));
    } else if (from == CastType::kFloat64) {
      store_as(to, out, at[1], static_cast<const double*>(x)[at[0]]);
    } else {
      store_as(to, out, at[1], load_real(from, x, at[0]));
    }
  });
}

}  // namespace

void launch_cast_vector(
    CastType from, CastType to, const void* x, void* out, std::int64_t count, Stream stream) {
  visit_type(from, [&](auto from_zero) {
    using From = decltype(from_zero);
    visit_type(to, [&](auto to_zero) {
      using To = decltype(to_zero);
      if constexpr (kSameBytes<From, To>) {
        launch_copy_vector(x, out, count * static_cast<std::int64_t>(sizeof(To)), stream);
      } else {
        cast_vector<From, To>
            <<<vector_blocks<kPerRun<From, To>, kUnaryVectors>(count),
               kElementwiseThreads,
               0,
               stream>>>(static_cast<const From*>(x), static_cast<To*>(out), count);
      }
    });
  });
}

void launch_cast_strided(CastType from,
                         CastType to,
                         const void* x,
                         void* out,
                         const Axes<2>& axes,
                         bool narrow,
                         Stream stream) {
  const unsigned blocks = strided_blocks(axes.count);
  if (narrow) {
    cast_strided<std::int32_t><<<blocks, kElementwiseThreads, 0, stream>>>(from, to, x, out, axes);
  } else {
    cast_strided<std::int64_t><<<blocks, kElementwiseThreads, 0, stream>>>(from, to, x, out, axes);
  }
}

}  // namespace tenon::gpu
