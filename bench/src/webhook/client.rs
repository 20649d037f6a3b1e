//! Asks a webhook, over TLS and HTTP/1.1, on connections that stay open.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use http::{Request, header};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::{net::TcpStream, task::JoinSet};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, RootCertStore,
        crypto::ring,
        pki_types::{CertificateDer, ServerName, pem::PemObject as _},
    },
};

use crate::stats::Percentiles;

/// Knows a webhook.
pub struct Client {
    address: String,
    tls: TlsConnector,
    /// Paths as they are registered, where they are others.
    registered: HashMap<&'static str, String>,
}

/// Of reviews on some connections, one at a time on each.
pub struct Series {
    /// Question sent → answer read.
    pub times: Percentiles,
    /// Reviews a second.
    pub rate: f64,
    /// CPU time of the webhook for each.
    pub cpu: Duration,
}

impl Client {
    /// Trusts the authority, in PEM.
    pub fn new(address: &str, authority: &str) -> Result<Self> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(authority.as_bytes())?)?;
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let config = builder.with_safe_default_protocol_versions()?.with_root_certificates(roots);
        let (address, tls) = (address.to_owned(), Arc::new(config.with_no_client_auth()).into());
        Ok(Self { address, tls, registered: HashMap::new() })
    }

    /// Asks at one path instead of another: a registered path has a secret part.
    pub fn register(&mut self, path: &'static str, registered: String) {
        self.registered.insert(path, registered);
    }

    /// One question on a connection of its own.
    pub async fn ask(&self, path: &'static str, body: &str) -> Result<Value> {
        let answer = self.connect(path, body).await?.ask().await?;
        Ok(serde_json::from_slice(&answer)?)
    }

    /// Asks so many times; half as many times before that, to warm up. `cpu` is what the webhook has used.
    pub async fn series(
        &self,
        path: &'static str,
        body: &str,
        connections: usize,
        reviews: usize,
        cpu: impl Fn() -> Result<Duration>,
    ) -> Result<Series> {
        let each = reviews / connections;
        let mut warm = JoinSet::new();
        for _ in 0..connections {
            warm.spawn(self.connect(path, body).await?.asked(each / 2));
        }
        let mut open = Vec::new();
        while let Some(asked) = warm.join_next().await {
            open.push(asked??.0);
        }
        let (before, started) = (cpu()?, Instant::now());
        let mut asking: JoinSet<_> = open.into_iter().map(|connection| connection.asked(each)).collect();
        let mut times = Vec::with_capacity(reviews);
        while let Some(asked) = asking.join_next().await {
            times.extend(asked??.1);
        }
        let (took, reviews) = (started.elapsed(), times.len());
        let cpu = (cpu()? - before) / u32::try_from(reviews)?;
        Ok(Series { times: Percentiles::of(times), rate: reviews as f64 / took.as_secs_f64(), cpu })
    }

    async fn connect(&self, path: &'static str, body: &str) -> Result<Connection> {
        let stream = TcpStream::connect(&self.address).await?;
        stream.set_nodelay(true)?;
        let stream = self.tls.connect(ServerName::try_from("localhost")?, stream).await?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // It ends with its sender.
        tokio::spawn(connection);
        let path = self.registered.get(path).cloned().unwrap_or_else(|| path.to_owned());
        Ok(Connection { sender, path, body: body.to_owned().into() })
    }
}

struct Connection {
    sender: SendRequest<Full<Bytes>>,
    path: String,
    body: Bytes,
}

impl Connection {
    async fn ask(&mut self) -> Result<Bytes> {
        let request = Request::post(format!("{}?timeout=10s", self.path))
            .header(header::HOST, "localhost")
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(self.body.clone()))?;
        self.sender.ready().await?;
        let (head, body) = self.sender.send_request(request).await?.into_parts();
        let answer = body.collect().await?.to_bytes();
        ensure!(head.status.is_success(), "{}: {}", head.status, String::from_utf8_lossy(&answer));
        Ok(answer)
    }

    async fn asked(mut self, times: usize) -> Result<(Self, Vec<Duration>)> {
        let mut took = Vec::with_capacity(times);
        for _ in 0..times {
            let started = Instant::now();
            let answer = self.ask().await.context("a review was not answered")?;
            took.push(started.elapsed());
            ensure!(!answer.is_empty(), "an empty answer");
        }
        Ok((self, took))
    }
}
