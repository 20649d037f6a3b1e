package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write what Helm's own library renders to testdata/expected")

// one is a case of testdata/cases.yaml.
type one struct {
	request
	Name string
}

func cases(t *testing.T) []one {
	var all []one
	var cluster []map[string]any
	for path, to := range map[string]any{"testdata/cases.yaml": &all, "testdata/cluster.yaml": &cluster} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(text, to); err != nil {
			t.Fatal(path, err)
		}
	}
	for i := range all {
		all[i].Chart = filepath.Join("testdata/charts", all[i].Chart)
		all[i].Cluster = cluster
		if all[i].Kube == "" {
			all[i].Kube = "v1.36.0"
		}
	}
	return all
}

func running(t *testing.T) *child {
	program, err := built(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	engine, err := started(program)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(engine.end)
	return engine
}

func TestChartsRenderAsWithHelm(t *testing.T) {
	engine := running(t)
	for _, c := range cases(t) {
		wanted := native(&c.request)
		got, err := engine.render(&c.request)
		if err != nil {
			t.Fatal(c.Name, err)
		}
		if got.text() != wanted.text() {
			t.Errorf("%s: Helm renders\n%s\nand the engine\n%s", c.Name, wanted.text(), got.text())
		}
		path := filepath.Join("testdata/expected", c.Name+".json")
		if *update {
			if err := os.WriteFile(path, []byte(wanted.text()+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		// The component is compared with these files, in tests/it/charts.
		if expected, err := os.ReadFile(path); err != nil || string(expected) != wanted.text()+"\n" {
			t.Errorf("%s: %s is not what Helm renders: run go test -update (%v)", c.Name, path, err)
		}
	}
}

// What each case is there for.
func TestCasesShowWhatTheyAreFor(t *testing.T) {
	wanted := map[string]string{
		"fails": "port is missing: set it", "requires": "set .Values.port", "parses": "parse error at (parses/templates/a.yaml:2)",
		"executes": "nil pointer evaluating interface {}.b", "yaml": "YAML parse error on yaml/templates/a.yaml",
		"recurses": "rendering template has a nested reference name: r", "unknown": `function "nope" not defined`,
		"future":  "chart requires kubeVersion: >=9.0 which is incompatible with Kubernetes v1.36.0",
		"nochart": "Chart.yaml file is missing", "badschema": "values don't meet the specifications of the schema(s)",
		"app-tables": "type mismatch on primary",
		"app-schema": "values don't meet the specifications of the schema(s)",
	}
	for _, c := range cases(t) {
		rendered := native(&c.request)
		if text, ok := wanted[c.Name]; ok != (rendered.Error != "") && c.Name != "wrongversion" || !strings.Contains(rendered.Error, text) {
			t.Errorf("%s: %q", c.Name, rendered.Error)
		}
	}
}

func TestChartsOfGoModulesRenderAsWithHelm(t *testing.T) {
	charts, err := chartsBelow(helmSource(t))
	if err != nil {
		t.Fatal(err)
	}
	engine := running(t)
	counts := map[string]int{}
	for _, chart := range charts {
		verdict, err := verdictOf(engine, chart, "")
		if err != nil {
			t.Fatal(chart, err)
		}
		kind, _, _ := strings.Cut(verdict, ",")
		counts[kind]++
		if strings.HasPrefix(verdict, "different") {
			t.Errorf("%s: %s", chart, verdict)
		}
	}
	t.Log(counts)
	if counts["equal"] < 30 {
		t.Errorf("only %d charts of Helm's module are compared", counts["equal"])
	}
}

func TestHelmAssumesTheVersionsThatTheEngineHas(t *testing.T) {
	text, err := os.ReadFile("../stub/client-go/kubernetes/scheme/known.go")
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, `"`) {
			known = append(known, strings.Trim(line, `",`))
		}
	}
	if wanted := strings.Join(chartutil.DefaultVersionSet, "\n\t\""); strings.Join(known, "\n\t\"") != wanted {
		t.Errorf("Helm assumes %v, and the engine %v", chartutil.DefaultVersionSet, known)
	}
}

// helmSource is the folder of Helm's module, with the charts of its own tests.
func helmSource(t *testing.T) string {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "helm.sh/helm/v3").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
