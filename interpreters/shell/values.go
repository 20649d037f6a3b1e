package main

import (
	"errors"

	"github.com/boathook/boathook/interpreters/shell/shellop"
)

// patchValues passes on what a hook of a module changes. The host takes it when the run succeeds.
func patchValues(p *shellop.Patches) error {
	if p == nil {
		return nil
	}
	for _, one := range []struct {
		variable, text string
		patch          func(string) error
	}{
		{"CONFIG_VALUES_JSON_PATCH_PATH", p.Config, patchConfig},
		{"VALUES_JSON_PATCH_PATH", p.Values, patchModule},
	} {
		if one.text == "" {
			continue
		}
		if err := one.patch(valid(one.text)); err != nil {
			return errors.New(one.variable + ": " + err.Error())
		}
	}
	return nil
}
