//! One answer of the API server: its bytes as lines, or whole. Every wait has an end. Never
//! retries.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use http::{Request, Response, header::RETRY_AFTER};
use http_body_util::{BodyDataStream, BodyExt};
use kube::{Client, client::Body};
use tokio::time::{Instant, timeout};

use super::{error::RequestError, wire};

/// Longest error answer that is read.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// An answer begins at once, whatever comes later: who waits longer asked through a kept connection
/// that is dead, and has to try another.
const BEGIN: Duration = Duration::from_secs(20);

/// Bytes of an answer as they come.
#[derive(Debug)]
struct Chunks {
    body: BodyDataStream<Body>,
    last: Instant,
    silence: Duration,
}

impl Chunks {
    /// Cancel-safe.
    async fn next(&mut self) -> Result<Option<Bytes>, RequestError> {
        let chunk = timeout(self.silence.saturating_sub(self.last.elapsed()), self.body.next())
            .await
            .map_err(|_| RequestError::Silent(self.silence))?
            .transpose()
            .map_err(RequestError::Broken)?;
        self.last = Instant::now();
        Ok(chunk)
    }
}

/// Sends a request; the answer's status is a success.
async fn send(client: &Client, request: Request<Body>, silence: Duration) -> Result<Chunks, RequestError> {
    let begin = silence.min(BEGIN);
    let response = timeout(begin, client.send(request))
        .await
        .map_err(|_| RequestError::Silent(begin))?
        .map_err(RequestError::Unreachable)?;
    let (code, retry_after) = (response.status(), retry_after(&response));
    let mut chunks = Chunks { body: response.into_body().into_data_stream(), last: Instant::now(), silence };
    if code.is_success() {
        return Ok(chunks);
    }
    let mut text = BytesMut::new();
    // What can't be read of an error's text is not worth another error.
    while let Ok(Some(chunk)) = chunks.next().await {
        text.extend_from_slice(&chunk);
        if text.len() > MAX_ERROR_BYTES {
            break;
        }
    }
    Err(wire::status(&text, code.as_u16(), retry_after))
}

fn retry_after(response: &Response<Body>) -> Option<Duration> {
    response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

/// The whole answer. Longer ones than `max_bytes` are an error.
pub(super) async fn whole(
    client: &Client,
    request: Request<Body>,
    silence: Duration,
    max_bytes: usize,
) -> Result<BytesMut, RequestError> {
    let mut chunks = send(client, request, silence).await?;
    let mut whole = BytesMut::new();
    while let Some(chunk) = chunks.next().await? {
        if whole.len().saturating_add(chunk.len()) > max_bytes {
            return Err(RequestError::TooLong(max_bytes));
        }
        whole.extend_from_slice(&chunk);
    }
    Ok(whole)
}

/// An answer that is read line by line.
#[derive(Debug)]
pub(super) struct Lines {
    chunks: Chunks,
    buffer: BytesMut,
    /// Bytes of `buffer` that hold no line end.
    searched: usize,
    max_line: usize,
}

impl Lines {
    pub async fn open(
        client: &Client,
        request: Request<Body>,
        silence: Duration,
        max_line: usize,
    ) -> Result<Self, RequestError> {
        let chunks = send(client, request, silence).await?;
        Ok(Self { chunks, buffer: BytesMut::new(), searched: 0, max_line })
    }

    /// The next line, not empty, without its end; `None` when the server ended the answer.
    /// Cancel-safe.
    pub async fn next(&mut self) -> Result<Option<BytesMut>, RequestError> {
        loop {
            if let Some(line) = self.take_line() {
                if line.trim_ascii().is_empty() {
                    continue;
                }
                return Ok(Some(line));
            }
            if self.buffer.len() > self.max_line {
                return Err(RequestError::TooLong(self.max_line));
            }
            match self.chunks.next().await? {
                Some(chunk) => self.buffer.extend_from_slice(&chunk),
                None if self.buffer.trim_ascii().is_empty() => return Ok(None),
                None => return Err(RequestError::HalfLine),
            }
        }
    }

    fn take_line(&mut self) -> Option<BytesMut> {
        let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
        let Some(end) = unsearched.iter().position(|&byte| byte == b'\n') else {
            self.searched = self.buffer.len();
            return None;
        };
        let line = self.buffer.split_to(self.searched + end + 1);
        self.searched = 0;
        Some(line)
    }

    /// From now on, how long the server may be silent.
    pub fn set_silence(&mut self, silence: Duration) {
        self.chunks.silence = silence;
    }
}
