//! Rules of jobs and cron jobs.

use serde_json::{Value, json};

use super::common::counts;
use super::pods;
use crate::json::{at, text};
use crate::status::Cause;

const RESTART: &str = r#"valid values: "OnFailure", "Never""#;
const CONTROLLER: &str = "batch.kubernetes.io/controller-uid";
const FIXED: &str = "field is immutable";

pub(super) fn job(object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = job_spec(at(object, &["spec"]), "spec");
    match old {
        None => causes.extend(own_selector(object)),
        Some(old) => causes.extend(job_changes(old, object)),
    }
    causes
}

/// A job's selector must be based on its own uid, unless `manualSelector` is set.
fn own_selector(object: &Value) -> Option<Cause> {
    let manual = at(object, &["spec", "manualSelector"]) == Some(&Value::Bool(true));
    let labels = at(object, &["spec", "selector", "matchLabels"])?.as_object()?;
    if manual || labels.contains_key(CONTROLLER) {
        return None;
    }
    let mut labels = labels.clone();
    labels.insert(CONTROLLER.into(), text(object, &["metadata", "uid"]).into());
    Some(Cause::invalid("spec.selector", &json!({ "matchLabels": labels }), "`selector` not auto-generated"))
}

fn job_changes(old: &Value, new: &Value) -> Vec<Cause> {
    let part = |object: &Value, path: &[&str]| at(object, path).cloned().unwrap_or_default();
    let indexed = text(new, &["spec", "completionMode"]) == "Indexed";
    let mut causes = Vec::new();
    for key in ["completions", "completionMode", "podFailurePolicy", "backoffLimitPerIndex"] {
        let (before, after) = (part(old, &["spec", key]), part(new, &["spec", key]));
        let elastic = key == "completions" && indexed && part(new, &["spec", "parallelism"]) == after;
        if before != after && !elastic {
            causes.push(Cause::invalid(format!("spec.{key}"), &after, FIXED));
        }
    }
    // A suspended job may still be scheduled to other nodes.
    let may_move = at(old, &["spec", "suspend"]) == Some(&Value::Bool(true));
    let fixed = |object: &Value| {
        let mut spec = part(object, &["spec", "template", "spec"]);
        if may_move {
            let kept = ["nodeSelector", "affinity", "tolerations", "schedulingGates"];
            crate::json::object(&mut spec).retain(|key, _| !kept.contains(&key.as_str()));
        }
        spec
    };
    if fixed(old) != fixed(new) {
        causes.push(Cause::invalid("spec.template.spec", &part(new, &["spec", "template", "spec"]), FIXED));
    }
    causes
}

fn job_spec(spec: Option<&Value>, shown: &str) -> Vec<Cause> {
    let Some(spec) = spec else { return Vec::new() };
    let keys = ["parallelism", "completions", "backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished"];
    let mut causes = counts(Some(spec), shown, &keys);
    if text(spec, &["completionMode"]) == "Indexed" && at(spec, &["completions"]).is_none() {
        let why = "when completion mode is Indexed";
        causes.push(Cause::required(format!("{shown}.completions"), why));
    }
    if let Some(template) = at(spec, &["template", "spec"]) {
        let shown = format!("{shown}.template.spec");
        causes.extend(pods::spec(template, &shown));
        if !matches!(text(template, &["restartPolicy"]), "OnFailure" | "Never") {
            causes.push(Cause::required(format!("{shown}.restartPolicy"), RESTART));
        }
    }
    causes
}

pub(super) fn cron_job(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let text_of = text(object, &["spec", "schedule"]);
    if text_of.is_empty() {
        causes.push(Cause::required("spec.schedule", ""));
    } else if let Some(why) = schedule(text_of) {
        causes.push(Cause::invalid("spec.schedule", &text_of.into(), why));
    }
    let Some(spec) = at(object, &["spec"]) else { return causes };
    causes.extend(counts(Some(spec), "spec", &["startingDeadlineSeconds"]));
    causes.extend(time_zone(spec));
    pods::one_of(spec, "concurrencyPolicy", "spec", &["Allow", "Forbid", "Replace"], &mut causes);
    causes.extend(job_spec(at(spec, &["jobTemplate", "spec"]), "spec.jobTemplate.spec"));
    let name = text(object, &["metadata", "name"]);
    if name.len() > 52 {
        // The names of its jobs are eleven characters longer.
        causes.push(Cause::invalid("metadata.name", &name.into(), "must be no more than 52 characters"));
    }
    causes
}

fn time_zone(spec: &Value) -> Option<Cause> {
    let name = at(spec, &["timeZone"])?.as_str()?;
    let known = |name: &str| jiff::tz::TimeZone::get(name).is_ok();
    // On a system without any time zones, names cannot be checked.
    let unknown = !known(name) && known("Europe/Berlin");
    unknown.then(|| Cause::invalid("spec.timeZone", &name.into(), format!("unknown time zone {name}")))
}

const NAMED: [&str; 8] = ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly", "@every"];

/// The problem of a schedule, in the words of the real server's parser.
fn schedule(text: &str) -> Option<String> {
    if text.contains("TZ") {
        return Some("cannot use TZ or CRON_TZ in schedule, use timeZone field instead".to_owned());
    }
    if text.starts_with('@') {
        let known = text.split_whitespace().next().is_some_and(|word| NAMED.contains(&word));
        return (!known).then(|| format!("unrecognized descriptor: {text}"));
    }
    let fields: Vec<&str> = text.split_whitespace().collect();
    if fields.len() != 5 {
        return Some(format!("expected exactly 5 fields, found {}: [{}]", fields.len(), fields.join(" ")));
    }
    let bounds = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 6)];
    fields.iter().zip(bounds).flat_map(|(field, bounds)| field.split(',').map(move |part| (part, bounds))).find_map(
        |(part, (least, most))| {
            let range = part.split('/').next().unwrap_or_default();
            // Words are names of days and months, or stars.
            let numbers: Vec<i64> = range.split('-').map_while(|number| number.parse().ok()).collect();
            let (first, last) = (*numbers.first()?, *numbers.last()?);
            if first < least {
                return Some(format!("beginning of range ({first}) below minimum ({least}): {part}"));
            }
            if last > most {
                return Some(format!("end of range ({last}) above maximum ({most}): {part}"));
            }
            let backwards = first > last;
            backwards.then(|| format!("beginning of range ({first}) beyond end of range ({last}): {part}"))
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_are_read_field_by_field() {
        let good = ["* * * * *", "*/5 0-23/2 1,15 JAN-MAR MON", "@hourly", "@every 5m", "0 0 * * 0"];
        assert!(good.iter().all(|text| schedule(text).is_none()));
        let why = |text: &str| schedule(text).unwrap_or_default();
        assert_eq!(why("61 * * * *"), "end of range (61) above maximum (59): 61");
        assert_eq!(why("* * 0 * *"), "beginning of range (0) below minimum (1): 0");
        assert_eq!(why("5-3 * * * *"), "beginning of range (5) beyond end of range (3): 5-3");
        assert_eq!(why("* * * *"), "expected exactly 5 fields, found 4: [* * * *]");
        assert_eq!(why("@sometimes"), "unrecognized descriptor: @sometimes");
    }
}
