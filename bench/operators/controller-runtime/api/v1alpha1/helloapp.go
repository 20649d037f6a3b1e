// Package v1alpha1 has the types of example.com/v1alpha1.
//
// +kubebuilder:object:generate=true
// +groupName=example.com
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/scheme"
)

var (
	groupVersion = schema.GroupVersion{Group: "example.com", Version: "v1alpha1"}
	builder      = (&scheme.Builder{GroupVersion: groupVersion}).Register(&HelloApp{}, &HelloAppList{})
	// AddToScheme makes the types known to a client.
	AddToScheme = builder.AddToScheme
)

// HelloAppSpec is what a user wants.
type HelloAppSpec struct {
	// +kubebuilder:validation:MinLength=1
	Image string `json:"image"`
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:default=1
	// +optional
	Size int32 `json:"size"`
}

// HelloAppStatus is what was observed.
type HelloAppStatus struct {
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// HelloApp is a Deployment and a Service.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=Image,type=string,JSONPath=.spec.image
// +kubebuilder:printcolumn:name=Size,type=integer,JSONPath=.spec.size
// +kubebuilder:printcolumn:name=Ready,type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
type HelloApp struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   HelloAppSpec   `json:"spec"`
	Status HelloAppStatus `json:"status,omitempty"`
}

// HelloAppList is a list of HelloApps.
//
// +kubebuilder:object:root=true
type HelloAppList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []HelloApp `json:"items"`
}
