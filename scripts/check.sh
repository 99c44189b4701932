#!/usr/bin/env bash
# Checks what no test sees: format, layers, comments, types of the ABI, built plugins, clang-tidy. Same by hand and in CI.
#
# Usage: scripts/check.sh [--fix] [--tidy=all|changed|none] [--base=REF] [STEP...]
#   --fix       let clang-format edit files (nothing else ever edits)
#   --tidy      which sources clang-tidy reads: all, those that differ from REF (default), none
#   --base      what "changed" compares with; default: the merge base with main, or HEAD~1 on main itself
#   STEP        format, layers, comments, abi, exports, lint, tidy; default: all of them
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$root"

fix=no tidy_scope=changed base='' steps=()
for argument in "$@"; do
  case $argument in
    --fix) fix=yes ;;
    --tidy=all | --tidy=changed | --tidy=none) tidy_scope=${argument#*=} ;;
    --base=*) base=${argument#*=} ;;
    format | layers | comments | abi | exports | lint | tidy) steps+=("$argument") ;;
    -h | --help)
      sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    *)
      printf 'check.sh: unknown argument %s; see --help\n' "$argument" >&2
      exit 2
      ;;
  esac
done
((${#steps[@]})) || steps=(format layers comments abi exports lint tidy)

sources() { git ls-files --cached --others --exclude-standard -- "$@" | while read -r file; do [[ -f $file ]] && echo "$file"; done; }

check_format() {
  local files status=0
  files=$(sources '*.h' '*.hpp' '*.cpp' '*.cu' '*.cuh' '*.hip')
  if [[ $fix == yes ]]; then
    xargs -r -n 16 -P "$jobs" clang-format --style=file -i <<<"$files"
    return
  fi
  while read -r file; do
    if ! clang-format --style=file "$file" | cmp -s - "$file"; then
      echo "$file: not as clang-format writes it (scripts/check.sh --fix format)"
      status=1
    fi
  done <<<"$files"
  return $status
}

check_layers() { python3 scripts/check_layers.py; }

check_comments() { python3 scripts/check_comments.py; }

# The header's types against those of the last release. Without abidiff it says so, which is no failure.
check_abi() {
  local status=0
  python3 scripts/abi_diff.py || status=$?
  ((status == 0 || status == 77))
}

# Every rule for finished plugin files, on the plugins that a build made.
check_lint() {
  local lint folder found=0 status=0
  for lint in build*/bin/tenon-plugin-lint; do
    folder=$(dirname "$(dirname "$lint")")/lib/tenon/plugins
    [[ -x $lint && -d $folder ]] || continue
    found=1
    "$lint" "$folder" || status=1
  done
  if ((found == 0)); then
    echo "no plugin is built (scripts/test.sh or a preset builds them)"
    return 1
  fi
  return $status
}

# Each plugin that a build made shows the world one symbol, and asks for none of Tenon's.
check_exports() {
  local found=0 bad=0 file exported wanted
  while IFS= read -r -d '' file; do
    found=$((found + 1))
    exported=$(nm -D --defined-only --format=posix "$file" | awk '{print $1}' | sort | tr '\n' ' ')
    if [[ $exported != 'tenon_plugin_v0 ' ]]; then
      echo "$file: exports '${exported% }', expected 'tenon_plugin_v0' and nothing else"
      bad=1
    fi
    wanted=$(nm -D --undefined-only --format=posix "$file" | awk '{print $1}' | grep -E '^(tenon_|_ZN?K?5tenon)' || true)
    if [[ -n $wanted ]]; then
      echo "$file: needs symbols of the host: $wanted"
      bad=1
    fi
  done < <(find build* -path '*/lib/tenon/plugins/*.tenon.so' -type f -print0 2>/dev/null)
  if ((found == 0)); then
    echo "no plugin is built (scripts/test.sh or a preset builds them)"
    return 1
  fi
  return $bad
}

tidy_files() {
  local all=('core/*.cpp' 'manifest/*.cpp' 'loader/*.cpp' 'plugins/*.cpp')
  if [[ $tidy_scope == all ]]; then
    sources "${all[@]}"
    return
  fi
  if [[ -z $base ]]; then
    base=$(git merge-base HEAD main 2>/dev/null || true)
    if [[ -z $base || $base == "$(git rev-parse HEAD)" ]]; then base=$(git rev-parse --verify -q HEAD~1 || git rev-parse HEAD); fi
  fi
  { git diff --name-only --diff-filter=d "$base" -- "${all[@]}" && git ls-files --others --exclude-standard -- "${all[@]}"; } | sort -u
}

check_tidy() {
  [[ $tidy_scope != none ]] || return 0
  local files
  cmake --preset tidy --log-level=ERROR >/dev/null || return 1
  sed -i 's/ -fno-gnu-unique//' build-tidy/compile_commands.json # an option of g++ alone, which clang calls an error
  # Generated headers must exist before a source that includes them can be read. The build that test.sh made has them.
  if [[ -d build-release/generated ]]; then
    mkdir -p build-tidy/generated && cp -r build-release/generated/. build-tidy/generated/
  else
    cmake --build build-tidy --target tenon_contracts_generate -j "$jobs" >/dev/null || return 1
  fi
  files=$(tidy_files)
  if [[ -z $files ]]; then
    echo "clang-tidy: no file ($tidy_scope)"
    return 0
  fi
  xargs -r -d '\n' python3 scripts/check_tidy.py build-tidy -j "$jobs" <<<"$files"
}

failed=()
for step in "${steps[@]}"; do
  begin=$SECONDS
  say "$step"
  if "check_$step"; then
    say "$step: ok, $((SECONDS - begin)) s"
  else
    say "$step: FAILED, $((SECONDS - begin)) s"
    failed+=("$step")
  fi
done
if ((${#failed[@]})); then
  say "check: failed: ${failed[*]}"
  exit 1
fi
say "check: all of ${steps[*]} passed"
