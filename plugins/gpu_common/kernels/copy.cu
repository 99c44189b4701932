// Copies: the same bytes, whatever they mean.
#include "kernels/elementwise.hpp"
#include "kernels/elementwise_loops.cuh"

namespace tenon::gpu {
namespace {

struct Same {
  template <class T>
  __device__ T one(T value) const {
    return value;
  }
  __device__ Vector<std::uint8_t> vector(const Vector<std::uint8_t>& value) const { return value; }
};

struct alignas(8) Bytes16 {
  std::uint64_t halves[2];
};

template <class T>
void copy(const void* x, void* out, const Axes<2>& axes, bool narrow, Stream stream) {
  const unsigned blocks = strided_blocks(axes.count);
  const auto* from = static_cast<const T*>(x);
  auto* to = static_cast<T*>(out);
  if (narrow) {
    unary_strided<T, std::int32_t>
        <<<blocks, kElementwiseThreads, 0, stream>>>(Same{}, from, to, axes);
  } else {
    unary_strided<T, std::int64_t>
        <<<blocks, kElementwiseThreads, 0, stream>>>(Same{}, from, to, axes);
  }
}

}  // namespace

void launch_copy_vector(const void* x, void* out, std::int64_t size_bytes, Stream stream) {
  unary_vector<std::uint8_t>
      <<<vector_blocks<kVectorBytes, kUnaryVectors>(size_bytes), kElementwiseThreads, 0, stream>>>(
          Same{}, static_cast<const std::uint8_t*>(x), static_cast<std::uint8_t*>(out), size_bytes);
}

void launch_copy_strided(
    int element_bytes, const void* x, void* out, const Axes<2>& axes, bool narrow, Stream stream) {
  switch (element_bytes) {
    case 1:
      return copy<std::uint8_t>(x, out, axes, narrow, stream);
    case 2:
      return copy<std::uint16_t>(x, out, axes, narrow, stream);
    case 4:
      return copy<std::uint32_t>(x, out, axes, narrow, stream);
    case 8:
      return copy<std::uint64_t>(x, out, axes, narrow, stream);
    default:
      return copy<Bytes16>(x, out, axes, narrow, stream);
  }
}

}  // namespace tenon::gpu
