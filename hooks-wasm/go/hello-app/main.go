// Turns a HelloApp into a Deployment and a Service, and shows in its status how many replicas are ready. It never calls the
// API server: the operator applies what `reconcile` returns, repairs it, and deletes it with the HelloApp.
//
// The hook in Rust has the definition of HelloApp, crd.yaml, and an example, example.yaml. `boathook build hello-app` builds
// this hook, and `boathook dev hello-app` runs it on a local cluster, where `kubectl apply` creates both.
package main

import (
	"fmt"

	boathook "github.com/boathook/boathook/sdk/go"
	"github.com/boathook/boathook/sdk/go/kube"
	"github.com/boathook/boathook/sdk/go/reconciling"
)

// spec is the `spec` of a HelloApp.
type spec struct {
	Image string
	Size  int
}

func init() {
	boathook.Configure(boathook.Config{Reconcile: []boathook.Reconcile{{
		Name:       "hello",
		APIVersion: "example.com/v1alpha1",
		Kind:       "HelloApp",
		Owns:       []boathook.Owned{{APIVersion: "apps/v1", Kind: "Deployment"}, {APIVersion: "v1", Kind: "Service"}},
	}}})
	reconciling.Handle("hello", reconcile)
}

func main() {}

func reconcile(app *reconciling.Parent[spec]) (*reconciling.Desired, error) {
	var deployment struct{ Status struct{ ReadyReplicas int } }
	if _, err := app.Find(kube.Ref{APIVersion: "apps/v1", Kind: "Deployment", Name: app.Name}, &deployment); err != nil {
		return nil, err
	}
	ready, size := deployment.Status.ReadyReplicas, app.Spec.Size
	message := fmt.Sprintf("%d of %d replicas are ready", ready, size)
	return &reconciling.Desired{
		Children: []any{deploymentOf(app.Name, app.Spec), serviceOf(app.Name)},
		Status:   map[string]any{"readyReplicas": ready},
		Conditions: []reconciling.Condition{
			{Type: "Ready", Status: reconciling.Holds(ready == size), Reason: "Replicas", Message: message},
		},
	}, nil
}
