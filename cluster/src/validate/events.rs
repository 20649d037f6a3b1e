//! Rules of events, which are stricter for events that are written through events.k8s.io.

use serde_json::{Value, json};

use crate::json::{at, int, is_empty, text};
use crate::kinds::{Conversion, Resource};
use crate::names;
use crate::status::Cause;

const MISFIT: &str = "does not match event.namespace";

/// Problems of an event in its storage version. `old` is the version that it replaces.
pub(super) fn problems(resource: &Resource, event: &Value, old: Option<&Value>) -> Vec<Cause> {
    let new_form = resource.conversion == Conversion::Events;
    let mut causes = Vec::new();
    if is_empty(at(event, &["eventTime"])) {
        causes.extend(place(event));
    } else {
        causes.extend(timed(event, if new_form { "reportingController" } else { "reportingComponent" }));
    }
    match old {
        _ if !new_form => {}
        None => causes.extend(complete(event)),
        Some(old) => {
            if old.get("series") != event.get("series") {
                causes.extend(series(event));
            }
            causes.extend(fixed(old, event));
        }
    }
    causes
}

/// An event is in the namespace of its object. Events about cluster-scoped objects are in `default`.
fn place(event: &Value) -> Option<Cause> {
    let (own, about) = (text(event, &["metadata", "namespace"]), text(event, &["involvedObject", "namespace"]));
    let fits = if about.is_empty() { own == "default" } else { own == about };
    (!fits).then(|| Cause::invalid("involvedObject.namespace", &about.into(), MISFIT))
}

/// An event with an eventTime follows the newer rules, whatever its form.
fn timed(event: &Value, controller: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    let (own, about) = (text(event, &["metadata", "namespace"]), text(event, &["involvedObject", "namespace"]));
    if about.is_empty() && !matches!(own, "default" | "kube-system") {
        causes.push(Cause::invalid("involvedObject.namespace", &"".into(), MISFIT));
    }
    let name = text(event, &["reportingComponent"]);
    if name.is_empty() {
        causes.push(Cause::required(controller, ""));
    }
    let wrong = names::qualified_name(name).into_iter();
    causes.extend(wrong.map(|why| Cause::invalid(controller, &name.into(), why)));
    for (key, max) in [("reportingInstance", 128), ("action", 128), ("reason", 128)] {
        let value = text(event, &[key]);
        if value.is_empty() {
            causes.push(Cause::required(key, ""));
        } else if value.len() > max {
            causes.push(too_long(key, max));
        }
    }
    if text(event, &["message"]).len() > 1024 {
        causes.push(too_long("message", 1024));
    }
    causes
}

fn too_long(key: &str, max: usize) -> Cause {
    Cause::invalid(key, &"".into(), format!("can have at most {max} characters"))
}

/// Fields that a new event must have, and fields that only older ones have.
fn complete(event: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    if is_empty(at(event, &["eventTime"])) {
        causes.push(Cause::required("eventTime", ""));
    }
    let kind = text(event, &["type"]);
    if !matches!(kind, "Normal" | "Warning") {
        causes.push(Cause::invalid("type", &"".into(), format!("has invalid value: {kind}")));
    }
    causes.extend(series(event));
    for key in ["firstTimestamp", "lastTimestamp", "count", "source"] {
        let value = at(event, &[key]);
        if !is_empty(value) && value.is_some_and(|value| *value != 0) {
            causes.push(Cause::invalid(key, &"".into(), "needs to be unset"));
        }
    }
    causes
}

fn series(event: &Value) -> Vec<Cause> {
    let Some(series) = at(event, &["series"]) else { return Vec::new() };
    let mut causes = Vec::new();
    if int(series, &["count"]).unwrap_or_default() < 2 {
        causes.push(Cause::invalid("series.count", &"".into(), "should be at least 2"));
    }
    if is_empty(at(series, &["lastObservedTime"])) {
        causes.push(Cause::required("series.lastObservedTime", ""));
    }
    causes
}

/// In a new event, only the series and metadata can change.
fn fixed(old: &Value, event: &Value) -> Vec<Cause> {
    // The real server checks the reason twice.
    let keys = [
        "involvedObject",
        "reason",
        "reason",
        "message",
        "source",
        "firstTimestamp",
        "lastTimestamp",
        "count",
        "type",
        "eventTime",
        "action",
        "related",
        "reportingComponent",
        "reportingInstance",
    ];
    let changed = keys.into_iter().filter(|key| old.get(*key) != event.get(*key));
    let cause = |key: &str| {
        let value = event.get(key).cloned().unwrap_or_default();
        let value = if value.is_object() && key != "source" { reference(&value) } else { value };
        let field = if key == "reportingComponent" { "reportingController" } else { key };
        Cause::invalid(field, &value, "field is immutable")
    };
    changed.map(cause).collect()
}

/// A reference with the field names of Go's type, which has no JSON names.
fn reference(object: &Value) -> Value {
    let part = |key: &str| text(object, &[key]);
    json!({
        "Kind": part("kind"), "Namespace": part("namespace"), "Name": part("name"), "UID": part("uid"),
        "APIVersion": part("apiVersion"), "ResourceVersion": part("resourceVersion"), "FieldPath": part("fieldPath"),
    })
}
