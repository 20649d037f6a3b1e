//! Whose guest computes, and where.
//!
//! A call begins on the threads of the async runtime, where most calls end within microseconds. If a guest computes
//! when a tick comes, it lets others go first. If it has used more than [`SHORT`] of CPU time, it continues in a thread
//! of its own with a low priority, so that the kernel runs the rest of the operator first. There it waits for a turn,
//! which is one more tick, and tenants take these turns one after another. Time in which it waits for its host does not
//! count, nor does what other threads do for it.
//!
//! We rejected threads for all guests: each host call would change threads, which costs an ordinary run more than all
//! of its work. We rejected turns on the threads of the runtime: everything else would wait for a tick again and again.

use std::{
    future::{pending, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::Poll,
    thread,
    time::{Duration, Instant},
};

use boathook_core::fair::{Pool, Share, Tenant, threads};
use futures::future::{BoxFuture, FutureExt as _};
use rustix::time::{ClockId, clock_gettime};
use tokio::{
    runtime::Handle,
    sync::oneshot,
    time::{sleep_until, timeout_at},
};
use tracing::instrument::{Instrument as _, WithSubscriber as _};

/// What is added to the nice value of guests' threads: they get a tenth of the CPU time of the other threads, if both
/// want it.
const NICE: i32 = 10;

/// The CPU time of a call on the threads of the runtime: two ticks.
const SHORT: Duration = Duration::from_millis(10);

/// The turns of a sandbox.
#[derive(Clone)]
pub(super) struct Turns(Pool);

impl Turns {
    /// There are as many turns as the runtime has threads. A tenant alone never gets the last one, unless it is the
    /// only one.
    pub(super) fn new() -> Self {
        Self(Pool::new(threads()))
    }

    /// Creates the turns of one call of a guest.
    pub(super) fn of(&self, tenant: &Tenant) -> Turn {
        let (pool, tenant) = (self.0.clone(), tenant.clone());
        Turn(Arc::new(Inner {
            pool,
            tenant,
            held: Mutex::default(),
            waits: false.into(),
            used: 0.into(),
            begun: 0.into(),
            long: false.into(),
        }))
    }
}

/// The guest did not answer until its deadline, and is not computing.
pub(super) struct Elapsed;

/// The turns of one call. Cheap to clone.
#[derive(Clone)]
pub(super) struct Turn(Arc<Inner>);

struct Inner {
    pool: Pool,
    tenant: Tenant,
    /// Held from the moment at which the guest continues until the end of that poll.
    held: Mutex<Option<Share>>,
    waits: AtomicBool,
    /// The CPU time of the call's polls that have ended, in nanoseconds.
    used: AtomicU64,
    /// The clock of CPU time at the beginning of the current poll.
    begun: AtomicU64,
    /// The guest has computed for long.
    long: AtomicBool,
}

impl Inner {
    /// Polls the call, and counts its CPU time.
    fn timed<T>(&self, poll: impl FnOnce() -> T) -> T {
        self.begun.store(cpu_time(), Ordering::Relaxed);
        let polled = poll();
        self.used.fetch_add(self.of_this_poll(), Ordering::Relaxed);
        polled
    }

    fn of_this_poll(&self) -> u64 {
        cpu_time().saturating_sub(self.begun.load(Ordering::Relaxed))
    }

    fn used(&self) -> Duration {
        Duration::from_nanos(self.used.load(Ordering::Relaxed))
    }
}

/// The CPU time of this thread, in nanoseconds.
fn cpu_time() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    // Neither value is negative.
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

impl Turn {
    /// The CPU time of the call so far. The call must be under way.
    pub(super) fn cpu_time(&self) -> Duration {
        self.0.used() + Duration::from_nanos(self.0.of_this_poll())
    }

    /// Called when a tick comes while the guest computes. Returns when the guest may compute for another tick or has
    /// reached its deadline. The error that then ends it shows its place.
    pub(super) async fn next(self, deadline: Instant) {
        self.0.waits.store(true, Ordering::Relaxed);
        let mut share = None;
        if self.cpu_time() > SHORT {
            self.0.long.store(true, Ordering::Relaxed);
            let turn = self.0.pool.take(&self.0.tenant, 1);
            share = timeout_at(deadline.into(), turn).await.ok().and_then(Result::ok);
        }
        // Yields at least once, so that other tasks are polled, and so that the poller sees that the guest computes for
        // long.
        tokio::task::yield_now().await;
        self.0.waits.store(false, Ordering::Relaxed);
        self.hold(share);
    }

    /// Polls a call of the guest, and returns how much CPU time it took. The call starts in the current thread, and
    /// moves to a thread of its own if the guest computes for long. If the call is dropped then, it ends with the
    /// guest's current tick. What the call `holds` is dropped after it, where it ends.
    pub(super) async fn run_isolated<T: Send + 'static>(
        &self,
        holds: impl Send + 'static,
        mut call: BoxFuture<'static, T>,
    ) -> (T, Duration) {
        let here = poll_fn(|context| match self.0.timed(|| call.poll_unpin(context)) {
            Poll::Ready(ended) => Poll::Ready(Some(ended)),
            Poll::Pending if self.0.long.load(Ordering::Relaxed) => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        });
        match here.await {
            Some(ended) => (ended, self.0.used()),
            None => {
                let turn = self.0.clone();
                let call = async move {
                    let ended = poll_fn(|context| turn.timed(|| call.poll_unpin(context))).await;
                    drop(holds);
                    (ended, turn.used())
                };
                in_a_thread(call.boxed()).await
            }
        }
    }

    /// Calls the guest until the deadline. Each poll ends a turn, because a guest that waits for its host does not
    /// compute.
    pub(super) async fn around<T>(&self, deadline: Instant, call: impl Future<Output = T>) -> Result<T, Elapsed> {
        let (mut call, mut late) = (pin!(call), pin!(sleep_until(deadline.into())));
        poll_fn(|context| {
            let polled = call.as_mut().poll(context);
            self.hold(None);
            match polled {
                Poll::Ready(ended) => Poll::Ready(Ok(ended)),
                // A guest that waits for its turn gets it at its deadline, and is then ended like one that computes.
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
        // Wakes others outside of the lock.
        drop(before);
    }
}

/// Runs a call in a new thread. The thread uses the runtime for everything but the polls of the call. If no thread can
/// be started, the call continues here.
async fn in_a_thread<T: Send + 'static>(call: BoxFuture<'static, T>) -> T {
    let (mut ended, answer) = oneshot::channel();
    let call = Arc::new(Mutex::new(Some(call.in_current_span().with_current_subscriber())));
    let take = |call: &Mutex<Option<_>>| call.lock().unwrap_or_else(PoisonError::into_inner).take();
    let (given, runtime) = (call.clone(), Handle::current());
    let thread = thread::Builder::new().name("guest".into()).spawn(move || {
        let Some(call) = take(&given) else { return };
        #[cfg(target_os = "linux")]
        // On other systems, this would change the whole process. If the priority cannot be lowered, nothing is lost.
        let _ = rustix::process::nice(NICE);
        let call = async {
            tokio::select! {
                biased;
                () = ended.closed() => None,
                answer = call => Some(answer),
            }
        };
        let answer = catch_unwind(AssertUnwindSafe(|| runtime.block_on(call)));
        // An error means that nobody waits any more.
        let _ = ended.send(answer);
    });
    if thread.is_err()
        && let Some(call) = take(&call)
    {
        return call.await;
    }
    match answer.await {
        Ok(Ok(Some(answer))) => answer,
        Ok(Err(panic)) => resume_unwind(panic),
        // This only happens if the call is dropped, and then nobody polls this.
        Ok(Ok(None)) | Err(_) => pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // mutant: crates/sandbox/src/turns.rs: `self.used.fetch_add(self.of_this_poll(), Ordering::Relaxed);` => ``
    #[tokio::test(start_paused = true)]
    async fn waiting_costs_nothing_and_work_does() {
        let turns = Turns::new();
        let of = |call: BoxFuture<'static, ()>| turns.of(&Tenant::hook("h")).apart_of_nothing(call);
        let waited = of(tokio::time::sleep(Duration::from_secs(5)).boxed()).await;
        assert!(waited < Duration::from_secs(1), "{waited:?}");
        let begun = cpu_time();
        let works = async move {
            while cpu_time().saturating_sub(begun) < 20_000_000 {
                std::hint::spin_loop();
            }
        };
        let worked = of(works.boxed()).await;
        assert!(worked > Duration::from_millis(10), "{worked:?}");
    }

    impl Turn {
        async fn apart_of_nothing(self, call: BoxFuture<'static, ()>) -> Duration {
            self.run_isolated((), call).await.1
        }
    }
}
