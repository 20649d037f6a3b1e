package kubectl

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// each calls a function for all objects, and goes on after errors.
func each(items []item, use func(item) error) error {
	var failures []error
	for _, one := range items {
		if err := use(one); err != nil {
			failures = append(failures, err)
		}
	}
	return errors.Join(failures...)
}

// chosen is what a command works on, how it prints, and whether it is a dry run.
func (c *call) chosen(args []string) ([]item, *printer, string, error) {
	s, err := c.select_(args)
	if err != nil {
		return nil, nil, "", err
	}
	items, err := c.all(s)
	if err != nil {
		return nil, nil, "", err
	}
	p, err := c.printer()
	if err != nil {
		return nil, nil, "", err
	}
	mode, err := c.dryRun()
	return items, p, mode, err
}

var errNoFiles = errors.New("must specify one of -f and -k")

// create_ creates the objects of files.
func create_(c *call) error {
	if len(c.args) > 0 || len(c.flags["filename"]) == 0 {
		return errNoFiles
	}
	items, err := c.files()
	if err != nil {
		return err
	}
	p, err := c.printer()
	if err != nil {
		return err
	}
	return each(items, func(one item) error { return c.createOne(p, one) })
}

// createOne creates an object and says so.
func (c *call) createOne(p *printer, one item) error {
	mode, err := c.dryRun()
	if err != nil {
		return err
	}
	o := one.source
	if c.truth("save-config") {
		annotateLast(o)
	}
	if mode != "client" {
		if o, err = c.create(o); err != nil {
			return inFile(one, "creating", err)
		}
	}
	return c.done(p, o, o.ref(), "created", mode)
}

// create sends a new object. A version that it was read with is left out, as kubectl does.
func (c *call) create(o object) (object, error) {
	if text(o, "metadata", "resourceVersion") != "" {
		o = o.copy()
		delete(o.fields("metadata"), "resourceVersion")
	}
	created, err := c.cluster.Create(encode(o))
	if err != nil {
		return nil, err
	}
	return decode(created)
}

// inFile names the file in an error, as kubectl does.
func inFile(one item, doing string, err error) error {
	var failure *Error
	if !errors.As(err, &failure) || one.from == "" || failure.Reason == "Invalid" {
		return err
	}
	copied := *failure
	copied.Message = fmt.Sprintf("error when %s %q: %s", doing, one.from, failure.Message)
	return &copied
}

func replace(c *call) error {
	if len(c.args) > 0 || len(c.flags["filename"]) == 0 {
		return errNoFiles
	}
	items, p, mode, err := c.chosen(nil)
	if err != nil {
		return err
	}
	if mode == "server" && c.truth("force") {
		return errors.New("--dry-run can not be used when --force is set")
	}
	return each(items, func(one item) error {
		if c.truth("force") && mode == "none" {
			how, err := c.deletion()
			if err != nil {
				return err
			}
			how.Wait = max(how.Wait, time.Second)
			switch err := c.cluster.Delete(one.ref, how); {
			case err == nil:
				c.deleted(one, "deleted"+from(one.ref), "")
			case !isReason(err, "NotFound"):
				return err
			}
			o, err := c.create(one.source)
			if err != nil {
				return inFile(one, "replacing", err)
			}
			return c.done(p, o, one.ref, "replaced", mode)
		}
		o := one.source
		if c.truth("save-config") {
			annotateLast(o)
		}
		if mode != "client" {
			// As kubectl does: not every kind can be replaced without the version that is there.
			if text(o, "metadata", "resourceVersion") == "" {
				now, err := c.read(one.ref, "")
				if err != nil {
					return inFile(one, "replacing", err)
				}
				o.fields("metadata")["resourceVersion"] = text(now, "metadata", "resourceVersion")
			}
			replaced, err := c.cluster.Replace(encode(o), c.value("subresource"))
			if err != nil {
				return inFile(one, "replacing", err)
			}
			if o, err = decode(replaced); err != nil {
				return err
			}
		}
		return c.done(p, o, one.ref, "replaced", mode)
	})
}

func patch(c *call) error {
	kind := c.value("type")
	switch kind {
	case "":
		kind = "strategic"
	case "json", "merge", "strategic":
	default:
		return fmt.Errorf("--type must be one of [json merge strategic], not %q", kind)
	}
	body := c.value("patch")
	if file := c.value("patch-file"); file != "" {
		if body != "" {
			return errors.New("cannot specify --patch and --patch-file together")
		}
		content, err := c.content(file)
		if err != nil {
			return fmt.Errorf("unable to read patch file: open %s: no such file or directory", file)
		}
		body = string(content)
	}
	if body == "" {
		return errors.New("must specify --patch or --patch-file containing the contents of the patch")
	}
	// kubectl takes what begins like an object as JSON.
	if !strings.HasPrefix(strings.TrimSpace(body), "{") {
		converted, err := yaml.YAMLToJSON([]byte(body))
		if err != nil {
			return fmt.Errorf("unable to parse %q: %w", body, err)
		}
		body = string(converted)
	}
	return c.patchAll(kind, body, "patched", c.value("subresource"))
}

// patchAll sends one patch to all objects of the arguments.
func (c *call) patchAll(kind, body, done, subresource string) error {
	s, err := c.select_(c.args)
	if err != nil {
		return err
	}
	if !s.named {
		return errNoName
	}
	p, err := c.printer()
	if err != nil {
		return err
	}
	mode, err := c.dryRun()
	if err != nil {
		return err
	}
	return each(s.items, func(one item) error {
		before, err := c.read(one.ref, "")
		if err != nil {
			return err
		}
		after := before
		switch {
		case mode != "client":
			if after, err = c.send(one.ref, kind, body, subresource); err != nil {
				return err
			}
		case p.table == nil && p.format != "name":
			// Only the API server knows how it merges lists.
			return fmt.Errorf("kubectl patch --dry-run=client -o %s is not supported in a hook: run the hook with --plan", p.format)
		default:
			// kubectl does not say here that it was a dry run.
			return c.done(p, before, one.ref, done, "none")
		}
		did := done
		if mode != "client" && unchanged(before, after) {
			did += " (no change)"
		}
		ref := one.ref
		if subresource != "" && after.kind() != "" {
			ref = after.ref()
		}
		// kubectl does not say here, either, that it was a dry run.
		return c.done(p, after, ref, did, "none")
	})
}

// send patches an object.
func (c *call) send(ref Ref, kind, body, subresource string) (object, error) {
	answer, err := c.cluster.Patch(ref, kind, body, subresource)
	if err != nil {
		return nil, err
	}
	return decode(answer)
}

// unchanged compares what a patch can change. A dry run leaves the version as it is.
func unchanged(before, after object) bool {
	version := text(before, "metadata", "resourceVersion")
	return version != "" && version == text(after, "metadata", "resourceVersion") && encode(before) == encode(after)
}

// deletion reads the flags of a deletion.
func (c *call) deletion() (Deletion, error) {
	how := Deletion{}
	switch value := c.value("cascade"); value {
	case "", "true", "background":
		how.Propagation = "Background"
	case "foreground":
		how.Propagation = "Foreground"
	case "false", "orphan":
		how.Propagation = "Orphan"
	default:
		return how, fmt.Errorf("invalid cascade value (%s). Must be \"background\", \"foreground\", or \"orphan\"", value)
	}
	grace, err := c.grace()
	if err != nil {
		return how, err
	}
	how.Grace = grace
	if value := c.value("wait"); value == "false" {
		return how, nil
	}
	// kubectl waits without end. A run has an end of its own.
	how.Wait = time.Hour
	if value := c.value("timeout"); value != "" && value != "0" && value != "0s" {
		timeout, err := duration(value)
		if err != nil {
			return how, err
		}
		how.Wait = timeout
	}
	return how, nil
}

// grace is how many seconds --grace-period, --now and --force leave; nil is what the Pod says.
func (c *call) grace() (*int64, error) {
	grace := int64(-1)
	if value := c.value("grace-period"); value != "" {
		given, err := strconv.ParseInt(value, 10, 32)
		if err != nil {
			return nil, c.usage("invalid argument %q for \"--grace-period\" flag: strconv.ParseInt: parsing %q: invalid syntax", value, value)
		}
		grace = given
	}
	switch {
	case c.truth("now") && grace != -1:
		return nil, errors.New("--now and --grace-period cannot be specified together")
	case c.truth("now"), grace == 0 && !c.truth("force"):
		// kubectl ends nothing at once without --force.
		grace = 1
	case grace < 0 && c.truth("force"):
		grace = 0
	}
	if grace < 0 {
		return nil, nil
	}
	return &grace, nil
}

func duration(text string) (time.Duration, error) {
	if seconds, err := strconv.Atoi(text); err == nil {
		return time.Duration(seconds) * time.Second, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("invalid timeout value %q. Timeout must be a single integer in seconds, or an integer followed by a corresponding time unit (e.g. 1s | 2m | 3h)", text)
	}
	return d, nil
}

// errNothingToDelete is what kubectl says without arguments.
var errNothingToDelete = errors.New("You must provide one or more resources by argument or filename.\nExample resource specifications include:\n   '-f rsrc.yaml'\n   '--filename=rsrc.json'\n   '<resource> <name>'\n   '<resource>'")

func remove(c *call) error {
	if len(c.args) == 0 && len(c.flags["filename"]) == 0 {
		return errNothingToDelete
	}
	if c.truth("all") && c.value("selector") != "" {
		return errors.New("setting 'all' parameter but found a non empty selector. ")
	}
	s, err := c.select_(c.args)
	if err != nil {
		return err
	}
	how, err := c.deletion()
	if err != nil {
		return err
	}
	mode, err := c.dryRun()
	if err != nil {
		return err
	}
	output := c.value("output")
	if output != "" && output != "name" {
		return errFormat(output)
	}
	items, err := c.all(s)
	if err != nil {
		return err
	}
	if len(items) == 0 {
		c.out.Flush()
		fmt.Fprintln(c.out, "No resources found")
		return nil
	}
	if c.truth("force") {
		c.out.Flush()
		fmt.Fprintln(c.Stderr, "Warning: Immediate deletion does not wait for confirmation that the running resource has been terminated. The resource may continue to run on the cluster indefinitely.")
	}
	if mode == "none" && c.value("namespace") != "" {
		for _, one := range items {
			if !one.resource.Namespaced {
				c.out.Flush()
				fmt.Fprintln(c.Stderr, "Warning: deleting cluster-scoped resources, not scoped to the provided namespace")
				break
			}
		}
	}
	missing := c.truth("ignore-not-found") || c.truth("all") || c.value("selector") != ""
	// As kubectl does, delete all first and wait then, so that owners do not wait for what follows.
	var waiting []item
	failure := each(items, func(one item) error {
		if mode != "client" {
			err := c.cluster.Delete(one.ref, Deletion{Propagation: how.Propagation, Grace: how.Grace})
			switch {
			case isReason(err, "NotFound") && missing:
				return nil
			case err != nil:
				return inFile(one, "deleting", err)
			}
		}
		waiting = append(waiting, one)
		operation := "deleted"
		if c.truth("force") {
			operation = "force deleted"
		}
		c.deleted(one, operation+from(one.ref)+dryRunSuffix(mode), output)
		return nil
	})
	if how.Wait == 0 || mode != "none" {
		return failure
	}
	until := c.World.Now().Add(how.Wait)
	return errors.Join(failure, each(waiting, func(one item) error { return c.gone(one.ref, until) }))
}

// deleted prints that an object was deleted.
func (c *call) deleted(one item, operation, output string) {
	kind, name, _ := strings.Cut(shown(one.ref.APIVersion, one.ref.Kind, one.ref.Name), "/")
	if output == "name" {
		fmt.Fprintf(c.out, "%s/%s\n", kind, name)
		return
	}
	fmt.Fprintf(c.out, "%s \"%s\" %s\n", kind, name, operation)
}

func from(ref Ref) string {
	if ref.Namespace == "" {
		return ""
	}
	return " from " + ref.Namespace + " namespace"
}

// poll is how often a command that waits looks again.
const poll = 250 * time.Millisecond

// gone waits until an object is not there.
func (c *call) gone(ref Ref, until time.Time) error {
	for {
		_, err := c.cluster.Get(ref, "")
		switch {
		case isReason(err, "NotFound"):
			return nil
		case err != nil:
			// Who may delete need not be allowed to read.
			return nil
		case c.World.Now().After(until):
			return fmt.Errorf("timed out waiting for the condition on %s", shown(ref.APIVersion, ref.Kind, ref.Name))
		}
		c.Sleep(poll.Seconds())
	}
}

func label(c *call) error    { return c.pairs("labels", "label", "labeled") }
func annotate(c *call) error { return c.pairs("annotations", "annotation", "annotated") }

// pairs changes labels or annotations: KEY=VALUE sets, and KEY- removes.
func (c *call) pairs(field, noun, done string) error {
	set, removed := map[string]string{}, map[string]bool{}
	var named []string
	for _, arg := range c.args {
		key, value, found := strings.Cut(arg, "=")
		switch {
		case found && noun == "label" && strings.Contains(value, "="):
			return fmt.Errorf("invalid label spec: %s", arg)
		case found && noun == "label" && !labelValue.MatchString(value):
			return fmt.Errorf("invalid label value: %q: %s", arg, badLabelValue)
		case found && noun == "label" && len(value) > 63:
			return fmt.Errorf("invalid label value: %q: must be no more than 63 bytes", arg)
		case found && key != "":
			set[key] = value
		case strings.HasSuffix(arg, "-") && len(named) > 0:
			removed[strings.TrimSuffix(arg, "-")] = true
		case len(set)+len(removed) > 0:
			return fmt.Errorf("all resources must be specified before %s changes: %s", noun, arg)
		default:
			named = append(named, arg)
		}
	}
	if len(set)+len(removed) == 0 && !c.truth("list") {
		return fmt.Errorf("at least one %s update is required", noun)
	}
	for key := range removed {
		if _, both := set[key]; both {
			return fmt.Errorf("can not both modify and remove a %s in the same command", noun)
		}
	}
	items, p, mode, err := c.chosen(named)
	if err != nil {
		return err
	}
	return each(items, func(one item) error {
		before, err := c.read(one.ref, "")
		if err != nil {
			return err
		}
		own, _ := at(before, "metadata", field).(map[string]any)
		changes, did := map[string]any{}, ""
		var taken []string
		for _, key := range sorted(set) {
			old, there := own[key]
			switch {
			case there && old == set[key]:
			case there && !c.truth("overwrite"):
				taken = append(taken, fmt.Sprintf("'%s' already has a value (%v)", key, old))
			default:
				changes[key], did = set[key], done
			}
		}
		switch {
		case len(taken) > 0 && noun == "annotation":
			return fmt.Errorf("--overwrite is false but found the following declared annotation(s): %s", strings.Join(taken, "; "))
		case len(taken) == 1:
			return fmt.Errorf("%s, and --overwrite is false", taken[0])
		case len(taken) > 1:
			return fmt.Errorf("[%s, and --overwrite is false]", strings.Join(taken, ", and --overwrite is false, "))
		}
		for _, key := range sorted(removed) {
			if _, there := own[key]; !there {
				if noun == "label" {
					fmt.Fprintf(c.out, "%s %q not found.\n", noun, key)
				}
				continue
			}
			changes[key] = nil
			if did == done || did == "modified" {
				did = "modified"
			} else {
				did = "un" + done
			}
		}
		if noun == "annotation" {
			did = done
		} else if did == "" {
			did = "not labeled"
		}
		after := before.copy()
		for key, value := range changes {
			if value == nil {
				delete(after.fields("metadata", field), key)
			} else {
				after.fields("metadata", field)[key] = value
			}
		}
		if c.truth("list") {
			indent := ""
			if len(items) > 1 {
				indent = " "
				fmt.Fprintf(c.out, "Listing %s for %s.%s/%s:\n", field, one.ref.Kind, group(one.ref.APIVersion), one.ref.Name)
			}
			all, _ := at(after, "metadata", field).(map[string]any)
			for _, key := range sorted(all) {
				fmt.Fprintf(c.out, "%s%s=%v\n", indent, key, all[key])
			}
			return nil
		}
		if len(changes) > 0 && mode != "client" {
			metadata := map[string]any{field: changes}
			if version := c.value("resource-version"); version != "" {
				metadata["resourceVersion"] = version
			}
			if after, err = c.send(one.ref, "merge", encode(map[string]any{"metadata": metadata}), ""); err != nil {
				return err
			}
		}
		return c.done(p, after, one.ref, did, mode)
	})
}

// labelValue is the form of a label's value. kubectl checks it before it sends anything.
var labelValue = regexp.MustCompile(`^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`)

const badLabelValue = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"

// taint changes the taints of nodes: KEY=VALUE:EFFECT, KEY:EFFECT, KEY:EFFECT- and KEY-.
func taint(c *call) error {
	if len(c.args) > 0 && c.args[0] != "node" && c.args[0] != "nodes" && c.args[0] != "no" && !strings.HasPrefix(c.args[0], "node/") {
		return fmt.Errorf("invalid resource type %s, only node(s) is supported", c.args[0])
	}
	var named, changes []string
	for i, arg := range c.args {
		if i > 0 && (strings.ContainsAny(arg, "=:") || strings.HasSuffix(arg, "-")) {
			changes = append(changes, arg)
			continue
		}
		named = append(named, arg)
	}
	if len(changes) == 0 {
		return errors.New("at least one taint update is required")
	}
	items, p, mode, err := c.chosen(named)
	if err != nil {
		return err
	}
	return each(items, func(one item) error {
		node, err := c.read(one.ref, "")
		if err != nil {
			return err
		}
		taints, did := list(node, "spec", "taints"), ""
		for _, change := range changes {
			var what string
			if taints, what, err = tainted(taints, change, c.truth("overwrite"), one.ref.Name); err != nil {
				return err
			}
			// kubectl says the same of everything that may overwrite.
			if (did == "" || did == what) && !c.truth("overwrite") {
				did = what
			} else {
				did = "modified"
			}
		}
		after := node
		if mode != "client" {
			body := encode(map[string]any{"spec": map[string]any{"taints": taints}, "metadata": map[string]any{"resourceVersion": text(node, "metadata", "resourceVersion")}})
			if after, err = c.send(one.ref, "merge", body, ""); err != nil {
				return err
			}
		}
		// Of all subcommands, this one does not say that it was a dry run.
		return c.done(p, after, one.ref, did, "none")
	})
}

// tainted applies one change to a list of taints.
func tainted(taints []any, change string, overwrite bool, node string) ([]any, string, error) {
	spec, removes := strings.CutSuffix(change, "-")
	pair, effect, hasEffect := strings.Cut(spec, ":")
	key, value, _ := strings.Cut(pair, "=")
	if !removes && !hasEffect {
		return nil, "", fmt.Errorf("invalid taint spec: %s", change)
	}
	if hasEffect && effect != "NoSchedule" && effect != "PreferNoSchedule" && effect != "NoExecute" {
		return nil, "", fmt.Errorf("invalid taint effect: %s, unsupported taint effect", effect)
	}
	var kept []any
	found := false
	for _, one := range taints {
		if text(one, "key") == key && (!hasEffect || text(one, "effect") == effect) {
			found = true
			continue
		}
		kept = append(kept, one)
	}
	switch {
	case removes && !found:
		return nil, "", fmt.Errorf("taint %q not found", spec)
	case removes:
		return append([]any{}, kept...), "untainted", nil
	case found && !overwrite:
		return nil, "", fmt.Errorf("node %s already has %s taint(s) with same effect(s) and --overwrite is false", node, key)
	}
	one := map[string]any{"key": key, "effect": effect}
	if value != "" {
		one["value"] = value
	}
	return append(kept, one), "tainted", nil
}

func cordon(c *call) error {
	on := c.verb() == "cordon"
	done := map[bool]string{true: "cordoned", false: "uncordoned"}[on]
	args := c.args
	if len(args) > 0 && !strings.Contains(args[0], "/") && args[0] != "node" && args[0] != "nodes" {
		args = append([]string{"node"}, args...)
	}
	items, p, mode, err := c.chosen(args)
	if err != nil {
		return err
	}
	return each(items, func(one item) error {
		node, err := c.read(one.ref, "")
		if err != nil {
			return err
		}
		if (at(node, "spec", "unschedulable") == true) == on {
			return c.done(p, node, one.ref, "already "+done, mode)
		}
		var value any
		if on {
			value = true
		}
		if mode != "client" {
			if _, err := c.send(one.ref, "merge", encode(map[string]any{"spec": map[string]any{"unschedulable": value}}), ""); err != nil {
				return err
			}
		}
		return c.done(p, node, one.ref, done, mode)
	})
}

func scale(c *call) error {
	if c.value("replicas") == "" {
		return errors.New("required flag(s) \"replicas\" not set")
	}
	replicas, err := strconv.Atoi(c.value("replicas"))
	if err != nil || replicas < 0 {
		return errors.New("The --replicas=COUNT flag is required, and COUNT must be greater than or equal to 0")
	}
	items, p, mode, err := c.chosen(c.args)
	if err != nil {
		return err
	}
	return each(items, func(one item) error {
		o, err := c.read(one.ref, "")
		if err != nil {
			return err
		}
		if expected := c.value("current-replicas"); expected != "" && expected != "-1" {
			now, err := c.read(one.ref, "scale")
			if err != nil {
				return err
			}
			if fmt.Sprint(number(now, "spec", "replicas")) != expected {
				return fmt.Errorf("Expected replicas to be %s, was %d", expected, number(now, "spec", "replicas"))
			}
		}
		if mode != "client" {
			if _, err = c.send(one.ref, "merge", fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas), "scale"); err != nil {
				return err
			}
		}
		o.fields("spec")["replicas"] = int64(replicas)
		return c.done(p, o, one.ref, "scaled", mode)
	})
}
