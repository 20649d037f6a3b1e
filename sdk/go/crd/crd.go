// Package crd makes the definition of a custom resource (CustomResourceDefinition) from a hook's own types.
//
//	type spec struct {
//		Image string `json:"image" minLength:"1" description:"The image of the Pods."`
//		Size  int    `json:"size" minimum:"0" default:"1"`
//	}
//
//	type status struct {
//		ReadyReplicas int `json:"readyReplicas"`
//	}
//
//	func init() {
//		crd.Define(crd.Definition{
//			APIVersion: "example.com/v1alpha1", Kind: "WebApp", Spec: spec{}, Status: status{},
//			Columns: []crd.Column{{Name: "Image", Type: "string", Path: ".spec.image"}},
//		})
//	}
//
// `boathook build` compares it with the project's crd.yaml, and `boathook build --write-crd` writes the file. Nothing calls
// this package while a hook works.
//
// A field has the name of its json tag. It is required unless the tag has omitempty or omitzero, its type is a pointer, or it has
// a default. These tags say what a type does not:
//
//	description, pattern, format        texts
//	minimum, maximum                    numbers
//	minLength, maxLength                of texts
//	minItems, maxItems                  of lists
//	enum                                values, with commas between them
//	default                             a text as it is, anything else as JSON
//	listMapKeys                         names of fields that tell the items of a list apart, with commas between them
//
// The types of Kubernetes that say what they are in a schema, such as metav1.Time, intstr.IntOrString and resource.Quantity,
// do so here, too, by their functions OpenAPISchemaType and OpenAPISchemaFormat; so can types of your own.
package crd

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/boathook/boathook/sdk/go/internal/defining/export_boathook_hook_defining"
	"github.com/boathook/boathook/sdk/go/internal/failure"
)

// Definition is a custom resource.
type Definition struct {
	// APIVersion is `GROUP/VERSION`.
	APIVersion string
	// Kind is `WebApp`.
	Kind string
	// Spec is any value of the type of `spec`: a struct.
	Spec any
	// Status is any value of the type of `status`, or nil. The definition also has what the operator writes, and none of its own
	// fields is required.
	Status any
	// Plural is the kind in lower case with an s, es or ies when it is empty.
	Plural string
	// Singular is the kind in lower case when it is empty.
	Singular string
	// ShortNames are for kubectl.
	ShortNames []string
	// Categories are such as `all`.
	Categories []string
	// ClusterScoped objects are in no namespace.
	ClusterScoped bool
	// Columns are those of `kubectl get`.
	Columns []Column
}

// Column is one of `kubectl get`.
type Column struct {
	// Name is above it.
	Name string `json:"name"`
	// Type is `string`, `integer`, `number`, `boolean` or `date`.
	Type string `json:"type"`
	// Path is `.spec.image`, `.status.conditions[?(@.type=="Ready")].status`.
	Path string `json:"jsonPath"`
	// Priority above 0 shows the column with `--output wide` only.
	Priority int `json:"priority,omitempty"`
	// Description describes it.
	Description string `json:"description,omitempty"`
}

var defined []Definition

func init() {
	export_boathook_hook_defining.OnDefinitions = func() ([]string, error) {
		return failure.Guard(func() ([]string, error) { return texts(defined) })
	}
}

// Define adds a definition; call it in a function init.
func Define(definition Definition) { defined = append(defined, definition) }

func texts(definitions []Definition) ([]string, error) {
	all, seen := []string{}, map[string]bool{}
	for _, definition := range definitions {
		object, err := definition.Object()
		if err != nil {
			return nil, err
		}
		name := object["metadata"].(fields)["name"].(string)
		if seen[name] {
			return nil, fmt.Errorf("%s is defined twice", name)
		}
		seen[name] = true
		text, err := json.Marshal(object)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, string(text))
	}
	return all, nil
}

type fields = map[string]any

// Object is the CustomResourceDefinition. The error names the field that it cannot express.
func (d Definition) Object() (map[string]any, error) {
	group, version, _ := strings.Cut(d.APIVersion, "/")
	if group == "" || version == "" {
		return nil, fmt.Errorf("%q is not the apiVersion of a custom resource: write GROUP/VERSION", d.APIVersion)
	}
	if d.Kind == "" {
		return nil, fmt.Errorf("a custom resource of %s has no Kind", d.APIVersion)
	}
	lower := strings.ToLower(d.Kind)
	plural, singular := d.Plural, d.Singular
	if plural == "" {
		plural = pluralOf(lower)
	}
	if singular == "" {
		singular = lower
	}
	names := fields{"kind": d.Kind, "plural": plural, "singular": singular}
	if len(d.ShortNames) > 0 {
		names["shortNames"] = d.ShortNames
	}
	if len(d.Categories) > 0 {
		names["categories"] = d.Categories
	}
	spec, err := object(d.Spec, d.Kind+".spec")
	if err != nil {
		return nil, err
	}
	status, err := statusOf(d.Status, d.Kind+".status")
	if err != nil {
		return nil, err
	}
	schema := fields{"type": "object", "required": []string{"spec"}, "properties": fields{"spec": spec, "status": status}}
	ofVersion := fields{
		"name": version, "served": true, "storage": true, "subresources": fields{"status": fields{}},
		"schema": fields{"openAPIV3Schema": schema},
	}
	if len(d.Columns) > 0 {
		ofVersion["additionalPrinterColumns"] = d.Columns
	}
	scope := "Namespaced"
	if d.ClusterScoped {
		scope = "Cluster"
	}
	return fields{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   fields{"name": plural + "." + group},
		"spec":       fields{"group": group, "scope": scope, "names": names, "versions": []any{ofVersion}},
	}, nil
}

func pluralOf(word string) string {
	for _, end := range []string{"s", "x", "z", "ch", "sh"} {
		if strings.HasSuffix(word, end) {
			return word + "es"
		}
	}
	stem, isY := strings.CutSuffix(word, "y")
	if isY && !strings.ContainsAny(stem[max(0, len(stem)-1):], "aeiou") {
		return stem + "ies"
	}
	return word + "s"
}

// statusOf also has what the operator writes. It writes a status without the hook's fields, too, so that none is required.
func statusOf(value any, place string) (fields, error) {
	schema := fields{"type": "object"}
	if value != nil {
		var err error
		if schema, err = object(value, place); err != nil {
			return nil, err
		}
	}
	delete(schema, "required")
	properties, has := schema["properties"].(fields)
	if !has {
		properties = fields{}
		schema["properties"] = properties
	}
	text, integer := fields{"type": "string"}, fields{"type": "integer"}
	properties["observedGeneration"] = integer
	properties["conditions"] = fields{
		"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []string{"type"},
		"items": fields{
			"type":     "object",
			"required": []string{"type", "status"},
			"properties": fields{
				"type": text, "status": text, "observedGeneration": integer, "reason": text, "message": text,
				"lastTransitionTime": fields{"type": "string", "format": "date-time"},
			},
		},
	}
	return schema, nil
}
