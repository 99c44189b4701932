// CopyFwdOp along runs: one block copy where both are adjacent, an element loop elsewhere.
#include <array>
#include <cstdint>
#include <cstring>

#include "kernels/runs.hpp"
#include "kernels/vector_kernel.hpp"
#include "tenon/contracts/elementwise.h"

namespace tenon::cpu {
namespace {

template <class T>
void copy_run(const std::byte* x,
              std::int64_t x_stride,
              std::byte* output,
              std::int64_t output_stride,
              std::int64_t count) {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, x + i * x_stride * kSize, sizeof(T));
    std::memcpy(output + i * output_stride * kSize, &value, sizeof(T));
  }
}

class CopyRuns : public VectorKernel<contracts::copy_fwd::Call> {
 public:
  static constexpr auto op = "CopyFwdOp", interface = "copy_fwd", key = "runs";
  static constexpr std::uint32_t layouts = kAllLayouts;

  using VectorKernel::VectorKernel;

  static void launch(const Launch& launch) {
    const View x = view_of(launch, 0);
    const View output = view_of(launch, 1);
    require_like(x, output, "x");
    switch (ElementType(output.dtype).size_bytes()) {
      case 1:
        return copy<std::uint8_t>(x, output);
      case 2:
        return copy<std::uint16_t>(x, output);
      case 4:
        return copy<std::uint32_t>(x, output);
      case 8:
        return copy<std::uint64_t>(x, output);
      case 16:
        return copy<std::array<std::uint64_t, 2>>(x, output);
      default:
        unknown_dtype(output.dtype);
    }
  }

 private:
  template <class T>
  static void copy(const View& x, const View& output) {
    constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
    const RunLoop<2> loop(output.sizes(), {x.steps(), output.steps()});
    const std::int64_t count = loop.run_elements();
    const bool adjacent = count == 1 || (loop.run_stride(0) == 1 && loop.run_stride(1) == 1);
    loop.for_each_run([&](const auto& at) {
      const std::byte* from = x.first + at[0] * kSize;
      std::byte* to = output.first + at[1] * kSize;
      if (adjacent) {
        std::memmove(
            to, from, static_cast<std::size_t>(count) * sizeof(T));  // may be the very same run
      } else {
        copy_run<T>(from, loop.run_stride(0), to, loop.run_stride(1), count);
      }
    });
  }
};

}  // namespace

KernelRows copy_runs_kernels() { return kernel_rows<CopyRuns>(); }

}  // namespace tenon::cpu
