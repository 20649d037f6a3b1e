//go:build !wasip1

// Package host has the calls that a hook makes of its host; here, outside a component, there is none, and calls fail.
package host

import (
	"fmt"
	"os"

	kube "github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_kube"
	log "github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_log"
	snapshots "github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_snapshots"
	wire "github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_types"
	values "github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_values"
	wit "github.com/boathook/boathook/sdk/go/internal/wit/types"
)

const none = "there is no host outside a component: test what calls it with `boathook test`"

func failed[T any]() wit.Result[T, kube.Failure] {
	return wit.Err[T](kube.Failure{Reason: kube.ReasonOther, Message: none})
}

// Fake is a host in memory, of the package boathooktest.
type Fake interface {
	Get(target wire.ObjectRef) wit.Result[string, kube.Failure]
	List(query kube.ListQuery) wit.Result[kube.Page, kube.Failure]
	Write(operation kube.Operation) wit.Result[wit.Option[string], kube.Failure]
	Settings() string
	ModuleValues() wit.Result[Values, string]
	Patch(operations string) wit.Result[wit.Unit, string]
	PatchConfig(operations string) wit.Result[wit.Unit, string]
}

var fake Fake

// Use has calls go to a host in memory, or to none, and tells whether another one is in use.
func Use(next Fake) bool {
	inUse := fake != nil && next != nil
	if !inUse {
		fake = next
	}
	return inUse
}

// Snapshot is never open.
type Snapshot struct{}

// Len is 0.
func (*Snapshot) Len() uint64 { return 0 }

// Next gives nothing.
func (*Snapshot) Next(uint32) []snapshots.Item { return nil }

// Get gives nothing.
func (*Snapshot) Get(wit.Option[string], string) wit.Option[snapshots.Item] {
	return wit.None[snapshots.Item]()
}

// Drop does nothing.
func (*Snapshot) Drop() {}

// Get fails without a host in memory.
func Get(target wire.ObjectRef, _ wit.Option[string]) wit.Result[string, kube.Failure] {
	if fake == nil {
		return failed[string]()
	}
	return fake.Get(target)
}

// List fails without a host in memory.
func List(query kube.ListQuery) wit.Result[kube.Page, kube.Failure] {
	if fake == nil {
		return failed[kube.Page]()
	}
	return fake.List(query)
}

// Write fails without a host in memory.
func Write(operation kube.Operation) wit.Result[wit.Option[string], kube.Failure] {
	if fake == nil {
		return failed[wit.Option[string]]()
	}
	return fake.Write(operation)
}

// Batch does one operation after the other.
func Batch(operations []kube.Operation) []wit.Result[wit.Option[string], kube.Failure] {
	results := make([]wit.Result[wit.Option[string], kube.Failure], len(operations))
	for i, operation := range operations {
		results[i] = Write(operation)
	}
	return results
}

// EmitEvent fails.
func EmitEvent(wire.ObjectRef, kube.EventType, string, string) wit.Result[wit.Unit, kube.Failure] {
	return failed[wit.Unit]()
}

// Open fails.
func Open(string) wit.Result[*Snapshot, string] { return wit.Err[*Snapshot](none) }

// Log writes to stderr.
func Log(_ log.Level, message string, fields []wit.Tuple2[string, string]) {
	fmt.Fprintln(os.Stderr, message, fields)
}

// Settings are empty without a host in memory.
func Settings() string {
	if fake == nil {
		return "{}"
	}
	return fake.Settings()
}

// Values are those of a module, and its configuration.
type Values = values.ModuleValues

// ModuleValues fails without a host in memory.
func ModuleValues() wit.Result[Values, string] {
	if fake == nil {
		return wit.Err[Values](none)
	}
	return fake.ModuleValues()
}

// Patch fails without a host in memory.
func Patch(operations string) wit.Result[wit.Unit, string] {
	if fake == nil {
		return wit.Err[wit.Unit](none)
	}
	return fake.Patch(operations)
}

// PatchConfig fails without a host in memory.
func PatchConfig(operations string) wit.Result[wit.Unit, string] {
	if fake == nil {
		return wit.Err[wit.Unit](none)
	}
	return fake.PatchConfig(operations)
}

// Add fails.
func Add(string, float64, []wit.Tuple2[string, string], wit.Option[string]) wit.Result[wit.Unit, string] {
	return wit.Err[wit.Unit](none)
}

// Set fails.
func Set(string, float64, []wit.Tuple2[string, string], wit.Option[string]) wit.Result[wit.Unit, string] {
	return wit.Err[wit.Unit](none)
}

// Observe fails.
func Observe(string, float64, []float64, []wit.Tuple2[string, string], wit.Option[string]) wit.Result[wit.Unit, string] {
	return wit.Err[wit.Unit](none)
}

// Expire fails.
func Expire(string) wit.Result[wit.Unit, string] { return wit.Err[wit.Unit](none) }
