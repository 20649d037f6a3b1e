//! The memory that runs have: one number of bytes for all of them, which tenants share.
//!
//! A run waits until there is as much memory as its hook's runs used lately, and takes more as it grows. If there is no
//! more, the run ends and is tried again. It does not wait in the middle, because each run would then hold what the
//! others wait for, forever. The amount that it had reached is remembered, so that the next try waits before it begins.
//!
//! The guest's memories and tables are counted, and what host calls copy. What one call copies before it is checked is
//! not counted: at most [`memory::CALL`](boathook_core::memory::CALL) bytes, in each thread of the runtime.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use boathook_core::{
    fair::{Pool, Share, Tenant, TooLarge},
    memory,
    model::{Charge, Limit},
};

use super::error::Reached;

const KIB: u64 = 1024;

/// A run's own data: its stack, and what the host keeps of its instances.
const BASE: u64 = (memory::STACK + memory::INSTANCE_BYTES) as u64;
/// The bytes that are taken at once, so that a guest that grows page by page does not request each page.
const CHUNK: u64 = 512 * KIB;

/// There is no more memory at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the memory that all runs share is used up, and this run has {has} MiB of it; it is retried when there is more: \
     give the operator more memory (--memory-limit), or have hooks use less"
)]
pub(super) struct Crowded {
    has: u64,
}

/// Why a run gets no more memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// Other runs have it.
    Crowded(Crowded),
    /// No tenant may have that much.
    TooMuch,
}

impl Refused {
    /// The error that ends the run. `limit` is the limit that was reached if no tenant may have that much.
    pub(super) fn error(self, limit: Limit) -> wasmtime::Error {
        match self {
            Self::Crowded(crowded) => crowded.into(),
            Self::TooMuch => Reached(limit).into(),
        }
    }
}

/// The memory of all runs.
#[derive(Clone)]
pub(super) struct Rooms {
    pool: Pool,
    most: u64,
}

impl Rooms {
    pub(super) fn new(bytes: u64) -> Self {
        let pool = Pool::new(bytes);
        let most = pool.most();
        Self { pool, most }
    }

    /// The most memory of a guest. The rest of a tenant's share is for host calls.
    pub(super) fn most_memory(&self) -> u64 {
        self.most - self.most / 8
    }

    /// Takes memory for a run that begins. Waits until there is as much as its hook's runs used lately.
    pub(super) async fn begin(&self, tenant: &Tenant, usual: &Usual) -> Result<Room, TooLarge> {
        self.take(tenant, usual.0.load(Ordering::Relaxed)).await
    }

    /// Takes memory for a call at load. Such a call is not tried again, so this waits for everything that it may use.
    pub(super) async fn whole(&self, tenant: &Tenant, memory: u64) -> Result<Room, TooLarge> {
        self.take(tenant, memory).await
    }

    async fn take(&self, tenant: &Tenant, bytes: u64) -> Result<Room, TooLarge> {
        let bytes = bytes.saturating_add(BASE).min(self.most);
        let share = match self.pool.try_take(tenant, bytes) {
            Some(share) => share,
            None => self.pool.take(tenant, bytes).await?,
        };
        let held = Held { share, most: self.most, guest: 0, call: 0, kept: 0, peak: 0 };
        Ok(Room(Arc::new(Mutex::new(held))))
    }
}

/// How much memory the runs of a hook used lately.
#[derive(Debug, Default)]
pub(super) struct Usual(AtomicU64);

impl Usual {
    /// Notes that a run has ended. If it needed more, the next run waits for that much. If it needed less, the amount
    /// shrinks little by little.
    pub(super) fn ended(&self, room: &Room) {
        let (peak, usual) = (room.held().peak, self.0.load(Ordering::Relaxed));
        let next = if peak >= usual { peak } else { usual - (usual - peak) / 8 };
        self.0.store(next, Ordering::Relaxed);
    }
}

/// The memory of one run. Dropping it gives the memory back.
#[derive(Debug, Clone)]
pub(super) struct Room(Arc<Mutex<Held>>);

#[derive(Debug)]
struct Held {
    share: Share,
    most: u64,
    /// The bytes of the guest's memories and tables.
    guest: u64,
    /// The bytes that the host call under way has copied, or the last one.
    call: u64,
    /// The bytes that the host keeps until the run ends.
    kept: u64,
    /// The most bytes that were needed, without [`BASE`].
    peak: u64,
}

impl Held {
    /// Takes the memory that is missing.
    fn fit(&mut self) -> Result<(), Refused> {
        let wanted = self.guest.saturating_add(self.call).saturating_add(self.kept);
        self.peak = self.peak.max(wanted);
        let needs = wanted.saturating_add(BASE);
        let Some(lacks) = needs.checked_sub(self.share.units()).filter(|lacks| *lacks > 0) else { return Ok(()) };
        if needs > self.most {
            return Err(Refused::TooMuch);
        }
        if self.share.grow(lacks.max(CHUNK)) || self.share.grow(lacks) {
            return Ok(());
        }
        Err(Refused::Crowded(Crowded { has: self.share.units() / (KIB * KIB) }))
    }

    /// Gives back the memory of a large call.
    fn ease(&mut self) {
        let needs = BASE + self.guest + self.call + self.kept + CHUNK;
        let spare = self.share.units().saturating_sub(needs);
        if spare > CHUNK {
            self.share.shrink(spare);
        }
    }
}

impl Room {
    #[cfg(test)]
    pub(super) fn unbounded() -> Self {
        let share = Pool::new(u64::MAX).try_take(&Tenant::hook("h"), BASE);
        let share = share.unwrap_or_else(|| unreachable!("nobody uses any"));
        Self(Arc::new(Mutex::new(Held { share, most: u64::MAX, guest: 0, call: 0, kept: 0, peak: 0 })))
    }

    #[cfg(test)]
    pub(super) fn kept(&self) -> u64 {
        self.held().kept
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes memory for growth of the guest's memories and tables.
    pub(super) fn grow(&self, bytes: u64) -> Result<(), Refused> {
        let mut held = self.held();
        held.guest = held.guest.saturating_add(bytes);
        let fits = held.fit();
        if fits.is_err() {
            held.guest = held.guest.saturating_sub(bytes);
        }
        fits
    }

    /// Notes that growth which was allowed did not happen.
    pub(super) fn ungrow(&self, bytes: u64) {
        let mut held = self.held();
        held.guest = held.guest.saturating_sub(bytes);
    }

    /// Notes that a host call begins. What the last one had copied is gone.
    pub(super) fn begin_call(&self, bytes: usize) -> Result<(), Refused> {
        let mut held = self.held();
        let large = held.call > CHUNK;
        held.call = bytes as u64;
        if large {
            held.ease();
        }
        held.fit()
    }

    /// Notes that the host call under way copies more.
    pub(super) fn copy(&self, bytes: usize) -> Result<(), Refused> {
        let mut held = self.held();
        held.call = held.call.saturating_add(bytes as u64);
        held.fit()
    }

    /// Notes that the host keeps this many bytes until the run ends.
    pub(super) fn keep(&self, bytes: usize) -> Result<(), Refused> {
        let mut held = self.held();
        held.kept = held.kept.saturating_add(bytes as u64);
        held.fit()
    }
}

/// Memory that the host keeps for a while. Dropping the last clone gives it back.
#[derive(Debug, Clone)]
pub(super) struct Kept(Arc<KeptBytes>);

#[derive(Debug)]
struct KeptBytes {
    room: Room,
    bytes: AtomicU64,
}

impl Kept {
    pub(super) fn nothing(room: Room) -> Self {
        Self(Arc::new(KeptBytes { room, bytes: AtomicU64::new(0) }))
    }

    /// Notes that this many bytes more are kept.
    pub(super) fn grow(&self, bytes: usize) -> Result<(), Refused> {
        self.0.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.0.room.keep(bytes)
    }
}

impl Drop for KeptBytes {
    fn drop(&mut self) {
        let mut held = self.room.held();
        held.kept = held.kept.saturating_sub(*self.bytes.get_mut());
    }
}

impl Charge for Kept {
    fn charge(&self, bytes: usize) -> bool {
        self.grow(bytes).is_ok()
    }
}

impl Charge for Room {
    fn charge(&self, bytes: usize) -> bool {
        self.copy(bytes).is_ok()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use futures::FutureExt as _;

    use super::*;

    const MIB: u64 = 1024 * KIB;

    fn tenants() -> (Tenant, Tenant) {
        (Tenant::namespace("team-a"), Tenant::namespace("team-b"))
    }

    fn begun(rooms: &Rooms, tenant: &Tenant, usual: &Usual) -> Option<Room> {
        rooms.begin(tenant, usual).now_or_never().map(Result::unwrap)
    }

    // mutant: crates/sandbox/src/room.rs: `self.share.grow(lacks.max(CHUNK)) || self.share.grow(lacks)` => `true`
    #[test]
    fn runs_that_grow_never_have_more_than_there_is_and_leave_some_for_others() {
        let (a, b) = tenants();
        let rooms = Rooms::new(64 * MIB);
        let greedy: Vec<_> = (0..8).map(|_| begun(&rooms, &a, &Usual::default()).unwrap()).collect();
        let grown =
            greedy.iter().map(|room| (0..64).take_while(|_| room.grow(MIB).is_ok()).count() as u64).sum::<u64>();
        assert!((40..=48).contains(&grown), "{grown}");
        let other = begun(&rooms, &b, &Usual::default()).unwrap();
        assert_eq!(other.grow(8 * MIB), Ok(()));
        assert!(matches!(greedy[7].grow(8 * MIB), Err(Refused::Crowded(_))));
        drop((greedy, other));
        assert_eq!(rooms.pool.free(), 64 * MIB);
    }

    #[test]
    fn what_nobody_can_have_is_no_matter_of_waiting() {
        let rooms = Rooms::new(64 * MIB);
        let room = begun(&rooms, &tenants().0, &Usual::default()).unwrap();
        assert_eq!(room.grow(48 * MIB), Err(Refused::TooMuch));
        assert_eq!(room.grow(rooms.most_memory()), Ok(()));
        room.ungrow(rooms.most_memory());
        assert_eq!(room.copy(47 * MIB as usize), Ok(()));
    }

    // mutant: crates/sandbox/src/room.rs: `self.take(tenant, usual.0.load(Ordering::Relaxed)).await` => `self.take(tenant, 0).await`
    #[test]
    fn a_run_waits_for_what_its_hooks_runs_used_lately() {
        let (a, _) = tenants();
        let (rooms, usual) = (Rooms::new(64 * MIB), Usual::default());
        let first = begun(&rooms, &a, &usual).unwrap();
        first.grow(30 * MIB).unwrap();
        usual.ended(&first);
        let mut second = rooms.begin(&a, &usual).boxed();
        assert!((&mut second).now_or_never().is_none(), "30 of a tenant's 48 MiB are in use");
        drop(first);
        let second = second.now_or_never().unwrap().unwrap();
        assert_eq!(second.grow(30 * MIB), Ok(()));
        // A run that needs little reduces the amount that the next one waits for, little by little.
        for _ in 0..20 {
            usual.ended(&Room(Arc::new(Mutex::new(Held { peak: 0, ..empty(&rooms, &a) }))));
        }
        assert!(usual.0.load(Ordering::Relaxed) < 3 * MIB);
    }

    fn empty(rooms: &Rooms, tenant: &Tenant) -> Held {
        let share = rooms.pool.try_take(tenant, 0).unwrap();
        Held { share, most: rooms.most, guest: 0, call: 0, kept: 0, peak: 0 }
    }

    // mutant: crates/sandbox/src/room.rs: `self.share.shrink(spare);` => ``
    #[test]
    fn what_a_large_call_had_goes_back_with_the_next_one() {
        let (a, b) = tenants();
        let rooms = Rooms::new(64 * MIB);
        let room = begun(&rooms, &a, &Usual::default()).unwrap();
        room.begin_call(0).unwrap();
        assert!(room.charge(40 * MIB as usize));
        let other = begun(&rooms, &b, &Usual::default()).unwrap();
        assert!(matches!(other.grow(30 * MIB), Err(Refused::Crowded(_))));
        room.begin_call(10).unwrap();
        assert_eq!(other.grow(30 * MIB), Ok(()));
        room.keep(10 * MIB as usize).unwrap();
        room.begin_call(0).unwrap();
        assert!(room.held().share.units() >= 10 * MIB);
    }
}
