// Command differential compares the chart engine with Helm's own library, for all charts below a directory.
//
//	differential DIR TABLE.tsv
//
// Each chart is rendered with its own values, and with each file of its folder `ci`. The table gets a line for each of them. Charts
// that are in the table already are skipped, so that a comparison can be continued.
package main

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) != 3 {
		fail("usage: differential DIR TABLE.tsv")
	}
	if err := compare(os.Args[1], os.Args[2]); err != nil {
		fail(err)
	}
}

func fail(why any) {
	fmt.Fprintln(os.Stderr, "differential:", why)
	os.Exit(1)
}

func compare(root, table string) error {
	charts, err := chartsBelow(root)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "differential")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	program, err := built(folder)
	if err != nil {
		return err
	}
	done, err := lines(table)
	if err != nil {
		return err
	}
	out, err := os.OpenFile(table, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	engine, err := started(program)
	if err != nil {
		return err
	}
	defer func() { engine.end() }()
	for _, one := range renderings(charts) {
		name, err := filepath.Rel(root, one.chart)
		if err != nil {
			return err
		}
		key := fmt.Sprintf("%s\t%s\t%s", name, versionOf(one.chart), one.name())
		if done[key] {
			continue
		}
		verdict, err := verdictOf(engine, one.chart, one.values)
		if err != nil {
			// The program ended. The next chart has a new one.
			engine.end()
			if engine, err = started(program); err != nil {
				return err
			}
			verdict = "different: the engine ended"
		}
		if _, err := fmt.Fprintf(out, "%s\t%s\n", key, verdict); err != nil {
			return err
		}
	}
	return nil
}

// wanted is a chart with a file of values, which may be empty.
type wanted struct{ chart, values string }

func (w wanted) name() string {
	if w.values == "" {
		return "-"
	}
	return filepath.Base(w.values)
}

// renderings are all charts with their own values, and then those with the values that they bring for tests.
func renderings(charts []string) []wanted {
	var all, more []wanted
	for _, chart := range charts {
		all = append(all, wanted{chart, ""})
		found, _ := filepath.Glob(filepath.Join(chart, "ci", "*values.yaml"))
		for _, values := range found {
			more = append(more, wanted{chart, values})
		}
	}
	return append(all, more...)
}

// lines are the first three columns of a table that is there already.
func lines(table string) (map[string]bool, error) {
	done := map[string]bool{}
	in, err := os.Open(table)
	if os.IsNotExist(err) {
		return done, nil
	}
	if err != nil {
		return nil, err
	}
	defer in.Close()
	scanner := bufio.NewScanner(in)
	for scanner.Scan() {
		if at := strings.LastIndex(scanner.Text(), "\t"); at >= 0 {
			done[scanner.Text()[:at]] = true
		}
	}
	return done, scanner.Err()
}

func versionOf(chart string) string {
	if loaded, err := loader.LoadDir(chart); err == nil {
		return loaded.Metadata.Version
	}
	return "-"
}

// verdictOf compares one rendering. Of what Helm itself renders differently each time, such as passwords, the other lines are
// compared.
func verdictOf(engine *child, chart, values string) (string, error) {
	r := &request{Chart: chart, Values: map[string]any{}, Kube: "v1.36.0"}
	if values != "" {
		text, err := os.ReadFile(values)
		if err == nil {
			err = yaml.Unmarshal(text, &r.Values)
		}
		if err != nil {
			return "skipped: the values cannot be read", nil
		}
	}
	wanted := native(r)
	got, err := engine.render(r)
	if err != nil {
		return "", err
	}
	count := len(wanted.Manifests) + len(wanted.Hooks)
	if got.text() == wanted.text() {
		if wanted.Error != "" {
			return "equal, with an error", nil
		}
		return fmt.Sprintf("equal, %d manifests", count), nil
	}
	// Some of what is random, such as the order of a map, is the same now and then.
	random, ours := map[int]bool{}, differing(wanted, got)
	for range 8 {
		maps.Copy(random, differing(wanted, native(r)))
		equal := ours != nil
		for line := range ours {
			equal = equal && random[line]
		}
		if equal {
			return fmt.Sprintf("equal, %d manifests, except for %d lines that are random", count, len(random)), nil
		}
	}
	return "different", nil
}

// differing are the lines in which two renderings differ. None if they do not have the same lines.
func differing(a, b *rendering) map[int]bool {
	lines := func(r *rendering) []string { return strings.Split(strings.ReplaceAll(r.text(), "\\n", "\n"), "\n") }
	first, second := lines(a), lines(b)
	if len(first) != len(second) {
		return nil
	}
	differing := map[int]bool{}
	for i := range first {
		if first[i] != second[i] {
			differing[i] = true
		}
	}
	return differing
}
