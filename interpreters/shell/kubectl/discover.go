package kubectl

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
)

// apiResources lists the kinds that the API server serves.
func apiResources(c *call) error {
	if len(c.args) > 0 {
		return fmt.Errorf("unexpected arguments: %v\nSee 'kubectl api-resources -h' for help and examples", c.args)
	}
	output := c.value("output")
	if output != "" && output != "name" && output != "wide" {
		return fmt.Errorf("kubectl api-resources -o %s is not supported in a hook: use -o name or -o wide", output)
	}
	by := c.value("sort-by")
	if by != "" && by != "name" && by != "kind" {
		return fmt.Errorf("--sort-by accepts only name or kind")
	}
	all, silent, err := c.cluster.Kinds()
	if err != nil {
		return err
	}
	_, ofGroup := c.flags["api-group"]
	_, scoped := c.flags["namespaced"]
	kept := slices.DeleteFunc(all, func(kind Kind) bool {
		return ofGroup && group(kind.APIVersion) != c.value("api-group") || scoped && kind.Namespaced != c.truth("namespaced") ||
			!hasAll(kind.Verbs, c.values("verbs")) || !hasAll(kind.Categories, c.values("categories"))
	})
	slices.SortStableFunc(kept, func(x, y Kind) int {
		switch by {
		case "name":
			return cmp.Compare(x.Plural, y.Plural)
		case "kind":
			return cmp.Compare(x.Kind, y.Kind)
		}
		return cmp.Or(cmp.Compare(group(x.APIVersion), group(y.APIVersion)), cmp.Compare(x.Plural, y.Plural))
	})
	c.printKinds(kept, output)
	if len(silent) > 0 {
		return fmt.Errorf("unable to retrieve the complete list of server APIs: %s", strings.Join(silent, ", "))
	}
	return nil
}

func (c *call) printKinds(kinds []Kind, output string) {
	if output == "name" {
		for _, kind := range kinds {
			name := kind.Plural
			if group := group(kind.APIVersion); group != "" {
				name += "." + group
			}
			fmt.Fprintln(c.out, name)
		}
		return
	}
	out := tabwriter.NewWriter(c.out, 6, 4, 3, ' ', 0)
	row := func(wide []string, cells ...string) {
		if output == "wide" {
			cells = append(cells, wide...)
		}
		fmt.Fprintln(out, strings.Join(cells, "\t"))
	}
	if !c.truth("no-headers") {
		row([]string{"VERBS", "CATEGORIES"}, "NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND")
	}
	for _, kind := range kinds {
		row([]string{strings.Join(kind.Verbs, ","), strings.Join(kind.Categories, ",")},
			kind.Plural, strings.Join(kind.ShortNames, ","), kind.APIVersion, fmt.Sprint(kind.Namespaced), kind.Kind)
	}
	out.Flush()
}

func hasAll(list, wanted []string) bool {
	return !slices.ContainsFunc(wanted, func(one string) bool { return !slices.Contains(list, one) })
}

// knownVerbs are those of objects. Others may be right, too, and get a warning.
var knownVerbs = []string{
	"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "use", "bind", "impersonate", "*", "approve", "sign", "escalate", "attest",
}

// canI says whether the hook may do something: its grants allow it, and the API server does.
func canI(c *call) error {
	if c.truth("list") {
		return errors.New("kubectl auth can-i --list is not supported in a hook: ask for one verb and kind")
	}
	if len(c.args) != 2 {
		return errors.New("you must specify two arguments: verb resource or verb resource/resourceName.\nSee 'kubectl auth can-i -h' for help and examples.")
	}
	question := Question{Verb: c.args[0], Subresource: c.value("subresource")}
	if strings.HasPrefix(c.args[1], "/") {
		return fmt.Errorf("kubectl auth can-i %s %s is not supported in a hook: it has objects only", c.args[0], c.args[1])
	}
	kind, name, _ := strings.Cut(c.args[1], "/")
	question.Name = name
	warn := func(format string, values ...any) {
		c.out.Flush()
		fmt.Fprintf(c.Stderr, "Warning: "+format+"\n\n", values...)
	}
	resource, err := c.resolve(kind)
	var failure *Error
	switch {
	case errors.Is(err, ErrNone):
		return err
	case kind == "*":
		question.Resource, resource.Namespaced = kind, true
	case err != nil && errors.As(err, &failure):
		return err
	case err != nil:
		// The answer is what it would be.
		question.Resource, question.Group, _ = strings.Cut(kind, ".")
		resource.Namespaced = true
		if question.Group == "" {
			warn("the server doesn't have a resource type '%s'", question.Resource)
		} else {
			warn("the server doesn't have a resource type '%s' in group '%s'", question.Resource, question.Group)
		}
	default:
		question.Resource, question.Group = resource.Plural, group(resource.APIVersion)
	}
	if !slices.Contains(knownVerbs, question.Verb) {
		warn("verb '%s' is not a known verb", question.Verb)
	}
	switch all := c.truth("all-namespaces"); {
	case !resource.Namespaced && !all && question.Group != "":
		warn("resource '%s' is not namespace scoped in group '%s'", question.Resource, question.Group)
	case !resource.Namespaced && !all:
		warn("resource '%s' is not namespace scoped", question.Resource)
	case resource.Namespaced && !all:
		question.Namespace = c.namespace()
	}
	allowed, err := c.cluster.Allowed(question)
	if err != nil {
		return err
	}
	c.failed = !allowed
	if !c.truth("quiet") {
		fmt.Fprintln(c.out, map[bool]string{true: "yes", false: "no"}[allowed])
	}
	return nil
}
