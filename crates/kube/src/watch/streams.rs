//! The table of streams, and what a subscriber holds. Speaks to no server itself.

use std::{
    collections::HashMap,
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context as TaskContext, Poll, ready},
    time::Duration,
};

use boathook_core::{
    fair::{Pool, Share, Tenant},
    model::Change,
};
use futures::{FutureExt as _, Stream};
use tokio::{
    sync::{
        Notify,
        mpsc::{Receiver, UnboundedReceiver, UnboundedSender, unbounded_channel},
    },
    task::AbortHandle,
    time::Instant,
};

use super::{
    Observer, Selection, StreamConfig, StreamState, StreamStats, WatchErrorKind,
    backoff::Backoff,
    context::{Context, PagedOnly},
    outlet::{Outlet, Sent, UNIT},
    stats::Board,
    stream,
    wire::Kind,
};

/// What a subscriber wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscribe {
    /// Which objects.
    pub selection: Selection,
    /// The subscriber gets a new list each time this has passed since the last one, up to a twentieth
    /// later. At least 1 s; `None`: never. The stream stays shared: others on it see nothing of the list,
    /// unless they are due as well.
    pub resynchronization: Option<Duration>,
    /// Whose turn its lists take.
    pub tenant: Tenant,
}

impl From<Selection> for Subscribe {
    /// For the operator itself.
    fn from(selection: Selection) -> Self {
        Self { selection, resynchronization: None, tenant: Tenant::hook("") }
    }
}

/// All streams of a process: one for each selection that someone follows. Cheap to clone.
#[derive(Clone)]
pub struct Streams(Arc<Shared>);

struct Shared {
    client: kube::Client,
    config: Arc<StreamConfig>,
    observer: Arc<dyn Observer>,
    paged_only: Arc<PagedOnly>,
    lists: Pool,
    pace: Pool,
    on_the_way: Pool,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    entries: HashMap<Selection, Entry>,
    next_id: u64,
}

struct Entry {
    id: u64,
    joins: UnboundedSender<Outlet>,
    board: Arc<Board>,
    hurry: Arc<Notify>,
    subscribers: usize,
    task: AbortHandle,
    /// How long a new task waits, should this one die.
    backoff: Backoff,
    started: Instant,
}

impl Streams {
    /// Asks for nothing yet. `client` must be built with `kube::Config::default_retry` off, since
    /// retries are decided and reported here, and with no read timeout, or one that is longer than
    /// [`StreamConfig::silence`].
    pub fn new(client: kube::Client, config: StreamConfig, observer: Arc<dyn Observer>) -> Self {
        Self(Arc::new(Shared {
            client,
            lists: Pool::new(config.lists_at_once),
            pace: Pool::of_threads(),
            on_the_way: Pool::new(config.on_the_way / UNIT),
            config: Arc::new(config),
            observer,
            paged_only: Arc::default(),
            table: Mutex::default(),
        }))
    }

    /// Follows a selection: first a list, then changes. Call it within a tokio runtime. Whoever
    /// joins later gets a list of its own, which the others do not see.
    pub fn subscribe(&self, subscribe: impl Into<Subscribe>) -> Subscription {
        let Subscribe { selection, resynchronization, tenant } = subscribe.into();
        let (outlet, changes) = self.0.outlet(tenant.clone(), resynchronization);
        let stream = self.0.join(&selection, outlet, None);
        Subscription { changes, shared: self.0.clone(), selection, resynchronization, tenant, stream }
    }

    /// A turn among those who list, for whoever asks the API server something else for a tenant's watches.
    pub async fn turn(&self, tenant: &Tenant) -> Option<Share> {
        self.0.lists.take(tenant, 1).await.ok()
    }

    /// Turns of tenants' tasks that handle changes.
    pub fn pace(&self) -> Pool {
        self.0.pace.clone()
    }

    /// Lets streams of kinds that are not served ask again at once, as when a CustomResourceDefinition came.
    pub fn retry_unserved(&self) {
        for entry in self.0.table().entries.values() {
            if entry.board.read().state == StreamState::Unserved {
                entry.hurry.notify_one();
            }
        }
    }

    /// What the stream of a selection failed with at its last try; `None` when something has worked since, or when
    /// there is none.
    pub fn trouble(&self, selection: &Selection) -> Option<WatchErrorKind> {
        self.0.trouble(selection)
    }

    /// Figures of all live streams, in no order.
    pub fn stats(&self) -> Vec<StreamStats> {
        let table = self.0.table();
        table.entries.iter().map(|(selection, entry)| entry.stats(selection.clone())).collect()
    }
}

impl Shared {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn outlet(&self, tenant: Tenant, resynchronization: Option<Duration>) -> (Outlet, Receiver<Sent>) {
        Outlet::new(self.config.capacity, self.on_the_way.clone(), tenant, resynchronization)
    }

    fn trouble(&self, selection: &Selection) -> Option<WatchErrorKind> {
        self.table().entries.get(selection).and_then(|entry| entry.board.read().trouble)
    }

    /// Adds a subscriber to the stream of a selection, which is made if there is none, or if its task is
    /// dead. `from` is the stream that the subscriber is on already.
    fn join(&self, selection: &Selection, outlet: Outlet, from: Option<u64>) -> u64 {
        let mut table = self.table();
        if let Some(entry) = table.entries.get_mut(selection).filter(|entry| !entry.joins.is_closed()) {
            return entry.join(outlet, from);
        }
        table.next_id += 1;
        let id = table.next_id;
        let dead = table.entries.remove(selection);
        let mut entry = self.start(selection.clone(), id, dead, outlet.tenant.clone());
        entry.join(outlet, from);
        table.entries.insert(selection.clone(), entry);
        id
    }

    /// A stream's task, after a delay if it replaces one that died. Who shares it later shares the first one's turns.
    fn start(&self, selection: Selection, id: u64, dead: Option<Entry>, tenant: Tenant) -> Entry {
        let config = &self.config;
        let mut delay = Duration::ZERO;
        let mut backoff = Backoff::new(config.backoff_initial, config.backoff_max);
        let mut board = Arc::new(Board::new());
        if let Some(dead) = dead {
            if dead.started.elapsed() < config.backoff_max * 2 {
                backoff = dead.backoff;
            }
            delay = backoff.next(rand::random_range(0.0..1.0));
            board = dead.board;
        }
        let hurry = Arc::new(Notify::new());
        let context = Context {
            client: self.client.clone(),
            config: self.config.clone(),
            kind: Kind::of(&selection),
            selection,
            observer: self.observer.clone(),
            paged_only: self.paged_only.clone(),
            lists: self.lists.clone(),
            board: board.clone(),
            hurry: hurry.clone(),
        };
        let (joins, joined) = unbounded_channel();
        let task = self.pace.clone().paced(tenant, supervise(Arc::new(context), joined, delay));
        let task = tokio::spawn(task).abort_handle();
        Entry { id, joins, board, hurry, subscribers: 0, task, backoff, started: Instant::now() }
    }

    fn leave(&self, selection: &Selection, stream: u64) {
        let mut table = self.table();
        let Some(entry) = table.entries.get_mut(selection).filter(|entry| entry.id == stream) else { return };
        entry.subscribers = entry.subscribers.saturating_sub(1);
        if entry.subscribers == 0 {
            entry.task.abort();
            table.entries.remove(selection);
        }
    }
}

impl Entry {
    fn join(&mut self, outlet: Outlet, from: Option<u64>) -> u64 {
        if from != Some(self.id) {
            self.subscribers = self.subscribers.saturating_add(1);
        }
        // If the task has just died, the subscriber finds its channel closed, and comes again.
        let _ = self.joins.send(outlet);
        self.id
    }

    fn stats(&self, selection: Selection) -> StreamStats {
        let figures = self.board.read();
        StreamStats {
            selection,
            state: figures.state,
            began: figures.began,
            last_activity: figures.last_activity,
            objects_seen: figures.objects_seen,
            lists: figures.lists,
            failures: figures.failures,
            trouble: figures.trouble,
            subscribers: self.subscribers,
        }
    }
}

/// Runs a stream, and reports it if it dies. All its channels close then.
async fn supervise(context: Arc<Context>, joined: UnboundedReceiver<Outlet>, delay: Duration) {
    tokio::time::sleep(delay).await;
    let run = AssertUnwindSafe(stream::run(context.clone(), joined)).catch_unwind().await;
    if let Err(panic) = run {
        context.board.failed(WatchErrorKind::Died);
        context.board.set_state(StreamState::Trying);
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a text");
        context.observer.on_died(&context.selection, text);
    }
}

/// The changes of one selection. Never ends by itself: if its stream's task dies, another takes its place,
/// and a list follows. At the end of the runtime it ends. Dropping it unsubscribes; the last one ends
/// the stream.
///
/// A list may start anew at any time, also in the middle of another, and a change, also a deletion,
/// may come before the list is complete. What comes last is right. [`Change::Unserved`] may come in the
/// middle of a list, which is over then. Who takes changes too slowly
/// holds up the others for [`StreamConfig::grace`] at most: then it gets only what waits in its
/// channel already, and a list when it has taken that.
pub struct Subscription {
    changes: Receiver<Sent>,
    shared: Arc<Shared>,
    selection: Selection,
    resynchronization: Option<Duration>,
    tenant: Tenant,
    stream: u64,
}

impl Subscription {
    /// What it follows.
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// What its stream's last try failed with; `None` when something has worked since.
    pub fn trouble(&self) -> Option<WatchErrorKind> {
        self.shared.trouble(&self.selection)
    }

    fn rejoin(&mut self) {
        let (outlet, changes) = self.shared.outlet(self.tenant.clone(), self.resynchronization);
        self.stream = self.shared.join(&self.selection, outlet, Some(self.stream));
        self.changes = changes;
    }
}

impl Stream for Subscription {
    type Item = Change;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Option<Change>> {
        if let Some(sent) = ready!(self.changes.poll_recv(cx)) {
            return Poll::Ready(Some(sent.change));
        }
        self.rejoin();
        self.changes.poll_recv(cx).map(|sent| sent.map(|sent| sent.change))
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.shared.leave(&self.selection, self.stream);
    }
}
