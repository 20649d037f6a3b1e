// Turns a HelloApp into a Deployment and a Service, and shows in its status how many replicas are ready. It never calls the
// API server: the operator applies what `reconcile` returns, repairs it, and deletes it with the HelloApp.
//
// The types make the definition of HelloApp, crd.yaml. The hook in Rust has an example, example.yaml. `boathook build hello-app`
// builds this hook, and `boathook dev hello-app` runs it on a local cluster, where `kubectl apply` creates both.
package main

import (
	boathook "github.com/boathook/boathook/sdk/go"
	"github.com/boathook/boathook/sdk/go/crd"
	"github.com/boathook/boathook/sdk/go/reconciling"
)

// spec is the `spec` of a HelloApp.
type spec struct {
	Image string `json:"image" minLength:"1"`
	Size  int    `json:"size" minimum:"0" default:"1"`
}

type status struct {
	ReadyReplicas int `json:"readyReplicas" minimum:"0"`
}

func init() {
	crd.Define(crd.Definition{
		APIVersion: "example.com/v1alpha1", Kind: "HelloApp", Spec: spec{}, Status: status{},
		Columns: []crd.Column{
			{Name: "Image", Type: "string", Path: ".spec.image"},
			{Name: "Size", Type: "integer", Path: ".spec.size"},
			{Name: "Ready", Type: "string", Path: `.status.conditions[?(@.type=="Ready")].status`},
		},
	})
	boathook.Configure(boathook.Config{Reconcile: []boathook.Reconcile{{
		Name:       "hello",
		APIVersion: "example.com/v1alpha1",
		Kind:       "HelloApp",
		Owns:       []boathook.Owned{{APIVersion: "apps/v1", Kind: "Deployment"}, {APIVersion: "v1", Kind: "Service"}},
	}}})
	reconciling.Handle("hello", reconcile)
}

func main() {}

type fields = map[string]any

func reconcile(app *reconciling.Parent[spec]) (*reconciling.Desired, error) {
	labels, size := app.Labels(), app.Spec.Size
	web := fields{"name": "web", "image": app.Spec.Image, "ports": []any{fields{"containerPort": 8080}}}
	template := fields{"metadata": fields{"labels": labels}, "spec": fields{"containers": []any{web}}}
	pods := fields{"replicas": size, "selector": fields{"matchLabels": labels}, "template": template}
	port := fields{"selector": labels, "ports": []any{fields{"port": 80, "targetPort": 8080}}}
	var ready int
	err := app.ChildStatus("Deployment", app.Name, "readyReplicas", &ready)
	return &reconciling.Desired{
		Children:   []any{app.NewChild("apps/v1", "Deployment", pods), app.NewChild("v1", "Service", port)},
		Status:     status{ready},
		Conditions: []reconciling.Condition{reconciling.Ready(ready, size, "replicas")},
	}, err
}
