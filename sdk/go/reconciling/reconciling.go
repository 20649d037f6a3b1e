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
	"time"

	boathook "github.com/boathook/boathook/sdk/go"
	"github.com/boathook/boathook/sdk/go/kube"

	"github.com/boathook/boathook/sdk/go/internal/failure"
	"github.com/boathook/boathook/sdk/go/internal/reconciling/export_boathook_hook_reconciling"
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
	wireParent  = boathook_hook_reconciling.Parent
	wireDesired = boathook_hook_reconciling.Desired
	result      = wit.Result[wireDesired, wire.Failure]
)

var handlers = map[string]func(wire.RunInfo, string, wireParent) (*Desired, error){}

func init() { export_boathook_hook_reconciling.OnReconcile = reconcile }

// Handle gives the function that decides for the binding of this name; call it in a function init, once for each binding.
// After an error, the host changes nothing, and shows the error in the object's conditions.
func Handle[Spec any](binding string, function func(*Parent[Spec]) (*Desired, error)) {
	handlers[binding] = func(info wire.RunInfo, binding string, from wireParent) (*Desired, error) {
		parent, err := read[Spec](info, binding, from)
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

func read[Spec any](info wire.RunInfo, binding string, from wireParent) (*Parent[Spec], error) {
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
	return parent, nil
}

func (d *Desired) toWire() (wireDesired, error) {
	if d == nil {
		return wireDesired{}, errors.New("the function returned nil: return what should be, or an error")
	}
	written := wireDesired{NoneWanted: d.NoneWanted, Status: wit.None[string](), RequeueAfter: wit.None[uint64]()}
	for i, child := range d.Children {
		text, err := write(child)
		if err != nil {
			return written, fmt.Errorf("Children[%d]: %w", i, err)
		}
		written.Children = append(written.Children, text)
	}
	status, err := write(d.Status)
	switch {
	case err != nil:
		return written, fmt.Errorf("Status: %w", err)
	case status[0] == '{':
		written.Status = wit.Some(status)
	case status != "null":
		return written, fmt.Errorf("Status: a %T has no fields: return a struct or a map", d.Status)
	}
	for _, condition := range d.Conditions {
		condition, err := condition.toWire()
		if err != nil {
			return written, err
		}
		written.Conditions = append(written.Conditions, condition)
	}
	switch after := d.RequeueAfter; {
	case after < 0:
		written.RequeueAfter = wit.Some(uint64(time.Second.Milliseconds()))
	case after > 0:
		// Rounded up: 0 would be at once.
		written.RequeueAfter = wit.Some(uint64((after-1)/time.Millisecond) + 1)
	}
	return written, nil
}

func (c Condition) toWire() (boathook_hook_reconciling.Condition, error) {
	written := boathook_hook_reconciling.Condition{Type: c.Type, Reason: c.Reason, Message: c.Message}
	if c.Type == "" || c.Reason == "" {
		return written, fmt.Errorf("the condition %+v needs a Type and a Reason, each of one word in CamelCase", c)
	}
	switch c.Status {
	case True:
		written.Status = boathook_hook_reconciling.ConditionStatusTrue
	case False:
		written.Status = boathook_hook_reconciling.ConditionStatusFalse
	case Unknown:
		written.Status = boathook_hook_reconciling.ConditionStatusUnknown
	default:
		return written, fmt.Errorf("condition %s: its Status is %q: use True, False, Unknown or Holds", c.Type, c.Status)
	}
	return written, nil
}

func write(value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("cannot write a %T as JSON: %w", value, err)
	}
	return string(text), nil
}
