package chart

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

var namedTest = regexp.MustCompile("`((?:src|tests|cluster)/[^`:]+)::([A-Za-z0-9_]+)`")

// A claim of the threat model is worth what its test is.
func TestTheThreatModelNamesTestsThatThereAre(t *testing.T) {
	claims := namedTest.FindAllStringSubmatch(read(t, root+"/docs/admin/threat-model.md"), -1)
	if len(claims) < 20 {
		t.Fatalf("only %d tests are named", len(claims))
	}
	for _, claim := range claims {
		text, err := os.ReadFile(root + "/" + claim[1])
		if err != nil {
			t.Errorf("%s: %v", claim[1], err)
			continue
		}
		function := regexp.MustCompile(`(?m)(fn|func) ` + claim[2] + `\(`)
		if !function.Match(text) {
			t.Errorf("%s has no test %s", claim[1], claim[2])
		}
	}
}

// Values in the book are values of the chart: the schema refuses others.
func TestTheBooksValuesAreTheCharts(t *testing.T) {
	fence := regexp.MustCompile("(?s)```yaml\n(.*?)```")
	tried := 0
	for _, page := range []string{"install", "monitoring"} {
		for _, block := range fence.FindAllStringSubmatch(read(t, root+"/docs/admin/"+page+".md"), -1) {
			var values map[string]any
			if err := yaml.UnmarshalStrict([]byte(block[1]), &values); err != nil {
				t.Errorf("%s: %v", page, err)
				continue
			}
			if values["apiVersion"] != nil {
				continue
			}
			tried++
			typedAll(t, chart(t, standard, values))
		}
	}
	if tried == 0 {
		t.Error("the book has no values")
	}
}

func typedAll(t *testing.T, objects objects) {
	t.Helper()
	for _, key := range objects.keys() {
		typed(t, objects[key])
	}
}

// What the book says of values exists: `a.b.c` in the tables and sentences about the chart.
func TestTheBookNamesValuesThatThereAre(t *testing.T) {
	values := load(t, chartDir+"/values.yaml")
	tops := []string{}
	for top := range values {
		tops = append(tops, regexp.QuoteMeta(top))
	}
	named := regexp.MustCompile("`((?:" + strings.Join(tops, "|") + `)(?:\.[A-Za-z]+)+)(?::[^` + "`]*)?`")
	pages, err := os.ReadDir(root + "/docs/admin")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		for _, name := range named.FindAllStringSubmatch(read(t, path.Join(root, "docs/admin", page.Name())), -1) {
			var value any = values
			for _, key := range strings.Split(name[1], ".") {
				fields, _ := value.(map[string]any)
				inner, there := fields[key]
				if !there && len(fields) > 0 {
					t.Errorf("%s: the chart has no value %s", page.Name(), name[1])
					break
				}
				value = inner
			}
		}
	}
}
