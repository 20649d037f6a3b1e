//! The life of a hook's bindings, from the lookup of their kinds until they deliver changes: what each of them waits for,
//! and what the hook's other bindings, the queues and readiness learn about it.
//!
//! ```text
//!  Starting ─▶ Listed ─▶ Live      Starting: the kind is looked up, or the objects are listed
//!     └─▶ Excused ─▶───▶─┘         Excused: the kind is not served, or may not be watched
//! ```
//!
//! A hook receives its synchronizations before any change: its bindings go live together, in the document's order, when
//! all of them are listed or excused. Nothing waits for a binding with `waitForSynchronization: false`. This closes again
//! only for a new document.
//!
//! Two gates keep the order at the start, and neither replaces the other. This one decides when triggers enter the queues:
//! no change enters before all synchronizations have. `queue/preconditions.rs` decides when they leave: no change runs
//! before the synchronizations have succeeded.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use boathook_core::{
    filter::BindingStatus,
    model::{BindingName, HookName, HookSpec, KubernetesBinding, QueueName},
    queue,
};
use tokio::sync::{Notify, watch};

use crate::telemetry::Metrics;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Its kind is looked up, or its objects are listed.
    Starting,
    /// The other bindings continue without it, because its kind is not served, or may not be watched.
    Excused,
    /// It knows its objects, and has not gone live.
    Listed,
    /// Its synchronization is in the queue, and its changes follow.
    Live,
}

/// One binding.
pub(super) struct BindingState {
    pub name: BindingName,
    pub queue: QueueName,
    pub status: Arc<BindingStatus>,
    /// Why its kind cannot be watched yet.
    pub pending: Option<String>,
    /// Whether its hook waits for it.
    waits: bool,
    phase: Phase,
    /// Whether all its objects were listed once.
    listed: bool,
    /// Whether its snapshot contains all objects. It has no meaning before they were listed.
    complete: bool,
    /// Whether there are no objects because the kind is not served. It stays until the kind is found, even if the API
    /// server cannot be reached in the meantime.
    unserved: bool,
}

impl BindingState {
    fn new(spec: &KubernetesBinding) -> Self {
        Self {
            name: spec.name.clone(),
            queue: spec.queue.clone(),
            status: Arc::default(),
            pending: None,
            waits: spec.wait_for_synchronization,
            phase: Phase::Starting,
            listed: false,
            complete: true,
            unserved: false,
        }
    }

    fn holds_up(&self, phase: Phase) -> bool {
        self.waits && self.phase == phase
    }

    /// Whether it knows its objects. A kind that is not served has none.
    pub fn is_listed(&self) -> bool {
        self.listed || self.unserved
    }

    /// Whether it knows all of its objects now.
    pub fn is_complete(&self) -> bool {
        self.is_listed() && self.complete
    }

    /// Why its snapshot does not contain all objects, if it does not.
    pub fn incomplete(&self) -> Option<String> {
        let error = || self.status.last_error().unwrap_or_default();
        match (&self.pending, self.status.late()) {
            _ if self.is_complete() => None,
            (Some(reason), _) => Some(reason.clone()),
            (None, 0) if !self.is_listed() => Some("it has not listed its objects".to_owned()),
            (None, 0) => Some(format!("objects are missing or old: {}", error())),
            (None, late) => Some(format!("{}: {}", missing_or_old(late), error())),
        }
    }

    /// What it still waits for. A standby's bindings do not go live.
    pub fn missing(&self, standby: bool) -> Option<String> {
        let Self { name, status, .. } = self;
        match &self.pending {
            Some(reason) => Some(format!("binding {name} is pending: {reason}")),
            None if status.is_synchronised() => None,
            None if status.is_listed() && standby => None,
            None if status.is_listed() => Some(format!("binding {name} waits for other bindings of its hook")),
            None if status.late() > 0 => {
                let (late, error) = (status.late(), status.last_error().unwrap_or_default());
                Some(format!("binding {name}: {}: {error}", missing_or_old(late)))
            }
            None => Some(format!("binding {name} has not listed its objects")),
        }
    }
}

/// Says what is wrong with a snapshot. The error says why: the filter could not run, or there is no memory.
fn missing_or_old(late: usize) -> String {
    match late {
        1 => "1 object is missing or old".to_owned(),
        late => format!("{late} objects are missing or old"),
    }
}

/// The rules. Pure.
struct Core {
    /// In the document's order.
    bindings: Vec<BindingState>,
    /// When the document was loaded.
    since: Instant,
    /// Each binding was listed or excused once.
    open: bool,
    /// Every binding that could go live at the start did.
    passed: bool,
}

impl Core {
    fn new() -> Self {
        Self { bindings: Vec::new(), since: Instant::now(), open: false, passed: false }
    }

    /// Replaces the document. Bindings that are kept keep their state.
    fn replace(&mut self, bindings: &[KubernetesBinding], kept: impl Fn(&BindingName) -> bool) {
        let mut before = std::mem::take(&mut self.bindings);
        before.retain(|binding| kept(&binding.name));
        let state = |spec: &KubernetesBinding| {
            let same = before.iter().position(|known| known.name == spec.name);
            same.map_or_else(|| BindingState::new(spec), |place| before.swap_remove(place))
        };
        self.bindings = bindings.iter().map(state).collect();
        (self.since, self.open, self.passed) = (Instant::now(), false, false);
        self.settle();
    }

    fn binding(&mut self, name: &BindingName) -> Option<&mut BindingState> {
        self.bindings.iter_mut().find(|binding| binding.name == *name)
    }

    fn enter(&mut self, name: &BindingName, phase: Phase) {
        if let Some(binding) = self.binding(name).filter(|binding| binding.phase != Phase::Live) {
            binding.phase = phase;
        }
        self.settle();
    }

    fn settle(&mut self) {
        self.open |= !self.bindings.iter().any(|binding| binding.holds_up(Phase::Starting));
        self.passed |= self.open && !self.bindings.iter().any(|binding| binding.holds_up(Phase::Listed));
    }

    /// Whether a binding may go live. Bindings that come before it in the document go first.
    fn may_go(&self, name: &BindingName) -> bool {
        let mut before = self.bindings.iter().take_while(|binding| binding.name != *name);
        self.open && !before.any(|binding| binding.holds_up(Phase::Listed))
    }
}

/// The bindings of one hook.
pub(super) struct BindingStates {
    hook: HookName,
    core: Mutex<Core>,
    /// Notifies those that wait for a turn.
    moved: Notify,
    /// Notified of every change of what people and answers can see.
    changes: watch::Sender<()>,
    metrics: Arc<Metrics>,
}

impl BindingStates {
    pub fn new(hook: HookName, changes: watch::Sender<()>, metrics: Arc<Metrics>) -> Self {
        Self { hook, core: Mutex::new(Core::new()), moved: Notify::new(), changes, metrics }
    }

    fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the bindings in the document's order.
    pub fn read<T>(&self, read: impl FnOnce(&[BindingState]) -> T) -> T {
        read(&self.core().bindings)
    }

    /// The hook has this document, in which the `kept` bindings continue as they are.
    pub fn replace(&self, spec: &HookSpec, kept: impl Fn(&BindingName) -> bool) {
        let mut core = self.core();
        core.replace(&spec.kubernetes, kept);
        if core.bindings.iter().any(|binding| !binding.listed) {
            self.metrics.set_enabled(&self.hook, None);
        }
        drop(core);
        self.moved.notify_waiters();
    }

    /// Returns when the hook has started: all its bindings are live, except those whose kind is not served or may not
    /// be watched. No schedule fires before that.
    pub async fn passed(&self) {
        self.until(|core| core.passed).await;
    }

    async fn until(&self, so: impl Fn(&Core) -> bool) {
        loop {
            let mut moved = std::pin::pin!(self.moved.notified());
            moved.as_mut().enable();
            if so(&self.core()) {
                return;
            }
            moved.await;
        }
    }
}

/// One binding's way through its life. Its task moves it.
#[derive(Clone)]
pub(super) struct Progress {
    states: Arc<BindingStates>,
    name: BindingName,
    queue: queue::Handle,
}

impl Progress {
    pub fn new(states: Arc<BindingStates>, name: BindingName, queue: queue::Handle) -> Self {
        Self { states, name, queue }
    }

    /// Changes the binding, unless the hook's document does not have it any more.
    fn change<T>(&self, change: impl FnOnce(&mut BindingState) -> T) -> Option<T> {
        let changed = self.states.core().binding(&self.name).map(change);
        if changed.is_some() {
            self.states.changes.send_replace(());
        }
        changed
    }

    fn enter(&self, phase: Phase) {
        self.states.core().enter(&self.name, phase);
        self.states.moved.notify_waiters();
    }

    /// Its objects cannot be watched yet, and there may be some.
    pub fn pending(&self, reason: &str) {
        if self.change(|binding| binding.pending = Some(reason.to_owned())).is_some() {
            self.states.metrics.enable_failed(&self.states.hook);
        }
    }

    /// Nobody knows when its objects can be watched. Only triggers that include its snapshot wait. If it is listed
    /// after all, it goes live at once, or together with the others if they still wait.
    pub fn excused(&self, reason: &str) {
        self.pending(reason);
        self.queue.exempt_from_sync(&self.states.hook, &self.name);
        self.enter(Phase::Excused);
    }

    /// Its kind is not served yet, so there are no objects. Returns whether that is news.
    pub fn unserved(&self, reason: &str) -> bool {
        self.pending(reason);
        if self.change(|binding| std::mem::replace(&mut binding.unserved, true)) != Some(false) {
            return false;
        }
        self.queue.listed(&self.states.hook, &self.name);
        self.queue.complete(&self.states.hook, &self.name);
        self.enter(Phase::Excused);
        true
    }

    /// Its kind was found. From now on its status describes it.
    pub fn found(&self) -> Arc<BindingStatus> {
        let found = |binding: &mut BindingState| {
            (binding.pending, binding.unserved) = (None, false);
            binding.status.clone()
        };
        self.states.core().binding(&self.name).map(found).unwrap_or_default()
    }

    /// Follows its status until it is live.
    pub async fn follow(&self, status: &BindingStatus) {
        status.listed().await;
        self.listed();
        status.synchronised().await;
        // If this came earlier, the synchronizations of a group would run one by one. They all wait for this call.
        self.queue.listed(&self.states.hook, &self.name);
        self.enter(Phase::Live);
    }

    /// Its objects were listed.
    fn listed(&self) {
        self.change(|binding| (binding.listed, binding.pending) = (true, None));
        let core = self.states.core();
        if core.bindings.iter().all(|binding| binding.listed) {
            self.states.metrics.set_enabled(&self.states.hook, Some(core.since.elapsed()));
        }
        drop(core);
        self.enter(Phase::Listed);
    }

    /// Its snapshot is incomplete, or is complete again. The queue comes first: a run that begins now must not include
    /// a snapshot that it should have waited for.
    pub fn complete(&self, complete: bool) {
        let (hook, name) = (&self.states.hook, &self.name);
        if complete {
            self.queue.complete(hook, name)
        } else {
            self.queue.incomplete(hook, name)
        }
        self.change(|binding| binding.complete = complete);
    }

    /// Returns when it may go live together with the others.
    pub async fn turn(&self) {
        self.states.until(|core| core.may_go(&self.name)).await;
    }
}

#[cfg(test)]
mod tests {
    use boathook_core::hooks::parse;
    use futures::FutureExt as _;

    use super::*;

    fn name(index: usize) -> BindingName {
        BindingName::new(format!("b{index}"))
    }

    fn document(bindings: &[(usize, bool)]) -> HookSpec {
        let each = bindings.iter().map(|(index, waits)| {
            format!("\n- {{name: b{index}, apiVersion: v1, kind: Pod, waitForSynchronization: {waits}, queue: q}}")
        });
        let text = format!("configVersion: v1\nkubernetes:{}", each.collect::<String>());
        parse(&HookName::new("h").unwrap(), &text, &|_| Ok(())).unwrap()
    }

    fn of<const N: usize>(waits: [bool; N]) -> Core {
        let bindings: Vec<_> = waits.into_iter().enumerate().collect();
        let mut core = Core::new();
        let bindings = if N == 0 { Vec::new() } else { document(&bindings).kubernetes };
        core.replace(&bindings, |_| false);
        core
    }

    fn may_go(core: &Core) -> Vec<usize> {
        (0..core.bindings.len()).filter(|index| core.may_go(&name(*index))).collect()
    }

    #[test]
    fn it_opens_when_all_are_listed_and_lets_them_go_in_order() {
        let mut core = of([true, true, true]);
        core.enter(&name(2), Phase::Listed);
        core.enter(&name(0), Phase::Listed);
        assert_eq!(may_go(&core), Vec::<usize>::new());
        core.enter(&name(1), Phase::Listed);
        assert_eq!(may_go(&core), [0]);
        core.enter(&name(0), Phase::Live);
        assert_eq!(may_go(&core), [0, 1]);
        core.enter(&name(1), Phase::Live);
        assert!(!core.passed);
        core.enter(&name(2), Phase::Live);
        assert!(core.passed);
    }

    #[test]
    fn nobody_waits_for_a_kind_that_is_not_served() {
        let mut core = of([true, true]);
        core.enter(&name(1), Phase::Listed);
        assert!(!core.may_go(&name(1)));
        core.enter(&name(0), Phase::Excused);
        assert_eq!(may_go(&core), [0, 1]);
        core.enter(&name(1), Phase::Live);
        assert!(core.passed);
        // The kind is served after all, and the start is over.
        core.enter(&name(0), Phase::Listed);
        assert!(core.may_go(&name(0)) && core.passed);
    }

    #[test]
    fn a_binding_that_was_listed_may_lose_its_kind() {
        let mut core = of([true, true]);
        core.enter(&name(0), Phase::Listed);
        core.enter(&name(0), Phase::Excused);
        core.enter(&name(1), Phase::Listed);
        assert!(core.may_go(&name(1)));
    }

    #[test]
    fn those_that_do_not_wait_hold_up_nobody() {
        assert!(of([]).passed);
        let mut core = of([false, true]);
        core.enter(&name(0), Phase::Listed);
        assert!(!core.passed);
        core.enter(&name(1), Phase::Listed);
        assert!(core.may_go(&name(1)));
        assert!(of([false]).passed);
    }

    #[test]
    fn those_that_wait_are_woken() {
        let metrics = Arc::new(Metrics::new("").unwrap());
        let states = BindingStates::new(HookName::new("h").unwrap(), watch::Sender::default(), metrics);
        states.replace(&document(&[(0, true), (1, true)]), |_| false);
        let enter = |index: usize, phase| {
            states.core().enter(&name(index), phase);
            states.moved.notify_waiters();
        };
        let one = name(1);
        let (mut turn, mut passed) = (Box::pin(states.until(|core| core.may_go(&one))), Box::pin(states.passed()));
        assert!(turn.as_mut().now_or_never().is_none());
        enter(0, Phase::Listed);
        enter(1, Phase::Listed);
        assert!(turn.as_mut().now_or_never().is_none());
        enter(0, Phase::Live);
        assert!(turn.as_mut().now_or_never().is_some());
        assert!(passed.as_mut().now_or_never().is_none());
        enter(1, Phase::Live);
        assert!(passed.as_mut().now_or_never().is_some());
    }

    #[test]
    fn another_document_closes_it_for_the_new_ones_and_keeps_the_others_where_they_are() {
        let mut core = of([true, true]);
        core.enter(&name(0), Phase::Listed);
        core.enter(&name(1), Phase::Listed);
        core.enter(&name(0), Phase::Live);
        core.enter(&name(1), Phase::Live);
        core.replace(&document(&[(2, true), (0, true)]).kubernetes, |kept| *kept == name(0));
        assert!(!core.passed && !core.may_go(&name(2)));
        core.enter(&name(2), Phase::Listed);
        assert!(core.may_go(&name(2)) && !core.passed);
        core.enter(&name(2), Phase::Live);
        assert!(core.passed);
        // The same name, but another binding.
        core.replace(&document(&[(0, true)]).kubernetes, |_| false);
        assert!(!core.passed);
    }
}
