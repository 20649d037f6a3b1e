// Gives Pods what they do not say themselves: labels of their namespace, requests, a security context. It never overrides
// what a Pod says, and never denies one.
package main

import (
	boathook "github.com/boathook/boathook/sdk/go"
	"github.com/boathook/boathook/sdk/go/admission"
	"github.com/boathook/boathook/sdk/go/mutating"
	"github.com/boathook/boathook/sdk/go/snapshots"
)

// On a Pod or its namespace, with `true`: it stays as it is.
const skipLabel = "pod-defaults.boathook.dev/skip"

// Labels of a namespace that its Pods inherit.
var inherited = []string{"team", "cost-center"}

func init() {
	boathook.Configure(boathook.Config{
		Kubernetes: []boathook.Kubernetes{{
			Name:              "namespaces",
			APIVersion:        "v1",
			Kind:              "Namespace",
			OnEvents:          []boathook.Change{},
			OnSynchronization: boathook.Bool(false),
			JQFilter:          "{labels: .metadata.labels}",
			Content:           boathook.ContentNone,
		}},
		Mutating: []boathook.Webhook{{
			Name: "pod-defaults.boathook.dev",
			Rules: []boathook.Rule{{
				APIGroups:   []string{""},
				APIVersions: []string{"v1"},
				Operations:  []string{"CREATE"},
				Resources:   []string{"pods"},
			}},
			IncludeSnapshotsFrom: []string{"namespaces"},
			// Containers that another webhook adds later get their defaults, too.
			ReinvocationPolicy: "IfNeeded",
			TimeoutSeconds:     5,
		}},
	})
	mutating.Handle(mutate)
}

func main() {}

func mutate(review *admission.Review) (mutating.Mutation, error) {
	namespaces, err := snapshots.Open("namespaces")
	if err != nil {
		return mutating.Mutation{}, err
	}
	var namespace struct{ Labels map[string]string }
	if item := namespaces.Get("", review.Namespace); item != nil {
		if err := item.FilterResult.Into(&namespace); err != nil {
			return mutating.Mutation{}, err
		}
	}
	pod, err := review.Object.Object()
	if err != nil {
		return mutating.Mutation{}, err
	}
	if pod.Label(skipLabel) == "true" || namespace.Labels[skipLabel] == "true" {
		return mutating.Unchanged(), nil
	}
	labels := map[string]string{}
	for _, key := range inherited {
		if value, found := namespace.Labels[key]; found {
			labels[key] = value
		}
	}
	fill(pod, labels)
	return mutating.Object(pod), nil
}
