// Package export_boathook_hook_reconciling has what the generated export calls. The SDK sets it.
package export_boathook_hook_reconciling

import (
	reconciliation "github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_reconciliation"
	reconciling "github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_reconciling"
	wire "github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_types"
	wit "github.com/boathook/boathook/sdk/go/internal/wit/types"
)

// OnReconcile decides.
var OnReconcile func(wire.RunInfo, string, reconciliation.Parent) wit.Result[reconciling.Desired, wire.Failure]

// Reconcile is the export `reconcile`.
func Reconcile(info wire.RunInfo, binding string, parent reconciliation.Parent) wit.Result[reconciling.Desired, wire.Failure] {
	return OnReconcile(info, binding, parent)
}
