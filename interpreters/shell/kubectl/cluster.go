// Package kubectl is the seam between scripts and the cluster. The command is not built yet: it refuses by name.
package kubectl

import (
	"errors"

	"github.com/boathook/boathook/interpreters/shell/bash"
)

// Ref names an object.
type Ref struct{ APIVersion, Kind, Namespace, Name string }

// Query names objects to list.
type Query struct{ APIVersion, Kind, Namespace, LabelSelector, FieldSelector string }

// Resource is what a name of kubectl, such as po or deploy.apps, means.
type Resource struct {
	APIVersion, Kind, Plural string
	Namespaced               bool
}

// Cluster is what the command needs of the host. Objects and patches are JSON texts.
type Cluster interface {
	Resolve(name string) (Resource, error)
	Get(ref Ref, subresource string) (string, error)
	List(query Query) ([]string, error)
	Create(object string) (string, error)
	Apply(object, manager string, force bool) (string, error)
	// Patch applies a patch of this kind: json, merge or strategic.
	Patch(ref Ref, kind, patch, subresource string) (string, error)
	Delete(ref Ref, propagation string, ignoreMissing bool) error
}

// ErrNone is the error of a cluster that is not there.
var ErrNone = errors.New("there is no cluster here: a hook that describes itself has no grants")

// None is the cluster of a run without grants.
type None struct{}

// Resolve fails.
func (None) Resolve(string) (Resource, error) { return Resource{}, ErrNone }

// Get fails.
func (None) Get(Ref, string) (string, error) { return "", ErrNone }

// List fails.
func (None) List(Query) ([]string, error) { return nil, ErrNone }

// Create fails.
func (None) Create(string) (string, error) { return "", ErrNone }

// Apply fails.
func (None) Apply(string, string, bool) (string, error) { return "", ErrNone }

// Patch fails.
func (None) Patch(Ref, string, string, string) (string, error) { return "", ErrNone }

// Delete fails.
func (None) Delete(Ref, string, bool) error { return ErrNone }

// Register makes the command known. Until it is built, it refuses.
func Register(w *bash.World, _ Cluster) {
	w.Commands["kubectl"] = func(p *bash.Process) int {
		return p.Fail(1, "kubectl is not there yet: write operations to $KUBERNETES_PATCH_PATH")
	}
}
