//! Serves the admin socket to the operator's own user and to root. Never knows what is asked: that is
//! `routes`.

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
    answer::plain,
    operator::{Operator, Shared},
    routes,
    socket::{self, Found, Socket, SocketError, Taken},
};

/// How long a shutdown waits for answers that are under way.
const LAST_ANSWERS: Duration = Duration::from_secs(1);
/// No command is longer.
const LONGEST_BODY: usize = 256 * 1024;

/// The running server. It ends when dropped, and its socket is removed.
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
    /// Takes the socket and serves; until [`Server::operate`] every question is answered with "not yet".
    /// Without a server, none of the default places can be used, for the errors' reasons.
    pub fn start(socket: &Socket, tasks: &Tasks) -> Result<Found<Self>, SocketError> {
        Self::start_for(socket, vec![socket::own_uid(), 0], tasks)
    }

    /// The same, for other users than this process's own and root.
    pub fn start_for(socket: &Socket, users: Vec<u32>, tasks: &Tasks) -> Result<Found<Self>, SocketError> {
        let (taken, errors) = socket::take(socket)?;
        Ok((taken.map(|(taken, listener)| Self::serve(taken, listener, users, tasks)), errors))
    }

    fn serve(taken: Taken, listener: UnixListener, users: Vec<u32>, tasks: &Tasks) -> Self {
        let shared = Shared::default();
        let (stop, stopped) = oneshot::channel::<()>();
        let app = guarded(routes::routes(shared.clone()), users).into_make_service_with_connect_info::<Peer>();
        let served = axum::serve(listener, app).with_graceful_shutdown(async {
            // A dropped sender means the same.
            let _ = stopped.await;
        });
        let task = tasks.spawn("admin socket", async move {
            // axum's accept loop goes on over errors, and ends only by the signal.
            let _ = served.await;
        });
        Self { shared, operator: None, stop, task, taken }
    }

    /// Where it listens.
    pub fn path(&self) -> &Path {
        self.taken.path()
    }

    /// From now on questions go to this operator.
    pub fn operate(&mut self, operator: Arc<dyn Operator>) {
        // A second one does not happen; the first would do as well.
        let _ = self.shared.set(Arc::downgrade(&operator));
        self.operator = Some(operator);
    }

    /// Accepts nothing more, lets answers under way end for at most a second, and removes the socket.
    pub async fn shutdown(self) {
        let _ = self.stop.send(());
        // Whoever is slower than that is cut off by the drop.
        let _ = timeout(LAST_ANSWERS, self.task).await;
    }
}

/// Who is at the other end; the kernel says so.
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
