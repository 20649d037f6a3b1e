package shellop

import (
	"context"
	"strings"
	"testing"
)

func hook(script string) *Hook {
	return &Hook{Entry: "/hooks/hook.sh", Files: map[string][]byte{"/hooks/hook.sh": []byte(script)}}
}

const framework = `#!/usr/bin/env bash
source /shell_lib.sh

__config__() {
  cat <<EOF
configVersion: v1
kubernetes:
- name: pods
  kind: Pod
EOF
}

__on_startup() { echo started; }

__on_kubernetes::pods::added_or_modified() {
  local name; name=$(context::get object.metadata.name)
  echo "$(context::get watchEvent) $name $(context::get 'object.metadata.labels."a.b/c"')"
  context::jq '{name: .object.metadata.name}' | jq -c '{operation: "MergePatch", apiVersion: "v1", kind: "Pod", name: .name, mergePatch: {metadata: {labels: {seen: "yes"}}}}' >> "$KUBERNETES_PATCH_PATH"
}

__on_kubernetes::pods() { context::has objects.0 && echo "objects $(context::get --required objects.0.object.metadata.name)"; }

__main__() { echo main; }

hook::run "$@"
`

func TestTheDocumentIsWhatConfigPrints(t *testing.T) {
	document, err := hook(framework).Describe(context.Background(), DefaultOptions())
	if err != nil || document != "configVersion: v1\nkubernetes:\n- name: pods\n  kind: Pod\n" {
		t.Fatalf("%v: %q", err, document)
	}
}

func TestTheFrameworkChoosesTheHandler(t *testing.T) {
	var lines []string
	o := DefaultOptions()
	o.Line = func(l Line) { lines = append(lines, l.Stream+" "+l.Text) }
	pod := `{"metadata":{"name":"p","labels":{"a.b/c":"x"}}}`
	outcome, err := hook(framework).Run(context.Background(), []Context{
		{Binding: "onStartup"},
		{Binding: "pods", Type: "Event", WatchEvent: "Added", Object: pod},
		{Binding: "pods", Type: "Synchronization", Objects: []Item{{Object: pod}}},
		{Binding: "tick", Type: "Schedule"},
	}, o)
	if err != nil {
		t.Fatal(err, lines)
	}
	if got := strings.Join(lines, "; "); got != "stdout started; stdout Added p x; stdout objects p; stdout main" {
		t.Error(got)
	}
	if len(outcome.Operations) != 1 || outcome.Operations[0].Patch != `{"metadata":{"labels":{"seen":"yes"}}}` {
		t.Errorf("%+v", outcome.Operations)
	}
}

func TestAFailureShowsTheCalls(t *testing.T) {
	_, err := hook("source /shell_lib.sh\n__main__() {\n  false\n}\nhook::run\n").Run(context.Background(), []Context{{Binding: "x", Type: "Schedule"}}, DefaultOptions())
	if err == nil || !strings.Contains(err.Error(), `File "/hooks/hook.sh", line 3, in __main__`) || !strings.Contains(err.Error(), "Exiting with status 1") {
		t.Errorf("%v", err)
	}
}

func TestContextsAreWrittenAsShellOperatorDoes(t *testing.T) {
	for _, c := range []struct {
		context Context
		want    string
	}{
		{Context{Binding: "onStartup"}, `[{"binding":"onStartup"}]`},
		{Context{Binding: "a", Type: "Schedule"}, `[{"binding":"a","type":"Schedule"}]`},
		{Context{Binding: "a", Type: "Synchronization"}, `[{"binding":"a","objects":[],"type":"Synchronization"}]`},
		{Context{Binding: "a", Type: "Event", WatchEvent: "Deleted", Object: `{"z":1,"a":{"y":2.5,"b":[{"d":1,"c":2}]}}`, FilterResult: `{"b":1,"a":"<"}`, Snapshots: []Snapshot{{"c", nil}, {"b", nil}}},
			`[{"binding":"a","filterResult":{"a":"\u003c","b":1},"object":{"a":{"b":[{"c":2,"d":1}],"y":2.5},"z":1},"snapshots":{"b":[],"c":[]},"type":"Event","watchEvent":"Deleted"}]`},
		{Context{Binding: "a", Type: "Group", GroupName: "g", Snapshots: []Snapshot{{"b", []Item{{`{"k":1}`, "2"}}}}},
			`[{"binding":"a","groupName":"g","snapshots":{"b":[{"filterResult":2,"object":{"k":1}}]},"type":"Group"}]`},
		{Context{Binding: "a", Type: "Validating", Request: `{"uid":"1"}`}, `[{"binding":"a","review":{"request":{"uid":"1"}},"type":"Validating"}]`},
		{Context{Binding: "a", Type: "Conversion", FromVersion: "v1", ToVersion: "v2", Request: `{}`}, `[{"binding":"a","fromVersion":"v1","review":{"request":{}},"toVersion":"v2","type":"Conversion"}]`},
		{Context{Binding: "a", Legacy: &LegacyContext{"add", "ns", "Pod", "p"}}, `[{"binding":"a","resourceEvent":"add","resourceKind":"Pod","resourceName":"p","resourceNamespace":"ns"}]`},
	} {
		if got := Encode([]Context{c.context}); got != c.want+"\n" {
			t.Errorf("%s, and not\n%s", got, c.want)
		}
	}
}

func TestFilesBecomeOperationsMetricsAndAnswers(t *testing.T) {
	outcome, err := hook(`
cat > $KUBERNETES_PATCH_PATH <<EOF
operation: CreateOrUpdate
object:
  b: 1
  a: x
---
operation: DeleteInBackground
kind: Pod
name: p
EOF
echo '{"name":"m","add":2,"labels":{"l":"v"}}{"group":"g","action":"expire"}' > $METRICS_PATH
echo '{"allowed":false,"message":"no","warnings":["w"]}' > $VALIDATING_RESPONSE_PATH
echo '{"convertedObjects":[{"z":1,"a":2}]}' > $CONVERSION_RESPONSE_PATH
echo '{"level":"warn","msg":"hi","time":"t","x":1}'
`).Run(context.Background(), []Context{{Binding: "x"}}, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	if len(outcome.Operations) != 2 || outcome.Operations[0].Object != `{"b":1,"a":"x"}` || outcome.Operations[1].Name != "p" {
		t.Errorf("%+v", outcome.Operations)
	}
	if len(outcome.Metrics) != 2 || outcome.Metrics[0].Value != 2 || outcome.Admission.Message != "no" || outcome.Conversion.Objects[0] != `{"z":1,"a":2}` {
		t.Errorf("%+v", outcome)
	}
}

func TestWrongFilesFailTheRunWithTheirPlace(t *testing.T) {
	for script, want := range map[string]string{
		`echo '{"operation":"Nope"}' > $KUBERNETES_PATCH_PATH`:                      "/hooks/hook.sh: KUBERNETES_PATCH_PATH: operation 1: `operation` Nope is unknown",
		`echo '{"operation":"Delete","kind":"Pod"}' > $KUBERNETES_PATCH_PATH`:       "Delete needs `kind` and `name`",
		`echo '{"name":"m"}' > $METRICS_PATH`:                                       "METRICS_PATH: metric 1: `action`",
		`echo 'x' > $VALIDATING_RESPONSE_PATH`:                                      "ADMISSION_RESPONSE_PATH: it is not one JSON object",
		`echo oops >&2; exit 3`:                                                     "oops",
		`kubectl get pods`:                                                          "there is no cluster here",
		`while :; do x="$x$x$x xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"; done`: "a word exceeds 16 MiB",
	} {
		_, err := hook(script).Run(context.Background(), []Context{{Binding: "x"}}, DefaultOptions())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", script, err)
		}
	}
}

func TestDescribeRefusesWithFileAndLine(t *testing.T) {
	for script, want := range map[string]string{
		"echo ok\nfrobnicate x\n":        "/hooks/hook.sh:2: frobnicate: there is no such command in a hook",
		"\ncoproc cat\n":                 "/hooks/hook.sh:2: coproc is not supported",
		"trap 'x' DEBUG\n":               "/hooks/hook.sh:1: trap DEBUG is not supported",
		"if true; then\n":                "/hooks/hook.sh:1:10: `then` must be followed by a statement list",
		"shopt -s expand_aliases\n":      "/hooks/hook.sh:1: shopt -s expand_aliases is not supported",
		"[[ $1 == --config ]] || true\n": "prints nothing",
	} {
		_, err := hook(script).Describe(context.Background(), DefaultOptions())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", script, err)
		}
	}
}

func TestWhatNothingCallsIsNotRefused(t *testing.T) {
	const config = "if [[ ${1:-} == --config ]]; then echo 'configVersion: v1'; exit; fi\n"
	for script, want := range map[string]string{
		"f() { coproc cat; }\n":                                            "",
		"f() { frobnicate; }; g() { f; }\n":                                "",
		"f() { shopt -s extdebug; }; g() { select x in a; do :; done; }\n": "",
		"f() { coproc cat; }; f\n":                                         "/hooks/hook.sh:2: coproc",
		"f() { coproc cat; }; g() { f; }; trap 'g 1' EXIT\n":               "/hooks/hook.sh:2: coproc",
		"f_a() { frobnicate; }; f_$1\n":                                    "/hooks/hook.sh:2: frobnicate",
		"f_a() { frobnicate; }; \"${1}_a\"\n":                              "/hooks/hook.sh:2: frobnicate",
		"__main__() { frobnicate; }\nhook::run\n":                          "/hooks/hook.sh:2: frobnicate",
		"f() { g() { frobnicate; }; }; g\n":                                "",
		"f() { g() { frobnicate; }; g; }; (f)\n":                           "/hooks/hook.sh:2: frobnicate",
		"f() { if true; then\n":                                            "must be followed by a statement list",
	} {
		_, err := hook(config+script).Describe(context.Background(), DefaultOptions())
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v and not %q", script, err, want)
		}
	}
}

func TestRunEndsWhereItReachesWhatIsRefused(t *testing.T) {
	for script, want := range map[string]string{
		"coproc cat":                    "coproc is not supported: use a pipe or a file",
		"select x in a; do :; done":     "select needs a terminal, which a hook does not have",
		"echo ${x@P}":                   "${x@P} is not supported: a hook has no prompt",
		"set -- a; echo ${@@A}":         "${@@A} is not supported: write set -- \"${@@Q}\"",
		"trap : DEBUG":                  "trap DEBUG is not supported: remove it",
		"set -v":                        "set -v is not supported: remove it",
		"set -o noexec":                 "set -o noexec is not supported: remove it",
		"shopt -so privileged":          "set -o privileged is not supported: remove it",
		"shopt -s extdebug":             "shopt -s extdebug is not supported: remove it",
		"compgen -A function":           "compgen: a hook has no terminal",
		"eval 'coproc cat' & wait":      "coproc is not supported",
		"echo $(eval 'coproc cat') | :": "coproc is not supported",
	} {
		var lines strings.Builder
		options := DefaultOptions()
		options.Line = func(line Line) { lines.WriteString(line.Text + "\n") }
		// What the script makes is not known before the run.
		text := "x=1\nf() { " + script + "; }\nname=$(printf '%s' f)\n($name) || true\necho it goes on\n"
		_, err := hook(text).Run(context.Background(), []Context{{Binding: "x"}}, options)
		if err == nil || !strings.Contains(err.Error(), "/hooks/hook.sh: line 2: "+want) {
			t.Errorf("%s: %v and not %q", script, err, want)
		}
		if strings.Contains(lines.String(), "goes on") {
			t.Errorf("%s: the script goes on", script)
		}
	}
	outcome, err := hook("shopt -u extdebug; set +v; shopt -q expand_aliases && exit 1; shopt -qo verbose || exit 0\nexit 2\n").Run(context.Background(), []Context{{Binding: "x"}}, DefaultOptions())
	if err != nil {
		t.Errorf("%v %v", outcome, err)
	}
}

func TestFilesOfOtherHooksAreNotChecked(t *testing.T) {
	files := map[string][]byte{
		"/hooks/broken.sh":            []byte("if true; then\n"),
		"/hooks/common/functions.sh":  []byte("run() { hook::config; }\nfrobnicate\n"),
		"/hooks/lib/names.sh":         []byte("source \"$(dirname \"$0\")/lib/more.sh\"\n"),
		"/hooks/lib/more.sh":          []byte("missing_command\n"),
		"/hooks/scripts/deploy.bash":  []byte("also_missing\n"),
		"/hooks/scripts/unused.bash":  []byte("never_called\n"),
		"/hooks/scripts/functions.sh": []byte("not_there\n"),
	}
	for script, want := range map[string]string{
		"echo ok":                             "",
		"source /hooks/common/functions.sh":   "functions.sh:2: frobnicate",
		"source lib/more.sh":                  "more.sh:1: missing_command",
		"bash scripts/deploy.bash":            "deploy.bash:1: also_missing",
		"run=\"/hooks/broken.sh\"; bash $run": "broken.sh:1:10",
		". \"$1\"":                            "broken.sh:1:10",
	} {
		h := &Hook{Entry: "/hooks/hook.sh", Files: map[string][]byte{"/hooks/hook.sh": []byte("if [[ $1 == --config ]]; then echo 'configVersion: v1'; exit; fi\n" + script + "\n")}}
		for name, text := range files {
			h.Files[name] = text
		}
		_, err := h.Describe(context.Background(), DefaultOptions())
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v and not %q", script, err, want)
		}
	}
}
