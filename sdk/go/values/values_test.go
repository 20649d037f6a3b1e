package values

import (
	"errors"
	"strings"
	"testing"
)

func TestOutsideOfAComponentEachCallIsAPermanentError(t *testing.T) {
	var into map[string]any
	for name, err := range map[string]error{
		"Get":          Get(&into),
		"Config":       Config(&into),
		"Set":          Set("/web/a", 1),
		"Remove":       Remove("/web/a"),
		"SetConfig":    SetConfig("/web/a", 1),
		"RemoveConfig": RemoveConfig("/web/a"),
	} {
		var permanent interface{ Permanent() bool }
		if err == nil || !strings.Contains(err.Error(), "there is no host outside a component") {
			t.Errorf("%s: %v", name, err)
		} else if !errors.As(err, &permanent) || !permanent.Permanent() {
			t.Errorf("%s: a repeated run would not help", name)
		}
	}
	if err := Set("/web/a", func() {}); err == nil || !strings.Contains(err.Error(), "unsupported type") {
		t.Errorf("a value without JSON: %v", err)
	}
}
