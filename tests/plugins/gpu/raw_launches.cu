// The plugin's own small kernel without Tenon and without the plugin around it: what
// tenon_gpu_bench compares its rate of calls with. scripts/gpu_bench.sh compiles it to a shared
// object for --bare.
#include "kernels/arithmetic.cu"  // NOLINT(bugprone-suspicious-include): this very kernel

extern "C" __attribute__((visibility("default"))) void tenon_bare_add(
    const void* a, const void* b, void* out, long long count, void* stream, int calls) {
  for (int i = 0; i < calls; ++i) {
    tenon::gpu::launch_add_vector(
        tenon::gpu::Element::kBFloat16, a, b, out, count, {}, static_cast<cudaStream_t>(stream));
  }
}
