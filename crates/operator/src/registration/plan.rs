//! What to do so that the cluster has what is needed. Pure.
//!
//! The plan makes no changes to what belongs to another operator, or to what was registered for a hook that cannot
//! answer yet or may still be added.

use std::collections::{BTreeMap, BTreeSet};

use boathook_core::model::AdmissionKind;
use serde_json::{Value, json};

use super::{
    INSTANCE, Owners, Settings, Trust, Wanted,
    conversion::{self, Change},
    drift,
    objects::{Kind, label, name},
    webhooks,
};
use crate::registration;

/// One thing to do.
pub(super) enum Act {
    Create(Value),
    Replace(Value),
    Delete(Value),
    /// The definition's name, and the change that makes it call this operator.
    TakeOver(String, Change),
    /// The definition's name, and the patch.
    Restore(String, Value),
}

/// An object of another operator that one of our hooks needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Foreign {
    pub what: String,
    /// The object's name.
    pub name: String,
    pub instance: String,
}

/// What to do with objects of one kind.
#[derive(Default)]
pub(super) struct Plan {
    pub acts: Vec<Act>,
    pub foreign: Vec<Foreign>,
}

/// The names of the configurations that our hooks may have.
pub(super) fn names(of: AdmissionKind, wanted: &Wanted) -> Vec<String> {
    let hooks = wanted.hooks.iter().filter(|hook| hook.spec.admission.iter().any(|binding| binding.kind == of));
    hooks.map(|hook| hook.spec.name.configuration()).collect()
}

/// Keeps the hooks whose registrations are complete. `failed` are the names of objects that are not as they should be.
pub(super) fn in_place(wanted: Wanted, failed: &BTreeSet<String>) -> Wanted {
    let Wanted { mut hooks, .. } = wanted;
    hooks.retain(|hook| {
        let mut conversions = hook.spec.conversions.iter();
        !failed.contains(&hook.spec.name.configuration()) && conversions.all(|binding| !failed.contains(&*binding.crd))
    });
    Wanted { hooks, ..wanted }
}

/// `there` are the configurations of this kind with our labels or names.
pub(super) fn configurations(of: AdmissionKind, there: &[Value], wanted: &Wanted, settings: &Settings) -> Plan {
    let mut plan = Plan::default();
    let mut left: BTreeMap<&str, &Value> = there.iter().map(|object| (name(object), object)).collect();
    for hook in &wanted.hooks {
        let known = left.remove(hook.spec.name.configuration().as_str());
        if !hook.ready {
            continue;
        }
        match (known, webhooks::configuration(hook, of, settings, Trust::of(wanted))) {
            (None, Some(desired)) => plan.acts.push(Act::Create(desired)),
            (Some(known), Some(desired)) => {
                if let Some(foreign) = foreign(Kind::Configuration(of), known, settings) {
                    plan.foreign.push(foreign);
                    continue;
                }
                let desired = if hook.settled { desired } else { webhooks::widened(known, desired) };
                if !drift::same_configuration(known, &desired) {
                    plan.acts.push(Act::Replace(replaced(known, desired)));
                }
            }
            (Some(known), None) => drop(left.insert(name(known), known)),
            (None, None) => {}
        }
    }
    let ours = left.into_values().filter(|object| label(object, INSTANCE) == Some(&settings.instance));
    let gone = ours.filter(|object| !wanted.pending.may_want(object));
    plan.acts.extend(gone.cloned().map(Act::Delete));
    plan
}

/// Keeps what others have added to the metadata.
fn replaced(known: &Value, mut desired: Value) -> Value {
    let mut metadata = known.get("metadata").cloned().unwrap_or_default();
    for key in ["labels", "annotations"] {
        let own = desired.pointer_mut(&format!("/metadata/{key}")).map(Value::take).unwrap_or_default();
        match (metadata.get_mut(key).and_then(Value::as_object_mut), own) {
            (Some(there), Value::Object(own)) => there.extend(own),
            (None, own) => {
                metadata.as_object_mut().into_iter().for_each(|all| drop(all.insert(key.into(), own.clone())))
            }
            (Some(_), _) => {}
        }
    }
    if let Some(place) = desired.get_mut("metadata") {
        *place = metadata;
    }
    desired
}

/// A definition that hooks convert.
pub(super) struct Converted {
    /// Whether all of its hooks can answer.
    ready: bool,
    owners: Owners,
}

/// The definitions that hooks convert, by name.
pub(super) fn converted(wanted: &Wanted) -> BTreeMap<&str, Converted> {
    let mut converted = BTreeMap::new();
    for hook in &wanted.hooks {
        for binding in &hook.spec.conversions {
            let fresh = || Converted { ready: true, owners: Owners::new() };
            let known = converted.entry(&*binding.crd).or_insert_with(fresh);
            known.ready &= hook.ready;
            known.owners.insert(hook.spec.name.to_string(), hook.source.clone());
        }
    }
    converted
}

/// `there` are the definitions with our label, and those that hooks convert.
pub(super) fn definitions(there: &[Value], wanted: &Wanted, settings: &Settings) -> Plan {
    let (mut plan, converted) = (Plan::default(), converted(wanted));
    for definition in there {
        let name = name(definition);
        let foreign = foreign(Kind::Definition, definition, settings);
        match (converted.get(name), foreign) {
            (Some(Converted { ready: true, .. }), Some(foreign)) => plan.foreign.push(foreign),
            (Some(Converted { ready: true, owners }), None) => {
                // Earlier owners that may still be added stay owners.
                let pending = &wanted.pending;
                let before = registration::owners_of(definition).unwrap_or_default().into_iter();
                let mut owners = owners.clone();
                owners.extend(before.filter(|(hook, source)| pending.hooks.contains(hook) || pending.has(source)));
                let desired = conversion::desired(name, settings, Trust::of(wanted));
                if !conversion::is_in_place(definition, &desired, &owners, settings) {
                    let change = conversion::take_over(definition, desired, &owners, settings);
                    plan.acts.push(Act::TakeOver(name.to_owned(), change));
                }
            }
            (None, None) if label(definition, INSTANCE).is_some() && !wanted.pending.may_want(definition) => {
                plan.acts.push(Act::Restore(name.to_owned(), conversion::restore(definition)));
            }
            _ => {}
        }
    }
    plan
}

fn foreign(kind: Kind, object: &Value, settings: &Settings) -> Option<Foreign> {
    let instance = label(object, INSTANCE).filter(|instance| *instance != settings.instance)?;
    let name = name(object).to_owned();
    Some(Foreign { what: format!("{kind} {name}"), name, instance: instance.to_owned() })
}

impl Act {
    /// The object's name and its intended content. This shows whether the same was done before.
    pub fn aim(&self) -> (String, Value) {
        match self {
            Self::Create(object) | Self::Replace(object) => {
                (name(object).to_owned(), object.get("webhooks").cloned().unwrap_or_default())
            }
            Self::TakeOver(name, Change::Apply(body)) => {
                (name.clone(), body.pointer("/spec/conversion").cloned().unwrap_or_default())
            }
            Self::TakeOver(name, Change::Patch(patch)) => {
                (name.clone(), patch.pointer("/3/value").cloned().unwrap_or_default())
            }
            Self::Delete(object) => (name(object).to_owned(), json!(null)),
            Self::Restore(name, _) => (name.clone(), json!(null)),
        }
    }
}
