//! Hooks that cause each other's writes again and again, and hooks that undo what somebody else does again and again.
//!
//! A *turn* is a write of a hook to the same fields of the same object as before, that the former write led to. A loop is
//! named after a few turns that made the same content again, because the others undid it each time, or after many turns
//! within a short time, whatever they made.
//!
//! Only exact causes count. A run that somebody else's change is a reason of is no turn: a hook that follows a rollout, or
//! puts right what somebody else changes in many objects, is in no loop, however often it writes. If it makes the same
//! content of one object again and again, because somebody else changes that, it is in a *fight*, which names the field
//! managers of the others.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, SystemTime},
};

use super::{
    Made, ObjectId, Seen, Write,
    memory::{Memory, Turn},
};
use crate::model::HookName;

/// The most writes of a loop that is found.
const LINKS: usize = 6;
/// So many turns that make the same content again are a loop.
const SAME: u32 = 3;
/// So many turns within [`WITHIN`] are a loop of several writes.
const MANY: u32 = 15;
/// So many are a loop of a hook that follows itself. A rollout in steps is one for a while.
const MANY_ALONE: u32 = 30;
const WITHIN: Duration = Duration::from_secs(60);
/// A hook that undid somebody else's change so many times is in a fight.
const UNDONE: u32 = 4;
/// The longest time between two turns of a fight.
const PATIENCE: Duration = Duration::from_secs(15 * 60);
/// A loop without a turn for this time is over, unless its turns take longer. It is longer than a turn that is slowed.
const OVER: Duration = Duration::from_secs(5 * 60);
/// The most loops that are named at the same time.
const NAMED: usize = 256;
/// The first delay of an event of a loop. It doubles with each turn.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

/// One hook of a loop, and what it writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    pub hook: HookName,
    pub object: Arc<ObjectId>,
    pub subresource: Option<Box<str>>,
    /// Some of the fields of its field manager.
    pub fields: Vec<Box<str>>,
}

/// What is wrong with a loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoopKind {
    /// Each turn makes the same content again.
    Same,
    /// There are very many turns.
    Often,
    /// The hook and these field managers undo each other's changes.
    Fight(Arc<str>),
}

/// Hooks that cause each other's writes, or a hook in a fight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loop {
    /// In the order of their writes.
    pub links: Vec<Link>,
    pub kind: LoopKind,
    /// Turns since it was named.
    pub turns: u32,
    pub since: SystemTime,
    pub last: SystemTime,
    /// Between the last two turns.
    gap: Duration,
    /// Its hooks do not run, so that there are no turns.
    held: bool,
}

impl Loop {
    pub fn has(&self, hook: &HookName) -> bool {
        self.links.iter().any(|link| link.hook == *hook)
    }

    /// Whether its hooks are paused because of it.
    pub fn is_held(&self) -> bool {
        self.held
    }

    fn is_over(&self, now: SystemTime) -> bool {
        let over = OVER.max(self.gap.saturating_mul(3));
        !self.held && now.duration_since(self.last).is_ok_and(|quiet| quiet > over)
    }

    fn delay(&self) -> Duration {
        FIRST.saturating_mul(2_u32.saturating_pow(self.turns.min(10))).min(LONGEST)
    }

    /// Whether it is the same, apart from the objects.
    fn is_like(&self, other: &Self) -> bool {
        let hooks = |named: &Self| named.links.iter().map(|link| link.hook.clone()).collect::<Vec<_>>();
        self.kind == other.kind && hooks(self) == hooks(other)
    }
}

/// A write that is a turn of a loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turned {
    pub named: Loop,
    /// Whether it was named by this turn, and none like it is known.
    pub new: bool,
}

/// A turn that was found.
struct Found {
    turn: Turn,
    links: Vec<Link>,
    kind: LoopKind,
    is_loop: bool,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
    is_fight: bool,
    writes: Vec<(HookName, Arc<ObjectId>)>,
}

impl Key {
    /// The same for each write that a loop may begin with.
    fn of(links: &[Link], kind: &LoopKind) -> (Self, usize) {
        let mut writes: Vec<_> = links.iter().map(|link| (link.hook.clone(), link.object.clone())).collect();
        let first = (0..writes.len()).min_by(|a, b| writes.get(*a).cmp(&writes.get(*b))).unwrap_or_default();
        writes.rotate_left(first);
        (Self { is_fight: matches!(kind, LoopKind::Fight(_)), writes }, first)
    }
}

#[derive(Debug, Default)]
pub(super) struct Loops(HashMap<Key, Loop>);

impl Loops {
    /// Those that are not over, the oldest first.
    pub fn all(&self, now: SystemTime) -> Vec<Loop> {
        let mut all: Vec<_> = self.0.values().filter(|named| !named.is_over(now)).cloned().collect();
        all.sort_by_key(|named| named.since);
        all
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How long an event of an object waits for a hook that is in a loop over it.
    pub fn delay(&self, hook: &HookName, object: &ObjectId, now: SystemTime) -> Option<Duration> {
        let about = |link: &Link| *link.object == *object;
        let slowed = self.0.values().filter(|named| !named.is_over(now) && named.has(hook));
        slowed.filter(|named| named.links.iter().any(about)).map(Loop::delay).max()
    }

    /// Returns whether the loop is known.
    pub fn hold(&mut self, named: &Loop) -> bool {
        let (key, _) = Key::of(&named.links, &named.kind);
        let known = self.0.get_mut(&key);
        known.map(|known| known.held = true).is_some()
    }

    /// What the hook has written so far leads to no turn: events of those writes can be on their way to the other hooks.
    pub fn forget(&mut self, memory: &mut Memory, hook: &HookName) -> Vec<Loop> {
        memory.set_past(hook);
        self.0.extract_if(|_, named| named.has(hook)).map(|(_, named)| named).collect()
    }

    /// The memory has a new write of this field manager. Finds out whether it is a turn, and of which loop.
    pub fn wrote(&mut self, memory: &mut Memory, manager: &str) -> Option<Turned> {
        let write = memory.newest()?;
        let now = write.at;
        let found = again(memory, write).or_else(|| undone(memory, write, manager))?;
        memory.set_turn(found.turn);
        self.turned(found, now)
    }

    fn turned(&mut self, found: Found, now: SystemTime) -> Option<Turned> {
        let Found { mut links, kind, is_loop, .. } = found;
        let (key, first) = Key::of(&links, &kind);
        links.rotate_left(first);
        if let Some(known) = self.0.get_mut(&key).filter(|known| !known.is_over(now)) {
            known.gap = now.duration_since(known.last).unwrap_or_default();
            (known.turns, known.last) = (known.turns.saturating_add(1), now);
            return Some(Turned { named: known.clone(), new: false });
        }
        if !is_loop {
            return None;
        }
        self.0.retain(|_, known| !known.is_over(now));
        if self.0.len() >= NAMED {
            return None;
        }
        let named = Loop { links, kind, turns: 0, since: now, last: now, gap: Duration::ZERO, held: false };
        let new = !self.0.values().any(|known| known.is_like(&named));
        self.0.insert(key, named.clone());
        Some(Turned { named, new })
    }
}

/// The turn that a write is because the hook's own earlier write led to it.
fn again(memory: &Memory, write: &Write) -> Option<Found> {
    let mut path = vec![write];
    let mut at = write;
    while path.len() <= LINKS {
        let (before, turn) = cause(memory, at)?;
        if !is_again(before, write) {
            path.push(before);
            at = before;
            continue;
        }
        let same = if content(before) == content(write) { turn.same + 1 } else { 0 };
        let is_late = write.at.duration_since(turn.began).is_ok_and(|time| time > WITHIN);
        let (count, began) = if is_late { (1, write.at) } else { (turn.count + 1, turn.began) };
        let many = if path.len() == 1 { MANY_ALONE } else { MANY };
        path.reverse();
        return Some(Found {
            turn: Turn { same, count, began, undone: 0, past: false },
            links: path.into_iter().map(link).collect(),
            kind: if same >= SAME { LoopKind::Same } else { LoopKind::Often },
            is_loop: same >= SAME || count >= many,
        });
    }
    None
}

/// The turn that a write is because somebody else undid what the hook wrote.
fn undone(memory: &Memory, write: &Write, manager: &str) -> Option<Found> {
    let seen = newest(write).filter(|seen| memory.maker(&seen.version).is_none())?;
    let others: Vec<_> = seen.managers.as_deref()?.split(", ").filter(|other| *other != manager).collect();
    let made = |write: &Write| matches!(write.made, Made::Version { .. });
    let mut earlier = memory.turns_to(&write.object).skip(1).filter(|(earlier, _)| is_again(earlier, write));
    let (before, turn) = earlier.next()?;
    let is_late = write.at.duration_since(before.at).is_ok_and(|time| time > PATIENCE);
    let is_same = made(before) && content(before) == content(write);
    if others.is_empty() || is_late || !is_same || turn.past || before.run.id == write.run.id {
        return None;
    }
    let undone = turn.undone + 1;
    Some(Found {
        turn: Turn { undone, ..Turn::first(write.at) },
        links: vec![link(write)],
        kind: LoopKind::Fight(others.join(", ").into()),
        is_loop: undone >= UNDONE,
    })
}

fn link(write: &Write) -> Link {
    let fields = match &write.made {
        Made::Version { fields, .. } => fields.clone(),
        Made::Deletion { .. } | Made::Unknown => Vec::new(),
    };
    Link { hook: write.run.hook.clone(), object: write.object.clone(), subresource: write.subresource.clone(), fields }
}

/// What the run of a write saw last of its object. The hook acted on the newest state that it was shown.
fn newest(write: &Write) -> Option<&Seen> {
    let seen = write.run.reasons.iter().filter_map(|reason| reason.seen.as_ref());
    seen.rev().find(|seen| seen.object == write.object)
}

/// The write that alone led to another one.
fn cause<'m>(memory: &'m Memory, of: &Write) -> Option<(&'m Write, Turn)> {
    let certain = |(write, turn): (&'m Write, Turn)| {
        let certain = match write.made {
            Made::Version { certain, .. } => certain,
            Made::Deletion { .. } => true,
            Made::Unknown => false,
        };
        (certain && !turn.past).then_some((write, turn))
    };
    if let Some(newest) = newest(of) {
        return memory.turn_of(&newest.version).and_then(certain);
    }
    // A start, a schedule, or a question is a cause of its own.
    let run = &of.run;
    if run.count > run.reasons.len() || run.reasons.iter().any(|reason| reason.seen.is_none() && reason.what != "Again")
    {
        return None;
    }
    let seen = run.reasons.iter().filter_map(|reason| reason.seen.as_ref());
    let makers: Option<Vec<_>> = seen.map(|seen| memory.turn_of(&seen.version).and_then(certain)).collect();
    makers?.into_iter().max_by_key(|(write, _)| write.at)
}

/// Whether a write does what an earlier one did.
fn is_again(earlier: &Write, write: &Write) -> bool {
    let deletes = |write: &Write| matches!(write.made, Made::Deletion { .. });
    let same = earlier.run.hook == write.run.hook
        && earlier.object == write.object
        && earlier.subresource == write.subresource
        && deletes(earlier) == deletes(write);
    same && match (&earlier.made, &write.made) {
        (Made::Version { fields: before, .. }, Made::Version { fields: now, .. }) => {
            before.is_empty() || now.is_empty() || now.iter().any(|field| before.contains(field))
        }
        _ => true,
    }
}

fn content(write: &Write) -> Option<u64> {
    match write.made {
        Made::Version { content, .. } => Some(content),
        Made::Deletion { .. } | Made::Unknown => None,
    }
}
