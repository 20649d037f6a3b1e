//! Collects what is signed about a bundle: signatures in cosign's form and in Sigstore's form, and attestations. Each is
//! checked as it arrives, and its document is dropped, because a registry may have many large ones.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde::Deserialize;

use super::{
    Attestation, Digest, IdentityError, NamedKey, Signer, TrustError,
    identity::{Material, Payload as Logged, Proof},
};
use crate::{
    BundleError, Descriptor, Manifest, Place,
    manifest::{
        DSSE_TYPE, MAX_CONFIG, PAYLOAD_TYPE, Payload, SIGNATURE, SIGSTORE_TYPE, attestation_tag, signature_tag,
    },
};

/// The most documents of each form that are checked. Further ones are ignored.
const MAX: usize = 64;
/// The most bytes of all documents that are pulled for one bundle. Each key hashes them, and anyone who may push to the
/// repository adds some.
const MAX_BYTES: u64 = 32 << 20;
/// The payload type of statements.
pub(crate) const STATEMENT: &str = "application/vnd.in-toto+json";
/// The predicate type of cosign's signatures in Sigstore's form. Statements with another one are attestations: they say
/// something about the bundle, and not that it may run.
const SIGN: &str = "https://sigstore.dev/cosign/sign/v1";

/// One signature of a document, and what the document states.
#[derive(Debug)]
pub(crate) struct Evidence {
    /// The keys that made the signature, by their place in the list that was given.
    keys: Vec<usize>,
    /// Why its certificate does not make it the signature of an identity that was given.
    pub why: Option<IdentityError>,
    /// Whether the document is about the bundle's digest.
    pub about: bool,
    /// The first digest that the document is about.
    pub first: Option<String>,
    /// The tag in the document.
    pub tag: Option<String>,
    /// What the document attests. `None` for a signature.
    pub attests: Option<Attests>,
}

#[derive(Debug, Clone)]
pub(crate) struct Attests {
    pub predicate_type: String,
    /// The digest and the size of what holds the document.
    pub at: Descriptor,
}

impl Attests {
    pub fn kind(&self) -> Option<Attestation> {
        Attestation::of(&self.predicate_type)
    }
}

impl Evidence {
    /// Whether the key made the signature. What the document states counts only then.
    pub fn is_by(&self, key: usize) -> bool {
        self.keys.contains(&key)
    }
}

/// What is looked for.
pub(crate) struct Search<'a> {
    pub at: &'a Place,
    pub digest: &'a Digest,
    pub manifest: &'a Bytes,
    pub keys: &'a [NamedKey],
    /// Whether attestations are needed, too.
    pub attestations: bool,
    /// The bytes that may still be pulled.
    pub left: u64,
}

impl<'a> Search<'a> {
    pub fn new(at: &'a Place, digest: &'a Digest, manifest: &'a Bytes) -> Self {
        Self { at, digest, manifest, keys: &[], attestations: true, left: MAX_BYTES }
    }

    /// Returns all signatures and attestations of a manifest.
    pub async fn collect(&mut self) -> Result<Vec<Evidence>, BundleError> {
        let mut found = self.simple().await?;
        // Nothing under that tag is a signature, so a bundle that needs no attestation does not depend on it.
        if self.attestations {
            found.extend(self.envelopes().await?);
        }
        let bundles = self.at.referrers(self.digest).await?.into_iter().filter(|entry| {
            entry.artifact_type.as_deref().is_some_and(|kind| kind == SIGSTORE_TYPE) && entry.size <= MAX_CONFIG
        });
        for entry in bundles.take(MAX) {
            let Some((_, bytes)) = self.at.manifest(entry.digest.as_str()).await? else { continue };
            let list = self.layers(&bytes)?;
            let wanted = list.iter().find(|layer| layer.media_type == SIGSTORE_TYPE && layer.size <= MAX_CONFIG);
            let Some(layer) = wanted else { continue };
            if let Some(bytes) = self.document(layer).await? {
                found.extend(self.sigstore(&bytes, layer).map_err(|error| self.unreadable(error))?);
            }
        }
        Ok(found)
    }

    /// Returns a document, unless too much was pulled before it.
    async fn document(&mut self, layer: &Descriptor) -> Result<Option<Bytes>, BundleError> {
        let Some(left) = self.left.checked_sub(layer.size) else { return Ok(None) };
        self.left = left;
        self.at.blob(layer).await.map(Some)
    }

    fn unreadable(&self, error: serde_json::Error) -> BundleError {
        BundleError::Trust { at: self.at.name(), source: TrustError::Unreadable(error) }
    }

    fn layers(&self, bytes: &[u8]) -> Result<Vec<Descriptor>, BundleError> {
        Ok(serde_json::from_slice::<Manifest>(bytes).map_err(|error| self.unreadable(error))?.layers)
    }

    async fn tagged(&self, tag: &str, kind: &str) -> Result<Vec<Descriptor>, BundleError> {
        let Some((_, bytes)) = self.at.manifest(tag).await? else { return Ok(Vec::new()) };
        let small = |layer: &Descriptor| layer.media_type == kind && layer.size <= MAX_CONFIG;
        Ok(self.layers(&bytes)?.into_iter().filter(small).take(MAX).collect())
    }

    /// Returns which of the keys made a signature, and why an identity did not.
    fn signed_by(&self, proof: &Proof<'_>) -> (Vec<usize>, Option<IdentityError>) {
        let (mut by, mut why) = (Vec::new(), None);
        for (n, NamedKey { key, .. }) in self.keys.iter().enumerate() {
            match key {
                Signer::Key(key) if key.verifies(proof.message, proof.signature) => by.push(n),
                Signer::Key(_) => {}
                Signer::Identity(identity) => match identity.made(proof) {
                    Some(Ok(())) => by.push(n),
                    Some(Err(error)) => why = Some(error),
                    None => {}
                },
            }
        }
        (by, why)
    }

    /// Returns cosign's signatures under the digest's tag.
    async fn simple(&mut self) -> Result<Vec<Evidence>, BundleError> {
        let mut found = Vec::new();
        for layer in self.tagged(&signature_tag(self.digest), PAYLOAD_TYPE).await? {
            let Some(signature) = layer.annotations.get(SIGNATURE).and_then(|text| STANDARD.decode(text).ok()) else {
                continue;
            };
            let Some(message) = self.document(&layer).await? else { continue };
            let payload = Payload::read(&message);
            let first = payload.as_ref().map(|payload| payload.digest().to_owned());
            // In this form, certificates are in annotations, and are not read.
            let material = Material::default();
            let proof =
                Proof { message: &message, signature: &signature, payload: Logged::Message, material: &material };
            let (keys, why) = self.signed_by(&proof);
            found.push(Evidence {
                keys,
                why,
                about: first.as_deref() == Some(self.digest.as_str()),
                first,
                tag: payload.and_then(|payload| payload.tag().map(str::to_owned)),
                attests: None,
            });
        }
        Ok(found)
    }

    /// Returns cosign's attestations under the digest's tag.
    async fn envelopes(&mut self) -> Result<Vec<Evidence>, BundleError> {
        let mut found = Vec::new();
        for layer in self.tagged(&attestation_tag(self.digest), DSSE_TYPE).await? {
            let Some(bytes) = self.document(&layer).await? else { continue };
            let envelope: Envelope = serde_json::from_slice(&bytes).map_err(|error| self.unreadable(error))?;
            // Under this tag, nothing is a signature of the bundle.
            let one = self.envelope(&envelope, &Material::default(), &layer);
            found.extend(one.into_iter().filter(|one| one.attests.is_some()));
        }
        Ok(found)
    }

    /// Returns the signatures of a Sigstore bundle. They cover a statement that contains digests, or the manifest itself.
    fn sigstore(&self, bytes: &[u8], layer: &Descriptor) -> Result<Vec<Evidence>, serde_json::Error> {
        let bundle: Bundle = serde_json::from_slice(bytes)?;
        let material = bundle.verification_material;
        let envelope = bundle.dsse_envelope.and_then(|envelope| self.envelope(&envelope, &material, layer));
        let mut found = Vec::from_iter(envelope);
        if let Some(signature) = bundle.message_signature.and_then(|one| STANDARD.decode(one.signature).ok()) {
            let proof =
                Proof { message: self.manifest, signature: &signature, payload: Logged::Message, material: &material };
            let (keys, why) = self.signed_by(&proof);
            found.push(Evidence {
                keys,
                why,
                about: true,
                first: Some(self.digest.to_string()),
                tag: None,
                attests: None,
            });
        }
        Ok(found)
    }

    /// Returns what an envelope says, by its first signature: Sigstore's form has one, and each more would hash all of it
    /// again.
    fn envelope(&self, envelope: &Envelope, material: &Material, layer: &Descriptor) -> Option<Evidence> {
        let payload = STANDARD.decode(&envelope.payload).ok()?;
        let signature = STANDARD.decode(&envelope.signatures.first()?.sig).ok()?;
        let statement =
            (envelope.payload_type == STATEMENT).then(|| serde_json::from_slice::<Statement>(&payload).ok());
        let statement = statement.flatten().unwrap_or_default();
        let mut digests = statement.subject.iter().filter_map(|subject| subject.digest.get("sha256"));
        let message = pre_authentication(&envelope.payload_type, &payload);
        let proof = Proof { message: &message, signature: &signature, payload: Logged::Envelope(&payload), material };
        let (keys, why) = self.signed_by(&proof);
        Some(Evidence {
            keys,
            why,
            about: digests.clone().any(|hex| hex == self.digest.hex()),
            first: digests.next().map(|hex| format!("sha256:{hex}")),
            tag: None,
            attests: (statement.predicate_type != SIGN)
                .then(|| Attests { predicate_type: statement.predicate_type, at: layer.clone() }),
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bundle {
    #[serde(default)]
    verification_material: Material,
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

/// The parts of a statement that count. The predicate is skipped.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Statement {
    #[serde(default)]
    predicate_type: String,
    #[serde(default)]
    subject: Vec<Subject>,
}

#[derive(Deserialize)]
struct Subject {
    #[serde(default)]
    digest: std::collections::BTreeMap<String, String>,
}

/// What a DSSE signature covers: the type and the payload with their lengths, so that neither can be mistaken for the
/// other.
pub(crate) fn pre_authentication(kind: &str, payload: &[u8]) -> Vec<u8> {
    let mut out = format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len()).into_bytes();
    out.extend_from_slice(payload);
    out
}
