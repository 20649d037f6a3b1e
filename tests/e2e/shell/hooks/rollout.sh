#!/bin/bash
# Changes a Deployment in each way that kubectl has.

set -o errexit -o nounset -o pipefail

if [[ ${1:-} == --config ]]; then
  printf '%s\n' 'configVersion: v1' 'onStartup: 20'
  exit
fi

k() { kubectl --namespace results "$@"; }

k set image deployment/web main=nginx:1.27 side=busybox:1
k scale deploy web --replicas=2
k scale deploy/web --current-replicas=2 --replicas 0
k label deployment web tier- stage=test
k annotate deployments.apps/web 'note=changed by a hook'
k patch deploy web -p '{"spec": {"template": {"spec": {"containers": [{"name": "main", "env": [{"name": "MODE", "value": "test"}]}]}}}}'
k patch deployment web --type=json -p='[{"op": "replace", "path": "/spec/revisionHistoryLimit", "value": 2}]'
k rollout restart deployment web
if ! k get deploy copy > /dev/null 2>&1; then
  k get deploy web -o json | jq 'del(.metadata.resourceVersion, .metadata.uid, .status) | .metadata.name = "copy"' | k create -f -
fi
# Without the version, a change of the controller between both is no conflict.
k get deploy copy -o yaml | sed -e 's/nginx:1.27/nginx:1.28/' -e '/^  resourceVersion:/d' | k replace -f -
k delete deploy old --wait=false --ignore-not-found --cascade=foreground --grace-period=5
k wait --for=jsonpath='{.spec.replicas}'=0 deploy/web --timeout=20s

# A dry run on the server changes nothing, and a field that it does not know is an error.
k label deploy web never=stored --dry-run=server
if k patch deploy web --type merge -p '{"spec": {"replicas": "many"}}' 2> /tmp/error; then exit 3; fi
grep -q 'Deployment' /tmp/error
if printf '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "dta": {}}' | k create -f - 2> /tmp/error; then exit 4; fi
grep -q 'unknown field "dta"' /tmp/error
k annotate deploy web "kinds=$(kubectl api-resources --api-group=apps --namespaced=true --verbs=list -o name | sort | head -n 2 | paste -sd,)"
