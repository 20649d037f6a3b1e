//! The console's port. `/` is the page, and `/api/…` has the views of the admin socket as JSON, for those who may see them.
//!
//! Any client that can reach the port may send requests, so connections, the time for answers, and the memory that answers
//! take are limited.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    extract::Request,
    http::{HeaderName, HeaderValue, Method, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
};
use boathook_core::tasks::{Task, Tasks};
use kube::Client;
use tokio::{
    net::TcpListener,
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::{
    Options, TEXT,
    access::{Access, Gate},
    again::{self, Again},
    assets,
    origin::{self, Hosts},
};
use crate::{
    admin::{Operator, Shared, routes},
    connections::{Connections, accept},
    plain_http::{self, Bounds, Reading},
};

/// How long a shutdown waits for answers under way.
const LAST_ANSWERS: Duration = Duration::from_secs(1);
/// The maximum number of connections. If one more arrives, the one that has been idle for longest closes.
const CONNECTIONS: usize = 64;
const BOUNDS: Bounds = Bounds {
    head: Duration::from_secs(10),
    // Tokens of some identity providers are long.
    head_bytes: 16 << 10,
    idle: Duration::from_secs(60),
    read: Duration::from_secs(30),
};
/// How many answers with data may exist at the same time, how long a request waits for that, and how long an answer is.
const ANSWERS: (usize, Duration, usize) = (4, Duration::from_secs(10), 64 << 20);

/// What every response says about itself. Only files of this port are loaded, and nothing else may show the page.
static HEADERS: [(HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// Why there is no console.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("cannot listen on {address} for the console: choose another address with --console")]
    Bind {
        address: SocketAddr,
        #[source]
        source: io::Error,
    },
    #[error("a console with a secret of its own cannot listen on {address}: choose a loopback address")]
    NotLoopback { address: SocketAddr },
    #[error("a console whose visitors give tokens repeats no runs: `boathook dev` has a console that does")]
    RepeatsForVisitors,
}

/// The running server. Dropping it ends it.
pub struct Server {
    address: SocketAddr,
    shared: Shared,
    operator: Option<Arc<dyn Operator>>,
    stop: CancellationToken,
    task: Task<()>,
}

impl Server {
    /// Listens, and serves from then on. Until [`Server::operate`] is called, the answer to requests for data is "not yet".
    pub async fn start(options: &Options, client: Client, tasks: &Tasks) -> Result<Self, ServerError> {
        let address = options.listen;
        if matches!(options.access, Access::Secret(_)) && !address.ip().is_loopback() {
            return Err(ServerError::NotLoopback { address });
        }
        if matches!(options.access, Access::Reviewed) && options.again.is_some() {
            return Err(ServerError::RepeatsForVisitors);
        }
        let bind = async {
            let listener = TcpListener::bind(address).await?;
            Ok((listener.local_addr()?, listener))
        };
        let (address, listener) = bind.await.map_err(|source| ServerError::Bind { address, source })?;
        if !address.ip().is_loopback() {
            warn!(%address, "tokens for the console pass the network without TLS: use a loopback address and `kubectl port-forward`");
        }
        let (shared, stop) = (Shared::default(), CancellationToken::new());
        let hosts = Hosts::of(address, matches!(options.access, Access::Reviewed));
        let gate = Gate::new(&options.access, client);
        let router = router(gate, hosts, shared.clone(), options.again.clone());
        let task = tasks.spawn("console", serve_all(listener, router, stop.clone()));
        Ok(Self { address, shared, operator: None, stop, task })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Passes requests to this operator from now on.
    pub fn operate(&mut self, operator: Arc<dyn Operator>) {
        // There is no second call. If there were, the first operator would stay.
        let _ = self.shared.set(Arc::downgrade(&operator));
        self.operator = Some(operator);
    }

    /// Accepts no more connections, lets answers under way end for at most a second, and closes.
    pub async fn shutdown(self) {
        self.stop.cancel();
        // The drop cuts off answers that take longer.
        let _ = timeout(LAST_ANSWERS, self.task).await;
    }
}

fn serve_all(listener: TcpListener, router: Router, stop: CancellationToken) -> impl Future<Output = ()> {
    let failed = |error: &io::Error| warn!(%error, "cannot accept a connection for the console; retrying");
    let until = stop.clone();
    let serve = move |stream, place| plain_http::serve(stream, place, router.clone(), stop.clone(), BOUNDS);
    accept(listener, Connections::new(CONNECTIONS), until, failed, serve)
}

fn router(gate: Gate, hosts: Hosts, operator: Shared, again: Option<Again>) -> Router {
    let (gate, answers) = (Arc::new(gate), Arc::new(Semaphore::new(ANSWERS.0)));
    let admit = move |request: Request, next: Next| {
        let gate = gate.clone();
        async move {
            match gate.admit(request.headers()).await {
                Ok(()) => next.run(request).await,
                Err(denied) => denied.into_response(),
            }
        }
    };
    let bound = move |request: Request, next: Next| bounded(answers.clone(), request, next);
    let check = move |request: Request, next: Next| checked(hosts, request, next);
    let views = routes::views(operator).merge(again.map(again::routes).unwrap_or_default());
    // The last layer sees a request first.
    let api = views.layer(middleware::from_fn(bound)).layer(middleware::from_fn(admit));
    Router::new()
        .nest("/api", api)
        .fallback(assets::serve)
        .layer(middleware::from_fn(check))
        .layer(middleware::map_response(described))
}

/// Refuses what the page does not send.
async fn checked(hosts: Hosts, request: Request, next: Next) -> Response {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let text = "the console is read-only: use GET or HEAD\n";
        let headers = [(header::CONTENT_TYPE, TEXT), (header::ALLOW, "GET, HEAD")];
        return (StatusCode::METHOD_NOT_ALLOWED, headers, text).into_response();
    }
    let data = request.uri().path().starts_with("/api");
    match origin::check(hosts, request.headers(), data) {
        Ok(()) => next.run(request).await,
        Err(why) => (StatusCode::FORBIDDEN, [(header::CONTENT_TYPE, TEXT)], format!("{why}\n")).into_response(),
    }
}

async fn described(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in &HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}

/// An answer that the client has not read completely.
struct Held {
    bytes: Bytes,
    reading: Option<Reading>,
    _place: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(reading) = &self.reading {
            reading.ends();
        }
    }
}

/// Makes few answers at a time. An answer has its place until the client has read it, or has taken too long.
async fn bounded(answers: Arc<Semaphore>, request: Request, next: Next) -> Response {
    let (_, patience, longest) = ANSWERS;
    let Ok(Ok(place)) = timeout(patience, answers.acquire_owned()).await else {
        return busy("too many requests are under way: try again\n");
    };
    let reading = request.extensions().get::<Reading>().cloned();
    let (parts, body) = next.run(request).await.into_parts();
    let Ok(bytes) = to_bytes(body, longest).await else {
        return busy("the answer is too long: use the admin socket\n");
    };
    if let Some(reading) = &reading {
        reading.begins();
    }
    Response::from_parts(parts, Body::from(Bytes::from_owner(Held { bytes, reading, _place: place })))
}

fn busy(text: &'static str) -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, [(header::CONTENT_TYPE, TEXT)], text).into_response()
}
