//! One stream: a list for the subscribers that need one, and a watch for all. It holds no object.
//!
//! Each subscriber is in one place: in `waiting` for a list, in a task that delivers a list or waits until the
//! subscriber has caught up, or in `active` on the watch. Separate tasks deliver lists, so that the watch continues in
//! the meantime. Errors never end a stream. Only its last subscriber does.

mod changes;
mod lists;
mod recovery;

use std::{collections::BTreeSet, panic::resume_unwind, sync::Arc};

use boathook_core::fair::Tenant;
use bytes::BytesMut;
use futures::future::pending;
use tokio::{
    sync::mpsc::UnboundedReceiver,
    task::{AbortHandle, JoinSet},
    time::{Instant, sleep_until},
};

use super::{
    backoff::Backoff,
    connection::Lines,
    context::Context,
    error::RequestError,
    list::{self, Listed, Opened},
    past::{self, Missing, Witness},
    request,
    stats::StreamState,
    subscriber::Subscriber,
};

/// Runs a stream until it is aborted. New subscribers arrive through `joins`. Panics if one of its tasks panicked.
pub(super) async fn run(context: Arc<Context>, joins: UnboundedReceiver<Subscriber>) {
    let mut stream = Stream::new(context, joins);
    loop {
        stream.start_what_is_due();
        stream.context.watch_stats.set_state(stream.state());
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
    witness: Option<Witness>,
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
            patience: recovery::FIRST_PATIENCE,
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
                let missing = if doubt { past::look(&context, &position, witness.as_ref()).await? } else { None };
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
