//! The operator that registers, and how the API server reaches it.

use boathook_core::model::PathKey;
use serde_json::{Value, json};

use super::Wanted;

/// Label of everything that is ours.
pub(super) const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "boathook");
/// Label: the operator that manages an object.
pub(super) const INSTANCE: &str = "boathook.dev/instance";
/// Label: the hook that an object is for.
pub(super) const HOOK: &str = "boathook.dev/hook";

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
pub(super) struct Trust<'a> {
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
    pub(super) fn client_config(&self, path: &str, trust: Trust<'_>) -> Value {
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
