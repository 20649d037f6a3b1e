# Boathook's requests have no fieldValidation, so the API server drops a field that it does not know. kubectl has it refused.
echo '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"frob":1}' | kubectl apply -f -

# Refused: --local works on what only the script has.
kubectl create configmap x --from-literal=a=b -o yaml --dry-run=client | kubectl label -f - --local -o yaml k=v | kubectl apply -f -

# Prints an error and not the help of kubectl.
kubectl create secret

# Prints another error.
kubectl frob

# Refused, because the host finds a kind by its name only.
kubectl api-versions | grep -x -e apps/v1 -e v1 -e batch/v1

kubectl api-resources --verbs=list --api-group=apps -o name

kubectl api-resources --api-group=batch --no-headers

kubectl api-resources --api-group=apps --namespaced=false -o name

kubectl api-resources --api-group=batch

kubectl api-resources --api-group=apps -o name

# Refused, because the API server does not know the grants of a hook.
kubectl auth can-i list pods --as=nobody

kubectl auth can-i

kubectl auth can-i get pods/log

kubectl auth can-i get pods -q

kubectl auth can-i create deployments.apps

kubectl auth can-i get pods

# Refused, because only the API server knows how it merges lists.
kubectl patch cm settings -p '{"data":{"a":"3"}}' --dry-run=client -o yaml

# The host finds a short name in any letter case.
kubectl get CM settings -o name

# Prints the error without the object that it is about.
kubectl get pods -l app=none -o jsonpath='{.items[0].metadata.name}'

# kubectl looks whether the namespace is there. A hook may not read it.
kubectl get cm settings --namespace nowhere-at-all

# Refused: a generator that hooks hardly use.
kubectl create deployment x --image=nginx --dry-run=client -o yaml
