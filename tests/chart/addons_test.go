package chart

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/kube"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
)

// Everything waits for conditions. A debug build that has no compiled engine needs minutes for the first of them.
const (
	compiled = 15 * time.Minute
	settled  = 5 * time.Minute
)

const namespace = "addons"

// node does what a kubelet and a load balancer would do: Pods run, Pods of Jobs succeed, and Services get an address.
type node struct {
	lock sync.Mutex
	// Jobs whose Pods stay pending.
	held map[string]bool
	// What the container of a Job does.
	jobs map[string]func() error
	// Jobs whose Pods have succeeded, with how often.
	ended map[string]int
}

func (n *node) hold(jobs ...string) {
	n.lock.Lock()
	defer n.lock.Unlock()
	for _, job := range jobs {
		n.held[job] = true
	}
}

func (n *node) release(jobs ...string) {
	n.lock.Lock()
	defer n.lock.Unlock()
	for _, job := range jobs {
		delete(n.held, job)
	}
}

func (n *node) runs(job string) int {
	n.lock.Lock()
	defer n.lock.Unlock()
	return n.ended[job]
}

func (c *cluster) node(t *testing.T) *node {
	made := &node{held: map[string]bool{}, jobs: map[string]func() error{}, ended: map[string]int{}}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			c.pods(ctx, t, made)
			c.balance(ctx)
			time.Sleep(100 * time.Millisecond)
		}
	})
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	return made
}

func (c *cluster) pods(ctx context.Context, t *testing.T, n *node) {
	// What fails is tried again.
	pods, err := c.client.CoreV1().Pods("").List(ctx, meta.ListOptions{})
	if err != nil {
		return
	}
	for _, pod := range pods.Items {
		if pod.Status.Phase != core.PodPending || pod.DeletionTimestamp != nil {
			continue
		}
		ready := []core.PodCondition{{Type: core.PodReady, Status: core.ConditionTrue}, {Type: core.ContainersReady, Status: core.ConditionTrue}}
		pod.Status.Phase, pod.Status.Conditions = core.PodRunning, ready
		job := pod.Labels["batch.kubernetes.io/job-name"]
		if job != "" {
			n.lock.Lock()
			held, run := n.held[job], n.jobs[job]
			n.lock.Unlock()
			if held {
				continue
			}
			if run != nil {
				if err := run(); err != nil {
					t.Logf("the Job %s: %v", job, err)
					continue
				}
			}
			pod.Status.Phase, pod.Status.Conditions = core.PodSucceeded, nil
		}
		if _, err := c.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, &pod, meta.UpdateOptions{}); err == nil && job != "" {
			n.lock.Lock()
			n.ended[job]++
			n.lock.Unlock()
		}
	}
}

func (c *cluster) balance(ctx context.Context) {
	services, err := c.client.CoreV1().Services("").List(ctx, meta.ListOptions{})
	if err != nil {
		return
	}
	for _, service := range services.Items {
		if service.Spec.Type == core.ServiceTypeLoadBalancer && len(service.Status.LoadBalancer.Ingress) == 0 {
			service.Status.LoadBalancer.Ingress = []core.LoadBalancerIngress{{IP: "192.0.2.1"}}
			c.client.CoreV1().Services(service.Namespace).UpdateStatus(ctx, &service, meta.UpdateOptions{})
		}
	}
}

// addons starts a control plane with the operator's namespace.
func addons(t *testing.T) (*cluster, *node) {
	t.Helper()
	cluster := start(t, "job-controller")
	cluster.binary(t)
	_, err := cluster.client.CoreV1().Namespaces().Create(t.Context(), &core.Namespace{ObjectMeta: meta.ObjectMeta{Name: namespace}}, meta.CreateOptions{})
	check(t, err)
	cluster.kubectl(t, "config", "set-context", "--current", "--namespace="+namespace)
	return cluster, cluster.node(t)
}

func (c *cluster) mapping(t *testing.T, one object) *apimeta.RESTMapping {
	t.Helper()
	if c.mapper == nil {
		c.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.client.Discovery()))
	}
	kind := schema.FromAPIVersionAndKind(one.text("apiVersion"), one.text("kind"))
	found, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	check(t, err)
	return found
}

func (c *cluster) resource(t *testing.T, one object) dynamic.ResourceInterface {
	t.Helper()
	mapping := c.mapping(t, one)
	if mapping.Scope.Name() == apimeta.RESTScopeNameNamespace {
		return c.dynamic.Resource(mapping.Resource).Namespace(one.text("metadata", "namespace"))
	}
	return c.dynamic.Resource(mapping.Resource)
}

// live is the object in the cluster. Nil if there is none.
func (c *cluster) live(t *testing.T, one object) *unstructured.Unstructured {
	t.Helper()
	found, err := c.resource(t, one).Get(t.Context(), one.text("metadata", "name"), meta.GetOptions{})
	if errors.IsNotFound(err) {
		return nil
	}
	check(t, err)
	return found
}

// has says where the cluster is not as Helm renders it: each rendered field is in the live object.
func (c *cluster) has(t *testing.T, wanted objects) []string {
	t.Helper()
	var all []string
	for _, key := range wanted.keys() {
		live := c.live(t, wanted[key])
		if live == nil {
			all = append(all, key+" is missing")
			continue
		}
		all = append(all, differences(key, map[string]any(wanted[key]), live.Object)...)
	}
	return all
}

// identities are the uids and the generations of objects.
func (c *cluster) identities(t *testing.T, of objects) (map[string]types.UID, map[string]int64) {
	t.Helper()
	uids, generations := map[string]types.UID{}, map[string]int64{}
	for key, one := range of {
		live := c.live(t, one)
		if live == nil {
			t.Fatalf("%s is not there", key)
		}
		uids[key], generations[key] = live.GetUID(), live.GetGeneration()
	}
	return uids, generations
}

// revision is a line of `boathook modules history`.
type revision struct {
	Revision   int
	Chart      string
	Changed    []string
	RollbackTo int
	Result     string
}

func (c *cluster) history(t *testing.T, module string) []revision {
	t.Helper()
	command := exec.Command(c.binary(t), "modules", "history", module, "--output", "json", "--kubeconfig", c.kubeconfig, "--namespace", namespace)
	said, err := command.Output()
	if err != nil {
		return nil
	}
	var found []revision
	if err := json.Unmarshal(said, &found); err != nil {
		t.Fatalf("%v in %s", err, said)
	}
	return found
}

// last is the newest revision of a module.
func (c *cluster) last(t *testing.T, module string) revision {
	t.Helper()
	all := c.history(t, module)
	if len(all) == 0 {
		return revision{}
	}
	return all[len(all)-1]
}

func (c *cluster) deployed(t *testing.T, most time.Duration, module string, number int) {
	t.Helper()
	within(t, most, fmt.Sprintf("revision %d of %s is deployed", number, module), func() bool {
		last := c.last(t, module)
		return last.Revision == number && last.Result == "deployed"
	})
}

// configure writes keys of the ConfigMap.
func (c *cluster) configure(t *testing.T, data map[string]string) {
	t.Helper()
	maps := c.client.CoreV1().ConfigMaps(namespace)
	patch, err := json.Marshal(map[string]any{"data": data})
	check(t, err)
	if _, err = maps.Patch(t.Context(), "addon-operator", types.MergePatchType, patch, meta.PatchOptions{}); errors.IsNotFound(err) {
		_, err = maps.Create(t.Context(), &core.ConfigMap{ObjectMeta: meta.ObjectMeta{Name: "addon-operator"}, Data: data}, meta.CreateOptions{})
	}
	check(t, err)
}

func (c *cluster) helm(t *testing.T) *action.Configuration {
	t.Helper()
	flags := genericclioptions.NewConfigFlags(false)
	flags.KubeConfig, flags.Namespace = &c.kubeconfig, new(namespace)
	made := action.NewConfiguration()
	check(t, made.Init(flags, namespace, "secret"))
	return made
}

// members are the objects of a module's set, of these kinds.
func (c *cluster) members(t *testing.T, module string, kinds objects) []string {
	t.Helper()
	secret, err := c.client.CoreV1().Secrets(namespace).Get(t.Context(), "boathook-module-"+module, meta.GetOptions{})
	check(t, err)
	set := secret.Labels["applyset.kubernetes.io/id"]
	if set == "" {
		t.Fatalf("the Secret of %s has no set: %v", module, secret.Labels)
	}
	found := map[string]bool{}
	for _, one := range kinds {
		listed, err := c.dynamic.Resource(c.mapping(t, one).Resource).List(t.Context(), meta.ListOptions{LabelSelector: "applyset.kubernetes.io/part-of=" + set})
		check(t, err)
		for _, item := range listed.Items {
			found[object(item.Object).key()] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// addon is a module with a chart of somebody else, over its life.
type addon struct {
	module, key string
	versions    [2]pinned
	// The settings of each step: installed, upgraded, changed.
	settings [3]string
}

var three = []addon{
	// Containers have the name of the chart in theirs, so its alias has no capital letter.
	{"certmanager", "certmanager", certManager, [3]string{
		"crds: {enabled: true}",
		"crds: {enabled: true}",
		"{crds: {enabled: true}, replicaCount: 2, webhook: {timeoutSeconds: 7}, prometheus: {servicemonitor: {enabled: false}}}",
	}},
	// The old chart has webhooks of an API that is gone.
	{"ingress-nginx", "ingressNginx", ingressNginx, [3]string{
		"{nameOverride: ingress-nginx, controller: {admissionWebhooks: {enabled: false}}}",
		"nameOverride: ingress-nginx",
		`{nameOverride: ingress-nginx, controller: {config: {use-gzip: "true"}, replicaCount: 2}}`,
	}},
	{"external-dns", "externalDns", externalDNS, [3]string{
		"{nameOverride: external-dns, policy: sync, provider: {name: inmemory}}",
		"{nameOverride: external-dns, policy: sync, provider: {name: inmemory}}",
		"{nameOverride: external-dns, policy: upsert-only, provider: {name: inmemory}, logLevel: debug}",
	}},
}

const createJob, patchJob, checkJob = "ingress-nginx-admission-create", "ingress-nginx-admission-patch", "certmanager-startupapicheck"

// admission lets the Jobs of ingress-nginx do what their image does.
func (c *cluster) admission(n *node) {
	ctx := context.Background()
	n.jobs[createJob] = func() error {
		secret := &core.Secret{ObjectMeta: meta.ObjectMeta{Name: "ingress-nginx-admission"}, Data: map[string][]byte{"ca": c.config.CAData}}
		_, err := c.client.CoreV1().Secrets(namespace).Create(ctx, secret, meta.CreateOptions{})
		if errors.IsAlreadyExists(err) {
			return nil
		}
		return err
	}
	n.jobs[patchJob] = func() error {
		configurations := c.client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
		found, err := configurations.Get(ctx, "ingress-nginx-admission", meta.GetOptions{})
		if err != nil {
			return err
		}
		for i := range found.Webhooks {
			found.Webhooks[i].ClientConfig.CABundle = c.config.CAData
		}
		_, err = configurations.Update(ctx, found, meta.UpdateOptions{FieldManager: "kube-webhook-certgen"})
		return err
	}
}

func TestAddonsOfOthersLiveAsModules(t *testing.T) {
	cluster, node := addons(t)
	cluster.admission(node)
	modules := t.TempDir()
	cluster.kubectl(t, "apply", "--server-side", "-f", root+"/deploy/crds/modules.boathook.dev.yaml")
	directory := func(one addon) string { return modules + "/010-" + one.module }
	lay := func(version int) {
		for _, one := range three {
			one.versions[version].writeModule(t, directory(one), one.key, nil)
		}
	}
	// external-dns is configured by a Module, and the others by the ConfigMap.
	set := func(step int) {
		data := map[string]string{}
		for _, one := range three[:2] {
			data[one.key] = one.settings[step]
		}
		cluster.configure(t, data)
		dns := three[2]
		resource := map[string]any{"apiVersion": "boathook.dev/v1alpha1", "kind": "Module", "metadata": map[string]any{"name": dns.module},
			"spec": map[string]any{"enabled": true, "settings": yamlOf(t, dns.settings[step])}}
		write(t, modules+"/../module.yaml", show(t, resource))
		cluster.kubectl(t, "apply", "--server-side", "-f", modules+"/../module.yaml")
	}
	// What Helm renders for a module after a step.
	helm := func(one addon, step int) objects {
		return cluster.helmRenders(t, directory(one), release{one.module, namespace}, map[string]any{one.key: yamlOf(t, one.settings[step])})
	}
	wanted := map[string][]objects{}
	stands := func(one addon, number, step int) {
		t.Helper()
		cluster.deployed(t, settled, one.module, number)
		rendered := wanted[one.module][step]
		for _, difference := range cluster.has(t, rendered) {
			t.Errorf("%s, revision %d: %s", one.module, number, difference)
		}
		all := objects{}
		for _, of := range wanted[one.module] {
			maps.Copy(all, of)
		}
		if members := cluster.members(t, one.module, all); !slices.Equal(members, rendered.keys()) {
			t.Errorf("%s, revision %d: the set has\n%v\nand Helm renders\n%v", one.module, number, members, rendered.keys())
		}
	}
	render := func(step int) {
		for _, one := range three {
			wanted[one.module] = append(wanted[one.module], helm(one, step))
		}
	}
	serve := func() func() {
		return cluster.serve(t, "--modules", modules, "--module-resources")
	}
	cert, ingress, dns := three[0], three[1], three[2]
	controller := object{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "ingress-nginx-controller", "namespace": namespace}}
	image := func(of object) string {
		containers, _ := object(cluster.live(t, of).Object).at("spec", "template", "spec", "containers").([]any)
		return object(containers[0].(map[string]any)).text("image")
	}

	// Installation. A hook of Helm that runs afterwards is waited for.
	lay(0)
	write(t, modules+"/values.yaml", "certmanagerEnabled: true\ningressNginxEnabled: true\n")
	set(0)
	node.hold(checkJob)
	render(0)
	end := serve()
	cluster.deployed(t, compiled, dns.module, 1)
	within(t, settled, "the Job of cert-manager is there", func() bool {
		jobs, err := cluster.client.BatchV1().Jobs(namespace).List(t.Context(), meta.ListOptions{})
		return err == nil && len(jobs.Items) == 1 && jobs.Items[0].Name == checkJob
	})
	if missing := cluster.has(t, wanted[cert.module][0]); len(missing) > 0 {
		t.Errorf("the Job runs before all is there: %v", missing)
	}
	if last := cluster.last(t, cert.module); last.Result == "deployed" {
		t.Errorf("nobody waits for the Job: %v", last)
	}
	node.release(checkJob)
	for _, one := range three {
		stands(one, 1, 0)
	}
	old := image(controller)

	// Upgrade, to other versions of the charts. A hook of Helm that runs before is waited for.
	end()
	lay(1)
	set(1)
	node.hold(createJob)
	render(1)
	end = serve()
	within(t, settled, "the Job of ingress-nginx is there", func() bool {
		_, err := cluster.client.BatchV1().Jobs(namespace).Get(t.Context(), createJob, meta.GetOptions{})
		return err == nil
	})
	cluster.deployed(t, settled, cert.module, 2)
	cluster.deployed(t, settled, dns.module, 2)
	if image(controller) != old {
		t.Errorf("nobody waits for the Job: the image is %s", image(controller))
	}
	if last := cluster.last(t, ingress.module); last.Result == "deployed" && last.Revision == 2 {
		t.Errorf("nobody waits for the Job: %v", last)
	}
	node.release(createJob)
	for _, one := range three {
		stands(one, 2, 1)
		version := strings.TrimPrefix(versionOf(t, directory(one)), "v")
		if last := cluster.last(t, one.module); strings.TrimPrefix(last.Chart, "v") != version || !slices.Contains(last.Changed, "chart") {
			t.Errorf("%s: %v", one.module, last)
		}
	}
	if image(controller) == old || node.runs(createJob) != 1 || node.runs(patchJob) != 1 || node.runs(checkJob) != 1 {
		t.Errorf("the image is %s, and the Jobs ran: %v", image(controller), node.ended)
	}

	// A change of settings.
	set(2)
	render(2)
	uids := map[string]map[string]types.UID{}
	for _, one := range three {
		uids[one.module], _ = cluster.identities(t, wanted[one.module][1])
	}
	for _, one := range three {
		stands(one, 3, 2)
		if last := cluster.last(t, one.module); !slices.Equal(last.Changed, []string{"settings"}) {
			t.Errorf("%s: %v", one.module, last)
		}
		if now, _ := cluster.identities(t, wanted[one.module][1]); !maps.Equal(now, uids[one.module]) {
			t.Errorf("%s: objects are others: %v became %v", one.module, uids[one.module], now)
		}
	}
	webhooks, err := cluster.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), "ingress-nginx-admission", meta.GetOptions{})
	check(t, err)
	if bundle := webhooks.Webhooks[0].ClientConfig.CABundle; !slices.Equal(bundle, cluster.config.CAData) {
		t.Errorf("what the Job wrote is gone: %q", bundle)
	}

	// Rollback: to the settings before, and to the chart before.
	cluster.boathook(t, "modules", "rollback", cert.module)
	cluster.boathook(t, "modules", "rollback", ingress.module)
	cluster.boathook(t, "modules", "rollback", dns.module, "--to", "1")
	stands(cert, 4, 1)
	stands(ingress, 4, 1)
	stands(dns, 4, 0)
	for module, to := range map[string]int{cert.module: 2, ingress.module: 2, dns.module: 1} {
		if last := cluster.last(t, module); last.RollbackTo != to {
			t.Errorf("%s: %v", module, last)
		}
	}

	// Off: everything is gone, and the definitions stay.
	cluster.boathook(t, "modules", "disable", cert.module)
	cluster.boathook(t, "modules", "disable", ingress.module)
	cluster.kubectl(t, "patch", "module", dns.module, "--type=merge", "--patch", `{"spec":{"enabled":false}}`)
	var definitionsOf []string
	for _, one := range three {
		within(t, settled, one.module+" is deleted", func() bool {
			_, err := cluster.client.CoreV1().Secrets(namespace).Get(t.Context(), "boathook-module-"+one.module, meta.GetOptions{})
			return errors.IsNotFound(err)
		})
		for _, of := range wanted[one.module] {
			for key, rendered := range of {
				is := cluster.live(t, rendered) != nil
				if definition := rendered.text("kind") == "CustomResourceDefinition"; is != definition {
					t.Errorf("%s is there: %v", key, is)
				} else if definition {
					definitionsOf = append(definitionsOf, key)
				}
			}
		}
	}
	if len(definitionsOf) < 6 {
		t.Errorf("cert-manager has definitions: %v", definitionsOf)
	}
	cluster.kubectl(t, "get", "crd", "dnsendpoints.externaldns.k8s.io")

	// On again: an installation, with the settings of now. Its hooks run again.
	cluster.boathook(t, "modules", "enable", cert.module)
	cluster.boathook(t, "modules", "enable", ingress.module)
	cluster.kubectl(t, "patch", "module", dns.module, "--type=merge", "--patch", `{"spec":{"enabled":true}}`)
	for _, one := range three {
		stands(one, 1, 2)
	}
	if node.runs(checkJob) != 2 || node.runs(createJob) < 3 || node.runs(patchJob) < 3 {
		t.Errorf("the Jobs ran: %v", node.ended)
	}
	end()
}

// Helm installs the charts of others as their projects describe it. The modules have these charts unchanged, as dependencies.
func TestModulesTakeOverAddonsThatHelmHasInstalled(t *testing.T) {
	cluster, node := addons(t)
	cluster.admission(node)
	modules, charts := t.TempDir(), t.TempDir()
	helm := cluster.helm(t)
	all := []struct {
		pinned
		values string
	}{
		{certManager[1], "{crds: {enabled: true}, replicaCount: 2}"},
		{ingressNginx[1], "controller: {replicaCount: 2}"},
		{externalDNS[1], "{policy: sync, provider: {name: inmemory}}"},
	}
	wanted := map[string]objects{}
	uids, generations := map[string]map[string]types.UID{}, map[string]map[string]int64{}
	enabled := ""
	for i, one := range all {
		name, chart := one.name(), charts+"/"+one.name()
		one.write(t, chart)
		loaded, err := loader.LoadDir(chart)
		check(t, err)
		install := action.NewInstall(helm)
		install.ReleaseName, install.Namespace = name, namespace
		install.ServerSideApply, install.WaitStrategy, install.Timeout = true, kube.StatusWatcherStrategy, settled
		_, err = install.RunWithContext(t.Context(), loaded, yamlOf(t, one.values))
		check(t, err)
		wanted[name] = cluster.helmRenders(t, chart, release{name, namespace}, yamlOf(t, one.values))
		if missing := cluster.has(t, wanted[name]); len(missing) > 0 {
			t.Fatalf("Helm has not installed %v", missing)
		}
		uids[name], generations[name] = cluster.identities(t, wanted[name])
		one.writeModule(t, fmt.Sprintf("%s/0%d0-%s", modules, i+1, name), "", yamlOf(t, one.values))
		enabled += map[string]string{"cert-manager": "certManager", "ingress-nginx": "ingressNginx", "external-dns": "externalDns"}[name] + "Enabled: true\n"
	}
	write(t, modules+"/values.yaml", enabled)
	pods := func() map[string]types.UID {
		found := map[string]types.UID{}
		listed, err := cluster.client.CoreV1().Pods(namespace).List(t.Context(), meta.ListOptions{LabelSelector: "!batch.kubernetes.io/job-name"})
		check(t, err)
		for _, pod := range listed.Items {
			found[pod.Name] = pod.UID
		}
		return found
	}
	before := pods()
	if len(before) < 5 {
		t.Fatalf("there are only %v", before)
	}

	for _, one := range all {
		plan := cluster.boathook(t, "modules", "adopt", one.name(), "--modules", modules)
		for _, line := range []string{
			fmt.Sprintf("%s: adopt revision 1 of Helm's release (%s-%s), %d objects", one.name(), one.name(), versionOf(t, charts+"/"+one.name()), len(wanted[one.name()])),
			"nothing was written",
		} {
			if !strings.Contains(plan, line) {
				t.Errorf("%q is not in:\n%s", line, plan)
			}
		}
		if strings.Contains(plan, "    - ") || strings.Contains(plan, "in the way") {
			t.Errorf("something would be deleted, or is in the way:\n%s", plan)
		}
		cluster.boathook(t, "modules", "adopt", one.name(), "--modules", modules, "--yes")
	}
	end := cluster.serve(t, "--modules", modules)
	for _, one := range all {
		name := one.name()
		within(t, compiled, "the module "+name+" has its release", func() bool { return cluster.last(t, name).Result == "deployed" })
		for _, difference := range cluster.has(t, wanted[name]) {
			t.Errorf("%s: %s", name, difference)
		}
		if members := cluster.members(t, name, wanted[name]); !slices.Equal(members, wanted[name].keys()) {
			t.Errorf("%s: the set has\n%v\nand Helm renders\n%v", name, members, wanted[name].keys())
		}
		ids, numbers := cluster.identities(t, wanted[name])
		if !maps.Equal(ids, uids[name]) {
			t.Errorf("%s: objects are others: %v became %v", name, uids[name], ids)
		}
		for key, number := range numbers {
			if strings.HasPrefix(key, "Deployment/") && number != generations[name][key] {
				t.Errorf("%s has another generation: %d became %d", key, generations[name][key], number)
			}
		}
	}
	if after := pods(); !maps.Equal(after, before) {
		t.Errorf("Pods restart: %v became %v", before, after)
	}
	end()
}

func TestOneOf100ModulesIsBroken(t *testing.T) {
	cluster, _ := addons(t)
	modules := t.TempDir()
	const broken = 50
	enabled := ""
	name := func(i int) string { return fmt.Sprintf("m%02d", i) }
	for i := range 100 {
		need := fmt.Sprintf("{{ .Values.%s.size | default 1 | quote }}", name(i))
		if i == broken {
			need = fmt.Sprintf(`{{ required "say how large" .Values.%s.size | quote }}`, name(i))
		}
		text := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {size: %s}\n", name(i), need)
		write(t, fmt.Sprintf("%s/%03d-%s/templates/map.yaml", modules, i, name(i)), text)
		enabled += name(i) + "Enabled: true\n"
	}
	write(t, modules+"/values.yaml", enabled)
	socket := filepath.Join(t.TempDir(), "own", "admin.sock")
	end := cluster.serveAt(t, socket, "--modules", modules)
	// The columns NAME, ON, AT, FAILURES and WHY of each module.
	rows := func() map[string][]string {
		said, err := exec.Command(cluster.binary(t), "raw", "modules.text", "--socket", socket).Output()
		if err != nil {
			return nil
		}
		found := map[string][]string{}
		for line := range strings.Lines(string(said)) {
			if columns := strings.Fields(line); len(columns) > 2 && strings.HasPrefix(columns[0], "m") {
				found[columns[0]] = columns
			}
		}
		return found
	}
	ready := func() int {
		count := 0
		for _, columns := range rows() {
			if columns[2] == "ready" {
				count++
			}
		}
		return count
	}
	maps := cluster.client.CoreV1().ConfigMaps(namespace)
	within(t, compiled, "99 modules are ready", func() bool { return ready() == 99 })
	// Every one of them was tried again and again, or would have been.
	within(t, settled, "the broken module is named, with the reason", func() bool {
		columns := rows()[name(broken)]
		why := strings.Join(columns, " ")
		return len(columns) > 4 && columns[2] == "Chart" && columns[3] != "0" && strings.Contains(why, "say how large")
	})
	for i := range 100 {
		if _, err := maps.Get(t.Context(), name(i), meta.GetOptions{}); (i == broken) != errors.IsNotFound(err) {
			t.Errorf("%s: %v", name(i), err)
		}
	}
	said, err := exec.Command(cluster.binary(t), "raw", "modules.text", "--socket", socket).Output()
	check(t, err)
	t.Logf("%s", said)

	// It needs its own value, and nothing of the others.
	others, err := maps.List(t.Context(), meta.ListOptions{})
	check(t, err)
	cluster.configure(t, map[string]string{name(broken): "size: 7"})
	within(t, settled, "all modules are ready", func() bool { return ready() == 100 })
	found, err := maps.Get(t.Context(), name(broken), meta.GetOptions{})
	check(t, err)
	if found.Data["size"] != "7" {
		t.Errorf("the size is %v", found.Data)
	}
	for _, before := range others.Items {
		after, err := maps.Get(t.Context(), before.Name, meta.GetOptions{})
		check(t, err)
		if strings.HasPrefix(before.Name, "m") && after.ResourceVersion != before.ResourceVersion {
			t.Errorf("%s was written", before.Name)
		}
	}
	end()
}
