//! Describes a request for admission webhooks. `admission` calls them.

use serde_json::{Value, json};

use super::call::Call;
use crate::admission::{Admission, Attributes, Operation};
use crate::context::Context;
use crate::json;
use crate::kinds::{Sub, scale};
use crate::lifecycle::create as creation;
use crate::status::Failure;

/// `CreateOptions` or `UpdateOptions` from the parameters.
fn options(call: &Call<'_>, kind: &str, context: &Context) -> Value {
    let mut options = json!({ "kind": kind, "apiVersion": "meta.k8s.io/v1" });
    let map = json::object(&mut options);
    if context.dry_run {
        map.insert("dryRun".into(), json!(["All"]));
    }
    for (key, value) in
        [("fieldManager", &call.params.field_manager), ("fieldValidation", &call.params.given_validation)]
    {
        if !value.is_empty() {
            map.insert(key.into(), value.as_str().into());
        }
    }
    options
}

fn admission<'a>(
    call: &'a Call<'_>,
    operation: Operation,
    name: &str,
    options: Value,
    context: &Context,
) -> Admission<'a> {
    let is_namespace = call.resource.is("", "namespaces");
    Admission::new(Attributes {
        shared: call.shared,
        resource: call.resource,
        sub: call.sub,
        operation,
        namespace: if is_namespace { name } else { call.namespace }.to_owned(),
        name: name.to_owned(),
        user: call.user,
        dry_run: context.dry_run,
        options,
    })
}

/// A new object, or the body of a subresource.
pub(super) fn create<'a>(call: &'a Call<'_>, object: &Value, context: &Context) -> Admission<'a> {
    let given = json::text(object, &["metadata", "name"]);
    let name = if call.name.is_empty() { given } else { call.name };
    admission(call, Operation::Create, name, options(call, "CreateOptions", context), context)
}

pub(super) fn update<'a>(call: &'a Call<'_>, context: &Context) -> Admission<'a> {
    admission(call, Operation::Update, call.name, options(call, "UpdateOptions", context), context)
}

/// A deletion. For a collection, the name is empty.
pub(super) fn delete<'a>(call: &'a Call<'_>, given: &Value, context: &Context) -> Admission<'a> {
    let mut options = json!({ "kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1" });
    let map = json::object(&mut options);
    let by_parameter = given.is_null();
    if let Some(seconds) = call.params.grace.filter(|_| by_parameter) {
        map.insert("gracePeriodSeconds".into(), seconds.into());
    }
    if by_parameter && !call.params.propagation.is_empty() {
        map.insert("propagationPolicy".into(), call.params.propagation.as_str().into());
    }
    for (key, value) in given.as_object().into_iter().flatten() {
        if !matches!(key.as_str(), "kind" | "apiVersion") && !json::is_empty(Some(value)) {
            map.insert(key.clone(), value.clone());
        }
    }
    if context.dry_run {
        map.insert("dryRun".into(), json!(["All"]));
    }
    admission(call, Operation::Delete, call.name, options, context)
}

/// Admits the body of a subresource that is not a version of the object itself. Calls all webhooks and returns the
/// resulting body.
pub(super) async fn body(call: &Call<'_>, body: Value, context: &Context) -> Result<(Value, Vec<String>), Failure> {
    let mut admission = create(call, &body, context);
    let mut body = body;
    creation::set_namespace(call.resource, &mut body, call.namespace)?;
    if admission.mutates() {
        body = admission.mutate(Some(body), None).await?.unwrap_or_default();
    }
    if admission.validates() {
        admission.validate(Some(&body), None).await?;
    }
    let warnings = admission.warnings().to_vec();
    Ok((body, warnings))
}

/// An object in the form of this request: in its version, or as a Scale.
pub(super) fn shown(call: &Call<'_>, stored: &Value) -> Value {
    let mut object = stored.clone();
    call.resource.show_stored(&mut object);
    if call.sub == Some(Sub::Scale) { scale::read(call.resource, &object) } else { object }
}

/// The object with the changes that webhooks made to the form that they saw.
pub(super) fn taken(call: &Call<'_>, mut object: Value, mutated: Value) -> Result<Value, Failure> {
    if call.sub != Some(Sub::Scale) {
        return Ok(mutated);
    }
    let replicas = json::int(&mutated, &["spec", "replicas"]).unwrap_or_default();
    scale::write(call.resource, &mut object, replicas)?;
    Ok(object)
}
