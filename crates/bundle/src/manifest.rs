//! The documents of the OCI image format that bundles use, and the limits of their sizes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Digest, annotations::TITLE};

/// The `artifactType` of bundles.
pub const BUNDLE_TYPE: &str = "application/vnd.boathook.bundle.v1+json";
/// The media type of a bundle's config.
pub const CONFIG_TYPE: &str = "application/vnd.boathook.bundle.config.v1+json";
/// The media type of a component.
pub const WASM_TYPE: &str = "application/wasm";
/// The media type of a JSON Schema in a bundle.
pub const SCHEMA_TYPE: &str = "application/vnd.boathook.schema.v1+json";
/// The media type of a CustomResourceDefinition in a bundle, as JSON.
pub const DEFINITION_TYPE: &str = "application/vnd.boathook.crd.v1+json";
/// The media type of the files of a module in a bundle, as a tar.
pub const MODULE_TYPE: &str = "application/vnd.boathook.module.v1.tar";
/// The media type of a Markdown text in a bundle.
pub const DOCS_TYPE: &str = "text/markdown";
/// The media type of the config of a single component, in the layout of the CNCF.
pub const CNCF_CONFIG_TYPE: &str = "application/vnd.wasm.config.v0+json";
pub(super) const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
pub(super) const INDEX_TYPE: &str = "application/vnd.oci.image.index.v1+json";
pub(super) const DOCKER_MANIFEST_TYPE: &str = "application/vnd.docker.distribution.manifest.v2+json";
pub(super) const DOCKER_INDEX_TYPE: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
pub(super) const IMAGE_CONFIG_TYPE: &str = "application/vnd.oci.image.config.v1+json";

/// The most bytes of a manifest or an index.
pub(super) const MAX_MANIFEST: u64 = 4 << 20;
/// The most bytes of a config, a signature or another small document.
pub(super) const MAX_CONFIG: u64 = 4 << 20;
/// The most bytes of one layer.
pub const MAX_LAYER: u64 = 256 << 20;
/// The most bytes of all layers together.
pub const MAX_TOTAL: u64 = 1 << 30;
/// The most layers of one bundle. Some registries accept no more.
pub const MAX_LAYERS: usize = 500;

/// Identifies content by its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    pub media_type: String,
    /// The SHA-256 of the content.
    pub digest: Digest,
    /// The size in bytes.
    pub size: u64,
    /// The kind of artifact, if this describes a manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

impl Descriptor {
    /// Describes these bytes.
    pub fn of(media_type: &str, bytes: &[u8]) -> Self {
        Self {
            media_type: media_type.to_owned(),
            digest: Digest::of(bytes),
            size: bytes.len() as u64,
            artifact_type: None,
            annotations: BTreeMap::new(),
        }
    }

    pub(super) fn annotated(mut self, key: &str, value: &str) -> Self {
        self.annotations.insert(key.to_owned(), value.to_owned());
        self
    }

    /// The file name that a layer should have, or its digest if it has none.
    pub(super) fn title(&self) -> &str {
        self.annotations.get(TITLE).map_or(self.digest.as_str(), String::as_str)
    }
}

/// An OCI image manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    pub(super) schema_version: u32,
    #[serde(default)]
    pub(super) media_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) artifact_type: Option<String>,
    pub(super) config: Descriptor,
    #[serde(default)]
    pub(super) layers: Vec<Descriptor>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) subject: Option<Descriptor>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) annotations: BTreeMap<String, String>,
}

impl Manifest {
    pub(super) fn new(artifact_type: Option<&str>, config: Descriptor, layers: Vec<Descriptor>) -> Self {
        Self {
            schema_version: 2,
            media_type: Some(MANIFEST_TYPE.to_owned()),
            artifact_type: artifact_type.map(str::to_owned),
            config,
            layers,
            subject: None,
            annotations: BTreeMap::new(),
        }
    }
}

/// An OCI image index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Index {
    pub schema_version: u32,
    #[serde(default)]
    pub media_type: Option<String>,
    #[serde(default)]
    pub manifests: Vec<Descriptor>,
}

impl Default for Index {
    fn default() -> Self {
        Self { schema_version: 2, media_type: Some(INDEX_TYPE.to_owned()), manifests: Vec::new() }
    }
}

/// Serializes a document. The same document always has the same bytes.
pub(super) fn bytes_of<T: Serialize>(document: &T) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec(document)
}

/// The media type of the signed document.
pub(super) const PAYLOAD_TYPE: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
/// The annotation of the document's layer with the signature, in base64.
pub(super) const SIGNATURE: &str = "dev.cosignproject.cosign/signature";
/// A DSSE envelope, as cosign stores attestations under a tag.
pub(super) const DSSE_TYPE: &str = "application/vnd.dsse.envelope.v1+json";
/// A Sigstore bundle, as cosign stores signatures and attestations that refer to a manifest.
pub(super) const SIGSTORE_TYPE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
pub(super) const EMPTY_TYPE: &str = "application/vnd.oci.empty.v1+json";
const KIND: &str = "cosign container image signature";
/// The key of the signed tag, among the document's optional fields.
const TAG: &str = "boathook.dev/tag";

/// `sha256-HEX.sig`
pub(super) fn signature_tag(digest: &Digest) -> String {
    format!("sha256-{}.sig", digest.hex())
}

/// `sha256-HEX.att`
pub(super) fn attestation_tag(digest: &Digest) -> String {
    format!("sha256-{}.att", digest.hex())
}

/// The tags that cosign gives to what it stores about a manifest: signatures, attestations, SBOMs.
pub(super) fn companion_tags(digest: &Digest) -> [String; 3] {
    ["sig", "att", "sbom"].map(|kind| format!("sha256-{}.{kind}", digest.hex()))
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
