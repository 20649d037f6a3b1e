//! A running cluster, a client for it, raw requests.

use std::time::Duration;

use boathook_cluster::{Cluster, Options};
use http::{Method, Request};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

pub struct Fixture {
    pub cluster: Cluster,
    pub client: Client,
}

pub async fn start() -> Fixture {
    start_with(Options::default()).await
}

pub async fn start_with(options: Options) -> Fixture {
    let cluster = Cluster::start(options).await.unwrap();
    let config = kube::Config::new(cluster.url().parse().unwrap());
    let client = Client::try_from(config).unwrap();
    Fixture { cluster, client }
}

/// An answer: its code and its JSON.
pub type Answer = (u16, Value);

impl Fixture {
    pub async fn send(&self, method: Method, path: &str, content: &str, body: Vec<u8>) -> Answer {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", content)
            .header("accept", "application/json")
            .body(Body::from(body))
            .unwrap();
        let response = self.client.send(request).await.unwrap();
        let code = response.status().as_u16();
        let bytes = response.into_body().collect_bytes().await.unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        (code, serde_json::from_slice(&bytes).unwrap_or(Value::String(text)))
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, "application/json", Vec::new()).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.send(Method::POST, path, "application/json", body.to_string().into_bytes()).await
    }

    pub async fn put(&self, path: &str, body: Value) -> Answer {
        self.send(Method::PUT, path, "application/json", body.to_string().into_bytes()).await
    }

    pub async fn patch(&self, path: &str, kind: &str, body: Value) -> Answer {
        let content = match kind {
            "apply" => "application/apply-patch+yaml".to_owned(),
            kind => format!("application/{kind}-patch+json"),
        };
        self.send(Method::PATCH, path, &content, body.to_string().into_bytes()).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, "application/json", Vec::new()).await
    }

    pub async fn config_map(&self, name: &str, labels: Value) -> Value {
        let body = json!({ "metadata": { "name": name, "labels": labels }, "data": { "a": "1" } });
        let (code, made) = self.post(CONFIG_MAPS, body).await;
        assert_eq!(code, 201, "{made}");
        made
    }

    /// GET without a client library, whose retries would hide a 504.
    pub async fn raw_get(&self, path: &str) -> String {
        self.raw(&[&format!("GET {path} HTTP/1.1"), "Host: localhost"], "").await
    }

    /// A request of these lines, and a body.
    pub async fn raw(&self, lines: &[&str], body: &str) -> String {
        let mut stream = tokio::net::TcpStream::connect(self.cluster.address()).await.unwrap();
        let head = lines.join("\r\n");
        let request = format!("{head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }
}

pub const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

pub fn message(answer: &Answer) -> &str {
    answer.1["message"].as_str().unwrap_or_default()
}

/// Bounds a wait that should be short.
pub async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(Duration::from_secs(20), future).await {
        Ok(value) => value,
        Err(_) => panic!("waited too long for {what}"),
    }
}
