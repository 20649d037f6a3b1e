//! Whose a registration is: an annotation with the hooks that want it, and where each is from. Pure.

use std::collections::BTreeMap;

use boathook_core::model::Source;
use serde_json::Value;

/// Annotation: hooks and their sources, a JSON object.
pub(super) const OWNERS: &str = "boathook.dev/hooks";

/// Hooks by name.
pub(super) type Owners = BTreeMap<String, Source>;

/// What the object says; `None` when it says nothing that can be read.
pub(super) fn of(object: &Value) -> Option<Owners> {
    let text = object.pointer("/metadata/annotations")?.get(OWNERS)?.as_str()?;
    let all: BTreeMap<String, String> = serde_json::from_str(text).ok()?;
    all.into_iter().map(|(hook, source)| Some((hook, source.parse().ok()?))).collect()
}

/// The annotation's value.
pub(super) fn text(owners: &Owners) -> String {
    let all: serde_json::Map<String, Value> =
        owners.iter().map(|(hook, source)| (hook.clone(), source.to_string().into())).collect();
    Value::Object(all).to_string()
}
