package chart

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	helmrelease "helm.sh/helm/v4/pkg/release/v1"
	internals "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"
)

// pinned is a chart of somebody else. A Go module brings it, and none of it is in this repository.
type pinned struct {
	module, version, sum string
	// Of the chart, below the module's root.
	folder string
	// What the chart's own build writes into its Chart.yaml. Empty if the file has it.
	fill string
}

func (p pinned) name() string { return filepath.Base(p.folder) }

var (
	certManager = [2]pinned{
		{"github.com/cert-manager/cert-manager", "v1.20.0", "h1:czZamsFJ1YdKPhpv+SopJZN9t3W68vQBnFYUevSHGqY=", "deploy/charts/cert-manager", "v1.20.0"},
		{"github.com/cert-manager/cert-manager", "v1.21.2", "h1:UWgoYM+KLNtRlqmoWOKjKBOBUPVHeepQ6/ac3ERJW68=", "deploy/charts/cert-manager", "v1.21.2"},
	}
	// The charts 2.9.0 and 4.11.0: the proxy has no other version of this module.
	ingressNginx = [2]pinned{
		{"k8s.io/ingress-nginx", "v0.0.0-20200630043014-0e19740ee2e4", "h1:wTuBg4k2dFeAjrLHuYGfEhQlJVAHf6TVmC6GWpxQa0c=", "charts/ingress-nginx", ""},
		{"k8s.io/ingress-nginx", "v0.0.0-20240708192948-52c50467d67d", "h1:tZui5g6S4GO1hxLm6yrEoIXLkl4QfeGytlmZqZ+DmdQ=", "charts/ingress-nginx", ""},
	}
	// The charts 1.19.0 and 1.21.1.
	externalDNS = [2]pinned{
		{"sigs.k8s.io/external-dns", "v0.20.0", "h1:rJ4Q5c32NStvI8J+u2nyM4bcKxZG4g1NLPL0p994U9M=", "charts/external-dns", ""},
		{"sigs.k8s.io/external-dns", "v0.22.0", "h1:+ASJ3KF7DLqHo2LsG8Qinuh2J389MS86I19i/r8ewUc=", "charts/external-dns", ""},
	}
)

// write puts the chart into a folder, as its project publishes it.
func (p pinned) write(t *testing.T, to string) {
	t.Helper()
	command := exec.Command("go", "mod", "download", "-json", p.module+"@"+p.version)
	// Outside of a module, so that no go.sum changes.
	command.Dir = t.TempDir()
	said, err := command.Output()
	var found struct{ Dir, Sum, Error string }
	if json.Unmarshal(said, &found) != nil || found.Error != "" || err != nil {
		t.Fatalf("%s@%s: %s %v", p.module, p.version, found.Error, err)
	}
	if found.Sum != p.sum {
		t.Fatalf("%s@%s is %s, and not %s", p.module, p.version, found.Sum, p.sum)
	}
	check(t, os.RemoveAll(to))
	check(t, os.CopyFS(to, os.DirFS(filepath.Join(found.Dir, p.folder))))
	if p.fill == "" {
		return
	}
	about, err := os.ReadFile(to + "/Chart.yaml")
	if os.IsNotExist(err) {
		about, err = os.ReadFile(to + "/Chart.template.yaml")
	}
	check(t, err)
	if strings.Count(string(about), "ersion: v0.0.0") != 2 {
		t.Fatalf("%s: the Chart.yaml is another:\n%s", p.module, about)
	}
	check(t, os.RemoveAll(to+"/Chart.yaml"))
	write(t, to+"/Chart.yaml", strings.ReplaceAll(string(about), "ersion: v0.0.0", "ersion: "+p.fill))
}

func versionOf(t *testing.T, folder string) string {
	t.Helper()
	version, _ := load(t, folder+"/Chart.yaml")["version"].(string)
	return version
}

// writeModule makes a module whose chart has this one as its only dependency. With an alias, which is the module's key in
// values, the module's values are the dependency's.
func (p pinned) writeModule(t *testing.T, module, alias string, constants map[string]any) {
	t.Helper()
	check(t, os.RemoveAll(module))
	below := module + "/charts/" + p.name()
	p.write(t, below)
	dependency := map[string]any{"name": p.name(), "version": versionOf(t, below)}
	if alias != "" {
		dependency["alias"] = alias
	}
	about := map[string]any{"apiVersion": "v2", "name": p.name(), "version": versionOf(t, below), "dependencies": []any{dependency}}
	write(t, module+"/Chart.yaml", show(t, about))
	if constants != nil {
		write(t, module+"/values.yaml", show(t, map[string]any{p.name(): constants}))
	}
}

// helmRenders is what Helm's own library renders for this cluster. Objects of hooks and files of crds/ are not in it.
func (c *cluster) helmRenders(t *testing.T, chart string, as release, values map[string]any) objects {
	t.Helper()
	version, err := c.client.Discovery().ServerVersion()
	check(t, err)
	served, err := action.GetVersionSet(c.client.Discovery())
	check(t, err)
	loaded, err := loader.LoadDir(chart)
	check(t, err)
	install := action.NewInstall(action.NewConfiguration())
	install.DryRunStrategy = action.DryRunClient
	install.ReleaseName, install.Namespace = as.name, as.namespace
	install.KubeVersion = &common.KubeVersion{Version: version.GitVersion, Major: version.Major, Minor: version.Minor}
	install.APIVersions = served
	made, err := install.RunWithContext(t.Context(), loaded, values)
	check(t, err)
	found := objects{}
	for _, one := range parse(t, chart, made.(*helmrelease.Release).Manifest) {
		if one.text("metadata", "namespace") == "" && c.mapping(t, one).Scope.Name() == meta.RESTScopeNameNamespace {
			one["metadata"].(map[string]any)["namespace"] = as.namespace
		}
		found[one.key()] = one
	}
	if len(found) < 5 {
		t.Fatalf("%s renders only %v", chart, found.keys())
	}
	return found
}

// differences says where a live object is not as it was rendered. Fields that were not rendered may be there, too.
func differences(path string, rendered, live any) []string {
	switch rendered := rendered.(type) {
	case nil:
		return nil
	case map[string]any:
		fields, ok := live.(map[string]any)
		if !ok && len(rendered) > 0 && live != nil {
			return []string{fmt.Sprintf("%s is %v", path, live)}
		}
		var all []string
		for _, key := range slices.Sorted(maps.Keys(rendered)) {
			all = append(all, differences(path+"."+key, rendered[key], fields[key])...)
		}
		return all
	case []any:
		items, _ := live.([]any)
		if len(items) != len(rendered) {
			return []string{fmt.Sprintf("%s has %d items, and not %d", path, len(items), len(rendered))}
		}
		var all []string
		for i := range rendered {
			all = append(all, differences(fmt.Sprintf("%s[%d]", path, i), rendered[i], items[i])...)
		}
		return all
	}
	if same(rendered, live) {
		return nil
	}
	return []string{fmt.Sprintf("%s is %v, and not %v", path, live, rendered)}
}

func same(rendered, live any) bool {
	if fmt.Sprint(rendered) == fmt.Sprint(live) {
		return true
	}
	if live == nil {
		// The API server leaves these out.
		return slices.Contains([]any{"", false, int64(0), float64(0)}, rendered)
	}
	// It writes `1000m` as `1`.
	one, err := resource.ParseQuantity(fmt.Sprint(rendered))
	if err != nil {
		return false
	}
	other, err := resource.ParseQuantity(fmt.Sprint(live))
	return err == nil && one.Cmp(other) == 0
}

func yamlOf(t *testing.T, text string) map[string]any {
	t.Helper()
	var found map[string]any
	check(t, yaml.Unmarshal([]byte(text), &found))
	return found
}

// What the tests of charts compare with.
func TestEachDifferenceIsFound(t *testing.T) {
	live := yamlOf(t, "{spec: {a: x, size: 2, b: true, cpu: '1', list: [{name: c}]}, extra: 1}")
	for _, one := range []struct {
		rendered  string
		different int
	}{
		{"{spec: {a: x, size: 2, b: true, cpu: 1000m, list: [{name: c}], no: null, empty: {}, none: [], zero: 0, off: false, text: ''}}", 0},
		{"{spec: {a: y}}", 1},
		{"{spec: {a: z, size: 3, b: false}}", 3},
		{"{spec: {cpu: 2}}", 1},
		{"{spec: {list: []}}", 1},
		{"{spec: {list: [{name: d}]}}", 1},
		{"{spec: {list: [{name: c, image: i}]}}", 1},
		{"{spec: {more: {deep: x}}}", 1},
		{"{spec: {a: {deep: x}}}", 1},
		{"{other: {list: [1]}}", 1},
	} {
		if found := differences("", yamlOf(t, one.rendered), live); len(found) != one.different {
			t.Errorf("%s: %v", one.rendered, found)
		}
	}
}

// The API server drops what a definition does not know.
func TestDefinitionsKeepSettingsOfAnyDepth(t *testing.T) {
	for _, kind := range []string{"modules", "hookbundles"} {
		var definition apiextensions.CustomResourceDefinition
		check(t, yaml.UnmarshalStrict([]byte(read(t, root+"/deploy/crds/"+kind+".boathook.dev.yaml")), &definition))
		for _, version := range definition.Spec.Versions {
			var internal internals.JSONSchemaProps
			check(t, apiextensions.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, &internal, nil))
			schema, err := structural.NewStructural(&internal)
			check(t, err)
			kept := yamlOf(t, "{spec: {settings: {a: {b: {c: 1}}, list: [{x: {z: 2}}]}}}")
			pruning.Prune(kept, schema, true)
			if lost := differences("", yamlOf(t, "{spec: {settings: {a: {b: {c: 1}}, list: [{x: {z: 2}}]}}}"), kept); len(lost) > 0 {
				t.Errorf("%s %s: %v", kind, version.Name, lost)
			}
		}
	}
}
