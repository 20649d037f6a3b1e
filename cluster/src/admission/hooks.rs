//! The webhooks of all configurations, in the order in which they are called.

use serde_json::Value;

use crate::json;
use crate::selectors::LabelSelector;
use crate::shared::Shared;
use crate::store::Query;

pub(super) const MUTATING: &str = "mutatingwebhookconfigurations.admissionregistration.k8s.io";
pub(super) const VALIDATING: &str = "validatingwebhookconfigurations.admissionregistration.k8s.io";

pub(super) struct Hook {
    /// Unique among the webhooks of one kind.
    pub id: String,
    pub name: String,
    /// The webhook as it is written, with defaults.
    pub written: Value,
    pub namespaces: LabelSelector,
    pub objects: LabelSelector,
}

impl Hook {
    fn of(configuration: &str, index: usize, written: &Value) -> Self {
        let selector = |key: &str| written.get(key).map(LabelSelector::of).unwrap_or_default();
        Self {
            id: format!("{configuration}/{index}"),
            name: json::text(written, &["name"]).to_owned(),
            namespaces: selector("namespaceSelector"),
            objects: selector("objectSelector"),
            written: written.clone(),
        }
    }

    pub(super) fn text(&self, key: &str) -> &str {
        json::text(&self.written, &[key])
    }

    /// Whether a request continues when the webhook cannot be called.
    pub(super) fn ignores_failure(&self) -> bool {
        self.text("failurePolicy") == "Ignore"
    }
}

/// Configurations are ordered by name, which is the order of the store.
pub(super) fn all(shared: &Shared, storage: &str) -> Vec<Hook> {
    let query = Query { prefix: "", after: None, at: None, limit: 0, matches: &|_| true };
    let found = shared.store.list(storage, &query).map(|page| page.items).unwrap_or_default();
    let mut hooks = Vec::new();
    for configuration in found {
        let value = configuration.value();
        let written = json::list(&value, &["webhooks"]).iter().enumerate();
        hooks.extend(written.map(|(index, hook)| Hook::of(configuration.name(), index, hook)));
    }
    hooks
}
