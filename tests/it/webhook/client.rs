//! A client that speaks as the API server does, and one that doesn't.

use std::{net::SocketAddr, sync::Arc};

use boathook_operator::webhook::PathKeys;
use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::Value;
use tokio::{net::TcpStream, sync::watch};
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{
        ClientConfig, RootCertStore,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject as _},
        time_provider::{DefaultTimeProvider, TimeProvider},
    },
};

#[derive(Clone)]
pub struct Client {
    address: SocketAddr,
    name: ServerName<'static>,
    config: Arc<ClientConfig>,
    paths: Option<Paths>,
}

/// What the API server knows of paths. Without it, a client is a stranger.
pub type Paths = watch::Receiver<PathKeys>;

/// An open connection.
pub struct Connection {
    sender: Sender,
    paths: Option<Paths>,
}

enum Sender {
    One(http1::SendRequest<Full<Bytes>>),
    Two(http2::SendRequest<Full<Bytes>>),
}

/// The path as it is registered, with its query.
pub fn signed(paths: &Paths, path: &str) -> String {
    let (plain, query) = path.split_once('?').map_or((path, ""), |(plain, query)| (plain, query));
    let signed = paths.borrow().sign(plain);
    if query.is_empty() { signed } else { format!("{signed}?{query}") }
}

#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("{}: {}", self.status, self.text))
    }
}

impl Client {
    /// Trusts `ca`, and shows `identity`.
    pub fn new(address: SocketAddr, ca: &str, identity: Option<(String, String)>) -> Self {
        Self::with_time(address, ca, identity, Arc::new(DefaultTimeProvider))
    }

    /// In a time of its own.
    pub fn with_time(
        address: SocketAddr,
        ca: &str,
        identity: Option<(String, String)>,
        time: Arc<dyn TimeProvider>,
    ) -> Self {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(ca.as_bytes()) {
            roots.add(certificate.unwrap()).unwrap();
        }
        let builder = ClientConfig::builder_with_details(Arc::new(ring::default_provider()), time);
        let builder = builder.with_safe_default_protocol_versions().unwrap().with_root_certificates(roots);
        let config = match identity {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let chain = CertificateDer::pem_slice_iter(certificate.as_bytes()).map(Result::unwrap).collect();
                builder.with_client_auth_cert(chain, PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap()).unwrap()
            }
        };
        let name = ServerName::try_from("localhost").unwrap();
        Self { address, name, config: Arc::new(config), paths: None }
    }

    /// Of a server whose certificate has its address.
    pub fn by_address(mut self) -> Self {
        self.name = ServerName::from(self.address.ip());
        self
    }

    /// Knows the paths.
    pub fn knowing(mut self, paths: Paths) -> Self {
        self.paths = Some(paths);
        self
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub async fn tls(&self) -> std::io::Result<TlsStream<TcpStream>> {
        let stream = TcpStream::connect(self.address).await?;
        TlsConnector::from(self.config.clone()).connect(self.name.clone(), stream).await
    }

    pub async fn http1(&self) -> std::io::Result<Connection> {
        self.http1_over(TcpStream::connect(self.address).await?).await
    }

    pub async fn http1_over(&self, stream: TcpStream) -> std::io::Result<Connection> {
        let stream = TlsConnector::from(self.config.clone()).connect(self.name.clone(), stream).await?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        Ok(Connection { sender: Sender::One(sender), paths: self.paths.clone() })
    }

    pub async fn http2(&self) -> std::io::Result<Connection> {
        let mut client = self.clone();
        Arc::make_mut(&mut client.config).alpn_protocols = vec![b"h2".to_vec()];
        let stream = client.tls().await?;
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        Ok(Connection { sender: Sender::Two(sender), paths: self.paths.clone() })
    }

    /// One question on a connection of its own.
    pub async fn post(&self, path: &str, body: impl ToString) -> Answer {
        self.http1().await.unwrap().post(path, body.to_string().into_bytes()).await.unwrap()
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.http1().await.unwrap().send(Request::get(path), Vec::new()).await.unwrap()
    }
}

impl Connection {
    pub async fn post(&mut self, path: &str, body: Vec<u8>) -> Result<Answer, hyper::Error> {
        let path = self.paths.as_ref().map_or_else(|| path.to_owned(), |paths| signed(paths, path));
        self.send(Request::post(path).header("content-type", "application/json"), body).await
    }

    pub async fn send(&mut self, request: http::request::Builder, body: Vec<u8>) -> Result<Answer, hyper::Error> {
        let request = request.header("host", "localhost").body(Full::new(body.into())).unwrap();
        let answer = match &mut self.sender {
            Sender::One(sender) => {
                sender.ready().await?;
                sender.send_request(request).await?
            }
            Sender::Two(sender) => {
                sender.ready().await?;
                let (mut parts, body) = request.into_parts();
                let path = parts.uri.path_and_query().unwrap();
                parts.uri = format!("https://localhost{path}").parse().unwrap();
                sender.send_request(Request::from_parts(parts, body)).await?
            }
        };
        let (parts, body) = answer.into_parts();
        let text = String::from_utf8(body.collect().await?.to_bytes().to_vec()).unwrap();
        Ok(Answer { status: parts.status, headers: parts.headers, text })
    }
}
