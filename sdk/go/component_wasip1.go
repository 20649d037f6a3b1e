package boathook

// The exports of a component.
import _ "github.com/boathook/boathook/sdk/go/internal/hook/wit_exports"
