//! Reads `limits`, `retry`, `settings` and `permissions`: how much, how long, how often, and what a hook may do.

use std::{collections::HashSet, num::NonZeroU32, time::Duration};

use serde_json::Value;

use super::fields::{Fields, describe, quoted, whole};
use crate::model::{DirectoryAccess, DirectoryRule, HttpRule, Limits, Permission, READING, RateLimit, RetryPolicy};

const MILLISECOND: Duration = Duration::from_millis(1);

pub(super) fn limits(fields: &Fields<'_, '_>) -> Limits {
    let default = Limits::default();
    let bytes = |key, default| match fields.take(key).map(self::bytes) {
        Some(Ok(bytes)) => bytes,
        Some(Err(message)) => {
            fields.wrong(key, message);
            default
        }
        None => default,
    };
    let limits = Limits {
        memory: bytes("memory", default.memory),
        time: fields.duration("time", MILLISECOND).unwrap_or(default.time),
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

/// The `retry` of a binding, or the hook's if the binding has none.
pub(super) fn binding_retry(fields: &Fields<'_, '_>, hook: RetryPolicy) -> RetryPolicy {
    fields.fields("retry").map_or(hook, |fields| retry(&fields))
}

pub(super) fn retry(fields: &Fields<'_, '_>) -> RetryPolicy {
    let default = RetryPolicy::default();
    let retry = RetryPolicy {
        initial: fields.duration("initial", MILLISECOND).unwrap_or(default.initial),
        max: fields.duration("max", MILLISECOND).unwrap_or(default.max),
        multiplier: fields.number_in("multiplier", 1.0, 100.0).unwrap_or(default.multiplier),
        jitter: fields.number_in("jitter", 0.0, 1.0).unwrap_or(default.jitter),
        attempts: fields.integer_in("attempts", 1, i64::from(u32::MAX)).and_then(count),
    };
    if retry.max < retry.initial && fields.has("max") {
        fields.wrong("max", "is less than `initial`");
    } else if retry.max < retry.initial {
        fields.wrong("max", "is 32s when it is left out, less than `initial`; give both");
    }
    fields.finish();
    retry
}

/// `settings`. Both keys are needed, as in shell-operator.
pub(super) fn rate(fields: &Fields<'_, '_>) -> Option<RateLimit> {
    let interval = fields.duration("executionMinInterval", Duration::ZERO);
    let interval = fields.need("executionMinInterval", interval);
    let burst = fields.integer_in("executionBurst", 0, i64::from(u32::MAX));
    let burst = fields.need("executionBurst", burst);
    fields.finish();
    Some(RateLimit { min_interval: interval?, burst: count(burst?).unwrap_or(NonZeroU32::MIN) })
}

fn count(number: i64) -> Option<NonZeroU32> {
    u32::try_from(number).ok().and_then(NonZeroU32::new)
}

const UNITS: [(&str, u64); 9] = [
    ("Ki", 1 << 10),
    ("Mi", 1 << 20),
    ("Gi", 1 << 30),
    ("Ti", 1 << 40),
    ("k", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("T", 1_000_000_000_000),
    ("", 1),
];

/// Reads an amount of bytes in Kubernetes' notation, written as a number or as text: `64Mi`, `1G`, `4096`.
fn bytes(value: &Value) -> Result<u64, String> {
    let amount = match value {
        Value::Number(_) => value.as_u64().or_else(|| whole(value).and_then(|number| u64::try_from(number).ok())),
        Value::String(text) => UNITS.iter().find_map(|unit| in_unit(text, unit)),
        _ => None,
    };
    amount.ok_or_else(|| format!("is {}; bytes are needed, such as \"64Mi\" or 1048576", describe(value)))
}

fn in_unit(text: &str, (suffix, unit): &(&str, u64)) -> Option<u64> {
    let digits = text.strip_suffix(suffix).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    digits.parse::<u64>().ok()?.checked_mul(*unit)
}

const VERBS: [&str; 7] = ["get", "list", "create", "update", "patch", "delete", "*"];

/// `permissions`, which a hook only requests. The admin grants them.
pub(super) fn permissions(document: &Fields<'_, '_>) -> Vec<Permission> {
    let Some(fields) = document.fields("permissions") else { return Vec::new() };
    let kubernetes = fields.items("kubernetes").map(|item| permission(&item));
    let http = fields.items("http").map(|item| http(&item));
    let rules = kubernetes.chain(http).chain(directories(&fields)).collect();
    fields.finish();
    rules
}

fn directories(fields: &Fields<'_, '_>) -> Vec<Permission> {
    let mut seen = HashSet::new();
    let read = |item: Fields<'_, '_>| {
        let accesses = [("read", DirectoryAccess::Read), ("write", DirectoryAccess::Write)];
        let access = item.word("access", &accesses).unwrap_or_default();
        let name = item.required_string("name").unwrap_or_default().to_owned();
        let rule = DirectoryRule { name, access };
        let again = || format!("is {} once more; name each directory once", quoted(&rule.name));
        let problem = rule.problem().or_else(|| (!seen.insert(rule.name.clone())).then(again));
        if let Some(problem) = problem.filter(|_| !rule.name.is_empty()) {
            item.wrong("name", problem);
        }
        item.finish();
        Permission::of_directory(rule)
    };
    fields.items("directories").map(read).collect()
}

fn http(fields: &Fields<'_, '_>) -> Permission {
    let rule = HttpRule {
        hosts: fields.need("hosts", fields.some_strings("hosts")).unwrap_or_default(),
        methods: fields.some_strings("methods").unwrap_or_else(|| READING.map(str::to_owned).to_vec()),
        paths: fields.some_strings("paths").unwrap_or_default(),
    };
    once(fields, [("hosts", &rule.hosts), ("methods", &rule.methods), ("paths", &rule.paths)]);
    rule.problems().into_iter().for_each(|(place, problem)| fields.wrong(&place, problem));
    fields.finish();
    Permission::of_http(rule)
}

fn once<'l>(fields: &Fields<'_, '_>, lists: impl IntoIterator<Item = (&'static str, &'l Vec<String>)>) {
    for (key, texts) in lists {
        let mut seen = HashSet::new();
        for (i, text) in texts.iter().enumerate().filter(|(_, text)| !seen.insert(text.as_str())) {
            fields.wrong(&format!("{key}[{i}]"), format!("is {} once more; write each word once", quoted(text)));
        }
    }
}

fn permission(fields: &Fields<'_, '_>) -> Permission {
    let needed = |key| fields.need(key, fields.some_strings(key)).unwrap_or_default();
    let permission = Permission {
        api_groups: needed("apiGroups"),
        resources: needed("resources"),
        verbs: needed("verbs"),
        resource_names: fields.some_strings("resourceNames").unwrap_or_default(),
        namespaces: fields.some_strings("namespaces").unwrap_or_default(),
        http: None,
        directory: None,
    };
    let check = |key: &str, texts: &[String], good: &dyn Fn(&str) -> bool, hint: &str| {
        for (i, text) in texts.iter().enumerate().filter(|(_, text)| !good(text)) {
            fields.wrong(&format!("{key}[{i}]"), format!("is {}; {hint}", quoted(text)));
        }
    };
    let Permission { api_groups, resources, verbs, resource_names, namespaces, http: _, directory: _ } = &permission;
    let lists = [("apiGroups", api_groups), ("resources", resources), ("verbs", verbs)];
    once(fields, lists.into_iter().chain([("resourceNames", resource_names), ("namespaces", namespaces)]));
    check("verbs", &permission.verbs, &|verb| VERBS.contains(&verb), &format!("allowed: {}", VERBS.join(", ")));
    check("apiGroups", &permission.api_groups, &|group| !group.contains('/'), "write the group without a version");
    check(
        "resources",
        &permission.resources,
        &|resource| !resource.is_empty() && !resource.contains(|c: char| c.is_ascii_uppercase()),
        "write the plural in lower case, such as \"pods\" or \"pods/eviction\"",
    );
    fields.finish();
    permission
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_kubernetes_quantities() {
        for (text, expected) in [("64Mi", 64 << 20), ("1k", 1_000), ("4096", 4096), ("0", 0), ("2Gi", 2 << 30)] {
            assert_eq!(bytes(&Value::from(text)), Ok(expected), "{text}");
        }
        assert_eq!(bytes(&Value::from(7)), Ok(7));
        assert_eq!(bytes(&Value::from(7.0)), Ok(7));
        assert_eq!(bytes(&Value::from(u64::MAX)), Ok(u64::MAX));
    }

    #[test]
    fn refuses_the_rest() {
        for text in ["", "Mi", "-1", "1.5Gi", "64 Mi", "64mb", "+1", "99999999999Ti"] {
            assert!(bytes(&Value::from(text)).is_err(), "{text}");
        }
        assert!(bytes(&Value::Bool(true)).is_err());
        assert!(bytes(&Value::from(-1)).is_err());
        assert!(bytes(&Value::from(1.5)).is_err());
    }
}
