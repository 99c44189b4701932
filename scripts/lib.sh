# Shared by the scripts of this folder: where the repository is, and how they speak. Sourced, not run.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
jobs=$(nproc 2>/dev/null || echo 2)

say() { printf '==> %s\n' "$*"; }
die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# Runs a step and prints how long it took.
timed() {
  local title=$1 begin=$SECONDS
  shift
  say "$title"
  "$@"
  say "$title: $((SECONDS - begin)) s"
}

# TENON_SHARED_DATA of the environment, handed to CMake: optional test data outside the repository.
shared_data=()
if [[ -n ${TENON_SHARED_DATA:-} ]]; then shared_data=("-DTENON_SHARED_DATA=$TENON_SHARED_DATA"); fi

# Of the gpu_*.sh scripts: sets `build`, `out` and `plugins` from their two arguments, paths as the caller's folder has
# them; ends where the program that they need is not built.
gpu_arguments() {
  local program=$1
  build=$(realpath -m "${2:-$root/build}") out=$(realpath -m "${3:-$root/gpu-check-output}")
  plugins=$build/lib/tenon/plugins
  [[ -x $build/bin/$program ]] ||
    die "$build/bin/$program is not there: cmake --build $build --target $program, and the first argument names the build folder"
  [[ -e $plugins/cpu.tenon.so ]] || die "$plugins/cpu.tenon.so, whose reference is compared with, is not there"
  mkdir -p "$out"
}
