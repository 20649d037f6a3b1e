#!/usr/bin/env bash

if [[ $1 == "--config" ]] ; then
  cat <<EOF
configVersion: v1
kubernetes:
- apiVersion: v1
  kind: Pod
  executeHookOnEvent: ["Added", "Deleted"]
EOF
else
  count=$(jq length "$BINDING_CONTEXT_PATH")
  for ((i = 0; i < count; i++)); do
    type=$(jq -r ".[$i].type" "$BINDING_CONTEXT_PATH")
    if [[ $type == "Synchronization" ]] ; then
      echo "there are $(jq ".[$i].objects | length" "$BINDING_CONTEXT_PATH") Pods"
      continue
    fi
    event=$(jq -r ".[$i].watchEvent" "$BINDING_CONTEXT_PATH")
    name=$(jq -r ".[$i].object.metadata.name" "$BINDING_CONTEXT_PATH")
    echo "Pod '${name}' ${event,,}"
  done
fi
