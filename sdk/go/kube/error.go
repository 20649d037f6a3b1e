package kube

import (
	"errors"
	"strings"

	"github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_kube"
)

// Reason is a kind of failure. Treat the set as open: what fits nowhere is Other.
type Reason uint8

// The kinds of failure.
const (
	// NotFound: the object, or its namespace, does not exist (404).
	NotFound Reason = Reason(boathook_hook_kube.ReasonNotFound)
	// AlreadyExists: the object is there, and Create was not told what to do then (409).
	AlreadyExists Reason = Reason(boathook_hook_kube.ReasonAlreadyExists)
	// Conflict: the object changed since it was read, or another field manager owns a field (409).
	Conflict Reason = Reason(boathook_hook_kube.ReasonConflict)
	// Invalid: the object, the patch, the selector or the kind is wrong (400, 422).
	Invalid Reason = Reason(boathook_hook_kube.ReasonInvalid)
	// ForbiddenByGrant: the hook's own grants do not allow this call; nothing was sent.
	ForbiddenByGrant Reason = Reason(boathook_hook_kube.ReasonForbiddenByGrant)
	// ForbiddenByCluster: the API server refused it: RBAC or an admission webhook (401, 403).
	ForbiddenByCluster Reason = Reason(boathook_hook_kube.ReasonForbiddenByCluster)
	// TooLarge: request or answer is over a size limit (413).
	TooLarge Reason = Reason(boathook_hook_kube.ReasonTooLarge)
	// Timeout: no answer in time, or a wait that ended before the object was gone.
	Timeout Reason = Reason(boathook_hook_kube.ReasonTimeout)
	// BudgetExceeded: this run has used up its host calls or bytes.
	BudgetExceeded Reason = Reason(boathook_hook_kube.ReasonBudgetExceeded)
	// Unavailable: the API server can't be reached, or answered 429 or 5xx to every try.
	Unavailable Reason = Reason(boathook_hook_kube.ReasonUnavailable)
	// Other is anything else.
	Other Reason = Reason(boathook_hook_kube.ReasonOther)
)

// Error is why a call did not succeed.
type Error struct {
	// Reason is for deciding.
	Reason Reason
	// Message is for reading: it names the verb, the object and, where a grant is missing, the permission that would
	// allow the call.
	Message string
	// Code is the HTTP status; 0 when no server answered.
	Code int
	// Status is the API server's `Status` object, when it sent one.
	Status JSON
}

func (e *Error) Error() string { return e.Message }

// Permanent tells whether repeating the run can't help.
func (e *Error) Permanent() bool { return e.Reason == ForbiddenByGrant || e.Reason == Invalid }

// Is tells whether an error is a call's that failed for this reason.
func Is(err error, reason Reason) bool {
	var failure *Error
	return errors.As(err, &failure) && failure.Reason == reason
}

// IsNotFound tells whether an object was not there.
func IsNotFound(err error) bool { return Is(err, NotFound) }

// IsAlreadyExists tells whether an object was there already.
func IsAlreadyExists(err error) bool { return Is(err, AlreadyExists) }

// IsNamespaceTerminating tells whether nothing can be created in a namespace since it goes.
func IsNamespaceTerminating(err error) bool {
	var failure *Error
	if !errors.As(err, &failure) || failure.Status == "" {
		return false
	}
	var status struct {
		Details struct {
			Causes []struct{ Reason string }
		}
	}
	if failure.Status.Into(&status) != nil {
		return false
	}
	for _, cause := range status.Details.Causes {
		if cause.Reason == "NamespaceTerminating" {
			return true
		}
	}
	return false
}

// IsConflict tells whether an object was another than the one that was seen.
func IsConflict(err error) bool { return Is(err, Conflict) }

func failed(failure boathook_hook_kube.Failure) error {
	return &Error{
		Reason:  Reason(failure.Reason),
		Message: strings.Clone(failure.Message),
		Code:    int(failure.Code.SomeOr(0)),
		Status:  JSON(strings.Clone(failure.Status.SomeOr(""))),
	}
}
