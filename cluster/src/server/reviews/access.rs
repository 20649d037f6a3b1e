//! Access reviews of the client itself, of other users, and of all rules of the client. The named resources need not
//! exist.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{add, set_status};
use crate::auth::attributes::{Attributes, ResourceTarget};
use crate::auth::policy::Decision;
use crate::auth::user::User;
use crate::json::{at, is_empty, list, object, text};
use crate::server::Call;
use crate::status::{Cause, Failure};

/// SelfSubjectAccessReview.
pub(super) fn of_self(call: &Call<'_>, review: &mut Value) -> Result<(), Failure> {
    refuse(call, review, spec_problems(review))?;
    answer(call, call.user, review);
    Ok(())
}

/// SubjectAccessReview and LocalSubjectAccessReview.
pub(super) fn of_subject(call: &Call<'_>, review: &mut Value) -> Result<(), Failure> {
    let mut causes = spec_problems(review);
    let groups = strings(at(review, &["spec", "groups"]));
    let name = text(review, &["spec", "user"]).to_owned();
    if name.is_empty() && groups.is_empty() {
        let why = "at least one of user or group must be specified";
        causes.insert(causes.len().min(1), Cause::invalid("spec.user", &"".into(), why));
    }
    if call.resource.namespaced {
        causes.extend(local_problems(review, call.namespace));
    }
    refuse(call, review, causes)?;
    let extra: BTreeMap<String, Vec<String>> =
        at(review, &["spec", "extra"]).and_then(|e| serde_json::from_value(e.clone()).ok()).unwrap_or_default();
    let user = User { name, uid: text(review, &["spec", "uid"]).to_owned(), groups, extra };
    answer(call, &user, review);
    Ok(())
}

/// SelfSubjectRulesReview.
pub(super) fn rules(call: &Call<'_>, review: &Value) -> Result<Value, Failure> {
    let namespace = text(review, &["spec", "namespace"]);
    if namespace.is_empty() {
        return Err(Failure::bad_request("no namespace on request"));
    }
    let (rules, problems) = call.shared.auth.rules(&call.shared.store, call.user, namespace);
    let of_kind = |resources: bool| -> Vec<Value> {
        let rules =
            rules.iter().filter(|r| if resources { !r.resources.is_empty() } else { !r.non_resource_urls.is_empty() });
        let show = |rule: &_| {
            let mut value = json!(rule);
            object(&mut value).retain(|key, _| (key == "nonResourceURLs") != resources || key == "verbs");
            value
        };
        rules.map(show).collect()
    };
    let mut status = Map::new();
    status.insert("resourceRules".into(), of_kind(true).into());
    status.insert("nonResourceRules".into(), of_kind(false).into());
    status.insert("incomplete".into(), false.into());
    let error = match problems.as_slice() {
        [one] => one.clone(),
        [] => String::new(),
        many => format!("[{}]", many.join(", ")),
    };
    add(&mut status, "evaluationError", error);
    let resource = call.resource;
    Ok(json!({
        "kind": resource.kind, "apiVersion": resource.api_version(), "metadata": {}, "spec": {}, "status": status,
    }))
}

fn refuse(call: &Call<'_>, review: &Value, mut causes: Vec<Cause>) -> Result<(), Failure> {
    let meta = review.get("metadata").and_then(Value::as_object);
    let may_be = |key: &str| key == "managedFields" || key == "namespace" && call.resource.namespaced;
    if meta.is_some_and(|meta| meta.keys().any(|key| !may_be(key))) {
        let why = if call.resource.namespaced { "must be empty except for namespace" } else { "must be empty" };
        causes.push(Cause::invalid("metadata", &json!(meta), why));
    }
    if causes.is_empty() {
        return Ok(());
    }
    // The real server no longer knows the kind of a review when it refuses it.
    Err(Failure::invalid(&call.resource.group, "", "", &causes))
}

fn spec_problems(review: &Value) -> Vec<Cause> {
    let given = |key: &str| at(review, &["spec", key]).filter(|value| !value.is_null());
    match (given("resourceAttributes"), given("nonResourceAttributes")) {
        (Some(_), Some(path)) => {
            let why = "cannot be specified in combination with resourceAttributes";
            vec![Cause::invalid("spec.nonResourceAttributes", &untagged(path), why)]
        }
        (None, None) => {
            let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            vec![Cause::invalid("spec.resourceAttributes", &Value::Null, why)]
        }
        _ => Vec::new(),
    }
}

/// The real server shows its internal form of this value, whose fields have no JSON names.
fn untagged(path: &Value) -> Value {
    json!({ "Path": text(path, &["path"]), "Verb": text(path, &["verb"]) })
}

fn local_problems(review: &Value, namespace: &str) -> Option<Cause> {
    let spec = at(review, &["spec"])?;
    if let Some(path) = at(spec, &["nonResourceAttributes"]).filter(|p| !p.is_null()) {
        let why = "disallowed on this kind of request";
        return Some(Cause::invalid("spec.nonResourceAttributes", &untagged(path), why));
    }
    let given = text(spec, &["resourceAttributes", "namespace"]);
    let why = "must match metadata.namespace";
    (at(spec, &["resourceAttributes"]).is_some() && given != namespace)
        .then(|| Cause::invalid("spec.resourceAttributes.namespace", &given.into(), why))
}

fn strings(value: Option<&Value>) -> Vec<String> {
    let items = value.map_or(&[][..], |value| list(value, &[]));
    items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn answer(call: &Call<'_>, user: &User, review: &mut Value) {
    let Decision { allowed, reason } = call.shared.auth.decide(&call.shared.store, user, &attributes(review));
    let mut status = Map::new();
    status.insert("allowed".into(), allowed.into());
    add(&mut status, "reason", reason);
    set_status(review, status);
}

fn attributes(review: &Value) -> Attributes {
    let wanted = |key: &str| at(review, &["spec", key]).filter(|value| !is_empty(Some(value)));
    if let Some(path) = wanted("nonResourceAttributes") {
        return Attributes::of_path(text(path, &["verb"]), text(path, &["path"]));
    }
    let resource = wanted("resourceAttributes").unwrap_or(&Value::Null);
    let part = |key: &str| text(resource, &[key]).to_owned();
    let target = ResourceTarget {
        group: part("group"),
        resource: part("resource"),
        subresource: part("subresource"),
        namespace: part("namespace"),
        name: part("name"),
    };
    Attributes::of_resource(part("verb"), target)
}
