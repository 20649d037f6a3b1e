# Takes everything out of the cluster that a test put there.
kubectl config set-context --current --namespace=default >/dev/null
kubectl uncordon node-1 >/dev/null
kubectl -n boathook delete deployment --all --ignore-not-found --wait=true --timeout=90s >/dev/null
kubectl delete daemonset --all -n boathook-nodes --ignore-not-found --wait=true --timeout=90s >/dev/null
kubectl delete validatingwebhookconfigurations,mutatingwebhookconfigurations --all >/dev/null
if kubectl get crd hookbundles.boathook.dev >/dev/null 2>&1; then
	kubectl get hookbundles -A --no-headers -o custom-columns=N:.metadata.namespace,M:.metadata.name | while read -r namespace name; do
		# An operator that is ending may have removed it in the meantime.
		kubectl -n "$namespace" patch hookbundle "$name" --type=merge -p '{"metadata":{"finalizers":null}}' >/dev/null ||
			! kubectl -n "$namespace" get hookbundle "$name" >/dev/null 2>&1
	done
fi
kubectl delete crd --all >/dev/null
kubectl delete clusterroles,clusterrolebindings -l app.kubernetes.io/name=boathook >/dev/null
for kind in clusterroles clusterrolebindings; do
	kubectl get $kind -o name | grep -E '/(boathook|other)' | xargs -r kubectl delete >/dev/null
done
kubectl delete pv --all --wait=false >/dev/null
kubectl get namespaces -o name | grep -vE '/(default|kube-.*)$' | xargs -r kubectl delete --wait=true --timeout=90s >/dev/null
kubectl -n default delete pods,deployments,serviceaccounts,secrets,configmaps --all --grace-period=0 --force >/dev/null 2>&1
