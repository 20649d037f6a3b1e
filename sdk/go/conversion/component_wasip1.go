package conversion

// The export of a component.
import _ "github.com/boathook/boathook/sdk/go/internal/conversion/wit_exports"
