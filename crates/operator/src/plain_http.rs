//! Serves HTTP/1 without TLS on a port that anybody may reach: how many connections there are is up to
//! [`connections`](crate::connections), and how long each one may take, and how large a head may be, is bounded here.
//! Bodies of requests are not read.

use std::{pin::pin, sync::Arc, time::Duration};

use axum::{Router, body::Body, http::Request};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    net::TcpStream,
    sync::watch,
    time::{Instant, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;
use tower::{ServiceExt as _, service_fn};

use crate::connections::Place;

/// How long a connection that has to close may take.
const LAST: Duration = Duration::from_secs(1);

/// The bounds of a connection.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// How long the head of a request may take to arrive.
    pub head: Duration,
    /// The maximum size of a head.
    pub head_bytes: usize,
    /// How long the connection may be idle.
    pub idle: Duration,
    /// How long the client may take to read an answer.
    pub read: Duration,
}

/// Since when a connection's client has an answer to read. Each request has it as an extension.
#[derive(Debug, Clone)]
pub struct Reading(Arc<watch::Sender<Option<Instant>>>);

impl Reading {
    /// Call this when an answer is handed over.
    pub fn begins(&self) {
        self.0.send_replace(Some(Instant::now()));
    }

    /// Call this when nothing of it is left.
    pub fn ends(&self) {
        self.0.send_replace(None);
    }
}

/// Returns when the client has been reading an answer for too long.
async fn stuck(mut since: watch::Receiver<Option<Instant>>, longest: Duration) {
    loop {
        let deadline = since.borrow_and_update().map(|since| since + longest);
        let changed = async {
            if since.changed().await.is_err() {
                std::future::pending().await
            }
        };
        match deadline {
            None => changed.await,
            Some(deadline) => tokio::select! {
                () = changed => {}
                () = sleep_until(deadline) => return,
            },
        }
    }
}

/// Serves one connection until it has to close.
pub async fn serve(stream: TcpStream, place: Place, router: Router, stop: CancellationToken, bounds: Bounds) {
    let place = Arc::new(place);
    let used = place.clone();
    let (reading, since) = watch::channel(None);
    let reading = Reading(Arc::new(reading));
    let service = service_fn(move |mut request: Request<_>| {
        request.extensions_mut().insert(reading.clone());
        let under_way = used.request();
        // Bodies are not read.
        under_way.has_come();
        let answer = router.clone().oneshot(request.map(Body::new));
        async move {
            let answer = answer.await;
            drop(under_way);
            answer
        }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(bounds.head).max_buf_size(bounds.head_bytes);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service)));
    tokio::select! {
        // A client's errors concern only the client.
        _ = connection.as_mut() => return,
        // The rest of the answer is not kept.
        () = stuck(since, bounds.read) => return,
        () = stop.cancelled() => {}
        () = place.close_gracefully(bounds.head, bounds.idle) => {}
    }
    connection.as_mut().graceful_shutdown();
    // An answer under way may end, but a client that does not read it cannot hold the connection.
    let _ = timeout(LAST, connection).await;
}
