//! Serves health and metrics over plain HTTP. Never decides what ready means: it is told.
//!
//! | path | answer |
//! | --- | --- |
//! | `/healthz` | 200 as long as the process answers |
//! | `/startupz` | 200 once all hooks were loaded or refused, 503 before |
//! | `/readyz` | 200 when no hook waits for anything, else 503; the body lists every hook, as JSON when asked for by `Accept` or `?format=json` |
//! | `/metrics` | Prometheus text format |

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{RawQuery, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use tokio::{net::TcpListener, sync::oneshot, time::timeout};
use tokio_util::task::AbortOnDropHandle;

use super::{metrics::Metrics, readiness::Readiness};

/// How long a shutdown waits for answers that are under way.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// A server that can't serve.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The address can't be listened on.
    #[error("can't listen on {address} for health and metrics: choose another address with --listen")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// Tells whether the operator is ready. Called for each request; must not block.
pub type Probe = Arc<dyn Fn() -> Readiness + Send + Sync>;

/// The running server. It ends when dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    task: AbortOnDropHandle<()>,
}

impl Server {
    /// Listens on `address` (port 0 for any free one) and serves from then on.
    pub async fn start(address: SocketAddr, metrics: Arc<Metrics>, probe: Probe) -> Result<Self, ServerError> {
        let bind = async {
            let listener = TcpListener::bind(address).await?;
            Ok((listener.local_addr()?, listener))
        };
        let (address, listener) = bind.await.map_err(|source| ServerError::Bind { address, source })?;
        let (stop, stopped) = oneshot::channel::<()>();
        let served = axum::serve(listener, routes(metrics, probe)).with_graceful_shutdown(async {
            // A dropped sender means the same.
            let _ = stopped.await;
        });
        let task = tokio::spawn(async move {
            // axum's accept loop goes on over errors, and ends only by the signal.
            let _ = served.await;
        });
        Ok(Self { address, stop, task: AbortOnDropHandle::new(task) })
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Accepts nothing more, lets answers under way end for at most two seconds, and closes.
    pub async fn shutdown(self) {
        let _ = self.stop.send(());
        // Whoever is slower than that is cut off by the drop.
        let _ = timeout(LAST_ANSWERS, self.task).await;
    }
}

#[derive(Clone)]
struct App {
    metrics: Arc<Metrics>,
    probe: Probe,
}

fn routes(metrics: Arc<Metrics>, probe: Probe) -> Router {
    Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/startupz", get(startupz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(show_metrics))
        .with_state(App { metrics, probe })
}

async fn startupz(State(app): State<App>) -> Response {
    if (app.probe)().started {
        "ok\n".into_response()
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "hooks are being loaded\n").into_response()
    }
}

async fn readyz(State(app): State<App>, RawQuery(query): RawQuery, headers: HeaderMap) -> Response {
    let readiness = (app.probe)();
    let status = if readiness.ready() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    if wants_json(query.as_deref(), &headers) {
        (status, axum::Json(readiness.json())).into_response()
    } else {
        (status, readiness.text()).into_response()
    }
}

fn wants_json(query: Option<&str>, headers: &HeaderMap) -> bool {
    let asked = query.is_some_and(|query| query.split('&').any(|pair| pair == "format=json"));
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    asked || accept.is_some_and(|accept| accept.contains("application/json"))
}

async fn show_metrics(State(app): State<App>) -> Response {
    match app.metrics.text() {
        Ok(text) => ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use std::sync::Mutex;

    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpStream,
    };

    use super::*;
    use crate::telemetry::readiness::HookReadiness;

    struct Stage {
        server: Server,
        metrics: Arc<Metrics>,
        readiness: Arc<Mutex<Readiness>>,
    }

    async fn stage() -> Stage {
        let metrics = Arc::new(Metrics::new("").unwrap());
        let readiness = Arc::new(Mutex::new(Readiness::default()));
        let told = readiness.clone();
        let probe: Probe = Arc::new(move || told.lock().unwrap().clone());
        let server = Server::start(([127, 0, 0, 1], 0).into(), metrics.clone(), probe).await.unwrap();
        Stage { server, metrics, readiness }
    }

    struct Answer {
        status: u16,
        head: String,
        body: String,
    }

    impl Stage {
        async fn get(&self, path: &str, more: &str) -> Answer {
            let mut stream = TcpStream::connect(self.server.address()).await.unwrap();
            let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{more}\r\n");
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).await.unwrap();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            let status = head.split(' ').nth(1).unwrap().parse().unwrap();
            Answer { status, head: head.to_lowercase(), body: body.to_owned() }
        }
    }

    fn hook(name: &str, missing: &[&str]) -> HookReadiness {
        HookReadiness { hook: name.to_owned(), missing: missing.iter().map(ToString::to_string).collect() }
    }

    #[tokio::test]
    async fn tells_life_start_and_readiness_apart() {
        let stage = stage().await;
        let statuses = async || {
            let mut all = Vec::new();
            for path in ["/healthz", "/startupz", "/readyz", "/elsewhere"] {
                all.push(stage.get(path, "").await.status);
            }
            all
        };
        assert_eq!(statuses().await, [200, 503, 503, 404]);
        let hooks = vec![hook("copy", &[]), hook("taint", &["synchronization of nodes", "a watch of nodes"])];
        *stage.readiness.lock().unwrap() = Readiness { started: true, hooks };
        assert_eq!(statuses().await, [200, 200, 503, 404]);
        let body = stage.get("/readyz", "").await.body;
        assert!(body.contains("[+]copy ok\n"), "{body}");
        assert!(body.contains("[-]taint waits for: synchronization of nodes; a watch of nodes\n"), "{body}");

        for (path, more) in [("/readyz?format=json", ""), ("/readyz", "Accept: application/json\r\n")] {
            let answer = stage.get(path, more).await;
            assert!(answer.head.contains("content-type: application/json"), "{}", answer.head);
            let json: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
            assert_eq!((&json["ready"], &json["started"]), (&false.into(), &true.into()));
            assert_eq!(json["hooks"][1]["missing"][0], "synchronization of nodes");
            assert_eq!(json["hooks"][0]["ready"], true);
        }
        stage.readiness.lock().unwrap().hooks[1].missing.clear();
        assert_eq!(statuses().await, [200, 200, 200, 404]);
    }

    #[tokio::test]
    async fn shows_the_metrics() {
        let stage = stage().await;
        stage.metrics.live_tick();
        let answer = stage.get("/metrics", "").await;
        assert_eq!(answer.status, 200);
        assert!(answer.head.contains("content-type: text/plain; version=0.0.4"), "{}", answer.head);
        assert!(answer.body.contains("\nlive_ticks 1\n"), "{}", answer.body);
    }

    #[tokio::test]
    async fn a_taken_address_is_an_error_that_names_it() {
        let stage = stage().await;
        let taken = stage.server.address();
        let probe: Probe = Arc::new(Readiness::default);
        let error = Server::start(taken, stage.metrics.clone(), probe).await.unwrap_err();
        assert!(error.to_string().contains(&taken.to_string()), "{error}");
    }

    #[tokio::test]
    async fn shuts_down_though_a_client_holds_its_connection() {
        let stage = stage().await;
        let address = stage.server.address();
        let mut idle = TcpStream::connect(address).await.unwrap();
        idle.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
        let mut first = [0; 12];
        idle.read_exact(&mut first).await.unwrap();
        assert_eq!(&first, b"HTTP/1.1 200");
        stage.server.shutdown().await;
        let mut rest = Vec::new();
        idle.read_to_end(&mut rest).await.unwrap();
        assert!(TcpStream::connect(address).await.is_err());
    }
}
