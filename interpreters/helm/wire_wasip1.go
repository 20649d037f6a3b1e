package main

import (
	"errors"
	"strings"
	"unsafe"

	"github.com/boathook/boathook/interpreters/helm/render"
)

func main() {}

// Values lie in memory as the component model says: a text or a list is its address and its length.

//go:wasmimport boathook:chart/cluster@0.1.0 lookup
func clusterLookup(
	apiVersion unsafe.Pointer, apiVersionLength uint32, kind unsafe.Pointer, kindLength uint32,
	namespace unsafe.Pointer, namespaceLength uint32, name unsafe.Pointer, nameLength uint32, result unsafe.Pointer,
)

// view is a text or a list.
type view struct{ address, length uint32 }

func (v view) pointer() unsafe.Pointer { return unsafe.Pointer(uintptr(v.address)) }

func (v view) text() string { return unsafe.String((*byte)(v.pointer()), v.length) }

func (v view) bytes() []byte { return unsafe.Slice((*byte)(v.pointer()), v.length) }

func (v view) texts() []string {
	texts := make([]string, v.length)
	for i, one := range items[view](v) {
		texts[i] = one.text()
	}
	return texts
}

func items[T any](v view) []T { return unsafe.Slice((*T)(v.pointer()), v.length) }

// file, request, manifest, hook and result are the records of the interface.
type file struct{ path, content view }

type request struct {
	files     view
	directory bool
	values    view
	release   struct {
		name, namespace  view
		revision         uint32
		install, upgrade bool
	}
	capabilities struct {
		version, major, minor, apiVersions view
		more                               bool
	}
	skipSchema bool
	seed       int64
}

type manifest struct{ source, text view }

type hook struct {
	manifest       manifest
	name           view
	kind           view
	events         view
	weight         int64
	deletePolicies view
}

type result struct {
	failed      uint32
	manifests   view // or the error
	hooks       view
	definitions view
	notes       view
	warnings    view
}

// answer is the place of the result. The host reads it, and what it points to, before the instance ends.
var (
	answer result
	kept   []any
)

//go:wasmexport boathook:chart/engine@0.1.0#render
func exportRender(at unsafe.Pointer) unsafe.Pointer {
	from := (*request)(at)
	asked := render.Request{
		Directory: from.directory,
		Values:    from.values.text(),
		Release: render.Release{
			Name: from.release.name.text(), Namespace: from.release.namespace.text(), Revision: int(from.release.revision),
			Install: from.release.install, Upgrade: from.release.upgrade,
		},
		Capabilities: render.Capabilities{
			Version: from.capabilities.version.text(), Major: from.capabilities.major.text(), Minor: from.capabilities.minor.text(),
			APIVersions: from.capabilities.apiVersions.texts(), More: from.capabilities.more,
		},
		SkipSchema: from.skipSchema,
		Seed:       from.seed,
	}
	for _, one := range items[file](from.files) {
		asked.Files = append(asked.Files, render.File{Path: one.path.text(), Content: one.content.bytes()})
	}
	rendered, err := render.Render(&asked, lookup)
	if err != nil {
		answer = result{failed: 1, manifests: text(err.Error())}
		return unsafe.Pointer(&answer)
	}
	hooks := make([]hook, len(rendered.Hooks))
	for i, one := range rendered.Hooks {
		hooks[i] = hook{
			document(one.Manifest), text(one.Name), text(one.Kind), texts(one.Events), one.Weight, texts(one.DeletePolicies),
		}
	}
	answer = result{
		manifests: documents(rendered.Manifests), hooks: list(hooks), definitions: documents(rendered.Definitions),
		notes: text(rendered.Notes), warnings: texts(rendered.Warnings),
	}
	return unsafe.Pointer(&answer)
}

// text is a text as the component model wants it: valid UTF-8.
func text(text string) view {
	text = strings.ToValidUTF8(text, "\uFFFD")
	kept = append(kept, text)
	return view{uint32(uintptr(unsafe.Pointer(unsafe.StringData(text)))), uint32(len(text))}
}

func list[T any](all []T) view {
	kept = append(kept, all)
	return view{uint32(uintptr(unsafe.Pointer(unsafe.SliceData(all)))), uint32(len(all))}
}

func texts(all []string) view {
	views := make([]view, len(all))
	for i, one := range all {
		views[i] = text(one)
	}
	return list(views)
}

func document(one render.Manifest) manifest { return manifest{text(one.Source), text(one.Text)} }

func documents(all []render.Manifest) view {
	manifests := make([]manifest, len(all))
	for i, one := range all {
		manifests[i] = document(one)
	}
	return list(manifests)
}

// found is result<option<string>, string>.
type found struct {
	failed uint32
	some   uint32 // or the address of the error
	text   view   // the length of the error is its address
}

var looked found

func lookup(query render.Query) (string, bool, error) {
	data := func(text string) unsafe.Pointer { return unsafe.Pointer(unsafe.StringData(text)) }
	looked = found{}
	clusterLookup(
		data(query.APIVersion), uint32(len(query.APIVersion)), data(query.Kind), uint32(len(query.Kind)),
		data(query.Namespace), uint32(len(query.Namespace)), data(query.Name), uint32(len(query.Name)), unsafe.Pointer(&looked),
	)
	if looked.failed&0xff != 0 {
		return "", false, errors.New(view{looked.some, looked.text.address}.text())
	}
	if looked.some&0xff == 0 {
		return "", false, nil
	}
	return looked.text.text(), true, nil
}
