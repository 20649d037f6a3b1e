//! Hooks that cause each other's writes again and again.
//!
//! A *turn* is a write of a hook to the same fields of the same object as before, that the former write led to. A loop is
//! named after a few turns that made the same content again, because the others undid it each time, or after many turns
//! within a short time, whatever they made.
//!
//! Only exact causes count. A run that somebody else's change is a reason of is no turn: a hook that puts right what
//! somebody else changes, or that follows a rollout, is in no loop, however often it writes.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, SystemTime},
};

use super::{Made, ObjectId, Write, memory::Memory};
use crate::model::HookName;

/// The most hooks of a loop that is found, and one more.
const LINKS: usize = 6;
/// So many turns that make the same content again are a loop.
const SAME: u32 = 3;
/// So many turns within [`WITHIN`] are a loop.
const MANY: u32 = 30;
const WITHIN: Duration = Duration::from_secs(60);
/// A loop without a turn for this time is over. It is longer than a turn that is slowed.
const OVER: Duration = Duration::from_secs(15 * 60);
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

/// Hooks that cause each other's writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loop {
    /// In the order of their writes.
    pub links: Vec<Link>,
    /// Whether each turn makes the same content again. Otherwise, it is their number that is wrong.
    pub same: bool,
    /// Turns since it was named.
    pub turns: u32,
    pub since: SystemTime,
    pub last: SystemTime,
}

/// A write that is a turn of a loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turned {
    pub named: Loop,
    /// Whether it was named by this turn.
    pub new: bool,
}

/// What a write is in the row of turns that it belongs to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    /// Turns in a row that made the same content.
    same: u32,
    /// Turns since `began`.
    count: u32,
    began: SystemTime,
}

type Key = Vec<(HookName, Arc<ObjectId>)>;

#[derive(Debug, Default)]
pub(super) struct Loops(HashMap<Key, Loop>);

impl Loops {
    /// Those that are not over.
    pub fn all(&self, now: SystemTime) -> Vec<Loop> {
        let mut all: Vec<_> = self.0.values().filter(|named| !is_over(named, now)).cloned().collect();
        all.sort_by_key(|named| named.since);
        all
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How long an event of an object waits for a hook that is in a loop over it.
    pub fn delay(&self, hook: &HookName, object: &ObjectId, now: SystemTime) -> Option<Duration> {
        let about = |link: &Link| *link.object == *object;
        let of_hook = |named: &&Loop| named.links.iter().any(|link| link.hook == *hook);
        let slowed = self.0.values().filter(|named| !is_over(named, now) && named.links.iter().any(about));
        slowed.filter(of_hook).map(delay).max()
    }

    fn turned(&mut self, links: Vec<Link>, same: bool, is_loop: bool, now: SystemTime) -> Option<Turned> {
        let mut key: Key = links.iter().map(|link| (link.hook.clone(), link.object.clone())).collect();
        let first =
            (0..key.len()).min_by_key(|at| key.get(*at).map(|(hook, object)| (hook.clone(), object.to_string())));
        key.rotate_left(first.unwrap_or_default());
        if let Some(known) = self.0.get_mut(&key).filter(|known| !is_over(known, now)) {
            (known.turns, known.last) = (known.turns.saturating_add(1), now);
            return Some(Turned { named: known.clone(), new: false });
        }
        if !is_loop {
            return None;
        }
        self.0.retain(|_, known| !is_over(known, now));
        let named = Loop { links, same, turns: 0, since: now, last: now };
        if self.0.len() < NAMED {
            self.0.insert(key, named.clone());
        }
        Some(Turned { named, new: true })
    }
}

fn is_over(named: &Loop, now: SystemTime) -> bool {
    now.duration_since(named.last).is_ok_and(|quiet| quiet > OVER)
}

fn delay(named: &Loop) -> Duration {
    FIRST.saturating_mul(2_u32.saturating_pow(named.turns.min(10))).min(LONGEST)
}

/// Finds out whether the newest write is a turn, and of which loop. `memory` has the write, and not yet its turn.
pub(super) fn turn(memory: &Memory, write: &Write) -> (Turn, Option<(Vec<Link>, bool, bool)>) {
    let none = (Turn { same: 0, count: 0, began: write.at }, None);
    let mut path = vec![write];
    let mut at = write;
    while path.len() <= LINKS {
        let Some((before, turn)) = cause(memory, at) else { return none };
        if !is_again(before, write) {
            path.push(before);
            at = before;
            continue;
        }
        let same = content(before) == content(write);
        let is_late = write.at.duration_since(turn.began).is_ok_and(|time| time > WITHIN);
        let (count, began) = if is_late { (1, write.at) } else { (turn.count + 1, turn.began) };
        let turn = Turn { same: if same { turn.same + 1 } else { 0 }, count, began };
        path.reverse();
        let links = path.into_iter().map(link).collect();
        return (turn, Some((links, turn.same >= SAME, turn.same >= SAME || turn.count >= MANY)));
    }
    none
}

pub(super) fn note(loops: &mut Loops, found: Option<(Vec<Link>, bool, bool)>, now: SystemTime) -> Option<Turned> {
    let (links, same, is_loop) = found?;
    loops.turned(links, same, is_loop, now)
}

fn link(write: &Write) -> Link {
    let fields = match &write.made {
        Made::Version { fields, .. } => fields.clone(),
        Made::Deletion { .. } | Made::Unknown => Vec::new(),
    };
    Link { hook: write.run.hook.clone(), object: write.object.clone(), subresource: write.subresource.clone(), fields }
}

/// The write that alone led to another one.
fn cause<'m>(memory: &'m Memory, of: &Write) -> Option<(&'m Write, Turn)> {
    let certain = |(write, turn): (&'m Write, Turn)| {
        let certain = match write.made {
            Made::Version { certain, .. } => certain,
            Made::Deletion { .. } => true,
            Made::Unknown => false,
        };
        certain.then_some((write, turn))
    };
    let seen: Vec<_> = of.run.reasons.iter().filter_map(|reason| reason.seen.as_ref()).collect();
    // The hook acted on the newest state that it was shown.
    if let Some(newest) = seen.iter().rfind(|seen| seen.object == of.object) {
        return memory.turn_of(&newest.version).and_then(certain);
    }
    // A start, a schedule, or a question is a cause of its own.
    let is_own_cause = |what: &str| !matches!(what, "Added" | "Modified" | "Deleted" | "Again");
    if of.run.count > of.run.reasons.len() || of.run.reasons.iter().any(|reason| is_own_cause(reason.what)) {
        return None;
    }
    let makers: Option<Vec<_>> = seen.iter().map(|seen| memory.turn_of(&seen.version).and_then(certain)).collect();
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
