package uses

import (
	"encoding/json"

	"github.com/boathook/boathook/interpreters/shell/jq"
)

// binding is what contexts need of the document.
type binding struct {
	key, name, group, version, kind string
}

// maxFirst is how many contexts other than the first one are tried as the first one.
const maxFirst = 12

// contexts are files of binding contexts for the bindings of a document. Names are placeholders. The first file has an object
// for the result of a filter, the second a text, and the others begin with another context.
func contexts(a *analysis, document string) []string {
	var bindings []binding
	if documents, err := jq.ParseYAML(document); err == nil && len(documents) == 1 {
		if root, ok := documents[0].(*jq.Object); ok {
			bindings = bindingsOf(root)
		}
	}
	object := contextsWith(a, bindings, func(name string) any {
		return map[string]any{
			"name": a.placeholder("the name of a watched object"), "namespace": a.placeholder("the namespace of a watched object"),
			"labels": map[string]any{}, "annotations": map[string]any{}, "data": map[string]any{},
		}
	})
	text := contextsWith(a, bindings, func(name string) any { return a.placeholder("the result of the filter of " + name) })
	files := []string{encoded(object), encoded(text)}
	for i := 1; i < len(object) && i <= maxFirst; i++ {
		files = append(files, encoded(append(append([]any{}, object[i:]...), object[:i]...)))
	}
	a.untried = len(object) > maxFirst+1
	return files
}

func encoded(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return "[]"
	}
	return string(text)
}

func bindingsOf(root *jq.Object) []binding {
	var all []binding
	for _, key := range root.Keys() {
		list, _ := root.Get(key)
		entries, _ := list.([]any)
		for _, entry := range entries {
			one, ok := entry.(*jq.Object)
			if !ok {
				continue
			}
			text := func(key string) string {
				value, _ := one.Get(key)
				text, _ := value.(string)
				return text
			}
			b := binding{key, text("name"), text("group"), text("apiVersion"), text("kind")}
			if b.name == "" {
				b.name = key
			}
			all = append(all, b)
		}
		if _, isNumber := list.(float64); key == "onStartup" || isNumber {
			all = append(all, binding{key: "onStartup", name: "onStartup"})
		}
	}
	return all
}

func contextsWith(a *analysis, bindings []binding, filtered func(string) any) []any {
	watched := func(b binding) map[string]any {
		return map[string]any{
			"object": map[string]any{
				"apiVersion": b.version, "kind": b.kind,
				"metadata": map[string]any{
					"name": a.placeholder("the name of a watched object"), "namespace": a.placeholder("the namespace of a watched object"),
					"uid": "0", "resourceVersion": "1", "labels": map[string]any{}, "annotations": map[string]any{},
				},
				"spec": map[string]any{}, "status": map[string]any{}, "data": map[string]any{}, "type": "Opaque",
			},
			"filterResult": filtered(b.name),
		}
	}
	snapshots := map[string]any{}
	for _, b := range bindings {
		if b.key == "kubernetes" || b.key == "onKubernetesEvent" {
			snapshots[b.name] = []any{watched(b)}
		}
	}
	var all []any
	add := func(fields map[string]any) {
		fields["snapshots"] = snapshots
		all = append(all, fields)
	}
	groups := map[string]bool{}
	for _, b := range bindings {
		if b.group != "" && !groups[b.group] {
			groups[b.group] = true
			add(map[string]any{"binding": b.group, "type": "Group", "groupName": b.group})
		}
		switch b.key {
		case "onStartup":
			add(map[string]any{"binding": "onStartup"})
		case "schedule":
			add(map[string]any{"binding": b.name, "type": "Schedule"})
		case "kubernetes":
			for _, event := range []string{"Added", "Modified", "Deleted"} {
				fields := watched(b)
				fields["binding"], fields["type"], fields["watchEvent"] = b.name, "Event", event
				add(fields)
			}
			add(map[string]any{"binding": b.name, "type": "Synchronization", "objects": []any{watched(b)}})
		case "onKubernetesEvent":
			for _, event := range []string{"add", "update", "delete"} {
				add(map[string]any{
					"binding": b.name, "resourceEvent": event, "resourceKind": b.kind,
					"resourceName": a.placeholder("the name of a watched object"), "resourceNamespace": a.placeholder("the namespace of a watched object"),
				})
			}
		case "kubernetesValidating", "kubernetesMutating":
			add(map[string]any{"binding": b.name, "type": map[string]string{"kubernetesValidating": "Validating", "kubernetesMutating": "Mutating"}[b.key], "review": map[string]any{"request": map[string]any{
				"name": a.placeholder("the name of a reviewed object"), "namespace": a.placeholder("the namespace of a reviewed object"),
				"operation": "CREATE", "object": watched(b)["object"], "oldObject": watched(b)["object"],
			}}})
		}
	}
	if len(all) == 0 {
		all = append(all, map[string]any{"binding": "onStartup"})
	}
	return all
}
