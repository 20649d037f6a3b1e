package shellop

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/boathook/boathook/interpreters/shell/jq"
)

// Outcome is what a run asked for, in the order in which it takes effect: the operations, then the metrics.
type Outcome struct {
	Operations []Operation
	Metrics    []Metric
	Admission  *Admission  // nil where the script wrote none
	Conversion *Conversion // nil where the script wrote none
	Patches    *Patches    // of values
}

// Operation is an entry of KUBERNETES_PATCH_PATH. Object and Patch are JSON texts.
type Operation struct {
	Kind                                    string // Create, CreateOrUpdate, …
	APIVersion, ObjectKind, Namespace, Name string
	Subresource, Object, Filter, Patch      string
	IgnoreMissing, IgnoreHookError          bool
}

// Metric is an entry of METRICS_PATH.
type Metric struct {
	Name, Action, Group string
	Value               float64
	Labels              [][2]string
	Buckets             []float64
}

// Admission is the answer to a review.
type Admission struct {
	Allowed  bool
	Message  string
	Warnings []string
	Patch    string // base64 of a JSON patch
}

// Conversion is the answer to a conversion. Objects are JSON texts.
type Conversion struct {
	Objects []string
	Failed  string
}

func (p *process) read(name string) (string, error) {
	text, err := p.world.FS.ReadFile(name)
	if err != nil {
		// The script removed the file; then it wrote nothing.
		return "", nil
	}
	return string(text), nil
}

// outcome reads the files in the order of shell-operator: metrics, admission, conversion, operations.
func (p *process) outcome() (*Outcome, error) {
	o := &Outcome{}
	for _, step := range []struct {
		path, variable string
		parse          func(string) error
	}{
		{metricsPath, "METRICS_PATH", o.parseMetrics},
		{admissionPath, "ADMISSION_RESPONSE_PATH", o.parseAdmission},
		{conversionPath, "CONVERSION_RESPONSE_PATH", o.parseConversion},
		{PatchPath, "KUBERNETES_PATCH_PATH", o.parseOperations},
	} {
		text, err := p.read(step.path)
		if err == nil && strings.TrimSpace(text) != "" {
			err = step.parse(text)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", p.hook.Entry, step.variable, err)
		}
	}
	var err error
	o.Patches, err = p.patches()
	return o, err
}

// stream reads JSON values one after another.
func stream(text string) ([]any, error) {
	var values []any
	d := jq.NewDecoder(strings.NewReader(text))
	for {
		v, err := d.Next()
		if err == io.EOF {
			return values, nil
		}
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
}

func field(o *jq.Object, key string) string {
	v, _ := o.Get(key)
	text, _ := v.(string)
	return text
}

func flag(o *jq.Object, key string) bool {
	v, _ := o.Get(key)
	return v == true
}

// document is a field that is an object, or a text of one in JSON or YAML.
func document(o *jq.Object, key string) (string, error) {
	v, ok := o.Get(key)
	if !ok || v == nil {
		return "", nil
	}
	if text, ok := v.(string); ok {
		documents, err := jq.ParseYAML(text)
		if err != nil || len(documents) != 1 {
			return "", fmt.Errorf("%s is a text that is not one document of JSON or YAML: %w", key, err)
		}
		v = documents[0]
	}
	return jq.Text(v), nil
}

func (o *Outcome) parseOperations(text string) error {
	values, err := stream(text)
	if err != nil {
		if values, err = jq.ParseYAML(text); err != nil {
			return fmt.Errorf("it is neither a stream of JSON objects nor YAML: %w", err)
		}
	}
	for i, v := range values {
		if v == nil {
			continue
		}
		operation, err := parseOperation(v)
		if err != nil {
			// One that is wrong refuses all: nothing is half applied.
			return fmt.Errorf("operation %d: %w", i+1, err)
		}
		o.Operations = append(o.Operations, *operation)
	}
	return nil
}

// Operations reads the text of KUBERNETES_PATCH_PATH.
func Operations(text string) ([]Operation, error) {
	o := &Outcome{}
	err := o.parseOperations(text)
	return o.Operations, err
}

func parseOperation(v any) (*Operation, error) {
	spec, ok := v.(*jq.Object)
	if !ok {
		return nil, errors.New("it is not an object: write one object after another, without an array")
	}
	p := &Operation{
		Kind: field(spec, "operation"), APIVersion: field(spec, "apiVersion"), ObjectKind: field(spec, "kind"),
		Namespace: field(spec, "namespace"), Name: field(spec, "name"), Subresource: strings.TrimPrefix(field(spec, "subresource"), "/"),
		Filter: field(spec, "jqFilter"), IgnoreMissing: flag(spec, "ignoreMissingObject"), IgnoreHookError: flag(spec, "ignoreHookError"),
	}
	var err error
	needsTarget := true
	switch p.Kind {
	case "Create", "CreateOrUpdate", "CreateIfNotExists":
		needsTarget = false
		if p.Object, err = document(spec, "object"); err == nil && p.Object == "" {
			err = errors.New("`object` is missing")
		}
	case "Delete", "DeleteInBackground", "DeleteNonCascading":
	case "JQPatch":
		if p.Filter == "" {
			err = errors.New("`jqFilter` is missing")
		}
	case "MergePatch":
		if p.Patch, err = document(spec, "mergePatch"); err == nil && p.Patch == "" {
			err = errors.New("`mergePatch` is missing")
		}
	case "JSONPatch":
		if p.Patch, err = document(spec, "jsonPatch"); err == nil && !strings.HasPrefix(p.Patch, "[") {
			err = errors.New("`jsonPatch` must be an array of operations")
		}
	case "":
		err = errors.New("`operation` is missing")
	default:
		err = fmt.Errorf("`operation` %s is unknown", p.Kind)
	}
	if err == nil && needsTarget && (p.ObjectKind == "" || p.Name == "") {
		err = fmt.Errorf("%s needs `kind` and `name`", p.Kind)
	}
	return p, err
}

func (o *Outcome) parseMetrics(text string) error {
	values, err := stream(text)
	if err != nil {
		return fmt.Errorf("it is not a stream of JSON objects: %w", err)
	}
	for i, v := range values {
		m, err := parseMetric(v)
		if err != nil {
			return fmt.Errorf("metric %d: %w", i+1, err)
		}
		o.Metrics = append(o.Metrics, *m)
	}
	return nil
}

func parseMetric(v any) (*Metric, error) {
	spec, ok := v.(*jq.Object)
	if !ok {
		return nil, errors.New("it is not an object")
	}
	m := &Metric{Name: field(spec, "name"), Action: field(spec, "action"), Group: field(spec, "group")}
	number := func(key string) (float64, bool) {
		v, _ := spec.Get(key)
		n, ok := v.(float64)
		return n, ok
	}
	value, hasValue := number("value")
	for _, short := range []string{"add", "set"} {
		if n, ok := number(short); ok && m.Action == "" {
			m.Action, value, hasValue = short, n, true
		}
	}
	m.Value = value
	if labels, ok := spec.Get("labels"); ok {
		if list, ok := labels.(*jq.Object); ok {
			for _, key := range list.Keys() {
				v, _ := list.Get(key)
				text, ok := v.(string)
				if !ok {
					return nil, fmt.Errorf("the label %s is not a text", key)
				}
				m.Labels = append(m.Labels, [2]string{key, text})
			}
		}
	}
	if buckets, ok := spec.Get("buckets"); ok {
		if list, ok := buckets.([]any); ok {
			for _, b := range list {
				n, ok := b.(float64)
				if !ok {
					return nil, errors.New("a bucket is not a number")
				}
				m.Buckets = append(m.Buckets, n)
			}
		}
	}
	switch {
	case m.Action == "expire" && m.Group == "":
		return nil, errors.New("`expire` needs `group`")
	case m.Action == "expire":
	case m.Action != "add" && m.Action != "set" && m.Action != "observe":
		return nil, fmt.Errorf("`action` %q is unknown: use add, set, observe or expire", m.Action)
	case m.Name == "":
		return nil, errors.New("`name` is missing")
	case !hasValue:
		return nil, errors.New("`value` is missing")
	case m.Action == "observe" && len(m.Buckets) == 0:
		return nil, errors.New("`observe` needs `buckets`")
	}
	return m, nil
}

func one(text string) (*jq.Object, error) {
	v, err := jq.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("it is not one JSON object: %w", err)
	}
	o, ok := v.(*jq.Object)
	if !ok {
		return nil, errors.New("it is not a JSON object")
	}
	return o, nil
}

func (o *Outcome) parseAdmission(text string) error {
	answer, err := one(text)
	if err != nil {
		return err
	}
	a := &Admission{Allowed: flag(answer, "allowed"), Message: field(answer, "message"), Patch: field(answer, "patch")}
	if list, ok := answer.Get("warnings"); ok {
		warnings, _ := list.([]any)
		for _, w := range warnings {
			text, ok := w.(string)
			if !ok {
				return errors.New("a warning is not a text")
			}
			a.Warnings = append(a.Warnings, text)
		}
	}
	o.Admission = a
	return nil
}

func (o *Outcome) parseConversion(text string) error {
	answer, err := one(text)
	if err != nil {
		return err
	}
	c := &Conversion{Failed: field(answer, "failedMessage")}
	if list, ok := answer.Get("convertedObjects"); ok {
		objects, _ := list.([]any)
		for _, object := range objects {
			c.Objects = append(c.Objects, jq.Text(object))
		}
	}
	o.Conversion = c
	return nil
}
