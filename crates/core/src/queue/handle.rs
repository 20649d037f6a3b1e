//! The handle that other code uses to push triggers and to query the queues, and the state that it shares with the
//! driver. Each call takes the lock, and wakes the driver if a job may be available.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};

use super::{
    DeadLetter, Enqueued, HookQueueConfig, Letters, Observer, Pushed, QueueConfig, QueueDump, Retried, State, Stats,
    Unfinished,
};
use crate::model::{BindingName, HookName, JobId, ObjectKey, Outcome, Trigger};

/// The state behind its lock, and who is notified about it.
pub(super) struct Shared {
    state: Mutex<State>,
    /// A job may be available.
    pub wake: Notify,
    /// Nothing waits or runs any more.
    pub idle: Notify,
    /// A run has ended.
    ended: Notify,
    pub observer: Arc<dyn Observer>,
    /// How far the queues' time is ahead of the clock.
    ahead: Mutex<Duration>,
}

impl Shared {
    pub fn new(config: QueueConfig, observer: Arc<dyn Observer>) -> Self {
        Self {
            state: Mutex::new(State::new(config)),
            wake: Notify::new(),
            idle: Notify::new(),
            ended: Notify::new(),
            observer,
            ahead: Mutex::default(),
        }
    }

    pub fn ahead(&self) -> Duration {
        *self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The queues' time.
    pub fn now(&self) -> std::time::Instant {
        Instant::now().into_std() + self.ahead()
    }

    /// The state does not panic, so a panic while the lock was held did not damage it.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn finish(&self, id: JobId, outcome: Outcome) {
        let finished = self.state().finish_and_leave(id, outcome, self.now(), rand::random());
        self.ended.notify_waiters();
        if let Some((finished, done)) = finished {
            drop(done);
            self.observer.finished(&finished);
            finished.lost.iter().for_each(|letter| self.observer.dead_letter_lost(letter));
        }
    }
}

/// Pushes triggers and queries the queues. It is cheap to clone.
#[derive(Clone)]
pub struct Handle(pub(super) Arc<Shared>);

impl Handle {
    /// Queues that take triggers. Nothing runs before a [`Runner`](super::Runner) drives them.
    pub fn new(config: QueueConfig, observer: Arc<dyn Observer>) -> Self {
        Self(Arc::new(Shared::new(config, observer)))
    }

    /// Changes the state, after which a job may be available.
    fn edit<T>(&self, edit: impl FnOnce(&mut State) -> T) -> T {
        let done = edit(&mut self.0.state());
        self.0.wake.notify_one();
        done
    }

    /// Makes a hook known. See [`State::add_hook`].
    pub fn add_hook(&self, hook: HookName, terms: HookQueueConfig) {
        self.edit(|state| state.add_hook(hook, terms));
    }

    /// Triggers that include this snapshot wait for it. See [`State::expect_list`].
    pub fn expect_list(&self, hook: &HookName, binding: BindingName) {
        self.0.state().expect_list(hook, binding);
    }

    /// The snapshot is there, and the synchronization was pushed. See [`State::listed`].
    pub fn listed(&self, hook: &HookName, binding: &BindingName) {
        self.edit(|state| state.listed(hook, binding));
    }

    /// The snapshot has all objects. See [`State::complete`].
    pub fn complete(&self, hook: &HookName, binding: &BindingName) {
        self.edit(|state| state.complete(hook, binding));
    }

    /// The snapshot may never come. See [`State::exempt_from_sync`].
    pub fn exempt_from_sync(&self, hook: &HookName, binding: &BindingName) {
        self.edit(|state| state.exempt_from_sync(hook, binding));
    }

    /// The snapshot is missing objects. See [`State::incomplete`].
    pub fn incomplete(&self, hook: &HookName, binding: &BindingName) {
        self.edit(|state| state.incomplete(hook, binding));
    }

    /// Forgets a hook and drops its triggers. See [`State::remove_hook`].
    pub fn remove_hook(&self, hook: &HookName) -> usize {
        self.edit(|state| state.remove_hook(hook))
    }

    /// Puts a trigger at the end of its queue. Never waits.
    pub fn push(&self, mut trigger: Trigger) -> Pushed {
        trigger.created += self.0.ahead();
        let (hook, binding, queue) = (trigger.hook.clone(), trigger.binding.clone(), trigger.queue.clone());
        let (pushed, emptied) = self.edit(|state| (state.push(trigger), state.take_emptied()));
        emptied.iter().for_each(|emptied| self.0.observer.emptied(emptied));
        self.0.observer.enqueued(&Enqueued { hook, binding, queue, pushed });
        pushed
    }

    /// Lets this much time pass at once for what waits here: delays of retries, debounces and rate limits.
    pub fn pass(&self, time: Duration) {
        *self.0.ahead.lock().unwrap_or_else(PoisonError::into_inner) += time;
        self.0.wake.notify_one();
    }

    /// Starts nothing of any hook until [`begin`](Self::begin). See [`State::stand_by`].
    pub fn stand_by(&self) {
        self.0.state().stand_by();
    }

    /// Ends the standby. See [`State::begin`].
    pub fn begin(&self) {
        self.edit(|state| state.begin());
    }

    /// Starts nothing more of the hook. See [`State::pause`].
    pub fn pause(&self, hook: &HookName) -> bool {
        self.edit(|state| state.pause(hook))
    }

    /// Ends a pause. See [`State::resume`].
    pub fn resume(&self, hook: &HookName) -> bool {
        self.edit(|state| state.resume(hook))
    }

    /// Pauses the hook with its module, or ends that. See [`State::suspend`].
    pub fn suspend(&self, hook: &HookName, suspended: bool) -> bool {
        self.edit(|state| state.suspend(hook, suspended))
    }

    /// Starts nothing more of the hook, whether it is paused or not. See [`State::hold`].
    pub fn hold(&self, hook: &HookName) -> bool {
        self.0.state().hold(hook)
    }

    /// Ends a hold. See [`State::release`].
    pub fn release(&self, hook: &HookName) -> bool {
        self.edit(|state| state.release(hook))
    }

    /// Returns when nothing of the hook runs.
    pub async fn quiet(&self, hook: &HookName) {
        self.until(&self.0.ended, |state| state.runs(hook) == 0).await;
    }

    /// Returns when the start-up and the synchronizations of a hook are done that were pushed.
    pub async fn synchronised(&self, hook: &HookName) {
        self.until(&self.0.ended, |state| state.is_synchronised(hook)).await;
    }

    /// Returns when a run of the hook has failed and is tried again, with the reason.
    pub async fn failing(&self, hook: &HookName) -> Arc<str> {
        loop {
            self.until(&self.0.ended, |state| state.failure(hook).is_some()).await;
            if let Some(failure) = self.0.state().failure(hook) {
                return failure;
            }
        }
    }

    /// Sets new terms, and checks what waits. See [`State::update_hook`].
    pub fn update_hook(
        &self,
        hook: &HookName,
        terms: HookQueueConfig,
        keep: &mut dyn FnMut(&mut Trigger) -> bool,
    ) -> usize {
        self.edit(|state| state.update_hook(hook, terms, keep))
    }

    /// All queues, each with its first `most` triggers. See [`State::dump`].
    pub fn dump(&self, most: usize) -> Vec<QueueDump> {
        self.0.state().dump(self.0.now(), most)
    }

    /// The events of an object that the hook has not taken. See [`State::about`].
    pub fn about(&self, hook: &HookName, kind: (&str, &str), key: &ObjectKey) -> Vec<Unfinished> {
        self.0.state().about(hook, kind, key, self.0.now())
    }

    /// All dead letters, oldest first.
    pub fn dead_letters(&self) -> Vec<DeadLetter> {
        self.0.state().dead_letters()
    }

    /// Runs the triggers of dead letters again. See [`State::retry_dead`].
    pub fn retry_dead(&self, which: &Letters) -> Retried {
        let ((retried, pushed), emptied) =
            self.edit(|state| (state.retry_dead(which, self.0.now()), state.take_emptied()));
        emptied.iter().for_each(|emptied| self.0.observer.emptied(emptied));
        pushed.iter().for_each(|enqueued| self.0.observer.enqueued(enqueued));
        retried
    }

    /// Forgets dead letters. Returns how many.
    pub fn drop_dead(&self, which: &Letters) -> usize {
        self.0.state().drop_dead(which)
    }

    /// The current state of the queues.
    pub fn stats(&self) -> Stats {
        self.0.state().stats(self.0.now())
    }

    /// Returns when nothing waits and nothing runs.
    pub async fn idle(&self) {
        self.until(&self.0.idle, State::is_idle).await;
    }

    /// Returns when the state is as wanted, which can only be after a notification.
    async fn until(&self, news: &Notify, wanted: impl Fn(&State) -> bool) {
        loop {
            let mut notified = std::pin::pin!(news.notified());
            notified.as_mut().enable();
            if wanted(&self.0.state()) {
                return;
            }
            notified.await;
        }
    }
}
