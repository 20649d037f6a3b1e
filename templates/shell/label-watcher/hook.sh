#!/bin/bash
# Every namespace with the label `team` has a ConfigMap `team`, which the programs in it read to find their owner.
#
# The hook changes no object with another name. It does not notice a label that is removed while the operator is down.

set -euo pipefail

if [[ ${1:-} == --config ]]; then
  cat <<'EOF'
configVersion: v1
kubernetes:
  - name: namespaces
    apiVersion: v1
    kind: Namespace
    labelSelector: {matchExpressions: [{key: team, operator: Exists}]}
    # The hook runs when this changes, and at no other change of a namespace.
    jqFilter: "{name: .metadata.name, team: .metadata.labels.team}"
    keepFullObjectsInMemory: false
EOF
  exit
fi

# Makes the ConfigMap of a namespace as it should be. Without a team, there is none.
repair() {
  local namespace=$1 team=$2
  if [[ -z $team ]]; then
    kubectl delete configmap team --namespace "$namespace" --ignore-not-found
  else
    kubectl create configmap team --namespace "$namespace" --from-literal "team=$team" --dry-run=client -o yaml | kubectl apply -f -
  fi
  echo "namespace $namespace: done"
}

# A namespace that was deleted, or has lost its label, has no team.
changed=$(jq -r '.[] | if .type == "Synchronization" then .objects[] else . end
  | [.filterResult.name, if .watchEvent == "Deleted" then "" else .filterResult.team end] | join(" ")' "$BINDING_CONTEXT_PATH")

while read -r namespace team; do
  [[ -z $namespace ]] || repair "$namespace" "$team"
done <<<"$changed"
