//! Which hook reconciles the objects of which kind.
//!
//! An object's set, its finalizer and the members' labels depend on the object alone. Two hooks that reconcile the same
//! object would delete each other's children, so the second one is refused. A tenant must not keep the admins' hooks out, so
//! a hook that is confined to a namespace gives way to one that is not.

use std::sync::{Arc, Mutex, PoisonError};

use boathook_core::model::{HookName, HookSpec, ReconcileBinding};

/// The claims of all hooks that are loaded. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Claims(Arc<Mutex<Known>>);

#[derive(Default)]
struct Known {
    next: u64,
    all: Vec<(u64, Claimed)>,
}

/// What one version of a hook reconciles.
struct Claimed {
    hook: HookName,
    bindings: Vec<Bound>,
}

struct Bound {
    binding: ReconcileBinding,
    /// The namespace of a confined bundle. Kinds without namespaces are refused there.
    only_in: Option<Arc<str>>,
}

/// Holds a hook's claim until it is dropped. A version that is replaced keeps its claim until its last run has ended.
#[derive(Clone)]
pub(super) struct Claim(#[expect(dead_code, reason = "it is only dropped")] Arc<Held>);

struct Held {
    id: u64,
    claims: Claims,
}

/// Another hook reconciles these objects.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "reconcile binding {binding:?} is about {kind}, and {other} reconciles these objects already: each would delete the \
     other's children; remove one of the hooks, or return the children of both from one binding"
)]
pub struct ClaimedTwice {
    binding: String,
    kind: String,
    other: String,
}

impl ClaimedTwice {
    /// A tenant must not learn the names of the admins' hooks.
    fn new(own: &Bound, hook: &HookName, other: &Bound) -> Self {
        let other = match (&own.only_in, &other.only_in) {
            (Some(_), None) => "a hook of the cluster's admins".to_owned(),
            _ => format!("the binding {:?} of the hook {hook}", other.binding.name.to_string()),
        };
        Self { binding: own.binding.name.to_string(), kind: own.binding.parent.group_kind(), other }
    }
}

/// A confined hook that must stop, because a hook that is not confined has claimed its objects.
pub(super) struct Displaced {
    pub hook: HookName,
    pub reason: ClaimedTwice,
}

impl Claims {
    /// Claims what the hook reconciles, unless another hook has claimed some of it. Versions of one hook share their claims.
    /// Hooks that are displaced have no claim any more, and must be stopped before the hook runs.
    pub fn take(&self, spec: &HookSpec) -> Result<(Claim, Vec<Displaced>), ClaimedTwice> {
        let mut displaced: Vec<Displaced> = Vec::new();
        let bindings: Vec<_> = spec.reconcilers.iter().map(|binding| Bound::new(spec, binding)).collect();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, others) in known.all.iter().filter(|(_, others)| others.hook != spec.name) {
            for (own, other) in bindings.iter().flat_map(|own| others.bindings.iter().map(move |other| (own, other))) {
                if !own.meets(other) {
                    continue;
                }
                if own.only_in.is_some() || other.only_in.is_none() {
                    return Err(ClaimedTwice::new(own, &others.hook, other));
                }
                if displaced.iter().all(|known| known.hook != others.hook) {
                    let reason = ClaimedTwice::new(other, &spec.name, own);
                    displaced.push(Displaced { hook: others.hook.clone(), reason });
                }
            }
        }
        known.all.retain(|(_, others)| displaced.iter().all(|displaced| displaced.hook != others.hook));
        known.next += 1;
        let id = known.next;
        if !bindings.is_empty() {
            known.all.push((id, Claimed { hook: spec.name.clone(), bindings }));
        }
        Ok((Claim(Arc::new(Held { id, claims: self.clone() })), displaced))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut known = self.claims.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.all.retain(|(id, _)| *id != self.id);
    }
}

impl Bound {
    fn new(spec: &HookSpec, binding: &ReconcileBinding) -> Self {
        let informer = spec.kubernetes.iter().find(|informer| informer.name == binding.name);
        let only_in = informer.and_then(|informer| informer.may_watch.only_in.clone());
        Self { binding: binding.clone(), only_in }
    }

    /// Whether both may have the same object. A namespace keeps two bindings apart only if one of them is confined to it,
    /// because then its kind has namespaces.
    fn meets(&self, other: &Self) -> bool {
        let apart = |one: &Self, other: &Self| {
            let only_in = one.only_in.as_deref();
            only_in.is_some_and(|only_in| {
                !other.binding.namespaces.is_empty() && !other.binding.namespaces.iter().any(|name| name == only_in)
            })
        };
        self.binding.has_parents_of(&other.binding) && !apart(self, other) && !apart(other, self)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use boathook_core::hooks::parse;

    use super::*;

    fn spec(hook: &str, fields: &str, only_in: Option<&str>) -> HookSpec {
        let binding = format!("{{kind: App, owns: [{{apiVersion: v1, kind: ConfigMap}}], {fields}}}");
        let document = format!("{{configVersion: v1, reconcile: [{binding}]}}");
        let mut spec = parse(&HookName::new(hook).unwrap(), &document, &|_| Ok(())).unwrap();
        if let Some(only_in) = only_in {
            spec.kubernetes.iter_mut().for_each(|binding| binding.may_watch.only_in = Some(only_in.into()));
            spec.reconcilers.iter_mut().for_each(|binding| binding.namespaces = vec![only_in.to_owned()]);
        }
        spec
    }

    // mutant: crates/operator/src/app/claims.rs: `if !own.meets(other) {` => `if true {`
    // mutant: crates/operator/src/app/claims.rs: `known.all.retain(|(id, _)| *id != self.id);` => ``
    #[test]
    fn an_object_has_one_hook() {
        let claims = Claims::default();
        let held = claims.take(&spec("a", "apiVersion: x.io/v1", None)).unwrap();
        // Another version of the same hook, and another group.
        let newer = claims.take(&spec("a", "apiVersion: x.io/v2", None)).unwrap();
        let _other = claims.take(&spec("b", "apiVersion: y.io/v1", None)).unwrap();
        let refused = |fields: &str| claims.take(&spec("c", fields, None)).err().map(|error| error.to_string());
        for fields in [
            "apiVersion: x.io/v1",
            "apiVersion: x.io/v3",
            "apiVersion: x.io/v1, labelSelector: {matchLabels: {a: b}}",
            "apiVersion: x.io/v1, namespace: {nameSelector: {matchNames: [n]}}",
        ] {
            let error = refused(fields).unwrap();
            assert!(error.contains("App.x.io") && error.contains("of the hook a"), "{error}");
        }
        drop(held);
        assert!(refused("apiVersion: x.io/v1").is_some());
        drop(newer);
        assert_eq!(refused("apiVersion: x.io/v1"), None);
    }

    #[test]
    fn tenants_in_different_namespaces_are_apart() {
        let claims = Claims::default();
        let tenant = |hook: &str, only_in: &str| claims.take(&spec(hook, "apiVersion: x.io/v1", Some(only_in)));
        let _one = tenant("a", "one").unwrap();
        let _two = tenant("b", "two").unwrap();
        assert!(tenant("c", "two").is_err());
        let named = |names: &str| {
            let fields = format!("apiVersion: x.io/v1, namespace: {{nameSelector: {{matchNames: [{names}]}}}}");
            claims.take(&spec("d", &fields, None))
        };
        let (_three, displaced) = named("three").unwrap();
        assert!(displaced.is_empty());
    }

    // mutant: crates/operator/src/app/claims.rs: `if own.only_in.is_some() || other.only_in.is_none() {` => `if true {`
    #[test]
    fn a_tenant_gives_way_to_the_admins() {
        let claims = Claims::default();
        let tenant = |hook: &str, only_in: &str| claims.take(&spec(hook, "apiVersion: x.io/v1", Some(only_in)));
        let _one = tenant("a", "one").unwrap();
        let _two = tenant("b", "two").unwrap();
        let fields = "apiVersion: x.io/v1, namespace: {nameSelector: {matchNames: [three, two]}}";
        let names = |displaced: &[Displaced]| displaced.iter().map(|it| it.hook.to_string()).collect::<Vec<_>>();
        let (some, displaced) = claims.take(&spec("d", fields, None)).unwrap();
        assert_eq!(names(&displaced), ["b"]);
        let told = displaced[0].reason.to_string();
        assert!(told.contains("a hook of the cluster's admins") && !told.contains("hook d"), "{told}");
        drop(some);
        let (_all, displaced) = claims.take(&spec("e", "apiVersion: x.io/v1", None)).unwrap();
        assert_eq!(names(&displaced), ["a"], "the other one has no claim any more");
        for again in [tenant("a", "one"), tenant("c", "four")] {
            let told = again.err().unwrap().to_string();
            assert!(told.contains("a hook of the cluster's admins"), "{told}");
        }
        assert!(claims.take(&spec("f", "apiVersion: x.io/v1", None)).is_err());
    }
}
