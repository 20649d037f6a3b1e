#!/bin/bash
# Ensures at each start of the operator that there is a namespace `shared`.
#
# The hook never changes a namespace that exists.

set -euo pipefail

if [[ ${1:-} == --config ]]; then
  # The number orders the hooks of one operator.
  echo '{configVersion: v1, onStartup: 10}'
  exit
fi

if [[ -n $(kubectl get namespace shared --ignore-not-found -o name) ]]; then
  echo "namespace shared is there"
else
  kubectl create namespace shared
  echo "namespace shared created"
fi
