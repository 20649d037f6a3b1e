// Copies the Secret `default/registry-credentials` into every namespace, and keeps the copies as the source is. It never
// touches a Secret that is not labelled as its copy, and puts nothing on a copy but that label.
package main

import (
	"fmt"
	"maps"
	"slices"
	"time"

	boathook "github.com/boathook/boathook/sdk/go"
)

const (
	// Name of the source and of every copy.
	secretName = "registry-credentials"
	// Namespace of the source.
	sourceNamespace = "default"
	// Marks a Secret as a copy.
	copyLabel = "registry-secret.boathook.dev/copy"
	// On a namespace, with `true`: no copy here.
	skipLabel = "registry-secret.boathook.dev/skip"
)

func init() {
	ours := &boathook.Names{MatchNames: []string{secretName}}
	boathook.Configure(boathook.Config{
		Kubernetes: []boathook.Kubernetes{
			{
				Name:                 "namespaces",
				APIVersion:           "v1",
				Kind:                 "Namespace",
				OnEvents:             []boathook.Change{boathook.Added, boathook.Modified},
				JQFilter:             fmt.Sprintf("{skip: .metadata.labels[%q], phase: .status.phase}", skipLabel),
				Content:              boathook.ContentNone,
				IncludeSnapshotsFrom: []string{"source", "copies"},
			},
			// Only `namespaces` runs at the start: that run looks at everything.
			{
				Name:                 "source",
				APIVersion:           "v1",
				Kind:                 "Secret",
				Namespace:            &boathook.Namespaces{Names: &boathook.Names{MatchNames: []string{sourceNamespace}}},
				Names:                ours,
				OnSynchronization:    boathook.Bool(false),
				JQFilter:             "{type: .type, data: .data}",
				Content:              boathook.ContentNone,
				IncludeSnapshotsFrom: []string{"namespaces", "copies"},
			},
			{
				Name:                 "copies",
				APIVersion:           "v1",
				Kind:                 "Secret",
				Names:                ours,
				Labels:               &boathook.Selector{MatchLabels: map[string]string{copyLabel: "true"}},
				OnSynchronization:    boathook.Bool(false),
				JQFilter:             "{type: .type, data: .data, immutable: .immutable}",
				Content:              boathook.ContentNone,
				IncludeSnapshotsFrom: []string{"namespaces", "source"},
			},
			// What stands in the way of a copy: when it goes, the copy can come.
			{
				Name:       "others",
				APIVersion: "v1",
				Kind:       "Secret",
				Names:      ours,
				Labels: &boathook.Selector{MatchExpressions: []boathook.LabelExpression{
					{Key: copyLabel, Operator: "NotIn", Values: []string{"true"}},
				}},
				OnSynchronization:    boathook.Bool(false),
				OnEvents:             []boathook.Change{boathook.Deleted},
				JQFilter:             ".metadata.name",
				Content:              boathook.ContentNone,
				IncludeSnapshotsFrom: []string{"namespaces", "source", "copies"},
			},
		},
		Permissions: boathook.Permit(boathook.Permission{
			Resources: []string{"secrets"},
			Verbs:     []string{"get", "create", "patch", "delete"},
			Names:     []string{secretName},
		}),
		// Room for a 10 kB Secret in 5 000 namespaces.
		Limits: boathook.Limits{Time: boathook.Duration(time.Minute), HostCalls: 20_000, HostBytes: "256Mi"},
	})
	boathook.Run(run)
}

func main() {}

func run(ctx *boathook.Context) error {
	cluster, err := openCluster()
	if err != nil {
		return err
	}
	writer := newWriter(cluster.source)
	switch {
	case cluster.source == nil:
		gone, err := cluster.sourceIsGone()
		if err != nil {
			return err
		}
		if gone {
			for copy := range cluster.copies.Items() {
				writer.remove(copy)
			}
		}
	case ctx.Synchronized("namespaces") || ctx.Has("source"):
		for namespace := range cluster.namespaces.Items() {
			if err := cluster.mend(namespace, writer); err != nil {
				return err
			}
		}
	default:
		for _, name := range touched(ctx) {
			if namespace := cluster.namespaces.Get("", name); namespace != nil {
				if err := cluster.mend(namespace, writer); err != nil {
					return err
				}
			}
		}
	}
	return writer.finish()
}

// touched are the namespaces that the events are about.
func touched(ctx *boathook.Context) []string {
	names := map[string]bool{}
	for event := range ctx.Events("namespaces") {
		names[event.Target.Name] = true
	}
	for _, binding := range []string{"copies", "others"} {
		for event := range ctx.Events(binding) {
			names[event.Target.Namespace] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
