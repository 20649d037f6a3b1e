//! What a binding keeps in memory: itself, its watches, the objects of its snapshot, and those that wait for their
//! filter. All bindings together have a part of the operator's memory, and tenants have fair shares of it.
//!
//! Nothing that is kept is taken away. An object that has no room is not kept: the snapshot is incomplete until a later
//! list has the object.

use std::time::Duration;

use tokio::time::Instant;

use crate::{fair::Share, memory::UNIT, model::Object};

/// Units that are requested at a time, and kept when less is needed.
const STEP: u64 = 4;
/// The time between two checks whether there is room again.
const LOOK: Duration = Duration::from_secs(5);
/// The longest time between two lists for what had no room.
const LONGEST: Duration = Duration::from_secs(300);

/// The room of one binding.
#[derive(Debug, Default)]
pub struct Room {
    share: Option<Share>,
    /// Units for the binding itself and its watches.
    base: u64,
    /// What had no room: the bytes of the smallest object, and when to check again.
    missing: Option<(usize, Instant)>,
    pause: Duration,
}

impl Room {
    /// Room without a bound.
    #[must_use]
    pub fn unbounded() -> Self {
        Self::default()
    }

    /// Starts with what the binding itself takes, and grows with its objects.
    #[must_use]
    pub fn of(share: Share) -> Self {
        Self { base: share.units(), share: Some(share), ..Self::default() }
    }

    /// Keeps the text of an object. Others may keep it as well: the first one pays.
    pub(super) fn keep(&self, object: &Object) -> bool {
        let units = (object.json.len() as u64).div_ceil(UNIT);
        self.share.as_ref().is_none_or(|share| object.charge.take(share, units))
    }

    /// Holds this many bytes in all, in addition to those texts, if there is room.
    pub(super) fn hold(&mut self, bytes: usize) -> bool {
        let Some(share) = &mut self.share else { return true };
        let units = self.base + (bytes as u64).div_ceil(UNIT);
        let more = units.saturating_sub(share.units());
        if more > 0 {
            return share.grow(more.next_multiple_of(STEP)) || share.grow(more);
        }
        if share.units() > units + 2 * STEP {
            share.shrink(share.units() - units - STEP);
        }
        true
    }

    /// There was no room for this many bytes. Returns the reason and the remedy.
    pub(super) fn lacks(&mut self, bytes: usize) -> String {
        let pause = self.pause.max(LOOK);
        let smallest = self.missing.map_or(bytes, |(smallest, _)| smallest.min(bytes));
        let at = self.missing.map_or_else(|| Instant::now() + pause, |(_, at)| at);
        self.missing = Some((smallest, at));
        let (tenant, most) = self.share.as_ref().map(|share| (share.tenant().to_string(), share.most())).unzip();
        format!(
            "it needs {bytes} bytes, and the bindings of {} have used up their share, at most {} KiB: keep less with a \
             jqFilter or content, or give the operator more memory (--memory-limit)",
            tenant.unwrap_or_default(),
            most.unwrap_or_default()
        )
    }

    /// When to check whether there is room again.
    pub(super) fn due(&self) -> Option<Instant> {
        self.missing.map(|(_, at)| at)
    }

    /// Whether there is room for the smallest object that was missing, in addition to what is held. If so, a list is
    /// due. The room is not reserved until that list comes.
    pub(super) fn is_back(&mut self, held: usize) -> bool {
        let Some((smallest, _)) = self.missing else { return false };
        if self.hold(held.saturating_add(smallest)) {
            self.missing = None;
            self.pause = (self.pause * 2).clamp(LOOK, LONGEST);
            return true;
        }
        self.missing = Some((smallest, Instant::now() + LOOK));
        false
    }

    /// Nothing is missing any more.
    pub(super) fn is_enough(&mut self) {
        (self.missing, self.pause) = (None, Duration::ZERO);
    }
}
