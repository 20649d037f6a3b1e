//! Which states of objects a hook made itself, so that the hook is not woken for them.
//!
//! It remembers a limited number of writes, for a limited time. A write that it does not know counts as somebody
//! else's, because waking a hook once too often is better than not waking it.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use boathook_core::{
    causes::SAME_SECOND,
    filter::OwnChanges,
    model::{Caller, Create, HookName, Object, ObjectRef, Operation},
};
use futures::{FutureExt as _, future::BoxFuture};
use http::Method;
use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};

use super::{intent::Intent, made::replaced_version, request::Head, send::ApiRequest};

/// How many writes are remembered for each hook.
const MAX: usize = 8_192;
/// How long a write is remembered. A watch is seldom later.
const AGE: Duration = Duration::from_secs(600);
/// How long a change waits for the response to a write that may have made it.
const MAX_WAIT: Duration = Duration::from_secs(2);

/// An object as an operation names it. The version is left out, because `apps/v1` and `apps/v1beta1` show the same
/// objects.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Target {
    group: String,
    kind: String,
    namespace: Option<String>,
    /// Absent if the server chooses the name.
    pub name: Option<String>,
}

impl Target {
    /// The object that an operation is about. `None` if its body cannot be parsed.
    pub fn of(intent: &Intent<'_>) -> Option<Self> {
        match intent.operation {
            Operation::Create(Create { subresource: Some((_, target)), .. }) => Some(Self::named(target)),
            Operation::Patch(patch) => Some(Self::named(&patch.target)),
            Operation::Delete(delete) => Some(Self::named(&delete.target)),
            Operation::Create(_) | Operation::Update(_) => {
                let named = intent.head.as_ref().ok()?.named(None).ok()?;
                Some(Self {
                    group: group(named.api_version),
                    kind: named.kind.to_owned(),
                    namespace: named.namespace.map(str::to_owned),
                    name: named.name.map(str::to_owned),
                })
            }
        }
    }

    fn named(target: &ObjectRef) -> Self {
        Self {
            group: group(&target.api_version),
            kind: target.kind.clone(),
            namespace: target.namespace.clone().filter(|namespace| !namespace.is_empty()),
            name: Some(target.name.clone()),
        }
    }

    fn may_be(&self, object: &Object) -> bool {
        self.name.as_deref().is_none_or(|name| name == &*object.key.name)
            && self.namespace.as_deref() == object.key.namespace.as_deref()
            && self.kind == *object.kind
            && self.group == group(&object.api_version)
    }
}

fn group(api_version: &str) -> String {
    api_version.split_once('/').map(|(group, _)| group).unwrap_or_default().to_owned()
}

/// A change that a hook made.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Deed {
    State { uid: String, version: String },
    Deletion { uid: String },
}

/// Whether the write itself made the state in its response.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Proof {
    Certain,
    /// The response to a write that changed nothing contains a state that somebody else may have made. The state is the
    /// hook's if this manager was the last one. If other managers wrote in the same second, that only counts against
    /// the hook if `again` is true: then an earlier write of the hook explains why its manager is among them.
    Manager {
        manager: Arc<str>,
        again: bool,
    },
}

/// The changes of one hook. Pure.
#[derive(Debug, Default)]
struct Deeds {
    /// How many users follow the hook's writes.
    followers: usize,
    under_way: HashMap<u64, Target>,
    done: HashMap<Deed, Proof>,
    order: VecDeque<(Instant, Deed)>,
    /// The last write to each object.
    touched: HashMap<String, Instant>,
}

impl Deed {
    fn uid(&self) -> &str {
        match self {
            Self::State { uid, .. } | Self::Deletion { uid } => uid,
        }
    }
}

impl Deeds {
    fn add(&mut self, deed: Deed, proof: Proof, now: Instant) {
        let is_old = |(at, _): &(Instant, Deed)| now.duration_since(*at) > AGE;
        while self.order.len() >= MAX || self.order.front().is_some_and(is_old) {
            let Some((at, oldest)) = self.order.pop_front() else { break };
            self.done.remove(&oldest);
            if self.touched.get(oldest.uid()) == Some(&at) {
                self.touched.remove(oldest.uid());
            }
        }
        if self.done.insert(deed.clone(), proof).is_none() {
            self.touched.insert(deed.uid().to_owned(), now);
            self.order.push_back((now, deed));
        }
    }

    /// Whether the hook wrote to this object a moment ago.
    fn touches_again(&self, uid: &str, now: Instant) -> bool {
        self.touched.get(uid).is_some_and(|at| now.duration_since(*at) < SAME_SECOND)
    }

    /// `None` if a write is under way that may have made this change.
    fn verdict(&self, object: &Object, deed: &Deed) -> Option<bool> {
        match self.done.get(deed) {
            Some(Proof::Certain) => Some(true),
            Some(Proof::Manager { manager, again }) => {
                let last = &object.last_managers;
                Some(last.iter().any(|last| **last == **manager) && (last.len() == 1 || !again))
            }
            None if self.under_way.values().any(|target| target.may_be(object)) => None,
            None => Some(false),
        }
    }
}

/// The writes of the hooks that are followed.
#[derive(Debug, Default)]
pub struct OwnWrites {
    hooks: Mutex<Table>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    hooks: HashMap<HookName, Deeds>,
}

/// While this exists, the writes of a hook are remembered.
#[derive(Debug)]
pub struct Followed {
    writes: Arc<OwnWrites>,
    hook: HookName,
}

impl OwnWrites {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.hooks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers this hook's writes from now on.
    pub fn follow(self: &Arc<Self>, hook: &HookName) -> Followed {
        self.table().hooks.entry(hook.clone()).or_default().followers += 1;
        Followed { writes: self.clone(), hook: hook.clone() }
    }

    /// Whether the hook brought the object into this state, or deleted it. Waits for writes to the object that are
    /// under way, for at most 2 s.
    async fn decide(&self, hook: &HookName, object: &Object, deleted: bool) -> bool {
        let uid = object.uid.to_string();
        let deed = match deleted {
            true => Deed::Deletion { uid },
            false => Deed::State { uid, version: object.resource_version.to_string() },
        };
        let deadline = Instant::now() + MAX_WAIT;
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            let verdict = self.table().hooks.get(hook).map_or(Some(false), |deeds| deeds.verdict(object, &deed));
            match verdict {
                Some(own) => return own,
                None if timeout_at(deadline, changed).await.is_err() => return false,
                None => {}
            }
        }
    }

    /// Notes that a write begins. Returns `None` if nothing follows the hook.
    pub(super) fn begin(self: &Arc<Self>, caller: &Caller, intent: &Intent<'_>) -> Option<UnderWay> {
        let target = Target::of(intent).filter(|_| !caller.dry_run)?;
        let mut table = self.table();
        table.next += 1;
        let id = table.next;
        table.hooks.get_mut(&caller.hook)?.under_way.insert(id, target);
        let manager = intent.manager(&caller.hook).as_ref().into();
        Some(UnderWay { writes: self.clone(), hook: caller.hook.clone(), id, manager })
    }

    fn change(&self, hook: &HookName, change: impl FnOnce(&mut Deeds)) {
        if let Some(deeds) = self.table().hooks.get_mut(hook) {
            change(deeds);
        }
        self.changed.notify_waiters();
    }
}

impl OwnChanges for OwnWrites {
    fn is_own<'a>(&'a self, hook: &'a HookName, object: &'a Object, deleted: bool) -> BoxFuture<'a, bool> {
        self.decide(hook, object, deleted).boxed()
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        let mut table = self.writes.table();
        if let Some(deeds) = table.hooks.get_mut(&self.hook) {
            deeds.followers = deeds.followers.saturating_sub(1);
            if deeds.followers == 0 {
                table.hooks.remove(&self.hook);
            }
        }
    }
}

/// A write whose response has not arrived yet. Dropping it means that no response will arrive.
#[derive(Debug)]
pub(super) struct UnderWay {
    writes: Arc<OwnWrites>,
    hook: HookName,
    id: u64,
    manager: Arc<str>,
}

impl UnderWay {
    /// Notes that the response to a request contained this object.
    pub fn wrote(&self, wire: &ApiRequest, answer: &str) {
        let Ok(answer) = Head::read(answer) else { return };
        let (Some(uid), Some(version)) = (answer.uid(), answer.resource_version()) else { return };
        let replaced = (wire.method == Method::PUT).then(|| replaced_version(wire)).flatten();
        if replaced.as_deref() == Some(version) {
            // Nothing changed.
            return;
        }
        let (certain, now) = (wire.method == Method::POST || replaced.is_some(), Instant::now());
        let deed = Deed::State { uid: uid.to_owned(), version: version.to_owned() };
        self.writes.change(&self.hook, |deeds| {
            let proof = match certain {
                true => Proof::Certain,
                false => Proof::Manager { manager: self.manager.clone(), again: deeds.touches_again(uid, now) },
            };
            deeds.add(deed, proof, now);
        });
    }

    /// Notes the response to a deletion: the object with this uid is gone or will be.
    pub fn deleted(&self, uid: &str, answer: &str) {
        let head = Head::read(answer).ok().filter(|head| head.uid() == Some(uid));
        let marked = head.as_ref().and_then(Head::resource_version);
        let marked = marked.map(|version| Deed::State { uid: uid.to_owned(), version: version.to_owned() });
        self.writes.change(&self.hook, |deeds| {
            let deletion = Deed::Deletion { uid: uid.to_owned() };
            marked.into_iter().chain([deletion]).for_each(|deed| deeds.add(deed, Proof::Certain, Instant::now()));
        });
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.writes.change(&self.hook, |deeds| drop(deeds.under_way.remove(&self.id)));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use boathook_core::model::{Delete, IfExists, Propagation, RunId, Update};
    use futures::FutureExt as _;

    use super::*;

    fn hook() -> HookName {
        HookName::new("h").unwrap()
    }

    fn caller(dry_run: bool) -> Caller {
        Caller::new(hook(), RunId::new("p", 1), Arc::new([]), dry_run)
    }

    /// Its managers are separated by commas. All of them wrote at the same time.
    fn object(uid: &str, version: u32, managers: &str) -> Object {
        let entry = |manager: &str| format!(r#"{{"manager":"{manager}","time":"2024-05-01T10:00:00Z"}}"#);
        let managed = managers.split(',').map(entry).collect::<Vec<_>>().join(",");
        let json = format!(
            r#"{{"metadata":{{"name":"a","namespace":"n","uid":"{uid}","resourceVersion":"{version}",
            "managedFields":[{managed}]}}}}"#
        );
        Object::from_json(&json, &"v1".into(), &"ConfigMap".into()).unwrap()
    }

    fn body(version: Option<u32>) -> String {
        let version = version.map(|version| format!(r#","resourceVersion":"{version}""#)).unwrap_or_default();
        format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"a","namespace":"n","uid":"u"{version}}}}}"#
        )
    }

    fn update() -> Operation {
        Operation::Update(Update { object: body(None), subresource: None })
    }

    fn wire(method: Method, body: String) -> ApiRequest {
        ApiRequest {
            method,
            uri: String::new(),
            content_type: "",
            body: body.into(),
            repeatable: false,
            list: false,
            asks: false,
        }
    }

    fn writes() -> (Arc<OwnWrites>, Followed) {
        let writes = Arc::<OwnWrites>::default();
        let followed = writes.follow(&hook());
        (writes, followed)
    }

    fn is_own(writes: &OwnWrites, object: &Object, deleted: bool) -> Option<bool> {
        writes.is_own(&hook(), object, deleted).now_or_never()
    }

    /// Whether a state counts as own if another manager was the last one, and if the hook's manager was.
    fn after(method: Method, sent: Option<u32>, answered: u32) -> [Option<bool>; 2] {
        let (writes, _followed) = writes();
        let operation = update();
        let under_way = writes.begin(&caller(false), &Intent::read(&operation)).unwrap();
        under_way.wrote(&wire(method, body(sent)), &body(Some(answered)));
        drop(under_way);
        ["other", "boathook.dev/h"].map(|manager| is_own(&writes, &object("u", 7, manager), false))
    }

    #[test]
    fn a_state_is_own_as_far_as_the_answer_proves_it() {
        assert_eq!(after(Method::POST, None, 7), [Some(true); 2]);
        assert_eq!(after(Method::PUT, Some(6), 7), [Some(true); 2]);
        // Nothing was changed, so somebody else made this state.
        assert_eq!(after(Method::PUT, Some(7), 7), [Some(false); 2]);
        // Perhaps nothing was changed.
        assert_eq!(after(Method::PUT, None, 7), [Some(false), Some(true)]);
        assert_eq!(after(Method::PATCH, None, 7), [Some(false), Some(true)]);
        // Another state.
        assert_eq!(after(Method::POST, None, 8), [Some(false); 2]);
    }

    #[tokio::test(start_paused = true)]
    async fn who_else_wrote_in_the_same_second_counts_after_an_earlier_write() {
        let (writes, _followed) = writes();
        let operation = update();
        let under_way = writes.begin(&caller(false), &Intent::read(&operation)).unwrap();
        let patched = |version| under_way.wrote(&wire(Method::PATCH, String::new()), &body(Some(version)));
        let both = "other,boathook.dev/h";
        patched(1);
        assert_eq!(is_own(&writes, &object("u", 1, both), false), Some(true));
        // Perhaps this patch changed nothing, and its manager is there because of the previous patch.
        patched(2);
        assert_eq!(is_own(&writes, &object("u", 2, both), false), Some(false));
        assert_eq!(is_own(&writes, &object("u", 2, "boathook.dev/h"), false), Some(true));
        tokio::time::advance(SAME_SECOND).await;
        patched(3);
        assert_eq!(is_own(&writes, &object("u", 3, both), false), Some(true));
    }

    #[tokio::test(start_paused = true)]
    async fn a_deletion_is_own_from_its_mark_to_its_end() {
        let (writes, _followed) = writes();
        let target = ObjectRef {
            api_version: "v1".into(),
            kind: "ConfigMap".into(),
            namespace: Some("n".into()),
            name: "a".into(),
        };
        let operation = Operation::Delete(Delete {
            target,
            propagation: Propagation::Background,
            ignore_missing: false,
            uid: None,
            resource_version: None,
            wait: None,
        });
        let under_way = writes.begin(&caller(false), &Intent::read(&operation)).unwrap();
        assert_eq!(is_own(&writes, &object("u", 9, "other"), true), None);
        under_way.deleted("u", &body(Some(8)));
        drop(under_way);
        assert_eq!(is_own(&writes, &object("u", 8, "other"), false), Some(true));
        assert_eq!(is_own(&writes, &object("u", 9, "other"), false), Some(false));
        assert_eq!(is_own(&writes, &object("u", 9, "other"), true), Some(true));
        assert_eq!(is_own(&writes, &object("v", 9, "other"), true), Some(false));
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_that_is_faster_than_the_answer_waits_for_it() {
        let (writes, _followed) = writes();
        let operation = update();
        let under_way = writes.begin(&caller(false), &Intent::read(&operation)).unwrap();
        let (hook, changed) = (hook(), object("u", 7, "boathook.dev/h"));
        let mut waiting = Box::pin(writes.is_own(&hook, &changed, false));
        assert!(waiting.as_mut().now_or_never().is_none());
        under_way.wrote(&wire(Method::PATCH, String::new()), &body(Some(7)));
        assert!(waiting.await);
        // A response that never arrives proves nothing.
        let started = Instant::now();
        assert!(!writes.is_own(&hook, &object("u", 8, "boathook.dev/h"), false).await);
        assert_eq!(started.elapsed(), MAX_WAIT);
        // After the call has ended, there is no response to wait for.
        drop(under_way);
        assert!(!writes.is_own(&hook, &object("u", 8, "boathook.dev/h"), false).await);
        assert_eq!(started.elapsed(), MAX_WAIT);
    }

    #[tokio::test(start_paused = true)]
    async fn a_generated_name_may_be_any() {
        let (writes, _followed) = writes();
        let generated = body(None).replace(r#""name":"a""#, r#""generateName":"x""#);
        let operation = Operation::Create(Create { object: generated, if_exists: IfExists::Fail, subresource: None });
        let _under_way = writes.begin(&caller(false), &Intent::read(&operation)).unwrap();
        assert_eq!(is_own(&writes, &object("u", 1, "other"), false), None);
    }

    #[test]
    fn nothing_is_remembered_unasked_or_without_bound() {
        let operation = update();
        let writes = Arc::<OwnWrites>::default();
        assert!(writes.begin(&caller(false), &Intent::read(&operation)).is_none());
        let followed = [writes.follow(&hook()), writes.follow(&hook())];
        assert!(writes.begin(&caller(true), &Intent::read(&operation)).is_none(), "a dry run writes nothing");
        let under_way = writes.begin(&caller(false), &Intent::read(&operation)).unwrap();
        for version in 0..10_000 {
            under_way.wrote(&wire(Method::POST, String::new()), &body(Some(version)));
        }
        drop(under_way);
        assert_eq!(is_own(&writes, &object("u", 0, "other"), false), Some(false));
        assert_eq!(is_own(&writes, &object("u", 9_999, "other"), false), Some(true));
        let kept =
            writes.table().hooks.get(&hook()).map(|deeds| (deeds.done.len(), deeds.order.len(), deeds.touched.len()));
        assert_eq!(kept, Some((MAX, MAX, 1)));
        drop(followed);
        assert!(writes.table().hooks.is_empty());
    }
}
