package mutating

// The export of a component.
import _ "github.com/boathook/boathook/sdk/go/internal/mutating/wit_exports"
