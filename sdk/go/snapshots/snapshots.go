// Package snapshots has the objects that the hook's kubernetes bindings match right now.
//
// Reading them costs no request to the API server and needs no permission. Nothing is copied to the hook that it does not
// pull.
package snapshots

import (
	"fmt"
	"iter"
	"strings"

	"github.com/boathook/boathook/sdk/go/internal/host"
	wire "github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_snapshots"
	"github.com/boathook/boathook/sdk/go/internal/wit/runtime"
	wit "github.com/boathook/boathook/sdk/go/internal/wit/types"
	"github.com/boathook/boathook/sdk/go/kube"
)

// Items that one call to the host asks for.
const page = 512

// Snapshot is the objects of one binding. All snapshots opened in one run show one moment.
type Snapshot struct {
	host *host.Snapshot
}

// Item is one object of a snapshot.
type Item struct {
	// Namespace is empty for cluster-scoped objects.
	Namespace string
	// Name is `metadata.name`.
	Name string
	// UID is `metadata.uid`.
	UID string
	// ResourceVersion is that of this state.
	ResourceVersion string
	// Object is the object; empty when the binding keeps none.
	Object kube.JSON
	// FilterResult is what the binding's jqFilter gave; empty without one.
	FilterResult kube.JSON
}

// Open opens the snapshot of a binding that a trigger of this run lists.
func Open(binding string) (*Snapshot, error) {
	runtime.Enter()
	defer runtime.Leave()
	result := host.Open(binding)
	if result.IsErr() {
		return nil, fmt.Errorf("snapshot %q: %s", binding, result.Err())
	}
	return &Snapshot{result.Ok()}, nil
}

// All are the objects of a binding, in order of namespace and name.
func All(binding string) iter.Seq2[*Item, error] {
	return func(yield func(*Item, error) bool) {
		snapshot, err := Open(binding)
		if err != nil {
			yield(nil, err)
			return
		}
		for item := range snapshot.Items() {
			if !yield(item, nil) {
				return
			}
		}
	}
}

// Len is the number of objects.
func (s *Snapshot) Len() int { return int(s.host.Len()) }

// Items are the objects in order of namespace and name, pulled in pages. A snapshot has one cursor: a second loop goes
// on where the first stopped. Open the snapshot again to start over.
func (s *Snapshot) Items() iter.Seq[*Item] {
	return func(yield func(*Item) bool) {
		for items := s.next(); len(items) > 0; items = s.next() {
			for _, item := range items {
				if !yield(item) {
					return
				}
			}
		}
	}
}

func (s *Snapshot) next() []*Item {
	runtime.Enter()
	defer runtime.Leave()
	wires := s.host.Next(page)
	items := make([]*Item, len(wires))
	for i, item := range wires {
		items[i] = newItem(item)
	}
	return items
}

// Get is the object with this name, or nil; the namespace is empty for cluster-scoped ones.
func (s *Snapshot) Get(namespace, name string) *Item {
	in := wit.None[string]()
	if namespace != "" {
		in = wit.Some(namespace)
	}
	runtime.Enter()
	defer runtime.Leave()
	found := s.host.Get(in, name)
	if found.Tag() == wit.OptionNone {
		return nil
	}
	return newItem(found.Some())
}

// newItem copies the texts, which are the host's to take back.
func newItem(item wire.Item) *Item {
	return &Item{
		Namespace:       strings.Clone(item.Namespace.SomeOr("")),
		Name:            strings.Clone(item.Name),
		UID:             strings.Clone(item.Uid),
		ResourceVersion: strings.Clone(item.ResourceVersion),
		Object:          kube.JSON(strings.Clone(item.Object.SomeOr(""))),
		FilterResult:    kube.JSON(strings.Clone(item.FilterResult.SomeOr(""))),
	}
}
