package uses

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/boathook/boathook/interpreters/shell/kubectl"
)

// world is what the cluster of a run has.
type world int

const (
	// everything that is read is there.
	everything world = iota
	// onlyRead has what `kubectl get` reads, so that a copy has something to copy, and nothing of what is written.
	onlyRead
	nothing
)

// notes are the requests of one run of a command.
type notes struct {
	a  *analysis
	in world

	mu       sync.Mutex
	requests []raw
	failures []failure
	// operations is how many were written.
	operations int
	idle       []*mark // commands that need nothing
}

// raw is a request in the words of the run, with placeholders.
type raw struct {
	args            []string // of kubectl; none for an operation
	at              *mark    // the command in the script, if it is known
	verb            string
	resource        kubectl.Resource
	subresource     string
	namespace, name string
	operation       string
	guessed         bool
}

// failure is a call that ended with an error that is not the cluster's.
type failure struct {
	args  []string
	text  string
	noted bool
	at    *mark
}

// view is the cluster of one call of kubectl.
type view struct {
	*notes
	args     []string
	read     map[string]bool
	missed   bool
	requests int
	at       *mark
	// unresolved says which kind is not known.
	unresolved string
}

// anything is a kind that is not known.
var anything = kubectl.Resource{APIVersion: "*/*", Kind: "*", Plural: "*", Namespaced: true}

// Resolve finds a kind. One that is not known before a run is any kind.
func (v *view) Resolve(name, version string) (kubectl.Resource, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	resource, err := v.a.kind(name, version)
	if err != nil {
		v.unresolved = err.Error()
	}
	return resource, err
}

func (a *analysis) kind(name, version string) (kubectl.Resource, error) {
	key := [2]string{version, name}
	if known, ok := a.resources[key]; ok {
		return known, nil
	}
	resource, err := a.findKind(name, version)
	if err != nil {
		return resource, &kubectl.Error{Reason: "Invalid", Message: err.Error()}
	}
	a.resources[key] = resource
	a.resources[[2]string{resource.APIVersion, resource.Kind}] = resource
	return resource, nil
}

func (a *analysis) findKind(name, version string) (kubectl.Resource, error) {
	if name == "" || hasPlaceholder(name) {
		found := anything
		found.Kind = name
		return found, nil
	}
	if hasPlaceholder(version) {
		version = ""
	}
	resource, err := a.resolve(name, version)
	if err == nil {
		return resource, nil
	}
	if plural, group, ok := strings.Cut(name, "."); ok && version == "" {
		// kubectl takes PLURAL.GROUP and PLURAL.VERSION.GROUP.
		if first, rest, ok := strings.Cut(group, "."); ok && len(first) > 1 && first[0] == 'v' && first[1] >= '0' && first[1] <= '9' {
			group = rest
		}
		return a.guess(kubectl.Resource{APIVersion: group + "/v1", Kind: plural, Plural: strings.ToLower(plural), Namespaced: true}), nil
	}
	if version == "" {
		return resource, fmt.Errorf("the kind %s is not known here: give its CustomResourceDefinition with --crds FILE", name)
	}
	return a.guess(kubectl.Resource{APIVersion: version, Kind: name, Plural: plural(name), Namespaced: true}), nil
}

// guess notes that the plural of a kind, and whether it has namespaces, is not known.
func (a *analysis) guess(resource kubectl.Resource) kubectl.Resource {
	a.guessed[[2]string{resource.APIVersion, resource.Plural}] = true
	return resource
}

func (a *analysis) isGuessed(resource kubectl.Resource) bool {
	return a.guessed[[2]string{resource.APIVersion, resource.Plural}]
}

// plural follows the rule that Kubernetes uses for most of its own kinds.
func plural(kind string) string {
	name := strings.ToLower(kind)
	switch {
	case strings.HasSuffix(name, "s"), strings.HasSuffix(name, "x"), strings.HasSuffix(name, "ch"), strings.HasSuffix(name, "sh"):
		return name + "es"
	case strings.HasSuffix(name, "y") && len(name) > 1 && !strings.ContainsRune("aeiou", rune(name[len(name)-2])):
		return name[:len(name)-1] + "ies"
	}
	return name + "s"
}

func (v *view) note(verb string, ref kubectl.Ref, subresource string) {
	resource, err := v.a.kind(ref.Kind, ref.APIVersion)
	if err != nil {
		resource = anything
	}
	v.requests++
	v.notes.requests = append(v.notes.requests, raw{
		args: v.args, at: v.at, verb: verb, resource: resource, subresource: subresource, namespace: ref.Namespace, name: ref.Name,
		guessed: v.a.isGuessed(resource),
	})
}

func (v *view) notFound(ref kubectl.Ref) error {
	v.missed = true
	return &kubectl.Error{Reason: "NotFound", Message: fmt.Sprintf("%s %q not found", strings.ToLower(ref.Kind), ref.Name), Code: 404}
}

// exists says whether the cluster has what this call is about.
func (v *view) exists() bool {
	return v.in == everything || v.in == onlyRead && slices.Contains(v.args, "get")
}

// Get finds an object once: what a command waits for ends with the second.
func (v *view) Get(ref kubectl.Ref, subresource string) (string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.note("get", ref, subresource)
	key := fmt.Sprint(ref, subresource)
	if !v.exists() || v.read[key] {
		return "", v.notFound(ref)
	}
	v.read[key] = true
	return v.object(ref), nil
}

// List finds one object.
func (v *view) List(query kubectl.Query) ([]string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	ref := kubectl.Ref{APIVersion: query.APIVersion, Kind: query.Kind, Namespace: query.Namespace}
	v.note("list", ref, "")
	if !v.exists() {
		return nil, nil
	}
	ref.Name = v.a.placeholder("")
	if resource, err := v.a.kind(ref.Kind, ref.APIVersion); err == nil && resource.Namespaced && ref.Namespace == "" {
		ref.Namespace = v.a.placeholder("")
	}
	return []string{v.object(ref)}, nil
}

// Create makes an object.
func (v *view) Create(object string) (string, error) { return v.write([]string{"create"}, object, "") }

// Replace writes an object.
func (v *view) Replace(object, subresource string) (string, error) {
	return v.write([]string{"update"}, object, subresource)
}

// Apply is a server-side apply, for which the API server wants both verbs.
func (v *view) Apply(object, _ string, _ bool) (string, error) {
	return v.write([]string{"create", "patch"}, object, "")
}

func (v *view) write(verbs []string, object, subresource string) (string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, verb := range verbs {
		v.note(verb, refOf(object), subresource)
	}
	return object, nil
}

// Patch changes an object.
func (v *view) Patch(ref kubectl.Ref, _, _, subresource string) (string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.note("patch", ref, subresource)
	if !v.exists() {
		return "", v.notFound(ref)
	}
	return v.object(ref), nil
}

// Delete deletes an object. The host reads it if it waits.
func (v *view) Delete(ref kubectl.Ref, how kubectl.Deletion) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.note("delete", ref, "")
	if how.Wait > 0 {
		v.note("get", ref, "")
	}
	if !v.exists() {
		return v.notFound(ref)
	}
	return nil
}

// With changes nothing: a dry run needs what the write needs.
func (v *view) With(kubectl.Options) kubectl.Cluster { return v }

// Kinds has none. It needs no permission, and neither does Allowed.
func (v *view) Kinds() ([]kubectl.Kind, []string, error) { return nil, nil, nil }

// Allowed allows everything.
func (v *view) Allowed(kubectl.Question) (bool, error) { return v.exists(), nil }

// object is one for which the command does all that it can do: what it removes is there, and what it adds is not.
func (v *view) object(ref kubectl.Ref) string {
	metadata := map[string]any{
		"name": ref.Name, "uid": "0", "resourceVersion": "1", "generation": 1, "creationTimestamp": "2020-01-01T00:00:00Z",
	}
	if ref.Namespace != "" {
		metadata["namespace"] = ref.Namespace
	}
	pod := map[string]any{}
	spec := map[string]any{"template": map[string]any{"spec": pod}, "jobTemplate": map[string]any{"spec": map[string]any{"template": map[string]any{"spec": pod}}}}
	pairs := map[string]any{}
	var taints, containers []any
	for i, arg := range v.args {
		if key, ok := strings.CutSuffix(arg, "-"); ok && key != "" && key[0] != '-' {
			key, effect, given := strings.Cut(key, ":")
			if !given {
				effect = "NoSchedule"
			}
			pairs[key] = "before"
			taints = append(taints, map[string]any{"key": key, "effect": effect})
		}
		if name, _, ok := strings.Cut(arg, "="); ok && i > 1 && name != "" && name[0] != '-' {
			containers = append(containers, map[string]any{"name": name, "image": "before"})
		}
		switch count, ok := strings.CutPrefix(arg, "--current-replicas="); {
		case ok:
			spec["replicas"] = json.Number(count)
		case arg == "uncordon":
			spec["unschedulable"] = true
		}
	}
	metadata["labels"], metadata["annotations"], spec["taints"] = pairs, pairs, taints
	if ref.Kind == "Pod" {
		spec["containers"] = containers
	}
	pod["containers"] = containers
	object := map[string]any{
		"apiVersion": ref.APIVersion, "kind": ref.Kind, "metadata": metadata, "spec": spec, "status": map[string]any{},
		"data": map[string]any{}, "type": "Opaque",
	}
	text, err := json.Marshal(object)
	if err != nil {
		// A number of --current-replicas that is none.
		return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"namespace":%q}}`, ref.APIVersion, ref.Kind, ref.Name, ref.Namespace)
	}
	return string(text)
}

// refOf names the object of a JSON text.
func refOf(text string) kubectl.Ref {
	var object struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct {
			Name      any `json:"name"`
			Namespace any `json:"namespace"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		return kubectl.Ref{}
	}
	return kubectl.Ref{APIVersion: object.APIVersion, Kind: object.Kind, Namespace: plain(object.Metadata.Namespace), Name: plain(object.Metadata.Name)}
}

// plain is a text, or a number that stands for one.
func plain(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case float64:
		return fmt.Sprintf("%.0f", value)
	}
	return ""
}
