// Package failure says what an error of a hook's means for its run.
//
// It never logs.
package failure

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	wire "github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_types"
	wit "github.com/boathook/boathook/sdk/go/internal/wit/types"
)

// Later asks for another run after a delay.
type Later interface {
	error
	Delay() time.Duration
}

// Of is the failure of a run that returned this error.
func Of(err error) wire.Failure {
	var later Later
	if errors.As(err, &later) {
		ms := uint64(max(0, later.Delay().Milliseconds()))
		return wire.MakeFailureRetryAfter(wit.Tuple2[uint64, string]{F0: ms, F1: err.Error()})
	}
	if isPermanent(err) {
		return wire.MakeFailurePermanent(err.Error())
	}
	return wire.MakeFailureRetry(err.Error())
}

// isPermanent tells whether another run can't help: an error says it of itself, or what it wraps does. Of several errors
// all have to.
func isPermanent(err error) bool {
	switch err := err.(type) {
	case interface{ Permanent() bool }:
		return err.Permanent()
	case interface{ Unwrap() error }:
		return isPermanent(err.Unwrap())
	case interface{ Unwrap() []error }:
		for _, err := range err.Unwrap() {
			if !isPermanent(err) {
				return false
			}
		}
		return true
	default:
		return false
	}
}

// Guard calls a hook's function; a panic becomes an error, and its trace a line of the log.
func Guard[T any](call func() (T, error)) (value T, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the hook panicked: %v", cause)
			slog.Error(err.Error(), "stack", string(debug.Stack()))
		}
	}()
	return call()
}
