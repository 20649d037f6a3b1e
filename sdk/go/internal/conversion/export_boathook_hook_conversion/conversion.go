// Package export_boathook_hook_conversion has what the generated export calls. The SDK sets it.
package export_boathook_hook_conversion

import wit "github.com/boathook/boathook/sdk/go/internal/wit/types"

// OnConvert converts.
var OnConvert func(binding, from, to string, objects []string) wit.Result[[]string, string]

// Convert is the export `convert`.
func Convert(binding, from, to string, objects []string) wit.Result[[]string, string] {
	return OnConvert(binding, from, to, objects)
}
