//! `permissions`, `limits` and `retry`.

use super::{quantity, reader::Fields};
use crate::model::{Limits, Permission, RetryPolicy};

const VERBS: [&str; 7] = ["get", "list", "create", "update", "patch", "delete", "*"];

pub(super) fn permissions(document: &Fields<'_, '_>) -> Vec<Permission> {
    let Some(fields) = document.fields("permissions") else { return Vec::new() };
    fields.not_yet("http", "outbound HTTP is");
    fields.not_yet("files", "access to files is");
    let rules = fields.items("kubernetes").map(|item| permission(&item)).collect();
    fields.finish();
    rules
}

fn permission(fields: &Fields<'_, '_>) -> Permission {
    let needed = |key| match fields.some_strings(key) {
        Some(list) => list,
        None => {
            if fields.take(key).is_none() {
                fields.wrong(key, "is missing");
            }
            Vec::new()
        }
    };
    let permission = Permission {
        api_groups: needed("apiGroups"),
        resources: needed("resources"),
        verbs: needed("verbs"),
        resource_names: fields.some_strings("resourceNames").unwrap_or_default(),
        namespaces: fields.some_strings("namespaces").unwrap_or_default(),
    };
    for (i, verb) in permission.verbs.iter().enumerate() {
        if !VERBS.contains(&verb.as_str()) {
            fields.wrong(&format!("verbs[{i}]"), format!("is {verb:?}; allowed: {}", VERBS.join(", ")));
        }
    }
    for (i, group) in permission.api_groups.iter().enumerate() {
        if group.contains('/') {
            fields.wrong(&format!("apiGroups[{i}]"), format!("is {group:?}; write the group without a version"));
        }
    }
    for (i, resource) in permission.resources.iter().enumerate() {
        if resource.is_empty() || resource.chars().any(|c| c.is_ascii_uppercase()) {
            fields.wrong(
                &format!("resources[{i}]"),
                format!("is {resource:?}; write the plural in lower case, such as \"pods\" or \"pods/eviction\""),
            );
        }
    }
    fields.finish();
    permission
}

pub(super) fn limits(fields: &Fields<'_, '_>) -> Limits {
    let default = Limits::default();
    let bytes = |key, default| match fields.take(key).map(quantity::bytes) {
        Some(Ok(bytes)) => bytes,
        Some(Err(message)) => {
            fields.wrong(key, message);
            default
        }
        None => default,
    };
    let limits = Limits {
        memory: bytes("memory", default.memory),
        time: fields.duration("time").unwrap_or(default.time),
        host_calls: fields
            .integer_in("hostCalls", 0, i64::MAX)
            .and_then(|n| u64::try_from(n).ok())
            .unwrap_or(default.host_calls),
        host_bytes: bytes("hostBytes", default.host_bytes),
        log_bytes: bytes("logBytes", default.log_bytes),
    };
    fields.finish();
    limits
}

/// The `retry` of a binding, or else the hook's.
pub(super) fn binding_retry(fields: &Fields<'_, '_>, hook: RetryPolicy) -> RetryPolicy {
    fields.fields("retry").map_or(hook, |fields| retry(&fields))
}

pub(super) fn retry(fields: &Fields<'_, '_>) -> RetryPolicy {
    fields.not_yet("attempts", "a bound on attempts (dead letters) is");
    let default = RetryPolicy::default();
    let retry = RetryPolicy {
        initial: fields.duration("initial").unwrap_or(default.initial),
        max: fields.duration("max").unwrap_or(default.max),
        multiplier: fields.number_in("multiplier", 1.0, 100.0).unwrap_or(default.multiplier),
        jitter: fields.number_in("jitter", 0.0, 1.0).unwrap_or(default.jitter),
        attempts: default.attempts,
    };
    if retry.max < retry.initial && (fields.take("max").is_some() || fields.take("initial").is_some()) {
        fields.wrong("max", "is less than `initial`");
    }
    fields.finish();
    retry
}
