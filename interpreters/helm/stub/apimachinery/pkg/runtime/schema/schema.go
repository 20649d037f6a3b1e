// Package schema has what Helm's engine calls of the package with this name.
package schema

import (
	"fmt"
	"strings"
)

// GroupResource names a resource without its version.
type GroupResource struct{ Group, Resource string }

func (gr GroupResource) String() string {
	if gr.Group == "" {
		return gr.Resource
	}
	return gr.Resource + "." + gr.Group
}

// GroupVersion is an apiVersion.
type GroupVersion struct{ Group, Version string }

func (gv GroupVersion) String() string {
	if gv.Group == "" {
		return gv.Version
	}
	return gv.Group + "/" + gv.Version
}

// GroupVersionKind is an apiVersion and a kind.
type GroupVersionKind struct{ Group, Version, Kind string }

// GroupVersion returns its apiVersion.
func (gvk GroupVersionKind) GroupVersion() GroupVersion { return GroupVersion{gvk.Group, gvk.Version} }

func (gvk GroupVersionKind) String() string {
	return gvk.Group + "/" + gvk.Version + ", Kind=" + gvk.Kind
}

// GroupVersionResource is an apiVersion and the plural of a kind.
type GroupVersionResource struct{ Group, Version, Resource string }

// ParseGroupVersion splits an apiVersion.
func ParseGroupVersion(apiVersion string) (GroupVersion, error) {
	group, version, both := strings.Cut(apiVersion, "/")
	if !both {
		return GroupVersion{Version: apiVersion}, nil
	}
	if strings.Contains(version, "/") {
		return GroupVersion{}, fmt.Errorf("unexpected GroupVersion string: %v", apiVersion)
	}
	return GroupVersion{group, version}, nil
}

// FromAPIVersionAndKind joins both. What is no apiVersion is left out.
func FromAPIVersionAndKind(apiVersion, kind string) GroupVersionKind {
	gv, err := ParseGroupVersion(apiVersion)
	if err != nil {
		return GroupVersionKind{Kind: kind}
	}
	return GroupVersionKind{gv.Group, gv.Version, kind}
}
