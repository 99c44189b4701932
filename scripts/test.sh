#!/usr/bin/env bash
# Installs what is missing, builds Tenon with its tests and runs them.
#
# Usage: scripts/test.sh [--no-setup] [CTest options...]
#   e.g. scripts/test.sh -R norm      only the tests whose name has "norm"
# The last line is CTest's summary. Exit status 0 only when tests ran and all passed.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

setup=yes
ctest_options=()
for argument in "$@"; do
  if [[ $argument == --no-setup ]]; then setup=no; else ctest_options+=("$argument"); fi
done

cd "$root"
[[ $setup == no ]] || scripts/setup.sh --test
build=build-release
timed "configure" cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTENON_TESTS=ON "${shared_data[@]}" --log-level=NOTICE
timed "build" cmake --build "$build" -j "$jobs" -- --quiet
say "test"
ctest --test-dir "$build" --no-tests=error --output-on-failure -j "$jobs" -LE 'package|slow' "${ctest_options[@]}" | sed '/^Label Time Summary/,/^$/d'
