//! What a kind's resource is called, and where its objects lie: the facts that a real host asks its cluster for.
//!
//! It knows the built-in kinds; of any other it takes the usual plural, unless the test says another.

use std::collections::BTreeMap;

/// Groups whose kinds are known to be namespaced, but for those in [`CLUSTER`].
const BUILT_IN: [&str; 16] = [
    "",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "apps",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
];

const CLUSTER: [&str; 24] = [
    "APIService",
    "CSIDriver",
    "CSINode",
    "CertificateSigningRequest",
    "ClusterRole",
    "ClusterRoleBinding",
    "CustomResourceDefinition",
    "IPAddress",
    "IngressClass",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "MutatingWebhookConfiguration",
    "Namespace",
    "Node",
    "PersistentVolume",
    "PriorityClass",
    "RuntimeClass",
    "ServiceCIDR",
    "StorageClass",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
    "VolumeAttachment",
    "VolumeAttributesClass",
];

/// Built-in kinds whose `status` is written as a subresource only.
const WITH_STATUS: [&str; 17] = [
    "CertificateSigningRequest",
    "CronJob",
    "CustomResourceDefinition",
    "DaemonSet",
    "Deployment",
    "HorizontalPodAutoscaler",
    "Ingress",
    "Job",
    "Namespace",
    "Node",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Pod",
    "PodDisruptionBudget",
    "ReplicaSet",
    "Service",
    "StatefulSet",
];

/// Where objects of a kind lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Cluster,
    Namespaced,
    /// Nobody said: as the call has it.
    Unknown,
}

/// Kinds that a test declared: by group and kind, their plural and scope.
#[derive(Clone, Debug, Default)]
pub(super) struct Kinds(BTreeMap<(String, String), (String, Scope)>);

impl Kinds {
    pub fn add(&mut self, api_version: &str, kind: &str, plural: &str, namespaced: bool) {
        let scope = if namespaced { Scope::Namespaced } else { Scope::Cluster };
        self.0.insert((group(api_version).to_owned(), kind.to_owned()), (plural.to_owned(), scope));
    }

    pub fn plural(&self, api_version: &str, kind: &str) -> String {
        self.told(api_version, kind).map_or_else(|| plural(kind), |(plural, _)| plural.clone())
    }

    pub fn scope(&self, api_version: &str, kind: &str) -> Scope {
        match self.told(api_version, kind) {
            Some((_, scope)) => *scope,
            None if !BUILT_IN.contains(&group(api_version)) => Scope::Unknown,
            None if CLUSTER.contains(&kind) => Scope::Cluster,
            None => Scope::Namespaced,
        }
    }

    fn told(&self, api_version: &str, kind: &str) -> Option<&(String, Scope)> {
        self.0.get(&(group(api_version).to_owned(), kind.to_owned()))
    }
}

/// The API group of `apps/v1`; empty for the core group.
pub(super) fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

pub(super) fn has_status(api_version: &str, kind: &str) -> bool {
    BUILT_IN.contains(&group(api_version)) && WITH_STATUS.contains(&kind)
}

fn plural(kind: &str) -> String {
    let word = kind.to_lowercase();
    let ends = |ends: &[&str]| ends.iter().any(|end| word.ends_with(end));
    match word.strip_suffix('y') {
        _ if word == "endpoints" => word,
        Some(stem) if !ends(&["ay", "ey", "oy", "uy"]) => format!("{stem}ies"),
        _ if ends(&["s", "x", "ch", "sh"]) => format!("{word}es"),
        _ => format!("{word}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals_are_those_of_kubernetes_unless_told_otherwise() {
        for (kind, expected) in [
            ("Secret", "secrets"),
            ("NetworkPolicy", "networkpolicies"),
            ("Ingress", "ingresses"),
            ("StorageClass", "storageclasses"),
            ("Endpoints", "endpoints"),
            ("Gateway", "gateways"),
        ] {
            assert_eq!(plural(kind), expected);
        }
        let mut kinds = Kinds::default();
        assert_eq!(kinds.scope("example.com/v1", "Sheep"), Scope::Unknown);
        kinds.add("example.com/v1", "Sheep", "sheep", false);
        assert_eq!(kinds.plural("example.com/v2", "Sheep"), "sheep");
        assert_eq!(kinds.scope("example.com/v1", "Sheep"), Scope::Cluster);
        assert_eq!(kinds.scope("apps/v1", "Deployment"), Scope::Namespaced);
        assert_eq!(kinds.scope("v1", "Node"), Scope::Cluster);
    }
}
