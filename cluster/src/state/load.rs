//! Loads objects into a new store, in the order of their dependencies. Only the initial namespaces and roles are
//! overwritten.

use std::collections::HashMap;

use serde_json::Value;

use super::{Document, State, StateError};
use crate::context::{Context, Validation};
use crate::json;
use crate::lifecycle::create::Origin;
use crate::lifecycle::{commit, create, update};
use crate::shared::Shared;
use crate::status::Failure;
use crate::store::key;

/// Group, kind, namespace and name.
type Identity = (String, String, String, String);

/// Namespaces come first, then definitions.
pub(super) fn rank(object: &Value) -> u8 {
    match (json::text(object, &["apiVersion"]), json::text(object, &["kind"])) {
        ("v1", "Namespace") => 0,
        (version, "CustomResourceDefinition") if version.starts_with("apiextensions.k8s.io/") => 1,
        _ => 2,
    }
}

pub(crate) fn load(shared: &Shared, state: &State) -> Result<(), StateError> {
    let mut documents: Vec<&Document> = state.documents.iter().collect();
    documents.sort_by_key(|d| rank(&d.object));
    // Owners may come after their dependents, so all uids are chosen before any object is stored.
    let mut uids = HashMap::new();
    for document in &documents {
        let uid = create::uid();
        uids.extend(identities(&document.object).into_iter().map(|id| (id, uid.clone())));
    }
    for document in documents {
        put(shared, document, &uids).map_err(|failure| document.problem(failure.message()))?;
    }
    Ok(())
}

fn identity(reference: &Value, name: &[&str], namespace: &str) -> Identity {
    let version = json::text(reference, &["apiVersion"]);
    let group = version.split_once('/').map_or("", |(group, _)| group);
    (group.into(), json::text(reference, &["kind"]).into(), namespace.into(), json::text(reference, name).into())
}

fn namespace(object: &Value) -> &str {
    match json::text(object, &["metadata", "namespace"]) {
        "" => "default",
        namespace => namespace,
    }
}

/// Whether a kind is namespaced is known only after its definition is loaded, so an object without a namespace has two
/// identities.
fn identities(object: &Value) -> Vec<Identity> {
    let name = &["metadata", "name"];
    let mut found = vec![identity(object, name, namespace(object))];
    if json::text(object, &["metadata", "namespace"]).is_empty() {
        found.push(identity(object, name, ""));
    }
    found
}

fn put(shared: &Shared, document: &Document, uids: &HashMap<Identity, String>) -> Result<(), Failure> {
    let given = &document.object;
    let (version, kind) = (json::text(given, &["apiVersion"]), json::text(given, &["kind"]));
    let registry = shared.registry();
    let unknown =
        || Failure::bad_request(format!("the cluster serves no kind {kind} in {version}; load its definition"));
    let resource = registry.of_kind(version, kind).ok_or_else(unknown)?;
    let namespace = if resource.namespaced { namespace(given) } else { "" };
    let context =
        Context { now: crate::time::now(), manager: "boathook".into(), dry_run: false, validation: Validation::Ignore };
    let mut object = given.clone();
    let meta = json::metadata(&mut object);
    meta.shift_remove("resourceVersion");
    point_to_owners(&mut object, resource.namespaced.then_some(namespace), uids);
    let name = json::text(given, &["metadata", "name"]);
    let seeded = shared.store.get(&resource.storage, &key(namespace, name));
    if let Some(seeded) = seeded.filter(|s| rank(given) == 0 || s.label("kubernetes.io/bootstrapping").is_some()) {
        json::metadata(&mut object).shift_remove("uid");
        let old = seeded.value();
        update::prepare(resource, &old, &mut object, None, Origin::Put, &context)?;
        return match commit::replace(shared, resource, &seeded, object, &context) {
            Ok(_) => Ok(()),
            Err(commit::Lost) => Err(Failure::modified(resource.gr(), name)),
        };
    }
    create::prepare(resource, &mut object, namespace, Origin::Put, &context)?;
    if let Some(uid) = uids.get(&identity(given, &["metadata", "name"], namespace)) {
        json::metadata(&mut object).insert("uid".into(), uid.as_str().into());
    }
    if let Some(status) = given.get("status").filter(|_| rank(given) == 2) {
        json::object(&mut object).insert("status".into(), status.clone());
    }
    tracing::debug!(kind, key = key(namespace, name), "loaded");
    commit::insert(shared, resource, object, &context).map(|_| ())
}

/// Sets the uids in owner references to those of the owners in this cluster. References to owners that are not loaded
/// are dropped, because the garbage collector would delete the object.
fn point_to_owners(object: &mut Value, namespace: Option<&str>, uids: &HashMap<Identity, String>) {
    let meta = json::metadata(object);
    let Some(Value::Array(owners)) = meta.get_mut("ownerReferences") else {
        return;
    };
    owners.retain_mut(|owner| {
        let in_namespace = namespace.and_then(|n| uids.get(&identity(owner, &["name"], n)));
        let found = in_namespace.or_else(|| uids.get(&identity(owner, &["name"], "")));
        match found {
            Some(uid) => {
                json::object(owner).insert("uid".into(), uid.as_str().into());
                true
            }
            None => {
                tracing::warn!(
                    owner = json::text(owner, &["name"]),
                    "an owner is not loaded; its dependent forgets it"
                );
                false
            }
        }
    });
    if owners.is_empty() {
        meta.shift_remove("ownerReferences");
    }
}
