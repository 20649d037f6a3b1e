package main

import "maps"

// source is what of the source is copied.
type source struct {
	// Type can't be changed in place.
	Type string `json:"type,omitempty"`
	// Data is in base64.
	Data map[string]string `json:"data,omitempty"`
}

// copied is a copy, as far as it matters.
type copied struct {
	Type string
	Data map[string]string
	// Immutable tells that data can't be changed in place.
	Immutable bool
}

// namespace is one, as far as it matters.
type namespace struct {
	// Skip is the value of the opt-out label.
	Skip string
	// Phase is `Active` or `Terminating`.
	Phase string
}

// action is what to do in a namespace.
type action int

const (
	nothing action = iota
	create
	update
	// The copy is wrong in a way that can't be changed in place.
	recreate
	remove
)

// decide compares what is with what should be; there may be no copy.
func decide(source *source, namespace namespace, copy *copied) action {
	skip := namespace.Skip == "true"
	switch {
	case namespace.Phase == "Terminating":
		// Nothing can be created there, and what is there goes by itself.
		return nothing
	case copy == nil && skip:
		return nothing
	case copy == nil:
		return create
	case skip:
		return remove
	case copy.Type != source.Type:
		return recreate
	case maps.Equal(copy.Data, source.Data):
		return nothing
	case copy.Immutable:
		return recreate
	default:
		return update
	}
}
