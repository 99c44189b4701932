#!/usr/bin/env bash
# The bash completion, asked as bash asks it, against the tenon command given.
set -uo pipefail
tenon=$1
source "$2"

failed=0
# expect WORD... -- LINE WORDS: completing the last of LINE WORDS offers each WORD.
expect() {
  local wanted=() word
  while [[ $1 != -- ]]; do wanted+=("$1") && shift; done
  shift
  COMP_WORDS=("$tenon" "$@") COMP_CWORD=$# COMPREPLY=()
  _tenon
  for word in "${wanted[@]}"; do
    if ! printf '%s\n' "${COMPREPLY[@]}" | grep -qxF -- "$word"; then
      echo "completing '$*' does not offer '$word', but: ${COMPREPLY[*]}"
      failed=1
    fi
  done
}
expect plugins explain run -- ''
expect explain -- expl
expect inspect -- plugins ''
expect --json --plugin-path -- plugins --
expect RMSNormFwdOp -- explain RMS
exit $failed
