package kube

import (
	"fmt"
	"strings"
	"time"

	"github.com/boathook/boathook/sdk/go/internal/host"
	"github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_kube"
	"github.com/boathook/boathook/sdk/go/internal/wit/runtime"
	wit "github.com/boathook/boathook/sdk/go/internal/wit/types"
)

// Create makes an object; that it is there already is an error.
func Create(object any) error { return NewCreate(object).Run() }

// Update replaces an object. With `metadata.resourceVersion`, it does so only if that version is still current.
func Update(object any) error { return NewUpdate(object).Run() }

// Apply is a server-side apply of an object, with the hook as field manager.
func Apply(object any) error { return NewApply(object).Run() }

// Patch is a JSON merge patch (RFC 7386) of an object.
func Patch(ref Ref, patch any) error { return NewPatch(ref, patch).Run() }

// Delete deletes an object; that it is gone already is no error.
func Delete(ref Ref) error { return NewDelete(ref).IgnoreMissing().Run() }

// Batch writes many: the host does it concurrently, in order where operations name one object. It gives one result each,
// in their order.
func Batch(operations ...*Operation) []Result {
	results := make([]Result, len(operations))
	var sent []boathook_hook_kube.Operation
	var at []int
	for i, operation := range operations {
		if operation.err != nil {
			results[i].Err = operation.err
			continue
		}
		sent = append(sent, operation.toWire())
		at = append(at, i)
	}
	if len(sent) == 0 {
		return results
	}
	runtime.Enter()
	defer runtime.Leave()
	for i, result := range host.Batch(sent) {
		results[at[i]] = read(result)
	}
	return results
}

// Result is what came of one write.
type Result struct {
	// Object is as the server answered it; empty where there was nothing to write.
	Object JSON
	// Err is why it failed.
	Err error
}

// Run does one operation.
func (o *Operation) Run() error { return o.Do().Err }

// Do does one operation, and gives the object that the server answered.
func (o *Operation) Do() Result {
	if o.err != nil {
		return Result{Err: o.err}
	}
	runtime.Enter()
	defer runtime.Leave()
	return read(host.Write(o.toWire()))
}

func read(result wit.Result[wit.Option[string], boathook_hook_kube.Failure]) Result {
	if result.IsErr() {
		return Result{Err: failed(result.Err())}
	}
	return Result{Object: JSON(strings.Clone(result.Ok().SomeOr("")))}
}

// EmitEvent creates an Event (events.k8s.io/v1) about an object.
func EmitEvent(regarding Ref, kind EventType, reason, note string) error {
	runtime.Enter()
	defer runtime.Leave()
	if result := host.EmitEvent(regarding.toWire(), uint8(kind), reason, note); result.IsErr() {
		return failed(result.Err())
	}
	return nil
}

// EventType is how an Event is shown.
type EventType uint8

const (
	// Normal is information.
	Normal EventType = EventType(boathook_hook_kube.EventTypeNormal)
	// Warning is something to look at.
	Warning EventType = EventType(boathook_hook_kube.EventTypeWarning)
)

// Operation is one write, to be done alone or in a batch. What a method says that does not fit it is an error when it is
// done.
type Operation struct {
	verb        verb
	object      string
	target      Ref
	patch       uint8
	subresource string
	of          *Ref
	ifExists    uint8
	missing     bool
	force       bool
	manager     string
	propagation Propagation
	uid         string
	version     string
	wait        wit.Option[uint64]
	err         error
}

type verb string

const (
	create verb = "create"
	update verb = "update"
	patch  verb = "patch"
	remove verb = "delete"
)

func writing(verb verb, value any) *Operation {
	text, err := encode(value)
	return &Operation{verb: verb, object: text, err: err}
}

// NewCreate makes an object.
func NewCreate(object any) *Operation { return writing(create, object) }

// NewUpdate replaces an object.
func NewUpdate(object any) *Operation { return writing(update, object) }

// NewApply is a server-side apply of an object.
func NewApply(object any) *Operation {
	operation := writing(patch, object)
	operation.patch = boathook_hook_kube.PatchApply
	var head struct {
		APIVersion string
		Kind       string
		Metadata   struct{ Name, Namespace string }
	}
	if operation.err == nil {
		operation.err = JSON(operation.object).Into(&head)
	}
	operation.target = Ref{head.APIVersion, head.Kind, head.Metadata.Namespace, head.Metadata.Name}
	return operation
}

// NewPatch is a JSON merge patch (RFC 7386).
func NewPatch(ref Ref, body any) *Operation {
	return patching(ref, boathook_hook_kube.PatchMerge, body)
}

// NewJSONPatch is a JSON Patch (RFC 6902).
func NewJSONPatch(ref Ref, body any) *Operation {
	return patching(ref, boathook_hook_kube.PatchJson, body)
}

// NewStrategicPatch is a strategic merge patch; for built-in kinds only.
func NewStrategicPatch(ref Ref, body any) *Operation {
	return patching(ref, boathook_hook_kube.PatchStrategic, body)
}

// NewJQPatch reads the object, runs a jq program on it, and writes back what that changed; it repeats on a conflict.
func NewJQPatch(ref Ref, program string) *Operation {
	return &Operation{verb: patch, target: ref, patch: boathook_hook_kube.PatchJq, object: program}
}

func patching(ref Ref, kind uint8, body any) *Operation {
	operation := writing(patch, body)
	operation.target, operation.patch = ref, kind
	return operation
}

// NewDelete deletes an object.
func NewDelete(ref Ref) *Operation { return &Operation{verb: remove, target: ref} }

// Keep lets a creation leave alone what is there already.
func (o *Operation) Keep() *Operation {
	o.ifExists = boathook_hook_kube.IfExistsKeep
	return o.only("Keep", create)
}

// Replace lets a creation replace what is there already.
func (o *Operation) Replace() *Operation {
	o.ifExists = boathook_hook_kube.IfExistsReplace
	return o.only("Replace", create)
}

// Subresource writes `status`, `scale` and the like of an object.
func (o *Operation) Subresource(name string) *Operation {
	o.subresource = name
	return o.only("Subresource", update, patch)
}

// SubresourceOf creates a subresource (`eviction`, `binding`, `token`) of this object.
func (o *Operation) SubresourceOf(ref Ref, name string) *Operation {
	o.subresource, o.of = name, &ref
	return o.only("SubresourceOf", create)
}

// IgnoreMissing takes an object that is not there for success.
func (o *Operation) IgnoreMissing() *Operation {
	o.missing = true
	return o.only("IgnoreMissing", patch, remove)
}

// Force takes fields over from other managers in an apply.
func (o *Operation) Force() *Operation {
	o.force = true
	return o.onlyApply("Force")
}

// FieldManager is the manager of an apply; `boathook.dev/HOOK` without it.
func (o *Operation) FieldManager(name string) *Operation {
	o.manager = name
	return o.onlyApply("FieldManager")
}

// Propagate says what happens to the objects that a deleted one owns; Background without it.
func (o *Operation) Propagate(propagation Propagation) *Operation {
	o.propagation = propagation
	return o.only("Propagate", remove)
}

// UID deletes the object only if it still has this uid.
func (o *Operation) UID(uid string) *Operation {
	o.uid = uid
	return o.only("UID", remove)
}

// ResourceVersion deletes the object only if it still has this version.
func (o *Operation) ResourceVersion(version string) *Operation {
	o.version = version
	return o.only("ResourceVersion", remove)
}

// Wait waits so long for a deleted object to be gone; it is a Timeout if it is not.
func (o *Operation) Wait(time time.Duration) *Operation {
	o.wait = wit.Some(uint64(max(0, time.Milliseconds())))
	return o.only("Wait", remove)
}

// Propagation is what happens to the objects that a deleted one owns.
type Propagation uint8

const (
	// Background deletes them afterwards.
	Background Propagation = Propagation(boathook_hook_kube.PropagationBackground)
	// Foreground deletes them first.
	Foreground Propagation = Propagation(boathook_hook_kube.PropagationForeground)
	// Orphan lets them stay.
	Orphan Propagation = Propagation(boathook_hook_kube.PropagationOrphan)
)

func (o *Operation) only(method string, verbs ...verb) *Operation {
	for _, verb := range verbs {
		if o.verb == verb {
			return o
		}
	}
	return o.misused(method)
}

func (o *Operation) onlyApply(method string) *Operation {
	if o.verb == patch && o.patch == boathook_hook_kube.PatchApply {
		return o
	}
	return o.misused(method)
}

func (o *Operation) misused(method string) *Operation {
	if o.err == nil {
		o.err = &DataError{fmt.Sprintf("a %s does not take %s", o.verb, method), nil}
	}
	return o
}

func (o *Operation) toWire() boathook_hook_kube.Operation {
	switch o.verb {
	case create:
		of := wit.None[wit.Tuple2[string, wireRef]]()
		if o.of != nil {
			of = wit.Some(wit.Tuple2[string, wireRef]{F0: o.subresource, F1: o.of.toWire()})
		}
		return boathook_hook_kube.MakeOperationCreate(boathook_hook_kube.CreateOp{
			Object: o.object, IfExists: o.ifExists, Subresource: of,
		})
	case update:
		return boathook_hook_kube.MakeOperationUpdate(boathook_hook_kube.UpdateOp{
			Object: o.object, Subresource: option(o.subresource),
		})
	case patch:
		return boathook_hook_kube.MakeOperationPatch(boathook_hook_kube.PatchOp{
			Target: o.target.toWire(), Patch: o.wirePatch(), Subresource: option(o.subresource), IgnoreMissing: o.missing,
		})
	default:
		return boathook_hook_kube.MakeOperationDelete(boathook_hook_kube.DeleteOp{
			Target: o.target.toWire(),
			Options: boathook_hook_kube.DeleteOptions{
				Propagation:     uint8(o.propagation),
				IgnoreMissing:   o.missing,
				Uid:             option(o.uid),
				ResourceVersion: option(o.version),
				Wait:            o.wait,
			},
		})
	}
}

func (o *Operation) wirePatch() boathook_hook_kube.Patch {
	switch o.patch {
	case boathook_hook_kube.PatchJson:
		return boathook_hook_kube.MakePatchJson(o.object)
	case boathook_hook_kube.PatchStrategic:
		return boathook_hook_kube.MakePatchStrategic(o.object)
	case boathook_hook_kube.PatchJq:
		return boathook_hook_kube.MakePatchJq(o.object)
	case boathook_hook_kube.PatchApply:
		options := boathook_hook_kube.ApplyOptions{Force: o.force, FieldManager: option(o.manager)}
		return boathook_hook_kube.MakePatchApply(wit.Tuple2[string, boathook_hook_kube.ApplyOptions]{F0: o.object, F1: options})
	default:
		return boathook_hook_kube.MakePatchMerge(o.object)
	}
}
