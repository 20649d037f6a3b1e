// Package chart holds deploy/ against itself and against Kubernetes: the chart and the kustomize base are rendered by
// their own libraries, and what comes out is read by the strict decoders of the API machinery. No cluster is asked.
package chart

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const (
	root     = "../.."
	chartDir = root + "/deploy/charts/boathook"
	base     = root + "/deploy/kustomize/base"
)

// object is one of Kubernetes, as it was written.
type object map[string]any

func (o object) at(path ...string) any {
	var value any = map[string]any(o)
	for _, key := range path {
		fields, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = fields[key]
	}
	return value
}

func (o object) text(path ...string) string {
	text, _ := o.at(path...).(string)
	return text
}

func (o object) key() string {
	return strings.Join([]string{o.text("kind"), o.text("metadata", "namespace"), o.text("metadata", "name")}, "/")
}

// objects by key; two of one key are an error.
type objects map[string]object

func (o objects) keys() []string {
	var keys []string
	for key := range o {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

func (o objects) get(t *testing.T, key string) object {
	t.Helper()
	found, ok := o[key]
	if !ok {
		t.Fatalf("there is no %s, only %s", key, strings.Join(o.keys(), ", "))
	}
	return found
}

func parse(t *testing.T, where, text string) objects {
	t.Helper()
	found := objects{}
	for _, document := range strings.Split("\n"+text, "\n---") {
		var one object
		if err := yaml.UnmarshalStrict([]byte(document), &one); err != nil {
			t.Fatalf("%s: %v in\n%s", where, err, document)
		}
		if one == nil {
			continue
		}
		if _, twice := found[one.key()]; twice {
			t.Fatalf("%s: %s is there twice", where, one.key())
		}
		found[one.key()] = one
	}
	return found
}

// release is what a chart is rendered as.
type release struct{ name, namespace string }

var standard = release{"boathook", "boathook"}

func renderChart(as release, values map[string]any) (map[string]string, error) {
	chart, err := loader.LoadDir(chartDir)
	if err != nil {
		return nil, err
	}
	caps := common.DefaultCapabilities.Copy()
	caps.KubeVersion = common.KubeVersion{Version: "v1.36.3", Major: "1", Minor: "36"}
	options := common.ReleaseOptions{Name: as.name, Namespace: as.namespace, Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(chart, values, options, caps)
	if err != nil {
		return nil, err
	}
	return engine.Render(chart, all)
}

func chart(t *testing.T, as release, values map[string]any) objects {
	t.Helper()
	files, err := renderChart(as, values)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for name := range files {
		if strings.HasSuffix(name, ".yaml") {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	var all strings.Builder
	for _, name := range names {
		fmt.Fprintf(&all, "---\n%s\n", files[name])
	}
	return parse(t, "the chart", all.String())
}

func kustomize(t *testing.T, dir string) objects {
	t.Helper()
	options := krusty.MakeDefaultOptions()
	found, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	text, err := found.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, dir, string(text))
}

// withComponent is the base with a component on it.
func withComponent(t *testing.T, component string) objects {
	t.Helper()
	dir, err := os.MkdirTemp(root+"/deploy/kustomize", "test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	text := "resources: [../base]\ncomponents: [../components/" + component + "]\n"
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return kustomize(t, dir)
}

func valuesFiles(t *testing.T) map[string]map[string]any {
	t.Helper()
	files, err := filepath.Glob("testdata/values/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no values files: ", err)
	}
	found := map[string]map[string]any{}
	for _, file := range files {
		found[strings.TrimSuffix(filepath.Base(file), ".yaml")] = load(t, file)
	}
	return found
}

func load(t *testing.T, file string) map[string]any {
	t.Helper()
	var values map[string]any
	if err := yaml.UnmarshalStrict([]byte(read(t, file)), &values); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return values
}

func values(t *testing.T, text string) map[string]any {
	t.Helper()
	var found map[string]any
	if err := yaml.UnmarshalStrict([]byte(text), &found); err != nil {
		t.Fatal(err)
	}
	return found
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var known = func() *runtime.Scheme {
	all := runtime.NewScheme()
	if err := scheme.AddToScheme(all); err != nil {
		panic(err)
	}
	if err := apiextensions.AddToScheme(all); err != nil {
		panic(err)
	}
	return all
}()

// typed reads an object as its Go type and refuses fields that the type does not have. Nil for kinds of others.
func typed(t *testing.T, one object) runtime.Object {
	t.Helper()
	for _, group := range []string{"monitoring.coreos.com/", "boathook.dev/"} {
		if strings.HasPrefix(one.text("apiVersion"), group) {
			return nil
		}
	}
	text, err := yaml.Marshal(one)
	if err != nil {
		t.Fatal(err)
	}
	strict := json.NewSerializerWithOptions(json.DefaultMetaFactory, known, known, json.SerializerOptions{Yaml: true, Strict: true})
	found, _, err := strict.Decode(text, nil, nil)
	if err != nil {
		t.Errorf("%s: %v", one.key(), err)
		return nil
	}
	return found
}
