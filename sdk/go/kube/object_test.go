package kube

import (
	"encoding/json"
	"testing"
)

func TestAnObjectComesOutAsItWentIn(t *testing.T) {
	text := `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"labels":{"a/b":"c"},"name":"web","namespace":"n"},` +
		`"spec":{"big":9007199254740993,"list":[1,0.1,null,true]}}`
	object, err := JSON(text).Object()
	if err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(object)
	if err != nil || string(out) != text {
		t.Errorf("%s %v", out, err)
	}
	if object.Ref() != (Ref{"apps/v1", "Deployment", "n", "web"}) || object.Label("a/b") != "c" || object.Label("no") != "" {
		t.Error(object)
	}
	if object.At("spec", "list", "x") != nil || object.Text("spec", "big") != "" {
		t.Error("there is nothing")
	}
	object.Fields("metadata", "annotations")["x"] = "y"
	if object.Annotation("x") != "y" {
		t.Error(object)
	}
}

func TestWhatIsNoValueIsToldSo(t *testing.T) {
	var into struct{ A int }
	for _, text := range []JSON{"", "[]", "{"} {
		if err := text.Into(&into); err == nil {
			t.Errorf("%q", text)
		}
	}
	var kept JSON
	if err := JSON(`{"a": 1}`).Into(&kept); err != nil || kept != `{"a": 1}` {
		t.Error(kept, err)
	}
}
