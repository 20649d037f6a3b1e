package kubectl

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"text/tabwriter"
	"time"
)

func get(c *call) error {
	p, err := c.printer()
	if err != nil {
		return err
	}
	s, err := c.select_(c.args)
	if err != nil {
		return err
	}
	subresource := c.value("subresource")
	var objects []object
	var resources []Resource
	var failures []error
	add := func(resource Resource, found ...object) {
		for _, o := range found {
			objects = append(objects, o)
			resources = append(resources, resource)
		}
	}
	for _, one := range s.items {
		o, err := c.read(one.ref, subresource)
		switch {
		case isReason(err, "NotFound") && c.truth("ignore-not-found"):
		case err != nil:
			failures = append(failures, err)
		default:
			add(one.resource, o)
		}
	}
	for _, resource := range s.queries {
		found, err := c.list(resource)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		add(resource, found...)
	}
	if err := c.sort(objects, resources); err != nil {
		return err
	}
	single := len(s.items) == 1 && len(s.queries) == 0
	switch {
	case p.table != nil:
		if len(objects) == 0 && len(failures) == 0 && !c.truth("ignore-not-found") {
			c.sayNone(s)
		}
		c.table(objects, resources, p.format == "wide", kinds(s) > 1)
	case single && len(objects) == 1:
		err = p.print(c.out, objects[0])
	case single || p.format == "name" || len(failures) > 0 && len(objects) == 0:
		for _, o := range objects {
			err = errors.Join(err, p.print(c.out, o))
		}
	default:
		err = p.print(c.out, listOf(objects))
	}
	return errors.Join(append([]error{err}, failures...)...)
}

// kinds counts the kinds of a selection.
func kinds(s *selection) int {
	all := map[string]bool{}
	for _, one := range s.items {
		all[one.resource.Kind+"/"+one.resource.APIVersion] = true
	}
	for _, resource := range s.queries {
		all[resource.Kind+"/"+resource.APIVersion] = true
	}
	return len(all)
}

func (c *call) sayNone(s *selection) {
	namespaced := false
	for _, resource := range s.queries {
		namespaced = namespaced || resource.Namespaced
	}
	c.out.Flush()
	if namespaced && !c.truth("all-namespaces") {
		fmt.Fprintf(c.Stderr, "No resources found in %s namespace.\n", c.namespace())
		return
	}
	fmt.Fprintln(c.Stderr, "No resources found")
}

func listOf(objects []object) object {
	items := make([]any, len(objects))
	for i, o := range objects {
		items[i] = map[string]any(o)
	}
	return object{"apiVersion": "v1", "kind": "List", "items": items, "metadata": map[string]any{"resourceVersion": ""}}
}

// sort orders by --sort-by.
func (c *call) sort(objects []object, resources []Resource) error {
	expression := c.value("sort-by")
	if expression == "" {
		return nil
	}
	expression, err := relaxed(expression)
	if err != nil {
		return err
	}
	keys := make([]any, len(objects))
	order := make([]int, len(objects))
	found := false
	for i, o := range objects {
		values, err := find(expression, o)
		if err != nil {
			return err
		}
		if len(values) > 0 {
			keys[i], found = values[0], true
		}
		order[i] = i
	}
	if !found && len(objects) > 0 {
		return fmt.Errorf("couldn't find any field with path %q in the list of objects", expression)
	}
	sort.SliceStable(order, func(i, j int) bool { return less(keys[order[i]], keys[order[j]]) })
	sortedObjects, sortedResources := make([]object, len(order)), make([]Resource, len(order))
	for i, from := range order {
		sortedObjects[i], sortedResources[i] = objects[from], resources[from]
	}
	copy(objects, sortedObjects)
	copy(resources, sortedResources)
	return nil
}

func less(a, b any) bool {
	switch x := a.(type) {
	case nil:
		return b != nil
	case int64:
		switch y := b.(type) {
		case int64:
			return x < y
		case float64:
			return float64(x) < y
		}
	case float64:
		switch y := b.(type) {
		case int64:
			return x < float64(y)
		case float64:
			return x < y
		}
	case string:
		y, ok := b.(string)
		return ok && x < y
	}
	return false
}

// column is one of a table.
type column struct {
	header string
	wide   bool
	cell   func(c *call, o object) string
}

func path_(keys ...string) func(*call, object) string {
	return func(_ *call, o object) string { return orNone(plainText(at(o, keys...))) }
}

func plainText(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case string:
		return value
	default:
		return encode(value)
	}
}

func orNone(text string) string {
	if text == "" {
		return "<none>"
	}
	return text
}

func count(keys ...string) func(*call, object) string {
	return func(_ *call, o object) string {
		switch value := at(o, keys...).(type) {
		case []any:
			return fmt.Sprint(len(value))
		case map[string]any:
			return fmt.Sprint(len(value))
		}
		return "0"
	}
}

func num(keys ...string) func(*call, object) string {
	return func(_ *call, o object) string { return fmt.Sprint(number(o, keys...)) }
}

var age = column{"AGE", false, func(c *call, o object) string { return c.since(text(o, "metadata", "creationTimestamp")) }}

// columns are those of the kinds that scripts read tables of. Other kinds have their names and ages.
var columns = map[string][]column{
	"v1 Pod": {
		{"READY", false, func(_ *call, o object) string { return podStatus(o).ready }},
		{"STATUS", false, func(_ *call, o object) string { return podStatus(o).reason }},
		{"RESTARTS", false, func(c *call, o object) string { return podStatus(o).restarts }},
		age,
		{"IP", true, path_("status", "podIP")},
		{"NODE", true, path_("spec", "nodeName")},
		{"NOMINATED NODE", true, path_("status", "nominatedNodeName")},
		{"READINESS GATES", true, func(*call, object) string { return "<none>" }},
	},
	"apps/v1 Deployment": {
		{"READY", false, readyOf("readyReplicas")},
		{"UP-TO-DATE", false, num("status", "updatedReplicas")},
		{"AVAILABLE", false, num("status", "availableReplicas")},
		age,
		{"CONTAINERS", true, containers("name")},
		{"IMAGES", true, containers("image")},
		{"SELECTOR", true, selectorOf("spec", "selector", "matchLabels")},
	},
	"apps/v1 ReplicaSet": {
		{"DESIRED", false, num("spec", "replicas")},
		{"CURRENT", false, num("status", "replicas")},
		{"READY", false, num("status", "readyReplicas")},
		age,
		{"CONTAINERS", true, containers("name")},
		{"IMAGES", true, containers("image")},
		{"SELECTOR", true, selectorOf("spec", "selector", "matchLabels")},
	},
	"apps/v1 StatefulSet": {
		{"READY", false, readyOf("readyReplicas")},
		age,
		{"CONTAINERS", true, containers("name")},
		{"IMAGES", true, containers("image")},
	},
	"apps/v1 DaemonSet": {
		{"DESIRED", false, num("status", "desiredNumberScheduled")},
		{"CURRENT", false, num("status", "currentNumberScheduled")},
		{"READY", false, num("status", "numberReady")},
		{"UP-TO-DATE", false, num("status", "updatedNumberScheduled")},
		{"AVAILABLE", false, num("status", "numberAvailable")},
		{"NODE SELECTOR", false, selectorOf("spec", "template", "spec", "nodeSelector")},
		age,
		{"CONTAINERS", true, containers("name")},
		{"IMAGES", true, containers("image")},
		{"SELECTOR", true, selectorOf("spec", "selector", "matchLabels")},
	},
	"v1 Service": {
		{"TYPE", false, path_("spec", "type")},
		{"CLUSTER-IP", false, path_("spec", "clusterIP")},
		{"EXTERNAL-IP", false, externalIP},
		{"PORT(S)", false, ports},
		age,
		{"SELECTOR", true, selectorOf("spec", "selector")},
	},
	"v1 Node": {
		{"STATUS", false, nodeStatus},
		{"ROLES", false, nodeRoles},
		age,
		{"VERSION", false, path_("status", "nodeInfo", "kubeletVersion")},
		{"INTERNAL-IP", true, nodeAddress("InternalIP")},
		{"EXTERNAL-IP", true, nodeAddress("ExternalIP")},
		{"OS-IMAGE", true, path_("status", "nodeInfo", "osImage")},
		{"KERNEL-VERSION", true, path_("status", "nodeInfo", "kernelVersion")},
		{"CONTAINER-RUNTIME", true, path_("status", "nodeInfo", "containerRuntimeVersion")},
	},
	"v1 Namespace":      {{"STATUS", false, path_("status", "phase")}, age},
	"v1 ConfigMap":      {{"DATA", false, count("data")}, age},
	"v1 Secret":         {{"TYPE", false, path_("type")}, {"DATA", false, count("data")}, age},
	"v1 ServiceAccount": {age},
	"batch/v1 CronJob": {
		{"SCHEDULE", false, path_("spec", "schedule")},
		{"TIMEZONE", false, path_("spec", "timeZone")},
		{"SUSPEND", false, func(_ *call, o object) string { return titled(fmt.Sprint(at(o, "spec", "suspend") == true)) }},
		{"ACTIVE", false, count("status", "active")},
		{"LAST SCHEDULE", false, func(c *call, o object) string {
			if last := text(o, "status", "lastScheduleTime"); last != "" {
				return c.since(last)
			}
			return "<none>"
		}},
		age,
	},
}

func titled(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

func readyOf(field string) func(*call, object) string {
	return func(_ *call, o object) string {
		return fmt.Sprintf("%d/%d", number(o, "status", field), number(o, "spec", "replicas"))
	}
}

func containers(field string) func(*call, object) string {
	return func(_ *call, o object) string {
		var all []string
		for _, container := range list(o, "spec", "template", "spec", "containers") {
			all = append(all, text(container, field))
		}
		return strings.Join(all, ",")
	}
}

func selectorOf(keys ...string) func(*call, object) string {
	return func(_ *call, o object) string { return labels(at(o, keys...)) }
}

// labels are pairs in order, as tables have them.
func labels(value any) string {
	fields, _ := value.(map[string]any)
	pairs := make([]string, 0, len(fields))
	for key, value := range fields {
		pairs = append(pairs, key+"="+plainText(value))
	}
	sort.Strings(pairs)
	return orNone(strings.Join(pairs, ","))
}

func externalIP(_ *call, o object) string {
	var all []string
	switch text(o, "spec", "type") {
	case "ExternalName":
		return orNone(text(o, "spec", "externalName"))
	case "LoadBalancer":
		for _, ingress := range list(o, "status", "loadBalancer", "ingress") {
			if ip := text(ingress, "ip"); ip != "" {
				all = append(all, ip)
			} else {
				all = append(all, text(ingress, "hostname"))
			}
		}
		if len(all) == 0 && len(list(o, "spec", "externalIPs")) == 0 {
			return "<pending>"
		}
	}
	for _, ip := range list(o, "spec", "externalIPs") {
		all = append(all, plainText(ip))
	}
	return orNone(strings.Join(all, ","))
}

func ports(_ *call, o object) string {
	var all []string
	for _, port := range list(o, "spec", "ports") {
		text := fmt.Sprintf("%d/%s", number(port, "port"), text(port, "protocol"))
		if node := number(port, "nodePort"); node != 0 {
			text = fmt.Sprintf("%d:%d/%s", number(port, "port"), node, plainText(at(port, "protocol")))
		}
		all = append(all, text)
	}
	return orNone(strings.Join(all, ","))
}

func nodeStatus(_ *call, o object) string {
	status := "Unknown"
	for _, condition := range list(o, "status", "conditions") {
		if text(condition, "type") == "Ready" {
			status = map[string]string{"True": "Ready"}[text(condition, "status")]
			if status == "" {
				status = "NotReady"
			}
		}
	}
	if at(o, "spec", "unschedulable") == true {
		status += ",SchedulingDisabled"
	}
	return status
}

func nodeRoles(_ *call, o object) string {
	var roles []string
	fields, _ := at(o, "metadata", "labels").(map[string]any)
	for key, value := range fields {
		if role, ok := strings.CutPrefix(key, "node-role.kubernetes.io/"); ok && role != "" {
			roles = append(roles, role)
		} else if key == "kubernetes.io/role" && value != "" {
			roles = append(roles, plainText(value))
		}
	}
	sort.Strings(roles)
	return orNone(strings.Join(roles, ","))
}

func nodeAddress(kind string) func(*call, object) string {
	return func(_ *call, o object) string {
		for _, address := range list(o, "status", "addresses") {
			if text(address, "type") == kind {
				return text(address, "address")
			}
		}
		return "<none>"
	}
}

type podSummary struct{ ready, reason, restarts string }

// podStatus is the state of a Pod in a word, as its table has it.
func podStatus(o object) podSummary {
	reason := text(o, "status", "phase")
	if own := text(o, "status", "reason"); own != "" {
		reason = own
	}
	total, ready := len(list(o, "spec", "containers")), 0
	var restarts int64
	initializing := false
	inits := list(o, "status", "initContainerStatuses")
	for i, container := range inits {
		restarts += number(container, "restartCount")
		terminated := at(container, "state", "terminated")
		switch {
		case terminated != nil && number(terminated, "exitCode") == 0:
			continue
		case terminated != nil:
			reason = "Init:" + exitReason(terminated)
		case text(container, "state", "waiting", "reason") != "" && text(container, "state", "waiting", "reason") != "PodInitializing":
			reason = "Init:" + text(container, "state", "waiting", "reason")
		default:
			reason = fmt.Sprintf("Init:%d/%d", i, len(list(o, "spec", "initContainers")))
		}
		initializing = true
		break
	}
	if !initializing {
		restarts = 0
		hasRunning := false
		statuses := list(o, "status", "containerStatuses")
		for i := len(statuses) - 1; i >= 0; i-- {
			container := statuses[i]
			restarts += number(container, "restartCount")
			terminated := at(container, "state", "terminated")
			switch {
			case text(container, "state", "waiting", "reason") != "":
				reason = text(container, "state", "waiting", "reason")
			case terminated != nil:
				reason = exitReason(terminated)
			case at(container, "ready") == true && at(container, "state", "running") != nil:
				hasRunning = true
				ready++
			}
		}
		if reason == "Completed" && hasRunning {
			reason = "NotReady"
			for _, condition := range list(o, "status", "conditions") {
				if text(condition, "type") == "Ready" && text(condition, "status") == "True" {
					reason = "Running"
				}
			}
		}
	}
	if at(o, "metadata", "deletionTimestamp") != nil {
		if text(o, "status", "reason") == "NodeLost" {
			reason = "Unknown"
		} else if reason != "Succeeded" && reason != "Failed" && reason != "Completed" {
			reason = "Terminating"
		}
	}
	return podSummary{fmt.Sprintf("%d/%d", ready, total), reason, fmt.Sprint(restarts)}
}

func exitReason(terminated any) string {
	switch reason := text(terminated, "reason"); {
	case reason != "":
		return reason
	case number(terminated, "signal") != 0:
		return fmt.Sprintf("Signal:%d", number(terminated, "signal"))
	default:
		return fmt.Sprintf("ExitCode:%d", number(terminated, "exitCode"))
	}
}

// table prints objects for people, kind by kind.
func (c *call) table(objects []object, resources []Resource, wide, several bool) {
	for start := 0; start < len(objects); {
		end := start
		for end < len(objects) && resources[end] == resources[start] {
			end++
		}
		if start > 0 {
			fmt.Fprintln(c.out)
		}
		c.oneTable(objects[start:end], resources[start], wide, several || c.truth("show-kind"))
		start = end
	}
}

func (c *call) oneTable(objects []object, resource Resource, wide, prefixed bool) {
	shownColumns := columns[resource.APIVersion+" "+resource.Kind]
	if shownColumns == nil {
		shownColumns = []column{age}
	}
	out := tabwriter.NewWriter(c.out, 6, 4, 3, ' ', 0)
	namespaces := resource.Namespaced && c.truth("all-namespaces")
	row := func(namespace, name string, cell func(column) string, more []string) {
		var cells []string
		if namespaces {
			cells = append(cells, namespace)
		}
		cells = append(cells, name)
		for _, column := range shownColumns {
			if wide || !column.wide {
				cells = append(cells, cell(column))
			}
		}
		fmt.Fprintln(out, strings.Join(append(cells, more...), "\t"))
	}
	if !c.truth("no-headers") {
		var more []string
		for _, label := range c.values("label-columns") {
			more = append(more, strings.ToUpper(label[strings.LastIndex(label, "/")+1:]))
		}
		if c.truth("show-labels") {
			more = append(more, "LABELS")
		}
		row("NAMESPACE", "NAME", func(column column) string { return column.header }, more)
	}
	for _, o := range objects {
		name := o.name()
		if prefixed {
			name = o.shown()
		}
		var more []string
		for _, label := range c.values("label-columns") {
			more = append(more, text(o, "metadata", "labels", label))
		}
		if c.truth("show-labels") {
			more = append(more, labels(at(o, "metadata", "labels")))
		}
		row(o.namespace(), name, func(column column) string { return column.cell(c, o) }, more)
	}
	out.Flush()
}

// since is the time that has passed, in the units of tables.
func (c *call) since(timestamp string) string {
	then, err := time.Parse(time.RFC3339, timestamp)
	if err != nil {
		return "<unknown>"
	}
	return human(c.World.Now().Sub(then))
}

func human(d time.Duration) string {
	seconds := int64(d / time.Second)
	minutes, hours := seconds/60, seconds/3600
	two := func(a int64, unit string, b int64, smaller string) string {
		if b == 0 {
			return fmt.Sprintf("%d%s", a, unit)
		}
		return fmt.Sprintf("%d%s%d%s", a, unit, b, smaller)
	}
	switch {
	case seconds < -1:
		return "<invalid>"
	case seconds < 0:
		return "0s"
	case seconds < 120:
		return fmt.Sprintf("%ds", seconds)
	case minutes < 10:
		return two(minutes, "m", seconds%60, "s")
	case minutes < 180:
		return fmt.Sprintf("%dm", minutes)
	case hours < 8:
		return two(hours, "h", minutes%60, "m")
	case hours < 48:
		return fmt.Sprintf("%dh", hours)
	case hours < 24*8:
		return two(hours/24, "d", hours%24, "h")
	case hours < 24*365*2:
		return fmt.Sprintf("%dd", hours/24)
	case hours < 24*365*8:
		return two(hours/24/365, "y", hours/24%365, "d")
	default:
		return fmt.Sprintf("%dy", hours/24/365)
	}
}
