// Package kubectl is the command kubectl, on the Kubernetes API of a hook: each request needs the hook's grants.
//
//	cluster.go     the seam to the host
//	command.go     subcommands and their flags
//	objects.go     objects, files of objects, and what arguments name
//	get.go         get, and what a table shows
//	print.go       the output formats
//	write.go       create, replace, patch, delete, label, annotate, taint, scale, cordon
//	generate.go    create KIND, without a file
//	apply.go       apply, on the client's side and on the server's
//	wait.go        wait, rollout
//	discover.go    api-resources, auth can-i
//
// Output, errors and exit codes are those of kubectl. What is not built is refused by name.
package kubectl

import (
	"errors"
	"time"
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

// Deletion says how an object is deleted.
type Deletion struct {
	// Propagation is Background, Foreground or Orphan.
	Propagation string
	// Wait is how long to wait until the object is gone; 0 is not at all.
	Wait time.Duration
	// Grace is how many seconds a Pod has for its end; nil is what the Pod says.
	Grace *int64
}

// Options say how the API server treats writes.
type Options struct {
	// DryRun says that nothing is stored.
	DryRun bool
	// Validation is Strict or Ignore for fields that the API server does not know; empty is what the API server does.
	Validation string
}

// Kind is a kind as kubectl api-resources lists it.
type Kind struct {
	Resource
	ShortNames, Verbs, Categories []string
}

// Question is what kubectl auth can-i asks. Without a namespace, it is about all of them, or about a kind that has none.
type Question struct{ Verb, Group, Resource, Subresource, Namespace, Name string }

// Cluster is what the command needs of the host. Objects and patches are JSON texts. A request that the API server
// refused fails with an Error.
type Cluster interface {
	// Resolve finds a kind by its name, in a version if one is given.
	Resolve(name, version string) (Resource, error)
	Get(ref Ref, subresource string) (string, error)
	List(query Query) ([]string, error)
	Create(object string) (string, error)
	Replace(object, subresource string) (string, error)
	Apply(object, manager string, force bool) (string, error)
	// Patch applies a patch of this kind: json, merge or strategic.
	Patch(ref Ref, kind, patch, subresource string) (string, error)
	Delete(ref Ref, how Deletion) error
	// With is the cluster with options for writes.
	With(options Options) Cluster
	// Kinds lists the kinds that are served, each group in its preferred version, and the groups that do not answer.
	Kinds() (kinds []Kind, silent []string, err error)
	// Allowed says whether the hook may do something.
	Allowed(question Question) (bool, error)
}

// Error is a request that failed.
type Error struct {
	// Reason is that of a Status: NotFound, Forbidden, …
	Reason  string
	Message string
	Code    int
	// Kind, Name and Causes are the details of a Status for an invalid object.
	Kind, Name string
	Causes     []string
}

func (e *Error) Error() string { return e.Message }

func isReason(err error, reason string) bool {
	var failure *Error
	return errors.As(err, &failure) && failure.Reason == reason
}

// ErrNone is the error of a cluster that is not there.
var ErrNone = errors.New("there is no cluster here: a hook that describes itself has no grants")

// None is the cluster of a run without grants.
type None struct{}

// Resolve fails.
func (None) Resolve(string, string) (Resource, error) { return Resource{}, ErrNone }

// Get fails.
func (None) Get(Ref, string) (string, error) { return "", ErrNone }

// List fails.
func (None) List(Query) ([]string, error) { return nil, ErrNone }

// Create fails.
func (None) Create(string) (string, error) { return "", ErrNone }

// Replace fails.
func (None) Replace(string, string) (string, error) { return "", ErrNone }

// Apply fails.
func (None) Apply(string, string, bool) (string, error) { return "", ErrNone }

// Patch fails.
func (None) Patch(Ref, string, string, string) (string, error) { return "", ErrNone }

// Delete fails.
func (None) Delete(Ref, Deletion) error { return ErrNone }

// With changes nothing.
func (None) With(Options) Cluster { return None{} }

// Kinds fails.
func (None) Kinds() ([]Kind, []string, error) { return nil, nil, ErrNone }

// Allowed fails.
func (None) Allowed(Question) (bool, error) { return false, ErrNone }
