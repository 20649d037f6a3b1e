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

// Permanent tells of itself whether another run can't help.
type Permanent interface {
	error
	Permanent() bool
}

// Of is the failure of a run that returned this error.
func Of(err error) wire.Failure {
	var later Later
	if errors.As(err, &later) {
		ms := uint64(max(0, later.Delay().Milliseconds()))
		return wire.MakeFailureRetryAfter(wit.Tuple2[uint64, string]{F0: ms, F1: err.Error()})
	}
	var permanent Permanent
	if errors.As(err, &permanent) && permanent.Permanent() {
		return wire.MakeFailurePermanent(err.Error())
	}
	return wire.MakeFailureRetry(err.Error())
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
