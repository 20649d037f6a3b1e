//! One stream: a list for those who need one, a watch for all. Holds no object.
//!
//! Each subscriber is in one place: `waiting` for a list, in a task that delivers one or waits until
//! it has caught up, or `active` on the watch. Lists are delivered by tasks of their own, so that
//! the watch goes on beside them. Errors never end a stream; only its last subscriber does.

use std::{mem, sync::Arc, time::Duration};

use bytes::BytesMut;
use futures::future::pending;
use tokio::{
    sync::mpsc::UnboundedReceiver,
    task::{AbortHandle, JoinSet},
    time::{Instant, sleep_until},
};

use super::{
    WatchErrorKind,
    backoff::Backoff,
    connection::Lines,
    context::Context,
    error::{RequestError, chain},
    list::{self, Complete, Listed, Opened},
    outlet::{Delivery, Outlet},
    position::{self, Resume},
    request,
    stats::StreamState,
    wire::{self, Line},
};
use crate::model::Change;

/// A watch that ends sooner, and without a line, is an error.
const ENDED_AT_ONCE: Duration = Duration::from_secs(1);

/// Runs a stream until it is aborted. New subscribers come through `joins`.
pub(super) async fn run(context: Arc<Context>, joins: UnboundedReceiver<Outlet>) {
    let mut stream = Stream::new(context, joins);
    loop {
        stream.start_what_is_due();
        stream.context.board.set_state(stream.state());
        tokio::select! {
            joined = stream.joins.recv() => match joined {
                Some(outlet) => stream.waiting.push(outlet),
                None => return,
            },
            Some(done) = stream.tasks.join_next() => if let Ok(done) = done {
                stream.done(done);
            },
            line = stream.watch.next_line() => stream.heard(line).await,
        }
    }
}

struct Stream {
    context: Arc<Context>,
    joins: UnboundedReceiver<Outlet>,
    tasks: JoinSet<Done>,
    waiting: Vec<Outlet>,
    active: Vec<Outlet>,
    /// A list is being asked for; those who join share it.
    opening: bool,
    /// Lists on their way.
    delivering: usize,
    list_backoff: Backoff,
    list_not_before: Instant,
    watch: Watch,
    watch_backoff: Backoff,
    watch_not_before: Instant,
    /// Tells the latest try to connect from those before.
    attempt: u64,
    /// The version that the watch goes on from.
    position: String,
    /// History was lost, and no watch has worked since.
    expired: bool,
}

enum Watch {
    Off,
    Connecting(AbortHandle),
    Open { lines: Lines, since: Instant, fresh: bool },
}

impl Watch {
    fn open(lines: Lines) -> Self {
        Self::Open { lines, since: Instant::now(), fresh: true }
    }

    /// Cancel-safe.
    async fn next_line(&mut self) -> Result<Option<BytesMut>, RequestError> {
        match self {
            Self::Open { lines, .. } => lines.next().await,
            _ => pending().await,
        }
    }
}

enum Done {
    Opened(Result<Opened, RequestError>),
    Listed(Listed),
    Drained(Outlet),
    Connected { attempt: u64, result: Result<Lines, RequestError> },
}

impl Stream {
    fn new(context: Arc<Context>, joins: UnboundedReceiver<Outlet>) -> Self {
        let backoff = Backoff::new(context.config.backoff_initial, context.config.backoff_max);
        Self {
            context,
            joins,
            tasks: JoinSet::new(),
            waiting: Vec::new(),
            active: Vec::new(),
            opening: false,
            delivering: 0,
            list_backoff: backoff.clone(),
            list_not_before: Instant::now(),
            watch: Watch::Off,
            watch_backoff: backoff,
            watch_not_before: Instant::now(),
            attempt: 0,
            position: String::new(),
            expired: false,
        }
    }

    fn state(&self) -> StreamState {
        match self.watch {
            Watch::Open { .. } if !self.active.is_empty() => StreamState::Watching,
            _ if self.delivering > 0 => StreamState::Listing,
            _ => StreamState::Trying,
        }
    }

    fn start_what_is_due(&mut self) {
        self.waiting.retain(|outlet| !outlet.is_gone());
        if !self.opening && !self.waiting.is_empty() {
            self.opening = true;
            let (context, at) = (self.context.clone(), self.list_not_before);
            self.tasks.spawn(async move {
                sleep_until(at).await;
                Done::Opened(list::open(&context).await)
            });
        }
        if matches!(self.watch, Watch::Off) && !self.active.is_empty() {
            self.connect();
        }
    }

    fn connect(&mut self) {
        self.attempt += 1;
        let (context, at) = (self.context.clone(), self.watch_not_before);
        let (attempt, position) = (self.attempt, self.position.clone());
        self.watch = Watch::Connecting(self.tasks.spawn(async move {
            sleep_until(at).await;
            Done::Connected { attempt, result: open_watch(&context, &position).await }
        }));
    }

    fn done(&mut self, done: Done) {
        match done {
            Done::Opened(result) => {
                self.opening = false;
                match result {
                    Ok(opened) => self.deliver(opened),
                    Err(error) => self.list_failed(&error),
                }
            }
            Done::Listed(listed) => self.listed(listed),
            Done::Drained(outlet) => self.waiting.push(outlet),
            Done::Connected { attempt, .. } if attempt != self.attempt => {}
            Done::Connected { result: Ok(lines), .. } => self.watch = Watch::open(lines),
            Done::Connected { result: Err(error), .. } => self.watch_failed(&error),
        }
    }

    /// Gives a list to those who wait: to all of them but the slow, or to one of the slow.
    fn deliver(&mut self, opened: Opened) {
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

    fn listed(&mut self, listed: Listed) {
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

    fn go_on(&mut self, outlets: Vec<Outlet>, list: Complete) {
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

    fn note_what_is_seen(&mut self) {
        let at = position::number(&self.position).unwrap_or(0);
        for outlet in &mut self.active {
            outlet.seen = outlet.seen.max(at);
        }
    }

    async fn heard(&mut self, line: Result<Option<BytesMut>, RequestError>) {
        match line {
            Ok(Some(bytes)) => self.line(&bytes).await,
            Ok(None) => match self.watch {
                Watch::Open { fresh: true, since, .. } if since.elapsed() < ENDED_AT_ONCE => {
                    self.watch_failed(&RequestError::EndedAtOnce);
                }
                _ => self.watch_off(Duration::ZERO),
            },
            Err(RequestError::Silent(silence)) => {
                self.context.observer.on_rebuilt(&self.context.selection, silence);
                self.watch_off(Duration::ZERO);
            }
            Err(error) => self.watch_failed(&error),
        }
    }

    async fn line(&mut self, bytes: &[u8]) {
        match wire::line(bytes, &self.context.kind) {
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
                self.context.board.heard(0);
                self.position = version;
            }
            Err(error) => self.context.observer.on_invalid_object(&self.context.selection, &chain(&error)),
        }
        self.expired = false;
        self.watch_backoff.reset();
        if let Watch::Open { fresh, .. } = &mut self.watch {
            *fresh = false;
        }
    }

    async fn changed(&mut self, change: Change, version: &str) {
        self.context.board.heard(1);
        let number = position::number(version);
        let mut next = 0;
        while let Some(outlet) = self.active.get_mut(next) {
            let delivery = match number {
                Some(number) if number <= outlet.seen => Delivery::Done,
                _ => outlet.deliver(change.clone(), self.context.config.grace).await,
            };
            match delivery {
                Delivery::Done => next += 1,
                Delivery::Gone => drop(self.active.swap_remove(next)),
                Delivery::Lagging => {
                    let outlet = self.active.swap_remove(next);
                    self.leave_behind(outlet);
                }
            }
        }
        version.clone_into(&mut self.position);
    }

    /// Sends nothing more until everything sent was taken; then a list makes good what was missed.
    fn leave_behind(&mut self, mut outlet: Outlet) {
        self.context.observer.on_lagging(&self.context.selection);
        outlet.slow = true;
        self.tasks.spawn(async move {
            outlet.drained().await;
            Done::Drained(outlet)
        });
    }

    fn list_failed(&mut self, error: &RequestError) {
        let chance = rand::random_range(0.0..1.0);
        let delay = self.delay(error, |stream| stream.list_backoff.next(chance));
        self.list_not_before = Instant::now() + delay;
    }

    fn watch_failed(&mut self, error: &RequestError) {
        let chance = rand::random_range(0.0..1.0);
        let delay = self.delay(error, |stream| stream.watch_backoff.next(chance));
        if error.kind() == WatchErrorKind::Expired {
            self.list_not_before = Instant::now() + delay;
            self.forget_history();
        }
        self.watch_off(delay);
    }

    /// Reports an error and says how long to wait.
    fn delay(&mut self, error: &RequestError, backoff: impl FnOnce(&mut Self) -> Duration) -> Duration {
        let config = self.context.config.clone();
        let delay = match error.kind() {
            WatchErrorKind::Expired if !mem::replace(&mut self.expired, true) => Duration::ZERO,
            WatchErrorKind::NotFound => config.backoff_max,
            _ => backoff(self).max(error.retry_after().unwrap_or_default().min(config.retry_after_max)),
        };
        self.context.observer.on_watch_error(&self.context.selection, error.kind(), &chain(error), delay);
        delay
    }

    /// The server has no history after `position`. Who has seen more than that goes on from there,
    /// the others need a list.
    fn forget_history(&mut self) {
        let at = position::number(&self.position);
        let (ahead, lost): (Vec<_>, Vec<_>) =
            mem::take(&mut self.active).into_iter().partition(|outlet| at.is_some_and(|at| outlet.seen > at));
        self.waiting.extend(lost);
        if let Some(seen) = ahead.iter().map(|outlet| outlet.seen).min() {
            self.position = seen.to_string();
        }
        self.active = ahead;
    }

    fn watch_off(&mut self, delay: Duration) {
        if let Watch::Connecting(task) = mem::replace(&mut self.watch, Watch::Off) {
            task.abort();
        }
        self.attempt += 1;
        self.watch_not_before = Instant::now() + delay;
    }
}

async fn open_watch(context: &Context, position: &str) -> Result<Lines, RequestError> {
    let request = request::watch(&context.selection, position, context.watch_timeout())?;
    Lines::open(&context.client, request, context.config.silence, context.config.max_line_bytes).await
}
