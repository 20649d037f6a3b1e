//! Turns to be answered. Their number is limited, and no hook can have all of them. Nothing is kept for a hook without
//! requests at the moment, because names come from requests.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The number of requests that may wait for each one that is answered.
const WAITING: usize = 4;

#[derive(Debug)]
pub(super) struct Shares {
    all: Arc<Semaphore>,
    each: usize,
    hooks: Mutex<HashMap<String, Weak<Share>>>,
}

/// The turns of one hook.
#[derive(Debug)]
struct Share {
    turns: Arc<Semaphore>,
    /// The places to wait in, including those for turns.
    places: Arc<Semaphore>,
}

/// A place, and then a turn. Dropping it gives both back.
#[derive(Debug)]
pub(super) struct Turn {
    _permits: [OwnedSemaphorePermit; 3],
    _share: Entry,
}

/// Removes the hook's share with its last request.
#[derive(Debug)]
struct Entry {
    share: Option<Arc<Share>>,
    of: String,
    shares: Arc<Shares>,
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut hooks = self.shares.hooks.lock().unwrap_or_else(PoisonError::into_inner);
        self.share = None;
        if hooks.get(&self.of).is_some_and(|share| share.strong_count() == 0) {
            hooks.remove(&self.of);
        }
    }
}

impl Shares {
    /// Creates `all` turns, of which one hook has at most `each`.
    pub fn new(all: usize, each: usize) -> Arc<Self> {
        let all = Arc::new(Semaphore::new(all.max(1)));
        Arc::new(Self { all, each: each.max(1), hooks: Mutex::default() })
    }

    /// Waits for a turn of `of`. Returns `None` if too many requests wait already.
    pub async fn turn(self: &Arc<Self>, of: &str) -> Option<Turn> {
        let entry = self.entry(of);
        let share = entry.share.clone()?;
        let place = share.places.clone().try_acquire_owned().ok()?;
        // The hook's own turn comes first. At most `each` requests of each hook then wait for the common turns.
        let own = share.turns.clone().acquire_owned().await.ok()?;
        let common = self.all.clone().acquire_owned().await.ok()?;
        drop(share);
        Some(Turn { _permits: [place, own, common], _share: entry })
    }

    fn entry(self: &Arc<Self>, of: &str) -> Entry {
        let mut hooks = self.hooks.lock().unwrap_or_else(PoisonError::into_inner);
        let share = hooks.get(of).and_then(Weak::upgrade).unwrap_or_else(|| {
            let turns = Arc::new(Semaphore::new(self.each));
            let places = Arc::new(Semaphore::new(self.each.saturating_mul(1 + WAITING)));
            let share = Arc::new(Share { turns, places });
            hooks.insert(of.to_owned(), Arc::downgrade(&share));
            share
        });
        Entry { share: Some(share), of: of.to_owned(), shares: self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn one_hook_leaves_turns_to_others() {
        let shares = Shares::new(4, 2);
        let first = shares.turn("a").await.unwrap();
        let _second = shares.turn("a").await.unwrap();
        let mut third = Box::pin(shares.turn("a"));
        assert!(third.as_mut().now_or_never().is_none());
        assert!(shares.turn("b").await.is_some());
        drop(first);
        assert!(third.await.is_some());
    }

    #[tokio::test]
    async fn waiting_is_bounded_and_giving_up_frees_the_place() {
        let shares = Shares::new(8, 1);
        let turn = shares.turn("a").await.unwrap();
        let mut waiting: Vec<_> = (0..4).map(|_| Box::pin(shares.turn("a"))).collect();
        for one in &mut waiting {
            assert!(one.as_mut().now_or_never().is_none());
        }
        assert!(shares.turn("a").await.is_none());
        waiting.pop();
        assert!(Box::pin(shares.turn("a")).as_mut().now_or_never().is_none());
        drop((waiting, turn));
        assert!(shares.turn("a").await.is_some());
    }

    #[tokio::test]
    async fn names_are_forgotten() {
        let shares = Shares::new(2, 1);
        for at in 0..100 {
            drop(shares.turn(&format!("made-up-{at}")).await);
        }
        let turn = shares.turn("a").await;
        drop(Box::pin(shares.turn("a")).as_mut().now_or_never());
        assert_eq!(shares.hooks.lock().unwrap().len(), 1);
        drop(turn);
        assert!(shares.hooks.lock().unwrap().is_empty());
    }
}
