//! What a fresh cluster holds: the four namespaces every cluster has.
//!
//! Never runs twice on one store.

use serde_json::{Value, json};

use super::update::Origin;
use super::{Context, Validation, create};
use crate::kinds::Registry;
use crate::store::{Store, Stored};

const NAMESPACES: &[&str] = &["default", "kube-node-lease", "kube-public", "kube-system"];

pub(crate) fn seed(store: &Store, registry: &Registry) {
    let Some(resource) = registry.find("", "v1", "namespaces") else {
        return;
    };
    let context =
        Context { now: crate::time::now(), manager: "boathook".into(), dry_run: false, validation: Validation::Ignore };
    for name in NAMESPACES {
        let mut object = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        if let Err(failure) = create::prepare(resource, &mut object, "", Origin::Put, &context) {
            tracing::error!(name, message = failure.message(), "cannot seed a namespace");
            continue;
        }
        let mut inner = store.write();
        let revision = inner.next_revision();
        let version = Value::from(revision.to_string());
        crate::json::metadata(&mut object).insert("resourceVersion".into(), version);
        let stored = Stored::build(&object, revision, resource.index(&object));
        inner.put(&resource.storage, stored);
    }
}
