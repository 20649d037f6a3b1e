//! The API groups of Kubernetes itself. Their kinds always exist, and kinds that the local cluster does not have can be
//! named by Kubernetes' own rule.

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

/// Whether kinds of this group cannot be added or removed.
pub(super) fn is_own(group: &str) -> bool {
    OWN.contains(&group)
}
