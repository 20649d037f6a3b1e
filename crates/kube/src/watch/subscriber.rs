//! The stream's end of one subscription: a bounded channel, and how far its subscriber is. It knows nothing about
//! requests.

use std::time::Duration;

use boathook_core::{
    fair::{Pool, Share, Tenant},
    model::Change,
};
use tokio::{
    sync::mpsc,
    time::{Instant, timeout},
};

/// The unit in which bytes of objects on their way are counted.
pub(super) const UNIT: u64 = 1024;

/// A change on its way, with its share of the bytes that may be on their way.
#[derive(Debug)]
pub(super) struct Sent {
    pub change: Change,
    _part: Option<Share>,
}

/// The shortest period between two lists of one subscriber.
const MIN_PERIOD: Duration = Duration::from_secs(1);

/// What happened to a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delivery {
    /// It is in the channel.
    Done,
    /// The channel was full for too long. This subscriber does not get the change.
    Lagging,
    /// The subscription was dropped.
    Gone,
}

/// The sending end of one subscriber's changes.
#[derive(Debug)]
pub(super) struct Subscriber {
    sender: mpsc::Sender<Sent>,
    on_the_way: Pool,
    /// The tenant whose turn its lists take.
    pub tenant: Tenant,
    /// The newest version whose change it has, if versions are numbers. A change that is not newer is not delivered to
    /// it, because the stream may have gone back for another subscriber.
    pub seen: u64,
    /// It held up others, so it gets its next list alone.
    pub slow: bool,
    /// It has been notified that the kind is not served.
    pub reported_unserved: bool,
    /// Its resynchronization period.
    period: Option<Duration>,
    /// When it gets another list.
    pub due: Option<Instant>,
    full_since: Option<Instant>,
}

impl Subscriber {
    pub fn new(
        capacity: usize,
        on_the_way: Pool,
        tenant: Tenant,
        period: Option<Duration>,
    ) -> (Self, mpsc::Receiver<Sent>) {
        let (sender, receiver) = mpsc::channel(capacity.max(1));
        let subscriber = Self {
            sender,
            on_the_way,
            tenant,
            seen: 0,
            slow: false,
            reported_unserved: false,
            period,
            due: None,
            full_since: None,
        };
        (subscriber, receiver)
    }

    /// Notes that it got a list that shows `version`. Subscribers that got the list together get the next one together,
    /// if their periods and `stretch` are the same.
    pub fn listed(&mut self, version: u64, now: Instant, stretch: f64) {
        self.seen = version;
        self.slow = false;
        self.due = self.period.map(|period| now + period.max(MIN_PERIOD).mul_f64(stretch));
    }

    /// Whether it needs another list now.
    pub fn is_due(&self, now: Instant) -> bool {
        self.due.is_some_and(|due| due <= now)
    }

    /// Delivers a change within `grace`, counted from when the channel became full. A subscriber that frees one place
    /// at a time therefore also falls behind.
    pub async fn deliver(&mut self, change: Change, grace: Duration) -> Delivery {
        let part = self.units(&change).map(|units| self.on_the_way.try_take(&self.tenant, units));
        if let None | Some(Some(_)) = part
            && let Ok(place) = self.sender.try_reserve()
        {
            place.send(Sent { change, _part: part.flatten() });
            self.full_since = None;
            return Delivery::Done;
        }
        drop(part);
        let since = *self.full_since.get_or_insert_with(Instant::now);
        match timeout(grace.saturating_sub(since.elapsed()), self.deliver_patiently(change)).await {
            Ok(delivery) => delivery,
            Err(_) => Delivery::Lagging,
        }
    }

    /// Delivers a change, however long that takes.
    pub async fn deliver_patiently(&mut self, change: Change) -> Delivery {
        let part = async {
            match self.units(&change) {
                Some(units) => self.on_the_way.take(&self.tenant, units).await.ok(),
                None => None,
            }
        };
        let part = tokio::select! {
            part = part => part,
            () = self.sender.closed() => return Delivery::Gone,
        };
        match self.sender.send(Sent { change, _part: part }).await {
            Ok(()) => Delivery::Done,
            Err(_) => Delivery::Gone,
        }
    }

    /// The units that a change takes. An object that is larger than everything that may be on its way counts as that
    /// much, so it goes when nothing else is on its way.
    fn units(&self, change: &Change) -> Option<u64> {
        match change {
            Change::Upsert(object) | Change::Delete(object) => {
                Some((object.json.len() as u64).div_ceil(UNIT).min(self.on_the_way.most()))
            }
            Change::ListStarted | Change::ListDone | Change::Unserved => None,
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
    use boathook_core::model::Object;

    use super::*;

    const GRACE: Duration = Duration::from_secs(5);

    #[tokio::test(start_paused = true)]
    async fn one_place_at_a_time_is_not_enough() {
        let (mut subscriber, mut receiver) = Subscriber::new(2, Pool::new(16), Tenant::hook("h"), None);
        let start = Instant::now();
        let reader = tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_secs(1)).await;
                if receiver.recv().await.is_none() {
                    return;
                }
            }
        });
        while subscriber.deliver(Change::ListDone, GRACE).await == Delivery::Done {}
        assert!(start.elapsed() >= GRACE && start.elapsed() < GRACE * 2, "{:?}", start.elapsed());
        drop(subscriber);
        reader.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_free_channel_is_not_behind() {
        let (mut subscriber, mut receiver) = Subscriber::new(2, Pool::new(16), Tenant::hook("h"), None);
        for _ in 0..100 {
            assert_eq!(subscriber.deliver(Change::ListDone, GRACE).await, Delivery::Done);
            tokio::time::sleep(GRACE).await;
            receiver.recv().await.unwrap();
        }
        drop(receiver);
        assert_eq!(subscriber.deliver(Change::ListDone, GRACE).await, Delivery::Gone);
    }

    #[tokio::test(start_paused = true)]
    async fn drained_means_everything_is_taken() {
        let (mut subscriber, mut receiver) = Subscriber::new(2, Pool::new(16), Tenant::hook("h"), None);
        assert_eq!(subscriber.deliver(Change::ListStarted, GRACE).await, Delivery::Done);
        assert_eq!(subscriber.deliver(Change::ListDone, GRACE).await, Delivery::Done);
        assert_eq!(subscriber.deliver(Change::ListDone, GRACE).await, Delivery::Lagging);
        receiver.recv().await.unwrap();
        assert!(timeout(GRACE, subscriber.drained()).await.is_err());
        receiver.recv().await.unwrap();
        subscriber.drained().await;
        assert_eq!(subscriber.deliver(Change::ListDone, GRACE).await, Delivery::Done);
    }

    fn object(kibibytes: usize) -> Change {
        let json = format!("{{\"metadata\":{{\"name\":\"a\"}},\"data\":\"{}\"}}", "x".repeat(kibibytes * 1024 - 200));
        Change::Upsert(Object::from_json(&json, &"v1".into(), &"ConfigMap".into()).unwrap().into())
    }

    // mutant: crates/kube/src/watch/subscriber.rs: `Some((object.json.len() as u64).div_ceil(UNIT).min(self.on_the_way.most()))` => `Some(u64::from(object.json.is_empty()))`
    #[tokio::test(start_paused = true)]
    async fn one_tenants_objects_on_the_way_leave_room_for_anothers() {
        let way = Pool::new(64);
        let [(mut greedy, mut takes), (mut other, mut also)] =
            ["greedy", "other"].map(|tenant| Subscriber::new(100, way.clone(), Tenant::namespace(tenant), None));
        for _ in 0..4 {
            assert_eq!(greedy.deliver(object(12), GRACE).await, Delivery::Done);
        }
        assert_eq!(greedy.deliver(object(12), GRACE).await, Delivery::Lagging);
        assert_eq!(other.deliver(object(12), GRACE).await, Delivery::Done);
        // Marks take no units. Objects that were received free theirs.
        assert_eq!(greedy.deliver(Change::ListDone, Duration::ZERO).await, Delivery::Done);
        drop((takes.recv().await.unwrap(), also.recv().await.unwrap()));
        assert_eq!(greedy.deliver(object(12), GRACE).await, Delivery::Done);
        takes.close();
        assert_eq!(greedy.deliver_patiently(object(12)).await, Delivery::Gone);
    }

    #[tokio::test(start_paused = true)]
    async fn an_object_larger_than_a_share_goes_alone() {
        let (mut subscriber, mut receiver) = Subscriber::new(100, Pool::new(16), Tenant::hook("h"), None);
        for _ in 0..3 {
            assert_eq!(subscriber.deliver(object(40), GRACE).await, Delivery::Done);
            assert_eq!(subscriber.deliver(object(1), GRACE).await, Delivery::Lagging);
            drop(receiver.recv().await.unwrap());
        }
    }
}
