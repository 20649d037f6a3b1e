package crd

// The export of a component.
import _ "github.com/boathook/boathook/sdk/go/internal/defining/wit_exports"
