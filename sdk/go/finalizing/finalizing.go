// Package finalizing undoes what a hook did outside the cluster, before an object of a reconcile binding is deleted. A
// hook that imports it has the export for that, which requests a finalizer for the objects that it reconciles.
//
//	func init() { finalizing.Handle("buckets", finalize) }
//
//	func finalize(bucket *reconciling.Parent[spec]) (*finalizing.Finalized, error) {
//		gone, err := remove(bucket.Name)
//		if err != nil {
//			return nil, err
//		}
//		return &finalizing.Finalized{Done: gone}, nil
//	}
//
// The host calls the function until it returns Done. It can come again after that, and must then return Done again.
package finalizing

import (
	"errors"
	"fmt"
	"time"

	boathook "github.com/boathook/boathook/sdk/go"
	"github.com/boathook/boathook/sdk/go/reconciling"

	"github.com/boathook/boathook/sdk/go/internal/answer"
	"github.com/boathook/boathook/sdk/go/internal/failure"
	"github.com/boathook/boathook/sdk/go/internal/finalizing/export_boathook_hook_finalizing"
	"github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_finalizing"
	"github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_reconciliation"
	wire "github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_types"
	wit "github.com/boathook/boathook/sdk/go/internal/wit/types"
)

// Finalized is how far the work is.
type Finalized struct {
	// Done means that everything is undone: the host deletes the children that are left, and then the object.
	Done bool
	// Children are those that are needed until then, as in reconciling.Desired. The host deletes the others.
	Children []any
	// Status has fields of the object's status: a struct, a map, or nil.
	Status any
	// Conditions are for the object's status, in addition to those of the host.
	Conditions []reconciling.Condition
	// RequeueAfter calls the function again after this time; 0 is the binding's first back-off.
	RequeueAfter time.Duration
	// Events are about the object, at most 10.
	Events []reconciling.Event
}

type (
	wireParent    = boathook_hook_reconciliation.Parent
	wireFinalized = boathook_hook_finalizing.Finalized
	result        = wit.Result[wireFinalized, wire.Failure]
)

var handlers = map[string]func(wire.RunInfo, string, wireParent) (*Finalized, error){}

func init() { export_boathook_hook_finalizing.OnFinalize = finalize }

// Handle gives the function for the objects of the binding of this name; call it in a function init. The host asks about
// all bindings of the hook: for one without a function, there is nothing to undo. After an error, the host deletes nothing,
// and shows the error in the object's conditions.
func Handle[Spec any](binding string, function func(*reconciling.Parent[Spec]) (*Finalized, error)) {
	handlers[binding] = func(info wire.RunInfo, binding string, from wireParent) (*Finalized, error) {
		parent, err := reconciling.Read[Spec](info, binding, from)
		if err != nil {
			return nil, err
		}
		return function(parent)
	}
}

func finalize(info wire.RunInfo, binding string, from wireParent) result {
	finalized, err := failure.Guard(func() (wireFinalized, error) {
		handler, found := handlers[binding]
		if !found {
			return (&Finalized{Done: true}).toWire()
		}
		finalized, err := handler(info, binding, from)
		if err != nil {
			return wireFinalized{}, err
		}
		written, err := finalized.toWire()
		// The same object would get the same answer.
		return written, boathook.Permanent(err)
	})
	if err != nil {
		return wit.Err[wireFinalized](failure.Of(err))
	}
	return wit.Ok[wireFinalized, wire.Failure](finalized)
}

func (f *Finalized) toWire() (written wireFinalized, err error) {
	if f == nil {
		return written, errors.New("the function returned nil: return how far the work is, or an error")
	}
	written.Done, written.RequeueAfter = f.Done, answer.After(f.RequeueAfter)
	if written.Children, err = answer.Children(f.Children); err != nil {
		return written, err
	}
	if written.Status, err = answer.Status(f.Status); err != nil {
		return written, err
	}
	for _, condition := range f.Conditions {
		one, err := answer.Condition(condition.Type, string(condition.Status), condition.Reason, condition.Message)
		if err != nil {
			return written, err
		}
		written.Conditions = append(written.Conditions, one)
	}
	for i, event := range f.Events {
		one, err := answer.Event(event.Warning, event.Reason, event.Message)
		if err != nil {
			return written, fmt.Errorf("Events[%d]: %w", i, err)
		}
		written.Events = append(written.Events, one)
	}
	return written, nil
}
