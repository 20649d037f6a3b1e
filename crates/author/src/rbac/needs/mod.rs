//! Everything that a set of hooks needs, as single accesses with their reasons.

mod bundles;

use std::collections::{BTreeMap, BTreeSet};

use boathook_core::model::{BindingRef, HookName, HookSpec, KubernetesBinding, Permission, has_variable};

use super::{
    access::{Access, Part, Place, Reason, Tenant, Who},
    kinds::{self, Found, Kinds},
};

/// Maximum number of accesses of one hook; more make no sense in a role.
const MAX: usize = 20_000;

/// The needs, and notes for the reader.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// By subject, then by access.
    pub of: BTreeMap<Who, BTreeMap<Access, BTreeSet<Reason>>>,
    /// Sentences about what was guessed, and about documents that RBAC cannot express exactly.
    pub notes: BTreeSet<String>,
}

impl Needs {
    /// Number of accesses.
    pub fn len(&self) -> usize {
        self.of.values().map(BTreeMap::len).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Collects the needs of one hook, up to a maximum.
struct Collector<'a> {
    needs: &'a mut Needs,
    hook: &'a HookName,
    left: usize,
}

impl Collector<'_> {
    pub fn add(&mut self, who: &Who, part: &Part, access: Access) -> Result<(), NeedsError> {
        self.left =
            self.left.checked_sub(1).ok_or_else(|| NeedsError::TooMany { hook: self.hook.clone(), max: MAX })?;
        let reason = Reason { hook: Some(self.hook.clone()), part: part.clone() };
        self.needs.of.entry(who.clone()).or_default().entry(access).or_default().insert(reason);
        Ok(())
    }

    pub fn note(&mut self, text: String) {
        self.needs.notes.insert(format!("hook {}: {text}", self.hook));
    }

    pub fn hook(&self) -> &HookName {
        self.hook
    }
}

/// The needs of the hooks, and of the operator for them: with the operator's ServiceAccount, with one ServiceAccount
/// per hook, or in each tenant's namespace.
pub fn needs(hooks: &[HookSpec], kinds: &Kinds, layout: &Layout) -> Result<Needs, NeedsError> {
    let mut needs = Needs::default();
    for spec in hooks {
        let mut collector = Collector { needs: &mut needs, hook: &spec.name, left: MAX };
        if !layout.tenants.is_empty() {
            bundles::hook(spec, kinds, layout, &mut collector)?;
            continue;
        }
        collect_watches(spec, kinds, layout, &mut collector)?;
        let who = if layout.per_hook { Who::Hook(spec.name.clone()) } else { Who::Host };
        collect_calls(spec, kinds, &who, &mut collector)?;
    }
    let own = if layout.hook_bundles { bundles::host(layout) } else { Vec::new() };
    for (access, part) in own.into_iter().chain(bundles::election(layout)).chain(bundles::console(layout)) {
        let hosts = needs.of.entry(Who::Host).or_default();
        hosts.entry(access).or_default().insert(Reason { hook: None, part });
    }
    Ok(needs)
}

/// The verbs to create, find and remove objects whose names are not known in advance.
const KEEP: [&str; 4] = ["create", "delete", "list", "watch"];

fn collect_webhooks(spec: &HookSpec, layout: &Layout, out: &mut Collector<'_>) -> Result<(), NeedsError> {
    if !spec.answers() {
        return Ok(());
    }
    registrations(spec, layout.tenants.is_empty(), out)?;
    conversions(spec, out)?;
    match &layout.webhook_secret {
        Some(secret) => certificates(secret, &layout.namespace, out),
        None => Ok(()),
    }
}

/// Both kinds for every hook, because registrations of an earlier version must be removed.
fn registrations(spec: &HookSpec, named: bool, out: &mut Collector<'_>) -> Result<(), NeedsError> {
    // The name of a bundle's hook contains the name of its HookBundle, which is not known here.
    let name = named.then(|| spec.name.configuration());
    for resource in ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"] {
        let access = |name: Option<&str>, verb| cluster("admissionregistration.k8s.io", resource, name, verb);
        for verb in KEEP {
            out.add(&Who::Host, &Part::Webhooks, access(None, verb))?;
        }
        for verb in ["get", "update"] {
            out.add(&Who::Host, &Part::Webhooks, access(name.as_deref(), verb))?;
        }
    }
    Ok(())
}

fn conversions(spec: &HookSpec, out: &mut Collector<'_>) -> Result<(), NeedsError> {
    let access = |name: Option<&str>, verb| cluster("apiextensions.k8s.io", "customresourcedefinitions", name, verb);
    for verb in ["list", "watch"] {
        out.add(&Who::Host, &Part::Webhooks, access(None, verb))?;
    }
    for binding in &spec.conversions {
        for verb in ["get", "patch"] {
            let part = Part::Conversion(binding.crd.to_string());
            out.add(&Who::Host, &part, access(Some(&binding.crd), verb))?;
        }
    }
    Ok(())
}

/// RBAC does not know the name of a new object.
fn certificates(secret: &str, namespace: &str, out: &mut Collector<'_>) -> Result<(), NeedsError> {
    for (name, verb) in [(None, "create"), (Some(secret), "get"), (Some(secret), "update"), (Some(secret), "watch")] {
        let access = Access {
            place: Place::Namespace(namespace.to_owned()),
            group: String::new(),
            resource: "secrets".to_owned(),
            name: name.map(str::to_owned),
            verb: verb.to_owned(),
        };
        out.add(&Who::Host, &Part::Webhooks, access)?;
    }
    Ok(())
}

fn cluster(group: &str, resource: &str, name: Option<&str>, verb: &str) -> Access {
    let name = name.map(str::to_owned);
    Access {
        place: Place::Cluster,
        group: group.to_owned(),
        resource: resource.to_owned(),
        name,
        verb: verb.to_owned(),
    }
}

const FOLLOW: [&str; 2] = ["list", "watch"];

fn collect_watches(spec: &HookSpec, kinds: &Kinds, layout: &Layout, out: &mut Collector<'_>) -> Result<(), NeedsError> {
    for binding in spec.bindings() {
        match binding {
            BindingRef::Kubernetes(binding) => follow(binding, kinds, &Who::Host, out)?,
            // Its informers are `kubernetes` bindings. `collect_calls` has its writes.
            BindingRef::Reconcile(_) => {}
            // `collect_webhooks` has their registrations.
            BindingRef::Admission(_) | BindingRef::Conversion(_) => {}
            BindingRef::Startup(_) | BindingRef::Stage(_) | BindingRef::Schedule(_) => {}
        }
    }
    collect_webhooks(spec, layout, out)?;
    if layout.tenants.is_empty() {
        failures(spec, &layout.namespace, &Who::Host, out)?;
    }
    if layout.per_hook && !(spec.permissions.is_empty() && spec.reconcilers.is_empty()) {
        let access = Access {
            place: Place::Namespace(layout.namespace.clone()),
            group: String::new(),
            resource: "serviceaccounts".to_owned(),
            name: Some(layout.account_of(&spec.name)),
            verb: "impersonate".to_owned(),
        };
        out.add(&Who::Host, &Part::Identity, access)?;
    }
    Ok(())
}

/// For a ServiceAccount, its rights to the same objects are checked, but it watches nothing itself. Namespaces and
/// CustomResourceDefinitions therefore concern only the operator.
fn follow(binding: &KubernetesBinding, kinds: &Kinds, who: &Who, out: &mut Collector<'_>) -> Result<(), NeedsError> {
    let unique = binding.name.unique().to_owned();
    let found = kinds.find(binding.api_version.as_deref(), &binding.kind).ok_or_else(|| NeedsError::UnknownKind {
        hook: out.hook().clone(),
        binding: unique.clone(),
        kind: binding.kind.clone(),
    })?;
    if found.guessed {
        out.note(format!(
            "binding {unique}: the plural of kind {} is unknown; {} is a guess",
            binding.kind,
            resource_text(&found)
        ));
    }
    let ((places, by_label), names) = (places(binding, &found), names(binding));
    let varies = |texts: &[String]| texts.iter().any(|text| has_variable(text));
    if varies(&binding.names)
        || varies(&binding.namespaces)
        || binding.field_selector.as_deref().is_some_and(has_variable)
    {
        // One account works for all values.
        out.note(format!("binding {unique}: its objects depend on a variable, so the role has no name in place of it"));
    }
    for place in &places {
        for name in &names {
            for verb in FOLLOW {
                let access = access(place.clone(), &found.group, &found.plural, name.clone(), verb);
                out.add(who, &Part::Binding(unique.clone()), access)?;
            }
        }
    }
    if *who != Who::Host {
        return Ok(());
    }
    if by_label {
        for verb in FOLLOW {
            let access = access(Place::Cluster, "", "namespaces", None, verb);
            out.add(&Who::Host, &Part::Namespaces(unique.clone()), access)?;
        }
    }
    if !kinds::is_own(&found.group) {
        for verb in FOLLOW {
            let access = access(Place::Cluster, "apiextensions.k8s.io", "customresourcedefinitions", None, verb);
            out.add(&Who::Host, &Part::Definitions(unique.clone()), access)?;
        }
    }
    Ok(())
}

fn resource_text(found: &Found) -> String {
    if found.group.is_empty() { found.plural.clone() } else { format!("{}.{}", found.plural, found.group) }
}

/// Where the binding's objects are, and whether namespaces are selected by label.
fn places(binding: &KubernetesBinding, found: &Found) -> (Vec<Place>, bool) {
    if !found.namespaced {
        return (vec![Place::Cluster], false);
    }
    let varies = binding.namespaces.iter().any(|namespace| has_variable(namespace));
    let named = binding.namespaces.iter().cloned().map(Place::Namespace).collect::<Vec<_>>();
    let places = if named.is_empty() || varies { vec![Place::Cluster] } else { named };
    (places, binding.namespace_labels.is_some())
}

/// For a field selector with a single name, the API server passes that name to RBAC.
fn names(binding: &KubernetesBinding) -> Vec<Option<String>> {
    let names = match binding.names.as_slice() {
        [] => vec![binding.field_selector.as_deref().and_then(selected_name)],
        names => names.iter().cloned().map(Some).collect(),
    };
    if names.iter().flatten().any(|name| has_variable(name)) { vec![None] } else { names }
}

/// The only name that a field selector matches.
pub fn selected_name(selector: &str) -> Option<String> {
    // An escaped character may be a comma that separates nothing.
    let conditions = (!selector.contains('\\')).then(|| selector.split(','))?;
    let name = |condition: &str| {
        let value = condition.trim().strip_prefix("metadata.name=")?;
        Some(value.strip_prefix('=').unwrap_or(value).to_owned()).filter(|name| !name.is_empty())
    };
    conditions.into_iter().find_map(name)
}

/// Events are applied, which creates them. They are in the namespace of the object that they are about, which is
/// `namespace` by default.
fn failures(spec: &HookSpec, namespace: &str, who: &Who, out: &mut Collector<'_>) -> Result<(), NeedsError> {
    let namespace = match &spec.failure_events {
        Some(object) => object.namespace.clone().unwrap_or_else(|| "default".to_owned()),
        None => namespace.to_owned(),
    };
    for verb in ["create", "patch"] {
        let access = access(Place::Namespace(namespace.clone()), "events.k8s.io", "events", None, verb);
        out.add(who, &Part::Failures, access)?;
    }
    Ok(())
}

fn access(place: Place, group: &str, resource: &str, name: Option<String>, verb: &str) -> Access {
    Access { place, group: group.to_owned(), resource: resource.to_owned(), name, verb: verb.to_owned() }
}

/// The verbs that calls of hooks use.
const VERBS: [&str; 6] = ["create", "delete", "get", "list", "patch", "update"];
const EVENTS: &str = "events.k8s.io";

fn collect_calls(spec: &HookSpec, kinds: &Kinds, who: &Who, out: &mut Collector<'_>) -> Result<(), NeedsError> {
    let own = spec.permissions.iter().cloned().enumerate().map(|(index, own)| (Part::Permission(index), index, own));
    let reconcilers = spec.reconcilers.iter().flat_map(|binding| {
        binding.asks().into_iter().map(|call| (Part::Binding(binding.name.to_string()), usize::MAX, call))
    });
    for (part, index, permission) in own.chain(reconcilers) {
        let permission = &permission;
        let item = Item { permission, index, kinds };
        for group in &permission.api_groups {
            for resource in item.resources(group, out) {
                for place in item.places(group, &resource, out) {
                    for verb in verbs(permission) {
                        for name in item.names(&resource, verb, out) {
                            let access = Access {
                                place: place.clone(),
                                group: group.clone(),
                                resource: resource.clone(),
                                name,
                                verb: verb.to_owned(),
                            };
                            if group.is_empty() && resource == "events" && verb == "create" {
                                out.add(who, &part, Access { group: EVENTS.to_owned(), ..access.clone() })?;
                            }
                            out.add(who, &part, access)?;
                        }
                    }
                }
            }
        }
    }
    Ok(())
}

pub fn verbs(permission: &Permission) -> Vec<&str> {
    if permission.verbs.iter().any(|verb| verb == "*") {
        return VERBS.to_vec();
    }
    permission.verbs.iter().map(String::as_str).collect()
}

/// One item of `permissions.kubernetes`.
struct Item<'a> {
    permission: &'a Permission,
    index: usize,
    kinds: &'a Kinds,
}

impl Item<'_> {
    fn resources(&self, group: &str, out: &mut Collector<'_>) -> Vec<String> {
        let mut all = Vec::new();
        for resource in &self.permission.resources {
            match resource.split_once('/') {
                Some(("*", "*")) => {
                    self.note(out, "*/* is more in RBAC: * stands for all resources and subresources there");
                    all.push("*".to_owned());
                }
                Some((plural, "*")) => all.extend(self.subresources(group, plural, out)),
                _ => {
                    self.note_if_unknown(group, resource, out);
                    all.push(resource.clone());
                }
            }
        }
        all
    }

    /// The subresources of `pods/*`.
    fn subresources(&self, group: &str, plural: &str, out: &mut Collector<'_>) -> Vec<String> {
        match self.kinds.with_plural(group, plural) {
            Some(kind) => kind.subresources.iter().map(|sub| format!("{plural}/{sub}")).collect(),
            None => {
                self.note(
                    out,
                    &format!(
                        "{plural}/* gives nothing: RBAC has no such pattern, and which subresources there are is not \
                         known; write them one by one"
                    ),
                );
                Vec::new()
            }
        }
    }

    fn note_if_unknown(&self, group: &str, resource: &str, out: &mut Collector<'_>) {
        let plural = resource.split('/').next().unwrap_or(resource);
        let known = plural == "*" || group == "*" || self.kinds.with_plural(group, plural).is_some();
        if !known && self.kinds.knows_group(group) {
            let group = if group.is_empty() { "the core group" } else { group };
            self.note(out, &format!("{plural} is not known in {group}; the plural in lower case is wanted"));
        }
    }

    fn places(&self, group: &str, resource: &str, out: &mut Collector<'_>) -> Vec<Place> {
        let namespaces = &self.permission.namespaces;
        if namespaces.is_empty() {
            return vec![Place::Cluster];
        }
        let plural = resource.split('/').next().unwrap_or(resource);
        if self.kinds.with_plural(group, plural).is_some_and(|kind| !kind.namespaced) {
            self.note(out, &format!("{plural} is in no namespace: with `namespaces` the permission gives nothing"));
            return Vec::new();
        }
        namespaces.iter().cloned().map(Place::Namespace).collect()
    }

    fn names(&self, resource: &str, verb: &str, out: &mut Collector<'_>) -> Vec<Option<String>> {
        let names = &self.permission.resource_names;
        if names.is_empty() {
            return vec![None];
        }
        if verb == "create" && !resource.contains('/') {
            self.note(
                out,
                &format!("RBAC cannot limit create of {resource} to resourceNames; the host does, before it sends"),
            );
            return vec![None];
        }
        names.iter().cloned().map(Some).collect()
    }

    fn note(&self, out: &mut Collector<'_>, text: &str) {
        out.note(format!("permissions.kubernetes[{}]: {text}", self.index));
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NeedsError {
    /// The kind of a binding is unknown, and so is its group.
    #[error(
        "hook {hook}, binding {binding}: no kind, plural or short name {kind:?} is known: write its apiVersion in the \
         hook's document, or give its definition with --crds FILE, or a cluster that serves it with --kubeconfig FILE"
    )]
    UnknownKind {
        hook: HookName,
        binding: String,
        /// As the author wrote it.
        kind: String,
    },
    /// A hook of a HookBundle is not allowed to have it.
    #[error("hook {hook}: {what}, and a HookBundle in namespace {namespace} is confined to that: {remedy}")]
    Confined {
        hook: HookName,
        /// What is outside of the namespace.
        what: String,
        namespace: String,
        remedy: &'static str,
    },
    /// The combinations of the lists are more than a role should have.
    #[error(
        "hook {hook}: its bindings and permissions name more than {max} single accesses (groups × resources × verbs × \
         names × namespaces): leave out resourceNames or namespaces where there are so many"
    )]
    TooMany { hook: HookName, max: usize },
}

/// The operator's namespace, and the ServiceAccounts that it uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    pub namespace: String,
    pub service_account: String,
    /// Each hook has its own ServiceAccount, which the operator impersonates.
    pub per_hook: bool,
    /// The Secret of its webhooks' certificates, in its namespace. None if they are in files.
    pub webhook_secret: Option<String>,
    /// The operator runs HookBundles.
    pub hook_bundles: bool,
    /// The Lease of the operator's replicas, in its namespace. None for a single replica.
    pub lease: Option<String>,
    /// The operator serves the console.
    pub console: bool,
    /// The namespaces of HookBundles, and the ServiceAccounts that their hooks act as. The given hooks belong to them.
    /// Empty if hooks come from a directory or a list of bundles.
    pub tenants: Vec<Tenant>,
}

impl Layout {
    /// The ServiceAccount of a hook. If the hook's name is not valid for a ServiceAccount, it contains a part of the
    /// name's hash, so that no two hooks share one.
    pub fn account_of(&self, hook: &HookName) -> String {
        format!("{}-{}", self.service_account, hook.subdomain())
    }

    /// The ServiceAccount of the operator, or of a hook.
    pub fn account(&self, who: &Who) -> String {
        match who {
            Who::Host => self.service_account.clone(),
            Who::Hook(hook) => self.account_of(hook),
            Who::Tenant(tenant) => tenant.service_account.clone(),
        }
    }

    /// The namespace of that ServiceAccount.
    pub fn namespace<'a>(&'a self, who: &'a Who) -> &'a str {
        match who {
            Who::Tenant(tenant) => &tenant.namespace,
            Who::Host | Who::Hook(_) => &self.namespace,
        }
    }

    /// The user name in RBAC.
    pub fn user(&self, who: &Who) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace(who), self.account(who))
    }
}

#[cfg(test)]
mod tests {
    use super::selected_name;

    #[test]
    fn a_field_selector_may_name_one_object() {
        let name = |selector| selected_name(selector);
        assert_eq!(name("metadata.name=a").as_deref(), Some("a"));
        assert_eq!(name("spec.nodeName=n,metadata.name==a").as_deref(), Some("a"));
        assert_eq!(name("metadata.name!=a"), None);
        assert_eq!(name("metadata.namespace=a"), None);
        assert_eq!(name(r"spec.x=\,metadata.name=a"), None);
    }
}
