package main

import (
	"errors"
	"unsafe"

	"github.com/boathook/boathook/interpreters/shell/kubectl"
	"github.com/boathook/boathook/interpreters/shell/shellop"
	"github.com/boathook/boathook/interpreters/shell/uses"
)

// The exports that the SDK does not have in this form, and the imports of interpreters. Values lie in memory as the
// component model says: a text or a list is its address and its length, and a variant begins with its number.

//go:wasmimport boathook:interpreter/source@0.1.0 entry
func sourceEntry(result unsafe.Pointer)

//go:wasmimport boathook:interpreter/source@0.1.0 files
func sourceFiles(result unsafe.Pointer)

//go:wasmimport boathook:interpreter/source@0.1.0 read
func sourceRead(path unsafe.Pointer, length uint32, result unsafe.Pointer)

//go:wasmimport boathook:interpreter/source@0.1.0 compiled
func sourceCompiled(result unsafe.Pointer)

//go:wasmimport boathook:interpreter/kinds@0.1.0 resolve
func kindsResolve(name unsafe.Pointer, nameLength, some uint32, version unsafe.Pointer, versionLength uint32, result unsafe.Pointer)

//go:wasmimport boathook:interpreter/kinds@0.1.0 all
func kindsAll(result unsafe.Pointer)

//go:wasmimport boathook:interpreter/writes@0.1.0 set-options
func writesSetOptions(dryRun, someValidation, validation, someGrace, grace uint32)

//go:wasmimport boathook:interpreter/rights@0.1.0 allowed
func rightsAllowed(verb unsafe.Pointer, verbLength uint32, group unsafe.Pointer, groupLength uint32, resource unsafe.Pointer, resourceLength uint32, namespace unsafe.Pointer, namespaceLength uint32, name unsafe.Pointer, nameLength uint32, result unsafe.Pointer)

//go:wasmimport boathook:interpreter/values@0.1.0 get
func valuesGet(result unsafe.Pointer)

//go:wasmimport boathook:interpreter/values@0.1.0 patch
func valuesPatch(operations unsafe.Pointer, length uint32, result unsafe.Pointer)

//go:wasmimport boathook:interpreter/values@0.1.0 patch-config
func valuesPatchConfig(operations unsafe.Pointer, length uint32, result unsafe.Pointer)

//go:wasmimport wasi_snapshot_preview1 random_get
func randomGet(to unsafe.Pointer, length uint32) uint32

// random asks the host. The package crypto/rand does so too, but sets a timer before its first answer, and with a timer Go
// asks the host each time that a goroutine waits.
func random(bytes []byte) {
	if errno := randomGet(unsafe.Pointer(unsafe.SliceData(bytes)), uint32(len(bytes))); errno != 0 {
		panic("the host gives no random numbers")
	}
}

// area is where the host writes results. Only one call is made at a time.
var area words

// words are the place of a result. No result is longer. It begins where a number of 64 bits could be.
type words struct {
	_  [0]uint64
	at [18]uint32
}

func (w *words) pointer() unsafe.Pointer { return unsafe.Pointer(w) }

// text copies a text whose address and length are at a word.
func (w *words) text(at int) string { return string(w.view(at)) }

// view is memory of the host, which the SDK hands out again after another call.
func (w *words) view(at int) []byte { return given(w.at[at], w.at[at+1]) }

// put places a text or a list.
func (w *words) put(at int, data unsafe.Pointer, length int) {
	w.at[at], w.at[at+1] = uint32(uintptr(data)), uint32(length)
}

func (w *words) putText(at int, text string) { w.put(at, textData(text), len(text)) }

func (w *words) putList(at int, list []words2) {
	w.put(at, unsafe.Pointer(unsafe.SliceData(list)), len(list))
}

// words2 is a text in a list.
type words2 [2]uint32

func list(texts []string) []words2 {
	list := make([]words2, len(texts))
	for i, text := range texts {
		list[i] = words2{uint32(uintptr(textData(text))), uint32(len(text))}
	}
	return list
}

func given(address, length uint32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(uintptr(address))), length)
}

func textData(text string) unsafe.Pointer { return unsafe.Pointer(unsafe.StringData(text)) }

// component is the script that the host loaded.
type component struct{}

var host source = component{}

func (component) entry() string {
	sourceEntry(area.pointer())
	return area.text(0)
}

func (component) files() []string {
	sourceFiles(area.pointer())
	paths := make([]string, area.at[1])
	for i, path := range unsafe.Slice((*words2)(unsafe.Pointer(uintptr(area.at[0]))), area.at[1]) {
		paths[i] = string(given(path[0], path[1]))
	}
	return paths
}

func (component) read(path string) ([]byte, bool) {
	sourceRead(textData(path), uint32(len(path)), area.pointer())
	if area.at[0]&0xff == 0 {
		return nil, false
	}
	return append([]byte{}, area.view(1)...), true
}

func (component) compiled() []byte {
	sourceCompiled(area.pointer())
	if area.at[0]&0xff == 0 {
		return nil
	}
	return append([]byte{}, area.view(1)...)
}

// resolve finds a kind by a name that people use. An empty version is any.
func resolve(name, version string) (kubectl.Resource, error) {
	some := uint32(0)
	if version != "" {
		some = 1
	}
	kindsResolve(textData(name), uint32(len(name)), some, textData(version), uint32(len(version)), area.pointer())
	if area.at[0]&0xff != 0 {
		return kubectl.Resource{}, errors.New(area.text(1))
	}
	return kubectl.Resource{
		APIVersion: area.text(1), Kind: area.text(3), Plural: area.text(5), Namespaced: area.at[7]&0xff != 0,
	}, nil
}

// servedKind is a record of the list of kinds.
type servedKind struct {
	version, kind, plural    words2
	namespaced               uint32
	short, verbs, categories words2
}

// listKinds lists the kinds that are served, and the groups that do not answer.
func listKinds() ([]kubectl.Kind, []string, error) {
	kindsAll(area.pointer())
	if area.at[0]&0xff != 0 {
		return nil, nil, errors.New(area.text(1))
	}
	text := func(one words2) string { return string(given(one[0], one[1])) }
	texts := func(list words2) []string {
		all := make([]string, list[1])
		for i, one := range unsafe.Slice((*words2)(unsafe.Pointer(uintptr(list[0]))), list[1]) {
			all[i] = text(one)
		}
		return all
	}
	kinds := make([]kubectl.Kind, area.at[2])
	for i, one := range unsafe.Slice((*servedKind)(unsafe.Pointer(uintptr(area.at[1]))), area.at[2]) {
		kinds[i] = kubectl.Kind{
			Resource:   kubectl.Resource{APIVersion: text(one.version), Kind: text(one.kind), Plural: text(one.plural), Namespaced: one.namespaced&0xff != 0},
			ShortNames: texts(one.short), Verbs: texts(one.verbs), Categories: texts(one.categories),
		}
	}
	return kinds, texts(words2{area.at[3], area.at[4]}), nil
}

// setOptions sets how the API server treats the writes that follow.
func setOptions(options kubectl.Options, grace *int64) {
	number := func(is bool) uint32 {
		if is {
			return 1
		}
		return 0
	}
	seconds := uint32(0)
	if grace != nil {
		seconds = uint32(*grace)
	}
	writesSetOptions(number(options.DryRun), number(options.Validation != ""), number(options.Validation == "Ignore"), number(grace != nil), seconds)
}

// allowed says whether the hook may do something.
func allowed(q kubectl.Question) (bool, error) {
	resource := q.Resource
	if q.Subresource != "" {
		resource += "/" + q.Subresource
	}
	rightsAllowed(textData(q.Verb), uint32(len(q.Verb)), textData(q.Group), uint32(len(q.Group)), textData(resource), uint32(len(resource)),
		textData(q.Namespace), uint32(len(q.Namespace)), textData(q.Name), uint32(len(q.Name)), area.pointer())
	if area.at[0]&0xff != 0 {
		return false, errors.New(area.text(1))
	}
	return area.at[1]&0xff != 0, nil
}

// moduleValues are the values of the module that the hook belongs to. Nil if it belongs to none.
func moduleValues() *shellop.Values {
	valuesGet(area.pointer())
	if area.at[0]&0xff == 0 {
		return nil
	}
	return &shellop.Values{Values: area.text(1), Config: area.text(3)}
}

// patchModule changes the values of the module.
func patchModule(operations string) error {
	valuesPatch(textData(operations), uint32(len(operations)), area.pointer())
	return patched()
}

// patchConfig changes the configuration of the module.
func patchConfig(operations string) error {
	valuesPatchConfig(textData(operations), uint32(len(operations)), area.pointer())
	return patched()
}

func patched() error {
	if area.at[0]&0xff != 0 {
		return errors.New(area.text(1))
	}
	return nil
}

// answer is the place of the result of an export. The host reads it before anything else runs; kept holds what it points
// to until the next one.
var (
	answer words
	kept   []any
)

func begin() {
	answer = words{}
	kept = nil
}

//go:wasmexport boathook:interpreter/script@0.1.0#describe
func exportDescribe() unsafe.Pointer {
	begin()
	d, err := guard(func() (*description, error) { return describe(host) })
	if err != nil {
		return refuse(err)
	}
	d.document = valid(d.document)
	answer.putText(1, d.document)
	answer.put(3, unsafe.Pointer(unsafe.SliceData(d.handlers)), len(d.handlers))
	answer.at[5] = 1
	answer.put(6, unsafe.Pointer(unsafe.SliceData(d.compiled)), len(d.compiled))
	kept = append(kept, d)
	return answer.pointer()
}

// refuse is the result of an export whose error is a text.
func refuse(err error) unsafe.Pointer {
	text := valid(err.Error())
	answer = words{}
	answer.at[0] = 1
	answer.putText(1, text)
	kept = append(kept, text)
	return answer.pointer()
}

// usedRequest and usedProblem are records of the listing.
type usedRequest struct {
	file                                            words2
	line                                            uint32
	command, verb, group, resource, namespace, name words2
	unknown                                         words2
}

type usedProblem struct {
	file    words2
	line    uint32
	text    words2
	refused uint32
}

//go:wasmexport boathook:interpreter/uses@0.1.0#all
func exportUses() unsafe.Pointer {
	begin()
	found, err := guard(func() (*uses.Listing, error) { return listUses(host) })
	if err != nil {
		return refuse(err)
	}
	text := func(text string) words2 {
		text = valid(text)
		kept = append(kept, text)
		return words2{uint32(uintptr(textData(text))), uint32(len(text))}
	}
	requests := make([]usedRequest, len(found.Requests))
	for i, r := range found.Requests {
		unknown := make([]words2, len(r.Unknown))
		for j, one := range r.Unknown {
			unknown[j] = text(one)
		}
		kept = append(kept, unknown)
		requests[i] = usedRequest{
			text(r.File), uint32(r.Line), text(r.Command), text(r.Verb), text(r.Group), text(r.Resource), text(r.Namespace), text(r.Name),
			words2{uint32(uintptr(unsafe.Pointer(unsafe.SliceData(unknown)))), uint32(len(unknown))},
		}
	}
	problems := make([]usedProblem, len(found.Problems))
	for i, p := range found.Problems {
		problems[i] = usedProblem{file: text(p.File), line: uint32(p.Line), text: text(p.Text)}
		if p.Refused {
			problems[i].refused = 1
		}
	}
	answer.put(1, unsafe.Pointer(unsafe.SliceData(requests)), len(requests))
	answer.put(3, unsafe.Pointer(unsafe.SliceData(problems)), len(problems))
	kept = append(kept, requests, problems)
	return answer.pointer()
}

//go:wasmexport boathook:hook/validating@0.1.0#validate
func exportValidate(_ unsafe.Pointer, _ uint32, _ unsafe.Pointer, _, _, _ uint32, binding unsafe.Pointer, bindingLength uint32, request unsafe.Pointer, requestLength uint32) unsafe.Pointer {
	return reviewed("Validating", binding, bindingLength, request, requestLength)
}

//go:wasmexport boathook:hook/mutating@0.1.0#mutate
func exportMutate(_ unsafe.Pointer, _ uint32, _ unsafe.Pointer, _, _, _ uint32, binding unsafe.Pointer, bindingLength uint32, request unsafe.Pointer, requestLength uint32) unsafe.Pointer {
	return reviewed("Mutating", binding, bindingLength, request, requestLength)
}

// reviewed answers a review. The results of both kinds begin alike.
func reviewed(kind string, binding unsafe.Pointer, bindingLength uint32, request unsafe.Pointer, requestLength uint32) unsafe.Pointer {
	begin()
	v, err := guard(func() (*verdict, error) {
		s, err := loadScript(host)
		if err != nil {
			return nil, err
		}
		return s.decide(kind, argument(binding, bindingLength), argument(request, requestLength), cluster{})
	})
	if err != nil {
		// The failure `retry`: the policy of the webhook decides.
		text := valid(err.Error())
		answer = words{}
		answer.at[0] = 1
		answer.putText(4, text)
		kept = append(kept, text)
		return answer.pointer()
	}
	v.message, v.patch = valid(v.message), valid(v.patch)
	for i, warning := range v.warnings {
		v.warnings[i] = valid(warning)
	}
	if v.denied {
		answer.at[2] = 1
		answer.putText(3, v.message)
	}
	warnings := list(v.warnings)
	answer.putList(9, warnings)
	if v.patch != "" {
		answer.at[13] = 1
		answer.putText(14, v.patch)
	}
	kept = append(kept, v, warnings)
	return answer.pointer()
}

//go:wasmexport boathook:hook/conversion@0.1.0#convert
func exportConvert(binding unsafe.Pointer, bindingLength uint32, from unsafe.Pointer, fromLength uint32, to unsafe.Pointer, toLength uint32, objects unsafe.Pointer, count uint32) unsafe.Pointer {
	begin()
	converted, err := guard(func() ([]string, error) {
		s, err := loadScript(host)
		if err != nil {
			return nil, err
		}
		texts := make([]string, count)
		for i, object := range unsafe.Slice((*words2)(objects), count) {
			texts[i] = string(given(object[0], object[1]))
		}
		return s.convert(argument(binding, bindingLength), argument(from, fromLength), argument(to, toLength), texts, cluster{})
	})
	if err != nil {
		return refuse(err)
	}
	texts := list(converted)
	answer.putList(1, texts)
	kept = append(kept, converted, texts)
	return answer.pointer()
}

// argument copies a text of the host.
func argument(data unsafe.Pointer, length uint32) string {
	return string(unsafe.Slice((*byte)(data), length))
}
