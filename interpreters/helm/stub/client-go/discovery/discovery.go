// Package discovery has what Helm's engine names of the package with this name.
package discovery

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

var errNoConnection = errors.New("the chart engine has no connection to a cluster")

// DiscoveryClient does not exist.
type DiscoveryClient struct{}

// NewDiscoveryClientForConfig fails.
func NewDiscoveryClientForConfig(*rest.Config) (*DiscoveryClient, error) {
	return nil, errNoConnection
}

// ServerResourcesForGroupVersion fails.
func (*DiscoveryClient) ServerResourcesForGroupVersion(string) (*metav1.APIResourceList, error) {
	return nil, errNoConnection
}
