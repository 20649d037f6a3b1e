#!/usr/bin/env bash
# Each operation of the patch file, and each answer that a failed one gives.

if [[ $1 == "--config" ]]; then
  cat <<END
configVersion: v1
kubernetes:
- name: inputs
  apiVersion: v1
  kind: ConfigMap
  executeHookOnEvent: ["Added", "Modified", "Deleted"]
  namespace:
    nameSelector:
      matchNames: ["results"]
  labelSelector:
    matchLabels:
      input: "yes"
  jqFilter: ".data.value"
  includeSnapshotsFrom: ["inputs"]
END
  exit 0
fi

values=$(jq -r '[.[-1].snapshots.inputs[].filterResult] | sort | join(" ")' "$BINDING_CONTEXT_PATH")
events=$(jq -r '[.[] | if .type == "Synchronization" then "sync" else .watchEvent end] | join(",")' "$BINDING_CONTEXT_PATH")
echo "{\"msg\": \"$events\", \"level\": \"info\"}"

cat > "$KUBERNETES_PATCH_PATH" <<END
operation: CreateOrUpdate
object:
  apiVersion: v1
  kind: ConfigMap
  metadata: {name: operations, namespace: results}
  data: {values: "$values", gone: "yes"}
---
operation: MergePatch
kind: ConfigMap
namespace: results
name: operations
mergePatch: {data: {gone: null, merged: "yes"}}
---
operation: JSONPatch
apiVersion: v1
kind: ConfigMap
namespace: results
name: operations
jsonPatch:
- {op: add, path: /metadata/labels, value: {made-by: operations}}
- {op: test, path: /data/merged, value: "yes"}
---
operation: JQPatch
kind: ConfigMap
namespace: results
name: operations
jqFilter: '.data.count = (.data.values | split(" ") | length | tostring)'
---
operation: CreateIfNotExists
object: '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "operations", "namespace": "results"}}'
---
operation: DeleteInBackground
kind: ConfigMap
namespace: results
name: leftover
---
operation: MergePatch
kind: ConfigMap
namespace: results
name: nowhere
ignoreMissingObject: true
mergePatch: {data: {a: b}}
END
jq -nc --arg values "$values" '{name: "corpus_inputs", action: "set", value: ($values | split(" ") | length), labels: {kind: "input"}}' >> "$METRICS_PATH"
