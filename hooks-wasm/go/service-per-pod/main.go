// Gives each Pod of a StatefulSet a Service of its own, if the StatefulSet asks for that with an annotation.
//
// The StatefulSet belongs to somebody else. The hook attaches its Services to it, and sets one label of it.
package main

import (
	"fmt"
	"strconv"

	boathook "github.com/boathook/boathook/sdk/go"
	"github.com/boathook/boathook/sdk/go/kube"
	"github.com/boathook/boathook/sdk/go/reconciling"
)

const (
	// portAnnotation is the port of the Services, and of the Pods.
	portAnnotation = "service-per-pod.boathook.dev/port"
	// servicesLabel is the number of Services, as a label of the StatefulSet.
	servicesLabel = "service-per-pod.boathook.dev/services"
)

// spec is the part of a StatefulSet's `spec` that the hook reads.
type spec struct {
	// Replicas is 1 by default.
	Replicas *int
	Ordinals struct{ Start int }
}

func init() {
	atOnce := 100
	boathook.Configure(boathook.Config{Reconcile: []boathook.Reconcile{{
		Name:        "sets",
		APIVersion:  "apps/v1",
		Kind:        "StatefulSet",
		Decorates:   true,
		Annotations: &boathook.AnnotationSelector{MatchExpressions: []boathook.LabelExpression{{Key: portAnnotation, Operator: "Exists"}}},
		Owns:        []boathook.Owned{{APIVersion: "v1", Kind: "Service"}},
		Prune:       &boathook.Prune{MaxShare: "100%", MaxObjects: &atOnce},
	}}})
	reconciling.Handle("sets", reconcile)
}

func main() {}

func reconcile(set *reconciling.Parent[spec]) (*reconciling.Desired, error) {
	port, err := portOf(set)
	if err != nil {
		return nil, boathook.Permanent(err)
	}
	replicas, first := 1, set.Spec.Ordinals.Start
	if set.Spec.Replicas != nil {
		replicas = *set.Spec.Replicas
	}
	children := make([]any, 0, replicas+1)
	for ordinal := first; ordinal < first+replicas; ordinal++ {
		children = append(children, service(fmt.Sprintf("%s-%d", set.Name, ordinal), port))
	}
	labels := map[string]any{servicesLabel: strconv.Itoa(replicas)}
	counted := kube.Object{
		"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": map[string]any{"name": set.Name, "labels": labels},
	}
	return &reconciling.Desired{Children: append(children, counted), NoneWanted: replicas == 0}, nil
}

func portOf(set *reconciling.Parent[spec]) (uint64, error) {
	var object struct {
		Metadata struct{ Annotations map[string]string }
	}
	if err := set.Object.Into(&object); err != nil {
		return 0, err
	}
	text := object.Metadata.Annotations[portAnnotation]
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 {
		return 0, fmt.Errorf("the annotation %s of %s is %q: write a port", portAnnotation, set.Name, text)
	}
	return port, nil
}

func service(pod string, port uint64) kube.Object {
	return kube.Object{
		"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": pod},
		"spec": map[string]any{
			"selector": map[string]any{"statefulset.kubernetes.io/pod-name": pod},
			"ports":    []any{map[string]any{"port": port, "targetPort": port}},
		},
	}
}
