//! Pushes a bundle from a layout or from memory to a registry. What the registry already has is not sent.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use crate::{
    BundleError, ContentsError, Descriptor, Digest, Document, Manifest, Packed, Place, PrivateKey, Progress,
    TrustError, contents,
    manifest::{
        EMPTY_TYPE, IMAGE_CONFIG_TYPE, MANIFEST_TYPE, MAX_CONFIG, PAYLOAD_TYPE, Payload, SIGNATURE, SIGSTORE_TYPE,
        bytes_of, signature_tag,
    },
    pull,
    trust::{Statement, pre_authentication},
};

/// Annotations of a referrer that is a Sigstore bundle, as cosign writes them.
const CONTENT: &str = "dev.sigstore.bundle.content";
const PREDICATE_TYPE: &str = "dev.sigstore.bundle.predicateType";

/// What a push did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pushed {
    /// The bundle's digest.
    pub digest: Digest,
    /// The number of blobs that were sent.
    pub sent: usize,
    /// The number of blobs that were already there.
    pub present: usize,
    /// The number of signatures and other artifacts about the bundle that were sent with it.
    pub companions: usize,
}

/// Pushes a bundle that was just packed.
pub async fn push(packed: &Packed, to: &Place, progress: &Progress) -> Result<Pushed, BundleError> {
    let manifest: Manifest = read(&packed.bytes, "memory")?;
    let source = Source::Memory(&packed.blobs);
    let mut pushed = Pushed { digest: packed.manifest.digest.clone(), sent: 0, present: 0, companions: 0 };
    send(&source, &manifest, packed.bytes.clone(), to, to.tag(), progress, &mut pushed).await?;
    Ok(pushed)
}

/// Copies a bundle from another place, with the signatures and other artifacts that the place holds about it.
pub async fn copy(from: &Place, to: &Place, progress: &Progress) -> Result<Pushed, BundleError> {
    let opened = pull::open(from).await?;
    let source = Source::Place(from);
    let mut pushed = Pushed { digest: opened.digest.clone(), sent: 0, present: 0, companions: 0 };
    // Anything that is not a bundle is rejected here.
    let (manifest, bytes, digest) = (opened.manifest.clone(), opened.bytes.clone(), opened.digest.clone());
    opened.seen(from).await?;
    send(&source, &manifest, bytes, to, to.tag(), progress, &mut pushed).await?;
    for (tag, bytes) in from.companions(&digest).await? {
        let manifest = contents::read_manifest(&bytes)
            .map_err(|source| BundleError::Contents { at: format!("what {} holds about it", from.name()), source })?;
        send(&source, &manifest, bytes, to, tag.as_deref(), progress, &mut pushed).await?;
        pushed.companions += 1;
    }
    Ok(pushed)
}

enum Source<'a> {
    Memory(&'a BTreeMap<Digest, Bytes>),
    Place(&'a Place),
}

impl Source<'_> {
    async fn blob(&self, wanted: &Descriptor) -> Result<Bytes, BundleError> {
        match self {
            Self::Memory(blobs) => Ok(blobs.get(&wanted.digest).cloned().unwrap_or_default()),
            Self::Place(place) => place.blob(wanted).await,
        }
    }
}

/// Sends blobs first, because a registry accepts no manifest whose blobs it does not have. Sends one blob at a time, so
/// that only one is in memory.
async fn send(
    from: &Source<'_>,
    manifest: &Manifest,
    bytes: Bytes,
    to: &Place,
    tag: Option<&str>,
    progress: &Progress,
    pushed: &mut Pushed,
) -> Result<(), BundleError> {
    let blobs: Vec<_> = std::iter::once(&manifest.config).chain(&manifest.layers).collect();
    progress.expect(blobs.iter().map(|blob| blob.size).sum());
    for blob in blobs {
        match to.put_blob(blob, from.blob(blob).await?).await? {
            true => pushed.sent += 1,
            false => pushed.present += 1,
        }
        progress.add(blob.size);
    }
    to.put_manifest(manifest, bytes, tag).await
}

fn read(bytes: &[u8], at: &str) -> Result<Manifest, BundleError> {
    serde_json::from_slice(bytes).map_err(|source| BundleError::Contents {
        at: at.to_owned(),
        source: ContentsError::Unreadable { what: "manifest", source },
    })
}

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
    let config = empty_config(&layers).map_err(unreadable)?;
    let manifest = Manifest::new(None, Descriptor::of(IMAGE_CONFIG_TYPE, &config), layers);
    at.put_blob(&manifest.config, config.into()).await?;
    let bytes = bytes_of(&manifest).map_err(unreadable)?;
    at.put_manifest(&manifest, bytes.into(), Some(&tag)).await?;
    Ok(Signed { digest, tag, signatures })
}

/// A document that was attached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attached {
    /// The bundle's digest.
    pub digest: Digest,
    /// What was attested, by the type of its predicate.
    pub predicate_type: String,
    /// The digest of the manifest that refers to the bundle.
    pub referrer: Digest,
}

/// Attests a document about the bundle at a place, for its current digest. The attestation refers to the bundle, in
/// Sigstore's form, which cosign reads.
pub async fn attach(at: &Place, document: &Document, file: &str, key: &PrivateKey) -> Result<Attached, BundleError> {
    let opened = pull::open(at).await?;
    let (digest, size) = (opened.digest.clone(), opened.bytes.len() as u64);
    at.check(&opened.seen(at).await?.0.contents).await?;
    let refused = |source| BundleError::Attach { file: file.to_owned(), source };
    let json = |error: serde_json::Error| refused(error.into());
    let Statement { predicate_type, payload } = document.statement(&at.source(), &digest).map_err(refused)?;
    let signature = key
        .sign(&pre_authentication(Statement::TYPE, &payload))
        .map_err(|source| BundleError::Trust { at: at.name(), source: TrustError::Key(source) })?;
    // Sigstore's hint for a key that is not in the bundle.
    let hint = STANDARD.encode(Sha256::digest(key.public().to_der()));
    let bundle = bytes_of(&serde_json::json!({
        "mediaType": SIGSTORE_TYPE,
        "verificationMaterial": {"publicKey": {"hint": hint}},
        "dsseEnvelope": {
            "payload": STANDARD.encode(&payload),
            "payloadType": Statement::TYPE,
            "signatures": [{"sig": STANDARD.encode(signature)}],
        },
    }))
    .map_err(json)?;
    if bundle.len() as u64 > MAX_CONFIG {
        let source =
            ContentsError::TooLarge { what: "its attestation".to_owned(), size: bundle.len() as u64, max: MAX_CONFIG };
        return Err(BundleError::Contents { at: file.to_owned(), source });
    }
    let layer = Descriptor::of(SIGSTORE_TYPE, &bundle);
    let empty = Bytes::from_static(b"{}");
    let mut manifest = Manifest::new(Some(SIGSTORE_TYPE), Descriptor::of(EMPTY_TYPE, &empty), vec![layer.clone()]);
    manifest.subject = Some(Descriptor { size, digest: digest.clone(), ..Descriptor::of(MANIFEST_TYPE, b"") });
    for (key, value) in [(CONTENT, "dsse-envelope"), (PREDICATE_TYPE, predicate_type.as_str())] {
        manifest.annotations.insert(key.to_owned(), value.to_owned());
    }
    let bytes: Bytes = bytes_of(&manifest).map_err(json)?.into();
    let referrer = Digest::of(&bytes);
    at.put_blob(&layer, bundle.into()).await?;
    at.put_blob(&manifest.config, empty).await?;
    at.put_manifest(&manifest, bytes, None).await?;
    Ok(Attached { digest, predicate_type, referrer })
}

/// An image config that names the layers, as registries and cosign expect for an image.
fn empty_config(layers: &[Descriptor]) -> Result<Vec<u8>, serde_json::Error> {
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
