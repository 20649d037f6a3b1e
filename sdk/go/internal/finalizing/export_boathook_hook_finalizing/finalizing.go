// Package export_boathook_hook_finalizing has what the generated export calls. The SDK sets it.
package export_boathook_hook_finalizing

import (
	finalizing "github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_finalizing"
	reconciliation "github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_reconciliation"
	wire "github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_types"
	wit "github.com/boathook/boathook/sdk/go/internal/wit/types"
)

// OnFinalize decides.
var OnFinalize func(wire.RunInfo, string, reconciliation.Parent) wit.Result[finalizing.Finalized, wire.Failure]

// Finalize is the export `finalize`.
func Finalize(info wire.RunInfo, binding string, parent reconciliation.Parent) wit.Result[finalizing.Finalized, wire.Failure] {
	return OnFinalize(info, binding, parent)
}
