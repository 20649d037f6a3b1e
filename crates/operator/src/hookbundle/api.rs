//! The HookBundle resource: its types, and its CustomResourceDefinition. `kubectl explain` prints the doc comments.

use boathook_core::model::{self, READING};
use kube::{CustomResource, CustomResourceExt as _, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};

/// A rule that grants permissions: in the form of an RBAC rule, or http for requests to hosts outside the cluster. In
/// each list of the former, "*" matches everything.
#[derive(JsonSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Grant {
    /// The API groups. "" is the core group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 64), inner(length(max = 253)), extend("x-kubernetes-list-type" = "atomic"))]
    pub api_groups: Vec<String>,

    /// The plural names of resources. A subresource is written as pods/eviction, and all subresources as pods/*.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 64), inner(length(min = 1, max = 253)), extend("x-kubernetes-list-type" = "atomic"))]
    pub resources: Vec<String>,

    /// The verbs: get, list, create, update, patch and delete for the hook's calls, watch for its bindings, and
    /// validate, mutate and convert for requests of the API server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 16), inner(length(min = 1, max = 63)), extend("x-kubernetes-list-type" = "atomic"))]
    pub verbs: Vec<String>,

    /// The names of objects. If empty, all names are granted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256), inner(length(min = 1, max = 253)), extend("x-kubernetes-list-type" = "atomic"))]
    pub resource_names: Vec<String>,

    /// The namespaces of objects. If empty, all namespaces and cluster-scoped objects are granted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256), inner(length(min = 1, max = 63)), extend("x-kubernetes-list-type" = "atomic"))]
    pub namespaces: Vec<String>,

    /// The HTTP requests that the hooks may make. Such a rule has no other field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpGrant>,
}

/// HTTP requests. The operator connects to public addresses only, unless its admin allows others.
#[derive(JsonSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HttpGrant {
    /// The hosts: api.example.com, *.example.com for all below it, api.example.com:8443 for another port than 443, and
    /// `http://api.example.com` for a host without TLS.
    #[schemars(
        length(min = 1, max = 64),
        inner(length(max = 270), regex(pattern = r"^(http://)?((\*\.)?[a-z0-9_.-]+|\[[0-9a-f:.]+\])(:[1-9][0-9]{0,4})?$")),
        extend("x-kubernetes-list-type" = "atomic")
    )]
    pub hosts: Vec<String>,

    /// The methods: GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS, and "*" for all. Defaults to GET and HEAD.
    #[serde(default = "reading")]
    #[schemars(
        length(min = 1, max = 16),
        inner(length(max = 16), regex(pattern = r"^(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|\*)$")),
        extend("x-kubernetes-list-type" = "atomic")
    )]
    pub methods: Vec<String>,

    /// The paths without the query. A * at the end stands for all that begin so. If empty, all paths are granted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 64),
        inner(length(max = 1024), regex(pattern = r"^/[^*?# ]*\*?$")),
        extend("x-kubernetes-list-type" = "atomic")
    )]
    pub paths: Vec<String>,
}

impl HttpGrant {
    /// The most hosts, and the most paths.
    pub const MAX_ITEMS: usize = 64;
}

/// A credential for one host. Its values are the keys of a Secret in this namespace.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(
    "[has(self.header), has(self.basic), has(self.bearer), has(self.awsSigV4)].exists_one(given, given)"
)
.message("needs exactly one of header, basic, bearer and awsSigV4"))]
pub struct HttpCredential {
    /// The host that receives it: api.example.com, api.example.com:8443 for another port than 443, and
    /// `http://api.example.com` for a host without TLS, which the operator's admin must allow.
    #[schemars(
        length(min = 1, max = 270),
        regex(pattern = r"^(http://)?([a-z0-9_.-]+|\[[0-9a-f:.]+\])(:[1-9][0-9]{0,4})?$")
    )]
    pub host: String,

    /// The name of the Secret. It is read for each request, so a change counts at once.
    #[schemars(length(min = 1, max = 253))]
    pub secret_name: String,

    #[serde(flatten)]
    pub form: CredentialForm,
}

/// How a credential is sent. Exactly one of these is set.
#[derive(JsonSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CredentialForm {
    /// A header with the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<HeaderForm>,

    /// A user's name and password, in the header authorization.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basic: Option<BasicForm>,

    /// A token, in the header authorization.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bearer: Option<BearerForm>,

    /// AWS Signature Version 4, in the header authorization.
    #[serde(default, rename = "awsSigV4", skip_serializing_if = "Option::is_none")]
    pub aws_sig_v4: Option<AwsSigV4Form>,
}

/// A header with the value.
#[derive(JsonSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HeaderForm {
    /// The name of the header, for example X-Api-Key.
    #[schemars(length(min = 1, max = 64), regex(pattern = "^[A-Za-z0-9_-]+$"))]
    pub name: String,

    /// What stands before the value, for example "Token " with the space.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 64), regex(pattern = "^[ -~]*$"))]
    pub prefix: String,

    /// The key in the Secret's data.
    #[schemars(length(min = 1, max = 253), regex(pattern = KEY))]
    pub key: String,
}

/// A user's name and password.
#[derive(JsonSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BasicForm {
    /// The key of the user's name in the Secret's data.
    #[serde(default = "username")]
    #[schemars(length(min = 1, max = 253), regex(pattern = KEY))]
    pub username_key: String,

    /// The key of the password in the Secret's data.
    #[serde(default = "password")]
    #[schemars(length(min = 1, max = 253), regex(pattern = KEY))]
    pub password_key: String,
}

/// A token.
#[derive(JsonSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BearerForm {
    /// The key in the Secret's data.
    #[schemars(length(min = 1, max = 253), regex(pattern = KEY))]
    pub key: String,
}

/// AWS Signature Version 4.
#[derive(JsonSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AwsSigV4Form {
    /// The region, for example eu-central-1.
    #[schemars(length(min = 1, max = 63), regex(pattern = "^[a-z0-9-]+$"))]
    pub region: String,

    /// The service as signatures name it, for example s3 or execute-api.
    #[schemars(length(min = 1, max = 63), regex(pattern = "^[a-z0-9-]+$"))]
    pub service: String,

    /// The key of the access key's id in the Secret's data.
    #[serde(default = "access_key_id")]
    #[schemars(length(min = 1, max = 253), regex(pattern = KEY))]
    pub access_key_id_key: String,

    /// The key of the secret access key in the Secret's data.
    #[serde(default = "secret_access_key")]
    #[schemars(length(min = 1, max = 253), regex(pattern = KEY))]
    pub secret_access_key_key: String,

    /// The key of the session's token in the Secret's data. Set it for temporary credentials only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = KEY))]
    pub session_token_key: Option<String>,
}

fn username() -> String {
    "username".to_owned()
}

fn password() -> String {
    "password".to_owned()
}

fn access_key_id() -> String {
    "accessKeyId".to_owned()
}

fn secret_access_key() -> String {
    "secretAccessKey".to_owned()
}

impl CredentialForm {
    /// The one form that is set. `None`: there is none, or more than one.
    pub fn one(&self) -> Option<model::CredentialForm> {
        match (&self.header, &self.basic, &self.bearer, &self.aws_sig_v4) {
            (Some(HeaderForm { name, prefix, key }), None, None, None) => {
                Some(model::CredentialForm::Header { name: name.clone(), prefix: prefix.clone(), key: key.clone() })
            }
            (None, Some(BasicForm { username_key, password_key }), None, None) => {
                Some(model::CredentialForm::Basic { username: username_key.clone(), password: password_key.clone() })
            }
            (None, None, Some(BearerForm { key }), None) => Some(model::CredentialForm::Bearer { key: key.clone() }),
            (None, None, None, Some(aws)) => Some(model::CredentialForm::AwsSigV4 {
                access_key_id: aws.access_key_id_key.clone(),
                secret_access_key: aws.secret_access_key_key.clone(),
                session_token: aws.session_token_key.clone(),
                region: aws.region.clone(),
                service: aws.service.clone(),
            }),
            _ => None,
        }
    }
}

fn reading() -> Vec<String> {
    READING.map(str::to_owned).to_vec()
}

/// The desired state of a HookBundle: what to run, why to trust it, what it may do, and which ServiceAccount it acts
/// as.
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
    printcolumn = r#"{"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status", "description": "Whether the running version's hooks are ready."}"#,
    printcolumn = r#"{"name": "Version", "type": "string", "jsonPath": ".status.version", "description": "The running version: its tag, and the beginning of its digest."}"#,
    printcolumn = r#"{"name": "Hooks", "type": "string", "jsonPath": ".status.hooksReady", "description": "Ready hooks, of all."}"#,
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
    validation = Rule::new("!has(self.rollout) || self.approval != 'Manual'")
        .message("with a rollout, leave approval out: rollout.approval says whether a new version takes over by itself")
        .field_path(".rollout"),
    validation = Rule::new(GRANT)
        .message("each rule has apiGroups, resources and verbs, or http alone")
        .field_path(".grants"),
)]
pub struct HookBundleSpec {
    /// The source of the bundle. Exactly one kind of source must be set.
    pub source: Source,

    /// How versions are verified. Optional if the reference has a digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,

    /// Whether a new version takes over by itself. With Automatic, it does, unless it requests more than is granted.
    /// With Manual, only the version in approvedDigest runs.
    #[serde(default)]
    pub approval: Approval,

    /// The digest of the version to run if approval is Manual. status.available.digest shows the digest that the source
    /// points to. The digest of an earlier version rolls back to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    pub approved_digest: Option<String>,

    /// How a new version takes over. Without it, a new version takes over at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollout: Option<Rollout>,

    /// The name of the ServiceAccount in this namespace that the hooks act as. It must exist. RBAC decides what it may
    /// do, and the grants limit that further.
    #[serde(default = "default_service_account")]
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(validation = Rule::new(
        "self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')"
    )
    .message("must be the name of a ServiceAccount of this namespace: lower-case letters, digits, '-' and '.', without a namespace before it"))]
    pub service_account_name: String,

    /// What the hooks may call, watch and answer, as RBAC-style rules. A hook may do what it requests and what is
    /// granted. A hook that requests more than is granted does not start, and a new version with such a hook waits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "atomic"))]
    pub grants: Vec<Grant>,

    /// Credentials that the operator adds to the hooks' HTTP requests, each to one host of the grants. The hooks do not see
    /// them. The ServiceAccount must be allowed to get the Secrets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 16),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["host"])
    )]
    pub http_credentials: Vec<HttpCredential>,

    /// The settings that the bundle's hooks read. They are checked against the bundle's schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Map<String, Value>>", extend("x-kubernetes-preserve-unknown-fields" = true))]
    pub settings: Option<Settings>,

    /// The limits of each run. They cap what the bundle's hooks request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,

    /// Whether the bundle is suspended. If true, nothing of the bundle runs, no new version is looked up, and its
    /// webhooks are removed. The status keeps its content.
    #[serde(default)]
    pub suspend: bool,
}

/// Settings as their text, because values take up to forty times as much memory.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Settings(Box<RawValue>);

impl Settings {
    /// The settings in JSON.
    pub fn text(&self) -> &str {
        self.0.get()
    }
}

impl PartialEq for Settings {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

/// The source of a bundle.
#[derive(KubeSchema, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.oci)").message("name exactly one source: oci"))]
pub struct Source {
    /// An artifact in an OCI registry: a bundle that `boathook bundle push` made, or a single component.
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
    /// The reference of the artifact: HOST/REPOSITORY:TAG or HOST/REPOSITORY@sha256:…. Without both, the tag is latest.
    #[schemars(length(min = 1, max = 512))]
    #[x_kube(validation = Rule::new(REFERENCE).message(
        "must be HOST/REPOSITORY:TAG or HOST/REPOSITORY@sha256:…, and HOST must have a dot or a port"
    ))]
    pub reference: String,

    /// How often the tag is looked up, for example 30s or 1h30m. Must be between 10s and 24h. Defaults to 5m. Not
    /// allowed if the reference has a digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 32), regex(pattern = DURATION))]
    #[x_kube(validation = Rule::new("duration(self) >= duration('10s') && duration(self) <= duration('24h')")
        .message("must be between 10s and 24h"))]
    pub interval: Option<String>,

    /// The Secrets in this namespace with logins to the registry. They must have the type
    /// kubernetes.io/dockerconfigjson.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 8),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub pull_secrets: Vec<SecretName>,

    /// The key of a Secret in this namespace that contains the certificates of the registry's own authority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_secret: Option<SecretKey>,

    /// Whether to use HTTP without TLS. Only possible for registries that the operator's admin allows
    /// (--insecure-registry).
    #[serde(default)]
    pub insecure: bool,
}

/// Not at the rule itself: a status has such rules without a bound on their number.
const GRANT: &str = "!has(self.grants) || self.grants.all(rule, has(rule.http) != has(rule.apiGroups) \
    && has(rule.http) != has(rule.resources) && has(rule.http) != has(rule.verbs) \
    && !(has(rule.http) && (has(rule.resourceNames) || has(rule.namespaces))))";
/// A rough check of a reference. `bundle::Reference` has the exact rules.
const REFERENCE: &str = "self.matches('^(oci://)?(localhost|[^/@ ]*[.:][^/@ ]*)\
    (/[a-z0-9]([a-z0-9._-]*[a-z0-9])?)+(:[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127})?(@sha256:[0-9a-f]{64})?$')";
/// A key of a Secret, which is also the name of a file.
const KEY: &str = "^[-._a-zA-Z0-9]+$";
const DURATION: &str = "^([0-9]+([.][0-9]+)?(ms|s|m|h))+$";
const BYTES: &str = "^[1-9][0-9]{0,14}(Ki|Mi|Gi|k|M|G)?$";

/// The name of a Secret in the HookBundle's namespace.
#[derive(JsonSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretName {
    /// The name of the Secret.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// A key of a Secret in the HookBundle's namespace.
#[derive(JsonSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretKey {
    /// The name of the Secret.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,

    /// The key in the Secret's data.
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
}

/// How versions are verified. A version is trusted if its digest is listed, or if enough of the keys have signed it.
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
    validation = Rule::new("!has(self.require) || has(self.keys)")
        .message("a key is what attests: add keys")
        .field_path(".require"),
    validation = Rule::new("!self.tagMustMatch || has(self.keys)")
        .message("a signature is what names a tag: add keys")
        .field_path(".tagMustMatch"),
)]
pub struct Verification {
    /// The signers: public keys (ECDSA on P-256, as cosign makes them, or Ed25519), and identities in certificates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 16),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub keys: Vec<Key>,

    /// The number of keys that must have signed a version. Defaults to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 16))]
    pub minimum: Option<u32>,

    /// Whether a signature counts only for the tag that it was made for.
    #[serde(default)]
    pub tag_must_match: bool,

    /// The attestations that every version needs, by one of the keys: sbom or provenance.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 2),
        inner(regex(pattern = "^(sbom|provenance)$")),
        extend("x-kubernetes-list-type" = "set")
    )]
    pub require: Vec<String>,

    /// The digests of versions that are trusted without a signature.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 64), inner(regex(pattern = "^sha256:[0-9a-f]{64}$")), extend("x-kubernetes-list-type" = "set"))]
    pub digests: Vec<String>,

    /// Whether every version is trusted. If true, anyone who may push to the repository decides what runs.
    #[serde(default)]
    pub unsigned: bool,
}

/// A signer, by its public key or by its identity.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("[has(self.publicKey), has(self.secret), has(self.identity)].exists_one(given, given)")
    .message("needs exactly one of publicKey, secret and identity"))]
pub struct Key {
    /// The name of the key in messages.
    #[schemars(length(min = 1, max = 63))]
    pub name: String,

    /// The key in PEM. It begins with -----BEGIN PUBLIC KEY-----.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 4096))]
    pub public_key: Option<String>,

    /// The key of a Secret in this namespace that contains the public key in PEM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<SecretKey>,

    /// A signer without a key of its own, to whom a certificate authority gives certificates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<KeylessIdentity>,
}

/// A signer to whom a certificate authority, such as a Fulcio of your own, gives certificates for keys that are used once.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self.subject.matches('^[^*]+(/[*])?$')")
    .message("a * stands at the end, after a /")
    .field_path(".subject"))]
pub struct KeylessIdentity {
    /// The URL of the identity provider that knows the signer, as the certificate has it.
    #[schemars(length(min = 1, max = 253))]
    pub issuer: String,

    /// The URI or the e-mail address in the certificate. With /* at its end, every one below.
    #[schemars(length(min = 1, max = 1024))]
    pub subject: String,

    /// The certificates of the authority in PEM: its self-signed root, and those between the root and the signers.
    #[schemars(length(min = 1, max = 16384))]
    pub certificate_authority: String,

    /// The public key of a transparency log (Rekor) in PEM. Each signature then needs an entry, which says when it was made.
    /// Without it, the certificate must still be valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 4096))]
    pub transparency_log: Option<String>,
}

/// Whether a new version takes over by itself.
#[derive(JsonSchema, Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Approval {
    /// A new version takes over if it is trusted and requests no more than is granted.
    #[default]
    Automatic,
    /// A new version takes over if approvedDigest names it.
    Manual,
}

/// How a new version takes over.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.runs) || has(self.duration)")
        .message("say how long a new version is compared: runs, duration, or both"),
)]
pub struct Rollout {
    /// The strategy: Shadow. The new version first runs in the shadow of the running one: each run is done again with the
    /// new version, whose writes are dry runs, and the effects are compared.
    #[schemars(extend("enum" = ["Shadow"]))]
    pub strategy: String,

    /// How many runs of each changed hook are compared at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000))]
    pub runs: Option<u32>,

    /// How long runs are compared at least, for example 10m. Must be between 1s and 168h. At least one run of each changed
    /// hook is compared, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 32), regex(pattern = DURATION))]
    #[x_kube(validation = Rule::new("duration(self) >= duration('1s') && duration(self) <= duration('168h')")
        .message("must be between 1s and 168h"))]
    pub duration: Option<String>,

    /// Whether the new version takes over by itself. With Automatic, it does if all runs were equal and everything was
    /// compared. With Manual, and if anything differs, it waits until approvedDigest names it.
    #[serde(default)]
    pub approval: Approval,

    /// The digest of the version that takes over at once, whatever its comparison shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    pub approved_digest: Option<String>,
}

/// The limits of each run. Where a limit is not set, the hook's request counts, within the operator's own limits.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// The maximum memory, for example 64Mi.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = BYTES))]
    pub memory: Option<String>,

    /// The maximum time from start to end, for example 10s. Must be at least 1ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 32), regex(pattern = DURATION))]
    #[x_kube(validation = Rule::new("duration(self) >= duration('1ms') && duration(self) <= duration('1h')")
        .message("must be between 1ms and 1h"))]
    pub time: Option<String>,

    /// The maximum number of host calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub host_calls: Option<i64>,

    /// The maximum number of bytes that host calls pass, for example 64Mi.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = BYTES))]
    pub host_bytes: Option<String>,

    /// The maximum number of bytes of log lines, for example 1Mi.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = BYTES))]
    pub log_bytes: Option<String>,

    /// The maximum number of runs of one hook at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub concurrency: Option<i64>,
}

impl HookBundleSpec {
    /// Whether the source names one version that never changes.
    pub fn reference_is_pinned(&self) -> bool {
        self.source.oci.as_ref().is_some_and(|oci| oci.reference.contains('@'))
    }
}

fn default_service_account() -> String {
    "default".to_owned()
}

/// The observed state of a HookBundle.
#[derive(JsonSchema, Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HookBundleStatus {
    /// The generation of the spec that the status describes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The digest of the version that runs, or that is suspended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,

    /// The same version in readable form: its tag, and the beginning of its digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,

    /// The version that the source points to, if another one runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available: Option<Available>,

    /// A version that waits for an admin. The previous version continues to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending: Option<Pending>,

    /// The last rollout: a new version that is compared with the running one, or that was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollout: Option<RolloutStatus>,

    /// The number of ready hooks and of all hooks, for example 2/3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hooks_ready: Option<String>,

    /// The hooks of the version that runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub hooks: Vec<HookStatus>,

    /// The conditions. Ready: whether the hooks of the running version are ready. Verified and Granted: the state of
    /// the version that the spec selects. Credentials: whether those of spec.httpCredentials can be used. Progressing:
    /// whether something is under way. Suspended: whether spec.suspend is set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

/// A new version that is compared with the running one, or that was.
#[derive(JsonSchema, Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RolloutStatus {
    /// The digest of the new version.
    pub digest: String,

    /// The new version in readable form: its tag, and the beginning of its digest.
    pub version: String,

    /// The phase: Comparing, HeldBack, Watching (it took over, and its failures are counted), Complete or RolledBack.
    #[schemars(extend("enum" = ["Comparing", "HeldBack", "Watching", "Complete", "RolledBack"]))]
    pub phase: String,

    /// Why the new version is held back, or was rolled back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,

    /// The generation of the spec in which the version was rolled back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The version that the new one is compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<Available>,

    /// The comparison of each changed hook. The counts may be half a minute old.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub hooks: Vec<HookRollout>,

    /// What cannot be compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub not_compared: Vec<String>,

    /// The runs of the previous version during the comparison.
    #[serde(default)]
    pub previous_runs: i64,

    /// Those of them that failed.
    #[serde(default)]
    pub previous_failures: i64,

    /// The runs of the new version since it took over. May be half a minute old.
    #[serde(default)]
    pub runs: i64,

    /// Those of them that failed.
    #[serde(default)]
    pub failures: i64,
}

/// The comparison of one hook.
#[derive(JsonSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookRollout {
    /// The name of the hook in the bundle.
    pub name: String,

    /// The number of runs with the same effects.
    pub equal: i64,

    /// The number of runs with other effects.
    pub different: i64,

    /// The number of runs that were not compared, because there was no free slot, or too much to note.
    pub skipped: i64,

    /// The first difference. Values that may come from Secrets are not in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub example: Option<String>,
}

/// A version of the bundle.
#[derive(JsonSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Available {
    /// The digest of the version.
    pub digest: String,

    /// The version in readable form: its tag, and the beginning of its digest.
    pub version: String,
}

/// A version that waits for an admin.
#[derive(JsonSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pending {
    /// The digest of the version.
    pub digest: String,

    /// The version in readable form: its tag, and the beginning of its digest.
    pub version: String,

    /// What the version waits for: AwaitingApproval, MissingGrants, HeldBack or RolledBack.
    pub reason: String,

    /// The rules to add to spec.grants.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub missing: Vec<Grant>,
}

/// The state of one hook.
#[derive(JsonSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookStatus {
    /// The name of the hook in the bundle.
    pub name: String,

    /// The name of the hook in the operator, as in logs, metrics, field managers and `boathook hooks`.
    pub hook: String,

    /// The state: Ready, Pending, Quarantined, Ungranted, Forbidden or Suspended.
    pub state: String,

    /// Why the hook is not ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,

    /// The interpreter that runs the hook, if it is a script: its name, version and digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interpreter: Option<String>,

    /// When the last run ended. May be half a minute old.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub last_run: Option<String>,

    /// The error of the last failed run. Absent if the last run succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,

    /// The number of failed runs since the operator started. May be half a minute old.
    pub failures: i64,

    /// The permissions that the hook requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub permissions: Vec<Grant>,

    /// The missing rules: in spec.grants if the hook is Ungranted, or in the roles of its ServiceAccount if it is
    /// Forbidden.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub missing: Vec<Grant>,
}

/// A condition, in the usual form of Kubernetes.
#[derive(JsonSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// The type of the condition, for example Ready.
    #[serde(rename = "type")]
    #[schemars(length(min = 1, max = 316))]
    pub type_: String,

    /// Whether the condition holds.
    #[schemars(extend("enum" = ["True", "False", "Unknown"]))]
    pub status: String,

    /// The generation of the spec that the condition describes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// When the status last changed.
    #[schemars(extend("format" = "date-time"))]
    pub last_transition_time: String,

    /// The reason, as one word for programs.
    #[schemars(length(min = 1, max = 1024), regex(pattern = "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"))]
    pub reason: String,

    /// The message for people.
    #[schemars(length(max = 32_768))]
    pub message: String,
}

/// The definition of HookBundle.
pub fn definition() -> Value {
    let mut definition = serde_json::to_value(HookBundle::crd()).unwrap_or_default();
    tidy(&mut definition);
    definition
}

/// Rejects `null` everywhere, as in hooks' documents, and replaces formats that only Rust knows. Of fields that the API server
/// is to keep, it would drop what is deeper than one level, if `additionalProperties: true` were there, too.
pub(crate) fn tidy(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if map.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true)) {
                map.shift_remove("additionalProperties");
            }
            if map.get("nullable") == Some(&Value::Bool(true)) {
                map.remove("nullable");
            }
            if map.get("format").is_some_and(|format| format == "uint32") {
                map.insert("format".to_owned(), "int32".into());
            }
            map.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}
