//! Reads certificates and keys in PEM.

use std::sync::Arc;

use jiff::Timestamp;
use tokio_rustls::rustls::{
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    sign::CertifiedKey,
};
use x509_parser::{extensions::GeneralName, prelude::X509Certificate};

use super::decide::Validity;

/// One certificate.
#[derive(Debug, Clone)]
pub(super) struct Certificate {
    der: CertificateDer<'static>,
    pub validity: Validity,
    /// DNS names and addresses.
    pub names: Vec<String>,
}

impl Certificate {
    /// All certificates of a text, in their order. `None` if one of them cannot be read.
    pub fn all(pem: &[u8]) -> Option<Vec<Self>> {
        CertificateDer::pem_slice_iter(pem).map(|der| Self::new(der.ok()?)).collect()
    }

    fn new(der: CertificateDer<'static>) -> Option<Self> {
        let (validity, names) = {
            let parsed = parse(&der)?;
            let at = |time: x509_parser::time::ASN1Time| Timestamp::from_second(time.timestamp()).ok();
            let validity =
                Validity { from: at(parsed.validity().not_before)?, until: at(parsed.validity().not_after)? };
            (validity, names(&parsed))
        };
        Some(Self { der, validity, names })
    }

    /// Whether `issuer` signed this certificate.
    pub fn is_signed_by(&self, issuer: &Self) -> bool {
        let (Some(own), Some(other)) = (parse(&self.der), parse(&issuer.der)) else { return false };
        own.issuer() == other.subject() && own.verify_signature(Some(other.public_key())).is_ok()
    }

    /// Whether `key` belongs to this certificate.
    pub fn is_of(&self, key: &rcgen::KeyPair) -> bool {
        use rcgen::PublicKeyData as _;
        parse(&self.der).is_some_and(|own| own.public_key().raw == key.subject_public_key_info())
    }

    pub fn der(&self) -> &CertificateDer<'static> {
        &self.der
    }
}

fn parse<'a>(der: &'a CertificateDer<'_>) -> Option<X509Certificate<'a>> {
    x509_parser::parse_x509_certificate(der).ok().map(|(_, certificate)| certificate)
}

fn names(certificate: &X509Certificate<'_>) -> Vec<String> {
    let Ok(Some(found)) = certificate.subject_alternative_name() else { return Vec::new() };
    let name = |name: &GeneralName<'_>| match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => address(bytes),
        _ => None,
    };
    found.value.general_names.iter().filter_map(name).collect()
}

fn address(bytes: &[u8]) -> Option<String> {
    let v4 = <[u8; 4]>::try_from(bytes).map(|bytes| std::net::IpAddr::from(bytes).to_string());
    v4.ok().or_else(|| Some(std::net::IpAddr::from(<[u8; 16]>::try_from(bytes).ok()?).to_string()))
}

/// A chain and its key, ready to be served, and when the first certificate of the chain expires.
pub(super) fn certified(chain: &[u8], key: &[u8]) -> Result<(Arc<CertifiedKey>, Timestamp), String> {
    let certificates = Certificate::all(chain).ok_or("tls.crt is not a chain of certificates in PEM")?;
    let until = certificates.first().ok_or("tls.crt has no certificate")?.validity.until;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| format!("tls.key has no private key: {error}"))?;
    let chain = certificates.into_iter().map(|certificate| certificate.der).collect();
    // This checks that they belong together.
    let certified = CertifiedKey::from_der(chain, key, &ring::default_provider()).map_err(|error| error.to_string())?;
    Ok((Arc::new(certified), until))
}
