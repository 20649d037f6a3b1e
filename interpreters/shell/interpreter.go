package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"strings"
	"unicode/utf8"

	boathook "github.com/boathook/boathook/sdk/go"

	"github.com/boathook/boathook/interpreters/shell/jq"
	"github.com/boathook/boathook/interpreters/shell/kubectl"
	"github.com/boathook/boathook/interpreters/shell/shellop"
	"github.com/boathook/boathook/interpreters/shell/uses"
)

// source gives the files of the script that the host loaded.
type source interface {
	entry() string
	files() []string
	read(path string) ([]byte, bool)
	// compiled is what describe returned for the host to keep.
	compiled() []byte
}

// hooksDir is where scripts expect themselves.
const hooksDir = "/hooks/"

// additions is the suffix of the file that adds to the document of a script: NAME.boathook.yaml beside NAME.sh.
const additions = ".boathook.yaml"

// rootDir is the folder of files that a run has at the root: lib/rootfs/opa/lib.sh is /opa/lib.sh there. An image can have a library
// beside the directory of its hooks.
const rootDir = "lib/rootfs/"

// load collects the files of the hook.
func load(from source) *shellop.Hook {
	hook := &shellop.Hook{Entry: hooksDir + from.entry(), Files: map[string][]byte{}}
	for _, p := range from.files() {
		if text, ok := from.read(p); ok {
			if inRoot, ok := strings.CutPrefix(p, rootDir); ok {
				hook.Files["/"+inRoot] = text
			} else {
				hook.Files[hooksDir+p] = text
			}
		}
	}
	return hook
}

// description is what the host keeps of a script.
type description struct {
	document string
	handlers []handler
	compiled []byte
}

// handler is a number of the enum in WIT.
type handler byte

const (
	validating handler = iota
	mutating
	converting
)

// facts are what a run has to know of the document.
type facts struct {
	// Legacy says that the document has no configVersion.
	Legacy bool `json:"legacy,omitempty"`
	// Includes are the snapshots that the contexts of a binding have.
	Includes map[string][]string `json:"includes,omitempty"`
	// Rules are the conversions of a binding, in the words of the document. The host leaves the group out.
	Rules map[string][][2]string `json:"rules,omitempty"`
}

// describe is the export of the interpreter: the document of the script, or why it cannot run.
func describe(from source) (*description, error) {
	hook := load(from)
	options := shellop.DefaultOptions()
	options.Seed = seed()
	text, err := hook.Describe(context.Background(), options)
	if err != nil {
		return nil, err
	}
	document, err := parseDocument(text)
	if err != nil {
		return nil, fmt.Errorf("%s --config: %w", hook.Entry, err)
	}
	d := &description{document: text}
	name := strings.TrimSuffix(from.entry(), path.Ext(from.entry())) + additions
	if more, ok := from.read(name); ok {
		if err := addTo(document, name, string(more), hook.Entry); err != nil {
			return nil, err
		}
		d.document = jq.Text(document)
	}
	if _, ok := document.Get("reconcile"); ok {
		return nil, fmt.Errorf("%s: shell hooks cannot have `reconcile`, because shell-operator's scripts have no way to answer it: watch the objects with `kubernetes`, or write this hook in another language", hook.Entry)
	}
	for kind, key := range []string{"kubernetesValidating", "kubernetesMutating", "kubernetesCustomResourceConversion"} {
		if _, ok := document.Get(key); ok {
			d.handlers = append(d.handlers, handler(kind))
		}
	}
	d.compiled, err = json.Marshal(factsOf(document))
	return d, err
}

// listUses is the export of the interpreter: what the script needs of the API server.
func listUses(from source) (*uses.Listing, error) {
	return uses.Of(context.Background(), load(from), func(name, version string) (kubectl.Resource, error) {
		return resolve(valid(name), valid(version))
	})
}

func parseDocument(text string) (*jq.Object, error) {
	documents, err := jq.ParseYAML(text)
	if err != nil {
		return nil, err
	}
	if len(documents) == 1 {
		if document, ok := documents[0].(*jq.Object); ok {
			return document, nil
		}
	}
	return nil, errors.New("it prints no document: print one mapping in YAML or JSON")
}

// addTo adds the keys of NAME.boathook.yaml to the document, because a script of shell-operator cannot print them.
func addTo(document *jq.Object, name, text, entry string) error {
	more, err := parseDocument(text)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, key := range more.Keys() {
		if key == "queue" {
			value, _ := more.Get(key)
			if err := queueIn(document, name, value, entry); err != nil {
				return err
			}
			continue
		}
		if _, taken := document.Get(key); taken {
			return fmt.Errorf("%s: %s is in the document that %s --config prints: remove it from one of them", name, key, entry)
		}
		value, _ := more.Get(key)
		document.Set(key, value)
	}
	return nil
}

// queueIn puts the bindings that name no queue into one.
func queueIn(document *jq.Object, name string, value any, entry string) error {
	queue, ok := value.(string)
	if !ok || queue == "" {
		return fmt.Errorf("%s: queue is not the name of a queue: write a string, such as `queue: nodes`", name)
	}
	if _, versioned := document.Get("configVersion"); !versioned {
		return fmt.Errorf("%s: queue needs bindings of `configVersion: v1`, and %s --config prints a document without a version: add it to the document", name, entry)
	}
	each(document, func(key string, binding *jq.Object) {
		if _, own := binding.Get("queue"); !own && (key == "kubernetes" || key == "schedule") {
			binding.Set("queue", queue)
		}
	})
	return nil
}

// factsOf reads what the contexts of a run need. The host checks the document, so what is wrong in it is left out here.
func factsOf(document *jq.Object) *facts {
	_, versioned := document.Get("configVersion")
	f := &facts{Legacy: !versioned, Includes: map[string][]string{}, Rules: map[string][][2]string{}}
	groups := map[string][]string{}
	each(document, func(key string, binding *jq.Object) {
		if group := text(binding, "group"); key == "kubernetes" && group != "" {
			groups[group] = appendNew(groups[group], nameOf(key, binding))
		}
	})
	each(document, func(key string, binding *jq.Object) {
		name := nameOf(key, binding)
		list, _ := binding.Get("includeSnapshotsFrom")
		values, _ := list.([]any)
		for _, value := range values {
			if included, ok := value.(string); ok {
				f.Includes[name] = appendNew(f.Includes[name], included)
			}
		}
		f.Includes[name] = appendNew(f.Includes[name], groups[text(binding, "group")]...)
		if len(f.Includes[name]) == 0 {
			delete(f.Includes, name)
		}
		rules, _ := binding.Get("conversions")
		steps, _ := rules.([]any)
		for _, value := range steps {
			if step, ok := value.(*jq.Object); ok {
				f.Rules[name] = append(f.Rules[name], [2]string{text(step, "fromVersion"), text(step, "toVersion")})
			}
		}
	})
	return f
}

// each visits the bindings of a document.
func each(document *jq.Object, visit func(key string, binding *jq.Object)) {
	for _, key := range document.Keys() {
		list, _ := document.Get(key)
		bindings, _ := list.([]any)
		for _, value := range bindings {
			if binding, ok := value.(*jq.Object); ok {
				visit(key, binding)
			}
		}
	}
}

// nameOf is the name of a binding; without one, that of its kind.
func nameOf(key string, binding *jq.Object) string {
	if name := text(binding, "name"); name != "" {
		return name
	}
	return key
}

func text(o *jq.Object, key string) string {
	value, _ := o.Get(key)
	text, _ := value.(string)
	return text
}

func appendNew(list []string, more ...string) []string {
	for _, name := range more {
		known := false
		for _, other := range list {
			known = known || other == name
		}
		if !known {
			list = append(list, name)
		}
	}
	return list
}

// script is a hook that runs for the host.
type script struct {
	hook  *shellop.Hook
	facts facts
}

func loadScript(from source) (*script, error) {
	s := &script{hook: load(from)}
	if kept := from.compiled(); len(kept) > 0 {
		if err := json.Unmarshal(kept, &s.facts); err != nil {
			return nil, fmt.Errorf("what describe returned cannot be read: %w", err)
		}
	}
	return s, nil
}

// run starts the script for these contexts, and does what it wrote.
func (s *script) run(contexts []shellop.Context, cluster kubectl.Cluster) (*shellop.Outcome, error) {
	options := shellop.DefaultOptions()
	options.Seed, options.Cluster, options.Line, options.Values = seed(), cluster, log, moduleValues()
	outcome, err := s.hook.Run(context.Background(), contexts, options)
	if err != nil {
		return nil, err
	}
	if err := do(outcome); err != nil {
		return outcome, err
	}
	return outcome, patchValues(outcome.Patches)
}

// seed makes the random numbers of a run. Those of Go's runtime are the same in every run, because they come from the
// snapshot.
func seed() uint64 {
	var bytes [8]byte
	random(bytes[:])
	return binary.LittleEndian.Uint64(bytes[:])
}

// valid is a text that the host accepts: scripts can print any bytes.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// log writes a line of the script to the log of the operator.
func log(line shellop.Line) {
	line.Text = valid(line.Text)
	level := slog.LevelInfo
	switch strings.ToLower(line.Level) {
	case "trace", "debug":
		level = slog.LevelDebug
	case "warn", "warning":
		level = slog.LevelWarn
	case "error", "fatal", "panic":
		level = slog.LevelError
	}
	attributes := []slog.Attr{slog.String("output", line.Stream)}
	for _, field := range line.Fields {
		attributes = append(attributes, slog.String(valid(field[0]), valid(field[1])))
	}
	slog.LogAttrs(context.Background(), level, line.Text, attributes...)
}

func init() {
	// The host asks describe for the document instead, which can say what is wrong.
	boathook.ConfigureText("")
	boathook.Run(func(run *boathook.Context) error {
		s, err := loadScript(host)
		if err != nil {
			return err
		}
		contexts, err := s.contexts(run.Triggers, snapshotOf)
		if err != nil {
			return err
		}
		if _, err = s.run(contexts, cluster{}); err != nil && !utf8.ValidString(err.Error()) {
			return errors.New(valid(err.Error()))
		}
		return err
	})
}
