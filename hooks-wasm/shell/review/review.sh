#!/usr/bin/env bash
# Refuses ConfigMaps without an owner, and gives the others a label.

source /shell_lib.sh

function __config__() {
  cat <<EOF
configVersion: v1
kubernetes:
- name: owners
  apiVersion: v1
  kind: Namespace
  jqFilter: .metadata.name
  executeHookOnEvent: []
  executeHookOnSynchronization: false
kubernetesValidating:
- name: owner.shell.example.com
  includeSnapshotsFrom: [owners]
  rules:
  - {apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"], scope: "Namespaced"}
kubernetesMutating:
- name: label.shell.example.com
  rules:
  - {apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"], scope: "Namespaced"}
EOF
}

function __on_validating::owner.shell.example.com() {
  local owner
  owner=$(context::jq -r '.review.request.object.metadata.annotations.owner // ""')
  if [[ -z "$owner" ]]; then
    echo '{"allowed": false, "message": "the annotation owner is missing"}' > "$VALIDATING_RESPONSE_PATH"
    return 0
  fi
  local known
  known=$(context::jq '.snapshots.owners | length')
  jq -n --arg owner "$owner" --arg known "$known" \
    '{allowed: true, warnings: ["owned by \($owner) in one of \($known) namespaces"]}' > "$VALIDATING_RESPONSE_PATH"
}

function __on_mutating::label.shell.example.com() {
  local patch
  patch=$(jq -nc '[{op: "add", path: "/metadata/labels", value: {reviewed: "yes"}}]' | base64 -w0)
  echo "{\"allowed\": true, \"patch\": \"$patch\"}" > "$ADMISSION_RESPONSE_PATH"
}

hook::run "$@"
