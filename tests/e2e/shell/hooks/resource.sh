#!/usr/bin/env bash
# Answers custom resources with their status, and finishes those that are deleted.

source /shell_lib.sh

__config__() {
  cat <<'END'
configVersion: v1
kubernetes:
- name: crontabs
  apiVersion: corpus.example.com/v1
  kind: CronTab
  executeHookOnEvent: [Added, Modified]
  jqFilter: '{generation: .metadata.generation, deleted: .metadata.deletionTimestamp}'
END
}

reconcile() {
  local object=$1 name namespace schedule phase=Ready
  name=$(jq -r .metadata.name <<< "$object")
  namespace=$(jq -r .metadata.namespace <<< "$object")
  if [[ "$(jq -r .metadata.deletionTimestamp <<< "$object")" != null ]]; then
    kubectl patch crontabs.corpus.example.com "$name" -n "$namespace" --type=merge -p '{"metadata": {"finalizers": null}}'
    return 0
  fi
  schedule=$(jq -r '.spec.schedule // ""' <<< "$object")
  read -ra fields <<< "${schedule//\*/x}"
  (( ${#fields[@]} == 5 )) || phase=Invalid
  kubectl patch crontab "$name" -n "$namespace" --subresource=status --type=merge \
    -p "$(jq -n --arg phase "$phase" --argjson fields "${#fields[@]}" '{status: {$phase, $fields}}')"
}

__on_kubernetes::crontabs::synchronization() {
  local i
  for (( i = 0; i < $(context::jq -r '.objects | length'); i++ )); do
    reconcile "$(context::get "objects.$i.object")"
  done
}

__on_kubernetes::crontabs::added_or_modified() {
  reconcile "$(context::get object)"
}

hook::run "$@"
