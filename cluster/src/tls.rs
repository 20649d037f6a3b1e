//! TLS on the same port as plain HTTP, because kubectl sends tokens only over TLS. Clients need no certificates. The
//! server's own certificate exists only as long as the cluster.

use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::{self, ServerConfig};

/// The names by which a client may reach a cluster on this machine, or in tests as if from inside the cluster.
pub(super) const NAMES: [&str; 5] = ["localhost", "127.0.0.1", "::1", "kubernetes", "kubernetes.default.svc"];
/// The first byte of a TLS connection. No HTTP request begins with it.
const HANDSHAKE: u8 = 0x16;

/// A key and its self-signed certificate.
pub(crate) struct Tls {
    acceptor: TlsAcceptor,
    certificate: String,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    #[error("a certificate cannot be made")]
    Certificate(#[from] rcgen::Error),
    #[error("a certificate cannot be used")]
    Config(#[from] rustls::Error),
}

impl Tls {
    pub(crate) fn new() -> Result<Self, Problem> {
        let made = rcgen::generate_simple_self_signed(NAMES.map(str::to_owned))?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions()?.with_no_client_auth();
        let mut config = builder.with_single_cert(vec![made.cert.der().clone()], key)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { acceptor: TlsAcceptor::from(Arc::new(config)), certificate: made.cert.pem() })
    }

    /// The certificate in PEM, by which clients recognize the cluster.
    pub(crate) fn certificate(&self) -> &str {
        &self.certificate
    }

    pub(crate) fn acceptor(&self) -> &TlsAcceptor {
        &self.acceptor
    }
}

/// Whether a client starts a connection with TLS. Waits for the first byte.
pub(crate) async fn starts(stream: &TcpStream) -> std::io::Result<bool> {
    let mut first = [0];
    let seen = stream.peek(&mut first).await?;
    Ok(seen == 1 && first == [HANDSHAKE])
}
