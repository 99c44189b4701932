# Completion of the tenon command for bash. The command itself says what may come next.
_tenon() {
  local current=${COMP_WORDS[COMP_CWORD]} word
  # The shell splits at '=': name=TENSOR is three words there, and a file is what comes after it.
  if [[ $current == = || ${COMP_WORDS[COMP_CWORD - 1]} == = ]]; then
    compopt -o default
    COMPREPLY=()
    return
  fi
  COMPREPLY=()
  while IFS= read -r word; do
    [[ $word == "$current"* ]] && COMPREPLY+=("$word")
  done < <("${COMP_WORDS[0]}" --complete "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)
  if ((${#COMPREPLY[@]} == 0)); then
    compopt -o default
  elif ((${#COMPREPLY[@]} == 1)) && [[ ${COMPREPLY[0]} == *= ]]; then
    compopt -o nospace
  fi
}
complete -F _tenon tenon
