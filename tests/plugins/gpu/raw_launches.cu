// The rate at which the host enqueues the plugin's own small kernel without Tenon around it, and
// its replay in a graph: what tenon_gpu_bench's rate of calls is compared with.
// scripts/gpu_bench.sh compiles it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "kernels/arithmetic.cu"  // NOLINT(bugprone-suspicious-include): this very kernel

int main() {
  constexpr int kCount = 4096;
  constexpr int kCalls = 20000;
  char* memory = nullptr;
  cudaMalloc(&memory, 3 * kCount * 2);
  cudaMemset(memory, 1, 3 * kCount * 2);
  cudaStream_t stream = nullptr;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  const auto launch = [&] {
    tenon::gpu::launch_add_vector(tenon::gpu::Element::kBFloat16,
                                  memory,
                                  memory + 2 * kCount,
                                  memory + 4 * kCount,
                                  kCount,
                                  {},
                                  stream);
  };
  std::vector<double> rates;
  for (int round = -1; round < 7; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) launch();
    cudaStreamSynchronize(stream);
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (round >= 0) rates.push_back(kCalls / seconds);
  }
  std::sort(rates.begin(), rates.end());
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  for (int i = 0; i < 1000; ++i) launch();
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&executable, graph, 0);
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  std::vector<float> times;
  for (int i = 0; i < 15; ++i) {
    cudaEventRecord(begin, stream);
    cudaGraphLaunch(executable, stream);
    cudaEventRecord(end, stream);
    cudaStreamSynchronize(stream);
    float milliseconds = 0;
    cudaEventElapsedTime(&milliseconds, begin, end);
    times.push_back(milliseconds);
  }
  std::sort(times.begin(), times.end());
  std::printf(
      "{\"row\": \"raw launches of add 4096\", \"calls_per_s\": %.0f, \"replay_us\": %.3f}\n",
      rates[rates.size() / 2],
      static_cast<double>(times[times.size() / 2]));
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
