// Package mutating answers kubernetesMutating bindings. Who imports it has the export that they need.
package mutating

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/boathook/boathook/sdk/go/admission"
	"github.com/boathook/boathook/sdk/go/internal/failure"
	"github.com/boathook/boathook/sdk/go/internal/mutating/export_boathook_hook_mutating"
	"github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_mutating"
	wire "github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_types"
	wit "github.com/boathook/boathook/sdk/go/internal/wit/types"
)

// Mutation is a decision, and what becomes of the object. The zero value allows the request and leaves the object.
type Mutation struct {
	admission.Verdict
	object any
	patch  any
}

// Unchanged leaves the object as it is.
func Unchanged() Mutation { return Mutation{} }

// Object is the whole object as it should be; the host makes the patch.
func Object(object any) Mutation { return Mutation{object: object} }

// JSONPatch changes the object by a JSON Patch (RFC 6902).
func JSONPatch(patch any) Mutation { return Mutation{patch: patch} }

// Deny does not let the request through.
func Deny(message string) Mutation { return Mutation{Verdict: admission.Deny(message)} }

type answer = export_boathook_hook_mutating.Answer

var decide = func(*admission.Review) (Mutation, error) {
	return Mutation{}, errors.New("the hook changes nothing: call mutating.Handle in a function init")
}

func init() { export_boathook_hook_mutating.OnMutate = mutate }

// Handle gives the function that decides; call it in a function init. An error is no denial: the binding's failurePolicy
// decides then.
func Handle(function func(*admission.Review) (Mutation, error)) { decide = function }

func mutate(_ wire.RunInfo, binding, request string) wit.Result[answer, wire.Failure] {
	result, err := failure.Guard(func() (answer, error) {
		review, err := admission.Read(binding, request)
		if err != nil {
			return answer{}, err
		}
		mutation, err := decide(review)
		if err != nil {
			return answer{}, err
		}
		change, err := mutation.change()
		return answer{F0: mutation.ToWire(), F1: change}, err
	})
	if err != nil {
		return wit.Err[answer](failure.Of(err))
	}
	return wit.Ok[answer, wire.Failure](result)
}

func (m Mutation) change() (boathook_hook_mutating.Mutation, error) {
	switch {
	case m.object != nil:
		text, err := text(m.object)
		return boathook_hook_mutating.MakeMutationObject(text), err
	case m.patch != nil:
		text, err := text(m.patch)
		return boathook_hook_mutating.MakeMutationJsonPatch(text), err
	default:
		return boathook_hook_mutating.MakeMutationUnchanged(), nil
	}
}

func text(value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("can't write a %T as JSON: %w", value, err)
	}
	return string(text), nil
}
