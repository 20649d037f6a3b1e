//go:build !wasip1

// Package boathooktest is for `go test`: it makes the objects that functions of a hook receive, and has a host in memory for
// those that use the package kube.
//
//	func TestAnAppIsReadyWithItsReplicas(t *testing.T) {
//		app := boathooktest.Parent[spec](t, `{"apiVersion": "example.com/v1", "kind": "App", "metadata": {"name": "web"},
//			"spec": {"size": 1}}`, boathooktest.Child(`{"apiVersion": "apps/v1", "kind": "Deployment",
//			"metadata": {"name": "web"}, "status": {"readyReplicas": 1}}`))
//		desired, err := reconcile(app)
//		…
//	}
package boathooktest

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/boathook/boathook/sdk/go/kube"
	"github.com/boathook/boathook/sdk/go/reconciling"

	"github.com/boathook/boathook/sdk/go/internal/host"
	"github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_kube"
	"github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_reconciliation"
	wire "github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_types"
	wit "github.com/boathook/boathook/sdk/go/internal/wit/types"
)

// Given is what the cluster has of a parent.
type Given func(t testing.TB, to *boathook_hook_reconciliation.Parent)

// Child is a child of the parent: a text in JSON, or a value as encoding/json writes it.
func Child(object any) Given {
	return func(t testing.TB, to *boathook_hook_reconciliation.Parent) {
		t.Helper()
		ref, _, text := read(t, object)
		to.Children = append(to.Children, boathook_hook_reconciliation.Child{
			ApiVersion: ref.APIVersion, Kind: ref.Kind, Namespace: option(ref.Namespace), Name: ref.Name, Object: text,
		})
	}
}

// Related is an object that the parent refers to by this entry of Related in the configuration.
func Related(entry string, object any) Given {
	return func(t testing.TB, to *boathook_hook_reconciliation.Parent) {
		t.Helper()
		_, _, text := read(t, object)
		to.Related = append(to.Related, boathook_hook_reconciliation.RelatedObject{Name: entry, Object: text})
	}
}

// Parent is an object as the functions of the packages reconciling and finalizing receive it: a text in JSON, or a value as
// encoding/json writes it.
func Parent[Spec any](t testing.TB, object any, given ...Given) *reconciling.Parent[Spec] {
	t.Helper()
	_, _, text := read(t, object)
	from := boathook_hook_reconciliation.Parent{Object: text}
	for _, add := range given {
		add(t, &from)
	}
	parent, err := reconciling.Read[Spec](wire.RunInfo{RunId: "test-1", Hook: "test", Attempt: 1}, "test", from)
	if err != nil {
		t.Fatalf("boathooktest: %v", err)
	}
	return parent
}

// Cluster is a host in memory. It checks no permissions.
type Cluster struct {
	t        testing.TB
	objects  map[kube.Ref]kube.Object
	settings string
	values   *host.Values
	changes  []Change
}

// New has calls of the packages kube and boathook go to a host in memory until the test ends. Only one test at a time has
// one, so it does not go together with t.Parallel.
func New(t testing.TB) *Cluster {
	t.Helper()
	cluster := &Cluster{t: t, objects: map[kube.Ref]kube.Object{}, settings: "{}"}
	if host.Use(cluster.fake()) {
		t.Fatal("boathooktest: another test has a host at this time: leave t.Parallel out")
	}
	t.Cleanup(func() { host.Use(nil) })
	return cluster
}

// Given stores objects, or replaces them: texts in JSON, or values as encoding/json writes them.
func (c *Cluster) Given(objects ...any) *Cluster {
	c.t.Helper()
	for _, object := range objects {
		ref, stored, _ := read(c.t, object)
		c.objects[ref] = stored
	}
	return c
}

// WithSettings are those that the hook reads.
func (c *Cluster) WithSettings(settings any) *Cluster {
	c.t.Helper()
	text, err := json.Marshal(settings)
	if err != nil {
		c.t.Fatalf("boathooktest: settings: %v", err)
	}
	c.settings = string(text)
	return c
}

// WithValues are the values of the hook's module, and its configuration as users wrote it: objects with "global" and the
// section of the module, as texts in JSON, or as values that encoding/json writes. Without them, the hook belongs to no
// module.
func (c *Cluster) WithValues(values, config any) *Cluster {
	c.t.Helper()
	c.values = &host.Values{Values: object(c.t, "values", values), Config: object(c.t, "the configuration", config)}
	return c
}

// Change is a change of a value that a hook made.
type Change struct {
	// Path is a JSON pointer, such as "/web/port".
	Path string
	// Value is the new value in JSON; empty if the value was removed.
	Value kube.JSON
	// Config is true for a change of the configuration.
	Config bool
}

// Changes are what the hook changed in the values of its module and in the configuration, in order. They are not applied:
// the hook sees its values as they were, as in the operator.
func (c *Cluster) Changes() []Change { return c.changes }

// Find reads an object as it is now into a pointer to any type, and tells whether it is there.
func (c *Cluster) Find(ref kube.Ref, into any) bool {
	c.t.Helper()
	object, found := c.objects[ref]
	if found {
		if err := kube.JSON(written(object)).Into(into); err != nil {
			c.t.Fatalf("boathooktest: %s: %v", ref, err)
		}
	}
	return found
}

// Refs are the names of all objects, in order.
func (c *Cluster) Refs() []kube.Ref {
	refs := make([]kube.Ref, 0, len(c.objects))
	for ref := range c.objects {
		refs = append(refs, ref)
	}
	sort.Slice(refs, func(i, j int) bool { return refs[i].String() < refs[j].String() })
	return refs
}

// fake keeps the functions of the host out of the package's documentation.
func (c *Cluster) fake() host.Fake { return (*memory)(c) }

type memory Cluster

type outcome = wit.Result[wit.Option[string], boathook_hook_kube.Failure]

func (m *memory) Settings() string { return m.settings }

const noModule = "the hook belongs to no module in this test: give it values with WithValues"

func (m *memory) ModuleValues() wit.Result[host.Values, string] {
	if m.values == nil {
		return wit.Err[host.Values](noModule)
	}
	return wit.Ok[host.Values, string](*m.values)
}

func (m *memory) Patch(operations string) wit.Result[wit.Unit, string] {
	return m.changed(operations, false)
}

func (m *memory) PatchConfig(operations string) wit.Result[wit.Unit, string] {
	return m.changed(operations, true)
}

func (m *memory) changed(operations string, config bool) wit.Result[wit.Unit, string] {
	m.t.Helper()
	if m.values == nil {
		return wit.Err[wit.Unit](noModule)
	}
	var all []struct {
		Path  string
		Value json.RawMessage
	}
	if err := json.Unmarshal([]byte(operations), &all); err != nil {
		m.t.Fatalf("boathooktest: changes of values: %v: %s", err, operations)
	}
	for _, one := range all {
		m.changes = append(m.changes, Change{one.Path, kube.JSON(one.Value), config})
	}
	return wit.Ok[wit.Unit, string](wit.Unit{})
}

func (m *memory) Get(target wire.ObjectRef) wit.Result[string, boathook_hook_kube.Failure] {
	ref := refOf(target)
	object, found := m.objects[ref]
	if !found {
		return wit.Err[string](missing(ref))
	}
	return wit.Ok[string, boathook_hook_kube.Failure](written(object))
}

func (m *memory) List(query boathook_hook_kube.ListQuery) wit.Result[boathook_hook_kube.Page, boathook_hook_kube.Failure] {
	m.t.Helper()
	if query.FieldSelector.SomeOr("") != "" {
		m.t.Fatal(unknown("field selectors"))
	}
	labels := m.labels(query.LabelSelector.SomeOr(""))
	page := boathook_hook_kube.Page{ResourceVersion: "1"}
	for _, ref := range (*Cluster)(m).Refs() {
		namespace := query.Namespace.SomeOr(ref.Namespace)
		if ref.APIVersion != query.ApiVersion || ref.Kind != query.Kind || ref.Namespace != namespace {
			continue
		}
		if has(m.objects[ref], labels) {
			page.Items = append(page.Items, written(m.objects[ref]))
		}
	}
	return wit.Ok[boathook_hook_kube.Page, boathook_hook_kube.Failure](page)
}

func (m *memory) Write(operation boathook_hook_kube.Operation) outcome {
	m.t.Helper()
	switch operation.Tag() {
	case boathook_hook_kube.OperationCreate:
		return m.create(operation.Create())
	case boathook_hook_kube.OperationUpdate:
		ref, object, _ := read(m.t, operation.Update().Object)
		if _, found := m.objects[ref]; !found {
			return wit.Err[wit.Option[string]](missing(ref))
		}
		return m.put(ref, object)
	case boathook_hook_kube.OperationPatch:
		return m.patch(operation.Patch())
	default:
		remove := operation.Delete()
		ref := refOf(remove.Target)
		if _, found := m.objects[ref]; !found && !remove.Options.IgnoreMissing {
			return wit.Err[wit.Option[string]](missing(ref))
		}
		delete(m.objects, ref)
		return nothing()
	}
}

func (m *memory) create(create boathook_hook_kube.CreateOp) outcome {
	m.t.Helper()
	if create.Subresource.Tag() == wit.OptionSome {
		m.t.Fatal(unknown("the creation of the subresource " + create.Subresource.Some().F0))
	}
	ref, object, _ := read(m.t, create.Object)
	if _, found := m.objects[ref]; found {
		switch create.IfExists {
		case boathook_hook_kube.IfExistsKeep:
			return nothing()
		case boathook_hook_kube.IfExistsFail:
			return wit.Err[wit.Option[string]](refused(boathook_hook_kube.ReasonAlreadyExists, 409, fmt.Sprintf("%s is there already", ref)))
		}
	}
	return m.put(ref, object)
}

func (m *memory) patch(patch boathook_hook_kube.PatchOp) outcome {
	m.t.Helper()
	ref := refOf(patch.Target)
	found, exists := m.objects[ref]
	var text string
	switch patch.Patch.Tag() {
	case boathook_hook_kube.PatchMerge:
		if !exists && patch.IgnoreMissing {
			return nothing()
		}
		if !exists {
			return wit.Err[wit.Option[string]](missing(ref))
		}
		text = patch.Patch.Merge()
	case boathook_hook_kube.PatchApply:
		text = patch.Patch.Apply().F0
	default:
		m.t.Fatal(unknown("JSON patches, strategic patches and jq"))
	}
	var change any
	if err := json.Unmarshal([]byte(text), &change); err != nil {
		m.t.Fatalf("boathooktest: the patch of %s: %v", ref, err)
	}
	object, ok := merged(map[string]any(found), change).(map[string]any)
	if !ok {
		m.t.Fatalf("boathooktest: the patch of %s is not an object", ref)
	}
	return m.put(ref, object)
}

func (m *memory) put(ref kube.Ref, object kube.Object) outcome {
	m.objects[ref] = object
	return wit.Ok[wit.Option[string], boathook_hook_kube.Failure](wit.Some(written(object)))
}

func (m *memory) labels(selector string) map[string]string {
	m.t.Helper()
	labels := map[string]string{}
	for _, part := range strings.Split(selector, ",") {
		if part == "" {
			continue
		}
		name, value, found := strings.Cut(strings.Replace(part, "==", "=", 1), "=")
		if !found || strings.ContainsAny(part, "!()") {
			m.t.Fatal(unknown("the label selector " + selector))
		}
		labels[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return labels
}

func has(object kube.Object, labels map[string]string) bool {
	metadata, _ := object["metadata"].(map[string]any)
	found, _ := metadata["labels"].(map[string]any)
	for name, value := range labels {
		if found[name] != value {
			return false
		}
	}
	return true
}

// merged is a JSON merge patch. It changes neither of its arguments.
func merged(target, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	result := map[string]any{}
	before, _ := target.(map[string]any)
	for name, value := range before {
		result[name] = value
	}
	for name, value := range changes {
		if value == nil {
			delete(result, name)
			continue
		}
		result[name] = merged(result[name], value)
	}
	return result
}

// read reads an object, and gives its text.
func read(t testing.TB, object any) (kube.Ref, kube.Object, string) {
	t.Helper()
	text, ok := object.(string)
	if !ok {
		encoded, err := json.Marshal(object)
		if err != nil {
			t.Fatalf("boathooktest: can't write a %T as JSON: %v", object, err)
		}
		text = string(encoded)
	}
	var head struct {
		APIVersion, Kind string
		Metadata         struct{ Namespace, Name string }
	}
	var whole kube.Object
	for _, into := range []any{&head, &whole} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatalf("boathooktest: an object: %v: %s", err, text)
		}
	}
	if head.APIVersion == "" || head.Kind == "" || head.Metadata.Name == "" {
		t.Fatalf("boathooktest: an object needs apiVersion, kind and metadata.name: %s", text)
	}
	return kube.Ref{
		APIVersion: head.APIVersion, Kind: head.Kind, Namespace: head.Metadata.Namespace, Name: head.Metadata.Name,
	}, whole, text
}

// object is the text of an object.
func object(t testing.TB, what string, value any) string {
	t.Helper()
	text, ok := value.(string)
	if !ok {
		encoded, err := json.Marshal(value)
		if err != nil {
			t.Fatalf("boathooktest: %s: %v", what, err)
		}
		text = string(encoded)
	}
	var whole map[string]any
	if err := json.Unmarshal([]byte(text), &whole); err != nil {
		t.Fatalf("boathooktest: %s: %v: %s", what, err, text)
	}
	return text
}

func written(object kube.Object) string {
	// It was read from JSON.
	text, _ := json.Marshal(object)
	return string(text)
}

func refOf(target wire.ObjectRef) kube.Ref {
	return kube.Ref{
		APIVersion: target.ApiVersion, Kind: target.Kind, Namespace: target.Namespace.SomeOr(""), Name: target.Name,
	}
}

func option(text string) wit.Option[string] {
	if text == "" {
		return wit.None[string]()
	}
	return wit.Some(text)
}

func nothing() outcome {
	return wit.Ok[wit.Option[string], boathook_hook_kube.Failure](wit.None[string]())
}

func missing(ref kube.Ref) boathook_hook_kube.Failure {
	return refused(boathook_hook_kube.ReasonNotFound, 404, fmt.Sprintf("there is no %s", ref))
}

func refused(reason boathook_hook_kube.Reason, code uint16, message string) boathook_hook_kube.Failure {
	return boathook_hook_kube.Failure{Reason: reason, Message: message, Code: wit.Some(code)}
}

func unknown(what string) string {
	return "boathooktest: the host in memory does not know " + what + ": test this with a scenario of `boathook test`"
}
