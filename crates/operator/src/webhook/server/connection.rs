//! One connection, from its handshake to its end. Every wait for a client has a limit.

use std::{pin::pin, sync::Arc, time::Duration};

use axum::{Router, body::Body};
use http::Request;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
    service::TowerToHyperService,
};
use tokio::{
    io::AsyncWriteExt as _,
    net::TcpStream,
    time::{sleep, timeout},
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use tokio_util::sync::CancellationToken;
use tower::{ServiceExt as _, service_fn};

use super::{Settings, routes::Asker};
use crate::connections::Place;

/// What all connections share.
pub(super) struct Shared {
    pub acceptor: TlsAcceptor,
    pub router: Router,
    pub settings: Settings,
    pub stop: CancellationToken,
}

/// The first byte of a TLS connection. No HTTP request begins with it.
const HANDSHAKE: u8 = 0x16;
/// How long a connection that has to close may take if nothing is under way.
const LAST: Duration = Duration::from_secs(1);
/// The maximum size of a request's head in bytes.
const HEAD: usize = 32 << 10;
/// The maximum number of requests under way on one HTTP/2 connection.
const STREAMS: u32 = 128;
/// The number of bytes that one HTTP/2 stream, and one connection, may send ahead.
const WINDOWS: (u32, u32) = (256 << 10, 1 << 20);

pub(super) async fn serve(stream: TcpStream, place: Place, shared: Arc<Shared>) {
    let place = Arc::new(place);
    let settings = &shared.settings;
    let handshake = tokio::select! {
        () = shared.stop.cancelled() => return,
        () = place.told_to_close(settings.head, settings.idle) => return,
        done = timeout(settings.handshake, handshake(stream, &shared.acceptor)) => done,
    };
    if let Ok(Some(stream)) = handshake {
        serve_http(stream, place, &shared).await;
    }
}

async fn handshake(mut stream: TcpStream, acceptor: &TlsAcceptor) -> Option<TlsStream<TcpStream>> {
    let mut first = [0];
    let seen = stream.peek(&mut first).await.ok()?;
    if seen == 1 && first != [HANDSHAKE] {
        // Other servers answer like this, too. For a client that does not use HTTP either, there is nothing to do.
        const PLAIN: &[u8] =
            b"HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain\r\n\r\nthis port speaks https only\n";
        let _ = stream.write_all(PLAIN).await;
        let _ = stream.shutdown().await;
        return None;
    }
    // Sends small answers at once.
    let _ = stream.set_nodelay(true);
    acceptor.accept(stream).await.ok()
}

async fn serve_http(stream: TlsStream<TcpStream>, place: Arc<Place>, shared: &Shared) {
    let settings = &shared.settings;
    let certificate = stream.get_ref().1.peer_certificates().is_some();
    let (router, used) = (shared.router.clone(), place.clone());
    let service = service_fn(move |mut request: Request<_>| {
        let under_way = Arc::new(used.request());
        request.extensions_mut().insert(Asker { certificate, request: under_way.clone() });
        let answer = router.clone().oneshot(request.map(Body::new));
        async move {
            let answer = answer.await;
            drop(under_way);
            answer
        }
    });
    let builder = builder(settings);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service)));
    tokio::select! {
        // A client's errors concern only the client.
        _ = connection.as_mut() => return,
        () = shared.stop.cancelled() => {}
        () = place.told_to_close(settings.head, settings.idle) => {}
    }
    connection.as_mut().graceful_shutdown();
    loop {
        tokio::select! {
            _ = connection.as_mut() => return,
            () = sleep(LAST) => if !place.is_busy() { return },
        }
    }
}

fn builder(settings: &Settings) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(settings.head).max_buf_size(HEAD);
    let (stream, connection) = WINDOWS;
    let mut http2 = builder.http2();
    http2.timer(TokioTimer::new()).max_concurrent_streams(STREAMS).max_header_list_size(HEAD as u32);
    http2.initial_stream_window_size(stream).initial_connection_window_size(connection);
    // Detects a client that went away without closing the connection.
    http2.keep_alive_interval(settings.idle / 4).keep_alive_timeout(settings.head);
    builder
}
