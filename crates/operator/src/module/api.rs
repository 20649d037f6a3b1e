//! The Module resource: its types, and its CustomResourceDefinition. `kubectl explain` prints the doc comments.

use boathook_modules::{Maintenance, Wish};
use kube::{CustomResource, CustomResourceExt as _, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::hookbundle::{
    Condition, Grant, HookBundleSpec, OciSource, SecretKey, SecretName, Settings, Source, Verification, tidy,
};

/// The name of a module, as `boathook_modules::ModuleName` has it. The rest, which is rare, is in the status.
const NAME: &str = "self.metadata.name.size() <= 53 && self.metadata.name.matches('^[a-z0-9]+(-[a-z][a-z0-9]*)*$') \
    && self.metadata.name != 'global'";
/// A repository without a tag. `bundle::Reference` has the exact rules.
const REPOSITORY: &str = "self.matches('^(oci://)?(localhost|[^/@ ]*[.:][^/@ ]*)(/[a-z0-9]([a-z0-9._-]*[a-z0-9])?)+$')";
const GRANT: &str = "!has(self.grants) || self.grants.all(rule, has(rule.http) != has(rule.apiGroups) \
    && has(rule.http) != has(rule.resources) && has(rule.http) != has(rule.verbs) \
    && !(has(rule.http) && (has(rule.resourceNames) || has(rule.namespaces))))";

/// The desired state of a Module: where it is from, whether it is on, and its settings.
#[derive(CustomResource, KubeSchema, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "boathook.dev",
    version = "v1alpha1",
    kind = "Module",
    doc = "An add-on with a chart, hooks and settings. Without a source, it configures the module of the same name in the operator's directories.",
    category = "boathook",
    status = "ModuleStatus",
    derive = "PartialEq",
    printcolumn = r#"{"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status", "description": "Whether the module is as its spec wants it."}"#,
    printcolumn = r#"{"name": "State", "type": "string", "jsonPath": ".status.state", "description": "Ready, Off, or the step that it is at."}"#,
    printcolumn = r#"{"name": "Version", "type": "string", "jsonPath": ".status.version", "description": "The version that runs."}"#,
    printcolumn = r#"{"name": "Revision", "type": "integer", "jsonPath": ".status.revision", "description": "The revision of its chart."}"#,
    printcolumn = r#"{"name": "Message", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].message", "description": "What stands in the way, or who turned it off."}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!has(self.version) || has(self.source)")
        .message("only a module with a source has versions to choose from: leave version out")
        .field_path(".version"),
    validation = Rule::new("!has(self.source) || has(self.version)")
        .message("say which version of the source to run: its tag, or its digest")
        .field_path(".version"),
    validation = Rule::new("!has(self.source) || has(self.verification) || self.version.startsWith('sha256:')")
        .message("say why to trust it: verification with keys, digests or unsigned: true; or pin the version by its digest")
        .field_path(".verification"),
    validation = Rule::new("has(self.source) || (!has(self.verification) && !has(self.grants) && !has(self.serviceAccountName))")
        .message("a module of the operator's directories is the admin's: leave verification, grants and serviceAccountName out"),
    validation = Rule::new("!has(self.source) || has(self.serviceAccountName)")
        .message("say which ServiceAccount of the operator's namespace the module acts as")
        .field_path(".serviceAccountName"),
    validation = Rule::new(GRANT)
        .message("each rule has apiGroups, resources and verbs, or http alone")
        .field_path(".grants"),
)]
pub struct ModuleSpec {
    /// Where the module is from. Without a source, it is the module of this name in the operator's directories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<ModuleSource>,

    /// The version to run: a tag of the source, or a digest (sha256:…), which never points to anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(min = 1, max = 128),
        regex(pattern = "^([a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}|sha256:[0-9a-f]{64})$")
    )]
    pub version: Option<String>,

    /// How versions are verified. Optional if the version is a digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,

    /// Whether the module is on. If unset, a module with a source is on. Of another one, the ConfigMap, global hooks and
    /// static values decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,

    /// The settings. They win over the ConfigMap, key by key, and are checked against the module's schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Map<String, Value>>", extend("x-kubernetes-preserve-unknown-fields" = true))]
    pub settings: Option<Settings>,

    /// The version of the settings: x-config-version of the module's schema. If it is set and the module has another one,
    /// the settings are refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub settings_version: Option<u32>,

    /// How the module is kept. With NoResourceReconciliation, the objects of its chart stay as they are. With Paused, its
    /// hooks do not run either, and nothing of it is deleted. If unset, the ConfigMap decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maintenance: Option<MaintenanceMode>,

    /// The name of the ServiceAccount in the operator's namespace that a module with a source acts as: its hooks, and its
    /// chart. It must exist. RBAC decides what it may do, and the grants limit that further.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(min = 1, max = 253),
        regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
    )]
    pub service_account_name: Option<String>,

    /// What the hooks and the chart of a module with a source may do, as RBAC-style rules. A chart needs get, list, create,
    /// patch and delete for the kinds of its objects. A version whose hooks request more is not taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "atomic"))]
    pub grants: Vec<Grant>,
}

/// The source of a module. Exactly one kind of source must be set.
#[derive(KubeSchema, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.oci)").message("name exactly one source: oci"))]
pub struct ModuleSource {
    /// Artifacts in an OCI registry that `boathook bundle push` made of a module's directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oci: Option<ModuleRepository>,
}

/// A repository in a registry. Its Secrets are in the operator's namespace.
#[derive(KubeSchema, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModuleRepository {
    /// The repository: HOST/REPOSITORY, without a tag and without a digest.
    #[schemars(length(min = 1, max = 384))]
    #[x_kube(validation = Rule::new(REPOSITORY).message(
        "must be HOST/REPOSITORY without a tag, and HOST must have a dot or a port; the tag is spec.version"
    ))]
    pub repository: String,

    /// How often a tag is looked up, for example 30s or 1h30m. Must be between 10s and 24h. Defaults to 5m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 32), regex(pattern = "^([0-9]+([.][0-9]+)?(ms|s|m|h))+$"))]
    #[x_kube(validation = Rule::new("duration(self) >= duration('10s') && duration(self) <= duration('24h')")
        .message("must be between 10s and 24h"))]
    pub interval: Option<String>,

    /// The Secrets with logins to the registry. They must have the type kubernetes.io/dockerconfigjson.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 8),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub pull_secrets: Vec<SecretName>,

    /// The key of a Secret that contains the certificates of the registry's own authority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_secret: Option<SecretKey>,

    /// Whether to use HTTP without TLS. Only possible for registries that the operator's admin allows
    /// (--insecure-registry).
    #[serde(default)]
    pub insecure: bool,
}

/// How a module is kept.
#[derive(JsonSchema, Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MaintenanceMode {
    /// Its objects are kept as they should be.
    Managed,
    /// Its objects stay as they are. Its hooks run.
    NoResourceReconciliation,
    /// Nothing of it goes on: no step begins, its hooks do not run, and its objects stay as they are.
    Paused,
}

/// The observed state of a Module.
#[derive(JsonSchema, Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModuleStatus {
    /// The generation of the spec that the status describes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// Ready, Off, or the step in the module's life that it is at, for example Start, BeforeHelm or Chart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,

    /// Whether the module is on. Absent while that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,

    /// The version that runs, as the module itself says it in module.yaml or in Chart.yaml.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,

    /// The digest of the version that runs, if it is from a registry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,

    /// The revision of the module's chart. It grows with each change of what the chart renders to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<i64>,

    /// The conditions. Ready: whether the module is as the spec wants it. Reconciling: whether something is under way.
    /// Stalled: whether nothing goes on before something changes. Fetched: whether the version that the spec names can be
    /// used. Configured: whether the settings are valid.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

impl Module {
    /// What values and votes come from this object. A module from a registry is turned off when its Module is deleted.
    pub fn wish(&self) -> Wish {
        let wish = self.spec.wish();
        let leaves = self.spec.source.is_some() && self.metadata.deletion_timestamp.is_some();
        Wish { enabled: if leaves { Some(false) } else { wish.enabled }, ..wish }
    }
}

impl ModuleSpec {
    /// What values and votes come from this spec.
    pub fn wish(&self) -> Wish {
        let settings = self.settings.as_ref().and_then(|settings| serde_json::from_str(settings.text()).ok());
        let maintenance = self.maintenance.map(|mode| match mode {
            MaintenanceMode::Managed => Maintenance::Managed,
            MaintenanceMode::NoResourceReconciliation => Maintenance::NoResourceReconciliation,
            MaintenanceMode::Paused => Maintenance::Paused,
        });
        let enabled = self.enabled.or(self.source.as_ref().map(|_| true));
        Wish { settings, settings_version: self.settings_version, enabled, maintenance }
    }

    /// The source in the form of HookBundles, whose code fetches it. `None`: the module is in a directory.
    pub fn as_bundle(&self) -> Option<HookBundleSpec> {
        let ModuleRepository { repository, interval, pull_secrets, ca_secret, insecure } =
            self.source.as_ref()?.oci.clone()?;
        let version = self.version.as_deref().unwrap_or("latest");
        let separator = if version.starts_with("sha256:") { '@' } else { ':' };
        let oci = OciSource {
            reference: format!("{repository}{separator}{version}"),
            interval,
            pull_secrets,
            ca_secret,
            insecure,
        };
        Some(HookBundleSpec {
            source: Source { oci: Some(oci) },
            verification: self.verification.clone(),
            approval: Default::default(),
            approved_digest: None,
            rollout: None,
            service_account_name: self.service_account_name.clone().unwrap_or_default(),
            grants: self.grants.clone(),
            http_credentials: Vec::new(),
            settings: None,
            limits: None,
            suspend: false,
        })
    }
}

/// The definition of Module.
pub fn definition() -> Value {
    let mut definition = serde_json::to_value(Module::crd()).unwrap_or_default();
    tidy(&mut definition);
    if let Some(schema) =
        definition.pointer_mut("/spec/versions/0/schema/openAPIV3Schema").and_then(Value::as_object_mut)
    {
        let message = "the name of a Module is the module's: lower-case letters, digits and single '-' before letters, at \
                       most 53 characters";
        schema.insert("x-kubernetes-validations".to_owned(), json!([{"rule": NAME, "message": message}]));
    }
    definition
}
