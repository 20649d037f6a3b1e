#!/bin/bash
# Sets up each namespace of a tenant with what `kubectl create` generates, and with manifests.

set -euo pipefail

if [[ "${1:-}" == "--config" ]]; then
  cat <<'END'
configVersion: v1
kubernetes:
- name: tenants
  apiVersion: v1
  kind: Namespace
  executeHookOnEvent: [Added]
  labelSelector:
    matchLabels: {tenant: "yes"}
END
  exit 0
fi

setup() {
  local namespace=$1
  kubectl create serviceaccount robot -n "$namespace" --dry-run=client -o yaml | kubectl apply -f -
  kubectl create role reader -n "$namespace" --verb=get,list --resource=configmaps --dry-run=client -o yaml | kubectl apply -f -
  kubectl create rolebinding robot-reads -n "$namespace" --role=reader --serviceaccount="$namespace:robot" --dry-run=client -o yaml |
    kubectl apply -f -
  kubectl create secret generic login -n "$namespace" --from-literal=user=robot --from-file=motd=/dev/stdin <<< "welcome" ||
    [[ "$(kubectl get secret login -n "$namespace" -o name)" == secret/login ]]
  kubectl apply -f - <<END
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  namespace: $namespace
  labels: {tenant: "$namespace"}
data:
  hosts: |
    one.$namespace.example.com
    two.$namespace.example.com
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: closed, namespace: $namespace}
spec:
  podSelector: {}
  policyTypes: [Ingress]
END
  if kubectl auth can-i get secrets -n "$namespace" -q && ! kubectl auth can-i delete secrets -n "$namespace" -q; then
    kubectl annotate cm settings -n "$namespace" --overwrite checked=yes
  fi
  kubectl get role,rolebinding,sa -n "$namespace" -o name | sort > "/tmp/$namespace"
  kubectl annotate namespace "$namespace" --overwrite "made=$(grep -vc default "/tmp/$namespace")"
}

index=0
while (( index < $(jq length "$BINDING_CONTEXT_PATH") )); do
  context=$(jq -c ".[$index]" "$BINDING_CONTEXT_PATH")
  case "$(jq -r .type <<< "$context")" in
    Synchronization) names=$(jq -r '.objects[].object.metadata.name' <<< "$context") ;;
    Event) names=$(jq -r '.object.metadata.name' <<< "$context") ;;
  esac
  for name in $names; do
    setup "$name"
  done
  index=$((index + 1))
done
