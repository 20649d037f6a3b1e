//! A proxy that understands HTTP, in front of an API server or of another server without TLS. It counts the writes, and
//! passes on as many as a test says. After the last one it answers nothing any more, so that the test can kill who sent it
//! between this write and the next one.
//! It never changes what it carries.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::header::{CONNECTION, HOST, TRANSFER_ENCODING};
use http::{HeaderMap, Method, Request, Response};
use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1 as client;
use hyper::server::conn::http1 as server;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::Client;
use kube::client::Body;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use super::cluster::Cluster;
use super::test::RUNTIME;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

pub struct Gate {
    /// Where it listens: `127.0.0.1:PORT`.
    pub address: String,
    state: Arc<State>,
    accepting: JoinHandle<()>,
}

struct State {
    server: Server,
    life: Mutex<Arc<Life>>,
    passed: Mutex<Vec<Write>>,
}

enum Server {
    Kubernetes(Client),
    At(String),
}

/// What the client may still write.
#[derive(Default)]
struct Life {
    most: usize,
    begun: AtomicUsize,
    done: AtomicUsize,
}

/// A write that was answered.
#[derive(Debug, Clone)]
pub struct Write {
    pub method: Method,
    /// With its query.
    pub path: String,
    pub status: u16,
}

impl Gate {
    /// In front of the API server, as its admin.
    pub async fn to_cluster(cluster: &Cluster) -> Self {
        Self::start(Server::Kubernetes(cluster.client.clone())).await
    }

    /// In front of a server without TLS.
    pub async fn to(address: &str) -> Self {
        Self::start(Server::At(address.to_owned())).await
    }

    async fn start(server: Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind a port");
        let address = listener.local_addr().expect("the port that was bound").to_string();
        let state = Arc::new(State { server, life: Mutex::default(), passed: Mutex::default() });
        let accepting = RUNTIME.spawn(accept(listener, state.clone()));
        let gate = Self { address, state, accepting };
        gate.opens();
        gate
    }

    /// A kubeconfig that leads through it.
    pub fn kubeconfig(&self, dir: &Path) -> PathBuf {
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "gate",
            "clusters": [{"name": "gate", "cluster": {"server": format!("http://{}", self.address)}}],
            "users": [{"name": "gate", "user": {}}],
            "contexts": [{"name": "gate", "context": {"cluster": "gate", "user": "gate"}}],
        });
        let file = dir.join("kubeconfig-via-gate");
        std::fs::write(&file, config.to_string()).expect("write a kubeconfig");
        file
    }

    /// This many writes pass from now on, and nothing after the last of them.
    pub fn passes(&self, writes: usize) {
        *locked(&self.state.life) = Arc::new(Life { most: writes, ..Life::default() });
    }

    /// Everything passes from now on.
    pub fn opens(&self) {
        self.passes(usize::MAX);
    }

    /// The last write has passed, and is answered.
    pub fn is_shut(&self) -> bool {
        let life = locked(&self.state.life).clone();
        life.done.load(Ordering::SeqCst) >= life.most
    }

    /// The writes that were answered since the last call.
    pub fn passed(&self) -> Vec<Write> {
        std::mem::take(&mut locked(&self.state.passed))
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        while connections.try_join_next().is_some() {}
        let state = state.clone();
        connections.spawn(async move {
            let service = service_fn(move |request| pass(state.clone(), request));
            // It ends as its client ends it.
            let _ = server::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn pass(state: Arc<State>, request: Request<Incoming>) -> Result<Response<Body>, BoxError> {
    let life = locked(&state.life).clone();
    let (method, path) = (request.method().clone(), request.uri().to_string());
    // A review of rights is a POST, and stores nothing.
    let is_write = method != Method::GET && !path.contains("/authorization.k8s.io/");
    let before = if is_write { life.begun.fetch_add(1, Ordering::SeqCst) } else { life.begun.load(Ordering::SeqCst) };
    if before >= life.most {
        return std::future::pending().await;
    }
    let (mut parts, body) = request.into_parts();
    hop(&mut parts.headers);
    if matches!(state.server, Server::Kubernetes(_)) {
        parts.headers.remove(HOST);
    }
    let request = Request::from_parts(parts, body.collect().await?.to_bytes());
    if !is_write {
        return send(&state.server, request).await;
    }
    // The server has it, whatever happens to who sent it.
    let write = RUNTIME.spawn({
        let life = life.clone();
        async move {
            let response = send(&state.server, request).await;
            if let Ok(response) = &response {
                let status = response.status().as_u16();
                locked(&state.passed).push(Write { method, path, status });
            }
            life.done.fetch_add(1, Ordering::SeqCst);
            response
        }
    });
    let response = write.await?;
    if before + 1 >= life.most { std::future::pending().await } else { response }
}

async fn send(server: &Server, request: Request<Bytes>) -> Result<Response<Body>, BoxError> {
    let mut response = match server {
        Server::Kubernetes(client) => client.send(request.map(Body::from)).await?,
        Server::At(address) => {
            let stream = TcpStream::connect(address).await?;
            let (mut sender, connection) = client::handshake(TokioIo::new(stream)).await?;
            RUNTIME.spawn(connection);
            let (parts, body) = sender.send_request(request.map(Body::from)).await?.into_parts();
            Response::from_parts(parts, Body::from(body.collect().await?.to_bytes()))
        }
    };
    hop(response.headers_mut());
    Ok(response)
}

/// What is said of one connection does not hold for the next one.
fn hop(headers: &mut HeaderMap) {
    headers.remove(CONNECTION);
    headers.remove(TRANSFER_ENCODING);
}
