//! The lifecycle of objects: they are prepared, committed, finalized and removed. Namespaces and definitions empty
//! themselves.

mod admit;
pub(crate) mod collect;
pub(crate) mod commit;
pub(crate) mod create;
mod defaults;
mod kinds;
pub(crate) mod plugins;
pub(crate) mod update;

use serde_json::{Value, json};

use self::create::Origin;
use crate::context::{Context, Validation};
use crate::kinds::Registry;
use crate::store::{Store, Stored};

pub(crate) use commit::delete;
pub(crate) use defaults::apply as defaults;

const NAMESPACES: &[&str] = &["default", "kube-node-lease", "kube-public", "kube-system"];

pub(crate) fn seed(store: &Store, registry: &Registry) {
    for name in NAMESPACES {
        seed_object(store, registry, json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } }));
    }
}

/// Stores an object in a store that is not in use yet.
pub(crate) fn seed_object(store: &Store, registry: &Registry, mut object: Value) {
    let text = |path: &[&str]| crate::json::text(&object, path).to_owned();
    let (kind, namespace) = (text(&["kind"]), text(&["metadata", "namespace"]));
    let Some(resource) = registry.of_kind(&text(&["apiVersion"]), &kind) else {
        return;
    };
    let context =
        Context { now: crate::time::now(), manager: "boathook".into(), dry_run: false, validation: Validation::Ignore };
    if let Err(failure) = create::prepare(resource, &mut object, &namespace, Origin::Put, &context) {
        tracing::error!(kind, message = failure.message(), "cannot seed an object");
        return;
    }
    let mut inner = store.write();
    let revision = inner.next_revision();
    let version = Value::from(revision.to_string());
    crate::json::metadata(&mut object).insert("resourceVersion".into(), version);
    let stored = Stored::build(&object, revision, resource.index(&object));
    inner.put(&resource.storage, stored);
}
