//! A server's connections: how they are accepted, which ones are idle, and which one closes when there are too many.
//!
//! This module neither reads nor writes. A connection that has to close closes itself. A connection whose request body
//! is still arriving counts as idle, because the body may never end.

use std::{
    collections::HashMap,
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::JoinSet,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

#[derive(Debug)]
pub struct Connections {
    most: usize,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    entries: HashMap<u64, Entry>,
}

#[derive(Debug)]
struct Entry {
    since: Instant,
    /// The number of complete requests under way.
    busy: usize,
    /// Whether the connection has received the head of a request.
    used: bool,
    /// Whether the connection has received a complete request.
    asked: bool,
    close: Arc<Notify>,
}

/// One connection's place. Dropping it gives the place back.
#[derive(Debug)]
pub struct Place {
    connections: Arc<Connections>,
    id: u64,
    close: Arc<Notify>,
    /// The number of complete requests under way. It is here too, because it must be known after the connection lost
    /// its entry.
    busy: Arc<AtomicUsize>,
}

/// One request, until it is dropped.
#[derive(Debug)]
pub struct Request {
    connections: Arc<Connections>,
    id: u64,
    busy: Arc<AtomicUsize>,
    is_whole: AtomicBool,
}

impl Connections {
    /// Allows at most `most` connections, and at least one.
    pub fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most: most.max(1), table: Mutex::default() })
    }

    /// Adds a connection. If there are too many, one that is idle is notified to close and loses its place. Returns
    /// `None` if none is idle.
    pub fn enter(self: &Arc<Self>, now: Instant) -> Option<Place> {
        let mut table = self.table();
        if table.entries.len() >= self.most && !table.close_idle() {
            return None;
        }
        let (id, close) = (table.next, Arc::new(Notify::new()));
        table.next += 1;
        table.entries.insert(id, Entry { since: now, busy: 0, used: false, asked: false, close: close.clone() });
        Some(Place { connections: self.clone(), id, close, busy: Arc::default() })
    }

    /// Makes an idle connection close, because the resources that it holds are needed. Returns false if none is idle.
    pub fn make_room(&self) -> bool {
        self.table().close_idle()
    }

    pub fn count(&self) -> usize {
        self.table().entries.len()
    }

    fn table(&self) -> std::sync::MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, id: u64, change: impl FnOnce(&mut Entry)) {
        // A connection that was notified to close has no entry, and may still answer requests under way.
        if let Some(entry) = self.table().entries.get_mut(&id) {
            change(entry);
        }
    }
}

/// Accepts connections until `stop`, those that wait to be accepted included, and returns when those that are open have
/// ended. `failed` reports a connection that could not be accepted.
pub async fn accept<S: Future<Output = ()> + Send + 'static>(
    listener: TcpListener,
    connections: Arc<Connections>,
    stop: CancellationToken,
    failed: impl Fn(&io::Error),
    serve: impl Fn(TcpStream, Place) -> S,
) {
    /// The wait before the next attempt.
    const PAUSE: Duration = Duration::from_millis(100);
    let mut open = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            biased;
            Some(_) = open.join_next() => continue,
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => break,
        };
        match accepted {
            // If there is no place, all other connections are busy at the moment. The client retries.
            Ok((stream, _)) => {
                if let Some(place) = connections.enter(Instant::now()) {
                    open.spawn(serve(stream, place));
                }
            }
            Err(error) => {
                failed(&error);
                // The most frequent cause is that there are no file handles left, and an idle connection has one.
                connections.make_room();
                sleep(PAUSE).await;
            }
        }
    }
    drop(listener);
    while open.join_next().await.is_some() {}
}

impl Table {
    /// Closes the connection that has been idle for longest. Connections that never sent a complete request go first,
    /// so that a client that keeps its connection for later requests loses it last.
    fn close_idle(&mut self) -> bool {
        let idle = self.entries.iter().filter(|(_, entry)| entry.busy == 0);
        let longest = idle.min_by_key(|(id, entry)| (entry.asked, entry.since, **id)).map(|(id, _)| *id);
        let Some(entry) = longest.and_then(|id| self.entries.remove(&id)) else { return false };
        entry.close.notify_one();
        true
    }
}

impl Place {
    /// Call this when the head of a request has arrived.
    pub fn request(&self) -> Request {
        self.connections.change(self.id, |entry| {
            entry.since = Instant::now();
            entry.used = true;
        });
        let is_whole = AtomicBool::new(false);
        Request { connections: self.connections.clone(), id: self.id, busy: self.busy.clone(), is_whole }
    }

    /// Whether a complete request is under way.
    pub fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Relaxed) > 0
    }

    /// Returns when the connection has to close: another one needs the place, or it was idle for too long (`first`
    /// before its first request, `idle` later).
    pub async fn close_gracefully(&self, first: Duration, idle: Duration) {
        loop {
            let Some(until) = self.idle_until(first, idle) else {
                // Another connection took the place, and `close` is already notified.
                return self.close.notified().await;
            };
            if until <= Instant::now() {
                return;
            }
            tokio::select! {
                () = self.close.notified() => return,
                () = tokio::time::sleep_until(until) => {}
            }
        }
    }

    /// When the connection will have been idle for too long if nothing arrives.
    fn idle_until(&self, first: Duration, idle: Duration) -> Option<Instant> {
        let table = self.connections.table();
        let entry = table.entries.get(&self.id)?;
        let from = if entry.busy > 0 { Instant::now() } else { entry.since };
        Some(from + if entry.used { idle } else { first })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.table().entries.remove(&self.id);
    }
}

impl Request {
    /// Call this when the body has arrived, too. The connection is then not idle until the request is answered.
    pub fn has_come(&self) {
        if self.is_whole.swap(true, Ordering::Relaxed) {
            return;
        }
        self.busy.fetch_add(1, Ordering::Relaxed);
        self.connections.change(self.id, |entry| {
            entry.busy += 1;
            entry.asked = true;
        });
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        let was_whole = *self.is_whole.get_mut();
        if was_whole {
            self.busy.fetch_sub(1, Ordering::Relaxed);
        }
        self.connections.change(self.id, |entry| {
            entry.busy = entry.busy.saturating_sub(usize::from(was_whole));
            entry.since = Instant::now();
        });
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    const FIRST: Duration = Duration::from_secs(10);
    const IDLE: Duration = Duration::from_secs(100);

    fn closes(place: &Place) -> bool {
        Box::pin(place.close_gracefully(FIRST, IDLE)).as_mut().now_or_never().is_some()
    }

    #[tokio::test(start_paused = true)]
    async fn the_longest_idle_one_goes_for_a_new_one() {
        let connections = Connections::new(2);
        let busy = connections.enter(Instant::now()).unwrap();
        let request = busy.request();
        request.has_come();
        tokio::time::advance(Duration::from_secs(1)).await;
        let idle = connections.enter(Instant::now()).unwrap();
        let new = connections.enter(Instant::now()).unwrap();
        assert_eq!((closes(&busy), closes(&idle), closes(&new)), (false, true, false));
        assert_eq!(connections.count(), 2);
        let other = new.request();
        other.has_come();
        assert!(connections.enter(Instant::now()).is_none());
        drop(request);
        assert!(connections.enter(Instant::now()).is_some());
        assert!(closes(&busy) && !closes(&new));
        drop((busy, idle, new));
        assert_eq!(connections.count(), 0);
    }

    /// Otherwise a client that sends bodies that never end would keep all places.
    #[tokio::test(start_paused = true)]
    async fn a_request_that_has_not_come_whole_keeps_no_place() {
        let connections = Connections::new(2);
        let asker = connections.enter(Instant::now()).unwrap();
        asker.request().has_come();
        tokio::time::advance(Duration::from_secs(1)).await;
        let slow = connections.enter(Instant::now()).unwrap();
        let _request = slow.request();
        let third = connections.enter(Instant::now()).unwrap();
        assert!(closes(&slow) && !slow.is_busy());
        // Connections without a complete request close before those with one, although they were opened later.
        assert!(connections.make_room());
        assert_eq!((closes(&asker), closes(&third)), (false, true));
        assert!(connections.make_room() && !connections.make_room());
        assert!(closes(&asker));
    }

    #[tokio::test(start_paused = true)]
    async fn idleness_ends_a_connection_sooner_before_its_first_request() {
        let connections = Connections::new(9);
        let (silent, used) = (connections.enter(Instant::now()).unwrap(), connections.enter(Instant::now()).unwrap());
        let request = used.request();
        request.has_come();
        let start = Instant::now();
        silent.close_gracefully(FIRST, IDLE).await;
        assert_eq!(start.elapsed().as_secs(), 10);
        tokio::time::advance(Duration::from_secs(500)).await;
        assert!(!closes(&used));
        drop(request);
        let start = Instant::now();
        used.close_gracefully(FIRST, IDLE).await;
        assert_eq!(start.elapsed().as_secs(), 100);
    }
}
