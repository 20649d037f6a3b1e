// Every namespace with the label `team` has a ConfigMap `team`, from which the programs in it learn
// whose they are.
//
// It never touches an object with another name. A label that goes while the operator is down is not
// noticed: nothing remembers it.
package main

import (
	"fmt"
	"log/slog"

	boathook "github.com/boathook/boathook/sdk/go"
	"github.com/boathook/boathook/sdk/go/kube"
	"github.com/boathook/boathook/sdk/go/snapshots"
)

// The label, and the name of the ConfigMap.
const team = "team"

// What wakes the hook, and what it may do.
func init() {
	boathook.Configure(boathook.Config{
		Kubernetes: []boathook.Kubernetes{{
			Name:       "namespaces",
			APIVersion: "v1",
			Kind:       "Namespace",
			Labels:     &boathook.Selector{MatchExpressions: []boathook.LabelExpression{{Key: team, Operator: "Exists"}}},
			// Run when this changes, and at no other change of a namespace.
			JQFilter: ".metadata.labels.team",
			Content:  boathook.ContentNone,
		}},
		Permissions: boathook.Permit(boathook.Permission{
			Resources: []string{"configmaps"},
			Verbs:     []string{"create", "patch", "delete"},
			Names:     []string{team},
		}),
	})
	boathook.Run(run)
}

// Looks at each namespace that this run is about, and makes its ConfigMap as it should be.
func run(ctx *boathook.Context) error {
	namespaces, err := snapshots.Open("namespaces")
	if err != nil {
		return err
	}
	if ctx.Synchronized("namespaces") {
		for namespace := range namespaces.Items() {
			if err := mend(namespace.Name, namespace); err != nil {
				return err
			}
		}
	}
	for event := range ctx.Events("namespaces") {
		// nil when it is gone, or its label is.
		if err := mend(event.Target.Name, namespaces.Get("", event.Target.Name)); err != nil {
			return err
		}
	}
	return nil
}

func mend(name string, namespace *snapshots.Item) error {
	var err error
	if namespace == nil {
		err = kube.Delete(kube.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: name, Name: team})
	} else {
		var owner string
		if err := namespace.FilterResult.Into(&owner); err != nil {
			return err
		}
		err = kube.Apply(configMap(name, owner))
	}
	// It goes away, and everything in it.
	if kube.IsNotFound(err) || kube.IsNamespaceTerminating(err) {
		return nil
	}
	if err != nil {
		// The run fails, and is repeated after a while.
		return fmt.Errorf("namespace %s: %w", name, err)
	}
	slog.Info("done", "namespace", name)
	return nil
}

func configMap(namespace, owner string) kube.Object {
	return kube.Object{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata":   map[string]any{"namespace": namespace, "name": team},
		"data":       map[string]any{"team": owner},
	}
}

// Nobody calls it: a component has no main.
func main() {}
