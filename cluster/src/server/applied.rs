//! Server-side apply: the configuration that a client sends, and the resulting object.

use serde_json::Value;

use super::call::Call;
use crate::context::Context;
use crate::json;
use crate::kinds::{Resource, Sub};
use crate::lifecycle::create as creation;
use crate::patch;
use crate::status::Failure;
use crate::validate;

/// An applied configuration, checked, in the storage version, without the fields that this request cannot own.
pub(super) fn configuration(call: &Call<'_>, patch: &Value) -> Result<Value, Failure> {
    let mut config = patch.clone();
    let (version, kind) = (json::text(&config, &["apiVersion"]), json::text(&config, &["kind"]));
    if version.is_empty() || kind.is_empty() {
        let (group, version) = version.split_once('/').unwrap_or(("", version));
        return Err(Failure::bad_request(format!("invalid object type: {group}/{version}, Kind={kind}")));
    }
    let unknown = || {
        let (group, version) = version.split_once('/').unwrap_or(("", version));
        call.resource.schema.of_kind(group, version, kind).is_none()
    };
    if call.resource.custom.is_none() && (kind != call.resource.kind || unknown()) {
        let (group, version) = version.split_once('/').unwrap_or(("", version));
        return Err(Failure::bad_request(format!("invalid object type: {group}/{version}, Kind={kind}")));
    }
    creation::check_type(call.resource, &mut config)?;
    check_applied(call.resource, &config)?;
    if !json::is_empty(json::at(&config, &["metadata", "managedFields"])) {
        return Err(Failure::bad_request("metadata.managedFields must be nil"));
    }
    let name = json::text(&config, &["metadata", "name"]);
    if !name.is_empty() && name != call.name {
        return Err(Failure::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({})",
            call.name
        )));
    }
    json::metadata(&mut config).insert("name".into(), call.name.into());
    creation::set_namespace(call.resource, &mut config, call.namespace)?;
    call.resource.to_storage(&mut config);
    if call.resource.has(Sub::Status) {
        let status = call.sub == Some(Sub::Status);
        json::object(&mut config)
            .retain(|key, _| matches!(key.as_str(), "apiVersion" | "kind" | "metadata") || (key == "status") == status);
    }
    Ok(config)
}

/// Server-side apply has no warnings: a configuration that does not fit the type is an error.
fn check_applied(resource: &Resource, config: &Value) -> Result<(), Failure> {
    let mut typed = config.clone();
    resource.to_storage(&mut typed);
    let shape = crate::kinds::shape::Shape::of(resource);
    let problem = patch::typed::problem(&typed, shape);
    let problem = problem.or_else(|| patch::compare::duplicate(config, shape, &mut Vec::new()));
    let problem = problem.or_else(|| validate::typed::check(resource, &mut typed).err());
    let Some(problem) = problem else {
        return Ok(());
    };
    let text = |path: &[&str]| json::text(config, path).to_owned();
    let version = text(&["apiVersion"]);
    let slash = if version.contains('/') { "" } else { "/" };
    Err(Failure::internal(format!(
        "failed to create typed patch object ({}/{}; {slash}{version}, Kind={}): {problem}",
        text(&["metadata", "namespace"]),
        text(&["metadata", "name"]),
        resource.kind
    )))
}

/// The object with the configuration merged.
pub(super) fn merge(call: &Call<'_>, old: &Value, config: &Value, context: &Context) -> Result<Value, Failure> {
    let force = call.params.force.unwrap_or_default();
    let mut merged = patch::apply::apply(call.resource, old, config, call.sub_name(), force, context)?;
    patch::check_depth(&merged)?;
    call.resource.show_stored(&mut merged);
    Ok(merged)
}
