//! Deployments: a ReplicaSet for each template, and the rollout from old to new ReplicaSets. It never adopts a
//! ReplicaSet that it did not create.

use serde_json::{Map, Value, json};

use super::act;
use super::act::Actor;
use super::replicas::{FAILURE, count};
use crate::json;
use crate::status::Failure;

const STORAGE: &str = "deployments.apps";
const SETS: &str = "replicasets.apps";
const HASH: &str = "pod-template-hash";
const REVISION: &str = "deployment.kubernetes.io/revision";
const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
const MAX: &str = "deployment.kubernetes.io/max-replicas";
const APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

pub(super) async fn reconcile(actor: &Actor<'_>, key: &str) -> Result<(), Failure> {
    let Some(deployment) = actor.living(STORAGE, key) else {
        return Ok(());
    };
    let namespace = json::text(&deployment, &["metadata", "namespace"]);
    let sets = || {
        let mut sets = actor.controlled(SETS, namespace, &deployment);
        sets.sort_by_key(revision);
        sets
    };
    let paused = json::at(&deployment, &["spec", "paused"]) == Some(&Value::Bool(true));
    let before = sets();
    let current = before.iter().find(|set| is_of(set, &deployment)).cloned();
    let current = match current {
        None if paused => None,
        None => {
            let latest = before.last().map_or(0, revision);
            let set = new_set(&deployment, latest + 1, &before);
            let name = json::text(&set, &["metadata", "name"]).to_owned();
            if let Err(failure) = actor.make(SETS, namespace, set).await {
                refused(actor, &deployment, &name, &failure, &before).await?;
                return Err(failure);
            }
            sets().into_iter().find(|set| is_of(set, &deployment))
        }
        Some(set) => renew(actor, set, &before).await?,
    };
    let current = current.or_else(|| before.last().filter(|_| paused).cloned());
    if let Some(current) = current {
        move_replicas(actor, &deployment, &current, &sets(), paused).await?;
        number(actor, &deployment, revision(&current)).await?;
    }
    forget(actor, &deployment, &sets()).await?;
    let status = status(&deployment, &sets());
    actor.set_status(STORAGE, &deployment, &status.into()).await
}

/// Records in the deployment that its new set could not be created.
async fn refused(
    actor: &Actor<'_>,
    deployment: &Value,
    set: &str,
    failure: &Failure,
    sets: &[Value],
) -> Result<(), Failure> {
    let (reason, message) =
        ("ReplicaSetCreateError", format!("Failed to create new replica set \"{set}\": {}", failure.message()));
    actor.warn(deployment, reason, &message).await;
    let mut status = status(deployment, sets);
    condition(&mut status, "Progressing", Some(false), reason, &message);
    actor.set_status(STORAGE, deployment, &status.into()).await
}

fn revision(set: &Value) -> i64 {
    json::text(set, &["metadata", "annotations", REVISION]).parse().unwrap_or_default()
}

fn template(object: &Value) -> Value {
    let mut template = json::at(object, &["spec", "template"]).cloned().unwrap_or_default();
    if let Some(Value::Object(labels)) = template.pointer_mut("/metadata/labels") {
        labels.shift_remove(HASH);
    }
    json::metadata(&mut template).retain(|_, value| !value.is_null());
    template
}

fn is_of(set: &Value, deployment: &Value) -> bool {
    json::at(set, &["metadata", "deletionTimestamp"]).is_none() && template(set) == template(deployment)
}

/// The name of a template: FNV-1a in an alphabet without vowels.
fn hash(template: &Value, attempt: usize) -> String {
    let text = format!("{template}{attempt}");
    let hash = text.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let letters = b"bcdfghjklmnpqrstvwxz2456789";
    let digit = |d: u8| letters.get(usize::from(d) % letters.len()).map_or('x', |c| char::from(*c));
    hash.to_string().bytes().map(digit).collect()
}

fn new_set(deployment: &Value, revision: i64, others: &[Value]) -> Value {
    let name = json::text(deployment, &["metadata", "name"]);
    let mut template = template(deployment);
    let taken = |name: &str| others.iter().any(|set| json::text(set, &["metadata", "name"]) == name);
    let named = |attempt| hash(&template, attempt);
    let hash = (0..).map(named).find(|hash| !taken(&format!("{name}-{hash}"))).unwrap_or_default();
    json::child(json::metadata(&mut template), "labels").insert(HASH.into(), hash.clone().into());
    let labels = json::at(&template, &["metadata", "labels"]).cloned();
    let mut selector = json::at(deployment, &["spec", "selector"]).cloned().unwrap_or_default();
    json::child(json::object(&mut selector), "matchLabels").insert(HASH.into(), hash.clone().into());
    let mut annotations = json::at(deployment, &["metadata", "annotations"]).cloned().unwrap_or_else(|| json!({}));
    let map = json::object(&mut annotations);
    map.retain(|key, _| !matches!(key.as_str(), APPLIED | REVISION | DESIRED | MAX));
    map.insert(REVISION.into(), revision.to_string().into());
    let replicas = wanted(deployment);
    let strategy = Strategy::of(deployment, replicas);
    let sizes: Vec<Size> = others.iter().map(size).collect();
    let (first, _) = strategy.step(replicas, Size::default(), &sizes);
    let first = if strategy == Strategy::Recreate && has_pods(others.iter()) { 0 } else { first };
    note_size(map, replicas, strategy.surge());
    let mut spec = json!({ "replicas": first, "selector": selector, "template": template });
    if let Some(seconds) = json::at(deployment, &["spec", "minReadySeconds"]) {
        json::object(&mut spec).insert("minReadySeconds".into(), seconds.clone());
    }
    json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "spec": spec,
        "metadata": {
            "name": format!("{name}-{hash}"), "labels": labels, "annotations": annotations,
            "ownerReferences": [act::reference(deployment)],
        },
    })
}

/// Makes an old set the newest one if its template is wanted again.
async fn renew(actor: &Actor<'_>, set: Value, sets: &[Value]) -> Result<Option<Value>, Failure> {
    let latest = sets.last().map_or(0, revision);
    if revision(&set) >= latest {
        return Ok(Some(set));
    }
    let own = revision(&set).to_string();
    let change = |set: &mut Value| {
        let annotations = json::child(json::metadata(set), "annotations");
        annotations.insert(REVISION.into(), (latest + 1).to_string().into());
        let key = "deployment.kubernetes.io/revision-history";
        let history = annotations.get(key).and_then(Value::as_str).map(|h| format!("{h},{own}"));
        annotations.insert(key.into(), history.unwrap_or_else(|| own.clone()).into());
    };
    actor.edit(SETS, &set, None, change).await
}

fn wanted(object: &Value) -> usize {
    usize::try_from(json::int(object, &["spec", "replicas"]).unwrap_or(1)).unwrap_or_default()
}

fn size(set: &Value) -> Size {
    let available = json::int(set, &["status", "availableReplicas"]).unwrap_or_default();
    Size { wanted: wanted(set), available: usize::try_from(available).unwrap_or_default() }
}

fn uid(object: &Value) -> &str {
    json::text(object, &["metadata", "uid"])
}

async fn move_replicas(
    actor: &Actor<'_>,
    deployment: &Value,
    current: &Value,
    sets: &[Value],
    paused: bool,
) -> Result<(), Failure> {
    let replicas = wanted(deployment);
    let strategy = Strategy::of(deployment, replicas);
    let old: Vec<&Value> = sets.iter().filter(|set| uid(set) != uid(current)).collect();
    let sizes: Vec<Size> = old.iter().map(|set| size(set)).collect();
    let (new, left) = if paused {
        // A paused rollout does not continue, but its newest set follows the number of replicas.
        let others: usize = sizes.iter().map(|size| size.wanted).sum();
        (replicas.saturating_sub(others), sizes.iter().map(|size| size.wanted).collect())
    } else {
        strategy.step(replicas, size(current), &sizes)
    };
    // With the strategy `Recreate`, the old pods must end first.
    let waits = strategy == Strategy::Recreate && has_pods(old.iter().copied());
    let new = if waits { size(current).wanted } else { new };
    scale(actor, current, new, replicas, strategy.surge()).await?;
    for (set, size) in old.iter().zip(left) {
        scale(actor, set, size, replicas, strategy.surge()).await?;
    }
    Ok(())
}

fn has_pods<'a>(mut sets: impl Iterator<Item = &'a Value>) -> bool {
    sets.any(|set| json::int(set, &["status", "replicas"]) > Some(0))
}

/// Records in a set the total size of all sets.
fn note_size(annotations: &mut Map<String, Value>, replicas: usize, surge: usize) {
    annotations.insert(DESIRED.into(), replicas.to_string().into());
    annotations.insert(MAX.into(), (replicas + surge).to_string().into());
}

async fn scale(actor: &Actor<'_>, set: &Value, size: usize, replicas: usize, surge: usize) -> Result<(), Failure> {
    let change = |set: &mut Value| {
        if size > 0 || wanted(set) != size {
            note_size(json::child(json::metadata(set), "annotations"), replicas, surge);
        }
        json::child(json::object(set), "spec").insert("replicas".into(), size.into());
    };
    actor.edit(SETS, set, None, change).await.map(drop)
}

/// Records the revision in the deployment.
async fn number(actor: &Actor<'_>, deployment: &Value, revision: i64) -> Result<(), Failure> {
    let change = |deployment: &mut Value| {
        let annotations = json::child(json::metadata(deployment), "annotations");
        annotations.insert(REVISION.into(), revision.to_string().into());
    };
    actor.edit(STORAGE, deployment, None, change).await.map(drop)
}

/// Deletes the oldest empty sets that exceed the history limit.
async fn forget(actor: &Actor<'_>, deployment: &Value, sets: &[Value]) -> Result<(), Failure> {
    let limit = json::int(deployment, &["spec", "revisionHistoryLimit"]).unwrap_or(10);
    let empty = |set: &&Value| {
        !is_of(set, deployment) && wanted(set) == 0 && json::int(set, &["status", "replicas"]).unwrap_or_default() == 0
    };
    let old: Vec<&Value> = sets.iter().filter(empty).collect();
    let surplus = old.len().saturating_sub(usize::try_from(limit).unwrap_or_default());
    for set in old.into_iter().take(surplus) {
        actor.remove(SETS, set).await?;
    }
    Ok(())
}

fn status(deployment: &Value, sets: &[Value]) -> Map<String, Value> {
    let number = |set: &Value, key: &str| {
        usize::try_from(json::int(set, &["status", key]).unwrap_or_default()).unwrap_or_default()
    };
    let sum = |key: &str| sets.iter().map(|set| number(set, key)).sum::<usize>();
    let current = sets.iter().find(|set| is_of(set, deployment));
    let (replicas, ready, available) = (sum("replicas"), sum("readyReplicas"), sum("availableReplicas"));
    let updated = current.map_or(0, |set| number(set, "replicas"));
    let asked: usize = sets.iter().map(wanted).sum();
    let mut status = deployment.get("status").and_then(Value::as_object).cloned().unwrap_or_default();
    status.insert("observedGeneration".into(), json!(json::int(deployment, &["metadata", "generation"])));
    count(&mut status, "replicas", replicas);
    count(&mut status, "updatedReplicas", updated);
    count(&mut status, "readyReplicas", ready);
    count(&mut status, "availableReplicas", available);
    count(&mut status, "unavailableReplicas", asked.saturating_sub(available));
    status.insert("terminatingReplicas".into(), sum("terminatingReplicas").into());
    let wanted = wanted(deployment);
    let unavailable = match Strategy::of(deployment, wanted) {
        Strategy::Recreate => 0,
        Strategy::Rolling { unavailable, .. } => unavailable.min(wanted),
    };
    let enough = available + unavailable >= wanted;
    let (reason, message) = if enough {
        ("MinimumReplicasAvailable", "Deployment has minimum availability.")
    } else {
        ("MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
    };
    condition(&mut status, "Available", Some(enough), reason, message);
    if let Some(current) = current {
        let name = json::text(current, &["metadata", "name"]);
        let done = updated == wanted && replicas == wanted && available == wanted;
        let (reason, message) = if done {
            ("NewReplicaSetAvailable", format!("ReplicaSet \"{name}\" has successfully progressed."))
        } else if updated == 0 {
            ("NewReplicaSetCreated", format!("Created new replica set \"{name}\""))
        } else {
            ("ReplicaSetUpdated", format!("ReplicaSet \"{name}\" is progressing."))
        };
        condition(&mut status, "Progressing", Some(true), reason, &message);
    }
    let failures = |set: &Value| {
        let mut conditions = json::list(set, &["status", "conditions"]).iter();
        conditions.find(|condition| json::text(condition, &["type"]) == FAILURE).cloned()
    };
    // The newest set's failure comes first, because it is the set that is wanted.
    match current.into_iter().chain(sets).find_map(failures) {
        Some(failure) => {
            let text = |key: &str| json::text(&failure, &[key]).to_owned();
            condition(&mut status, FAILURE, Some(true), &text("reason"), &text("message"));
        }
        None => condition(&mut status, FAILURE, None, "", ""),
    }
    status
}

/// Sets or removes a condition. Its times change only with its content.
fn condition(status: &mut Map<String, Value>, kind: &str, holds: Option<bool>, reason: &str, message: &str) {
    let now = crate::time::seconds(crate::time::now());
    let Some(list) = status.entry("conditions").or_insert_with(|| json!([])).as_array_mut() else {
        return;
    };
    let found = list.iter().position(|c| json::text(c, &["type"]) == kind);
    let old = found.map(|index| list.remove(index));
    let Some(holds) = holds else { return };
    let holds = if holds { "True" } else { "False" };
    let same = |key: &str, value: &str| old.as_ref().is_some_and(|old| json::text(old, &[key]) == value);
    let kept = |key: &str| old.as_ref().map_or("", |old| json::text(old, &[key])).to_owned();
    let turned = if same("status", holds) { kept("lastTransitionTime") } else { now.clone() };
    let unchanged = same("status", holds) && same("reason", reason) && same("message", message);
    let updated = if unchanged { kept("lastUpdateTime") } else { now };
    let new = json!({
        "type": kind, "status": holds, "lastUpdateTime": updated, "lastTransitionTime": turned, "reason": reason,
        "message": message,
    });
    list.insert(found.unwrap_or(list.len()), new);
}

/// The wanted and the available replicas of a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Size {
    pub wanted: usize,
    pub available: usize,
}

/// The limits of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strategy {
    Recreate,
    Rolling { surge: usize, unavailable: usize },
}

impl Strategy {
    pub(super) fn of(deployment: &Value, replicas: usize) -> Self {
        let strategy = &["spec", "strategy", "type"];
        if json::text(deployment, strategy) == "Recreate" {
            return Self::Recreate;
        }
        let bound = |key: &str, up: bool| {
            let given = json::at(deployment, &["spec", "strategy", "rollingUpdate", key]);
            amount(given.unwrap_or(&Value::from("25%")), replicas, up)
        };
        let (surge, unavailable) = (bound("maxSurge", true), bound("maxUnavailable", false));
        // If both were zero, a rollout could never make progress.
        Self::Rolling { surge, unavailable: if surge == 0 { unavailable.max(1) } else { unavailable } }
    }

    pub(super) fn surge(self) -> usize {
        match self {
            Self::Recreate => 0,
            Self::Rolling { surge, .. } => surge,
        }
    }

    /// The next sizes of the new set and of the old ones, oldest first.
    pub(super) fn step(self, replicas: usize, new: Size, old: &[Size]) -> (usize, Vec<usize>) {
        let sizes = || -> Vec<usize> { old.iter().map(|size| size.wanted).collect() };
        match self {
            Self::Recreate if old.iter().any(|size| size.wanted > 0) => (new.wanted, vec![0; old.len()]),
            Self::Recreate => (replicas, sizes()),
            Self::Rolling { surge, unavailable } => {
                let total = new.wanted + sizes().iter().sum::<usize>();
                let room = (replicas + surge).saturating_sub(total);
                let next = if new.wanted > replicas { replicas } else { (new.wanted + room).min(replicas) };
                if next != new.wanted {
                    return (next, sizes());
                }
                (next, shrink(replicas.saturating_sub(unavailable), total, new, old))
            }
        }
    }
}

/// An absolute number, or a percentage of `replicas`, rounded up or down.
fn amount(value: &Value, replicas: usize, up: bool) -> usize {
    let number = |n: Option<i64>| usize::try_from(n.unwrap_or_default()).unwrap_or_default();
    match value.as_str().and_then(|text| text.strip_suffix('%')) {
        Some(percent) => {
            let share = number(percent.parse().ok()) * replicas;
            if up { share.div_ceil(100) } else { share / 100 }
        }
        None => number(value.as_i64()),
    }
}

/// Removes unavailable replicas from the old sets first, and then replicas that are not needed.
fn shrink(needed: usize, total: usize, new: Size, old: &[Size]) -> Vec<usize> {
    let mut spare = total.saturating_sub(needed + new.wanted.saturating_sub(new.available));
    let mut left: Vec<usize> = Vec::with_capacity(old.len());
    for size in old {
        let taken = size.wanted.saturating_sub(size.available).min(spare);
        spare -= taken;
        left.push(size.wanted - taken);
    }
    let available = new.available + old.iter().map(|size| size.available).sum::<usize>();
    let mut spare = spare.min(available.saturating_sub(needed));
    for size in &mut left {
        let taken = (*size).min(spare);
        spare -= taken;
        *size -= taken;
    }
    left
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing)]
    use super::*;
    use serde_json::json;

    #[test]
    fn a_rollout_keeps_its_bounds_and_ends() {
        for (replicas, strategy) in [
            (4, json!({ "maxSurge": 1, "maxUnavailable": 0 })),
            (4, json!({ "maxSurge": 0, "maxUnavailable": 1 })),
            (10, json!({ "maxSurge": "25%", "maxUnavailable": "25%" })),
            (1, json!({ "maxSurge": 0, "maxUnavailable": 0 })),
            (3, json!({ "maxSurge": "100%", "maxUnavailable": "50%" })),
        ] {
            let deployment = json!({ "spec": { "strategy": { "rollingUpdate": strategy } } });
            let rolling = Strategy::of(&deployment, replicas);
            let Strategy::Rolling { surge, unavailable } = rolling else { continue };
            let mut new = Size::default();
            let mut old = [Size { wanted: replicas, available: replicas }];
            let mut steps = 0;
            while new.wanted != replicas || old[0].wanted != 0 {
                let (next, left) = rolling.step(replicas, new, &old);
                assert!(next + left[0] <= replicas + surge, "{strategy}");
                assert!((next, left[0]) != (new.wanted, old[0].wanted), "{strategy}: stuck at {new:?} {old:?}");
                // Old replicas end before new ones are available.
                let least = new.available.min(next) + old[0].available.min(left[0]);
                assert!(least + unavailable >= replicas, "{strategy}: {new:?} {old:?}");
                new = Size { wanted: next, available: next };
                old = [Size { wanted: left[0], available: left[0] }];
                steps += 1;
                assert!(steps < 50, "{strategy}");
            }
        }
    }

    #[test]
    fn pods_that_never_were_available_make_room() {
        let rolling = Strategy::Rolling { surge: 1, unavailable: 1 };
        let broken = [Size { wanted: 2, available: 0 }, Size { wanted: 3, available: 3 }];
        assert_eq!(rolling.step(4, Size::default(), &broken), (0, vec![0, 3]));
    }

    #[test]
    fn recreating_waits_for_the_old_to_go() {
        let old = [Size { wanted: 2, available: 2 }];
        assert_eq!(Strategy::Recreate.step(2, Size::default(), &old), (0, vec![0]));
        assert_eq!(Strategy::Recreate.step(2, Size::default(), &[Size::default()]), (2, vec![0]));
    }
}
