//! The table of streams, and the subscriptions to them. The streams' tasks talk to the server.

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
    tasks::panic_message,
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
    stats::WatchStats,
    stream,
    subscriber::{Sent, Subscriber, UNIT},
    wire::Kind,
};

/// What a subscriber wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscribe {
    pub selection: Selection,
    /// The subscriber gets a new list each time this period has passed since the last list, up to a twentieth later. At
    /// least 1 s. `None` means never. The stream stays shared: its other subscribers do not see the list, unless they
    /// are due as well.
    pub resynchronization: Option<Duration>,
    /// The tenant whose turn its lists take.
    pub tenant: Tenant,
}

impl From<Selection> for Subscribe {
    /// A subscription of the operator itself.
    fn from(selection: Selection) -> Self {
        Self { selection, resynchronization: None, tenant: Tenant::hook("") }
    }
}

/// All streams of a process, one for each selection that has a subscriber. Cheap to clone.
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
    joins: UnboundedSender<Subscriber>,
    watch_stats: Arc<WatchStats>,
    hurry: Arc<Notify>,
    subscribers: usize,
    task: AbortHandle,
    /// The delay of a new task, if this one dies.
    backoff: Backoff,
    started: Instant,
}

impl Streams {
    /// Sends no request yet. Build `client` with `kube::Config::default_retry` off, because retries are decided and
    /// reported here. Build it without a read timeout, or with one that is longer than [`StreamConfig::silence`].
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

    /// Follows a selection: first a list, then changes. Call this within a tokio runtime. A subscriber that joins later
    /// gets a list of its own, which the other subscribers do not see.
    pub fn subscribe(&self, subscribe: impl Into<Subscribe>) -> Subscription {
        let subscribe = subscribe.into();
        let (subscriber, changes) = self.0.subscriber(&subscribe);
        let stream = self.0.join(&subscribe.selection, subscriber, None);
        Subscription { changes, shared: self.0.clone(), subscribe, stream }
    }

    /// Takes one of the turns for lists, for any other request to the API server for a tenant's watches.
    pub async fn turn(&self, tenant: &Tenant) -> Option<Share> {
        self.0.lists.take(tenant, 1).await.ok()
    }

    /// The turns of tenants' tasks that handle changes.
    pub fn pace(&self) -> Pool {
        self.0.pace.clone()
    }

    /// Lets streams of kinds that are not served try again at once, for example after a CustomResourceDefinition was
    /// created.
    pub fn retry_unserved(&self) {
        for entry in self.0.table().entries.values() {
            if entry.watch_stats.lock().state == StreamState::Unserved {
                entry.hurry.notify_one();
            }
        }
    }

    /// What the stream of a selection failed with at its last try. `None` if something has worked since, or if there is
    /// no such stream.
    pub fn trouble(&self, selection: &Selection) -> Option<WatchErrorKind> {
        self.0.trouble(selection)
    }

    /// The figures of all live streams, in no particular order.
    pub fn stats(&self) -> Vec<StreamStats> {
        let stats = |entry: &Entry| StreamStats { subscribers: entry.subscribers, ..entry.watch_stats.lock().clone() };
        self.0.table().entries.values().map(stats).collect()
    }
}

impl Shared {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn subscriber(&self, subscribe: &Subscribe) -> (Subscriber, Receiver<Sent>) {
        let Subscribe { tenant, resynchronization, .. } = subscribe;
        Subscriber::new(self.config.capacity, self.on_the_way.clone(), tenant.clone(), *resynchronization)
    }

    fn trouble(&self, selection: &Selection) -> Option<WatchErrorKind> {
        self.table().entries.get(selection).and_then(|entry| entry.watch_stats.lock().trouble)
    }

    /// Adds a subscriber to the stream of a selection. Creates the stream if there is none, or if its task is dead.
    /// `from` is the stream that the subscriber is already on.
    fn join(&self, selection: &Selection, subscriber: Subscriber, from: Option<u64>) -> u64 {
        let mut table = self.table();
        if let Some(entry) = table.entries.get_mut(selection).filter(|entry| !entry.joins.is_closed()) {
            return entry.join(subscriber, from);
        }
        table.next_id += 1;
        let id = table.next_id;
        let dead = table.entries.remove(selection);
        let mut entry = self.start(selection.clone(), id, dead, subscriber.tenant.clone());
        entry.join(subscriber, from);
        table.entries.insert(selection.clone(), entry);
        id
    }

    /// Starts a stream's task, after a delay if it replaces a task that died. Subscribers that join later share the
    /// turns of the first one's tenant.
    fn start(&self, selection: Selection, id: u64, dead: Option<Entry>, tenant: Tenant) -> Entry {
        let config = &self.config;
        let mut delay = Duration::ZERO;
        let mut backoff = Backoff::new(config.backoff_initial, config.backoff_max);
        let mut watch_stats = Arc::new(WatchStats::new(selection.clone()));
        if let Some(dead) = dead {
            if dead.started.elapsed() < config.backoff_max * 2 {
                backoff = dead.backoff;
            }
            delay = backoff.next(rand::random_range(0.0..1.0));
            watch_stats = dead.watch_stats;
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
            watch_stats: watch_stats.clone(),
            hurry: hurry.clone(),
        };
        let (joins, joined) = unbounded_channel();
        let task = self.pace.clone().paced(tenant, supervise(Arc::new(context), joined, delay));
        let task = tokio::spawn(task).abort_handle();
        Entry { id, joins, watch_stats, hurry, subscribers: 0, task, backoff, started: Instant::now() }
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
    fn join(&mut self, subscriber: Subscriber, from: Option<u64>) -> u64 {
        if from != Some(self.id) {
            self.subscribers = self.subscribers.saturating_add(1);
        }
        // If the task has just died, the subscriber finds its channel closed and joins again.
        let _ = self.joins.send(subscriber);
        self.id
    }
}

/// Runs a stream, and reports it if it dies. All its channels are then closed.
async fn supervise(context: Arc<Context>, joined: UnboundedReceiver<Subscriber>, delay: Duration) {
    tokio::time::sleep(delay).await;
    let run = AssertUnwindSafe(stream::run(context.clone(), joined)).catch_unwind().await;
    if let Err(panic) = run {
        context.watch_stats.failed(WatchErrorKind::Died);
        context.watch_stats.lock().state = StreamState::Trying;
        let text = panic_message(panic.as_ref()).unwrap_or("a panic without a text");
        context.observer.on_died(&context.selection, text);
    }
}

/// The changes of one selection. It never ends by itself: if its stream's task dies, another one replaces it, and a
/// list follows. It ends with the runtime. Dropping it unsubscribes, and dropping the last subscription ends the
/// stream.
///
/// A list may start over at any time, also in the middle of another one. A change, also a deletion, may arrive before
/// the list is complete. What arrives last is right. [`Change::Unserved`] may arrive in the middle of a list, and ends
/// that list. A subscriber that takes changes too slowly holds up the others for at most [`StreamConfig::grace`]. After
/// that it receives only what already waits in its channel, and then a list.
pub struct Subscription {
    changes: Receiver<Sent>,
    shared: Arc<Shared>,
    subscribe: Subscribe,
    stream: u64,
}

impl Subscription {
    pub fn selection(&self) -> &Selection {
        &self.subscribe.selection
    }

    /// What its stream's last try failed with. `None` if something has worked since.
    pub fn trouble(&self) -> Option<WatchErrorKind> {
        self.shared.trouble(&self.subscribe.selection)
    }

    fn rejoin(&mut self) {
        let (subscriber, changes) = self.shared.subscriber(&self.subscribe);
        self.stream = self.shared.join(&self.subscribe.selection, subscriber, Some(self.stream));
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
        self.shared.leave(&self.subscribe.selection, self.stream);
    }
}
