package chart

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

func pods(t *testing.T, objects objects) []*core.PodTemplateSpec {
	t.Helper()
	var found []*core.PodTemplateSpec
	for _, key := range objects.keys() {
		if one, ok := typed(t, objects[key]).(*apps.Deployment); ok {
			found = append(found, &one.Spec.Template)
		}
	}
	if len(found) == 0 {
		t.Fatal("there is no Deployment")
	}
	return found
}

// The rules of Kubernetes' own admission, not a list of ours.
// mutant: deploy/kustomize/base/deployment.yaml: `readOnlyRootFilesystem: true` => `readOnlyRootFilesystem: false`
// mutant: deploy/charts/boathook/templates/_pod.tpl: `runAsNonRoot: true` => `runAsNonRoot: false`
func TestPodsAreRestricted(t *testing.T) {
	checks, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	for name, objects := range rendered(t) {
		for _, pod := range pods(t, objects) {
			for _, result := range checks.EvaluatePod(level, &pod.ObjectMeta, &pod.Spec) {
				if !result.Allowed {
					t.Errorf("%s: %s: %s", name, result.ForbiddenReason, result.ForbiddenDetail)
				}
			}
			for _, container := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
				context := container.SecurityContext
				if context == nil || context.ReadOnlyRootFilesystem == nil || !*context.ReadOnlyRootFilesystem {
					t.Errorf("%s: container %s can write to its image", name, container.Name)
				}
				if container.Resources.Limits.Memory().IsZero() || container.Resources.Requests.Memory().IsZero() {
					t.Errorf("%s: container %s has no bound of memory", name, container.Name)
				}
			}
		}
	}
}

// The kubelet gives whatever is in a volume to fsGroup, to be written by; the cache of compiled code is not used then.
func TestTheGroupGetsNoCompiledCode(t *testing.T) {
	for name, objects := range rendered(t) {
		for _, pod := range pods(t, objects) {
			context := pod.Spec.SecurityContext
			once := context.FSGroupChangePolicy != nil && *context.FSGroupChangePolicy == core.FSGroupChangeOnRootMismatch
			if context.FSGroup != nil && !once {
				t.Errorf("%s: fsGroup is applied at each start", name)
			}
		}
	}
	claimed := pods(t, chart(t, standard, values(t, "cache: {existingClaim: c}")))[0]
	if claimed.Spec.SecurityContext.FSGroup == nil {
		t.Error("a claim's volume can't be written to")
	}
}

// What every mount names is there, and what is there is mounted.
func TestVolumesAreMounted(t *testing.T) {
	for name, objects := range rendered(t) {
		for _, pod := range pods(t, objects) {
			var there, mounted []string
			for _, volume := range pod.Spec.Volumes {
				there = append(there, volume.Name)
			}
			for _, container := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
				for _, mount := range container.VolumeMounts {
					mounted = append(mounted, mount.Name)
				}
			}
			slices.Sort(there)
			slices.Sort(mounted)
			if !slices.Equal(there, slices.Compact(mounted)) {
				t.Errorf("%s: volumes %v, mounts %v", name, there, mounted)
			}
		}
	}
}

// Rights that make an operator's token worth a cluster's.
// mutant: deploy/kustomize/base/rbac-tenant.yaml: `resources: [serviceaccounts]` => `resources: [serviceaccounts, groups]`
// mutant: deploy/charts/boathook/templates/rbac.yaml: `resources: [hookbundles]` => `resources: ["*"]`
func TestRolesHoldNothingThatLeadsFurther(t *testing.T) {
	for name, objects := range rendered(t) {
		for _, key := range objects.keys() {
			var rules []rbac.PolicyRule
			clusterWide := true
			switch one := typed(t, objects[key]).(type) {
			case *rbac.ClusterRole:
				rules = one.Rules
			case *rbac.Role:
				rules, clusterWide = one.Rules, false
			}
			for _, rule := range rules {
				for _, word := range slices.Concat(rule.Verbs, rule.Resources, rule.APIGroups) {
					if word == "*" || word == "bind" || word == "escalate" {
						t.Errorf("%s: %s has %q: %v", name, key, word, rule)
					}
				}
				if slices.Contains(rule.Verbs, "impersonate") && !slices.Equal(rule.Resources, []string{"serviceaccounts"}) {
					t.Errorf("%s: %s impersonates %v", name, key, rule.Resources)
				}
				reads := slices.Contains(rule.Resources, "secrets") || slices.Contains(rule.Verbs, "impersonate")
				if clusterWide && reads && !strings.HasSuffix(key, "-tenant") {
					t.Errorf("%s: %s has, everywhere: %v", name, key, rule)
				}
			}
		}
	}
}

// That role counts only where it is bound.
// mutant: deploy/charts/boathook/templates/rbac.yaml: `{{- if .Values.hookBundles.allNamespaces }}` => `{{- if true }}`
func TestTenantsAreBoundOneByOne(t *testing.T) {
	everywhere := []string{"base with all-namespaces", "chart with everything"}
	for name, objects := range rendered(t) {
		for _, key := range objects.keys() {
			one, ok := typed(t, objects[key]).(*rbac.ClusterRoleBinding)
			if ok && strings.HasSuffix(one.RoleRef.Name, "-tenant") && !slices.Contains(everywhere, name) {
				t.Errorf("%s: %s binds it everywhere", name, key)
			}
		}
	}
	bound := chart(t, standard, values(t, "hookBundles: {namespaces: [team-a, team-b]}"))
	for _, namespace := range []string{"team-a", "team-b"} {
		bound.get(t, "RoleBinding/"+namespace+"/boathook-tenant")
	}
}

func TestEveryRoleThatIsBoundIsThere(t *testing.T) {
	for name, objects := range rendered(t) {
		for _, key := range objects.keys() {
			one := objects[key]
			if !strings.HasSuffix(one.text("kind"), "RoleBinding") {
				continue
			}
			kind, role, namespace := one.text("roleRef", "kind"), one.text("roleRef", "name"), one.text("metadata", "namespace")
			if kind == "ClusterRole" {
				namespace = ""
			}
			if _, there := objects[kind+"/"+namespace+"/"+role]; !there && role != "view" {
				t.Errorf("%s: %s binds %s %s, which is not there", name, key, kind, role)
			}
			for _, subject := range one["subjects"].([]any) {
				account := object(subject.(map[string]any))
				if _, there := objects["ServiceAccount/"+account.text("namespace")+"/"+account.text("name")]; !there && name != "chart with own-account" {
					t.Errorf("%s: %s is for %v, which is not there", name, key, account)
				}
			}
		}
	}
}

// The operator's flags and variables are those of its reference, which is generated.
func TestTheOperatorKnowsItsFlags(t *testing.T) {
	page := read(t, root+"/docs/reference/cli.md")
	from := strings.Index(page, "## boathook serve\n")
	page = page[from : from+strings.Index(page[from+1:], "\n## ")]
	flag := regexp.MustCompile(`^--[a-z-]+`)
	for name, objects := range rendered(t) {
		for _, pod := range pods(t, objects) {
			for _, container := range pod.Spec.Containers {
				if container.Name != "boathook" {
					continue
				}
				for _, variable := range container.Env {
					if strings.HasPrefix(variable.Name, "BOATHOOK_") && !strings.Contains(page, "[env: "+variable.Name+"=]") {
						t.Errorf("%s: boathook serve does not read %s", name, variable.Name)
					}
				}
				for _, arg := range container.Args {
					if long := flag.FindString(arg); long != "" && !strings.Contains(page, long+" ") && !strings.Contains(page, long+"\n") {
						t.Errorf("%s: boathook serve has no %s", name, long)
					}
				}
			}
		}
	}
}

// Services and policies name ports of the container by words.
func TestNamesOfPortsLeadSomewhere(t *testing.T) {
	for name, objects := range rendered(t) {
		ports := map[string]bool{}
		for _, pod := range pods(t, objects) {
			for _, container := range pod.Spec.Containers {
				for _, port := range container.Ports {
					ports[port.Name] = true
				}
			}
		}
		for _, key := range objects.keys() {
			if service, ok := typed(t, objects[key]).(*core.Service); ok {
				for _, port := range service.Spec.Ports {
					if !ports[port.TargetPort.StrVal] {
						t.Errorf("%s: %s leads to port %s, of %v", name, key, port.TargetPort.StrVal, ports)
					}
				}
			}
		}
	}
}
