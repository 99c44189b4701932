# Completion of the tenon command for bash. Asks the command itself, so it never knows anything else than the
# command does: names from `tenon --help`, options from `tenon COMMAND --help`, ops from `tenon ops --json`.

_tenon_commands() { "$1" --help 2>/dev/null | sed -nE 's/^  ([a-z]+( [a-z]+)?)  +.*/\1/p'; }

_tenon() {
  local tenon=${COMP_WORDS[0]} current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local first=${COMP_WORDS[1]:-} second=${COMP_WORDS[2]:-} all command words=''
  all=$(_tenon_commands "$tenon")
  command=$first
  if grep -qx -- "$first $second" <<<"$all"; then command="$first $second"; fi

  case $previous in
    --config | --plugin-path | --manifest | --out | --assume) COMPREPLY=($(compgen -f -- "$current")) && return ;;
  esac
  if ((COMP_CWORD == 1)); then
    words=$(cut -d' ' -f1 <<<"$all" | sort -u)
  elif [[ $current == -* ]]; then
    # shellcheck disable=SC2086
    words=$("$tenon" $command --help 2>/dev/null | grep -oE -- '^  --[a-z-]+')
  elif ((COMP_CWORD == 2)) && grep -q -- "^$first " <<<"$all"; then
    words=$(sed -nE "s/^$first ([a-z]+)$/\1/p" <<<"$all")
  elif [[ $command =~ ^(run|explain|infer|ops\ show|manifest\ show|manifest\ cases|manifest\ schemas)$ && $current != *=* ]]; then
    words=$("$tenon" ops --json 2>/dev/null | grep -oE '"op": *"[A-Za-z0-9:_]+"' | cut -d'"' -f4)
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if ((${#COMPREPLY[@]} == 0)); then COMPREPLY=($(compgen -f -- "$current")); fi
}
complete -o filenames -F _tenon tenon
