//! Decides whether a webhook is called for a request: selectors, rules, equivalent resources, match conditions.

use std::sync::Arc;

use boathook_cel as cel;
use boathook_cel::{Budget, Program, Scope, to_cel};
use serde_json::Value;

use super::{Admission, Attributes, Hook, Operation, review};
use crate::json;
use crate::kinds::Resource;
use crate::selectors::LabelSelector;
use crate::status::{Failure, GroupResource};

/// The resource as which the webhook sees the request. None if it is not called.
pub(super) fn invocation(
    admission: &Admission<'_>,
    hook: &Hook,
    object: Option<&Value>,
    old: Option<&Value>,
) -> Result<Option<Arc<Resource>>, Failure> {
    let attributes = &admission.attributes;
    let namespace = in_namespace(attributes, hook, object);
    if matches!(namespace, Ok(false)) || !selects(&hook.objects, object, old) {
        return Ok(None);
    }
    let rules = json::list(&hook.written, &["rules"]);
    let matched = if rules.iter().any(|rule| matches(rule, attributes, attributes.resource)) {
        Some(attributes.resource.clone())
    } else if hook.text("matchPolicy") == "Equivalent" {
        equivalent(admission, rules)
    } else {
        None
    };
    if matched.is_some() {
        namespace?;
    }
    Ok(matched)
}

/// Whether the conditions let the request through to the webhook. Objects are in the version that the webhook sees.
pub(super) fn meets_conditions(
    attributes: &Attributes<'_>,
    hook: &Hook,
    object: Option<&Value>,
    old: Option<&Value>,
) -> Result<bool, Failure> {
    let written = json::list(&hook.written, &["matchConditions"]);
    if written.is_empty() {
        return Ok(true);
    }
    match hold(written, attributes, object, old) {
        Ok(holds) => Ok(holds),
        Err(_) if hook.ignores_failure() => Ok(false),
        Err(why) => Err(Failure::forbidden(attributes.resource.gr(), &attributes.name, &why)),
    }
}

/// The first rule that matches decides, whichever version it names.
fn equivalent(admission: &Admission<'_>, rules: &[Value]) -> Option<Arc<Resource>> {
    let attributes = &admission.attributes;
    let others: Vec<_> = admission
        .registry
        .all()
        .filter(|r| r.storage == attributes.resource.storage && !Arc::ptr_eq(r, attributes.resource))
        .collect();
    let named = |rule: &Value| others.iter().find(|resource| matches(rule, attributes, resource));
    rules.iter().find_map(named).map(|resource| Arc::clone(resource))
}

fn has(rule: &Value, key: &str, wanted: &str) -> bool {
    json::list(rule, &[key]).iter().any(|item| item == "*" || item == wanted)
}

fn matches(rule: &Value, attributes: &Attributes<'_>, resource: &Resource) -> bool {
    has(rule, "operations", attributes.operation.name())
        && has(rule, "apiGroups", &resource.group)
        && has(rule, "apiVersions", &resource.version)
        && in_scope(json::text(rule, &["scope"]), attributes)
        && json::list(rule, &["resources"]).iter().filter_map(Value::as_str).any(|item| {
            let (plural, sub) = item.split_once('/').unwrap_or((item, ""));
            (plural == "*" || plural == resource.plural) && (sub == "*" || sub == attributes.sub_name())
        })
}

fn in_scope(scope: &str, attributes: &Attributes<'_>) -> bool {
    let of_cluster = attributes.namespace.is_empty() || is_namespace(attributes);
    match scope {
        "Namespaced" => !of_cluster,
        "Cluster" => of_cluster,
        _ => true,
    }
}

fn is_namespace(attributes: &Attributes<'_>) -> bool {
    attributes.resource.is("", "namespaces")
}

/// Whether the selector matches the request's namespace. Objects without a namespace always match.
fn in_namespace(attributes: &Attributes<'_>, hook: &Hook, object: Option<&Value>) -> Result<bool, Failure> {
    if hook.namespaces.is_everything() || (attributes.namespace.is_empty() && !is_namespace(attributes)) {
        return Ok(true);
    }
    let writes = is_namespace(attributes) && attributes.sub.is_none() && attributes.operation != Operation::Delete;
    if writes {
        return Ok(object.is_some_and(|object| takes(&hook.namespaces, object)));
    }
    let stored = attributes.shared.store.get("namespaces", &attributes.namespace);
    let namespaces = GroupResource { group: "", resource: "namespaces" };
    let stored = stored.ok_or_else(|| Failure::not_found(namespaces, &attributes.namespace))?;
    Ok(hook.namespaces.matches(|key| stored.label(key)))
}

fn takes(selector: &LabelSelector, object: &Value) -> bool {
    selector.matches(|key| json::at(object, &["metadata", "labels", key]).and_then(Value::as_str))
}

fn selects(selector: &LabelSelector, object: Option<&Value>, old: Option<&Value>) -> bool {
    selector.is_everything() || [object, old].into_iter().flatten().any(|object| takes(selector, object))
}

/// Whether all conditions hold. A condition that is false decides, even if others fail.
///
/// # Errors
/// The texts of the conditions that could not be evaluated.
pub(super) fn hold(
    written: &[Value],
    attributes: &Attributes<'_>,
    object: Option<&Value>,
    old: Option<&Value>,
) -> Result<bool, String> {
    let mut budget = Budget::default();
    let mut errors = Vec::new();
    let any = |value: Option<&Value>| value.map_or(cel::Value::Null, |value| to_cel(value, &Value::Null));
    let empty = Scope::default();
    let with_object = empty.with("object", any(object));
    let with_old = with_object.with("oldObject", any(old));
    let scope = with_old.with("request", any(Some(&review::request(attributes, attributes.resource))));
    for condition in written {
        let expression = json::text(condition, &["expression"]);
        match Program::parse(expression).map(|program| program.run(&scope, &mut budget)) {
            Ok(Ok(cel::Value::Bool(false))) => return Ok(false),
            Ok(Ok(_)) => {}
            Ok(Err(error)) => errors.push(format!("expression '{expression}' resulted in error: {error}")),
            Err(why) => errors.push(format!("compilation error: {why}")),
        }
    }
    match errors.as_slice() {
        [] => Ok(true),
        [one] => Err(one.clone()),
        many => Err(format!("[{}]", many.join(", "))),
    }
}
