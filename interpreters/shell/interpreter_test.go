package main

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	boathook "github.com/boathook/boathook/sdk/go"
	"github.com/boathook/boathook/sdk/go/kube"

	"github.com/boathook/boathook/interpreters/shell/shellop"
)

type folder map[string]string

func (folder) entry() string { return "hook.sh" }

func (f folder) files() []string { return slices.Sorted(maps.Keys(f)) }

func (f folder) read(p string) ([]byte, bool) {
	text, ok := f[p]
	return []byte(text), ok
}

func (folder) compiled() []byte { return nil }

func TestDescribeReadsTheFilesOfTheHook(t *testing.T) {
	d, err := describe(folder{"hook.sh": "source common/f.sh\n[[ $1 == --config ]] && config\n", "common/f.sh": "config() { echo 'configVersion: v1'; }\n"})
	if err != nil || d.document != "configVersion: v1\n" || len(d.handlers) > 0 || string(d.compiled) != "{}" {
		t.Errorf("%+v %v", d, err)
	}
	if _, err := describe(folder{"hook.sh": "frob\n"}); err == nil || !strings.Contains(err.Error(), "/hooks/hook.sh:1: frob:") {
		t.Error(err)
	}
	if _, err := describe(folder{"hook.sh": "\nkubectl -n x describe pod p\n"}); err == nil || !strings.Contains(err.Error(), "/hooks/hook.sh:2: kubectl describe is not supported in a hook: instead, use kubectl get -o yaml") {
		t.Error(err)
	}
	if _, err := describe(folder{"hook.sh": "echo text"}); err == nil || !strings.Contains(err.Error(), "it prints no document") {
		t.Error(err)
	}
}

func TestFilesOfTheRootAreThere(t *testing.T) {
	hook := folder{
		"hook.sh":                  "source /opa/lib.sh\nfor f in /opa/more/*.sh; do . \"$f\"; done\n[[ $1 == --config ]] && config\n[ ! -e /hooks/lib/rootfs ] && [ -e /hooks/lib/x ]",
		"lib/rootfs/opa/lib.sh":    "name() { echo v1; }\n",
		"lib/rootfs/opa/more/f.sh": "config() { echo \"configVersion: $(name)\"; }\n",
		"lib/rootfs/shell_lib.sh":  "echo own\n",
		"lib/x":                    "",
	}
	d, err := describe(hook)
	if err != nil || d.document != "configVersion: v1\n" {
		t.Errorf("%+v %v", d, err)
	}
	if _, err := describe(folder{"hook.sh": "source /opa/lib.sh\n", "lib/rootfs/opa/lib.sh": "frob\n"}); err == nil || !strings.Contains(err.Error(), "/opa/lib.sh:1: frob:") {
		t.Error(err)
	}
	for name, want := range map[string]string{
		"lib/rootfs/dev/x": "lib/rootfs/dev/x: a run has its own files in /dev: move it",
		"lib/rootfs/var/run/shell-operator/metrics.json": "a run has its own files in /var/run/shell-operator",
	} {
		if _, err := describe(folder{"hook.sh": "echo 'configVersion: v1'", name: "x"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Error(err)
		}
	}
}

const grouped = `cat <<EOF
configVersion: v1
kubernetesValidating: [{name: a.b.c}]
kubernetes:
- {name: pods, kind: Pod, group: g}
- {kind: Node, includeSnapshotsFrom: [pods]}
schedule:
- {name: tick, crontab: "* * * * *", group: g}
EOF
`

func TestTheDocumentSaysWhatARunHasToKnow(t *testing.T) {
	d, err := describe(folder{"hook.sh": grouped})
	want := `{"includes":{"kubernetes":["pods"],"pods":["pods"],"tick":["pods"]}}`
	if err != nil || string(d.compiled) != want || !slices.Equal(d.handlers, []handler{validating}) {
		t.Errorf("%s %v %v", d.compiled, d.handlers, err)
	}
	d, err = describe(folder{"hook.sh": "echo onStartup: 1"})
	if err != nil || string(d.compiled) != `{"legacy":true}` {
		t.Errorf("%s %v", d.compiled, err)
	}
}

func TestAFileBesideTheScriptAddsToTheDocument(t *testing.T) {
	f := folder{"hook.sh": "echo 'configVersion: v1'", "hook.boathook.yaml": "permissions:\n  kubernetes: []\nlimits: {time: 1m}\n"}
	d, err := describe(f)
	if want := `{"configVersion":"v1","permissions":{"kubernetes":[]},"limits":{"time":"1m"}}`; err != nil || d.document != want {
		t.Errorf("%+v %v", d, err)
	}
	f["hook.boathook.yaml"] = "configVersion: v1"
	want := "hook.boathook.yaml: configVersion is in the document that /hooks/hook.sh --config prints"
	if _, err := describe(f); err == nil || !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
}

func TestAFileBesideTheScriptPutsItsBindingsIntoAQueue(t *testing.T) {
	f := folder{
		"hook.sh":            `echo '{configVersion: v1, onStartup: 1, kubernetes: [{kind: Pod}, {kind: Node, queue: own}], schedule: [{crontab: "* * * * *"}], kubernetesValidating: [{name: a}]}'`,
		"hook.boathook.yaml": "queue: nodes\n",
	}
	want := `{"configVersion":"v1","onStartup":1,"kubernetes":[{"kind":"Pod","queue":"nodes"},{"kind":"Node","queue":"own"}],` +
		`"schedule":[{"crontab":"* * * * *","queue":"nodes"}],"kubernetesValidating":[{"name":"a"}]}`
	if d, err := describe(f); err != nil || d.document != want {
		t.Errorf("%+v %v", d, err)
	}
	for text, want := range map[string]string{"queue: 1": "hook.boathook.yaml: queue is not the name of a queue", "queue: ''": "is not the name"} {
		f["hook.boathook.yaml"] = text
		if _, err := describe(f); err == nil || !strings.Contains(err.Error(), want) {
			t.Error(err)
		}
	}
	f = folder{"hook.sh": "echo 'onStartup: 1'", "hook.boathook.yaml": "queue: nodes"}
	if _, err := describe(f); err == nil || !strings.Contains(err.Error(), "a document without a version") {
		t.Error(err)
	}
}

func TestADocumentThatReconcilesIsRefused(t *testing.T) {
	printed := folder{"hook.sh": "echo '{configVersion: v1, reconcile: []}'"}
	added := folder{"hook.sh": "echo 'configVersion: v1'", "hook.boathook.yaml": "reconcile: []"}
	for _, f := range []folder{printed, added} {
		if _, err := describe(f); err == nil || !strings.Contains(err.Error(), "/hooks/hook.sh: shell hooks cannot have `reconcile`") {
			t.Error(err)
		}
	}
}

func TestTriggersBecomeContexts(t *testing.T) {
	opened := 0
	read := func(binding string) ([]shellop.Item, error) {
		opened++
		return []shellop.Item{{Object: `{"of":"` + binding + `"}`}}, nil
	}
	event := &boathook.Event{Change: boathook.Modified, Target: kube.Ref{Kind: "Pod", Namespace: "n", Name: "p"}, Object: `{}`, FilterResult: "1"}
	triggers := []boathook.Trigger{
		{Binding: "onStartup", Cause: boathook.Startup},
		{Binding: "tick", Cause: boathook.Ticked, Tick: &boathook.Tick{ScheduledAt: time.Now()}},
		{Binding: "pods", Cause: boathook.Synchronization, Snapshots: []string{"nodes", "pods#2"}},
		{Binding: "pods", Cause: boathook.Changed, Event: event, Snapshots: []string{"pods", "nodes"}},
		{Binding: "pods", Cause: boathook.Grouped, Group: "g", Snapshots: []string{"nodes"}},
	}
	s := &script{facts: facts{Includes: map[string][]string{"pods": {"nodes"}}}}
	contexts, err := s.contexts(triggers, read)
	want := `[{"binding":"onStartup"},{"binding":"tick","type":"Schedule"},` +
		`{"binding":"pods","objects":[{"object":{"of":"pods#2"}}],"snapshots":{"nodes":[{"object":{"of":"nodes"}}]},"type":"Synchronization"},` +
		`{"binding":"pods","filterResult":1,"object":{},"snapshots":{"nodes":[{"object":{"of":"nodes"}}]},"type":"Event","watchEvent":"Modified"},` +
		`{"binding":"pods","groupName":"g","snapshots":{"nodes":[{"object":{"of":"nodes"}}]},"type":"Group"}]`
	if got := shellop.Encode(contexts); err != nil || got != want+"\n" {
		t.Errorf("%v\n%s\n%s", err, got, want)
	}
	if opened != 2 {
		t.Errorf("the snapshots were read %d times", opened)
	}
	s.facts = facts{Legacy: true}
	contexts, _ = s.contexts(triggers[3:4], read)
	if got := shellop.Encode(contexts); got != `[{"binding":"pods","resourceEvent":"update","resourceKind":"Pod","resourceName":"p","resourceNamespace":"n"}]`+"\n" {
		t.Error(got)
	}
}

func TestAConversionNamesTheWholeVersion(t *testing.T) {
	s := &script{}
	contexts, err := s.conversion("c", "v1", "v2", []string{`{"apiVersion":"a.b/v1"}`}, nil)
	want := `[{"binding":"c","fromVersion":"v1","review":{"request":{"uid":"","desiredAPIVersion":"a.b/v2","objects":[{"apiVersion":"a.b/v1"}]}},"toVersion":"v2","type":"Conversion"}]`
	if got := shellop.Encode(contexts); err != nil || got != want+"\n" {
		t.Errorf("%v\n%s", err, got)
	}
}

func TestAConversionHasTheWordsOfTheDocument(t *testing.T) {
	d, err := describe(folder{"hook.sh": "echo 'kubernetesCustomResourceConversion: [{name: c, conversions: [{fromVersion: a.b/v1, toVersion: a.b/v2}]}]'"})
	if want := `{"legacy":true,"rules":{"c":[["a.b/v1","a.b/v2"]]}}`; err != nil || string(d.compiled) != want {
		t.Fatalf("%+v %v", d, err)
	}
	s := &script{facts: facts{Rules: map[string][][2]string{"c": {{"a.b/v1", "a.b/v2"}}}}}
	contexts, err := s.conversion("c", "v1", "v2", nil, nil)
	if err != nil || contexts[0].FromVersion != "a.b/v1" || contexts[0].ToVersion != "a.b/v2" {
		t.Errorf("%+v %v", contexts, err)
	}
}

func TestAnAnswerIsAVerdict(t *testing.T) {
	for _, c := range []struct {
		kind   string
		answer *shellop.Admission
		want   *verdict
		err    string
	}{
		{"Validating", nil, nil, "wrote no answer"},
		{"Validating", &shellop.Admission{Allowed: true}, &verdict{}, ""},
		{"Validating", &shellop.Admission{Message: "no", Warnings: []string{"w"}}, &verdict{denied: true, message: "no", warnings: []string{"w"}}, ""},
		{"Validating", &shellop.Admission{Allowed: true, Patch: "W10="}, nil, "only for kubernetesMutating"},
		{"Mutating", &shellop.Admission{Allowed: true, Patch: "W10="}, &verdict{patch: "[]"}, ""},
		{"Mutating", &shellop.Admission{Allowed: true, Patch: "!"}, nil, "not base64"},
	} {
		got, err := answered("h.sh", c.kind, c.answer)
		if !reflect.DeepEqual(got, c.want) || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%+v: %+v %v", c, got, err)
		}
	}
}
