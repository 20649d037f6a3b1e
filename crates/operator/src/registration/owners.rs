//! The owners of a registration: an annotation with the hooks that need it, and the source of each. Pure.

use std::collections::BTreeMap;

use boathook_core::model::Source;
use serde_json::Value;

/// Annotation: the hooks and their sources, as a JSON object.
pub(super) const OWNERS: &str = "boathook.dev/hooks";

/// The sources of hooks, by the hooks' names.
pub(super) type Owners = BTreeMap<String, Source>;

/// Reads the annotation. Returns `None` if there is none or it cannot be read.
pub(super) fn of(object: &Value) -> Option<Owners> {
    let text = object.pointer("/metadata/annotations")?.get(OWNERS)?.as_str()?;
    let all: BTreeMap<String, String> = serde_json::from_str(text).ok()?;
    all.into_iter().map(|(hook, source)| Some((hook, source.parse().ok()?))).collect()
}

/// The value of the annotation.
pub(super) fn text(owners: &Owners) -> String {
    let all: serde_json::Map<String, Value> =
        owners.iter().map(|(hook, source)| (hook.clone(), source.to_string().into())).collect();
    Value::Object(all).to_string()
}
