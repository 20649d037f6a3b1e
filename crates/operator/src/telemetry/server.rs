//! Serves health and metrics over plain HTTP. [`ROUTES`] lists the paths. What "ready" means is decided elsewhere.
//!
//! Any client that can reach the Pod may send requests, so connections, and the time for answers, are limited.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Extension, Router,
    body::{Body, Bytes},
    extract::{RawQuery, State},
    http::{HeaderMap, Method, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use boathook_core::tasks::{Task, Tasks};
use tokio::{net::TcpListener, time::timeout};
use tokio_util::sync::CancellationToken;

use super::{
    hook_metrics::HookMetrics,
    metrics::Metrics,
    page::{Page, Version},
    readiness::{Converge, Readiness},
};
use crate::{
    connections::{Connections, accept},
    plain_http::{self, Bounds, Reading},
};

/// What is served, and at which path. Health is served as JSON if `Accept` or `?format=json` requests it.
pub const ROUTES: [(&str, &str); 7] = [
    (
        "/healthz",
        "200 as long as the process works, 503 once a task of it has ended by itself; says how each hook is doing",
    ),
    ("/startupz", "200 once all hooks were loaded or refused, 503 before"),
    (
        "/readyz",
        "200 when no hook waits for anything and each module was tried, else 503 with what is waited for; with \
         `?exclude=hooks`, 200 when reviews may be routed to this replica",
    ),
    ("/status/converge", "how far modules are, in addon-operator's words; JSON with `?output=json`"),
    ("/metrics", "metrics of the operator, Prometheus text format"),
    ("/metrics/hooks", "metrics that hooks report, Prometheus text format"),
    ("/discovery", "this list"),
];

const METRICS_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";

/// How long a shutdown waits for answers under way.
const LAST_ANSWERS: Duration = Duration::from_secs(2);
/// The maximum number of connections. If one more arrives, the one that has been idle for longest closes, so the
/// kubelet can always connect.
const CONNECTIONS: usize = 256;
/// Prometheus scrapes every minute, keeps its connection, and does not wait for as long as it may read.
const BOUNDS: Bounds = Bounds {
    head: Duration::from_secs(10),
    head_bytes: 16 << 10,
    idle: Duration::from_secs(120),
    read: Duration::from_secs(30),
};

/// Why the server cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("cannot listen on {address} for health and metrics: choose another address with --listen")]
    Bind {
        address: SocketAddr,
        #[source]
        source: io::Error,
    },
}

/// Returns the operator's readiness. It must not block.
pub type Probe = Arc<dyn Fn() -> Readiness + Send + Sync>;

/// What is served.
#[derive(Clone)]
pub struct Shown {
    /// The operator's own metrics.
    pub metrics: Arc<Metrics>,
    /// The metrics that hooks report.
    pub hook_metrics: Arc<HookMetrics>,
    /// Returns what the operator waits for.
    pub probe: Probe,
}

/// The running server. Dropping it ends it.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: CancellationToken,
    task: Task<()>,
}

/// The pages. Many clients may request them.
#[derive(Clone)]
struct Pages {
    metrics: Page<Result<String, String>>,
    hook_metrics: Page<String>,
    health: Page<Health>,
}

/// The health of the operator.
struct Health {
    works: bool,
    started: bool,
    ready: bool,
    serves: bool,
    /// The first line is a word about liveness. The other lines are what the operator waits for.
    text: String,
    json: String,
    /// How far modules are.
    converge: String,
    converge_json: String,
}

impl Health {
    fn of(readiness: &Readiness) -> Self {
        let works = readiness.ended.is_none();
        let text = format!("{}\n{}", if works { OK } else { BROKEN }, readiness.text());
        let (started, ready, serves) = (readiness.started, readiness.ready(), readiness.serves);
        Self {
            works,
            started,
            ready,
            serves,
            text,
            json: readiness.json().to_string(),
            converge: Converge::text(readiness.modules),
            converge_json: Converge::json(readiness.modules).to_string(),
        }
    }

    fn waits_for(&self) -> &str {
        self.text.split_once('\n').map_or("", |(_, text)| text)
    }
}

const OK: &str = "ok";
const BROKEN: &str = "broken";

impl Pages {
    fn of(shown: Shown) -> Self {
        let Shown { metrics, hook_metrics, probe } = shown;
        Self {
            metrics: Page::new(move || metrics.text().map_err(|error| error.to_string())),
            hook_metrics: Page::new(move || hook_metrics.text()),
            health: Page::new(move || Health::of(&probe())),
        }
    }
}

/// An answer that the client has not read completely. It keeps its version alive, and shows a part of it.
struct Answer<T> {
    version: Arc<Version<T>>,
    part: fn(&T) -> &str,
    reading: Reading,
}

impl<T: Send + Sync + 'static> Answer<T> {
    fn body(reading: Reading, version: Arc<Version<T>>, part: fn(&T) -> &str) -> Body {
        reading.begins();
        Bytes::from_owner(Self { version, part, reading }).into()
    }
}

impl<T> AsRef<[u8]> for Answer<T> {
    fn as_ref(&self) -> &[u8] {
        (self.part)(&self.version).as_bytes()
    }
}

impl<T> Drop for Answer<T> {
    fn drop(&mut self) {
        self.reading.ends();
    }
}

impl Server {
    /// Listens on `address` (port 0 for any free one) and serves from then on.
    pub async fn start(address: SocketAddr, shown: Shown, tasks: &Tasks) -> Result<Self, ServerError> {
        let bind = async {
            let listener = TcpListener::bind(address).await?;
            Ok((listener.local_addr()?, listener))
        };
        let (address, listener) = bind.await.map_err(|source| ServerError::Bind { address, source })?;
        let stop = CancellationToken::new();
        let task = tasks.spawn("health and metrics", serve_all(listener, routes(Pages::of(shown)), stop.clone()));
        Ok(Self { address, stop, task })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Accepts no more connections, lets answers under way end for at most two seconds, and closes.
    pub async fn shutdown(self) {
        self.stop.cancel();
        // The drop cuts off answers that take longer.
        let _ = timeout(LAST_ANSWERS, self.task).await;
    }
}

fn serve_all(listener: TcpListener, router: Router, stop: CancellationToken) -> impl Future<Output = ()> {
    let failed =
        |error: &io::Error| tracing::warn!(%error, "cannot accept a connection for health and metrics; retrying");
    let until = stop.clone();
    let serve = move |stream, place| plain_http::serve(stream, place, router.clone(), stop.clone(), BOUNDS);
    accept(listener, Connections::new(CONNECTIONS), until, failed, serve)
}

fn routes(pages: Pages) -> Router {
    Router::new()
        .route("/healthz", get(healthz))
        .route("/startupz", get(startupz))
        .route("/readyz", get(readyz))
        .route("/status/converge", get(converge))
        .route("/metrics", get(show_metrics))
        .route("/metrics/hooks", get(show_hook_metrics))
        .route("/discovery", get(discovery))
        .fallback(not_found)
        .method_not_allowed_fallback(not_allowed)
        .with_state(pages)
}

/// The answer while the process ends.
fn ending() -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, "the operator is ending\n").into_response()
}

async fn healthz(State(pages): State<Pages>, asked: Asked) -> Response {
    health(pages, asked, |health| health.works, |health| &health.text).await
}

async fn startupz(State(pages): State<Pages>, asked: Asked) -> Response {
    health(pages, asked, |health| health.started, Health::waits_for).await
}

async fn readyz(State(pages): State<Pages>, asked: Asked) -> Response {
    // The API server excludes checks of its own in the same way.
    let without_hooks = has(asked.0.0.as_deref(), "exclude=hooks");
    health(pages, asked, if without_hooks { |health| health.serves } else { |health| health.ready }, Health::waits_for)
        .await
}

/// A client reads the state from the body. The status says only that there is one, as in addon-operator.
async fn converge(State(pages): State<Pages>, (RawQuery(query), headers, Extension(reading)): Asked) -> Response {
    let Some(version) = pages.health.get().await else { return ending() };
    let json = has(query.as_deref(), "output=json") || wants_json(query.as_deref(), &headers);
    let (format, part): (_, fn(&Health) -> &str) =
        if json { (JSON, |health| &health.converge_json) } else { (TEXT, |health| &health.converge) };
    ([(header::CONTENT_TYPE, format)], Answer::body(reading, version, part)).into_response()
}

/// The parts of a health request that matter for its answer.
type Asked = (RawQuery, HeaderMap, Extension<Reading>);

async fn health(pages: Pages, asked: Asked, good: fn(&Health) -> bool, text: fn(&Health) -> &str) -> Response {
    let (RawQuery(query), headers, Extension(reading)) = asked;
    let Some(version) = pages.health.get().await else { return ending() };
    let status = if good(&version) { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let (format, part): (_, fn(&Health) -> &str) =
        if wants_json(query.as_deref(), &headers) { (JSON, |health| &health.json) } else { (TEXT, text) };
    (status, [(header::CONTENT_TYPE, format)], Answer::body(reading, version, part)).into_response()
}

fn has(query: Option<&str>, wanted: &str) -> bool {
    query.is_some_and(|query| query.split('&').any(|pair| pair == wanted))
}

fn wants_json(query: Option<&str>, headers: &HeaderMap) -> bool {
    let asked = has(query, "format=json");
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    asked || accept.is_some_and(|accept| accept.contains("application/json"))
}

async fn show_metrics(State(pages): State<Pages>, Extension(reading): Extension<Reading>) -> Response {
    let Some(version) = pages.metrics.get().await else { return ending() };
    if let Err(error) = &**version {
        return (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response();
    }
    let body = Answer::body(reading, version, |page| page.as_deref().unwrap_or_default());
    ([(header::CONTENT_TYPE, METRICS_FORMAT)], body).into_response()
}

async fn show_hook_metrics(State(pages): State<Pages>, Extension(reading): Extension<Reading>) -> Response {
    let Some(version) = pages.hook_metrics.get().await else { return ending() };
    ([(header::CONTENT_TYPE, METRICS_FORMAT)], Answer::body(reading, version, |page| page)).into_response()
}

async fn discovery(RawQuery(query): RawQuery, headers: HeaderMap) -> Response {
    if !wants_json(query.as_deref(), &headers) {
        return route_list().into_response();
    }
    let route = |(path, what): &(&str, &str)| serde_json::json!({ "path": path, "description": what });
    axum::Json(serde_json::json!({ "routes": ROUTES.iter().map(route).collect::<Vec<_>>() })).into_response()
}

fn route_list() -> String {
    ROUTES.iter().map(|(path, what)| format!("{path:<15} {what}\n")).collect()
}

async fn not_found() -> Response {
    (StatusCode::NOT_FOUND, format!("there is no such page; there are:\n{}", route_list())).into_response()
}

async fn not_allowed(method: Method) -> Response {
    (StatusCode::METHOD_NOT_ALLOWED, format!("{method} is not possible here: use GET or HEAD\n")).into_response()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use boathook_core::model::{HookName, MetricOp, MetricSample, MetricValue};
    use serde_json::json;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpStream,
        time::sleep,
    };

    use super::*;
    use crate::telemetry::readiness::{HookReadiness, Role, SourceReadiness};

    struct Stage {
        server: Server,
        metrics: Arc<Metrics>,
        hook_metrics: Arc<HookMetrics>,
        readiness: Arc<Mutex<Readiness>>,
    }

    async fn stage() -> Stage {
        let metrics = Arc::new(Metrics::new("").unwrap());
        let readiness = Arc::new(Mutex::new(Readiness::default()));
        let reported = readiness.clone();
        let probe: Probe = Arc::new(move || reported.lock().unwrap().clone());
        let hook_metrics = Arc::new(HookMetrics::new(10));
        let shown = Shown { metrics: metrics.clone(), hook_metrics: hook_metrics.clone(), probe };
        let server = Server::start(([127, 0, 0, 1], 0).into(), shown, &Tasks::default()).await.unwrap();
        Stage { server, metrics, hook_metrics, readiness }
    }

    struct Got {
        status: u16,
        head: String,
        body: String,
    }

    impl Stage {
        async fn get(&self, path: &str, more: &str) -> Got {
            self.ask("GET", path, more).await
        }

        async fn ask(&self, method: &str, path: &str, more: &str) -> Got {
            let mut stream = TcpStream::connect(self.server.address()).await.unwrap();
            let request = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{more}\r\n");
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).await.unwrap();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            let status = head.split(' ').nth(1).unwrap().parse().unwrap();
            Got { status, head: head.to_lowercase(), body: body.to_owned() }
        }
    }

    fn hook(name: &str, missing: &[&str]) -> HookReadiness {
        let missing = missing.iter().map(ToString::to_string).collect();
        HookReadiness { hook: name.to_owned(), missing, counts: true }
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
        *stage.readiness.lock().unwrap() = Readiness {
            started: true,
            hooks,
            quarantined: vec![("bad".into(), "no\nhook".into())],
            ..Default::default()
        };
        assert_eq!(statuses().await, [200, 200, 503, 404]);
        let body = stage.get("/readyz", "").await.body;
        assert!(body.contains("[+]copy ok\n"), "{body}");
        assert!(body.contains("[-]taint waits for: synchronization of nodes; a watch of nodes\n"), "{body}");

        assert!(body.contains("[!]bad is quarantined: no hook\n"), "{body}");

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

    // mutant: crates/operator/src/telemetry/readiness.rs: `self.modules.filter(|_| self.role != Role::Standby)` => `self.modules`
    #[tokio::test]
    async fn converge_has_addon_operators_words_and_readiness_waits_for_it() {
        let stage = stage().await;
        let shows = async |modules: Option<Converge>, role: Role| {
            *stage.readiness.lock().unwrap() = Readiness { started: true, modules, role, ..Default::default() };
            let (text, json) =
                (stage.get("/status/converge", "").await, stage.get("/status/converge?output=json", "").await);
            assert_eq!((text.status, json.status), (200, 200));
            assert!(json.head.contains("content-type: application/json"), "{}", json.head);
            let ready = stage.get("/readyz", "").await;
            (text.body, serde_json::from_str::<serde_json::Value>(&json.body).unwrap(), ready.status, ready.body)
        };
        let done = json!({"STARTUP_CONVERGE_DONE": true, "CONVERGE_WAIT_TASK": true});
        let (text, json, status, _) = shows(None, Role::Alone).await;
        assert_eq!((text.as_str(), status), ("STARTUP_CONVERGE_DONE\nCONVERGE_WAIT_TASK\n", 200));
        assert_eq!(json, done);

        let before = Converge::default();
        let (text, json, status, body) = shows(Some(before), Role::Alone).await;
        assert_eq!((text.as_str(), status), ("STARTUP_CONVERGE_NOT_STARTED\n", 503));
        assert_eq!(json, json!({"STARTUP_CONVERGE_NOT_STARTED": true}));
        assert!(body.contains("[-]modules are not being tried yet: see the log\n"), "{body}");
        // A standby tries no modules.
        let (text, _, status, _) = shows(Some(before), Role::Standby).await;
        assert_eq!((text.as_str(), status), ("STARTUP_CONVERGE_NOT_STARTED\n", 200));

        let first = Converge { begun: true, moving: 3, ..before };
        let (text, json, status, body) = shows(Some(first), Role::Leader).await;
        assert_eq!((text.as_str(), status), ("STARTUP_CONVERGE_IN_PROGRESS: 3 tasks\n", 503));
        assert_eq!(json, json!({"STARTUP_CONVERGE_IN_PROGRESS": 3}));
        assert!(body.contains("[-]modules are being tried: 3 of them are neither ready nor off\n"), "{body}");

        let broken = Converge { tried: true, moving: 1, ..first };
        let (text, json, status, body) = shows(Some(broken), Role::Leader).await;
        assert_eq!((text.as_str(), status), ("STARTUP_CONVERGE_DONE\nCONVERGE_IN_PROGRESS: 1 tasks\n", 200));
        assert_eq!(json, json!({"STARTUP_CONVERGE_DONE": true, "CONVERGE_IN_PROGRESS": 1}));
        assert!(body.contains("[+]modules were tried\n"), "{body}");
        assert_eq!(shows(Some(Converge { moving: 0, ..broken }), Role::Leader).await.1, done);
        // The webhooks of this replica may be what the modules wait for.
        *stage.readiness.lock().unwrap() =
            Readiness { started: true, serves: true, modules: Some(first), ..Default::default() };
        assert_eq!(stage.get("/readyz?exclude=hooks", "").await.status, 200);
    }

    #[tokio::test]
    async fn says_which_source_is_missing_and_waits_for_the_operators_own() {
        let stage = stage().await;
        let source = |source: &str, counts| SourceReadiness {
            source: source.to_owned(),
            missing: "the registry\nis away".to_owned(),
            counts,
        };
        let tenants = HookReadiness { counts: false, ..hook("copy.a.team", &["a kind"]) };
        let (own, other) = (source("bundle own", true), source("HookBundle team/a", false));
        *stage.readiness.lock().unwrap() =
            Readiness { started: true, hooks: vec![tenants], sources: vec![own, other], ..Default::default() };
        let answer = stage.get("/readyz", "").await;
        assert_eq!(answer.status, 503);
        for line in [
            "[-]bundle own is missing: the registry is away\n",
            "[!]HookBundle team/a is missing: the registry is away\n",
            "[!]copy.a.team waits for: a kind\n",
        ] {
            assert!(answer.body.contains(line), "{}", answer.body);
        }
        assert_eq!(stage.get("/readyz?exclude=hooks", "").await.status, 503, "the operator starts");
        stage.readiness.lock().unwrap().serves = true;
        assert_eq!(stage.get("/readyz?exclude=hooks", "").await.status, 200);
        assert_eq!(stage.get("/readyz?exclude=others", "").await.status, 503);
        stage.readiness.lock().unwrap().sources[0].missing.clear();
        assert_eq!(stage.get("/readyz", "").await.status, 200);
    }

    #[tokio::test]
    async fn shows_the_metrics() {
        let stage = stage().await;
        stage.metrics.live_tick();
        let answer = stage.get("/metrics", "").await;
        assert_eq!(answer.status, 200);
        assert!(answer.head.contains("content-type: text/plain; version=0.0.4"), "{}", answer.head);
        assert!(answer.body.contains("\nlive_ticks 1\n"), "{}", answer.body);

        let sample = MetricSample::new("up", Vec::new(), None, MetricValue::Set(1.0)).unwrap();
        stage.hook_metrics.apply(&HookName::new("copy").unwrap(), &[MetricOp::Record(sample)]);
        let answer = stage.get("/metrics/hooks", "").await;
        assert!(answer.head.contains("content-type: text/plain; version=0.0.4"), "{}", answer.head);
        assert!(answer.body.ends_with("up{hook=\"copy\"} 1\n"), "{}", answer.body);
    }

    #[tokio::test]
    async fn lists_what_it_serves() {
        let stage = stage().await;
        let json: serde_json::Value =
            serde_json::from_str(&stage.get("/discovery?format=json", "").await.body).unwrap();
        let (text, lost) = (stage.get("/discovery", "").await.body, stage.get("/lost", "").await);
        for (at, (path, _)) in ROUTES.iter().enumerate() {
            assert_eq!(json["routes"][at]["path"], *path);
            assert!(text.contains(path) && lost.body.contains(path), "{path}");
            let (got, head) = (stage.get(path, "").await, stage.ask("HEAD", path, "").await);
            assert_ne!(got.status, 404, "{path}");
            assert_eq!((head.status, head.body.as_str()), (got.status, ""), "{path}");
            assert_eq!(stage.ask("POST", path, "Content-Length: 0\r\n").await.status, 405, "{path}");
        }
    }

    #[tokio::test]
    async fn a_taken_address_is_an_error_that_names_it() {
        let stage = stage().await;
        let taken = stage.server.address();
        let (metrics, hook_metrics) = (stage.metrics.clone(), stage.hook_metrics.clone());
        let shown = Shown { metrics, hook_metrics, probe: Arc::new(Readiness::default) };
        let error = Server::start(taken, shown, &Tasks::default()).await.unwrap_err();
        assert!(error.to_string().contains(&taken.to_string()), "{error}");
    }

    // mutant: crates/operator/src/telemetry/server.rs: `Connections::new(CONNECTIONS)` => `Connections::new(usize::MAX)`
    #[tokio::test]
    async fn who_holds_connections_keeps_nobody_out() {
        let stage = stage().await;
        let (began, mut held) = (tokio::time::Instant::now(), Vec::new());
        for _ in 0..CONNECTIONS + 10 {
            let mut silent = TcpStream::connect(stage.server.address()).await.unwrap();
            silent.write_all(b"GET /metrics HTTP/1.1\r\nX-Slow: ").await.unwrap();
            held.push(silent);
        }
        assert_eq!(stage.get("/discovery", "").await.status, 200);
        let mut rest = Vec::new();
        // The connections that came first had to close.
        let _ = held[0].read_to_end(&mut rest).await;
        assert_eq!(String::from_utf8_lossy(&rest), "");
        assert!(began.elapsed() < BOUNDS.head, "its head was not waited for until then");
    }

    // mutant: crates/operator/src/plain_http.rs: `.max_buf_size(bounds.head_bytes)` => ``
    #[tokio::test]
    async fn a_head_without_an_end_is_refused() {
        let stage = stage().await;
        let mut endless = TcpStream::connect(stage.server.address()).await.unwrap();
        let mut answer = String::new();
        let _ = endless.write_all(format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(BOUNDS.head_bytes)).as_bytes()).await;
        endless.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
    }

    // mutant: crates/operator/src/plain_http.rs: `() = stuck(since, bounds.read) => return,` => ``
    #[tokio::test(start_paused = true)]
    async fn an_answer_that_nobody_reads_is_kept_for_a_while() {
        const SIZE: usize = 32 << 20;
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let probe: Probe = Arc::new(Readiness::default);
        let shown =
            Shown { metrics: Arc::new(Metrics::new("").unwrap()), hook_metrics: Arc::new(HookMetrics::new(10)), probe };
        let pages = Pages { hook_metrics: Page::new(|| "x".repeat(SIZE)), ..Pages::of(shown) };
        let _server = tokio_util::task::AbortOnDropHandle::new(tokio::spawn(serve_all(
            listener,
            routes(pages),
            CancellationToken::new(),
        )));
        let ask = async || {
            let mut client = TcpStream::connect(address).await.unwrap();
            client.write_all(b"GET /metrics/hooks HTTP/1.1\r\nConnection: close\r\n\r\n").await.unwrap();
            let mut first = [0; 12];
            client.read_exact(&mut first).await.unwrap();
            assert_eq!(&first, b"HTTP/1.1 200");
            client
        };
        let (mut slow, mut quick, mut all, mut some) = (ask().await, ask().await, Vec::new(), Vec::new());
        quick.read_to_end(&mut all).await.unwrap();
        assert!(all.len() > SIZE);
        sleep(BOUNDS.read + Duration::from_secs(1)).await;
        // The connection is reset, or ends early.
        let _ = slow.read_to_end(&mut some).await;
        assert!(some.len() < SIZE, "{}", some.len());
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
