//! Fields that a version does not have, in annotations.
//!
//! It never touches a field or an annotation that is not named to it.

use boathook_sdk::kube::Object;
use boathook_sdk::prelude::*;
use serde_json::{Map, Value, from_str};

/// Before the name of the version whose fields are kept.
const PREFIX: &str = "crontab-conversion.boathook.dev/";

/// Gives a field of `spec` another name.
pub fn rename(crontab: &mut Object, from: &str, to: &str) {
    if let Some(spec) = fields(crontab, "/spec")
        && let Some(value) = spec.remove(from)
    {
        spec.insert(to.to_owned(), value);
    }
}

/// Moves fields of `spec` that only this version has into an annotation.
pub fn keep(crontab: &mut Object, version: &str, names: &[&str]) -> Result<()> {
    let Some(spec) = fields(crontab, "/spec") else { return Ok(()) };
    let lost: Map<String, Value> =
        names.iter().filter_map(|name| spec.remove(*name).map(|value| ((*name).to_owned(), value))).collect();
    if !lost.is_empty() {
        annotate(crontab, version, Value::Object(lost).to_string());
    }
    Ok(())
}

/// Moves fields back that were kept; those that `spec` has stay.
pub fn restore(crontab: &mut Object, version: &str) -> Result<()> {
    let Some(text) = take(crontab, version) else { return Ok(()) };
    let found: Map<String, Value> =
        from_str(&text).map_err(Error::permanent).context(format!("the annotation {PREFIX}{version}"))?;
    if let Some(spec) = fields(crontab, "/spec") {
        for (name, value) in found {
            spec.entry(name).or_insert(value);
        }
    }
    Ok(())
}

/// Puts a text into the annotation of this name.
pub fn annotate(crontab: &mut Object, name: &str, text: String) {
    if let Some(metadata) = fields(crontab, "/metadata") {
        let annotations = metadata.entry("annotations").or_insert_with(|| Value::Object(Map::new()));
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.insert(format!("{PREFIX}{name}"), Value::String(text));
        }
    }
}

/// Takes the annotation of this name off.
pub fn take(crontab: &mut Object, name: &str) -> Option<String> {
    let annotations = fields(crontab, "/metadata/annotations")?;
    let text = annotations.remove(&format!("{PREFIX}{name}"))?;
    if annotations.is_empty()
        && let Some(metadata) = fields(crontab, "/metadata")
    {
        metadata.remove("annotations");
    }
    text.as_str().map(str::to_owned)
}

/// The fields at a place.
pub fn fields<'o>(object: &'o mut Object, pointer: &str) -> Option<&'o mut Map<String, Value>> {
    object.pointer_mut(pointer)?.as_object_mut()
}
