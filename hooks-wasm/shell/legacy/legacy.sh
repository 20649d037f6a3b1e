#!/bin/bash
# A document without configVersion, and the contexts that belong to it.

if [[ $1 == "--config" ]]; then
  cat <<EOF
{
  "onKubernetesEvent": [
    {"name": "maps", "kind": "ConfigMap", "event": ["add", "delete"], "namespaceSelector": {"matchNames": ["default"]}}
  ]
}
EOF
  exit 0
fi
jq -r '.[] | "\(.binding) \(.resourceEvent) \(.resourceNamespace)/\(.resourceKind)/\(.resourceName)"' "$BINDING_CONTEXT_PATH"
