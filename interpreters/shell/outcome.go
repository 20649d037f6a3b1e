package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/boathook/boathook/sdk/go/kube"
	"github.com/boathook/boathook/sdk/go/metrics"

	"github.com/boathook/boathook/interpreters/shell/kubectl"
	"github.com/boathook/boathook/interpreters/shell/shellop"
)

// deletion is how long Delete waits for the object to be gone.
const deletion = 20 * time.Second

// do executes the operations of a run in order, and then reports its metrics. As in shell-operator, one that fails does
// not keep the others back, and all errors fail the run.
func do(outcome *shellop.Outcome) error {
	var failures []error
	for i := range outcome.Operations {
		if err := execute(&outcome.Operations[i]); err != nil {
			failures = append(failures, fmt.Errorf("KUBERNETES_PATCH_PATH: operation %d: %w", i+1, err))
		}
	}
	if len(failures) > 0 {
		return errors.Join(failures...)
	}
	for i := range outcome.Metrics {
		if err := report(&outcome.Metrics[i]); err != nil {
			failures = append(failures, fmt.Errorf("METRICS_PATH: metric %d: %w", i+1, err))
		}
	}
	return errors.Join(failures...)
}

func execute(o *shellop.Operation) error {
	switch o.Kind {
	case "Create":
		return kube.NewCreate(kube.JSON(o.Object)).Run()
	case "CreateOrUpdate":
		return kube.NewCreate(kube.JSON(o.Object)).Replace().Run()
	case "CreateIfNotExists":
		return kube.NewCreate(kube.JSON(o.Object)).Keep().Run()
	}
	ref, err := target(o)
	if err != nil {
		return err
	}
	switch o.Kind {
	case "Delete":
		return kube.NewDelete(ref).IgnoreMissing().Propagate(kube.Foreground).Wait(deletion).Run()
	case "DeleteInBackground":
		return kube.NewDelete(ref).IgnoreMissing().Propagate(kube.Background).Run()
	case "DeleteNonCascading":
		return kube.NewDelete(ref).IgnoreMissing().Propagate(kube.Orphan).Run()
	}
	var operation *kube.Operation
	switch o.Kind {
	case "JQPatch":
		operation = kube.NewJQPatch(ref, o.Filter)
	case "MergePatch":
		operation = kube.NewPatch(ref, kube.JSON(o.Patch))
	case "JSONPatch":
		operation = kube.NewJSONPatch(ref, kube.JSON(o.Patch))
	default:
		return fmt.Errorf("`operation` %s is unknown", o.Kind)
	}
	if o.Subresource != "" {
		operation = operation.Subresource(o.Subresource)
	}
	if o.IgnoreMissing {
		operation = operation.IgnoreMissing()
	}
	return operation.Run()
}

// target names the object of an operation. A script may leave out the version, and write the kind in any form.
func target(o *shellop.Operation) (kube.Ref, error) {
	ref := kube.Ref{APIVersion: o.APIVersion, Kind: o.ObjectKind, Namespace: o.Namespace, Name: o.Name}
	if ref.APIVersion == "" || strings.ToUpper(ref.Kind[:1]) != ref.Kind[:1] {
		kind, err := resolve(ref.Kind, ref.APIVersion)
		if err != nil {
			return ref, err
		}
		ref.APIVersion, ref.Kind = kind.APIVersion, kind.Kind
		if !kind.Namespaced {
			ref.Namespace = ""
		}
	}
	return ref, nil
}

func report(m *shellop.Metric) error {
	labels := metrics.Labels{}
	for _, label := range m.Labels {
		labels[label[0]] = label[1]
	}
	group := metrics.Group(m.Group)
	switch m.Action {
	case "add":
		return group.Add(m.Name, m.Value, labels)
	case "set":
		return group.Set(m.Name, m.Value, labels)
	case "observe":
		return group.Observe(m.Name, m.Value, m.Buckets, labels)
	}
	return group.Expire()
}

// verdict is the answer to a review.
type verdict struct {
	denied   bool
	message  string
	warnings []string
	// patch is a JSON patch, for a mutation.
	patch string
}

// decide runs the script for a request.
func (s *script) decide(kind, binding, request string, cluster kubectl.Cluster) (*verdict, error) {
	contexts, err := s.review(kind, binding, request, snapshotOf)
	if err != nil {
		return nil, err
	}
	outcome, err := s.run(contexts, cluster)
	if err != nil {
		return nil, err
	}
	return answered(s.hook.Entry, kind, outcome.Admission)
}

func answered(entry, kind string, a *shellop.Admission) (*verdict, error) {
	if a == nil {
		return nil, fmt.Errorf("%s wrote no answer: write {\"allowed\": true} or {\"allowed\": false, \"message\": …} to $ADMISSION_RESPONSE_PATH", entry)
	}
	v := &verdict{denied: !a.Allowed, message: a.Message, warnings: a.Warnings}
	if a.Patch == "" {
		return v, nil
	}
	if kind != "Mutating" {
		return nil, fmt.Errorf("%s: ADMISSION_RESPONSE_PATH: `patch` is only for kubernetesMutating", entry)
	}
	patch, err := base64.StdEncoding.DecodeString(a.Patch)
	if err != nil {
		return nil, fmt.Errorf("%s: ADMISSION_RESPONSE_PATH: `patch` is not base64: %w", entry, err)
	}
	v.patch = string(patch)
	return v, nil
}

// convert runs the script for objects.
func (s *script) convert(binding, from, to string, objects []string, cluster kubectl.Cluster) ([]string, error) {
	contexts, err := s.conversion(binding, from, to, objects, snapshotOf)
	if err != nil {
		return nil, err
	}
	outcome, err := s.run(contexts, cluster)
	if err != nil {
		return nil, err
	}
	switch c := outcome.Conversion; {
	case c == nil:
		return nil, fmt.Errorf("%s wrote no answer: write {\"convertedObjects\": […]} to $CONVERSION_RESPONSE_PATH", s.hook.Entry)
	case c.Failed != "":
		return nil, errors.New(c.Failed)
	default:
		return c.Objects, nil
	}
}
