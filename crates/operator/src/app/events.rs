//! Writes Kubernetes Events: about failed runs, and those that the answers of `reconcile` bindings contain.
//!
//! An Event about a failure is on the object that the hook's document names, or else on its HookBundle or on the operator's
//! own Namespace. An Event of an answer is on the parent, and needs the hook's permissions. One Event stands for all with
//! the same text, and its series counts them. A run never waits for Events: those that cannot be sent in time are dropped. A
//! hook never gets the operator's rights: if it acts as a ServiceAccount, its Events are sent as that ServiceAccount.

use std::{
    collections::{HashMap, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
    num::NonZeroU32,
    sync::Arc,
    time::{Duration, Instant},
};

use boathook_core::{
    model::{
        BindingName, BundleId, CallError, CallReason, Caller, EventType, Failure, HookName, ObjectRef, Operation,
        OwnEvent, Patch, PatchBody, Permission, RunId,
    },
    queue::{Finished, Verdict},
};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tracing::{debug, warn};

use super::{Hook, Services, host::HostCalls};

/// The maximum number of Events that wait to be sent.
const WAITING: usize = 256;
/// The maximum number of texts whose Events are remembered.
const REMEMBERED: usize = 512;
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
pub(super) struct Outlet(mpsc::Sender<Note>);

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
        let (to, from) = mpsc::channel(WAITING);
        (Self(to), Inlet(from))
    }

    /// Reports the failure of a run that ended, unless it counts as success.
    pub fn finished(&self, finished: &Finished) {
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
        // If the channel is full, the API server takes no Events at the moment. Later failures will be reported.
        let _ = self.0.try_send(note);
    }

    /// Reports what an answer says about its parent.
    pub fn answered(&self, hook: &HookName, binding: &BindingName, parent: &Parent, events: &[OwnEvent]) {
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
            let _ = self.0.try_send(note);
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
pub(super) struct Inlet(mpsc::Receiver<Note>);

/// Sends Events until it is dropped.
pub(super) async fn send(mut inlet: Inlet, services: Arc<Services>, namespace: String) {
    let mut series = AllSeries::default();
    let mut refused = HashSet::new();
    while let Some(note) = inlet.0.recv().await {
        // For a hook that is gone, it is no longer known whose rights to send the Event with.
        let Some(hook) = services.hook_registry.hook(&note.hook) else { continue };
        let Some(event) = series.count(&note, Instant::now(), Timestamp::now()) else { continue };
        let about = note.about.as_ref().map_or_else(|| regarding(&hook, &namespace), |parent| parent.object.clone());
        match apply(&services.operator, &hook, &note, event.object(&note, about)).await {
            Ok(()) => {
                refused.remove(&note.hook);
            }
            Err(error) if is_forbidden(&error) && refused.insert(note.hook.clone()) => {
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
        if refused.len() > REMEMBERED {
            refused.clear();
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
    full_at: HashMap<(HookName, Option<Parent>), Instant>,
}

#[derive(Debug, Clone)]
struct Series {
    first: Timestamp,
    last: Timestamp,
    count: u32,
    sent: Instant,
}

impl AllSeries {
    /// Counts one more. Returns the series if it should be sent now.
    fn count(&mut self, note: &Note, now: Instant, wall: Timestamp) -> Option<Series> {
        if let Some(series) = self.known.get_mut(note) {
            series.count = series.count.saturating_add(1);
            series.last = wall;
            let due = now.saturating_duration_since(series.sent) >= UPDATE_AFTER;
            return due.then(|| {
                series.sent = now;
                series.clone()
            });
        }
        if !self.allow(note, now) {
            return None;
        }
        self.make_room();
        let series = Series { first: wall, last: wall, count: 1, sent: now };
        self.known.insert(note.clone(), series.clone());
        Some(series)
    }

    fn allow(&mut self, note: &Note, now: Instant) -> bool {
        let of = (note.hook.clone(), note.about.clone());
        let full_at = self.full_at.get(&of).map_or(now, |at| (*at).max(now)) + REFILL;
        let allowed = full_at.saturating_duration_since(now) <= REFILL * BURST.get();
        if allowed {
            self.full_at.retain(|_, at| *at > now);
            self.full_at.insert(of, full_at);
        }
        allowed
    }

    fn make_room(&mut self) {
        if self.known.len() >= REMEMBERED
            && let Some(oldest) = self.known.iter().min_by_key(|(_, series)| series.sent).map(|(note, _)| note.clone())
        {
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

    /// What an outlet has got of an answer.
    fn of_answer(events: &[OwnEvent]) -> Vec<Note> {
        let (outlet, mut inlet) = Outlet::new();
        let object = ObjectRef { namespace: Some("shop".to_owned()), ..own_namespace("web") };
        let parent = Parent { object, uid: "u1".to_owned() };
        outlet.answered(&HookName::new("h").unwrap(), &BindingName::new("b"), &parent, events);
        drop(outlet);
        std::iter::from_fn(|| inlet.0.try_recv().ok()).collect()
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
        let series = AllSeries::default().count(long, Instant::now(), Timestamp::UNIX_EPOCH).unwrap();
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
            (0..50).filter(|n| all.count(&of(*n), start, wall).is_some()).count()
        };
        assert_eq!((sent("one"), sent("one"), sent("two")), (10, 0, 10));
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn the_same_failure_is_one_event_that_counts() {
        let (mut all, start) = (AllSeries::default(), Instant::now());
        let wall = |n: i64| Timestamp::from_second(1_790_000_000 + n).unwrap();
        let first = all.count(&note("h", "boom"), start, wall(0)).unwrap();
        for n in 1..30 {
            assert!(all.count(&note("h", "boom"), start + SECOND * n, wall(i64::from(n))).is_none());
        }
        let later = all.count(&note("h", "boom"), start + SECOND * 30, wall(30)).unwrap();
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
            (0..n).filter(|i| all.count(&note(hook, &format!("{at:?} {i}")), at, wall).is_some()).count()
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
            assert!(all.count(&note("h", &n.to_string()), at, Timestamp::UNIX_EPOCH).is_some(), "{n}");
        }
        assert_eq!((all.known.len(), all.full_at.len()), (REMEMBERED, 1));
    }
}
