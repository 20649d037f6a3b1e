//! The garbage collector, which deletes dependents in the background, in the foreground or not at all. It also ends
//! pods on nodes, as a kubelet would. It does not poll: the store reports which objects to check, and each pod has its
//! time.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::commit::{self, drop_from};
use super::delete::{DeleteOptions, Outcome, Preconditions, Propagation, delete};
use crate::context::{Context, Validation};
use crate::json;
use crate::kinds::Resource;
use crate::patch::managed;
use crate::shared::Shared;
use crate::store::{FOREGROUND, ORPHAN, Owner, Place, Stored, key};

/// Number of objects to check before other tasks run.
const TURN: usize = 32;

/// Runs until the cluster stops.
pub(crate) async fn run(shared: Arc<Shared>) {
    let changed = shared.store.write().work().changed();
    loop {
        let mut looked = 0;
        while let Some(place) = take(&shared) {
            look(&shared, &place);
            looked += 1;
            if looked % TURN == 0 {
                tokio::task::yield_now().await;
            }
        }
        let due = end_pods(&shared);
        tokio::select! {
            () = shared.stop.cancelled() => return,
            () = changed.notified() => {}
            () = sleep(due) => {}
        }
    }
}

fn take(shared: &Shared) -> Option<Place> {
    shared.store.write().work().next()
}

async fn sleep(duration: Option<Duration>) {
    match duration {
        Some(duration) => tokio::time::sleep(duration).await,
        None => std::future::pending().await,
    }
}

/// Removes pods whose time is over. Returns the time until the next one.
fn end_pods(shared: &Shared) -> Option<Duration> {
    let context = context();
    let registry = shared.registry();
    loop {
        let (at, place) = shared.store.write().work().next_end()?;
        if at > context.now {
            return Some(Duration::try_from(at.duration_since(context.now)).unwrap_or_default());
        }
        shared.store.write().work().ended(at, &place);
        if let Some(resource) = registry.of_storage(&place.storage) {
            let options = DeleteOptions { grace: Some(0), ..DeleteOptions::default() };
            // Another client may have removed it in the meantime.
            let _gone = delete(shared, resource, &place.key, &options, &context);
        }
    }
}

fn context() -> Context {
    Context {
        now: crate::time::now(),
        manager: "kube-controller-manager".into(),
        dry_run: false,
        validation: Validation::Ignore,
    }
}

/// The state of an owner.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Solid,
    Absent,
    /// The owner is deleted in the foreground.
    Waiting,
    /// Its kind is not served.
    Unknown,
    /// A cluster-scoped object cannot have a namespaced owner.
    Impossible,
}

fn look(shared: &Shared, place: &Place) {
    let registry = shared.registry();
    let Some(resource) = registry.of_storage(&place.storage).filter(|r| &*r.storage != "events") else {
        return;
    };
    let Some(object) = shared.store.get(&place.storage, &place.key) else {
        return;
    };
    if object.terminating {
        if object.orphan {
            release_dependents(shared, resource, place, &object);
        } else if object.foreground && !is_blocked(shared, &object) {
            drop_finalizer(shared, resource, place, &object.uid, FOREGROUND);
        }
        return;
    }
    judge(shared, resource, place, &object);
}

fn state(shared: &Shared, resource: &Resource, object: &Stored, owner: &Owner) -> State {
    let Some(kind) = shared.registry().of_kind(&owner.api_version, &owner.kind).cloned() else {
        return State::Unknown;
    };
    if kind.namespaced && !resource.namespaced {
        return State::Impossible;
    }
    let namespace = if kind.namespaced { object.namespace() } else { "" };
    match shared.store.get(&kind.storage, &key(namespace, &owner.name)).filter(|found| found.uid == owner.uid) {
        None => State::Absent,
        Some(found) if found.terminating && found.foreground => State::Waiting,
        Some(_) => State::Solid,
    }
}

/// Deletes an object without any owner left, or removes references to owners that are gone.
fn judge(shared: &Shared, resource: &Resource, place: &Place, object: &Arc<Stored>) {
    let states: Vec<State> = object.owners.iter().map(|o| state(shared, resource, object, o)).collect();
    if states.is_empty() || states.contains(&State::Impossible) {
        return;
    }
    if states.contains(&State::Unknown) {
        shared.store.write().work().park(place.clone());
        return;
    }
    if states.contains(&State::Solid) {
        let gone = object.owners.iter().zip(&states).filter(|(_, state)| **state != State::Solid);
        let gone: Vec<&str> = gone.map(|(owner, _)| &*owner.uid).collect();
        disown(shared, resource, place, object, &gone);
        return;
    }
    let waiting = states.contains(&State::Waiting);
    let dependents = if waiting { shared.store.write().work().dependents(&object.uid) } else { Vec::new() };
    if dependents.iter().any(|d| shared.store.get(&d.storage, &d.key).is_some_and(|d| d.terminating && d.foreground)) {
        // In a cycle, the owners would wait for each other.
        edit(shared, resource, place, &object.uid, unblock);
    }
    let propagation = match (dependents.is_empty(), object.orphan, object.foreground) {
        (false, ..) => Propagation::Foreground,
        (_, true, _) => Propagation::Orphan,
        (_, _, true) => Propagation::Foreground,
        _ => Propagation::Background,
    };
    remove(shared, resource, place, &object.uid, propagation);
}

fn remove(shared: &Shared, resource: &Resource, place: &Place, uid: &str, propagation: Propagation) {
    let preconditions = Preconditions { uid: Some(uid.to_owned()), resource_version: None };
    let options = DeleteOptions { preconditions, propagation: Some(propagation), grace: None };
    match delete(shared, resource, &place.key, &options, &context()) {
        Ok(Outcome::Gone(_) | Outcome::Held(_)) => {}
        Err(failure) => tracing::debug!(key = &*place.key, message = failure.message(), "cannot collect an object"),
    }
}

fn is_blocked(shared: &Shared, owner: &Stored) -> bool {
    let dependents = shared.store.write().work().dependents(&owner.uid);
    dependents
        .iter()
        .filter_map(|d| shared.store.get(&d.storage, &d.key))
        .any(|dependent| dependent.owners.iter().any(|o| o.uid == owner.uid && o.blocks))
}

/// Orphaning: removes the owner from its dependents, after which it may be deleted.
fn release_dependents(shared: &Shared, resource: &Resource, place: &Place, owner: &Arc<Stored>) {
    let registry = shared.registry();
    let dependents = shared.store.write().work().dependents(&owner.uid);
    for dependent in dependents {
        let found = shared.store.get(&dependent.storage, &dependent.key);
        if let (Some(kind), Some(object)) = (registry.of_storage(&dependent.storage), found) {
            disown(shared, kind, &dependent, &object, &[&owner.uid]);
        }
    }
    drop_finalizer(shared, resource, place, &owner.uid, ORPHAN);
}

fn disown(shared: &Shared, resource: &Resource, place: &Place, object: &Stored, gone: &[&str]) {
    edit(shared, resource, place, &object.uid, |value| {
        drop_from(value, "ownerReferences", |owner| gone.contains(&json::text(owner, &["uid"])));
    });
}

fn drop_finalizer(shared: &Shared, resource: &Resource, place: &Place, uid: &str, name: &str) {
    edit(shared, resource, place, uid, |value| drop_from(value, "finalizers", |f| f == name));
}

fn unblock(object: &mut Value) {
    let owners = json::metadata(object).get_mut("ownerReferences").and_then(Value::as_array_mut);
    for owner in owners.into_iter().flatten() {
        json::object(owner).insert("blockOwnerDeletion".into(), false.into());
    }
}

/// Changes the metadata of an object, unless it is gone or nothing changes.
fn edit(shared: &Shared, resource: &Resource, place: &Place, uid: &str, change: impl Fn(&mut Value)) {
    let context = context();
    commit::edit(shared, resource, &place.key, &context, |current| {
        let old = current.value();
        let mut new = old.clone();
        change(&mut new);
        managed::on_update(resource, Some(&old), &mut new, "", &context);
        (*current.uid == *uid).then_some(new)
    });
}
