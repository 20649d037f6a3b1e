// Package jq runs programs of jq.
//
// The parser is that of gojq, as a library. The evaluator is ours, because gojq keeps objects in Go's maps and sorts their
// keys, where scripts print keys in the order in which they came: a change of that would touch all of it.
package jq

import (
	"math"
	"sort"
	"strings"
)

// A value is nil, bool, float64, Number, string, []any or *Object.

// Number is a number whose text is kept, because a float would lose digits. It behaves as its float.
type Number struct {
	text  string
	float float64
}

// Object is an object with its keys in order.
type Object struct {
	keys   []string
	values map[string]any
}

// NewObject returns an empty object.
func NewObject() *Object { return &Object{values: map[string]any{}} }

// Get returns the value of a key, or null.
func (o *Object) Get(key string) (any, bool) {
	v, ok := o.values[key]
	return v, ok
}

// Set changes or adds a key.
func (o *Object) Set(key string, value any) {
	if _, ok := o.values[key]; !ok {
		o.keys = append(o.keys, key)
	}
	o.values[key] = value
}

// Keys are the keys in order.
func (o *Object) Keys() []string { return o.keys }

func (o *Object) sorted() []string {
	keys := append([]string(nil), o.keys...)
	sort.Strings(keys)
	return keys
}

func (o *Object) copy() *Object {
	c := &Object{keys: append([]string(nil), o.keys...), values: make(map[string]any, len(o.values))}
	for k, v := range o.values {
		c.values[k] = v
	}
	return c
}

func (o *Object) without(key string) *Object {
	c := NewObject()
	for _, k := range o.keys {
		if k != key {
			c.Set(k, o.values[k])
		}
	}
	return c
}

// plain turns a Number into its float.
func plain(v any) any {
	if n, ok := v.(Number); ok {
		return n.float
	}
	return v
}

func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case float64, Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

func rank(v any) int {
	switch v := v.(type) {
	case nil:
		return 0
	case bool:
		if v {
			return 2
		}
		return 1
	case float64, Number:
		return 3
	case string:
		return 4
	case []any:
		return 5
	}
	return 6
}

// compare is the order of jq.
func compare(a, b any) int {
	if d := rank(a) - rank(b); d != 0 {
		return d
	}
	switch x := plain(a).(type) {
	case float64:
		y := plain(b).(float64)
		switch {
		case x < y || math.IsNaN(x):
			return -1
		case x > y:
			return 1
		}
		return 0
	case string:
		return strings.Compare(x, b.(string))
	case []any:
		y := b.([]any)
		for i := 0; i < len(x) && i < len(y); i++ {
			if d := compare(x[i], y[i]); d != 0 {
				return d
			}
		}
		return len(x) - len(y)
	case *Object:
		y := b.(*Object)
		p, q := x.sorted(), y.sorted()
		for i := 0; i < len(p) && i < len(q); i++ {
			if d := strings.Compare(p[i], q[i]); d != 0 {
				return d
			}
		}
		if d := len(p) - len(q); d != 0 {
			return d
		}
		for _, k := range p {
			if d := compare(x.values[k], y.values[k]); d != 0 {
				return d
			}
		}
	}
	return 0
}

func truthy(v any) bool { return v != nil && v != false }

func sortValues(list []any) []any {
	sorted := append([]any(nil), list...)
	sort.SliceStable(sorted, func(i, j int) bool { return compare(sorted[i], sorted[j]) < 0 })
	return sorted
}
