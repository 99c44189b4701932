#!/usr/bin/env bash
# Installs what Tenon needs with the system's package manager (Debian 12, Ubuntu 24.04).
#
# Usage: scripts/setup.sh [--run | --test | --check] [--list]
#   --run     what building and running needs
#   --test    the same, and what the tests need
#   --check   the same, and what scripts/check.sh and the benchmarks need (default)
#   --list    print the packages of the group and install nothing
# Does nothing when everything is there. Asks no question. Uses sudo when it is not run by root.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

run_packages=(cmake ninja-build g++ libboost-dev libboost-program-options-dev libyaml-cpp-dev
  libspdlog-dev libfmt-dev nlohmann-json3-dev libexpected-dev)
test_packages=(doctest-dev libdlpack-dev python3 python3-numpy)
check_packages=(clang-format clang-tidy clang libclang-rt-dev binutils abigail-tools libbenchmark-dev ccache git)
# With --check, where apt-get need not remove anything for them (libunwind-dev stands against libc++-dev): one more
# standard library for the test of portability, which says what it leaves out.
optional_packages=(libc++-dev libc++abi-dev)

group=check list_only=no
for argument in "$@"; do
  case $argument in
    --run | --test | --check) group=${argument#--} ;;
    --list) list_only=yes ;;
    -h | --help)
      sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
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
if [[ $group == check ]]; then
  for package in "${optional_packages[@]}"; do
    is_installed "$package" && continue
    plan=$(apt-get -s install --no-install-recommends "$package" 2>/dev/null || echo Remv)
    if grep -q '^Remv' <<<"$plan"; then
      say "setup: left out $package, for which other packages would be removed"
    else
      missing+=("$package")
    fi
  done
fi
if ((${#missing[@]} == 0)); then
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
