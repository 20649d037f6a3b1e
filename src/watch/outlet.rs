//! A stream's end of one subscription: a bounded channel, and how far its subscriber is. Knows
//! nothing of requests.

use std::time::Duration;

use tokio::{
    sync::mpsc::{self, error::TrySendError},
    time::{Instant, timeout},
};

use crate::model::Change;

/// Nobody is listed anew more often.
const MIN_PERIOD: Duration = Duration::from_secs(1);

/// What became of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delivery {
    /// It is in the channel.
    Done,
    /// The channel was full for too long; the change is lost to this subscriber.
    Lagging,
    /// The subscription was dropped.
    Gone,
}

/// Where one subscriber gets its changes from.
#[derive(Debug)]
pub(super) struct Outlet {
    sender: mpsc::Sender<Change>,
    /// The newest version whose change it has, if versions are numbers. What is not newer is not
    /// for it: the stream may have gone back for the sake of another subscriber.
    pub seen: u64,
    /// It held up others; it gets its next list alone.
    pub slow: bool,
    /// It was told that the kind is not served.
    pub told_unserved: bool,
    /// Its resynchronization period.
    period: Option<Duration>,
    /// When it is to be listed anew.
    pub due: Option<Instant>,
    full_since: Option<Instant>,
}

impl Outlet {
    pub fn new(capacity: usize, period: Option<Duration>) -> (Self, mpsc::Receiver<Change>) {
        let (sender, receiver) = mpsc::channel(capacity.max(1));
        (Self { sender, seen: 0, slow: false, told_unserved: false, period, due: None, full_since: None }, receiver)
    }

    /// It got a list that shows `version`. Those who got it together get the next one together, as long as
    /// their periods and `stretch` are the same.
    pub fn listed(&mut self, version: u64, now: Instant, stretch: f64) {
        self.seen = version;
        self.slow = false;
        self.due = self.period.map(|period| now + period.max(MIN_PERIOD).mul_f64(stretch));
    }

    /// Whether it is to be listed anew.
    pub fn is_due(&self, now: Instant) -> bool {
        self.due.is_some_and(|due| due <= now)
    }

    /// Delivers within `grace`, counted from when the channel became full: also a subscriber that
    /// frees one place at a time is behind then.
    pub async fn deliver(&mut self, change: Change, grace: Duration) -> Delivery {
        match self.sender.try_send(change) {
            Ok(()) => {
                self.full_since = None;
                Delivery::Done
            }
            Err(TrySendError::Closed(_)) => Delivery::Gone,
            Err(TrySendError::Full(change)) => {
                let since = *self.full_since.get_or_insert_with(Instant::now);
                match timeout(grace.saturating_sub(since.elapsed()), self.sender.reserve()).await {
                    Ok(Ok(place)) => {
                        place.send(change);
                        Delivery::Done
                    }
                    Ok(Err(_)) => Delivery::Gone,
                    Err(_) => Delivery::Lagging,
                }
            }
        }
    }

    /// Delivers, however long that takes.
    pub async fn deliver_patiently(&mut self, change: Change) -> Delivery {
        match self.sender.send(change).await {
            Ok(()) => Delivery::Done,
            Err(_) => Delivery::Gone,
        }
    }

    /// Waits until the subscriber has taken everything, or is gone.
    pub async fn drained(&mut self) {
        let _ = self.sender.reserve_many(self.sender.max_capacity()).await;
        self.full_since = None;
    }

    pub fn is_gone(&self) -> bool {
        self.sender.is_closed()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const GRACE: Duration = Duration::from_secs(5);

    #[tokio::test(start_paused = true)]
    async fn one_place_at_a_time_is_not_enough() {
        let (mut outlet, mut receiver) = Outlet::new(2, None);
        let start = Instant::now();
        let reader = tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_secs(1)).await;
                if receiver.recv().await.is_none() {
                    return;
                }
            }
        });
        while outlet.deliver(Change::ListDone, GRACE).await == Delivery::Done {}
        assert!(start.elapsed() >= GRACE && start.elapsed() < GRACE * 2, "{:?}", start.elapsed());
        drop(outlet);
        reader.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_free_channel_is_not_behind() {
        let (mut outlet, mut receiver) = Outlet::new(2, None);
        for _ in 0..100 {
            assert_eq!(outlet.deliver(Change::ListDone, GRACE).await, Delivery::Done);
            tokio::time::sleep(GRACE).await;
            receiver.recv().await.unwrap();
        }
        drop(receiver);
        assert_eq!(outlet.deliver(Change::ListDone, GRACE).await, Delivery::Gone);
    }

    #[tokio::test(start_paused = true)]
    async fn drained_means_everything_is_taken() {
        let (mut outlet, mut receiver) = Outlet::new(2, None);
        assert_eq!(outlet.deliver(Change::ListStarted, GRACE).await, Delivery::Done);
        assert_eq!(outlet.deliver(Change::ListDone, GRACE).await, Delivery::Done);
        assert_eq!(outlet.deliver(Change::ListDone, GRACE).await, Delivery::Lagging);
        receiver.recv().await.unwrap();
        assert!(timeout(GRACE, outlet.drained()).await.is_err());
        receiver.recv().await.unwrap();
        outlet.drained().await;
        assert_eq!(outlet.deliver(Change::ListDone, GRACE).await, Delivery::Done);
    }
}
