//! Who gets a list, and how the stream goes on when it is complete. Asks for nothing itself.

use std::{mem, time::Duration};

use tokio::time::Instant;

use super::{Done, Stream, Watch};
use crate::watch::{
    error::RequestError,
    list::{self, Complete, Listed, Opened},
    outlet::Outlet,
    position::{self, Resume},
};

impl Stream {
    /// Gives a list to those who wait: to all of them but the slow, or to one of the slow.
    pub(super) fn deliver(&mut self, opened: Opened) {
        self.waiting.retain(|outlet| !outlet.is_gone());
        let (slow, mut outlets): (Vec<_>, Vec<_>) = mem::take(&mut self.waiting).into_iter().partition(|o| o.slow);
        self.waiting = slow;
        let patient = outlets.is_empty();
        if patient {
            outlets.extend(self.waiting.pop());
        }
        if !outlets.is_empty() {
            self.delivering += 1;
            let context = self.context.clone();
            self.tasks.spawn(async move { Done::Listed(list::deliver(context, opened, outlets, patient).await) });
        }
    }

    pub(super) fn listed(&mut self, listed: Listed) {
        self.delivering = self.delivering.saturating_sub(1);
        for outlet in listed.behind {
            self.leave_behind(outlet);
        }
        match listed.result {
            _ if listed.outlets.is_empty() => {}
            Ok(complete) => self.go_on(listed.outlets, complete),
            Err(error) => {
                self.waiting.extend(listed.outlets);
                self.list_failed(&error);
            }
        }
    }

    pub(super) fn go_on(&mut self, outlets: Vec<Outlet>, list: Complete) {
        self.list_backoff.reset();
        let watch = (!self.active.is_empty()).then_some(self.position.as_str());
        let resume = position::resume(watch, &list.version);
        match resume {
            Resume::Keep => {}
            Resume::FromList => self.note_what_is_seen(),
            Resume::FromListAndRelist => self.waiting.append(&mut self.active),
        }
        let seen = position::number(&list.version).unwrap_or(0);
        for mut outlet in outlets {
            outlet.seen = seen;
            outlet.slow = false;
            self.active.push(outlet);
        }
        if resume != Resume::Keep {
            self.position = list.version;
            self.watch_off(Duration::ZERO);
            if let Some(lines) = list.watch {
                self.watch = Watch::open(lines);
            }
        }
    }

    pub(super) fn note_what_is_seen(&mut self) {
        let at = position::number(&self.position).unwrap_or(0);
        for outlet in &mut self.active {
            outlet.seen = outlet.seen.max(at);
        }
    }

    pub(super) fn list_failed(&mut self, error: &RequestError) {
        let chance = rand::random_range(0.0..1.0);
        let delay = self.delay(error, |stream| stream.list_backoff.next(chance));
        self.list_not_before = Instant::now() + delay;
    }
}
