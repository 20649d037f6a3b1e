//! Prepares the next version of an object: what a client may change, and what follows from it.

use serde_json::Value;

use super::create::Origin;
use super::kinds::qos_class;
use super::{admit, create, defaults, kinds};
use crate::context::Context;
use crate::json;
use crate::kinds::{Resource, Sub, custom};
use crate::patch::managed;
use crate::status::{Cause, Failure};
use crate::validate::{data, metadata, objects};

/// Metadata that only the server writes.
const SYSTEM: &[&str] = &["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation"];

/// Prepares `new`, in the resource's version, for webhooks: checked, with defaults and managedFields, still in that
/// version. Returns warnings about dropped fields.
pub(crate) fn draft(
    resource: &Resource,
    old: &Value,
    new: &mut Value,
    sub: Option<Sub>,
    origin: Origin,
    context: &Context,
) -> Result<Vec<String>, Failure> {
    create::check_type(resource, new)?;
    create::set_namespace(resource, new, json::text(old, &["metadata", "namespace"]))?;
    resource.to_storage(new);
    let warnings = create::check_fields(resource, new, origin, context)?;
    defaults::apply(resource, new);
    if origin.writes_managers() {
        let mut whole = new.clone();
        keep_system_metadata(old, &mut whole);
        keep_managers(old, &mut whole, origin);
        complete(resource, old, &mut whole, sub);
        managed::on_update(resource, Some(old), &mut whole, sub.map_or("", Sub::name), context);
        copy(&whole, new, "managedFields");
    }
    resource.show_stored(new);
    Ok(warnings)
}

/// Keeps managedFields unless the client sets or resets them.
fn keep_managers(old: &Value, new: &mut Value, origin: Origin) {
    if origin.writes_managers() && is_reset(json::metadata(new).get("managedFields")) {
        json::metadata(new).shift_remove("managedFields");
    } else if origin == Origin::Put && json::at(new, &["metadata", "managedFields"]).is_none() {
        copy(old, new, "managedFields");
    }
}

/// Adds what follows from the client's changes, and restores what the client may not change.
fn complete(resource: &Resource, old: &Value, new: &mut Value, sub: Option<Sub>) {
    separate(resource, old, new, sub);
    kinds::carry_over(resource, old, new, sub);
    defaults::apply(resource, new);
    kinds::on_update(resource, new, sub);
}

/// Completes `new`, in the resource's version, on top of `old`, in the storage version. Returns warnings about dropped
/// fields.
pub(crate) fn prepare(
    resource: &Resource,
    old: &Value,
    new: &mut Value,
    sub: Option<Sub>,
    origin: Origin,
    context: &Context,
) -> Result<Vec<String>, Failure> {
    create::check_type(resource, new)?;
    let name = json::text(old, &["metadata", "name"]).to_owned();
    create::set_namespace(resource, new, json::text(old, &["metadata", "namespace"]))?;
    resource.to_storage(new);
    check_identity(resource, old, new, &name, origin)?;
    let given = json::at(new, &["metadata", "deletionTimestamp"]).cloned();
    let rewritten =
        given.filter(|given| !given.is_null() && Some(given) != json::at(old, &["metadata", "deletionTimestamp"]));
    keep_system_metadata(old, new);
    keep_managers(old, new, origin);
    let mut warnings = create::check_fields(resource, new, origin, context)?;
    complete(resource, old, new, sub);
    let mut causes = metadata::common(resource, new);
    causes.extend(finalizer_problem(old, new));
    if let Some(given) = rewritten {
        causes.push(Cause::invalid("metadata.deletionTimestamp", &given, "field is immutable"));
    }
    if resource.custom.is_none() {
        // The real server checks the metadata of built-in kinds twice, and reports problems twice.
        causes.extend_from_within(..);
    }
    match &resource.custom {
        Some(kind) => {
            let found = custom::check(kind, new, Some(old), sub);
            causes.extend(found.causes);
            warnings.extend(found.warnings);
        }
        None => causes.extend(objects::problems(resource, new, Some(old))),
    }
    causes.extend(frozen_problem(resource, old, new, sub));
    if sub == Some(Sub::Status) {
        causes.extend(objects::status_problems(&resource.storage, old, new));
    }
    if sub.is_none() {
        causes.extend(objects::immutable_problems(resource, old, new));
    }
    if !causes.is_empty() {
        return Err(resource.invalid(&name, &causes).with_warnings(warnings));
    }
    count_generation(resource, old, new);
    if origin.writes_managers() {
        managed::on_update(resource, Some(old), new, sub.map_or("", Sub::name), context);
    }
    admit::retype(resource, old, new);
    admit::always(resource, new);
    if &*resource.storage == "secrets" {
        warnings.extend(data::warnings(new));
    }
    Ok(warnings)
}

/// With an empty list, or a list of one empty entry, a client resets ownership.
fn is_reset(fields: Option<&Value>) -> bool {
    match fields.and_then(Value::as_array).map(Vec::as_slice) {
        Some([]) => true,
        Some([one]) => json::is_empty(Some(one)),
        _ => false,
    }
}

fn check_identity(resource: &Resource, old: &Value, new: &Value, name: &str, origin: Origin) -> Result<(), Failure> {
    let given = json::text(new, &["metadata", "name"]);
    if given.is_empty() {
        return Err(nameless(name));
    }
    if given != name {
        return Err(Failure::bad_request(format!(
            "the name of the object ({given}) does not match the name on the URL ({name})"
        )));
    }
    let (uid, wanted) = (json::text(new, &["metadata", "uid"]), json::text(old, &["metadata", "uid"]));
    if !uid.is_empty() && uid != wanted {
        if origin.is_put() {
            return Err(uid_conflict(resource, old, uid, wanted));
        }
        let cause = Cause::invalid("metadata.uid", &uid.into(), "field is immutable");
        return Err(resource.invalid(name, &[cause.clone(), cause]));
    }
    let version = json::text(new, &["metadata", "resourceVersion"]);
    if version.is_empty() || version == "0" {
        if origin.is_put() && must_be_conditional(resource) {
            let cause = Cause {
                reason: "FieldValueInvalid",
                message: "Invalid value: 0: must be specified for an update".into(),
                field: "metadata.resourceVersion".into(),
            };
            return Err(Failure::invalid(&resource.group, &resource.plural, name, &[cause]));
        }
    } else if version.parse::<u64>().is_err() {
        return Err(Failure::internal(format!("strconv.ParseUint: parsing \"{version}\": invalid syntax")));
    } else if version != json::text(old, &["metadata", "resourceVersion"]) {
        return Err(Failure::modified(resource.gr(), name));
    }
    Ok(())
}

/// The error for a request to a name whose body has no name.
pub(crate) fn nameless(name: &str) -> Failure {
    Failure::bad_request(format!(
        "the name of the object ({name} based on URL) was undeterminable: name must be provided"
    ))
}

fn uid_conflict(resource: &Resource, old: &Value, uid: &str, wanted: &str) -> Failure {
    let namespace = json::text(old, &["metadata", "namespace"]);
    let name = json::text(old, &["metadata", "name"]);
    let key = crate::store::key(namespace, name);
    let group = if resource.custom.is_some() { format!("{}/", resource.group) } else { String::new() };
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: /registry/{group}{}/{key}, ResourceVersion: 0, AdditionalErrorMsg: \
         Precondition failed: UID in precondition: {uid}, UID in object meta: {wanted}",
        resource.plural
    );
    Failure::conflict(resource.gr(), name, &why)
}

/// Kinds whose PUT must contain a resourceVersion.
fn must_be_conditional(resource: &Resource) -> bool {
    resource.custom.is_some()
        || matches!(
            resource.group.as_str(),
            "coordination.k8s.io" | "apiextensions.k8s.io" | "admissionregistration.k8s.io" | "policy"
        )
}

fn copy(old: &Value, new: &mut Value, key: &str) {
    match json::at(old, &["metadata", key]) {
        Some(value) => json::metadata(new).insert(key.to_owned(), value.clone()),
        None => json::metadata(new).shift_remove(key),
    };
}

fn keep_system_metadata(old: &Value, new: &mut Value) {
    for key in SYSTEM {
        copy(old, new, key);
    }
    copy(old, new, "resourceVersion");
    json::metadata(new).shift_remove("selfLink");
    json::metadata(new).retain(|_, value| !value.is_null());
}

/// Restores the part of the object that this request may not change.
fn separate(resource: &Resource, old: &Value, new: &mut Value, sub: Option<Sub>) {
    match sub {
        Some(Sub::Status) => {
            let status = json::object(new).shift_remove("status");
            let meta = json::metadata(new).clone();
            let mut kept = old.clone();
            match status {
                Some(status) => json::object(&mut kept).insert("status".into(), status),
                None => json::object(&mut kept).shift_remove("status"),
            };
            let mut keys = vec!["managedFields"];
            if resource.custom.is_none() && resource.group != "apiextensions.k8s.io" {
                keys.extend(["annotations", "finalizers", "ownerReferences"]);
                if !resource.is("apps", "deployments") {
                    keys.push("labels");
                }
            }
            for key in keys {
                match meta.get(key) {
                    Some(value) => json::metadata(&mut kept).insert(key.to_owned(), value.clone()),
                    None => json::metadata(&mut kept).shift_remove(key),
                };
            }
            if &*resource.storage == "pods" {
                complete_pod_status(old, &mut kept);
            }
            *new = kept;
        }
        Some(Sub::EphemeralContainers) => {
            let containers = json::at(new, &["spec", "ephemeralContainers"]).cloned();
            let managed = json::at(new, &["metadata", "managedFields"]).cloned();
            let mut kept = old.clone();
            if let Some(containers) = containers {
                json::child(json::object(&mut kept), "spec").insert("ephemeralContainers".into(), containers);
            }
            if let Some(managed) = managed {
                json::metadata(&mut kept).insert("managedFields".into(), managed);
            }
            *new = kept;
        }
        Some(Sub::Resize) => *new = resized(old, new),
        _ if resource.has(Sub::Status) => {
            match old.get("status") {
                Some(status) => json::object(new).insert("status".into(), status.clone()),
                None => json::object(new).shift_remove("status"),
            };
        }
        _ => {}
    }
}

/// The fields of a pod's status that the server derives or keeps.
fn complete_pod_status(old: &Value, pod: &mut Value) {
    let class = json::at(old, &["status", "qosClass"]).cloned();
    let status = json::child(json::object(pod), "status");
    let address = status.get("podIP").filter(|ip| ip.is_string()).cloned();
    if let Some(address) = address
        && json::is_empty(status.get("podIPs"))
    {
        status.insert("podIPs".into(), serde_json::json!([{ "ip": address }]));
    }
    if let Some(class) = class {
        json::default(status, "qosClass", class);
    }
}

fn finalizer_problem(old: &Value, new: &Value) -> Option<Cause> {
    json::at(old, &["metadata", "deletionTimestamp"])?;
    let before = json::list(old, &["metadata", "finalizers"]);
    let added: Vec<String> = json::list(new, &["metadata", "finalizers"])
        .iter()
        .filter(|f| !before.contains(f))
        .map(ToString::to_string)
        .collect();
    (!added.is_empty()).then(|| {
        let why = format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
            added.join(", ")
        );
        Cause::forbidden("metadata.finalizers", why)
    })
}

/// Everything except metadata is desired state, and also except status where it is a subresource.
fn count_generation(resource: &Resource, old: &Value, new: &mut Value) {
    if !resource.generation {
        return;
    }
    let changed = {
        let (Value::Object(a), Value::Object(b)) = (old, &*new) else {
            return;
        };
        let counts = |key: &str| {
            !matches!(key, "metadata" | "apiVersion" | "kind")
                && !(key == "status" && (resource.has(Sub::Status) || resource.custom.is_none()))
        };
        let missing = |a: &serde_json::Map<String, Value>, b: &serde_json::Map<String, Value>| {
            a.iter().any(|(key, value)| counts(key) && b.get(key) != Some(value))
        };
        missing(a, b) || missing(b, a)
    };
    if changed {
        let generation = json::int(old, &["metadata", "generation"]).unwrap_or_default() + 1;
        json::metadata(new).insert("generation".into(), generation.into());
    }
}

/// Fields of a StatefulSet's spec that may change.
const STATEFUL_SET: &[&str] = &[
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
];

/// The problem of `new`, which replaces `old`. Both are complete.
pub(super) fn frozen_problem(resource: &Resource, old: &Value, new: &Value, sub: Option<Sub>) -> Option<Cause> {
    match (&*resource.storage, sub) {
        ("services", Some(Sub::Status)) => load_balancer(new),
        ("pods", Some(Sub::Resize)) => qos_problem(old, new),
        ("statefulsets.apps", None) => stateful_set(old, new),
        _ => None,
    }
}

fn load_balancer(service: &Value) -> Option<Cause> {
    let balanced = !json::list(service, &["status", "loadBalancer", "ingress"]).is_empty();
    let why = "may only be used when `spec.type` is 'LoadBalancer'";
    let wrong = balanced && json::text(service, &["spec", "type"]) != "LoadBalancer";
    wrong.then(|| Cause::forbidden("status.loadBalancer.ingress", why))
}

fn stateful_set(old: &Value, new: &Value) -> Option<Cause> {
    let fixed = |set: &Value| {
        let mut spec = set.get("spec").cloned().unwrap_or_default();
        json::object(&mut spec).retain(|key, value| !STATEFUL_SET.contains(&key.as_str()) && !value.is_null());
        spec
    };
    let why = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', \
        'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
    (fixed(old) != fixed(new)).then(|| Cause::forbidden("spec", why))
}

/// The old pod with the resources of the new one.
pub(super) fn resized(old: &Value, new: &Value) -> Value {
    let mut pod = old.clone();
    for key in ["containers", "initContainers"] {
        let wanted = json::list(new, &["spec", key]);
        let containers = pod.get_mut("spec").and_then(|spec| spec.get_mut(key)).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            let name = json::text(container, &["name"]);
            let same = wanted.iter().find(|c| json::text(c, &["name"]) == name);
            if let Some(resources) = same.and_then(|c| c.get("resources")).cloned() {
                json::object(container).insert("resources".into(), resources);
            }
        }
    }
    if let Some(managed) = json::at(new, &["metadata", "managedFields"]).cloned() {
        json::metadata(&mut pod).insert("managedFields".into(), managed);
    }
    pod
}

/// The QoS class of a pod cannot change.
pub(super) fn qos_problem(old: &Value, new: &Value) -> Option<Cause> {
    let (before, after) = (qos_class(old), qos_class(new));
    let why = "Pod QOS Class may not change as a result of resizing";
    (before != after).then(|| Cause::invalid("spec", &before.into(), why))
}
