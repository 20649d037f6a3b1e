package kubectl

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// required is the error of flags that a generator needs and did not get, or nil.
func (c *call) required(flags ...string) error {
	var missing []string
	for _, flag := range flags {
		if len(c.flags[flag]) == 0 {
			missing = append(missing, strconv.Quote(flag))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("required flag(s) %s not set", strings.Join(missing, ", "))
}

// nameAndCommand are the arguments of a generator that also takes a command.
func (c *call) nameAndCommand() (string, []string, error) {
	if len(c.args) == 0 {
		return "", nil, c.oneNameIsRequired()
	}
	return c.args[0], c.args[1:], nil
}

func container(name, image string, command []string) map[string]any {
	made := map[string]any{"name": name, "image": image, "resources": map[string]any{}}
	if len(command) > 0 {
		made["command"] = texts(command)
	}
	return made
}

// createDeployment makes a Deployment of images and a command.
func createDeployment(c *call) error {
	if err := c.required("image"); err != nil {
		return err
	}
	name, command, err := c.nameAndCommand()
	if err != nil {
		return err
	}
	images := c.values("image")
	if len(images) > 1 && len(command) > 0 {
		return errors.New("cannot specify multiple --image options and command")
	}
	replicas := int64(1)
	if value := c.value("replicas"); value != "" {
		if replicas, err = c.int32("replicas", value); err != nil {
			return err
		}
	}
	var containers []any
	for _, image := range images {
		own := path.Base(image)
		own, _, _ = strings.Cut(own, ":")
		own, _, _ = strings.Cut(own, "@")
		if strings.ContainsAny(own, "_.") {
			// kubectl adds letters at random.
			own = strings.NewReplacer("_", "-", ".", "-").Replace(own) + "-" + letters(c.World.Random())
		}
		containers = append(containers, container(own, image, command))
	}
	if value := c.value("port"); value != "" {
		port, err := c.int32("port", value)
		if err != nil {
			return err
		}
		containers[0].(map[string]any)["ports"] = []any{map[string]any{"containerPort": port}}
	}
	labels := map[string]any{"app": name}
	o := named("apps/v1", "Deployment", name)
	o.fields("metadata")["labels"] = labels
	o["spec"] = map[string]any{
		"replicas": replicas, "selector": map[string]any{"matchLabels": labels}, "strategy": map[string]any{},
		"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": map[string]any{"containers": containers}},
	}
	o["status"] = map[string]any{}
	return c.generated(o)
}

// letters are five letters and digits of those that kubectl takes for names.
func letters(random uint64) string {
	const alphabet = "bcdfghjklmnpqrstvwxz2456789"
	chosen := make([]byte, 5)
	for i := range chosen {
		chosen[i] = alphabet[random%uint64(len(alphabet))]
		random /= uint64(len(alphabet))
	}
	return string(chosen)
}

// int32 is the value of a flag that is a number.
func (c *call) int32(flag, value string) (int64, error) {
	n, err := strconv.ParseInt(value, 0, 32)
	if err != nil {
		return 0, c.usage("invalid argument %q for \"--%s\" flag: strconv.ParseInt: parsing %q: %s", value, flag, value, err.(*strconv.NumError).Err)
	}
	return n, nil
}

func createCronJob(c *call) error {
	if err := c.required("image", "schedule"); err != nil {
		return err
	}
	name, command, err := c.nameAndCommand()
	if err != nil {
		return err
	}
	restart := c.value("restart")
	if restart == "" {
		restart = "OnFailure"
	}
	o := named("batch/v1", "CronJob", name)
	o["spec"] = map[string]any{
		"schedule": c.value("schedule"),
		"jobTemplate": map[string]any{"metadata": map[string]any{"name": name}, "spec": map[string]any{"template": map[string]any{
			"metadata": map[string]any{},
			"spec":     map[string]any{"containers": []any{container(name, c.value("image"), command)}, "restartPolicy": restart},
		}}},
	}
	o["status"] = map[string]any{}
	return c.generated(o)
}

// createService makes the generator of a type of Services.
func createService(kind string) func(*call) error {
	return func(c *call) error {
		external := c.value("external-name")
		if kind == "ExternalName" {
			if err := c.required("external-name"); err != nil {
				return err
			}
		}
		name, err := c.oneName()
		if err != nil {
			return err
		}
		pairs, address := c.values("tcp"), c.value("clusterip")
		switch {
		case address != "None" && len(pairs) == 0 && kind != "ExternalName":
			return errors.New("at least one tcp port specifier must be provided")
		case kind == "ExternalName" && !subdomain.MatchString(external):
			return fmt.Errorf("invalid service external name %s", external)
		}
		var ports []any
		for _, pair := range pairs {
			port, err := c.servicePort(pair)
			if err != nil {
				return err
			}
			ports = append(ports, port)
		}
		o := named("v1", "Service", name)
		o.fields("metadata")["labels"] = map[string]any{"app": name}
		spec := map[string]any{"selector": map[string]any{"app": name}, "type": kind}
		if len(ports) > 0 {
			spec["ports"] = ports
		}
		if address != "" {
			spec["clusterIP"] = address
		}
		if external != "" {
			spec["externalName"] = external
		}
		o["spec"], o["status"] = spec, map[string]any{"loadBalancer": map[string]any{}}
		return c.generated(o)
	}
}

var subdomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

// servicePort reads PORT or PORT:TARGET.
func (c *call) servicePort(pair string) (map[string]any, error) {
	own, target, _ := strings.Cut(pair, ":")
	number, err := strconv.ParseUint(own, 10, 16)
	if err != nil {
		return nil, err
	}
	var to any = int64(number)
	if target, _, _ = strings.Cut(target, ":"); target != "" {
		to = target
		if n, err := strconv.ParseInt(target, 10, 64); err == nil {
			if n < 1 || n > 65535 {
				return nil, errors.New("must be between 1 and 65535, inclusive")
			}
			to = n
		}
	}
	port := map[string]any{"name": strings.ReplaceAll(pair, ":", "-"), "port": int64(number), "protocol": "TCP", "targetPort": to}
	if value := c.value("node-port"); value != "" {
		n, err := c.int32("node-port", value)
		if err != nil {
			return nil, err
		}
		if n != 0 {
			port["nodePort"] = n
		}
	}
	return port, nil
}

// ingressRule is HOST/PATH=SERVICE:PORT, and tls or tls=SECRET after a comma.
var ingressRule = regexp.MustCompile(`^(?P<host>[\w\*\-\.]*)(?P<path>/[^=]*)=(?P<service>[\w\-]+):(?P<port>[\w\-]+)(,tls(=(?P<secret>[\w\-]+))?)?$`)

// createIngress makes an Ingress of --rule and --default-backend.
func createIngress(c *call) error {
	name, err := c.oneName()
	if err != nil {
		return err
	}
	fallback := c.value("default-backend")
	if fallback == "" && len(c.flags["rule"]) == 0 {
		return errors.New("not enough information provided: every ingress has to either specify a default-backend (which catches all traffic) or a list of rules (which catch specific paths)")
	}
	o := named("networking.k8s.io/v1", "Ingress", name)
	spec := o.fields("spec")
	for _, rule := range c.flags["rule"] {
		parts := ingressRule.FindStringSubmatch(rule)
		if parts == nil {
			return fmt.Errorf("rule %s is invalid and should be in format host/path=svcname:svcport[,tls[=secret]]", rule)
		}
		addIngressRule(spec, parts[ingressRule.SubexpIndex("host")], parts[ingressRule.SubexpIndex("path")], backend(parts[ingressRule.SubexpIndex("service")], parts[ingressRule.SubexpIndex("port")]))
		if strings.Contains(rule, ",") {
			addIngressTLS(spec, parts[ingressRule.SubexpIndex("host")], parts[ingressRule.SubexpIndex("secret")])
		}
	}
	for _, annotation := range c.flags["annotation"] {
		key, value, found := strings.Cut(annotation, "=")
		if !found {
			return fmt.Errorf("annotation %s is invalid and should be in format key=[value]", annotation)
		}
		o.fields("metadata", "annotations")[key] = value
	}
	if fallback != "" {
		service, port, found := strings.Cut(fallback, ":")
		if !found || strings.Contains(port, ":") {
			return errors.New("default-backend should be in format servicename:serviceport")
		}
		spec["defaultBackend"] = backend(service, port)
	}
	if class := c.value("class"); class != "" {
		spec["ingressClassName"] = class
	}
	o["status"] = map[string]any{"loadBalancer": map[string]any{}}
	return c.generated(o)
}

func backend(service, port string) map[string]any {
	to := map[string]any{"name": port}
	if n, err := strconv.ParseInt(port, 10, 32); err == nil {
		to = map[string]any{"number": n}
	}
	return map[string]any{"service": map[string]any{"name": service, "port": to}}
}

// addIngressRule adds a path to the rule of its host.
func addIngressRule(spec map[string]any, host, place string, to map[string]any) {
	kind := "Exact"
	if shorter, ok := strings.CutSuffix(place, "*"); ok {
		kind, place = "Prefix", shorter
	}
	added := map[string]any{"path": place, "pathType": kind, "backend": to}
	for _, rule := range list(spec, "rules") {
		if text(rule, "host") == host {
			http := at(rule, "http").(map[string]any)
			http["paths"] = append(list(http, "paths"), added)
			return
		}
	}
	rule := map[string]any{"http": map[string]any{"paths": []any{added}}}
	if host != "" {
		rule["host"] = host
	}
	spec["rules"] = append(list(spec, "rules"), rule)
}

// addIngressTLS adds a host to those of its Secret. Each host is there once.
func addIngressTLS(spec map[string]any, host, secret string) {
	for _, one := range list(spec, "tls") {
		if contains(list(one, "hosts"), host) {
			return
		}
	}
	for _, one := range list(spec, "tls") {
		if text(one, "secretName") == secret {
			fields := one.(map[string]any)
			fields["hosts"] = append(list(one, "hosts"), host)
			return
		}
	}
	added := map[string]any{}
	if host != "" {
		added["hosts"] = []any{host}
	}
	if secret != "" {
		added["secretName"] = secret
	}
	if len(added) > 0 {
		spec["tls"] = append(list(spec, "tls"), added)
	}
}

var budget = regexp.MustCompile(`^[0-9]+%?$`)

func createBudget(c *call) error {
	name, err := c.oneName()
	if err != nil {
		return err
	}
	least, most := c.value("min-available"), c.value("max-unavailable")
	switch {
	case c.value("selector") == "":
		return errors.New("a selector must be specified")
	case least == "" && most == "":
		return errors.New("one of min-available or max-unavailable must be specified")
	case least != "" && most != "":
		return errors.New("min-available and max-unavailable cannot be both specified")
	case least != "" && !budget.MatchString(least):
		return errors.New("invalid format specified for min-available")
	case most != "" && !budget.MatchString(most):
		return errors.New("invalid format specified for max-unavailable")
	}
	labels := map[string]any{}
	for _, pair := range strings.Split(c.value("selector"), ",") {
		key, value, found := strings.Cut(strings.ReplaceAll(pair, "==", "="), "=")
		if !found || strings.ContainsAny(pair, "!() ") {
			return fmt.Errorf("kubectl create poddisruptionbudget --selector=%s is not supported in a hook: use KEY=VALUE, or kubectl create -f", c.value("selector"))
		}
		labels[key] = value
	}
	o := named("policy/v1", "PodDisruptionBudget", name)
	spec := o.fields("spec")
	spec["selector"] = map[string]any{"matchLabels": labels}
	for field, value := range map[string]string{"minAvailable": least, "maxUnavailable": most} {
		if n, err := strconv.ParseInt(value, 10, 32); err == nil {
			spec[field] = n
		} else if value != "" {
			spec[field] = value
		}
	}
	o["status"] = map[string]any{"currentHealthy": int64(0), "desiredHealthy": int64(0), "disruptionsAllowed": int64(0), "expectedPods": int64(0)}
	return c.generated(o)
}

func createPriorityClass(c *call) error {
	name, err := c.oneName()
	if err != nil {
		return err
	}
	o := named("scheduling.k8s.io/v1", "PriorityClass", name)
	value := int64(0)
	if text := c.value("value"); text != "" {
		if value, err = c.int32("value", text); err != nil {
			return err
		}
	}
	o["value"] = value
	o["preemptionPolicy"] = "PreemptLowerPriority"
	if policy := c.value("preemption-policy"); policy != "" {
		o["preemptionPolicy"] = policy
	}
	if c.truth("global-default") {
		o["globalDefault"] = true
	}
	if description := c.value("description"); description != "" {
		o["description"] = description
	}
	return c.generated(o)
}
