//! The schema of `kubernetesValidating[]`, `kubernetesMutating[]` and `kubernetesCustomResourceConversion[]`.

use serde_json::{Value, json};

use super::parts::{Object, boolean, integer, list, matching, object, one_of, reference, some_text, text};

/// A domain name of at least three parts.
const WEBHOOK: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?){2,}$";
const CRD: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$";
const VERSION: &str =
    "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$";
const WORD: &str = "^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$";

pub(super) fn validating() -> Value {
    admission("Allows or denies requests to the API server.").build()
}

pub(super) fn mutating() -> Value {
    admission("Changes objects of requests to the API server, and may deny them.")
        .key(
            "reinvocationPolicy",
            one_of(&["Never", "IfNeeded"])
                .default("Never")
                .about("Whether the hook is asked again when others have changed the object after it."),
        )
        .build()
}

fn admission(about: &str) -> Object {
    let binding = object(about)
        .required(
            "name",
            matching(WEBHOOK)
                .with("maxLength", 253)
                .with("examples", ["image-policy.example.com"])
                .about("The webhook's name: a domain name of three parts or more, of which the hook has only one."),
        )
        .required("rules", list(rule()).some().about("The requests that the hook is asked about."))
        .key(
            "failurePolicy",
            one_of(&["Ignore", "Fail"])
                .default("Fail")
                .about("What the API server makes of a hook that fails or does not answer: goes on, or refuses."),
        )
        .key(
            "sideEffects",
            one_of(&["None", "NoneOnDryRun"]).default("None").about(
                "Whether the hook writes to the cluster when it is asked. Writes are dry runs where the request is.",
            ),
        )
        .key("timeoutSeconds", integer(1, 30).default(10).about("How long the API server waits for the answer."))
        .key("matchConditions", list(condition()).some().with("maxItems", 64).about("All of these must hold, too."))
        .key(
            "matchPolicy",
            one_of(&["Exact", "Equivalent"])
                .default("Equivalent")
                .about("Whether requests by another version of a kind match."),
        )
        .key("labelSelector", reference("labelSelector", "Objects with these labels, before or after the change."))
        .key("namespace", namespace())
        .key("auditAnnotations", annotations());
    snapshots(binding)
}

fn rule() -> Value {
    let some = |about: &str| list(some_text()).some().about(about);
    object("What a request is about.")
        .required("apiGroups", list(text()).some().about("\"\" is the core group, \"*\" all."))
        .required("apiVersions", some("Like v1; \"*\" is all."))
        .required(
            "resources",
            some("Plural names, with subresources as pods/status; \"*\" is all but these, \"*/*\" all."),
        )
        .required("operations", list(one_of(&["CREATE", "UPDATE", "DELETE", "CONNECT", "*"])).some())
        .key("scope", one_of(&["Cluster", "Namespaced", "*"]).default("*"))
        .build()
}

fn condition() -> Value {
    object("A condition on the request.")
        .required("name", some_text().about("Its name, for messages."))
        .required(
            "expression",
            some_text()
                .with("examples", ["object.metadata.name != 'x'"])
                .about("CEL, evaluated by the API server: object, oldObject, request, authorizer."),
        )
        .build()
}

fn namespace() -> Value {
    object("Objects in these namespaces, and those without one.")
        .key("labelSelector", reference("labelSelector", "Namespaces with these labels."))
        .key(
            "includeSystem",
            boolean(false).about(
                "Also kube-system and the operator's own namespace, which are left out so that a broken hook can't lock \
                 the cluster.",
            ),
        )
        .build()
}

fn annotations() -> Value {
    json!({
        "description": "Added to each answer, for the API server's audit log.",
        "type": "object",
        "propertyNames": { "pattern": WORD },
        "additionalProperties": { "type": "string" },
    })
}

pub(super) fn conversion() -> Value {
    let version = |about: &str| matching(VERSION).with("examples", ["v1", "stable.example.com/v1"]).about(about);
    let step = object("One step.")
        .required("fromVersion", version("What it takes."))
        .required("toVersion", version("What it makes of it."))
        .build();
    let binding = object("Converts the objects of a custom resource between its versions.")
        .required("name", some_text().about("What its runs are called."))
        .required(
            "crdName",
            matching(CRD)
                .with("maxLength", 253)
                .with("examples", ["crontabs.stable.example.com"])
                .about("The name of the CustomResourceDefinition."),
        )
        .required(
            "conversions",
            list(step).some().about("The steps that the hook can do. The host makes chains of them."),
        );
    snapshots(binding).build()
}

fn snapshots(binding: Object) -> Object {
    binding
        .key("group", some_text().about("The runs may open the snapshots of all kubernetes bindings of this group."))
        .key(
            "includeSnapshotsFrom",
            list(text()).some().about("Names of kubernetes bindings whose snapshots the runs of this one may open."),
        )
}
