#!/bin/bash
# Runs the function of a hook that handles a context.

# The entry of a hook: hook::run "$@".
hook::run() {
  if [[ "${1:-}" == "--config" ]]; then
    __config__
    exit 0
  fi
  local count index
  count=$(context::global::jq length)
  for ((index = 0; index < count; index++)); do
    export BINDING_CONTEXT_CURRENT_INDEX=$index
    BINDING_CONTEXT_CURRENT_BINDING=$(context::jq -r '.binding // "unknown"')
    export BINDING_CONTEXT_CURRENT_BINDING
    hook::_run_first $(hook::_handlers) __main__
  done
}

# Lists the functions that can handle the current context, the most specific first.
hook::_handlers() {
  context::jq -r '
    .binding as $binding
    | {beforeAll: "__on_before_all", afterAll: "__on_after_all", beforeHelm: "__on_before_helm", afterHelm: "__on_after_helm",
       beforeDeleteHelm: "__on_before_delete_helm", afterDeleteHelm: "__on_after_delete_helm"} as $stages
    | if $binding == "onStartup" then "__on_startup"
      elif .type == null and ($stages | has($binding)) then $stages[$binding]
      elif .type == "Group" then "__on_group::\(.groupName // $binding)"
      elif .type == "Schedule" then "__on_schedule::\($binding)"
      elif .type == "Validating" then "__on_validating::\($binding)"
      elif .type == "Mutating" then "__on_mutating::\($binding)"
      elif .type == "Conversion" then "__on_conversion::\($binding)::\(.fromVersion)::\(.toVersion)", "__on_conversion::\($binding)"
      elif .type == "Synchronization" then "__on_kubernetes::\($binding)::synchronization", "__on_kubernetes::\($binding)"
      elif .type == "Event" then
        "__on_kubernetes::\($binding)::\(.watchEvent | ascii_downcase)",
        (if .watchEvent == "Deleted" then empty else "__on_kubernetes::\($binding)::added_or_modified" end),
        "__on_kubernetes::\($binding)"
      else "__on_schedule::\($binding)"
      end'
}

# Runs the first of these functions that exists, in a subshell.
hook::_run_first() {
  local handler
  for handler in "$@"; do
    if declare -F "$handler" >/dev/null; then
      ("$handler")
      return $?
    fi
  done
  echo "Error: the hook has none of the functions that handle this: $*" >&2
  return 1
}
