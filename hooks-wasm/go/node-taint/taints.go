package main

import (
	"maps"
	"slices"
	"strings"
)

// Labels with this prefix are taints, and taints with it come from labels.
const prefix = "taint.boathook.dev/"

var effects = []string{"NoSchedule", "PreferNoSchedule", "NoExecute"}

// node is a node, as far as it matters.
type node struct {
	Labels map[string]string
	// Taints are as they are: what others put into theirs stays.
	Taints []taint
}

type taint map[string]any

// wholeNode is a node as the API server has it.
type wholeNode struct {
	Metadata struct {
		ResourceVersion string
		Labels          map[string]string
	}
	Spec struct{ Taints []taint }
}

// invalid are labels with our prefix whose value is no effect.
func (n node) invalid() []string {
	return n.ours(func(effect string) bool { return !slices.Contains(effects, effect) })
}

func (n node) ours(is func(effect string) bool) []string {
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(n.Labels)) {
		if strings.HasPrefix(key, prefix) && is(n.Labels[key]) {
			keys = append(keys, key)
		}
	}
	return keys
}

// wanted are the taints that a node should have, and whether it does not have them.
func (n node) wanted() ([]taint, bool) {
	missing := n.ours(func(effect string) bool { return slices.Contains(effects, effect) })
	var taints []taint
	for _, had := range n.Taints {
		key := had.text("key")
		asked := slices.Index(missing, key)
		switch {
		case asked >= 0 && had.text("effect") == n.Labels[key] && had.text("value") == "":
			// It stays as it is, with the time it was added.
			missing = slices.Delete(missing, asked, asked+1)
			taints = append(taints, had)
		case !strings.HasPrefix(key, prefix):
			taints = append(taints, had)
		}
	}
	if len(missing) == 0 && len(taints) == len(n.Taints) {
		return nil, false
	}
	for _, key := range missing {
		taints = append(taints, taint{"key": key, "effect": n.Labels[key]})
	}
	return taints, true
}

func (t taint) text(field string) string {
	text, _ := t[field].(string)
	return text
}
