package kubectl

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
)

// podTemplates are where kinds have the containers of their Pods.
var podTemplates = map[string][]string{
	"v1 Pod": {"spec"}, "v1 ReplicationController": {"spec", "template", "spec"}, "apps/v1 Deployment": {"spec", "template", "spec"},
	"apps/v1 DaemonSet": {"spec", "template", "spec"}, "apps/v1 StatefulSet": {"spec", "template", "spec"},
	"apps/v1 ReplicaSet": {"spec", "template", "spec"}, "batch/v1 Job": {"spec", "template", "spec"},
	"batch/v1 CronJob": {"spec", "jobTemplate", "spec", "template", "spec"},
}

func podTemplate(one item) ([]string, error) {
	place, ok := podTemplates[one.ref.APIVersion+" "+one.ref.Kind]
	if !ok {
		return nil, fmt.Errorf("%s/%s the object is not a pod or does not have a pod template: *%s.%s", one.resource.Plural, one.ref.Name, path.Base(one.ref.APIVersion), one.ref.Kind)
	}
	return place, nil
}

// setImage changes the images of containers: NAME=IMAGE, or *=IMAGE for all.
func setImage(c *call) error {
	var named, names []string
	images := map[string]string{}
	for _, arg := range c.args {
		name, image, found := strings.Cut(arg, "=")
		switch {
		case !found && len(images) > 0:
			return fmt.Errorf("all resources must be specified before image changes: %s", arg)
		case !found:
			named = append(named, arg)
		case name == "" || image == "":
			return fmt.Errorf("invalid image format: %s", arg)
		default:
			images[name] = image
			names = append(names, name)
		}
	}
	var problems []string
	if len(named) == 0 && len(c.flags["filename"]) == 0 {
		problems = append(problems, "one or more resources must be specified as <resource> <name> or <resource>/<name>")
	}
	if _, everything := images["*"]; len(images) == 0 {
		problems = append(problems, "at least one image update is required")
	} else if everything && len(images) > 1 {
		problems = append(problems, "all containers are already specified by *, but saw more than one container_name=container_image pairs")
	}
	switch len(problems) {
	case 0:
	case 1:
		return errors.New(problems[0])
	default:
		return fmt.Errorf("[%s]", strings.Join(problems, ", "))
	}
	items, p, mode, err := c.chosen(named)
	if err != nil {
		return err
	}
	return each(items, func(one item) error { return c.imagesOf(p, one, mode, names, images) })
}

func (c *call) imagesOf(p *printer, one item, mode string, names []string, images map[string]string) error {
	o, err := c.read(one.ref, "")
	if err != nil {
		return err
	}
	place, err := podTemplate(one)
	if err != nil {
		return err
	}
	spec := o.fields(place...)
	changed := map[string]any{}
	var failures []error
	for _, name := range names {
		found := false
		for _, field := range []string{"initContainers", "containers"} {
			for _, container := range list(spec, field) {
				fields, ok := container.(map[string]any)
				if !ok || name != "*" && text(fields, "name") != name {
					continue
				}
				found = true
				if text(fields, "image") != images[name] {
					fields["image"] = images[name]
					before, _ := changed[field].([]any)
					changed[field] = append(before, map[string]any{"name": fields["name"], "image": images[name]})
				}
			}
		}
		if !found {
			failures = append(failures, fmt.Errorf("unable to find container named %q", name))
		}
	}
	if len(changed) > 0 && mode != "client" {
		body := object{}
		for field, containers := range changed {
			body.fields(place...)[field] = containers
		}
		if o, err = c.send(one.ref, "strategic", encode(body), ""); err != nil {
			return errors.Join(append(failures, fmt.Errorf("failed to patch image update to pod template: %w", err))...)
		}
	}
	if len(changed) > 0 {
		failures = append(failures, c.done(p, o, one.ref, "image updated", mode))
	}
	return errors.Join(failures...)
}

// setting is a change of the specification of Pods.
type setting struct {
	// done says what was done, and failed begins the error of a patch.
	done, failed string
	// always says that an object without a change gets the patch, too.
	always bool
	change func(spec map[string]any) error
	// named says that the error of a change begins with the object.
	named bool
}

// setPods makes a change in the objects that the arguments name.
func (c *call) setPods(named []string, s setting) error {
	items, p, mode, err := c.chosen(named)
	if err != nil {
		return err
	}
	return each(items, func(one item) error {
		before, err := c.read(one.ref, "")
		if err != nil {
			return err
		}
		place, err := podTemplate(one)
		if err != nil {
			return err
		}
		after := before.copy()
		if err := s.change(after.fields(place...)); err != nil && s.named {
			return fmt.Errorf("%s/%s %w", one.resource.Plural, one.ref.Name, err)
		} else if err != nil {
			return err
		}
		body := threeWay(before, after, before, rules{strategic: true, kind: one.ref.Kind})
		if len(body) == 0 && !s.always {
			return nil
		}
		if mode != "client" {
			if after, err = c.send(one.ref, "strategic", encode(body), ""); err != nil {
				return fmt.Errorf("%s%w", s.failed, err)
			}
		}
		return c.done(p, after, one.ref, s.done, mode)
	})
}

// chosenContainers are the containers that --containers names, with the init containers behind them.
func (c *call) chosenContainers(spec map[string]any) []map[string]any {
	pattern := c.value("containers")
	var chosen []map[string]any
	for _, field := range []string{"containers", "initContainers"} {
		for _, one := range list(spec, field) {
			container, ok := one.(map[string]any)
			if matches, err := path.Match(pattern, text(one, "name")); ok && (pattern == "" || err == nil && matches) {
				chosen = append(chosen, container)
			}
		}
	}
	return chosen
}

var (
	errNoSetTarget = errors.New("one or more resources must be specified as <resource> <name> or <resource>/<name>")
	environment    = regexp.MustCompile(`(?ms)^.+=.*$`)
	envName        = regexp.MustCompile(`^[ -<>-~]+$`)
	noEnvName      = regexp.MustCompile(`[^a-zA-Z0-9_]`)
)

// setEnv changes the environment of containers: NAME=VALUE sets a variable, and NAME- removes it.
func setEnv(c *call) error {
	if c.truth("resolve") {
		return errors.New("kubectl set env --resolve is not supported in a hook: read the ConfigMap or the Secret")
	}
	var named []string
	changes := c.flags["env"]
	given := len(changes)
	for _, arg := range c.args {
		switch is := environment.MatchString(arg) || strings.HasSuffix(arg, "-"); {
		case is:
			changes = append(changes, arg)
		case len(changes) > given:
			return fmt.Errorf("all resources must be specified before environment changes: %s", strings.Join(c.args, " "))
		default:
			named = append(named, arg)
		}
	}
	switch {
	case len(named) == 0 && len(c.flags["filename"]) == 0:
		return errNoSetTarget
	case c.truth("list") && c.value("output") != "":
		return errors.New("--list and --output may not be specified together")
	case len(c.flags["keys"]) > 0 && c.value("from") == "":
		return errors.New("when specifying --keys, a configmap or secret must be provided with --from")
	}
	variables, removed, err := c.variables(changes)
	if err != nil {
		return err
	}
	if from := c.value("from"); from != "" {
		more, err := c.variablesFrom(from)
		if err != nil {
			return err
		}
		variables = append(variables, more...)
	}
	for _, variable := range variables {
		variable["name"] = c.value("prefix") + text(variable, "name")
	}
	if c.truth("list") {
		return c.listEnv(named, variables, removed)
	}
	return c.setPods(named, setting{done: "env updated", failed: "failed to patch env update to pod template: ", change: func(spec map[string]any) error {
		for _, container := range c.chosenContainers(spec) {
			if err := c.changeEnv(container, variables, removed); err != nil {
				return err
			}
		}
		return nil
	}, named: true})
}

// variables reads the arguments of set env. The argument - is lines of standard input.
func (c *call) variables(changes []string) (variables []map[string]any, removed map[string]bool, err error) {
	removed = map[string]bool{}
	for _, change := range changes {
		name, value, found := strings.Cut(change, "=")
		switch {
		case change == "-":
			content, err := c.ReadAll(c.Stdin)
			if err != nil {
				return nil, nil, err
			}
			for _, line := range strings.Split(string(content), "\n") {
				line, _, _ = strings.Cut(strings.TrimSuffix(line, "\r"), "#")
				if name, value, found := strings.Cut(line, "="); found {
					variables = append(variables, map[string]any{"name": name, "value": value})
				}
			}
		case found && !envName.MatchString(name):
			return nil, nil, fmt.Errorf("%q is not a valid key name: a valid environment variable name must consist only of printable ASCII characters other than '='", name)
		case found:
			variables = append(variables, map[string]any{"name": name, "value": value})
		case strings.HasSuffix(change, "-"):
			removed[strings.TrimSuffix(change, "-")] = true
		default:
			return nil, nil, fmt.Errorf("unknown environment variable: %s", change)
		}
	}
	for _, variable := range variables {
		if removed[text(variable, "name")] {
			return nil, nil, errors.New("can not both modify and remove the same environment variable in the same command")
		}
	}
	return variables, removed, nil
}

// variablesFrom refer to the keys of a ConfigMap or a Secret. kubectl takes them in any order, and this in that of their names.
func (c *call) variablesFrom(from string) ([]map[string]any, error) {
	s, err := c.select_([]string{from})
	if err != nil {
		return nil, err
	}
	items, err := c.all(s)
	if err != nil {
		return nil, err
	}
	var variables []map[string]any
	for _, one := range items {
		o, err := c.read(one.ref, "")
		if err != nil {
			return nil, err
		}
		ref := map[string]string{"ConfigMap": "configMapKeyRef", "Secret": "secretKeyRef"}[o.kind()]
		if ref == "" {
			return nil, errors.New("unsupported resource specified in --from")
		}
		data, _ := o["data"].(map[string]any)
		for _, key := range sorted(data) {
			if keys := c.values("keys"); len(keys) > 0 && !isIn(keys, key) {
				continue
			}
			name := strings.ToUpper(noEnvName.ReplaceAllString(key, "_"))
			if name != key {
				c.out.Flush()
				fmt.Fprintf(c.Stderr, "Warning: key %s transferred to %s\n", key, name)
			}
			variables = append(variables, map[string]any{"name": name, "valueFrom": map[string]any{ref: map[string]any{"name": o.name(), "key": key}}})
		}
	}
	return variables, nil
}

// changeEnv sets and removes variables of one container. A variable that is there keeps its place.
func (c *call) changeEnv(container map[string]any, variables []map[string]any, removed map[string]bool) error {
	wanted := map[string]map[string]any{}
	for i := len(variables) - 1; i >= 0; i-- {
		wanted[text(variables[i], "name")] = variables[i]
	}
	covered := map[string]bool{}
	var env []any
	for _, one := range list(container, "env") {
		name := text(one, "name")
		newer, ok := wanted[name]
		switch {
		case ok && c.value("overwrite") == "false":
			return fmt.Errorf("'%s' already has a value (%s), and --overwrite is false", name, text(one, "value"))
		case removed[name] || covered[name]:
		case ok:
			covered[name] = true
			env = append(env, newer)
		default:
			env = append(env, one)
		}
	}
	for _, variable := range variables {
		if name := text(variable, "name"); !covered[name] && !removed[name] {
			covered[name] = true
			env = append(env, variable)
		}
	}
	if len(env) == 0 {
		delete(container, "env")
	} else {
		container["env"] = env
	}
	return nil
}

// listEnv prints the environment of containers as it would be, and changes nothing.
func (c *call) listEnv(named []string, variables []map[string]any, removed map[string]bool) error {
	items, _, _, err := c.chosen(named)
	if err != nil {
		return err
	}
	return each(items, func(one item) error {
		o, err := c.read(one.ref, "")
		if err != nil {
			return err
		}
		place, err := podTemplate(one)
		if err != nil {
			return err
		}
		for _, container := range c.chosenContainers(o.fields(place...)) {
			if err := c.changeEnv(container, variables, removed); err != nil {
				return err
			}
			fmt.Fprintf(c.out, "# %s %s, container %s\n", o.kind(), o.name(), text(container, "name"))
			for _, one := range list(container, "env") {
				if from := at(one, "valueFrom"); from != nil {
					fmt.Fprintf(c.out, "# %s from %s\n", text(one, "name"), reference(from))
					continue
				}
				fmt.Fprintf(c.out, "%s=%s\n", text(one, "name"), text(one, "value"))
			}
		}
		return nil
	})
}

// reference is what a variable refers to, in words.
func reference(from any) string {
	switch {
	case at(from, "configMapKeyRef") != nil:
		return fmt.Sprintf("configmap %s, key %s", text(from, "configMapKeyRef", "name"), text(from, "configMapKeyRef", "key"))
	case at(from, "secretKeyRef") != nil:
		return fmt.Sprintf("secret %s, key %s", text(from, "secretKeyRef", "name"), text(from, "secretKeyRef", "key"))
	case at(from, "fieldRef") != nil:
		return "field path " + text(from, "fieldRef", "fieldPath")
	case at(from, "resourceFieldRef") != nil:
		prefix := ""
		if name := text(from, "resourceFieldRef", "containerName"); name != "" {
			prefix = name + "/"
		}
		return fmt.Sprintf("resource field %s%s", prefix, text(from, "resourceFieldRef", "resource"))
	}
	return "invalid valueFrom"
}

// setResources changes the requests and limits of containers.
func setResources(c *call) error {
	amounts := map[string]map[string]any{}
	for _, field := range []string{"limits", "requests"} {
		for _, pair := range c.values(field) {
			if pair == "" {
				continue
			}
			name, amount, found := strings.Cut(pair, "=")
			if !found {
				return fmt.Errorf("Invalid argument syntax %s, expected <resource>=<value>", pair)
			}
			if amounts[field] == nil {
				amounts[field] = map[string]any{}
			}
			amounts[field][name] = amount
		}
	}
	if len(amounts) == 0 {
		return errors.New("you must specify an update to requests or limits (in the form of --requests/--limits)")
	}
	return c.setPods(c.args, setting{done: "resource requirements updated", failed: "failed to patch resources update to pod template ", change: func(spec map[string]any) error {
		chosen := c.chosenContainers(spec)
		if len(chosen) == 0 {
			return fmt.Errorf("unable to find container named %s", c.value("containers"))
		}
		for _, container := range chosen {
			for field, wanted := range amounts {
				fields := object(container).fields("resources", field)
				for name, amount := range wanted {
					fields[name] = amount
				}
			}
		}
		return nil
	}})
}

// setServiceAccount changes the ServiceAccount of Pods. Its name is the last argument.
func setServiceAccount(c *call) error {
	if len(c.args) == 0 {
		return errors.New("serviceaccount is required")
	}
	name := c.args[len(c.args)-1]
	return c.setPods(c.args[:len(c.args)-1], setting{done: "serviceaccount updated", failed: "failed to patch ServiceAccountName ", always: true, change: func(spec map[string]any) error {
		spec["serviceAccountName"] = name
		return nil
	}})
}
