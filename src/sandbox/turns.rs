//! Whose guest computes. Guests compute on the threads of the async runtime, which have everything else to do as well: a
//! guest that computes longer than a tick waits for a turn, which is one more tick, and tenants take these turns one after
//! the other. However many guests of one tenant compute without end, what else is ready waits for one tick of them, and
//! another tenant's guest gets every other turn.
//!
//! Rejected: threads of their own for guests. Each host call would change threads, which costs an ordinary run more than
//! all of its work.

use std::{
    future::poll_fn,
    pin::pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
    time::Instant,
};

use tokio::{
    runtime::Builder,
    time::{sleep_until, timeout_at},
};

use crate::fair::{Pool, Share, Tenant, threads};

/// Polls of other tasks that a guest waits for at most, when its turn has come. tokio's own 61 are a third of a second
/// when each is a tick of a short run: guests that compute longer would get a hundredth of the CPU meanwhile.
const BETWEEN: u32 = 8;

/// The async runtime of a process that runs hooks.
#[must_use]
pub fn runtime(threads: usize) -> Builder {
    let mut builder = Builder::new_multi_thread();
    // After so many polls a thread of the runtime looks for events of the network, and goes on with what yielded.
    builder.worker_threads(threads).event_interval(BETWEEN).enable_all();
    builder
}

/// The turns of a sandbox.
pub(super) struct Turns(Pool);

impl Turns {
    /// As many as the runtime has threads. A tenant alone never gets the last one, unless it is the only one.
    pub(super) fn new() -> Self {
        Self(Pool::new(threads()))
    }

    /// For one call of a guest.
    pub(super) fn of(&self, tenant: &Tenant) -> Turn {
        let inner = Inner { pool: self.0.clone(), tenant: tenant.clone(), held: Mutex::default(), waits: false.into() };
        Turn(Arc::new(inner))
    }
}

/// The guest did not answer until its deadline, and does not compute.
pub(super) struct Elapsed;

/// The turns of one call. Cheap to clone.
#[derive(Clone)]
pub(super) struct Turn(Arc<Inner>);

struct Inner {
    pool: Pool,
    tenant: Tenant,
    /// From the moment in which the guest goes on until the end of that poll.
    held: Mutex<Option<Share>>,
    waits: AtomicBool,
}

impl Turn {
    /// Returns when the guest may compute for another tick, or is at its deadline: what ends it then shows its place.
    pub(super) async fn next(self, deadline: Instant) {
        self.0.waits.store(true, Ordering::Relaxed);
        let share = self.0.pool.take(&self.0.tenant, 1);
        let share = timeout_at(deadline.into(), share).await.ok().and_then(Result::ok);
        // What is ready, and the network, come before it, for BETWEEN polls at most. Not wasmtime's own yield: the guest
        // would go on before the network, in each round of the runtime's queue.
        tokio::task::yield_now().await;
        self.0.waits.store(false, Ordering::Relaxed);
        self.hold(share);
    }

    /// Calls the guest until the deadline. With each poll a turn ends: a guest that waits for its host computes nothing.
    pub(super) async fn around<T>(&self, deadline: Instant, call: impl Future<Output = T>) -> Result<T, Elapsed> {
        let (mut call, mut late) = (pin!(call), pin!(sleep_until(deadline.into())));
        poll_fn(|context| {
            let polled = call.as_mut().poll(context);
            self.hold(None);
            match polled {
                Poll::Ready(ended) => Poll::Ready(Ok(ended)),
                // One that waits for its turn gets it at its deadline, and is ended as one that computes.
                Poll::Pending if self.0.waits.load(Ordering::Relaxed) => Poll::Pending,
                Poll::Pending => late.as_mut().poll(context).map(|()| Err(Elapsed)),
            }
        })
        .await
    }

    fn hold(&self, share: Option<Share>) {
        let before = {
            let mut held = self.0.held.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *held, share)
        };
        // Others are woken outside of the lock.
        drop(before);
    }
}
