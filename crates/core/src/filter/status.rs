//! The state of a binding, readable from outside while the binding works.
//!
//! Reading never waits for the binding: every field is an atomic, or is copied under a short lock.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::sync::Notify;

use super::{Binding, Changes, Explanation, explain::Questions};
use crate::model::ObjectKey;

/// How long an answer of a binding may take.
const ANSWERS: Duration = Duration::from_secs(2);

/// Receives how long a binding's work took. It must be cheap, because it is called for every change.
pub trait Timings: fmt::Debug + Send + Sync {
    /// The filter ran on one object.
    fn filtered(&self, took: Duration);
    /// One change was handled, including its filter.
    fn handled(&self, took: Duration);
}

/// Shared between a binding's driver and the code that reports on the binding.
#[derive(Debug, Default)]
pub struct BindingStatus {
    listed: AtomicBool,
    live: AtomicBool,
    objects: AtomicUsize,
    bytes: AtomicUsize,
    failing: AtomicUsize,
    late: AtomicUsize,
    changes: Mutex<Changes>,
    filter_errors: AtomicU64,
    last_error: Mutex<Option<Arc<str>>>,
    changed: Notify,
    questions: Questions,
}

impl BindingStatus {
    /// Whether all objects were listed and the filter was run on each, so that the snapshot showed all of them then.
    pub fn is_listed(&self) -> bool {
        self.listed.load(Ordering::Acquire)
    }

    /// Whether the binding is live: its synchronization, if it makes one, was passed on. Readiness depends on this.
    pub fn is_synchronised(&self) -> bool {
        self.live.load(Ordering::Acquire)
    }

    /// Returns once all objects were listed and the snapshot shows them.
    pub async fn listed(&self) {
        self.until(Self::is_listed).await;
    }

    /// Returns once the binding is live.
    pub async fn synchronised(&self) {
        self.until(Self::is_synchronised).await;
    }

    async fn until(&self, so: impl Fn(&Self) -> bool) {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if so(self) {
                return;
            }
            changed.await;
        }
    }

    /// The number of objects in the snapshot.
    pub fn objects(&self) -> usize {
        self.objects.load(Ordering::Relaxed)
    }

    /// The bytes that the snapshot holds. Parts that several objects share count for each of them.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The number of objects that are missing in the snapshot because the filter fails on them.
    pub fn failing(&self) -> usize {
        self.failing.load(Ordering::Relaxed)
    }

    /// The number of objects on whose newest state the filter could not run yet, or which there is no memory to keep. The
    /// snapshot has their former state, or nothing. It is incomplete until there are no such objects.
    pub fn late(&self) -> usize {
        self.late.load(Ordering::Relaxed)
    }

    /// What happened to the objects since the binding was created.
    pub fn changes(&self) -> Changes {
        *self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of filter errors so far.
    pub fn filter_errors(&self) -> u64 {
        self.filter_errors.load(Ordering::Relaxed)
    }

    /// The last of these errors, with hook, binding and object.
    pub fn last_error(&self) -> Option<Arc<str>> {
        self.last_error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Asks the binding about an object. `None` if nothing drives the binding, or if it is too busy to answer.
    pub async fn explain(&self, key: &ObjectKey) -> Option<Explanation> {
        tokio::time::timeout(ANSWERS, self.questions.ask(key)).await.ok()?.ok()
    }

    pub(super) async fn asked(&self) {
        self.questions.asked().await;
    }

    pub(super) fn answer(&self, binding: &Binding) {
        self.questions.answer(binding);
    }

    pub(super) fn failed(&self, error: &str) {
        self.filter_errors.fetch_add(1, Ordering::Relaxed);
        *self.last_error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.into());
    }

    /// Takes over the binding's state. Call this after its snapshot was published.
    pub(super) fn update(&self, binding: &Binding) {
        self.objects.store(binding.items().size(), Ordering::Relaxed);
        self.bytes.store(binding.bytes(), Ordering::Relaxed);
        self.failing.store(binding.failing(), Ordering::Relaxed);
        self.late.store(binding.late(), Ordering::Relaxed);
        *self.changes.lock().unwrap_or_else(PoisonError::into_inner) = binding.changes();
        let listed = self.listed.swap(binding.is_listed(), Ordering::AcqRel) != binding.is_listed();
        let live = self.live.swap(binding.is_live(), Ordering::AcqRel) != binding.is_live();
        if listed || live {
            self.changed.notify_waiters();
        }
    }
}
