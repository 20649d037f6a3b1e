// Package export_boathook_hook_validating has what the generated export calls. The SDK sets it.
package export_boathook_hook_validating

import (
	admission "github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_admission"
	wire "github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_types"
	wit "github.com/boathook/boathook/sdk/go/internal/wit/types"
)

// OnValidate decides.
var OnValidate func(wire.RunInfo, string, string) wit.Result[admission.Verdict, wire.Failure]

// Validate is the export `validate`.
func Validate(info wire.RunInfo, binding, request string) wit.Result[admission.Verdict, wire.Failure] {
	return OnValidate(info, binding, request)
}
