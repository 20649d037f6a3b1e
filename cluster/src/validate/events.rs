//! Rules of events, which are stricter for events that are written through events.k8s.io.

use serde_json::{Value, json};

use crate::field::Field;
use crate::json::text;
use crate::kinds::{Conversion, Resource};
use crate::names;

const MISFIT: &str = "does not match event.namespace";

/// Checks an event in its storage version. `old` is the version that it replaces.
pub(super) fn check(resource: &Resource, event: &Field<'_>, old: Option<&Value>) {
    let new_form = resource.conversion == Conversion::Events;
    let (own, about) = (event.at("metadata.namespace").text(), event.at("involvedObject.namespace"));
    if event.at("eventTime").is_empty() {
        // An event is in the namespace of its object. Events about cluster-scoped objects are in `default`.
        if own != if about.is_empty() { "default" } else { about.text() } {
            about.invalid_as(about.text(), MISFIT);
        }
    } else {
        if about.is_empty() && !matches!(own, "default" | "kube-system") {
            about.invalid_as("", MISFIT);
        }
        timed(event, if new_form { "reportingController" } else { "reportingComponent" });
    }
    match old {
        _ if !new_form => {}
        None => complete(event),
        Some(old) => {
            if old.get("series") != event.at("series").value {
                series(event);
            }
            fixed(old, event);
        }
    }
}

/// An event with an eventTime follows the newer rules, whatever its form.
fn timed(event: &Field<'_>, controller: &str) {
    let name = event.at("reportingComponent").named(controller);
    name.need("");
    name.check(names::qualified_name);
    for key in ["reportingInstance", "action", "reason"] {
        if event.at(key).need("") {
            limit(&event.at(key), 128);
        }
    }
    limit(&event.at("message"), 1024);
}

fn limit(text: &Field<'_>, max: usize) {
    if text.text().len() > max {
        text.invalid_as("", format!("can have at most {max} characters"));
    }
}

/// Fields that a new event must have, and fields that only older ones have.
fn complete(event: &Field<'_>) {
    event.at("eventTime").need("");
    let kind = event.at("type");
    if !matches!(kind.text(), "Normal" | "Warning") {
        kind.invalid_as("", format!("has invalid value: {}", kind.text()));
    }
    series(event);
    for old in ["firstTimestamp", "lastTimestamp", "count", "source"].map(|key| event.at(key)) {
        if !old.is_empty() && old.int() != Some(0) {
            old.invalid_as("", "needs to be unset");
        }
    }
}

fn series(event: &Field<'_>) {
    let series = event.at("series");
    if !series.is_set() {
        return;
    }
    if series.at("count").int().unwrap_or_default() < 2 {
        series.at("count").invalid_as("", "should be at least 2");
    }
    series.at("lastObservedTime").need("");
}

/// The fields of a new event that cannot change. The real server checks the reason twice.
const FIXED: &str = "involvedObject reason reason message source firstTimestamp lastTimestamp count type eventTime action \
    related reportingComponent reportingInstance";

fn fixed(old: &Value, event: &Field<'_>) {
    for field in FIXED.split(' ').map(|key| event.at(key)).filter(|field| old.get(&field.path) != field.value) {
        let shown = field.value.cloned().unwrap_or_default();
        let shown = if shown.is_object() && field.path != "source" { reference(&shown) } else { shown };
        let component = field.path == "reportingComponent";
        let field = if component { field.named("reportingController") } else { field };
        field.invalid_as(shown, "field is immutable");
    }
}

/// A reference with the field names of Go's type, which has no JSON names.
fn reference(object: &Value) -> Value {
    let part = |key: &str| text(object, &[key]);
    json!({
        "Kind": part("kind"), "Namespace": part("namespace"), "Name": part("name"), "UID": part("uid"),
        "APIVersion": part("apiVersion"), "ResourceVersion": part("resourceVersion"), "FieldPath": part("fieldPath"),
    })
}
