package kubectl

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// lastApplied is the annotation in which apply keeps what it was given.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// annotateLast writes the annotation for an object.
func annotateLast(o object) {
	plain := o.copy()
	if annotations, ok := at(plain, "metadata", "annotations").(map[string]any); ok {
		delete(annotations, lastApplied)
		if len(annotations) == 0 {
			// kubectl keeps the empty mapping.
			plain.fields("metadata")["annotations"] = map[string]any{}
		}
	} else {
		plain.fields("metadata", "annotations")
	}
	o.fields("metadata", "annotations")[lastApplied] = encode(plain) + "\n"
}

func apply(c *call) error {
	if len(c.args) == 1 && strings.HasSuffix(c.args[0], "-last-applied") {
		return fmt.Errorf("kubectl apply %s is not supported in a hook", c.args[0])
	}
	if len(c.args) > 0 || len(c.flags["filename"]) == 0 {
		return errors.New("must specify one of -f and -k")
	}
	items, err := c.files()
	if err != nil {
		return err
	}
	p, err := c.printer()
	if err != nil {
		return err
	}
	mode, err := c.dryRun()
	if err != nil {
		return err
	}
	return each(items, func(one item) error {
		if one.ref.Name == "" {
			return errors.New("resource name may not be empty")
		}
		if c.truth("server-side") {
			return c.applyOnServer(p, one, mode)
		}
		return c.applyHere(p, one, mode)
	})
}

// conflicts is what kubectl advises.
const conflicts = "Please review the fields above--they currently have other managers. Here\n" +
	"are the ways you can resolve this warning:\n" +
	"* If you intend to manage all of these fields, please re-run the apply\n" +
	"  command with the `--force-conflicts` flag.\n" +
	"* If you do not intend to manage all of the fields, please edit your\n" +
	"  manifest to remove references to the fields that should keep their\n" +
	"  current managers.\n" +
	"* You may co-own fields by updating your manifest to match the existing\n" +
	"  value; in this case, you'll become the manager if the other manager(s)\n" +
	"  stop managing the field (remove it from their configuration).\n" +
	"See https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts"

func (c *call) applyOnServer(p *printer, one item, mode string) error {
	manager := c.value("field-manager")
	if manager == "" {
		manager = "kubectl"
	}
	o := one.source
	if mode == "none" {
		applied, err := c.cluster.Apply(encode(o), manager, c.truth("force-conflicts"))
		if isReason(err, "Conflict") {
			return fmt.Errorf("%w\n%s", err, conflicts)
		}
		if err != nil {
			return err
		}
		if o, err = decode(applied); err != nil {
			return err
		}
	}
	return c.done(p, o, one.ref, "serverside-applied", mode)
}

// applyHere creates the object, or sends what is different from what was applied before and from what is there.
func (c *call) applyHere(p *printer, one item, mode string) error {
	modified := one.source
	annotateLast(modified)
	current, err := c.read(one.ref, "")
	if isReason(err, "NotFound") {
		o := modified
		if mode == "none" {
			if o, err = c.create(modified); err != nil {
				return inFile(one, "creating", err)
			}
		}
		return c.done(p, o, one.ref, "created", mode)
	}
	if err != nil {
		return wrapped(err, one)
	}
	original := object{}
	annotation := text(current, "metadata", "annotations", lastApplied)
	if annotation == "" {
		c.out.Flush()
		fmt.Fprintf(c.Stderr, "Warning: resource %s/%s is missing the %s annotation which is required by kubectl apply. kubectl apply should only be used on resources created declaratively by either kubectl create --save-config or kubectl apply. The missing annotation will be patched automatically.\n",
			one.resource.Plural, one.ref.Name, lastApplied)
	} else if original, err = decode(annotation); err != nil {
		return fmt.Errorf("the annotation %s of %s cannot be read: %w", lastApplied, one.ref.Name, err)
	}
	kind := "merge"
	if isBuiltIn(one.ref.APIVersion) {
		kind = "strategic"
	}
	body := threeWay(original, modified, current, kind == "strategic")
	if len(body) == 0 {
		return c.done(p, current, one.ref, "unchanged", mode)
	}
	after := current
	if mode == "none" {
		after, err = c.send(one.ref, kind, encode(body), "")
		if isReason(err, "UnsupportedMediaType") {
			// A custom resource of a group that Kubernetes has, too.
			after, err = c.send(one.ref, "merge", encode(threeWay(original, modified, current, false)), "")
		}
		if err != nil {
			return inFile(one, "applying patch", err)
		}
	}
	return c.done(p, after, one.ref, "configured", mode)
}

func wrapped(err error, one item) error {
	var failure *Error
	if !errors.As(err, &failure) {
		return err
	}
	copied := *failure
	copied.Message = fmt.Sprintf("error when retrieving current configuration of:\nResource: %q, GroupVersionKind: %q\nName: %q, Namespace: %q\nfrom server for: %q: %s",
		one.ref.APIVersion+", Resource="+one.resource.Plural, one.ref.APIVersion+", Kind="+one.ref.Kind, one.ref.Name, one.ref.Namespace, one.from, failure.Message)
	return &copied
}

// isBuiltIn says whether the API server knows the fields of a group, so that it merges lists by their keys.
func isBuiltIn(version string) bool {
	switch group := group(version); group {
	case "", "apps", "batch", "autoscaling", "policy", "extensions":
		return true
	case "apiextensions.k8s.io", "apiregistration.k8s.io":
		return true
	default:
		return strings.HasSuffix(group, ".k8s.io") && !strings.Contains(strings.TrimSuffix(group, ".k8s.io"), ".") &&
			isIn([]string{"networking", "storage", "scheduling", "coordination", "discovery", "events", "node", "admissionregistration", "certificates", "flowcontrol"}, strings.TrimSuffix(group, ".k8s.io")) ||
			group == "rbac.authorization.k8s.io"
	}
}

// threeWay is the patch: what is in modified and not in current, and null for what was applied before and is gone.
func threeWay(original, modified, current map[string]any, byKey bool) map[string]any {
	return difference(original, modified, current, byKey)
}

func difference(original, modified, current map[string]any, byKey bool) map[string]any {
	patch := map[string]any{}
	for key, value := range modified {
		now, there := current[key]
		switch value := value.(type) {
		case map[string]any:
			before, _ := original[key].(map[string]any)
			fields, isMap := now.(map[string]any)
			if !there || !isMap {
				patch[key] = value
				continue
			}
			if inner := difference(before, value, fields, byKey); len(inner) > 0 {
				patch[key] = inner
			}
		case []any:
			before, _ := original[key].([]any)
			elements, isList := now.([]any)
			if !there || !isList {
				patch[key] = value
				continue
			}
			if inner, changed := listDifference(key, before, value, elements, byKey); changed {
				patch[key] = inner
			}
		default:
			if value == nil {
				if there && now != nil {
					patch[key] = nil
				}
				continue
			}
			if !there || !reflect.DeepEqual(value, now) && !equalNumbers(value, now) {
				patch[key] = value
			}
		}
	}
	for key := range original {
		_, kept := modified[key]
		if _, there := current[key]; there && !kept {
			patch[key] = nil
		}
	}
	return patch
}

func equalNumbers(a, b any) bool {
	x, isX := asFloat(a)
	y, isY := asFloat(b)
	return isX && isY && x == y
}

func asFloat(value any) (float64, bool) {
	switch value := value.(type) {
	case int64:
		return float64(value), true
	case float64:
		return value, true
	case json.Number:
		n, err := value.Float64()
		return n, err == nil
	}
	return 0, false
}

// mergeKeys are the keys by which the API server merges the lists of a field. Other lists are replaced.
var mergeKeys = map[string][]string{
	"containers": {"name"}, "initContainers": {"name"}, "ephemeralContainers": {"name"}, "env": {"name"}, "volumes": {"name"},
	"volumeMounts": {"mountPath"}, "volumeDevices": {"devicePath"}, "imagePullSecrets": {"name"}, "hostAliases": {"ip"},
	"topologySpreadConstraints": {"topologyKey"}, "ports": {"containerPort", "port"}, "secrets": {"name"}, "ownerReferences": {"uid"},
	"conditions": {"type"}, "taints": nil, "resourceClaims": {"name"}, "webhooks": {"name"}, "addresses": {"type"},
	"podFailurePolicy": nil, "images": nil,
}

// mergedPrimitives are lists of texts that the API server merges.
var mergedPrimitives = map[string]bool{"finalizers": true}

func listDifference(field string, original, modified, current []any, byKey bool) ([]any, bool) {
	same := encode(modified) == encode(current)
	if byKey && mergedPrimitives[field] {
		// Elements are added by the patch. One that is gone stays, as no directive removes it here.
		for _, value := range modified {
			if !contains(current, value) {
				return modified, true
			}
		}
		return nil, false
	}
	key := ""
	if byKey {
		key = keyOf(field, modified, current)
	}
	if key == "" {
		return modified, !same
	}
	var patch []any
	for _, element := range modified {
		wanted := element.(map[string]any)
		now := elementWith(current, key, wanted[key])
		if now == nil {
			patch = append(patch, wanted)
			continue
		}
		before := elementWith(original, key, wanted[key])
		if inner := difference(before, wanted, now, true); len(inner) > 0 {
			inner[key] = wanted[key]
			patch = append(patch, inner)
		}
	}
	for _, element := range original {
		fields, ok := element.(map[string]any)
		if !ok || fields[key] == nil || elementWith(modified, key, fields[key]) != nil || elementWith(current, key, fields[key]) == nil {
			continue
		}
		patch = append(patch, map[string]any{"$patch": "delete", key: fields[key]})
	}
	return patch, len(patch) > 0
}

// keyOf is the merge key that all elements have, or nothing.
func keyOf(field string, lists ...[]any) string {
	for _, key := range mergeKeys[field] {
		all := true
		for _, list := range lists {
			for _, element := range list {
				fields, ok := element.(map[string]any)
				all = all && ok && fields[key] != nil
			}
		}
		if all {
			return key
		}
	}
	return ""
}

func elementWith(list []any, key string, value any) map[string]any {
	for _, element := range list {
		if fields, ok := element.(map[string]any); ok && (reflect.DeepEqual(fields[key], value) || equalNumbers(fields[key], value)) {
			return fields
		}
	}
	return nil
}

func contains(list []any, value any) bool {
	for _, one := range list {
		if reflect.DeepEqual(one, value) {
			return true
		}
	}
	return false
}
