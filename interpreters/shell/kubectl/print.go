package kubectl

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strings"
	"text/tabwriter"
	"text/template"

	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/yaml"
)

// printer writes an object in a format.
type printer struct {
	format string
	// table is not nil for the output for people.
	table *struct{}
	print func(out io.Writer, o object) error
}

// errFormat is the error of an output that is not known.
func errFormat(format string) error {
	return fmt.Errorf("unable to match a printer suitable for the output format %q, allowed formats are: custom-columns,custom-columns-file,go-template,go-template-file,json,jsonpath,jsonpath-as-json,jsonpath-file,kyaml,name,template,templatefile,wide,yaml", format)
}

// printer is that of the flags.
func (c *call) printer() (*printer, error) {
	format, argument, given := strings.Cut(c.value("output"), "=")
	if !given {
		argument = c.value("template")
	}
	if format == "" && argument != "" {
		format = "go-template"
	}
	p := &printer{format: format}
	if file, ok := strings.CutSuffix(format, "-file"); ok || format == "templatefile" {
		if format == "templatefile" {
			file = "template"
		}
		content, err := c.FS().ReadFile(c.Abs(argument))
		if err != nil {
			return nil, fmt.Errorf("error reading --template %s, open %s: no such file or directory", argument, argument)
		}
		format, argument = file, string(content)
	}
	switch format {
	case "", "wide":
		p.table = &struct{}{}
	case "json":
		p.print = c.unmanaged(c.printJSON)
	case "yaml":
		p.print = c.unmanaged((&yamlPrinter{}).print)
	case "name":
		p.print = func(out io.Writer, o object) error {
			_, err := fmt.Fprintln(out, o.shown())
			return err
		}
	case "jsonpath", "jsonpath-as-json":
		if argument == "" {
			return nil, errors.New("template format specified but no template given")
		}
		return p, c.jsonpath(p, argument, format == "jsonpath-as-json")
	case "custom-columns":
		return p, p.columns(argument, c.truth("no-headers"))
	case "go-template", "template":
		if argument == "" {
			return nil, errors.New("template format specified but no template given")
		}
		return p, p.template(argument, c.allowsMissing())
	case "kyaml":
		return nil, errors.New("-o kyaml is not supported in a hook: use -o yaml")
	default:
		return nil, errFormat(c.value("output"))
	}
	return p, nil
}

// unmanaged wraps a printer: kubectl hides managedFields from every format but templates and names.
func (c *call) unmanaged(print func(io.Writer, object) error) func(io.Writer, object) error {
	return func(out io.Writer, o object) error {
		if c.truth("show-managed-fields") {
			return print(out, o)
		}
		return print(out, withoutManaged(o))
	}
}

func withoutManaged(o object) object {
	plain := o
	if metadata, ok := o["metadata"].(map[string]any); ok && metadata["managedFields"] != nil {
		plain = maps.Clone(o)
		metadata = maps.Clone(metadata)
		delete(metadata, "managedFields")
		plain["metadata"] = metadata
	}
	items, ok := o["items"].([]any)
	if !ok {
		return plain
	}
	plain = maps.Clone(plain)
	kept := make([]any, len(items))
	for i, item := range items {
		kept[i] = item
		if fields, ok := item.(map[string]any); ok {
			kept[i] = map[string]any(withoutManaged(fields))
		}
	}
	plain["items"] = kept
	return plain
}

func (c *call) allowsMissing() bool {
	return c.value("allow-missing-template-keys") == "" || c.truth("allow-missing-template-keys")
}

// fieldOrder is that of kubectl's types, which it prints what it generates with. What it reads has no types there, and is
// sorted.
var fieldOrder = []string{
	"kind", "apiVersion", "metadata", "name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp",
	"labels", "annotations", "ownerReferences", "finalizers", "immutable", "spec", "data", "binaryData", "stringData", "type", "rules",
	"subjects", "roleRef", "secrets", "imagePullSecrets", "value", "globalDefault", "description", "preemptionPolicy", "status",
}

func (c *call) printJSON(out io.Writer, o object) error {
	content, err := json.MarshalIndent(o, "", "    ")
	if err == nil && c.typed {
		content, err = ordered(o)
	}
	if err != nil {
		return err
	}
	_, err = out.Write(append(content, '\n'))
	return err
}

// innerOrder is that of the fields below, where the generators write some.
var innerOrder = strings.Fields("kind apiGroup metadata spec minAvailable replicas schedule jobTemplate verbs apiGroups name namespace uid controller " +
	"protocol image command args ports env resources resourceNames selector maxUnavailable template strategy containers restartPolicy " +
	"clusterIP type externalName port containerPort targetPort nodePort number ingressClassName defaultBackend tls rules path pathType backend " +
	"hosts secretName host http disruptionsAllowed currentHealthy desiredHealthy expectedPods hard scopes")

// mappings are fields whose keys are sorted, because they have no types.
var mappings = []string{"annotations", "binaryData", "data", "hard", "labels", "limits", "matchLabels", "requests", "stringData"}

// ordered is JSON with the fields in the order of kubectl's types.
func ordered(o object) ([]byte, error) {
	var text bytes.Buffer
	err := writeOrdered(&text, map[string]any(o), "", "")
	return text.Bytes(), err
}

func writeOrdered(text *bytes.Buffer, value any, field, indent string) error {
	switch value := value.(type) {
	case map[string]any:
		if len(value) == 0 {
			text.WriteString("{}")
			return nil
		}
		keys := sorted(value)
		if order := orderOf(field); order != nil {
			sort.SliceStable(keys, func(i, j int) bool { return rank(order, keys[i]) < rank(order, keys[j]) })
		}
		for i, key := range keys {
			fmt.Fprintf(text, "%s\n%s    %q: ", map[bool]string{true: "{", false: ","}[i == 0], indent, key)
			if err := writeOrdered(text, value[key], key, indent+"    "); err != nil {
				return err
			}
		}
		text.WriteString("\n" + indent + "}")
	case []any:
		if len(value) == 0 {
			text.WriteString("[]")
			return nil
		}
		for i, one := range value {
			fmt.Fprintf(text, "%s\n%s    ", map[bool]string{true: "[", false: ","}[i == 0], indent)
			if err := writeOrdered(text, one, field, indent+"    "); err != nil {
				return err
			}
		}
		text.WriteString("\n" + indent + "]")
	default:
		content, err := json.Marshal(value)
		text.Write(content)
		return err
	}
	return nil
}

// orderOf is the order of the fields in a field; empty is the object.
func orderOf(field string) []string {
	switch {
	case field == "", field == "metadata":
		return fieldOrder
	case field == "ownerReferences", field == "roleRef":
		return []string{"apiVersion", "apiGroup", "kind", "name", "uid", "controller"}
	case slices.Contains(mappings, field):
		return nil
	}
	return innerOrder
}

func rank(order []string, key string) int {
	if at := slices.Index(order, key); at >= 0 {
		return at
	}
	return len(order)
}

// yamlPrinter separates documents.
type yamlPrinter struct{ printed bool }

func (p *yamlPrinter) print(out io.Writer, o object) error {
	content, err := yaml.Marshal(map[string]any(o))
	if err != nil {
		return err
	}
	if p.printed {
		io.WriteString(out, "---\n")
	}
	p.printed = true
	_, err = out.Write(content)
	return err
}

func (c *call) jsonpath(p *printer, expression string, asJSON bool) error {
	j := jsonpath.New("out").AllowMissingKeys(c.allowsMissing())
	j.EnableJSONOutput(asJSON)
	if err := j.Parse(expression); err != nil {
		return fmt.Errorf("error parsing jsonpath %s, %w", expression, err)
	}
	p.print = func(out io.Writer, o object) error {
		if err := j.Execute(out, map[string]any(o)); err != nil {
			return fmt.Errorf("error executing jsonpath %q: %w", expression, err)
		}
		return nil
	}
	return nil
}

var pathForms = regexp.MustCompile(`^\{\.?([^{}]+)\}$|^\.?([^{}]+)$`)

// relaxed accepts .a.b and a.b for {.a.b}.
func relaxed(expression string) (string, error) {
	parts := pathForms.FindStringSubmatch(expression)
	switch {
	case expression == "":
		return "", nil
	case parts == nil:
		return "", errors.New("unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or '{.name1.name2}'")
	}
	return "{." + parts[1] + parts[2] + "}", nil
}

// find is what an expression selects.
func find(expression string, o object) ([]any, error) {
	j := jsonpath.New("find").AllowMissingKeys(true)
	if err := j.Parse(expression); err != nil {
		return nil, err
	}
	results, err := j.FindResults(map[string]any(o))
	if err != nil {
		return nil, err
	}
	var values []any
	for _, result := range results {
		for _, value := range result {
			values = append(values, plain(value))
		}
	}
	return values, nil
}

func plain(value reflect.Value) any {
	if !value.IsValid() || !value.CanInterface() {
		return nil
	}
	return value.Interface()
}

// columns prints custom columns.
func (p *printer) columns(spec string, noHeaders bool) error {
	if spec == "" {
		return errors.New("custom-columns format specified but no custom columns given")
	}
	if strings.Contains(spec, "\n") {
		// A file has a line of headers and a line of expressions.
		lines := strings.SplitN(strings.TrimSpace(spec), "\n", 2)
		headers, expressions := strings.Fields(lines[0]), strings.Fields(lines[len(lines)-1])
		if len(headers) != len(expressions) {
			return fmt.Errorf("number of headers (%d) and field specifications (%d) don't match", len(headers), len(expressions))
		}
		pairs := make([]string, len(headers))
		for i := range headers {
			pairs[i] = headers[i] + ":" + expressions[i]
		}
		spec = strings.Join(pairs, ",")
	}
	var headers, expressions []string
	for _, part := range strings.Split(spec, ",") {
		header, expression, found := strings.Cut(part, ":")
		if !found {
			return fmt.Errorf("unexpected custom-columns spec: %s, expected <header>:<json-path-expr>", part)
		}
		expression, err := relaxed(expression)
		if err != nil {
			return err
		}
		headers, expressions = append(headers, header), append(expressions, expression)
	}
	p.print = func(out io.Writer, o object) error {
		table := tabwriter.NewWriter(out, 6, 4, 3, ' ', 0)
		if !noHeaders {
			fmt.Fprintln(table, strings.Join(headers, "\t"))
		}
		rows := []object{o}
		if items, ok := o["items"].([]any); ok && strings.HasSuffix(o.kind(), "List") {
			rows = nil
			for _, one := range items {
				if fields, ok := one.(map[string]any); ok {
					rows = append(rows, fields)
				}
			}
		}
		for _, row := range rows {
			cells := make([]string, len(expressions))
			for i, expression := range expressions {
				values, err := find(expression, row)
				if err != nil {
					// The lines before it are printed.
					return errors.Join(table.Flush(), err)
				}
				cells[i] = cell(values)
			}
			fmt.Fprintln(table, strings.Join(cells, "\t"))
		}
		return table.Flush()
	}
	return nil
}

func cell(values []any) string {
	if len(values) == 0 {
		return "<none>"
	}
	texts := make([]string, len(values))
	for i, value := range values {
		if value == nil {
			texts[i] = "<none>"
			continue
		}
		texts[i] = fmt.Sprint(value)
	}
	return strings.Join(texts, ",")
}

func (p *printer) template(text string, allowsMissing bool) error {
	t := template.New("output").Funcs(template.FuncMap{"exists": exists, "base64decode": base64decode})
	if allowsMissing {
		t.Option("missingkey=default")
	} else {
		t.Option("missingkey=error")
	}
	if _, err := t.Parse(text); err != nil {
		return fmt.Errorf("error parsing template %s, %w", text, err)
	}
	p.print = func(out io.Writer, o object) error {
		var copied any
		if err := json.Unmarshal([]byte(encode(o)), &copied); err != nil {
			return err
		}
		if err := t.Execute(out, copied); err != nil {
			return fmt.Errorf("error executing template %q: %w", text, err)
		}
		return nil
	}
	return nil
}

// done prints the result of a command that changed an object: in a format, or in a sentence.
func (c *call) done(p *printer, o object, ref Ref, what, mode string) error {
	if p.table == nil {
		if p.format == "name" && o.name() == "" {
			_, err := fmt.Fprintln(c.out, shown(ref.APIVersion, ref.Kind, ref.Name))
			return err
		}
		return p.print(c.out, o)
	}
	_, err := fmt.Fprintf(c.out, "%s %s%s\n", shown(ref.APIVersion, ref.Kind, ref.Name), what, dryRunSuffix(mode))
	return err
}

// exists says whether there is something at a path of keys and numbers.
func exists(value any, path ...any) bool {
	for _, step := range path {
		switch inner := value.(type) {
		case map[string]any:
			key, ok := step.(string)
			if value, ok = inner[key], ok && inner[key] != nil; !ok {
				return false
			}
		case []any:
			at, ok := step.(int)
			if !ok || at < 0 || at >= len(inner) {
				return false
			}
			value = inner[at]
		default:
			return false
		}
	}
	return value != nil
}

func base64decode(text string) (string, error) {
	content, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return "", fmt.Errorf("base64 decode failed: %w", err)
	}
	return string(content), nil
}
