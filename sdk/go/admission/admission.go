// Package admission has the nouns of validating and mutating: a request to the API server, and what is decided.
package admission

import (
	"github.com/boathook/boathook/sdk/go/kube"

	"github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_admission"
	wit "github.com/boathook/boathook/sdk/go/internal/wit/types"
)

// Review is one question: an AdmissionRequest (admission.k8s.io/v1).
type Review struct {
	// Binding is the webhook's name in the configuration.
	Binding string `json:"-"`
	// DryRun tells that nothing will be stored; the hook's own writes are not kept either.
	DryRun bool `json:"dryRun"`
	// UID is the request's.
	UID string `json:"uid"`
	// Operation is CREATE, UPDATE, DELETE or CONNECT.
	Operation string `json:"operation"`
	// Kind is the object's, in the version in which it is shown here.
	Kind Kind `json:"kind"`
	// Resource is what the request is about.
	Resource Resource `json:"resource"`
	// SubResource is `status`, `scale` and the like, or empty.
	SubResource string `json:"subResource"`
	// Namespace is the object's; for a Namespace its own name. Empty for other cluster-scoped objects.
	Namespace string `json:"namespace"`
	// Name is the object's; empty when the API server is to make one.
	Name string `json:"name"`
	// UserInfo is who asks.
	UserInfo User `json:"userInfo"`
	// Object is the object as it would be; empty for a deletion.
	Object kube.JSON `json:"object"`
	// OldObject is the object as it is; empty for a creation.
	OldObject kube.JSON `json:"oldObject"`
	// Options are those of the request, such as CreateOptions.
	Options kube.JSON `json:"options"`
}

// Kind is a kind with its group and version.
type Kind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// Resource is a resource as paths name it.
type Resource struct {
	Group    string `json:"group"`
	Version  string `json:"version"`
	Resource string `json:"resource"`
}

// User is who made a request.
type User struct {
	Username string              `json:"username"`
	UID      string              `json:"uid"`
	Groups   []string            `json:"groups"`
	Extra    map[string][]string `json:"extra"`
}

// Verdict is a decision; its zero value allows.
type Verdict struct {
	// Denial is nil when the request is allowed.
	Denial *Denial
	// Warnings are shown to the person in any case.
	Warnings []string
	// AuditAnnotations are for the API server's audit log.
	AuditAnnotations map[string]string
}

// Denial is why a request is denied.
type Denial struct {
	// Message is shown to the person whose request it was.
	Message string
	// Code is the HTTP status of the answer; 403 when it is 0.
	Code int
	// Reason is machine-readable; `Forbidden` when it is empty.
	Reason string
}

// Allow lets a request through.
func Allow() Verdict { return Verdict{} }

// Deny does not let it through.
func Deny(message string) Verdict { return Verdict{Denial: &Denial{Message: message}} }

// Warn adds a warning.
func (v Verdict) Warn(text string) Verdict {
	v.Warnings = append(v.Warnings[:len(v.Warnings):len(v.Warnings)], text)
	return v
}

// Read is for the SDK itself: the request of a binding.
func Read(binding, request string) (*Review, error) {
	review := &Review{Binding: binding}
	if err := kube.JSON(request).Into(review); err != nil {
		return nil, err
	}
	for _, object := range []*kube.JSON{&review.Object, &review.OldObject, &review.Options} {
		if *object == "null" {
			*object = ""
		}
	}
	return review, nil
}

// ToWire is for the SDK itself.
func (v Verdict) ToWire() boathook_hook_admission.Verdict {
	verdict := boathook_hook_admission.Verdict{Denied: wit.None[boathook_hook_admission.Denial](), Warnings: v.Warnings}
	if denial := v.Denial; denial != nil {
		code, reason := wit.None[uint16](), wit.None[string]()
		if denial.Code != 0 {
			code = wit.Some(uint16(denial.Code))
		}
		if denial.Reason != "" {
			reason = wit.Some(denial.Reason)
		}
		verdict.Denied = wit.Some(boathook_hook_admission.Denial{Message: denial.Message, Code: code, Reason: reason})
	}
	for key, value := range v.AuditAnnotations {
		verdict.AuditAnnotations = append(verdict.AuditAnnotations, wit.Tuple2[string, string]{F0: key, F1: value})
	}
	return verdict
}
