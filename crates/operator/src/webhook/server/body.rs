//! Reads bodies within two limits: one for each body, and one for all bodies under way.
//!
//! Only bytes that have arrived are reserved, so a client that announces many bytes and sends none takes nothing from
//! others. A client that sends slowly cannot keep bytes that others need.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::body::Body as Incoming;
use http::{HeaderMap, header};
use http_body_util::BodyExt as _;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

/// The maximum size of a buffer that is allocated at once if the length is known.
const AT_ONCE: usize = 64 << 10;

/// The bytes for bodies.
#[derive(Debug, Clone)]
pub(super) struct Bodies {
    each: usize,
    all: Arc<Semaphore>,
    coming: Arc<AllComing>,
}

#[derive(Debug)]
pub(super) struct Body {
    pub bytes: Vec<u8>,
    /// Keep this as long as the bytes, or what was made from them.
    pub reserved: Reserved,
}

/// A body's share of all bytes.
#[derive(Debug, Default)]
pub(super) struct Reserved(Option<OwnedSemaphorePermit>);

/// Why there is no body.
#[derive(Debug, thiserror::Error)]
pub(super) enum BodyError {
    #[error("the body is larger than {0} bytes")]
    TooLarge(usize),
    #[error("too many large bodies are being read; try again")]
    Overloaded,
    #[error("the body arrived too slowly")]
    Slow,
    #[error("the body cannot be read: {0}")]
    Broken(String),
}

impl Bodies {
    /// A body may have up to `each` bytes, and all bodies together up to `all`. A body that takes longer than `slow` is
    /// cut off if others need its bytes.
    pub fn new(each: usize, all: usize, slow: Duration) -> Self {
        let all = Arc::new(Semaphore::new(all.max(each).min(Semaphore::MAX_PERMITS)));
        Self { each, all, coming: AllComing::new(slow) }
    }

    /// Reads a body to its end.
    pub async fn read(&self, headers: &HeaderMap, incoming: Incoming) -> Result<Body, BodyError> {
        let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
        if length.is_some_and(|length| length > self.each) {
            return Err(BodyError::TooLarge(self.each));
        }
        // This lives longer than the reservation, so that the bytes are free for the body that waits for it to be gone.
        let coming = self.coming.begin(Instant::now());
        tokio::select! {
            read = self.read_all(&coming, length.unwrap_or_default(), incoming) => read,
            () = coming.cut() => Err(BodyError::Slow),
        }
    }

    async fn read_all(&self, coming: &Coming, length: usize, mut incoming: Incoming) -> Result<Body, BodyError> {
        let mut bytes = Vec::with_capacity(length.min(AT_ONCE));
        let mut reserved = Reserved::default();
        while let Some(frame) = incoming.frame().await {
            let frame = frame.map_err(|error| BodyError::Broken(boathook_core::model::error_chain(&error)))?;
            let Ok(data) = frame.into_data() else { continue };
            if bytes.len() + data.len() > self.each {
                return Err(BodyError::TooLarge(self.each));
            }
            let more = self.reserve(coming, data.len()).await?;
            match &mut reserved.0 {
                Some(reserved) => reserved.merge(more),
                none => *none = Some(more),
            }
            bytes.extend_from_slice(&data);
        }
        Ok(Body { bytes, reserved })
    }

    async fn reserve(&self, coming: &Coming, bytes: usize) -> Result<OwnedSemaphorePermit, BodyError> {
        let bytes = u32::try_from(bytes).map_err(|_| BodyError::TooLarge(self.each))?;
        loop {
            if let Ok(reserved) = self.all.clone().try_acquire_many_owned(bytes) {
                return Ok(reserved);
            }
            if !coming.cut_another(Instant::now()).await {
                return Err(BodyError::Overloaded);
            }
        }
    }
}

/// All bodies that are still arriving. A body that arrives as fast as those of the API server is never cut off.
#[derive(Debug)]
pub(super) struct AllComing {
    slow: Duration,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    /// The bodies in the order in which they began.
    bodies: BTreeMap<u64, Entry>,
}

#[derive(Debug)]
struct Entry {
    since: Instant,
    cut: CancellationToken,
    gone: CancellationToken,
}

/// One body that is arriving, until it is dropped.
#[derive(Debug)]
pub(super) struct Coming {
    all: Arc<AllComing>,
    id: u64,
    cut: CancellationToken,
    gone: CancellationToken,
}

impl AllComing {
    /// A body that takes longer than `slow` may be cut off.
    pub fn new(slow: Duration) -> Arc<Self> {
        Arc::new(Self { slow, table: Mutex::default() })
    }

    /// Adds a body.
    pub fn begin(self: &Arc<Self>, now: Instant) -> Coming {
        let (cut, gone) = (CancellationToken::new(), CancellationToken::new());
        let mut table = self.table();
        let id = table.next;
        table.next += 1;
        table.bodies.insert(id, Entry { since: now, cut: cut.clone(), gone: gone.clone() });
        Coming { all: self.clone(), id, cut, gone }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Coming {
    /// Returns when others need the body's bytes.
    pub async fn cut(&self) {
        self.cut.cancelled().await;
    }

    /// Cuts off another body that is slow, and returns when it is gone. Returns false if there is none.
    pub async fn cut_another(&self, now: Instant) -> bool {
        let Some(gone) = self.take_slow(now) else { return false };
        gone.cancelled().await;
        true
    }

    fn take_slow(&self, now: Instant) -> Option<CancellationToken> {
        let mut table = self.all.table();
        let (id, entry) = table.bodies.iter().find(|(id, _)| **id != self.id)?;
        if now.duration_since(entry.since) < self.all.slow {
            return None;
        }
        let id = *id;
        let entry = table.bodies.remove(&id)?;
        entry.cut.cancel();
        Some(entry.gone)
    }
}

impl Drop for Coming {
    fn drop(&mut self) {
        self.all.table().bodies.remove(&self.id);
        self.gone.cancel();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn bounds_each_and_all() {
        let bodies = Bodies::new(10, 15, Duration::ZERO);
        let read = async |length: usize| bodies.read(&HeaderMap::new(), Incoming::from(vec![b'x'; length])).await;
        let held = read(10).await.unwrap();
        assert_eq!(held.bytes.len(), 10);
        assert!(matches!(read(11).await, Err(BodyError::TooLarge(10))));
        assert!(matches!(read(6).await, Err(BodyError::Overloaded)));
        assert!(read(5).await.is_ok());
        drop(held);
        assert!(read(10).await.is_ok());
    }

    #[tokio::test]
    async fn a_length_over_the_bound_is_refused_before_anything_is_read() {
        let headers = HeaderMap::from_iter([(header::CONTENT_LENGTH, "11".parse().unwrap())]);
        let never = Incoming::from_stream(futures::stream::pending::<Result<bytes::Bytes, std::io::Error>>());
        assert!(matches!(
            Bodies::new(10, 10, Duration::ZERO).read(&headers, never).await,
            Err(BodyError::TooLarge(10))
        ));
    }

    /// Without this, a few clients that send slowly could keep everybody out for as long as they like.
    #[tokio::test(start_paused = true)]
    async fn a_slow_body_makes_room_when_others_need_it() {
        let bodies = Bodies::new(10, 15, Duration::from_secs(1));
        let slow = async |sent: &'static [u8]| {
            let parts = futures::stream::iter([Ok::<_, std::io::Error>(bytes::Bytes::from_static(sent))]);
            let never = futures::StreamExt::chain(parts, futures::stream::pending());
            bodies.read(&HeaderMap::new(), Incoming::from_stream(never)).await
        };
        let read = async |length: usize| bodies.read(&HeaderMap::new(), Incoming::from(vec![b'x'; length])).await;
        let (mut old, mut young) = (Box::pin(slow(b"0123456789")), Box::pin(slow(b"0123")));
        assert!(futures::poll!(&mut old).is_pending());
        tokio::time::advance(Duration::from_millis(999)).await;
        assert!(futures::poll!(&mut young).is_pending());
        assert!(matches!(read(2).await, Err(BodyError::Overloaded)));
        tokio::time::advance(Duration::from_millis(1)).await;
        let (cut, let_in) = tokio::join!(old, read(10));
        assert!(matches!(cut, Err(BodyError::Slow)) && let_in.is_ok());
        assert!(futures::poll!(&mut young).is_pending());
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_goes_when_it_is_slow() {
        let all = AllComing::new(Duration::from_secs(1));
        let (first, second) = (all.begin(Instant::now()), all.begin(Instant::now()));
        tokio::time::advance(Duration::from_millis(999)).await;
        let third = all.begin(Instant::now());
        assert!(!third.cut_another(Instant::now()).await);
        tokio::time::advance(Duration::from_millis(1)).await;
        let mut waits = Box::pin(third.cut_another(Instant::now()));
        assert!(waits.as_mut().now_or_never().is_none());
        assert!(first.cut().now_or_never().is_some() && second.cut().now_or_never().is_none());
        drop(first);
        assert!(waits.await);
        // A body never cuts off itself, and one that has arrived is not cut off.
        drop(second);
        assert!(!third.cut_another(Instant::now() + Duration::from_secs(9)).await);
        drop(third);
        assert!(all.table().bodies.is_empty());
    }
}
