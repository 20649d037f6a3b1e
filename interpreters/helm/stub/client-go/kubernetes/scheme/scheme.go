// Package scheme has what Helm's engine reads of the package with this name.
package scheme

import "k8s.io/apimachinery/pkg/runtime/schema"

// Kinds is a scheme that knows versions only.
type Kinds struct{}

// Scheme has the versions of Kubernetes that Helm assumes without a cluster.
var Scheme Kinds

// PrioritizedVersionsAllGroups returns the versions in the order of the package with this name.
func (Kinds) PrioritizedVersionsAllGroups() []schema.GroupVersion {
	versions := make([]schema.GroupVersion, len(known))
	for i, one := range known {
		versions[i], _ = schema.ParseGroupVersion(one)
	}
	return versions
}
