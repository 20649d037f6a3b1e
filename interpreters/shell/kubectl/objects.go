package kubectl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"sort"
	"strings"

	"sigs.k8s.io/yaml"
)

// object is an object as kubectl has it: with int64 and float64 for numbers.
type object map[string]any

func decode(text string) (object, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	fields, ok := numbers(value).(map[string]any)
	if !ok {
		return nil, errors.New("it is not an object")
	}
	return fields, nil
}

// numbers turns the numbers of a value into those of kubectl.
func numbers(value any) any {
	switch value := value.(type) {
	case json.Number:
		if n, err := value.Int64(); err == nil {
			return n
		}
		n, _ := value.Float64()
		return n
	case map[string]any:
		for key, inner := range value {
			value[key] = numbers(inner)
		}
	case []any:
		for i, inner := range value {
			value[i] = numbers(inner)
		}
	}
	return value
}

// encode is compact JSON.
func encode(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		// Only numbers that JSON does not have fail, and no text has them.
		return "null"
	}
	return string(text)
}

// at is the value at a path of keys, or nil.
func at(value any, path ...string) any {
	for _, key := range path {
		switch fields := value.(type) {
		case object:
			value = fields[key]
		case map[string]any:
			value = fields[key]
		default:
			return nil
		}
	}
	return value
}

func text(value any, path ...string) string {
	text, _ := at(value, path...).(string)
	return text
}

func list(value any, path ...string) []any {
	list, _ := at(value, path...).([]any)
	return list
}

func number(value any, path ...string) int64 {
	switch n := at(value, path...).(type) {
	case int64:
		return n
	case float64:
		return int64(n)
	}
	return 0
}

// fields is the mapping at a path, which is made where there is none.
func (o object) fields(path ...string) map[string]any {
	fields := map[string]any(o)
	for _, key := range path {
		next, ok := fields[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			fields[key] = next
		}
		fields = next
	}
	return fields
}

func (o object) name() string      { return text(o, "metadata", "name") }
func (o object) namespace() string { return text(o, "metadata", "namespace") }
func (o object) kind() string      { return text(o, "kind") }
func (o object) version() string   { return text(o, "apiVersion") }

func (o object) ref() Ref { return Ref{o.version(), o.kind(), o.namespace(), o.name()} }

func (o object) copy() object {
	copied, err := decode(encode(o))
	if err != nil {
		return object{}
	}
	return copied
}

// group is the group of a version; empty for the core one.
func group(version string) string {
	group, _, found := strings.Cut(version, "/")
	if !found {
		return ""
	}
	return group
}

// shown is an object as messages name it: pod/web, deployment.apps/web.
func shown(version, kind, name string) string {
	resource := strings.ToLower(kind)
	if group := group(version); group != "" {
		resource += "." + group
	}
	return resource + "/" + name
}

func (o object) shown() string { return shown(o.version(), o.kind(), o.name()) }

// item is one object that a command is about.
type item struct {
	ref      Ref
	resource Resource
	// source is the object of a file.
	source object
	// from is where the object was read from.
	from string
}

// selection is what the arguments and flags of a command name.
type selection struct {
	items []item
	// queries are lists: a kind without names.
	queries []Resource
	// named says that objects were named one by one.
	named bool
}

// errNoResource is what kubectl says without arguments, after a hint.
var errNoResource = errors.New("Required resource not specified.\nUse \"kubectl explain <resource>\" for a detailed description of that resource (e.g. kubectl explain pods).\nSee 'kubectl get -h' for help and examples")

// all are the kinds of kubectl get all.
const all = "pods,replicationcontrollers,services,daemonsets.apps,deployments.apps,replicasets.apps,statefulsets.apps,horizontalpodautoscalers.autoscaling,cronjobs.batch,jobs.batch"

// select_ reads arguments of the forms KIND, KIND NAME..., KIND/NAME... and KIND,KIND, or files.
func (c *call) select_(args []string) (*selection, error) {
	if len(c.flags["filename"]) > 0 {
		if len(args) > 0 {
			return nil, fmt.Errorf("when paths, URLs, or stdin is provided as input, you may not specify resource arguments as well")
		}
		items, err := c.files()
		return &selection{items: items, named: true}, err
	}
	s := &selection{}
	if len(args) == 0 {
		c.out.Flush()
		fmt.Fprintln(c.Stderr, "You must specify the type of resource to get. Use \"kubectl api-resources\" for a complete list of supported resources.")
		fmt.Fprintln(c.Stderr)
		return nil, errNoResource
	}
	if strings.Contains(args[0], "/") {
		s.named = true
		for _, arg := range args {
			kind, name, found := strings.Cut(arg, "/")
			if !found {
				return nil, errors.New("there is no need to specify a resource type as a separate argument when passing arguments in resource/name form (e.g. 'kubectl get resource/<resource_name>' instead of 'kubectl get resource resource/<resource_name>'")
			}
			if name == "" || kind == "" || strings.Contains(name, "/") {
				return nil, fmt.Errorf("arguments in resource/name form must have a single resource and name")
			}
			if err := s.add(c, kind, name); err != nil {
				return nil, err
			}
		}
		return s, nil
	}
	kinds := strings.Split(args[0], ",")
	if args[0] == "all" {
		kinds = strings.Split(all, ",")
	}
	if len(args) > 1 {
		s.named = true
		if len(kinds) > 1 && len(args) > 2 {
			return nil, errors.New("you may specify only one resource type with several names")
		}
		if c.value("selector") != "" {
			return nil, errors.New("name cannot be provided when a selector is specified")
		}
		for _, kind := range kinds {
			for _, name := range args[1:] {
				if strings.Contains(name, "/") {
					return nil, errors.New("there is no need to specify a resource type as a separate argument when passing arguments in resource/name form (e.g. 'kubectl get resource/<resource_name>' instead of 'kubectl get resource resource/<resource_name>'")
				}
				if err := s.add(c, kind, name); err != nil {
					return nil, err
				}
			}
		}
		return s, nil
	}
	for _, kind := range kinds {
		resource, err := c.resolve(kind)
		if err != nil {
			return nil, err
		}
		s.queries = append(s.queries, resource)
	}
	return s, nil
}

func (s *selection) add(c *call, kind, name string) error {
	resource, err := c.resolve(kind)
	if err != nil {
		return err
	}
	if resource.Namespaced && c.truth("all-namespaces") {
		return errors.New("a resource cannot be retrieved by name across all namespaces")
	}
	s.items = append(s.items, item{ref: c.refOf(resource, name), resource: resource})
	return nil
}

func (c *call) refOf(resource Resource, name string) Ref {
	ref := Ref{APIVersion: resource.APIVersion, Kind: resource.Kind, Name: name}
	if resource.Namespaced {
		ref.Namespace = c.namespace()
	}
	return ref
}

// resolve finds a kind, once in a run of the script.
func (c *call) resolve(name string) (Resource, error) {
	type key struct{ kind string }
	if known, ok := c.World.Shared.Load(key{name}); ok {
		return known.(Resource), nil
	}
	resource, err := c.cluster.Resolve(name, "")
	switch {
	case errors.Is(err, ErrNone):
		return resource, err
	case isReason(err, "Invalid"):
		return resource, fmt.Errorf("the server doesn't have a resource type %q", name)
	case err != nil:
		return resource, err
	}
	c.World.Shared.Store(key{name}, resource)
	return resource, nil
}

// ofObject finds the kind of an object in a file.
func (c *call) ofObject(o object, from string) (Resource, error) {
	type key struct{ version, kind string }
	known, ok := c.World.Shared.Load(key{o.version(), o.kind()})
	if ok {
		return known.(Resource), nil
	}
	resource, err := c.cluster.Resolve(o.kind(), o.version())
	if isReason(err, "Invalid") {
		return resource, fmt.Errorf("resource mapping not found for name: %q namespace: %q from %q: no matches for kind %q in version %q\nensure CRDs are installed first",
			o.name(), o.namespace(), from, o.kind(), o.version())
	}
	if err == nil {
		c.World.Shared.Store(key{o.version(), o.kind()}, resource)
	}
	return resource, err
}

var errNoName = errors.New("resource(s) were provided, but no name was specified")

// all are the objects that the selection names, read from the cluster where it is a list.
func (c *call) all(s *selection) ([]item, error) {
	items := s.items
	for _, resource := range s.queries {
		if c.value("selector") == "" && c.value("field-selector") == "" && !c.truth("all") {
			return nil, errNoName
		}
		found, err := c.list(resource)
		if err != nil {
			return nil, err
		}
		for _, o := range found {
			items = append(items, item{ref: o.ref(), resource: resource})
		}
	}
	return items, nil
}

// list reads the objects of a kind that the flags select.
func (c *call) list(resource Resource) ([]object, error) {
	query := Query{
		APIVersion: resource.APIVersion, Kind: resource.Kind,
		LabelSelector: c.value("selector"), FieldSelector: c.value("field-selector"),
	}
	if resource.Namespaced && !c.truth("all-namespaces") {
		query.Namespace = c.namespace()
	}
	texts, err := c.cluster.List(query)
	var failure *Error
	if errors.As(err, &failure) && (failure.Reason == "BadRequest" || failure.Reason == "NotFound") {
		copied := *failure
		version := resource.APIVersion
		if !strings.Contains(version, "/") {
			version = "/" + version
		}
		what := fmt.Sprintf("Unable to list %q", version+", Resource="+resource.Plural)
		if query.LabelSelector != "" || query.FieldSelector != "" {
			what = fmt.Sprintf("Unable to find %q that match label selector %q, field selector %q", version+", Resource="+resource.Plural, query.LabelSelector, query.FieldSelector)
		}
		copied.Message = what + ": " + failure.Message
		return nil, &copied
	}
	if err != nil {
		return nil, err
	}
	objects := make([]object, len(texts))
	for i, text := range texts {
		if objects[i], err = decode(text); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// read gets one object.
func (c *call) read(ref Ref, subresource string) (object, error) {
	text, err := c.cluster.Get(ref, subresource)
	if err != nil {
		return nil, err
	}
	return decode(text)
}

// files are the objects of all files that --filename names.
func (c *call) files() ([]item, error) {
	var items []item
	for _, name := range c.values("filename") {
		paths, err := c.expand(name)
		if err != nil {
			return nil, err
		}
		for _, p := range paths {
			objects, err := c.documents(p)
			if err != nil {
				return nil, err
			}
			for _, o := range objects {
				one, err := c.itemOf(o, p)
				if err != nil {
					return nil, err
				}
				items = append(items, *one)
			}
		}
	}
	if len(items) == 0 {
		return nil, fmt.Errorf("no objects passed to %s", c.verb())
	}
	return items, nil
}

// verb is the subcommand.
func (c *call) verb() string {
	for _, arg := range c.Args[1:] {
		if !strings.HasPrefix(arg, "-") {
			return arg
		}
	}
	return ""
}

// expand lists the files of a directory.
func (c *call) expand(name string) ([]string, error) {
	if strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://") {
		return nil, fmt.Errorf("%s: a hook has no network: put the file beside the hook", name)
	}
	if name == "-" {
		return []string{name}, nil
	}
	info, err := c.FS().Stat(c.Abs(name))
	if err != nil {
		return nil, fmt.Errorf("the path %q does not exist", name)
	}
	if !info.IsDir() {
		return []string{name}, nil
	}
	entries, err := c.FS().ReadDir(c.Abs(name))
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, entry := range entries {
		inside := path.Join(name, entry.Name())
		switch extension := path.Ext(entry.Name()); {
		case entry.IsDir():
			if c.truth("recursive") {
				more, err := c.expand(inside)
				if err != nil {
					return nil, err
				}
				paths = append(paths, more...)
			}
		case extension == ".json" || extension == ".yaml" || extension == ".yml":
			paths = append(paths, inside)
		}
	}
	sort.Strings(paths)
	return paths, nil
}

// documents reads the objects of a file. A list is its items.
func (c *call) documents(name string) ([]object, error) {
	var in io.Reader = c.Stdin
	if name != "-" {
		file, err := c.Open(name)
		if err != nil {
			return nil, fmt.Errorf("the path %q does not exist", name)
		}
		defer file.Close()
		in = file
	}
	content, err := c.ReadAll(in)
	if err != nil {
		return nil, err
	}
	values, err := parse(content)
	if err != nil {
		if name == "-" {
			name = "STDIN"
		}
		return nil, fmt.Errorf("error parsing %s: %w", name, err)
	}
	var objects []object
	for _, value := range values {
		if items, ok := value["items"].([]any); ok && strings.HasSuffix(value.kind(), "List") {
			for _, inner := range items {
				if fields, ok := inner.(map[string]any); ok {
					objects = append(objects, fields)
				}
			}
			continue
		}
		objects = append(objects, value)
	}
	return objects, nil
}

// parse reads JSON objects one after another, or documents of YAML.
func parse(content []byte) ([]object, error) {
	if bytes.HasPrefix(bytes.TrimSpace(content), []byte("{")) {
		// A mapping of YAML can begin like JSON.
		if objects, err := parseJSON(content); err == nil {
			return objects, nil
		}
	}
	var objects []object
	for i, document := range split(string(content)) {
		converted, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			return nil, fmt.Errorf("error converting YAML to JSON: %w", trimmed(err))
		}
		if string(converted) == "null" {
			continue
		}
		o, err := decode(string(converted))
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", i+1, err)
		}
		objects = append(objects, o)
	}
	return objects, nil
}

func parseJSON(content []byte) ([]object, error) {
	d := json.NewDecoder(bytes.NewReader(content))
	d.UseNumber()
	var objects []object
	for {
		var fields map[string]any
		switch err := d.Decode(&fields); {
		case err == io.EOF:
			return objects, nil
		case err != nil:
			return nil, fmt.Errorf("json parse error: %w", err)
		}
		objects = append(objects, numbers(fields).(map[string]any))
	}
}

// split separates documents at lines that begin with ---.
func split(content string) []string {
	var documents []string
	var current strings.Builder
	for _, line := range strings.SplitAfter(content, "\n") {
		if strings.HasPrefix(line, "---") && strings.TrimSpace(strings.TrimLeft(line, "-")) == "" {
			documents = append(documents, current.String())
			current.Reset()
			continue
		}
		current.WriteString(line)
	}
	documents = append(documents, current.String())
	kept := documents[:0]
	for _, document := range documents {
		if strings.TrimSpace(document) != "" {
			kept = append(kept, document)
		}
	}
	return kept
}

func trimmed(err error) error {
	return errors.New(strings.TrimPrefix(err.Error(), "error converting YAML to JSON: "))
}

// itemOf completes an object of a file.
func (c *call) itemOf(o object, from string) (*item, error) {
	if from == "-" {
		from = "STDIN"
	}
	var missing []string
	for _, field := range []string{"apiVersion", "kind"} {
		if text(o, field) == "" {
			missing = append(missing, field+" not set")
		}
	}
	if problems := strings.Join(missing, ", "); len(missing) > 0 {
		if len(missing) > 1 {
			problems = "[" + problems + "]"
		}
		return nil, fmt.Errorf("error validating %q: error validating data: %s; if you choose to ignore these errors, turn validation off with --validate=false", from, problems)
	}
	resource, err := c.ofObject(o, from)
	if err != nil {
		return nil, err
	}
	if resource.Namespaced {
		asked := c.value("namespace")
		switch own := o.namespace(); {
		case own == "":
			o.fields("metadata")["namespace"] = c.namespace()
		case asked != "" && asked != own:
			return nil, fmt.Errorf("the namespace from the provided object %q does not match the namespace %q. You must pass '--namespace=%s' to perform this operation.", own, asked, own)
		}
	} else if metadata, ok := o["metadata"].(map[string]any); ok {
		delete(metadata, "namespace")
	}
	return &item{ref: o.ref(), resource: resource, source: o, from: from}, nil
}
