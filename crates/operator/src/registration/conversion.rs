//! The conversion of a CustomResourceDefinition: what it should be, what it was before, and how to change it from one
//! to the other. Pure. It knows no hook.
//!
//! An annotation keeps the former conversion unchanged.

use boathook_core::model::without_secret;
use serde_json::{Value, json};

use super::{Endpoint, INSTANCE, OWNERS, Owners, Settings, Trust, drift};
use crate::registration;

/// Annotation: the former `spec.conversion`, as JSON.
const FORMER: &str = "boathook.dev/former-conversion";

/// The path of the conversion webhook for the definition's objects.
fn path(crd: &str) -> String {
    format!("/convert/{crd}")
}

/// The `spec.conversion` that makes the API server call this operator.
pub(super) fn desired(crd: &str, settings: &Settings, trust: Trust<'_>) -> Value {
    json!({
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": settings.endpoint.client_config(&path(crd), trust),
            "conversionReviewVersions": ["v1"],
        },
    })
}

/// Whether the definition calls this operator, remembers its former conversion, and is labelled as ours.
pub(super) fn is_in_place(definition: &Value, desired: &Value, owners: &Owners, settings: &Settings) -> bool {
    let instance = definition.pointer("/metadata/labels").and_then(|labels| labels.get(INSTANCE));
    instance.and_then(Value::as_str) == Some(&settings.instance)
        && annotated(definition).is_some()
        && registration::owners_of(definition).as_ref() == Some(owners)
        && drift::same(definition.pointer("/spec/conversion"), Some(desired))
}

/// How to change the definition.
pub(super) enum Change {
    /// Server-side apply of this body.
    Apply(Value),
    /// A JSON Patch, because an apply cannot replace a Service with a URL or the reverse.
    Patch(Value),
}

/// Changes a definition so that it calls this operator.
pub(super) fn take_over(definition: &Value, desired: Value, owners: &Owners, settings: &Settings) -> Change {
    let metadata = |key: &str| definition.pointer(&format!("/metadata/{key}")).cloned().unwrap_or_default();
    let former = former(definition, settings).to_string();
    let owners = registration::owners_text(owners);
    let other = match settings.endpoint {
        Endpoint::Service { .. } => "url",
        Endpoint::Url(_) => "service",
    };
    if definition.pointer(&format!("/spec/conversion/webhook/clientConfig/{other}")).is_none() {
        return Change::Apply(json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {
                "name": metadata("name"),
                // With the uid, an apply does not create a definition if there is none.
                "uid": metadata("uid"),
                "labels": {INSTANCE: settings.instance},
                "annotations": {FORMER: former, OWNERS: owners},
            },
            "spec": {"conversion": desired},
        }));
    }
    let with = |key: &str, more: &[(&str, &str)]| {
        let mut all = metadata(key).as_object().cloned().unwrap_or_default();
        all.extend(more.iter().map(|(name, value)| ((*name).to_owned(), Value::String((*value).to_owned()))));
        all
    };
    Change::Patch(json!([
        {"op": "test", "path": "/metadata/resourceVersion", "value": metadata("resourceVersion")},
        {"op": "add", "path": "/metadata/labels", "value": with("labels", &[(INSTANCE, &settings.instance)])},
        {"op": "add", "path": "/metadata/annotations", "value": with("annotations", &[(FORMER, &former), (OWNERS, &owners)])},
        {"op": "add", "path": "/spec/conversion", "value": desired},
    ]))
}

/// A JSON Patch that restores the definition's former conversion.
pub(super) fn restore(definition: &Value) -> Value {
    let without = |key: &str, names: &[&str]| {
        let mut all = definition.pointer(&format!("/metadata/{key}")).and_then(Value::as_object).cloned();
        all.iter_mut().for_each(|all| all.retain(|name, _| !names.contains(&name.as_str())));
        all.unwrap_or_default()
    };
    let version = definition.pointer("/metadata/resourceVersion");
    json!([
        {"op": "test", "path": "/metadata/resourceVersion", "value": version},
        {"op": "add", "path": "/metadata/labels", "value": without("labels", &[INSTANCE])},
        {"op": "add", "path": "/metadata/annotations", "value": without("annotations", &[FORMER, OWNERS])},
        {"op": "add", "path": "/spec/conversion", "value": annotated(definition).unwrap_or_else(none)},
    ])
}

fn none() -> Value {
    json!({"strategy": "None"})
}

/// The value of the annotation. `None` if there is none or it cannot be read.
fn annotated(definition: &Value) -> Option<Value> {
    let text = definition.pointer("/metadata/annotations")?.get(FORMER)?.as_str()?;
    serde_json::from_str(text).ok().filter(Value::is_object)
}

/// The conversion to restore later. It is the value of the annotation. Without an annotation it is the current
/// conversion, unless that is ours and only the annotation was lost.
fn former(definition: &Value, settings: &Settings) -> Value {
    let name = definition.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let ours = settings.endpoint.client_config(&path(name), Trust::default());
    let there = definition.pointer("/spec/conversion").cloned();
    let is_ours = |conversion: &Value| {
        let mut config = conversion.pointer("/webhook/clientConfig").cloned().unwrap_or_default();
        config.as_object_mut().into_iter().for_each(|config| drop(config.remove("caBundle")));
        // The secret part of the path may be an earlier one.
        for place in ["/url", "/service/path"] {
            if let Some(path) = config.pointer_mut(place) {
                *path = path.as_str().map(without_secret).into();
            }
        }
        drift::same(Some(&config), Some(&ours))
    };
    annotated(definition).or_else(|| there.filter(|conversion| !is_ours(conversion))).unwrap_or_else(none)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CRD: &str = "crontabs.example.com";

    fn settings(endpoint: Endpoint) -> Settings {
        Settings { instance: "ops".to_owned(), left_out: Vec::new(), endpoint }
    }

    fn owners() -> Owners {
        Owners::from([("convert".to_owned(), boathook_core::model::Source::Directory)])
    }

    fn url() -> Endpoint {
        Endpoint::Url("https://hooks.example.com".to_owned())
    }

    fn service() -> Endpoint {
        Endpoint::Service { namespace: "ops".to_owned(), name: "boathook".to_owned(), port: 443 }
    }

    fn definition(conversion: Value) -> Value {
        json!({"metadata": {"name": CRD, "uid": "u", "resourceVersion": "7"}, "spec": {"conversion": conversion}})
    }

    fn kept(change: Change) -> Value {
        let Change::Apply(body) = change else { panic!("a patch") };
        serde_json::from_str(body["metadata"]["annotations"][FORMER].as_str().unwrap()).unwrap()
    }

    #[test]
    fn what_was_there_is_kept_and_given_back() {
        let settings = settings(url());
        let before = json!({"strategy": "Webhook", "webhook": {"clientConfig": {"url": "https://other"}}});
        let wanted = desired(CRD, &settings, Trust::default());
        assert_eq!(kept(take_over(&definition(before.clone()), wanted.clone(), &owners(), &settings)), before);
        assert_eq!(kept(take_over(&definition(none()), wanted.clone(), &owners(), &settings)), none());
        let mut ours = definition(wanted.clone());
        ours["metadata"]["labels"] = json!({INSTANCE: "ops", "a": "b"});
        assert!(!is_in_place(&ours, &wanted, &owners(), &settings), "it does not say what was before");
        ours["metadata"]["annotations"] =
            json!({FORMER: before.to_string(), OWNERS: registration::owners_text(&owners())});
        assert!(is_in_place(&ours, &wanted, &owners(), &settings));
        let patch = restore(&ours);
        assert_eq!(patch[1]["value"], json!({"a": "b"}));
        assert_eq!((&patch[2]["value"], &patch[3]["value"]), (&json!({}), &before));
    }

    #[test]
    fn our_own_is_never_kept_as_what_was_before() {
        let old = boathook_core::model::PathKey::new([1; 32]);
        let settings = settings(url());
        let ours = desired(CRD, &settings, Trust { ca: Some("an old certificate"), paths: Some(&old) });
        assert_eq!(
            kept(take_over(&definition(ours), desired(CRD, &settings, Trust::default()), &owners(), &settings)),
            none()
        );
        let mut changed = definition(none());
        changed["metadata"]["annotations"] = json!({FORMER: r#"{"strategy":"Webhook"}"#});
        let kept = kept(take_over(&changed, desired(CRD, &settings, Trust::default()), &owners(), &settings));
        assert_eq!(kept, json!({"strategy": "Webhook"}), "somebody changed it back meanwhile");
    }

    #[test]
    fn a_url_gives_way_to_a_service() {
        let before = json!({"strategy": "Webhook", "webhook": {"clientConfig": {"url": "https://other"}}});
        let settings = settings(service());
        let wanted = desired(CRD, &settings, Trust::default());
        let Change::Patch(patch) = take_over(&definition(before), wanted.clone(), &owners(), &settings) else {
            panic!("applied")
        };
        assert_eq!((&patch[0]["value"], &patch[3]["value"]), (&json!("7"), &wanted));
    }
}
