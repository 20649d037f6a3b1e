//! Signs bundles as cosign does: the signature covers a small document that contains the digest, and is stored in the
//! same repository under a tag that is made from the digest.

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::{
    BundleError, ContentsError, Descriptor, Digest, Manifest, Place, PrivateKey, TrustError,
    manifest::{IMAGE_CONFIG_TYPE, bytes_of},
    payload::{PAYLOAD_TYPE, Payload, SIGNATURE, signature_tag},
    pull,
};

/// A bundle that was signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    /// The bundle's digest.
    pub digest: Digest,
    /// The tag of its signatures.
    pub tag: String,
    /// How many signatures it has now.
    pub signatures: usize,
}

/// Adds a signature to the bundle at a place, for its current digest. If the place has a tag, the signature covers the
/// tag too.
pub async fn sign(at: &Place, key: &PrivateKey) -> Result<Signed, BundleError> {
    let opened = pull::open(at).await?;
    let digest = opened.digest.clone();
    // A bundle that nobody can use should not be signed.
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

/// An image config that names the layers, as registries and cosign expect for an image.
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
