// Package metrics has what a hook reports to the operator's /metrics/hooks.
//
// An operation is checked at the call, and applied when the run has succeeded.
package metrics

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/boathook/boathook/sdk/go/internal/host"
	"github.com/boathook/boathook/sdk/go/internal/wit/runtime"
	wit "github.com/boathook/boathook/sdk/go/internal/wit/types"
)

// Labels are names and values; an empty value is the same as no label.
type Labels map[string]string

// Group is a set of series that each run reports as a whole: a series that the run does not report vanishes. With the
// empty name, series are in no group.
type Group string

// Add adds to a counter: a finite number, 0 or more.
func Add(name string, value float64, labels Labels) error { return Group("").Add(name, value, labels) }

// Set sets a gauge to a finite number.
func Set(name string, value float64, labels Labels) error { return Group("").Set(name, value, labels) }

// Observe records one observation in a histogram with these upper bounds: finite, ascending, and always the same ones.
func Observe(name string, value float64, buckets []float64, labels Labels) error {
	return Group("").Observe(name, value, buckets, labels)
}

// Add adds to a counter in the group.
func (g Group) Add(name string, value float64, labels Labels) error {
	return checked(func() wit.Result[wit.Unit, string] { return host.Add(name, value, labels.toWire(), g.toWire()) })
}

// Set sets a gauge in the group.
func (g Group) Set(name string, value float64, labels Labels) error {
	return checked(func() wit.Result[wit.Unit, string] { return host.Set(name, value, labels.toWire(), g.toWire()) })
}

// Observe records one observation in a histogram in the group.
func (g Group) Observe(name string, value float64, buckets []float64, labels Labels) error {
	return checked(func() wit.Result[wit.Unit, string] {
		return host.Observe(name, value, buckets, labels.toWire(), g.toWire())
	})
}

// Expire removes all series that this hook reported in the group.
func (g Group) Expire() error {
	return checked(func() wit.Result[wit.Unit, string] { return host.Expire(string(g)) })
}

func checked(call func() wit.Result[wit.Unit, string]) error {
	runtime.Enter()
	defer runtime.Leave()
	if result := call(); result.IsErr() {
		return errors.New(strings.Clone(result.Err()))
	}
	return nil
}

func (l Labels) toWire() []wit.Tuple2[string, string] {
	pairs := make([]wit.Tuple2[string, string], 0, len(l))
	for _, name := range slices.Sorted(maps.Keys(l)) {
		pairs = append(pairs, wit.Tuple2[string, string]{F0: name, F1: l[name]})
	}
	return pairs
}

func (g Group) toWire() wit.Option[string] {
	if g == "" {
		return wit.None[string]()
	}
	return wit.Some(string(g))
}
