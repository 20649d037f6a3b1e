#!/bin/bash
# Denies namespaces that do not say which team they belong to, and warns of teams that are not in a list.
#
# The hook never changes a namespace.

set -euo pipefail

if [[ ${1:-} == --config ]]; then
  cat <<'EOF'
configVersion: v1
kubernetes:
  # The list of teams, kept for the answers. It runs nothing.
  - name: teams
    apiVersion: v1
    kind: ConfigMap
    namespace: {nameSelector: {matchNames: [default]}}
    nameSelector: {matchNames: [teams]}
    executeHookOnEvent: []
    executeHookOnSynchronization: false
kubernetesValidating:
  - name: team-label.example.com
    rules:
      - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [namespaces]}
    # While the hook cannot answer, namespaces are created and changed.
    failurePolicy: Ignore
    includeSnapshotsFrom: [teams]
EOF
  exit
fi

# An error is not a denial: the webhook's failure policy decides then.
jq '.[0]
  | .review.request as $request
  | $request.object.metadata.labels.team as $team
  | .snapshots.teams[0].object as $teams
  | if $team == null then {allowed: false, message: "namespace \($request.name) needs a label team"}
    elif $teams == null or ($teams.data // {} | has($team)) then {allowed: true}
    else {allowed: true, warnings: ["team \($team) is not in the ConfigMap default/teams"]} end' \
  "$BINDING_CONTEXT_PATH" >"$VALIDATING_RESPONSE_PATH"
