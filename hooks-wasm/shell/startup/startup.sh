#!/bin/bash -e

if [[ $1 == "--config" ]]; then
  echo '{"configVersion": "v1", "onStartup": 10}'
  exit 0
fi

echo "binding: $(jq -r '.[0].binding' "$BINDING_CONTEXT_PATH")"
echo '{"level": "warn", "msg": "a record in JSON", "step": 2}'
echo "to stderr" >&2
printf '%s\n' b a b | sort -u > "$TMPDIR/words"
words=$(paste -sd, "$TMPDIR/words")

cat <<EOF | kubectl apply -f -
apiVersion: v1
kind: ConfigMap
metadata:
  name: started
  labels: {app: startup}
data:
  words: "$words"
EOF
kubectl get configmap started -o jsonpath='{.data.words}{"\n"}'
kubectl get cm started -o name
if ! kubectl get secret missing -o name 2> "$TMPDIR/error"; then
  echo "kubectl says: $(< "$TMPDIR/error")"
fi
