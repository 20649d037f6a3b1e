package kube

import (
	"iter"
	"strings"

	"github.com/boathook/boathook/sdk/go/internal/host"
	"github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_kube"
	"github.com/boathook/boathook/sdk/go/internal/wit/runtime"
	wit "github.com/boathook/boathook/sdk/go/internal/wit/types"
)

// Get reads one object, as encoding/json does, into a pointer to any type.
func Get(ref Ref, into any) error { return GetSubresource(ref, "", into) }

// GetSubresource reads `status`, `scale` and the like of an object.
func GetSubresource(ref Ref, subresource string, into any) error {
	runtime.Enter()
	defer runtime.Leave()
	result := host.Get(ref.toWire(), option(subresource))
	if result.IsErr() {
		return failed(result.Err())
	}
	return JSON(result.Ok()).Into(into)
}

// Find is Get for an object that may be missing, and tells whether it is there.
func Find(ref Ref, into any) (bool, error) {
	err := Get(ref, into)
	if IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// Query says which objects to list.
type Query struct {
	// APIVersion is `v1`, `apps/v1`.
	APIVersion string
	// Kind is `Pod`.
	Kind string
	// Namespace is empty for all namespaces, and for cluster-scoped kinds.
	Namespace string
	// LabelSelector is as in `kubectl get -l`: `app=web,tier in (a,b)`.
	LabelSelector string
	// FieldSelector is as in `kubectl get --field-selector`: `spec.nodeName=n1`.
	FieldSelector string
	// Limit is the number of objects in a page; 500 when it is 0.
	Limit uint32
}

// List gives objects page by page; after an error it ends.
func List(query Query) iter.Seq2[JSON, error] {
	return func(yield func(JSON, error) bool) {
		from := ""
		for {
			items, next, err := page(query, from)
			if err != nil {
				yield("", err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			from = next
		}
	}
}

// ListAll lists all objects as values of one type.
func ListAll[T any](query Query) ([]T, error) {
	var all []T
	for item, err := range List(query) {
		if err != nil {
			return nil, err
		}
		var value T
		if err := item.Into(&value); err != nil {
			return nil, err
		}
		all = append(all, value)
	}
	return all, nil
}

func page(query Query, from string) ([]JSON, string, error) {
	limit := wit.None[uint32]()
	if query.Limit > 0 {
		limit = wit.Some(query.Limit)
	}
	runtime.Enter()
	defer runtime.Leave()
	result := host.List(boathook_hook_kube.ListQuery{
		ApiVersion:    query.APIVersion,
		Kind:          query.Kind,
		Namespace:     option(query.Namespace),
		LabelSelector: option(query.LabelSelector),
		FieldSelector: option(query.FieldSelector),
		Limit:         limit,
		Continue:      option(from),
	})
	if result.IsErr() {
		return nil, "", failed(result.Err())
	}
	page := result.Ok()
	items := make([]JSON, len(page.Items))
	for i, item := range page.Items {
		items[i] = JSON(strings.Clone(item))
	}
	return items, strings.Clone(page.Continue.SomeOr("")), nil
}
