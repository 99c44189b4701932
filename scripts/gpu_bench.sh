#!/usr/bin/env bash
# Times the GPU plugins' rows beside PyTorch's on the same card in the same run, and prints one table.
#
#   scripts/gpu_bench.sh [BUILD] [OUT]     needs python3 with torch for the comparison, nvcc for the bare launch rate
#
# TENON_GPU_KIND: the device kind, default cuda. TENON_GPU_TIMEOUT: seconds for PyTorch, default 300.
# Exit status 0 where every row of Tenon's was measured; without PyTorch or nvcc their columns are empty, and it says so.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
gpu_arguments tenon_gpu_bench "$@"
cd "$root"
kind=${TENON_GPU_KIND:-cuda}
bench=("$build/bin/tenon_gpu_bench" --plugin "$plugins/cpu.tenon.so" --plugin "$plugins/$kind.tenon.so" --kind "$kind")
# What was measured before stays until this run has measured.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Rates of the host vary from second to second and from process to process: calls and bare launches take turns in one
# process, and the table takes medians of several.
if command -v nvcc > /dev/null; then
  nvcc -std=c++17 -O3 -arch=native -shared -Xcompiler=-fPIC,-fvisibility=hidden -DTENON_GPU_CUDA=1 -Iplugins/gpu_common \
    -Iplugin_api/include -o "$work/raw_launches.so" tests/plugins/gpu/raw_launches.cu &&
    for _ in 1 2 3 4 5 6 7; do
      "${bench[@]}" --only launches --bare "$work/raw_launches.so" >> "$work/bench_launches.jsonl" || die "the rate of calls could not be measured"
    done
else
  say "no nvcc: without the rate of bare launches"
fi
"${bench[@]}" | tee "$work/bench_tenon.jsonl" || die "the rows could not be measured"
timeout "${TENON_GPU_TIMEOUT:-300}" python3 tests/plugins/gpu/bench_torch.py > "$work/bench_torch.jsonl" ||
  say "PyTorch's rows are missing or not whole: python3 tests/plugins/gpu/bench_torch.py ended with $?"
python3 tests/plugins/gpu/bench_table.py "$work"/bench_*.jsonl | tee "$work/gpu_bench.txt" || die "there is no table"
mv "$work"/bench_*.jsonl "$work/gpu_bench.txt" "$out/"
