package kubectl

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/boathook/boathook/interpreters/shell/bash"
	"github.com/boathook/boathook/interpreters/shell/fs"
)

// memory is a cluster of objects in memory. It merges patches as RFC 7386 has it, which is enough for what is printed.
type memory struct {
	objects map[Ref]object
	calls   []string
	version int
	// options are those of the last With.
	options Options
}

var kindsHere = []Resource{
	{"v1", "ConfigMap", "configmaps", true}, {"v1", "Secret", "secrets", true}, {"v1", "Pod", "pods", true}, {"v1", "Node", "nodes", false},
	{"v1", "Namespace", "namespaces", false}, {"apps/v1", "Deployment", "deployments", true}, {"batch/v1", "CronJob", "cronjobs", true},
	{"batch/v1", "Job", "jobs", true}, {"v1", "ServiceAccount", "serviceaccounts", true}, {"rbac.authorization.k8s.io/v1", "Role", "roles", true},
}

func (m *memory) Resolve(name, version string) (Resource, error) {
	short := map[string]string{"cm": "configmaps", "po": "pods", "deploy": "deployments", "ns": "namespaces", "sa": "serviceaccounts"}
	wanted, group, _ := strings.Cut(strings.ToLower(name), ".")
	if long := short[wanted]; long != "" {
		wanted = long
	}
	for _, resource := range kindsHere {
		kind := strings.ToLower(resource.Kind)
		if (wanted == kind || wanted == resource.Plural) && (version == "" || version == resource.APIVersion) && (group == "" || strings.HasPrefix(resource.APIVersion, group)) {
			return resource, nil
		}
	}
	return Resource{}, &Error{Reason: "Invalid", Message: "no such kind"}
}

func (m *memory) plural(ref Ref) string {
	resource, _ := m.Resolve(ref.Kind, ref.APIVersion)
	if group := group(ref.APIVersion); group != "" {
		return resource.Plural + "." + group
	}
	return resource.Plural
}

func (m *memory) missing(ref Ref) error {
	return &Error{Reason: "NotFound", Message: fmt.Sprintf("%s %q not found", m.plural(ref), ref.Name), Code: 404}
}

func (m *memory) Get(ref Ref, _ string) (string, error) {
	if o, ok := m.objects[ref]; ok {
		return encode(o), nil
	}
	return "", m.missing(ref)
}

func (m *memory) List(q Query) ([]string, error) {
	var refs []Ref
	for ref := range m.objects {
		if ref.Kind == q.Kind && (q.Namespace == "" || ref.Namespace == q.Namespace) {
			refs = append(refs, ref)
		}
	}
	sort.Slice(refs, func(i, j int) bool { return refs[i].Namespace+"/"+refs[i].Name < refs[j].Namespace+"/"+refs[j].Name })
	var texts []string
	for _, ref := range refs {
		key, value, _ := strings.Cut(q.LabelSelector, "=")
		if key == "" || text(m.objects[ref], "metadata", "labels", key) == value {
			texts = append(texts, encode(m.objects[ref]))
		}
	}
	return texts, nil
}

func (m *memory) store(o object) string {
	m.version++
	o.fields("metadata")["resourceVersion"] = fmt.Sprint(m.version)
	m.objects[o.ref()] = o
	return encode(o)
}

func (m *memory) Create(text string) (string, error) {
	o, err := decode(text)
	if err != nil {
		return "", err
	}
	if _, ok := m.objects[o.ref()]; ok {
		return "", &Error{Reason: "AlreadyExists", Message: fmt.Sprintf("%s %q already exists", m.plural(o.ref()), o.name()), Code: 409}
	}
	return m.store(o), nil
}

func (m *memory) Replace(text, _ string) (string, error) {
	o, err := decode(text)
	if err != nil {
		return "", err
	}
	if _, ok := m.objects[o.ref()]; !ok {
		return "", m.missing(o.ref())
	}
	return m.store(o), nil
}

func (m *memory) Apply(text, manager string, force bool) (string, error) {
	m.calls = append(m.calls, fmt.Sprintf("apply %s %v", manager, force))
	o, err := decode(text)
	if err != nil {
		return "", err
	}
	return m.store(o), nil
}

func (m *memory) Patch(ref Ref, kind, patch, subresource string) (string, error) {
	m.calls = append(m.calls, strings.TrimSpace(fmt.Sprintf("%s %s %s", kind, patch, subresource)))
	o, ok := m.objects[ref]
	if !ok {
		return "", m.missing(ref)
	}
	if kind == "json" {
		return encode(o), nil
	}
	fields, err := decode(patch)
	if err != nil {
		return "", &Error{Reason: "BadRequest", Message: err.Error()}
	}
	merged := o.copy()
	merge(merged, fields)
	if encode(merged) == encode(o) {
		return encode(o), nil
	}
	return m.store(merged), nil
}

func merge(into, patch map[string]any) {
	for key, value := range patch {
		inner, isMap := value.(map[string]any)
		own, has := into[key].(map[string]any)
		switch {
		case value == nil:
			delete(into, key)
		case isMap && has:
			merge(own, inner)
		default:
			into[key] = value
		}
	}
}

func (m *memory) With(options Options) Cluster {
	m.options = options
	return m
}

func (m *memory) Kinds() ([]Kind, []string, error) {
	kinds := make([]Kind, len(kindsHere))
	for i, resource := range kindsHere {
		kinds[i] = Kind{resource, []string{strings.ToLower(resource.Kind[:2])}, []string{"get", "list"}, []string{"all"}}
	}
	return kinds, []string{"metrics.k8s.io/v1"}, nil
}

func (m *memory) Allowed(q Question) (bool, error) {
	m.calls = append(m.calls, fmt.Sprintf("allowed %q", []string{q.Verb, q.Group, q.Resource, q.Subresource, q.Namespace, q.Name}))
	return q.Verb == "get", nil
}

func (m *memory) Delete(ref Ref, how Deletion) error {
	call := "delete " + how.Propagation
	if how.Grace != nil {
		call += fmt.Sprint(" ", *how.Grace)
	}
	m.calls = append(m.calls, call)
	if _, ok := m.objects[ref]; !ok {
		return m.missing(ref)
	}
	delete(m.objects, ref)
	return nil
}

func cluster(t *testing.T, objects ...string) *memory {
	t.Helper()
	m := &memory{objects: map[Ref]object{}}
	for _, text := range objects {
		o, err := decode(text)
		if err != nil {
			t.Fatal(err)
		}
		m.store(o)
	}
	return m
}

// run runs a script of kubectl, and returns what it prints, with the status where it is not 0.
func run(t *testing.T, m *memory, script string) string {
	t.Helper()
	now := func() time.Time { return time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC) }
	files := fs.New(fs.Limits{Bytes: 1 << 20, Files: 100}, now)
	if err := files.Put("/s.sh", []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	w := bash.NewWorld(context.Background(), files, bash.DefaultLimits, 1, now)
	w.Commands["cat"] = func(p *bash.Process) int {
		content, _ := p.ReadAll(p.Stdin)
		p.Stdout.Write(content)
		return 0
	}
	Register(w, m)
	var out bytes.Buffer
	status, err := w.Run("/s.sh", nil, []string{"PATH=/bin"}, "/tmp", bash.Streams{Out: &out, Err: &out})
	if err != nil {
		t.Fatal(err)
	}
	if status != 0 {
		fmt.Fprintf(&out, "status %d\n", status)
	}
	return out.String()
}

const (
	settings = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings","namespace":"default","labels":{"app":"web"},"creationTimestamp":"2026-01-01T00:00:00Z","managedFields":[]},"data":{"b":"<1>","a":"2"}}`
	web      = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"prod","generation":1},"spec":{"replicas":2},"status":{"readyReplicas":1,"updatedReplicas":2,"availableReplicas":1,"replicas":2,"observedGeneration":1}}`
	pod      = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"default","creationTimestamp":"2026-01-01T23:50:00Z"},"spec":{"containers":[{"name":"a"},{"name":"b"}]},"status":{"phase":"Running","containerStatuses":[{"name":"a","ready":true,"restartCount":1,"state":{"running":{}}},{"name":"b","restartCount":2,"state":{"waiting":{"reason":"CrashLoopBackOff"}}}]}}`
	node     = `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1","labels":{"node-role.kubernetes.io/worker":""}},"spec":{"taints":[{"key":"a","value":"b","effect":"NoSchedule"}]},"status":{"conditions":[{"type":"Ready","status":"True"}],"nodeInfo":{"kubeletVersion":"v1.36.0"}}}`
)

func TestGetPrintsAsKubectlDoes(t *testing.T) {
	for command, want := range map[string]string{
		"get cm settings -o json":                                                 "{\n    \"apiVersion\": \"v1\",\n    \"data\": {\n        \"a\": \"2\",\n        \"b\": \"\\u003c1\\u003e\"\n    },\n    \"kind\": \"ConfigMap\",\n    \"metadata\": {\n        \"creationTimestamp\": \"2026-01-01T00:00:00Z\",\n        \"labels\": {\n            \"app\": \"web\"\n        },\n        \"name\": \"settings\",\n        \"namespace\": \"default\",\n        \"resourceVersion\": \"1\"\n    }\n}\n",
		"get cm settings -o yaml":                                                 "apiVersion: v1\ndata:\n  a: \"2\"\n  b: <1>\nkind: ConfigMap\nmetadata:\n  creationTimestamp: \"2026-01-01T00:00:00Z\"\n  labels:\n    app: web\n  name: settings\n  namespace: default\n  resourceVersion: \"1\"\n",
		"get cm settings -oname":                                                  "configmap/settings\n",
		"get deploy/web -n prod -o name":                                          "deployment.apps/web\n",
		"get cm -o jsonpath='{.items[*].metadata.name}'":                          "settings",
		"get cm settings -o jsonpath='{.data.a}{\"\\n\"}'":                        "2\n",
		"get deploy web -n prod -o jsonpath='{.spec.replicas}/{.status.missing}'": "2/",
		"get cm,deploy -A -o jsonpath='{range .items[?(@.kind==\"Deployment\")]}{.metadata.name}{end}'": "web",
		"get cm -o custom-columns=NAME:.metadata.name,DATA:.data.a,NO:.data.x":                          "NAME       DATA   NO\nsettings   2      <none>\n",
		"get cm settings -o go-template='{{.data.a}}{{.data.nothing}}'":                                 "2<no value>",
		"get cm":                            "NAME       DATA   AGE\nsettings   2      24h\n",
		"get cm --no-headers --show-labels": "settings   2     24h   app=web\n",
		"get cm -A":                         "NAMESPACE   NAME       DATA   AGE\ndefault     settings   2      24h\n",
		"get pods":                          "NAME   READY   STATUS             RESTARTS   AGE\np      1/2     CrashLoopBackOff   3          10m\n",
		"get nodes":                         "NAME   STATUS   ROLES    AGE         VERSION\nn1     Ready    worker   <unknown>   v1.36.0\n",
		"get deploy -n prod":                "NAME   READY   UP-TO-DATE   AVAILABLE   AGE\nweb    1/2     2            1           <unknown>\n",
		"get cm -n empty":                   "No resources found in empty namespace.\n",
		"get jobs -A":                       "No resources found\n",
		"get cm -n empty -o name":           "",
		"get cm missing":                    "Error from server (NotFound): configmaps \"missing\" not found\nstatus 1\n",
		"get deploy missing":                "Error from server (NotFound): deployments.apps \"missing\" not found\nstatus 1\n",
		"get cm missing --ignore-not-found": "",
		"get nothing":                       "error: the server doesn't have a resource type \"nothing\"\nstatus 1\n",
		"get cm -o xml":                     "error: unable to match a printer suitable for the output format \"xml\", allowed formats are: custom-columns,custom-columns-file,go-template,go-template-file,json,jsonpath,jsonpath-as-json,jsonpath-file,kyaml,name,template,templatefile,wide,yaml\nstatus 1\n",
		"get cm --frob":                     "error: unknown flag: --frob\nSee 'kubectl get --help' for usage.\nstatus 1\n",
		"get cm --token x":                  "error: --token: a hook's requests are made with its own permissions: remove the flag\nstatus 1\n",
		"get cm -w":                         "error: kubectl get --watch is not supported in a hook\nstatus 1\n",
		"frob":                              "error: kubectl frob is not supported in a hook\nstatus 1\n",
	} {
		if got := run(t, cluster(t, settings, web, pod, node), "kubectl "+command); got != want {
			t.Errorf("kubectl %s\n%s\nand not\n%s", command, got, want)
		}
	}
}

func TestCommandsThatChange(t *testing.T) {
	for command, want := range map[string]string{
		"label cm settings a=b":                                              "configmap/settings labeled\n",
		"label cm settings app=web":                                          "configmap/settings not labeled\n",
		"label cm settings app=x":                                            "error: 'app' already has a value (web), and --overwrite is false\nstatus 1\n",
		"label cm settings app=x --overwrite":                                "configmap/settings labeled\n",
		"label cm settings app-":                                             "configmap/settings unlabeled\n",
		"label cm -l app=web a=b":                                            "configmap/settings labeled\n",
		"annotate cm settings a=b":                                           "configmap/settings annotated\n",
		"patch cm settings -p '{\"data\":{\"a\":\"3\"}}'":                    "configmap/settings patched\n",
		"patch cm settings -p 'data: {a: \"2\"}'":                            "configmap/settings patched (no change)\n",
		"patch cm settings --type=frob -p '{}'":                              "error: --type must be one of [json merge strategic], not \"frob\"\nstatus 1\n",
		"delete cm settings":                                                 "configmap \"settings\" deleted from default namespace\n",
		"delete node n1":                                                     "node \"n1\" deleted\n",
		"delete cm missing":                                                  "Error from server (NotFound): configmaps \"missing\" not found\nstatus 1\n",
		"delete cm missing --ignore-not-found":                               "",
		"delete cm":                                                          "error: resource(s) were provided, but no name was specified\nstatus 1\n",
		"delete cm --all":                                                    "configmap \"settings\" deleted from default namespace\n",
		"scale deploy web -n prod --replicas=3":                              "deployment.apps/web scaled\n",
		"taint node n1 c=d:NoExecute":                                        "node/n1 tainted\n",
		"taint node n1 a-":                                                   "node/n1 untainted\n",
		"taint node n1 a=x:NoSchedule":                                       "error: node n1 already has a taint(s) with same effect(s) and --overwrite is false\nstatus 1\n",
		"cordon n1":                                                          "node/n1 cordoned\n",
		"rollout restart deploy/web -n prod":                                 "deployment.apps/web restarted\n",
		"rollout status deploy/web -n prod --timeout=1s --watch=false":       "Waiting for deployment \"web\" rollout to finish: 1 of 2 updated replicas are available...\n",
		"wait --for=condition=Ready node/n1":                                 "node/n1 condition met\n",
		"wait --for=jsonpath='{.spec.replicas}'=2 deploy/web -n prod":        "deployment.apps/web condition met\n",
		"create ns x":                                                        "namespace/x created\n",
		"create cm x --from-literal=a=b --dry-run=client -o yaml":            "apiVersion: v1\ndata:\n  a: b\nkind: ConfigMap\nmetadata:\n  name: x\n",
		"create cm settings":                                                 "error: failed to create configmap: configmaps \"settings\" already exists\nstatus 1\n",
		"create secret generic s --from-literal=k=v -o jsonpath='{.data.k}'": "dg==",
		"create role r --verb=get,list --resource=pods,deployments.apps -o jsonpath='{.rules[*].resources[0]}'": "pods deployments",
		"apply -f - <<< '{\"kind\": \"ConfigMap\"}'":                                                            "error: error validating \"STDIN\": error validating data: apiVersion not set; if you choose to ignore these errors, turn validation off with --validate=false\nstatus 1\n",
		"apply -f missing.yaml": "error: the path \"missing.yaml\" does not exist\nstatus 1\n",
	} {
		if got := run(t, cluster(t, settings, web, pod, node), "kubectl "+command); got != want {
			t.Errorf("kubectl %s\n%s\nand not\n%s", command, got, want)
		}
	}
}

func TestADryRunWritesNothing(t *testing.T) {
	for _, command := range []string{
		"cordon n1", "taint node n1 x=y:NoSchedule", "label node n1 x=y", "annotate node n1 x=y", "scale deploy/web -n prod --replicas=5",
		"set image pod/p a=nginx:9", "delete cm settings", "create cm x", "patch cm settings -p {}",
		"apply -f - <<< '{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}'", "create -f - <<< '{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}'",
		"replace -f - <<< '{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}'",
	} {
		m := cluster(t, settings, web, pod, node)
		subcommand, rest, piped := strings.Cut(command, " -f -")
		script := "kubectl " + subcommand + " --dry-run=client"
		if piped {
			script += " -f -" + rest
		}
		before := fmt.Sprint(m.objects)
		if got := run(t, m, script); strings.Contains(got, "error") {
			t.Errorf("%s\n%s", script, got)
		}
		if len(m.calls) != 0 || fmt.Sprint(m.objects) != before {
			t.Errorf("%s\nwrites: %v", script, m.calls)
		}
	}
}

func TestApplySendsTheDifference(t *testing.T) {
	m := cluster(t)
	apply := func(data string) string {
		return run(t, m, "kubectl apply -f - <<EOF\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: "+data+"\nEOF\n")
	}
	if got := apply("{x: one, why: two}"); got != "configmap/a created\n" {
		t.Fatal(got)
	}
	if got := apply("{x: one, why: two}"); got != "configmap/a unchanged\n" || len(m.calls) != 0 {
		t.Fatal(got, m.calls)
	}
	// Somebody else adds a key, which stays; what was applied before and is gone is removed.
	ref := Ref{"v1", "ConfigMap", "default", "a"}
	m.objects[ref].fields("data")["z"] = "theirs"
	if got := apply("{x: changed}"); got != "configmap/a configured\n" {
		t.Fatal(got)
	}
	if got := encode(m.objects[ref]["data"]); got != `{"x":"changed","z":"theirs"}` {
		t.Error(got)
	}
	if !strings.HasPrefix(m.calls[0], `strategic {"data":{"why":null,"x":"changed"},"metadata":{"annotations":{`) {
		t.Error(m.calls)
	}
	if got := run(t, m, "kubectl apply --server-side --force-conflicts -f - <<< '{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}'"); got != "configmap/b serverside-applied\n" || m.calls[1] != "apply kubectl true" {
		t.Error(got, m.calls)
	}
}

func TestListsAreMergedByTheirKeys(t *testing.T) {
	parsed := func(text string) map[string]any {
		var value map[string]any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		return value
	}
	for _, c := range []struct{ original, modified, current, want, plain string }{
		{`{}`, `{"spec":{"containers":[{"name":"a","image":"2"}]}}`, `{"spec":{"containers":[{"name":"a","image":"1","x":1},{"name":"b"}]}}`,
			`{"spec":{"$setElementOrder/containers":[{"name":"a"}],"containers":[{"image":"2","name":"a"}]}}`, `{"spec":{"containers":[{"image":"2","name":"a"}]}}`},
		{`{"containers":{"env":[{"name":"a"},{"name":"b"}]}}`, `{"containers":{"env":[{"name":"a"}]}}`, `{"containers":{"env":[{"name":"a"},{"name":"b"},{"name":"c"}]}}`,
			`{"containers":{"$setElementOrder/env":[{"name":"a"}],"env":[{"$patch":"delete","name":"b"}]}}`, `{"containers":{"env":[{"name":"a"}]}}`},
		{`{}`, `{"args":["a"]}`, `{"args":["a"]}`, `{}`, `{}`},
		{`{}`, `{"args":["b"]}`, `{"args":["a"]}`, `{"args":["b"]}`, `{"args":["b"]}`},
		{`{"a":{"b":1}}`, `{"a":{}}`, `{"a":{"b":1,"c":2}}`, `{"a":{"b":null}}`, `{"a":{"b":null}}`},
		{`{}`, `{"metadata":{"finalizers":["x"]}}`, `{"metadata":{"finalizers":["y","x"]}}`, `{"metadata":{"$setElementOrder/finalizers":["x"]}}`, `{"metadata":{"finalizers":["x"]}}`},
		{`{"metadata":{"finalizers":["x","z"]}}`, `{"metadata":{"finalizers":["x","w"]}}`, `{"metadata":{"finalizers":["x","z"]}}`,
			`{"metadata":{"$deleteFromPrimitiveList/finalizers":["z"],"$setElementOrder/finalizers":["x","w"],"finalizers":["w"]}}`, `{"metadata":{"finalizers":["x","w"]}}`},
		// Lists with the same name that are not merged.
		{`{}`, `{"imagePullSecrets":[{"name":"b"}]}`, `{"imagePullSecrets":[{"name":"a"}]}`, `{"imagePullSecrets":[{"name":"b"}]}`, `{"imagePullSecrets":[{"name":"b"}]}`},
		{`{}`, `{"ingress":[{"ports":[{"port":1}]}]}`, `{"ingress":[{"ports":[{"port":2}]}]}`, `{"ingress":[{"ports":[{"port":1}]}]}`, `{"ingress":[{"ports":[{"port":1}]}]}`},
		{`{"spec":{"volumes":[{"name":"v","configMap":{"name":"c"}}]}}`, `{"spec":{"volumes":[{"name":"v","secret":{"secretName":"s"}}]}}`, `{"spec":{"volumes":[{"name":"v","configMap":{"name":"c"}}]}}`,
			`{"spec":{"$setElementOrder/volumes":[{"name":"v"}],"volumes":[{"$retainKeys":["name","secret"],"configMap":null,"name":"v","secret":{"secretName":"s"}}]}}`, `{"spec":{"volumes":[{"name":"v","secret":{"secretName":"s"}}]}}`},
	} {
		for strategic, want := range map[bool]string{true: c.want, false: c.plain} {
			if got := encode(threeWay(parsed(c.original), parsed(c.modified), parsed(c.current), rules{strategic: strategic})); got != want {
				t.Errorf("%v %s: %s, not %s", strategic, c.modified, got, want)
			}
		}
	}
	budget := func(minimum, app string) map[string]any {
		return parsed(`{"spec":{"minAvailable":` + minimum + `,"selector":{"matchLabels":{"app":"` + app + `","tier":"x"}}}}`)
	}
	patch := threeWay(budget("1", "a"), budget("1", "b"), budget("1", "a"), rules{strategic: true, kind: "PodDisruptionBudget"})
	if got := encode(patch); got != `{"spec":{"selector":{"matchLabels":{"app":"b","tier":"x"}}}}` {
		t.Error(got)
	}
}

func TestWhatCannotBeReachedIsNamed(t *testing.T) {
	forbidden := &Error{Reason: "Forbidden", Message: "hook h: get is not granted"}
	if got := message(forbidden); got != "Error from server (Forbidden): hook h: get is not granted" {
		t.Error(got)
	}
	invalid := &Error{Reason: "Invalid", Kind: "Pod", Name: "p", Causes: []string{"spec.a: no"}}
	if got := message(invalid); got != `The Pod "p" is invalid: spec.a: no` {
		t.Error(got)
	}
}

func TestAges(t *testing.T) {
	for d, want := range map[time.Duration]string{
		90 * time.Second: "90s", 150 * time.Second: "2m30s", 3 * time.Minute: "3m", 2 * time.Hour: "120m", 5*time.Hour + 30*time.Minute: "5h30m",
		30 * time.Hour: "30h", 50 * time.Hour: "2d2h", 30 * 24 * time.Hour: "30d", 900 * 24 * time.Hour: "2y170d",
	} {
		if got := human(d); got != want {
			t.Errorf("%v: %s, not %s", d, got, want)
		}
	}
}

func TestOptionsOfWrites(t *testing.T) {
	for script, want := range map[string]Options{
		`kubectl create cm a`:                                  {Validation: "Strict"},
		`kubectl create cm a --dry-run=server`:                 {DryRun: true, Validation: "Strict"},
		`kubectl create cm a --validate=false`:                 {Validation: "Ignore"},
		`kubectl create cm a --validate=ignore`:                {Validation: "Ignore"},
		`kubectl create cm a --validate`:                       {Validation: "Strict"},
		`kubectl label pod p a=b --dry-run=server`:             {DryRun: true},
		`kubectl label pod p a=b`:                              {},
		`kubectl delete pod p --dry-run=server`:                {DryRun: true},
		`kubectl patch pod p -p '{}' --dry-run=client`:         {},
		`kubectl create cm a --dry-run=client`:                 {Validation: "Strict"},
		`kubectl create cm a --validate=warn; true`:            {},
		`kubectl create cm a --validate=frob; true`:            {},
		`kubectl create cm a --dry-run=frob || kubectl get po`: {},
	} {
		m := cluster(t, pod)
		run(t, m, script)
		if m.options != want {
			t.Errorf("%s: %+v and not %+v", script, m.options, want)
		}
	}
}

func TestFilesThatAreNotInAFolder(t *testing.T) {
	for script, want := range map[string]string{
		"kubectl create cm a --from-file=k=/dev/stdin -o jsonpath='{.data}' <<< word":                 `{"k":"word\n"}`,
		"kubectl create cm a --from-file=k=<(printf x) -o jsonpath='{.data}'":                         `{"k":"x"}`,
		"kubectl create cm a --from-env-file=<(printf 'A=1\\n') -o jsonpath='{.data}'":                `{"A":"1"}`,
		"kubectl create cm a && kubectl patch cm a --patch-file=<(printf '{\"data\":{\"k\":\"v\"}}')": "configmap/a created\nconfigmap/a patched\n",
		"kubectl create cm a --from-file=k=/nowhere":                                                  "error: error reading /nowhere: no such file or directory\nstatus 1\n",
	} {
		if got := run(t, cluster(t), script); got != want {
			t.Errorf("%s: %q and not %q", script, got, want)
		}
	}
}

func TestTheGraceOfADeletion(t *testing.T) {
	for flags, want := range map[string]string{
		"": "delete Background", "--now": "delete Background 1", "--grace-period=30": "delete Background 30", "--grace-period=0": "delete Background 1",
		"--grace-period=0 --force": "delete Background 0", "--force": "delete Background 0", "--cascade=orphan --grace-period=-1": "delete Orphan",
	} {
		m := cluster(t, pod)
		run(t, m, "kubectl delete pod p --wait=false "+flags)
		if got := strings.Join(m.calls, "; "); got != want {
			t.Errorf("%s: %s and not %s", flags, got, want)
		}
	}
	if got := run(t, cluster(t, pod), "kubectl delete pod p --now --grace-period=5"); !strings.Contains(got, "--now and --grace-period cannot be specified together") {
		t.Error(got)
	}
}

func TestKindsThatAreServed(t *testing.T) {
	for script, want := range map[string]string{
		"kubectl api-resources --api-group=batch": "NAME       SHORTNAMES   APIVERSION   NAMESPACED   KIND\n" +
			"cronjobs   cr           batch/v1     true         CronJob\njobs       jo           batch/v1     true         Job\n",
		"kubectl api-resources --namespaced=false --no-headers --sort-by=kind": "namespaces   na    v1    false   Namespace\nnodes        no    v1    false   Node\n",
		"kubectl api-resources --api-group=apps -o name":                       "deployments.apps\n",
		"kubectl api-resources --api-group= -o name --verbs=get,list":          "configmaps\nnamespaces\nnodes\npods\nsecrets\nserviceaccounts\n",
		"kubectl api-resources --verbs=watch -o name":                          "",
		"kubectl api-resources --api-group=apps -o wide --categories=all": "NAME          SHORTNAMES   APIVERSION   NAMESPACED   KIND         VERBS      CATEGORIES\n" +
			"deployments   de           apps/v1      true         Deployment   get,list   all\n",
	} {
		want += "error: unable to retrieve the complete list of server APIs: metrics.k8s.io/v1\nstatus 1\n"
		if got := run(t, cluster(t), script); got != want {
			t.Errorf("%s:\n%s\nand not\n%s", script, got, want)
		}
	}
	for script, want := range map[string]string{
		"kubectl api-resources x":             "unexpected arguments",
		"kubectl api-resources -o yaml":       "-o yaml is not supported in a hook: use -o name or -o wide",
		"kubectl api-resources --sort-by=age": "--sort-by accepts only name or kind",
	} {
		if got := run(t, cluster(t), script); !strings.Contains(got, want) || !strings.HasSuffix(got, "status 1\n") {
			t.Errorf("%s: %s", script, got)
		}
	}
}

func TestWhatAHookMayDo(t *testing.T) {
	for script, want := range map[string]string{
		"kubectl auth can-i get pods":                        `yes|allowed ["get" "" "pods" "" "default" ""]`,
		"kubectl auth can-i delete po/web -n a":              "no\nstatus 1|" + `allowed ["delete" "" "pods" "" "a" "web"]`,
		"kubectl auth can-i get deploy -A -q":                `|allowed ["get" "apps" "deployments" "" "" ""]`,
		"kubectl auth can-i get pods --subresource=log":      `yes|allowed ["get" "" "pods" "log" "default" ""]`,
		"kubectl auth can-i get nodes":                       "Warning: resource 'nodes' is not namespace scoped\n\nyes|" + `allowed ["get" "" "nodes" "" "" ""]`,
		"kubectl auth can-i get frobs":                       "Warning: the server doesn't have a resource type 'frobs'\n\nyes|" + `allowed ["get" "" "frobs" "" "default" ""]`,
		"kubectl auth can-i frob pods":                       "Warning: verb 'frob' is not a known verb\n\nno\nstatus 1|" + `allowed ["frob" "" "pods" "" "default" ""]`,
		"if kubectl auth can-i get po -q; then echo yes; fi": `yes|allowed ["get" "" "pods" "" "default" ""]`,
		"kubectl auth can-i '*' '*' -A":                      "no\nstatus 1|" + `allowed ["*" "" "*" "" "" ""]`,
	} {
		m := cluster(t)
		got := strings.TrimSpace(run(t, m, script)) + "|" + strings.Join(m.calls, "; ")
		if got != want {
			t.Errorf("%s:\n%s\nand not\n%s", script, got, want)
		}
	}
	for script, want := range map[string]string{
		"kubectl auth can-i --list":        "--list is not supported in a hook",
		"kubectl auth can-i get":           "you must specify two arguments",
		"kubectl auth can-i get /healthz":  "it has objects only",
		"kubectl auth whoami":              "kubectl auth whoami is not supported in a hook",
		"kubectl auth can-i get po --as=x": "--as: a hook's requests are made with its own permissions",
	} {
		if got := run(t, cluster(t), script); !strings.Contains(got, want) || !strings.HasSuffix(got, "status 1\n") {
			t.Errorf("%s: %s", script, got)
		}
	}
}
