// Turns a WebApp into a Deployment and a Service, and shows in its status how many replicas are ready.
//
// It writes nothing itself: the operator applies what reconcile returns, repairs it, and deletes it with the WebApp.
package main

import (
	"fmt"

	boathook "github.com/boathook/boathook/sdk/go"
	"github.com/boathook/boathook/sdk/go/crd"
	"github.com/boathook/boathook/sdk/go/kube"
	"github.com/boathook/boathook/sdk/go/reconciling"
)

// spec is the `spec` of a WebApp.
type spec struct {
	Image string `json:"image" minLength:"1"`
	Size  int    `json:"size" minimum:"0" default:"1"`
}

// status has the hook's own fields of the `status`.
type status struct {
	ReadyReplicas int `json:"readyReplicas" minimum:"0"`
}

// The custom resource. After a change of these types, `boathook build --write-crd` writes crd.yaml.
func init() {
	crd.Define(crd.Definition{
		APIVersion: "example.com/v1alpha1", Kind: "WebApp", Spec: spec{}, Status: status{},
		Columns: []crd.Column{
			{Name: "Image", Type: "string", Path: ".spec.image"},
			{Name: "Size", Type: "integer", Path: ".spec.size"},
			{Name: "Ready", Type: "string", Path: `.status.conditions[?(@.type=="Ready")].status`},
		},
	})
}

// The kind of the custom resource, and the kinds that reconcile may return.
func init() {
	boathook.Configure(boathook.Config{Reconcile: []boathook.Reconcile{{
		Name:       "apps",
		APIVersion: "example.com/v1alpha1",
		Kind:       "WebApp",
		Owns:       []boathook.Owned{{APIVersion: "apps/v1", Kind: "Deployment"}, {APIVersion: "v1", Kind: "Service"}},
	}}})
	reconciling.Handle("apps", reconcile)
}

// Runs when a WebApp or one of its children changes. It returns all children, each with the fields that it decides.
func reconcile(app *reconciling.Parent[spec]) (*reconciling.Desired, error) {
	labels := map[string]any{"app.kubernetes.io/name": app.Name}
	metadata := map[string]any{"name": app.Name, "labels": labels}
	web := map[string]any{"name": "web", "image": app.Spec.Image, "ports": []any{map[string]any{"containerPort": 8080}}}
	deployment := kube.Object{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
		"spec": map[string]any{
			"replicas": app.Spec.Size,
			"selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec":     map[string]any{"containers": []any{web}},
			},
		},
	}
	service := kube.Object{
		"apiVersion": "v1", "kind": "Service", "metadata": metadata,
		"spec": map[string]any{"selector": labels, "ports": []any{map[string]any{"port": 80, "targetPort": 8080}}},
	}
	// The Deployment as the cluster has it. It stays empty if there is none yet.
	var found struct{ Status struct{ ReadyReplicas int } }
	if _, err := app.Find(kube.Ref{APIVersion: "apps/v1", Kind: "Deployment", Name: app.Name}, &found); err != nil {
		return nil, err
	}
	ready, size := found.Status.ReadyReplicas, app.Spec.Size
	return &reconciling.Desired{
		Children: []any{deployment, service},
		Status:   status{ready},
		Conditions: []reconciling.Condition{{
			Type:    "Ready",
			Status:  reconciling.Holds(ready == size),
			Reason:  "Replicas",
			Message: fmt.Sprintf("%d of %d replicas are ready", ready, size),
		}},
	}, nil
}

// Nobody calls it: a component has no main.
func main() {}
