//! Holds a hook's bindings back until all of them know their objects, so that none is told of a
//! change before the hook was told what there is.
//!
//! Never waits for a binding whose kind is not served, nor for one with `waitForSynchronization:
//! false`, and never closes again.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::model::HookSpec;

/// One binding, as its hook waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Nobody waits for it.
    Free,
    Unlisted,
    /// Its kind is not served.
    Excused,
    /// It knows its objects, and has not gone live.
    Listed,
    Live,
}

/// The rules. Pure.
#[derive(Debug)]
struct Core {
    /// By the bindings' places in the document.
    places: Vec<Place>,
    open: bool,
    /// All that could go live at the start did.
    passed: bool,
}

impl Core {
    fn new(waits: impl Iterator<Item = bool>) -> Self {
        let places = waits.map(|waits| if waits { Place::Unlisted } else { Place::Free });
        let mut core = Self { places: places.collect(), open: false, passed: false };
        core.settle();
        core
    }

    fn set(&mut self, index: usize, place: Place) {
        if let Some(known) = self.places.get_mut(index)
            && !matches!(known, Place::Free | Place::Live)
        {
            *known = place;
        }
        self.settle();
    }

    fn settle(&mut self) {
        self.open |= self.places.iter().all(|place| *place != Place::Unlisted);
        self.passed |= self.open && !self.places.contains(&Place::Listed);
    }

    /// Whether a binding may go live: those before it in the document go first.
    fn may_go(&self, index: usize) -> bool {
        self.open && self.places.iter().take(index).all(|place| *place != Place::Listed)
    }
}

/// The barrier of one hook. It opens when each of its bindings is listed or excused; then they go
/// live in the document's order.
#[derive(Debug)]
pub(super) struct Barrier {
    core: Mutex<Core>,
    changed: Notify,
}

impl Barrier {
    /// Closed, unless the hook has no binding to wait for.
    pub fn new(spec: &HookSpec) -> Self {
        let waits = spec.kubernetes.iter().map(|binding| binding.wait_for_synchronization);
        Self { core: Mutex::new(Core::new(waits)), changed: Notify::new() }
    }

    /// A binding knows its objects.
    pub fn listed(&self, index: usize) {
        self.set(index, Place::Listed);
    }

    /// A binding's kind is not served: nobody waits for it. Once it is listed after all, it goes live
    /// at once, or with the others if they still wait.
    pub fn excused(&self, index: usize) {
        self.set(index, Place::Excused);
    }

    /// A binding is live: its synchronization is in the queue.
    pub fn live(&self, index: usize) {
        self.set(index, Place::Live);
    }

    fn set(&self, index: usize, place: Place) {
        self.core().set(index, place);
        self.changed.notify_waiters();
    }

    fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns when a binding may go live.
    pub async fn turn(&self, index: usize) {
        self.until(|core| core.may_go(index)).await;
    }

    /// Returns when the hook has started: all its bindings are live, but for those whose kind is not
    /// served. No schedule ticks before.
    pub async fn passed(&self) {
        self.until(|core| core.passed).await;
    }

    async fn until(&self, so: impl Fn(&Core) -> bool) {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if so(&self.core()) {
                return;
            }
            changed.await;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use futures::FutureExt as _;

    use super::*;

    fn may_go(core: &Core) -> Vec<usize> {
        (0..core.places.len()).filter(|index| core.may_go(*index)).collect()
    }

    #[test]
    fn it_opens_when_all_are_listed_and_lets_them_go_in_order() {
        let mut core = Core::new([true, true, true].into_iter());
        core.set(2, Place::Listed);
        core.set(0, Place::Listed);
        assert_eq!(may_go(&core), Vec::<usize>::new());
        core.set(1, Place::Listed);
        assert_eq!(may_go(&core), [0]);
        core.set(0, Place::Live);
        assert_eq!(may_go(&core), [0, 1]);
        core.set(1, Place::Live);
        assert!(!core.passed);
        core.set(2, Place::Live);
        assert!(core.passed);
    }

    #[test]
    fn nobody_waits_for_a_kind_that_is_not_served() {
        let mut core = Core::new([true, true].into_iter());
        core.set(1, Place::Listed);
        assert!(!core.may_go(1));
        core.set(0, Place::Excused);
        assert_eq!(may_go(&core), [0, 1]);
        core.set(1, Place::Live);
        assert!(core.passed);
        // It came after all; the start is over.
        core.set(0, Place::Listed);
        assert!(core.may_go(0) && core.passed);
    }

    #[test]
    fn a_binding_that_was_listed_may_lose_its_kind() {
        let mut core = Core::new([true, true].into_iter());
        core.set(0, Place::Listed);
        core.set(0, Place::Excused);
        core.set(1, Place::Listed);
        assert!(core.may_go(1));
    }

    #[test]
    fn those_that_do_not_wait_hold_up_nobody() {
        assert!(Core::new([].into_iter()).passed);
        let mut core = Core::new([false, true].into_iter());
        core.set(0, Place::Listed);
        assert!(!core.passed);
        core.set(1, Place::Listed);
        assert!(core.may_go(1));
        assert!(Core::new([false].into_iter()).passed);
    }

    #[test]
    fn whoever_waits_is_woken() {
        let barrier = Barrier { core: Mutex::new(Core::new([true, true].into_iter())), changed: Notify::new() };
        let (mut turn, mut passed) = (Box::pin(barrier.turn(1)), Box::pin(barrier.passed()));
        assert!(turn.as_mut().now_or_never().is_none());
        barrier.listed(0);
        barrier.listed(1);
        assert!(turn.as_mut().now_or_never().is_none());
        barrier.live(0);
        assert!(turn.as_mut().now_or_never().is_some());
        assert!(passed.as_mut().now_or_never().is_none());
        barrier.live(1);
        assert!(passed.as_mut().now_or_never().is_some());
    }
}
