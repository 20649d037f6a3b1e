//! Everything that a hook requests, in the terms of permissions: its own calls, HTTP requests and directories, what it
//! watches, and what the API server should ask it.
//!
//! Pure, and the same in every cluster: a rule gives the name of a kind, and no cluster is needed.

use std::collections::HashSet;

use super::{
    AdmissionBinding, AdmissionKind, AdmissionRule, BindingRef, ConversionBinding, HookSpec, KubernetesBinding,
    OwnedKind, Permission, ReconcileBinding,
};

/// The verb for objects that a hook binds: it receives them.
pub const WATCH: &str = "watch";
/// The verb for requests that it may deny.
pub const VALIDATE: &str = "validate";
/// The verb for objects that it changes on their way to the cluster.
pub const MUTATE: &str = "mutate";
/// The verb for custom resources that it converts.
pub const CONVERT: &str = "convert";
/// What a webhook requests in addition, if it reviews objects of the system's namespaces: an API group and a resource.
pub const SYSTEM: (&str, &str) = ("boathook.dev", "systemnamespaces");

impl HookSpec {
    /// Everything that the hook requests, without duplicates.
    pub fn asks(&self) -> Vec<Permission> {
        let mut seen = HashSet::new();
        let calls = self.permissions.iter().cloned();
        let bindings = self.bindings().flat_map(|binding| match binding {
            BindingRef::Startup(_) | BindingRef::Stage(_) | BindingRef::Schedule(_) => Vec::new(),
            BindingRef::Kubernetes(binding) => vec![binding.asks()],
            BindingRef::Reconcile(binding) => binding.asks(),
            BindingRef::Admission(binding) => binding.asks(),
            BindingRef::Conversion(binding) => vec![binding.asks()],
        });
        calls.chain(bindings).filter(|one| seen.insert(one.clone())).collect()
    }

    /// What the API server should ask the hook.
    pub fn asks_to_answer(&self) -> impl Iterator<Item = Permission> + '_ {
        let conversions = self.conversions.iter().map(ConversionBinding::asks);
        self.admission.iter().flat_map(AdmissionBinding::asks).chain(conversions)
    }
}

impl KubernetesBinding {
    fn asks(&self) -> Permission {
        let (group, resource) = self.named();
        let requested = permission(vec![group.to_owned()], vec![resource], WATCH);
        Permission { resource_names: self.names.clone(), namespaces: self.namespaces.clone(), ..requested }
    }

    /// The API group and the plural, by the document alone. Without an `apiVersion`, the group is `*`.
    pub fn named(&self) -> (&str, String) {
        let group = match self.api_version.as_deref().map(|version| version.split_once('/')) {
            None => "*",
            Some(None) => "",
            Some(Some((group, _))) => group,
        };
        let is_kind = self.kind.contains(|c: char| c.is_ascii_uppercase());
        (group, if is_kind { plural(&self.kind) } else { self.kind.clone() })
    }
}

impl ReconcileBinding {
    /// The calls that the operator makes for it: it writes members, the parents' status, the parents' labels and
    /// annotations, and revisions.
    pub fn asks(&self) -> Vec<Permission> {
        let calls = |kind: &OwnedKind, resources: &[&str], verbs: &[&str]| {
            let plural = plural(&kind.kind);
            Permission {
                api_groups: vec![kind.group().to_owned()],
                resources: resources.iter().map(|suffix| format!("{plural}{suffix}")).collect(),
                verbs: verbs.iter().map(|verb| (*verb).to_owned()).collect(),
                resource_names: Vec::new(),
                namespaces: self.namespaces.clone(),
                http: None,
                directory: None,
            }
        };
        // The status of objects of others is theirs.
        let parts: &[&str] = if self.decorates { &[""] } else { &["", "/status"] };
        let parents = calls(&self.parent, parts, &["get", "patch"]);
        let members = self.owns.iter().map(|kind| calls(kind, &[""], &["get", "create", "patch", "delete"]));
        let kept = self.revisions.map(|_| {
            let verbs = ["get", "list", "create", "patch", "delete"];
            calls(&self.revisions_in(), &[""], &verbs)
        });
        std::iter::once(parents).chain(members).chain(kept).collect()
    }
}

impl AdmissionBinding {
    /// What the API server should ask through this binding.
    pub fn asks(&self) -> Vec<Permission> {
        let verb = match self.kind {
            AdmissionKind::Validating => VALIDATE,
            AdmissionKind::Mutating => MUTATE,
        };
        let system = || permission(vec![SYSTEM.0.to_owned()], vec![SYSTEM.1.to_owned()], verb);
        let rules = self.rules.iter().map(|rule| permission(rule.api_groups.clone(), rule.in_permissions(), verb));
        rules.chain(self.include_system.then(system)).collect()
    }
}

impl AdmissionRule {
    /// The resources as permissions write them: `pods/*` also includes `pods`, and `*` and `*/*` are both `*`.
    fn in_permissions(&self) -> Vec<String> {
        let mut all = Vec::new();
        for resource in &self.resources {
            match resource.split_once('/') {
                Some(("*", "*")) => all.push("*".to_owned()),
                Some((resource, "*")) => all.extend([resource.to_owned(), format!("{resource}/*")]),
                _ => all.push(resource.clone()),
            }
        }
        let mut seen = HashSet::new();
        all.retain(|resource| seen.insert(resource.clone()));
        all
    }
}

impl ConversionBinding {
    fn asks(&self) -> Permission {
        let (plural, group) = self.crd.split_once('.').unwrap_or((&self.crd, ""));
        permission(vec![group.to_owned()], vec![plural.to_owned()], CONVERT)
    }
}

fn permission(api_groups: Vec<String>, resources: Vec<String>, verb: &str) -> Permission {
    let (resource_names, namespaces) = (Vec::new(), Vec::new());
    Permission {
        api_groups,
        resources,
        verbs: vec![verb.to_owned()],
        resource_names,
        namespaces,
        http: None,
        directory: None,
    }
}

/// The plural of a kind, by the rule that gives most plurals.
pub fn plural(kind: &str) -> String {
    let lower = kind.to_ascii_lowercase();
    let before = |suffix: &str| lower.strip_suffix(suffix);
    match before("y") {
        _ if lower == "endpoints" => lower,
        Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{stem}ies"),
        _ if ["s", "x", "z", "ch", "sh"].into_iter().any(|end| lower.ends_with(end)) => lower + "es",
        _ => lower + "s",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::{hooks::parse, model::HookName};

    fn asks(document: &str) -> Vec<String> {
        let spec = parse(&HookName::new("h").unwrap(), &format!("{{configVersion: v1, {document}}}"), &|_| Ok(()));
        spec.unwrap().asks().iter().map(ToString::to_string).collect()
    }

    fn watched(kind: &str) -> String {
        asks(&format!("kubernetes: [{{{kind}}}]")).concat()
    }

    #[test]
    fn bindings_ask_for_what_they_watch() {
        for (kind, requested) in [
            ("apiVersion: v1, kind: Pod", "watch pods"),
            ("apiVersion: v1, kind: pods", "watch pods"),
            ("apiVersion: v1, kind: Endpoints", "watch endpoints"),
            ("apiVersion: networking.k8s.io/v1, kind: Ingress", "watch ingresses of networking.k8s.io"),
            ("apiVersion: networking.k8s.io/v1, kind: NetworkPolicy", "watch networkpolicies of networking.k8s.io"),
            ("apiVersion: gateway.networking.k8s.io/v1, kind: Gateway", "watch gateways of gateway.networking.k8s.io"),
            ("kind: Pod", "watch pods of *"),
            ("apiVersion: v1, kind: Pod, namespace: {labelSelector: {matchLabels: {a: b}}}", "watch pods"),
            (
                "apiVersion: v1, kind: Pod, nameSelector: {matchNames: [p]}, \
                 namespace: {nameSelector: {matchNames: [a, b]}}",
                "watch pods named p in a, b",
            ),
        ] {
            assert_eq!(watched(kind), requested, "{kind}");
        }
    }

    /// In a webhook's rules, `*` has no subresources, and `pods/*` includes `pods`.
    #[test]
    fn bindings_ask_for_what_they_are_asked() {
        let of = |resources: &str| {
            let rule = format!("{{apiGroups: [''], apiVersions: [v1], resources: [{resources}], operations: ['*']}}");
            asks(&format!("kubernetesMutating: [{{name: a.b.c, rules: [{rule}, {rule}]}}]"))
        };
        assert_eq!(of("pods/status"), ["mutate pods/status"]);
        assert_eq!(of("pods/*"), ["mutate pods, pods/*"]);
        assert_eq!(of("'*'"), ["mutate *"]);
        assert_eq!(of("'*/*'"), ["mutate *"]);
        assert_eq!(of("'*/scale'"), ["mutate */scale"]);
    }
}
