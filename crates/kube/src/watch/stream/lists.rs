//! Decides which subscribers get a list, and how the stream continues when it is complete.

use std::{mem, time::Duration};

use boathook_core::model::Change;
use tokio::time::Instant;

use super::{Done, Stream, Watch};
use crate::watch::{
    error::RequestError,
    list::{self, Complete, Listed, Opened},
    position::{self, Resume},
    subscriber::{Delivery, Subscriber},
};

impl Stream {
    /// Gives a list to the subscribers that wait for one and to those for which one is due: either to all of them
    /// except the slow ones, or to one of the slow ones.
    pub(super) fn deliver(&mut self, opened: Opened) {
        self.waiting.retain(|subscriber| !subscriber.is_gone());
        // Subscribers that are due leave the watch only now that the list is there. If the server gives no list, they
        // stay on the watch.
        let now = Instant::now();
        self.waiting.extend(self.active.extract_if(.., |subscriber| subscriber.is_due(now)));
        let (slow, mut subscribers): (Vec<_>, Vec<_>) = mem::take(&mut self.waiting).into_iter().partition(|o| o.slow);
        self.waiting = slow;
        let patient = subscribers.is_empty();
        if patient {
            subscribers.extend(self.waiting.pop());
        }
        for subscriber in &mut subscribers {
            subscriber.told_unserved = false;
        }
        if !subscribers.is_empty() {
            self.delivering += 1;
            let context = self.context.clone();
            self.tasks.spawn(async move { Done::Listed(list::deliver(context, opened, subscribers, patient).await) });
        }
    }

    pub(super) async fn listed(&mut self, listed: Listed) {
        self.delivering = self.delivering.saturating_sub(1);
        for subscriber in listed.behind {
            self.leave_behind(subscriber);
        }
        match listed.result {
            _ if listed.subscribers.is_empty() => {}
            Ok(complete) => self.go_on(listed.subscribers, complete, &listed.asked_at),
            Err(error) => {
                self.waiting.extend(listed.subscribers);
                self.list_failed(&error).await;
            }
        }
    }

    pub(super) fn go_on(&mut self, subscribers: Vec<Subscriber>, list: Complete, asked_at: &str) {
        self.list_backoff.reset();
        self.unserved = false;
        let watch = (!self.active.is_empty()).then_some(self.position.as_str());
        let resume = position::resume(watch, asked_at, &list.version);
        match resume {
            Resume::Keep => {}
            Resume::FromList => self.note_what_is_seen(),
            Resume::FromListAndRelist => self.waiting.append(&mut self.active),
        }
        let seen = position::number(&list.version).unwrap_or(0);
        let (now, stretch) = (Instant::now(), rand::random_range(1.0..1.05));
        for mut subscriber in subscribers {
            subscriber.listed(seen, now, stretch);
            self.active.push(subscriber);
        }
        if resume != Resume::Keep {
            self.watch_off(Duration::ZERO);
            // Whatever was known before, the list is the truth now.
            (self.doubt, self.missing, self.witness) = (false, None, list.witness);
            self.position = list.version;
            if let Some(lines) = list.watch {
                self.watch = Watch::open(lines);
            }
        }
    }

    pub(super) fn note_what_is_seen(&mut self) {
        let at = position::number(&self.position).unwrap_or(0);
        for subscriber in &mut self.active {
            subscriber.seen = subscriber.seen.max(at);
        }
    }

    pub(super) async fn list_failed(&mut self, error: &RequestError) {
        let chance = rand::random_range(0.0..1.0);
        let delay = self.delay(error, |stream| stream.list_backoff.next(chance));
        self.list_not_before = Instant::now() + delay;
        if error.is_unserved() {
            self.tell_unserved().await;
        }
    }

    /// Notifies each subscriber once. Subscribers on a watch are notified only when the watch has ended too.
    async fn tell_unserved(&mut self) {
        if !mem::replace(&mut self.unserved, true) {
            self.context.observer.on_unserved(&self.context.selection);
        }
        for mut subscriber in mem::take(&mut self.waiting) {
            if !subscriber.told_unserved {
                match subscriber.deliver(Change::Unserved, self.context.config.grace).await {
                    Delivery::Done => subscriber.told_unserved = true,
                    Delivery::Gone => continue,
                    Delivery::Lagging => {
                        self.leave_behind(subscriber);
                        continue;
                    }
                }
            }
            self.waiting.push(subscriber);
        }
    }
}
