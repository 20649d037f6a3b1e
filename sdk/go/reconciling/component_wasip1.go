package reconciling

// The export of a component.
import _ "github.com/boathook/boathook/sdk/go/internal/reconciling/wit_exports"
