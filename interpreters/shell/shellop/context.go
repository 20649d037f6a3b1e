package shellop

import (
	"sort"
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

// Encode writes contexts as shell-operator does: an array, also for one trigger, in one line that ends.
func Encode(contexts []Context) string {
	parts := make([]string, len(contexts))
	for i := range contexts {
		parts[i] = contexts[i].encode()
	}
	return escaped("["+strings.Join(parts, ",")+"]") + "\n"
}

// escaped writes as Go's encoding/json does. Most contexts are that already.
func escaped(text string) string {
	for i := range len(text) {
		// The last one begins the two characters that take several bytes.
		if c := text[i]; c == '<' || c == '>' || c == '&' || c == 0xe2 {
			return escapes.Replace(text)
		}
	}
	return text
}

// escapes are those of Go's encoding/json.
var escapes = strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`, "\u2028", `\u2028`, "\u2029", `\u2029`)

func (c *Context) encode() string {
	var o object
	if c.Legacy != nil {
		o.add("binding", quoted(c.Binding))
		if c.Legacy.Event != "" {
			o.add("resourceEvent", quoted(c.Legacy.Event))
			o.add("resourceKind", quoted(c.Legacy.Kind))
			o.add("resourceName", quoted(c.Legacy.Name))
			o.add("resourceNamespace", quoted(c.Legacy.Namespace))
		}
		return o.text()
	}
	// shell-operator keeps contexts and objects in Go's maps, so that all keys are sorted. Scripts print them, and compare what
	// they print with what they printed before.
	add := func(key, value string, has bool) {
		if has {
			o.add(key, value)
		}
	}
	o.add("binding", quoted(c.Binding))
	event := c.Type == "Event"
	add("filterResult", sorted(c.FilterResult), event && c.FilterResult != "")
	add("fromVersion", quoted(c.FromVersion), c.Type == "Conversion")
	add("groupName", quoted(c.GroupName), c.Type == "Group")
	add("object", sorted(c.Object), event && c.Object != "")
	if c.Type == "Synchronization" {
		o.add("objects", items(c.Objects))
	}
	add("review", `{"request":`+c.Request+"}", c.Type == "Conversion" || c.Type == "Validating" || c.Type == "Mutating")
	if len(c.Snapshots) > 0 {
		var snapshots object
		all := append([]Snapshot(nil), c.Snapshots...)
		sort.SliceStable(all, func(i, j int) bool { return all[i].Binding < all[j].Binding })
		for _, s := range all {
			snapshots.add(s.Binding, items(s.Items))
		}
		o.add("snapshots", snapshots.text())
	}
	add("toVersion", quoted(c.ToVersion), c.Type == "Conversion")
	add("type", quoted(c.Type), c.Type != "")
	add("watchEvent", quoted(c.WatchEvent), event)
	return o.text()
}

func items(list []Item) string {
	parts := make([]string, len(list))
	for i, item := range list {
		var o object
		if item.FilterResult != "" {
			o.add("filterResult", sorted(item.FilterResult))
		}
		if item.Object != "" {
			o.add("object", sorted(item.Object))
		}
		parts[i] = o.text()
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// sorted is JSON with the keys of each object in order.
func sorted(text string) string {
	value, err := jq.Parse(text)
	if err != nil {
		return text
	}
	var out strings.Builder
	out.Grow(len(text))
	format := jq.Format{Sort: true}
	format.Append(&out, value)
	return out.String()
}
