package uses

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/boathook/boathook/interpreters/shell/kubectl"
	"github.com/boathook/boathook/interpreters/shell/shellop"
)

var served = []kubectl.Resource{
	{APIVersion: "v1", Kind: "ConfigMap", Plural: "configmaps", Namespaced: true}, {APIVersion: "v1", Kind: "Secret", Plural: "secrets", Namespaced: true},
	{APIVersion: "v1", Kind: "Pod", Plural: "pods", Namespaced: true}, {APIVersion: "v1", Kind: "Node", Plural: "nodes"},
	{APIVersion: "v1", Kind: "Namespace", Plural: "namespaces"}, {APIVersion: "v1", Kind: "ServiceAccount", Plural: "serviceaccounts", Namespaced: true},
	{APIVersion: "apps/v1", Kind: "Deployment", Plural: "deployments", Namespaced: true}, {APIVersion: "batch/v1", Kind: "Job", Plural: "jobs", Namespaced: true},
	{APIVersion: "batch/v1", Kind: "CronJob", Plural: "cronjobs", Namespaced: true},
}

func resolve(name, version string) (kubectl.Resource, error) {
	short := map[string]string{"cm": "configmaps", "po": "pods", "deploy": "deployments", "ns": "namespaces", "sa": "serviceaccounts", "no": "nodes"}
	wanted := strings.ToLower(name)
	if long := short[wanted]; long != "" {
		wanted = long
	}
	for _, one := range served {
		if (wanted == strings.ToLower(one.Kind) || wanted == one.Plural) && (version == "" || version == one.APIVersion) {
			return one, nil
		}
	}
	return kubectl.Resource{}, errors.New("no such kind")
}

const config = `if [[ $1 == --config ]]; then
  cat <<EOF
configVersion: v1
kubernetes:
- name: namespaces
  apiVersion: v1
  kind: Namespace
  jqFilter: '{name: .metadata.name}'
EOF
  exit
fi
`

func list(t *testing.T, script string, more ...string) *Listing {
	t.Helper()
	hook := &shellop.Hook{Entry: "/hooks/h.sh", Files: map[string][]byte{"/hooks/h.sh": []byte(config + script)}}
	for i := 0; i+1 < len(more); i += 2 {
		hook.Files["/hooks/"+more[i]] = []byte(more[i+1])
	}
	found, err := Of(context.Background(), hook, resolve)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// show has a line for each request: VERBS RESOURCE NAMESPACE/NAME, with what is not known.
func show(l *Listing) string {
	var order []string
	verbs := map[string][]string{}
	for _, r := range l.Requests {
		key := r.Resource
		if r.Group != "" {
			key += "." + r.Group
		}
		key = fmt.Sprintf("%d %s %s/%s", r.Line-11, key, r.Namespace, r.Name)
		if len(r.Unknown) > 0 {
			key += " (" + strings.Join(r.Unknown, ", ") + ")"
		}
		if verbs[key] == nil {
			order = append(order, key)
		}
		verbs[key] = append(verbs[key], r.Verb)
	}
	var lines []string
	for _, key := range order {
		line, rest, _ := strings.Cut(key, " ")
		lines = append(lines, line+" "+strings.Join(verbs[key], ",")+" "+rest)
	}
	for _, p := range l.Problems {
		mark := "?"
		if p.Refused {
			mark = "!"
		}
		lines = append(lines, fmt.Sprintf("%d %s %s", p.Line-11, mark, p.Text))
	}
	return strings.Join(lines, "\n")
}

func TestEachConstructOfAScript(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"a name and a namespace":       {`kubectl get secret registry -n web`, "1 get secrets web/registry"},
		"the default namespace":        {`kubectl get cm a`, "1 get configmaps default/a"},
		"a kind without namespaces":    {`kubectl get ns a -n web`, "1 get namespaces /a"},
		"a list in all namespaces":     {`kubectl get pods -A -l app=x -o name`, "1 list pods /"},
		"two kinds":                    {`kubectl get cm,sa -n web`, "1 list configmaps web/\n1 list serviceaccounts web/"},
		"KIND/NAME":                    {`kubectl delete deploy/web --wait=false -n web`, "1 delete deployments.apps web/web"},
		"a deletion that waits":        {`kubectl delete pod p`, "1 delete,get pods default/p"},
		"a deletion of what is listed": {`kubectl delete pods -n web -l app=x`, "1 list,delete,get pods web/"},
		"label":                        {`kubectl label node n role- other=x`, "1 get,patch nodes /n"},
		"a label that is removed":      {`kubectl label ns n role-`, "1 get,patch namespaces /n"},
		"a taint that is removed":      {`kubectl taint node n a:NoExecute-`, "1 get,patch nodes /n"},
		"uncordon":                     {`kubectl uncordon n`, "1 get,patch nodes /n"},
		"scale":                        {"n=$(jq .x $BINDING_CONTEXT_PATH)\nkubectl scale deploy web --replicas=$n", "2 get deployments.apps default/web\n2 patch deployments/scale.apps default/web"},
		"set image":                    {`kubectl set image deploy/web app=nginx:2`, "1 get,patch deployments.apps default/web"},
		"rollout":                      {`kubectl rollout restart deploy web && kubectl rollout status deploy web`, "1 patch,get deployments.apps default/web"},
		"wait":                         {`kubectl wait --for=condition=Ready pod/p --timeout=5s`, "1 get pods default/p"},
		"a generator":                  {`kubectl create secret generic s --from-literal=a=b -n web`, "1 create secrets web/s"},
		"a job of a cronjob":           {`kubectl create job j --from=cronjob/c`, "1 get cronjobs.batch default/c\n1 create jobs.batch default/j"},
		"apply":                        {"kubectl apply -f - <<EOF\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: web}\nEOF", "1 get,patch,create configmaps web/a"},
		"apply on the server":          {"cat <<EOF | kubectl apply --server-side -f -\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nEOF", "1 create,patch configmaps default/a"},
		"replace":                      {"echo '{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"}}' | kubectl replace -f -", "1 get,update configmaps default/a"},
		"a dry run that is applied":    {`kubectl create cm a --from-literal=x=y --dry-run=client -o yaml | kubectl apply -f -`, "1 get,patch,create configmaps default/a"},
		"a copy": {"secret=$(kubectl get secret registry -n default -o json)\nfor ns in $(jq -r '.[].object.metadata.name' $BINDING_CONTEXT_PATH); do\n  echo \"$secret\" | jq --arg ns \"$ns\" '.metadata = {name: .metadata.name, namespace: $ns}' | kubectl apply -f -\ndone",
			"1 get secrets default/registry\n3 get,patch,create secrets /registry (the namespace is $ns)"},
		"a copy in one pipe":                     {"kubectl get secret registry -o json | jq '.metadata = {name: .metadata.name, namespace: \"web\"}' | kubectl apply -f -", "1 get secrets default/registry\n1 get,patch,create secrets web/registry"},
		"a variable with one value":              {"NS=web\nkubectl get cm a -n \"$NS\"", "2 get configmaps web/a"},
		"a variable of a variable":               {"A=we\nNS=\"${A}b\"\nkubectl get cm a-$NS -n ${NS}", "3 get configmaps web/a-web"},
		"a default":                              {"kubectl get cm a -n ${NS:-web}", "1 get configmaps web/a"},
		"a variable with two values":             {"NS=a\n[[ -f x ]] && NS=b\nkubectl get cm c -n $NS", "3 get configmaps a/c\n3 get configmaps b/c"},
		"a loop over words":                      {"for ns in a b; do kubectl get cm c -n $ns; done", "1 get configmaps a/c\n1 get configmaps b/c"},
		"a loop over an array":                   {"all=(a b)\nfor ns in \"${all[@]}\"; do kubectl get cm c -n \"$ns\"; done", "2 get configmaps a/c\n2 get configmaps b/c"},
		"flags in an array":                      {"args=(-n web)\nargs+=(--ignore-not-found)\nkubectl delete cm c --wait=false \"${args[@]}\"", "3 delete configmaps web/c"},
		"a function with arguments":              {"f() { kubectl get cm \"$1\" -n \"$2\"; }\nf a x\nf b y", "1 get configmaps x/a\n1 get configmaps y/b"},
		"a function of a function":               {"k() { kubectl \"$@\"; }\nf() { local ns=$1; k get cm a -n \"$ns\"; }\nf web", "1 get configmaps web/a"},
		"a function that prints":                 {"g() { cat <<EOF\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: $1}\nEOF\n}\ng a | kubectl apply -f -", "7 get,patch,create configmaps default/a"},
		"a variable command":                     {"KUBECTL='kubectl -n web'\n$KUBECTL get cm a", "2 get configmaps web/a"},
		"a file of the run":                      {"cat > /tmp/a.yaml <<EOF\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nEOF\nkubectl create -f /tmp/a.yaml", "6 create configmaps default/a"},
		"xargs":                                  {`kubectl get pods -n web -o name | xargs kubectl delete --wait=false -n web`, "1 list,delete pods web/"},
		"both branches":                          {"if kubectl get cm a; then kubectl delete cm a --wait=false; else kubectl create cm a; fi", "1 get,delete,create configmaps default/a"},
		"what read gets":                         {"kubectl get ns -o name | while read -r ns; do kubectl delete \"$ns\" --wait=false; done", "1 list,delete namespaces /"},
		"a kind that is not known":               {`kubectl get "$(jq -r .kind $BINDING_CONTEXT_PATH)" a -n web`, "1 get *.* web/a (the kind is $(jq -r .kind $BINDING_CONTEXT_PATH))"},
		"a part of a placeholder":                {"ns=$(jq -r '.[0].object.metadata.name' $BINDING_CONTEXT_PATH)\nkubectl get cm a -n \"${ns:0:3}\"", "2 get configmaps /a (the namespace is computed)"},
		"a custom resource":                      {"kubectl get crontabs.stable.example.com a", "1 get crontabs.stable.example.com /a (the plural and the scope are guessed: give its definition with --crds)"},
		"a plural that is guessed":               {"kubectl apply --server-side -f - <<EOF\napiVersion: x.io/v1\nkind: Policy\nmetadata: {name: a, namespace: web}\nEOF", "1 create,patch policies.x.io /a (the plural and the scope are guessed: give its definition with --crds)"},
		"an operation on a kind that is guessed": {"echo '{operation: Delete, apiVersion: x.io/v1, kind: Policy, name: a, namespace: web}' > $KUBERNETES_PATCH_PATH", "1 delete,get policies.x.io /a (the plural and the scope are guessed: give its definition with --crds)"},
		"a definition that is missing":           {"kubectl get crontab a", "1 ? what kubectl get crontab a needs is not known before a run: the kind crontab is not known here: give its CustomResourceDefinition w…"},
		"operations": {"jq -c '.[] | {operation: \"CreateOrUpdate\", object: {apiVersion: \"v1\", kind: \"Secret\", metadata: {name: \"registry\", namespace: .object.metadata.name}}}' \"$BINDING_CONTEXT_PATH\" >> \"$KUBERNETES_PATCH_PATH\"",
			"1 create,get,update secrets /registry (the namespace is the name of a watched object)"},
		"an operation in YAML":         {"cat <<EOF > $KUBERNETES_PATCH_PATH\noperation: MergePatch\nkind: deploy\nname: web\nnamespace: web\nsubresource: status\nmergePatch: {}\n---\noperation: Delete\nkind: Pod\nname: p\nnamespace: web\nEOF", "1 patch deployments/status.apps web/web\n1 delete,get pods web/p"},
		"the library":                  {"source /shell_lib.sh\necho '{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\",\"namespace\":\"web\"}}' | kubernetes::create_or_update\nkubernetes::delete --background v1 Pod web p", "2 create,get,update configmaps web/a\n3 delete pods web/p"},
		"handlers":                     {"source /shell_lib.sh\n__on_kubernetes::namespaces::added() { kubectl create cm a -n web; }\nhook::run", "2 create configmaps web/a"},
		"a trap":                       {"clean() { kubectl delete cm a --wait=false; }\ntrap clean EXIT", "1 delete configmaps default/a"},
		"an index of a loop":           {"for ((i = 0; i < 2; i++)); do\n  jq -c \".[$i] | {operation: \\\"Delete\\\", kind: \\\"Pod\\\", name: .object.metadata.name, namespace: \\\"web\\\"}\" $BINDING_CONTEXT_PATH > $KUBERNETES_PATCH_PATH\ndone", "2 delete,get pods web/ (the name is the name of a watched object)"},
		"the environment":              {"kubectl get secret \"$SECRET_NAME\"", "1 get secrets default/ (the name is $SECRET_NAME)\n1 ? $SECRET_NAME is not set in the script: a hook does not see the variables of a Pod, so set it in the script"},
		"a command that is not there":  {"helm list", "1 ! helm: there is no such command in a hook"},
		"all that is refused":          {"helm list\nkubectl exec p -- ls\ncurl http://x", "1 ! helm: there is no such command in a hook\n2 ! kubectl exec is not supported in a hook\n3 ! curl: a hook has no network"},
		"shift":                        {"f() { local ns=$1; shift; kubectl get cm \"$1\" -n web; }\nf a b", "1 get configmaps web/ (the name is $1)"},
		"shift before other words":     {"g() { kubectl get cm \"$@\"; }\nf() { shift; g \"$1\" -n \"$2\"; }\nf a b c", "1 get configmaps / (the namespace is $2, the name is $1)"},
		"arguments that are set":       {"set -eu -o pipefail\nset -- a b\nkubectl get cm \"$2\"", "3 get configmaps default/ (the name is $2)"},
		"options that are set":         {"f() { set -euo pipefail; kubectl get cm \"$1\"; }\nf a", "1 get configmaps default/a"},
		"the action of a trap":         {"trap 'kubectl delete cm a --wait=false; if x; then kubectl get cm b; fi' EXIT", "1 delete configmaps default/a\n1 get configmaps default/b"},
		"a trap with a variable":       {"NS=web\ntrap \"kubectl get cm a -n $NS\" EXIT TERM", "2 get configmaps web/a"},
		"a trap that is not known":     {"n=$(jq -r .n $BINDING_CONTEXT_PATH)\ntrap \"kubectl get cm $n\" EXIT", "2 ? what trap \"kubectl get cm $n\" EXIT runs is not known before a run"},
		"traps that run nothing":       {"trap - EXIT\ntrap '' TERM\ntrap -p", ""},
		"eval":                         {"NS=web\neval 'kubectl get cm a -n \"$NS\"'\neval kubectl delete cm b --wait=false", "2 get configmaps web/a\n3 delete configmaps default/b"},
		"eval of an assignment":        {"eval 'NS=web'\nkubectl get cm a -n $NS", "2 get configmaps web/a"},
		"eval that is not known":       {"eval \"kubectl get $(jq -r .x $BINDING_CONTEXT_PATH)\"", "1 ? what eval \"kubectl get $(jq -r .x $BINDING_CONTEXT_PATH)\" runs is not known before a run"},
		"eval of a variable":           {"read -r line\neval \"$line\"", "2 ? what eval \"$line\" runs is not known before a run"},
		"eval of assignments":          {"eval \"$(jq -r '\"N=\\(.n)\"' $BINDING_CONTEXT_PATH)\"", ""},
		"a shell with a text":          {"bash -ec 'if x; then kubectl get cm a; fi; kubectl get cm \"$1\"' x b", "1 get configmaps default/a\n1 get configmaps default/ (the name is $1)"},
		"a shell with a document":      {"bash <<'EOF'\nkubectl get cm a\nEOF", "2 get configmaps default/a"},
		"a shell that reads a pipe":    {"jq -r .x $BINDING_CONTEXT_PATH | bash", "1 ? what bash runs is not known before a run"},
		"find":                         {"find /hooks -name '*.sh' -exec kubectl delete cm a --wait=false \\;", "1 delete configmaps default/a"},
		"the path of kubectl":          {"/usr/local/bin/kubectl get cm a\nK=/usr/bin/kubectl\n$K get cm b", "1 get configmaps default/a\n3 get configmaps default/b"},
		"a command that is looked up":  {"command -v kubectl >/dev/null", ""},
		"a script that is not known":   {"bash \"$(jq -r .x $BINDING_CONTEXT_PATH)\"", "1 ? what bash \"$(jq -r .x $BINDING_CONTEXT_PATH)\" runs is not known before a run"},
		"a pipe that ends early":       {"kubectl get pods -n web | grep Evicted | awk '{print $1}' | xargs -r kubectl delete pod -n web", "1 list pods web/\n1 ? what xargs -r kubectl delete pod -n web needs is not known before a run"},
		"two commands of a line":       {"verb=$(jq -r .v $BINDING_CONTEXT_PATH)\nkubectl get ns a && kubectl \"$verb\" cm b", "2 get namespaces /a\n2 ? what kubectl \"$verb\" cm b needs is not known before a run: kubectl $verb is not supported in a hook"},
		"a variable that is unknown":   {"read -r cmd\n$cmd cm a", "2 ? what $cmd cm a needs is not known before a run"},
		"a branch in a pipe":           {"for i in 1 2; do if kubectl get cm a; then kubectl get cm b; else kubectl create cm c; fi; done | grep -q x", "1 get configmaps default/a\n1 get configmaps default/b\n1 create configmaps default/c"},
		"what needs nothing":           {"kubectl version --client\nkubectl create cm a --dry-run=client -o yaml > /tmp/a.yaml\nkubectl create sa b --dry-run=client -o name", ""},
		"a wrapper":                    {"retry() { for i in 1 2 3; do \"$@\" && return; done; }\nf() { kubectl get cm \"$1\"; }\nretry kubectl get cm a\nretry f b", "1 get configmaps default/a\n2 get configmaps default/b"},
		"an exit in a function":        {"f() { exit 1; kubectl get cm a; }\nf | cat", "1 get configmaps default/a"},
		"a shell that another runs":    {"echo a | xargs -I{} sh -c 'kubectl get cm {}'\ncat /dev/null | xargs -r -I{} sh -c 'kubectl get cm {}'", "1 get configmaps default/a\n2 ? what xargs -r -I{} sh -c 'kubectl get cm {}' needs is not known before a run"},
		"an operation of a branch":     {"source /shell_lib.sh\nfalse && kubernetes::delete v1 Pod web p", "2 delete,get pods web/p"},
		"an operation without words":   {"source /shell_lib.sh\njq -c '.[] | select(.x)' $BINDING_CONTEXT_PATH | kubernetes::create", "2 ? what jq -c '.[] | select(.x)' $BINDING_CONTEXT_PATH | kubernetes::create needs is not known before a run: it writes nothing to $KUBERNETES_PATCH_PATH for the events of the docum…"},
		"a variable that can be empty": {"FLAGS=\n[[ -f x ]] && FLAGS='-n web'\nkubectl get pods $FLAGS -l a=b", "3 list pods web/\n3 list pods default/"},
		"an empty name":                {"NAME=''\n[[ -f x ]] && NAME=a\nkubectl get cm $NAME", "3 get configmaps default/a\n3 list configmaps default/"},
		"two declarations":             {"if [[ -f x ]]; then f() { kubectl get cm a; }; else f() { kubectl get cm b; }; fi\nf", "1 get configmaps default/a\n1 get configmaps default/b"},
		"two declarations in a pipe":   {"g() { echo cm/a; }\n[[ -f x ]] && g() { echo secret/b; }\ng | xargs kubectl get", "3 get configmaps default/a\n3 get secrets default/b"},
		"what jq prints of nothing":    {"[[ $x == null ]] && echo 7 true '{}'\nfor f in absent data.n; do :; done\njq -r '.[0].object.spec.absent' $BINDING_CONTEXT_PATH | xargs kubectl get cm -n web", "3 get configmaps web/ (the name is computed)"},
		"a number that is known":       {"for i in 7 8; do kubectl get cm $i -n web; done", "1 get configmaps web/7\n1 get configmaps web/8"},
		"a producer with branches":     {"g() { if [[ $(date +%H) == 1 ]]; then echo cm/a; else echo secret/b; fi; }\ng | xargs kubectl get -n web", "2 get secrets web/b\n2 ? what g prints depends on conditions: check the kinds and names that requests get from it"},
		"an object of branches": {"d=$(case $x in 1) echo '{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"}}' ;; *) echo '{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"b\"}}' ;; esac)\nread -r x\necho \"$d\" | kubectl create -f -",
			"3 create secrets default/b\n1 ? what $(case $x in 1) echo '{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name… prints depends on conditions: check the kinds and names that requests get from it"},
		"a name of branches":                {"read -r x\nn=$(if [[ $x == 1 ]]; then echo cm/$x; else echo secret/$x; fi)\nkubectl get $n -n web", "3 get secrets web/ (the name is $x)\n2 ? what $(if [[ $x == 1 ]]; then echo cm/$x; else echo secret/$x; fi) prints depends on conditions: check the kinds and names that requests get from it"},
		"a namespace of branches":           {"read -r x\nn=$(if [[ $x == 1 ]]; then echo a-$x; else echo b-$x; fi)\nkubectl get cm c -n $n", "3 get configmaps /c (the namespace is $n)"},
		"the environment in a substitution": {"\nx=$(echo a-$SECRET_NAME)\nkubectl get cm $x", "3 get configmaps default/ (the name is $SECRET_NAME)\n2 ? $SECRET_NAME is not set in the script: a hook does not see the variables of a Pod, so set it in the script"},
		"a condition that is known":         {"E=prod\nn=$(if [[ $E == prod ]]; then echo a; else echo b; fi)\n{ [[ $E == prod ]] && echo cm/a; } | xargs kubectl get\nkubectl get cm $n", "3 get configmaps default/a\n4 get configmaps default/a"},
		"a name of a file test":             {"n=$(if [[ -f /x ]]; then echo a; else echo b; fi)\nkubectl get cm $n", "2 get configmaps default/ (the name is $n)"},
		"a producer that can fail":          {"g() { [[ -f /x ]] || { echo none >&2; return 1; }; echo cm/a; }\ng | xargs -r kubectl get || true", "2 ? what xargs -r kubectl get needs is not known before a run"},
		"a wrapper that fails once":         {"retry() { \"$@\"; }\nretry kubectl get cm a\nretry kubectl apply -f /tmp/a.yaml", "1 get configmaps default/a\n1 ? what kubectl apply -f /tmp/a.yaml needs is not known before a run: the path \"/tmp/a.yaml\" does not exist"},
		"nothing":                           {"echo hello | tr a-z A-Z", ""},
		"a file that is not there":          {"source /opa/shell_lib.sh\nkubectl get cm a", "2 get configmaps default/a\n1 ! source: there is no file /opa/shell_lib.sh: put it into the directory of the hooks as lib/rootfs/opa/shell_lib.sh, which a run has at the root"},
		"a relative file that is not there": {". common.sh", "1 ! source: there is no file common.sh: put it into the directory of the hooks, which a run has as /hooks"},
		"a file that can be missing":        {"[ -f /etc/defaults ] && . /etc/defaults\nif [[ -e ./x.sh ]]; then source ./x.sh; fi", "1 ? source: there is no file /etc/defaults: put it into the directory of the hooks as lib/rootfs/etc/defaults, which a run has at the root\n2 ? source: there is no file ./x.sh: put it into the directory of the hooks, which a run has as /hooks"},
		"a file with a variable":            {"source \"${0%/*}/../common/functions.sh\"", "1 ? source: there is no file \"${0%/*}/../common/functions.sh\": put it into the directory of the hooks, which a run has as /hooks"},
		"files that are there or made":      {"source /shell_lib.sh\n. /frameworks/shell/hook.sh\necho x=1 > /tmp/x\nsource /tmp/x\nsource <(echo y=1)\n. \"$1\"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := show(list(t, c.script)); got != c.want {
				t.Errorf("\n%s\nand not\n%s", got, c.want)
			}
		})
	}
}

func TestFilesBesideTheHook(t *testing.T) {
	found := list(t, "source \"$(dirname \"$0\")/lib/common.sh\"\nensure \"$NAME\"\nkubectl apply -f /hooks/manifests", "lib/common.sh", "NAME=shared\nensure() { kubectl get ns \"$1\"; }\nunused() { kubectl delete ns a; }\n",
		"lib/other.sh", "kubectl delete ns other", "manifests/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
	var lines []string
	for _, r := range found.Requests {
		lines = append(lines, fmt.Sprintf("%s:%d %s %s %s", path.Base(r.File), r.Line, r.Verb, r.Resource, r.Name))
	}
	want := "common.sh:2 get namespaces shared; h.sh:14 get configmaps a; h.sh:14 patch configmaps a; h.sh:14 create configmaps a"
	if got := strings.Join(lines, "; "); got != want || len(found.Problems) != 0 {
		t.Errorf("%s\nand not\n%s %v", got, want, found.Problems)
	}
}

func TestFilesThatAreRun(t *testing.T) {
	for _, call := range []string{"bash lib/deploy.sh web", "/hooks/lib/deploy.sh web", `"$(dirname "$0")"/lib/deploy.sh`, "timeout 5 sh -e ./lib/deploy.sh", "exec lib/../lib/deploy.sh"} {
		found := list(t, call+"\n", "lib/deploy.sh", "kubectl get cm a -n \"$1\"\n", "lib/other.sh", "kubectl get cm b\n")
		if got := show(found); got != "-10 get configmaps /a (the namespace is $1)" {
			t.Errorf("%s: %s", call, got)
		}
	}
}

func TestTheFolderOfARun(t *testing.T) {
	hook := &shellop.Hook{Entry: "/hooks/sub/h.sh", Files: map[string][]byte{
		"/hooks/sub/h.sh":             []byte(config + "kubectl create -f manifests/a.yaml"),
		"/hooks/sub/manifests/a.yaml": []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"),
	}}
	found, err := Of(context.Background(), hook, resolve)
	if err != nil {
		t.Fatal(err)
	}
	if got := show(found); got != "1 create configmaps default/a" {
		t.Error(got)
	}
}

func TestSourcesWithDots(t *testing.T) {
	for _, source := range []string{
		". ./common.sh", "source lib/../common.sh", `. "$(dirname "$0")/../hooks/common.sh"`, `source "${BASH_SOURCE%/*}/./common.sh"`, `. /hooks/common.sh`,
		`. "$DIR/com$REST.sh"`, `. "$FILE"`,
	} {
		found := list(t, "DIR=/hooks REST=mon FILE=common.sh\n"+source+"\nensure a", "common.sh", "ensure() { kubectl get ns \"$1\"; }\n")
		if got := show(found); got != "-10 get namespaces /a" {
			t.Errorf("%s: %s", source, got)
		}
	}
}

func TestLimitsAreReported(t *testing.T) {
	has := func(found *Listing, text string) {
		t.Helper()
		for _, p := range found.Problems {
			if strings.Contains(p.Text, text) && !p.Refused {
				return
			}
		}
		t.Errorf("%q is not among %v", text, found.Problems)
	}
	var calls, deep, bindings strings.Builder
	calls.WriteString("f() { kubectl get cm \"$1\"; }\n")
	for i := range 420 {
		fmt.Fprintf(&calls, "f n%d\n", i)
	}
	has(list(t, calls.String()), "check what f needs")

	for i := range 12 {
		fmt.Fprintf(&deep, "f%d() { f%d; }\n", i, i+1)
	}
	has(list(t, deep.String()+"f12() { kubectl get cm a; }\nf0"), "check what f10 needs")

	for i := range 20 {
		fmt.Fprintf(&bindings, "- {name: b%d, apiVersion: v1, kind: ConfigMap}\n", i)
	}
	hook := &shellop.Hook{Entry: "/hooks/h.sh", Files: map[string][]byte{"/hooks/h.sh": []byte("if [[ $1 == --config ]]; then cat <<EOF\nconfigVersion: v1\nkubernetes:\n" + bindings.String() +
		"EOF\nexit\nfi\njq -r '.[0].object.metadata.name' $BINDING_CONTEXT_PATH | xargs kubectl delete cm\n")}}
	found, err := Of(context.Background(), hook, resolve)
	if err != nil {
		t.Fatal(err)
	}
	has(found, "too many bindings")
}

func TestFunctionsWithoutRequestsAreNotCounted(t *testing.T) {
	var script strings.Builder
	script.WriteString("log() { echo \"$1\"; }\nf() { kubectl get cm a; }\n")
	for i := range 500 {
		fmt.Fprintf(&script, "log n%d\n", i)
	}
	if got := show(list(t, script.String()+"f")); got != "2 get configmaps default/a" {
		t.Error(got)
	}
}

func TestHostileScriptsEnd(t *testing.T) {
	for _, script := range []string{
		"f() { f; kubectl get cm a; }\nf", "f() { g; }\ng() { f; }\nf | kubectl apply -f -", "while :; do :; done | kubectl apply -f -",
		"x=$(while :; do echo; done)\nkubectl get cm $x", "a=$b$b\nb=$a$a\nkubectl get cm $a",
		"f() { f x \"$@\"; kubectl get cm $1; }\nf", strings.Repeat("for i in a b c d e f g h; do ", 12) + "kubectl get cm $i; " + strings.Repeat("done; ", 12),
		"f() { x=$y; }\ng() { y=$x; }\nkubectl get cm $x", "f() { local name; local ns=$name; kubectl get cm $ns; }\ng() { local ns; local name=$ns; kubectl get cm $name; }\nf\ng",
		"f() { local ns=$name; kubectl get cm $ns; }\ng() { local name=$ns; kubectl get cm $name; }\nf\ng", "x='eval \"$x\"; eval \"$x\"; eval \"$x\"; kubectl get cm a'\neval \"$x\"", "trap 'trap \"trap x EXIT\" EXIT' EXIT", "eval 'eval \"eval x\" ('",
		"a=($(echo ${a[0]}))\nkubectl get cm ${a[0]}",
		"f() { a=($(echo ${b[@]})); }\ng() { b=($(echo ${a[@]})); }\nf\ng\nkubectl get cm ${a[0]}",
	} {
		list(t, script)
	}
}
