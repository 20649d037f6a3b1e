//! The server: one port, TLS, HTTP/1.1 and 2. No hook and no client can keep the others from being answered.
//! [`Settings`] has the limits.

mod body;
mod routes;
mod shares;

use std::{io, net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use axum::{Router, body::Body};
use boathook_core::tasks::{Task, Tasks};
use http::Request;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
    service::TowerToHyperService,
};
use tokio::{
    io::AsyncWriteExt as _,
    net::{TcpListener, TcpStream},
    sync::{Notify, watch},
    time::{sleep, timeout},
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        RootCertStore, ServerConfig,
        crypto::ring,
        pki_types::{CertificateDer, pem::PemObject as _},
        server::{ClientHello, ResolvesServerCert, WebPkiClientVerifier},
        sign::CertifiedKey,
    },
    server::TlsStream,
};
use tokio_util::sync::CancellationToken;
use tower::{ServiceExt as _, service_fn};

use super::{Answerer, Certificates, certs::Serving};
use crate::connections::{Connections, Place, accept};
use routes::Asker;

/// Why the server cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("cannot listen on {address} for webhooks: choose another address with --webhook-listen")]
    Bind {
        address: SocketAddr,
        #[source]
        source: io::Error,
    },
    #[error("the authorities for the webhooks' clients cannot be used: {0}")]
    ClientCa(String),
    #[error("TLS cannot be set up for webhooks: {0}")]
    Tls(String),
}

/// The running server. Dropping it ends it.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: CancellationToken,
    connections: Arc<Connections>,
    grace: Duration,
    task: Task<()>,
}

impl Server {
    /// Listens on `address` (port 0 for any free one) and serves from then on. With `client_ca`, authorities in PEM,
    /// only clients that show a certificate of one of them are answered. `/healthz` is open to all clients.
    pub async fn start(
        address: SocketAddr,
        settings: Settings,
        certificates: &Certificates,
        client_ca: Option<&[u8]>,
        answerer: Arc<dyn Answerer>,
        tasks: &Tasks,
    ) -> Result<Self, ServerError> {
        let config = config(certificates.serving(), client_ca)?;
        let bind = async {
            let listener = TcpListener::bind(address).await?;
            Ok((listener.local_addr()?, listener))
        };
        let (address, listener) = bind.await.map_err(|source| ServerError::Bind { address, source })?;
        let (stop, grace) = (CancellationToken::new(), settings.grace);
        let connections = Connections::new(settings.connections);
        let shared = Arc::new(Shared {
            acceptor: TlsAcceptor::from(config),
            router: routes::router(&settings, client_ca.is_some(), certificates.paths(), answerer),
            settings,
            stop: stop.clone(),
        });
        let failed = |error: &io::Error| tracing::warn!(%error, "a connection to the webhooks was not accepted");
        let serve = move |stream, place| serve(stream, place, shared.clone());
        let task = tasks.spawn("webhook server", accept(listener, connections.clone(), stop.clone(), failed, serve));
        Ok(Self { address, stop, connections, grace, task })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The number of connections.
    pub fn connections(&self) -> usize {
        self.connections.count()
    }

    /// Accepts no more connections, lets answers under way end within the grace period, and closes.
    pub async fn shutdown(self) {
        self.stop.cancel();
        // The drop cuts off answers that take longer.
        let _ = timeout(self.grace, self.task).await;
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The maximum size of a body in bytes; 8 MiB. The API server sends objects of up to about 3 MiB, two at a time.
    pub body: usize,
    /// The maximum size of all bodies under way in bytes; 64 MiB.
    pub bodies: usize,
    /// How long a body may take to arrive if others need its bytes; 1 s. A body from the API server takes milliseconds.
    pub slow: Duration,
    /// The maximum number of connections; 1024. If one more arrives, the one that has been idle for longest closes.
    /// Connections without any request close first.
    pub connections: usize,
    /// The maximum number of requests that are answered at a time; 64.
    pub questions: usize,
    /// The maximum number of these for one hook; 32. Four times as many may wait for their turn.
    pub questions_of_one: usize,
    /// The maximum number of patches of objects over 64 KiB that are made at a time; 4. Each takes many times its
    /// object's memory.
    pub large_patches: usize,
    /// How long a TLS handshake may take; 5 s.
    pub handshake: Duration,
    /// How long a request's head may take to arrive, and the first request after the handshake; 10 s.
    pub head: Duration,
    /// How long a connection may be without a request; 2 min.
    pub idle: Duration,
    /// The API server's timeout if a request does not contain it; 10 s.
    pub patience: Duration,
    /// How long a shutdown waits for answers under way; 10 s.
    pub grace: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            body: 8 << 20,
            bodies: 64 << 20,
            slow: Duration::from_secs(1),
            connections: 1024,
            questions: 64,
            questions_of_one: 32,
            large_patches: 4,
            handshake: Duration::from_secs(5),
            head: Duration::from_secs(10),
            idle: Duration::from_secs(120),
            patience: Duration::from_secs(10),
            grace: Duration::from_secs(10),
        }
    }
}

/// What all connections share.
struct Shared {
    pub acceptor: TlsAcceptor,
    pub router: Router,
    pub settings: Settings,
    pub stop: CancellationToken,
}

/// The first byte of a TLS connection. No HTTP request begins with it.
const HANDSHAKE: u8 = 0x16;
/// How long a connection that has to close for others may take if nothing is under way.
const LAST: Duration = Duration::from_secs(1);
/// The same at the end of the server. A request that an API server is about to send gets its answer, or a GOAWAY that lets
/// the API server send it to another replica.
const LAST_AT_END: Duration = Duration::from_secs(5);
/// The maximum size of a request's head in bytes.
const HEAD: usize = 32 << 10;
/// The maximum number of requests under way on one HTTP/2 connection.
const STREAMS: u32 = 128;
/// The number of bytes that one HTTP/2 stream, and one connection, may send ahead.
const WINDOWS: (u32, u32) = (256 << 10, 1 << 20);

async fn serve(stream: TcpStream, place: Place, shared: Arc<Shared>) {
    let place = Arc::new(place);
    let settings = &shared.settings;
    // What was accepted is answered, even if the server has to end in the meantime: the API server would not try again.
    let handshake = tokio::select! {
        () = place.close_gracefully(settings.head, settings.idle) => return,
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
    let came = Arc::new(Notify::new());
    let comes = came.clone();
    let service = service_fn(move |mut request: Request<_>| {
        comes.notify_one();
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
    let last = tokio::select! {
        // A client's errors concern only the client.
        _ = connection.as_mut() => return,
        () = shared.stop.cancelled() => LAST_AT_END,
        () = place.close_gracefully(settings.head, settings.idle) => LAST,
    };
    if shared.stop.is_cancelled() {
        // Before its first request, a connection would only be closed.
        tokio::select! {
            _ = connection.as_mut() => return,
            () = came.notified() => {}
            () = sleep(last) => {}
        }
    }
    connection.as_mut().graceful_shutdown();
    loop {
        tokio::select! {
            _ = connection.as_mut() => return,
            () = sleep(last) => if !place.is_busy() { return },
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

/// Each handshake uses the current certificate, and existing connections continue.
struct Current(watch::Receiver<Serving>);

impl std::fmt::Debug for Current {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Current")
    }
}

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.borrow().key.clone())
    }
}

/// With `clients`, which are the authorities of clients in PEM, clients are requested to show certificates, and these
/// are checked. Clients without a certificate can still connect, because probes have none. The routes refuse their
/// requests.
fn config(serving: watch::Receiver<Serving>, clients: Option<&[u8]>) -> Result<Arc<ServerConfig>, ServerError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone());
    let builder = builder.with_safe_default_protocol_versions().map_err(|error| ServerError::Tls(error.to_string()))?;
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(pem) => {
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots(pem)?), provider);
            let verifier = verifier.allow_unauthenticated().build();
            builder.with_client_cert_verifier(verifier.map_err(|error| ServerError::ClientCa(error.to_string()))?)
        }
    };
    let mut config = builder.with_cert_resolver(Arc::new(Current(serving)));
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn roots(pem: &[u8]) -> Result<RootCertStore, ServerError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| ServerError::ClientCa(error.to_string()))?;
        roots.add(certificate).map_err(|error| ServerError::ClientCa(error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(ServerError::ClientCa("there is no certificate in it".to_owned()));
    }
    Ok(roots)
}
