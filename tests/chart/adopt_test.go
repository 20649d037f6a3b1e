package chart

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/kube"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

// No kubelet runs its Pods, so there are none, and it is ready.
const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:{{ .Chart.AppVersion }}"}]}
`

const settings = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {port: "80"%s}
`

func write(t *testing.T, file, text string) {
	t.Helper()
	check(t, os.MkdirAll(filepath.Dir(file), 0o755))
	check(t, os.WriteFile(file, []byte(text), 0o644))
}

// boathook is what a person types, and what it prints.
func (c *cluster) boathook(t *testing.T, args ...string) string {
	t.Helper()
	said, err := exec.Command(c.binary(t), append(args, "--kubeconfig", c.kubeconfig, "--namespace", "addons")...).CombinedOutput()
	if err != nil {
		t.Fatalf("boathook %v: %v\n%s", args, err, said)
	}
	return string(said)
}

func (c *cluster) binary(t *testing.T) string {
	t.Helper()
	binary := os.Getenv("BOATHOOK_BIN")
	if binary == "" {
		t.Skip("BOATHOOK_BIN names no boathook")
	}
	t.Setenv("BOATHOOK_INTERPRETERS", root+"/interpreters/dist")
	return binary
}

// serve runs the operator until the function that it returns is called.
func (c *cluster) serve(t *testing.T, args ...string) func() {
	t.Helper()
	return c.serveAt(t, filepath.Join(t.TempDir(), "own", "admin.sock"), args...)
}

// serveAt runs the operator with this admin socket.
func (c *cluster) serveAt(t *testing.T, socket string, args ...string) func() {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	all := append([]string{"serve", "--listen", "127.0.0.1:0", "--kubeconfig", c.kubeconfig, "--hook-bundles", "off", "--admin-socket", socket}, args...)
	command := exec.CommandContext(ctx, c.binary(t), all...)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 30 * time.Second
	stderr, err := command.StderrPipe()
	check(t, err)
	check(t, command.Start())
	lines := make(chan bool)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(stderr); scanner.Scan(); {
			t.Log(scanner.Text())
		}
	}()
	var ended bool
	end := func() {
		if ended {
			return
		}
		ended = true
		stop()
		<-lines
		command.Wait()
	}
	t.Cleanup(end)
	return end
}

func TestAModuleTakesOverWhatHelmHasInstalled(t *testing.T) {
	cluster := start(t)
	cluster.binary(t)
	ctx := t.Context()
	_, err := cluster.client.CoreV1().Namespaces().Create(ctx, &core.Namespace{ObjectMeta: meta.ObjectMeta{Name: "addons"}}, meta.CreateOptions{})
	check(t, err)
	// The operator's namespace is that of the context.
	cluster.kubectl(t, "config", "set-context", "--current", "--namespace=addons")
	old, modules := t.TempDir(), t.TempDir()
	write(t, old+"/Chart.yaml", "{apiVersion: v2, name: web, version: 1.0.0, appVersion: '7'}")
	write(t, old+"/templates/deployment.yaml", deployment)
	write(t, old+"/templates/settings.yaml", strings.ReplaceAll(settings, "%s", ", unused: \"yes\""))
	write(t, old+"/templates/old.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: old}}")

	flags := genericclioptions.NewConfigFlags(false)
	flags.KubeConfig, flags.Namespace = &cluster.kubeconfig, new("addons")
	helm := action.NewConfiguration()
	check(t, helm.Init(flags, "addons", "secret"))
	chart, err := loader.LoadDir(old)
	check(t, err)
	install := action.NewInstall(helm)
	install.ReleaseName, install.Namespace = "web", "addons"
	install.ServerSideApply, install.WaitStrategy, install.Timeout = true, kube.HookOnlyStrategy, time.Minute
	_, err = install.RunWithContext(ctx, chart, nil)
	check(t, err)
	deployments, maps := cluster.client.AppsV1().Deployments("addons"), cluster.client.CoreV1().ConfigMaps("addons")
	replicaSets := func() int {
		sets, err := cluster.client.AppsV1().ReplicaSets("addons").List(ctx, meta.ListOptions{})
		check(t, err)
		return len(sets.Items)
	}
	eventually(t, "the Deployment has a ReplicaSet", func() bool { return replicaSets() == 1 })
	before, err := deployments.Get(ctx, "web", meta.GetOptions{})
	check(t, err)

	write(t, modules+"/values.yaml", "webEnabled: true\n")
	write(t, modules+"/010-web/Chart.yaml", "{apiVersion: v2, name: web, version: 1.1.0, appVersion: '7'}")
	write(t, modules+"/010-web/templates/deployment.yaml", deployment)
	write(t, modules+"/010-web/templates/settings.yaml", strings.ReplaceAll(settings, "%s", ""))
	plan := cluster.boathook(t, "modules", "adopt", "web", "--modules", modules)
	for _, line := range []string{"web: adopt revision 1 of Helm's release (web-1.0.0), 3 objects", "- v1 ConfigMap addons/old", "nothing was written"} {
		if !strings.Contains(plan, line) {
			t.Errorf("%q is not in:\n%s", line, plan)
		}
	}
	if strings.Contains(plan, "in the way") {
		t.Error(plan)
	}
	cluster.boathook(t, "modules", "adopt", "web", "--modules", modules, "--yes")
	end := cluster.serve(t, "--modules", modules)
	eventually(t, "what the chart no longer has is gone", func() bool {
		_, err := maps.Get(ctx, "old", meta.GetOptions{})
		return errors.IsNotFound(err)
	})
	eventually(t, "the revision is deployed", func() bool {
		return strings.Contains(cluster.boathook(t, "modules", "history", "web"), "deployed")
	})
	found, err := maps.Get(ctx, "settings", meta.GetOptions{})
	check(t, err)
	if len(found.Data) != 1 {
		t.Errorf("a key that the chart no longer has is there: %v", found.Data)
	}
	after, err := deployments.Get(ctx, "web", meta.GetOptions{})
	check(t, err)
	if after.UID != before.UID || !reflect.DeepEqual(after.Spec, before.Spec) || replicaSets() != 1 {
		t.Errorf("Pods restart: %v became %v, %d ReplicaSets", before.Spec, after.Spec, replicaSets())
	}
	for _, entry := range after.ManagedFields {
		if entry.Manager == "chart.test" {
			t.Errorf("Helm has fields: %v", entry)
		}
	}

	// The way back.
	end()
	check(t, cluster.client.CoreV1().Secrets("addons").Delete(ctx, "boathook-module-web", meta.DeleteOptions{}))
	upgrade := action.NewUpgrade(helm)
	upgrade.Namespace, upgrade.WaitStrategy, upgrade.Timeout = "addons", kube.HookOnlyStrategy, time.Minute
	upgrade.ForceConflicts = true
	_, err = upgrade.RunWithContext(ctx, "web", chart, nil)
	check(t, err)
	_, err = maps.Get(ctx, "old", meta.GetOptions{})
	check(t, err)
	after, err = deployments.Get(ctx, "web", meta.GetOptions{})
	check(t, err)
	if after.UID != before.UID || !reflect.DeepEqual(after.Spec, before.Spec) || replicaSets() != 1 {
		t.Errorf("Pods restart: %v became %v, %d ReplicaSets", before.Spec, after.Spec, replicaSets())
	}
}
