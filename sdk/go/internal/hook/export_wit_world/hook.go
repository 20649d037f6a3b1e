// Package export_wit_world has what the generated exports of a hook call. The SDK sets it.
package export_wit_world

import (
	wire "github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_types"
	wit "github.com/boathook/boathook/sdk/go/internal/wit/types"
)

var (
	// OnConfig gives the configuration document.
	OnConfig func() string
	// OnRun does the work.
	OnRun func(wire.RunInfo, []wire.BindingContext) wit.Result[wit.Unit, wire.Failure]
)

// Config is the export `config`.
func Config() string { return OnConfig() }

// Run is the export `run`.
func Run(info wire.RunInfo, contexts []wire.BindingContext) wit.Result[wit.Unit, wire.Failure] {
	return OnRun(info, contexts)
}
