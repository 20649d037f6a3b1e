package boathook

import (
	"iter"
	"time"

	"github.com/boathook/boathook/sdk/go/kube"

	wire "github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_types"
)

// Context is why a run happens.
type Context struct {
	// RunID is unique for each run; it is in every log and audit line of the run.
	RunID string
	// Hook is the hook's name.
	Hook string
	// Attempt is 1 for the first try, then counting.
	Attempt uint32
	// DryRun tells that writes are checked and answered, but not kept.
	DryRun bool
	// Triggers are the reasons, oldest first; there is at least one.
	Triggers []Trigger
}

// Cause is a kind of trigger.
type Cause uint8

const (
	// Startup: the operator started.
	Startup Cause = Cause(wire.TriggerStartup)
	// Ticked: a schedule struck; Trigger.Tick has more.
	Ticked Cause = Cause(wire.TriggerSchedule)
	// Synchronization: a kubernetes binding knows all its objects, at the start, and again if the operator had to drop
	// events. Read them through its snapshot.
	Synchronization Cause = Cause(wire.TriggerSynchronization)
	// Changed: an object of a kubernetes binding changed; Trigger.Event has more.
	Changed Cause = Cause(wire.TriggerEvent)
	// Grouped: bindings of Trigger.Group changed; read their snapshots.
	Grouped Cause = Cause(wire.TriggerGroup)
)

// Trigger is one reason for a run.
type Trigger struct {
	// Binding is its name in the configuration; `onStartup` for Startup.
	Binding string
	// Snapshots are the names that can be opened in this run: the binding itself, if it is a kubernetes binding, and
	// those that it includes.
	Snapshots []string
	// Cause is the kind of trigger.
	Cause Cause
	// Tick is there for Ticked.
	Tick *Tick
	// Event is there for Changed.
	Event *Event
	// Group is there for Grouped.
	Group string
}

// Tick is one firing of a schedule.
type Tick struct {
	// ScheduledAt is the planned time.
	ScheduledAt time.Time
	// Missed counts the ticks that were skipped since the one before.
	Missed uint32
}

// Change is what happened to an object, seen through the binding's selectors and filter.
type Change string

const (
	// Added: it appeared, or began to match.
	Added Change = "Added"
	// Modified: what the binding sees of it changed.
	Modified Change = "Modified"
	// Deleted: it was deleted, or no longer matches.
	Deleted Change = "Deleted"
)

// Event is one change of one object.
type Event struct {
	// Change is what happened.
	Change Change
	// Target is the object.
	Target kube.Ref
	// UID is `metadata.uid`. An object that is deleted and created again has a different uid.
	UID string
	// ResourceVersion is that of the state delivered here.
	ResourceVersion string
	// Object is the object; empty when the binding keeps none. For Deleted it is the last state that was seen.
	Object kube.JSON
	// FilterResult is what the binding's jqFilter gave; empty without one.
	FilterResult kube.JSON
	// PreviousFilterResult is what the filter gave before; empty for Added.
	PreviousFilterResult kube.JSON
	// PreviousObject is the object before a modification, for a binding with PreviousObject.
	PreviousObject kube.JSON
}

// Events are the changes that a binding saw, oldest first.
func (c *Context) Events(binding string) iter.Seq[*Event] {
	return func(yield func(*Event) bool) {
		for _, trigger := range c.Triggers {
			if trigger.Binding == binding && trigger.Event != nil && !yield(trigger.Event) {
				return
			}
		}
	}
}

// Has tells whether a binding is among the reasons of the run.
func (c *Context) Has(binding string) bool {
	return c.any(func(trigger Trigger) bool { return trigger.Binding == binding })
}

// Synchronized tells whether a binding knows its objects for the first time.
func (c *Context) Synchronized(binding string) bool {
	return c.any(func(trigger Trigger) bool {
		return trigger.Binding == binding && trigger.Cause == Synchronization
	})
}

// Started tells whether the operator started.
func (c *Context) Started() bool {
	return c.any(func(trigger Trigger) bool { return trigger.Cause == Startup })
}

func (c *Context) any(is func(Trigger) bool) bool {
	for _, trigger := range c.Triggers {
		if is(trigger) {
			return true
		}
	}
	return false
}

func newContext(info wire.RunInfo, contexts []wire.BindingContext) *Context {
	triggers := make([]Trigger, len(contexts))
	for i, context := range contexts {
		triggers[i] = newTrigger(context)
	}
	return &Context{info.RunId, info.Hook, info.Attempt, info.DryRun, triggers}
}

func newTrigger(context wire.BindingContext) Trigger {
	trigger := Trigger{Binding: context.Binding, Snapshots: context.Snapshots, Cause: Cause(context.Trigger.Tag())}
	switch trigger.Cause {
	case Ticked:
		tick := context.Trigger.Schedule()
		trigger.Tick = &Tick{time.UnixMilli(int64(tick.ScheduledAt)).UTC(), tick.Missed}
	case Changed:
		trigger.Event = newEvent(context.Trigger.Event())
	case Grouped:
		trigger.Group = context.Trigger.Group()
	}
	return trigger
}

func newEvent(event wire.WatchEvent) *Event {
	return &Event{
		Change: []Change{Added, Modified, Deleted}[event.Change],
		Target: kube.Ref{
			APIVersion: event.Target.ApiVersion,
			Kind:       event.Target.Kind,
			Namespace:  event.Target.Namespace.SomeOr(""),
			Name:       event.Target.Name,
		},
		UID:                  event.Uid,
		ResourceVersion:      event.ResourceVersion,
		Object:               kube.JSON(event.Object.SomeOr("")),
		FilterResult:         kube.JSON(event.FilterResult.SomeOr("")),
		PreviousFilterResult: kube.JSON(event.PreviousFilterResult.SomeOr("")),
		PreviousObject:       kube.JSON(event.PreviousObject.SomeOr("")),
	}
}
