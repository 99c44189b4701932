#!/usr/bin/env bash
# Runs small calls of every kernel type under compute-sanitizer's memcheck, racecheck and initcheck. What the tool
# says where it refuses the device is kept, too.
#
#   scripts/gpu_sanitize.sh [BUILD] [OUT]
#
# TENON_GPU_KINDS: the device kinds, default "cuda hip-nvidia". TENON_GPU_TIMEOUT: seconds for each tool and kind,
# default 75.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
gpu_arguments tenon_gpu_check "$@"
cd "$root"
tool=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
status=0
{
  echo "date: $(date -u +%FT%TZ)"
  "$tool" --version | tail -1
  for kind in ${TENON_GPU_KINDS:-cuda hip-nvidia}; do
    for check in memcheck racecheck initcheck; do
      echo "==== $kind: $check"
      timeout "${TENON_GPU_TIMEOUT:-75}" "$tool" --tool "$check" --error-exitcode 9 --print-limit 20 \
        "$build/bin/tenon_gpu_check" --plugin "$plugins/cpu.tenon.so" --plugin "$plugins/$kind.tenon.so" \
        --kind "$kind" --part small
      ended=$?
      echo "$kind: $check: exit status $ended"
      [[ $ended == 0 ]] || status=1
    done
  done
  echo "all: $status"
} 2>&1 | tee "$out/gpu_sanitize.txt"
tail -1 "$out/gpu_sanitize.txt" | grep -q 'all: 0'
