//! Fits a hook's document into the bounds of its bundle: the bundle's own queues, one namespace if the bundle is
//! confined, limits, rights. Pure. What does not fit is rejected and never silently left out.

use std::sync::Arc;

use boathook_core::model::{
    AdmissionBinding, BundleId, HookName, HookSpec, HttpCredential, Identity, KubernetesBinding, LimitCaps, MayWatch,
    Permission, confine, missing,
};
use boathook_modules::life::Subject;
use serde_json::{Value, json};

/// Kubernetes gives every namespace this label, with the namespace's name as its value.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// The terms that all hooks of a bundle share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Terms {
    pub bundle: BundleId,
    pub identity: Option<Arc<Identity>>,
    /// `None` grants what the hooks request.
    pub grants: Option<Vec<Permission>>,
    pub credentials: Arc<[HttpCredential]>,
    pub settings: Arc<str>,
    pub limits: LimitCaps,
    pub confined_to: Option<Arc<str>>,
    /// The module, if the bundle is one.
    pub module: Option<Subject>,
}

/// What a hook of a confined bundle may not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the hook {what}, but its bundle is confined to namespace {namespace:?}: {remedy}")]
pub struct OutOfBounds {
    what: String,
    namespace: String,
    remedy: &'static str,
}

/// Checks that all names can be parts of names that the cluster sees.
pub(super) fn check_names(id: &BundleId, identity: Option<&Identity>, hooks: &[HookName]) -> Result<(), InvalidBundle> {
    let part = |part: &str| {
        let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        part.len() <= 63 && edge(part.chars().next()) && edge(part.chars().next_back()) && part.chars().all(inner)
    };
    let subdomain = |name: &str| name.len() <= 253 && name.split('.').all(part);
    let name = subdomain(&id.name) && id.namespace.as_deref().is_none_or(part);
    let account = identity.is_none_or(|identity| part(&identity.namespace) && subdomain(&identity.service_account));
    let mut sorted: Vec<_> = hooks.iter().collect();
    sorted.sort();
    let twice = sorted.windows(2).any(|pair| pair.first() == pair.last());
    if name && account && !twice { Ok(()) } else { Err(InvalidBundle) }
}

/// A name is not a DNS name, or a hook occurs twice.
#[derive(Debug)]
pub(super) struct InvalidBundle;

/// Returns what a hook requests, confined to its namespace. Requests for all namespaces become requests for that one.
pub(super) fn narrow(requested: impl IntoIterator<Item = Permission>, terms: &Terms) -> Vec<Permission> {
    let narrowed = |permission: Permission| match &terms.confined_to {
        Some(namespace) if permission.namespaces.is_empty() => permission.within(namespace),
        _ => permission,
    };
    requested.into_iter().map(narrowed).collect()
}

/// Checks that everything that a hook requests is granted: its calls, what it watches, and what it answers. Permissions
/// that name a namespace other than the hook's own are not granted. The error contains what is missing.
pub(super) fn granted(requested: &[Permission], terms: &Terms) -> Result<(), Vec<Permission>> {
    let granted = terms.grants.as_deref().unwrap_or(requested);
    let missing = match &terms.confined_to {
        Some(namespace) => missing(requested, &confine(granted, namespace)),
        None => missing(requested, granted),
    };
    if missing.is_empty() { Ok(()) } else { Err(missing) }
}

/// Returns the document as it runs in the bundle.
pub(super) fn scope(mut spec: HookSpec, terms: &Terms) -> Result<HookSpec, OutOfBounds> {
    let bundle = &terms.bundle;
    // Every field is named here, so that a new type of binding cannot be forgotten: here and in `confined`.
    let HookSpec {
        on_startup,
        schedules,
        kubernetes,
        reconcilers,
        // Only the hooks of modules have stages.
        stages: _,
        // These have no queue.
        admission: _,
        conversions: _,
        name: _,
        permissions: _,
        limits: _,
        concurrency: _,
        rate: _,
        combine: _,
        failure_events: _,
        warnings: _,
    } = &mut spec;
    let startup = on_startup.as_mut().map(|binding| &mut binding.queue);
    let schedules = schedules.iter_mut().map(|binding| &mut binding.queue);
    let watches = kubernetes.iter_mut().map(|binding| &mut binding.queue);
    let reconcilers = reconcilers.iter_mut().map(|binding| &mut binding.queue);
    startup
        .into_iter()
        .chain(schedules)
        .chain(watches)
        .chain(reconcilers)
        .for_each(|queue| *queue = queue.in_bundle(bundle));
    let may_watch =
        MayWatch { only_in: terms.confined_to.clone(), as_identity: terms.identity.clone(), as_named: true };
    spec.kubernetes.iter_mut().for_each(|binding| binding.may_watch = may_watch.clone());
    spec.limits = terms.limits.cap(spec.limits);
    spec.concurrency = terms.limits.concurrency.map_or(spec.concurrency, |cap| spec.concurrency.min(cap)).max(1);
    if let Some(namespace) = &terms.confined_to {
        confined(&mut spec, namespace)?;
    }
    Ok(spec)
}

fn confined(spec: &mut HookSpec, namespace: &str) -> Result<(), OutOfBounds> {
    let out = |what: String, remedy| OutOfBounds { what, namespace: namespace.to_owned(), remedy };
    spec.kubernetes.iter_mut().try_for_each(|binding| watch_in(binding, namespace))?;
    spec.admission.iter_mut().try_for_each(|binding| ask_in(binding, namespace))?;
    // Their informers were confined with the other watches, so they name no other namespace.
    spec.reconcilers.iter_mut().for_each(|binding| binding.namespaces = vec![namespace.to_owned()]);
    if let Some(binding) = spec.admission.iter().find(|binding| binding.include_system) {
        let what = format!("reviews objects of the system's namespaces by {}", binding.name);
        return Err(out(what, "leave `namespace.includeSystem` out"));
    }
    if let Some(conversion) = spec.conversions.first() {
        let remedy = "an admin can allow it with --unconfined-namespace";
        return Err(out(format!("converts {}, whose objects can be in any namespace", conversion.crd), remedy));
    }
    let elsewhere = |object: &boathook_core::model::ObjectRef| object.namespace.as_deref() != Some(namespace);
    if spec.failure_events.as_ref().is_some_and(elsewhere) {
        return Err(out("has Events attached to an object elsewhere".to_owned(), "leave `failureEvents` out"));
    }
    Ok(())
}

fn watch_in(binding: &mut KubernetesBinding, namespace: &str) -> Result<(), OutOfBounds> {
    if !binding.namespaces.is_empty() && binding.namespaces.iter().any(|one| one != namespace) {
        return Err(OutOfBounds {
            what: format!("watches {} in namespaces {}", binding.kind, binding.namespaces.join(", ")),
            namespace: namespace.to_owned(),
            remedy: "let the binding name that namespace or none",
        });
    }
    binding.namespaces = vec![namespace.to_owned()];
    Ok(())
}

/// Confines a webhook to objects of the namespace. A rule for cluster-scoped objects is rejected, because these match
/// every namespace selector.
fn ask_in(binding: &mut AdmissionBinding, namespace: &str) -> Result<(), OutOfBounds> {
    for rule in &mut binding.rules {
        if rule.scope == "Cluster" {
            return Err(OutOfBounds {
                what: format!("is asked about {}, which are not namespaced", rule.resources.join(", ")),
                namespace: namespace.to_owned(),
                remedy: "leave the rule out",
            });
        }
        "Namespaced".clone_into(&mut rule.scope);
    }
    let only = json!({"key": NAMESPACE_NAME, "operator": "In", "values": [namespace]});
    let selector = binding.namespace_selector.get_or_insert_with(|| json!({}));
    match selector.get_mut("matchExpressions").and_then(Value::as_array_mut) {
        Some(expressions) => expressions.push(only),
        None => {
            if let Some(fields) = selector.as_object_mut() {
                fields.insert("matchExpressions".to_owned(), json!([only]));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use boathook_core::hooks::parse;

    use super::*;

    fn terms(confined_to: Option<&str>) -> Terms {
        Terms {
            bundle: BundleId { namespace: Some("prod".to_owned()), name: "team".to_owned() },
            identity: None,
            grants: None,
            credentials: Arc::new([]),
            settings: "{}".into(),
            limits: LimitCaps::default(),
            confined_to: confined_to.map(Arc::from),
            module: None,
        }
    }

    fn scoped(document: &str, confined_to: Option<&str>) -> Result<HookSpec, OutOfBounds> {
        let document = format!("{{configVersion: v1, {document}}}");
        let spec = parse(&HookName::new("h").unwrap(), &document, &|_| Ok(())).unwrap();
        scope(spec, &terms(confined_to))
    }

    #[test]
    fn queues_are_the_bundles_own() {
        let spec = scoped(
            "onStartup: 1, schedule: [{crontab: '@daily', queue: q}], kubernetes: [{kind: Pod}, {kind: Pod, queue: q}]",
            None,
        )
        .unwrap();
        let queues = [
            &spec.on_startup.as_ref().unwrap().queue,
            &spec.schedules[0].queue,
            &spec.kubernetes[0].queue,
            &spec.kubernetes[1].queue,
        ];
        assert_eq!(queues.map(ToString::to_string), ["prod/team:main", "prod/team:q", "hook/h", "prod/team:q"]);
    }

    const VALIDATING: &str = "kubernetesValidating: [{name: a.b.c, rules: [{apiGroups: [''], apiVersions: [v1], \
        resources: [pods], operations: ['*']SCOPE}]NAMESPACE}]";

    #[test]
    fn a_confined_hook_is_asked_about_its_namespace_alone() {
        let only = json!({"key": NAMESPACE_NAME, "operator": "In", "values": ["mine"]});
        let plain = VALIDATING.replace("SCOPE", "").replace("NAMESPACE", "");
        let spec = scoped(&plain, Some("mine")).unwrap();
        assert_eq!(spec.admission[0].rules[0].scope, "Namespaced");
        assert_eq!(spec.admission[0].namespace_selector, Some(json!({"matchExpressions": [only]})));
        let labels = ", namespace: {labelSelector: {matchLabels: {a: b}}}";
        let narrowed = VALIDATING.replace("SCOPE", "").replace("NAMESPACE", labels);
        let selector = scoped(&narrowed, Some("mine")).unwrap().admission[0].namespace_selector.clone().unwrap();
        assert_eq!(selector["matchLabels"], json!({"a": "b"}));
        assert_eq!(selector["matchExpressions"].as_array().unwrap().last(), Some(&only));
        let cluster = VALIDATING.replace("SCOPE", ", scope: Cluster").replace("NAMESPACE", "");
        assert!(scoped(&cluster, Some("mine")).is_err());
        assert!(scoped(&cluster, None).is_ok());
    }

    // mutant: crates/operator/src/app/scope.rs: `if !binding.namespaces.is_empty() && binding.namespaces.iter().any(|one| one != namespace) {` => `if false {`
    // mutant: crates/operator/src/app/scope.rs: `if let Some(conversion) = spec.conversions.first() {` => `if let Some(conversion) = spec.conversions.first().filter(|_| false) {`
    // mutant: crates/operator/src/app/scope.rs: `if spec.failure_events.as_ref().is_some_and(elsewhere) {` => `if spec.failure_events.as_ref().is_some_and(elsewhere) && false {`
    // mutant: crates/operator/src/app/scope.rs: `find(|binding| binding.include_system)` => `find(|_| false)`
    #[test]
    fn what_reaches_out_of_the_namespace_is_refused() {
        let other = "failureEvents: {regarding: {apiVersion: v1, kind: Pod, namespace: NS, name: p}}";
        let system = VALIDATING.replace("SCOPE", "").replace("NAMESPACE", ", namespace: {includeSystem: true}");
        for (document, part) in [
            ("kubernetes: [{kind: Pod, namespace: {nameSelector: {matchNames: [other]}}}]", "watches Pod"),
            (
                "kubernetesCustomResourceConversion: [{name: c, crdName: a.b.io, conversions: [{fromVersion: b.io/v1, \
                 toVersion: b.io/v2}]}]",
                "converts a.b.io",
            ),
            (&format!("onStartup: 1, {}", other.replace("NS", "other")), "Events"),
            (&system, "the system's namespaces"),
        ] {
            let error = scoped(document, Some("mine")).unwrap_err().to_string();
            assert!(error.contains(part) && error.contains("mine"), "{error}");
            assert!(scoped(document, None).is_ok());
        }
        assert!(scoped(&format!("onStartup: 1, {}", other.replace("NS", "mine")), Some("mine")).is_ok());
    }

    fn permission(namespaces: &[&str]) -> Permission {
        let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        Permission {
            api_groups: list(&[""]),
            resources: list(&["secrets"]),
            verbs: list(&["get"]),
            resource_names: Vec::new(),
            namespaces: list(namespaces),
            http: None,
            directory: None,
        }
    }

    #[test]
    fn a_confined_hook_gets_in_its_namespace_what_it_asks_for_everywhere() {
        let terms = Terms { grants: Some(vec![permission(&[])]), ..terms(Some("mine")) };
        let rights = |requested: &[Permission], terms: &Terms| {
            let requested = narrow(requested.to_vec(), terms);
            granted(&requested, terms).map(|()| requested)
        };
        let got = rights(&[permission(&[])], &terms);
        assert_eq!(got, Ok(vec![permission(&["mine"])]));
        let got = rights(&[permission(&["mine", "other"])], &terms);
        assert_eq!(got, Err(vec![permission(&["other"])]));
        let got = rights(&[permission(&["other"])], &Terms { grants: None, ..terms });
        assert_eq!(got, Err(vec![permission(&["other"])]));
    }

    #[test]
    fn names_are_those_of_the_cluster() {
        let check = |namespace: Option<&str>, name: &str, hooks: &[&str]| {
            let id = BundleId { namespace: namespace.map(str::to_owned), name: name.to_owned() };
            let hooks: Vec<_> = hooks.iter().map(|hook| HookName::new(hook).unwrap()).collect();
            check_names(&id, None, &hooks).is_ok()
        };
        assert!(check(Some("prod"), "team.one", &["a", "b"]) && check(None, "team", &[]));
        for (namespace, name, hooks) in [
            (None, "", &[][..]),
            (None, "Team", &[]),
            (None, "-a", &[]),
            (None, "a..b", &[]),
            (None, "a/b", &[]),
            (Some("a.b"), "c", &[]),
            (Some(""), "c", &[]),
            (None, "a", &["b", "a", "b"]),
        ] {
            assert!(!check(namespace, name, hooks), "{namespace:?} {name} {hooks:?}");
        }
        let id = BundleId { namespace: None, name: "a".to_owned() };
        for (namespace, account, right) in
            [("prod", "hook.v1", true), ("prod", "", false), ("prod", "a:b", false), ("a\nb", "c", false)]
        {
            let identity = Identity { namespace: namespace.to_owned(), service_account: account.to_owned() };
            assert_eq!(check_names(&id, Some(&identity), &[]).is_ok(), right, "{identity}");
        }
    }

    #[test]
    fn concurrency_is_capped() {
        let hook = HookName::new("h").unwrap();
        for (requested, cap, gets) in [(500, Some(2), 2), (1, Some(2), 1), (500, None, 500)] {
            let spec = parse(&hook, &format!("{{configVersion: v1, concurrency: {requested}}}"), &|_| Ok(())).unwrap();
            let limits = LimitCaps { concurrency: cap, ..LimitCaps::default() };
            assert_eq!(scope(spec, &Terms { limits, ..terms(None) }).unwrap().concurrency, gets);
        }
    }
}
