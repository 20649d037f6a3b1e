//! One stream: a list for the subscribers that need one, and a watch for all. It holds no object.
//!
//! Each subscriber is in one place: in `waiting` for a list, in a task that delivers a list or waits until the
//! subscriber has caught up, or in `active` on the watch. Separate tasks deliver lists, so that the watch continues in
//! the meantime. Errors never end a stream. Only its last subscriber does.

use std::{collections::BTreeSet, mem, panic::resume_unwind, sync::Arc, time::Duration};

use boathook_core::{
    fair::Tenant,
    model::{Change, Object, error_chain},
};
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
    error::RequestError,
    list::{self, Complete, Listed, Opened},
    request,
    rollback::{self, LastChange, Missing, Resume},
    stats::StreamState,
    subscriber::{Delivery, Subscriber},
    wire::{self, Line},
};

/// A watch that ends sooner, and without a line, is an error.
const ENDED_AT_ONCE: Duration = Duration::from_secs(1);
/// The number of silent watches in a row after which the stream is listed again.
const FIRST_PATIENCE: u32 = 2;
/// The upper bound of that number. Some aggregated servers send no bookmarks. Each list that is followed only by
/// silence doubles the number, up to this.
const MAX_PATIENCE: u32 = 32;

/// Runs a stream until it is aborted. New subscribers arrive through `joins`. Panics if one of its tasks panicked.
pub(super) async fn run(context: Arc<Context>, joins: UnboundedReceiver<Subscriber>) {
    let mut stream = Stream::new(context, joins);
    loop {
        stream.start_what_is_due();
        stream.context.watch_stats.lock().state = stream.state();
        let due = stream.next_due();
        tokio::select! {
            joined = stream.joins.recv() => match joined {
                Some(subscriber) => stream.joined(subscriber),
                None => return,
            },
            Some(done) = stream.tasks.join_next() => match done {
                Ok(done) => stream.done(done).await,
                // The subscribers that the task held are lost, so the whole stream restarts.
                Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
                Err(_) => {}
            },
            line = stream.watch.next_line() => stream.heard(line).await,
            () = wait_until(due) => {}
        }
    }
}

struct Stream {
    context: Arc<Context>,
    joins: UnboundedReceiver<Subscriber>,
    tasks: JoinSet<Done>,
    waiting: Vec<Subscriber>,
    active: Vec<Subscriber>,
    /// A list is being requested. Subscribers that join now share it.
    opening: bool,
    /// Lists on their way.
    delivering: usize,
    list_backoff: Backoff,
    list_not_before: Instant,
    watch: Watch,
    watch_backoff: Backoff,
    watch_not_before: Instant,
    /// Distinguishes the latest try to connect from earlier ones.
    attempt: u64,
    /// The version from which the watch continues.
    position: String,
    /// History was lost, and no watch has worked since.
    expired: bool,
    /// The server did not know the kind, and no list has worked since.
    unserved: bool,
    /// Watches in a row that were silent from beginning to end.
    silences: u32,
    /// After this many silent watches, the stream is listed again.
    patience: u32,
    /// A watch ended, and it is unknown to which server the next one leads.
    doubt: bool,
    witness: Option<LastChange>,
    /// The deletion that the watch must send. If it does not, the server went back in time.
    missing: Option<Missing>,
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
    Opened { hurried: bool, result: Result<Opened, RequestError> },
    Listed(Listed),
    Drained(Subscriber),
    Connected { attempt: u64, result: Result<(Lines, Option<Missing>), RequestError> },
}

impl Stream {
    fn new(context: Arc<Context>, joins: UnboundedReceiver<Subscriber>) -> Self {
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
            unserved: false,
            silences: 0,
            patience: FIRST_PATIENCE,
            doubt: false,
            witness: None,
            missing: None,
        }
    }

    fn state(&self) -> StreamState {
        match self.watch {
            Watch::Open { .. } if !self.active.is_empty() => StreamState::Watching,
            _ if self.delivering > 0 => StreamState::Listing,
            _ if self.unserved => StreamState::Unserved,
            _ => StreamState::Trying,
        }
    }

    fn joined(&mut self, subscriber: Subscriber) {
        self.waiting.push(subscriber);
        if self.unserved {
            // A new subscriber probably knows that the kind is served again.
            self.context.hurry.notify_one();
        }
    }

    fn start_what_is_due(&mut self) {
        self.waiting.retain(|subscriber| !subscriber.is_gone());
        let now = Instant::now();
        if !self.opening && (!self.waiting.is_empty() || self.active.iter().any(|subscriber| subscriber.is_due(now))) {
            self.opening = true;
            let (context, at) = (self.context.clone(), self.list_not_before);
            let (asked_at, tenants) = (self.position.clone(), self.tenants(now));
            // However often the stream is hurried, it lists no sooner than this.
            let earliest = at.min(Instant::now() + context.config.backoff_initial);
            self.tasks.spawn(async move {
                sleep_until(earliest).await;
                let hurried = tokio::select! {
                    biased;
                    () = sleep_until(at) => false,
                    () = context.hurry.notified() => true,
                };
                Done::Opened { hurried, result: list::open(&context, asked_at, &tenants).await }
            });
        }
        if matches!(self.watch, Watch::Off) && !self.active.is_empty() {
            self.connect();
        }
    }

    /// The tenants whose subscribers need a list now.
    fn tenants(&self, now: Instant) -> Vec<Tenant> {
        let due = self.active.iter().filter(|subscriber| subscriber.is_due(now));
        let tenants: BTreeSet<_> = self.waiting.iter().chain(due).map(|subscriber| subscriber.tenant.clone()).collect();
        tenants.into_iter().collect()
    }

    /// When the next list is due for a subscriber that does not need one yet.
    fn next_due(&self) -> Option<Instant> {
        if self.opening { None } else { self.active.iter().filter_map(|subscriber| subscriber.due).min() }
    }

    fn connect(&mut self) {
        self.attempt += 1;
        let (context, at) = (self.context.clone(), self.watch_not_before);
        let (attempt, position) = (self.attempt, self.position.clone());
        let (doubt, witness) = (self.doubt, self.witness.clone());
        self.watch = Watch::Connecting(self.tasks.spawn(async move {
            sleep_until(at).await;
            let open = async {
                let missing = if doubt { rollback::look(&context, &position, witness.as_ref()).await? } else { None };
                Ok::<_, RequestError>((open_watch(&context, &position).await?, missing))
            };
            Done::Connected { attempt, result: open.await }
        }));
    }

    async fn done(&mut self, done: Done) {
        match done {
            Done::Opened { hurried, result } => {
                self.opening = false;
                if hurried {
                    self.list_backoff.reset();
                }
                match result {
                    Ok(opened) => self.deliver(opened),
                    Err(error) => self.list_failed(&error).await,
                }
            }
            Done::Listed(listed) => self.listed(listed).await,
            Done::Drained(subscriber) => self.waiting.push(subscriber),
            Done::Connected { attempt, .. } if attempt != self.attempt => {}
            Done::Connected { result: Ok((lines, missing)), .. } => {
                (self.doubt, self.missing) = (false, missing.or(self.missing.take()));
                self.context.watch_stats.heard(0);
                self.watch = Watch::open(lines);
            }
            Done::Connected { result: Err(error), .. } => self.watch_failed(&error),
        }
    }

    /// Gives a list to the subscribers that wait for one and to those for which one is due: either to all of them
    /// except the slow ones, or to one of the slow ones.
    fn deliver(&mut self, opened: Opened) {
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
            subscriber.reported_unserved = false;
        }
        if !subscribers.is_empty() {
            self.delivering += 1;
            let context = self.context.clone();
            self.tasks.spawn(async move { Done::Listed(list::deliver(context, opened, subscribers, patient).await) });
        }
    }

    async fn listed(&mut self, listed: Listed) {
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

    fn go_on(&mut self, subscribers: Vec<Subscriber>, list: Complete, asked_at: &str) {
        self.list_backoff.reset();
        self.unserved = false;
        let watch = (!self.active.is_empty()).then_some(self.position.as_str());
        let resume = rollback::resume(watch, asked_at, &list.version);
        match resume {
            Resume::Keep => {}
            Resume::FromList => self.note_what_is_seen(),
            Resume::FromListAndRelist => self.waiting.append(&mut self.active),
        }
        let seen = rollback::number(&list.version).unwrap_or(0);
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

    fn note_what_is_seen(&mut self) {
        let at = rollback::number(&self.position).unwrap_or(0);
        for subscriber in &mut self.active {
            subscriber.seen = subscriber.seen.max(at);
        }
    }

    async fn list_failed(&mut self, error: &RequestError) {
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
            if !subscriber.reported_unserved {
                match subscriber.deliver(Change::Unserved, self.context.config.grace).await {
                    Delivery::Done => subscriber.reported_unserved = true,
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

    async fn heard(&mut self, line: Result<Option<BytesMut>, RequestError>) {
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

    async fn line(&mut self, bytes: &[u8]) {
        let line = wire::line(bytes, &self.context.kind);
        if let (Some(missing), Ok(line)) = (&self.missing, &line) {
            match missing.settled_by(line) {
                Ok(false) => {}
                Ok(true) => self.missing = None,
                Err(found) => {
                    self.missing = None;
                    let known = rollback::number(&self.position).unwrap_or_default();
                    return self.watch_failed(&RequestError::WentBack { known, found });
                }
            }
        }
        match line {
            Ok(Line::Failed(error)) => return self.watch_failed(&error),
            Ok(Line::Upsert(object)) => self.changed(object, false).await,
            Ok(Line::Delete(object)) => self.changed(object, true).await,
            Ok(Line::Bookmark { version, .. }) => {
                self.context.watch_stats.heard(0);
                self.position = version;
            }
            Err(error) => self.context.observer.on_invalid_object(&self.context.selection, &error_chain(&error)),
        }
        self.expired = false;
        self.watch_backoff.reset();
        (self.silences, self.patience) = (0, FIRST_PATIENCE);
        if let Watch::Open { fresh, .. } = &mut self.watch {
            *fresh = false;
        }
    }

    async fn changed(&mut self, object: Arc<Object>, deleted: bool) {
        self.context.watch_stats.heard(1);
        self.witness = LastChange::later(self.witness.take(), LastChange::new(&object, deleted));
        let version = object.resource_version.clone();
        let number = rollback::number(&version);
        let change = if deleted { Change::Delete(object) } else { Change::Upsert(object) };
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
        self.position = version.into();
    }

    /// Sends nothing more until the subscriber has taken everything that was sent. A list then replaces what it missed.
    fn leave_behind(&mut self, mut subscriber: Subscriber) {
        self.context.observer.on_lagging(&self.context.selection);
        subscriber.slow = true;
        self.tasks.spawn(async move {
            subscriber.drained().await;
            Done::Drained(subscriber)
        });
    }

    /// Neither a change nor a bookmark arrived in time. The stream opens a new watch at the same position, in case the
    /// connection was dead. If that watch is as silent, the server may never have had this version, or may not have it
    /// yet, for example after it was restored from an older state. A server does not report that, and sends nothing.
    fn fell_silent(&mut self, silence: Duration) {
        self.context.watch_stats.failed(WatchErrorKind::Silent);
        self.context.observer.on_rebuilt(&self.context.selection, silence);
        self.silences += 1;
        if self.silences >= self.patience {
            self.silences = 0;
            self.patience = (self.patience * 2).min(MAX_PATIENCE);
            self.waiting.append(&mut self.active);
        }
        self.watch_off(Duration::ZERO);
    }

    fn watch_failed(&mut self, error: &RequestError) {
        let chance = rand::random_range(0.0..1.0);
        let delay = self.delay(error, |stream| stream.watch_backoff.next(chance));
        // What the subscribers know never happened, or what comes back under the same name is another collection.
        let all_is_void = matches!(error, RequestError::WentBack { .. }) || error.is_unserved();
        if all_is_void || error.kind() == WatchErrorKind::Expired {
            self.list_not_before = Instant::now() + delay;
            if all_is_void { self.waiting.append(&mut self.active) } else { self.forget_history() }
        }
        self.watch_off(delay);
    }

    /// Reports an error, and returns how long to wait.
    fn delay(&mut self, error: &RequestError, backoff: impl FnOnce(&mut Self) -> Duration) -> Duration {
        let config = self.context.config.clone();
        let delay = match error.kind() {
            WatchErrorKind::Expired if !mem::replace(&mut self.expired, true) => Duration::ZERO,
            _ => backoff(self).max(error.retry_after().unwrap_or_default().min(config.retry_after_max)),
        };
        self.context.watch_stats.failed(error.kind());
        if !(self.unserved && error.is_unserved()) {
            self.context.observer.on_watch_error(&self.context.selection, error.kind(), &error_chain(error), delay);
        }
        delay
    }

    /// The server has no history after `position`. Subscribers that have seen more continue from there. The others need
    /// a list.
    fn forget_history(&mut self) {
        let at = rollback::number(&self.position);
        let (ahead, lost): (Vec<_>, Vec<_>) =
            mem::take(&mut self.active).into_iter().partition(|subscriber| at.is_some_and(|at| subscriber.seen > at));
        self.waiting.extend(lost);
        if let Some(seen) = ahead.iter().map(|subscriber| subscriber.seen).min() {
            self.position = seen.to_string();
        }
        self.active = ahead;
    }

    /// Closes the watch, and has the next one check the server (`rollback.rs`). How a watch ended says nothing about the
    /// server that the next one leads to. A server ends its watches properly when it stops, and when it has lost etcd
    /// for a moment. After a watch's timeout, a load balancer may lead to another server. The check costs one small
    /// request for each watch, which is one in half an hour.
    fn watch_off(&mut self, delay: Duration) {
        if let Watch::Connecting(task) = mem::replace(&mut self.watch, Watch::Off) {
            task.abort();
        }
        self.attempt += 1;
        self.doubt = true;
        self.watch_not_before = Instant::now() + delay;
    }
}

async fn wait_until(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => pending().await,
    }
}

async fn open_watch(context: &Context, position: &str) -> Result<Lines, RequestError> {
    let request = request::watch(&context.selection, position, context.watch_timeout())?;
    Lines::open(&context.client, request, context.config.silence, context.config.max_line_bytes).await
}
