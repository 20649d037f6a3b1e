//! What the operator needs to run HookBundles, to be one of several replicas and to serve its console, and what their hooks need in a
//! tenant's namespace: the operator watches objects there, and the ServiceAccount must be able to read them and to make
//! the hook's calls.

use boathook_core::model::{AdmissionKind, HookSpec, Permission};

use super::{
    super::{
        access::{Access, Part, Place, Tenant, Who},
        kinds::Kinds,
    },
    Collector, Layout, NeedsError,
};

const OWN: &str = "boathook.dev";

/// The needs that are independent of the hooks. Those for a tenant's namespace are limited to it.
pub(super) fn host(layout: &Layout) -> Vec<(Access, Part)> {
    let mut all = Vec::new();
    let mut add = |place: &Place, group: &str, resource: &str, verbs: &[&str], part: Part| {
        all.extend(verbs.iter().map(|verb| {
            let (group, resource, verb) = (group.to_owned(), resource.to_owned(), (*verb).to_owned());
            (Access { place: place.clone(), group, resource, name: None, verb }, part.clone())
        }));
    };
    let everywhere = Place::Cluster;
    add(&everywhere, OWN, "hookbundles", &["list", "patch", "watch"], Part::HookBundles);
    add(&everywhere, OWN, "hookbundles/status", &["patch"], Part::HookBundles);
    add(&everywhere, "apiextensions.k8s.io", "customresourcedefinitions", &["list", "watch"], Part::Kinds);
    add(&everywhere, "authorization.k8s.io", "subjectaccessreviews", &["create"], Part::Rights);
    for tenant in &layout.tenants {
        let place = Place::Namespace(tenant.namespace.clone());
        add(&place, "", "secrets", &["get"], Part::Logins);
        add(&place, "", "serviceaccounts", &["get", "impersonate"], Part::Identities);
        add(&place, "events.k8s.io", "events", &["create", "patch"], Part::Told);
    }
    all
}

/// The needs of one of several replicas. `create` has no resource name, because RBAC does not know the name of a new
/// object.
pub(super) fn election(layout: &Layout) -> Vec<(Access, Part)> {
    let access = |lease: &String, verb: &str| Access {
        place: Place::Namespace(layout.namespace.clone()),
        group: "coordination.k8s.io".to_owned(),
        resource: "leases".to_owned(),
        name: (verb != "create").then(|| lease.clone()),
        verb: verb.to_owned(),
    };
    let of = |lease| ["create", "get", "patch", "watch"].map(|verb| (access(lease, verb), Part::Election));
    layout.lease.iter().flat_map(of).collect()
}

/// The questions about visitors of the console.
pub(super) fn console(layout: &Layout) -> Vec<(Access, Part)> {
    let access = |group, resource| super::cluster(group, resource, None, "create");
    let all = [access("authentication.k8s.io", "tokenreviews"), access("authorization.k8s.io", "subjectaccessreviews")];
    all.into_iter().filter(|_| layout.console).map(|access| (access, Part::Console)).collect()
}

/// The needs of a hook in each tenant's namespace.
pub(super) fn hook(spec: &HookSpec, kinds: &Kinds, layout: &Layout, out: &mut Collector<'_>) -> Result<(), NeedsError> {
    for tenant in &layout.tenants {
        let spec = confined(spec, &tenant.namespace)?;
        let who = Who::Tenant(tenant.clone());
        super::collect_watches(&spec, kinds, layout, out)?;
        for binding in &spec.kubernetes {
            cluster_scoped(&spec, binding, kinds, tenant)?;
            super::follow(binding, kinds, &who, out)?;
        }
        super::collect_calls(&spec, kinds, &who, out)?;
        super::failures(&spec, &tenant.namespace, &who, out)?;
        answers(&spec, tenant, out)?;
    }
    Ok(())
}

/// The ServiceAccount must itself be able to read what its hooks review, and to update what they change.
fn answers(spec: &HookSpec, tenant: &Tenant, out: &mut Collector<'_>) -> Result<(), NeedsError> {
    for binding in &spec.admission {
        let part = Part::Reviews(binding.name.unique().to_owned());
        let verbs: &[&str] = match binding.kind {
            AdmissionKind::Validating => &["get"],
            AdmissionKind::Mutating => &["get", "update"],
        };
        for asked in binding.asks() {
            for group in &asked.api_groups {
                for resource in &asked.resources {
                    for verb in verbs {
                        let access = Access {
                            place: Place::Namespace(tenant.namespace.clone()),
                            group: group.clone(),
                            resource: resource.clone(),
                            name: None,
                            verb: (*verb).to_owned(),
                        };
                        out.add(&Who::Tenant(tenant.clone()), &part, access)?;
                    }
                }
            }
        }
    }
    Ok(())
}

/// The document as it applies in the tenant's namespace.
fn confined(spec: &HookSpec, namespace: &str) -> Result<HookSpec, NeedsError> {
    let out = |what: String, remedy| NeedsError::Confined {
        hook: spec.name.clone(),
        what,
        namespace: namespace.to_owned(),
        remedy,
    };
    let mut spec = spec.clone();
    for binding in &mut spec.reconcilers {
        binding.namespaces = vec![namespace.to_owned()];
    }
    for binding in &mut spec.kubernetes {
        if binding.namespaces.iter().any(|one| one != namespace) {
            let what =
                format!("binding {} watches namespaces {}", binding.name.unique(), binding.namespaces.join(", "));
            return Err(out(what, "let the binding name that namespace or none"));
        }
        binding.namespaces = vec![namespace.to_owned()];
    }
    if let Some(binding) = spec.admission.iter().find(|binding| binding.include_system) {
        let what = format!("binding {} reviews objects of the system's namespaces", binding.name.unique());
        return Err(out(what, "leave out `namespace.includeSystem`"));
    }
    if let Some(conversion) = spec.conversions.first() {
        return Err(out(format!("it converts {}", conversion.crd), "leave out --tenant for it"));
    }
    let within = |permission: &Permission| match permission.namespaces.is_empty() {
        true => permission.clone().within(namespace),
        false => permission.clone(),
    };
    let permissions: Vec<_> = spec.permissions.iter().map(within).collect();
    if let Some(other) = permissions.iter().flat_map(|one| &one.namespaces).find(|one| *one != namespace) {
        return Err(out(
            format!("it asks for objects of namespace {other}"),
            "let it ask for that namespace or for none",
        ));
    }
    spec.permissions = permissions.into();
    Ok(spec)
}

fn cluster_scoped(
    spec: &HookSpec,
    binding: &boathook_core::model::KubernetesBinding,
    kinds: &Kinds,
    tenant: &Tenant,
) -> Result<(), NeedsError> {
    match kinds.find(binding.api_version.as_deref(), &binding.kind) {
        Some(found) if !found.namespaced => Err(NeedsError::Confined {
            hook: spec.name.clone(),
            what: format!("binding {} watches {}, which are not namespaced", binding.name.unique(), found.plural),
            namespace: tenant.namespace.clone(),
            remedy: "leave out --tenant for it",
        }),
        _ => Ok(()),
    }
}
