// Package dynamic has what Helm's engine calls of the package with this name. The engine's own provider implements it.
package dynamic

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// ResourceInterface reads objects of a kind.
type ResourceInterface interface {
	Get(ctx context.Context, name string, options metav1.GetOptions, subresources ...string) (*unstructured.Unstructured, error)
	List(ctx context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error)
}

// NamespaceableResourceInterface also reads them in one namespace.
type NamespaceableResourceInterface interface {
	ResourceInterface
	Namespace(namespace string) ResourceInterface
}

// Interface is a client.
type Interface interface {
	Resource(resource schema.GroupVersionResource) NamespaceableResourceInterface
}

// NewForConfig fails.
func NewForConfig(*rest.Config) (Interface, error) {
	return nil, errors.New("the chart engine has no connection to a cluster")
}
