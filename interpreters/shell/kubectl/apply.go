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
	items, p, mode, err := c.chosen(nil)
	if err != nil {
		return err
	}
	switch {
	case mode == "client" && c.truth("server-side"):
		return errors.New("--dry-run=client doesn't work with --server-side (did you mean --dry-run=server instead?)")
	case mode == "server" && c.truth("force"):
		return errors.New("--dry-run=server cannot be used with --force")
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
	if mode != "client" {
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
		if mode != "client" {
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
	kind, how := "merge", plainly
	if isBuiltIn(one.ref.APIVersion) {
		kind, how = "strategic", rules{strategic: true, kind: one.ref.Kind}
	}
	body := threeWay(original, modified, current, how)
	if len(body) == 0 {
		return c.done(p, current, one.ref, "unchanged", mode)
	}
	after := current
	if mode != "client" {
		after, err = c.send(one.ref, kind, encode(body), "")
		if isReason(err, "UnsupportedMediaType") {
			// A custom resource of a group that Kubernetes has, too.
			after, err = c.send(one.ref, "merge", encode(threeWay(original, modified, current, plainly)), "")
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
			isIn([]string{"networking", "storage", "scheduling", "coordination", "events", "node", "admissionregistration", "certificates", "flowcontrol"}, strings.TrimSuffix(group, ".k8s.io")) ||
			group == "rbac.authorization.k8s.io"
	}
}

// rules say how the API server merges a patch.
type rules struct {
	// strategic lists are merged by their keys. Others are replaced.
	strategic bool
	kind      string
}

// plainly is a merge patch.
var plainly rules

// threeWay is the patch: what is in modified and not in current, and null for what was applied before and is gone.
func threeWay(original, modified, current map[string]any, how rules) map[string]any {
	return difference("", original, modified, current, how)
}

// difference is the patch of the fields in the field parent.
func difference(parent string, original, modified, current map[string]any, how rules) map[string]any {
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
			if how.replaces(parent, key) {
				if !reflect.DeepEqual(value, fields) {
					patch[key] = value
				}
				continue
			}
			if inner := difference(key, before, value, fields, how); len(inner) > 0 {
				if how.strategic && parent == "spec" && key == "strategy" {
					inner["$retainKeys"] = texts(sorted(value))
				}
				patch[key] = inner
			}
		case []any:
			before, _ := original[key].([]any)
			elements, isList := now.([]any)
			if !there || !isList {
				patch[key] = value
				continue
			}
			listDifference(patch, parent, key, before, value, elements, how)
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

// replaces says whether a patch has to have the whole mapping.
func (r rules) replaces(parent, field string) bool {
	return r.strategic && r.kind == "PodDisruptionBudget" && parent == "spec" && field == "selector"
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

// mergeKeys are the keys by which the API server merges lists, by the field that has the list and its own: what the types of
// Kubernetes 1.36 say with patchMergeKey. Other lists are replaced.
var mergeKeys = map[string]string{
	"spec.containers": "name", "spec.initContainers": "name", "spec.ephemeralContainers": "name", "spec.volumes": "name",
	"spec.imagePullSecrets": "name", "spec.hostAliases": "ip", "spec.topologySpreadConstraints": "topologyKey", "spec.schedulingGates": "name",
	"spec.resourceClaims": "name", "spec.ports": "port", "spec.drivers": "name", "spec.matchConditions": "name", "spec.variables": "name",
	".secrets": "name", ".webhooks": "name", "webhooks.matchConditions": "name", "metadata.ownerReferences": "uid",
	"status.conditions": "type", "status.addresses": "type", "status.podIPs": "ip", "status.hostIPs": "ip",
}

func init() {
	for _, containers := range []string{"containers", "initContainers", "ephemeralContainers"} {
		for field, key := range map[string]string{"ports": "containerPort", "env": "name", "volumeMounts": "mountPath", "volumeDevices": "devicePath"} {
			mergeKeys[containers+"."+field] = key
		}
	}
}

// retained are lists whose elements lose the fields that a patch does not name.
var retained = map[string]bool{"spec.volumes": true, "spec.resourceClaims": true}

// mergedPrimitives are lists of texts that the API server merges.
var mergedPrimitives = map[string]bool{"metadata.finalizers": true, "spec.podCIDRs": true}

// listDifference writes what a list needs into the patch: its elements, what is gone, and the order that is wanted.
func listDifference(into map[string]any, parent, field string, original, modified, current []any, how rules) {
	same := encode(modified) == encode(current)
	place := parent + "." + field
	if how.strategic && mergedPrimitives[place] {
		var added, gone []any
		for _, value := range modified {
			if !contains(current, value) {
				added = append(added, value)
			}
		}
		for _, value := range original {
			if !contains(modified, value) {
				gone = append(gone, value)
			}
		}
		if len(added) > 0 {
			into[field] = added
		}
		if len(gone) > 0 {
			into["$deleteFromPrimitiveList/"+field] = gone
		}
		if len(gone) > 0 || !same {
			into["$setElementOrder/"+field] = modified
		}
		return
	}
	key := ""
	if how.strategic {
		key = keyOf(place, modified, current)
	}
	if key == "" {
		if !same {
			into[field] = modified
		}
		return
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
		if inner := difference(field, before, wanted, now, how); len(inner) > 0 {
			inner[key] = wanted[key]
			if retained[place] {
				inner["$retainKeys"] = texts(sorted(wanted))
			}
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
	if len(patch) > 0 {
		into[field] = patch
	}
	if len(patch) > 0 || !sameOrder(modified, current, key) {
		order := make([]any, len(modified))
		for i, element := range modified {
			order[i] = map[string]any{key: at(element, key)}
		}
		into["$setElementOrder/"+field] = order
	}
}

// sameOrder says whether two lists have the same elements in the same places, by their keys.
func sameOrder(one, other []any, key string) bool {
	if len(one) != len(other) {
		return false
	}
	for i := range one {
		if a, b := at(one[i], key), at(other[i], key); !reflect.DeepEqual(a, b) && !equalNumbers(a, b) {
			return false
		}
	}
	return true
}

// keyOf is the merge key, if all elements have it.
func keyOf(place string, lists ...[]any) string {
	key := mergeKeys[place]
	for _, list := range lists {
		for _, element := range list {
			if at(element, key) == nil {
				return ""
			}
		}
	}
	return key
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
