//! Serves the admin socket to the operator's own user and to root. `routes` has the paths.

use std::{path::Path, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{ConnectInfo, DefaultBodyLimit, Request, connect_info::Connected},
    http::StatusCode,
    middleware::{self, Next},
    response::Response,
    serve::IncomingStream,
};
use boathook_core::tasks::{Task, Tasks};
use tokio::{net::UnixListener, sync::oneshot, time::timeout};

use super::{
    operator::{Operator, Shared},
    routes::{self, plain},
    socket::{self, Found, Socket, SocketError, Taken},
};

/// How long a shutdown waits for answers under way.
const LAST_ANSWERS: Duration = Duration::from_secs(1);
/// No command is longer than this.
const LONGEST_BODY: usize = 256 * 1024;

/// The running server. Dropping it ends it and removes its socket.
pub struct Server {
    shared: Shared,
    operator: Option<Arc<dyn Operator>>,
    stop: oneshot::Sender<()>,
    task: Task<()>,
    taken: Taken,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("path", &self.path()).field("started", &self.operator.is_some()).finish()
    }
}

impl Server {
    /// Takes the socket and serves it. Until [`Server::operate`] is called, the answer to every request is "not yet".
    /// If there is no server in the result, none of the default paths can be used, and the errors say why.
    pub fn start(socket: &Socket, tasks: &Tasks) -> Result<Found<Self>, SocketError> {
        Self::start_for(socket, vec![socket::own_uid(), 0], tasks)
    }

    /// Like [`Server::start`], but for these users instead of this process's own user and root.
    pub fn start_for(socket: &Socket, users: Vec<u32>, tasks: &Tasks) -> Result<Found<Self>, SocketError> {
        let (taken, errors) = socket::take(socket)?;
        Ok((taken.map(|(taken, listener)| Self::serve(taken, listener, users, tasks)), errors))
    }

    fn serve(taken: Taken, listener: UnixListener, users: Vec<u32>, tasks: &Tasks) -> Self {
        let shared = Shared::default();
        let (stop, stopped) = oneshot::channel::<()>();
        let app = guarded(routes::routes(shared.clone()), users).into_make_service_with_connect_info::<Peer>();
        let served = axum::serve(listener, app).with_graceful_shutdown(async {
            // A dropped sender means the same as a signal.
            let _ = stopped.await;
        });
        let task = tasks.spawn("admin socket", async move {
            // axum's accept loop continues after errors, and ends only at the signal.
            let _ = served.await;
        });
        Self { shared, operator: None, stop, task, taken }
    }

    /// The path of the socket.
    pub fn path(&self) -> &Path {
        self.taken.path()
    }

    /// Passes requests to this operator from now on.
    pub fn operate(&mut self, operator: Arc<dyn Operator>) {
        // There is no second call. If there were, the first operator would stay.
        let _ = self.shared.set(Arc::downgrade(&operator));
        self.operator = Some(operator);
    }

    /// Accepts no more connections, lets answers under way end for at most a second, and removes the socket.
    pub async fn shutdown(self) {
        let _ = self.stop.send(());
        // The drop cuts off answers that take longer.
        let _ = timeout(LAST_ANSWERS, self.task).await;
    }
}

/// The user at the other end, as the kernel reports it.
#[derive(Debug, Clone, Copy)]
struct Peer(Option<u32>);

impl Connected<IncomingStream<'_, UnixListener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, UnixListener>) -> Self {
        Self(stream.io().peer_cred().ok().map(|peer| peer.uid()))
    }
}

fn guarded(routes: Router, users: Vec<u32>) -> Router {
    let users: Arc<[u32]> = users.into();
    let check = move |ConnectInfo(peer): ConnectInfo<Peer>, request: Request, next: Next| {
        let users = users.clone();
        async move { admit(peer, &users, request, next).await }
    };
    routes.layer(DefaultBodyLimit::max(LONGEST_BODY)).layer(middleware::from_fn(check))
}

async fn admit(peer: Peer, users: &[u32], request: Request, next: Next) -> Response {
    match peer.0 {
        Some(uid) if users.contains(&uid) => next.run(request).await,
        _ => plain(StatusCode::FORBIDDEN, "this socket is for the operator's own user and for root\n".to_owned()),
    }
}
