// Package reconciling answers reconcile bindings: it says which objects a custom resource becomes. A hook that imports it
// has the export that they need.
//
//	type spec struct{ Greeting string }
//
//	func init() {
//		boathook.Configure(boathook.Config{Reconcile: []boathook.Reconcile{{
//			Name: "hello", APIVersion: "example.com/v1alpha1", Kind: "HelloApp",
//			Owns: []boathook.Owned{{APIVersion: "v1", Kind: "ConfigMap"}},
//		}}})
//		reconciling.Handle("hello", reconcile)
//	}
//
//	func reconcile(app *reconciling.Parent[spec]) (*reconciling.Desired, error) {
//		page := kube.Object{
//			"apiVersion": "v1", "kind": "ConfigMap",
//			"metadata": map[string]any{"name": app.Name}, "data": map[string]any{"greeting": app.Spec.Greeting},
//		}
//		return &reconciling.Desired{Children: []any{page}}, nil
//	}
//
// The function writes nothing, because the host makes real what it returns. If the hook uses neither the package snapshots
// nor calls of the package kube, the host remembers its answers, and calls it only when something is different.
package reconciling

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	boathook "github.com/boathook/boathook/sdk/go"
	"github.com/boathook/boathook/sdk/go/kube"

	"github.com/boathook/boathook/sdk/go/internal/answer"
	"github.com/boathook/boathook/sdk/go/internal/failure"
	"github.com/boathook/boathook/sdk/go/internal/reconciling/export_boathook_hook_reconciling"
	"github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_reconciliation"
	"github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_reconciling"
	wire "github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_types"
	wit "github.com/boathook/boathook/sdk/go/internal/wit/types"
)

// Parent is one object of the custom resource, and what the cluster has of it.
type Parent[Spec any] struct {
	// Ref names the object. Its Namespace is empty for cluster-scoped objects.
	kube.Ref
	// Spec is the object's `spec`, read as encoding/json does; the zero value when there is none.
	Spec Spec
	// Object is the whole object.
	Object kube.JSON
	// Children are all children that exist, in the order of Owns, then by namespace and name.
	Children []Child
	// Related are the objects that exist of those that the object refers to, in the order of Related in the configuration.
	Related []Related
	// Binding is the name in the configuration.
	Binding string
	// Snapshots are the names that can be opened in this run.
	Snapshots []string
	// RunID is unique for each run; it is in every log and audit line of the run.
	RunID string
	// DryRun means that nothing is stored.
	DryRun bool
}

// Child is a child as the cluster has it.
type Child struct {
	// Ref names the object. Its APIVersion and Kind are as in Owns.
	kube.Ref
	// Object is the whole object.
	Object kube.JSON
}

// Related is an object that the parent refers to.
type Related struct {
	// Name is that of the entry in the configuration.
	Name string
	// Object is the whole object.
	Object kube.JSON
}

// Find reads a child, as encoding/json does, into a pointer to any type, and returns whether it exists. Without a namespace,
// the reference is to the parent's.
func (p *Parent[Spec]) Find(ref kube.Ref, into any) (bool, error) {
	if ref.Namespace == "" {
		ref.Namespace = p.Namespace
	}
	for _, child := range p.Children {
		if child.Ref == ref {
			if err := child.Object.Into(into); err != nil {
				return false, fmt.Errorf("%s: %w", ref, err)
			}
			return true, nil
		}
	}
	return false, nil
}

// Labels are for what belongs to the parent: `app.kubernetes.io/name`, with its name. A selector with them finds its Pods.
func (p *Parent[Spec]) Labels() map[string]string {
	return map[string]string{"app.kubernetes.io/name": p.Name}
}

// NewChild is a child of a kind that has a `spec`. It has the parent's name and Labels.
func (p *Parent[Spec]) NewChild(apiVersion, kind string, spec any) kube.Object {
	return kube.Object{
		"apiVersion": apiVersion, "kind": kind, "spec": spec,
		"metadata": map[string]any{"name": p.Name, "labels": p.Labels()},
	}
}

// ChildStatus reads a field of the status of the child with this kind and name, as encoding/json does. It leaves the value as
// it is if the child or the field does not exist.
func (p *Parent[Spec]) ChildStatus(kind, name, field string, into any) error {
	for _, child := range p.Children {
		if child.Kind != kind || child.Name != name {
			continue
		}
		var object struct{ Status map[string]json.RawMessage }
		if err := child.Object.Into(&object); err != nil {
			return fmt.Errorf("%s: %w", child.Ref, err)
		}
		value, known := object.Status[field]
		if !known {
			return nil
		}
		if err := json.Unmarshal(value, into); err != nil {
			return fmt.Errorf("%s: status.%s: %w", child.Ref, field, err)
		}
		return nil
	}
	return nil
}

// Desired is what should be.
type Desired struct {
	// Children are the objects that the parent needs, of any type that encoding/json accepts, each with `apiVersion`, `kind`
	// and `metadata.name`, and only with the fields that the hook decides. The namespace defaults to the parent's. A child
	// that is no longer returned is deleted.
	Children []any
	// NoneWanted means that Children are empty on purpose. Without it, this is an error if children exist.
	NoneWanted bool
	// Status has fields of the parent's status: a struct, a map, or nil.
	Status any
	// Conditions are for the parent's status, in addition to those of the host.
	Conditions []Condition
	// RequeueAfter calls the function again after this time, if nothing else happens first; 0 does not. A
	// negative time, such as that until a moment in the past, counts as a second.
	RequeueAfter time.Duration
	// Events are about the object, at most 10.
	Events []Event
}

// Event is a Kubernetes Event about the parent. It needs the permission to `create` and `patch` `events` of `events.k8s.io`.
// The host counts equal Events in one.
type Event struct {
	// Warning means that it is about a possible problem.
	Warning bool
	// Reason is one word in CamelCase.
	Reason string
	// Message is a sentence for people.
	Message string
}

// Condition is a condition in the parent's status. The host sets its times.
type Condition struct {
	// Type is one word in CamelCase. `Ready` holds only if all children are applied and ready, too. `Reconciling` and
	// `Stalled` are the host's own.
	Type string
	// Status is True, False or Unknown.
	Status Status
	// Reason is one word in CamelCase.
	Reason string
	// Message is a sentence for people.
	Message string
}

// Ready is the condition `Ready`, which holds if all of them are ready: Ready(2, 3, "replicas") has the reason `Replicas` and
// the message `2 of 3 replicas are ready`.
func Ready(ready, of int, what string) Condition {
	reason := what
	if what != "" {
		reason = strings.ToUpper(what[:1]) + what[1:]
	}
	message := fmt.Sprintf("%d of %d %s are ready", ready, of, what)
	return Condition{Type: "Ready", Status: Holds(ready == of), Reason: reason, Message: message}
}

// Status is whether a condition holds.
type Status string

const (
	// True means that it holds.
	True Status = "True"
	// False means that it does not hold.
	False Status = "False"
	// Unknown means that the hook does not know.
	Unknown Status = "Unknown"
)

// Holds is True or False.
func Holds(holds bool) Status {
	if holds {
		return True
	}
	return False
}

type (
	wireParent  = boathook_hook_reconciliation.Parent
	wireDesired = boathook_hook_reconciling.Desired
	result      = wit.Result[wireDesired, wire.Failure]
)

var handlers = map[string]func(wire.RunInfo, string, wireParent) (*Desired, error){}

func init() { export_boathook_hook_reconciling.OnReconcile = reconcile }

// Handle gives the function that decides for the binding of this name; call it in a function init, once for each binding.
// After an error, the host changes nothing, and shows the error in the object's conditions.
func Handle[Spec any](binding string, function func(*Parent[Spec]) (*Desired, error)) {
	handlers[binding] = func(info wire.RunInfo, binding string, from wireParent) (*Desired, error) {
		parent, err := Read[Spec](info, binding, from)
		if err != nil {
			return nil, err
		}
		return function(parent)
	}
}

func reconcile(info wire.RunInfo, binding string, from wireParent) result {
	desired, err := failure.Guard(func() (wireDesired, error) {
		handler, found := handlers[binding]
		if !found {
			return wireDesired{}, boathook.Permanent(fmt.Errorf(
				"the hook has no function for the binding %q: call reconciling.Handle with this name in a function init", binding))
		}
		desired, err := handler(info, binding, from)
		if err != nil {
			return wireDesired{}, err
		}
		written, err := desired.toWire()
		// The same object would get the same answer.
		return written, boathook.Permanent(err)
	})
	if err != nil {
		return wit.Err[wireDesired](failure.Of(err))
	}
	return wit.Ok[wireDesired, wire.Failure](desired)
}

// Read reads an object as the host sends it. It is for the package finalizing.
func Read[Spec any](info wire.RunInfo, binding string, from wireParent) (*Parent[Spec], error) {
	var head struct {
		APIVersion string
		Kind       string
		Metadata   struct{ Namespace, Name string }
		Spec       kube.JSON
	}
	parent := &Parent[Spec]{
		Object: kube.JSON(from.Object), Binding: binding, Snapshots: from.Snapshots, RunID: info.RunId, DryRun: info.DryRun,
	}
	if err := parent.Object.Into(&head); err != nil {
		return nil, fmt.Errorf("the object: %w", err)
	}
	parent.Ref = kube.Ref{
		APIVersion: head.APIVersion, Kind: head.Kind, Namespace: head.Metadata.Namespace, Name: head.Metadata.Name,
	}
	if head.Spec != "" && head.Spec != "null" {
		if err := head.Spec.Into(&parent.Spec); err != nil {
			return nil, fmt.Errorf("spec of %s: %w", parent.Ref, err)
		}
	}
	for _, child := range from.Children {
		ref := kube.Ref{
			APIVersion: child.ApiVersion, Kind: child.Kind, Namespace: child.Namespace.SomeOr(""), Name: child.Name,
		}
		parent.Children = append(parent.Children, Child{ref, kube.JSON(child.Object)})
	}
	for _, related := range from.Related {
		parent.Related = append(parent.Related, Related{related.Name, kube.JSON(related.Object)})
	}
	return parent, nil
}

func (d *Desired) toWire() (written wireDesired, err error) {
	if d == nil {
		return written, errors.New("the function returned nil: return what should be, or an error")
	}
	written.NoneWanted, written.RequeueAfter = d.NoneWanted, answer.After(d.RequeueAfter)
	if written.Children, err = answer.Children(d.Children); err != nil {
		return written, err
	}
	if written.Status, err = answer.Status(d.Status); err != nil {
		return written, err
	}
	for _, condition := range d.Conditions {
		one, err := answer.Condition(condition.Type, string(condition.Status), condition.Reason, condition.Message)
		if err != nil {
			return written, err
		}
		written.Conditions = append(written.Conditions, one)
	}
	for i, event := range d.Events {
		one, err := answer.Event(event.Warning, event.Reason, event.Message)
		if err != nil {
			return written, fmt.Errorf("Events[%d]: %w", i, err)
		}
		written.Events = append(written.Events, one)
	}
	return written, nil
}
