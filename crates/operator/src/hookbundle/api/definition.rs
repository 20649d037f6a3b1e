//! The CustomResourceDefinition, generated from the types.

use kube::CustomResourceExt as _;
use serde_json::Value;

use super::HookBundle;

/// The definition of HookBundle.
pub fn definition() -> Value {
    let mut definition = serde_json::to_value(HookBundle::crd()).unwrap_or_default();
    tidy(&mut definition);
    definition
}

/// Rejects `null` everywhere, as in hooks' documents, and replaces formats that only Rust knows.
fn tidy(value: &mut Value) {
    match value {
        Value::Object(map) => {
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
