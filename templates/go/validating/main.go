// Denies namespaces that do not say which team they belong to, and warns of teams that nobody has written down.
//
// It never changes a namespace.
package main

import (
	"fmt"

	boathook "github.com/boathook/boathook/sdk/go"
	"github.com/boathook/boathook/sdk/go/admission"
	"github.com/boathook/boathook/sdk/go/snapshots"
	"github.com/boathook/boathook/sdk/go/validating"
)

// The label that every namespace needs.
const label = "team"

// What the hook is asked, and what it looks at to answer.
func init() {
	boathook.Configure(boathook.Config{
		// The teams that there are: kept for the answers, runs nothing.
		Kubernetes: []boathook.Kubernetes{{
			Name:              "teams",
			APIVersion:        "v1",
			Kind:              "ConfigMap",
			Namespace:         &boathook.Namespaces{Names: &boathook.Names{MatchNames: []string{"default"}}},
			Names:             &boathook.Names{MatchNames: []string{"teams"}},
			OnEvents:          []boathook.Change{},
			OnSynchronization: boathook.Bool(false),
		}},
		// While the hook can't answer, namespaces are made and changed all the same.
		Validating: []boathook.Webhook{{
			Name: "team-label.example.com",
			Rules: []boathook.Rule{{
				APIGroups:   []string{""},
				APIVersions: []string{"v1"},
				Operations:  []string{"CREATE", "UPDATE"},
				Resources:   []string{"namespaces"},
			}},
			FailurePolicy:        "Ignore",
			IncludeSnapshotsFrom: []string{"teams"},
		}},
	})
	validating.Handle(validate)
}

// An error here is not a denial: the webhook's failure policy decides then.
func validate(review *admission.Review) (admission.Verdict, error) {
	namespace, err := review.Object.Object()
	if err != nil {
		return admission.Verdict{}, err
	}
	team := namespace.Label(label)
	if team == "" {
		text := fmt.Sprintf("namespace %s needs a label %s", review.Name, label)
		return admission.Verdict{Denial: &admission.Denial{Message: text, Code: 422, Reason: "Invalid"}}, nil
	}
	snapshot, err := snapshots.Open("teams")
	if err != nil {
		return admission.Verdict{}, err
	}
	item := snapshot.Get("default", "teams")
	if item == nil {
		return admission.Allow(), nil
	}
	teams, err := item.Object.Object()
	if err != nil {
		return admission.Verdict{}, err
	}
	if teams.At("data", team) == nil {
		return admission.Allow().Warn(fmt.Sprintf("team %s is not in the ConfigMap default/teams", team)), nil
	}
	return admission.Allow(), nil
}

// Nobody calls it: a component has no main.
func main() {}
