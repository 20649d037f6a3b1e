package main

import (
	"fmt"
	"log/slog"

	"github.com/boathook/boathook/sdk/go/kube"
	"github.com/boathook/boathook/sdk/go/snapshots"
)

const (
	// Writes in one call to the host.
	batch = 250
	// Bytes of copies in one call to the host, roughly; each passes through the hook's memory.
	batchBytes = 4 << 20
)

// writer collects writes, sends them in batches, and judges how it went. It never decides what a namespace needs.
type writer struct {
	source     *source
	batch      int
	namespaces []string
	operations []*kube.Operation
	failures   []error
}

func newWriter(source *source) *writer {
	size := 1
	if source != nil {
		for key, value := range source.Data {
			size += len(key) + len(value)
		}
	}
	return &writer{source: source, batch: max(1, min(batch, batchBytes/size))}
}

// reference is the Secret with our name in a namespace.
func reference(namespace string) kube.Ref {
	return kube.Ref{APIVersion: "v1", Kind: "Secret", Namespace: namespace, Name: secretName}
}

// create is no apply: it cannot take over a Secret that somebody else put there.
func (w *writer) create(namespace string) {
	type metadata struct {
		Name      string            `json:"name"`
		Namespace string            `json:"namespace"`
		Labels    map[string]string `json:"labels"`
	}
	w.push(namespace, kube.NewCreate(struct {
		APIVersion string   `json:"apiVersion"`
		Kind       string   `json:"kind"`
		Metadata   metadata `json:"metadata"`
		*source
	}{"v1", "Secret", metadata{secretName, namespace, map[string]string{copyLabel: "true"}}, w.source}))
}

// update replaces the data, if the copy is still the one that was seen. Labels and annotations that others put on it stay.
func (w *writer) update(copy *snapshots.Item, is *copied) {
	data := map[string]any{}
	for key := range is.Data {
		// It is taken out.
		data[key] = nil
	}
	for key, value := range w.source.Data {
		data[key] = value
	}
	w.push(copy.Namespace, kube.NewPatch(reference(copy.Namespace), map[string]any{
		"metadata": map[string]any{"resourceVersion": copy.ResourceVersion},
		"data":     data,
	}))
}

// remove removes a copy, if it is still the one that was seen.
func (w *writer) remove(copy *snapshots.Item) {
	if copy.Namespace != sourceNamespace {
		w.push(copy.Namespace, kube.NewDelete(reference(copy.Namespace)).IgnoreMissing().UID(copy.UID))
	}
}

func (w *writer) push(namespace string, operation *kube.Operation) {
	w.namespaces, w.operations = append(w.namespaces, namespace), append(w.operations, operation)
	if len(w.operations) >= w.batch {
		w.flush()
	}
}

func (w *writer) flush() {
	for i, result := range kube.Batch(w.operations...) {
		if result.Err == nil {
			continue
		}
		if err := excuse(w.namespaces[i], result.Err); err != nil {
			w.failures = append(w.failures, err)
		}
	}
	w.namespaces, w.operations = nil, nil
}

// finish sends what is left. It fails if a write failed, to be retried unless none of them could be.
func (w *writer) finish() error {
	w.flush()
	if len(w.failures) == 0 {
		return nil
	}
	worst := w.failures[0]
	for _, err := range w.failures {
		if !kube.Is(err, kube.ForbiddenByGrant) && !kube.Is(err, kube.Invalid) {
			worst = err
			break
		}
	}
	return fmt.Errorf("%d writes failed, such as: %w", len(w.failures), worst)
}

// excuse says what of a failed write is a failure of the run.
func excuse(namespace string, err error) error {
	// The namespace goes or is gone: nothing is missing there.
	if kube.IsNotFound(err) || kube.IsNamespaceTerminating(err) {
		return nil
	}
	if !kube.IsAlreadyExists(err) {
		return err
	}
	// If it is ours, the snapshot was a moment behind, and its event will bring us here again.
	var found kube.Object
	exists, err := kube.Find(reference(namespace), &found)
	if exists && found.Label(copyLabel) != "true" {
		slog.Warn(fmt.Sprintf("Secret %s/%s is not a copy of %s/%s: left alone", namespace, secretName, sourceNamespace, secretName))
	}
	return err
}
