//! Rules of ConfigMaps and Secrets. Errors never show their content.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::json::{at, text};
use crate::names::config_key;
use crate::status::Cause;

/// The required keys of typed Secrets.
const SECRET_KEYS: &[(&str, &[&str])] = &[
    ("kubernetes.io/dockerconfigjson", &[".dockerconfigjson"]),
    ("kubernetes.io/dockercfg", &[".dockercfg"]),
    ("kubernetes.io/tls", &["tls.crt", "tls.key"]),
    ("kubernetes.io/ssh-auth", &["ssh-privatekey"]),
];

pub(super) fn secret(object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let kind = text(object, &["type"]);
    let mut causes = data_keys(object, "data");
    if let Some((_, keys)) = SECRET_KEYS.iter().find(|(name, _)| *name == kind) {
        let missing = keys.iter().filter(|key| at(object, &["data", key]).is_none());
        causes.extend(missing.map(|key| Cause::required(format!("data[{key}]"), "")));
    }
    causes.extend(typed(object, kind));
    if old.is_some_and(|old| text(old, &["type"]) != kind) {
        causes.push(Cause::invalid("type", &kind.into(), "field is immutable"));
    }
    causes.extend(immutable(object, old));
    causes
}

pub(super) fn config_map(object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = data_keys(object, "data");
    for key in at(object, &["data"]).and_then(Value::as_object).into_iter().flat_map(serde_json::Map::keys) {
        if at(object, &["binaryData", key]).is_some() {
            let why = "duplicate of key present in binaryData";
            causes.push(Cause::invalid(format!("data[{key}]"), &key.as_str().into(), why));
        }
    }
    causes.extend(data_keys(object, "binaryData"));
    causes.extend(immutable(object, old));
    causes
}

/// Keys become file names.
fn data_keys(object: &Value, field: &str) -> Vec<Cause> {
    let keys = at(object, &[field]).and_then(Value::as_object).into_iter().flat_map(serde_json::Map::keys);
    let wrong = keys.flat_map(|key| config_key(key).into_iter().map(move |why| (key, why)));
    wrong.map(|(key, why)| Cause::invalid(format!("{field}[{key}]"), &key.as_str().into(), why)).collect()
}

/// `immutable: true` freezes the data of a ConfigMap or Secret.
fn immutable(object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let Some(old) = old.filter(|old| old.get("immutable") == Some(&Value::Bool(true))) else {
        return Vec::new();
    };
    let why = "field is immutable when `immutable` is set";
    let changed = ["immutable", "data", "binaryData"].into_iter().filter(|key| object.get(key) != old.get(key));
    changed.map(|key| Cause::forbidden(key, why)).collect()
}

/// Rules for some types of Secrets.
fn typed(object: &Value, kind: &str) -> Vec<Cause> {
    let has = |key: &str| at(object, &["data", key]).is_some();
    match kind {
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => {
            ["username", "password"].map(|key| Cause::required(format!("data[{key}]"), "")).into()
        }
        "kubernetes.io/service-account-token" => {
            let account = at(object, &["metadata", "annotations", "kubernetes.io/service-account.name"]);
            let field = "metadata.annotations[kubernetes.io/service-account.name]";
            account.is_none().then(|| Cause::required(field, "")).into_iter().collect()
        }
        "kubernetes.io/dockerconfigjson" => not_json(object, ".dockerconfigjson").into_iter().collect(),
        "kubernetes.io/dockercfg" => not_json(object, ".dockercfg").into_iter().collect(),
        _ => Vec::new(),
    }
}

fn not_json(object: &Value, key: &str) -> Option<Cause> {
    let bytes = STANDARD.decode(at(object, &["data", key])?.as_str()?).ok()?;
    let error = serde_json::from_slice::<serde::de::IgnoredAny>(&bytes).err()?;
    // The parser's error contains positions, but no content.
    Some(Cause::invalid(format!("data[{key}]"), &"<secret contents redacted>".into(), error.to_string()))
}

/// Problems of a Secret that the real server accepts with a warning.
pub(crate) fn warnings(object: &Value) -> Vec<String> {
    if text(object, &["type"]) != "kubernetes.io/tls" {
        return Vec::new();
    }
    let is_pem = |key: &str| {
        let bytes = STANDARD.decode(text(object, &["data", key])).unwrap_or_default();
        bytes.windows(11).any(|part| part == b"-----BEGIN ")
    };
    let missing = [("tls.crt", "certificate"), ("tls.key", "key")].into_iter().find(|(key, _)| !is_pem(key));
    missing.map(|(_, what)| format!("tls: failed to find any PEM data in {what} input")).into_iter().collect()
}
