//! One `kubernetes` binding of a hook: which objects it knows, and which changes are triggers.
//!
//! Pure: it does not run the filter, publish or queue. It receives the filter's result and returns what follows from
//! it.
//!
//! ```text
//!             all sources listed              admitted
//!  listing ───────────────────────▶ listed ─────────────▶ live ─▶ events
//!     ▲         snapshot is shown      │  Synchronization, or what
//!     └────────────────────────────────┘  changed since it was listed
//!           the kind is not served
//! ```
//!
//! An object is *late* while its filter could not run on its newest state, for a reason that is not the object's. The
//! object stays in the snapshot with the state that was known before. A binding with a late object does not become
//! listed, and one that is already listed is not complete.

mod baseline;
mod objects;
mod sources;

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use self::{baseline::Baseline, objects::Known, sources::Sources};
use super::{fingerprint::Fingerprints, project::Interner};
use crate::model::{
    BindingName, Cause, Change, HookName, Item, Items, KubernetesBinding, Object, ObjectEvent, ObjectKey, Resource,
    Trigger, WatchEventKind,
};

pub use self::sources::SourceId;

/// What the filter returned for an upserted object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Projection {
    /// The binding has no filter, or [`Binding::wants_filter`] said that it need not run.
    None,
    /// The result as canonical JSON.
    Result(Box<str>),
    /// The filter failed with this text.
    Failed(String),
    /// The filter could not run yet, for a reason that is not the object's.
    Late,
}

/// What follows from a change.
#[derive(Debug, Default, PartialEq)]
pub struct Applied {
    /// To queue, in this order, after the snapshot is published.
    pub triggers: Vec<Trigger>,
    /// The snapshot has changed.
    pub changed: bool,
    /// The filter failed on this object, with a text that is new for it.
    pub new_error: bool,
}

/// How often objects came, changed in what the binding sees of them, and went. This includes changes that a list
/// showed, and changes that the hook does not receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Changes {
    pub added: u64,
    pub modified: u64,
    pub deleted: u64,
}

impl Applied {
    fn and(mut self, later: Self) -> Self {
        self.triggers.extend(later.triggers);
        self.changed |= later.changed;
        self.new_error |= later.new_error;
        self
    }

    /// Without the events about this object.
    fn without(mut self, object: &Object) -> Self {
        self.triggers.retain(|trigger| match &trigger.cause {
            Cause::Event(event) => event.item.uid != object.uid,
            _ => true,
        });
        self
    }
}

/// The state machine of a binding.
#[derive(Debug)]
pub struct Binding {
    hook: HookName,
    spec: KubernetesBinding,
    resource: Option<Arc<Resource>>,
    snapshots: Arc<[BindingName]>,
    sources: Sources,
    known: HashMap<ObjectKey, Known>,
    items: Items,
    bytes: usize,
    own_bytes: Arc<AtomicUsize>,
    failing: usize,
    late: usize,
    changes: Changes,
    admitted: bool,
    listed: bool,
    live: bool,
    /// What the hook is assumed to know when the binding goes live without a synchronization.
    baseline: Option<Baseline>,
    /// The later state that replaces `baseline` with the next call of [`Binding::told_elsewhere`].
    recent: Option<Baseline>,
    /// Some known objects belong to sources that were given up for others.
    moving: bool,
    fingerprints: Fingerprints,
    interner: Interner,
}

impl Binding {
    /// A binding without sources, whose kind is not known yet. With `waitForSynchronization`, it stays silent until it
    /// is [admitted](Binding::admit).
    pub fn new(hook: HookName, spec: KubernetesBinding) -> Self {
        let snapshots = spec.snapshots();
        let admitted = !spec.wait_for_synchronization;
        Self {
            hook,
            spec,
            resource: None,
            snapshots,
            sources: Sources::default(),
            known: HashMap::new(),
            items: Items::new_sync(),
            bytes: 0,
            own_bytes: Arc::default(),
            failing: 0,
            late: 0,
            changes: Changes::default(),
            admitted,
            listed: false,
            live: false,
            baseline: None,
            recent: None,
            moving: false,
            fingerprints: Fingerprints::default(),
            interner: Interner::default(),
        }
    }

    /// The same binding, but silent until it is admitted, whatever its document says.
    pub fn held_back(self) -> Self {
        Self { admitted: false, ..self }
    }

    pub fn hook(&self) -> &HookName {
        &self.hook
    }

    /// Its entry in the hook's document.
    pub fn spec(&self) -> &KubernetesBinding {
        &self.spec
    }

    /// The objects that it matches now, without those on which the filter fails.
    pub fn items(&self) -> &Items {
        &self.items
    }

    /// Whether all sources of the start were listed and none of their objects was late then. The snapshot can then be
    /// shown.
    pub fn is_listed(&self) -> bool {
        self.listed
    }

    /// Whether the snapshot shows all objects, in their newest states.
    pub fn is_complete(&self) -> bool {
        self.listed && self.late == 0
    }

    /// The number of objects on whose newest state the filter could not run yet.
    pub fn late(&self) -> usize {
        self.late
    }

    /// Whether changes are events: the binding is listed and admitted, and its synchronization was made.
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// Whether the source's next changes are part of a list.
    pub fn is_listing(&self, source: SourceId) -> bool {
        self.sources.is_listing(source)
    }

    /// The bytes that the items hold. Shared parts count for each item.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The bytes that its items take and share with no other binding. Items that left the snapshot count until no run,
    /// event or hidden object has them.
    pub fn own_bytes(&self) -> usize {
        self.own_bytes.load(Ordering::Relaxed)
    }

    /// The number of objects on which the filter fails.
    pub fn failing(&self) -> usize {
        self.failing
    }

    /// What happened to its objects since the binding was created.
    pub fn changes(&self) -> Changes {
        self.changes
    }

    /// The kind was found. If it was another kind before, for example because a version is no longer served, its
    /// sources are given up. Objects that the new sources do not name are gone once all of these were listed.
    pub fn served(&mut self, resource: Arc<Resource>) {
        if self.resource.as_ref().is_some_and(|before| *before != resource) {
            self.sources.clear();
            self.moving = !self.known.is_empty();
        }
        self.resource = Some(resource);
    }

    /// The API server does not serve the kind: there are no objects of it, and the sources are given up.
    ///
    /// Once the kind is served, a hook without synchronization receives all objects that are there, because they came
    /// after the start.
    pub fn unserved(&mut self, now: Instant) -> Applied {
        self.sources.clear();
        self.listed = false;
        let applied = self.remove_where(|_| true, now);
        if !self.live && !self.spec.on_synchronization {
            self.baseline.get_or_insert_default();
        }
        applied
    }

    /// Adds a source. Its objects come with its first list.
    pub fn add_source(&mut self, id: SourceId) {
        self.sources.add(id);
    }

    /// The source was given up, and its objects no longer belong to the binding.
    pub fn remove_source(&mut self, id: SourceId, now: Instant) -> Applied {
        if !self.sources.remove(id) {
            return Applied::default();
        }
        let removed = self.remove_where(|known| known.source == id, now);
        removed.and(self.settle(now))
    }

    /// All sources that belong to the start were added.
    pub fn sources_complete(&mut self, now: Instant) -> Applied {
        self.sources.complete();
        self.settle(now)
    }

    /// The binding goes live as soon as it is listed. Until then, its state only follows the cluster.
    pub fn admit(&mut self, now: Instant) -> Applied {
        self.admitted = true;
        self.settle(now)
    }

    /// Applies a change of one source. `projection` belongs to an `Upsert`. Changes of sources that were not added, or
    /// were removed, are ignored. `Unserved` is ignored too, because [`Binding::unserved`] handles it once for all
    /// sources.
    pub fn apply(&mut self, source: SourceId, change: &Change, projection: Projection, now: Instant) -> Applied {
        let Some(list) = self.sources.list(source) else { return Applied::default() };
        let late = self.late;
        let applied = match change {
            Change::ListStarted => {
                self.sources.list_started(source);
                Applied::default()
            }
            Change::Unserved => Applied::default(),
            Change::Upsert(object) => self.upsert((source, list), object, projection, now),
            Change::Delete(object) => self.delete(source, &object.key, now),
            Change::ListDone => self.list_done(source, now),
        };
        self.settle_after(late, applied, now)
    }

    /// The binding may have waited for the last late object.
    fn settle_after(&mut self, late: usize, applied: Applied, now: Instant) -> Applied {
        if late > 0 && self.late == 0 { applied.and(self.settle(now)) } else { applied }
    }

    /// Applies a change that the hook made itself: the binding's state follows, and the hook receives no event about
    /// this object.
    pub fn apply_own(&mut self, source: SourceId, change: &Change, projection: Projection, now: Instant) -> Applied {
        let applied = self.apply(source, change, projection, now);
        match change {
            Change::Upsert(object) | Change::Delete(object) => applied.without(object),
            Change::ListStarted | Change::ListDone | Change::Unserved => applied,
        }
    }

    fn list_done(&mut self, source: SourceId, now: Instant) -> Applied {
        let Some(list) = self.sources.list_done(source) else { return Applied::default() };
        let gone = self.remove_where(|known| known.source == source && known.list != list, now);
        gone.and(self.settle(now))
    }

    /// What follows when the binding may have become listed or admitted.
    fn settle(&mut self, now: Instant) -> Applied {
        let mut applied = Applied::default();
        if !self.sources.are_listed() {
            return applied;
        }
        if std::mem::take(&mut self.moving) {
            applied = applied.and(self.remove_orphans(now));
        }
        if !self.listed {
            if self.late > 0 {
                return applied;
            }
            self.listed = true;
            applied.changed = true;
            if !self.admitted && !self.spec.on_synchronization && self.baseline.is_none() {
                self.baseline = Some(self.baseline());
            }
        }
        if self.admitted && !self.live {
            self.live = true;
            self.recent = None;
            if self.spec.on_synchronization {
                applied.triggers.push(self.trigger(Cause::Synchronization, now));
            } else if let Some(baseline) = self.baseline.take() {
                applied.triggers.extend(self.since(baseline, now));
            }
        }
        applied
    }

    fn event(&self, kind: WatchEventKind, item: Arc<Item>, previous: Option<&Item>, now: Instant) -> Option<Trigger> {
        if !self.live || !self.spec.events.contains(&kind) {
            return None;
        }
        let shows_object = self.spec.previous_object && kind == WatchEventKind::Modified;
        let event = ObjectEvent {
            kind,
            resource: self.resource.clone()?,
            item,
            previous_filter_result: previous.and_then(|item| item.filter_result.clone()),
            previous_object: previous.filter(|_| shows_object).and_then(|item| item.object.clone()),
        };
        Some(self.trigger(Cause::Event(event), now))
    }

    fn trigger(&self, cause: Cause, now: Instant) -> Trigger {
        Trigger {
            hook: self.hook.clone(),
            binding: self.spec.name.clone(),
            queue: self.spec.queue.clone(),
            cause,
            group: self.spec.group.clone(),
            snapshots: self.snapshots.clone(),
            allow_failure: self.spec.allow_failure,
            retry: self.spec.retry,
            debounce: self.spec.debounce,
            created: now,
        }
    }
}
