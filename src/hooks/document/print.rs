//! Writes a [`HookSpec`] as a document again, with every default in its place: the normalised
//! form that `boathook inspect` shows. Reading it gives the same hook.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::model::{
    BindingName, Content, HookSpec, KubernetesBinding, Limits, Permission, QueueName, RetryPolicy, ScheduleBinding,
};

/// The normalised document of a hook.
pub fn print(spec: &HookSpec) -> Value {
    let mut document = json!({ "configVersion": "v1" });
    set(&mut document, "onStartup", spec.on_startup.as_ref().map(|startup| json!(startup.order)));
    set(&mut document, "schedule", list(&spec.schedules, schedule));
    set(&mut document, "kubernetes", list(&spec.kubernetes, kubernetes));
    let permissions = list(&spec.permissions, permission).map(|rules| json!({ "kubernetes": rules }));
    set(&mut document, "permissions", permissions);
    set(&mut document, "limits", Some(limits(&spec.limits)));
    set(&mut document, "retry", spec.on_startup.as_ref().map(|startup| retry(&startup.retry)));
    set(&mut document, "concurrency", Some(json!(spec.concurrency)));
    document
}

fn set(object: &mut Value, key: &str, value: Option<Value>) {
    if let (Value::Object(fields), Some(value)) = (object, value) {
        fields.insert(key.to_owned(), value);
    }
}

fn list<T>(items: &[T], print: impl Fn(&T) -> Value) -> Option<Value> {
    (!items.is_empty()).then(|| items.iter().map(print).collect())
}

fn names(names: &[BindingName]) -> Option<Value> {
    list(names, |name| json!(name.as_str()))
}

fn queue(queue: &QueueName) -> Option<Value> {
    match queue {
        QueueName::Own(_) => None,
        QueueName::Shared(name) => Some(json!(name)),
    }
}

fn duration(duration: Duration) -> Value {
    json!(humantime::format_duration(duration).to_string().replace(' ', ""))
}

fn schedule(binding: &ScheduleBinding) -> Value {
    let mut item = json!({ "name": binding.name.as_str(), "crontab": binding.crontab.to_string() });
    set(&mut item, "queue", queue(&binding.queue));
    set(&mut item, "allowFailure", Some(json!(binding.allow_failure)));
    set(&mut item, "includeSnapshotsFrom", names(&binding.include_snapshots_from));
    set(&mut item, "retry", Some(retry(&binding.retry)));
    item
}

fn kubernetes(binding: &KubernetesBinding) -> Value {
    let mut item = json!({ "name": binding.name.as_str() });
    set(&mut item, "apiVersion", binding.api_version.as_ref().map(|version| json!(version)));
    set(&mut item, "kind", Some(json!(binding.kind)));
    let match_names = |names: &[String]| (!names.is_empty()).then(|| json!({ "matchNames": names }));
    set(&mut item, "nameSelector", match_names(&binding.names));
    set(&mut item, "namespace", match_names(&binding.namespaces).map(|names| json!({ "nameSelector": names })));
    let expressions = |terms: Vec<Value>| json!({ "matchExpressions": terms });
    set(&mut item, "labelSelector", binding.label_selector.as_deref().map(|s| expressions(label_terms(s))));
    set(&mut item, "fieldSelector", binding.field_selector.as_deref().map(|s| expressions(field_terms(s))));
    let events = binding.events.iter().map(|event| format!("{event:?}")).collect::<Vec<_>>();
    set(&mut item, "executeHookOnEvent", Some(json!(events)));
    set(&mut item, "executeHookOnSynchronization", Some(json!(binding.on_synchronization)));
    let content = match binding.content {
        Content::Full => "full",
        Content::Metadata => "metadata",
        Content::None => "none",
    };
    set(&mut item, "content", Some(json!(content)));
    set(&mut item, "jqFilter", binding.jq_filter.as_ref().map(|filter| json!(filter)));
    set(&mut item, "queue", queue(&binding.queue));
    set(&mut item, "allowFailure", Some(json!(binding.allow_failure)));
    set(&mut item, "includeSnapshotsFrom", names(&binding.include_snapshots_from));
    set(&mut item, "retry", Some(retry(&binding.retry)));
    item
}

/// `a=b,c in (d,e),!f` as expressions. The text is our own, so its form is known.
fn label_terms(selector: &str) -> Vec<Value> {
    let mut terms = Vec::new();
    let mut rest = selector;
    while !rest.is_empty() {
        let inside = rest.find('(').filter(|open| rest.find(',').is_none_or(|comma| *open < comma));
        let end = match inside {
            Some(_) => rest.find(')').map_or(rest.len(), |close| close + 1),
            None => rest.find(',').unwrap_or(rest.len()),
        };
        let (term, after) = rest.split_at(end);
        terms.push(label_term(term));
        rest = after.trim_start_matches(',');
    }
    terms
}

fn label_term(term: &str) -> Value {
    let set = |key: &str, operator: &str, values: &str| {
        let values: Vec<_> = values.trim_end_matches(')').split(',').collect();
        json!({ "key": key, "operator": operator, "values": values })
    };
    if let Some((key, values)) = term.split_once(" in (") {
        set(key, "In", values)
    } else if let Some((key, values)) = term.split_once(" notin (") {
        set(key, "NotIn", values)
    } else if let Some(key) = term.strip_prefix('!') {
        json!({ "key": key, "operator": "DoesNotExist" })
    } else if let Some((key, value)) = term.split_once('=') {
        set(key, "In", value)
    } else {
        json!({ "key": term, "operator": "Exists" })
    }
}

/// `a=b,c!=d\,e` as expressions.
fn field_terms(selector: &str) -> Vec<Value> {
    let mut terms = vec![String::new()];
    let mut escaped = false;
    for c in selector.chars() {
        if c == ',' && !escaped {
            terms.push(String::new());
        } else if let Some(term) = terms.last_mut() {
            term.push(c);
        }
        escaped = c == '\\' && !escaped;
    }
    terms.iter().map(|term| field_term(term)).collect()
}

fn field_term(term: &str) -> Value {
    let (field, value) = term.split_once('=').unwrap_or((term, ""));
    let (field, operator) = field.strip_suffix('!').map_or((field, "="), |field| (field, "!="));
    let mut plain = String::new();
    let mut characters = value.chars();
    while let Some(c) = characters.next() {
        plain.extend(if c == '\\' { characters.next() } else { Some(c) });
    }
    json!({ "field": field, "operator": operator, "value": plain })
}

fn permission(permission: &Permission) -> Value {
    let mut rule = json!({
        "apiGroups": permission.api_groups,
        "resources": permission.resources,
        "verbs": permission.verbs,
    });
    let some = |names: &[String]| (!names.is_empty()).then(|| json!(names));
    set(&mut rule, "resourceNames", some(&permission.resource_names));
    set(&mut rule, "namespaces", some(&permission.namespaces));
    rule
}

fn limits(limits: &Limits) -> Value {
    json!({
        "memory": limits.memory,
        "time": duration(limits.time),
        "hostCalls": limits.host_calls,
        "hostBytes": limits.host_bytes,
        "logBytes": limits.log_bytes,
    })
}

fn retry(retry: &RetryPolicy) -> Value {
    let mut fields = Map::new();
    fields.insert("initial".to_owned(), duration(retry.initial));
    fields.insert("max".to_owned(), duration(retry.max));
    fields.insert("multiplier".to_owned(), json!(retry.multiplier));
    fields.insert("jitter".to_owned(), json!(retry.jitter));
    Value::Object(fields)
}
