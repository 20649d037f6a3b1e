//! The server: one port, TLS, HTTP/1.1 and 2. No hook and no client can keep the others from being answered.
//! [`Settings`] has the limits.

mod body;
mod coming;
mod connection;
mod deadline;
mod routes;
mod settings;
mod shares;
mod tls;

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use boathook_core::tasks::{Task, Tasks};
use tokio::{
    net::TcpListener,
    task::JoinSet,
    time::{Instant, timeout},
};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use self::connection::Shared;
use super::{Answerer, Certificates};
use crate::connections::Connections;

pub use settings::Settings;

/// Why the server cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The server cannot listen on the address.
    #[error("can't listen on {address} for webhooks: choose another address with --webhook-listen")]
    Bind {
        address: SocketAddr,
        #[source]
        source: io::Error,
    },
    /// The authorities of clients cannot be used.
    #[error("the authorities for the webhooks' clients can't be used: {0}")]
    ClientCa(String),
    /// TLS cannot be set up.
    #[error("TLS can't be set up for webhooks: {0}")]
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
        let config = tls::config(certificates.serving(), client_ca)?;
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
        let task = tasks.spawn("webhook server", accept(listener, shared, connections.clone()));
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

async fn accept(listener: TcpListener, shared: Arc<Shared>, connections: Arc<Connections>) {
    /// The wait before the next attempt.
    const PAUSE: Duration = Duration::from_millis(100);
    let mut open = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            () = shared.stop.cancelled() => break,
            Some(_) = open.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            // No place is free, and no connection is idle. The client retries.
            Ok((stream, _)) => {
                if let Some(place) = connections.enter(Instant::now()) {
                    open.spawn(connection::serve(stream, place, shared.clone()));
                }
            }
            Err(error) => {
                tracing::warn!(%error, "a connection to the webhooks was not accepted");
                // The most frequent cause is that there are no file handles left, and an idle connection has one.
                connections.make_room();
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    drop(listener);
    while open.join_next().await.is_some() {}
}
