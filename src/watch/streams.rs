//! The table of streams, and what a subscriber holds. Speaks to no server itself.

use std::{
    collections::HashMap,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context as TaskContext, Poll},
    time::Duration,
};

use futures::Stream;
use tokio::{
    sync::{
        Notify,
        mpsc::{Receiver, UnboundedSender, unbounded_channel},
    },
    task::AbortHandle,
};

use super::{
    Observer, Selection, StreamConfig, StreamState, StreamStats, context::Context, list::PagedOnly, outlet::Outlet,
    stats::Board, stream, wire::Kind,
};
use crate::model::Change;

/// What a subscriber wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscribe {
    /// Which objects.
    pub selection: Selection,
    /// The subscriber gets a new list each time this has passed since the last one, up to a twentieth
    /// later. At least 1 s; `None`: never. The stream stays shared: others on it see nothing of the list,
    /// unless they are due as well.
    pub resynchronization: Option<Duration>,
}

impl From<Selection> for Subscribe {
    fn from(selection: Selection) -> Self {
        Self { selection, resynchronization: None }
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
}

impl Streams {
    /// Asks for nothing yet. `client` must be built with `kube::Config::default_retry` off, since
    /// retries are decided and reported here, and with no read timeout, or one that is longer than
    /// [`StreamConfig::silence`].
    pub fn new(client: kube::Client, config: StreamConfig, observer: Arc<dyn Observer>) -> Self {
        Self(Arc::new(Shared {
            client,
            config: Arc::new(config),
            observer,
            paged_only: Arc::default(),
            table: Mutex::default(),
        }))
    }

    /// Follows a selection: first a list, then changes. Call it within a tokio runtime. Whoever
    /// joins later gets a list of its own, which the others do not see.
    pub fn subscribe(&self, subscribe: impl Into<Subscribe>) -> Subscription {
        let Subscribe { selection, resynchronization } = subscribe.into();
        let (outlet, changes) = Outlet::new(self.0.config.capacity, resynchronization);
        let mut table = self.0.table();
        let stream = match table.entries.get_mut(&selection) {
            Some(entry) if !entry.joins.is_closed() => entry.join(outlet),
            _ => {
                table.next_id += 1;
                let mut entry = self.0.start(selection.clone(), table.next_id);
                let id = entry.join(outlet);
                table.entries.insert(selection.clone(), entry);
                id
            }
        };
        drop(table);
        Subscription { changes, shared: self.0.clone(), selection, stream }
    }

    /// Lets streams of kinds that are not served ask again at once, as when a CustomResourceDefinition came.
    pub fn retry_unserved(&self) {
        for entry in self.0.table().entries.values() {
            if entry.board.read().state == StreamState::Unserved {
                entry.hurry.notify_one();
            }
        }
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

    fn start(&self, selection: Selection, id: u64) -> Entry {
        let (board, hurry) = (Arc::new(Board::new()), Arc::new(Notify::new()));
        let context = Context {
            client: self.client.clone(),
            config: self.config.clone(),
            kind: Kind::of(&selection),
            selection,
            observer: self.observer.clone(),
            paged_only: self.paged_only.clone(),
            board: board.clone(),
            hurry: hurry.clone(),
        };
        let (joins, joined) = unbounded_channel();
        let task = tokio::spawn(stream::run(Arc::new(context), joined)).abort_handle();
        Entry { id, joins, board, hurry, subscribers: 0, task }
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
    fn join(&mut self, outlet: Outlet) -> u64 {
        self.subscribers = self.subscribers.saturating_add(1);
        // The stream's task lives as long as the entry.
        let _ = self.joins.send(outlet);
        self.id
    }

    fn stats(&self, selection: Selection) -> StreamStats {
        let figures = self.board.read();
        StreamStats {
            selection,
            state: figures.state,
            last_activity: figures.last_activity,
            objects_seen: figures.objects_seen,
            subscribers: self.subscribers,
        }
    }
}

/// The changes of one selection. Never ends by itself. Dropping it unsubscribes; the last one ends
/// the stream.
///
/// A list may start anew at any time, also in the middle of another, and a change, also a deletion,
/// may come before the list is complete. What comes last is right. [`Change::Unserved`] may come in the
/// middle of a list, which is over then. Who takes changes too slowly
/// holds up the others for [`StreamConfig::grace`] at most: then it gets only what waits in its
/// channel already, and a list when it has taken that.
pub struct Subscription {
    changes: Receiver<Change>,
    shared: Arc<Shared>,
    selection: Selection,
    stream: u64,
}

impl Subscription {
    /// What it follows.
    pub fn selection(&self) -> &Selection {
        &self.selection
    }
}

impl Stream for Subscription {
    type Item = Change;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Option<Change>> {
        self.changes.poll_recv(cx)
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.shared.leave(&self.selection, self.stream);
    }
}
