//! The schema of what a hook may do, how much, how often, and what happens after failures.

use serde_json::Value;

use super::parts::{integer, list, matching, number, object, one_of, reference, some_text, text};

pub(super) fn permission() -> Value {
    let resource = matching("^[^A-Z]+$").with("examples", ["pods", "pods/eviction"]);
    object("These verbs on these resources.")
        .required(
            "apiGroups",
            list(matching("^[^/]*$")).some().unique().about("API groups; \"\" is the core group, \"*\" all."),
        )
        .required(
            "resources",
            list(resource).some().unique().about("Plural names, a subresource after a slash, or \"*\"."),
        )
        .required(
            "verbs",
            list(one_of(&["get", "list", "create", "update", "patch", "delete", "*"]))
                .some()
                .unique()
                .about("What is done."),
        )
        .key("resourceNames", list(text()).some().unique().about("Only objects with these names."))
        .key("namespaces", list(text()).some().unique().about("Only in these namespaces."))
        .build()
}

pub(super) fn limits() -> Value {
    object("Bounds of one run.")
        .key("memory", reference("bytes", "Linear memories and tables together.").default("64Mi"))
        .key("time", reference("duration", "From start to end, at least 1ms.").default("10s"))
        .key("hostCalls", integer(0, i64::MAX).default(10_000).about("Calls of imported functions."))
        .key("hostBytes", reference("bytes", "Bytes that these calls pass in either direction.").default("64Mi"))
        .key("logBytes", reference("bytes", "Bytes of log lines.").default("1Mi"))
        .build()
}

pub(super) fn retry() -> Value {
    let last = "Runs at most, the first one included; then the triggers become a dead letter. Without it: no end.";
    object("How failed runs are repeated.")
        .key("initial", reference("duration", "The delay before the second run, at least 1ms.").default("5s"))
        .key("max", reference("duration", "No delay is longer, jitter aside.").default("32s"))
        .key("multiplier", number(1.0, 100.0).default(2).about("Each delay is this many times the one before."))
        .key("jitter", number(0.0, 1.0).default(0.1).about("Up to this share of a delay is added by chance."))
        .key("attempts", integer(1, i64::from(u32::MAX)).about(last))
        .build()
}

pub(super) fn settings() -> Value {
    let tokens = "Runs that may follow each other without waiting; 0 counts as 1.";
    object("How often the hook may run, by all its triggers together. Answers to the API server don't count.")
        .required("executionMinInterval", reference("duration", "The time from run to run on average; 0s is no limit."))
        .required("executionBurst", integer(0, i64::from(u32::MAX)).about(tokens))
        .build()
}

pub(super) fn failure_events() -> Value {
    let regarding = object("The object that they are about.")
        .required("apiVersion", reference("apiVersion", "Its API version."))
        .required("kind", some_text().about("Its kind."))
        .key("namespace", some_text().about("Its namespace; left out for objects that have none."))
        .required("name", some_text().about("Its name."))
        .build();
    object("Kubernetes Events about failed runs.").required("regarding", regarding).build()
}
