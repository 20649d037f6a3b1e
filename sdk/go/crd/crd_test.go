package crd

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/boathook/boathook/sdk/go/internal/defining/export_boathook_hook_defining"
)

type spec struct {
	Image string `json:"image" minLength:"1"`
	Size  int    `json:"size" minimum:"0" default:"1"`
}

type status struct {
	ReadyReplicas int `json:"readyReplicas"`
}

func decoded(t *testing.T, text string) (value any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// made is a part of a definition, as others read it.
func made(t *testing.T, definition Definition) map[string]any {
	t.Helper()
	object, err := definition.Object()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return decoded(t, string(text)).(map[string]any)
}

func schema(t *testing.T, spec any) any {
	t.Helper()
	versions := made(t, Definition{APIVersion: "example.com/v1", Kind: "Thing", Spec: spec})["spec"].(map[string]any)["versions"].([]any)
	root := versions[0].(map[string]any)["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)
	return root["properties"].(map[string]any)["spec"]
}

func equal(t *testing.T, found any, expected string) {
	t.Helper()
	if !reflect.DeepEqual(found, decoded(t, expected)) {
		text, _ := json.MarshalIndent(found, "", " ")
		t.Errorf("%s", text)
	}
}

func TestADefinitionIsWhole(t *testing.T) {
	equal(t, any(made(t, Definition{
		APIVersion: "example.com/v1alpha1", Kind: "WebApp", Spec: spec{}, Status: &status{}, ShortNames: []string{"wa"}, Categories: []string{"all"},
		Columns: []Column{
			{Name: "Image", Type: "string", Path: ".spec.image"},
			{Name: "Age", Type: "date", Path: ".metadata.creationTimestamp", Priority: 1, Description: "how old it is"},
		},
	})), `{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "webapps.example.com"},
		"spec": {
			"group": "example.com", "scope": "Namespaced",
			"names": {"kind": "WebApp", "plural": "webapps", "singular": "webapp", "shortNames": ["wa"], "categories": ["all"]},
			"versions": [{
				"name": "v1alpha1", "served": true, "storage": true, "subresources": {"status": {}},
				"additionalPrinterColumns": [
					{"name": "Image", "type": "string", "jsonPath": ".spec.image"},
					{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp", "priority": 1, "description": "how old it is"}
				],
				"schema": {"openAPIV3Schema": {"type": "object", "required": ["spec"], "properties": {
					"spec": {"type": "object", "required": ["image"], "properties": {
						"image": {"type": "string", "minLength": 1}, "size": {"type": "integer", "minimum": 0, "default": 1}
					}},
					"status": {"type": "object", "properties": {
						"readyReplicas": {"type": "integer"},
						"observedGeneration": {"type": "integer"},
						"conditions": {
							"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
							"items": {"type": "object", "required": ["type", "status"], "properties": {
								"type": {"type": "string"}, "status": {"type": "string"}, "observedGeneration": {"type": "integer"},
								"lastTransitionTime": {"type": "string", "format": "date-time"},
								"reason": {"type": "string"}, "message": {"type": "string"}
							}}
						}
					}}
				}}}
			}]
		}
	}`)
	cluster := made(t, Definition{APIVersion: "example.com/v1", Kind: "NetworkPolicy", Spec: spec{}, ClusterScoped: true})
	if cluster["metadata"].(map[string]any)["name"] != "networkpolicies.example.com" || cluster["spec"].(map[string]any)["scope"] != "Cluster" {
		t.Errorf("%v", cluster)
	}
	for word, plural := range map[string]string{"day": "days", "box": "boxes", "policy": "policies", "y": "ies", "batch": "batches"} {
		if pluralOf(word) != plural {
			t.Errorf("%s: %s", word, pluralOf(word))
		}
	}
}

type level string

type quantity struct{ any int }

func (*quantity) OpenAPISchemaType() []string { return []string{"string"} }
func (*quantity) OpenAPISchemaFormat() string { return "" }
func (quantity) MarshalJSON() ([]byte, error) { return []byte(`""`), nil }

type intOrString struct{}

func (intOrString) OpenAPISchemaType() []string { return []string{"string"} }
func (intOrString) OpenAPISchemaFormat() string { return "int-or-string" }

type host struct{}

func (host) MarshalText() ([]byte, error) { return nil, nil }

type Common struct {
	Paused *bool `json:"paused"`
}

type port struct {
	Name string `json:"name"`
	Port uint16 `json:"port" minimum:"1" maximum:"65535" description:"Of the Pods."`
}

type everything struct {
	Common
	When     time.Time         `json:"when"`
	Share    *float64          `json:"share"`
	Wide     int64             `json:"wide,omitempty"`
	Level    level             `json:"level" enum:"low,high" default:"low"`
	Grade    int               `json:"grade,omitzero" enum:"1,2"`
	Ports    []port            `json:"ports" listMapKeys:"name" maxItems:"3" default:"[]"`
	Labels   map[string]string `json:"labels,omitempty"`
	Template map[string]any    `json:"template,omitempty"`
	Rest     any               `json:"rest,omitempty"`
	Raw      json.RawMessage   `json:"raw,omitempty"`
	Memory   quantity          `json:"memory,omitempty"`
	Target   intOrString       `json:"target,omitempty"`
	Host     host              `json:"host,omitempty" pattern:"^a,b$"`
	Data     []byte            `json:"data,omitempty"`
	Count    int               `json:"count,string,omitempty"`
	Hidden   chan int          `json:"-"`
	internal chan int
}

func TestTypesAreStructuralSchemas(t *testing.T) {
	equal(t, schema(t, everything{}), `{"type": "object", "required": ["when"], "properties": {
		"paused": {"type": "boolean"},
		"when": {"type": "string", "format": "date-time"},
		"share": {"type": "number", "format": "double"},
		"wide": {"type": "integer", "format": "int64"},
		"level": {"type": "string", "enum": ["low", "high"], "default": "low"},
		"grade": {"type": "integer", "enum": [1, 2]},
		"ports": {
			"type": "array", "maxItems": 3, "default": [], "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
			"items": {"type": "object", "required": ["name", "port"], "properties": {
				"name": {"type": "string"},
				"port": {"type": "integer", "minimum": 1, "maximum": 65535, "description": "Of the Pods."}
			}}
		},
		"labels": {"type": "object", "additionalProperties": {"type": "string"}},
		"template": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
		"rest": {"x-kubernetes-preserve-unknown-fields": true},
		"raw": {"x-kubernetes-preserve-unknown-fields": true},
		"memory": {"type": "string"},
		"target": {"x-kubernetes-int-or-string": true},
		"host": {"type": "string", "pattern": "^a,b$"},
		"data": {"type": "string", "format": "byte"},
		"count": {"type": "string"}
	}}`)
}

type node struct {
	Children []node `json:"children"`
}

type marshals struct{}

func (marshals) MarshalJSON() ([]byte, error) { return nil, nil }

func TestWhatADefinitionCannotExpressIsNamedWithItsPlace(t *testing.T) {
	for told, spec := range map[string]any{
		"Thing.spec.children[]: crd.node contains itself": node{},
		"Thing.spec.one.*: a definition cannot express chan int": struct {
			One map[string]chan int `json:"one"`
		}{},
		"Thing.spec.by: the keys of an object are texts": struct {
			By map[int]string `json:"by"`
		}{},
		"Thing.spec.Image: a field of a definition needs the name that it has in YAML: write `json:\"image\"`": struct{ Image string }{},
		"Thing.spec.one: crd.marshals writes JSON of its own": struct {
			One marshals `json:"one"`
		}{},
		"Thing.spec.one: the tag minimum is not a number: \"x\"": struct {
			One int `json:"one" minimum:"x"`
		}{},
		"Thing.spec.one: the tag minLength is not for the type integer": struct {
			One int `json:"one" minLength:"1"`
		}{},
		"Thing.spec.one: the tag default is not of the type integer: \"1.5\"": struct {
			One int `json:"one" default:"1.5"`
		}{},
		"Thing.spec.one: the tag enum is not of the type boolean: \"a\"": struct {
			One bool `json:"one" enum:"a"`
		}{},
		"Thing.spec.one: the tag listMapKeys is not for the type string": struct {
			One string `json:"one" listMapKeys:"a"`
		}{},
		"Thing.spec: its type must be a struct, and it is string": "text",
		"Thing.spec: its type must be a struct, and it is <nil>":  nil,
	} {
		_, err := Definition{APIVersion: "example.com/v1", Kind: "Thing", Spec: spec}.Object()
		if err == nil || !strings.HasPrefix(err.Error(), told) {
			t.Errorf("%s: %v", told, err)
		}
	}
	for told, definition := range map[string]Definition{
		`"v1" is not the apiVersion of a custom resource`: {APIVersion: "v1", Kind: "Thing", Spec: spec{}},
		"a custom resource of example.com/v1 has no Kind": {APIVersion: "example.com/v1", Spec: spec{}},
		"Thing.status: its type must be a struct":         {APIVersion: "example.com/v1", Kind: "Thing", Spec: spec{}, Status: 1},
	} {
		if _, err := definition.Object(); err == nil || !strings.HasPrefix(err.Error(), told) {
			t.Errorf("%s: %v", told, err)
		}
	}
}

func TestTheHostGetsAllDefinitions(t *testing.T) {
	defer func() { defined = nil }()
	Define(Definition{APIVersion: "example.com/v1", Kind: "Thing", Spec: spec{}})
	Define(Definition{APIVersion: "example.com/v1", Kind: "Other", Spec: spec{}})
	all := export_boathook_hook_defining.Definitions()
	if all.IsErr() || len(all.Ok()) != 2 || !strings.Contains(all.Ok()[1], "others.example.com") {
		t.Errorf("%+v", all)
	}
	Define(Definition{APIVersion: "example.com/v2", Kind: "Thing", Spec: spec{}})
	twice := export_boathook_hook_defining.Definitions()
	if !twice.IsErr() || twice.Err() != "things.example.com is defined twice" {
		t.Errorf("%+v", twice)
	}
}
