//! Bodies that are still arriving, and which of them is cut off if there are no bytes left. A body that arrives as fast
//! as those of the API server is never cut off.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// All bodies that are still arriving.
#[derive(Debug)]
pub(super) struct AllComing {
    slow: Duration,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    /// The bodies in the order in which they began.
    bodies: BTreeMap<u64, Entry>,
}

#[derive(Debug)]
struct Entry {
    since: Instant,
    cut: CancellationToken,
    gone: CancellationToken,
}

/// One body that is arriving, until it is dropped.
#[derive(Debug)]
pub(super) struct Coming {
    all: Arc<AllComing>,
    id: u64,
    cut: CancellationToken,
    gone: CancellationToken,
}

impl AllComing {
    /// A body that takes longer than `slow` may be cut off.
    pub fn new(slow: Duration) -> Arc<Self> {
        Arc::new(Self { slow, table: Mutex::default() })
    }

    /// Adds a body.
    pub fn begin(self: &Arc<Self>, now: Instant) -> Coming {
        let (cut, gone) = (CancellationToken::new(), CancellationToken::new());
        let mut table = self.table();
        let id = table.next;
        table.next += 1;
        table.bodies.insert(id, Entry { since: now, cut: cut.clone(), gone: gone.clone() });
        Coming { all: self.clone(), id, cut, gone }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Coming {
    /// Returns when others need the body's bytes.
    pub async fn cut(&self) {
        self.cut.cancelled().await;
    }

    /// Cuts off another body that is slow, and returns when it is gone. Returns false if there is none.
    pub async fn cut_another(&self, now: Instant) -> bool {
        let Some(gone) = self.told(now) else { return false };
        gone.cancelled().await;
        true
    }

    fn told(&self, now: Instant) -> Option<CancellationToken> {
        let mut table = self.all.table();
        let (id, entry) = table.bodies.iter().find(|(id, _)| **id != self.id)?;
        if now.duration_since(entry.since) < self.all.slow {
            return None;
        }
        let id = *id;
        let entry = table.bodies.remove(&id)?;
        entry.cut.cancel();
        Some(entry.gone)
    }
}

impl Drop for Coming {
    fn drop(&mut self) {
        self.all.table().bodies.remove(&self.id);
        self.gone.cancel();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_oldest_goes_when_it_is_slow() {
        let all = AllComing::new(Duration::from_secs(1));
        let (first, second) = (all.begin(Instant::now()), all.begin(Instant::now()));
        tokio::time::advance(Duration::from_millis(999)).await;
        let third = all.begin(Instant::now());
        assert!(!third.cut_another(Instant::now()).await);
        tokio::time::advance(Duration::from_millis(1)).await;
        let mut waits = Box::pin(third.cut_another(Instant::now()));
        assert!(waits.as_mut().now_or_never().is_none());
        assert!(first.cut().now_or_never().is_some() && second.cut().now_or_never().is_none());
        drop(first);
        assert!(waits.await);
        // A body never cuts off itself, and one that has arrived is not cut off.
        drop(second);
        assert!(!third.cut_another(Instant::now() + Duration::from_secs(9)).await);
        drop(third);
        assert!(all.table().bodies.is_empty());
    }
}
