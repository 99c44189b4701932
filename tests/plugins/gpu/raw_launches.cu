// The rate at which the runtime alone enqueues a small kernel, and its replay in a graph: what
// tenon_gpu_bench's rate of calls is compared with. Built by scripts/gpu_bench.sh.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

namespace {

__global__ void add(const uint4* a, const uint4* b, uint4* out, int count) {
  const int at = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (at < count) out[at] = make_uint4(a[at].x + b[at].x, a[at].y, a[at].z, b[at].w);
}

}  // namespace

int main() {
  constexpr int kCount = 4096 * 2 / 16;
  constexpr int kCalls = 20000;
  uint4* memory = nullptr;
  cudaMalloc(&memory, 3 * kCount * sizeof(uint4));
  cudaMemset(memory, 1, 3 * kCount * sizeof(uint4));
  cudaStream_t stream = nullptr;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  const auto launch = [&] {
    add<<<2, 256, 0, stream>>>(memory, memory + kCount, memory + 2 * kCount, kCount);
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
  std::printf("{\"row\": \"raw launches of add 4096\", \"calls_per_s\": %.0f, \"replay_us\": %.3f}\n",
              rates[rates.size() / 2],
              static_cast<double>(times[times.size() / 2]));
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
