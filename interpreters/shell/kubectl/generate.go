package kubectl

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"path"
	"regexp"
	"sort"
	"strings"
	"unicode/utf8"
)

// generated creates an object that flags describe.
func (c *call) generated(o object) error {
	p, err := c.printer()
	if err != nil {
		return err
	}
	one, err := c.itemOf(o, "")
	if err != nil {
		return err
	}
	mode, err := c.dryRun()
	if err != nil {
		return err
	}
	c.typed = true
	if mode == "client" && c.value("namespace") == "" {
		delete(o.fields("metadata"), "namespace")
	}
	err = c.createOne(p, *one)
	var failure *Error
	if what := failures[o.kind()]; what != "" && errors.As(err, &failure) {
		return errors.New("failed to create " + strings.Replace(what, "TYPE", text(o, "spec", "type"), 1) + failure.Message)
	}
	return err
}

// failures begin the errors of some generators.
var failures = map[string]string{
	"ConfigMap": "configmap: ", "Secret": "secret ", "ServiceAccount": "serviceaccount: ", "Job": "job: ", "ResourceQuota": "quota: ",
	"RoleBinding": "rolebinding: ", "ClusterRoleBinding": "clusterrolebinding: ", "Deployment": "deployment: ", "CronJob": "cronjob: ",
	"Service": "TYPE service: ", "Ingress": "ingress: ", "PodDisruptionBudget": "poddisruptionbudgets: ", "PriorityClass": "priorityclass: ",
}

// oneName is the argument that names the object.
func (c *call) oneName() (string, error) {
	if len(c.args) != 1 {
		return "", c.oneNameIsRequired()
	}
	return c.args[0], nil
}

func (c *call) oneNameIsRequired() error {
	words := c.words
	if len(c.args) > 0 {
		words = words[:len(words)-len(c.args)]
	}
	return fmt.Errorf("exactly one NAME is required, got %d\nSee 'kubectl %s -h' for help and examples", len(c.args), strings.Join(words, " "))
}

func named(version, kind, name string) object {
	return object{"apiVersion": version, "kind": kind, "metadata": map[string]any{"name": name}}
}

func createNamespace(c *call) error {
	name, err := c.oneName()
	if err != nil {
		return err
	}
	o := named("v1", "Namespace", name)
	o["spec"], o["status"] = map[string]any{}, map[string]any{}
	return c.generated(o)
}

func createServiceAccount(c *call) error {
	name, err := c.oneName()
	if err != nil {
		return err
	}
	return c.generated(named("v1", "ServiceAccount", name))
}

// key is the form of the keys of ConfigMaps and Secrets.
var key = regexp.MustCompile(`^[-._a-zA-Z0-9]+$`)

// data reads --from-literal, --from-file and --from-env-file.
func (c *call) data(taken string) (map[string][]byte, error) {
	if len(c.flags["from-env-file"]) > 0 && len(c.flags["from-file"])+len(c.flags["from-literal"]) > 0 {
		return nil, errors.New("from-env-file cannot be combined with from-file or from-literal")
	}
	data := map[string][]byte{}
	add := func(name string, content []byte) error {
		if !key.MatchString(name) {
			return fmt.Errorf("%q is not a valid key name: a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')", name)
		}
		if _, twice := data[name]; twice {
			return fmt.Errorf(taken, name)
		}
		data[name] = content
		return nil
	}
	for _, literal := range c.flags["from-literal"] {
		name, value, found := strings.Cut(literal, "=")
		if !found || name == "" {
			return nil, fmt.Errorf("invalid literal source %s, expected key=value", literal)
		}
		value = strings.Trim(value, `'"`)
		if err := add(name, []byte(value)); err != nil {
			return nil, err
		}
	}
	for _, source := range c.flags["from-file"] {
		if err := c.fromFile(source, add); err != nil {
			return nil, err
		}
	}
	for _, file := range c.flags["from-env-file"] {
		content, err := c.content(file)
		if err != nil {
			return nil, fmt.Errorf("error reading %s: no such file or directory", file)
		}
		for _, line := range strings.Split(string(content), "\n") {
			line = strings.TrimLeft(strings.TrimSuffix(line, "\r"), " \t")
			if line == "" || line[0] == '#' {
				continue
			}
			name, value, found := strings.Cut(line, "=")
			if !found {
				value, _ = c.Lookup(name)
			}
			if err := add(name, []byte(value)); err != nil {
				return nil, err
			}
		}
	}
	return data, nil
}

// content is what is in a file, a pipe or a descriptor.
func (c *call) content(name string) ([]byte, error) {
	file, err := c.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return c.ReadAll(file)
}

// fromFile adds KEY=FILE, FILE or the files of a folder.
func (c *call) fromFile(source string, add func(string, []byte) error) error {
	name, file, found := strings.Cut(source, "=")
	if !found {
		name, file = path.Base(source), source
	}
	// /dev/stdin and <(…) are files for nobody but the command.
	if info, err := c.FS().Stat(c.Abs(file)); err != nil || !info.IsDir() {
		content, err := c.content(file)
		if err != nil {
			return fmt.Errorf("error reading %s: no such file or directory", file)
		}
		return add(name, content)
	}
	if found {
		return errors.New("cannot give a key name for a directory path")
	}
	entries, err := c.FS().ReadDir(c.Abs(file))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !entry.Mode().IsRegular() {
			continue
		}
		content, err := c.FS().ReadFile(c.Abs(path.Join(file, entry.Name())))
		if err != nil {
			return err
		}
		if err := add(entry.Name(), content); err != nil {
			return err
		}
	}
	return nil
}

func createConfigMap(c *call) error {
	name, err := c.oneName()
	if err != nil {
		return err
	}
	data, err := c.data(`cannot add key %q, another key by that name already exists in Data for ConfigMap "` + strings.ReplaceAll(name, "%", "%%") + `"`)
	if err != nil {
		return err
	}
	o := named("v1", "ConfigMap", name)
	for key, content := range data {
		if utf8.Valid(content) {
			o.fields("data")[key] = string(content)
		} else {
			o.fields("binaryData")[key] = base64.StdEncoding.EncodeToString(content)
		}
	}
	return c.generated(o)
}

const secretTaken = "cannot add key %s, another key by that name already exists"

func secret(name, kind string, data map[string][]byte) object {
	o := named("v1", "Secret", name)
	for key, content := range data {
		o.fields("data")[key] = base64.StdEncoding.EncodeToString(content)
	}
	if kind != "" {
		o["type"] = kind
	}
	return o
}

func createSecret(c *call) error {
	name, err := c.oneName()
	if err != nil {
		return err
	}
	data, err := c.data(secretTaken)
	if err != nil {
		return err
	}
	return c.generated(secret(name, c.value("type"), data))
}

func createDockerSecret(c *call) error {
	name, err := c.oneName()
	if err != nil {
		return err
	}
	if files := c.flags["from-file"]; len(files) > 0 {
		data, err := c.data(secretTaken)
		if err != nil {
			return err
		}
		return c.generated(secret(name, "kubernetes.io/dockerconfigjson", data))
	}
	user, password := c.value("docker-username"), c.value("docker-password")
	if user == "" || password == "" {
		return errors.New("either --from-file or the combination of --docker-username, --docker-password and --docker-server is required")
	}
	server := c.value("docker-server")
	if server == "" {
		server = "https://index.docker.io/v1/"
	}
	// The order of the fields is that of kubectl.
	type login struct {
		Username string `json:"username,omitempty"`
		Password string `json:"password,omitempty"`
		Email    string `json:"email,omitempty"`
		Auth     string `json:"auth,omitempty"`
	}
	auth := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	content, err := json.Marshal(map[string]map[string]login{"auths": {server: {user, password, c.value("docker-email"), auth}}})
	if err != nil {
		return err
	}
	return c.generated(secret(name, "kubernetes.io/dockerconfigjson", map[string][]byte{".dockerconfigjson": content}))
}

func createTLSSecret(c *call) error {
	name, err := c.oneName()
	if err != nil {
		return err
	}
	data := map[string][]byte{}
	for flag, field := range map[string]string{"cert": "tls.crt", "key": "tls.key"} {
		file := c.value(flag)
		if file == "" {
			return errors.New("key and cert must be specified")
		}
		content, err := c.content(file)
		if err != nil {
			return fmt.Errorf("Cannot read file %s, open %s: no such file or directory", file, file)
		}
		data[field] = content
	}
	for _, part := range []struct{ field, name string }{{"tls.crt", "certificate"}, {"tls.key", "key"}} {
		// kubectl also checks that both fit.
		if block, _ := pem.Decode(data[part.field]); block == nil {
			return fmt.Errorf("tls: failed to find any PEM data in %s input", part.name)
		}
	}
	return c.generated(secret(name, "kubernetes.io/tls", data))
}

// createRole makes a Role or a ClusterRole of --verb, --resource and --resource-name.
func createRole(c *call) error {
	name, err := c.oneName()
	if err != nil {
		return err
	}
	verbs := c.values("verb")
	if len(verbs) == 0 {
		return errors.New("at least one verb must be specified")
	}
	// One rule for each group.
	groups := map[string][]any{}
	for _, wanted := range c.values("resource") {
		wanted, subresource, found := strings.Cut(wanted, "/")
		resource, err := c.resolve(wanted)
		if err != nil {
			return err
		}
		plural := resource.Plural
		if found {
			plural += "/" + subresource
		}
		groups[group(resource.APIVersion)] = append(groups[group(resource.APIVersion)], plural)
	}
	if len(groups) == 0 {
		return errors.New("at least one resource must be specified")
	}
	var rules []any
	for _, name := range sorted(groups) {
		rule := map[string]any{"apiGroups": []any{name}, "resources": groups[name], "verbs": texts(verbs)}
		if names := c.values("resource-name"); len(names) > 0 {
			rule["resourceNames"] = texts(names)
		}
		rules = append(rules, rule)
	}
	kind := "Role"
	if strings.Contains(strings.Join(c.Args, " "), "clusterrole") {
		kind = "ClusterRole"
	}
	o := named("rbac.authorization.k8s.io/v1", kind, name)
	o["rules"] = rules
	return c.generated(o)
}

func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

func texts(list []string) []any {
	values := make([]any, len(list))
	for i, text := range list {
		values[i] = text
	}
	return values
}

// createBinding makes a RoleBinding or a ClusterRoleBinding.
func createBinding(c *call) error {
	name, err := c.oneName()
	if err != nil {
		return err
	}
	const rbac = "rbac.authorization.k8s.io"
	kind := "RoleBinding"
	if isIn(c.Args, "clusterrolebinding") {
		kind = "ClusterRoleBinding"
	}
	role, clusterRole := c.value("role"), c.value("clusterrole")
	if (role == "") == (clusterRole == "") || kind == "ClusterRoleBinding" && role != "" {
		return errors.New("exactly one of clusterrole or role must be specified")
	}
	o := named(rbac+"/v1", kind, name)
	ref := map[string]any{"apiGroup": rbac, "kind": "ClusterRole", "name": clusterRole}
	if role != "" {
		ref["kind"], ref["name"] = "Role", role
	}
	o["roleRef"] = ref
	var subjects []any
	for _, user := range c.values("user") {
		subjects = append(subjects, map[string]any{"apiGroup": rbac, "kind": "User", "name": user})
	}
	for _, group := range c.values("group") {
		subjects = append(subjects, map[string]any{"apiGroup": rbac, "kind": "Group", "name": group})
	}
	for _, account := range c.values("serviceaccount") {
		namespace, own, found := strings.Cut(account, ":")
		if !found || namespace == "" || own == "" {
			return errors.New("serviceaccount must be <namespace>:<name>")
		}
		subjects = append(subjects, map[string]any{"kind": "ServiceAccount", "namespace": namespace, "name": own})
	}
	if len(subjects) > 0 {
		o["subjects"] = subjects
	}
	return c.generated(o)
}

// createJob makes a Job of an image and a command, or of a CronJob.
func createJob(c *call) error {
	if len(c.args) == 0 {
		return c.oneNameIsRequired()
	}
	o := named("batch/v1", "Job", c.args[0])
	if from := c.value("from"); from != "" {
		kind, name, _ := strings.Cut(from, "/")
		resource, err := c.resolve(kind)
		if err != nil {
			return err
		}
		if resource.Kind != "CronJob" {
			return errors.New("from must be an existing cronjob")
		}
		cron, err := c.read(c.refOf(resource, name), "")
		if err != nil {
			return err
		}
		template, _ := at(cron.copy(), "spec", "jobTemplate").(map[string]any)
		if template == nil {
			return fmt.Errorf("cronjob %q has no jobTemplate", name)
		}
		annotations := o.fields("metadata", "annotations")
		annotations["cronjob.kubernetes.io/instantiate"] = "manual"
		for _, field := range []string{"annotations", "labels"} {
			for key, value := range object(template).fields("metadata", field) {
				o.fields("metadata", field)[key] = value
			}
		}
		o["spec"] = template["spec"]
		o.fields("metadata")["ownerReferences"] = []any{map[string]any{
			"apiVersion": cron.version(), "kind": cron.kind(), "name": cron.name(), "uid": text(cron, "metadata", "uid"), "controller": true,
		}}
		return c.generated(o)
	}
	image := c.value("image")
	if image == "" {
		return errors.New("either --image or --from must be specified")
	}
	o["spec"] = map[string]any{"template": map[string]any{
		"metadata": map[string]any{}, "spec": map[string]any{"containers": []any{container(c.args[0], image, c.args[1:])}, "restartPolicy": "Never"},
	}}
	o["status"] = map[string]any{}
	return c.generated(o)
}

func createQuota(c *call) error {
	name, err := c.oneName()
	if err != nil {
		return err
	}
	o := named("v1", "ResourceQuota", name)
	o["status"] = map[string]any{}
	for _, pair := range c.values("hard") {
		resource, amount, found := strings.Cut(pair, "=")
		if !found {
			return fmt.Errorf("invalid argument syntax %s, expected <resource>=<value>", pair)
		}
		o.fields("spec", "hard")[resource] = amount
	}
	if scopes := c.values("scopes"); len(scopes) > 0 {
		o.fields("spec")["scopes"] = texts(scopes)
	}
	return c.generated(o)
}
