//! Transfers layers to and from a registry: downloads that continue where they broke off, and uploads of what is
//! missing. Every downloaded byte goes through the store's checks.

use std::{path::PathBuf, time::Duration};

use bytes::Bytes;
use http::{Method, StatusCode, Uri, header};
use tokio::task::spawn_blocking;

use super::{RegistryError, RegistryProblem, Repository, http as transport};
use crate::{
    Descriptor, Progress,
    store::{Partial, StoreError},
};

/// How many downloads in a row may make no progress before a layer is given up.
const ATTEMPTS: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_millis(200);

impl Repository {
    /// Downloads the rest of a layer, and moves it into the store.
    pub async fn fetch(
        &self,
        layer: &Descriptor,
        mut partial: Partial,
        progress: &Progress,
    ) -> Result<PathBuf, RegistryError> {
        let wrong = |problem| RegistryError::new(&self.at, &format!("layer {}", layer.title()), problem);
        loop {
            self.complete(layer, &mut partial, progress).await.map_err(wrong)?;
            // This blocks on the disk.
            let finished = spawn_blocking(move || (partial.finish(), partial)).await;
            let (finished, back) = finished.map_err(|error| wrong(RegistryProblem::Lost(error.into())))?;
            partial = back;
            match finished {
                // The error may be in what a previous pull left.
                Err(StoreError::Digest { .. }) if partial.renew().map_err(|error| wrong(error.into()))? => {
                    progress.take(layer.size);
                }
                finished => return finished.map_err(|error| wrong(error.into())),
            }
        }
    }

    /// Sends requests until the whole layer is there.
    async fn complete(
        &self,
        layer: &Descriptor,
        partial: &mut Partial,
        progress: &Progress,
    ) -> Result<(), RegistryProblem> {
        progress.add(partial.len());
        let mut failures = 0;
        while partial.len() < layer.size {
            let before = partial.len();
            match self.piece(layer, partial, progress).await {
                Ok(()) => {}
                Err(problem) if !again(&problem) => return Err(problem),
                Err(problem) => {
                    failures = if partial.len() > before { 1 } else { failures + 1 };
                    if failures >= ATTEMPTS {
                        return Err(problem);
                    }
                    tokio::time::sleep(FIRST_PAUSE * 2_u32.pow(failures - 1)).await;
                }
            }
        }
        Ok(())
    }

    /// Sends one request, and reads as much as arrives.
    async fn piece(
        &self,
        layer: &Descriptor,
        partial: &mut Partial,
        progress: &Progress,
    ) -> Result<(), RegistryProblem> {
        let url = format!("{}/blobs/{}", self.base, layer.digest);
        let from = partial.len();
        let range = [(header::RANGE, format!("bytes={from}-"))];
        let headers = if from > 0 { &range[..] } else { &[] };
        let answer = self.exchange(&Method::GET, &url, headers, Bytes::new()).await?;
        let good = [StatusCode::OK, StatusCode::PARTIAL_CONTENT, StatusCode::RANGE_NOT_SATISFIABLE];
        let answer = transport::expect(answer, &good).await?;
        let begins =
            |value: &str| value.strip_prefix("bytes ").is_some_and(|rest| rest.starts_with(&format!("{from}-")));
        let range = answer.headers().get(header::CONTENT_RANGE).and_then(|value| value.to_str().ok());
        let goes_on = answer.status() == StatusCode::PARTIAL_CONTENT && range.is_some_and(begins);
        if from > 0 && !goes_on {
            progress.take(from);
            partial.restart()?;
        }
        if answer.status() == StatusCode::RANGE_NOT_SATISFIABLE {
            return Err(RegistryProblem::Status { status: 416, text: "the registry has no such range".to_owned() });
        }
        let mut body = answer.into_body();
        while let Some(bytes) = transport::next(&mut body).await? {
            partial.write(&bytes)?;
            progress.add(bytes.len() as u64);
        }
        match partial.len() {
            len if len < layer.size => Err(RegistryProblem::Store(StoreError::TooShort {
                layer: layer.title().to_owned(),
                got: len,
                size: layer.size,
            })),
            _ => Ok(()),
        }
    }
}

/// Whether the same request may succeed if it is sent again.
fn again(problem: &RegistryProblem) -> bool {
    match problem {
        RegistryProblem::Unreachable { .. } | RegistryProblem::Lost(_) | RegistryProblem::Stalled(_) => true,
        RegistryProblem::Store(StoreError::TooShort { .. }) => true,
        RegistryProblem::Status { status, .. } | RegistryProblem::Elsewhere { status, .. } => {
            matches!(status, 416 | 429 | 500..)
        }
        _ => false,
    }
}

/// Stores a blob, unless it exists. Returns whether it was sent.
pub(super) async fn upload(to: &Repository, blob: &Descriptor, bytes: Bytes) -> Result<bool, RegistryProblem> {
    let url = format!("{}/blobs/{}", to.base, blob.digest);
    let answer = to.exchange(&Method::HEAD, &url, &[], Bytes::new()).await?;
    if answer.status() == StatusCode::OK {
        return Ok(false);
    }
    let start = format!("{}/blobs/uploads/", to.base);
    let answer = to.exchange(&Method::POST, &start, &[], Bytes::new()).await?;
    let answer = transport::expect(answer, &[StatusCode::ACCEPTED]).await?;
    let location = answer.headers().get(header::LOCATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let base: Uri = start.parse().map_err(|_| RegistryProblem::Address(start.clone()))?;
    let place = transport::join(&base, location)?.to_string();
    let join = if place.contains('?') { '&' } else { '?' };
    let target = format!("{place}{join}digest={}", blob.digest);
    let kind = [(header::CONTENT_TYPE, "application/octet-stream".to_owned())];
    let answer = to.exchange(&Method::PUT, &target, &kind, bytes).await?;
    transport::expect(answer, &[StatusCode::CREATED]).await?;
    Ok(true)
}
