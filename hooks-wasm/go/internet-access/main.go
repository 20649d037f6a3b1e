// Lays down the NetworkPolicy `allow-internet` in a namespace exactly while the namespace carries the label
// `internet-access.boathook.dev/allow: "true"`. It never touches a NetworkPolicy that is not labelled as its own.
package main

import (
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"

	boathook "github.com/boathook/boathook/sdk/go"
	"github.com/boathook/boathook/sdk/go/kube"
	"github.com/boathook/boathook/sdk/go/snapshots"
)

const (
	// On a namespace, with `true`: its Pods may reach the internet.
	allowLabel = "internet-access.boathook.dev/allow"
	// Writes in one call to the host.
	batch = 250
)

func init() {
	boathook.Configure(boathook.Config{
		Kubernetes: []boathook.Kubernetes{
			{
				Name:                 "namespaces",
				APIVersion:           "v1",
				Kind:                 "Namespace",
				Labels:               &boathook.Selector{MatchLabels: map[string]string{allowLabel: "true"}},
				JQFilter:             ".status.phase",
				Content:              boathook.ContentNone,
				IncludeSnapshotsFrom: []string{"policies"},
			},
			// Only `namespaces` runs at the start: that run looks at everything.
			{
				Name:                 "policies",
				APIVersion:           "networking.k8s.io/v1",
				Kind:                 "NetworkPolicy",
				Names:                &boathook.Names{MatchNames: []string{policyName}},
				Labels:               &boathook.Selector{MatchLabels: map[string]string{managedLabel: "true"}},
				OnSynchronization:    boathook.Bool(false),
				JQFilter:             ".spec",
				Content:              boathook.ContentNone,
				IncludeSnapshotsFrom: []string{"namespaces"},
			},
		},
		Permissions: boathook.Permit(boathook.Permission{
			APIGroups: []string{"networking.k8s.io"},
			Resources: []string{"networkpolicies"},
			Verbs:     []string{"get", "create", "update", "delete"},
			Names:     []string{policyName},
		}),
	})
	boathook.Run(run)
}

func main() {}

// cluster is what the hook sees of it, at one moment.
type cluster struct {
	// The namespaces that may reach the internet.
	namespaces *snapshots.Snapshot
	// The policies that are ours.
	policies *snapshots.Snapshot
}

func run(ctx *boathook.Context) error {
	namespaces, err := snapshots.Open("namespaces")
	if err != nil {
		return err
	}
	policies, err := snapshots.Open("policies")
	if err != nil {
		return err
	}
	cluster := cluster{namespaces, policies}
	var operations []*kube.Operation
	var names []string
	for _, name := range cluster.touched(ctx) {
		operation, err := cluster.mend(name)
		if err != nil {
			return err
		}
		if operation != nil {
			operations, names = append(operations, operation), append(names, name)
		}
	}
	return write(names, operations)
}

// touched are the namespaces that the run is about: at the start every one that has a policy or should have one.
func (c cluster) touched(ctx *boathook.Context) []string {
	names := map[string]bool{}
	if ctx.Synchronized("namespaces") {
		for namespace := range c.namespaces.Items() {
			names[namespace.Name] = true
		}
		for policy := range c.policies.Items() {
			names[policy.Namespace] = true
		}
	}
	for event := range ctx.Events("namespaces") {
		names[event.Target.Name] = true
	}
	for event := range ctx.Events("policies") {
		names[event.Target.Namespace] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// The write that a namespace needs, or nil.
func (c cluster) mend(name string) (*kube.Operation, error) {
	policy := c.policies.Get(name, policyName)
	namespace := c.namespaces.Get("", name)
	if namespace == nil {
		if policy == nil {
			return nil, nil
		}
		return kube.NewDelete(reference(name)).IgnoreMissing().UID(policy.UID), nil
	}
	var phase string
	if err := namespace.FilterResult.Into(&phase); err != nil {
		return nil, err
	}
	switch {
	case phase == "Terminating":
		// Nothing can be created there, and what is there goes by itself.
		return nil, nil
	case policy == nil:
		// A creation, no apply: it cannot take over a policy that somebody else put there.
		return kube.NewCreate(object(name, "")), nil
	}
	var seen any
	if err := policy.FilterResult.Into(&seen); err != nil {
		return nil, err
	}
	if reflect.DeepEqual(seen, any(spec())) {
		return nil, nil
	}
	return kube.NewUpdate(object(name, policy.ResourceVersion)), nil
}

func write(names []string, operations []*kube.Operation) error {
	var failure error
	for len(operations) > 0 {
		count := min(batch, len(operations))
		for i, result := range kube.Batch(operations[:count]...) {
			if result.Err != nil && failure == nil {
				failure = judge(names[i], result.Err)
			}
		}
		names, operations = names[count:], operations[count:]
	}
	return failure
}

// judge says what of a failed write is a failure of the run.
func judge(namespace string, err error) error {
	// The namespace goes or is gone: nothing is missing there.
	if kube.IsNotFound(err) || kube.IsNamespaceTerminating(err) {
		return nil
	}
	if !kube.IsAlreadyExists(err) {
		return err
	}
	// If it is ours, the snapshot was a moment behind, and its event will bring us here again.
	var found kube.Object
	exists, err := kube.Find(reference(namespace), &found)
	if exists && found.Label(managedLabel) != "true" {
		slog.Warn(fmt.Sprintf("NetworkPolicy %s/%s is not managed by this hook: left alone", namespace, policyName))
	}
	return err
}
