//! Which parts of objects a hook reads. A run is repeated without a part, and if it does the same, it did not read the part.

use std::sync::Arc;

use boathook_core::model::{BindingName, Cause, Content, HookSpec, Item, KubernetesBinding};
use boathook_operator::record::Record;
use serde_json::{Map, Value};

use super::{ENOUGH, FEW, Seen};

/// What of an object is neither a part of its identity nor of its type.
const KEPT: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// A question to the records: does a run do the same without this part of a binding's objects?
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    pub binding: BindingName,
    pub without: Without,
}

/// What a hook does not get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Without {
    /// What the binding would not keep with this `content`.
    Content(Content),
    /// A top-level field of the object.
    Field(String),
    /// A key of the filter's result.
    Key(String),
}

/// The questions that are worth a replay of all records.
pub fn probes(spec: &HookSpec, seen: &Seen) -> Vec<Probe> {
    if seen.runs < ENOUGH || seen.incomplete > 0 {
        return Vec::new();
    }
    let mut probes = Vec::new();
    for (_, binding) in of_document(spec) {
        let Some(of) = seen.bindings.get(&binding.name) else { continue };
        let mut ask = |without| probes.push(Probe { binding: binding.name.clone(), without });
        if binding.content != Content::None {
            ask(Without::Content(Content::None));
        }
        if binding.content == Content::Full && may_keep_metadata_only(binding, of) {
            ask(Without::Content(Content::Metadata));
        }
        for part in only(of).filter(|part| binding.jq_filter.is_some() || !KEPT.contains(&part.as_str())) {
            let without = if binding.jq_filter.is_some() { Without::Key } else { Without::Field };
            ask(without(part.clone()));
        }
    }
    probes
}

/// The bindings that are entries of the document's `kubernetes`, with their numbers.
pub(super) fn of_document(spec: &HookSpec) -> impl Iterator<Item = (usize, &KubernetesBinding)> {
    spec.kubernetes.iter().filter(|binding| binding.role.is_none()).enumerate()
}

/// Without a filter, the hook then runs only for changes of the metadata.
fn may_keep_metadata_only(binding: &KubernetesBinding, of: &super::OfBinding) -> bool {
    let outside = of.changes.iter().any(|change| change.led && !change.parts.contains("metadata"));
    binding.jq_filter.is_some() || (!outside && of.unknown == 0)
}

/// The parts whose changes alone ran the hook for nothing, again and again.
pub(super) fn only(of: &super::OfBinding) -> impl Iterator<Item = &String> {
    let mut parts: Vec<_> = of.changes.iter().filter_map(|change| single(change)).collect();
    parts.sort_unstable();
    parts.dedup();
    parts.into_iter().filter(|part| spared(of, part) >= FEW)
}

/// How many runs a change of this part alone caused. None of them led to anything, or the result is 0.
pub(super) fn spared(of: &super::OfBinding, part: &str) -> usize {
    let changes = || of.changes.iter().filter(|change| single(change).is_some_and(|own| own == part));
    if changes().any(|change| change.led) { 0 } else { changes().count() }
}

fn single(change: &super::Changed) -> Option<&String> {
    change.parts.first().filter(|_| change.parts.len() == 1)
}

impl Probe {
    /// The record of a run that did not get the part. None if the run had nothing of it.
    pub fn hide(&self, record: &Record) -> Option<Record> {
        let mut hidden = record.clone();
        let mut touched = false;
        let object = |text: &mut Option<Arc<str>>, touched: &mut bool| self.of_object(text, touched);
        for trigger in hidden.triggers.iter_mut().filter(|trigger| trigger.binding == self.binding) {
            let Cause::Event(event) = &mut trigger.cause else { continue };
            event.item = self.item(&event.item, &mut touched);
            object(&mut event.previous_object, &mut touched);
            self.of_result(&mut event.previous_filter_result, &mut touched);
        }
        for snapshot in hidden.snapshots.iter_mut().filter(|snapshot| snapshot.binding == self.binding) {
            for item in snapshot.items.iter_mut().flatten() {
                *item = self.item(item, &mut touched);
            }
        }
        touched.then_some(hidden)
    }

    fn item(&self, item: &Item, touched: &mut bool) -> Arc<Item> {
        let mut item = item.clone();
        self.of_object(&mut item.object, touched);
        self.of_result(&mut item.filter_result, touched);
        Arc::new(item)
    }

    fn of_object(&self, text: &mut Option<Arc<str>>, touched: &mut bool) {
        match &self.without {
            Without::Content(Content::None) => *touched |= text.take().is_some(),
            Without::Content(_) => *touched |= without(text, |key| !KEPT.contains(&key)),
            Without::Field(field) => *touched |= without(text, |key| key == field),
            Without::Key(_) => {}
        }
    }

    fn of_result(&self, text: &mut Option<Arc<str>>, touched: &mut bool) {
        if let Without::Key(own) = &self.without {
            *touched |= without(text, |key| key == own);
        }
    }
}

/// Removes keys of an object. Returns whether there were any.
fn without(text: &mut Option<Arc<str>>, unwanted: impl Fn(&str) -> bool) -> bool {
    let Some(read) = text.as_deref().and_then(|text| serde_json::from_str::<Map<String, Value>>(text).ok()) else {
        return false;
    };
    let before = read.len();
    let kept: Map<String, Value> = read.into_iter().filter(|(key, _)| !unwanted(key)).collect();
    if kept.len() == before {
        return false;
    }
    *text = Some(Value::Object(kept).to_string().into());
    true
}
