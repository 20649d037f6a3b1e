package chart

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/VictoriaMetrics/metricsql"
)

// metric is one of the operator, as docs/reference/metrics.md has it.
type metric struct {
	kind   string
	labels []string
}

func metrics(t *testing.T) map[string]metric {
	t.Helper()
	line := regexp.MustCompile("(?m)^\\| `(boathook_[a-z_]+)` \\| ([a-z]+) \\| ([^|]+) \\|")
	found := map[string]metric{}
	for _, row := range line.FindAllStringSubmatch(read(t, root+"/docs/reference/metrics.md"), -1) {
		one := metric{kind: row[2]}
		for _, label := range strings.Split(row[3], ",") {
			one.labels = append(one.labels, strings.TrimSpace(label))
		}
		if one.kind == "histogram" {
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				part := metric{"counter", slices.Clone(one.labels)}
				if suffix == "_bucket" {
					part.labels = append(part.labels, "le")
				}
				found[row[1]+suffix] = part
			}
			continue
		}
		found[row[1]] = one
	}
	if len(found) < 40 {
		t.Fatalf("the page has only %d metrics", len(found))
	}
	return found
}

// Of the scrape, and of the Pod.
var scraped = []string{"job", "instance", "namespace", "pod", "container"}

func checkQuery(t *testing.T, where, query string, metrics map[string]metric) {
	t.Helper()
	for _, variable := range []string{"$__rate_interval", "$__interval", "$__range"} {
		query = strings.ReplaceAll(query, variable, "5m")
	}
	parsed, err := metricsql.Parse(query)
	if err != nil {
		t.Errorf("%s: %s: %v", where, query, err)
		return
	}
	metricsql.VisitAll(parsed, func(part metricsql.Expr) {
		if function, ok := part.(*metricsql.FuncExpr); ok && (function.Name == "rate" || function.Name == "increase") {
			if over, ok := function.Args[0].(*metricsql.RollupExpr); ok {
				if of, ok := over.Expr.(*metricsql.MetricExpr); ok && metrics[nameOf(of)].kind != "counter" {
					t.Errorf("%s: %s of %s, which is no counter", where, function.Name, nameOf(of))
				}
			}
		}
		selector, ok := part.(*metricsql.MetricExpr)
		if !ok {
			return
		}
		name := nameOf(selector)
		one, known := metrics[name]
		if name != "up" && !known {
			t.Errorf("%s: %q is no metric of docs/reference/metrics.md", where, name)
			return
		}
		for _, filters := range selector.LabelFilterss {
			for _, filter := range filters {
				if filter.Label != "__name__" && !slices.Contains(one.labels, filter.Label) && !slices.Contains(scraped, filter.Label) {
					t.Errorf("%s: %s has no label %q, only %v", where, name, filter.Label, one.labels)
				}
			}
		}
	})
	for _, by := range regexp.MustCompile(`\bby \(([^)]*)\)`).FindAllStringSubmatch(query, -1) {
		for _, label := range strings.Split(by[1], ",") {
			label = strings.TrimSpace(label)
			used := slices.Contains(scraped, label)
			for name, one := range metrics {
				used = used || strings.Contains(query, name) && slices.Contains(one.labels, label)
			}
			if !used {
				t.Errorf("%s: no metric of %s has the label %q", where, query, label)
			}
		}
	}
}

func nameOf(selector *metricsql.MetricExpr) string {
	for _, filters := range selector.LabelFilterss {
		for _, filter := range filters {
			if filter.Label == "__name__" {
				return filter.Value
			}
		}
	}
	return ""
}

func TestAlertsAskForMetricsThatThereAre(t *testing.T) {
	metrics := metrics(t)
	rule := object(load(t, root+"/deploy/monitoring/prometheus-rule.yaml"))
	page := read(t, root+"/docs/admin/monitoring.md")
	count := 0
	for _, group := range rule.at("spec", "groups").([]any) {
		for _, one := range group.(map[string]any)["rules"].([]any) {
			alert := object(one.(map[string]any))
			name := alert.text("alert")
			checkQuery(t, name, alert.text("expr"), metrics)
			if !slices.Contains([]string{"warning", "critical"}, alert.text("labels", "severity")) {
				t.Errorf("%s has no severity", name)
			}
			for _, text := range []string{"summary", "description"} {
				if alert.text("annotations", text) == "" {
					t.Errorf("%s has no %s", name, text)
				}
			}
			if !strings.Contains(page, "`"+name+"`") {
				t.Errorf("%s is not in docs/admin/monitoring.md", name)
			}
			count++
		}
	}
	if count == 0 {
		t.Error("there is no alert")
	}
}

func TestTheDashboardAsksForMetricsThatThereAre(t *testing.T) {
	metrics := metrics(t)
	var board struct {
		UID    string `json:"uid"`
		Panels []struct {
			ID          int `json:"id"`
			Title, Type string
			GridPos     struct{ X, Y, W, H int }
			Targets     []struct{ Expr string }
		}
		Templating struct {
			List []struct {
				Name  string
				Query any
			}
		}
	}
	if err := json.Unmarshal([]byte(read(t, root+"/deploy/monitoring/dashboard.json")), &board); err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	asked := 0
	for _, panel := range board.Panels {
		if seen[panel.ID] || panel.GridPos.X+panel.GridPos.W > 24 {
			t.Errorf("panel %q: its id %d or its place %v is wrong", panel.Title, panel.ID, panel.GridPos)
		}
		seen[panel.ID] = true
		for _, target := range panel.Targets {
			checkQuery(t, panel.Title, target.Expr, metrics)
			asked++
		}
	}
	if asked == 0 || board.UID == "" {
		t.Error("the dashboard has no panels, or no uid")
	}
}
