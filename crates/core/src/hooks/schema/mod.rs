//! The JSON Schema (draft 2020-12) of the configuration document, version v1. The reader of documents does the checks,
//! and a test compares the two.
//!
//! A schema cannot express some rules, which only the reader checks: that crontabs, time zones and jq programs are
//! valid; the bounds of durations and amounts of bytes; that `includeSnapshotsFrom` names one binding; and keys that
//! contradict each other (`content` and keepFullObjectsInMemory, `timeZone` and a TZ= prefix, `max` and `initial`, a
//! nameSelector and a field selector of metadata.name).

mod bindings;
mod parts;
mod policies;
mod selectors;
mod webhooks;

use serde_json::{Value, json};

use parts::{integer, list, object, reference};

/// The schema, as `boathook schema` prints it.
pub fn schema() -> Value {
    let mut schema = json!({ "$schema": "https://json-schema.org/draft/2020-12/schema" });
    let document = document();
    let definitions = json!({
        "crontab": bindings::crontab(),
        "schedule": bindings::schedule(),
        "kubernetes": bindings::kubernetes(),
        "validating": webhooks::validating(),
        "mutating": webhooks::mutating(),
        "conversion": webhooks::conversion(),
        "names": selectors::names(),
        "labelSelector": selectors::labels(),
        "fieldSelector": selectors::fields(),
        "permission": policies::permission(),
        "limits": policies::limits(),
        "retry": policies::retry(),
        "settings": policies::settings(),
        "failureEvents": policies::failure_events(),
        "apiVersion": parts::api_version(),
        "duration": parts::duration(),
        "bytes": parts::bytes(),
    });
    if let (Value::Object(schema), Value::Object(document)) = (&mut schema, document) {
        schema.extend(document);
        schema.insert("$defs".to_owned(), definitions);
    }
    schema
}

fn document() -> Value {
    let permissions = object("What the hook asks for; the admin's grants decide.")
        .key("kubernetes", list(reference("permission", "One rule.")).some().about("Rules, in the words of RBAC."))
        .build();
    object("What wakes a hook and what it may touch: what its `config` function returns, as YAML or JSON.")
        .title("Configuration document of a Boathook hook")
        .required("configVersion", json!({ "const": "v1", "description": "The version of this form." }))
        .key(
            "onStartup",
            integer(i64::MIN, i64::MAX)
                .about("Run once when the operator starts. Hooks with this key start in the order of its numbers."),
        )
        .key(
            "schedule",
            list(reference("schedule", "One schedule.")).some().about("Run by the clock, once for each entry."),
        )
        .key(
            "kubernetes",
            list(reference("kubernetes", "Objects of one kind."))
                .some()
                .about("Run when objects change, and keep snapshots of them."),
        )
        .key(
            "kubernetesValidating",
            list(reference("validating", "One webhook."))
                .some()
                .about("Run when the API server asks whether a request may be."),
        )
        .key(
            "kubernetesMutating",
            list(reference("mutating", "One webhook.")).some().about("Run when the API server asks what to change."),
        )
        .key(
            "kubernetesCustomResourceConversion",
            list(reference("conversion", "One definition."))
                .some()
                .about("Run when the API server needs objects in another version."),
        )
        .key("settings", reference("settings", "How often the hook may run. Without it: as often as there is work."))
        .key("permissions", permissions)
        .key("limits", reference("limits", "Bounds of each run, within the operator's own."))
        .key("retry", reference("retry", "What happens after a failed run, for bindings that do not say otherwise."))
        .key(
            "concurrency",
            integer(1, 1000).default(1).about("Runs of this hook at the same time, on different objects."),
        )
        .key("failureEvents", reference("failureEvents", "Where Kubernetes Events about failed runs go."))
        .at_least_keys(2)
        .build()
}
