//! Collects the signatures of a bundle, in cosign's form and in Sigstore's form.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde::Deserialize;

use super::{Digest, PublicKey, TrustError};
use crate::{
    BundleError, Manifest, Place,
    manifest::{MAX_CONFIG, PAYLOAD_TYPE, Payload, SIGNATURE, signature_tag},
};

/// The most signatures that are checked. Further ones are ignored.
const MAX: usize = 32;
const SIGSTORE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
const STATEMENT: &str = "application/vnd.in-toto+json";
/// The predicate type of cosign's signatures in Sigstore's form. Statements with another one are attestations: they say
/// something about the bundle, and not that it may run.
const SIGN: &str = "https://sigstore.dev/cosign/sign/v1";

/// One signature, what it covers, and what that states.
#[derive(Debug)]
pub(super) struct Evidence {
    /// The bytes that were signed.
    message: Bytes,
    signature: Vec<u8>,
    /// The digests in the message.
    pub digests: Vec<String>,
    /// The tag in the message.
    pub tag: Option<String>,
}

impl Evidence {
    /// Whether the key made the signature. What the message states counts only then.
    pub fn is_by(&self, key: &PublicKey) -> bool {
        key.verifies(&self.message, &self.signature)
    }
}

/// Returns all signatures of a manifest.
pub(super) async fn collect(at: &Place, digest: &Digest, manifest: &Bytes) -> Result<Vec<Evidence>, BundleError> {
    let mut found = simple(at, digest).await?;
    let bundles = at.referrers(digest).await?.into_iter().filter(|entry| {
        entry.artifact_type.as_deref().is_some_and(|kind| kind == SIGSTORE) && entry.size <= MAX_CONFIG
    });
    for entry in bundles.take(MAX) {
        let Some((_, bytes)) = at.manifest(entry.digest.as_str()).await? else { continue };
        let list = layers(at, &bytes)?;
        let wanted = list.iter().find(|layer| layer.media_type == SIGSTORE && layer.size <= MAX_CONFIG);
        if let Some(layer) = wanted {
            found.extend(sigstore(&at.blob(layer).await?, digest, manifest).map_err(|error| unreadable(at, error))?);
        }
    }
    found.truncate(MAX);
    Ok(found)
}

fn unreadable(at: &Place, error: serde_json::Error) -> BundleError {
    BundleError::Trust { at: at.name(), source: TrustError::Unreadable(error) }
}

fn layers(at: &Place, bytes: &[u8]) -> Result<Vec<crate::Descriptor>, BundleError> {
    Ok(serde_json::from_slice::<Manifest>(bytes).map_err(|error| unreadable(at, error))?.layers)
}

/// Returns cosign's signatures under the digest's tag.
async fn simple(at: &Place, digest: &Digest) -> Result<Vec<Evidence>, BundleError> {
    let Some((_, bytes)) = at.manifest(&signature_tag(digest)).await? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    let small = |layer: &&crate::Descriptor| layer.media_type == PAYLOAD_TYPE && layer.size <= MAX_CONFIG;
    for layer in layers(at, &bytes)?.iter().filter(small).take(MAX) {
        let Some(signature) = layer.annotations.get(SIGNATURE).and_then(|text| STANDARD.decode(text).ok()) else {
            continue;
        };
        let message = at.blob(layer).await?;
        let payload = Payload::read(&message);
        let digests = payload.iter().map(|payload| payload.digest().to_owned()).collect();
        let tag = payload.and_then(|payload| payload.tag().map(str::to_owned));
        found.push(Evidence { message, signature, digests, tag });
    }
    Ok(found)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bundle {
    #[serde(default)]
    dsse_envelope: Option<Envelope>,
    #[serde(default)]
    message_signature: Option<MessageSignature>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    payload: String,
    payload_type: String,
    signatures: Vec<EnvelopeSignature>,
}

#[derive(Deserialize)]
struct EnvelopeSignature {
    sig: String,
}

#[derive(Deserialize)]
struct MessageSignature {
    signature: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Statement {
    #[serde(default)]
    predicate_type: String,
    #[serde(default)]
    subject: Vec<Subject>,
}

#[derive(Deserialize)]
struct Subject {
    digest: std::collections::BTreeMap<String, String>,
}

/// Returns the signatures of a Sigstore bundle. They cover a statement that contains digests, or the manifest itself.
fn sigstore(bytes: &[u8], digest: &Digest, manifest: &Bytes) -> Result<Vec<Evidence>, serde_json::Error> {
    let bundle: Bundle = serde_json::from_slice(bytes)?;
    let mut found = Vec::new();
    if let Some(envelope) = bundle.dsse_envelope
        && let Ok(payload) = STANDARD.decode(&envelope.payload)
        && let Some(digests) = signed_digests(&envelope.payload_type, &payload)
    {
        let message: Bytes = encode(&envelope.payload_type, &payload).into();
        for signature in envelope.signatures.iter().filter_map(|one| STANDARD.decode(&one.sig).ok()).take(MAX) {
            found.push(Evidence { message: message.clone(), signature, digests: digests.clone(), tag: None });
        }
    }
    if let Some(signature) = bundle.message_signature.and_then(|one| STANDARD.decode(one.signature).ok()) {
        found.push(Evidence { message: manifest.clone(), signature, digests: vec![digest.to_string()], tag: None });
    }
    Ok(found)
}

/// Returns the digests that a statement signs. `None` for an attestation.
fn signed_digests(kind: &str, payload: &[u8]) -> Option<Vec<String>> {
    let statement = (kind == STATEMENT).then(|| serde_json::from_slice::<Statement>(payload).ok()).flatten()?;
    if statement.predicate_type != SIGN {
        return None;
    }
    let digests = statement.subject.iter().filter_map(|subject| subject.digest.get("sha256"));
    Some(digests.map(|hex| format!("sha256:{hex}")).collect())
}

/// What a DSSE signature covers: the type and the payload with their lengths, so that neither can be mistaken for the
/// other.
fn encode(kind: &str, payload: &[u8]) -> Vec<u8> {
    let mut out = format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len()).into_bytes();
    out.extend_from_slice(payload);
    out
}
