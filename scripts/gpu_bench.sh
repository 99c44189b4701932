#!/usr/bin/env bash
# Times the GPU plugins' rows beside PyTorch's on the same card in the same run, and prints one table.
#
#   scripts/gpu_bench.sh [BUILD] [OUT]     needs python3 with torch for the comparison, nvcc for the bare launch rate
set -uo pipefail
cd "$(dirname "$0")/.."
build=${1:-build}
out=${2:-gpu-check-output}
mkdir -p "$out"
plugins="$build/lib/tenon/plugins"
kind=${TENON_GPU_KIND:-cuda}
bench=("$build/bin/tenon_gpu_bench" --plugin "$plugins/cpu.tenon.so" --plugin "$plugins/$kind.tenon.so" --kind "$kind")
: > "$out/bench_launches.jsonl"
# Rates of the host vary from second to second and from process to process: calls and bare launches take turns in one
# process, and the table takes medians of several.
if command -v nvcc > /dev/null; then
  nvcc -std=c++17 -O3 -arch=native -shared -Xcompiler=-fPIC,-fvisibility=hidden -DTENON_GPU_CUDA=1 -Iplugins/gpu_common \
    -Iplugin_api/include -o "$out/raw_launches.so" tests/plugins/gpu/raw_launches.cu &&
    for _ in 1 2 3 4 5 6 7; do
      "${bench[@]}" --only launches --bare "$(realpath "$out/raw_launches.so")" >> "$out/bench_launches.jsonl"
    done
  rm -f "$out/raw_launches.so"
fi
"${bench[@]}" | tee "$out/bench_tenon.jsonl"
timeout "${TENON_GPU_TIMEOUT:-300}" python3 tests/plugins/gpu/bench_torch.py > "$out/bench_torch.jsonl"
python3 tests/plugins/gpu/bench_table.py "$out"/bench_*.jsonl | tee "$out/gpu_bench.txt"
