//go:build !wasip1

package main

import (
	"testing"

	"github.com/boathook/boathook/sdk/go/boathooktest"
	"github.com/boathook/boathook/sdk/go/kube"
	"github.com/boathook/boathook/sdk/go/reconciling"
)

func TestAnAppIsReadyWithAllItsReplicas(t *testing.T) {
	deployment := kube.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}
	for name, test := range map[string]struct {
		children []reconciling.Child
		ready    reconciling.Status
		message  string
	}{
		"nothing exists": {nil, reconciling.False, "0 of 2 replicas are ready"},
		"one is ready": {
			[]reconciling.Child{{Ref: deployment, Object: `{"status":{"readyReplicas":1}}`}}, reconciling.False, "1 of 2 replicas are ready",
		},
		"all are ready": {
			[]reconciling.Child{{Ref: deployment, Object: `{"status":{"readyReplicas":2}}`}}, reconciling.True, "2 of 2 replicas are ready",
		},
	} {
		desired, err := reconcile(&reconciling.Parent[spec]{
			Ref:      kube.Ref{APIVersion: "example.com/v1alpha1", Kind: "HelloApp", Namespace: "shop", Name: "web"},
			Spec:     spec{Image: "web:1", Size: 2},
			Children: test.children,
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		condition := desired.Conditions[0]
		if len(desired.Children) != 2 || condition.Status != test.ready || condition.Message != test.message {
			t.Errorf("%s: %+v", name, desired)
		}
	}
	broken := []reconciling.Child{{Ref: deployment, Object: `{"status":{"readyReplicas":"many"}}`}}
	if desired, err := reconcile(&reconciling.Parent[spec]{Ref: deployment, Children: broken}); err == nil {
		t.Errorf("%+v", desired)
	}
}

func TestAnAppAsTheHostSendsIt(t *testing.T) {
	const metadata = `"metadata": {"name": "web", "namespace": "shop"}`
	app := boathooktest.Parent[spec](t,
		`{"apiVersion": "example.com/v1alpha1", "kind": "HelloApp", `+metadata+`, "spec": {"image": "web:1", "size": 2}}`,
		boathooktest.Child(`{"apiVersion": "apps/v1", "kind": "Deployment", `+metadata+`, "status": {"readyReplicas": 2}}`))
	desired, err := reconcile(app)
	if err != nil {
		t.Fatal(err)
	}
	if condition := desired.Conditions[0]; condition.Status != reconciling.True {
		t.Errorf("%+v", condition)
	}
}
