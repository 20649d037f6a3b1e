//! Delivers the changes of the watch to all active subscribers. A subscriber that is too slow falls behind, and never
//! holds up the others for long.

use std::time::Duration;

use boathook_core::model::Change;
use bytes::BytesMut;

use super::{Done, Stream, Watch, recovery::FIRST_PATIENCE};
use crate::watch::{
    error::{RequestError, chain},
    past::Witness,
    position,
    subscriber::{Delivery, Subscriber},
    wire::{self, Line},
};

/// A watch that ends sooner, and without a line, is an error.
const ENDED_AT_ONCE: Duration = Duration::from_secs(1);

impl Stream {
    pub(super) async fn heard(&mut self, line: Result<Option<BytesMut>, RequestError>) {
        match line {
            Ok(Some(bytes)) => self.line(&bytes).await,
            Ok(None) => match self.watch {
                Watch::Open { fresh: true, since, .. } if since.elapsed() < ENDED_AT_ONCE => {
                    self.watch_failed(&RequestError::EndedAtOnce);
                }
                _ => self.watch_off(Duration::ZERO),
            },
            Err(RequestError::Silent(silence)) => self.fell_silent(silence),
            Err(error) => self.watch_failed(&error),
        }
    }

    pub(super) async fn line(&mut self, bytes: &[u8]) {
        let line = wire::line(bytes, &self.context.kind);
        if let (Some(missing), Ok(line)) = (&self.missing, &line) {
            match missing.settled_by(line) {
                Ok(false) => {}
                Ok(true) => self.missing = None,
                Err(found) => {
                    self.missing = None;
                    let known = position::number(&self.position).unwrap_or_default();
                    return self.watch_failed(&RequestError::WentBack { known, found });
                }
            }
        }
        match line {
            Ok(Line::Failed(error)) => return self.watch_failed(&error),
            Ok(Line::Upsert(object)) => {
                let version = object.resource_version.clone();
                self.changed(Change::Upsert(object), &version).await;
            }
            Ok(Line::Delete(object)) => {
                let version = object.resource_version.clone();
                self.changed(Change::Delete(object), &version).await;
            }
            Ok(Line::Bookmark { version, .. }) => {
                self.context.watch_stats.heard(0);
                self.position = version;
            }
            Err(error) => self.context.observer.on_invalid_object(&self.context.selection, &chain(&error)),
        }
        self.expired = false;
        self.watch_backoff.reset();
        (self.silences, self.patience) = (0, FIRST_PATIENCE);
        if let Watch::Open { fresh, .. } = &mut self.watch {
            *fresh = false;
        }
    }

    pub(super) async fn changed(&mut self, change: Change, version: &str) {
        self.context.watch_stats.heard(1);
        let witness = match &change {
            Change::Upsert(object) => Witness::new(object, false),
            Change::Delete(object) => Witness::new(object, true),
            _ => None,
        };
        self.witness = Witness::later(self.witness.take(), witness);
        let number = position::number(version);
        let mut next = 0;
        while let Some(subscriber) = self.active.get_mut(next) {
            let delivery = match number {
                Some(number) if number <= subscriber.seen => Delivery::Done,
                _ => subscriber.deliver(change.clone(), self.context.config.grace).await,
            };
            match delivery {
                Delivery::Done => next += 1,
                Delivery::Gone => drop(self.active.swap_remove(next)),
                Delivery::Lagging => {
                    let subscriber = self.active.swap_remove(next);
                    self.leave_behind(subscriber);
                }
            }
        }
        version.clone_into(&mut self.position);
    }

    /// Sends nothing more until the subscriber has taken everything that was sent. A list then replaces what it missed.
    pub(super) fn leave_behind(&mut self, mut subscriber: Subscriber) {
        self.context.observer.on_lagging(&self.context.selection);
        subscriber.slow = true;
        self.tasks.spawn(async move {
            subscriber.drained().await;
            Done::Drained(subscriber)
        });
    }
}
