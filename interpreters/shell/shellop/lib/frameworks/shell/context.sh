#!/bin/bash
# Reads the binding contexts of a run.

# Runs jq on all contexts.
context::global::jq() {
  jq "$@" "$BINDING_CONTEXT_PATH"
}

# Runs jq on the current context.
context::jq() {
  context::global::jq --argjson index "${BINDING_CONTEXT_CURRENT_INDEX:-0}" '.[$index]' | jq "$@"
}

# The functions of jq for paths such as object.metadata.name, objects.0 and metadata.labels."example.com/a".
_CONTEXT_PATHS='
  def segments: [scan("\"[^\"]*\"|'"'"'[^'"'"']*'"'"'|[^.]+") | gsub("^[\"'"'"']|[\"'"'"']$"; "")];
  def child($key): if type == "array" and ($key | test("^[0-9]+$")) then .[$key | tonumber] else .[$key] end;
  def at($keys): reduce $keys[] as $key (.; child($key));
'

# Applies a filter of jq, in which `value` is what is at the path. A path that is a filter of jq itself is used as one.
context::_at() {
  local path="${1:-}" filter="$2"
  shift 2
  if [[ "$path" == *[\[\]\|\(\)\ ]* ]]; then
    context::jq "$@" "def value: .${path#.}; $filter"
  else
    context::jq "$@" --arg path "$path" "$_CONTEXT_PATHS def value: at(\$path | segments); $filter"
  fi
}

# Prints the value at a path. With --required, fails if there is none.
context::get() {
  local required=no
  if [[ "${1:-}" == "--required" ]]; then
    required=yes
    shift
  fi
  if [[ "$required" == yes ]] && ! context::has "${1:-}"; then
    echo "Error: the context has no value at ${1:-}, which the hook requires" >&2
    return 1
  fi
  context::_at "${1:-}" value -r
}

# Says whether the path exists, also with the value null.
context::has() {
  context::jq -e --arg path "${1:-}" "$_CONTEXT_PATHS"'
    ($path | segments) as $keys
    | at($keys[:-1])
    | ($keys[-1]) as $last
    | if type == "array" then has($last | tonumber) elif type == "object" then has($last) else false end' >/dev/null
}

context::is_true() {
  context::_at "${1:-}" 'value == true' -e >/dev/null
}

context::is_false() {
  context::_at "${1:-}" 'value == false' -e >/dev/null
}

context::is_null() {
  context::_at "${1:-}" 'value == null' -e >/dev/null
}
