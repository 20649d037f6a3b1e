package main

import (
	"errors"

	"github.com/boathook/boathook/sdk/go/kube"

	"github.com/boathook/boathook/interpreters/shell/kubectl"
)

// cluster is the API server, as the host lets the hook use it.
type cluster struct{ options kubectl.Options }

// Resolve finds a kind.
func (cluster) Resolve(name, version string) (kubectl.Resource, error) {
	resource, err := resolve(valid(name), valid(version))
	if err != nil && !errors.Is(err, kubectl.ErrNone) {
		return resource, &kubectl.Error{Reason: "Invalid", Message: err.Error()}
	}
	return resource, err
}

// Get reads an object.
func (cluster) Get(ref kubectl.Ref, subresource string) (string, error) {
	var object kube.JSON
	err := kube.GetSubresource(of(ref), valid(subresource), &object)
	return string(object), failed(err)
}

// List reads all pages.
func (cluster) List(query kubectl.Query) ([]string, error) {
	var objects []string
	for object, err := range kube.List(kube.Query{
		APIVersion: valid(query.APIVersion), Kind: valid(query.Kind), Namespace: valid(query.Namespace),
		LabelSelector: valid(query.LabelSelector), FieldSelector: valid(query.FieldSelector),
	}) {
		if err != nil {
			return nil, failed(err)
		}
		objects = append(objects, string(object))
	}
	return objects, nil
}

// With is the API server with options for writes.
func (cluster) With(options kubectl.Options) kubectl.Cluster { return cluster{options} }

// Kinds lists the kinds.
func (cluster) Kinds() ([]kubectl.Kind, []string, error) {
	kinds, silent, err := listKinds()
	if err != nil && !errors.Is(err, kubectl.ErrNone) {
		err = &kubectl.Error{Message: err.Error()}
	}
	return kinds, silent, err
}

// Allowed says whether the hook may do something.
func (cluster) Allowed(q kubectl.Question) (bool, error) {
	ok, err := allowed(kubectl.Question{
		Verb: valid(q.Verb), Group: valid(q.Group), Resource: valid(q.Resource), Subresource: valid(q.Subresource),
		Namespace: valid(q.Namespace), Name: valid(q.Name),
	})
	if err != nil && !errors.Is(err, kubectl.ErrNone) {
		err = &kubectl.Error{Message: err.Error()}
	}
	return ok, err
}

// Create makes an object.
func (c cluster) Create(object string) (string, error) {
	return c.done(kube.NewCreate(kube.JSON(object)), nil)
}

// Replace writes the whole object.
func (c cluster) Replace(object, subresource string) (string, error) {
	operation := kube.NewUpdate(kube.JSON(object))
	if subresource != "" {
		operation = operation.Subresource(valid(subresource))
	}
	return c.done(operation, nil)
}

// Apply is a server-side apply.
func (c cluster) Apply(object, manager string, force bool) (string, error) {
	operation := kube.NewApply(kube.JSON(object)).FieldManager(valid(manager))
	if force {
		operation = operation.Force()
	}
	return c.done(operation, nil)
}

// Patch changes an object.
func (c cluster) Patch(ref kubectl.Ref, kind, patch, subresource string) (string, error) {
	body := kube.JSON(patch)
	var operation *kube.Operation
	switch kind {
	case "json":
		operation = kube.NewJSONPatch(of(ref), body)
	case "merge":
		operation = kube.NewPatch(of(ref), body)
	default:
		operation = kube.NewStrategicPatch(of(ref), body)
	}
	if subresource != "" {
		operation = operation.Subresource(valid(subresource))
	}
	return c.done(operation, nil)
}

// Delete deletes an object.
func (c cluster) Delete(ref kubectl.Ref, how kubectl.Deletion) error {
	operation := kube.NewDelete(of(ref))
	switch how.Propagation {
	case "Foreground":
		operation = operation.Propagate(kube.Foreground)
	case "Orphan":
		operation = operation.Propagate(kube.Orphan)
	}
	if how.Wait > 0 {
		operation = operation.Wait(how.Wait)
	}
	_, err := c.done(operation, how.Grace)
	return err
}

func of(ref kubectl.Ref) kube.Ref {
	return kube.Ref{
		APIVersion: valid(ref.APIVersion), Kind: valid(ref.Kind), Namespace: valid(ref.Namespace), Name: valid(ref.Name),
	}
}

// done sends a write. The options are those of this one only.
func (c cluster) done(operation *kube.Operation, grace *int64) (string, error) {
	if c.options != (kubectl.Options{}) || grace != nil {
		setOptions(c.options, grace)
		defer setOptions(kubectl.Options{}, nil)
	}
	result := operation.Do()
	return string(result.Object), failed(result.Err)
}

// reasons are those of a Status, for requests that no server answered.
var reasons = map[kube.Reason]string{
	kube.NotFound: "NotFound", kube.AlreadyExists: "AlreadyExists", kube.Conflict: "Conflict", kube.Invalid: "Invalid",
	kube.ForbiddenByGrant: "Forbidden", kube.ForbiddenByCluster: "Forbidden", kube.TooLarge: "RequestEntityTooLarge",
	kube.Timeout: "Timeout", kube.Unavailable: "ServiceUnavailable",
}

// failed is an error as kubectl shows it: with the words of the API server, if it answered.
func failed(err error) error {
	var failure *kube.Error
	if !errors.As(err, &failure) {
		return err
	}
	converted := &kubectl.Error{Reason: reasons[failure.Reason], Message: failure.Message, Code: failure.Code}
	var status struct {
		Reason  string
		Message string
		Details struct {
			Kind, Name string
			Causes     []struct{ Field, Message string }
		}
	}
	if failure.Status != "" && failure.Status.Into(&status) == nil && status.Message != "" {
		converted.Reason, converted.Message = status.Reason, status.Message
		converted.Kind, converted.Name = status.Details.Kind, status.Details.Name
		for _, cause := range status.Details.Causes {
			converted.Causes = append(converted.Causes, cause.Field+": "+cause.Message)
		}
	}
	return converted
}
