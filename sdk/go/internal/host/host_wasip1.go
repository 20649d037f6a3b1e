// Package host has the calls that a hook makes of its host.
//
// It only passes them on, so that the rest of the SDK also builds where there is no host: in `go test`.
package host

import (
	kube "github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_kube"
	log "github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_log"
	metrics "github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_metrics"
	settings "github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_settings"
	snapshots "github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_snapshots"
	wire "github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_types"
	values "github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_values"
	wit "github.com/boathook/boathook/sdk/go/internal/wit/types"
)

// Snapshot is an open one.
type Snapshot = snapshots.Snapshot

// Get reads one object.
func Get(target wire.ObjectRef, subresource wit.Option[string]) wit.Result[string, kube.Failure] {
	return kube.Get(target, subresource)
}

// List reads one page.
func List(query kube.ListQuery) wit.Result[kube.Page, kube.Failure] { return kube.List(query) }

// Write does one operation.
func Write(operation kube.Operation) wit.Result[wit.Option[string], kube.Failure] {
	return kube.Write(operation)
}

// Batch does many.
func Batch(operations []kube.Operation) []wit.Result[wit.Option[string], kube.Failure] {
	return kube.Batch(operations)
}

// EmitEvent creates an Event.
func EmitEvent(regarding wire.ObjectRef, kind kube.EventType, reason, note string) wit.Result[wit.Unit, kube.Failure] {
	return kube.EmitEvent(regarding, kind, reason, note)
}

// Open opens a snapshot.
func Open(binding string) wit.Result[*Snapshot, string] { return snapshots.Open(binding) }

// Log writes a line.
func Log(level log.Level, message string, fields []wit.Tuple2[string, string]) {
	log.Write(level, message, fields)
}

// Settings are the admin's.
func Settings() string { return settings.Get() }

// Values are those of a module, and its configuration.
type Values = values.ModuleValues

// ModuleValues are those of the hook's module.
func ModuleValues() wit.Result[Values, string] { return values.Get() }

// Patch changes values.
func Patch(operations string) wit.Result[wit.Unit, string] { return values.Patch(operations) }

// PatchConfig changes the configuration.
func PatchConfig(operations string) wit.Result[wit.Unit, string] {
	return values.PatchConfig(operations)
}

// Add adds to a counter.
func Add(name string, value float64, labels []wit.Tuple2[string, string], group wit.Option[string]) wit.Result[wit.Unit, string] {
	return metrics.Add(name, value, labels, group)
}

// Set sets a gauge.
func Set(name string, value float64, labels []wit.Tuple2[string, string], group wit.Option[string]) wit.Result[wit.Unit, string] {
	return metrics.Set(name, value, labels, group)
}

// Observe records in a histogram.
func Observe(name string, value float64, buckets []float64, labels []wit.Tuple2[string, string], group wit.Option[string]) wit.Result[wit.Unit, string] {
	return metrics.Observe(name, value, buckets, labels, group)
}

// Expire removes a group's series.
func Expire(group string) wit.Result[wit.Unit, string] { return metrics.Expire(group) }
