package main

import "github.com/boathook/boathook/sdk/go/kube"

const (
	// Name of the policy in every namespace.
	policyName = "allow-internet"
	// Marks it as laid down by this hook.
	managedLabel = "internet-access.boathook.dev/managed"
)

// reference is the policy in a namespace.
func reference(namespace string) kube.Ref {
	return kube.Ref{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy", Namespace: namespace, Name: policyName}
}

// spec is all of the internet, and no private network; as encoding/json reads it.
func spec() map[string]any {
	block := map[string]any{
		"cidr":   "0.0.0.0/0",
		"except": []any{"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"},
	}
	return map[string]any{
		"podSelector": map[string]any{},
		"policyTypes": []any{"Egress"},
		"egress":      []any{map[string]any{"to": []any{map[string]any{"ipBlock": block}}}},
	}
}

// object is the whole policy; to replace only the version that was seen, with its resource version.
func object(namespace, resourceVersion string) kube.Object {
	metadata := map[string]any{
		"name":      policyName,
		"namespace": namespace,
		"labels":    map[string]any{managedLabel: "true"},
	}
	if resourceVersion != "" {
		metadata["resourceVersion"] = resourceVersion
	}
	return kube.Object{
		"apiVersion": "networking.k8s.io/v1",
		"kind":       "NetworkPolicy",
		"metadata":   metadata,
		"spec":       spec(),
	}
}
