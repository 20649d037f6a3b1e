package chart

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"sigs.k8s.io/yaml"
)

// rendered is all that deploy/ can make here: the base, with each component, and the chart with each values file.
func rendered(t *testing.T) map[string]objects {
	t.Helper()
	found := map[string]objects{"base": kustomize(t, base), "chart": chart(t, standard, nil)}
	components, err := os.ReadDir(root + "/deploy/kustomize/components")
	if err != nil {
		t.Fatal(err)
	}
	for _, component := range components {
		found["base with "+component.Name()] = withComponent(t, component.Name())
	}
	for name, values := range valuesFiles(t) {
		found["chart with "+name] = chart(t, release{"prod", "hooks"}, values)
	}
	return found
}

func TestHelmLints(t *testing.T) {
	all := valuesFiles(t)
	all["none"] = map[string]any{}
	for name, values := range all {
		kube := &common.KubeVersion{Version: "v1.36.3", Major: "1", Minor: "36"}
		found := lint.RunAll(chartDir, values, "hooks", lint.WithKubeVersion(kube))
		for _, message := range found.Messages {
			if message.Severity > support.InfoSev {
				t.Errorf("with %s: %s", name, message.Error())
			}
		}
	}
}

func TestEachObjectIsWhatKubernetesKnows(t *testing.T) {
	for name, objects := range rendered(t) {
		t.Run(name, func(t *testing.T) {
			for _, key := range objects.keys() {
				typed(t, objects[key])
			}
		})
	}
}

// Helm's own labels are not in the base, and its objects know their release.
func TestTheChartMakesTheBase(t *testing.T) {
	fromBase, fromChart := kustomize(t, base), chart(t, standard, nil)
	// Helm makes the namespace, if somebody asks it to.
	delete(fromBase, "Namespace//boathook")
	if !reflect.DeepEqual(fromBase.keys(), fromChart.keys()) {
		t.Fatalf("the base has %v\nthe chart has %v", fromBase.keys(), fromChart.keys())
	}
	for _, key := range fromBase.keys() {
		want, got := plain(fromBase[key]), plain(fromChart[key])
		if !reflect.DeepEqual(want, got) {
			t.Errorf("%s: the base has\n%s\nthe chart has\n%s", key, show(t, want), show(t, got))
		}
	}
}

func plain(one object) object {
	out := without(map[string]any(one), "app.kubernetes.io/instance").(map[string]any)
	delete(out, "metadata")
	if spec, ok := object(out).at("spec", "template", "spec").(map[string]any); ok {
		for _, container := range spec["containers"].([]any) {
			// Kubernetes' own default for a tag that is not latest.
			delete(container.(map[string]any), "imagePullPolicy")
		}
	}
	return out
}

func without(value any, key string) any {
	switch value := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, inner := range value {
			if name != key {
				out[name] = without(inner, key)
			}
		}
		return out
	case []any:
		var out []any
		for _, inner := range value {
			out = append(out, without(inner, key))
		}
		return out
	}
	return value
}

func show(t *testing.T, value any) string {
	t.Helper()
	text, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestInstallYamlIsTheBase(t *testing.T) {
	written, now := parse(t, "install.yaml", read(t, root+"/deploy/install.yaml")), kustomize(t, base)
	if !reflect.DeepEqual(written, now) {
		t.Error("deploy/install.yaml is not up to date: run tools/deploy-manifests")
	}
}

func TestTheChartHasTheFilesOfDeploy(t *testing.T) {
	for _, file := range []string{"crds/hookbundles.boathook.dev.yaml", "crds/modules.boathook.dev.yaml", "monitoring/dashboard.json", "monitoring/prometheus-rule.yaml"} {
		copied := chartDir + "/files/" + file[strings.Index(file, "/")+1:]
		if read(t, root+"/deploy/"+file) != read(t, copied) {
			t.Errorf("%s is not up to date: run tools/deploy-manifests", copied)
		}
	}
}

func TestValuesThatAreWrongAreRefused(t *testing.T) {
	for _, refused := range []struct{ name, values, because string }{
		{"a key that is none", "replica: 2", "replica"},
		{"a word that is none", "hookBundles: {mode: perhaps}", "hookBundles"},
		{"a digest that is none", "image: {digest: latest}", "digest"},
		{"a namespace that is none", "hookBundles: {namespaces: [Team]}", "namespaces"},
		{"more grace than there is", "gracePeriod: 60s", "gracePeriod"},
		{"a private key", "trust: {keys: {team.key: '-----BEGIN PRIVATE KEY-----'}}", "keys"},
		{"two ways of hooks", "hooks: {image: {reference: a}, initContainer: {image: b}}", "remove one of them"},
		{"bundles without trust", "hooks: {references: [registry.example.com/a:v1]}", "trust.policy or trust.keys"},
		{"two kinds of trust", "{hooks: {references: [r.example.com/a:v1]}, trust: {unverified: true, keys: {a: '-----BEGIN PUBLIC KEY-----'}}}", "useless"},
		{"no check of nothing", "trust: {unverified: true}", "HookBundles say"},
		{"one cache for two", "{replicas: 2, cache: {existingClaim: c}}", "a cache of its own"},
		{"less than no replica", "replicas: -1", "replicas"},
		{"too short a lease", "leaderElection: {leaseDuration: 1s}", "leaseDuration"},
		{"no account", "serviceAccount: {create: false}", "serviceAccount.name"},
	} {
		t.Run(refused.name, func(t *testing.T) {
			_, err := renderChart(standard, values(t, refused.values))
			if err == nil || !strings.Contains(err.Error(), refused.because) {
				t.Errorf("want a refusal that says %q, got: %v", refused.because, err)
			}
		})
	}
}

// Without the Lease, or the right to it, each replica would run every hook, or none would.
func TestReplicasElectOne(t *testing.T) {
	for name, found := range map[string]objects{
		"component":    withComponent(t, "replicas"),
		"chart":        chart(t, standard, values(t, "replicas: 2")),
		"always":       chart(t, standard, values(t, "leaderElection: {mode: always}")),
		"another name": chart(t, release{"prod", "boathook"}, values(t, "{replicas: 2, fullnameOverride: boathook}")),
	} {
		deployment := found.get(t, "Deployment/boathook/boathook")
		replicas := float64(2)
		if name == "always" {
			replicas = 1
		}
		if deployment.at("spec", "replicas") != replicas || deployment.text("spec", "strategy", "type") != "RollingUpdate" {
			t.Errorf("%s: %s", name, show(t, deployment.at("spec", "strategy")))
		}
		containers := named(deployment.at("spec", "template", "spec", "containers"))
		environment := named(containers["boathook"].at("env"))
		lease := environment["BOATHOOK_LEASE_NAME"].text("value")
		if environment["BOATHOOK_LEADER_ELECT"].text("value") != "true" || lease == "" {
			t.Errorf("%s: the environment is %v", name, environment)
		}
		rules := show(t, found.get(t, "Role/boathook/boathook").at("rules"))
		for _, rule := range []any{
			map[string]any{"apiGroups": []any{"coordination.k8s.io"}, "resources": []any{"leases"}, "verbs": []any{"create"}},
			map[string]any{"apiGroups": []any{"coordination.k8s.io"}, "resources": []any{"leases"},
				"resourceNames": []any{lease}, "verbs": []any{"get", "watch", "patch"}},
		} {
			if !strings.Contains(rules, show(t, []any{rule})) {
				t.Errorf("%s: no rule\n%sin\n%s", name, show(t, []any{rule}), rules)
			}
		}
	}
	one := show(t, chart(t, standard, nil))
	if strings.Contains(one, "leases") || strings.Contains(one, "LEADER_ELECT") {
		t.Error("a single replica needs no Lease")
	}
}

func TestEveryFieldOfThePodTemplateIsInReach(t *testing.T) {
	found := chart(t, standard, values(t, `
podTemplate:
  metadata:
    annotations: {example.com/team: platform}
  spec:
    hostAliases: [{ip: 10.0.0.1, hostnames: [registry.example.com]}]
    terminationGracePeriodSeconds: 90
    topologySpreadConstraints: null
    containers:
    - name: boathook
      env:
      - {name: BOATHOOK_LOG_FORMAT, value: text}
      - {name: HTTPS_PROXY, value: "http://proxy:3128"}
      securityContext: {readOnlyRootFilesystem: false}
      livenessProbe: null
    - {name: sidecar, image: "example.com/sidecar:v1"}
    volumes:
    - {name: tmp, emptyDir: {sizeLimit: 1Gi}}
`)).get(t, "Deployment/boathook/boathook")
	pod := object(found.at("spec", "template", "spec").(map[string]any))
	if found.text("spec", "template", "metadata", "annotations", "example.com/team") != "platform" {
		t.Error("the annotation is missing")
	}
	if found.text("spec", "template", "metadata", "labels", "app.kubernetes.io/name") != "boathook" {
		t.Error("the chart's own label is lost")
	}
	if pod.at("topologySpreadConstraints") != nil || pod.at("terminationGracePeriodSeconds") != float64(90) || pod.at("hostAliases") == nil {
		t.Errorf("the Pod is\n%s", show(t, pod))
	}
	containers := named(pod.at("containers"))
	operator := containers["boathook"]
	environment := named(operator.at("env"))
	if environment["BOATHOOK_LOG_FORMAT"].text("value") != "text" || environment["HTTPS_PROXY"] == nil || environment["BOATHOOK_LISTEN"] == nil {
		t.Errorf("the environment is %v", environment)
	}
	if operator.at("livenessProbe") != nil || operator.at("readinessProbe") == nil || containers["sidecar"] == nil {
		t.Errorf("the containers are %v", containers)
	}
	if operator.at("securityContext", "readOnlyRootFilesystem") != false || operator.at("securityContext", "allowPrivilegeEscalation") != false {
		t.Errorf("the security context is %v", operator.at("securityContext"))
	}
	volumes := named(pod.at("volumes"))
	if volumes["tmp"].text("emptyDir", "sizeLimit") != "1Gi" || volumes["cache"] == nil {
		t.Errorf("the volumes are %v", volumes)
	}
}

func named(list any) map[string]object {
	found := map[string]object{}
	items, _ := list.([]any)
	for _, item := range items {
		one := object(item.(map[string]any))
		found[one.text("name")] = one
	}
	return found
}
