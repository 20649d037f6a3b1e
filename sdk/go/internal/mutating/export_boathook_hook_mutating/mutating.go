// Package export_boathook_hook_mutating has what the generated export calls. The SDK sets it.
package export_boathook_hook_mutating

import (
	admission "github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_admission"
	mutating "github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_mutating"
	wire "github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_types"
	wit "github.com/boathook/boathook/sdk/go/internal/wit/types"
)

// Answer is what becomes of a request and of its object.
type Answer = wit.Tuple2[admission.Verdict, mutating.Mutation]

// OnMutate decides.
var OnMutate func(wire.RunInfo, string, string) wit.Result[Answer, wire.Failure]

// Mutate is the export `mutate`.
func Mutate(info wire.RunInfo, binding, request string) wit.Result[Answer, wire.Failure] {
	return OnMutate(info, binding, request)
}
