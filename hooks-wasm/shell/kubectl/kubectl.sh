#!/bin/bash
# What scripts do with kubectl: lists, labels, generators, waits and errors.

set -euo pipefail

if [[ "${1:-}" == --config ]]; then
  cat <<EOF
configVersion: v1
kubernetes:
- name: namespaces
  apiVersion: v1
  kind: Namespace
  executeHookOnEvent: [Added]
  executeHookOnSynchronization: false
EOF
  exit
fi

namespace=$(jq -r '.[0].object.metadata.name' "$BINDING_CONTEXT_PATH")

kubectl create configmap settings -n "$namespace" --from-literal=a=1 --from-literal=b=2
kubectl create secret generic token -n "$namespace" --from-literal=key=value
kubectl create sa robot -n "$namespace"
kubectl label cm settings -n "$namespace" team=web tier=front
kubectl label cm settings -n "$namespace" tier-
kubectl annotate configmap/settings -n "$namespace" "note=made by a hook"
kubectl patch configmap settings -n "$namespace" --type merge -p '{"data": {"c": "3"}}'
kubectl patch configmap settings -n "$namespace" --type=json -p='[{"op": "remove", "path": "/data/a"}]'

apply() {
  kubectl apply -f - <<EOF
apiVersion: v1
kind: ConfigMap
metadata: {name: applied, namespace: $namespace}
data: $1
EOF
}

apply '{kept: "1", changed: "2", removed: "x"}'
apply '{kept: "1", changed: "3"}'
apply '{kept: "1", changed: "3"}'

echo "keys: $(kubectl get cm settings -n "$namespace" -o json | jq -rc '.data | keys')"
echo "key: $(kubectl get secret token -n "$namespace" -o jsonpath='{.data.key}' | base64 -d)"
echo "names: $(kubectl get cm,sa -n "$namespace" -l team=web -o custom-columns=N:.metadata.name --no-headers | tr -d ' ')"
echo "table: $(kubectl get sa -n "$namespace" --no-headers | awk '$1 == "robot" {print NR ":" $1}')"
kubectl get cm settings -n "$namespace" -o yaml | grep -A1 '^data:'
kubectl get cm settings -n "$namespace" -o go-template='template: {{index .data "b"}}{{"\n"}}'

kubectl delete secret token -n "$namespace"
kubectl delete secret token -n "$namespace" --ignore-not-found
kubectl wait --for=delete secret/token -n "$namespace" --timeout=5s || echo "wait: $?"
kubectl get deploy -n "$namespace" 2>&1 || true
kubectl get nothing 2>&1 || echo "status $?"
kubectl create ns "$namespace" 2>&1 || echo "status $?"
kubectl get pods -A 2>&1 || echo "status $?"
echo done
