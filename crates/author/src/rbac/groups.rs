//! The API groups of Kubernetes itself: their kinds are always there, and what is missing in a local cluster can
//! be named by Kubernetes' own rule. Knows no kinds.

/// The groups that kube-apiserver serves without any CustomResourceDefinition.
const OWN: [&str; 23] = [
    "",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "apps",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "internal.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
    "storagemigration.k8s.io",
];

/// Whether kinds of this group can't come and go.
pub(super) fn is_own(group: &str) -> bool {
    OWN.contains(&group)
}
