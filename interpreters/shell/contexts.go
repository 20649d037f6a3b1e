package main

import (
	"strings"

	boathook "github.com/boathook/boathook/sdk/go"
	"github.com/boathook/boathook/sdk/go/snapshots"

	"github.com/boathook/boathook/interpreters/shell/jq"
	"github.com/boathook/boathook/interpreters/shell/shellop"
)

// open reads the objects of a binding.
type open func(binding string) ([]shellop.Item, error)

// snapshotOf reads a snapshot of the host.
func snapshotOf(binding string) ([]shellop.Item, error) {
	items := []shellop.Item{}
	for item, err := range snapshots.All(binding) {
		if err != nil {
			return nil, err
		}
		items = append(items, shellop.Item{Object: string(item.Object), FilterResult: string(item.FilterResult)})
	}
	return items, nil
}

// once reads each snapshot once, so that all contexts of a run have the same objects.
func (o open) once() open {
	known := map[string][]shellop.Item{}
	return func(binding string) ([]shellop.Item, error) {
		if items, ok := known[binding]; ok {
			return items, nil
		}
		items, err := o(binding)
		if err == nil {
			known[binding] = items
		}
		return items, err
	}
}

// contexts are the triggers of a run as shell-operator writes them.
func (s *script) contexts(triggers []boathook.Trigger, read open) ([]shellop.Context, error) {
	read = read.once()
	var contexts []shellop.Context
	for i := range triggers {
		c, err := s.context(&triggers[i], read)
		if err != nil {
			return nil, err
		}
		contexts = append(contexts, *c)
	}
	return contexts, nil
}

func (s *script) context(t *boathook.Trigger, read open) (*shellop.Context, error) {
	c := &shellop.Context{Binding: t.Binding}
	if s.facts.Legacy {
		c.Legacy = legacy(t)
		return c, nil
	}
	names := s.facts.Includes[t.Binding]
	var err error
	switch t.Cause {
	case boathook.Startup:
		// A stage in the life of a module has the snapshots of the hook.
		c.Snapshots, err = included(t.Snapshots, read)
		return c, err
	case boathook.Ticked:
		c.Type = "Schedule"
	case boathook.Grouped:
		c.Type, c.GroupName = "Group", t.Group
		names = t.Snapshots
	case boathook.Synchronization:
		c.Type = "Synchronization"
		if c.Objects, err = read(own(t)); err != nil {
			return nil, err
		}
	case boathook.Changed:
		c.Type, c.WatchEvent = "Event", string(t.Event.Change)
		c.Object, c.FilterResult = string(t.Event.Object), string(t.Event.FilterResult)
	}
	c.Snapshots, err = included(names, read)
	return c, err
}

// own is the name by which the host knows the binding of a trigger: bindings may share a name, and have numbers then.
func own(t *boathook.Trigger) string {
	for _, name := range t.Snapshots {
		if rest, ok := strings.CutPrefix(name, t.Binding); ok && (rest == "" || rest[0] == '#') {
			return name
		}
	}
	return t.Binding
}

func included(names []string, read open) ([]shellop.Snapshot, error) {
	var all []shellop.Snapshot
	for _, name := range names {
		items, err := read(name)
		if err != nil {
			return nil, err
		}
		all = append(all, shellop.Snapshot{Binding: name, Items: items})
	}
	return all, nil
}

// legacy is a trigger of a document without configVersion.
func legacy(t *boathook.Trigger) *shellop.LegacyContext {
	if t.Event == nil {
		return &shellop.LegacyContext{}
	}
	event := map[boathook.Change]string{boathook.Added: "add", boathook.Modified: "update", boathook.Deleted: "delete"}[t.Event.Change]
	target := t.Event.Target
	return &shellop.LegacyContext{Event: event, Namespace: target.Namespace, Kind: target.Kind, Name: target.Name}
}

// review is the context of a request.
func (s *script) review(kind, binding, request string, read open) ([]shellop.Context, error) {
	snapshots, err := included(s.facts.Includes[binding], read.once())
	if err != nil {
		return nil, err
	}
	return []shellop.Context{{Binding: binding, Type: kind, Request: request, Snapshots: snapshots}}, nil
}

// conversion is the context of objects that are to be converted.
func (s *script) conversion(binding, from, to string, objects []string, read open) ([]shellop.Context, error) {
	snapshots, err := included(s.facts.Includes[binding], read.once())
	if err != nil {
		return nil, err
	}
	for _, rule := range s.facts.Rules[binding] {
		if short(rule[0]) == short(from) && short(rule[1]) == short(to) {
			from, to = rule[0], rule[1]
		}
	}
	request := `{"uid":"","desiredAPIVersion":` + jq.Text(desired(to, objects)) + `,"objects":[` + strings.Join(objects, ",") + `]}`
	return []shellop.Context{{
		Binding: binding, Type: "Conversion", FromVersion: from, ToVersion: to, Request: request, Snapshots: snapshots,
	}}, nil
}

// short is a version without its group.
func short(version string) string { return version[strings.LastIndex(version, "/")+1:] }

// desired is the whole version: the rule of the binding may have no group.
func desired(to string, objects []string) string {
	if strings.Contains(to, "/") || len(objects) == 0 {
		return to
	}
	value, err := jq.Parse(objects[0])
	object, ok := value.(*jq.Object)
	if err != nil || !ok {
		return to
	}
	group, _, found := strings.Cut(text(object, "apiVersion"), "/")
	if !found {
		return to
	}
	return group + "/" + to
}
