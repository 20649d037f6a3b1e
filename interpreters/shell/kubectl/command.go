package kubectl

import (
	"bufio"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/boathook/boathook/interpreters/shell/bash"
)

// Register makes the command known.
func Register(w *bash.World, cluster Cluster) {
	w.Commands["kubectl"] = func(p *bash.Process) int { return Run(p, cluster) }
	w.Checks["kubectl"] = uncalled
}

// Run is one call of the command.
func Run(p *bash.Process, cluster Cluster) int {
	c := &call{Process: p, cluster: cluster, out: bufio.NewWriter(p.Stdout), flags: map[string][]string{}}
	status := c.run()
	c.out.Flush()
	return status
}

// unsupported are the subcommands that a hook does not have, with what it can do instead.
var unsupported = map[string]string{
	"api-versions": "kubectl get KIND, which fails if the kind is not served",
	"attach":       "", "autoscale": "kubectl create -f", "certificate": "kubectl patch --subresource=approval",
	"cluster-info": "", "completion": "", "cp": "", "debug": "", "describe": "kubectl get -o yaml", "diff": "boathook serve --plan outside of the script", "drain": "kubectl cordon, and a deletion of the Pods",
	"edit": "kubectl patch", "events": "kubectl get events", "exec": "", "explain": "", "expose": "kubectl create -f", "kustomize": "kubectl apply -f with what it prints", "logs": "", "options": "",
	"plugin": "", "port-forward": "", "proxy": "", "run": "kubectl create -f", "top": "",
	"apply edit-last-applied": "", "apply set-last-applied": "", "apply view-last-applied": "", "auth reconcile": "kubectl apply", "auth whoami": "",
	"create token": "", "rollout history": "kubectl get replicasets", "rollout undo": "kubectl apply of the objects as they were",
	"set selector": "kubectl patch", "set subject": "kubectl patch",
}

func refused(name string) error {
	remedy, ok := unsupported[name]
	switch {
	case !ok:
		return nil
	case remedy == "":
		return fmt.Errorf("kubectl %s is not supported in a hook", name)
	default:
		return fmt.Errorf("kubectl %s is not supported in a hook: instead, use %s", name, remedy)
	}
}

// uncalled refuses a call whose words are known before a run. Other words are empty.
func uncalled(args []string) error {
	first := ""
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "-n" || arg == "--namespace":
			i++
		case strings.HasPrefix(arg, "-"):
		case first != "":
			return refused(first + " " + arg)
		default:
			if err := refused(arg); err != nil {
				return err
			}
			first = arg
		}
	}
	return nil
}

// call is one call of kubectl.
type call struct {
	*bash.Process
	cluster Cluster
	out     *bufio.Writer
	flags   map[string][]string
	// words are the arguments that are not flags, and args those after the subcommand.
	words, args []string
	// typed says that what is printed was generated, and not read.
	typed bool
	// failed says that an error was printed, and the command went on.
	failed bool
}

// flag is a flag of kubectl.
type flag struct {
	short string
	// alone is the value of the flag without one. A flag with no such value needs one.
	alone string
}

// boolean are the flags without a value, which may have one after =.
const boolean = "true"

var known = map[string]flag{
	"all": {alone: boolean}, "all-namespaces": {"A", boolean}, "api-group": {}, "cached": {alone: boolean}, "categories": {}, "namespaced": {alone: boolean}, "verbs": {}, "allow-missing-template-keys": {alone: boolean},
	"annotation": {}, "append-hash": {alone: boolean}, "cascade": {alone: "background"}, "chunk-size": {}, "class": {},
	"clusterip": {}, "clusterrole": {}, "cmd": {}, "current-replicas": {}, "dry-run": {alone: "unchanged"}, "cert": {}, "key": {},
	"docker-email": {}, "docker-password": {}, "docker-server": {}, "docker-username": {}, "env-file": {},
	"field-manager": {}, "field-selector": {}, "filename": {short: "f"}, "for": {}, "force": {alone: boolean},
	"force-conflicts": {alone: boolean}, "from": {}, "from-env-file": {}, "from-file": {}, "from-literal": {},
	"grace-period": {}, "group": {}, "ignore-not-found": {alone: boolean}, "image": {}, "kustomize": {short: "k"},
	"label-columns": {short: "L"}, "list": {alone: boolean}, "local": {alone: boolean}, "namespace": {short: "n"},
	"no-headers": {alone: boolean}, "now": {alone: boolean}, "output": {short: "o"}, "output-watch-events": {alone: boolean},
	"overwrite": {alone: boolean}, "patch": {short: "p"}, "patch-file": {}, "port": {}, "prune": {alone: boolean},
	"quiet": {"q", boolean}, "raw": {}, "record": {alone: boolean}, "recursive": {"R", boolean}, "replicas": {},
	"request-timeout": {}, "resource": {}, "resource-name": {}, "resource-version": {}, "revision": {}, "role": {},
	"rule": {}, "save-config": {alone: boolean}, "schedule": {}, "selector": {short: "l"}, "server-print": {alone: boolean},
	"server-side": {alone: boolean}, "serviceaccount": {}, "show-kind": {alone: boolean}, "show-labels": {alone: boolean},
	"show-managed-fields": {alone: boolean}, "sort-by": {}, "subresource": {}, "tcp": {}, "template": {}, "timeout": {},
	"type": {}, "user": {}, "v": {short: "v"}, "validate": {alone: "strict"}, "value": {}, "verb": {}, "wait": {alone: boolean},
	"warnings-as-errors": {alone: boolean}, "watch": {"w", boolean}, "watch-only": {alone: boolean}, "client": {alone: boolean},
	"node-port": {}, "external-name": {}, "hard": {}, "scopes": {}, "description": {}, "preemption-policy": {},
	"global-default": {alone: boolean}, "max-unavailable": {}, "min-available": {}, "default-backend": {},
	"containers": {short: "c"}, "env": {short: "e"}, "keys": {}, "limits": {}, "prefix": {}, "requests": {}, "resolve": {alone: boolean}, "restart": {},
}

// everywhere are the flags of all subcommands. Those that say how to reach a cluster are refused: see credentials.
const everywhere = "namespace request-timeout v warnings-as-errors"

// credentials are flags for a connection that a hook does not have.
var credentials = []string{
	"as", "as-group", "as-uid", "certificate-authority", "client-certificate", "client-key", "cluster", "context",
	"insecure-skip-tls-verify", "kubeconfig", "password", "server", "tls-server-name", "token", "user-agent", "username",
}

// printing are the flags for the output.
const printing = "output template allow-missing-template-keys show-managed-fields"

// command is a subcommand.
type command struct {
	flags string
	run   func(*call) error
}

var commands map[string]command

func init() {
	create := "filename recursive dry-run field-manager save-config validate record " + printing
	setting := "filename recursive selector all field-manager local record dry-run "
	commands = map[string]command{
		"get": {"filename recursive selector field-selector all-namespaces ignore-not-found no-headers show-labels show-kind label-columns sort-by " +
			"chunk-size subresource server-print watch watch-only output-watch-events raw " + printing, get},
		"create":                        {create + " raw", create_},
		"apply":                         {create + " all force force-conflicts server-side overwrite selector wait timeout prune grace-period cascade kustomize", apply},
		"replace":                       {create + " force cascade grace-period timeout wait subresource kustomize raw", replace},
		"patch":                         {"filename recursive patch patch-file type dry-run field-manager record local subresource " + printing, patch},
		"delete":                        {"filename recursive selector field-selector all-namespaces all cascade force grace-period ignore-not-found now timeout wait dry-run output raw kustomize", remove},
		"label":                         {"filename recursive selector field-selector all-namespaces all overwrite resource-version dry-run field-manager record list local " + printing, label},
		"annotate":                      {"filename recursive selector field-selector all-namespaces all overwrite resource-version dry-run field-manager record list local " + printing, annotate},
		"taint":                         {"selector all overwrite dry-run field-manager validate " + printing, taint},
		"set env":                       {setting + "containers env from keys list overwrite prefix resolve " + printing, setEnv},
		"set image":                     {setting + printing, setImage},
		"set resources":                 {setting + "containers limits requests " + printing, setResources},
		"set serviceaccount":            {setting + printing, setServiceAccount},
		"scale":                         {"filename recursive selector all replicas current-replicas resource-version timeout record dry-run " + printing, scale},
		"cordon":                        {"selector dry-run", cordon},
		"uncordon":                      {"selector dry-run", cordon},
		"rollout pause":                 {"filename recursive selector field-manager " + printing, pause},
		"rollout resume":                {"filename recursive selector field-manager " + printing, pause},
		"rollout restart":               {"filename recursive selector field-manager " + printing, restart},
		"rollout status":                {"filename recursive selector revision timeout watch", rolloutStatus},
		"wait":                          {"filename recursive selector field-selector all-namespaces all for timeout local " + printing, wait},
		"version":                       {"client output", version},
		"api-resources":                 {"api-group cached categories namespaced no-headers output sort-by verbs", apiResources},
		"auth can-i":                    {"all-namespaces list no-headers quiet subresource", canI},
		"config":                        {"", configuration},
		"create configmap":              {create + " from-file from-literal from-env-file append-hash", createConfigMap},
		"create secret generic":         {create + " from-file from-literal from-env-file append-hash type", createSecret},
		"create secret docker-registry": {create + " docker-email docker-password docker-server docker-username append-hash", createDockerSecret},
		"create secret tls":             {create + " cert key append-hash", createTLSSecret},
		"create namespace":              {create, createNamespace},
		"create serviceaccount":         {create, createServiceAccount},
		"create role":                   {create + " verb resource resource-name", createRole},
		"create clusterrole":            {create + " verb resource resource-name", createRole},
		"create rolebinding":            {create + " role clusterrole user group serviceaccount", createBinding},
		"create clusterrolebinding":     {create + " role clusterrole user group serviceaccount", createBinding},
		"create job":                    {create + " image from", createJob},
		"create quota":                  {create + " hard scopes", createQuota},
		"create deployment":             {create + " image port replicas", createDeployment},
		"create cronjob":                {create + " image schedule restart", createCronJob},
		"create service clusterip":      {create + " tcp clusterip", createService("ClusterIP")},
		"create service nodeport":       {create + " tcp node-port", createService("NodePort")},
		"create service loadbalancer":   {create + " tcp", createService("LoadBalancer")},
		"create service externalname":   {create + " tcp external-name", createService("ExternalName")},
		"create ingress":                {create + " annotation class default-backend rule", createIngress},
		"create poddisruptionbudget":    {create + " max-unavailable min-available selector", createBudget},
		"create priorityclass":          {create + " description global-default preemption-policy value", createPriorityClass},
	}
	for alias, name := range map[string]string{
		"create cm": "create configmap", "create ns": "create namespace", "create sa": "create serviceaccount",
		"create resourcequota": "create quota", "create deploy": "create deployment", "create dep": "create deployment", "create cj": "create cronjob",
		"create svc clusterip": "create service clusterip", "create svc nodeport": "create service nodeport", "create svc loadbalancer": "create service loadbalancer",
		"create svc externalname": "create service externalname", "create ing": "create ingress", "create pdb": "create poddisruptionbudget",
		"create pc": "create priorityclass", "set sa": "set serviceaccount",
	} {
		commands[alias] = commands[name]
	}
}

// run executes the subcommand and prints its error.
func (c *call) run() int {
	if err := c.dispatch(); err != nil {
		c.report(err)
	}
	if c.failed {
		return 1
	}
	return 0
}

func (c *call) dispatch() error {
	// Flags of what is not there are not known, either.
	if err := uncalled(c.Args[1:]); err != nil {
		return err
	}
	words, err := c.parse(c.Args[1:])
	if err != nil {
		return err
	}
	if len(words) == 0 {
		return errors.New("a subcommand is needed, such as kubectl get pods")
	}
	for count := min(3, len(words)); count > 0; count-- {
		name := strings.Join(words[:count], " ")
		found, ok := commands[name]
		if !ok {
			continue
		}
		if name == "create" && len(words) > 1 {
			return fmt.Errorf("kubectl create %s is not supported: write the object to a file and use kubectl create -f", words[1])
		}
		c.words, c.args = words, words[count:]
		if err := c.check(name, found.flags); err != nil {
			return err
		}
		options, err := c.options(found.flags)
		if err != nil {
			return err
		}
		if options != (Options{}) {
			c.cluster = c.cluster.With(options)
		}
		return found.run(c)
	}
	return fmt.Errorf("kubectl %s is not supported in a hook", words[0])
}

// parse separates flags from words. Flags may stand anywhere.
func (c *call) parse(args []string) ([]string, error) {
	var words []string
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			return append(words, args[i+1:]...), nil
		case strings.HasPrefix(arg, "--"):
			name, value, given := strings.Cut(arg[2:], "=")
			f, ok := known[name]
			switch {
			case !ok && isIn(credentials, name):
				return nil, fmt.Errorf("--%s: a hook's requests are made with its own permissions: remove the flag", name)
			case !ok:
				return nil, c.usage("unknown flag: --%s", name)
			case given:
			case f.alone != "":
				value = f.alone
			case i+1 >= len(args):
				return nil, c.usage("flag needs an argument: --%s", name)
			default:
				i++
				value = args[i]
			}
			c.flags[name] = append(c.flags[name], value)
		case len(arg) > 1 && arg[0] == '-':
			used, err := c.short(arg[1:], args[i+1:])
			if err != nil {
				return nil, err
			}
			i += used
		default:
			words = append(words, arg)
		}
	}
	return words, nil
}

// usage is an error in the flags, with the subcommand as far as it is known.
func (c *call) usage(format string, values ...any) error {
	var words []string
	for _, arg := range c.Args[1:] {
		if !strings.HasPrefix(arg, "-") {
			words = append(words, arg)
		}
	}
	name := ""
	for count := min(3, len(words)); count > 0 && name == ""; count-- {
		if found := strings.Join(words[:count], " "); commands[found].run != nil {
			name = " " + found
		}
	}
	return fmt.Errorf(format+"\nSee 'kubectl%s --help' for usage.", append(values, name)...)
}

// short reads letters, of which the last may have a value: -An=x, -o json.
func (c *call) short(letters string, next []string) (int, error) {
	if letters[0] == 's' {
		return 0, errors.New("-s: a hook's requests are made with its own permissions: remove the flag")
	}
	for at := 0; at < len(letters); at++ {
		letter := letters[at : at+1]
		name := ""
		for long, f := range known {
			if f.short == letter {
				name = long
			}
		}
		rest := letters[at+1:]
		switch f := known[name]; {
		case name == "":
			return 0, c.usage("unknown shorthand flag: '%s' in -%s", letter, letters)
		case strings.HasPrefix(rest, "="):
			c.flags[name] = append(c.flags[name], rest[1:])
			return 0, nil
		case f.alone != "":
			c.flags[name] = append(c.flags[name], f.alone)
		case rest != "":
			c.flags[name] = append(c.flags[name], rest)
			return 0, nil
		case len(next) == 0:
			return 0, c.usage("flag needs an argument: '%s' in -%s", letter, letters)
		default:
			c.flags[name] = append(c.flags[name], next[0])
			return 1, nil
		}
	}
	return 0, nil
}

// check refuses flags that the subcommand does not have, and those that are not built.
func (c *call) check(name, flags string) error {
	allowed := strings.Fields(flags + " " + everywhere)
	names := make([]string, 0, len(c.flags))
	for flag := range c.flags {
		names = append(names, flag)
	}
	sort.Strings(names)
	for _, flag := range names {
		switch {
		case !isIn(allowed, flag):
			return fmt.Errorf("unknown flag: --%s\nSee 'kubectl %s --help' for usage.", flag, name)
		case isIn([]string{"raw", "prune", "kustomize", "watch-only", "output-watch-events", "local", "append-hash", "record"}, flag) && c.truth(flag),
			flag == "watch" && name == "get" && c.truth(flag):
			return fmt.Errorf("kubectl %s --%s is not supported in a hook", name, flag)
		}
	}
	return nil
}

// value is the last value of a flag.
func (c *call) value(flag string) string {
	if list := c.flags[flag]; len(list) > 0 {
		return list[len(list)-1]
	}
	return ""
}

// truth says whether a flag is given and not false.
func (c *call) truth(flag string) bool {
	value := c.value(flag)
	return value != "" && value != "false" && value != "0" && value != "f" && value != "F"
}

// values are the values of a flag that can be given several times, or with commas.
func (c *call) values(flag string) []string {
	var all []string
	for _, value := range c.flags[flag] {
		all = append(all, strings.Split(value, ",")...)
	}
	return all
}

// dryRun is none, client or server.
func (c *call) dryRun() (string, error) {
	switch value := c.value("dry-run"); value {
	case "", "none", "false":
		return "none", nil
	case "client", "true", "unchanged":
		return "client", nil
	case "server":
		return value, nil
	default:
		return "", fmt.Errorf("Invalid dry-run value (%s). Must be \"none\", \"server\", or \"client\".", value)
	}
}

// dryRunSuffix follows what a command says that it did.
func dryRunSuffix(mode string) string {
	switch mode {
	case "client":
		return " (dry run)"
	case "server":
		return " (server dry run)"
	}
	return ""
}

// options are those of the writes of a subcommand with these flags.
func (c *call) options(flags string) (Options, error) {
	mode, err := c.dryRun()
	if err != nil {
		return Options{}, err
	}
	options := Options{DryRun: mode == "server"}
	// taint checks only what it reads.
	if !isIn(strings.Fields(flags), "validate") || c.verb() == "taint" {
		return options, nil
	}
	switch value := c.value("validate"); value {
	case "", "strict", "true", "1", "t", "T", "TRUE", "True":
		options.Validation = "Strict"
	case "ignore", "false", "0", "f", "F", "FALSE", "False":
		options.Validation = "Ignore"
	case "warn":
		return options, errors.New("--validate=warn is not supported in a hook: use strict or ignore")
	default:
		return options, fmt.Errorf("invalid - validate option %q; must be one of: strict (or true), warn, ignore (or false)", value)
	}
	return options, nil
}

// namespace is that of the flag.
func (c *call) namespace() string {
	if name := c.value("namespace"); name != "" {
		return name
	}
	return defaultNamespace
}

// defaultNamespace is that of commands without --namespace.
const defaultNamespace = "default"

// report prints an error as kubectl does.
func (c *call) report(err error) {
	c.failed = true
	c.out.Flush()
	for _, one := range flatten(err) {
		fmt.Fprintln(c.Stderr, message(one))
	}
}

func flatten(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, one := range joined.Unwrap() {
			all = append(all, flatten(one)...)
		}
		return all
	}
	return []error{err}
}

func message(err error) string {
	failure, ok := err.(*Error)
	switch {
	case !ok && strings.HasPrefix(err.Error(), "Error from server"):
		return err.Error()
	case !ok:
		return "error: " + err.Error()
	case failure.Reason == "Invalid":
		text := "The request is invalid"
		causes := slices.Clone(failure.Causes)
		slices.Sort(causes)
		causes = slices.Compact(causes)
		switch {
		case failure.Kind != "" || failure.Name != "":
			text = fmt.Sprintf("The %s %q is invalid", failure.Kind, failure.Name)
		case len(causes) == 0:
			text += ": " + failure.Message
		}
		switch len(causes) {
		case 0:
			return text
		case 1:
			return text + ": " + causes[0]
		default:
			return text + ": \n* " + strings.Join(causes, "\n* ")
		}
	case failure.Reason == "":
		return "Error from server: " + failure.Message
	default:
		return fmt.Sprintf("Error from server (%s): %s", failure.Reason, failure.Message)
	}
}

func isIn(list []string, text string) bool {
	for _, one := range list {
		if one == text {
			return true
		}
	}
	return false
}

func version(c *call) error {
	fmt.Fprintln(c.out, "Client Version: v1.36.0")
	return nil
}

// configuration answers what scripts ask before they begin.
func configuration(c *call) error {
	switch strings.Join(c.args, " ") {
	case "current-context":
		fmt.Fprintln(c.out, "hook")
		return nil
	}
	return fmt.Errorf("kubectl config %s is not supported in a hook: its requests are made with its own permissions", strings.Join(c.args, " "))
}
