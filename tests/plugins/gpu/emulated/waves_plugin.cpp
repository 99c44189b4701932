// The plugin `waves`: device kind `waves`, two emulated devices whose waves have 32 and 64 lanes,
// and two kernel types of SumFwdOp that run on them. One is made of the GPU plugins' reductions and
// right for both; the other needs 32 lanes, says so, and is preferred where it serves.
#include <cstdlib>
#include <cstring>

#include "device/lanes.cuh"
#include "emulated/wave.hpp"
#include "tenon/contracts/reduction.h"
#include "tenon/plugin.hpp"

namespace tenon::emulated {
namespace {

class Devices {
 public:
  // NOLINTBEGIN(readability-identifier-naming): the names that the SDK reads
  static constexpr auto kind = "waves";
  static constexpr std::uint32_t flags =
      TENON_DEVICE_FLAG_SYNCHRONOUS | TENON_DEVICE_FLAG_HOST_MEMORY;
  // NOLINTEND(readability-identifier-naming)

  static DeviceCount count() { return 2; }
  static void describe(std::uint32_t index, tenon_device& out) {
    static const tenon_str kArchs[] = {to_str("wave")};
    out.arch = kArchs[0];
    out.runs_archs = kArchs;
    out.n_runs_archs = 1;
    out.unit_count = 1;
    out.warp_size = index == 0 ? 32 : 64;
    out.memory_bytes = std::uint64_t{1} << 30U;
    out.name = to_str("emulated waves");
  }
  static void* alloc(const DeviceFacts& /*device*/,
                     std::uint32_t /*memory_kind*/,
                     std::uint64_t size_bytes,
                     void* /*stream*/) {
    return std::aligned_alloc(256, (size_bytes + 255) / 256 * 256);
  }
  static void free(const DeviceFacts& /*device*/,
                   std::uint32_t /*memory_kind*/,
                   void* memory,
                   std::uint64_t /*size_bytes*/,
                   void* /*stream*/) {
    std::free(memory);
  }
  static void copy(const DeviceFacts& /*dst_device*/,
                   void* dst,
                   const DeviceFacts& /*src_device*/,
                   const void* src,
                   std::uint64_t size_bytes,
                   void* /*stream*/) {
    std::memmove(dst, src, size_bytes);
  }
  static void synchronize(const DeviceFacts& /*device*/) {}
  static void last_error(const DeviceFacts& /*device*/, bool /*clear*/) {}
};

/// Sums of dense float rows. Derived::sum(value) gives a row's sum to its first thread.
template <class Derived>
struct RowSums {
  static constexpr auto op = "SumFwdOp", interface = "sum_fwd";
  static constexpr std::array devices{"waves"};
  // NOLINTNEXTLINE(readability-identifier-naming): the name that the SDK reads
  static constexpr std::array dtypes{kFloat32};
  using Call = contracts::sum_fwd::Call;

  static void launch(const Launch& launch) {
    const auto* x = static_cast<const float*>(launch[0].data());
    auto* out = static_cast<float*>(launch[1].data());
    const std::int64_t rows = launch[1].element_count();
    const std::int64_t n = rows == 0 ? 0 : launch[0].element_count() / rows;
    const std::uint32_t lanes = launch.device().warp_size();
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::string failure = run_block(lanes, {Derived::threads(lanes), 1}, [&] {
        float sum = 0;
        for (std::int64_t at = thread_index().x; at < n; at += block_size().x)
          sum += x[row * n + at];
        sum = Derived::sum(sum);
        if (thread_index().x == 0) out[row] = sum;
      });
      if (!failure.empty()) throw Failure(TENON_DEVICE, failure);
    }
  }
};

struct AnyWave : RowSums<AnyWave> {
  static constexpr auto key = "any_wave";
  static constexpr bool general = true;
  static std::uint32_t threads(std::uint32_t /*lanes*/) { return 64; }
  static float sum(float value) {
    static float scratch[gpu::kGroup];
    return gpu::reduce_row(value, gpu::Add{}, 0.0F, scratch);
  }
};

struct Wave32 : RowSums<Wave32> {
  static constexpr auto key = "wave32";
  static constexpr std::array preferred_over{"any_wave"};
  static Refusal refusal(const Call& /*call*/, const DeviceFacts& device) {
    if (device.warp_size() == 32) return serves;
    return refuse("warp_size", equal_to(32U), device.warp_size())
        .with_code(TENON_REASON_DEVICE_LIMIT)
        .because("each row is one wave of 32 lanes");
  }
  static std::uint32_t threads(std::uint32_t lanes) { return lanes; }
  static float sum(float value) {
    for (int mask = 16; mask > 0; mask /= 2)
      value += shuffle_xor(value, mask, static_cast<int>(wave_lanes()));
    return value;
  }
};

}  // namespace
}  // namespace tenon::emulated

TENON_PLUGIN(tenon::plugin("waves", "0.1.0")
                 .devices<tenon::emulated::Devices>()
                 .kernels<tenon::emulated::AnyWave, tenon::emulated::Wave32>());
