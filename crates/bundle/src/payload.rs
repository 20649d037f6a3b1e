//! What cosign signs: a small document that contains the digest. Also, where the signature is stored.

use serde::{Deserialize, Serialize};

use super::Digest;

/// The media type of the signed document.
pub(super) const PAYLOAD_TYPE: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
/// The annotation of the document's layer with the signature, in base64.
pub(super) const SIGNATURE: &str = "dev.cosignproject.cosign/signature";
const KIND: &str = "cosign container image signature";
/// The key of the signed tag, among the document's optional fields.
const TAG: &str = "boathook.dev/tag";

/// `sha256-HEX.sig`
pub(super) fn signature_tag(digest: &Digest) -> String {
    format!("sha256-{}.sig", digest.hex())
}

/// `sha256-HEX`: the tag of the list of referrers, for registries that keep no such list.
pub(super) fn referrers_tag(digest: &Digest) -> String {
    format!("sha256-{}", digest.hex())
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Payload {
    critical: Critical,
    #[serde(default)]
    optional: Option<serde_json::Map<String, serde_json::Value>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Critical {
    identity: Identity,
    image: Image,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Identity {
    docker_reference: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Image {
    docker_manifest_digest: String,
}

impl Payload {
    pub fn new(source: &str, digest: &Digest, tag: Option<&str>) -> Self {
        let tag = tag.map(|tag| serde_json::Map::from_iter([(TAG.to_owned(), tag.into())]));
        Self {
            critical: Critical {
                identity: Identity { docker_reference: source.to_owned() },
                image: Image { docker_manifest_digest: digest.to_string() },
                kind: KIND.to_owned(),
            },
            optional: tag,
        }
    }

    /// Parses the bytes that were signed. Returns `None` if they are another document.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let payload: Self = serde_json::from_slice(bytes).ok()?;
        (payload.critical.kind == KIND).then_some(payload)
    }

    /// The digest that was signed.
    pub fn digest(&self) -> &str {
        &self.critical.image.docker_manifest_digest
    }

    /// The tag that was signed.
    pub fn tag(&self) -> Option<&str> {
        self.optional.as_ref()?.get(TAG)?.as_str()
    }
}
