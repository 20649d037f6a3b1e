//! The fields of a kind that field selectors may name.

use std::sync::Arc;

use serde_json::Value;

/// A selectable field.
#[derive(Debug, Clone)]
pub(crate) struct Selectable {
    /// The path in field selectors, for example `spec.color`.
    pub path: Arc<str>,
    /// The fields in the object, the first of which that is set counts.
    sources: Vec<String>,
    /// The value if none is set.
    unset: String,
}

impl Selectable {
    pub(crate) fn new<'a>(path: &str, sources: impl Iterator<Item = &'a str>, unset: &str) -> Self {
        let sources = sources.map(|source| format!("/{}", source.replace('.', "/"))).collect();
        Self { path: path.into(), sources, unset: unset.to_owned() }
    }

    pub(crate) fn value(&self, object: &Value) -> String {
        let found = self.sources.iter().filter_map(|source| object.pointer(source)).map(crate::jsonpath::text);
        found.into_iter().find(|text| !text.is_empty()).unwrap_or_else(|| self.unset.clone())
    }
}
