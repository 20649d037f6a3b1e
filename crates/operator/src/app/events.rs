//! Writes Kubernetes Events: about failed runs, and those that the answers of `reconcile` bindings contain.
//!
//! An Event about a failure is on the object that the hook's document names, or else on its HookBundle or on the operator's
//! own Namespace. An Event of an answer is on the parent, and needs the hook's permissions. One Event stands for all with
//! the same text, and its series counts them. A run never waits for Events: those that cannot be sent in time are dropped. A
//! hook never gets the operator's rights: if it acts as a ServiceAccount, its Events are sent as that ServiceAccount.
//!
//! Tenants share the room for Events that wait, and they take turns. A tenant with too many Events loses only its own.

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    hash::{DefaultHasher, Hash, Hasher},
    num::NonZeroU32,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use boathook_core::{
    fair::{Pool, Share, Tenant, may_take},
    model::{
        BindingName, BundleId, CallError, CallReason, Caller, EventType, Failure, HookName, ObjectRef, Operation,
        OwnEvent, Patch, PatchBody, Permission, RunId,
    },
    queue::{Finished, Verdict},
};
use futures::{FutureExt as _, StreamExt as _, stream::FuturesUnordered};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tracing::{debug, warn};

use super::{Hook, Services, host::HostCalls};

/// The maximum number of Events that wait to be sent.
const WAITING: u64 = 256;
/// The maximum number of Events that are sent at the same time, each of another tenant.
const AT_ONCE: usize = 4;
/// The maximum number of texts whose Events are remembered.
const REMEMBERED: usize = 512;
/// The maximum number of objects whose new Events are counted.
const COUNTED: usize = 4096;
/// The minimum time between two updates of an Event's count.
const UPDATE_AFTER: Duration = Duration::from_secs(30);
/// The new Events of one hook about one object: this many at once, and one more each minute.
const BURST: NonZeroU32 = NonZeroU32::MIN.saturating_add(9);
const REFILL: Duration = Duration::from_secs(60);
const MAX_NOTE: usize = 1024;
const MAX_REASON: usize = 128;
/// The Events of one answer. The others are left out.
const MAX_OF_ANSWER: usize = 10;

/// Where failures and Events of answers are reported. Cheap to clone.
#[derive(Clone)]
pub(super) struct Outlet(Arc<Line>);

/// The Events that wait to be sent.
struct Line {
    room: Pool,
    waiting: Mutex<Waiting>,
    more: Notify,
}

#[derive(Default)]
struct Waiting {
    /// The tenant in front is next. No tenant is there twice, and none without an Event.
    turns: VecDeque<(Tenant, VecDeque<(Note, Share)>)>,
    /// The tenants for which an Event is being sent.
    busy: HashSet<Tenant>,
}

impl Line {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What one Event is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Note {
    hook: HookName,
    binding: BindingName,
    /// The parent, if the hook itself wants the Event.
    about: Option<Parent>,
    warns: bool,
    /// One word in CamelCase.
    reason: String,
    text: String,
}

/// The parent of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Parent {
    pub object: ObjectRef,
    pub uid: String,
}

impl Outlet {
    pub fn new() -> (Self, Inlet) {
        let line = Arc::new(Line { room: Pool::new(WAITING), waiting: Mutex::default(), more: Notify::new() });
        (Self(line.clone()), Inlet(line))
    }

    /// A tenant without room has too many Events, or the API server takes none at the moment. Later ones will be reported.
    fn put(&self, tenant: &Tenant, note: Note) {
        let Some(share) = self.0.room.try_take(tenant, 1) else { return };
        let mut waiting = self.0.waiting();
        match waiting.turns.iter_mut().find(|(known, _)| known == tenant) {
            Some((_, notes)) => notes.push_back((note, share)),
            None => waiting.turns.push_back((tenant.clone(), VecDeque::from([(note, share)]))),
        }
        drop(waiting);
        self.0.more.notify_one();
    }

    /// Reports the failure of a run that ended, unless it counts as success.
    pub fn finished(&self, tenant: &Tenant, finished: &Finished) {
        let (reason, failure, text) = match &finished.verdict {
            Verdict::Retry { failure, .. } => ("RunFailed", failure, "it is tried again"),
            Verdict::GivenUp { failure, .. } => ("TriggersGivenUp", failure, "its triggers are dead letters now"),
            _ => return,
        };
        let note = Note {
            hook: finished.hook.clone(),
            binding: finished.binding.clone(),
            about: None,
            warns: true,
            reason: reason.to_owned(),
            text: describe(finished, failure, text),
        };
        self.put(tenant, note);
    }

    /// Reports that a hook is in a loop or a fight.
    pub fn looped(&self, tenant: &Tenant, hook: &HookName, text: String) {
        let note = Note {
            hook: hook.clone(),
            binding: BindingName::new("loop"),
            about: None,
            warns: true,
            reason: "HooksLoop".to_owned(),
            text: cut(text, MAX_NOTE),
        };
        self.put(tenant, note);
    }

    /// Reports what an answer says about its parent.
    pub fn answered(
        &self,
        tenant: &Tenant,
        hook: &HookName,
        binding: &BindingName,
        parent: &Parent,
        events: &[OwnEvent],
    ) {
        for event in events.iter().take(MAX_OF_ANSWER) {
            let reason: String = event.reason.chars().filter(|c| !c.is_control()).collect();
            let reason = cut(if reason.is_empty() { "Reconcile".to_owned() } else { reason }, MAX_REASON);
            let note = Note {
                hook: hook.clone(),
                binding: binding.clone(),
                about: Some(parent.clone()),
                warns: event.r#type == EventType::Warning,
                reason,
                text: cut(event.message.clone(), MAX_NOTE),
            };
            self.put(tenant, note);
        }
    }
}

fn cut(mut text: String, most: usize) -> String {
    text.truncate(text.floor_char_boundary(most));
    text
}

/// Leaves out the run and the attempt, so that the same failure has the same text.
fn describe(finished: &Finished, failure: &Failure, what_next: &str) -> String {
    let Finished { hook, binding, .. } = finished;
    let kind = failure.kind.label();
    cut(format!("hook {hook}, binding {binding}: {kind}: {}; {what_next}", failure.message), MAX_NOTE)
}

/// The receiving end of an [`Outlet`].
pub(super) struct Inlet(Arc<Line>);

impl Inlet {
    /// The next Event, of a tenant for which none is being sent. Its tenant is busy until [`Inlet::sent`]. The share is the
    /// room that the Event takes until then.
    fn next(&self) -> Option<(Tenant, Note, Share)> {
        let mut waiting = self.0.waiting();
        let at = waiting.turns.iter().position(|(tenant, _)| !waiting.busy.contains(tenant))?;
        let (tenant, mut notes) = waiting.turns.remove(at)?;
        let (note, share) = notes.pop_front()?;
        waiting.busy.insert(tenant.clone());
        if !notes.is_empty() {
            waiting.turns.push_back((tenant.clone(), notes));
        }
        Some((tenant, note, share))
    }

    fn sent(&self, tenant: &Tenant) {
        self.0.waiting().busy.remove(tenant);
    }
}

/// Sends Events until it is dropped.
pub(super) async fn send(inlet: Inlet, services: Arc<Services>, namespace: String) {
    let (mut series, mut refused) = (AllSeries::default(), Refused::default());
    let mut flights = FuturesUnordered::new();
    loop {
        while flights.len() < AT_ONCE
            && let Some((tenant, note, share)) = inlet.next()
        {
            // For a hook that is gone, it is no longer known whose rights to send the Event with.
            let hook = services.hook_registry.hook(&note.hook);
            let event = series.count(&tenant, &note, Instant::now(), Timestamp::now());
            let Some((hook, event)) = hook.zip(event) else {
                inlet.sent(&tenant);
                continue;
            };
            let about =
                note.about.as_ref().map_or_else(|| regarding(&hook, &namespace), |parent| parent.object.clone());
            let object = event.object(&note, about);
            let operator = services.operator.clone();
            let flight = async move {
                let result = apply(&operator, &hook, &note, object).await;
                drop(share);
                (tenant, hook, note, result)
            };
            flights.push(flight.boxed());
        }
        tokio::select! {
            () = inlet.0.more.notified() => {}
            Some((tenant, hook, note, result)) = flights.next() => {
                inlet.sent(&tenant);
                refused.report(&hook, &note, result);
            }
        }
    }
}

/// The hooks whose Events the API server refuses. Each is reported once.
#[derive(Default)]
struct Refused(HashSet<HookName>);

impl Refused {
    fn report(&mut self, hook: &Hook, note: &Note, result: Result<(), CallError>) {
        match result {
            Ok(()) => {
                self.0.remove(&note.hook);
            }
            Err(error) if is_forbidden(&error) && self.0.insert(note.hook.clone()) => {
                let identity = hook.bundled.as_ref().and_then(|bundled| bundled.identity.as_deref());
                let who = match error.reason {
                    CallReason::ForbiddenByGrant => "the hook".to_owned(),
                    _ => identity.map_or_else(|| "the operator".to_owned(), ToString::to_string),
                };
                let what = if note.about.is_some() { "answers'" } else { "failures'" };
                warn!(hook = %note.hook, error = %error.message, "{what} Kubernetes Events cannot be written: {who} may not create and patch events.events.k8s.io");
            }
            Err(error) => debug!(hook = %note.hook, error = %error.message, "an Event could not be sent"),
        }
        if self.0.len() > REMEMBERED {
            self.0.clear();
        }
    }
}

fn is_forbidden(error: &CallError) -> bool {
    matches!(error.reason, CallReason::ForbiddenByCluster | CallReason::ForbiddenByGrant)
}

/// The object that Events about this hook's failures are attached to.
fn regarding(hook: &Hook, namespace: &str) -> ObjectRef {
    if let Some(named) = &hook.spec.failure_events {
        return named.clone();
    }
    match hook.bundled.as_ref().map(|bundled| &bundled.bundle) {
        Some(BundleId { namespace: Some(namespace), name }) => ObjectRef {
            api_version: "boathook.dev/v1alpha1".to_owned(),
            kind: "HookBundle".to_owned(),
            namespace: Some(namespace.clone()),
            name: name.clone(),
        },
        _ => own_namespace(namespace),
    }
}

/// The namespace is set to the same name, so that the Event is stored there and not in `default`.
fn own_namespace(name: &str) -> ObjectRef {
    ObjectRef {
        api_version: "v1".to_owned(),
        kind: "Namespace".to_owned(),
        namespace: Some(name.to_owned()),
        name: name.to_owned(),
    }
}

/// Uses server-side apply: the first call creates the Event, and the next ones update its count.
async fn apply(operator: &HostCalls, hook: &Hook, note: &Note, event: Value) -> Result<(), CallError> {
    let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let target = ObjectRef {
        api_version: "events.k8s.io/v1".to_owned(),
        kind: "Event".to_owned(),
        namespace: Some(text("/metadata/namespace")),
        name: text("/metadata/name"),
    };
    let body = PatchBody::Apply { object: event.to_string(), force: true, field_manager: Some("boathook".to_owned()) };
    let permission = Permission {
        api_groups: vec!["events.k8s.io".to_owned()],
        resources: vec!["events".to_owned()],
        verbs: vec!["create".to_owned(), "patch".to_owned()],
        resource_names: Vec::new(),
        namespaces: Vec::new(),
        http: None,
        directory: None,
    };
    // The operator speaks of failures, and the hook of its parents.
    let permissions = if note.about.is_some() { hook.spec.permissions.clone() } else { Arc::new([permission]) };
    let caller = Caller { permissions, ..hook.caller(RunId::new("event", 0), false) };
    let operation = Operation::Patch(Patch { target, body, subresource: None, ignore_missing: false });
    operator.access.write(&caller, &operation).await.map(drop)
}

/// Counts how often each text was reported. Pure.
#[derive(Default)]
struct AllSeries {
    known: HashMap<Note, Series>,
    /// When the allowance of new Events of each hook and object is full again.
    full_at: HashMap<(HookName, Option<Parent>), (Tenant, Instant)>,
}

#[derive(Debug, Clone)]
struct Series {
    tenant: Tenant,
    first: Timestamp,
    last: Timestamp,
    count: u32,
    sent: Instant,
}

impl AllSeries {
    /// Counts one more. Returns the series if it should be sent now.
    fn count(&mut self, tenant: &Tenant, note: &Note, now: Instant, wall: Timestamp) -> Option<Series> {
        if let Some(series) = self.known.get_mut(note) {
            series.count = series.count.saturating_add(1);
            series.last = wall;
            let due = now.saturating_duration_since(series.sent) >= UPDATE_AFTER;
            return due.then(|| {
                series.sent = now;
                series.clone()
            });
        }
        if !self.allow(tenant, note, now) {
            return None;
        }
        self.make_room();
        let series = Series { tenant: tenant.clone(), first: wall, last: wall, count: 1, sent: now };
        self.known.insert(note.clone(), series.clone());
        Some(series)
    }

    fn allow(&mut self, tenant: &Tenant, note: &Note, now: Instant) -> bool {
        let of = (note.hook.clone(), note.about.clone());
        let known = self.full_at.get(&of).map(|(_, at)| *at);
        let full_at = known.map_or(now, |at| at.max(now)) + REFILL;
        if full_at.saturating_duration_since(now) > REFILL * BURST.get() {
            return false;
        }
        self.full_at.retain(|_, (_, at)| *at > now);
        if known.is_none_or(|at| at <= now) {
            // A tenant with very many objects has Events of some of them.
            let used = self.full_at.values().filter(|(known, _)| known == tenant).count() as u64;
            if !may_take(used, 1, COUNTED.saturating_sub(self.full_at.len()) as u64) {
                return false;
            }
        }
        self.full_at.insert(of, (tenant.clone(), full_at));
        true
    }

    /// Forgets the oldest text of the tenant with the most.
    fn make_room(&mut self) {
        if self.known.len() < REMEMBERED {
            return;
        }
        let mut counts: BTreeMap<&Tenant, usize> = BTreeMap::new();
        self.known.values().for_each(|series| *counts.entry(&series.tenant).or_default() += 1);
        let Some(most) = counts.into_iter().max_by_key(|(_, count)| *count).map(|(tenant, _)| tenant) else { return };
        let of_most = self.known.iter().filter(|(_, series)| series.tenant == *most);
        if let Some(oldest) = of_most.min_by_key(|(_, series)| series.sent).map(|(note, _)| note.clone()) {
            self.known.remove(&oldest);
        }
    }
}

impl Series {
    fn object(&self, note: &Note, regarding: ObjectRef) -> Value {
        let namespace = regarding.namespace.clone().unwrap_or_else(|| "default".to_owned());
        let mut event = json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": self.name(note), "namespace": namespace},
            "eventTime": format!("{:.6}", self.first),
            "type": if note.warns { "Warning" } else { "Normal" },
            "reason": note.reason,
            "action": if note.about.is_some() { "Reconcile" } else { "Run" },
            "note": note.text,
            "regarding": {"apiVersion": regarding.api_version, "kind": regarding.kind, "name": regarding.name},
            "reportingController": "boathook.dev/boathook",
            "reportingInstance": "boathook",
        });
        if let Some(namespace) = regarding.namespace {
            set(&mut event, "/regarding", "namespace", namespace.into());
        }
        // `kubectl describe` finds Events by it.
        if let Some(parent) = &note.about {
            set(&mut event, "/regarding", "uid", parent.uid.as_str().into());
        }
        if self.count > 1 {
            let series = json!({"count": self.count, "lastObservedTime": format!("{:.6}", self.last)});
            set(&mut event, "", "series", series);
        }
        event
    }

    /// The name stays the same for the same text in this process. After a restart it is another one.
    fn name(&self, note: &Note) -> String {
        let mut hasher = DefaultHasher::new();
        (note, self.first.as_nanosecond()).hash(&mut hasher);
        format!("boathook.{:016x}", hasher.finish())
    }
}

fn set(event: &mut Value, pointer: &str, key: &str, value: Value) {
    if let Some(object) = event.pointer_mut(pointer).and_then(Value::as_object_mut) {
        object.insert(key.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]
    use super::*;

    fn note(hook: &str, text: &str) -> Note {
        Note {
            hook: HookName::new(hook).unwrap(),
            binding: BindingName::new("b"),
            about: None,
            warns: true,
            reason: "RunFailed".to_owned(),
            text: text.to_owned(),
        }
    }

    fn tenant(name: &str) -> Tenant {
        Tenant::namespace(name)
    }

    /// What an inlet gives out, if each Event is sent at once.
    fn drained(inlet: &Inlet) -> Vec<(Tenant, Note)> {
        let next = || {
            let (tenant, note, _) = inlet.next()?;
            inlet.sent(&tenant);
            Some((tenant, note))
        };
        std::iter::from_fn(next).collect()
    }

    /// What an outlet has got of an answer.
    fn of_answer(events: &[OwnEvent]) -> Vec<Note> {
        let (outlet, inlet) = Outlet::new();
        let object = ObjectRef { namespace: Some("shop".to_owned()), ..own_namespace("web") };
        let parent = Parent { object, uid: "u1".to_owned() };
        outlet.answered(&tenant("t"), &HookName::new("h").unwrap(), &BindingName::new("b"), &parent, events);
        drained(&inlet).into_iter().map(|(_, note)| note).collect()
    }

    // mutant: crates/operator/src/app/events.rs: `self.0.room.try_take(tenant, 1)` => `self.0.room.try_take(&Tenant::default(), 1)`
    // mutant: crates/operator/src/app/events.rs: `position(|(tenant, _)| !waiting.busy.contains(tenant))?` => `position(|_| true)?`
    #[test]
    fn a_tenant_with_many_events_loses_its_own() {
        let (outlet, inlet) = Outlet::new();
        for n in 0..10_000 {
            outlet.put(&tenant("loud"), note("loud", &n.to_string()));
        }
        for n in 0..3 {
            outlet.put(&tenant("quiet"), note("quiet", &n.to_string()));
        }
        // While one is sent, the other has its turn.
        let (first, _, _kept) = inlet.next().unwrap();
        let (second, _, _kept) = inlet.next().unwrap();
        assert_eq!((&first, &second), (&tenant("loud"), &tenant("quiet")));
        assert!(inlet.next().is_none(), "each has one on its way");
        inlet.sent(&first);
        inlet.sent(&second);
        let order: Vec<_> = drained(&inlet).into_iter().map(|(tenant, _)| tenant.to_string()).collect();
        assert_eq!(order[..5], ["loud", "quiet", "loud", "quiet", "loud"]);
        assert!(order.len() < usize::try_from(WAITING).unwrap(), "{}", order.len());
    }

    // mutant: crates/operator/src/app/events.rs: `.filter(|(_, series)| series.tenant == *most);` => `.filter(|_| true);`
    // mutant: crates/operator/src/app/events.rs: `if !may_take(used, 1, COUNTED.saturating_sub(self.full_at.len()) as u64) {` => `if false {`
    #[test]
    fn a_tenant_with_many_objects_makes_no_other_be_forgotten() {
        let (mut all, start, wall) = (AllSeries::default(), Instant::now(), Timestamp::UNIX_EPOCH);
        assert!(all.count(&tenant("quiet"), &note("quiet", "boom"), start, wall).is_some());
        let of = |n: usize| Parent { object: own_namespace("web"), uid: n.to_string() };
        let sent = (0..COUNTED + 100)
            .filter(|n| {
                let note = Note { about: Some(of(*n)), ..note("loud", &n.to_string()) };
                all.count(&tenant("loud"), &note, start + SECOND, wall).is_some()
            })
            .count();
        assert!((COUNTED / 2..COUNTED).contains(&sent), "{sent}");
        assert!(all.full_at.len() < COUNTED && all.known.len() <= REMEMBERED);
        // It is still the same Event, which counts.
        let later = all.count(&tenant("quiet"), &note("quiet", "boom"), start + SECOND * 30, wall).unwrap();
        assert_eq!(later.count, 2);
        assert!(all.count(&tenant("quiet"), &note("quiet", "bang"), start + SECOND * 30, wall).is_some());
    }

    fn event(reason: &str, message: &str) -> OwnEvent {
        OwnEvent { r#type: EventType::Normal, reason: reason.to_owned(), message: message.to_owned() }
    }

    // mutant: crates/operator/src/app/events.rs: `events.iter().take(MAX_OF_ANSWER)` => `events.iter()`
    #[test]
    fn an_answer_has_so_many_events_of_so_many_bytes() {
        let many: Vec<_> = (0..1_000).map(|n| event(&format!("R{n}"), "")).collect();
        assert_eq!(of_answer(&many).len(), MAX_OF_ANSWER);
        let notes = of_answer(&[event(&"\u{e9}".repeat(999), &"\u{e9}".repeat(9_999)), event("\n", "x")]);
        let [long, none] = &notes[..] else { panic!("two Events") };
        assert_eq!((long.reason.len(), long.text.len(), none.reason.as_str()), (MAX_REASON, MAX_NOTE, "Reconcile"));
        let series = AllSeries::default().count(&tenant("t"), long, Instant::now(), Timestamp::UNIX_EPOCH).unwrap();
        let object = series.object(long, long.about.as_ref().unwrap().object.clone());
        assert_eq!((&object["type"], &object["action"]), (&json!("Normal"), &json!("Reconcile")));
        assert_eq!(object["regarding"]["uid"], "u1");
        assert_eq!(object["metadata"]["namespace"], "shop");
    }

    #[test]
    fn a_parent_with_many_events_takes_no_other_parents() {
        let (mut all, start, wall) = (AllSeries::default(), Instant::now(), Timestamp::UNIX_EPOCH);
        let mut sent = |uid: &str| {
            let parent = Parent { object: own_namespace("web"), uid: uid.to_owned() };
            let of = |n: u32| Note { about: Some(parent.clone()), ..note("h", &n.to_string()) };
            (0..50).filter(|n| all.count(&tenant("t"), &of(*n), start, wall).is_some()).count()
        };
        assert_eq!((sent("one"), sent("one"), sent("two")), (10, 0, 10));
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn the_same_failure_is_one_event_that_counts() {
        let (mut all, start) = (AllSeries::default(), Instant::now());
        let wall = |n: i64| Timestamp::from_second(1_790_000_000 + n).unwrap();
        let first = all.count(&tenant("t"), &note("h", "boom"), start, wall(0)).unwrap();
        for n in 1..30 {
            assert!(all.count(&tenant("t"), &note("h", "boom"), start + SECOND * n, wall(i64::from(n))).is_none());
        }
        let later = all.count(&tenant("t"), &note("h", "boom"), start + SECOND * 30, wall(30)).unwrap();
        assert_eq!(later.count, 31);
        let about = own_namespace("ops");
        let (a, b) = (first.object(&note("h", "boom"), about.clone()), later.object(&note("h", "boom"), about));
        assert_eq!(a["metadata"], b["metadata"]);
        assert_eq!(a["eventTime"], b["eventTime"], "it cannot be changed");
        assert_eq!(b["series"]["count"], 31);
        assert_eq!(a.get("series"), None);
        assert_eq!(b["metadata"]["namespace"], "ops");
    }

    #[test]
    fn a_hook_has_so_many_new_events_and_its_neighbour_has_its_own() {
        let (mut all, start, wall) = (AllSeries::default(), Instant::now(), Timestamp::UNIX_EPOCH);
        let sent = |all: &mut AllSeries, hook: &str, n: u32, at| {
            (0..n).filter(|i| all.count(&tenant("t"), &note(hook, &format!("{at:?} {i}")), at, wall).is_some()).count()
        };
        assert_eq!(sent(&mut all, "h", 50, start), 10);
        assert_eq!(sent(&mut all, "g", 50, start), 10);
        assert_eq!(sent(&mut all, "h", 50, start + SECOND * 150), 2);
        assert_eq!(sent(&mut all, "h", 50, start + SECOND * 100_000), 10);
    }

    #[test]
    fn memory_is_bounded() {
        let (mut all, start) = (AllSeries::default(), Instant::now());
        for n in 0..2_000_u32 {
            let at = start + REFILL * n;
            assert!(all.count(&tenant("t"), &note("h", &n.to_string()), at, Timestamp::UNIX_EPOCH).is_some(), "{n}");
        }
        assert_eq!((all.known.len(), all.full_at.len()), (REMEMBERED, 1));
    }
}
