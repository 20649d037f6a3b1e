//! Fair shares of limited resources of the process: run slots, compiles, pulls, disk, memory, turns at the CPU.
//!
//! The rule is that of dynamic thresholds, which switches use for their shared buffers: a tenant may take more only
//! while its use stays within [`SHARE`] times what is then still free. One tenant alone gets three quarters, two get
//! three sevenths each, and something is always free for a tenant that has nothing yet. We rejected fixed quotas,
//! because they waste what others do not use, and because they need the number of tenants. While a tenant waits, no
//! other tenant may take units that would give it more than the waiting tenant would have.

mod pace;

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Instant,
};

use tokio::sync::oneshot;

pub use pace::threads;

/// A tenant's use stays within this many times what is free.
pub const SHARE: u64 = 3;

/// A tenant: a namespace of HookBundles, or one of the admin's own hooks.
///
/// The default is the name of no tenant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Tenant(Arc<str>);

impl Tenant {
    /// All HookBundles of a namespace together.
    #[must_use]
    pub fn namespace(name: &str) -> Self {
        Self(name.into())
    }

    /// A hook that the admin loads, from a directory or a list of bundles. Its name has a slash, which no namespace
    /// has.
    #[must_use]
    pub fn hook(name: &str) -> Self {
        Self(format!("hook/{name}").into())
    }
}

impl fmt::Display for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether a tenant that uses `used` units may take `more` while `free` units are unused.
#[must_use]
pub fn may_take(used: u64, more: u64, free: u64) -> bool {
    let Some(left) = free.checked_sub(more) else { return false };
    used.saturating_add(more) <= left.saturating_mul(SHARE) || (used == 0 && more == 1)
}

/// A number of units that tenants share.
#[derive(Debug, Clone)]
pub struct Pool {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    capacity: u64,
    free: u64,
    /// One tenant alone may have all units.
    whole: bool,
    used: BTreeMap<Tenant, u64>,
    /// The tenants that wait, each with its waiters in order. The tenant in front is tried first.
    waiting: VecDeque<(Tenant, VecDeque<Waiter>)>,
    /// Immediate polls have used their part of the time up to here (see `pace`).
    at_once: Option<Instant>,
}

#[derive(Debug)]
struct Waiter {
    units: u64,
    answer: oneshot::Sender<Share>,
}

/// The request is larger than what one tenant can ever get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{units} is more than one tenant's share of {share}")]
pub struct TooLarge {
    /// The units that were requested.
    pub units: u64,
    /// The most that one tenant gets while no other uses anything.
    pub share: u64,
}

impl Pool {
    /// Creates a pool of at least one unit.
    #[must_use]
    pub fn new(capacity: u64) -> Self {
        Self::with(capacity, false)
    }

    /// Turns of tasks for [`Self::paced`]: as many as the runtime has threads. A tenant may have all of them while no
    /// other tenant waits, because each turn is over in a moment.
    #[must_use]
    pub fn of_threads() -> Self {
        Self::with(threads(), true)
    }

    fn with(capacity: u64, whole: bool) -> Self {
        let capacity = capacity.max(1);
        let (used, waiting) = (BTreeMap::new(), VecDeque::new());
        let state = State { capacity, free: capacity, whole, used, waiting, at_once: None };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// All units, used and free.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.lock().capacity
    }

    /// The most that one tenant gets while no other uses anything.
    #[must_use]
    pub fn most(&self) -> u64 {
        self.lock().most()
    }

    #[must_use]
    pub fn free(&self) -> u64 {
        self.lock().free
    }

    #[must_use]
    pub fn used(&self, tenant: &Tenant) -> u64 {
        self.lock().used(tenant)
    }

    /// Takes units if the tenant may have them now and none of its earlier requests waits.
    #[must_use]
    pub fn try_take(&self, tenant: &Tenant, units: u64) -> Option<Share> {
        let mut state = self.lock();
        if state.waiting.iter().any(|(waits, _)| waits == tenant) || !state.may(tenant, units) {
            return None;
        }
        state.take(tenant, units);
        drop(state);
        Some(self.share(tenant, units))
    }

    /// Takes units as soon as the tenant may have them. Tenants that wait take turns. Within a tenant, the first
    /// request comes first. A future that is dropped has taken nothing.
    ///
    /// # Errors
    ///
    /// The tenant could not have this many units even if no other used any.
    pub async fn take(&self, tenant: &Tenant, units: u64) -> Result<Share, TooLarge> {
        // Declared first, so that it is dropped after the receiver.
        let _others = Others(self);
        let waits = {
            let mut state = self.lock();
            if units > state.most() {
                return Err(TooLarge { units, share: state.most() });
            }
            let (answer, waits) = oneshot::channel();
            state.wait(tenant, Waiter { units, answer });
            waits
        };
        self.serve();
        // The sender is in the pool, which this call borrows, until it is used. This error therefore does not occur.
        waits.await.map_err(|_| TooLarge { units, share: self.most() })
    }

    /// A share of no units, which can grow.
    pub fn nothing(&self, tenant: &Tenant) -> Share {
        self.share(tenant, 0)
    }

    fn share(&self, tenant: &Tenant, units: u64) -> Share {
        Share { pool: self.clone(), tenant: tenant.clone(), units }
    }

    /// Hands out the units that can be handed out. An answer is sent outside of the lock, because a waiter that is gone
    /// gives its share back at once.
    fn serve(&self) {
        loop {
            let next = self.lock().next();
            let Some((tenant, waiter)) = next else { return };
            drop(waiter.answer.send(self.share(&tenant, waiter.units)));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The most that one tenant can use while no other uses anything.
fn share_of(capacity: u64) -> u64 {
    (capacity / (SHARE + 1) * SHARE + capacity % (SHARE + 1) * SHARE / (SHARE + 1)).max(1)
}

/// Serves the tenants that wait, when it is dropped: a waiter that is gone may have kept others waiting.
struct Others<'a>(&'a Pool);

impl Drop for Others<'_> {
    fn drop(&mut self) {
        self.0.serve();
    }
}

impl State {
    fn used(&self, tenant: &Tenant) -> u64 {
        self.used.get(tenant).copied().unwrap_or_default()
    }

    fn most(&self) -> u64 {
        if self.whole { self.capacity } else { share_of(self.capacity) }
    }

    /// Whether a tenant may take units now. It may not if it would then have more than a waiting tenant would have.
    /// Otherwise, small requests could keep a large one waiting forever.
    fn may(&self, tenant: &Tenant, units: u64) -> bool {
        let used = self.used(tenant);
        let behind = |(waits, line): &(Tenant, VecDeque<Waiter>)| {
            let first = line.iter().find(|waiter| !waiter.answer.is_closed());
            waits != tenant
                && first
                    .is_some_and(|waiter| self.used(waits).saturating_add(waiter.units) < used.saturating_add(units))
        };
        let fits = if self.whole { units <= self.free } else { may_take(used, units, self.free) };
        fits && !self.waiting.iter().any(behind)
    }

    fn take(&mut self, tenant: &Tenant, units: u64) {
        self.free -= units;
        *self.used.entry(tenant.clone()).or_default() += units;
    }

    fn give_back(&mut self, tenant: &Tenant, units: u64) {
        self.free = self.free.saturating_add(units).min(self.capacity);
        if let Some(used) = self.used.get_mut(tenant) {
            *used = used.saturating_sub(units);
            if *used == 0 {
                self.used.remove(tenant);
            }
        }
    }

    fn wait(&mut self, tenant: &Tenant, waiter: Waiter) {
        match self.waiting.iter_mut().find(|(waits, _)| waits == tenant) {
            Some((_, line)) => line.push_back(waiter),
            None => self.waiting.push_back((tenant.clone(), VecDeque::from([waiter]))),
        }
    }

    /// Takes the units for the first waiter of the first tenant that may have them. That tenant goes to the end.
    fn next(&mut self) -> Option<(Tenant, Waiter)> {
        self.waiting.retain_mut(|(_, line)| {
            while line.front().is_some_and(|waiter| waiter.answer.is_closed()) {
                line.pop_front();
            }
            !line.is_empty()
        });
        let turn = self
            .waiting
            .iter()
            .position(|(tenant, line)| line.front().is_some_and(|waiter| self.may(tenant, waiter.units)))?;
        let (tenant, mut line) = self.waiting.remove(turn)?;
        let waiter = line.pop_front()?;
        self.take(&tenant, waiter.units);
        if !line.is_empty() {
            self.waiting.push_back((tenant.clone(), line));
        }
        Some((tenant, waiter))
    }
}

/// Units in use. Dropping the share gives them back.
#[derive(Debug)]
#[must_use = "the units go back when this is dropped"]
pub struct Share {
    pool: Pool,
    tenant: Tenant,
    units: u64,
}

impl Share {
    #[must_use]
    pub fn units(&self) -> u64 {
        self.units
    }

    #[must_use]
    pub fn tenant(&self) -> &Tenant {
        &self.tenant
    }

    /// The most that one tenant gets.
    #[must_use]
    pub fn most(&self) -> u64 {
        self.pool.most()
    }

    /// Takes more units, if the tenant may have them now.
    #[must_use]
    pub fn grow(&mut self, more: u64) -> bool {
        let mut state = self.pool.lock();
        // A tenant that has begun may continue, so only what is free counts, and not who waits.
        let may = may_take(state.used(&self.tenant), more, state.free);
        if may {
            state.take(&self.tenant, more);
            self.units += more;
        }
        may
    }

    /// Another share of the same tenant, if the tenant may have it now.
    #[must_use]
    pub fn another(&self, units: u64) -> Option<Self> {
        let mut another = self.pool.share(&self.tenant, 0);
        another.grow(units).then_some(another)
    }

    /// Gives some of the units back.
    pub fn shrink(&mut self, less: u64) {
        let less = less.min(self.units);
        if less == 0 {
            return;
        }
        self.units -= less;
        let waits = {
            let mut state = self.pool.lock();
            state.give_back(&self.tenant, less);
            !state.waiting.is_empty()
        };
        if waits {
            self.pool.serve();
        }
    }
}

/// Units of something that several holders share. The first holder takes the units, and the last one gives them back.
#[derive(Debug, Clone, Default)]
pub struct Charge(Arc<OnceLock<Share>>);

impl Charge {
    /// Takes units for the tenant of `beside`, unless another holder has taken them. Returns whether they are taken.
    #[must_use]
    pub fn take(&self, beside: &Share, units: u64) -> bool {
        if self.0.get().is_some() {
            return true;
        }
        let Some(share) = beside.another(units) else { return false };
        // If another holder was faster, this share goes back.
        let _ = self.0.set(share);
        true
    }
}

/// All charges are equal, because a charge says nothing about what it is for.
impl PartialEq for Charge {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Charge {}

impl Drop for Share {
    fn drop(&mut self) {
        self.shrink(self.units);
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt as _, future::BoxFuture};
    use proptest::prelude::*;

    use super::*;

    fn tenants() -> (Tenant, Tenant) {
        (Tenant::namespace("team-a"), Tenant::namespace("team-b"))
    }

    /// As many shares of one unit as the tenant can get.
    fn all(pool: &Pool, tenant: &Tenant) -> Vec<Share> {
        std::iter::from_fn(|| pool.try_take(tenant, 1)).collect()
    }

    #[test]
    fn one_tenant_leaves_a_quarter_and_the_next_a_seventh() {
        let (a, b) = tenants();
        let pool = Pool::new(64);
        let of_a = all(&pool, &a);
        assert_eq!(of_a.len(), 48);
        let of_b = all(&pool, &b);
        assert_eq!(of_b.len(), 12);
        assert_eq!(all(&pool, &Tenant::hook("c")).len(), 3);
        drop(of_a);
        assert_eq!(pool.used(&a), 0);
        assert_eq!(all(&pool, &b).len(), 36, "what a tenant gives back, others may use");
    }

    #[test]
    fn a_pool_of_one_unit_serves_one_at_a_time() {
        let (a, b) = tenants();
        let pool = Pool::new(0);
        let share = pool.try_take(&a, 1).unwrap();
        assert!(pool.try_take(&b, 1).is_none());
        drop(share);
        assert!(pool.try_take(&b, 1).is_some());
    }

    #[test]
    fn a_share_grows_within_the_rule_and_shrinks() {
        let (a, _) = tenants();
        let pool = Pool::new(100);
        let mut share = pool.try_take(&a, 70).unwrap();
        assert!(!share.grow(6));
        assert!(share.grow(5));
        share.shrink(25);
        assert_eq!((share.units(), pool.free()), (50, 50));
    }

    #[test]
    fn what_several_hold_is_charged_once_until_the_last_one_goes() {
        let (a, b) = tenants();
        let pool = Pool::new(100);
        let (of_a, of_b) = (pool.try_take(&a, 1).unwrap(), pool.try_take(&b, 1).unwrap());
        let first = Charge::default();
        assert!(first.take(&of_a, 60) && first.clone().take(&of_b, 60));
        assert_eq!((pool.used(&a), pool.used(&b)), (61, 1));
        assert!(!Charge::default().take(&of_b, 60), "there is no room for another");
        let last = first.clone();
        drop((first, of_a));
        assert_eq!(pool.used(&a), 60);
        drop(last);
        assert_eq!((pool.used(&a), pool.free()), (0, 99));
    }

    #[tokio::test]
    async fn more_than_a_share_is_refused_at_once() {
        let (a, _) = tenants();
        let pool = Pool::new(100);
        assert_eq!(pool.take(&a, 76).await.unwrap_err(), TooLarge { units: 76, share: 75 });
        assert_eq!(pool.take(&a, 75).await.unwrap().units(), 75);
    }

    #[tokio::test]
    async fn tenants_that_wait_take_turns() {
        let (a, b) = tenants();
        let pool = Pool::new(1);
        let held = pool.take(&a, 1).await.unwrap();
        let mut waiting: Vec<(&str, BoxFuture<'_, _>)> = Vec::new();
        for (name, tenant) in [("a1", &a), ("a2", &a), ("a3", &a), ("b1", &b)] {
            let mut wait = pool.take(tenant, 1).boxed();
            assert!((&mut wait).now_or_never().is_none());
            waiting.push((name, wait));
        }
        let mut order = Vec::new();
        drop(held);
        while !waiting.is_empty() {
            let ready = waiting.iter_mut().enumerate().find_map(|(at, (_, wait))| Some((at, wait.now_or_never()?)));
            let (at, share) = ready.unwrap();
            order.push(waiting.remove(at).0);
            drop(share.unwrap());
        }
        assert_eq!(order, ["a1", "b1", "a2", "a3"]);
    }

    #[tokio::test]
    async fn a_tenant_has_all_turns_until_another_wants_one() {
        let (a, b) = tenants();
        let pool = Pool::with(2, true);
        let mut held = all(&pool, &a);
        assert_eq!((held.len(), pool.most()), (2, 2));
        let mut third = pool.take(&a, 1).boxed();
        assert!((&mut third).now_or_never().is_none());
        let mut other = pool.take(&b, 1).boxed();
        assert!((&mut other).now_or_never().is_none());
        held.pop();
        let other = other.now_or_never().unwrap().unwrap();
        assert!((&mut third).now_or_never().is_none(), "who has less comes first");
        drop(other);
        assert!(third.now_or_never().is_some());
    }

    #[tokio::test]
    async fn who_needs_much_at_once_is_not_kept_away_by_little_again_and_again() {
        let (a, b) = tenants();
        let pool = Pool::new(256);
        let mut held: VecDeque<Share> = std::iter::from_fn(|| pool.try_take(&a, 4)).collect();
        assert_eq!(held.len(), 48);
        let mut waits = pool.take(&b, 60).boxed();
        for turn in 0..20 {
            if let Some(share) = (&mut waits).now_or_never() {
                assert_eq!(share.unwrap().units(), 60);
                assert!((1..10).contains(&turn), "{turn}");
                return;
            }
            held.pop_front();
            held.extend(pool.try_take(&a, 4));
        }
        panic!("the one that needs much waits for ever");
    }

    #[tokio::test]
    async fn whoever_stops_waiting_keeps_nobody_away() {
        let (a, b) = tenants();
        let pool = Pool::new(256);
        let held: Vec<Share> = std::iter::from_fn(|| pool.try_take(&a, 4)).take(40).collect();
        let mut much = pool.take(&b, 80).boxed();
        assert!((&mut much).now_or_never().is_none());
        let mut little = pool.take(&a, 4).boxed();
        assert!((&mut little).now_or_never().is_none());
        drop(much);
        assert_eq!(little.now_or_never().unwrap().unwrap().units(), 4);
        drop(held);
    }

    #[tokio::test]
    async fn whoever_stops_waiting_takes_nothing() {
        let (a, b) = tenants();
        let pool = Pool::new(1);
        let held = pool.take(&a, 1).await.unwrap();
        let mut gone = pool.take(&b, 1).boxed();
        assert!((&mut gone).now_or_never().is_none());
        drop(held);
        drop(gone);
        assert_eq!(pool.free(), 1);
        assert!(pool.try_take(&b, 1).is_some());
    }

    proptest! {
        /// Whatever tenants take and give back, the sum is right. A tenant without units gets one as long as there are
        /// fewer other tenants than the units allow.
        #[test]
        fn a_newcomer_gets_a_unit(capacity in 4_u64..200, steps in prop::collection::vec((0_usize..2, 1_u64..8, any::<bool>()), 0..200)) {
            let pool = Pool::new(capacity);
            let tenants = [Tenant::namespace("a"), Tenant::namespace("b")];
            let mut held: Vec<Share> = Vec::new();
            for (who, units, take) in steps {
                if take {
                    held.extend(pool.try_take(&tenants[who], units));
                } else if !held.is_empty() {
                    drop(held.swap_remove(units as usize % held.len()));
                }
                prop_assert_eq!(pool.free() + held.iter().map(Share::units).sum::<u64>(), capacity);
                if capacity >= 16 {
                    prop_assert!(pool.try_take(&Tenant::hook("new"), 1).is_some());
                }
            }
        }
    }
}
