//! Permissions that no recorded call needed, or of which calls needed only a part.

use std::collections::BTreeSet;

use boathook_core::model::{HttpRule, Permission, READING};
use boathook_egress::check;
use serde_json::{Map, Value};

use super::{Item, Subject, document::Change};
use crate::rbac::narrow;

pub(super) fn advise(subject: &Subject<'_>) -> Vec<Item> {
    let mut items = Vec::new();
    let (kubernetes, others): (Vec<_>, Vec<_>) =
        subject.spec.permissions.iter().partition(|permission| permission.is_of_kubernetes());
    items.extend(kubernetes.into_iter().enumerate().filter_map(|(at, permission)| of_kube(subject, at, permission)));
    // What runs do in directories is not in records.
    let http = others.into_iter().filter_map(|permission| permission.http.as_ref());
    items.extend(http.enumerate().filter_map(|(at, rule)| of_http(subject, at, rule)));
    items
}

fn of_kube(subject: &Subject<'_>, at: usize, permission: &Permission) -> Option<Item> {
    let narrowed = narrow(permission, &subject.seen.calls, subject.kinds)?;
    let shown: Vec<_> = narrowed.needed.iter().map(ToString::to_string).collect();
    let needed: Vec<_> = narrowed.needed.iter().map(written).collect();
    let reason = match narrowed.calls {
        0 => format!("no call needed it: {permission}"),
        1 => "1 call needed no more".to_owned(),
        calls => format!("{calls} calls needed no more"),
    };
    Some(item(subject, ["permissions", "kubernetes"], at, (shown, needed), reason))
}

fn of_http(subject: &Subject<'_>, at: usize, rule: &HttpRule) -> Option<Item> {
    let allows = |rule: HttpRule| {
        let permission = [Permission::of_http(rule)];
        let requests = subject.seen.requests.values();
        requests.filter(|request| check(&subject.spec.name, &permission, request).is_ok()).count()
    };
    let host = |host: &&String| allows(HttpRule { hosts: vec![(*host).clone()], ..rule.clone() }) > 0;
    let method = |method: &&String| allows(HttpRule { methods: vec![(*method).clone()], ..rule.clone() }) > 0;
    let hosts: Vec<String> = rule.hosts.iter().filter(host).cloned().collect();
    let methods: Vec<String> = if rule.methods.iter().any(|method| method == "*") {
        let sent: BTreeSet<_> = subject.seen.requests.keys().map(|(method, _)| method.clone()).collect();
        sent.iter().filter(method).cloned().collect()
    } else {
        rule.methods.iter().filter(method).cloned().collect()
    };
    if hosts == rule.hosts && methods == rule.methods {
        return None;
    }
    // A script that reads with GET reads with HEAD as well.
    let reads_only = methods.iter().all(|method| READING.contains(&method.as_str()));
    if hosts == rule.hosts && reads_only && rule.methods.iter().all(|method| READING.contains(&method.as_str())) {
        return None;
    }
    let used = allows(rule.clone());
    let reason = match used {
        0 => format!("no request needed it: {rule}"),
        1 => "requests to 1 address needed no more".to_owned(),
        used => format!("requests to {used} addresses needed no more"),
    };
    let needed = if used == 0 { Vec::new() } else { vec![HttpRule { hosts, methods, ..rule.clone() }] };
    let shown = needed.iter().map(ToString::to_string).collect();
    let needed = needed.iter().filter_map(|rule| serde_json::to_value(rule).ok()).collect();
    Some(item(subject, ["permissions", "http"], at, (shown, needed), reason))
}

/// The first of what is needed takes the place of the permission, and the others are at the end of the list.
fn item(
    subject: &Subject<'_>,
    list: [&str; 2],
    at: usize,
    (shown, needed): (Vec<String>, Vec<Value>),
    reason: String,
) -> Item {
    let [above, key] = list;
    let index = at.to_string();
    let own = [above, key, index.as_str()];
    let mut needed = needed.into_iter();
    let mut changes = match needed.next() {
        Some(first) => vec![Change::set(&own, first)],
        None => vec![Change::remove(&own)],
    };
    changes.extend(needed.map(|more| Change::append(&list, more)));
    let advice = if shown.is_empty() { "remove it".to_owned() } else { format!("only {}", shown.join("; ")) };
    let at = format!("{above}.{key}[{index}]");
    Item { at, advice, reason, runs: subject.seen.runs, spares: 0, changes }
}

/// As documents have it: without empty lists.
fn written(permission: &Permission) -> Value {
    let Permission { api_groups, resources, verbs, resource_names, namespaces, http: _, directory: _ } = permission;
    let lists = [
        ("apiGroups", api_groups),
        ("resources", resources),
        ("verbs", verbs),
        ("resourceNames", resource_names),
        ("namespaces", namespaces),
    ];
    let some = lists.into_iter().filter(|(_, texts)| !texts.is_empty());
    Value::Object(some.map(|(key, texts)| (key.to_owned(), Value::from(texts.clone()))).collect::<Map<_, _>>())
}
