//! Signers without a key of their own: an authority certifies who they are, for a key that is used once.
//!
//! A certificate counts at the time of the signature. Only a transparency log says that time; without one, it is now. It
//! is not checked whether the authority and the log publish what they sign, because both are the admin's own.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use rustls::pki_types::{CertificateDer, UnixTime, pem::PemObject as _};
use serde::Deserialize;
use webpki::{ALL_VERIFICATION_ALGS, EndEntityCert, KeyUsage, anchor_from_trusted_cert};
use x509_parser::{
    asn1_rs::{FromDer as _, Utf8String, oid},
    certificate::X509Certificate,
    extensions::GeneralName,
};

use super::{Digest, KeyError, PublicKey};

/// The most entries of logs that are checked next to one signature. Anyone who may push writes them, and each takes a
/// check of the log's key.
const ENTRIES: usize = 8;
/// The purpose of signing code, as DER has it.
const CODE_SIGNING: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 3];

/// Somebody to whom an authority gives certificates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    issuer: String,
    subject: String,
    roots: Vec<CertificateDer<'static>>,
    intermediates: Vec<CertificateDer<'static>>,
    log: Option<PublicKey>,
}

/// The parts of an [`Identity`], as policies have them.
#[derive(Debug, Clone, Copy)]
pub struct IdentityParts<'a> {
    /// The URL of the identity provider.
    pub issuer: &'a str,
    /// The URI or the e-mail address that the provider gave. With `/*` at its end, every one below.
    pub subject: &'a str,
    /// The certificates of the authority in PEM: its root, and what is between the root and the signers.
    pub authority: &'a str,
    /// The public key of the log in PEM.
    pub log: Option<&'a str>,
}

/// Why a signature is not by an identity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    /// It is damaged, or has an extension twice.
    #[error("its certificate cannot be read: sign it again")]
    Unreadable,
    /// It does not say who signed.
    #[error(
        "its certificate needs one name, which is a URI or an e-mail address, and the extension 1.3.6.1.4.1.57264.1.8 with the issuer: get one from an authority that issues such certificates, as Fulcio does"
    )]
    Nameless,
    #[error("the policy's certificate authority did not issue its certificate")]
    Chain(#[source] webpki::Error),
    #[error(
        "its certificate is not valid now: name the log that says when it was used in `transparencyLog`, or sign it again"
    )]
    Now(#[source] webpki::Error),
    #[error("its certificate was not valid at the time of its log entry: sign it again")]
    Then(#[source] webpki::Error),
    #[error("its certificate is not for signing code: get one with the usages digitalSignature and codeSigning")]
    Usage,
    /// The policy names a log.
    #[error(
        "the signature is not in the transparency log that the policy requires: sign with that log, and include its timestamp"
    )]
    Unlogged,
    /// The certificate is another's.
    #[error("its certificate was issued to {subject:?} by {issuer:?}: sign it as the signer that the policy names")]
    Other {
        /// Who signed.
        subject: String,
        /// The identity provider that knows who signed.
        issuer: String,
    },
    #[error("its signature was changed, or was not made with the key of its certificate")]
    Signature,
}

/// What Sigstore's form has next to a signature.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Material {
    certificate: Option<Certificate>,
    tlog_entries: Vec<LogEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Certificate {
    raw_bytes: String,
}

/// An entry of a log that promises to publish it.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct LogEntry {
    log_index: String,
    integrated_time: String,
    inclusion_promise: Promise,
    canonicalized_body: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Promise {
    signed_entry_timestamp: String,
}

/// A signature, what it covers, and what came with it.
pub(super) struct Proof<'a> {
    pub message: &'a [u8],
    pub signature: &'a [u8],
    /// What a log hashes: the payload of an envelope, or else the message.
    pub payload: Payload<'a>,
    pub material: &'a Material,
}

/// What a log's entry is about.
#[derive(Clone, Copy)]
pub(super) enum Payload<'a> {
    Envelope(&'a [u8]),
    Message,
}

impl Identity {
    pub fn new(parts: IdentityParts<'_>) -> Result<Self, KeyError> {
        let IdentityParts { issuer, subject, authority, log } = parts;
        let fixed = subject.strip_suffix("/*").unwrap_or(subject);
        if issuer.is_empty() || fixed.is_empty() || fixed.contains('*') {
            return Err(KeyError::Identity);
        }
        let all: Vec<_> = CertificateDer::pem_slice_iter(authority.as_bytes())
            .collect::<Result<_, _>>()
            .map_err(|_| KeyError::Authority)?;
        let (mut roots, mut intermediates) = (Vec::new(), Vec::new());
        for der in all {
            let (_, certificate) = X509Certificate::from_der(&der).map_err(|_| KeyError::Authority)?;
            // What is between is checked like the signer's certificate. Only a root is trusted as it is.
            let list = if certificate.subject().as_raw() == certificate.issuer().as_raw() {
                &mut roots
            } else {
                &mut intermediates
            };
            list.push(der.clone());
        }
        if roots.is_empty() || roots.iter().any(|der| anchor_from_trusted_cert(der).is_err()) {
            return Err(KeyError::Authority);
        }
        let log = log.map(PublicKey::from_pem).transpose()?;
        Ok(Self { issuer: issuer.to_owned(), subject: subject.to_owned(), roots, intermediates, log })
    }

    /// Whether one signature could be by both, so that they must not count as two.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.issuer == other.issuer && (self.covers(&other.subject) || other.covers(&self.subject))
    }

    fn covers(&self, subject: &str) -> bool {
        match self.subject.strip_suffix('*') {
            Some(beginning) => subject.starts_with(beginning),
            None => self.subject == subject,
        }
    }

    /// Checks that somebody with this identity made the signature. `None` if there is no certificate.
    pub(super) fn made(&self, proof: &Proof<'_>) -> Option<Result<(), IdentityError>> {
        let certificate = proof.material.certificate.as_ref()?;
        let der = STANDARD.decode(&certificate.raw_bytes).map_err(|_| IdentityError::Unreadable);
        Some(der.and_then(|der| self.verify(&der, proof)))
    }

    fn verify(&self, der: &[u8], proof: &Proof<'_>) -> Result<(), IdentityError> {
        let unreadable = |_| IdentityError::Unreadable;
        let (rest, certificate) = X509Certificate::from_der(der).map_err(|_| IdentityError::Unreadable)?;
        if !rest.is_empty() {
            return Err(IdentityError::Unreadable);
        }
        let time = match &self.log {
            Some(log) => Some(proof.logged(log, der).ok_or(IdentityError::Unlogged)?),
            None => None,
        };
        self.issued(der, time)?;
        let signs = certificate.key_usage().map_err(unreadable)?.is_some_and(|usage| usage.value.digital_signature());
        let code = certificate.extended_key_usage().map_err(unreadable)?.is_some_and(|usage| usage.value.code_signing);
        if !signs || !code {
            return Err(IdentityError::Usage);
        }
        let (subject, issuer) = names(&certificate).ok_or(IdentityError::Nameless)?;
        if issuer != self.issuer || !self.covers(&subject) {
            return Err(IdentityError::Other { subject, issuer });
        }
        let key = PublicKey::from_der(certificate.public_key().raw).map_err(|_| IdentityError::Unreadable)?;
        if key.verifies(proof.message, proof.signature) { Ok(()) } else { Err(IdentityError::Signature) }
    }

    /// Checks that the authority issued a certificate that was valid at a time, or is now.
    fn issued(&self, der: &[u8], time: Option<Duration>) -> Result<(), IdentityError> {
        let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let at = UnixTime::since_unix_epoch(time.unwrap_or_else(now));
        let anchors: Vec<_> = self.roots.iter().filter_map(|der| anchor_from_trusted_cert(der).ok()).collect();
        let der = CertificateDer::from(der);
        let certificate = EndEntityCert::try_from(&der).map_err(IdentityError::Chain)?;
        let usage = KeyUsage::required_if_present(CODE_SIGNING);
        let path =
            certificate.verify_for_usage(ALL_VERIFICATION_ALGS, &anchors, &self.intermediates, at, usage, None, None);
        path.map(drop).map_err(|error| match (&error, time) {
            (webpki::Error::CertExpired { .. } | webpki::Error::CertNotValidYet { .. }, None) => {
                IdentityError::Now(error)
            }
            (webpki::Error::CertExpired { .. } | webpki::Error::CertNotValidYet { .. }, Some(_)) => {
                IdentityError::Then(error)
            }
            _ => IdentityError::Chain(error),
        })
    }
}

/// Returns the subject and the identity provider of a certificate. It must have one name only, so that nobody is also
/// somebody else.
fn names(certificate: &X509Certificate<'_>) -> Option<(String, String)> {
    let alternative = certificate.subject_alternative_name().ok()??;
    let [GeneralName::URI(subject) | GeneralName::RFC822Name(subject)] = alternative.value.general_names.as_slice()
    else {
        return None;
    };
    // Fulcio's extensions: the issuer as a string of DER, and as bare text in certificates of before.
    let issuer = match certificate.get_extension_unique(&oid!(1.3.6.1.4.1.57264.1.8)).ok()? {
        Some(extension) => {
            let (rest, text) = Utf8String::from_der(extension.value).ok()?;
            rest.is_empty().then(|| text.string())?
        }
        None => {
            let extension = certificate.get_extension_unique(&oid!(1.3.6.1.4.1.57264.1.1)).ok()??;
            str::from_utf8(extension.value).ok()?.to_owned()
        }
    };
    Some(((*subject).to_owned(), issuer))
}

impl Proof<'_> {
    /// Returns when the log saw this signature by this certificate, as seconds since 1970.
    fn logged(&self, log: &PublicKey, certificate: &[u8]) -> Option<Duration> {
        let entry =
            self.material.tlog_entries.iter().take(ENTRIES).find(|entry| entry.is_of(log, self, certificate))?;
        entry.integrated_time.parse().ok().map(Duration::from_secs)
    }
}

impl LogEntry {
    /// Whether the log signed the entry, and the entry is about this signature.
    fn is_of(&self, log: &PublicKey, proof: &Proof<'_>, certificate: &[u8]) -> bool {
        let Ok(body) = STANDARD.decode(&self.canonicalized_body) else { return false };
        let Ok(signature) = STANDARD.decode(&self.inclusion_promise.signed_entry_timestamp) else { return false };
        self.promised(log, &body, &signature) && about(&body, proof, certificate).unwrap_or_default()
    }

    fn promised(&self, log: &PublicKey, body: &[u8], signature: &[u8]) -> bool {
        // Numbers that are not written as the log writes them do not fit its signature.
        let (Ok(time), Ok(index)) = (self.integrated_time.parse::<u64>(), self.log_index.parse::<u64>()) else {
            return false;
        };
        let (id, body) = (Digest::of(&log.to_der()), STANDARD.encode(body));
        let id = id.hex();
        let message = format!(r#"{{"body":"{body}","integratedTime":{time},"logID":"{id}","logIndex":{index}}}"#);
        log.verifies(message.as_bytes(), signature)
    }
}

/// Whether an entry is about a signature by a certificate of what was signed.
fn about(body: &[u8], proof: &Proof<'_>, certificate: &[u8]) -> Option<bool> {
    let entry: serde_json::Value = serde_json::from_slice(body).ok()?;
    let text = |path: &str| entry.pointer(path)?.as_str();
    let (kind, data, hash, signature, signer) = match proof.payload {
        Payload::Envelope(payload) => {
            ("dsse", payload, "/spec/payloadHash", "/spec/signatures/0/signature", "/spec/signatures/0/verifier")
        }
        Payload::Message => (
            "hashedrekord",
            proof.message,
            "/spec/data/hash",
            "/spec/signature/content",
            "/spec/signature/publicKey/content",
        ),
    };
    let signer = CertificateDer::from_pem_slice(&STANDARD.decode(text(signer)?).ok()?).ok()?;
    Some(
        text("/kind")? == kind
            && text("/apiVersion")? == "0.0.1"
            && text(&format!("{hash}/algorithm"))? == "sha256"
            && text(&format!("{hash}/value"))? == Digest::of(data).hex()
            && STANDARD.decode(text(signature)?).ok()? == proof.signature
            && *signer == *certificate,
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;

    const AUTHORITY: &str = include_str!("../../../../tests/fixtures/keyless/authority.pem");
    const LOG: &str = include_str!("../../../../tests/fixtures/keyless/log.pub");
    const BLOB: &[u8] = include_bytes!("../../../../tests/fixtures/keyless/blob");
    const MESSAGE: &str = include_str!("../../../../tests/fixtures/keyless/message.sigstore.json");
    const ENVELOPE: &str = include_str!("../../../../tests/fixtures/keyless/envelope.sigstore.json");

    fn identity() -> Identity {
        let subject = "https://git.example.com/team/hooks/release.yml@refs/tags/v1";
        let issuer = "https://login.example.com";
        Identity::new(IdentityParts { issuer, subject, authority: AUTHORITY, log: Some(LOG) }).unwrap()
    }

    fn made(
        bundle: &serde_json::Value,
        message: &[u8],
        signature: &serde_json::Value,
        payload: Payload<'_>,
    ) -> Result<(), IdentityError> {
        let material: Material = serde_json::from_value(bundle["verificationMaterial"].clone()).unwrap();
        let signature = STANDARD.decode(signature.as_str().unwrap()).unwrap();
        identity().made(&Proof { message, signature: &signature, payload, material: &material }).unwrap()
    }

    /// cosign verifies the same files: see their README.
    #[test]
    fn what_cosign_verifies_is_verified() {
        let bundle: serde_json::Value = serde_json::from_str(MESSAGE).unwrap();
        let signature = &bundle["messageSignature"]["signature"];
        assert_eq!(made(&bundle, BLOB, signature, Payload::Message), Ok(()));
        assert_eq!(made(&bundle, b"changed", signature, Payload::Message), Err(IdentityError::Unlogged));

        let bundle: serde_json::Value = serde_json::from_str(ENVELOPE).unwrap();
        let envelope = &bundle["dsseEnvelope"];
        let payload = STANDARD.decode(envelope["payload"].as_str().unwrap()).unwrap();
        let message = crate::trust::pre_authentication(envelope["payloadType"].as_str().unwrap(), &payload);
        let signature = &envelope["signatures"][0]["sig"];
        assert_eq!(made(&bundle, &message, signature, Payload::Envelope(&payload)), Ok(()));
        // The log's entry fits, and the signature covers something else.
        assert_eq!(made(&bundle, BLOB, signature, Payload::Envelope(&payload)), Err(IdentityError::Signature));
    }
}
