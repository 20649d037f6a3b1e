package main

import (
	"encoding/json"
	"fmt"

	"github.com/boathook/boathook/sdk/go/kube"
)

// Before the name of the version whose fields are kept in an annotation.
const prefix = "crontab-conversion.boathook.dev/"

type crontab struct{ kube.Object }

func (c crontab) spec() map[string]any { return c.Fields("spec") }

// rename gives a field of `spec` another name.
func (c crontab) rename(from, to string) {
	spec := c.spec()
	if value, found := spec[from]; found {
		delete(spec, from)
		spec[to] = value
	}
}

// keep moves fields of `spec` that only this version has into an annotation.
func (c crontab) keep(version string, names ...string) error {
	spec, lost := c.spec(), map[string]any{}
	for _, name := range names {
		if value, found := spec[name]; found {
			delete(spec, name)
			lost[name] = value
		}
	}
	if len(lost) == 0 {
		return nil
	}
	text, err := json.Marshal(lost)
	c.annotate(version, string(text))
	return err
}

// restore moves fields back that were kept; those that `spec` has stay.
func (c crontab) restore(version string) error {
	text := c.take(version)
	if text == "" {
		return nil
	}
	found, err := kube.JSON(text).Object()
	if err != nil {
		return fmt.Errorf("the annotation %s%s: %w", prefix, version, err)
	}
	spec := c.spec()
	for name, value := range found {
		if _, has := spec[name]; !has {
			spec[name] = value
		}
	}
	return nil
}

// annotate puts a text into the annotation of this name.
func (c crontab) annotate(name, text string) {
	c.Fields("metadata", "annotations")[prefix+name] = text
}

// take takes the annotation of this name off.
func (c crontab) take(name string) string {
	text := c.Annotation(prefix + name)
	if text == "" {
		return ""
	}
	annotations := c.Fields("metadata", "annotations")
	delete(annotations, prefix+name)
	if len(annotations) == 0 {
		delete(c.Fields("metadata"), "annotations")
	}
	return text
}
