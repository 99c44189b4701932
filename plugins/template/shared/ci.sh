#!/usr/bin/env bash
# Configures, builds and tests the plugin. Usage: ci.sh [PREFIX of Tenon]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release ${1:+-DCMAKE_PREFIX_PATH="$1"}
cmake --build build
ctest --test-dir build --no-tests=error --output-on-failure
