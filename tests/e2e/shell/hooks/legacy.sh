#!/bin/sh
# A hook of the first shell-operator: without a configVersion, and in the words of sh.

if [ "$1" = "--config" ] ; then
  cat <<END
{"onKubernetesEvent": [
  {"name": "seen", "kind": "serviceaccount", "event": ["add"],
   "selector": {"matchLabels": {"seen": "no"}}, "namespaceSelector": {"matchNames": ["results"]}}
]}
END
  exit 0
fi

for name in `jq -r '.[] | select(.resourceEvent == "add") | .resourceName' $BINDING_CONTEXT_PATH`; do
  namespace=`jq -r --arg name $name '[.[] | select(.resourceName == $name)][0].resourceNamespace' $BINDING_CONTEXT_PATH`
  kubectl -n $namespace label serviceaccount $name seen=yes --overwrite || exit 1
done
