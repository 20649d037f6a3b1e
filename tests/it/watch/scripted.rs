//! An API server whose every answer the test gives: for errors that no real server makes on demand.

use std::{collections::HashMap, convert::Infallible, net::SocketAddr, time::Duration};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Query, Request, State},
    response::Response,
};
use futures::{StreamExt, stream};
use serde_json::json;
use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot},
    task::JoinHandle,
    time::timeout,
};

pub const DEADLINE: Duration = Duration::from_secs(20);

pub struct Scripted {
    pub address: Option<SocketAddr>,
    app: Router,
    asked: mpsc::UnboundedReceiver<Asked>,
    /// Looks whether it went back in time are for the test, too. Otherwise it did not.
    pub shows_looks: bool,
    task: Option<JoinHandle<()>>,
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.task.iter().for_each(JoinHandle::abort);
    }
}

/// A request that waits for its answer.
pub struct Asked {
    pub path: String,
    pub query: HashMap<String, String>,
    answer: oneshot::Sender<Response>,
}

impl Scripted {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut server = Self::without_socket();
        let app = server.app.clone();
        server.task = Some(tokio::spawn(async move { axum::serve(listener, app).await.unwrap() }));
        server.address = Some(address);
        server
    }

    /// One that is called directly, so that a paused clock stands still while it is asked.
    pub fn without_socket() -> Self {
        let (sender, asked) = mpsc::unbounded_channel();
        let app = Router::new().fallback(ask).with_state(sender);
        Self { address: None, app, asked, shows_looks: false, task: None }
    }

    pub fn client(&self) -> kube::Client {
        let Some(address) = self.address else { return kube::Client::new(self.app.clone(), "default") };
        let uri = format!("http://{address}").parse().unwrap();
        let mut config = kube::Config::new(uri);
        config.default_retry = false;
        kube::Client::try_from(config).unwrap()
    }

    /// The next request, in the order of arrival.
    pub async fn next(&mut self) -> Asked {
        self.wait(DEADLINE).await.expect("a request")
    }

    /// The next request, if it comes in time.
    pub async fn wait(&mut self, time: Duration) -> Option<Asked> {
        let next = async {
            loop {
                let asked = self.asked.recv().await?;
                if self.shows_looks || !asked.is_look() {
                    return Some(asked);
                }
                asked.page("18446744073709551615", &[], None);
            }
        };
        timeout(time, next).await.ok().flatten()
    }

    /// Whether a request is there already.
    pub fn is_asked(&mut self) -> bool {
        !self.asked.is_empty()
    }
}

async fn ask(
    State(sender): State<mpsc::UnboundedSender<Asked>>,
    Query(query): Query<HashMap<String, String>>,
    request: Request,
) -> Result<Response, Infallible> {
    let (answer, answered) = oneshot::channel();
    let _ = sender.send(Asked { path: request.uri().path().to_owned(), query, answer });
    Ok(answered.await.unwrap_or_else(|_| Response::builder().status(500).body(Body::empty()).unwrap()))
}

impl Asked {
    pub fn param(&self, name: &str) -> Option<&str> {
        self.query.get(name).map(String::as_str)
    }

    pub fn is_page(&self) -> bool {
        self.param("watch").is_none()
    }

    /// For one object, whether the server went back in time.
    pub fn is_look(&self) -> bool {
        self.is_page() && self.param("limit") == Some("1")
    }

    pub fn is_watch_from(&self, version: &str) -> bool {
        self.param("watch") == Some("true") && self.param("resourceVersion") == Some(version)
    }

    pub fn is_streaming_list(&self) -> bool {
        self.param("sendInitialEvents") == Some("true")
    }

    pub fn status(self, code: u16, message: &str) {
        self.status_with(code, message, &[]);
    }

    pub fn status_with(self, code: u16, message: &str, headers: &[(&str, &str)]) {
        let body = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": code});
        let mut response = Response::builder().status(code);
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        let _ = self.answer.send(response.body(Body::from(body.to_string())).unwrap());
    }

    pub fn answer(self, code: u16, body: String) {
        let _ = self.answer.send(Response::builder().status(code).body(Body::from(body)).unwrap());
    }

    pub fn text(self, body: impl Into<String>) {
        let _ = self.answer.send(Response::new(Body::from(body.into())));
    }

    /// A page of ConfigMaps.
    pub fn page(self, version: &str, names: &[&str], token: Option<&str>) {
        let items: Vec<_> = names.iter().map(|name| json!({"metadata": {"name": name, "namespace": "n"}})).collect();
        self.text(json!({"metadata": {"resourceVersion": version, "continue": token}, "items": items}).to_string());
    }

    /// An answer that the test writes line by line.
    pub fn lines(self) -> Lines {
        let (sender, receiver) = mpsc::unbounded_channel::<Result<Bytes, std::io::Error>>();
        let chunks =
            stream::unfold(receiver, |mut receiver| async { receiver.recv().await.map(|item| (item, receiver)) });
        let _ = self.answer.send(Response::new(Body::from_stream(chunks.boxed())));
        Lines(sender)
    }
}

/// A watch. Dropping it ends it properly.
pub struct Lines(mpsc::UnboundedSender<Result<Bytes, std::io::Error>>);

impl Lines {
    pub fn raw(&self, text: &str) {
        self.0.send(Ok(Bytes::from(text.to_owned()))).unwrap();
    }

    pub fn event(&self, kind: &str, name: &str, version: &str) {
        self.raw(&event(kind, name, version));
    }

    pub fn bookmark(&self, version: &str) {
        self.raw(&format!("{}\n", json!({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": version}}})));
    }

    pub fn list_done(&self, version: &str) {
        let annotations = json!({"k8s.io/initial-events-end": "true"});
        let object = json!({"metadata": {"resourceVersion": version, "annotations": annotations}});
        self.raw(&format!("{}\n", json!({"type": "BOOKMARK", "object": object})));
    }

    pub fn error(&self, code: u16) {
        let object = json!({"kind": "Status", "code": code, "message": "scripted"});
        self.raw(&format!("{}\n", json!({"type": "ERROR", "object": object})));
    }

    /// Cuts the connection in the middle of the answer.
    pub fn cut(self) {
        let _ = self.0.send(Err(std::io::Error::other("cut")));
    }

    /// Returns when the client has gone.
    pub async fn closed(&self) {
        timeout(DEADLINE, self.0.closed()).await.expect("the client to go");
    }
}

pub fn event(kind: &str, name: &str, version: &str) -> String {
    let metadata = json!({"name": name, "namespace": "n", "resourceVersion": version});
    format!("{}\n", json!({"type": kind, "object": {"metadata": metadata}}))
}
