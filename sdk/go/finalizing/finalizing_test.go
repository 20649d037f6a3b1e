package finalizing

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/boathook/boathook/sdk/go/kube"
	"github.com/boathook/boathook/sdk/go/reconciling"

	"github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_reconciliation"
	wire "github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_types"
	wit "github.com/boathook/boathook/sdk/go/internal/wit/types"
)

type spec struct{ Bucket string }

const object = `{"apiVersion":"example.com/v1","kind":"App","metadata":{"name":"web","namespace":"shop"},"spec":{"bucket":"b"}}`

// run calls the export for a binding that this function handles.
func run(function func(*reconciling.Parent[spec]) (*Finalized, error)) result {
	Handle("apps", function)
	related := []boathook_hook_reconciliation.RelatedObject{{Name: "key", Object: `{"kind":"Secret"}`}}
	return finalize(wire.RunInfo{RunId: "run-1"}, "apps", wireParent{Object: object, Related: related})
}

func TestTheHostGetsHowFarTheWorkIs(t *testing.T) {
	answer := run(func(app *reconciling.Parent[spec]) (*Finalized, error) {
		if app.Spec.Bucket != "b" || len(app.Related) != 1 || app.Related[0].Name != "key" {
			t.Errorf("%+v", app)
		}
		return &Finalized{
			Children:     []any{kube.Object{"kind": "Job"}},
			Status:       map[string]any{"left": 1},
			Conditions:   []reconciling.Condition{{Type: "Empty", Status: reconciling.False, Reason: "Left"}},
			RequeueAfter: time.Second,
			Events:       []reconciling.Event{{Warning: true, Reason: "Slow", Message: "it takes long"}},
		}, nil
	})
	expected := wireFinalized{
		Children: []string{`{"kind":"Job"}`}, Status: wit.Some(`{"left":1}`), RequeueAfter: wit.Some[uint64](1000),
		Conditions: []boathook_hook_reconciliation.Condition{
			{Type: "Empty", Status: boathook_hook_reconciliation.ConditionStatusFalse, Reason: "Left"},
		},
		Events: []boathook_hook_reconciliation.Event{
			{Type: boathook_hook_reconciliation.EventTypeWarning, Reason: "Slow", Message: "it takes long"},
		},
	}
	if answer.IsErr() || !reflect.DeepEqual(answer.Ok(), expected) {
		t.Errorf("%+v", answer)
	}
	done := run(func(*reconciling.Parent[spec]) (*Finalized, error) { return &Finalized{Done: true}, nil })
	if done.IsErr() || !done.Ok().Done || len(done.Ok().Children) != 0 {
		t.Errorf("%+v", done)
	}
}

func TestABindingWithoutAFunctionHasNothingToUndo(t *testing.T) {
	answer := finalize(wire.RunInfo{}, "others", wireParent{Object: object})
	if answer.IsErr() || !answer.Ok().Done {
		t.Errorf("%+v", answer)
	}
}

func TestWhatCannotBeAnAnswerIsPermanent(t *testing.T) {
	for told, finalized := range map[string]*Finalized{
		"the function returned nil":        nil,
		"Children[0]: cannot write a func": {Children: []any{func() {}}},
		"Status: a int has no fields":      {Status: 1},
		"needs a Type and a Reason":        {Conditions: []reconciling.Condition{{Type: "A"}}},
		"Events[0]: the Event":             {Events: []reconciling.Event{{Message: "x"}}},
	} {
		answer := run(func(*reconciling.Parent[spec]) (*Finalized, error) { return finalized, nil })
		if !answer.IsErr() || answer.Err().Tag() != wire.FailurePermanent || !strings.Contains(answer.Err().Permanent(), told) {
			t.Errorf("%s: %+v", told, answer)
		}
	}
	failed := run(func(*reconciling.Parent[spec]) (*Finalized, error) { return nil, errors.New("no") })
	if !failed.IsErr() || failed.Err().Tag() != wire.FailureRetry {
		t.Errorf("%+v", failed)
	}
}
