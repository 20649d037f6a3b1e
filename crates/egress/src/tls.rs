//! TLS of a client: the system's certificates, and those that an admin adds.

use std::sync::Arc;

use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject as _},
};

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// What was added is not a certificate.
    #[error("there is no certificate in the PEM that was added")]
    Authority,
    #[error("TLS cannot be set up")]
    Tls(#[from] rustls::Error),
}

/// Reads certificates (PEM). An empty text has none.
pub(crate) fn authorities(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    if pem.is_empty() {
        return Ok(Vec::new());
    }
    let read = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>();
    read.ok().filter(|read| !read.is_empty()).ok_or(TlsError::Authority)
}

/// A client that trusts the system's certificates and these (PEM). Reading the system's takes milliseconds.
pub fn client_config(own: &[u8]) -> Result<ClientConfig, TlsError> {
    let mut roots = RootCertStore::empty();
    // Even on a machine without certificates, those that an admin adds work.
    let system = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(system.certs);
    for certificate in authorities(own)? {
        roots.add(certificate)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    Ok(config?.with_root_certificates(roots).with_no_client_auth())
}
