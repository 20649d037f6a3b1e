package reconciling

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	boathook "github.com/boathook/boathook/sdk/go"
	"github.com/boathook/boathook/sdk/go/kube"

	"github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_reconciliation"
	wire "github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_types"
	wit "github.com/boathook/boathook/sdk/go/internal/wit/types"
)

type spec struct {
	Image string
	Size  int
}

const object = `{"apiVersion":"example.com/v1","kind":"App","metadata":{"name":"web","namespace":"shop"},` +
	`"spec":{"image":"web:1","size":2}}`

var info = wire.RunInfo{RunId: "run-1", Hook: "apps", Attempt: 1, DryRun: true}

func child(apiVersion, kind string, namespace wit.Option[string], name, object string) boathook_hook_reconciliation.Child {
	return boathook_hook_reconciliation.Child{
		ApiVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name, Object: object,
	}
}

// run calls the export for a binding that this function handles.
func run[Spec any](object string, function func(*Parent[Spec]) (*Desired, error), children ...boathook_hook_reconciliation.Child) result {
	Handle("apps", function)
	return reconcile(info, "apps", wireParent{Object: object, Children: children, Snapshots: []string{"pods"}})
}

// returns is a function that decides this.
func returns(desired *Desired) func(*Parent[spec]) (*Desired, error) {
	return func(*Parent[spec]) (*Desired, error) { return desired, nil }
}

func TestTheFunctionSeesTheObjectAndItsChildren(t *testing.T) {
	shop := wit.Some("shop")
	children := []boathook_hook_reconciliation.Child{
		child("apps/v1", "Deployment", shop, "web", `{"status":{"readyReplicas":3}}`),
		child("v1", "Service", shop, "web", `{"spec":{}}`),
		child("serving.knative.dev/v1", "Service", shop, "web", `{"status":[]}`),
	}
	var seen *Parent[spec]
	answer := run(object, func(parent *Parent[spec]) (*Desired, error) {
		seen = parent
		return &Desired{}, nil
	}, children...)
	if answer.IsErr() {
		t.Fatal(answer.Err())
	}
	if seen.Ref != (kube.Ref{APIVersion: "example.com/v1", Kind: "App", Namespace: "shop", Name: "web"}) ||
		seen.Spec != (spec{"web:1", 2}) || seen.Object != object || len(seen.Children) != 3 || seen.Binding != "apps" ||
		!reflect.DeepEqual(seen.Snapshots, []string{"pods"}) || seen.RunID != "run-1" || !seen.DryRun {
		t.Errorf("%+v", seen)
	}
	var found struct{ Status struct{ ReadyReplicas int } }
	for _, test := range []struct {
		ref    kube.Ref
		exists bool
		err    string
	}{
		{kube.Ref{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}, true, ""},
		{kube.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}, true, ""},
		{kube.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "other", Name: "web"}, false, ""},
		{kube.Ref{APIVersion: "apps/v1", Kind: "Deployment", Name: "db"}, false, ""},
		{kube.Ref{APIVersion: "v1", Kind: "Service", Name: "web"}, true, ""},
		{kube.Ref{APIVersion: "serving.knative.dev/v1", Kind: "Service", Name: "web"}, false, "Service shop/web: can't read"},
	} {
		exists, err := seen.Find(test.ref, &found)
		if exists != test.exists || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%v: %v, %v", test.ref, exists, err)
		}
	}
	if found.Status.ReadyReplicas != 3 {
		t.Errorf("%+v", found)
	}
}

func TestAClusterScopedParentNamesTheNamespace(t *testing.T) {
	object := `{"apiVersion":"example.com/v1","kind":"Tenant","metadata":{"name":"shop"}}`
	answer := run(object, func(tenant *Parent[struct{}]) (*Desired, error) {
		var found kube.Object
		for ref, expected := range map[kube.Ref]string{
			{APIVersion: "v1", Kind: "Namespace", Name: "shop"}:                    "cluster",
			{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "shop"}: "namespaced",
		} {
			if exists, err := tenant.Find(ref, &found); !exists || err != nil || found.Text("is") != expected {
				t.Errorf("%v: %v, %v, %v", ref, found, exists, err)
			}
		}
		if exists, _ := tenant.Find(kube.Ref{APIVersion: "v1", Kind: "ConfigMap", Name: "shop"}, &found); exists {
			t.Error("it is in a namespace")
		}
		return &Desired{NoneWanted: true}, nil
	},
		child("v1", "Namespace", wit.None[string](), "shop", `{"is":"cluster"}`),
		child("v1", "ConfigMap", wit.Some("shop"), "shop", `{"is":"namespaced"}`))
	if answer.IsErr() || !answer.Ok().NoneWanted {
		t.Errorf("%+v", answer)
	}
}

func TestTheHostGetsWhatIsReturned(t *testing.T) {
	answer := run(object, returns(&Desired{
		Children: []any{
			kube.Object{"kind": "Service"},
			struct {
				Kind string `json:"kind"`
			}{"Deployment"},
			kube.JSON(`{"kind":"Secret"}`),
		},
		Status: map[string]any{"ready": 1},
		Conditions: []Condition{
			{Type: "Ready", Status: Holds(true), Reason: "AllReady", Message: "1 of 1"},
			{Type: "Synced", Status: Holds(false), Reason: "Waiting"},
			{Type: "Backed", Status: Unknown, Reason: "NotAsked"},
		},
		RequeueAfter: 90 * time.Second,
		Events:       []Event{{Reason: "Made", Message: "it is made"}, {Warning: true, Reason: "Old"}},
	}))
	expected := wireDesired{
		Children: []string{`{"kind":"Service"}`, `{"kind":"Deployment"}`, `{"kind":"Secret"}`},
		Status:   wit.Some(`{"ready":1}`),
		Conditions: []boathook_hook_reconciliation.Condition{
			{Type: "Ready", Status: boathook_hook_reconciliation.ConditionStatusTrue, Reason: "AllReady", Message: "1 of 1"},
			{Type: "Synced", Status: boathook_hook_reconciliation.ConditionStatusFalse, Reason: "Waiting"},
			{Type: "Backed", Status: boathook_hook_reconciliation.ConditionStatusUnknown, Reason: "NotAsked"},
		},
		RequeueAfter: wit.Some[uint64](90_000),
		Events: []boathook_hook_reconciliation.Event{
			{Type: boathook_hook_reconciliation.EventTypeNormal, Reason: "Made", Message: "it is made"},
			{Type: boathook_hook_reconciliation.EventTypeWarning, Reason: "Old"},
		},
	}
	if answer.IsErr() || !reflect.DeepEqual(answer.Ok(), expected) {
		t.Errorf("%+v", answer)
	}
	var none *spec
	for _, desired := range []*Desired{{}, {Status: none}} {
		answer := run(object, returns(desired))
		if answer.IsErr() || !reflect.DeepEqual(answer.Ok(), wireDesired{}) {
			t.Errorf("%+v", answer)
		}
	}
}

func TestATimeIsInMillisecondsAndNeverAtOnce(t *testing.T) {
	for after, milliseconds := range map[time.Duration]uint64{
		time.Millisecond: 1, 1: 1, time.Millisecond + 1: 2, -1: 1000, -time.Hour: 1000,
	} {
		answer := run(object, returns(&Desired{RequeueAfter: after}))
		if answer.IsErr() || answer.Ok().RequeueAfter != wit.Some(milliseconds) {
			t.Errorf("%v: %+v", after, answer)
		}
	}
}

func TestWhatCannotBeIsAPermanentErrorThatNamesIt(t *testing.T) {
	ready := Condition{Type: "Ready", Status: True, Reason: "AllReady"}
	without := func(change func(*Condition)) *Desired {
		other := ready
		change(&other)
		return &Desired{Conditions: []Condition{ready, other}}
	}
	for name, test := range map[string]struct {
		answer result
		text   string
	}{
		"nil":               {run(object, returns(nil)), "returned nil: return what should be, or an error"},
		"a child":           {run(object, returns(&Desired{Children: []any{kube.Object{}, make(chan int)}})), "Children[1]: cannot write a chan int as JSON"},
		"broken JSON":       {run(object, returns(&Desired{Children: []any{kube.JSON("{")}})), "Children[0]: cannot write a kube.JSON as JSON"},
		"a status":          {run(object, returns(&Desired{Status: make(chan int)})), "Status: cannot write a chan int as JSON"},
		"status of a list":  {run(object, returns(&Desired{Status: []int{1}})), "Status: a []int has no fields: return a struct or a map"},
		"without a type":    {run(object, returns(without(func(c *Condition) { c.Type = "" }))), "Reason:AllReady Message:} needs a Type"},
		"without a reason":  {run(object, returns(without(func(c *Condition) { c.Reason = "" }))), "{Type:Ready Status:True Reason: Message:} needs a Type and a Reason"},
		"without a status":  {run(object, returns(without(func(c *Condition) { c.Status = "" }))), `condition Ready: its Status is "": use True, False, Unknown or Holds`},
		"spec":              {run(`{"kind":"App","metadata":{"name":"web"},"spec":{"size":"x"}}`, returns(&Desired{})), "spec of App web: can't read a *reconciling.spec"},
		"object":            {run(`[]`, returns(&Desired{})), "the object: can't read"},
		"no such function":  {reconcile(info, "sites", wireParent{Object: object}), `no function for the binding "sites": call reconciling.Handle`},
		"permanent already": {run(object, func(*Parent[spec]) (*Desired, error) { return nil, boathook.Permanent(errors.New("no")) }), "no"},
	} {
		if !test.answer.IsErr() || test.answer.Err().Tag() != wire.FailurePermanent ||
			!strings.Contains(test.answer.Err().Permanent(), test.text) {
			t.Errorf("%s: %+v", name, test.answer)
		}
	}
}

func TestAnErrorOfTheFunctionKeepsItsMeaning(t *testing.T) {
	retry := run(object, func(*Parent[spec]) (*Desired, error) { return nil, errors.New("not yet") })
	if !retry.IsErr() || retry.Err().Tag() != wire.FailureRetry || retry.Err().Retry() != "not yet" {
		t.Errorf("%+v", retry)
	}
	later := run(object, func(*Parent[spec]) (*Desired, error) {
		return &Desired{}, boathook.RetryAfter(1500*time.Millisecond, errors.New("later"))
	})
	if !later.IsErr() || later.Err().Tag() != wire.FailureRetryAfter || later.Err().RetryAfter().F0 != 1500 {
		t.Errorf("%+v", later)
	}
	panicked := run(object, func(*Parent[spec]) (*Desired, error) { panic("on purpose") })
	if !panicked.IsErr() || panicked.Err().Tag() != wire.FailureRetry || panicked.Err().Retry() != "the hook panicked: on purpose" {
		t.Errorf("%+v", panicked)
	}
}

func TestEachBindingHasItsFunction(t *testing.T) {
	Handle("one", func(parent *Parent[spec]) (*Desired, error) { return &Desired{Children: []any{parent.Spec.Image}}, nil })
	Handle("two", func(parent *Parent[kube.Object]) (*Desired, error) {
		return &Desired{Children: []any{parent.Spec["size"], parent.Binding}}, nil
	})
	for binding, expected := range map[string][]string{"one": {`"web:1"`}, "two": {"2", `"two"`}} {
		answer := reconcile(info, binding, wireParent{Object: object})
		if answer.IsErr() || !reflect.DeepEqual(answer.Ok().Children, expected) {
			t.Errorf("%s: %+v", binding, answer)
		}
	}
}

func TestHelpersForChildrenAndConditions(t *testing.T) {
	parent := Parent[struct{}]{Ref: kube.Ref{Namespace: "shop", Name: "web"}}
	parent.Children = []Child{{
		Ref:    kube.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"},
		Object: `{"status":{"readyReplicas":2,"phase":"new"}}`,
	}}
	made, err := json.Marshal(parent.NewChild("v1", "Service", map[string]any{"selector": parent.Labels()}))
	want := `{"apiVersion":"v1","kind":"Service","metadata":{"labels":{"app.kubernetes.io/name":"web"},"name":"web"},` +
		`"spec":{"selector":{"app.kubernetes.io/name":"web"}}}`
	if err != nil || string(made) != want {
		t.Errorf("%s %v", made, err)
	}
	ready := 1
	if err := parent.ChildStatus("Deployment", "other", "readyReplicas", &ready); err != nil || ready != 1 {
		t.Errorf("%d %v", ready, err)
	}
	if err := parent.ChildStatus("Deployment", "web", "replicas", &ready); err != nil || ready != 1 {
		t.Errorf("%d %v", ready, err)
	}
	if err := parent.ChildStatus("Deployment", "web", "readyReplicas", &ready); err != nil || ready != 2 {
		t.Errorf("%d %v", ready, err)
	}
	if err := parent.ChildStatus("Deployment", "web", "phase", &ready); err == nil || !strings.Contains(err.Error(), "status.phase") {
		t.Error(err)
	}
	condition := Condition{
		Type: "Ready", Status: False, Reason: "Replicas", Message: "2 of 3 replicas are ready",
	}
	if got := Ready(2, 3, "replicas"); got != condition {
		t.Errorf("%+v", got)
	}
	if got := Ready(3, 3, "replicas"); got.Status != True {
		t.Errorf("%+v", got)
	}
}
