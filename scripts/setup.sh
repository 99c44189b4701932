#!/usr/bin/env bash
# Installs what Tenon needs with the system's package manager (Debian 12, Ubuntu 24.04).
#
# Usage: scripts/setup.sh [--run | --test | --check | --gpu] [--list]
#   --run     what building and running needs
#   --test    the same, and what the tests need
#   --check   the same, and what scripts/check.sh and the benchmarks need (default)
#   --gpu     what --test has, and compilers for the GPU plugins: HIP for AMD, and CUDA where no nvcc of 12.8 or later is
#   --list    print the packages of the group and install nothing
# With --check it also has libc++, for the test of portability: installed where apt-get need not remove anything for it,
# else unpacked into .cache/libcxx, where the build finds it.
# With --gpu CUDA's compiler, headers and static runtime come from PyPI into .cache/cuda (about 530 MB to download), where
# the build finds them too; it installs no driver and nothing that a GPU is used with.
# Does nothing when everything is there. Asks no question. Uses sudo when it is not run by root.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

run_packages=(cmake ninja-build g++ libboost-dev libboost-program-options-dev libyaml-cpp-dev
  libspdlog-dev libfmt-dev nlohmann-json3-dev libexpected-dev)
test_packages=(doctest-dev libdlpack-dev python3 python3-numpy)
check_packages=(clang-format clang-tidy clang libclang-rt-dev binutils abigail-tools libbenchmark-dev ccache git)
# One more standard library for the test of portability. On many machines libunwind-dev stands against it.
libcxx_packages=(libc++-dev libc++abi-dev)

# HIP's compiler, headers and runtime, and what pip needs to fetch CUDA.
gpu_packages=(hipcc libamdhip64-dev rocm-device-libs python3-pip unzip)
# One release of CUDA, 13.0: the plugins for AMD's HIP over CUDA are written for it.
cuda_wheels=(nvidia-cuda-nvcc==13.0.88 nvidia-cuda-crt==13.0.88 nvidia-nvvm==13.0.88 nvidia-cuda-runtime==13.0.96
  nvidia-cuda-cccl==13.0.85 nvidia-cuda-profiler-api==13.0.85 nvidia-cublas==13.1.0.3)

group=check list_only=no
for argument in "$@"; do
  case $argument in
    --run | --test | --check | --gpu) group=${argument#--} ;;
    --list) list_only=yes ;;
    -h | --help)
      sed -n '2,14s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    *)
      printf 'setup.sh: unknown argument %s; see --help\n' "$argument" >&2
      exit 2
      ;;
  esac
done

packages=("${run_packages[@]}")
[[ $group == run ]] || packages+=("${test_packages[@]}")
[[ $group == gpu ]] && packages+=("${gpu_packages[@]}")
[[ $group == check ]] && packages+=("${check_packages[@]}")
if [[ $list_only == yes ]]; then
  printf '%s\n' "${packages[@]}"
  exit 0
fi

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  printf '%s\n' "error: scripts/setup.sh knows Debian's package manager only, and apt-get is not here." \
    "Install the equivalents of these packages by hand, then run the script that called this one with --no-setup:" \
    "  ${packages[*]}" >&2
  exit 1
fi

is_installed() { [[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null || true) == installed ]]; }

missing=()
for package in "${packages[@]}"; do
  is_installed "$package" || missing+=("$package")
done

# Whether libc++ is neither installed nor unpacked.
lacks_libcxx() {
  [[ $group == check && ! -e $root/.cache/libcxx/usr ]] || return 1
  for package in "${libcxx_packages[@]}"; do
    is_installed "$package" || return 0
  done
  return 1
}

# Prints the first dependency of a package that has a version in its name: libc++-dev depends on libc++-14-dev.
versioned() { LC_ALL=C apt-cache depends "$1" 2>/dev/null | sed -n 's/^ *Depends: *\(.*-[0-9].*\)/\1/p' | head -1; }

# Unpacks libc++ and what it needs beside everything else, where no other package can stand against it.
unpack_libcxx() {
  local folder=$root/.cache/libcxx headers number
  headers=$(versioned libc++-dev)
  number=${headers//[!0-9]/}
  if [[ -z $number ]]; then
    say "setup: left out libc++: apt-get knows no libc++-dev"
    return
  fi
  rm -rf "$folder"
  mkdir -p "$folder/packages"
  if ! (cd "$folder/packages" && apt-get download -q "libc++-$number-dev" "libc++1-$number" "libc++abi-$number-dev" \
    "libc++abi1-$number" "libunwind-$number") >"$folder/download.log" 2>&1; then
    say "setup: left out libc++: its packages could not be downloaded ($folder/download.log says why)"
    return
  fi
  for package in "$folder"/packages/*.deb; do dpkg -x "$package" "$folder"; done
  rm -rf "$folder/packages" "$folder/download.log"
  say "setup: unpacked libc++ $number into .cache/libcxx, for installing it would remove other packages"
}

# Whether the nvcc is of CUDA 12.8 or later.
is_new_enough() {
  local release
  release=$("$1" --version 2>/dev/null | sed -nE 's/.*release ([0-9]+)\.([0-9]+).*/\1 \2/p')
  [[ -n $release ]] || return 1
  local major=${release% *} minor=${release#* }
  ((major > 12 || (major == 12 && minor >= 8)))
}

# Whether the build would find no nvcc that it can use: it takes the first of these, or the unpacked one in its stead.
lacks_cuda() {
  [[ $group == gpu && ! -x $root/.cache/cuda/nvidia/cu13/bin/nvcc ]] || return 1
  local folder
  for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda; do
    if [[ -n $folder && -x $folder/bin/nvcc ]]; then
      ! is_new_enough "$folder/bin/nvcc"
      return
    fi
  done
  ! command -v nvcc >/dev/null || ! is_new_enough nvcc
}

# Unpacks CUDA's compiler beside everything else; of cuBLASLt the headers alone, for the plugin opens it when it runs.
unpack_cuda() {
  local folder=$root/.cache/cuda wheel
  rm -rf "$folder"
  mkdir -p "$folder/wheels"
  if ! python3 -m pip download -q --no-deps --only-binary=:all: --disable-pip-version-check -d "$folder/wheels" \
    "${cuda_wheels[@]}" >"$folder/download.log" 2>&1; then
    say "setup: left out CUDA: its packages could not be downloaded ($folder/download.log says why)"
    rm -rf "$folder/wheels"
    return
  fi
  for wheel in "$folder"/wheels/*.whl; do
    if [[ $wheel == *cublas* ]]; then unzip -qo "$wheel" '*/include/*' -d "$folder"; else unzip -qo "$wheel" -d "$folder"; fi
  done
  chmod +x "$folder"/nvidia/cu13/bin/* "$folder"/nvidia/cu13/nvvm/bin/*
  rm -rf "$folder/wheels" "$folder/download.log"
  say "setup: unpacked CUDA's compiler into .cache/cuda, for no nvcc of CUDA 12.8 or later was found"
}

# What is unpacked into .cache once the packages are there.
unpack_rest() {
  if [[ $unpack == yes ]]; then unpack_libcxx; fi
  if lacks_cuda; then unpack_cuda; fi
}

unpack=no
if lacks_libcxx; then
  plan=$(apt-get -s install --no-install-recommends "${libcxx_packages[@]}" 2>/dev/null || echo Remv)
  if grep -q '^Remv' <<<"$plan"; then
    unpack=yes
  else
    missing+=("${libcxx_packages[@]}")
  fi
fi
if ((${#missing[@]} == 0)); then
  unpack_rest
  say "setup: all ${#packages[@]} packages are installed"
  exit 0
fi

as_root=()
if ((EUID != 0)); then
  command -v sudo >/dev/null ||
    die "installing ${missing[*]} needs root: run this script as root, or install sudo"
  as_root=(sudo)
fi
say "setup: installing ${missing[*]}"
install_packages() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { "${as_root[@]}" apt-get update -q && install_packages; } >"$log" 2>&1; then
  cat "$log" >&2
  die "apt-get could not install ${missing[*]}; its output is above"
fi
say "setup: installed ${#missing[@]} packages"
unpack_rest
