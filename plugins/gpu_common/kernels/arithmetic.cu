// Add and multiply.
#include "device/visit.cuh"
#include "kernels/elementwise.hpp"
#include "kernels/elementwise_loops.cuh"

namespace tenon::gpu {
namespace {

template <class T>
inline constexpr bool kIsFloat = false;
template <>
inline constexpr bool kIsFloat<Half> = true;
template <>
inline constexpr bool kIsFloat<BFloat16> = true;
template <>
inline constexpr bool kIsFloat<float> = true;

/// What both operations share: a vector is its elements, floats in pairs.
template <class T, class Derived>
struct Binary {
  __device__ Vector<T> vector(const Vector<T>& a, const Vector<T>& b) const {
    const auto& self = *static_cast<const Derived*>(this);
    Vector<T> out;
    if constexpr (kIsFloat<T>) {
#pragma unroll
      for (int i = 0; i < kPerVector<T>; i += 2) {
        nearest_pair<T>(self.floats(as_float(a.items[i]), as_float(b.items[i])),
                        self.floats(as_float(a.items[i + 1]), as_float(b.items[i + 1])),
                        out.items + i);
      }
    } else {
#pragma unroll
      for (int i = 0; i < kPerVector<T>; ++i) out.items[i] = self.one(a.items[i], b.items[i]);
    }
    return out;
  }
};

template <class T>
struct Plus : Binary<T, Plus<T>> {
  __device__ static float floats(float a, float b) { return a + b; }
  __device__ static T one(T a, T b) {
    if constexpr (kIsFloat<T>) {
      return nearest<T>(floats(as_float(a), as_float(b)));
    } else {
      return static_cast<T>(a + b);  // unsigned: wraps around
    }
  }
};

/// self + alpha * other. In double, because alpha is one and the sum may cancel.
template <class T>
struct PlusScaled : Binary<T, PlusScaled<T>> {
  double scale;
  std::uint64_t factor;
  __device__ float floats(float a, float b) const {
    return static_cast<float>(fma(scale, static_cast<double>(b), static_cast<double>(a)));
  }
  __device__ T one(T a, T b) const {
    if constexpr (kIsFloat<T>) {
      return nearest<T>(floats(as_float(a), as_float(b)));
    } else {
      return static_cast<T>(a + factor * b);
    }
  }
};

template <class T>
struct Times : Binary<T, Times<T>> {
  __device__ static float floats(float a, float b) { return a * b; }
  __device__ static T one(T a, T b) {
    if constexpr (kIsFloat<T>) {
      return nearest<T>(floats(as_float(a), as_float(b)));
    } else {
      // Through 64 bits: smaller types would become int, whose overflow means nothing.
      return static_cast<T>(static_cast<std::uint64_t>(a) * b);
    }
  }
};

template <template <class> class Operation, class T>
Operation<T> make(const AddParameters& parameters) {
  Operation<T> operation{};
  if constexpr (std::is_same_v<Operation<T>, PlusScaled<T>>) {
    operation.scale = parameters.scale;
    operation.factor = static_cast<std::uint64_t>(parameters.factor);
  }
  return operation;
}

template <template <class> class Operation>
void vector(Element element,
            const void* a,
            const void* b,
            void* out,
            std::int64_t count,
            const AddParameters& parameters,
            Stream stream) {
  visit_element<Integers::kUnsignedOnly>(element, [&](auto zero) {
    using T = decltype(zero);
    binary_vector<T>
        <<<vector_blocks<kPerVector<T>, kBinaryVectors>(count), kElementwiseThreads, 0, stream>>>(
            make<Operation, T>(parameters),
            static_cast<const T*>(a),
            static_cast<const T*>(b),
            static_cast<T*>(out),
            count);
  });
}

template <template <class> class Operation>
void strided(Element element,
             const void* a,
             const void* b,
             void* out,
             const Axes<3>& axes,
             bool narrow,
             const AddParameters& parameters,
             Stream stream) {
  const unsigned blocks = strided_blocks(axes.count);
  visit_element<Integers::kUnsignedOnly>(element, [&](auto zero) {
    using T = decltype(zero);
    const auto operation = make<Operation, T>(parameters);
    const auto* left = static_cast<const T*>(a);
    const auto* right = static_cast<const T*>(b);
    auto* to = static_cast<T*>(out);
    if (narrow) {
      binary_strided<T, std::int32_t>
          <<<blocks, kElementwiseThreads, 0, stream>>>(operation, left, right, to, axes);
    } else {
      binary_strided<T, std::int64_t>
          <<<blocks, kElementwiseThreads, 0, stream>>>(operation, left, right, to, axes);
    }
  });
}

}  // namespace

void launch_add_vector(Element element,
                       const void* a,
                       const void* b,
                       void* out,
                       std::int64_t count,
                       const AddParameters& parameters,
                       Stream stream) {
  if (parameters.scaled) {
    vector<PlusScaled>(element, a, b, out, count, parameters, stream);
  } else {
    vector<Plus>(element, a, b, out, count, parameters, stream);
  }
}

void launch_mul_vector(
    Element element, const void* a, const void* b, void* out, std::int64_t count, Stream stream) {
  vector<Times>(element, a, b, out, count, AddParameters{}, stream);
}

void launch_add_strided(Element element,
                        const void* a,
                        const void* b,
                        void* out,
                        const Axes<3>& axes,
                        bool narrow,
                        const AddParameters& parameters,
                        Stream stream) {
  if (parameters.scaled) {
    strided<PlusScaled>(element, a, b, out, axes, narrow, parameters, stream);
  } else {
    strided<Plus>(element, a, b, out, axes, narrow, parameters, stream);
  }
}

void launch_mul_strided(Element element,
                        const void* a,
                        const void* b,
                        void* out,
                        const Axes<3>& axes,
                        bool narrow,
                        Stream stream) {
  strided<Times>(element, a, b, out, axes, narrow, AddParameters{}, stream);
}

}  // namespace tenon::gpu
