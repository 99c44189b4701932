#!/usr/bin/env bash
# Builds the golden plugin of the ABI that tenon/plugin.h has now: tests/golden/plugins/abi-M.m/golden.tenon.so.
#
# Usage: scripts/golden_plugin.sh [BUILD]
#   BUILD   a build folder with the generated contracts; default: build-release, else build
# From ABI 1.0 on a binary that exists is never replaced; tests/golden/plugins/README.md says why.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$root"

build=${1:-}
if [[ -z $build ]]; then
  for build in build-release build; do [[ -d $build/generated/include ]] && break; done
fi
contracts=$build/generated/include
[[ -e $contracts/tenon/contracts/elementwise.h ]] ||
  die "$contracts has no contracts; build the target tenon_contracts_generate first"

number() {
  printf '%s\n' '#include "tenon/plugin.h"' "TENON_ABI_$1" | cc -E -P -Iplugin_api/include - | tail -1 | tr -d 'u'
}
major=$(number MAJOR) minor=$(number MINOR)
folder=tests/golden/plugins/abi-$major.$minor
[[ -e $folder/golden.c ]] || die "$folder/golden.c is missing; see tests/golden/plugins/README.md"
binary=$folder/golden.tenon.so
if ((major > 0)) && [[ -e $binary ]]; then die "$binary exists, and from 1.0 on it is never replaced"; fi

map=$(mktemp)
trap 'rm -f "$map"' EXIT
echo '{ global: tenon_plugin_v'"$major"'; local: *; };' >"$map"
options=(-std=c11 -O2 -Wall -Wextra -Wpedantic -Werror -fPIC -fvisibility=hidden -fno-stack-protector)
cc "${options[@]}" -shared -s -Iplugin_api/include -I"$contracts" "$folder/golden.c" -o "$binary" \
  -Wl,--version-script="$map" -Wl,-soname,golden.tenon.so -Wl,-Bsymbolic -Wl,-z,defs -Wl,-z,now -Wl,--build-id=sha1
{
  echo "compiler  $(cc --version | head -1)"
  echo "linker    $(ld --version | head -1)"
  echo "options   ${options[*]}"
  echo "plugin.h  sha256 $(sha256sum <plugin_api/include/tenon/plugin.h | cut -d' ' -f1)"
  echo "source    sha256 $(sha256sum <"$folder/golden.c" | cut -d' ' -f1)"
  echo "binary    sha256 $(sha256sum <"$binary" | cut -d' ' -f1)"
} >"$folder/built.txt"
say "$binary, $(stat -c %s "$binary") bytes"
