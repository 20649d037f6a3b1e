// Makes sure, whenever the operator starts, that there is a namespace `shared`.
//
// It never alters one that is there.
package main

import (
	"log/slog"

	boathook "github.com/boathook/boathook/sdk/go"
	"github.com/boathook/boathook/sdk/go/kube"
)

// What wakes the hook, and what it may do. The number orders the hooks of one operator.
func init() {
	boathook.Configure(boathook.Config{
		OnStartup: boathook.Order(10),
		Permissions: boathook.Permit(boathook.Permission{
			Resources: []string{"namespaces"},
			Verbs:     []string{"create"},
		}),
	})
	boathook.Run(run)
}

func run(*boathook.Context) error {
	namespace := kube.Object{
		"apiVersion": "v1",
		"kind":       "Namespace",
		"metadata":   map[string]any{"name": "shared"},
	}
	result := kube.NewCreate(namespace).Keep().Do()
	if result.Err != nil {
		return result.Err
	}
	if result.Object == "" {
		slog.Info("namespace shared is there")
	} else {
		slog.Info("namespace shared created")
	}
	return nil
}

// Nobody calls it: a component has no main.
func main() {}
