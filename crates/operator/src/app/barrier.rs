//! Holds a hook's bindings back until all of them know their objects. A hook therefore receives its synchronizations
//! before any change.
//!
//! The barrier does not wait for a kind that is not served or that may not be watched, or for a binding with
//! `waitForSynchronization: false`. It closes again only for a new document.

use std::sync::{Mutex, MutexGuard, PoisonError};

use boathook_core::model::{BindingName, HookSpec};
use tokio::sync::Notify;

/// The state of one binding, as its hook waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The hook does not wait for it.
    Free,
    Unlisted,
    /// Its kind is not served, or may not be watched.
    Excused,
    /// It knows its objects, and has not gone live.
    Listed,
    Live,
}

/// A binding, and whether its hook waits for it.
type Binding = (BindingName, bool);

fn bindings(spec: &HookSpec) -> impl Iterator<Item = Binding> {
    spec.kubernetes.iter().map(|binding| (binding.name.clone(), binding.wait_for_synchronization))
}

/// The rules. Pure.
#[derive(Debug)]
struct Core {
    /// The bindings in the document's order.
    places: Vec<(BindingName, Place)>,
    open: bool,
    /// Every binding that could go live at the start did.
    passed: bool,
}

impl Core {
    fn new(bindings: impl Iterator<Item = Binding>) -> Self {
        let mut core = Self { places: Vec::new(), open: false, passed: false };
        core.replace(bindings, |_| false);
        core
    }

    /// Replaces the document. Bindings that are kept keep their state.
    fn replace(&mut self, bindings: impl Iterator<Item = Binding>, kept: impl Fn(&BindingName) -> bool) {
        let before = std::mem::take(&mut self.places);
        let place = |(binding, waits): Binding| {
            let first = if waits { Place::Unlisted } else { Place::Free };
            let known = before.iter().find(|(name, _)| *name == binding && kept(name));
            let place = known.map_or(first, |(_, place)| *place);
            (binding, place)
        };
        self.places = bindings.map(place).collect();
        (self.open, self.passed) = (false, false);
        self.settle();
    }

    fn set(&mut self, binding: &BindingName, place: Place) {
        if let Some((_, known)) = self.places.iter_mut().find(|(name, _)| name == binding)
            && !matches!(known, Place::Free | Place::Live)
        {
            *known = place;
        }
        self.settle();
    }

    fn settle(&mut self) {
        self.open |= self.places.iter().all(|(_, place)| *place != Place::Unlisted);
        self.passed |= self.open && self.places.iter().all(|(_, place)| *place != Place::Listed);
    }

    /// Whether a binding may go live. Bindings that come before it in the document go first.
    fn may_go(&self, binding: &BindingName) -> bool {
        let mut before = self.places.iter().take_while(|(name, _)| name != binding);
        self.open && before.all(|(_, place)| *place != Place::Listed)
    }
}

/// The barrier of one hook. It opens when each of the hook's bindings is listed or excused. The bindings then go live
/// in the document's order.
#[derive(Debug)]
pub(super) struct Barrier {
    core: Mutex<Core>,
    changed: Notify,
}

impl Barrier {
    /// Creates a closed barrier, or an open one if the hook has no binding to wait for.
    pub fn new(spec: &HookSpec) -> Self {
        Self { core: Mutex::new(Core::new(bindings(spec))), changed: Notify::new() }
    }

    /// The hook has a new document, in which the `kept` bindings continue as they are. The barrier closes again for the
    /// others.
    pub fn replace(&self, spec: &HookSpec, kept: impl Fn(&BindingName) -> bool) {
        self.core().replace(bindings(spec), kept);
        self.changed.notify_waiters();
    }

    /// The binding knows its objects.
    pub fn listed(&self, binding: &BindingName) {
        self.set(binding, Place::Listed);
    }

    /// The binding's kind is not served or may not be watched, so nothing waits for the binding. If it is listed after
    /// all, it goes live at once, or together with the others if they still wait.
    pub fn excused(&self, binding: &BindingName) {
        self.set(binding, Place::Excused);
    }

    /// The binding is live, and its synchronization is in the queue.
    pub fn live(&self, binding: &BindingName) {
        self.set(binding, Place::Live);
    }

    fn set(&self, binding: &BindingName, place: Place) {
        self.core().set(binding, place);
        self.changed.notify_waiters();
    }

    fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns when the binding may go live.
    pub async fn turn(&self, binding: &BindingName) {
        self.until(|core| core.may_go(binding)).await;
    }

    /// Returns when the hook has started: all its bindings are live, except those whose kind is not served or may not
    /// be watched. No schedule fires before that.
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
    use futures::FutureExt as _;

    use super::*;

    fn name(index: usize) -> BindingName {
        BindingName::nth("b", index + 1)
    }

    fn of<const N: usize>(waits: [bool; N]) -> Core {
        Core::new(waits.into_iter().enumerate().map(|(index, waits)| (name(index), waits)))
    }

    fn may_go(core: &Core) -> Vec<usize> {
        (0..core.places.len()).filter(|index| core.may_go(&name(*index))).collect()
    }

    #[test]
    fn it_opens_when_all_are_listed_and_lets_them_go_in_order() {
        let mut core = of([true, true, true]);
        core.set(&name(2), Place::Listed);
        core.set(&name(0), Place::Listed);
        assert_eq!(may_go(&core), Vec::<usize>::new());
        core.set(&name(1), Place::Listed);
        assert_eq!(may_go(&core), [0]);
        core.set(&name(0), Place::Live);
        assert_eq!(may_go(&core), [0, 1]);
        core.set(&name(1), Place::Live);
        assert!(!core.passed);
        core.set(&name(2), Place::Live);
        assert!(core.passed);
    }

    #[test]
    fn nobody_waits_for_a_kind_that_is_not_served() {
        let mut core = of([true, true]);
        core.set(&name(1), Place::Listed);
        assert!(!core.may_go(&name(1)));
        core.set(&name(0), Place::Excused);
        assert_eq!(may_go(&core), [0, 1]);
        core.set(&name(1), Place::Live);
        assert!(core.passed);
        // The kind is served after all, and the start is over.
        core.set(&name(0), Place::Listed);
        assert!(core.may_go(&name(0)) && core.passed);
    }

    #[test]
    fn a_binding_that_was_listed_may_lose_its_kind() {
        let mut core = of([true, true]);
        core.set(&name(0), Place::Listed);
        core.set(&name(0), Place::Excused);
        core.set(&name(1), Place::Listed);
        assert!(core.may_go(&name(1)));
    }

    #[test]
    fn those_that_do_not_wait_hold_up_nobody() {
        assert!(of([]).passed);
        let mut core = of([false, true]);
        core.set(&name(0), Place::Listed);
        assert!(!core.passed);
        core.set(&name(1), Place::Listed);
        assert!(core.may_go(&name(1)));
        assert!(of([false]).passed);
    }

    #[test]
    fn whoever_waits_is_woken() {
        let barrier = Barrier { core: Mutex::new(of([true, true])), changed: Notify::new() };
        let one = name(1);
        let (mut turn, mut passed) = (Box::pin(barrier.turn(&one)), Box::pin(barrier.passed()));
        assert!(turn.as_mut().now_or_never().is_none());
        barrier.listed(&name(0));
        barrier.listed(&name(1));
        assert!(turn.as_mut().now_or_never().is_none());
        barrier.live(&name(0));
        assert!(turn.as_mut().now_or_never().is_some());
        assert!(passed.as_mut().now_or_never().is_none());
        barrier.live(&name(1));
        assert!(passed.as_mut().now_or_never().is_some());
    }

    #[test]
    fn another_document_closes_it_for_the_new_ones_and_keeps_the_others_where_they_are() {
        let mut core = of([true, true]);
        core.set(&name(0), Place::Listed);
        core.set(&name(1), Place::Listed);
        core.set(&name(0), Place::Live);
        core.set(&name(1), Place::Live);
        core.replace([(name(2), true), (name(0), true)].into_iter(), |kept| *kept == name(0));
        assert!(!core.passed && !core.may_go(&name(2)));
        core.set(&name(2), Place::Listed);
        assert!(core.may_go(&name(2)) && !core.passed);
        core.set(&name(2), Place::Live);
        assert!(core.passed);
        // The same name, but another binding.
        core.replace([(name(0), true)].into_iter(), |_| false);
        assert!(!core.passed);
    }
}
