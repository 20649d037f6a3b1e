#!/usr/bin/env bash
# The constructs of bash.

set -Eeuo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"

if [[ "${1:-}" == --config ]]; then
  config::startup 1
  exit 0
fi

arrays() {
  local -a list=(one "two words" three) rest
  list+=(four)
  unset 'list[0]'
  rest=("${list[@]:1:2}")
  printf '%s|' "${list[@]}" "${#list[@]}" "${!list[*]}" "${rest[*]^^}"
}

maps() {
  local -A ages=([ann]=7 [bob]=9)
  local key total=0
  ages[eve]=$((ages[ann] + 1))
  unset 'ages[bob]'
  for key in "${!ages[@]}"; do
    (( total += ages[$key] ))
  done
  [[ -v ages[ann] && ! -v ages[bob] ]] && echo "total $total of ${#ages[@]}"
}

expansions() {
  local path=/srv/www/site.tar.gz empty= name=path
  printf '%s|' "${path##*/}" "${path%%.*}" "${path%/*}" "${path/www/WWW}" "${path//[aeiou]/_}" "${path:5:3}" "${#path}" \
    "${empty:-default}" "${missing-unset}" "${empty:+never}" "${path:+set}" "${!name}" "${path@Q}" "${path^}" {a..c}{1,2}
}

tests() {
  local -a passed=()
  [[ production == prod* ]] && passed+=(glob)
  [[ v1.24.3 =~ ^v([0-9]+)\.([0-9]+) ]] && passed+=("major ${BASH_REMATCH[1]}, minor ${BASH_REMATCH[2]}")
  [[ -n x && ( a < b || b < a ) && ! -e /nowhere ]] && passed+=(and)
  [ 10 -gt 9 ] && [ abc != abd ] && passed+=(brackets)
  (IFS=,; echo "${passed[*]}")
}

loops() {
  local i out=
  for ((i = 0; i < 10; i++)); do
    (( i % 2 )) && continue
    (( i > 6 )) && break
    out+=$i
  done
  while read -r key value; do out+=" $key=$value"; done < <(printf '%s\n' 'a 1' 'b 2 3')
  until [[ $out == *"!!" ]]; do out+='!'; done
  for i in "$@"; do out+=" <$i>"; done
  echo "$out"
}

cases() {
  local word
  for word in "$@"; do
    case "$word" in
      a|b) printf 'letter ' ;;&
      [a-m]*) printf 'early ' ;;
      *.sh) printf 'script ' ;&
      none) printf 'fallthrough ' ;;
      *) printf 'other ' ;;
    esac
  done
}

numbers() {
  local n=7
  printf '%s ' $((n ** 2 % 10)) $((n << 2 | 1)) $((n > 5 ? n : 0)) $((0x1f + 010)) $((n++ + ++n)) "$((n & ~1))"
  printf '%05d %x %.2f %-4s| %q' 42 255 3.14159 ab "it's"
}

redirections() {
  local directory file
  directory=$(mktemp -d)
  file=$directory/out
  { echo out; echo err >&2; } > "$file" 2>&1
  exec 3>> "$file"
  echo three >&3
  exec 3>&-
  cat >> "$file" <<-END
	tabs and $((1 + 1))
	END
  cat >> "$file" <<'END'
raw $HOME
END
  tr '\n' ' ' <<< "$(< "$file")"
  rm -r "$directory"
}

pipes() {
  local status
  false | true || status=("${PIPESTATUS[@]}")
  echo "${status[*]}"
  printf 'b\na\nb\n' | sort | uniq -c | awk '{print $2 "=" $1}' | paste -sd,
  diff <(printf '1\n2\n') <(printf '1\n3\n') | grep -c '^[<>]'
}

failures() {
  # A function in a condition goes on after an error, and a subshell does not.
  risky() { false; echo went-on; }
  if risky; then echo yes; fi
  (set -e; trap 'echo "left with $?"' EXIT; false; echo never) || echo "status $?"
  ( trap 'echo "failed in line $LINENO" | sed "s/[0-9][0-9]*/N/"' ERR; false; true ) || true
}

options() {
  local option OPTIND=1 verbose=0 names=()
  while getopts 'vn:' option; do
    case $option in
      v) verbose=1 ;;
      n) names+=("$OPTARG") ;;
      *) return 2 ;;
    esac
  done
  shift $((OPTIND - 1))
  echo "verbose $verbose, names ${names[*]}, rest $*"
}

scopes() {
  local x=outer
  inner() { local x=inner; deepest; }
  deepest() { x+=+; echo "$x"; }
  inner
  echo "$x"
  declare -n alias=x
  alias=renamed
  echo "$x"
  (x=subshell)
  echo "$x"
}

reading() {
  local -a lines fields
  mapfile -t lines <<< $'first\nsecond\nthird'
  IFS=: read -r -a fields <<< 'root:x:0'
  printf '%s ' "${#lines[@]}" "${lines[-1]}" "${fields[2]}"
  printf -v text '%s-%s' a b
  echo "$text"
}

result::of arrays arrays
result::of maps maps
result::of expansions expansions
result::of tests tests
result::of loops loops "a b" c
result::of cases cases a z.sh none x
result::of numbers numbers
result::of redirections redirections
result::of pipes pipes
result::of failures failures
result::of options options -v -n one -ntwo rest of it
result::of scopes scopes
result::of reading reading
result::apply bash
