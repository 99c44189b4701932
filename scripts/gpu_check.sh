#!/usr/bin/env bash
# Runs the GPU plugins against the CPU's reference on this machine's card: every op, dtype and kernel type, streams,
# capture, errors; then `tenon run --check` of every op, which guards memory besides. Prints what was run, and keeps a
# copy under OUT.
#
#   scripts/gpu_check.sh [BUILD] [OUT]     BUILD: a build folder with tenon_gpu_check and the plugins (default: build)
#
# TENON_GPU_KINDS: the device kinds, default "cuda hip-nvidia". TENON_GPU_PARTS: some of values, widths, casts, long,
# hits, streams, capture, memory, errors, two, big, guarded; default all.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
gpu_arguments tenon_gpu_check "$@"
cd "$root"
arguments=() command_plugins=()
for name in cpu cuda hip-nvidia hip maca; do
  if [[ -e "$plugins/$name.tenon.so" ]]; then
    arguments+=(--plugin "$plugins/$name.tenon.so")
    command_plugins+=(--plugin-path "$plugins/$name.tenon.so")
  fi
done
for kind in ${TENON_GPU_KINDS:-cuda hip-nvidia}; do arguments+=(--kind "$kind"); done
guarded=yes programs=yes
if [[ -n ${TENON_GPU_PARTS:-} ]]; then
  guarded=no programs=no
  for part in $TENON_GPU_PARTS; do
    if [[ $part == guarded ]]; then guarded=yes; else arguments+=(--part "$part") programs=yes; fi
  done
fi
failed=0

# One call under the guards of `tenon run --check`, and a line of what it found.
run_guarded() {
  local kind=$1 text
  shift
  if text=$("$build/bin/tenon" run "$@" --device "$kind:0" --check "${command_plugins[@]}" 2>&1) && grep -q '^check *ok' <<< "$text"; then
    printf 'ok      %s:0 %-24s %s\n' "$kind" "$(sed -n 's/^kernel *//p' <<< "$text")" "$*"
  else
    printf 'FAILED  %s:0 %s\n%s\n' "$kind" "$*" "$text"
    failed=1
  fi
}

check_guarded() {
  local kind
  for kind in ${TENON_GPU_KINDS:-cuda hip-nvidia}; do
    run_guarded "$kind" AddFwdOp self=2048x4096:bf16 other=4096:bf16 --set alpha=0.5
    run_guarded "$kind" AddFwdOp self=1000003:f32 other=1000003:f32
    run_guarded "$kind" MulFwdOp self=333x77:f16+3 other=333x77:f16/2
    run_guarded "$kind" GeluFwdOp x=1000003:bf16
    run_guarded "$kind" CopyFwdOp x=1000x333:f32^1,0
    run_guarded "$kind" CastFwdOp x=1000003:bf16 --set to=float8_e4m3fn
    run_guarded "$kind" RMSNormFwdOp x=64x4096:bf16 weight=4096:bf16 --set 'normalized_shape=[4096]'
    run_guarded "$kind" RMSNormFwdOp x=3x262144:f32 weight=262144:f32 --set 'normalized_shape=[262144]'
    run_guarded "$kind" LayerNormFwdOp x=64x4095:f16 weight=4095:f16 bias=4095:f16 --set 'normalized_shape=[4095]'
    run_guarded "$kind" SoftmaxFwdOp x=4x128256:bf16
    run_guarded "$kind" SumFwdOp x=2048x4096:bf16 --set 'dim=[0]'
    run_guarded "$kind" SumFwdOp x=16777216:f32
    run_guarded "$kind" MatMulFwdOp a=257x129:bf16 b=129x65:bf16^1,0
    run_guarded "$kind" MatMulFwdOp a=512x512:f32 b=512x512:f32
  done
}

{
  echo "date: $(date -u +%FT%TZ)"
  echo "command: scripts/gpu_check.sh, kinds: ${TENON_GPU_KINDS:-cuda hip-nvidia}, parts: ${TENON_GPU_PARTS:-all}"
  if command -v nvidia-smi > /dev/null; then
    nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
  fi
  if [[ $programs == yes ]]; then "$build/bin/tenon_gpu_check" "${arguments[@]}" || failed=1; fi
  if [[ $guarded == yes ]]; then
    echo "tenon run --check:"
    check_guarded
  fi
  echo "exit status: $failed"
} 2>&1 | tee "$out/gpu_check.txt"
tail -1 "$out/gpu_check.txt" | grep -q 'exit status: 0'
