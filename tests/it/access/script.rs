//! An API server that serves ConfigMaps and otherwise answers as a list of steps says, one for
//! each request, the last one again and again. It speaks over a real socket.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use boathook_core::model::{Caller, ObjectRef};
use boathook_kube::access::{Access, AccessConfig};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use super::fixture::{Records, access, anyone};

/// What happens to one request.
#[derive(Clone, Copy)]
pub enum Step {
    /// Status, header lines (each with `\r\n`), body.
    Answer(u16, &'static str, &'static str),
    /// The whole request is read, then the connection is cut.
    Cut,
    /// The connection is cut in the middle of the answer's body.
    CutAnswer,
    /// No answer.
    Stall,
    /// An answer without end.
    Flood,
}

pub struct Script {
    pub access: Access,
    pub records: Arc<Records>,
    requests: Requests,
    server: JoinHandle<()>,
}

/// Lines with their bodies, and whom each was made as.
type Requests = Arc<Mutex<Vec<(String, Option<String>)>>>;

impl Script {
    pub async fn start(steps: Vec<Step>) -> Self {
        Self::with(steps, |_| {}).await
    }

    /// With other bounds than 2 retries and 300 ms for a try.
    pub async fn with(steps: Vec<Step>, change: impl FnOnce(&mut AccessConfig)) -> Self {
        let mut bounds =
            AccessConfig { request_timeout: Duration::from_millis(300), retries: 2, ..AccessConfig::default() };
        change(&mut bounds);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let server = tokio::spawn(serve(listener, Arc::new(Mutex::new(steps.into())), requests.clone()));
        let (access, records, _) = access(kube::Config::new(url.parse().unwrap()), bounds);
        let script = Self { access, records, requests, server };
        // So that discovery is not among what is tested. The requests of this call don't count.
        script.know_the_kind().await;
        script
    }

    async fn know_the_kind(&self) {
        let nobody = Caller { permissions: Arc::new([]), ..anyone() };
        self.access.get(&nobody, &Self::object(), None).await.expect_err("nothing is granted");
    }

    /// From now on, connections are refused.
    pub async fn stop(&self) {
        self.server.abort();
        while !self.server.is_finished() {
            tokio::task::yield_now().await;
        }
    }

    pub fn object() -> ObjectRef {
        ObjectRef { api_version: "v1".into(), kind: "ConfigMap".into(), namespace: Some("n".into()), name: "a".into() }
    }

    /// What was asked since the last time, discovery aside: `GET /api/…`, with the body after it.
    pub fn requests(&self) -> Vec<String> {
        self.requests_as().into_iter().map(|(request, _)| request).collect()
    }

    /// The same, each with the user that it was made as.
    pub fn requests_as(&self) -> Vec<(String, Option<String>)> {
        std::mem::take(&mut self.requests.lock().unwrap())
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        self.server.abort();
    }
}

const KINDS: &str = r#"{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"configmaps","singularName":"configmap","namespaced":true,"kind":"ConfigMap","verbs":["get"]},{"name":"namespaces","singularName":"namespace","namespaced":false,"kind":"Namespace","verbs":["get"]}]}"#;

async fn serve(listener: TcpListener, steps: Arc<Mutex<VecDeque<Step>>>, requests: Requests) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(connection(stream, steps.clone(), requests.clone()));
    }
}

async fn connection(mut stream: TcpStream, steps: Arc<Mutex<VecDeque<Step>>>, requests: Requests) {
    let Some((line, body, user)) = read_request(&mut stream).await else { return };
    if line == "GET /api/v1" {
        return answer(&mut stream, 200, "", KINDS).await;
    }
    let step = {
        let mut steps = steps.lock().unwrap();
        if steps.len() > 1 { steps.pop_front() } else { steps.front().copied() }
    };
    requests.lock().unwrap().push((format!("{line} {body}").trim_end().to_owned(), user));
    match step.unwrap_or(Step::Cut) {
        Step::Answer(code, headers, body) => answer(&mut stream, code, headers, body).await,
        Step::Cut => {}
        Step::CutAnswer => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"kind\"").await;
        }
        Step::Stall => std::future::pending().await,
        Step::Flood => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{\"a\":\"").await;
            while stream.write_all(&[b'x'; 4096]).await.is_ok() {}
        }
    }
}

async fn answer(stream: &mut TcpStream, code: u16, headers: &str, body: &str) {
    let length = body.len();
    let text = format!("HTTP/1.1 {code} X\r\n{headers}connection: close\r\ncontent-length: {length}\r\n\r\n{body}");
    let _ = stream.write_all(text.as_bytes()).await;
}

/// `METHOD /path?query`, the body, and whom it impersonates.
async fn read_request(stream: &mut TcpStream) -> Option<(String, String, Option<String>)> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
    let header = |wanted: &str| {
        let mut headers = head.lines().filter_map(|line| line.split_once(':'));
        headers.find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.trim().to_owned())
    };
    let length = header("content-length").map_or(0, |value| value.parse().unwrap());
    while bytes.len() < head_end + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let line = head.lines().next()?.strip_suffix(" HTTP/1.1")?.to_owned();
    Some((line, String::from_utf8_lossy(&bytes[head_end..]).into_owned(), header("impersonate-user")))
}
