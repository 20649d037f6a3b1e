//! The schema of `schedule[]` and `kubernetes[]`.

use serde_json::Value;

use super::parts::{Object, boolean, list, object, one_of, reference, some_text, text};

const ZONES: [&str; 2] = ["Europe/Berlin", "America/New_York"];

pub(super) fn crontab() -> Value {
    some_text()
        .with("maxLength", 1000)
        .with("examples", ["*/5 * * * *", "0 30 3 * * mon-fri", "TZ=Asia/Tokyo @daily", "@every 90s"])
        .about(
            "5 fields (minute, hour, day of month, month, day of week), 6 with seconds first, or one of @yearly, \
             @monthly, @weekly, @daily, @hourly and @every with a duration; TZ=Area/City and a blank may stand before.",
        )
        .into()
}

pub(super) fn schedule() -> Value {
    let schedule = object("Runs the hook by the clock.")
        .required("crontab", reference("crontab", "When."))
        .key(
            "name",
            some_text().default("schedule").about("What its triggers are called. Others may have the same name."),
        )
        .key(
            "timeZone",
            some_text()
                .with("examples", ZONES)
                .about("IANA name of the crontab's time zone; without it the operator's."),
        )
        .key(
            "missedRuns",
            one_of(&["skip", "once"])
                .default("skip")
                .about("What becomes of times that passed while the hook could not run: nothing, or one run for all."),
        )
        .key("jitter", reference("duration", "Each run starts later by a random time up to this.").default("0s"));
    shared(schedule).build()
}

pub(super) fn kubernetes() -> Value {
    let events = || list(one_of(&["Added", "Modified", "Deleted"]));
    let binding = object("Runs the hook when objects of a kind change, and keeps a snapshot of them.")
        .required("kind", some_text().with("examples", ["Pod", "deployments"]).about("Kind, plural or short name."))
        .key(
            "name",
            some_text()
                .default("kubernetes")
                .about("What its triggers and its snapshot are called. Others may have the same name."),
        )
        .key("apiVersion", reference("apiVersion", "Without it the version that the API server prefers."))
        .key(
            "executeHookOnEvent",
            events()
                .default(["Added", "Modified", "Deleted"].as_slice())
                .about("The changes that run the hook; none: it is for its snapshot only."),
        )
        .key("watchEvent", events().with("deprecated", true).about("The older name of executeHookOnEvent, which wins."))
        .key(
            "executeHookOnSynchronization",
            boolean(true).about("Whether the hook runs once with the objects that exist when it starts."),
        )
        .key(
            "waitForSynchronization",
            boolean(true).about(
                "Whether the hook's other triggers, and its readiness, wait until this binding's synchronization has \
                 succeeded. The binding's own events always do.",
            ),
        )
        .key(
            "resynchronizationPeriod",
            reference("duration", "List all objects again after this time, and deliver what differs as events. At least 1s; without it never."),
        )
        .key("ignoreOwnWrites", boolean(false).about("A change that this hook made does not run it."))
        .key(
            "debounce",
            reference(
                "duration",
                "An event waits until its object has not changed for this time, and at most ten times as long. Changes \
                 within that time are delivered as one event.",
            )
            .default("0s"),
        )
        .key("previousObject", boolean(false).about("Modified events bring the object as it was before."))
        .key(
            "content",
            one_of(&["full", "metadata", "none"]).default("full").about(
                "What of each object is kept and delivered: all but managed fields, apiVersion with kind and metadata, \
                 or only what jqFilter gives.",
            ),
        )
        .key("keepFullObjectsInMemory", boolean(true).about("shell-operator's key; false is `content: none`."))
        .key(
            "jqFilter",
            text()
                .with("examples", [".metadata.labels"])
                .about("A jq program. Only when its result changes the hook runs, and it is delivered as filterResult."),
        )
        .key("nameSelector", reference("names", "Objects with one of these names."))
        .key("labelSelector", reference("labelSelector", "Objects with these labels."))
        .key("fieldSelector", reference("fieldSelector", "Objects whose fields have these values."))
        .key("namespace", namespace());
    shared(binding).build()
}

fn namespace() -> Value {
    object("Objects in these namespaces. With both selectors a namespace must fit both.")
        .key("nameSelector", reference("names", "Namespaces with one of these names."))
        .key("labelSelector", reference("labelSelector", "Namespaces with these labels, as they come and go."))
        .build()
}

/// The keys that both have.
fn shared(binding: Object) -> Object {
    binding
        .key(
            "group",
            some_text().about(
                "Bindings of one group run the hook together, and may open the snapshots of all its kubernetes bindings.",
            ),
        )
        .key(
            "includeSnapshotsFrom",
            list(text()).some().about("Names of kubernetes bindings whose snapshots the runs of this one may open."),
        )
        .key(
            "queue",
            some_text().with("examples", ["main"]).about(
                "The queue of its triggers, shared with all bindings of all hooks that name it. Without it: the hook's own.",
            ),
        )
        .key("allowFailure", boolean(false).about("A failed run counts as done."))
        .key("retry", reference("retry", "What happens after a failed run."))
}
