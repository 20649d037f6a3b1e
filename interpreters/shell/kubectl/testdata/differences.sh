# Refused: --local works on what only the script has.
kubectl create configmap x --from-literal=a=b -o yaml --dry-run=client | kubectl label -f - --local -o yaml k=v | kubectl apply -f -

# Prints an error and not the help of kubectl.
kubectl create secret

# Prints another error.
kubectl frob

# Refused, because the host finds a kind by its name only.
kubectl api-versions | grep -x -e apps/v1 -e v1 -e batch/v1

# Refused, because a hook is itself.
kubectl auth can-i list pods --as=nobody

# Refused, because only the API server knows how it merges lists.
kubectl patch cm settings -p '{"data":{"a":"3"}}' --dry-run=client -o yaml

# The host finds a short name in any letter case.
kubectl get CM settings -o name

# Prints the error without the object that it is about.
kubectl get pods -l app=none -o jsonpath='{.items[0].metadata.name}'

# kubectl looks whether the namespace is there. A hook may not read it.
kubectl get cm settings --namespace nowhere-at-all

# Refused: the warnings of the API server do not reach a hook.
printf '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"frob":1}' | kubectl create -f - --validate=warn

# Refused: a hook has objects only.
kubectl auth can-i get /healthz

# Prints another error.
kubectl create frob x

# Refused, because a token is a credential outside of the hook's permissions.
kubectl create token robot

# Refused: revisions are in ReplicaSets.
kubectl rollout history deploy/web

# Refused: kubectl patch does it.
kubectl set selector svc web app=x

# Refused, because it deletes what the command does not name.
kubectl apply -f cm.yaml --prune -l app=web

# Prints the error without the object that it is about.
kubectl get pod lone -o jsonpath='{.spec.containers[5].name}'

# Fields that the API server wrote are in another order.
kubectl create job j --from=cronjob/nightly --dry-run=client -o json
