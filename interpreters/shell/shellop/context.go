package shellop

import (
	"strings"

	"github.com/boathook/boathook/interpreters/shell/jq"
)

// Item is an object of a snapshot. Both texts are JSON; an absent one is empty.
type Item struct{ Object, FilterResult string }

// Snapshot is the state of one binding.
type Snapshot struct {
	Binding string
	Items   []Item
}

// Context is one trigger. The texts Object, FilterResult, Review and Objects are JSON.
type Context struct {
	Binding string
	// Type is Schedule, Synchronization, Event, Group, Validating, Mutating or Conversion; empty at the start.
	Type         string
	WatchEvent   string // Added, Modified, Deleted
	Object       string
	FilterResult string
	Objects      []Item // of a synchronization
	GroupName    string
	Request      string // of a review
	FromVersion  string
	ToVersion    string
	Snapshots    []Snapshot
	// Legacy is the form of a hook without configVersion.
	Legacy *LegacyContext
}

// LegacyContext is a trigger of configuration v0.
type LegacyContext struct {
	Event, Namespace, Kind, Name string // of onKubernetesEvent; empty for others
}

// object builds a JSON object of parts in order.
type object struct{ strings.Builder }

func (o *object) add(key, value string) {
	if o.Len() == 0 {
		o.WriteByte('{')
	} else {
		o.WriteByte(',')
	}
	o.WriteString(jq.Text(key) + ":" + value)
}

func (o *object) text() string {
	if o.Len() == 0 {
		return "{}"
	}
	return o.String() + "}"
}

func quoted(text string) string { return jq.Text(text) }

// Encode writes contexts as shell-operator does: an array, also for one trigger.
func Encode(contexts []Context) string {
	parts := make([]string, len(contexts))
	for i := range contexts {
		parts[i] = contexts[i].encode()
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func (c *Context) encode() string {
	var o object
	if c.Legacy != nil {
		o.add("binding", quoted(c.Binding))
		if c.Legacy.Event != "" {
			o.add("resourceEvent", quoted(c.Legacy.Event))
			o.add("resourceNamespace", quoted(c.Legacy.Namespace))
			o.add("resourceKind", quoted(c.Legacy.Kind))
			o.add("resourceName", quoted(c.Legacy.Name))
		}
		return o.text()
	}
	o.add("binding", quoted(c.Binding))
	if c.Type != "" {
		o.add("type", quoted(c.Type))
	}
	switch c.Type {
	case "Synchronization":
		o.add("objects", items(c.Objects))
	case "Event":
		o.add("watchEvent", quoted(c.WatchEvent))
		if c.Object != "" {
			o.add("object", c.Object)
		}
		if c.FilterResult != "" {
			o.add("filterResult", c.FilterResult)
		}
	case "Group":
		o.add("groupName", quoted(c.GroupName))
	case "Conversion":
		o.add("fromVersion", quoted(c.FromVersion))
		o.add("toVersion", quoted(c.ToVersion))
		o.add("review", `{"request":`+c.Request+"}")
	case "Validating", "Mutating":
		o.add("review", `{"request":`+c.Request+"}")
	}
	if len(c.Snapshots) > 0 {
		var snapshots object
		for _, s := range c.Snapshots {
			snapshots.add(s.Binding, items(s.Items))
		}
		o.add("snapshots", snapshots.text())
	}
	return o.text()
}

func items(list []Item) string {
	parts := make([]string, len(list))
	for i, item := range list {
		var o object
		if item.Object != "" {
			o.add("object", item.Object)
		}
		if item.FilterResult != "" {
			o.add("filterResult", item.FilterResult)
		}
		parts[i] = o.text()
	}
	return "[" + strings.Join(parts, ",") + "]"
}
