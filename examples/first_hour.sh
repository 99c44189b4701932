#!/usr/bin/env bash
# A vendor's first hour: from a build of Tenon to a plugin of one's own whose kernel wins and runs. Each step says what
# it expects and checks it; the last line is the time that all took.
#
# Usage: examples/first_hour.sh [--build DIR] [--work DIR]
#   --build DIR   a finished build of Tenon; default: build-release of this tree
#   --work DIR    where everything is put; default: a temporary folder that is removed at the end
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build-release work=''
while (($#)); do
  case $1 in
    --build) build=${2:?--build needs a folder} && shift 2 ;;
    --work) work=${2:?--work needs a folder} && shift 2 ;;
    -h | --help)
      sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    *)
      printf 'first_hour.sh: unknown argument %s; see --help\n' "$1" >&2
      exit 2
      ;;
  esac
done
[[ -e $build/cmake_install.cmake ]] || {
  echo "error: $build is no build of Tenon; scripts/run.sh makes one" >&2
  exit 1
}
build=$(cd "$build" && pwd)
if [[ -z $work ]]; then
  work=$(mktemp -d -t tenon-first-hour.XXXXXX)
  trap 'rm -rf "$work"' EXIT
fi
mkdir -p "$work"
cd "$work"
begin=$SECONDS

step() { printf '\n==> %s\n' "$*"; }

# Runs a command, shows it with its output, and wants each of the words before `--` in that output.
expect() {
  local wanted=() output word
  while [[ $1 != -- ]]; do wanted+=("$1") && shift; done
  shift
  printf '$ %s\n' "$*"
  output=$("$@" 2>&1) || { printf '%s\n' "$output" && echo "error: that command failed" >&2 && exit 1; }
  printf '%s\n' "$output"
  for word in "${wanted[@]}"; do
    [[ $output == *"$word"* ]] || { echo "error: expected '$word' in what it said" >&2 && exit 1; }
  done
}

step "install Tenon to a prefix"
cmake --install "$build" --prefix "$work/tenon" >install.log
export PATH=$work/tenon/bin:$PATH
expect active -- tenon plugins

step "write a plugin project"
expect acme -- tenon new-plugin acme --into acme

step "configure, build and test it as it was generated"
cmake -S acme -B acme/build -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$work/tenon" >configure.log
cmake --build acme/build >build.log
expect '100% tests passed' -- ctest --test-dir acme/build --no-tests=error

step "look at the file, and let the doctor load it"
plugin=acme/build/acme.tenon.so
expect '0 failed' -- tenon-plugin-lint --beside "$work/tenon/lib/tenon/plugins" "$plugin"
expect acme -- tenon plugins doctor "$plugin"

step "see its kernel win where it says so, and step back where it says so"
call=(RMSNormFwdOp weight=512:f32~uniform --set 'normalized_shape=[512]')
expect 'chosen: acme:short_rows' -- tenon explain "${call[@]}" x=64x512:f32 --plugin-path "$plugin"
expect 'serves n <= 4096, got 8192' 'chosen: cpu:' -- \
  tenon explain RMSNormFwdOp x=8x8192:f32 --set 'normalized_shape=[8192]' --plugin-path "$plugin"

step "run it on data, against the reference"
expect 'acme:short_rows' -- tenon run "${call[@]}" x=64x512:f32~normal --plugin-path "$plugin" --check --out output=y.npy
[[ -s y.npy ]] || { echo "error: no result was written" >&2 && exit 1; }

took=$((SECONDS - begin))
printf '\n==> from an installed Tenon to a kernel of one'"'"'s own that runs: %d s\n' "$took"
((took < 180)) || { echo "error: that is more than three minutes" >&2 && exit 1; }
