// Package v1 has what Helm's engine names of the package with this name.
package v1

// GetOptions is empty.
type GetOptions struct{}

// ListOptions is empty.
type ListOptions struct{}

// APIResource is a kind that a server serves.
type APIResource struct {
	Name, Group, Version, Kind string
	Namespaced                 bool
}

// APIResourceList is a list of them.
type APIResourceList struct{ APIResources []APIResource }
