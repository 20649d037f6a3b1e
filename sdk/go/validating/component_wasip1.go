package validating

// The export of a component.
import _ "github.com/boathook/boathook/sdk/go/internal/validating/wit_exports"
