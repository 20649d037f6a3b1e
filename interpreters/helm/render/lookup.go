package render

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// Query is what a template asks the cluster for. Without a name, it is a list.
type Query struct{ APIVersion, Kind, Namespace, Name string }

// Lookup answers with JSON. Without an answer, there is no such object or kind.
type Lookup func(query Query) (answer string, found bool, err error)

// provider gives the engine clients that ask the host.
type provider struct{ lookup Lookup }

// GetClientFor answers for every kind, because the host knows which of them exist.
func (p provider) GetClientFor(apiVersion, kind string) (dynamic.NamespaceableResourceInterface, bool, error) {
	return &client{p.lookup, Query{APIVersion: apiVersion, Kind: kind}}, true, nil
}

type client struct {
	lookup Lookup
	query  Query
}

func (c *client) Namespace(namespace string) dynamic.ResourceInterface {
	in := *c
	in.query.Namespace = namespace
	return &in
}

func (c *client) Get(_ context.Context, name string, _ metav1.GetOptions, _ ...string) (*unstructured.Unstructured, error) {
	object, err := c.ask(name)
	return &unstructured.Unstructured{Object: object}, err
}

func (c *client) List(context.Context, metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	list, err := c.ask("")
	return &unstructured.UnstructuredList{Object: list}, err
}

func (c *client) ask(name string) (map[string]any, error) {
	query := c.query
	query.Name = name
	answer, found, err := c.lookup(query)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: query.Kind}, name)
	}
	object := map[string]any{}
	if err := json.Unmarshal([]byte(answer), &object); err != nil {
		return nil, fmt.Errorf("lookup of %s %s: the host's answer is not JSON: %w", query.Kind, name, err)
	}
	return object, nil
}

// Objects is a cluster with these objects.
type Objects []map[string]any

// Lookup answers from them.
func (o Objects) Lookup(query Query) (string, bool, error) {
	items := []map[string]any{}
	for _, object := range o {
		metadata, _ := object["metadata"].(map[string]any)
		namespace, _ := metadata["namespace"].(string)
		if object["apiVersion"] != query.APIVersion || object["kind"] != query.Kind || (query.Namespace != "" && namespace != query.Namespace) {
			continue
		}
		if query.Name == "" {
			items = append(items, object)
		} else if metadata["name"] == query.Name {
			text, err := json.Marshal(object)
			return string(text), err == nil, err
		}
	}
	if query.Name != "" {
		return "", false, nil
	}
	text, err := json.Marshal(map[string]any{"apiVersion": query.APIVersion, "kind": query.Kind + "List", "metadata": map[string]any{}, "items": items})
	return string(text), err == nil, err
}
