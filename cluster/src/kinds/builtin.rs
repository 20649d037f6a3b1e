//! The table of built-in kinds.
//!
//! Never holds behaviour: a row names things and sets flags.

use std::sync::Arc;

use super::schema::Schema;
use super::{Conversion, Resource, Sub, group_version};
use crate::validate::Naming;

/// A row.
pub(crate) struct Row {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
    short: &'static [&'static str],
    categories: &'static [&'static str],
    subs: &'static [Sub],
    namespaced: bool,
    generation: bool,
    naming: Naming,
    returns: bool,
    upsert: bool,
}

const ALL: &[&str] = &["all"];
const STATUS: &[Sub] = &[Sub::Status];
const SCALED: &[Sub] = &[Sub::Status, Sub::Scale];

const fn row(group: &'static str, kind: &'static str, plural: &'static str) -> Row {
    Row {
        group,
        version: "v1",
        kind,
        plural,
        short: &[],
        categories: &[],
        subs: &[],
        namespaced: true,
        generation: false,
        naming: Naming::Subdomain,
        returns: false,
        upsert: false,
    }
}

impl Row {
    const fn short(mut self, short: &'static [&'static str]) -> Self {
        self.short = short;
        self
    }
    const fn all(mut self) -> Self {
        self.categories = ALL;
        self
    }
    const fn subs(mut self, subs: &'static [Sub]) -> Self {
        self.subs = subs;
        self
    }
    const fn cluster(mut self) -> Self {
        self.namespaced = false;
        self
    }
    const fn generation(mut self) -> Self {
        self.generation = true;
        self
    }
    const fn naming(mut self, naming: Naming) -> Self {
        self.naming = naming;
        self
    }
    /// Deleting answers with the object instead of a Status.
    const fn returns(mut self) -> Self {
        self.returns = true;
        self
    }
    /// PUT creates what is absent.
    const fn upsert(mut self) -> Self {
        self.upsert = true;
        self
    }
}

const RBAC: &str = "rbac.authorization.k8s.io";
const ADMISSION: &str = "admissionregistration.k8s.io";
const NETWORK: &str = "networking.k8s.io";

/// All of them, in the order discovery lists groups.
pub(crate) const ROWS: &[Row] = &[
    row("", "ConfigMap", "configmaps").short(&["cm"]),
    row("", "Endpoints", "endpoints").short(&["ep"]).upsert(),
    row("", "Event", "events").short(&["ev"]).upsert(),
    row("", "LimitRange", "limitranges").short(&["limits"]).upsert(),
    row("", "Namespace", "namespaces")
        .short(&["ns"])
        .cluster()
        .naming(Naming::Label)
        .subs(&[Sub::Status, Sub::Finalize]),
    row("", "Node", "nodes").short(&["no"]).cluster().subs(STATUS),
    row("", "PersistentVolumeClaim", "persistentvolumeclaims").short(&["pvc"]).subs(STATUS).returns(),
    row("", "PersistentVolume", "persistentvolumes").short(&["pv"]).cluster().subs(STATUS).returns(),
    row("", "Pod", "pods").short(&["po"]).all().generation().returns().subs(&[
        Sub::Status,
        Sub::Eviction,
        Sub::Binding,
        Sub::EphemeralContainers,
    ]),
    row("", "PodTemplate", "podtemplates").generation().returns(),
    row("", "ReplicationController", "replicationcontrollers").short(&["rc"]).all().generation().subs(SCALED),
    row("", "ResourceQuota", "resourcequotas").short(&["quota"]).subs(STATUS).returns(),
    row("", "Secret", "secrets"),
    row("", "ServiceAccount", "serviceaccounts").short(&["sa"]).subs(&[Sub::Token]).returns(),
    row("", "Service", "services").short(&["svc"]).all().naming(Naming::Label).subs(STATUS).returns(),
    row("apps", "ControllerRevision", "controllerrevisions"),
    row("apps", "DaemonSet", "daemonsets").short(&["ds"]).all().generation().subs(STATUS),
    row("apps", "Deployment", "deployments").short(&["deploy"]).all().generation().subs(SCALED),
    row("apps", "ReplicaSet", "replicasets").short(&["rs"]).all().generation().subs(SCALED),
    row("apps", "StatefulSet", "statefulsets").short(&["sts"]).all().generation().subs(SCALED),
    row("events.k8s.io", "Event", "events").short(&["ev"]).upsert(),
    row("batch", "CronJob", "cronjobs").short(&["cj"]).all().generation().subs(STATUS),
    row("batch", "Job", "jobs").all().generation().subs(STATUS),
    row(NETWORK, "IngressClass", "ingressclasses").cluster().generation(),
    row(NETWORK, "Ingress", "ingresses").short(&["ing"]).generation().subs(STATUS),
    row(NETWORK, "NetworkPolicy", "networkpolicies").short(&["netpol"]).generation(),
    row("policy", "PodDisruptionBudget", "poddisruptionbudgets").short(&["pdb"]).generation().subs(STATUS),
    row(RBAC, "ClusterRoleBinding", "clusterrolebindings").cluster().naming(Naming::PathSegment).upsert(),
    row(RBAC, "ClusterRole", "clusterroles").cluster().naming(Naming::PathSegment).upsert(),
    row(RBAC, "RoleBinding", "rolebindings").naming(Naming::PathSegment).upsert(),
    row(RBAC, "Role", "roles").naming(Naming::PathSegment).upsert(),
    row(ADMISSION, "MutatingWebhookConfiguration", "mutatingwebhookconfigurations")
        .cluster()
        .generation()
        .categories_api(),
    row(ADMISSION, "ValidatingWebhookConfiguration", "validatingwebhookconfigurations")
        .cluster()
        .generation()
        .categories_api(),
    row("apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions")
        .short(&["crd", "crds"])
        .cluster()
        .generation()
        .subs(STATUS)
        .categories_api(),
    row("coordination.k8s.io", "Lease", "leases").upsert(),
];

impl Row {
    const fn categories_api(mut self) -> Self {
        self.categories = &["api-extensions"];
        self
    }

    pub(crate) fn resource(&self, schema: &Arc<Schema>) -> Resource {
        // Both event groups show one collection, kept in the core form.
        let events = self.group == "events.k8s.io";
        let group = if events { "" } else { self.group };
        let strings = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect();
        Resource {
            group: self.group.to_owned(),
            version: self.version.to_owned(),
            kind: self.kind.to_owned(),
            list_kind: format!("{}List", self.kind),
            plural: self.plural.to_owned(),
            singular: self.kind.to_lowercase(),
            short_names: strings(self.short),
            categories: strings(self.categories),
            namespaced: self.namespaced,
            subresources: self.subs.to_vec(),
            storage: storage(group, self.plural).into(),
            stored_api_version: group_version(group, self.version),
            conversion: if events { Conversion::Events } else { Conversion::Same },
            generation: self.generation,
            naming: self.naming,
            selectable: Vec::new(),
            custom: None,
            delete_returns_object: self.returns,
            create_on_update: self.upsert,
            schema: schema.clone(),
            root_type: schema.of_kind(group, self.kind),
        }
    }
}

/// The name of a resource's collection.
pub(crate) fn storage(group: &str, plural: &str) -> String {
    if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") }
}
