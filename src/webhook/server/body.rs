//! Reads bodies within two bounds: of each, and of all that are under way.
//!
//! Reserves only what has come: who announces much and sends nothing takes nothing from others.

use std::sync::Arc;

use axum::body::Body as Incoming;
use http::{HeaderMap, header};
use http_body_util::BodyExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The largest part that is set aside at once, when the length is known.
const AT_ONCE: usize = 64 << 10;

/// Bytes for bodies.
#[derive(Debug, Clone)]
pub(super) struct Bodies {
    each: usize,
    all: Arc<Semaphore>,
}

/// A body, and its part of the bytes.
#[derive(Debug)]
pub(super) struct Body {
    pub bytes: Vec<u8>,
    _reserved: Option<OwnedSemaphorePermit>,
}

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub(super) enum BodyError {
    #[error("the body is larger than {0} bytes")]
    TooLarge(usize),
    #[error("too many large bodies are under way; ask again")]
    Overloaded,
    #[error("the body can't be read: {0}")]
    Broken(String),
}

impl Bodies {
    pub fn new(each: usize, all: usize) -> Self {
        let all = Arc::new(Semaphore::new(all.max(each).min(Semaphore::MAX_PERMITS)));
        Self { each, all }
    }

    /// Reads a body to its end.
    pub async fn read(&self, headers: &HeaderMap, mut incoming: Incoming) -> Result<Body, BodyError> {
        let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
        if length.is_some_and(|length| length > self.each) {
            return Err(BodyError::TooLarge(self.each));
        }
        let mut bytes = Vec::with_capacity(length.unwrap_or_default().min(AT_ONCE));
        let mut reserved: Option<OwnedSemaphorePermit> = None;
        while let Some(frame) = incoming.frame().await {
            let frame = frame.map_err(|error| BodyError::Broken(crate::model::error_chain(&error)))?;
            let Ok(data) = frame.into_data() else { continue };
            if bytes.len() + data.len() > self.each {
                return Err(BodyError::TooLarge(self.each));
            }
            let more = self.reserve(data.len())?;
            match &mut reserved {
                Some(reserved) => reserved.merge(more),
                none => *none = Some(more),
            }
            bytes.extend_from_slice(&data);
        }
        Ok(Body { bytes, _reserved: reserved })
    }

    fn reserve(&self, bytes: usize) -> Result<OwnedSemaphorePermit, BodyError> {
        let bytes = u32::try_from(bytes).map_err(|_| BodyError::TooLarge(self.each))?;
        self.all.clone().try_acquire_many_owned(bytes).map_err(|_| BodyError::Overloaded)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    #[tokio::test]
    async fn bounds_each_and_all() {
        let bodies = Bodies::new(10, 15);
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
        assert!(matches!(Bodies::new(10, 10).read(&headers, never).await, Err(BodyError::TooLarge(10))));
    }
}
