//! TLS: the server's certificate, and the clients that it trusts. Each handshake uses the current certificate, and
//! existing connections continue.

use std::sync::Arc;

use tokio::sync::watch;
use tokio_rustls::rustls::{
    RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject as _},
    server::{ClientHello, ResolvesServerCert, WebPkiClientVerifier},
    sign::CertifiedKey,
};

use super::ServerError;
use crate::webhook::certs::Serving;

struct Current(watch::Receiver<Serving>);

impl std::fmt::Debug for Current {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Current")
    }
}

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.borrow().key.clone())
    }
}

/// With `clients`, which are the authorities of clients in PEM, clients are requested to show certificates, and these
/// are checked. Clients without a certificate can still connect, because probes have none. The routes refuse their
/// requests.
pub(super) fn config(
    serving: watch::Receiver<Serving>,
    clients: Option<&[u8]>,
) -> Result<Arc<ServerConfig>, ServerError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone());
    let builder = builder.with_safe_default_protocol_versions().map_err(|error| ServerError::Tls(error.to_string()))?;
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(pem) => {
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots(pem)?), provider);
            let verifier = verifier.allow_unauthenticated().build();
            builder.with_client_cert_verifier(verifier.map_err(|error| ServerError::ClientCa(error.to_string()))?)
        }
    };
    let mut config = builder.with_cert_resolver(Arc::new(Current(serving)));
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn roots(pem: &[u8]) -> Result<RootCertStore, ServerError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| ServerError::ClientCa(error.to_string()))?;
        roots.add(certificate).map_err(|error| ServerError::ClientCa(error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(ServerError::ClientCa("there is no certificate in it".to_owned()));
    }
    Ok(roots)
}
