// Package export_boathook_hook_defining is what the generated glue calls.
package export_boathook_hook_defining

import wit "github.com/boathook/boathook/sdk/go/internal/wit/types"

// OnDefinitions makes the definitions, or tells what a definition cannot express.
var OnDefinitions = func() ([]string, error) { return nil, nil }

// Definitions is the export.
func Definitions() wit.Result[[]string, string] {
	all, err := OnDefinitions()
	if err != nil {
		return wit.Err[[]string](err.Error())
	}
	return wit.Ok[[]string, string](all)
}
