//! The status of a parent: what the hook wants in it, and the conditions that the host knows.

use boathook_applyset::{Condition, Plan, conditions};
use boathook_core::model::{Failure, FailureKind, OwnCondition, Reconciled};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// Whether the hook's part of the status can be one.
pub(super) fn is_object(answer: &Reconciled) -> bool {
    answer.status.as_deref().is_none_or(|text| fields(text).is_some())
}

/// The fields of a hook's part of the status.
pub(super) fn fields(text: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(text).ok()
}

/// What a status shows.
pub(super) struct Shown<'a> {
    pub plan: &'a Plan,
    /// Kinds of members that the binding does not own any more.
    pub left: &'a [String],
    /// The revision whose children are applied in place of the hook's.
    pub rolled_back: Option<u64>,
    /// The hook's.
    pub failure: Option<&'a Failure>,
    /// The parent's.
    pub generation: i64,
}

/// The status that the parent should have.
pub(super) fn wanted(shown: Shown<'_>, answer: Option<&Reconciled>, parent: &Value) -> Value {
    let Shown { plan, left, rolled_back, failure, generation } = shown;
    let old = parent.pointer("/status/conditions").cloned().unwrap_or_default();
    let old: Vec<Condition> = serde_json::from_value(old).unwrap_or_default();
    let now = Timestamp::now();
    // Conditions of others stay theirs: each is an item of its own in the list.
    let mut made: Vec<_> = conditions(plan, generation, &old, now)
        .into_iter()
        .filter(|one| matches!(one.type_.as_str(), "Ready" | "Reconciling" | "Stalled"))
        .collect();
    let applied = made.iter().any(|one| one.type_ == "Ready" && one.status == "True");
    for own in answer.into_iter().flat_map(|answer| &answer.conditions) {
        match own.r#type.as_str() {
            // What the host knows comes first: what is not applied cannot be ready.
            "Ready" if applied && failure.is_none() => made.retain(|one| one.type_ != "Ready"),
            "Ready" | "Reconciling" | "Stalled" => continue,
            _ => {}
        }
        made.push(condition(own, generation, &old, now));
    }
    if !left.is_empty() {
        let message = format!(
            "members of {} may exist, and `owns` does not have these kinds any more: add them until the members are gone",
            left.join(", ")
        );
        let left = OwnCondition {
            r#type: "MembersLeft".to_owned(),
            holds: Some(true),
            reason: "NotOwned".to_owned(),
            message,
        };
        made.push(condition(&left, generation, &old, now));
    }
    if let Some(revision) = rolled_back {
        let message = format!(
            "the children are those of revision {revision}, until the spec of the object changes, or until `boathook operators \
             rollback --end`"
        );
        let rolled_back =
            OwnCondition { r#type: "RolledBack".to_owned(), holds: Some(true), reason: "Rollback".to_owned(), message };
        made.push(condition(&rolled_back, generation, &old, now));
    }
    if let Some(failure) = failure {
        failed(&mut made, failure, &old, now);
    }
    let text = answer.and_then(|answer| answer.status.as_deref());
    let mut status = match text.map(serde_json::from_str) {
        Some(Ok(Value::Object(status))) => status,
        _ => Map::new(),
    };
    status.insert("observedGeneration".to_owned(), json!(generation));
    status.insert("conditions".to_owned(), json!(made));
    Value::Object(status)
}

fn condition(own: &OwnCondition, generation: i64, old: &[Condition], now: Timestamp) -> Condition {
    let status = match own.holds {
        Some(true) => "True",
        Some(false) => "False",
        None => "Unknown",
    };
    Condition {
        type_: own.r#type.clone(),
        status: status.to_owned(),
        observed_generation: Some(generation),
        last_transition_time: since(&own.r#type, status, old, now),
        reason: own.reason.clone(),
        message: own.message.clone(),
    }
}

/// When a condition became what it is.
fn since(of: &str, status: &str, old: &[Condition], now: Timestamp) -> String {
    let same = old.iter().find(|old| old.type_ == of && old.status == status);
    same.map_or_else(|| format!("{now:.0}"), |old| old.last_transition_time.clone())
}

/// The hook failed, so nothing new is known about what should be.
fn failed(made: &mut [Condition], failure: &Failure, old: &[Condition], now: Timestamp) {
    let permanent = failure.kind == FailureKind::Permanent;
    for one in made {
        let (holds, speaks) = match one.type_.as_str() {
            "Ready" => (false, true),
            "Stalled" => (permanent, permanent),
            "Reconciling" => (!permanent, !permanent),
            _ => continue,
        };
        let status = if holds { "True" } else { "False" };
        one.last_transition_time = since(&one.type_, status, old, now);
        status.clone_into(&mut one.status);
        one.reason = if speaks { "HookFailed".to_owned() } else { format!("Not{}", one.type_) };
        one.message = if speaks { failure.message.clone() } else { String::new() };
    }
}

/// Whether a status that was written by an earlier process is the wanted one. Other managers may have conditions in it.
/// Fields that the wanted one does not have may be the hook's own from before, so it is written.
pub(super) fn shows(status: &Value, wanted: &Value) -> bool {
    let (Some(all), Some(own)) = (status.as_object(), wanted.as_object()) else { return false };
    all.keys().all(|key| own.contains_key(key)) && contains(status, wanted)
}

fn contains(all: &Value, part: &Value) -> bool {
    match (all, part) {
        (Value::Object(all), Value::Object(part)) => {
            part.iter().all(|(key, part)| all.get(key).is_some_and(|all| contains(all, part)))
        }
        (Value::Array(all), Value::Array(part)) if part.iter().all(|item| item.get("type").is_some()) => {
            part.iter().all(|part| all.iter().any(|all| contains(all, part)))
        }
        (all, part) => all == part,
    }
}

/// What an apply to the parent begins with. The uid makes it fail if the parent is another object by now.
pub(super) fn identity(parent: &Value) -> Value {
    let metadata = |name: &str| parent.get("metadata").and_then(|metadata| metadata.get(name)).cloned();
    let fields = ["name", "namespace", "uid"].into_iter().filter_map(|name| Some((name.to_owned(), metadata(name)?)));
    let metadata: Map<String, Value> = fields.collect();
    json!({ "apiVersion": parent.get("apiVersion"), "kind": parent.get("kind"), "metadata": metadata })
}
