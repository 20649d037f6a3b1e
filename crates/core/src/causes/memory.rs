//! The writes that are remembered. The oldest ones are forgotten when there are too many, or when they take too much memory.

use std::{
    collections::{HashMap, VecDeque, hash_map},
    sync::Arc,
    time::SystemTime,
};

use super::{Bounds, Made, NewWrite, ObjectId, REASONS, Reason, Run, SAME_SECOND, Seen, Version, Write};
use crate::model::{HookName, RunId};

/// What a write takes without its texts: itself, and its places in the maps.
const WRITE: usize = 640;
/// What a run takes without its texts.
const RUN: usize = 320;
/// What a reason takes without its texts.
const REASON: usize = size_of::<Reason>();

/// What is not remembered any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Forgotten {
    pub writes: u64,
    /// When the last of them was.
    pub until: Option<SystemTime>,
}

/// A run with writes that are remembered.
#[derive(Debug)]
struct Kept {
    run: Arc<Run>,
    writes: usize,
}

#[derive(Debug)]
pub(super) struct Memory {
    bounds: Bounds,
    /// Runs that have not ended.
    live: HashMap<RunId, Arc<Run>>,
    kept: HashMap<RunId, Kept>,
    /// Oldest first. The number of the first one is `first`.
    writes: VecDeque<Entry>,
    first: u64,
    bytes: usize,
    makers: HashMap<Version, u64>,
    /// The writes to each object, oldest first.
    objects: HashMap<Arc<ObjectId>, VecDeque<u64>>,
    forgotten: Forgotten,
}

#[derive(Debug)]
struct Entry {
    write: Write,
    turn: Turn,
}

/// What a write is in the row of writes that repeat each other. See `loops`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    /// Turns in a row that made the same content.
    pub same: u32,
    /// Turns since `began`.
    pub count: u32,
    pub began: SystemTime,
    /// Turns in a row that undid what somebody else did to the content of the last one.
    pub undone: u32,
    /// The hook's loops have ended since. No turn follows from it.
    pub past: bool,
}

impl Turn {
    /// That of a write that repeats nothing.
    pub fn first(at: SystemTime) -> Self {
        Self { same: 0, count: 0, began: at, undone: 0, past: false }
    }
}

impl Memory {
    pub fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            live: HashMap::new(),
            kept: HashMap::new(),
            writes: VecDeque::new(),
            first: 0,
            bytes: 0,
            makers: HashMap::new(),
            objects: HashMap::new(),
            forgotten: Forgotten::default(),
        }
    }

    pub fn began(&mut self, run: Run) {
        self.live.insert(run.id.clone(), Arc::new(run));
    }

    pub fn ended(&mut self, run: &RunId) {
        self.live.remove(run);
    }

    pub fn live(&self, run: &RunId) -> Option<&Arc<Run>> {
        self.live.get(run)
    }

    pub fn all_live(&self) -> impl Iterator<Item = &Arc<Run>> {
        self.live.values()
    }

    /// All writes, newest first.
    pub fn writes(&self) -> impl Iterator<Item = &Write> {
        self.writes.iter().rev().map(|entry| &entry.write)
    }

    pub fn forgotten(&self) -> Forgotten {
        self.forgotten
    }

    #[cfg(test)]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.writes.len()
    }

    pub fn add_reasons(&mut self, run: &RunId, reasons: Vec<Reason>) {
        // A run that has written keeps the reasons that it had then.
        let Some(run) = self.live.get_mut(run).and_then(Arc::get_mut) else { return };
        run.count += reasons.len();
        let room = REASONS.saturating_sub(run.reasons.len());
        run.reasons.extend(reasons.into_iter().take(room));
    }

    /// The write that made a version.
    pub fn maker(&self, version: &Version) -> Option<&Write> {
        self.turn_of(version).map(|(write, _)| write)
    }

    /// The write that made a version, and its turn.
    pub fn turn_of(&self, version: &Version) -> Option<(&Write, Turn)> {
        let entry = self.entry(*self.makers.get(version)?)?;
        Some((&entry.write, entry.turn))
    }

    /// The newest write.
    pub fn newest(&self) -> Option<&Write> {
        self.writes.back().map(|entry| &entry.write)
    }

    /// Notes which turn the newest write is.
    pub fn set_turn(&mut self, turn: Turn) {
        if let Some(entry) = self.writes.back_mut() {
            entry.turn = turn;
        }
    }

    /// No turn follows from what a hook has written so far.
    pub fn set_past(&mut self, hook: &HookName) {
        for entry in self.writes.iter_mut().filter(|entry| entry.write.run.hook == *hook) {
            entry.turn.past = true;
        }
    }

    fn entry(&self, number: u64) -> Option<&Entry> {
        let place = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.writes.get(place)
    }

    /// The writes to an object, newest first.
    pub fn writes_to(&self, object: &ObjectId) -> impl Iterator<Item = &Write> {
        self.turns_to(object).map(|(write, _)| write)
    }

    /// The same, with the turn of each.
    pub fn turns_to(&self, object: &ObjectId) -> impl Iterator<Item = (&Write, Turn)> {
        let numbers = self.objects.get(object).into_iter().flat_map(|numbers| numbers.iter().rev());
        numbers.filter_map(|number| self.entry(*number)).map(|entry| (&entry.write, entry.turn))
    }

    pub fn objects(&self) -> impl Iterator<Item = &Arc<ObjectId>> {
        self.objects.keys()
    }

    /// Returns whether the write is remembered now, as the newest one.
    pub fn wrote(&mut self, write: NewWrite<'_>) -> bool {
        let NewWrite { hook, run, at, object, verb, subresource, mut made, shared, manager: _ } = write;
        // The operator's own requests for hooks share IDs.
        let known = self.live.get(run).or_else(|| self.kept.get(run).map(|kept| &kept.run));
        let live = known.filter(|run| run.hook == *hook).cloned();
        // What the operator does for a hook outside of its runs.
        let nameless =
            || Run { id: run.clone(), hook: hook.clone(), began: at, reasons: Vec::new(), count: 0, span: None };
        let run = live.unwrap_or_else(|| Arc::new(nameless()));
        let versions = versions(&made);
        let caused = |version: &Version| {
            run.reasons.iter().any(|reason| reason.seen.as_ref().is_some_and(|seen| seen.version == *version))
        };
        // The deletion of an object is made by the first write that deletes it.
        if versions.iter().any(|version| self.makers.contains_key(version) || caused(version)) {
            return false;
        }
        if let (Made::Version { certain, .. }, true) = (&mut made, shared) {
            let is_old = |write: &&Write| at.duration_since(write.at).is_ok_and(|passed| passed > SAME_SECOND);
            let mut before = self.writes_to(&object).take_while(|write| !is_old(write));
            *certain = !before.any(|write| write.run.hook == *hook);
        }
        let number = self.first + self.writes.len() as u64;
        let object = match self.objects.get_key_value(&object) {
            Some((known, _)) => known.clone(),
            None => Arc::new(object),
        };
        for version in versions {
            self.makers.insert(version, number);
        }
        self.objects.entry(object.clone()).or_default().push_back(number);
        match self.kept.entry(run.id.clone()) {
            hash_map::Entry::Occupied(mut kept) => kept.get_mut().writes += 1,
            hash_map::Entry::Vacant(place) => {
                self.bytes += run_bytes(&run);
                place.insert(Kept { run: run.clone(), writes: 1 });
            }
        }
        let write = Write { run, at, object, verb, subresource: subresource.map(Box::from), made };
        self.bytes += write_bytes(&write);
        self.writes.push_back(Entry { write, turn: Turn::first(at) });
        while self.writes.len() > self.bounds.writes || self.bytes > self.bounds.bytes {
            if !self.forget() {
                break;
            }
        }
        !self.writes.is_empty()
    }

    /// Forgets the oldest write. Returns whether there was one.
    fn forget(&mut self) -> bool {
        let Some(Entry { write, .. }) = self.writes.pop_front() else { return false };
        let number = self.first;
        self.first += 1;
        self.bytes = self.bytes.saturating_sub(write_bytes(&write));
        for version in versions(&write.made) {
            if self.makers.get(&version) == Some(&number) {
                self.makers.remove(&version);
            }
        }
        if let Some(numbers) = self.objects.get_mut(&write.object) {
            numbers.pop_front();
            if numbers.is_empty() {
                self.objects.remove(&write.object);
            }
        }
        if let hash_map::Entry::Occupied(mut kept) = self.kept.entry(write.run.id.clone()) {
            kept.get_mut().writes -= 1;
            if kept.get().writes == 0 {
                self.bytes = self.bytes.saturating_sub(run_bytes(&kept.get().run));
                kept.remove();
            }
        }
        self.forgotten.writes += 1;
        self.forgotten.until = self.forgotten.until.max(Some(write.at));
        true
    }
}

fn versions(made: &Made) -> Vec<Version> {
    match made {
        Made::Version { version, .. } => vec![version.clone()],
        Made::Deletion { uid, marked } => {
            let marked = marked.as_ref().map(|marked| Version::new(uid, marked));
            marked.into_iter().chain([Version::deletion(uid)]).collect()
        }
        Made::Unknown => Vec::new(),
    }
}

fn write_bytes(write: &Write) -> usize {
    let made = match &write.made {
        Made::Version { version, fields, .. } => {
            let fields: usize = fields.iter().map(|field| field.len() + size_of::<Box<str>>()).sum();
            2 * (version.uid.len() + version.resource_version.len()) + fields
        }
        Made::Deletion { uid, marked } => 3 * uid.len() + 2 * marked.as_ref().map_or(0, |marked| marked.len()),
        Made::Unknown => 0,
    };
    WRITE + id_bytes(&write.object) + made + write.subresource.as_ref().map_or(0, |name| name.len())
}

fn id_bytes(object: &ObjectId) -> usize {
    let namespace = object.namespace.as_ref().map_or(0, |namespace| namespace.len());
    object.group.len() + object.kind.len() + object.name.len() + namespace
}

fn run_bytes(run: &Run) -> usize {
    // The names of bindings are shared.
    let version = |version: &Version| version.uid.len() + version.resource_version.len();
    let reason = |reason: &Reason| {
        let seen = reason.seen.as_ref();
        let managers = |seen: &Seen| seen.managers.as_ref().map_or(0, |managers| managers.len());
        let texts =
            |seen: &Seen| version(&seen.version) + size_of::<ObjectId>() + id_bytes(&seen.object) + managers(seen);
        REASON + seen.map_or(0, texts)
    };
    RUN + run.reasons.iter().map(reason).sum::<usize>()
}
