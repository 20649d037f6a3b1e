//! Who registers, and where the API server finds us. Never asks anybody.

use serde_json::{Value, json};

/// Label of all that is ours.
pub(super) const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "boathook");
/// Label: the operator that keeps an object.
pub(super) const INSTANCE: &str = "boathook.dev/instance";
/// Label: the hook that an object is for.
pub(super) const HOOK: &str = "boathook.dev/hook";

/// How an operator registers its hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Tells this operator from others of the same cluster; a label's value. Several replicas are one.
    pub instance: String,
    /// The operator's own namespace, which webhooks leave out like `kube-system`.
    pub namespace: String,
    /// Where the API server reaches it.
    pub endpoint: Endpoint,
}

/// Where the API server reaches the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// Over a Service, in the cluster.
    Service {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// Its port; 443 as a rule.
        port: u16,
    },
    /// From outside: `https://host:port`, without a path.
    Url(String),
}

impl Endpoint {
    /// A `clientConfig`, with the certificates as PEM.
    pub(super) fn client_config(&self, path: &str, ca: Option<&str>) -> Value {
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
