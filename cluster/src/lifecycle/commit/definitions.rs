//! Accepts the names of a written definition, and serves its resources.

use super::store;
use crate::context::Context;
use crate::json;
use crate::kinds::{Resource, crd};
use crate::patch::managed;
use crate::shared::Shared;
use crate::store::Query;

/// The controllers of the real server write in the server's own name.
const MANAGER: &str = "kube-apiserver";

/// Establishes the definition of this name, and serves what is established.
pub(super) fn establish(shared: &Shared, resource: &Resource, name: &str, context: &Context) {
    let context = Context { manager: MANAGER.to_owned(), ..context.clone() };
    // If the write is lost, another client changed the definition in the meantime, and that write settles it as well.
    while let Some(current) = shared.store.get(&resource.storage, name).filter(|c| !c.terminating) {
        let before = current.value();
        let group = json::text(&before, &["spec", "group"]);
        let is_other = |other: &crate::store::Stored| other.name() != name && other.name().ends_with(group);
        let query = Query { prefix: "", after: None, at: None, limit: 0, matches: &is_other };
        let others = shared.store.list(&resource.storage, &query);
        let others: Vec<_> = others.map(|page| page.items.iter().map(|o| o.value()).collect()).unwrap_or_default();
        let mut settled = before.clone();
        crd::establish(&mut settled, &others, &context.stamp());
        if settled == before {
            break;
        }
        managed::on_update(resource, Some(&before), &mut settled, "status", &context);
        if store(shared, resource, &current, settled).is_ok() {
            break;
        }
    }
    shared.rebuild_registry();
}
