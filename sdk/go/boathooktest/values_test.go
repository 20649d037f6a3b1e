//go:build !wasip1

package boathooktest_test

import (
	"reflect"
	"testing"

	boathook "github.com/boathook/boathook/sdk/go"
	"github.com/boathook/boathook/sdk/go/boathooktest"
	"github.com/boathook/boathook/sdk/go/values"
)

// docs/testing.md shows what follows.

func run(*boathook.Context) error {
	var seen struct {
		Global struct{ HighAvailability bool }
	}
	if err := values.Get(&seen); err != nil {
		return err
	}
	replicas := 1
	if seen.Global.HighAvailability {
		replicas = 3
	}
	return values.Set("/web/replicas", replicas)
}

func TestThereAreThreeReplicasForHighAvailability(t *testing.T) {
	host := boathooktest.New(t).WithValues(`{"global": {"highAvailability": true}, "web": {}}`, `{}`)
	if err := run(&boathook.Context{}); err != nil {
		t.Fatal(err)
	}
	expected := []boathooktest.Change{{Path: "/web/replicas", Value: "3"}}
	if changes := host.Changes(); !reflect.DeepEqual(changes, expected) {
		t.Error(changes)
	}
}
