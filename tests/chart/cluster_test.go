package chart

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/kube"
	authentication "k8s.io/api/authentication/v1"
	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
)

// cluster is the control plane of tests/apiserver, which ends with the test.
type cluster struct {
	kubeconfig string
	config     *rest.Config
	client     *kubernetes.Clientset
	dynamic    *dynamic.DynamicClient
	// Made when it is asked.
	mapper *restmapper.DeferredDiscoveryRESTMapper
}

// start starts one with some controllers, and with these.
func start(t *testing.T, more ...string) *cluster {
	t.Helper()
	server := os.Getenv("BOATHOOK_APISERVER")
	if server == "" {
		t.Skip("BOATHOOK_APISERVER names no control plane: tests/apiserver/README.md says how it is built")
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	controllers := "namespace-controller,garbage-collector-controller,deployment-controller,replicaset-controller,serviceaccount-controller"
	controllers = strings.Join(append([]string{controllers}, more...), ",")
	command := exec.Command(server, "--exit-with-parent", "--write-kubeconfig", file, "--controllers="+controllers)
	stdin, err := command.StdinPipe()
	check(t, err)
	stdout, err := command.StdoutPipe()
	check(t, err)
	check(t, command.Start())
	t.Cleanup(func() {
		stdin.Close()
		command.Wait()
	})
	ready := make(chan bool, 1)
	go func() {
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "ready") {
				ready <- true
			}
		}
		close(ready)
		io.Copy(io.Discard, stdout)
	}()
	select {
	case is := <-ready:
		if !is {
			t.Fatal("the control plane ended before it was ready")
		}
	case <-time.After(time.Minute):
		t.Fatal("the control plane is not ready after a minute")
	}
	config, err := clientcmd.BuildConfigFromFlags("", file)
	check(t, err)
	// The client would send five requests in a second.
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	check(t, err)
	dynamic, err := dynamic.NewForConfig(config)
	check(t, err)
	return &cluster{kubeconfig: file, config: config, client: client, dynamic: dynamic}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	within(t, 30*time.Second, what, holds)
}

// within waits. A machine that stands still in between does not use the time up.
func within(t *testing.T, most time.Duration, what string, holds func() bool) {
	t.Helper()
	for spent := time.Duration(0); spent < most; {
		began := time.Now()
		if holds() {
			return
		}
		time.Sleep(100 * time.Millisecond)
		spent += min(time.Since(began), 2*time.Second)
	}
	t.Fatal(what, ": not after ", most)
}

// kubectl is what a person types.
func (c *cluster) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	name := os.Getenv("BOATHOOK_KUBECTL")
	if name == "" {
		name = "kubectl"
	}
	said, err := exec.Command(name, append([]string{"--kubeconfig", c.kubeconfig}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %v: %v\n%s", args, err, said)
	}
	return string(said)
}

// A Pod there is one that Pod security let in; no kubelet runs it.
func (c *cluster) hasPod(t *testing.T, namespace string) {
	t.Helper()
	eventually(t, "the Deployment has a Pod in "+namespace, func() bool {
		pods, err := c.client.CoreV1().Pods(namespace).List(t.Context(), meta.ListOptions{LabelSelector: "app.kubernetes.io/name=boathook"})
		return err == nil && len(pods.Items) == 1
	})
}

func (c *cluster) restricted(t *testing.T, name string) {
	t.Helper()
	labels := map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}
	namespace := &core.Namespace{ObjectMeta: meta.ObjectMeta{Name: name, Labels: labels}}
	_, err := c.client.CoreV1().Namespaces().Create(t.Context(), namespace, meta.CreateOptions{})
	check(t, err)
}

func TestOneApplyInstallsIt(t *testing.T) {
	cluster := start(t)
	cluster.kubectl(t, "apply", "--server-side", "--validate=strict", "-f", root+"/deploy/install.yaml")
	cluster.hasPod(t, "boathook")
	again := cluster.kubectl(t, "diff", "--server-side", "-f", root+"/deploy/install.yaml")
	if again != "" {
		t.Error("applied twice, it is another:\n", again)
	}
	cluster.actsAsTenantsAlone(t)
	cluster.kubectl(t, "delete", "--ignore-not-found", "--wait=false", "-f", root+"/deploy/install.yaml")
	cluster.nothingIsLeft(t)
}

// With the token of the operator and the roles of the manifests.
func (c *cluster) actsAsTenantsAlone(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	token, err := c.client.CoreV1().ServiceAccounts("boathook").CreateToken(ctx, "boathook", &authentication.TokenRequest{}, meta.CreateOptions{})
	check(t, err)
	c.restricted(t, "team-a")
	binding := &rbac.RoleBinding{
		ObjectMeta: meta.ObjectMeta{Name: "boathook-tenant"},
		RoleRef:    rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "ClusterRole", Name: "boathook-tenant"},
		Subjects:   []rbac.Subject{{Kind: "ServiceAccount", Name: "boathook", Namespace: "boathook"}},
	}
	_, err = c.client.RbacV1().RoleBindings("team-a").Create(ctx, binding, meta.CreateOptions{})
	check(t, err)
	as := func(user string, groups ...string) ([]string, error) {
		config := rest.AnonymousClientConfig(c.config)
		config.BearerToken = token.Status.Token
		config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
		client, err := kubernetes.NewForConfig(config)
		check(t, err)
		found, err := client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authentication.SelfSubjectReview{}, meta.CreateOptions{})
		if err != nil {
			return nil, err
		}
		return found.Status.UserInfo.Groups, nil
	}
	const tenant = "system:serviceaccount:team-a:default"
	// The API server's cache of bindings is behind for a moment.
	var groups []string
	eventually(t, "the operator acts as a ServiceAccount of team-a", func() bool {
		groups, err = as(tenant)
		return err == nil
	})
	want := []string{"system:serviceaccounts", "system:serviceaccounts:team-a", "system:authenticated"}
	if slices.Sort(groups); !slices.Equal(groups, slices.Sorted(slices.Values(want))) {
		t.Errorf("a ServiceAccount that is named alone is in %v", groups)
	}
	for _, user := range []string{"system:serviceaccount:kube-system:default", "system:serviceaccount:boathook:boathook", "system:admin"} {
		if _, err := as(user); !errors.IsForbidden(err) {
			t.Errorf("the operator acts as %s: %v", user, err)
		}
	}
	if _, err := as(tenant, "system:masters"); !errors.IsForbidden(err) {
		t.Errorf("the operator acts as one of system:masters: %v", err)
	}
}

// Of the operator; what hooks made is not its own.
func (c *cluster) nothingIsLeft(t *testing.T) {
	t.Helper()
	eventually(t, "nothing is left in the cluster", func() bool {
		for _, resource := range []schema.GroupVersionResource{
			{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"},
			{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"},
			{Group: "apps", Version: "v1", Resource: "deployments"},
			{Version: "v1", Resource: "services"},
			{Version: "v1", Resource: "pods"},
		} {
			found, err := c.dynamic.Resource(resource).List(t.Context(), meta.ListOptions{LabelSelector: "app.kubernetes.io/name=boathook"})
			if err != nil || len(found.Items) > 0 {
				return false
			}
		}
		return true
	})
}

func TestHelmInstallsUpgradesAndUninstalls(t *testing.T) {
	cluster := start(t)
	ctx := context.WithoutCancel(t.Context())
	cluster.restricted(t, "boathook")
	cluster.restricted(t, "team-a")
	flags := genericclioptions.NewConfigFlags(false)
	flags.KubeConfig, flags.Namespace = &cluster.kubeconfig, new("boathook")
	helm := action.NewConfiguration()
	check(t, helm.Init(flags, "boathook", "secret"))
	chart, err := loader.LoadDir(chartDir)
	check(t, err)

	install := action.NewInstall(helm)
	install.ReleaseName, install.Namespace = "boathook", "boathook"
	install.ServerSideApply, install.WaitStrategy, install.Timeout = true, kube.HookOnlyStrategy, time.Minute
	_, err = install.RunWithContext(ctx, chart, nil)
	check(t, err)
	cluster.hasPod(t, "boathook")

	upgrade := action.NewUpgrade(helm)
	upgrade.Namespace, upgrade.WaitStrategy, upgrade.Timeout = "boathook", kube.HookOnlyStrategy, time.Minute
	_, err = upgrade.RunWithContext(ctx, "boathook", chart, values(t, read(t, "testdata/values/bundles.yaml")))
	check(t, err)
	bundles := cluster.dynamic.Resource(schema.GroupVersionResource{Group: "boathook.dev", Version: "v1alpha1", Resource: "hookbundles"})
	_, err = bundles.Namespace("team-a").Get(ctx, "team-hooks", meta.GetOptions{})
	check(t, err)
	_, err = cluster.client.RbacV1().RoleBindings("team-a").Get(ctx, "boathook-tenant", meta.GetOptions{})
	check(t, err)

	uninstall := action.NewUninstall(helm)
	uninstall.WaitStrategy, uninstall.Timeout = kube.HookOnlyStrategy, time.Minute
	_, err = uninstall.Run("boathook")
	check(t, err)
	cluster.nothingIsLeft(t)
	if said := cluster.kubectl(t, "get", "crd", "hookbundles.boathook.dev", "-o", "name"); !strings.Contains(said, "hookbundles") {
		t.Error("the definition went, and with it every HookBundle")
	}
}
