package kubectl

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/boathook/boathook/interpreters/shell/bash"
	programs "github.com/boathook/boathook/interpreters/shell/commands"
	"github.com/boathook/boathook/interpreters/shell/fs"
	"sigs.k8s.io/yaml"
)

// server is a cluster behind HTTP: the control plane of tests/apiserver, which ends with the test. It does what the host
// does for hooks.
type server struct {
	kubeconfig string
	// programs is the folder of the real kubectl.
	programs string
	url      string
	token    string
	client   *http.Client
	// kinds are in the order of kubectl: the core group first.
	kinds   []served
	options Options
}

type served struct {
	Kind
	singular string
}

func start(t *testing.T) *server {
	t.Helper()
	program := os.Getenv("BOATHOOK_APISERVER")
	if program == "" {
		t.Skip("BOATHOOK_APISERVER names no control plane: tests/apiserver/README.md says how it is built")
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	controllers := "namespace-controller,garbage-collector-controller,deployment-controller,replicaset-controller,serviceaccount-controller"
	command := exec.Command(program, "--exit-with-parent", "--write-kubeconfig", file, "--controllers="+controllers)
	stdin, err := command.StdinPipe()
	check(t, err)
	stdout, err := command.StdoutPipe()
	check(t, err)
	check(t, command.Start())
	t.Cleanup(func() {
		stdin.Close()
		command.Wait()
	})
	ready := make(chan bool, 1)
	go func() {
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "ready") {
				ready <- true
			}
		}
		close(ready)
	}()
	select {
	case is := <-ready:
		if !is {
			t.Fatal("the control plane ended before it was ready")
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("the control plane is not ready after two minutes")
	}
	s := &server{kubeconfig: file, programs: t.TempDir()}
	kubectl, err := filepath.Abs(os.Getenv("BOATHOOK_REAL_KUBECTL"))
	check(t, err)
	check(t, os.Symlink(kubectl, filepath.Join(s.programs, "kubectl")))
	// Other versions have other words.
	is, err := exec.Command(kubectl, "version", "--client").Output()
	if err != nil || !strings.HasPrefix(string(is), "Client Version: v1.36.") {
		t.Fatalf("BOATHOOK_REAL_KUBECTL is not kubectl 1.36, which tools/build-apiserver builds: %s %v", is, err)
	}
	s.connect(t)
	s.discover(t)
	return s
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *server) connect(t *testing.T) {
	t.Helper()
	content, err := os.ReadFile(s.kubeconfig)
	check(t, err)
	var config struct {
		Clusters []struct {
			Cluster struct {
				Server string
				CA     string `json:"certificate-authority-data"`
			}
		}
		Users []struct{ User struct{ Token string } }
	}
	check(t, yaml.Unmarshal(content, &config))
	authority, err := base64.StdEncoding.DecodeString(config.Clusters[0].Cluster.CA)
	check(t, err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	s.url, s.token = config.Clusters[0].Cluster.Server, config.Users[0].User.Token
	s.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, MaxIdleConnsPerHost: 8}}
}

func (s *server) discover(t *testing.T) {
	t.Helper()
	type group struct{ PreferredVersion struct{ GroupVersion string } }
	var groups struct{ Groups []group }
	check(t, s.read("/apis", &groups))
	versions := []string{"v1"}
	for _, group := range groups.Groups {
		versions = append(versions, group.PreferredVersion.GroupVersion)
	}
	for _, version := range versions {
		var list struct {
			Resources []struct {
				Name, SingularName, Kind string
				Namespaced               bool
				ShortNames               []string
				Verbs, Categories        []string
			}
		}
		check(t, s.read(root(version), &list))
		for _, r := range list.Resources {
			if !strings.Contains(r.Name, "/") {
				s.kinds = append(s.kinds, served{Kind{Resource{version, r.Kind, r.Name, r.Namespaced}, r.ShortNames, r.Verbs, r.Categories}, r.SingularName})
			}
		}
	}
}

func root(version string) string {
	if strings.Contains(version, "/") {
		return "/apis/" + version
	}
	return "/api/" + version
}

// send is one request. A Status that is a failure is an Error.
func (s *server) send(method, path string, query url.Values, content, body string) ([]byte, error) {
	request, err := http.NewRequest(method, s.url+path+"?"+query.Encode(), strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+s.token)
	request.Header.Set("Content-Type", content)
	answer, err := s.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode < 400 {
		return text, err
	}
	var status struct {
		Reason, Message string
		Details         struct {
			Kind, Name string
			Causes     []struct{ Field, Message string }
		}
	}
	if err := json.Unmarshal(text, &status); err != nil {
		return nil, errors.New(string(text))
	}
	failure := &Error{Reason: status.Reason, Message: status.Message, Code: answer.StatusCode, Kind: status.Details.Kind, Name: status.Details.Name}
	for _, cause := range status.Details.Causes {
		failure.Causes = append(failure.Causes, cause.Field+": "+cause.Message)
	}
	return nil, failure
}

func (s *server) read(path string, into any) error {
	text, err := s.send("GET", path, nil, "", "")
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

func (s *server) path(version, kind, namespace, name, subresource string) (string, error) {
	resource, err := s.Resolve(kind, version)
	if err != nil {
		return "", err
	}
	path := root(resource.APIVersion)
	if resource.Namespaced && namespace != "" {
		path += "/namespaces/" + namespace
	}
	path += "/" + resource.Plural
	for _, part := range []string{name, subresource} {
		if part != "" {
			path += "/" + url.PathEscape(part)
		}
	}
	return path, nil
}

func (s *server) Resolve(name, version string) (Resource, error) {
	wanted, group, _ := strings.Cut(strings.ToLower(name), ".")
	if v, rest, found := strings.Cut(group, "."); found && regexp.MustCompile(`^v[0-9]`).MatchString(v) {
		version, group = rest+"/"+v, rest
	}
	for _, short := range []bool{false, true} {
		for _, kind := range s.kinds {
			is := wanted == strings.ToLower(kind.Kind.Kind) || wanted == kind.Plural || wanted == kind.singular
			if short {
				is = slices.Contains(kind.ShortNames, wanted)
			}
			if is && (version == "" || version == kind.APIVersion) && (group == "" || strings.HasPrefix(kind.APIVersion, group+"/")) {
				return kind.Resource, nil
			}
		}
	}
	return Resource{}, &Error{Reason: "Invalid", Message: "no such kind"}
}

func (s *server) Get(ref Ref, subresource string) (string, error) {
	return s.one("GET", ref, subresource, nil, "", "")
}

func (s *server) one(method string, ref Ref, subresource string, query url.Values, content, body string) (string, error) {
	path, err := s.path(ref.APIVersion, ref.Kind, ref.Namespace, ref.Name, subresource)
	if err != nil {
		return "", err
	}
	text, err := s.send(method, path, query, content, body)
	return string(text), err
}

// query has the options of writes, and other pairs.
func (s *server) query(pairs ...string) url.Values {
	query := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		query.Set(pairs[i], pairs[i+1])
	}
	if s.options.DryRun {
		query.Set("dryRun", "All")
	}
	if s.options.Validation != "" {
		query.Set("fieldValidation", s.options.Validation)
	}
	return query
}

func (s *server) With(options Options) Cluster {
	copied := *s
	copied.options = options
	return &copied
}

func (s *server) Kinds() ([]Kind, []string, error) {
	kinds := make([]Kind, len(s.kinds))
	for i, one := range s.kinds {
		kinds[i] = one.Kind
	}
	return kinds, nil, nil
}

func (s *server) Allowed(q Question) (bool, error) {
	body := encode(map[string]any{"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": map[string]any{"resourceAttributes": map[string]any{
		"verb": q.Verb, "group": q.Group, "resource": q.Resource, "subresource": q.Subresource, "namespace": q.Namespace, "name": q.Name,
	}}})
	answer, err := s.send("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", nil, "application/json", body)
	if err != nil {
		return false, err
	}
	review, err := decode(string(answer))
	return at(review, "status", "allowed") == true, err
}

func (s *server) List(q Query) ([]string, error) {
	path, err := s.path(q.APIVersion, q.Kind, q.Namespace, "", "")
	if err != nil {
		return nil, err
	}
	text, err := s.send("GET", path, url.Values{"labelSelector": {q.LabelSelector}, "fieldSelector": {q.FieldSelector}}, "", "")
	if err != nil {
		return nil, err
	}
	var found struct{ Items []map[string]any }
	if err := json.Unmarshal(text, &found); err != nil {
		return nil, err
	}
	var all []string
	for _, item := range found.Items {
		// The host adds them, too.
		item["apiVersion"], item["kind"] = q.APIVersion, q.Kind
		all = append(all, encode(item))
	}
	return all, nil
}

const manager = "kubectl-ours"

func (s *server) Create(text string) (string, error) {
	o, err := decode(text)
	if err != nil {
		return "", err
	}
	ref := o.ref()
	ref.Name = ""
	return s.one("POST", ref, "", s.query("fieldManager", manager), "application/json", text)
}

func (s *server) Replace(text, subresource string) (string, error) {
	o, err := decode(text)
	if err != nil {
		return "", err
	}
	return s.one("PUT", o.ref(), subresource, s.query(), "application/json", text)
}

func (s *server) Apply(text, manager string, force bool) (string, error) {
	o, err := decode(text)
	if err != nil {
		return "", err
	}
	query := s.query("fieldManager", manager, "force", fmt.Sprint(force))
	return s.one("PATCH", o.ref(), "", query, "application/apply-patch+yaml", text)
}

func (s *server) Patch(ref Ref, kind, patch, subresource string) (string, error) {
	content := map[string]string{"json": "json-patch", "merge": "merge-patch", "strategic": "strategic-merge-patch"}[kind]
	return s.one("PATCH", ref, subresource, s.query(), "application/"+content+"+json", patch)
}

func (s *server) Delete(ref Ref, how Deletion) error {
	body := map[string]any{"kind": "DeleteOptions", "apiVersion": "v1"}
	if how.Propagation != "" {
		body["propagationPolicy"] = how.Propagation
	}
	if how.Grace != nil {
		body["gracePeriodSeconds"] = *how.Grace
	}
	if s.options.DryRun {
		body["dryRun"] = []string{"All"}
	}
	if _, err := s.one("DELETE", ref, "", nil, "application/json", encode(body)); err != nil {
		return err
	}
	for end := time.Now().Add(how.Wait); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if _, err := s.Get(ref, ""); isReason(err, "NotFound") {
			return nil
		}
	}
	return nil
}

// ours runs a script by this package. Like kubectl's, its namespace is that of the test.
func (s *server) ours(t *testing.T, namespace, script string, files map[string]string) outcome {
	t.Helper()
	tree := fs.New(fs.Limits{Bytes: 1 << 24, Files: 100}, time.Now)
	for name, text := range files {
		check(t, tree.Put("/files/"+name, []byte(text), 0o644))
	}
	check(t, tree.Put("/s.sh", []byte(script), 0o755))
	w := bash.NewWorld(context.Background(), tree, bash.DefaultLimits, 1, time.Now)
	programs.Register(w)
	Register(w, s)
	var out, errs bytes.Buffer
	status, err := w.Run("/s.sh", nil, []string{"PATH=/bin", "NS=" + namespace}, "/files", bash.Streams{Out: &out, Err: &errs})
	check(t, err)
	return outcome{out.String(), errs.String(), status}
}

// real runs a script by bash, with kubectl itself.
func (s *server) real(t *testing.T, namespace, script string, files map[string]string) outcome {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		check(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644))
	}
	command := exec.Command("bash", "-c", script)
	command.Dir = folder
	command.Env = []string{
		"PATH=" + s.programs + ":" + os.Getenv("PATH"), "KUBECONFIG=" + s.kubeconfig, "NS=" + namespace, "HOME=" + filepath.Dir(s.kubeconfig),
	}
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	err := command.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	return outcome{out.String(), errs.String(), command.ProcessState.ExitCode()}
}

type outcome struct {
	stdout, stderr string
	status         int
}

var volatile = []struct {
	find *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "TIME"},
	// What a watch logs if it is not over when the command's time is.
	{regexp.MustCompile(`(?m)^E\d{4} .*reflector\.go:.*\n`), ""},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`(resourceVersion"?: ?"?)\d+`), "${1}VERSION"},
	{regexp.MustCompile(`\b10\.\d+\.\d+\.\d+\b *`), "ADDRESS "},
	{regexp.MustCompile(` +(\d+[smh])+( +|\n|$)`), " SINCE$2"},
	{regexp.MustCompile(` +AGE( +|\n)`), " AGE$1"},
	{regexp.MustCompile(`(SINCE|AGE) +`), "$1 "},
	{regexp.MustCompile(`revision "\d+"`), `revision "N"`},
}

// same is a text without what differs from one object to the next.
func same(text, namespace string) string {
	text = strings.ReplaceAll(text, namespace, "NAMESPACE")
	for _, v := range volatile {
		text = v.find.ReplaceAllString(text, v.with)
	}
	return text
}

// left are the objects of a namespace, without what differs from one to the next.
func (s *server) left(t *testing.T, namespace string) string {
	t.Helper()
	var all strings.Builder
	for _, kind := range []string{"configmaps", "secrets", "services", "serviceaccounts", "deployments", "pods", "roles", "rolebindings", "jobs", "cronjobs", "resourcequotas"} {
		resource, err := s.Resolve(kind, "")
		check(t, err)
		query := Query{APIVersion: resource.APIVersion, Kind: resource.Kind, Namespace: namespace}
		found, err := s.List(query)
		check(t, err)
		// The garbage collector ends such a deletion a moment later.
		collected := func(text string) bool {
			return strings.Contains(text, `"finalizers":["orphan"]`) || strings.Contains(text, `"finalizers":["foregroundDeletion"]`)
		}
		for tries := 0; tries < 300 && slices.ContainsFunc(found, collected); tries++ {
			time.Sleep(100 * time.Millisecond)
			found, err = s.List(query)
			check(t, err)
		}
		for _, text := range found {
			o, err := decode(text)
			check(t, err)
			if o.name() == "kube-root-ca.crt" || len(list(o, "metadata", "ownerReferences")) > 0 || o.kind() == "ServiceAccount" && o.name() == "default" {
				continue
			}
			for _, key := range []string{"managedFields", "uid", "resourceVersion", "creationTimestamp", "generation"} {
				delete(o.fields("metadata"), key)
			}
			// Controllers write it.
			delete(o, "status")
			if annotations, ok := at(o, "metadata", "annotations").(map[string]any); ok {
				delete(annotations, "deployment.kubernetes.io/revision")
				if len(annotations) == 0 {
					delete(o.fields("metadata"), "annotations")
				}
			}
			if spec, ok := o["spec"].(map[string]any); ok {
				delete(spec, "clusterIP")
				delete(spec, "clusterIPs")
			}
			all.WriteString(encode(o) + "\n")
		}
	}
	return same(all.String(), namespace)
}

// fixtures are in the namespace of each test.
var fixtures = []string{
	`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings","labels":{"app":"web","tier":"back"},"annotations":{"note":"one"}},"data":{"b":"<1>","a":"2","text":"line one\nline two\n"}}`,
	`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"other","labels":{"app":"db"}},"data":{"k":"v"}}`,
	`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"token"},"type":"Opaque","data":{"password":"czNjcjN0","user":"YWRtaW4="}}`,
	`{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"robot"}}`,
	`{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"},"spec":{"clusterIP":"None","selector":{"app":"web"},"ports":[{"name":"http","port":80,"targetPort":8080},{"name":"tls","port":443}]}}`,
	`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"lone","labels":{"app":"web"}},"spec":{"containers":[{"name":"a","image":"nginx:1"},{"name":"b","image":"busybox"}]}}`,
	`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","labels":{"app":"web"}},"spec":{"replicas":0,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"main","image":"nginx:1.25","env":[{"name":"A","value":"1"}],"ports":[{"containerPort":80}]},{"name":"side","image":"busybox"}]}}}}`,
	`{"apiVersion":"batch/v1","kind":"CronJob","metadata":{"name":"nightly"},"spec":{"schedule":"0 3 * * *","suspend":true,"jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"busybox"}]}}}}}}`,
	`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":"reader"},"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]}`,
}

func (s *server) prepare(t *testing.T, namespace string) {
	t.Helper()
	_, err := s.Create(fmt.Sprintf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q,"labels":{"side":"yes"}}}`, namespace))
	check(t, err)
	for _, text := range fixtures {
		o, err := decode(text)
		check(t, err)
		o.fields("metadata")["namespace"] = namespace
		// The ServiceAccount of Pods comes with a controller.
		for tries := 0; ; tries++ {
			if _, err = s.Create(encode(o)); err == nil || tries > 100 || !strings.Contains(err.Error(), "serviceaccount") {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		check(t, err)
	}
}

// TestTheRealKubectlDoesTheSame runs each line of testdata/invocations.sh by both. Lines of one paragraph follow each
// other in one namespace.
func TestTheRealKubectlDoesTheSame(t *testing.T) {
	s := start(t)
	cases, invocations := paragraphs(t)
	t.Logf("%d scripts with %d invocations of kubectl", len(cases), invocations)
	known := differences(t)
	var lock sync.Mutex
	seen := map[string]bool{}
	t.Run("each", func(t *testing.T) {
		for i, script := range cases {
			t.Run(fmt.Sprintf("%03d", i+1), func(t *testing.T) {
				t.Parallel()
				differs := s.compare(t, i+1, script)
				lock.Lock()
				defer lock.Unlock()
				reason, listed := known[script]
				seen[script] = true
				switch {
				case differs != "" && !listed:
					t.Errorf("%s\n%s", script, differs)
				case differs == "" && listed:
					t.Errorf("%s\ndoes the same, and is listed as a difference (%s): remove it from the list", script, reason)
				}
			})
		}
	})
	for script := range known {
		if !seen[script] && len(seen) == len(cases) {
			t.Errorf("differences.sh has a script that is not in invocations.sh:\n%s", script)
		}
	}
}

func (s *server) compare(t *testing.T, number int, script string) string {
	t.Helper()
	fake, own := fmt.Sprintf("r%03d", number), fmt.Sprintf("o%03d", number)
	s.prepare(t, fake)
	s.prepare(t, own)
	files := map[string]string{
		"cm.yaml":     "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: filed\ndata:\n  key: value\n",
		"two.yaml":    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: first}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: second}\nstringData: {a: b}\n",
		"deploy.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec: {containers: [{name: main, image: 'nginx:2'}]}\n",
		"key.txt":     "content\n",
		"vars.env":    "# comment\nONE=1\nTWO=two words\n",
		"bad.yaml":    "apiVersion: v1\nkind: ConfigMap\n  metadata: x\n",
	}
	// Both see the namespace where a person has one in the context.
	script = `kubectl() { command kubectl --namespace="$NS" "$@"; }` + "\n" + script
	wanted := s.real(t, fake, script, files)
	got := s.ours(t, own, script, files)
	var differs strings.Builder
	differ := func(what, got, want string) {
		if got != want {
			fmt.Fprintf(&differs, "%s:\n%s", what, apart(got, want))
		}
	}
	differ("stdout", same(got.stdout, own), same(wanted.stdout, fake))
	differ("stderr", same(got.stderr, own), same(wanted.stderr, fake))
	differ("the status", fmt.Sprint(got.status), fmt.Sprint(wanted.status))
	if changes.MatchString(script) {
		differ("what is left", s.left(t, own), s.left(t, fake))
	}
	return differs.String()
}

// apart are the lines that only one of two texts has.
func apart(got, want string) string {
	ours, theirs := strings.Split(got, "\n"), strings.Split(want, "\n")
	var text strings.Builder
	only := func(sign string, lines, others []string) {
		for _, line := range lines {
			if !slices.Contains(others, line) {
				fmt.Fprintf(&text, "%s %s\n", sign, line)
			}
		}
	}
	only("-", theirs, ours)
	only("+", ours, theirs)
	if text.Len() == 0 {
		return fmt.Sprintf("other order or number of lines:\n%s\nand not\n%s\n", got, want)
	}
	return text.String()
}

var changes = regexp.MustCompile(`kubectl (-\S+ )*(create|apply|replace|patch|delete|label|annotate|scale|set|rollout|run|expose|autoscale)`)

// paragraphs are the scripts of testdata/invocations.sh, and how many invocations they have.
func paragraphs(t *testing.T) ([]string, int) {
	t.Helper()
	content, err := os.ReadFile("testdata/invocations.sh")
	check(t, err)
	var scripts []string
	for _, paragraph := range strings.Split(string(content), "\n\n") {
		var lines []string
		for _, line := range strings.Split(paragraph, "\n") {
			if !strings.HasPrefix(line, "#") {
				lines = append(lines, line)
			}
		}
		if text := strings.TrimSpace(strings.Join(lines, "\n")); text != "" {
			scripts = append(scripts, text)
		}
	}
	return scripts, strings.Count(strings.Join(scripts, "\n"), "kubectl ")
}

// differences are the scripts that are known to differ, with the reasons: a paragraph of testdata/differences.sh is
// a comment with the reason, and the script.
func differences(t *testing.T) map[string]string {
	t.Helper()
	content, err := os.ReadFile("testdata/differences.sh")
	check(t, err)
	known := map[string]string{}
	if len(content) == 0 {
		return known
	}
	reason := ""
	for _, paragraph := range strings.Split(string(content), "\n\n") {
		var lines []string
		for _, line := range strings.Split(strings.TrimSpace(paragraph), "\n") {
			if strings.HasPrefix(line, "#") {
				reason = strings.TrimSpace(line[1:])
			} else {
				lines = append(lines, line)
			}
		}
		if len(lines) > 0 {
			known[strings.Join(lines, "\n")] = reason
		}
	}
	return known
}
