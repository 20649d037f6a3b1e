//! Reads one response of the API server, line by line or whole. Every wait has a limit, and nothing is retried here.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use http::{Request, Response, header::RETRY_AFTER};
use http_body_util::{BodyDataStream, BodyExt};
use kube::{Client, client::Body};
use tokio::time::{Instant, timeout};

use super::{error::RequestError, wire};

/// The most bytes that are read of an error response.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// How long a response may take to begin. A server begins to answer at once, even if the rest takes long. If it does
/// not, the request went through a kept connection that is dead, and the caller must try another one.
const BEGIN: Duration = Duration::from_secs(20);

/// The bytes of a response as they arrive.
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

/// Sends a request. A response without a success status is an error.
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
    // A failure to read the text of an error is not worth another error.
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

/// Reads the whole response. A response longer than `max_bytes` is an error.
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

/// A response that is read line by line.
#[derive(Debug)]
pub(super) struct Lines {
    chunks: Chunks,
    buffer: BytesMut,
    /// How many bytes at the start of `buffer` contain no line end.
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

    /// Returns the next line that is not empty, without its end, or `None` if the server ended the response.
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

    /// Sets how long the server may be silent from now on.
    pub fn set_silence(&mut self, silence: Duration) {
        self.chunks.silence = silence;
    }
}
