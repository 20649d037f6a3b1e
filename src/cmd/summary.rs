//! A short summary of a component: what triggers it, and what it requests. It uses the facts of `inspect`.

use std::fmt::Write as _;

use boathook_core::model::Permission;
use serde::Deserialize as _;
use serde_json::Value;

pub(super) fn text(facts: &Value) -> String {
    let get = |key: &str| facts.get(key).unwrap_or(&Value::Null);
    let document = get("document");
    let warnings: Vec<_> = texts(get("warnings")).map(str::to_owned).collect();
    let mut out = String::new();
    for (title, lines) in [
        ("Built:", vec![plain(get("path")).to_owned()]),
        ("Size:", vec![size(get("bytes").as_u64().unwrap_or_default())]),
        ("Triggers:", or_nothing(wakes(document))),
        ("Requests:", may(get("asks"))),
        ("Warning:", warnings),
    ] {
        for (n, line) in lines.iter().enumerate() {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "{:<10}{line}", if n == 0 { title } else { "" });
        }
    }
    out
}

/// A line for each binding.
fn wakes(document: &Value) -> Vec<String> {
    let start = document.get("onStartup").map(|order| format!("onStartup {order}"));
    let objects = items(document.get("kubernetes")).map(|binding| {
        let of = |key: &str| plain(binding.get(key).unwrap_or(&Value::Null));
        let kind = format!("{} {}", of("apiVersion"), of("kind"));
        let silent = binding.get("executeHookOnEvent").and_then(Value::as_array).is_some_and(Vec::is_empty)
            && binding.get("executeHookOnSynchronization") == Some(&Value::Bool(false));
        format!("kubernetes {:?}: {}{}", of("name"), kind.trim(), if silent { ", for snapshots only" } else { "" })
    });
    let clocks = items(document.get("schedule")).map(|binding| {
        let of = |key: &str| plain(binding.get(key).unwrap_or(&Value::Null));
        format!("schedule {:?}: {}", of("name"), of("crontab"))
    });
    let parents = items(document.get("reconcile")).map(|binding| {
        let of = |key: &str| plain(binding.get(key).unwrap_or(&Value::Null));
        let owns: Vec<_> = items(binding.get("owns")).filter_map(|kind| kind.get("kind")?.as_str()).collect();
        let related = items(binding.get("related")).filter_map(|kind| kind.get("kind")?.as_str()).collect::<Vec<_>>();
        let reads = if related.is_empty() { String::new() } else { format!(", with related {}", related.join(", ")) };
        format!("reconcile {:?}: {} {} to {}{reads}", of("name"), of("apiVersion"), of("kind"), owns.join(", "))
    });
    let reviews = ["kubernetesValidating", "kubernetesMutating"].into_iter().flat_map(|key| {
        items(document.get(key)).map(move |binding| {
            let rules: Vec<_> = items(binding.get("rules")).map(reviewed).collect();
            format!("{key} {:?}: {}", plain(binding.get("name").unwrap_or(&Value::Null)), rules.join("; "))
        })
    });
    let conversions = items(document.get("kubernetesCustomResourceConversion")).map(|binding| {
        let of = |key: &str| plain(binding.get(key).unwrap_or(&Value::Null));
        format!("kubernetesCustomResourceConversion {:?}: of {}", of("name"), of("crdName"))
    });
    start.into_iter().chain(objects).chain(clocks).chain(parents).chain(reviews).chain(conversions).collect()
}

/// `CREATE, UPDATE of deployments of apps`
fn reviewed(rule: &Value) -> String {
    let words = |key: &str| {
        let words: Vec<_> = texts(rule.get(key).unwrap_or(&Value::Null)).filter(|word| !word.is_empty()).collect();
        words.join(", ")
    };
    let groups = words("apiGroups");
    let of = if groups.is_empty() { String::new() } else { format!(" of {groups}") };
    format!("{} of {}{of}", words("operations"), words("resources"))
}

/// A line for each rule that a hook requests.
pub(super) fn may(asks: &Value) -> Vec<String> {
    or_nothing(items(Some(asks)).map(rule).collect())
}

/// `create, patch configmaps named team in web`, or what a rule of HTTP or of a directory has to say.
fn rule(rule: &Value) -> String {
    let others = Permission::deserialize(rule).ok().filter(|permission| !permission.is_of_kubernetes());
    if let Some(permission) = others {
        return permission.to_string();
    }
    let words = |key: &str| {
        let words: Vec<_> = texts(rule.get(key).unwrap_or(&Value::Null)).filter(|word| !word.is_empty()).collect();
        words.join(", ")
    };
    let mut line = format!("{} {}", words("verbs"), words("resources"));
    for (before, key) in [(" of ", "apiGroups"), (" named ", "resourceNames"), (" in ", "namespaces")] {
        let words = words(key);
        if !words.is_empty() {
            line.push_str(before);
            line.push_str(&words);
        }
    }
    line
}

fn size(bytes: u64) -> String {
    format!("{} kB ({bytes} bytes)", bytes.div_ceil(1000))
}

fn or_nothing(lines: Vec<String>) -> Vec<String> {
    if lines.is_empty() { vec!["nothing".to_owned()] } else { lines }
}

fn items(list: Option<&Value>) -> impl Iterator<Item = &Value> {
    list.and_then(Value::as_array).into_iter().flatten()
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    items(Some(list)).filter_map(Value::as_str)
}

fn plain(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use serde_json::json;

    use super::*;

    #[test]
    fn everything_that_wakes_it_and_all_that_it_may() {
        let facts = json!({
            "path": "x/web.wasm", "bytes": 1001, "warnings": ["one", "two"],
            "document": {
                "onStartup": 3,
                "kubernetes": [
                    {"name": "pods", "kind": "Pod", "executeHookOnEvent": ["Added"], "executeHookOnSynchronization": false},
                    {"name": "kubernetes", "apiVersion": "v1", "kind": "Node", "executeHookOnEvent": [], "executeHookOnSynchronization": false},
                ],
                "schedule": [{"name": "clock", "crontab": "* * * * *"}],
                "reconcile": [{"name": "apps", "apiVersion": "x.dev/v1", "kind": "App", "owns": [
                    {"apiVersion": "apps/v1", "kind": "Deployment"}, {"apiVersion": "v1", "kind": "Service"},
                ], "related": [{"name": "secrets", "apiVersion": "v1", "kind": "Secret", "nameFrom": ".spec.secret"}]}],
                "kubernetesValidating": [{"name": "team", "rules": [
                    {"operations": ["CREATE", "UPDATE"], "apiGroups": ["apps"], "resources": ["deployments"]},
                    {"operations": ["*"], "apiGroups": [""], "resources": ["pods"]},
                ]}],
                "kubernetesMutating": [{"name": "defaults", "rules": [
                    {"operations": ["CREATE"], "apiGroups": [""], "resources": ["pods"]},
                ]}],
                "kubernetesCustomResourceConversion": [{"name": "tabs", "crdName": "crontabs.x.dev"}],
            },
            "asks": [
                {"apiGroups": ["", "apps"], "resources": ["pods", "deployments"], "verbs": ["get", "patch"]},
                {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": ["a"], "namespaces": ["b"]},
                {"apiGroups": [""], "resources": ["pods"], "verbs": ["mutate"], "resourceNames": [], "namespaces": []},
                {"http": {"hosts": ["a.io"], "methods": ["GET"]}},
                {"directory": {"name": "keys", "access": "write"}},
            ],
        });
        let expected = r#"Built:    x/web.wasm
Size:     2 kB (1001 bytes)
Triggers: onStartup 3
          kubernetes "pods": Pod
          kubernetes "kubernetes": v1 Node, for snapshots only
          schedule "clock": * * * * *
          reconcile "apps": x.dev/v1 App to Deployment, Service, with related Secret
          kubernetesValidating "team": CREATE, UPDATE of deployments of apps; * of pods
          kubernetesMutating "defaults": CREATE of pods
          kubernetesCustomResourceConversion "tabs": of crontabs.x.dev
Requests: get, patch pods, deployments of apps
          get secrets named a in b
          mutate pods
          GET at a.io
          read, write directory keys
Warning:  one
          two
"#;
        assert_eq!(text(&facts), expected);
    }

    #[test]
    fn nothing_is_said_as_such() {
        let text = text(&json!({"path": "x.wasm", "bytes": 5, "warnings": [], "document": {}}));
        assert_eq!(text, "Built:    x.wasm\nSize:     1 kB (5 bytes)\nTriggers: nothing\nRequests: nothing\n");
    }
}
