//! What the API server knows about hooks that answer it: webhook configurations, and the conversion of
//! CustomResourceDefinitions.
//!
//! ```text
//!  specs, certificates ─▶ webhooks, conversion: what should be ─┐
//!                                                               ├─▶ plan: what to do ─▶ reconciler: does it, watches
//!                             the cluster: what there is ───────┘
//! ```
//!
//! This module never changes what another operator registered, and never answers a request.

mod conversion;
mod drift;
mod objects;
mod plan;
mod reconciler;
mod webhooks;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use boathook_core::model::{BundleId, HookSpec, PathKey, Source};
use serde_json::{Value, json};

pub use objects::RegistrationError;
pub use reconciler::{Removed, remove, run};

/// What has to be registered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Wanted {
    /// The authorities that sign the server's certificate, as PEM. If `None`, the API server trusts it already.
    pub ca: Option<Arc<str>>,
    /// All hooks that run.
    pub hooks: Vec<Registrant>,
    /// What may also have to be registered.
    pub pending: Pending,
    /// The key for the secret parts of paths. If `None`, paths have none.
    pub paths: Option<PathKey>,
}

/// A hook that runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Registrant {
    pub spec: Arc<HookSpec>,
    /// The source of the hook.
    pub source: Source,
    /// Whether the source is settled. If not, another version may have registered what is in the cluster, so nothing of
    /// that is narrowed.
    pub settled: bool,
    /// Whether the hook can answer. If not, what an earlier version registered stays as it is.
    pub ready: bool,
}

/// Annotation: the hooks and their sources, as a JSON object.
const OWNERS: &str = "boathook.dev/hooks";

/// The sources of hooks, by the hooks' names.
type Owners = BTreeMap<String, Source>;

/// Reads the annotation. Returns `None` if there is none or it cannot be read.
fn owners_of(object: &Value) -> Option<Owners> {
    let text = object.pointer("/metadata/annotations")?.get(OWNERS)?.as_str()?;
    let all: BTreeMap<String, String> = serde_json::from_str(text).ok()?;
    all.into_iter().map(|(hook, source)| Some((hook, source.parse().ok()?))).collect()
}

/// The value of the annotation.
fn owners_text(owners: &Owners) -> String {
    let all: serde_json::Map<String, Value> =
        owners.iter().map(|(hook, source)| (hook.clone(), source.to_string().into())).collect();
    Value::Object(all).to_string()
}

/// Hooks and sources that are not known yet, or cannot be loaded now. If a webhook is removed, everything passes that its
/// hook forbids. A registration is therefore not removed while a hook that is not loaded yet may need it. A registration
/// without an owner waits for all sources.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pending {
    /// Hooks that exist and cannot be loaded.
    pub hooks: BTreeSet<String>,
    /// Bundles that are not settled.
    pub bundles: BTreeSet<BundleId>,
    /// Whether it is not known yet which HookBundles exist. Any of them may exist.
    pub unlisted: bool,
    /// Modules whose hooks may not be loaded.
    pub modules: PendingModules,
}

/// Modules whose hooks may not be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PendingModules {
    /// No other ones than these.
    Named(BTreeSet<String>),
    /// It is not known yet which modules exist. Any of them may exist.
    Unknown,
}

impl Default for PendingModules {
    fn default() -> Self {
        Self::Named(BTreeSet::new())
    }
}

impl PendingModules {
    fn has(&self, module: &str) -> bool {
        match self {
            Self::Named(names) => names.contains(module),
            Self::Unknown => true,
        }
    }
}

impl Pending {
    /// Whether nothing more can be added.
    pub fn is_none(&self) -> bool {
        self.hooks.is_empty() && self.bundles.is_empty() && !self.unlisted && self.modules == PendingModules::default()
    }

    /// Whether the source may have hooks that are not known.
    pub fn has(&self, source: &Source) -> bool {
        match source {
            Source::Directory => false,
            Source::Bundle(id) => self.bundles.contains(id) || (self.unlisted && id.namespace.is_some()),
            Source::Module(name) => self.modules.has(name),
        }
    }

    /// Whether a pending hook may need this object's registration.
    fn may_want(&self, object: &Value) -> bool {
        match owners_of(object) {
            Some(owners) => owners.iter().any(|(hook, source)| self.hooks.contains(hook) || self.has(source)),
            None => !self.is_none(),
        }
    }
}

/// Label of everything that is ours.
const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "boathook");
/// Label: the operator that manages an object.
const INSTANCE: &str = "boathook.dev/instance";
/// Label: the hook that an object is for.
const HOOK: &str = "boathook.dev/hook";

/// How an operator registers its hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Distinguishes this operator from others in the same cluster. It is a label's value. The replicas of an operator
    /// share it.
    pub instance: String,
    /// Namespaces that no webhook applies to, unless its binding includes those of the system. In these namespaces, a
    /// broken hook could lock the cluster.
    pub left_out: Vec<String>,
    pub endpoint: Endpoint,
}

/// How the API server reaches the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// Through a Service in the cluster.
    Service {
        namespace: String,
        name: String,
        /// The Service's port, usually 443.
        port: u16,
    },
    /// From outside: `https://host:port`, without a path.
    Url(String),
}

/// How the API server and the operator authenticate each other.
#[derive(Debug, Clone, Copy, Default)]
struct Trust<'a> {
    /// Certificates as PEM.
    pub ca: Option<&'a str>,
    /// The key of the paths.
    pub paths: Option<&'a PathKey>,
}

impl<'a> Trust<'a> {
    pub fn of(wanted: &'a Wanted) -> Self {
        Self { ca: wanted.ca.as_deref(), paths: wanted.paths.as_ref() }
    }
}

impl Endpoint {
    /// A `clientConfig` for one path.
    fn client_config(&self, path: &str, trust: Trust<'_>) -> Value {
        let path = trust.paths.map_or_else(|| path.to_owned(), |key| key.sign(path));
        let ca = trust.ca;
        let mut config = match self {
            Self::Service { namespace, name, port } => {
                json!({"service": {"namespace": namespace, "name": name, "port": port, "path": path}})
            }
            Self::Url(base) => json!({"url": format!("{}{path}", base.trim_end_matches('/'))}),
        };
        if let (Some(ca), Some(config)) = (ca, config.as_object_mut()) {
            use base64::Engine as _;
            let text = base64::engine::general_purpose::STANDARD.encode(ca);
            config.insert("caBundle".to_owned(), Value::String(text));
        }
        config
    }
}
