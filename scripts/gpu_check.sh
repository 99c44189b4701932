#!/usr/bin/env bash
# Runs the GPU plugins against the CPU's reference on this machine's card: every op, dtype and kernel type, streams,
# capture, errors. Prints what was run, and keeps a copy under OUT.
#
#   scripts/gpu_check.sh [BUILD] [OUT]     BUILD: a build folder with tenon_gpu_check and the plugins (default: build)
#
# TENON_GPU_KINDS: the device kinds, default "cuda hip-nvidia". TENON_GPU_PARTS: some of values, widths, casts, long,
# hits, streams, capture, memory, errors, two, big; default all.
set -uo pipefail
cd "$(dirname "$0")/.."
build=${1:-build}
out=${2:-gpu-check-output}
mkdir -p "$out"
plugins="$build/lib/tenon/plugins"
arguments=()
for name in cpu cuda hip-nvidia hip maca; do
  [[ -e "$plugins/$name.tenon.so" ]] && arguments+=(--plugin "$plugins/$name.tenon.so")
done
for kind in ${TENON_GPU_KINDS:-cuda hip-nvidia}; do arguments+=(--kind "$kind"); done
for part in ${TENON_GPU_PARTS:-}; do arguments+=(--part "$part"); done
{
  echo "date: $(date -u +%FT%TZ)"
  echo "command: scripts/gpu_check.sh, kinds: ${TENON_GPU_KINDS:-cuda hip-nvidia}, parts: ${TENON_GPU_PARTS:-all}"
  if command -v nvidia-smi > /dev/null; then
    nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
  fi
  "$build/bin/tenon_gpu_check" "${arguments[@]}"
  echo "exit status: $?"
} 2>&1 | tee "$out/gpu_check.txt"
tail -1 "$out/gpu_check.txt" | grep -q 'exit status: 0'
