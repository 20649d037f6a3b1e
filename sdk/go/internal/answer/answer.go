// Package answer writes what hooks answer about the objects of a custom resource.
package answer

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_reconciliation"
	wit "github.com/boathook/boathook/sdk/go/internal/wit/types"
)

// Children are written as JSON.
func Children(children []any) ([]string, error) {
	var written []string
	for i, child := range children {
		text, err := write(child)
		if err != nil {
			return nil, fmt.Errorf("Children[%d]: %w", i, err)
		}
		written = append(written, text)
	}
	return written, nil
}

// Status is written as a JSON object, or is absent.
func Status(status any) (wit.Option[string], error) {
	text, err := write(status)
	switch {
	case err != nil:
		return wit.None[string](), fmt.Errorf("Status: %w", err)
	case text[0] == '{':
		return wit.Some(text), nil
	case text != "null":
		return wit.None[string](), fmt.Errorf("Status: a %T has no fields: return a struct or a map", status)
	}
	return wit.None[string](), nil
}

// After is in milliseconds. A time in the past counts as a second, and 0 is absent.
func After(after time.Duration) wit.Option[uint64] {
	switch {
	case after < 0:
		return wit.Some(uint64(time.Second.Milliseconds()))
	case after > 0:
		// Rounded up: 0 would be at once.
		return wit.Some(uint64((after-1)/time.Millisecond) + 1)
	}
	return wit.None[uint64]()
}

// Condition checks a condition.
func Condition(kind, status, reason, message string) (boathook_hook_reconciliation.Condition, error) {
	written := boathook_hook_reconciliation.Condition{Type: kind, Reason: reason, Message: message}
	if kind == "" || reason == "" {
		return written, fmt.Errorf("the condition {Type:%s Status:%s Reason:%s Message:%s} needs a Type and a Reason, each of one word in CamelCase", kind, status, reason, message)
	}
	switch status {
	case "True":
		written.Status = boathook_hook_reconciliation.ConditionStatusTrue
	case "False":
		written.Status = boathook_hook_reconciliation.ConditionStatusFalse
	case "Unknown":
		written.Status = boathook_hook_reconciliation.ConditionStatusUnknown
	default:
		return written, fmt.Errorf("condition %s: its Status is %q: use True, False, Unknown or Holds", kind, status)
	}
	return written, nil
}

// Event checks an Event.
func Event(warning bool, reason, message string) (boathook_hook_reconciliation.Event, error) {
	written := boathook_hook_reconciliation.Event{Reason: reason, Message: message}
	if warning {
		written.Type = boathook_hook_reconciliation.EventTypeWarning
	}
	if reason == "" {
		return written, fmt.Errorf("the Event %q needs a Reason of one word in CamelCase", message)
	}
	return written, nil
}

func write(value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("cannot write a %T as JSON: %w", value, err)
	}
	return string(text), nil
}
