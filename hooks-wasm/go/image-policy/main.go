// Denies Pods whose images come from elsewhere than the ConfigMap `image-policy` of their namespace allows, or that of the
// namespace `default` where there is none.
package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	boathook "github.com/boathook/boathook/sdk/go"
	"github.com/boathook/boathook/sdk/go/admission"
	"github.com/boathook/boathook/sdk/go/kube"
	"github.com/boathook/boathook/sdk/go/snapshots"
	"github.com/boathook/boathook/sdk/go/validating"
)

const (
	// The name of every policy, a ConfigMap.
	policyName = "image-policy"
	// The namespace whose policy is for all namespaces that have none.
	fallback = "default"
	// On a policy, with `warn`: nothing is denied.
	modeLabel = "image-policy.boathook.dev/mode"
)

func init() {
	boathook.Configure(boathook.Config{
		Kubernetes: []boathook.Kubernetes{{
			Name:              "policies",
			APIVersion:        "v1",
			Kind:              "ConfigMap",
			Names:             &boathook.Names{MatchNames: []string{policyName}},
			OnEvents:          []boathook.Change{},
			OnSynchronization: boathook.Bool(false),
			JQFilter:          fmt.Sprintf("{registries: .data.registries, mode: .metadata.labels[%q]}", modeLabel),
			Content:           boathook.ContentNone,
		}},
		Validating: []boathook.Webhook{{
			Name: "image-policy.boathook.dev",
			Rules: []boathook.Rule{{
				APIGroups:   []string{""},
				APIVersions: []string{"v1"},
				Operations:  []string{"CREATE", "UPDATE"},
				Resources:   []string{"pods", "pods/ephemeralcontainers"},
			}},
			IncludeSnapshotsFrom: []string{"policies"},
			TimeoutSeconds:       5,
		}},
	})
	validating.Handle(validate)
}

func main() {}

type policy struct {
	Registries string
	Mode       string
}

type pod struct {
	Spec struct {
		InitContainers      []container
		Containers          []container
		EphemeralContainers []container
	}
}

type container struct{ Image string }

func validate(review *admission.Review) (admission.Verdict, error) {
	place, policy, err := policyOf(review.Namespace)
	if err != nil || policy == nil {
		return admission.Allow(), err
	}
	images, err := imagesOf(review.Object)
	if err != nil {
		return admission.Verdict{}, err
	}
	// A Pod that is there may be labelled and finish, whatever the policy has become.
	known, err := imagesOf(review.OldObject)
	if err != nil {
		return admission.Verdict{}, err
	}
	var refused []string
	for _, image := range images {
		if !slices.Contains(known, image) && !isAllowed(image, policy.Registries) {
			refused = append(refused, fmt.Sprintf(
				"image %s is not from a place that the ConfigMap %s/%s allows in namespace %s",
				image, place, policyName, review.Namespace))
		}
	}
	switch {
	case len(refused) == 0:
		return admission.Allow(), nil
	case policy.Mode == "warn":
		return admission.Verdict{Warnings: refused}, nil
	default:
		return admission.Deny(strings.Join(refused, "; ")), nil
	}
}

// imagesOf are those of all containers, sorted.
func imagesOf(object kube.JSON) ([]string, error) {
	var pod pod
	if object != "" {
		if err := object.Into(&pod); err != nil {
			return nil, err
		}
	}
	images := map[string]bool{}
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers, pod.Spec.EphemeralContainers) {
		if container.Image != "" {
			images[container.Image] = true
		}
	}
	return slices.Sorted(maps.Keys(images)), nil
}

// policyOf is the namespace's own policy, or the one for all, with where it is from.
func policyOf(namespace string) (string, *policy, error) {
	policies, err := snapshots.Open("policies")
	if err != nil {
		return "", nil, err
	}
	for _, place := range []string{namespace, fallback} {
		if item := policies.Get(place, policyName); item != nil {
			found := &policy{}
			return place, found, item.FilterResult.Into(found)
		}
	}
	return "", nil, nil
}
