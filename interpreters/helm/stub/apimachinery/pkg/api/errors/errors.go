// Package errors has what Helm's engine calls of the package with this name.
package errors

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

type notFound struct {
	resource schema.GroupResource
	name     string
}

func (e *notFound) Error() string { return e.resource.String() + ` "` + e.name + `" not found` }

// NewNotFound says that an object does not exist.
func NewNotFound(resource schema.GroupResource, name string) error { return &notFound{resource, name} }

// IsNotFound reports whether an error says that.
func IsNotFound(err error) bool {
	var missing *notFound
	return errors.As(err, &missing)
}
