//! Which connections there are, which of them are idle, and who goes when there are too many.
//!
//! Never reads or writes one; a connection is told to close, and closes itself.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};

/// All connections.
#[derive(Debug)]
pub(super) struct Connections {
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
    /// Requests under way.
    busy: usize,
    /// It has had a request.
    used: bool,
    close: Arc<Notify>,
}

/// One connection's place; given back when dropped.
#[derive(Debug)]
pub(super) struct Place {
    connections: Arc<Connections>,
    id: u64,
    close: Arc<Notify>,
    /// Requests under way; known here also when the place was lost.
    busy: Arc<AtomicUsize>,
}

/// One request; it ends when dropped.
#[derive(Debug)]
pub(super) struct Request {
    connections: Arc<Connections>,
    id: u64,
    busy: Arc<AtomicUsize>,
}

impl Connections {
    pub fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most: most.max(1), table: Mutex::default() })
    }

    /// A place for one more. When there are too many, the one that has been idle for longest is told to close
    /// and loses its place; `None` when none is idle.
    pub fn enter(self: &Arc<Self>, now: Instant) -> Option<Place> {
        let mut table = self.table();
        if table.entries.len() >= self.most {
            let idle = table.entries.iter().filter(|(_, entry)| entry.busy == 0);
            let (id, _) = idle.min_by_key(|(id, entry)| (entry.since, **id))?;
            let id = *id;
            if let Some(entry) = table.entries.remove(&id) {
                entry.close.notify_one();
            }
        }
        let (id, close) = (table.next, Arc::new(Notify::new()));
        table.next += 1;
        table.entries.insert(id, Entry { since: now, busy: 0, used: false, close: close.clone() });
        Some(Place { connections: self.clone(), id, close, busy: Arc::default() })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.table().entries.len()
    }

    fn table(&self) -> std::sync::MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, id: u64, change: impl FnOnce(&mut Entry)) {
        // One that was told to close has no entry, and may still answer what is under way.
        if let Some(entry) = self.table().entries.get_mut(&id) {
            change(entry);
        }
    }
}

impl Place {
    /// A request has come.
    pub fn request(&self) -> Request {
        self.connections.change(self.id, |entry| {
            entry.busy += 1;
            entry.used = true;
        });
        self.busy.fetch_add(1, Ordering::Relaxed);
        Request { connections: self.connections.clone(), id: self.id, busy: self.busy.clone() }
    }

    /// Whether a request is under way.
    pub fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Relaxed) > 0
    }

    /// Returns when the connection has to close: another needs the place, or it was idle for too long
    /// (`first` before its first request, `idle` later).
    pub async fn told_to_close(&self, first: Duration, idle: Duration) {
        loop {
            let Some(until) = self.idle_until(first, idle) else {
                // Somebody took the place; the notice is there already.
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

    /// When it will have been idle for too long, if nothing comes.
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

impl Drop for Request {
    fn drop(&mut self) {
        self.busy.fetch_sub(1, Ordering::Relaxed);
        self.connections.change(self.id, |entry| {
            entry.busy = entry.busy.saturating_sub(1);
            entry.since = Instant::now();
        });
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use futures::FutureExt as _;

    use super::*;

    const FIRST: Duration = Duration::from_secs(10);
    const IDLE: Duration = Duration::from_secs(100);

    fn closes(place: &Place) -> bool {
        Box::pin(place.told_to_close(FIRST, IDLE)).as_mut().now_or_never().is_some()
    }

    #[tokio::test(start_paused = true)]
    async fn the_longest_idle_one_goes_for_a_new_one() {
        let connections = Connections::new(2);
        let busy = connections.enter(Instant::now()).unwrap();
        let request = busy.request();
        tokio::time::advance(Duration::from_secs(1)).await;
        let idle = connections.enter(Instant::now()).unwrap();
        let new = connections.enter(Instant::now()).unwrap();
        assert_eq!((closes(&busy), closes(&idle), closes(&new)), (false, true, false));
        assert_eq!(connections.count(), 2);
        let _other = new.request();
        assert!(connections.enter(Instant::now()).is_none());
        drop(request);
        assert!(connections.enter(Instant::now()).is_some());
        assert!(closes(&busy) && !closes(&new));
        drop((busy, idle, new));
        assert_eq!(connections.count(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn idleness_ends_a_connection_sooner_before_its_first_request() {
        let connections = Connections::new(9);
        let (silent, used) = (connections.enter(Instant::now()).unwrap(), connections.enter(Instant::now()).unwrap());
        let request = used.request();
        let start = Instant::now();
        silent.told_to_close(FIRST, IDLE).await;
        assert_eq!(start.elapsed().as_secs(), 10);
        tokio::time::advance(Duration::from_secs(500)).await;
        assert!(!closes(&used));
        drop(request);
        let start = Instant::now();
        used.told_to_close(FIRST, IDLE).await;
        assert_eq!(start.elapsed().as_secs(), 100);
    }
}
