package main

import (
	"fmt"
	"log/slog"
	"runtime/debug"
)

// guard calls a function; a panic, which is a defect of the interpreter, becomes an error, and its trace a line of the log.
func guard[T any](call func() (T, error)) (value T, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the interpreter of shell hooks panicked: %v", cause)
			slog.Error(err.Error(), "stack", string(debug.Stack()))
		}
	}()
	return call()
}
