//! Rules of ConfigMaps and Secrets. Errors never show their content.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::field::Field;
use crate::json::text;
use crate::names::config_key;

pub(super) fn secret(secret: &Field<'_>, old: Option<&Value>) {
    let (kind, data) = (secret.at("type"), secret.at("data"));
    data_keys(&data);
    let needed: &[&str] = match kind.text() {
        "kubernetes.io/dockerconfigjson" => &[".dockerconfigjson"],
        "kubernetes.io/dockercfg" => &[".dockercfg"],
        "kubernetes.io/tls" => &["tls.crt", "tls.key"],
        "kubernetes.io/ssh-auth" => &["ssh-privatekey"],
        "kubernetes.io/basic-auth" if !["username", "password"].iter().any(|key| data.entry(key).is_set()) => {
            &["username", "password"]
        }
        _ => &[],
    };
    let missing = needed.iter().map(|key| data.entry(key)).filter(|entry| !entry.is_set());
    missing.for_each(|entry| entry.required(""));
    match kind.text() {
        "kubernetes.io/service-account-token" => {
            let account = secret.at("metadata.annotations").entry("kubernetes.io/service-account.name");
            if !account.is_set() {
                account.required("");
            }
        }
        "kubernetes.io/dockerconfigjson" => must_be_json(&data.entry(".dockerconfigjson")),
        "kubernetes.io/dockercfg" => must_be_json(&data.entry(".dockercfg")),
        _ => {}
    }
    if old.is_some_and(|old| text(old, &["type"]) != kind.text()) {
        kind.invalid_as(kind.text(), "field is immutable");
    }
    immutable(secret, old);
}

pub(super) fn config_map(map: &Field<'_>, old: Option<&Value>) {
    let binary = map.at("binaryData");
    data_keys(&map.at("data"));
    for (key, entry) in map.entries("data") {
        if binary.entry(key).is_set() {
            entry.invalid_as(key, "duplicate of key present in binaryData");
        }
    }
    data_keys(&binary);
    immutable(map, old);
}

/// Keys become file names.
fn data_keys(data: &Field<'_>) {
    for key in data.keys() {
        config_key(key).into_iter().for_each(|why| data.entry(key).invalid_as(key, why));
    }
}

/// `immutable: true` freezes the data of a ConfigMap or Secret.
fn immutable(object: &Field<'_>, old: Option<&Value>) {
    let Some(old) = old.filter(|old| old.get("immutable") == Some(&Value::Bool(true))) else { return };
    for key in ["immutable", "data", "binaryData"] {
        if object.at(key).value != old.get(key) {
            object.at(key).forbidden("field is immutable when `immutable` is set");
        }
    }
}

fn must_be_json(entry: &Field<'_>) {
    let Ok(bytes) = STANDARD.decode(entry.text()) else { return };
    if let (true, Err(error)) = (entry.is_set(), serde_json::from_slice::<serde::de::IgnoredAny>(&bytes)) {
        // The parser's error contains positions, but no content.
        entry.invalid_as("<secret contents redacted>", error.to_string());
    }
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
