// Taints nodes by their labels: `taint.boathook.dev/NAME: EFFECT` gives a taint with that key and effect, which leaves when
// the label does. It never touches a taint with another key.
package main

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	boathook "github.com/boathook/boathook/sdk/go"
	"github.com/boathook/boathook/sdk/go/kube"
	"github.com/boathook/boathook/sdk/go/snapshots"
)

// Writes of one node before a conflict becomes a failure of the run.
const tries = 5

func init() {
	boathook.Configure(boathook.Config{
		Kubernetes: []boathook.Kubernetes{{
			Name:       "nodes",
			APIVersion: "v1",
			Kind:       "Node",
			OnEvents:   []boathook.Change{boathook.Added, boathook.Modified},
			JQFilter:   "{labels: .metadata.labels, taints: .spec.taints}",
			Content:    boathook.ContentNone,
		}},
		Permissions: boathook.Permit(boathook.Permission{
			Resources: []string{"nodes"},
			Verbs:     []string{"get", "patch"},
		}),
	})
	boathook.Run(run)
}

func main() {}

func run(ctx *boathook.Context) error {
	nodes, err := snapshots.Open("nodes")
	if err != nil {
		return err
	}
	var failures []error
	for _, name := range names(ctx, nodes) {
		item := nodes.Get("", name)
		if item == nil {
			// The node is gone by now: nothing to do.
			continue
		}
		var node node
		if err := item.FilterResult.Into(&node); err != nil {
			return err
		}
		for _, key := range node.invalid() {
			slog.Warn(fmt.Sprintf("node %s: label %s=%s names no taint effect, ignored", name, key, node.Labels[key]))
		}
		if err := mend(name, node, item.ResourceVersion); err != nil {
			failures = append(failures, fmt.Errorf("node %s: %w", name, err))
		}
	}
	return errors.Join(failures...)
}

// names are the nodes to look at: all of them at the start, then those that changed.
func names(ctx *boathook.Context, nodes *snapshots.Snapshot) []string {
	names := map[string]bool{}
	if ctx.Synchronized("nodes") {
		for node := range nodes.Items() {
			names[node.Name] = true
		}
	}
	for event := range ctx.Events("nodes") {
		names[event.Target.Name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// Writes the taints that a node should have. Others also write to the list, so the hook only replaces the version that
// it made its list from. After a conflict it makes the list again.
func mend(name string, seen node, version string) error {
	target := kube.Ref{APIVersion: "v1", Kind: "Node", Name: name}
	for range tries {
		taints, change := seen.wanted()
		if !change {
			return nil
		}
		patch := map[string]any{
			"metadata": map[string]any{"resourceVersion": version},
			"spec":     map[string]any{"taints": taints},
		}
		err := kube.NewPatch(target, patch).IgnoreMissing().Run()
		if err == nil {
			slog.Info(fmt.Sprintf("node %s: taints are now %v", name, taints))
		}
		if !kube.IsConflict(err) {
			return err
		}
		var fresh wholeNode
		if found, err := kube.Find(target, &fresh); !found {
			return err
		}
		seen, version = node{fresh.Metadata.Labels, fresh.Spec.Taints}, fresh.Metadata.ResourceVersion
	}
	return fmt.Errorf("others changed it %d times meanwhile", tries)
}
