//! Turns of tasks: which tenant's task is polled next.

use std::{
    future::poll_fn,
    pin::pin,
    task::Poll,
    thread,
    time::{Duration, Instant},
};

use futures::future::{BoxFuture, FutureExt as _};
use tokio::runtime::{Handle, RuntimeFlavor};

use super::{Pool, Share, State, Tenant};

/// Immediate polls take one part in this many of a thread's time.
const PART: u32 = 5;
/// How far immediate polls may run ahead of that: some events of an operator with little to do.
const AHEAD: Duration = Duration::from_millis(1);

/// The turn of a paced task.
enum Turn {
    None,
    Waits(BoxFuture<'static, Option<Share>>),
    /// The task is polled with the next poll.
    Now(Option<Share>),
}

impl Pool {
    /// Polls a tenant's task when there is a unit for it and everything else that is ready has been polled. However
    /// many tasks of one tenant are ready, another tenant's task is polled next. The runtime's own queue stays short: a
    /// task of no tenant waits for at most as many polls as there are units.
    ///
    /// An operator with little to do polls at once, because a postponed task wakes another thread.
    pub async fn paced<F: Future>(self, tenant: Tenant, task: F) -> F::Output {
        let (mut task, mut turn) = (pin!(task), Turn::None);
        poll_fn(|context| {
            let share = match std::mem::replace(&mut turn, Turn::None) {
                Turn::Now(share) => {
                    let polled = task.as_mut().poll(context);
                    drop(share);
                    return polled;
                }
                Turn::None => match self.try_take(&tenant, 1) {
                    Some(share) if self.lock().is_quiet(Instant::now()) => {
                        let begun = Instant::now();
                        let polled = task.as_mut().poll(context);
                        self.lock().polled_at_once(begun);
                        drop(share);
                        return polled;
                    }
                    Some(share) => Poll::Ready(Some(share)),
                    None => {
                        let (pool, tenant) = (self.clone(), tenant.clone());
                        let mut wait = async move { pool.take(&tenant, 1).await.ok() }.boxed();
                        let share = wait.poll_unpin(context);
                        turn = Turn::Waits(wait);
                        share
                    }
                },
                Turn::Waits(mut wait) => {
                    let share = wait.poll_unpin(context);
                    turn = Turn::Waits(wait);
                    share
                }
            };
            if let Poll::Ready(share) = share {
                turn = Turn::Now(share);
                context.waker().wake_by_ref();
            }
            Poll::Pending
        })
        .await
    }
}

impl State {
    /// Whether no other task has a unit or waits for one, and immediate polls have time left. The caller has just taken
    /// a unit.
    fn is_quiet(&self, now: Instant) -> bool {
        self.free + 1 >= self.capacity
            && self.waiting.is_empty()
            && self.at_once.is_none_or(|until| until <= now + AHEAD)
    }

    fn polled_at_once(&mut self, begun: Instant) {
        let now = Instant::now();
        let from = self.at_once.map_or(now, |until| until.max(now));
        self.at_once = Some(from + now.saturating_duration_since(begun) * PART);
    }
}

/// The number of threads of this runtime, or of the machine.
pub fn threads() -> u64 {
    let threads = match Handle::try_current() {
        Ok(runtime) if runtime.runtime_flavor() == RuntimeFlavor::MultiThread => runtime.metrics().num_workers(),
        _ => thread::available_parallelism().map_or(1, usize::from),
    };
    threads as u64
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    };

    use super::*;

    /// Tasks that are always ready: many of one tenant, one of another, and one of no tenant.
    // mutant: crates/core/src/fair/pace.rs: `turn = Turn::Now(share);` => `turn = Turn::Now(None); drop(share);`
    #[tokio::test]
    async fn tasks_of_tenants_are_polled_in_turns() {
        const MANY: u64 = 50;
        let pool = Pool::with(1, true);
        let polls = Arc::new([const { AtomicU64::new(0) }; 3]);
        let ready = |of: usize| {
            let polls = polls.clone();
            poll_fn(move |context| {
                polls[of].fetch_add(1, Ordering::Relaxed);
                let begun = Instant::now();
                while begun.elapsed() < Duration::from_micros(50) {
                    std::hint::spin_loop();
                }
                context.waker().wake_by_ref();
                Poll::<()>::Pending
            })
        };
        let mut tasks = tokio::task::JoinSet::new();
        for n in 0..=MANY {
            let (tenant, of) = if n < MANY { ("many", 0) } else { ("one", 1) };
            tasks.spawn(pool.clone().paced(Tenant::namespace(tenant), ready(of)));
        }
        tasks.spawn(ready(2));
        for _ in 0..20 * MANY {
            tokio::task::yield_now().await;
        }
        let [many, one, nobodys] = [0, 1, 2].map(|of| polls[of].load(Ordering::Relaxed));
        assert!(many > MANY && one * 3 > many, "{many} of one tenant, {one} of the other");
        assert!(nobodys * 8 > many, "{many} of one tenant, {nobodys} of nobody");
    }
}
