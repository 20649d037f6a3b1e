//! Which hook reconciles the objects of which kind.
//!
//! An object's set, its finalizer and the members' labels depend on the object alone. Two hooks that reconcile the same
//! object would delete each other's children, so the second one is refused. A tenant must not keep the admins' hooks out, so
//! a hook that is confined to a namespace gives way to one that is not.
//!
//! A hook that was refused, or gave way, waits. When claims are released, those that wait are tried again.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use boathook_core::model::{HookName, HookSpec, OwnedKind, ReconcileBinding};
use tokio::sync::watch;

/// The claims of all hooks that are loaded. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Claims(Arc<Shared>);

#[derive(Default)]
struct Shared {
    known: Mutex<Known>,
    /// Notifies that a hook that waits may have its claim now.
    news: watch::Sender<()>,
}

#[derive(Default)]
struct Known {
    next: u64,
    all: Vec<Claimed>,
    /// The hooks that do not run because of the claims of others, the first one first.
    waiting: Vec<Arc<Wanted>>,
}

/// What one version of a hook reconciles.
#[derive(Debug)]
struct Wanted {
    hook: HookName,
    bindings: Vec<Bound>,
}

struct Claimed {
    id: u64,
    wanted: Arc<Wanted>,
    /// Why the hook has the claim no more, although it was not released.
    lost: Arc<OnceLock<ClaimedTwice>>,
}

#[derive(Debug)]
struct Bound {
    binding: ReconcileBinding,
    /// The namespace of a confined bundle. Kinds without namespaces are refused there.
    only_in: Option<Arc<str>>,
}

/// Holds a hook's claim until it is dropped. A version that is replaced keeps its claim until its last run has ended.
#[derive(Clone)]
pub(super) struct Claim(Arc<Held>);

struct Held {
    id: u64,
    claims: Claims,
    lost: Arc<OnceLock<ClaimedTwice>>,
}

impl Claim {
    /// Why the hook must not run any more: another one claimed its objects after this hook was loaded.
    pub fn lost(&self) -> Option<ClaimedTwice> {
        self.0.lost.get().cloned()
    }
}

/// Another hook reconciles these objects.
#[derive(Debug, Clone, thiserror::Error)]
#[error(
    "reconcile binding {binding:?} is for {kind}, but {other} already reconciles these objects, and each would delete the \
     other's children: remove one of the hooks, or return the children of both from one binding"
)]
pub struct ClaimedTwice {
    binding: String,
    kind: String,
    other: String,
    wanted: Arc<Wanted>,
}

impl ClaimedTwice {
    /// A tenant must not learn the names of the admins' hooks.
    fn new(wanted: &Arc<Wanted>, own: &Bound, hook: &HookName, other: &Bound) -> Self {
        let other = match (&own.only_in, &other.only_in) {
            (Some(_), None) => "a hook of the cluster's admins".to_owned(),
            _ => format!("the binding {:?} of the hook {hook}", other.binding.name.to_string()),
        };
        let (binding, kind) = (own.binding.name.to_string(), own.binding.parent.group_kind());
        Self { binding, kind, other, wanted: wanted.clone() }
    }
}

/// A confined hook that must stop, because a hook that is not confined has claimed its objects.
pub(super) struct Displaced {
    pub hook: HookName,
    pub reason: ClaimedTwice,
}

/// What became of the claims of hooks that start together.
pub(super) struct Taken {
    /// In the order of the hooks.
    pub claims: Vec<Result<Claim, ClaimedTwice>>,
    pub displaced: Vec<Displaced>,
    /// Hooks that leave, and whose objects others of the group have from now on. Nothing of them may run when the others
    /// start.
    pub left: BTreeSet<HookName>,
}

impl Claims {
    /// Claims what the hook reconciles, unless another hook has claimed some of it. Versions of one hook share their claims.
    /// Hooks that are displaced have no claim any more, and must be stopped before the hook runs.
    pub fn take(&self, spec: &HookSpec) -> Result<(Claim, Vec<Displaced>), ClaimedTwice> {
        let Taken { mut claims, displaced, .. } = self.take_together(&[spec], |_| false, false);
        match claims.pop() {
            Some(claim) => claim.map(|claim| (claim, displaced)),
            None => Ok((self.unclaimed(), displaced)),
        }
    }

    /// Does the same for hooks that start together. `leaves`: the versions before of these hooks end with this change, and
    /// so do other hooks that it names. A kind can therefore move from one hook of the group to another. `whole`: if one of
    /// the hooks is refused, nothing changes, and no hook is displaced.
    pub fn take_together(&self, specs: &[&HookSpec], leaves: impl Fn(&HookName) -> bool, whole: bool) -> Taken {
        let group: Vec<_> = specs.iter().map(|spec| Arc::new(Wanted::new(spec))).collect();
        let leaves = |hook: &HookName| leaves(hook) || group.iter().any(|wanted| wanted.hook == *hook);
        let mut known = self.known();
        let (mut displaced, mut left) = (Vec::<Displaced>::new(), BTreeSet::new());
        let mut accepted: Vec<&Arc<Wanted>> = Vec::new();
        let mut verdicts = Vec::new();
        for wanted in &group {
            let others = known.all.iter().map(|claimed| &claimed.wanted);
            let staying = others.filter(|others| others.hook != wanted.hook && !leaves(&others.hook));
            let verdict = wanted.refused_by(staying.clone().chain(accepted.iter().copied()));
            if verdict.is_none() {
                accepted.push(wanted);
                for (own, others, other) in staying.flat_map(|others| wanted.meetings(others)) {
                    if displaced.iter().all(|known| known.hook != others.hook) {
                        let reason = ClaimedTwice::new(others, other, &wanted.hook, own);
                        displaced.push(Displaced { hook: others.hook.clone(), reason });
                    }
                }
                let leaving = known.all.iter().map(|claimed| &claimed.wanted);
                let leaving = leaving.filter(|others| others.hook != wanted.hook && leaves(&others.hook));
                left.extend(
                    leaving.flat_map(|others| wanted.meetings(others)).map(|(_, others, _)| others.hook.clone()),
                );
            }
            verdicts.push(verdict);
        }
        if whole && verdicts.iter().any(Option::is_some) {
            let claims = verdicts.into_iter().map(|verdict| verdict.map_or_else(|| Ok(self.unclaimed()), Err));
            return Taken { claims: claims.collect(), displaced: Vec::new(), left: BTreeSet::new() };
        }
        for displaced in &displaced {
            for claimed in known.all.extract_if(.., |claimed| claimed.wanted.hook == displaced.hook) {
                drop(claimed.lost.set(displaced.reason.clone()));
            }
        }
        let claims = group.iter().zip(verdicts).map(|(wanted, verdict)| match verdict {
            Some(refused) => Err(refused),
            None => Ok(self.claim(&mut known, wanted)),
        });
        Taken { claims: claims.collect(), displaced, left }
    }

    fn claim(&self, known: &mut Known, wanted: &Arc<Wanted>) -> Claim {
        known.waiting.retain(|waiting| waiting.hook != wanted.hook);
        known.next += 1;
        let (id, lost) = (known.next, Arc::new(OnceLock::new()));
        if let Some(circle) = wanted.circle(known.all.iter().map(|claimed| &claimed.wanted)) {
            tracing::warn!(
                hook = %wanted.hook, circle,
                "kinds own each other: an answer whose objects own each other is refused where the hook watches all of them, and \
                 otherwise Kubernetes deletes all of them with any one of them"
            );
        }
        if !wanted.bindings.is_empty() {
            known.all.push(Claimed { id, wanted: wanted.clone(), lost: lost.clone() });
        }
        Claim(Arc::new(Held { id, claims: self.clone(), lost }))
    }

    /// The claim of a hook that reconciles nothing.
    fn unclaimed(&self) -> Claim {
        Claim(Arc::new(Held { id: 0, claims: self.clone(), lost: Arc::default() }))
    }

    /// The hook does not run for this reason. It is tried again when that is over.
    pub fn wait(&self, refused: &ClaimedTwice) {
        let mut known = self.known();
        known.waiting.retain(|waiting| waiting.hook != refused.wanted.hook);
        known.waiting.push(refused.wanted.clone());
        drop(known);
        // The claim may have been released in the meantime.
        self.check();
    }

    /// The hook is gone, or does not run for another reason.
    pub fn stop_waiting(&self, hook: &str) {
        self.known().waiting.retain(|waiting| waiting.hook.as_str() != hook);
    }

    /// Whether the hook does not run because another one has its objects.
    pub fn is_waiting(&self, hook: &HookName) -> bool {
        self.known().waiting.iter().any(|waiting| waiting.hook == *hook)
    }

    /// The hooks that wait and can have their claims now. Of those that want the same, it is the first one, but those of the
    /// admins come first.
    pub fn free(&self) -> Vec<HookName> {
        let known = self.known();
        let (confined, admins): (Vec<_>, Vec<_>) = known.waiting.iter().partition(|waiting| waiting.is_confined());
        let mut free: Vec<&Arc<Wanted>> = Vec::new();
        for waiting in admins.into_iter().chain(confined) {
            let others = known.all.iter().map(|claimed| &claimed.wanted).chain(free.iter().copied());
            if waiting.refused_by(others.filter(|others| others.hook != waiting.hook)).is_none() {
                free.push(waiting);
            }
        }
        free.into_iter().map(|free| free.hook.clone()).collect()
    }

    /// Changes when a hook that waits may have its claim.
    pub fn news(&self) -> watch::Receiver<()> {
        self.0.news.subscribe()
    }

    /// Has the hooks that wait checked once more.
    pub fn check(&self) {
        self.0.news.send_replace(());
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.claims.known().all.retain(|claimed| claimed.id != self.id);
        self.claims.check();
    }
}

impl Wanted {
    fn new(spec: &HookSpec) -> Self {
        let bindings = spec.reconcilers.iter().map(|binding| Bound::new(spec, binding)).collect();
        Self { hook: spec.name.clone(), bindings }
    }

    /// Kinds that own each other, if one of this hook is among them: `App.x.io, Part.x.io, App.x.io`. They are not refused,
    /// because their objects can be a tree.
    fn circle<'w>(&'w self, others: impl Iterator<Item = &'w Arc<Self>>) -> Option<String> {
        let others = others.filter(|others| others.hook != self.hook).flat_map(|others| &others.bindings);
        let mut owned: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for Bound { binding, .. } in self.bindings.iter().chain(others) {
            let kinds = binding.owns.iter().map(OwnedKind::group_kind);
            owned.entry(binding.parent.group_kind()).or_default().extend(kinds);
        }
        self.bindings.iter().find_map(|bound| {
            let first = bound.binding.parent.group_kind();
            let (mut paths, mut seen) = (VecDeque::from([vec![first.clone()]]), BTreeSet::new());
            while let Some(path) = paths.pop_front() {
                for kind in path.last().and_then(|last| owned.get(last)).into_iter().flatten() {
                    let longer = || path.iter().chain([kind]).cloned().collect::<Vec<_>>();
                    if *kind == first {
                        return Some(longer().join(", "));
                    }
                    if seen.insert(kind.clone()) {
                        paths.push_back(longer());
                    }
                }
            }
            None
        })
    }

    fn is_confined(&self) -> bool {
        self.bindings.iter().any(|bound| bound.only_in.is_some())
    }

    /// The bindings of this one and of the other that may have the same object.
    fn meetings<'w>(&'w self, others: &'w Arc<Self>) -> impl Iterator<Item = (&'w Bound, &'w Arc<Self>, &'w Bound)> {
        let pairs =
            self.bindings.iter().flat_map(move |own| others.bindings.iter().map(move |other| (own, others, other)));
        pairs.filter(|(own, _, other)| own.meets(other))
    }

    /// Why one of the others keeps this one from its claim.
    fn refused_by<'w>(self: &Arc<Self>, others: impl Iterator<Item = &'w Arc<Self>>) -> Option<ClaimedTwice> {
        for others in others {
            for (own, others, other) in self.meetings(others) {
                if own.only_in.is_some() || other.only_in.is_none() {
                    return Some(ClaimedTwice::new(self, own, &others.hook, other));
                }
            }
        }
        None
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

    // mutant: crates/operator/src/app/claims.rs: `pairs.filter(|(own, _, other)| own.meets(other))` => `pairs.filter(|_| true)`
    // mutant: crates/operator/src/app/claims.rs: `self.claims.known().all.retain(|claimed| claimed.id != self.id);` => ``
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
    fn kinds_that_own_each_other_are_named() {
        let hook = |name: &str, kind: &str, owns: &[&str]| {
            let owns: Vec<_> = owns.iter().map(|kind| format!("{{apiVersion: x.io/v1, kind: {kind}}}")).collect();
            let binding = format!("{{apiVersion: x.io/v1, kind: {kind}, owns: [{}]}}", owns.join(", "));
            let document = format!("{{configVersion: v1, reconcile: [{binding}]}}");
            Arc::new(Wanted::new(&parse(&HookName::new(name).unwrap(), &document, &|_| Ok(())).unwrap()))
        };
        let (app, part) = (hook("a", "App", &["Part", "Extra"]), hook("b", "Part", &["Bit"]));
        assert_eq!(app.circle([&part].into_iter()), None);
        let bit = hook("c", "Bit", &["Deployment", "App"]);
        let circle = bit.circle([&app, &part].into_iter()).unwrap();
        assert_eq!(circle, "Bit.x.io, App.x.io, Part.x.io, Bit.x.io");
        // The version before of the same hook counts no more.
        let without = hook("a", "App", &["Extra"]);
        assert_eq!(without.circle([&app, &part, &bit].into_iter()), None);
    }

    fn hooks(claims: &Claims) -> Vec<String> {
        claims.free().iter().map(ToString::to_string).collect()
    }

    // mutant: crates/operator/src/app/claims.rs: `.filter(|others| others.hook != wanted.hook && !leaves(&others.hook));` => `.filter(|others| others.hook != wanted.hook);`
    // mutant: crates/operator/src/app/claims.rs: `if whole && verdicts.iter().any(Option::is_some) {` => `if false {`
    #[test]
    fn a_kind_moves_between_hooks_that_change_together() {
        let claims = Claims::default();
        let (x, y) = ("apiVersion: x.io/v1", "apiVersion: y.io/v1");
        let names = |taken: &Taken| taken.left.iter().map(ToString::to_string).collect::<Vec<_>>();
        let took = |taken: &Taken| taken.claims.iter().map(Result::is_ok).collect::<Vec<_>>();
        let old: Vec<_> =
            [("a", x), ("b", y)].map(|(hook, kind)| claims.take(&spec(hook, kind, None)).unwrap().0).into();
        // Of a hook that is removed.
        let renamed = claims.take_together(&[&spec("c", x, None)], |hook| hook.as_str() == "a", true);
        assert_eq!((took(&renamed), names(&renamed)), (vec![true], vec!["a".to_owned()]));
        drop(renamed);
        // Two hooks exchange their kinds.
        let (a, b) = (spec("a", y, None), spec("b", x, None));
        let exchanged = claims.take_together(&[&a, &b], |_| false, true);
        assert_eq!((took(&exchanged), names(&exchanged)), (vec![true, true], vec!["a".to_owned(), "b".to_owned()]));
        drop((old, exchanged));
        // Of two that want the same, one gets it.
        let both = claims.take_together(&[&spec("d", x, None), &spec("e", x, None)], |_| false, false);
        assert_eq!((took(&both), names(&both)), (vec![true, false], vec![]));
        drop(both);
        let tenant = claims.take(&spec("t", x, Some("one"))).unwrap().0;
        let refused = claims.take_together(&[&spec("d", x, None), &spec("e", x, None)], |_| false, true);
        assert_eq!((took(&refused), refused.displaced.len()), (vec![true, false], 0));
        assert!(tenant.lost().is_none(), "a change that is refused as a whole displaces nobody");
        assert!(claims.take(&spec("t2", x, Some("one"))).is_err());
        assert!(claims.take(&spec("d", y, None)).is_ok(), "it claimed nothing");
    }

    // mutant: crates/operator/src/app/claims.rs: `if waiting.refused_by(others.filter(|others| others.hook != waiting.hook)).is_none() {` => `if true {`
    // mutant: crates/operator/src/app/claims.rs: `for waiting in admins.into_iter().chain(confined) {` => `for waiting in confined.into_iter().chain(admins) {`
    #[test]
    fn hooks_that_wait_are_free_when_nobody_has_their_objects() {
        let claims = Claims::default();
        let mut news = claims.news();
        let x = "apiVersion: x.io/v1";
        let refused = |hook: &str, only_in| claims.take(&spec(hook, x, only_in)).err().unwrap();
        let admin = claims.take(&spec("admin", x, None)).unwrap().0;
        for (hook, only_in) in [("t1", Some("one")), ("t2", Some("two")), ("t1b", Some("one")), ("late", None)] {
            claims.wait(&refused(hook, only_in));
        }
        assert_eq!(hooks(&claims), [""; 0]);
        news.mark_unchanged();
        drop(admin);
        assert!(news.has_changed().unwrap());
        assert_eq!(hooks(&claims), ["late"], "the admins' comes first");
        claims.stop_waiting("late");
        assert_eq!(hooks(&claims), ["t1", "t2"], "one of those that want the same");
        let t1 = claims.take(&spec("t1", x, Some("one"))).unwrap().0;
        assert!(!claims.is_waiting(&HookName::new("t1").unwrap()) && claims.is_waiting(&HookName::new("t1b").unwrap()));
        assert_eq!(hooks(&claims), ["t2"]);
        drop(t1);
        assert_eq!(hooks(&claims), ["t2", "t1b"]);
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
        let (one, two) = (tenant("a", "one").unwrap(), tenant("b", "two").unwrap());
        let fields = "apiVersion: x.io/v1, namespace: {nameSelector: {matchNames: [three, two]}}";
        let names = |displaced: &[Displaced]| displaced.iter().map(|it| it.hook.to_string()).collect::<Vec<_>>();
        let (some, displaced) = claims.take(&spec("d", fields, None)).unwrap();
        assert_eq!(names(&displaced), ["b"]);
        assert!(two.0.lost().is_some() && one.0.lost().is_none(), "it may have started since");
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
