//! What a HookBundle asks for: the fields of `spec`, their bounds and what must hold between them. The doc comments
//! are what `kubectl explain` prints. Never reads a registry.

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{grant::Grant, status::HookBundleStatus};

/// What to run, why to trust it, what it may do, and as whom.
#[derive(CustomResource, KubeSchema, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "boathook.dev",
    version = "v1alpha1",
    kind = "HookBundle",
    doc = "A versioned set of hooks out of a registry, which the operator runs as a ServiceAccount of its namespace.",
    namespaced,
    shortname = "hb",
    category = "boathook",
    status = "HookBundleStatus",
    derive = "PartialEq",
    printcolumn = r#"{"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status", "description": "Whether the running version's hooks are at work."}"#,
    printcolumn = r#"{"name": "Version", "type": "string", "jsonPath": ".status.version", "description": "The running version: its tag, and the beginning of its digest."}"#,
    printcolumn = r#"{"name": "Hooks", "type": "string", "jsonPath": ".status.hooksReady", "description": "Hooks at work, of all."}"#,
    printcolumn = r#"{"name": "Message", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].message", "description": "What stands in the way, or what waits."}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new(
        "has(self.verification) || (has(self.source.oci) && self.source.oci.reference.contains('@sha256:'))"
    )
    .message("say why to trust it: verification with keys, digests or unsigned: true; or pin the reference by @sha256:…")
    .field_path(".verification"),
    validation = Rule::new("!has(self.approvedDigest) || self.approval == 'Manual'")
        .message("approvedDigest is read with approval: Manual alone")
        .field_path(".approvedDigest"),
    validation = Rule::new(
        "self.approval != 'Manual' || !has(self.source.oci) || !self.source.oci.reference.contains('@sha256:')"
    )
    .message("a reference with a digest names the approved version itself: leave approval out, or name a tag")
    .field_path(".approval"),
)]
pub struct HookBundleSpec {
    /// Where the bundle is: exactly one kind of source.
    pub source: Source,

    /// Why a version is trusted. May be left out where the reference is pinned by a digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,

    /// Whether a new version takes over by itself. Automatic: it does, unless it asks for more than is granted.
    /// Manual: only the version that approvedDigest names runs.
    #[serde(default)]
    pub approval: Approval,

    /// With approval: Manual, the digest of the version that is to run, as status.available.digest shows it. An
    /// earlier one rolls back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    pub approved_digest: Option<String>,

    /// The ServiceAccount of this namespace that the hooks act as; it must exist. What it may do is RBAC's decision; what
    /// is granted here limits it further.
    #[serde(default = "default_service_account")]
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(validation = Rule::new(
        "self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')"
    )
    .message("must be the name of a ServiceAccount of this namespace: lower-case letters, digits, '-' and '.', without a namespace before it"))]
    pub service_account_name: String,

    /// What the hooks may call, watch and answer, in the words of RBAC. A hook may do what it asks for and what is
    /// granted; one that asks for more than is granted does not start, and a new version that does so waits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "atomic"))]
    pub grants: Vec<Grant>,

    /// The bundle's settings, which its hooks read. Checked against the schema that the bundle brings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
    pub settings: Option<Map<String, Value>>,

    /// Bounds of each run, which no hook of the bundle gets over whatever it asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,

    /// Nothing of the bundle runs, no new version is looked for, and its webhooks are taken back. What is in status
    /// stays.
    #[serde(default)]
    pub suspend: bool,
}

/// Where a bundle is.
#[derive(KubeSchema, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.oci)").message("name exactly one source: oci"))]
pub struct Source {
    /// An artifact in an OCI registry, as `boathook bundle push` makes it, or a single component's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oci: Option<OciSource>,
}

/// A bundle in a registry.
#[derive(KubeSchema, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!(self.reference.contains('@sha256:') && has(self.interval))")
        .message("a reference with a digest never points to anything else: leave interval out, or name a tag")
        .field_path(".interval"),
)]
pub struct OciSource {
    /// HOST/REPOSITORY:TAG or HOST/REPOSITORY@sha256:…; without both, the tag is latest.
    #[schemars(length(min = 1, max = 512))]
    #[x_kube(validation = Rule::new(REFERENCE).message(
        "must be HOST/REPOSITORY:TAG or HOST/REPOSITORY@sha256:…, and HOST must have a dot or a port"
    ))]
    pub reference: String,

    /// How often the tag is looked up: 10s to 24h, as 30s or 1h30m. Default 5m. Not for a reference with a digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 32), regex(pattern = DURATION))]
    #[x_kube(validation = Rule::new("duration(self) >= duration('10s') && duration(self) <= duration('24h')")
        .message("must be between 10s and 24h"))]
    pub interval: Option<String>,

    /// Secrets of this namespace, of type kubernetes.io/dockerconfigjson, with logins to the registry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 8),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub pull_secrets: Vec<SecretName>,

    /// A Secret of this namespace with the certificates of the registry's own authority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_secret: Option<SecretKey>,

    /// Speak HTTP without TLS. Only with registries that the operator's admin allows it for (--insecure-registry).
    #[serde(default)]
    pub insecure: bool,
}

/// What a reference looks like; `bundle::Reference` decides.
const REFERENCE: &str = "self.matches('^(oci://)?(localhost|[^/@ ]*[.:][^/@ ]*)\
    (/[a-z0-9]([a-z0-9._-]*[a-z0-9])?)+(:[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127})?(@sha256:[0-9a-f]{64})?$')";
const DURATION: &str = "^([0-9]+([.][0-9]+)?(ms|s|m|h))+$";
const BYTES: &str = "^[1-9][0-9]{0,14}(Ki|Mi|Gi|k|M|G)?$";

/// A Secret of the HookBundle's namespace.
#[derive(JsonSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretName {
    /// Its name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// A key of a Secret of the HookBundle's namespace.
#[derive(JsonSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretKey {
    /// The Secret's name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,

    /// The key in its data.
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
}

/// Why a version is trusted: its digest is listed, or enough of the keys have signed it.
#[derive(KubeSchema, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("self.unsigned || has(self.keys) || has(self.digests)")
        .message("nothing is allowed: add keys, digests, or unsigned: true"),
    validation = Rule::new("!(self.unsigned && (has(self.keys) || has(self.digests)))")
        .message("unsigned: true makes keys and digests useless: remove one of them"),
    validation = Rule::new("!has(self.minimum) || (has(self.keys) && self.minimum <= self.keys.size())")
        .message("must not be more than there are keys")
        .field_path(".minimum"),
    validation = Rule::new("!self.tagMustMatch || has(self.keys)")
        .message("a signature is what names a tag: add keys")
        .field_path(".tagMustMatch"),
)]
pub struct Verification {
    /// Public keys of signers: ECDSA on P-256, as cosign makes them, or Ed25519.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 16),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub keys: Vec<Key>,

    /// How many of the keys must have signed. Default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 16))]
    pub minimum: Option<u32>,

    /// A signature counts only for the tag that it was made for.
    #[serde(default)]
    pub tag_must_match: bool,

    /// Digests of versions that are trusted without a signature.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 64), inner(regex(pattern = "^sha256:[0-9a-f]{64}$")), extend("x-kubernetes-list-type" = "set"))]
    pub digests: Vec<String>,

    /// Every version is trusted: whoever may push to the repository decides what runs.
    #[serde(default)]
    pub unsigned: bool,
}

/// A signer's public key.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.publicKey) != has(self.secret)")
    .message("needs exactly one of publicKey and secret"))]
pub struct Key {
    /// What texts call it by.
    #[schemars(length(min = 1, max = 63))]
    pub name: String,

    /// The key in PEM, beginning with -----BEGIN PUBLIC KEY-----.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 4096))]
    pub public_key: Option<String>,

    /// A Secret of this namespace that has the key in PEM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<SecretKey>,
}

/// Whether a new version takes over by itself.
#[derive(JsonSchema, Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Approval {
    /// When it is trusted and asks for no more than is granted.
    #[default]
    Automatic,
    /// When approvedDigest names it.
    Manual,
}

/// Bounds of each run. What is left out is what the hook asks for, within the operator's own bounds.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// Memory, as 64Mi.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = BYTES))]
    pub memory: Option<String>,

    /// Time from start to end, as 10s; at least 1ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 32), regex(pattern = DURATION))]
    #[x_kube(validation = Rule::new("duration(self) >= duration('1ms') && duration(self) <= duration('1h')")
        .message("must be between 1ms and 1h"))]
    pub time: Option<String>,

    /// Calls of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub host_calls: Option<i64>,

    /// Bytes that calls of the host pass, as 64Mi.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = BYTES))]
    pub host_bytes: Option<String>,

    /// Bytes of log lines, as 1Mi.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = BYTES))]
    pub log_bytes: Option<String>,

    /// Runs of one hook at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub concurrency: Option<i64>,
}

impl HookBundleSpec {
    /// Whether the source names one version and never another.
    pub fn reference_is_pinned(&self) -> bool {
        self.source.oci.as_ref().is_some_and(|oci| oci.reference.contains('@'))
    }
}

fn default_service_account() -> String {
    "default".to_owned()
}
