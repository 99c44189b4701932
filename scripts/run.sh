#!/usr/bin/env bash
# Shows Tenon at work: installs what is missing, builds it with the CPU plugin, runs one op on real data,
# and says which kernel ran and why.
#
# Usage: scripts/run.sh [--no-setup]
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

setup=yes
for argument in "$@"; do
  case $argument in
    --no-setup) setup=no ;;
    -h | --help)
      sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    *)
      printf 'run.sh: unknown argument %s\n' "$argument" >&2
      exit 2
      ;;
  esac
done

cd "$root"
[[ $setup == no ]] || scripts/setup.sh --run
build=build-release
tests=()
[[ -e $build/CMakeCache.txt ]] || tests=(-DTENON_TESTS=OFF) # a build that test.sh made keeps its tests
timed "configure" cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DTENON_CUDA=OFF -DTENON_HIP=OFF "${tests[@]}" --log-level=NOTICE
timed "build" cmake --build "$build" -j "$jobs" --target tenon_cli tenon_plugins -- --quiet

tenon="$build/bin/tenon"
plugins=(--plugin-path "$build/lib/tenon/plugins")
call=(RMSNormFwdOp x=examples/data/hidden.npy weight=examples/data/weight.npy --set 'normalized_shape=[512]')
output=$build/normed.npy

show() {
  local word line='$'
  for word in "$@"; do
    [[ $word =~ ^[A-Za-z0-9_./:=,+-]+$ ]] || word="'${word//\'/\'\\\'\'}'"
    line+=" $word"
  done
  printf '\n%s\n' "$line"
  "$@"
}
say "the plugins that were built"
show "$tenon" plugins "${plugins[@]}"
say "RMSNorm of 64 hidden states of 512 channels"
show "$tenon" run "${call[@]}" --out "output=$output" --check "${plugins[@]}"
say "which kernel that was, and why"
show "$tenon" explain "${call[@]}" "${plugins[@]}"
say "done: the result is in $output"
