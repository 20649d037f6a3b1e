package main

import (
	"reflect"
	"testing"
)

func TestTaintsFollowLabelsAndThoseOfOthersStay(t *testing.T) {
	others := taint{"key": "example.com/other", "effect": "NoExecute"}
	ours := taint{"key": "taint.boathook.dev/gpu", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z"}
	label := map[string]string{"taint.boathook.dev/gpu": "NoSchedule", "zone": "a"}
	for name, test := range map[string]struct {
		node   node
		wanted []taint
		change bool
	}{
		"nothing to do":   {node{label, []taint{others, ours}}, nil, false},
		"label is new":    {node{label, []taint{others}}, []taint{others, {"key": "taint.boathook.dev/gpu", "effect": "NoSchedule"}}, true},
		"label is gone":   {node{nil, []taint{others, ours}}, []taint{others}, true},
		"no effect":       {node{map[string]string{"taint.boathook.dev/gpu": "Maybe"}, nil}, nil, false},
		"last one leaves": {node{nil, []taint{ours}}, nil, true},
	} {
		wanted, change := test.node.wanted()
		if change != test.change || !reflect.DeepEqual(wanted, test.wanted) {
			t.Errorf("%s: %v, %v", name, wanted, change)
		}
	}
}
