// Package unstructured has what Helm's engine calls of the package with this name.
package unstructured

// Unstructured is an object.
type Unstructured struct{ Object map[string]any }

// UnstructuredContent returns its fields.
func (u *Unstructured) UnstructuredContent() map[string]any { return u.Object }

// UnstructuredList is a list with its items.
type UnstructuredList struct{ Object map[string]any }

// UnstructuredContent returns its fields.
func (u *UnstructuredList) UnstructuredContent() map[string]any { return u.Object }
