#!/bin/bash
# The library of shell-operator's hooks: strict mode, a trace of the calls on an error, and the framework.

set -Eeuo pipefail
shopt -s inherit_errexit
shopt -s failglob

# Prints the calls that led to the command that failed, the outermost first.
backtrace() {
  local status=$? frame
  echo "Traceback (most recent call last):" >&2
  for ((frame = ${#FUNCNAME[@]} - 2; frame >= 0; frame--)); do
    printf '  File "%s", line %d, in %s\n' "${BASH_SOURCE[frame + 1]}" "${BASH_LINENO[frame]}" "${FUNCNAME[frame + 1]}" >&2
  done
  printf 'Exiting with status %d\n' "$status" >&2
}

trap backtrace ERR

source /frameworks/shell/context.sh
source /frameworks/shell/hook.sh
source /frameworks/shell/kubernetes.sh
