#!/usr/bin/env bash
# Copies a Secret into each namespace with a label, and removes the copies elsewhere.

source /shell_lib.sh
source "$(dirname "$0")/lib/names.sh"

function __config__() {
  cat <<EOF
configVersion: v1
kubernetes:
- name: secret
  apiVersion: v1
  kind: Secret
  nameSelector: {matchNames: ["$SECRET"]}
  namespace: {nameSelector: {matchNames: ["default"]}}
  jqFilter: '{type: .type, data: .data}'
  keepFullObjectsInMemory: false
  group: copies
- name: namespaces
  apiVersion: v1
  kind: Namespace
  jqFilter: '{name: .metadata.name, wants: (.metadata.labels.copy == "yes")}'
  keepFullObjectsInMemory: false
  group: copies
EOF
}

function copy() {
  local namespace=$1
  context::jq --arg namespace "$namespace" --arg name "$SECRET" '
    .snapshots.secret[0].filterResult
    | {
        operation: "CreateOrUpdate",
        object: {apiVersion: "v1", kind: "Secret", metadata: {name: $name, namespace: $namespace}, type: .type, data: .data}
      }' >> "$KUBERNETES_PATCH_PATH"
}

function remove() {
  cat <<EOF >> "$KUBERNETES_PATCH_PATH"
{"operation": "DeleteInBackground", "apiVersion": "v1", "kind": "Secret", "namespace": "$1", "name": "$SECRET"}
EOF
}

function __on_group::copies() {
  if ! context::has snapshots.secret.0; then
    echo "there is no Secret $SECRET"
    return 0
  fi
  local namespace
  for namespace in $(context::jq -r '.snapshots.namespaces[].filterResult | select(.wants) | .name'); do
    copy "$namespace"
  done
  while read -r namespace; do
    [[ "$namespace" == default ]] || remove "$namespace"
  done < <(context::jq -r '.snapshots.namespaces[].filterResult | select(.wants | not) | .name')
}

hook::run "$@"
