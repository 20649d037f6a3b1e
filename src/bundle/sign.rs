//! Signs bundles as cosign does: a signature over a small document that names the digest, stored in the same repository
//! under a tag made of it. Verifies nothing.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};

use super::{
    BundleError, ContentsError, Descriptor, Digest, Manifest, Place, PrivateKey, TrustError,
    manifest::{IMAGE_CONFIG_TYPE, bytes_of},
    pull,
};

/// Media type of the signed document.
pub(super) const PAYLOAD_TYPE: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
/// Annotation of its layer with the signature, in base64.
pub(super) const SIGNATURE: &str = "dev.cosignproject.cosign/signature";
const KIND: &str = "cosign container image signature";
/// The tag that was signed, among the document's optional words.
const TAG: &str = "boathook.dev/tag";

/// `sha256-HEX.sig`
pub(super) fn signature_tag(digest: &Digest) -> String {
    format!("sha256-{}.sig", digest.hex())
}

/// `sha256-HEX`: the list of referrers where the registry keeps none.
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
    fn new(source: &str, digest: &Digest, tag: Option<&str>) -> Self {
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

    /// Out of the bytes that were signed; nothing where they are another document.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let payload: Self = serde_json::from_slice(bytes).ok()?;
        (payload.critical.kind == KIND).then_some(payload)
    }

    /// What was signed.
    pub fn digest(&self) -> &str {
        &self.critical.image.docker_manifest_digest
    }

    /// The tag that it was signed by.
    pub fn tag(&self) -> Option<&str> {
        self.optional.as_ref()?.get(TAG)?.as_str()
    }
}

/// A bundle that was signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    /// The bundle's digest.
    pub digest: Digest,
    /// The tag of its signatures.
    pub tag: String,
    /// Signatures that it has now.
    pub signatures: usize,
}

/// Adds a signature of the bundle at a place, by the digest that it has now. A tag that it was named by is signed with
/// it.
pub async fn sign(at: &Place, key: &PrivateKey) -> Result<Signed, BundleError> {
    let opened = pull::open(at).await?;
    let digest = opened.digest.clone();
    // Nobody should sign what nobody can use.
    at.check(&opened.seen(at).await?.0.contents).await?;
    let unreadable = |source| BundleError::Contents {
        at: at.name(),
        source: ContentsError::Unreadable { what: "signature", source },
    };
    let payload = bytes_of(&Payload::new(&at.source(), &digest, at.tag())).map_err(unreadable)?;
    let signature =
        key.sign(&payload).map_err(|source| BundleError::Trust { at: at.name(), source: TrustError::Key(source) })?;
    let layer = Descriptor::of(PAYLOAD_TYPE, &payload).annotated(SIGNATURE, &STANDARD.encode(signature));

    let tag = signature_tag(&digest);
    let mut layers = match at.manifest(&tag).await? {
        Some((_, bytes)) => serde_json::from_slice::<Manifest>(&bytes).map_err(unreadable)?.layers,
        None => Vec::new(),
    };
    at.put_blob(&layer, payload.into()).await?;
    layers.push(layer);
    let signatures = layers.len();
    let config = config(&layers).map_err(unreadable)?;
    let manifest = Manifest::new(None, Descriptor::of(IMAGE_CONFIG_TYPE, &config), layers);
    at.put_blob(&manifest.config, config.into()).await?;
    let bytes = bytes_of(&manifest).map_err(unreadable)?;
    at.put_manifest(&manifest, bytes.into(), Some(&tag)).await?;
    Ok(Signed { digest, tag, signatures })
}

/// An image's config that names the layers, as registries and cosign expect of an image.
fn config(layers: &[Descriptor]) -> Result<Vec<u8>, serde_json::Error> {
    let layers: Vec<_> = layers.iter().map(|layer| &layer.digest).collect();
    bytes_of(&serde_json::json!({
        "architecture": "",
        "config": {},
        "created": "0001-01-01T00:00:00Z",
        "history": [{"created": "0001-01-01T00:00:00Z"}],
        "os": "",
        "rootfs": {"type": "layers", "diff_ids": layers},
    }))
}
