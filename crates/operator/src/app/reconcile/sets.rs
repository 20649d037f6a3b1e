//! The sets of all parents: which exist, whose members are whose, and when each is due again.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    hash::{BuildHasher as _, RandomState},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use boathook_applyset::{Action, Answer, Desired, Digest, Owner, Parent, Plan, Policy, READY, Rules, Set, Stage, Step};
use boathook_core::{
    causes::{ObjectId, Reason, Seen, Version},
    fair::Share,
    memory::UNIT,
    model::{
        BindingName, Cause, HookName, Item, KubernetesBinding, Object, ObjectEvent, ObjectKey, ObjectRef, OwnedKind,
        ReconcileBinding, Reconciled, Resource, Role, SnapshotSet, Trigger, WatchEventKind,
    },
    queue::{self, Pushed},
};
use serde_json::Value;
use tokio_util::task::AbortOnDropHandle;

use super::{
    super::{
        Services,
        applying::{HasSet, set_of},
    },
    decorations::Decoration,
    marks::Names,
    revisions::{Asked, Stored},
    status,
};

/// How long the status of a parent that is written to again and again waits for the watch.
const POSTPONED: Duration = Duration::from_secs(2);

/// The reconcilers of all hooks, by hook and binding.
#[derive(Default)]
pub(in super::super) struct Reconcilers(Mutex<HashMap<(HookName, BindingName), Arc<Reconciler>>>);

impl Reconcilers {
    /// Finds or creates the reconciler of a binding.
    pub fn of(&self, hook: &HookName, binding: &BindingName) -> Arc<Reconciler> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry((hook.clone(), binding.clone())).or_default().clone()
    }

    /// All of them, by hook and binding.
    pub fn all(&self) -> Vec<(HookName, BindingName, Arc<Reconciler>)> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let each = all.iter().map(|((hook, binding), reconciler)| (hook.clone(), binding.clone(), reconciler.clone()));
        let mut all: Vec<_> = each.collect();
        all.sort_by(|a, b| (a.0.as_str(), a.1.unique()).cmp(&(b.0.as_str(), b.1.unique())));
        all
    }

    /// Forgets those of a hook that does not run any more.
    pub fn forget(&self, hook: &HookName) {
        self.keep(hook, |_| false);
    }

    /// Forgets the other ones of a hook.
    pub fn keep(&self, hook: &HookName, keeps: impl Fn(&BindingName) -> bool) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(of, binding), _| of != hook || keeps(binding));
    }
}

/// The identity of a decorator. It is in the IDs of its sets. `None`: the binding has parents of its own.
pub(super) fn decorator(hook: &HookName, binding: &ReconcileBinding) -> Option<Arc<str>> {
    binding.decorates.then(|| format!("{hook}/{}", binding.name).into())
}

/// What a parent's triggers need.
pub(in super::super) struct Terms {
    pub hook: HookName,
    pub binding: ReconcileBinding,
    /// The kind of the parents, as it is served.
    pub resource: Arc<Resource>,
    /// The identity of a decorator.
    pub decorator: Option<Arc<str>>,
    /// Of what is written to the parents.
    pub names: Names,
    /// What must be listed before a parent is reconciled.
    inputs: Arc<[BindingName]>,
}

impl Terms {
    pub fn new(hook: &HookName, binding: &ReconcileBinding, resource: Arc<Resource>) -> Self {
        let decorator = decorator(hook, binding);
        let names = Names::of(decorator.as_deref());
        Self { hook: hook.clone(), inputs: binding.inputs(), binding: binding.clone(), resource, decorator, names }
    }

    /// A trigger for one parent. It carries no object: the run reads the newest one from the snapshot.
    pub fn wake(&self, key: &ObjectKey, uid: &str) -> Trigger {
        let item = Item {
            key: key.clone(),
            uid: uid.into(),
            resource_version: Box::default(),
            object: None,
            filter_result: None,
        };
        let event = ObjectEvent {
            kind: WatchEventKind::Modified,
            resource: self.resource.clone(),
            item: Arc::new(item),
            previous_filter_result: None,
            previous_object: None,
            managers: None,
        };
        Trigger {
            hook: self.hook.clone(),
            binding: self.binding.name.clone(),
            queue: self.binding.queue.clone(),
            cause: Cause::Event(event),
            group: None,
            snapshots: self.inputs.clone(),
            allow_failure: false,
            retry: self.binding.retry,
            debounce: Duration::ZERO,
            created: Instant::now(),
        }
    }
}

/// One informer of a reconciler. It sees what the watch shows before the filter stage does, because a set also needs to
/// know who wrote an object.
pub(in super::super) struct Informed {
    reconciler: Arc<Reconciler>,
    informer: BindingName,
    role: Role,
    queue: queue::Handle,
    /// Hashes of what matters of the related objects that changed.
    essences: Mutex<HashMap<ObjectKey, u64>>,
    hasher: RandomState,
}

impl Informed {
    pub fn new(services: &Services, hook: &HookName, role: &Role, informer: &KubernetesBinding) -> Arc<Self> {
        let of = match role {
            Role::Parents => &informer.name,
            Role::Members(binding) | Role::Related(binding) => binding,
        };
        let reconciler = services.reconcilers.of(hook, of);
        let (informer, role, queue) = (informer.name.clone(), role.clone(), services.queue.clone());
        let (essences, hasher) = (Mutex::default(), RandomState::new());
        Arc::new(Self { reconciler, informer, role, queue, essences, hasher })
    }

    /// The watch showed an object.
    pub fn saw(&self, object: &Object) {
        if let Role::Members(_) = self.role {
            for wake in self.reconciler.saw(&self.informer, object) {
                let seen = || {
                    let version = Version::new(&object.uid, &object.resource_version);
                    Seen { object: Arc::new(ObjectId::of_object(object)), version, managers: object.managers() }
                };
                self.push(wake, || Reason { binding: self.informer.clone(), what: "Modified", seen: Some(seen()) });
            }
        }
    }

    /// Another object than the parent is why the parent is reconciled.
    fn push(&self, wake: Trigger, reason: impl FnOnce() -> Reason) {
        if let Cause::Event(event) = &wake.cause {
            self.reconciler.because(&event.item.key, reason);
        }
        self.reconciler.push(wake, &self.queue);
    }

    /// Whether parents that refer to the object have something to do because of its change.
    fn matters(&self, event: &ObjectEvent) -> bool {
        let mut essences = self.essences.lock().unwrap_or_else(PoisonError::into_inner);
        match &event.item.object {
            Some(object) if event.kind != WatchEventKind::Deleted => {
                let essence = essence(object, &self.hasher);
                essences.insert(event.item.key.clone(), essence) != Some(essence)
            }
            _ => {
                essences.remove(&event.item.key);
                true
            }
        }
    }

    /// The filter stage made a trigger.
    pub fn triggered(&self, mut trigger: Trigger) {
        let gone = trigger.event().filter(|(kind, _)| *kind == WatchEventKind::Deleted);
        match (&self.role, &mut trigger.cause) {
            (Role::Parents, Cause::Event(event)) if !self.reconciler.concerns(event) => {}
            (Role::Parents, Cause::Event(event)) => {
                // The run reads the newest state.
                event.item = Arc::new(Item { object: None, ..(*event.item).clone() });
                self.reconciler.push(trigger, &self.queue);
            }
            (Role::Members(_), Cause::Event(event)) => {
                let wake = gone.and_then(|(_, object)| {
                    self.reconciler.lost(&self.informer, &event.item.key, &object, &event.item.uid)
                });
                if let Some(wake) = wake {
                    self.push(wake, || Reason::of(&trigger));
                }
            }
            // The snapshot has the change already, so each parent that is reconciled because of it sees it.
            (Role::Related(_), Cause::Event(event)) if !self.matters(event) => {}
            (Role::Related(_), Cause::Event(event)) => {
                for wake in self.reconciler.referring(&self.informer, Some(&event.item.key)) {
                    self.push(wake, || Reason::of(&trigger));
                }
            }
            _ => {
                self.queue.push(trigger);
            }
        }
    }
}

/// What is known about one binding's parents and members.
#[derive(Default)]
pub(in super::super) struct Reconciler(Mutex<State>);

#[derive(Default)]
struct State {
    terms: Option<Arc<Terms>>,
    entries: HashMap<ObjectKey, Arc<Entry>>,
    /// The parents by the identity of their sets.
    parents: HashMap<Box<str>, ObjectKey>,
    /// The members of each set.
    members: HashMap<Box<str>, BTreeSet<MemberKey>>,
    /// The set of each member.
    set_of: HashMap<MemberKey, Box<str>>,
    /// The parents that refer to an object.
    referring: HashMap<Reference, BTreeSet<ObjectKey>>,
    /// What each parent refers to.
    references: HashMap<ObjectKey, Vec<Reference>>,
    /// The changes because of which parents are reconciled again, without their own changes.
    because: HashMap<ObjectKey, Vec<Reason>>,
    /// The parents whose next run waits in the queue.
    queued: HashSet<ObjectKey>,
    /// Objects with the finalizer that no run was about: the binding may not select them any more.
    strays: HashMap<ObjectKey, Stray>,
    /// Finds strays.
    search: Option<AbortOnDropHandle<()>>,
}

/// An object with the finalizer, and its uid.
pub(super) type Stray = (ObjectRef, Box<str>);

/// The most changes of other objects that are remembered for a parent until its next run.
const BECAUSE: usize = 8;

/// A set, for people.
pub(in super::super) struct ShownSet {
    pub parent: String,
    pub queued: bool,
    pub members: Vec<String>,
    pub members_count: usize,
}

/// What a parent refers to: the binding that watches it, and a name. `None`: everything that is watched.
pub(super) type Reference = (BindingName, Option<Box<str>>);

/// A member: the binding that watches its kind, and its name.
type MemberKey = (BindingName, ObjectKey);

impl Reconciler {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The newest terms.
    pub fn knows(&self, terms: Arc<Terms>) {
        self.state().terms = Some(terms);
    }

    /// The newest terms, if the parents were listed.
    pub fn known(&self) -> Option<Arc<Terms>> {
        self.state().terms.clone()
    }

    /// Whether a change of an object is about a parent. A decorator's watch does not select by annotations, so it shows objects
    /// that are none.
    fn concerns(&self, event: &ObjectEvent) -> bool {
        let state = self.state();
        let (Some(terms), Some(object)) = (&state.terms, &event.item.object) else { return true };
        let key = &event.item.key;
        let is_known =
            || state.entries.contains_key(key) || state.strays.contains_key(key) || state.queued.contains(key);
        let selected = event.kind != WatchEventKind::Deleted && terms.binding.selects(object);
        !terms.binding.decorates || selected || is_known()
    }

    /// Puts a parent's trigger into the queue, unless one waits there. One is enough, because the run reads the newest
    /// state. Otherwise, each event of an object that many refer to is a run of each of them.
    pub fn push(&self, trigger: Trigger, queue: &queue::Handle) {
        let Cause::Event(event) = &trigger.cause else {
            queue.push(trigger);
            return;
        };
        let key = event.item.key.clone();
        let waits = !self.state().queued.insert(key.clone());
        if !waits && queue.push(trigger) == Pushed::Refused {
            self.state().queued.remove(&key);
        }
    }

    /// A run begins that is about the parent. What happens from here on needs another one. Call it before the run reads
    /// anything. The trigger of a run that is retried is not the one that waits.
    ///
    /// Returns the changes of other objects that it is because of.
    pub fn begins(&self, key: &ObjectKey, attempt: u32) -> Vec<Reason> {
        let mut state = self.state();
        if attempt == 1 {
            state.queued.remove(key);
        }
        state.because.remove(key).unwrap_or_default()
    }

    fn because(&self, key: &ObjectKey, reason: impl FnOnce() -> Reason) {
        let mut state = self.state();
        let because = match state.because.get_mut(key) {
            Some(because) => because,
            None => state.because.entry(key.clone()).or_default(),
        };
        if because.len() < BECAUSE {
            because.push(reason());
        }
    }

    /// How many sets there are, and the first ones, each with its first members.
    pub fn shown(&self, most: usize, most_members: usize) -> (usize, Vec<ShownSet>) {
        let state = self.state();
        let Some(terms) = &state.terms else { return (0, Vec::new()) };
        let kinds: HashMap<_, _> =
            terms.binding.owns.iter().map(|owned| (terms.binding.members_of(owned), owned.group_kind())).collect();
        let mut parents: Vec<_> = state.parents.iter().collect();
        let count = parents.len();
        // Only what is shown is sorted, because reconcilers wait for the lock.
        if most < count {
            parents.select_nth_unstable_by(most, |(_, one), (_, other)| one.cmp(other));
            parents.truncate(most);
        }
        parents.sort_unstable_by_key(|(_, key)| *key);
        let shown = parents.iter().map(|(id, key)| {
            let members = state.members.get(*id);
            let text = |(of, member): &MemberKey| {
                let kind = kinds.get(of).map_or_else(|| of.to_string(), ToString::to_string);
                format!("{kind} {member}")
            };
            ShownSet {
                parent: format!("{} {key}", terms.resource.kind),
                queued: state.queued.contains(*key),
                members: members.into_iter().flatten().take(most_members).map(text).collect(),
                members_count: members.map_or(0, BTreeSet::len),
            }
        });
        (count, shown.collect())
    }

    /// Whether another run about the parent follows.
    pub fn is_queued(&self, key: &ObjectKey) -> bool {
        self.state().queued.contains(key)
    }

    /// The queue may have lost triggers.
    pub fn nothing_is_queued(&self) {
        let mut state = self.state();
        state.queued.clear();
        state.because.clear();
    }

    /// An object has the finalizer. If the binding does not select it, it is let go of.
    pub fn strays(&self, key: ObjectKey, stray: Stray) -> Option<Trigger> {
        let mut state = self.state();
        if state.entries.contains_key(&key) {
            return None;
        }
        let wake = state.terms.as_ref().map(|terms| terms.wake(&key, &stray.1));
        state.strays.insert(key, stray);
        wake
    }

    pub fn stray(&self, key: &ObjectKey) -> Option<Stray> {
        self.state().strays.get(key).cloned()
    }

    /// Looks for strays until that is over, or until the binding ends.
    pub fn searches(&self, search: AbortOnDropHandle<()>) {
        let before = self.state().search.replace(search);
        drop(before);
    }

    /// The terms of a run. They are made again only if they changed.
    pub fn terms(&self, hook: &HookName, binding: &ReconcileBinding, resource: &Arc<Resource>) -> Arc<Terms> {
        let known = self.state().terms.clone();
        let known = known.filter(|terms| terms.binding == *binding && terms.resource == *resource);
        known.unwrap_or_else(|| {
            let terms = Arc::new(Terms::new(hook, binding, resource.clone()));
            self.knows(terms.clone());
            terms
        })
    }

    /// The watch showed a member. Returns the parents that have something to do because of it.
    pub fn saw(&self, informer: &BindingName, object: &Object) -> Vec<Trigger> {
        let key = (informer.clone(), object.key.clone());
        let now = set_of(&object.json);
        let entries = {
            let mut state = self.state();
            let before = state.place(key, now.as_deref());
            let of = |set: Option<&str>| state.entries.get(state.parents.get(set?)?).cloned();
            let (before, now) = (before.filter(|before| Some(&**before) != now.as_deref()), now);
            [of(before.as_deref()), of(now.as_deref())]
        };
        let entries = entries.into_iter().flatten();
        let news = entries.filter(|entry| entry.with(|set| set.observe(object, Instant::now())));
        news.filter_map(|entry| self.wake(&entry)).collect()
    }

    /// A member is gone, or has lost its label. Returns the parent that has something to do because of it.
    pub fn lost(&self, informer: &BindingName, key: &ObjectKey, object: &ObjectRef, uid: &str) -> Option<Trigger> {
        let entry = {
            let mut state = self.state();
            let before = state.place((informer.clone(), key.clone()), None)?;
            state.entries.get(state.parents.get(&before)?).cloned()
        }?;
        let news = entry.with(|set| set.gone(object, Some(uid), Instant::now()));
        news.then(|| self.wake(&entry)).flatten()
    }

    /// The parents whose answers were invalid. The hook is asked again.
    pub fn invalid(&self) -> Vec<Trigger> {
        let entries: Vec<_> = self.state().entries.values().cloned().collect();
        entries.iter().filter(|entry| entry.doubt_invalid()).filter_map(|entry| self.wake(entry)).collect()
    }

    fn wake(&self, entry: &Entry) -> Option<Trigger> {
        let terms = self.state().terms.clone()?;
        let uid = entry.with(|set| set.parent().uid.clone());
        Some(terms.wake(&entry.key, &uid))
    }

    /// Finds or creates the entry of a parent. A new one learns all members that exist.
    pub fn entry(
        &self,
        key: &ObjectKey,
        parent: &Parent,
        begin: impl FnOnce() -> (Policy, Share),
        now: &SnapshotSet,
        binding: &ReconcileBinding,
    ) -> Arc<Entry> {
        let mut state = self.state();
        state.strays.remove(key);
        match state.entries.get(key) {
            Some(entry) => {
                entry.with(|set| set.update_parent(parent.clone()));
                entry.clone()
            }
            None => {
                let (policy, share) = begin();
                let mut set = Set::new(parent.clone(), policy);
                let id: Box<str> = set.id().as_str().into();
                for owned in &binding.owns {
                    let informer = binding.members_of(owned);
                    let Some(items) = now.items(&informer) else { continue };
                    let members = state.members.get(&id).into_iter().flatten().filter(|(of, _)| *of == informer);
                    let objects = members.filter_map(|(_, key)| read(owned, &items.get(key)?.item));
                    for object in objects {
                        set.observe(&object, Instant::now());
                    }
                }
                set.listed();
                let entry = Arc::new(Entry::new(key.clone(), set, share));
                state.parents.insert(id, key.clone());
                state.entries.insert(key.clone(), entry.clone());
                entry
            }
        }
    }

    /// The members of one kind that exist.
    pub fn members(&self, entry: &Entry, informer: &BindingName) -> Vec<ObjectKey> {
        let id = entry.with(|set| set.id().clone());
        let state = self.state();
        let members = state.members.get(id.as_str()).into_iter().flatten();
        members.filter(|(of, _)| of == informer).map(|(_, key)| key.clone()).collect()
    }

    /// The parent refers to these objects, and to no others any more.
    pub fn refers(&self, key: &ObjectKey, references: Vec<Reference>) {
        let mut state = self.state();
        if state.references.get(key).map_or(references.is_empty(), |known| *known == references) {
            return;
        }
        state.unrefer(key);
        for reference in &references {
            state.referring.entry(reference.clone()).or_default().insert(key.clone());
        }
        state.references.insert(key.clone(), references);
    }

    /// Wakes the parents that refer to an object. `None`: to any object that this binding watches.
    pub fn referring(&self, informer: &BindingName, object: Option<&ObjectKey>) -> Vec<Trigger> {
        let entries: Vec<_> = {
            let state = self.state();
            let Some(terms) = &state.terms else { return Vec::new() };
            let mut related = terms.binding.related.iter();
            let Some(related) = related.find(|related| terms.binding.watching(related) == *informer) else {
                return Vec::new();
            };
            let of = |name: Option<Box<str>>| state.referring.get(&(informer.clone(), name)).into_iter().flatten();
            let parents: BTreeSet<_> = match object {
                Some(object) => of(Some((&*object.name).into()))
                    .chain(of(None))
                    .filter(|parent| related.reaches(parent.namespace.as_deref(), object.namespace.as_deref()))
                    .collect(),
                None => {
                    let to_it = state.referring.iter().filter(|((of, _), _)| of == informer);
                    to_it.flat_map(|(_, parents)| parents).collect()
                }
            };
            parents.into_iter().filter_map(|parent| state.entries.get(parent).cloned()).collect()
        };
        entries.iter().filter_map(|entry| self.wake(entry)).collect()
    }

    /// The binding does not have the parent any more.
    pub fn forget(&self, key: &ObjectKey) {
        let mut state = self.state();
        state.unrefer(key);
        state.entries.remove(key);
        state.strays.remove(key);
        state.because.remove(key);
        state.parents.retain(|_, parent| parent != key);
    }

    pub fn find(&self, key: &ObjectKey) -> Option<Arc<Entry>> {
        self.state().entries.get(key).cloned()
    }

    /// Forgets what the hook answered, and the terms. Who is a member of what is still true. Returns the kind of the
    /// parents, if they were listed.
    pub fn renew(&self) -> Option<Arc<Resource>> {
        let mut state = self.state();
        state.entries.clear();
        state.parents.clear();
        state.referring.clear();
        state.references.clear();
        state.queued.clear();
        state.terms.take().map(|terms| terms.resource.clone())
    }
}

impl State {
    fn unrefer(&mut self, key: &ObjectKey) {
        for reference in self.references.remove(key).into_iter().flatten() {
            if let Some(parents) = self.referring.get_mut(&reference) {
                parents.remove(key);
                if parents.is_empty() {
                    self.referring.remove(&reference);
                }
            }
        }
    }

    /// Puts a member into a set, or into none. Returns the set that it was in.
    fn place(&mut self, key: MemberKey, set: Option<&str>) -> Option<Box<str>> {
        let before = match set {
            Some(set) => self.set_of.insert(key.clone(), set.into()),
            None => self.set_of.remove(&key),
        };
        if let Some(left) = before.as_ref().filter(|before| Some(&***before) != set)
            && let Some(members) = self.members.get_mut(left)
        {
            members.remove(&key);
            if members.is_empty() {
                self.members.remove(left);
            }
        }
        if let Some(set) = set {
            self.members.entry(set.into()).or_default().insert(key);
        }
        before
    }
}

/// A hash of what matters of a related object. Many controllers write again and again only to show that they live.
fn essence(object: &str, hasher: &RandomState) -> u64 {
    const NOISE: [&str; 3] = ["resourceVersion", "managedFields", "generation"];
    const SIGNS_OF_LIFE: [&str; 3] = ["lastHeartbeatTime", "lastProbeTime", "lastUpdateTime"];
    let Ok(mut value) = serde_json::from_str::<Value>(object) else { return hasher.hash_one(object) };
    let without = |value: &mut Value, names: &[&str]| {
        if let Some(fields) = value.as_object_mut() {
            fields.retain(|name, _| !names.contains(&name.as_str()));
        }
    };
    if let Some(metadata) = value.get_mut("metadata") {
        without(metadata, &NOISE);
    }
    let conditions = value.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
    conditions.into_iter().flatten().for_each(|condition| without(condition, &SIGNS_OF_LIFE));
    hasher.hash_one(value.to_string())
}

fn read(kind: &OwnedKind, item: &Item) -> Option<Object> {
    Object::from_json(item.object.as_deref()?, &kind.api_version, &kind.kind).ok()
}

/// The children of a parent take more memory than their tenant has.
#[derive(Debug, thiserror::Error)]
#[error(
    "the hook's answer takes {units} KiB, and {tenant} has no memory left for it: return fewer children, or give the \
     operator more memory (--memory-limit)"
)]
pub(in super::super) struct NoRoom {
    units: u64,
    tenant: String,
}

/// The memory of a set. Each member has the text that is applied, the fields that are owned, and what is known of it.
fn units(answer: &Reconciled, decoration: Option<&Decoration>) -> u64 {
    const MEMBER: usize = 2 * 1024;
    // A set keeps one expression in parsed form.
    const EXPRESSION: usize = 64 * 1024;
    let has_expression = answer.children.iter().any(|child| child.contains(READY));
    let bytes = answer.bytes().saturating_mul(3).saturating_add(answer.children.len().saturating_mul(MEMBER));
    let bytes = bytes.saturating_add(if has_expression { EXPRESSION } else { 0 });
    let bytes = bytes.saturating_add(decoration.map_or(0, Decoration::bytes).saturating_mul(2));
    (bytes as u64).div_ceil(UNIT)
}

/// What is applied in place of what the hook returns.
struct RolledBack {
    asked: Asked,
    /// The memory that its children take.
    units: u64,
}

/// One parent.
pub(in super::super) struct Entry {
    pub key: ObjectKey,
    known: Mutex<Known>,
}

struct Known {
    set: Set,
    /// The part of the tenant's memory that the set takes.
    share: Share,
    /// The last answer, without the children.
    answer: Option<Arc<Reconciled>>,
    /// What the last answer of a decorator sets on the parent.
    decoration: Option<Arc<Decoration>>,
    /// What was last said about attachments that are not as desired.
    said: Option<String>,
    /// What the answer depends on, if that is known.
    seen: Option<[u8; 32]>,
    /// The status that was written last, and what the API server made of it.
    status: Option<(Value, Value)>,
    /// Since when the status waits for the watch.
    postponed: Option<Instant>,
    /// Objects that were adopted and not reported yet, and whose they were.
    adopted: Vec<(ObjectRef, Owner)>,
    finalizer: bool,
    rolled_back: Option<RolledBack>,
    /// The revisions that are kept, if they were listed.
    revisions: Option<BTreeMap<u64, Stored>>,
    /// The digest of the children that are the newest revision.
    kept: Option<Digest>,
    requeue: Option<Instant>,
    timer: Option<AbortOnDropHandle<()>>,
}

impl HasSet for Entry {
    fn with<T>(&self, act: impl FnOnce(&mut Set) -> T) -> T {
        self.edit(|known| act(&mut known.set))
    }

    fn adopted(&self, object: &ObjectRef, from: &Owner) {
        self.edit(|known| known.adopted.push((object.clone(), from.clone())));
    }
}

impl Known {
    /// Takes this much of its tenant's memory.
    fn takes(&mut self, units: u64) -> Result<(), NoRoom> {
        let has = self.share.units();
        if units > has && !self.share.grow(units - has) {
            return Err(NoRoom { units, tenant: self.share.tenant().to_string() });
        }
        self.share.shrink(has.saturating_sub(units));
        Ok(())
    }
}

impl Entry {
    fn new(key: ObjectKey, set: Set, share: Share) -> Self {
        let known = Known {
            set,
            share,
            answer: None,
            decoration: None,
            said: None,
            seen: None,
            status: None,
            postponed: None,
            adopted: Vec::new(),
            finalizer: false,
            rolled_back: None,
            revisions: None,
            kept: None,
            requeue: None,
            timer: None,
        };
        Self { key, known: Mutex::new(known) }
    }

    fn edit<T>(&self, edit: impl FnOnce(&mut Known) -> T) -> T {
        edit(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn own_writes_until(&self, now: Instant) -> Option<Instant> {
        self.with(|set| set.own_writes_until(now))
    }

    /// Takes over what the hook wants, if the tenant has memory for it. `seen`: what its answer depends on, if it depends
    /// on nothing else.
    pub fn answered(
        &self,
        rules: &Rules,
        seen: Option<[u8; 32]>,
        answer: Reconciled,
        decoration: Option<Decoration>,
        parent: &Parent,
    ) -> Result<(), NoRoom> {
        let units = units(&answer, decoration.as_ref());
        let Reconciled { children, none_wanted, .. } = &answer;
        let members = children.iter().map(|child| serde_json::from_str(child).unwrap_or(Value::Null)).collect();
        let wanted = Answer { generation: parent.generation, members, means_empty: *none_wanted };
        self.edit(|known| {
            known.takes(units + known.rolled_back.as_ref().map_or(0, |rolled_back| rolled_back.units))?;
            match Desired::new(wanted, parent, rules) {
                // All members go.
                _ if answer.done => known.set.finalized(true),
                // The admin has decided. What the hook wants is asked for again when that is over.
                _ if known.rolled_back.is_some() => {}
                // No input is missing, because the queue waited for all of them.
                Ok(desired) => {
                    known.set.desire(desired);
                    known.set.finalized(false);
                }
                Err(invalid) => known.set.reject(invalid),
            }
            known.requeue = answer.requeue_after.filter(|_| !answer.done).map(|after| Instant::now() + after);
            known.seen = seen;
            known.decoration = decoration.map(Arc::new);
            known.answer = Some(Arc::new(Reconciled { children: Vec::new(), ..answer }));
            Ok(())
        })
    }

    /// Takes what an admin asks for in place of what the hook returns, if the tenant has memory for it.
    pub fn rolls_back(&self, asked: Asked, desired: Desired) -> Result<(), NoRoom> {
        let bytes: usize = desired.members.iter().map(|member| member.body.len()).sum();
        let units = (bytes.saturating_mul(3) as u64).div_ceil(UNIT);
        self.edit(|known| {
            let before = known.rolled_back.as_ref().map_or(0, |rolled_back| rolled_back.units);
            known.takes(known.share.units().saturating_sub(before) + units)?;
            known.set.desire(desired);
            known.rolled_back = Some(RolledBack { asked, units });
            Ok(())
        })
    }

    /// Whether the children are what the admin asks for.
    pub fn has_rolled_back(&self, asked: Asked) -> bool {
        self.edit(|known| known.rolled_back.as_ref().is_some_and(|rolled_back| rolled_back.asked == asked))
    }

    /// What the hook returns counts again. It is asked for that.
    pub fn ends_rollback(&self) {
        self.edit(|known| {
            if let Some(rolled_back) = known.rolled_back.take() {
                known.share.shrink(rolled_back.units);
                known.seen = None;
                // Until the hook has answered, they are those of an earlier revision.
                known.kept = known.set.desired().map(|desired| desired.digest.clone());
            }
        });
    }

    /// The revision whose children are applied in place of the hook's.
    pub fn rolled_back(&self) -> Option<u64> {
        self.edit(|known| known.rolled_back.as_ref().map(|rolled_back| rolled_back.asked.revision))
    }

    /// The children that the hook wants, if they are not the newest revision.
    pub fn unkept(&self) -> Option<Desired> {
        self.edit(|known| {
            let desired = known.set.desired().filter(|_| known.rolled_back.is_none());
            desired.filter(|desired| known.kept.as_ref() != Some(&desired.digest)).cloned()
        })
    }

    /// The revisions that are kept, if they were listed.
    pub fn revisions(&self) -> Option<BTreeMap<u64, Stored>> {
        self.edit(|known| known.revisions.clone())
    }

    /// The children are the newest one of these revisions.
    pub fn keeps(&self, desired: &Desired, revisions: BTreeMap<u64, Stored>) {
        self.edit(|known| (known.kept, known.revisions) = (Some(desired.digest.clone()), Some(revisions)));
    }

    /// Forgets what an invalid answer depends on. Returns whether the last answer was invalid.
    fn doubt_invalid(&self) -> bool {
        self.edit(|known| {
            let invalid = known.set.is_invalid();
            if invalid {
                known.seen = None;
            }
            invalid
        })
    }

    /// Whether the last answer is the answer to this, too. It is not, if the hook wants to be asked again by now.
    pub fn has_answered(&self, seen: &[u8; 32]) -> bool {
        self.edit(|known| {
            known.seen.as_ref() == Some(seen) && known.requeue.is_none_or(|requeue| requeue > Instant::now())
        })
    }

    /// The hook is asked. A time at which it wanted that is over, even if it fails now. Otherwise, its parent would be
    /// reconciled without end.
    pub fn is_asked(&self, now: Instant) {
        self.edit(|known| {
            if known.requeue.is_some_and(|requeue| requeue <= now) {
                (known.requeue, known.seen) = (None, None);
            }
        });
    }

    /// The hook is not asked any more.
    pub fn is_over(&self) {
        self.edit(|known| known.requeue = None);
    }

    /// What the parent should have on it.
    pub fn decoration(&self) -> Option<Arc<Decoration>> {
        self.edit(|known| known.decoration.clone())
    }

    /// Notes what is said about the attachments. Returns whether it is something else than before.
    pub fn says(&self, message: Option<&String>) -> bool {
        self.edit(|known| {
            let is_news = known.said.as_ref() != message;
            if is_news {
                known.said = message.cloned();
            }
            is_news
        })
    }

    /// Objects that were adopted since this was last called, and whose they were.
    pub fn take_adopted(&self) -> Vec<(ObjectRef, Owner)> {
        self.edit(|known| std::mem::take(&mut known.adopted))
    }

    pub fn answer(&self) -> Option<Arc<Reconciled>> {
        self.edit(|known| known.answer.clone())
    }

    /// Whether the parent has this status. The API server may have made something else of it, for example because the
    /// CustomResourceDefinition has no such fields.
    pub fn shows_status(&self, status: &Value, parent: &Value) -> bool {
        let shown = parent.get("status").unwrap_or(&Value::Null);
        self.edit(|known| match &known.status {
            Some((wanted, made)) => wanted == status && made == shown,
            None => status::shows(shown, status),
        })
    }

    pub fn wrote_status(&self, status: Value, made: Value) {
        self.edit(|known| known.status = Some((status, made)));
    }

    /// The status is written now, or is as it should be.
    pub fn has_status(&self) {
        self.edit(|known| known.postponed = None);
    }

    /// Whether the status is written later, by a run that knows more: the next one is `queued`, or begins when the watch
    /// shows what was just written. A hook whose answer is another one each time does not postpone it again and again.
    pub fn postpones_status(&self, plan: &Plan, queued: bool, now: Instant) -> bool {
        let speaks = |step: &Step| matches!(step.action, Action::Refuse { .. } | Action::Retry { .. });
        let is_news = plan.invalid.is_some() || plan.hold.is_some() || plan.steps.iter().any(speaks);
        if plan.stage != Stage::Applying || is_news || !queued && self.own_writes_until(now).is_none() {
            return false;
        }
        self.edit(|known| now.saturating_duration_since(*known.postponed.get_or_insert(now)) < POSTPONED)
    }

    /// The parent has the finalizer, or has it no more.
    pub fn has_finalizer(&self, has: bool) {
        self.edit(|known| known.finalizer = has);
    }

    /// Whether the parent waits for a finalizer that only this binding removes.
    pub fn is_held(&self) -> bool {
        self.edit(|known| known.finalizer)
    }

    /// When the hook wants to be asked again.
    pub fn requeues_at(&self) -> Option<Instant> {
        self.edit(|known| known.requeue)
    }

    /// Pushes the trigger at this time, in place of what was planned before.
    pub fn wake_at(&self, at: Option<(Instant, Trigger)>, reconciler: &Arc<Reconciler>, queue: &queue::Handle) {
        let timer = at.map(|(at, trigger)| {
            // A weak reference, because the reconciler has the entry, and this ends with the entry.
            let (reconciler, queue) = (Arc::downgrade(reconciler), queue.clone());
            AbortOnDropHandle::new(tokio::spawn(async move {
                tokio::time::sleep_until(at.into()).await;
                if let Some(reconciler) = reconciler.upgrade() {
                    reconciler.push(Trigger { created: Instant::now(), ..trigger }, &queue);
                }
            }))
        });
        let before = self.edit(|known| std::mem::replace(&mut known.timer, timer));
        drop(before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // mutant: crates/operator/src/app/reconcile/sets.rs: `let bytes = bytes.saturating_add(decoration.map_or(0, Decoration::bytes).saturating_mul(2));` => ``
    #[test]
    fn what_a_decorator_sets_takes_memory_of_its_tenant() {
        let parent = serde_json::json!({"apiVersion": "v1", "kind": "Pod", "metadata": {
            "name": "p", "annotations": {"a": "x".repeat(50_000)}}});
        let mut children = vec![parent.to_string()];
        let decoration = super::super::decorations::taken(&mut children, &ObjectRef::of(&parent)).unwrap();
        let answer = Reconciled {
            children,
            none_wanted: true,
            done: false,
            status: None,
            conditions: Vec::new(),
            requeue_after: None,
            events: Vec::new(),
        };
        assert_eq!(units(&answer, None), 0);
        assert!(units(&answer, Some(&decoration)) * UNIT >= 100_000);
    }

    // mutant: crates/operator/src/app/reconcile/sets.rs: `fields.retain(|name, _| !names.contains(&name.as_str()));` => `fields.retain(|_, _| true);`
    #[test]
    fn signs_of_life_do_not_matter() {
        let hasher = RandomState::new();
        let of = |version: &str, beat: &str, status: &str| {
            let metadata = format!(r#"{{"name": "n", "resourceVersion": "{version}", "labels": {{"a": "b"}}}}"#);
            let condition = format!(r#"{{"type": "Ready", "status": "{status}", "lastHeartbeatTime": "{beat}"}}"#);
            let object = format!(r#"{{"metadata": {metadata}, "status": {{"conditions": [{condition}]}}}}"#);
            essence(&object, &hasher)
        };
        assert_eq!(of("1", "10:00", "True"), of("2", "10:05", "True"));
        assert_ne!(of("1", "10:00", "True"), of("2", "10:05", "False"));
        assert_ne!(essence("{}", &hasher), essence(r#"{"data": {}}"#, &hasher));
        assert_ne!(essence("no JSON", &hasher), essence("none either", &hasher));
    }
}
