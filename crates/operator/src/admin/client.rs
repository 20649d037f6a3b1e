//! A client for an operator's admin socket.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use boathook_core::model::percent_encode;
use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper_util::rt::TokioIo;
use serde::{Serialize, de::DeserializeOwned};
use tokio::{net::UnixStream, time::timeout};
use tokio_util::task::AbortOnDropHandle;

use super::{
    bill::BillView,
    modules::{GraphView, Part},
    operator::{Letters, SnapshotQuery},
    views::{
        Count, DeadLettersView, HooksView, LogLevelView, QueuesView, RetriedView, RunsView, SetLogLevel, SnapshotsView,
    },
    why::{WhyNotView, WhyView},
};

/// The pages' own limits keep answers far shorter than this.
const LONGEST_ANSWER: usize = 256 * 1024 * 1024;
const PATIENCE: Duration = Duration::from_secs(30);

/// A request that got no usable answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error(
        "no operator answers at {}: start one with `boathook serve`, or name its socket with --socket PATH",
        places(tried)
    )]
    NoOperator {
        /// The paths that the client tried.
        tried: Vec<PathBuf>,
    },
    #[error("the admin socket {path} is not accessible: it is for the operator's own user and for root")]
    NotYours { path: PathBuf },
    #[error("cannot connect to the admin socket {path}")]
    Connect {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The operator refused, in its own words.
    #[error("{text}")]
    Refused { status: StatusCode, text: String },
    #[error("the operator at {path} did not answer within {}", humantime::format_duration(*after))]
    TooSlow { path: PathBuf, after: Duration },
    #[error("the operator's answer has more than {LONGEST_ANSWER} bytes: request less with --limit, or name one hook")]
    TooLong,
    /// The connection was lost, or the other end is not an operator.
    #[error("the connection to {path} was lost")]
    Broken {
        path: PathBuf,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The answer has fields that this version does not know.
    #[error("cannot read the operator's answer: use the boathook of the operator's version")]
    Strange(#[source] serde_json::Error),
}

fn places(tried: &[PathBuf]) -> String {
    let shown: Vec<_> = tried.iter().map(|path| path.display().to_string()).collect();
    shown.join(" or ")
}

/// Knows where an operator's socket is. Each request has a connection of its own.
#[derive(Debug, Clone)]
pub struct Client {
    places: Vec<PathBuf>,
}

impl Client {
    /// Uses the first of these paths at which an operator listens.
    pub fn new(places: Vec<PathBuf>) -> Self {
        Self { places }
    }

    pub async fn hooks(&self) -> Result<HooksView, ClientError> {
        self.view("/hooks").await
    }

    /// What the loaded hooks used.
    pub async fn bill(&self) -> Result<BillView, ClientError> {
        self.view("/top").await
    }

    /// Lists queues. Those without tasks are listed only if `show_empty` is set.
    pub async fn queues(&self, show_empty: bool) -> Result<QueuesView, ClientError> {
        self.view(&format!("/queues?showEmpty={show_empty}")).await
    }

    /// Gets a page of a hook's snapshots.
    pub async fn snapshots(&self, hook: &str, query: &SnapshotQuery) -> Result<SnapshotsView, ClientError> {
        self.view(&format!("/hooks/{}/snapshots?{}", escaped(hook), snapshot_query(query))).await
    }

    /// Lists the last runs, of one hook or of all, or only those that failed.
    pub async fn runs(&self, hook: Option<&str>, failed: bool) -> Result<RunsView, ClientError> {
        self.view(&format!("/runs?failed={failed}{}", of_hook(hook))).await
    }

    pub async fn dead_letters(&self, hook: Option<&str>) -> Result<DeadLettersView, ClientError> {
        self.view(&format!("/dead-letters?{}", of_hook(hook).trim_start_matches('&'))).await
    }

    /// Gets the values, the configuration or the patches of a module, or of `global`.
    pub async fn section(
        &self,
        module: &str,
        part: Part,
        show_secrets: bool,
    ) -> Result<serde_json::Value, ClientError> {
        let path = format!("/modules/{}/{}?showSecrets={show_secrets}", escaped(module), part.as_str());
        self.view(&path).await
    }

    /// Gets the modules in their order.
    pub async fn graph(&self) -> Result<GraphView, ClientError> {
        self.view("/graph").await
    }

    /// Gets the last writes of hooks to an object, each with what led to it.
    pub async fn why(&self, object: &str) -> Result<WhyView, ClientError> {
        self.view(&format!("/why?object={}", escaped(object))).await
    }

    /// Gets what kept a hook from running for an object.
    pub async fn why_not(&self, hook: &str, object: &str) -> Result<WhyNotView, ClientError> {
        self.view(&format!("/why-not?hook={}&object={}", escaped(hook), escaped(object))).await
    }

    /// Puts the triggers of dead letters back into their queues.
    pub async fn retry_dead(&self, letters: &Letters) -> Result<RetriedView, ClientError> {
        read(&self.post("/dead-letters/retry", letters).await?)
    }

    pub async fn drop_dead(&self, letters: &Letters) -> Result<Count, ClientError> {
        read(&self.post("/dead-letters/drop", letters).await?)
    }

    /// Gets what is logged.
    pub async fn log_level(&self) -> Result<LogLevelView, ClientError> {
        self.view("/log-level").await
    }

    pub async fn set_log_level(&self, set: &SetLogLevel) -> Result<LogLevelView, ClientError> {
        read(&self.post("/log-level", set).await?)
    }

    /// Sends a command for a hook: `pause`, `resume`, `quarantine`, `release` or `reload`.
    pub async fn command(&self, hook: &str, action: &str) -> Result<(), ClientError> {
        self.post(&format!("/hooks/{}/{action}", escaped(hook)), &()).await.map(drop)
    }

    /// Gets the body at any path.
    pub async fn get(&self, path: &str) -> Result<Bytes, ClientError> {
        self.ask(Method::GET, path, None, PATIENCE).await
    }

    async fn view<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        read(&self.get(path).await?)
    }

    async fn post(&self, path: &str, body: &impl Serialize) -> Result<Bytes, ClientError> {
        let body = serde_json::to_vec(body).map_err(ClientError::Strange)?;
        self.ask(Method::POST, path, Some(body), PATIENCE).await
    }

    async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
        patience: Duration,
    ) -> Result<Bytes, ClientError> {
        let (socket, stream) = self.connect().await?;
        let asked = timeout(patience, exchange(stream, &socket, method, path, body)).await;
        asked.unwrap_or(Err(ClientError::TooSlow { path: socket, after: patience }))
    }

    async fn connect(&self) -> Result<(PathBuf, UnixStream), ClientError> {
        let mut not_yours = None;
        for path in &self.places {
            let error = match UnixStream::connect(path).await {
                Ok(stream) => return Ok((path.clone(), stream)),
                Err(error) => error,
            };
            match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused | io::ErrorKind::NotADirectory => {}
                io::ErrorKind::PermissionDenied => not_yours = not_yours.or(Some(path.clone())),
                _ => return Err(ClientError::Connect { path: path.clone(), source: error }),
            }
        }
        Err(match not_yours {
            Some(path) => ClientError::NotYours { path },
            None => ClientError::NoOperator { tried: self.places.clone() },
        })
    }
}

async fn exchange(
    stream: UnixStream,
    socket: &Path,
    method: Method,
    path: &str,
    body: Option<Vec<u8>>,
) -> Result<Bytes, ClientError> {
    let broken =
        |source: Box<dyn std::error::Error + Send + Sync>| ClientError::Broken { path: socket.to_owned(), source };
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|error| broken(error.into()))?;
    let _driver = AbortOnDropHandle::new(tokio::spawn(async move {
        // The sender receives the connection's errors, too.
        let _ = connection.await;
    }));
    let mut request = Request::builder().method(method).uri(path).header(header::HOST, "boathook");
    if body.is_some() {
        request = request.header(header::CONTENT_TYPE, "application/json");
    }
    let request =
        request.body(Full::new(Bytes::from(body.unwrap_or_default()))).map_err(|error| broken(error.into()))?;
    let answer = sender.send_request(request).await.map_err(|error| broken(error.into()))?;
    let status = answer.status();
    let bytes = match Limited::new(answer.into_body(), LONGEST_ANSWER).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) if error.is::<LengthLimitError>() => return Err(ClientError::TooLong),
        Err(error) => return Err(broken(error)),
    };
    if status.is_success() {
        return Ok(bytes);
    }
    Err(ClientError::Refused { status, text: super::render::clean(String::from_utf8_lossy(&bytes).trim_end()) })
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ClientError> {
    serde_json::from_slice(bytes).map_err(ClientError::Strange)
}

fn of_hook(hook: Option<&str>) -> String {
    hook.map(|hook| format!("&hook={}", escaped(hook))).unwrap_or_default()
}

fn snapshot_query(query: &SnapshotQuery) -> String {
    let mut out = format!("showSecrets={}", query.show_secrets);
    let limit = query.limit.map(|limit| limit.to_string());
    let given = [
        ("binding", query.binding.as_deref()),
        ("namespace", query.namespace.as_deref()),
        ("limit", limit.as_deref()),
        ("continue", query.continue_token.as_deref()),
    ];
    for (name, value) in given {
        if let Some(value) = value {
            out.push_str(&format!("&{name}={}", escaped(value)));
        }
    }
    out
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    percent_encode(&mut out, text);
    out
}
