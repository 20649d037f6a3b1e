//! A server for tests, and what a hook is for it.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use boathook_core::model::{
    Caller, HookName, HttpBody, HttpBounds, HttpHeader, HttpRequest, HttpRule, Permission, RunId,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    task::JoinHandle,
};

use crate::{Allowed, Client, HttpConfig, Reach};

/// Answers each connection with the same bytes, and notes what it receives.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    pub(crate) async fn start(answer: impl Into<Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, seen, answer) =
            (listener.local_addr().unwrap(), Arc::<Mutex<Vec<String>>>::default(), answer.into());
        let notes = seen.clone();
        let task = tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut bytes = vec![0; 16 * 1024];
                let mut length = 0;
                while !whole(&bytes[..length]) {
                    match stream.read(&mut bytes[length..]).await.unwrap() {
                        0 => break,
                        more => length += more,
                    }
                }
                notes.lock().unwrap().push(String::from_utf8_lossy(&bytes[..length]).into_owned());
                if answer.is_empty() {
                    // A server that never answers.
                    std::mem::forget(stream);
                } else {
                    let _ = stream.write_all(&answer).await;
                }
            }
        });
        Self { address, seen, task }
    }

    pub(crate) async fn ok() -> Self {
        Self::start("HTTP/1.1 200 OK\r\nx-a: b\r\ncontent-length: 2\r\n\r\nhi").await
    }

    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// An operator whose admin allows this server.
    pub(crate) fn client(&self) -> Client {
        client(&[], &[&self.address.to_string()])
    }

    pub(crate) fn rule(&self, methods: &[&str], paths: &[&str]) -> HttpRule {
        rule(&format!("http://{}", self.address), methods, paths)
    }
}

fn whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
    body.len() >= length
}

pub(crate) fn client(private: &[&str], insecure: &[&str]) -> Client {
    let set = |hosts: &[&str]| hosts.iter().map(|host| (*host).to_owned()).collect();
    let allowed = Allowed { private: set(private), insecure: set(insecure), networks: Vec::new() };
    Client::new(HttpConfig { reach: Reach::Public(Arc::new(allowed)), ..HttpConfig::default() }).unwrap()
}

pub(crate) fn rule(host: &str, methods: &[&str], paths: &[&str]) -> HttpRule {
    let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    HttpRule { hosts: vec![host.to_owned()], methods: list(methods), paths: list(paths) }
}

pub(crate) fn caller(rules: impl IntoIterator<Item = HttpRule>) -> Caller {
    let rules = rules.into_iter().map(Permission::of_http).collect();
    Caller::new(HookName::new("h").unwrap(), RunId::new("t", 1), rules, false)
}

pub(crate) fn request(method: &str, url: &str) -> HttpRequest {
    HttpRequest { method: method.to_owned(), url: url.to_owned(), headers: Vec::new(), body: HttpBody::default() }
}

pub(crate) const BOUNDS: HttpBounds = HttpBounds { response: 64 * 1024, time: None };

pub(crate) fn header(name: &str, value: &[u8]) -> HttpHeader {
    HttpHeader(name.to_owned(), HttpBody(value.to_vec()))
}
