package boathook

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
	"time"
)

// everything sets each field; the host reads what becomes of it in a test of its own.
func everything() Config {
	half := 0.5
	retry := &Backoff{
		Initial: Duration(500 * time.Millisecond), Max: Duration(time.Minute), Multiplier: 1.5, Jitter: &half, Attempts: 3,
	}
	selector := &Selector{
		MatchLabels:      map[string]string{"app": "web", "more": "yes"},
		MatchExpressions: []LabelExpression{{Key: "tier", Operator: "In", Values: []string{"x", "y"}}, {Key: "team", Operator: "Exists"}},
	}
	webhook := Webhook{
		Name: "image-policy.example.com",
		Rules: []Rule{{
			APIGroups: []string{""}, APIVersions: []string{"v1"}, Operations: []string{"CREATE"}, Resources: []string{"pods"},
			Scope: "Namespaced",
		}},
		FailurePolicy:        "Ignore",
		SideEffects:          "NoneOnDryRun",
		TimeoutSeconds:       3,
		MatchConditions:      []MatchCondition{{Name: "not-x", Expression: "object.metadata.name != 'x'"}},
		MatchPolicy:          "Exact",
		Labels:               selector,
		Namespace:            &Namespaces{Labels: selector, IncludeSystem: true},
		AuditAnnotations:     map[string]string{"owner": "platform"},
		Group:                "all",
		IncludeSnapshotsFrom: []string{"pods"},
	}
	mutating := webhook
	mutating.Name, mutating.ReinvocationPolicy = "pod-defaults.example.com", "IfNeeded"
	return Config{
		OnStartup: Order(-5), BeforeAll: Order(1), AfterAll: Order(2), BeforeHelm: Order(3), AfterHelm: Order(4),
		BeforeDeleteHelm: Order(5), AfterDeleteHelm: Order(6),
		Schedule: []Schedule{{
			Name: "tick", Crontab: "*/5 * * * *", TimeZone: "Europe/Berlin", MissedRuns: "once",
			Jitter: Duration(1500 * time.Millisecond), IncludeSnapshotsFrom: []string{"pods"}, Queue: "slow", Group: "all",
			AllowFailure: true, Retry: retry,
		}},
		Kubernetes: []Kubernetes{{
			Name: "pods", APIVersion: "v1", Kind: "Pod", OnEvents: []Change{Added, Modified, Deleted},
			OnSynchronization: Bool(false), WaitForSynchronization: Bool(false),
			ResynchronizationPeriod: Duration(time.Hour), KeepFullObjectsInMemory: Bool(false), Content: ContentNone,
			Names: &Names{[]string{"a", "b"}}, Labels: selector,
			Fields:    &FieldSelector{[]FieldExpression{{Field: "spec.nodeName", Operator: "Equals", Value: "n1"}}},
			Namespace: &Namespaces{Names: &Names{[]string{"one"}}, Labels: selector},
			JQFilter:  `.metadata.labels["a/b"]`, IncludeSnapshotsFrom: []string{"pods"}, IgnoreOwnWrites: true,
			Debounce: Duration(2 * time.Second), PreviousObject: true, Queue: "main", Group: "all", AllowFailure: true,
			Retry: retry,
		}},
		Reconcile: []Reconcile{{
			Name: "apps", APIVersion: "example.com/v1", Kind: "HelloApp",
			Owns:      []Owned{{"apps/v1", "Deployment"}, {"v1", "Service"}},
			Related:   []Related{{"keys", "v1", "Secret", ".spec.keys[]", "shared", selector}},
			Namespace: &Namespaces{Names: &Names{[]string{"one"}}}, Labels: selector, Decorates: true,
			Annotations: &AnnotationSelector{
				map[string]string{"a/b": "any text"}, []LabelExpression{{"c", "In", []string{"d"}}},
			},
			Prune: &Prune{MaxShare: "25%", MaxObjects: Count(0)}, Adopt: "ifUnowned", Resync: Duration(time.Hour),
			IncludeSnapshotsFrom: []string{"pods"}, Retry: retry,
		}, {
			Name: "kept", APIVersion: "example.com/v1", Kind: "Kept", Owns: []Owned{{"v1", "Service"}}, Revisions: 5,
		}},
		Validating: []Webhook{webhook},
		Mutating:   []Webhook{mutating},
		Conversion: []Conversion{{
			Name: "crontabs", CRDName: "crontabs.stable.example.com", Conversions: []Step{{"v1alpha1", "v1"}, {"v1", "v1alpha1"}},
			Group: "all", IncludeSnapshotsFrom: []string{"pods"},
		}},
		Permissions: Permit(
			Permission{Resources: []string{"pods"}, Verbs: []string{"get"}},
			Permission{
				APIGroups: []string{"apps"}, Resources: []string{"deployments/scale"}, Verbs: []string{"patch"},
				Names: []string{"web"}, Namespaces: []string{"one"},
			},
		).WithHTTP(HTTPPermission{
			Hosts: []string{"api.example.com"}, Methods: []string{"GET", "POST"}, Paths: []string{"/v1/*"},
		}).WithDirectories(DirectoryPermission{Name: "logs"}, DirectoryPermission{Name: "keys", Access: "write"}),
		Limits: Limits{
			Memory: "32Mi", Time: Duration(2 * time.Second), HostCalls: 5, HostBytes: "1Mi", LogBytes: "1k",
		},
		Retry:         retry,
		Concurrency:   4,
		Settings:      &RunSettings{ExecutionMinInterval: Duration(90 * time.Second), ExecutionBurst: 3},
		FailureEvents: &FailureEvents{Regarding{"apps/v1", "Deployment", "tools", "boathook"}},
	}
}

const file = "testdata/everything.json"

func TestTheDocumentSaysEverything(t *testing.T) {
	text, err := json.MarshalIndent(everything(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	if os.Getenv("BOATHOOK_UPDATE_DOCS") != "" {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	expected, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(text, expected) {
		t.Fatalf("%s is out of date (%v): BOATHOOK_UPDATE_DOCS=1 go test writes it anew", file, err)
	}
}

func TestWhatIsNotSetIsLeftOut(t *testing.T) {
	config := Config{Kubernetes: []Kubernetes{{Kind: "Pod"}, {Kind: "Node", OnEvents: []Change{}}}}
	text, err := json.Marshal(config)
	expected := `{"configVersion":"v1","kubernetes":[{"kind":"Pod"},{"executeHookOnEvent":[],"kind":"Node"}]}`
	if err != nil {
		t.Fatal(err)
	}
	var got, want any
	if json.Unmarshal(text, &got) != nil || json.Unmarshal([]byte(expected), &want) != nil {
		t.Fatal(string(text))
	}
	if a, _ := json.Marshal(got); !bytes.Equal(a, []byte(expected)) {
		t.Fatal(string(text))
	}
}
