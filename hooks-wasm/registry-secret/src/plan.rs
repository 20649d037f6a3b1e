//! What a namespace's copy needs.
//!
//! Pure: it knows neither snapshots nor calls.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What of the source is copied.
#[derive(Debug, Deserialize, Serialize)]
pub struct Source {
    /// `type`, which cannot be changed in place.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// `data`, in base64.
    pub data: Option<BTreeMap<String, String>>,
}

/// A copy, as far as it matters.
#[derive(Debug, Deserialize)]
pub struct Copied {
    /// `type`.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// `data`, in base64.
    pub data: Option<BTreeMap<String, String>>,
    /// Whether `data` can still be changed in place.
    pub immutable: Option<bool>,
}

/// A namespace, as far as it matters.
#[derive(Debug, Deserialize)]
pub struct Namespace {
    /// The value of the opt-out label.
    pub skip: Option<String>,
    /// `Active` or `Terminating`.
    pub phase: Option<String>,
}

/// What to do in a namespace.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    /// All is well.
    Nothing,
    /// There is no copy.
    Create,
    /// The copy's data is not the source's.
    Update,
    /// The copy is wrong in a way that cannot be changed in place.
    Recreate,
    /// There should be no copy.
    Remove,
}

/// Compares what is with what should be.
pub fn decide(source: &Source, namespace: &Namespace, copy: Option<&Copied>) -> Action {
    // Nothing can be created there, and what is there goes by itself.
    if namespace.phase.as_deref() == Some("Terminating") {
        return Action::Nothing;
    }
    let skip = namespace.skip.as_deref() == Some("true");
    match copy {
        None if skip => Action::Nothing,
        None => Action::Create,
        Some(_) if skip => Action::Remove,
        Some(copy) if copy.kind != source.kind => Action::Recreate,
        Some(copy) if copy.data == source.data => Action::Nothing,
        Some(copy) if copy.immutable == Some(true) => Action::Recreate,
        Some(_) => Action::Update,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;
    use serde_json::{from_value, json};

    fn decided(namespace: serde_json::Value, copy: Option<serde_json::Value>) -> Action {
        let source = from_value(json!({"type": "Opaque", "data": {"a": "MQ=="}})).unwrap();
        let copy: Option<Copied> = copy.map(|c| from_value(c).unwrap());
        decide(&source, &from_value(namespace).unwrap(), copy.as_ref())
    }

    #[test]
    fn a_copy_follows_the_source() {
        let active = || json!({"skip": null, "phase": "Active"});
        let copy = |kind: &str, data: serde_json::Value, immutable: serde_json::Value| {
            Some(json!({"type": kind, "data": data, "immutable": immutable}))
        };
        assert_eq!(decided(active(), None), Action::Create);
        assert_eq!(decided(active(), copy("Opaque", json!({"a": "MQ=="}), json!(null))), Action::Nothing);
        assert_eq!(decided(active(), copy("Opaque", json!({"a": "Mg=="}), json!(null))), Action::Update);
        assert_eq!(decided(active(), copy("Opaque", json!({"a": "MQ==", "b": ""}), json!(null))), Action::Update);
        assert_eq!(decided(active(), copy("Opaque", json!(null), json!(null))), Action::Update);
        assert_eq!(decided(active(), copy("Opaque", json!({"a": "Mg=="}), json!(true))), Action::Recreate);
        assert_eq!(decided(active(), copy("Opaque", json!({"a": "MQ=="}), json!(true))), Action::Nothing);
        assert_eq!(decided(active(), copy("x/y", json!({"a": "MQ=="}), json!(null))), Action::Recreate);
    }

    #[test]
    fn a_namespace_that_opts_out_or_goes_gets_none() {
        let copy = || Some(json!({"type": "Opaque", "data": {"a": "MQ=="}, "immutable": null}));
        assert_eq!(decided(json!({"skip": "true", "phase": "Active"}), copy()), Action::Remove);
        assert_eq!(decided(json!({"skip": "true", "phase": "Active"}), None), Action::Nothing);
        assert_eq!(decided(json!({"skip": "false", "phase": "Active"}), None), Action::Create);
        assert_eq!(decided(json!({"skip": null, "phase": "Terminating"}), None), Action::Nothing);
        assert_eq!(decided(json!({"skip": "true", "phase": "Terminating"}), copy()), Action::Nothing);
    }
}
