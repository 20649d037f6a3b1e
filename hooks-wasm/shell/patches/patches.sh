#!/usr/bin/env bash
# Each operation of the patch file, and metrics, at a schedule.

set -Eeuo pipefail

if [[ "${1:-}" == "--config" ]]; then
  cat <<'EOF'
configVersion: v1
kubernetes:
- name: maps
  apiVersion: v1
  kind: ConfigMap
  labelSelector: {matchLabels: {watched: "yes"}}
  executeHookOnSynchronization: false
  executeHookOnEvent: []
  jqFilter: '.data | length'
schedule:
- name: report
  crontab: "0 3 * * *"
  includeSnapshotsFrom: [maps]
EOF
  exit 0
fi

total=$(jq '[.[0].snapshots.maps[].filterResult] | add // 0' "$BINDING_CONTEXT_PATH")
echo "there are $total keys"

cat > "$KUBERNETES_PATCH_PATH" <<EOF
operation: CreateIfNotExists
object: {apiVersion: v1, kind: ConfigMap, metadata: {namespace: default, name: report}, data: {first: "yes"}}
---
operation: MergePatch
apiVersion: v1
kind: ConfigMap
namespace: default
name: report
mergePatch:
  data: {total: "$total"}
---
operation: JQPatch
kind: ConfigMap
namespace: default
name: report
jqFilter: '.data.twice = (.data.total | tonumber * 2 | tostring)'
---
operation: JSONPatch
kind: configmaps
namespace: default
name: report
jsonPatch:
- {op: add, path: /metadata/labels, value: {made: here}}
---
operation: MergePatch
kind: ConfigMap
namespace: default
name: missing
ignoreMissingObject: true
mergePatch: {data: {a: b}}
---
operation: Delete
kind: ConfigMap
namespace: default
name: old
EOF

jq -nc --argjson total "$total" '{name: "report_keys", set: $total, labels: {kind: "ConfigMap"}}' >> "$METRICS_PATH"
echo '{"name": "report_runs_total", "action": "add", "value": 1, "labels": {}}' >> "$METRICS_PATH"
echo '{"name": "report_seconds", "action": "observe", "value": 0.5, "buckets": [1, 2], "labels": {}}' >> "$METRICS_PATH"
