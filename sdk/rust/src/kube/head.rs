//! The few fields of an object's JSON text that a write needs.
//!
//! It never makes a tree of the text: hooks that need none stay small.

use super::{Kind, ObjectRef};
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
struct Head {
    #[serde(rename = "apiVersion")]
    api_version: Option<String>,
    kind: Option<String>,
    metadata: Option<Metadata>,
}

#[derive(Deserialize)]
struct Metadata {
    namespace: Option<String>,
    name: Option<String>,
}

/// The text of an object. The error says what is wrong with it.
pub(super) fn text<T: Serialize>(object: &T) -> Result<String, String> {
    serde_json::to_string(object).map_err(|e| e.to_string())
}

/// The text of an object, with `apiVersion` and `kind`.
pub(super) fn typed_text<T: Kind + Serialize>(object: &T) -> Result<String, String> {
    add_kind(text(object)?, T::API_VERSION, T::KIND)
}

/// Which object a text is about.
pub(super) fn target(text: &str) -> Result<ObjectRef, String> {
    let head: Head = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let metadata = head.metadata.unwrap_or(Metadata { namespace: None, name: None });
    Ok(ObjectRef {
        api_version: head.api_version.ok_or("it has no apiVersion")?,
        kind: head.kind.ok_or("it has no kind")?,
        namespace: metadata.namespace,
        name: metadata.name.ok_or("it has no metadata.name")?,
    })
}

fn add_kind(text: String, api_version: &str, kind: &str) -> Result<String, String> {
    let head: Head = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    let fields = text.strip_prefix('{').ok_or("it is not a JSON object")?;
    if head.api_version.is_some() && head.kind.is_some() {
        return Ok(text);
    }
    let mut added = String::from("{");
    for (key, there, value) in [("apiVersion", head.api_version, api_version), ("kind", head.kind, kind)] {
        if there.is_none() {
            // Group, version and kind are identifiers: nothing in them needs escaping.
            added.push_str(&format!("\"{key}\":\"{value}\","));
        }
    }
    if fields == "}" {
        added.pop();
    }
    added.push_str(fields);
    Ok(added)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;
    use serde_json::{Value, from_str, json};

    #[test]
    fn what_misses_is_added_and_the_rest_stays() {
        for (given, expected) in [
            (json!({}), json!({"apiVersion": "a/v1", "kind": "K"})),
            (json!({"kind": "K", "x": {"kind": 1}}), json!({"apiVersion": "a/v1", "kind": "K", "x": {"kind": 1}})),
            (json!({"apiVersion": "b/v2", "kind": "L"}), json!({"apiVersion": "b/v2", "kind": "L"})),
        ] {
            let text = add_kind(given.to_string(), "a/v1", "K").unwrap();
            assert_eq!(from_str::<Value>(&text).unwrap(), expected);
        }
        assert!(add_kind("[]".to_owned(), "a/v1", "K").is_err());
        assert!(add_kind("null".to_owned(), "a/v1", "K").is_err());
    }

    #[test]
    fn an_object_without_a_name_is_no_target() {
        let object = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}});
        assert_eq!(target(&object.to_string()).unwrap(), ObjectRef::new("v1", "Node", None, "n1"));
        let nameless = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"generateName": "n"}});
        assert_eq!(target(&nameless.to_string()).unwrap_err(), "it has no metadata.name");
    }
}
