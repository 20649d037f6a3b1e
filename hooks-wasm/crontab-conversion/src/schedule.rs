//! The schedule: one text until v1beta1, five fields in v1.
//!
//! An annotation keeps a text that is not just five fields with one blank between. The text comes back as it was,
//! unless the fields changed in the meantime.

use crate::kept::{annotate, fields, take};
use boathook_sdk::kube::Object;
use boathook_sdk::prelude::*;
use serde_json::{Map, Value};

/// The fields of v1, in the order of the text.
const FIELDS: [&str; 5] = ["minute", "hour", "dayOfMonth", "month", "dayOfWeek"];
/// The annotation with the text.
const TEXT: &str = "cronSpec";
/// What shorthands stand for.
const SHORTHANDS: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// `spec.cronSpec` becomes `spec.schedule`.
pub fn split(crontab: &mut Object) -> Result<()> {
    let Some(text) = fields(crontab, "/spec").and_then(|spec| spec.remove(TEXT)) else { return Ok(()) };
    let text = text.as_str().ok_or(Error::permanent("spec.cronSpec is no text"))?;
    let parts = parts(text)?;
    let schedule: Map<String, Value> =
        FIELDS.iter().zip(&parts).map(|(name, part)| ((*name).to_owned(), Value::String(part.clone()))).collect();
    if let Some(spec) = fields(crontab, "/spec") {
        spec.insert("schedule".to_owned(), Value::Object(schedule));
    }
    if parts.join(" ") != text {
        annotate(crontab, TEXT, text.to_owned());
    }
    Ok(())
}

/// `spec.schedule` becomes `spec.cronSpec`. A field that is not set is `*`.
pub fn join(crontab: &mut Object) -> Result<()> {
    let Some(schedule) = fields(crontab, "/spec").and_then(|spec| spec.remove("schedule")) else { return Ok(()) };
    let part = |name| schedule.get(name).and_then(Value::as_str).unwrap_or("*").to_owned();
    let joined = FIELDS.map(part);
    // A blank would make two fields of one, and nobody could read the object in v1 any more.
    if let Some((name, field)) =
        FIELDS.iter().zip(&joined).find(|(_, field)| field.is_empty() || field.contains(char::is_whitespace))
    {
        return Err(Error::permanent(format!(
            "spec.schedule.{name} is {field:?}: a field has no blanks and is not empty"
        )));
    }
    let text = take(crontab, TEXT).filter(|text| parts(text).is_ok_and(|parts| parts == joined));
    if let Some(spec) = fields(crontab, "/spec") {
        spec.insert(TEXT.to_owned(), Value::String(text.unwrap_or_else(|| joined.join(" "))));
    }
    Ok(())
}

fn parts(text: &str) -> Result<Vec<String>> {
    let long = SHORTHANDS.iter().find(|(short, _)| *short == text.trim()).map_or(text, |(_, long)| long);
    let parts: Vec<String> = long.split_whitespace().map(str::to_owned).collect();
    if parts.len() == FIELDS.len() {
        return Ok(parts);
    }
    Err(Error::permanent(format!("the schedule {text:?} needs five fields, or a shorthand like @hourly")))
}
