//! What caused what: each write of a run makes one version of an object, and an event that shows that version was caused by
//! the run. Pure: it knows no clock and sends nothing.
//!
//! ```text
//!  event ─▶ run ─▶ write ─▶ (uid, resourceVersion) ─▶ event ─▶ …
//! ```
//!
//! Only the API server chooses uids and resource versions, so nobody can claim to be the cause of something else. A version
//! has one maker, the first write whose response contained it: a write that changes nothing is answered with the version of
//! somebody else.
//!
//! | file | content |
//! | --- | --- |
//! | `memory` | the writes that are remembered, within bounds |
//! | `chain` | the way back from an object to the first cause |
//! | `loops` | hooks that cause each other's writes again and again, and fights with somebody else |

mod chain;
mod loops;
#[cfg(test)]
mod loops_tests;
mod memory;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

pub use chain::{Chain, Led, Origin, Step};
pub use loops::{Link, Loop, LoopKind, Turned};
pub use memory::Forgotten;

use crate::model::{
    BindingName, Cause, HookName, Object, ObjectKey, ObjectRef, Resource, RunId, Trigger, WatchEventKind,
};
use loops::Loops;
use memory::Memory;

/// The most reasons of a run that are remembered. A run can take many triggers together.
pub const REASONS: usize = 256;

/// The times of managed fields are whole seconds, and clocks differ. Writes that are closer together than this may have the
/// same time.
pub const SAME_SECOND: Duration = Duration::from_secs(3);

/// What is remembered at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    pub writes: usize,
    /// Of writes and their runs, with what finds them.
    pub bytes: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { writes: 65_536, bytes: 16 * 1024 * 1024 }
    }
}

/// One version of one object. A deletion has an empty resource version.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Version {
    pub uid: Box<str>,
    pub resource_version: Box<str>,
}

impl Version {
    pub fn new(uid: &str, resource_version: &str) -> Self {
        Self { uid: uid.into(), resource_version: resource_version.into() }
    }

    /// The end of an object.
    pub fn deletion(uid: &str) -> Self {
        Self::new(uid, "")
    }
}

/// An object by its name. The version of its kind is left out, because all versions show the same objects.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId {
    pub group: Box<str>,
    pub kind: Box<str>,
    /// `None` for cluster-scoped objects.
    pub namespace: Option<Box<str>>,
    pub name: Box<str>,
}

impl ObjectId {
    pub fn of(object: &ObjectRef) -> Self {
        let group = object.api_version.split_once('/').map(|(group, _)| group).unwrap_or_default();
        let namespace = object.namespace.as_deref().filter(|namespace| !namespace.is_empty());
        Self {
            group: group.into(),
            kind: object.kind.as_str().into(),
            namespace: namespace.map(Box::from),
            name: object.name.as_str().into(),
        }
    }

    /// An object of a watch.
    pub fn of_object(object: &Object) -> Self {
        let group = object.api_version.split_once('/').map(|(group, _)| group).unwrap_or_default();
        Self {
            group: group.into(),
            kind: (*object.kind).into(),
            namespace: object.key.namespace.as_deref().map(Box::from),
            name: (*object.key.name).into(),
        }
    }

    fn of_key(resource: &Resource, key: &ObjectKey) -> Self {
        Self {
            group: resource.group.as_str().into(),
            kind: resource.kind.as_str().into(),
            namespace: key.namespace.as_deref().map(Box::from),
            name: (*key.name).into(),
        }
    }
}

/// `ConfigMap ns/name`, `Deployment.apps ns/name`.
impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        match &self.namespace {
            Some(namespace) => write!(f, " {namespace}/{}", self.name),
            None => write!(f, " {}", self.name),
        }
    }
}

/// Why a run exists: one of its triggers, or the question of the API server that it answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    pub binding: BindingName,
    /// `Startup`, `Schedule`, `Synchronization`, `Added`, `Modified`, `Deleted`, the kind of a question, or `Again` for a
    /// parent that is reconciled without a change of its own.
    pub what: &'static str,
    /// What an event showed.
    pub seen: Option<Seen>,
}

/// An object as an event showed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub object: Arc<ObjectId>,
    /// For a deletion, that of the deletion.
    pub version: Version,
    /// The field managers that wrote last, if they are known, separated by commas.
    pub managers: Option<Arc<str>>,
}

impl Reason {
    fn is_about(&self, object: &ObjectId) -> bool {
        self.seen.as_ref().is_some_and(|seen| *seen.object == *object)
    }

    pub fn of(trigger: &Trigger) -> Self {
        let (what, seen) = match &trigger.cause {
            Cause::Startup => ("Startup", None),
            Cause::Schedule(_) => ("Schedule", None),
            Cause::Synchronization => ("Synchronization", None),
            Cause::Event(event) => {
                let item = &event.item;
                let object = || Arc::new(ObjectId::of_key(&event.resource, &item.key));
                let version = || Version::new(&item.uid, &item.resource_version);
                let seen = |version| Some(Seen { object: object(), version, managers: event.managers.clone() });
                match event.kind {
                    WatchEventKind::Deleted => ("Deleted", seen(Version::deletion(&item.uid))),
                    _ if item.resource_version.is_empty() => ("Again", None),
                    WatchEventKind::Added => ("Added", seen(version())),
                    WatchEventKind::Modified => ("Modified", seen(version())),
                }
            }
        };
        Self { binding: trigger.binding.clone(), what, seen }
    }
}

/// The place of a run in a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanRef {
    pub trace: [u8; 16],
    pub span: [u8; 8],
}

/// A run, or an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub id: RunId,
    pub hook: HookName,
    pub began: SystemTime,
    /// The first of its reasons.
    pub reasons: Vec<Reason>,
    /// How many there are.
    pub count: usize,
    pub span: Option<SpanRef>,
}

impl Run {
    /// A run with these triggers.
    pub fn of(id: &RunId, hook: &HookName, triggers: &[Trigger], began: SystemTime) -> Self {
        let reasons = triggers.iter().take(REASONS).map(Reason::of).collect();
        Self { id: id.clone(), hook: hook.clone(), began, reasons, count: triggers.len(), span: None }
    }

    /// An answer to the API server.
    pub fn answer(id: &RunId, hook: &HookName, binding: &BindingName, kind: &'static str, began: SystemTime) -> Self {
        let reasons = vec![Reason { binding: binding.clone(), what: kind, seen: None }];
        Self { id: id.clone(), hook: hook.clone(), began, reasons, count: 1, span: None }
    }
}

/// What a write made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Made {
    /// The response contained this version.
    Version {
        version: Version,
        /// Whether the write certainly made it.
        certain: bool,
        /// A hash of the content without what only the API server writes.
        content: u64,
        /// Some of the fields that its field manager has now.
        fields: Vec<Box<str>>,
    },
    /// The object is gone, or will be.
    Deletion {
        uid: Box<str>,
        /// The version with the mark that it is being deleted, while finalizers hold it.
        marked: Option<Box<str>>,
    },
    /// There was no response. The write may have happened.
    Unknown,
}

/// A write of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    pub run: Arc<Run>,
    pub at: SystemTime,
    pub object: Arc<ObjectId>,
    /// `create`, `update`, `patch` or `delete`.
    pub verb: &'static str,
    pub subresource: Option<Box<str>>,
    pub made: Made,
}

/// A write that has ended.
#[derive(Debug)]
pub struct NewWrite<'a> {
    pub hook: &'a HookName,
    pub run: &'a RunId,
    pub at: SystemTime,
    pub object: ObjectId,
    pub verb: &'static str,
    pub subresource: Option<&'a str>,
    pub made: Made,
    /// The field manager.
    pub manager: &'a str,
    /// Others wrote in the same second. The version is the write's all the same, unless the hook wrote the object a moment
    /// before: then that write may be why its manager is among the last ones, and this one may have changed nothing.
    pub shared: bool,
}

/// The causes that one process knows.
#[derive(Debug)]
pub struct Causes(Mutex<Known>);

#[derive(Debug)]
struct Known {
    memory: Memory,
    loops: Loops,
}

/// A run that has not ended. Dropping this ends it.
#[derive(Debug)]
pub struct Live<'a> {
    causes: &'a Causes,
    run: RunId,
}

impl Drop for Live<'_> {
    fn drop(&mut self) {
        self.causes.known().memory.ended(&self.run);
    }
}

impl Causes {
    pub fn new(bounds: Bounds) -> Self {
        Self(Mutex::new(Known { memory: Memory::new(bounds), loops: Loops::default() }))
    }

    /// Nothing here panics, so a panic while the lock was held did not damage the memory.
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A run begins. It is remembered if it writes.
    pub fn begin(&self, run: Run) -> Live<'_> {
        let id = run.id.clone();
        self.known().memory.began(run);
        Live { causes: self, run: id }
    }

    /// A run that has begun has these reasons, too.
    pub fn add_reasons(&self, run: &RunId, reasons: Vec<Reason>) {
        if !reasons.is_empty() {
            self.known().memory.add_reasons(run, reasons);
        }
    }

    /// Notes a write. Nothing is noted if its version is known to be that of another write, or to be the one that caused the
    /// run: then the write changed nothing. Returns the loop of hooks that the write is a turn of.
    pub fn wrote(&self, write: NewWrite<'_>) -> Option<Turned> {
        let mut known = self.known();
        let Known { memory, loops } = &mut *known;
        let manager = write.manager;
        if memory.wrote(write) { loops.wrote(memory, manager) } else { None }
    }

    /// The loops that are not over, the oldest first.
    pub fn loops(&self, now: SystemTime) -> Vec<Loop> {
        self.known().loops.all(now)
    }

    /// The loop is not over before it is forgotten, because its hooks do not run. Returns whether the loop is known: it
    /// may have been forgotten since.
    pub fn hold_loop(&self, named: &Loop) -> bool {
        self.known().loops.hold(named)
    }

    /// Forgets the loops of a hook: it has changed, or somebody lets it run again. Returns them. What the hook has
    /// written so far leads to no turn any more.
    pub fn forget_loops(&self, hook: &HookName) -> Vec<Loop> {
        let mut known = self.known();
        let Known { memory, loops } = &mut *known;
        loops.forget(memory, hook)
    }

    /// How long the event of a trigger should wait, because its hook is in a loop over the object.
    pub fn delay(&self, trigger: &Trigger, now: SystemTime) -> Option<Duration> {
        let event = trigger.cause.event()?;
        let known = self.known();
        if known.loops.is_empty() {
            return None;
        }
        known.loops.delay(&trigger.hook, &ObjectId::of_key(&event.resource, &event.item.key), now)
    }

    /// The runs that caused a run, as far as they are known. `None` for a reason that no write of a hook is known for.
    pub fn makers(&self, reasons: &[Reason]) -> Vec<Option<Write>> {
        let known = self.known();
        reasons.iter().map(|reason| known.memory.maker(&reason.seen.as_ref()?.version).cloned()).collect()
    }

    /// The reasons of a run that has not ended.
    pub fn reasons(&self, run: &RunId) -> Vec<Reason> {
        self.known().memory.live(run).map(|run| run.reasons.clone()).unwrap_or_default()
    }

    /// For each object that is asked for: the last writes to it, newest first, at most `most`, each with the chain back to
    /// its first cause.
    pub fn why(&self, asked: impl Fn(&ObjectId) -> bool, most: usize) -> Vec<Chain> {
        chain::why(&self.known().memory, asked, most)
    }

    /// What led to a run that has not ended.
    pub fn led_to(&self, run: &RunId) -> Option<Led> {
        let known = self.known();
        Some(chain::led_to(&known.memory, known.memory.live(run)?))
    }

    /// The chain back from what a run saw.
    pub fn why_seen(&self, version: &Version) -> Option<Chain> {
        let known = self.known();
        Some(chain::of(&known.memory, known.memory.maker(version)?))
    }

    /// The last writes that are asked for, newest first, at most `most`.
    pub fn writes(&self, asked: impl Fn(&Write) -> bool, most: usize) -> Vec<Write> {
        self.known().memory.writes().filter(|write| asked(write)).take(most).cloned().collect()
    }

    /// The writes of a run, newest first, at most `most`, each with the chain back to its first cause.
    pub fn why_run(&self, run: &str, most: usize) -> Vec<Chain> {
        let known = self.known();
        let writes = known.memory.writes().filter(|write| write.run.id.as_str() == run).take(most);
        writes.map(|write| chain::of(&known.memory, write)).collect()
    }

    /// The runs that have not ended, the oldest first, each with so many of its reasons. They are copies, because a run whose
    /// reasons are still to come must not be shared.
    pub fn under_way(&self, reasons: usize) -> Vec<Run> {
        let copy = |run: &Arc<Run>| Run {
            id: run.id.clone(),
            hook: run.hook.clone(),
            began: run.began,
            reasons: run.reasons.iter().take(reasons).cloned().collect(),
            count: run.count,
            span: run.span,
        };
        let mut runs: Vec<_> = self.known().memory.all_live().map(copy).collect();
        runs.sort_by_key(|run| run.began);
        runs
    }

    /// What is not remembered any more.
    pub fn forgotten(&self) -> Forgotten {
        self.known().memory.forgotten()
    }
}
