// Package kube is the Kubernetes API, within the hook's grants.
//
// Objects are any value that encoding/json takes: a struct of one's own, those of k8s.io/api, or an Object. Every call is
// checked by the host; the hook never sees a token.
package kube

import (
	"bytes"
	"encoding/json"
	"strings"

	wire "github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_types"
	wit "github.com/boathook/boathook/sdk/go/internal/wit/types"
)

// Ref names one object.
type Ref struct {
	// APIVersion is `v1`, `apps/v1`.
	APIVersion string
	// Kind is `Pod`.
	Kind string
	// Namespace is empty for cluster-scoped objects.
	Namespace string
	// Name is `metadata.name`.
	Name string
}

// String is `Pod default/web`.
func (r Ref) String() string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}

// toWire is for the bindings.
func (r Ref) toWire() wire.ObjectRef {
	return wire.ObjectRef{ApiVersion: r.APIVersion, Kind: r.Kind, Namespace: option(r.Namespace), Name: r.Name}
}

type wireRef = wire.ObjectRef

func option(text string) wit.Option[string] {
	if text == "" {
		return wit.None[string]()
	}
	return wit.Some(text)
}

// Object is an object of any kind. Read from JSON, its numbers are of the type json.Number, so that they come out as they
// went in.
type Object map[string]any

// UnmarshalJSON reads an object.
func (o *Object) UnmarshalJSON(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode((*map[string]any)(o))
}

// At is the value at a path of keys, or nil.
func (o Object) At(path ...string) any {
	var value any = map[string]any(o)
	for _, key := range path {
		fields, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = fields[key]
	}
	return value
}

// Text is the text at a path of keys; empty when there is another value or none.
func (o Object) Text(path ...string) string {
	text, _ := o.At(path...).(string)
	return text
}

// Fields is the mapping at a path of keys, which is made where there is none.
func (o Object) Fields(path ...string) map[string]any {
	fields := map[string]any(o)
	for _, key := range path {
		next, ok := fields[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			fields[key] = next
		}
		fields = next
	}
	return fields
}

// Name is `metadata.name`.
func (o Object) Name() string { return o.Text("metadata", "name") }

// Namespace is `metadata.namespace`.
func (o Object) Namespace() string { return o.Text("metadata", "namespace") }

// Label is the value of a label; empty when it has none.
func (o Object) Label(key string) string { return o.Text("metadata", "labels", key) }

// Annotation is the value of an annotation; empty when it has none.
func (o Object) Annotation(key string) string { return o.Text("metadata", "annotations", key) }

// Ref names the object.
func (o Object) Ref() Ref {
	return Ref{o.Text("apiVersion"), o.Text("kind"), o.Namespace(), o.Name()}
}

// Group is the group of an apiVersion; empty for the core one.
func Group(apiVersion string) string {
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		return ""
	}
	return group
}
