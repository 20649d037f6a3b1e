// Package validating answers kubernetesValidating bindings. Who imports it has the export that they need.
package validating

import (
	"errors"

	"github.com/boathook/boathook/sdk/go/admission"
	"github.com/boathook/boathook/sdk/go/internal/failure"
	"github.com/boathook/boathook/sdk/go/internal/validating/export_boathook_hook_validating"
	"github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_admission"
	wire "github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_types"
	wit "github.com/boathook/boathook/sdk/go/internal/wit/types"
)

var decide = func(*admission.Review) (admission.Verdict, error) {
	return admission.Verdict{}, errors.New("the hook decides nothing: call validating.Handle in a function init")
}

func init() { export_boathook_hook_validating.OnValidate = validate }

// Handle gives the function that decides; call it in a function init. An error is no denial: the binding's failurePolicy
// decides then.
func Handle(function func(*admission.Review) (admission.Verdict, error)) { decide = function }

func validate(_ wire.RunInfo, binding, request string) wit.Result[boathook_hook_admission.Verdict, wire.Failure] {
	verdict, err := failure.Guard(func() (admission.Verdict, error) {
		review, err := admission.Read(binding, request)
		if err != nil {
			return admission.Verdict{}, err
		}
		return decide(review)
	})
	if err != nil {
		return wit.Err[boathook_hook_admission.Verdict](failure.Of(err))
	}
	return wit.Ok[boathook_hook_admission.Verdict, wire.Failure](verdict.ToWire())
}
