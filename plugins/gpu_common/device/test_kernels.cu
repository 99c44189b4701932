// Kernels of the extension tenon.device.test.
#include "device/test_kernels.hpp"

namespace tenon::gpu {
namespace {

__global__ void spin([[maybe_unused]] unsigned long long delay_ns,
                     [[maybe_unused]] unsigned long long delay_cycles) {
#if TENON_GPU_PTX
  unsigned long long start = 0;
  unsigned long long now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    __nanosleep(1000);
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < delay_ns);
#else
  const auto start = static_cast<unsigned long long>(clock64());
  while (static_cast<unsigned long long>(clock64()) - start < delay_cycles) {
  }
#endif
}

}  // namespace

void launch_delay(Stream stream, std::uint64_t delay_ns, std::uint32_t clock_khz) {
  const std::uint64_t cycles =
      delay_ns / 1000 * (clock_khz / 1000) + delay_ns % 1000 * clock_khz / 1000000;
  spin<<<1, 1, 0, stream>>>(delay_ns, cycles);
}

}  // namespace tenon::gpu
