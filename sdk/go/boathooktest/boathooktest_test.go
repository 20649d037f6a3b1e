//go:build !wasip1

package boathooktest_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	boathook "github.com/boathook/boathook/sdk/go"
	"github.com/boathook/boathook/sdk/go/boathooktest"
	"github.com/boathook/boathook/sdk/go/kube"
	"github.com/boathook/boathook/sdk/go/values"
)

type spec struct{ Size int }

const app = `{"apiVersion": "example.com/v1", "kind": "App", "metadata": {"name": "web", "namespace": "shop"}, "spec": {"size": 2}}`

func config(name string) map[string]any {
	metadata := map[string]any{"name": name, "namespace": "shop", "labels": map[string]any{"a": "b"}}
	return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": map[string]any{"x": "1", "y": "2"}}
}

func ref(name string) kube.Ref {
	return kube.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: name}
}

func TestAParentHasItsChildrenAndWhatItRefersTo(t *testing.T) {
	deployment := `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"},
		"status": {"readyReplicas": 1}}`
	parent := boathooktest.Parent[spec](t, app, boathooktest.Child(deployment), boathooktest.Related("plan", config("small")))
	var ready int
	if err := parent.ChildStatus("Deployment", "web", "readyReplicas", &ready); err != nil || ready != 1 {
		t.Errorf("%d ready: %v", ready, err)
	}
	if parent.Name != "web" || parent.Namespace != "shop" || parent.Spec.Size != 2 || parent.Related[0].Name != "plan" {
		t.Errorf("%+v", parent)
	}
	var plan struct{ Data map[string]string }
	if err := parent.Related[0].Object.Into(&plan); err != nil || plan.Data["x"] != "1" {
		t.Errorf("%+v: %v", plan, err)
	}
}

func TestCallsReadAndWriteTheClusterInMemory(t *testing.T) {
	cluster := boathooktest.New(t).WithSettings(map[string]string{"tier": "one"})
	var settings struct{ Tier string }
	if err := boathook.Settings(&settings); err != nil || settings.Tier != "one" {
		t.Errorf("%+v: %v", settings, err)
	}
	var found struct{ Data map[string]string }
	if err := kube.Get(ref("a"), &found); !kube.IsNotFound(err) {
		t.Errorf("get: %v", err)
	}
	for what, err := range map[string]error{
		"update": kube.Update(config("a")), "patch": kube.Patch(ref("a"), map[string]any{}), "delete": kube.NewDelete(ref("a")).Run(),
	} {
		if !kube.IsNotFound(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := kube.Create(config("a")); err != nil {
		t.Error(err)
	}
	if err := kube.Create(config("a")); !kube.IsAlreadyExists(err) {
		t.Errorf("create: %v", err)
	}
	if err := kube.Patch(ref("a"), map[string]any{"data": map[string]any{"x": nil, "z": "3"}}); err != nil {
		t.Error(err)
	}
	if want := map[string]string{"y": "2", "z": "3"}; !cluster.Find(ref("a"), &found) || !reflect.DeepEqual(found.Data, want) {
		t.Errorf("%v", found.Data)
	}
	if err := kube.Apply(config("b")); err != nil {
		t.Error(err)
	}
	cluster.Given(config("c"), app)
	all, err := kube.ListAll[kube.Object](kube.Query{APIVersion: "v1", Kind: "ConfigMap", LabelSelector: "a=b"})
	if err != nil || len(all) != 3 {
		t.Errorf("%v: %v", all, err)
	}
	none, err := kube.ListAll[kube.Object](kube.Query{APIVersion: "v1", Kind: "ConfigMap", Namespace: "other"})
	if err != nil || len(none) != 0 {
		t.Errorf("%v: %v", none, err)
	}
	if err := kube.Delete(ref("a")); err != nil {
		t.Error(err)
	}
	if refs := cluster.Refs(); len(refs) != 3 || cluster.Find(ref("a"), &found) {
		t.Errorf("%v", refs)
	}
}

func TestValuesAreSeenAndWhatAHookChangesIsTold(t *testing.T) {
	type section struct{ Web struct{ Port int } }
	run := func() error {
		var seen, config section
		return errors.Join(
			values.Get(&seen),
			values.Config(&config),
			values.Set("/web/port", []int{seen.Web.Port, config.Web.Port}),
			values.Remove("/web/old"),
			values.SetConfig("/web/seen", "yes"),
			values.RemoveConfig("/web/gone"),
		)
	}
	host := boathooktest.New(t)
	if err := run(); err == nil || !strings.Contains(err.Error(), "belongs to no module") || len(host.Changes()) != 0 {
		t.Errorf("%v: %v", host.Changes(), err)
	}
	host.WithValues(`{"global": {}, "web": {"port": 80}}`, map[string]any{"web": map[string]int{"port": 81}})
	if err := run(); err != nil {
		t.Fatal(err)
	}
	expected := []boathooktest.Change{
		{Path: "/web/port", Value: "[80,81]"},
		{Path: "/web/old"},
		{Path: "/web/seen", Value: `"yes"`, Config: true},
		{Path: "/web/gone", Config: true},
	}
	if changes := host.Changes(); !reflect.DeepEqual(changes, expected) {
		t.Errorf("%+v", changes)
	}
}

func TestAHostEndsWithItsTest(t *testing.T) {
	t.Run("inner", func(t *testing.T) { boathooktest.New(t) })
	if err := kube.Create(config("a")); err == nil {
		t.Error("there is a host after its test")
	}
	boathooktest.New(t)
}
