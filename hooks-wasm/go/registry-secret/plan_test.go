package main

import "testing"

func TestWhatACopyNeeds(t *testing.T) {
	data, other := map[string]string{"a": "MQ=="}, map[string]string{"a": "Mg=="}
	source := &source{Type: "Opaque", Data: data}
	for name, test := range map[string]struct {
		namespace namespace
		copy      *copied
		action    action
	}{
		"no copy":            {namespace{}, nil, create},
		"the same":           {namespace{}, &copied{"Opaque", data, false}, nothing},
		"the same, for ever": {namespace{}, &copied{"Opaque", data, true}, nothing},
		"other data":         {namespace{}, &copied{"Opaque", other, false}, update},
		"immutable":          {namespace{}, &copied{"Opaque", other, true}, recreate},
		"other type":         {namespace{}, &copied{"x", data, false}, recreate},
		"opted out":          {namespace{Skip: "true"}, &copied{"Opaque", data, false}, remove},
		"opted out before":   {namespace{Skip: "true"}, nil, nothing},
		"not opted out":      {namespace{Skip: "false"}, nil, create},
		"going":              {namespace{Phase: "Terminating"}, nil, nothing},
	} {
		if action := decide(source, test.namespace, test.copy); action != test.action {
			t.Errorf("%s: %v", name, action)
		}
	}
}
