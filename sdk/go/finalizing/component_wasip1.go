package finalizing

// The export of a component.
import _ "github.com/boathook/boathook/sdk/go/internal/finalizing/wit_exports"
