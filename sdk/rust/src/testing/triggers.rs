//! What wakes a hook in a test, as a real operator tells it: triggers and snapshots, by the hook's document.
//!
//! It makes happen in the test's cluster what the triggers say, and never runs the hook.

use super::document::Binding;
use super::kit::Kit;
use super::ran::failed;
use super::run::{Run, Step};
use crate::bindings::boathook::hook::snapshots::Item;
use crate::bindings::boathook::hook::types as wire;
use crate::context::Change;
use crate::kube::Object;
use serde_json::json;
use std::rc::Rc;
use std::time::UNIX_EPOCH;

impl Kit {
    /// Makes the triggers, and what they say happen in the cluster.
    #[track_caller]
    pub(super) fn contexts(&mut self, run: &Run) -> Vec<wire::BindingContext> {
        if run.steps.is_empty() {
            failed("a run has at least one trigger");
        }
        let mut contexts = Vec::new();
        for step in &run.steps {
            let (binding, trigger) = match step {
                Step::Startup if self.document.on_startup.is_none() => failed("the hook has no onStartup"),
                Step::Startup => ("onStartup", wire::Trigger::Startup),
                Step::Stage(key) if !self.document.has_stage(key) => failed(&format!("the hook has no {key}")),
                Step::Stage(key) => (key.as_str(), wire::Trigger::Startup),
                Step::Schedule { binding, .. } if !self.document.schedule.iter().any(|it| it.name == *binding) => {
                    failed(&format!("the hook has no schedule {binding:?}"));
                }
                Step::Schedule { binding, at, missed } => {
                    let since = at.unwrap_or(self.cluster.now).duration_since(UNIX_EPOCH).unwrap_or_default();
                    let scheduled_at = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
                    (binding.as_str(), wire::Trigger::Schedule(wire::Tick { scheduled_at, missed: *missed }))
                }
                Step::Synchronization { binding } => {
                    self.binding(binding);
                    (binding.as_str(), wire::Trigger::Synchronization)
                }
                Step::Event { binding, change, object } => {
                    (binding.as_str(), wire::Trigger::Event(self.event(binding, *change, object.clone())))
                }
            };
            let trigger = self.document.group(binding).map_or(trigger, wire::Trigger::Group);
            let snapshots = match step {
                Step::Stage(_) => self.document.kubernetes.iter().map(|own| own.name.clone()).collect(),
                _ => self.document.snapshots(binding),
            };
            contexts.push(wire::BindingContext { binding: binding.to_owned(), trigger, snapshots });
        }
        contexts
    }

    #[track_caller]
    fn event(&mut self, binding: &str, change: Change, mut object: Object) -> wire::WatchEvent {
        let bound = self.binding(binding).clone();
        complete(&mut object, &bound);
        let target = object.object_ref();
        let before = self.cluster.get(&target).cloned();
        let object = match (change, before.clone()) {
            (Change::Deleted, Some(live)) => {
                if self.selects(&bound, &live) {
                    self.cluster.remove(&target);
                }
                with_identity(object, &live)
            }
            (Change::Deleted, None) => object,
            (Change::Added | Change::Modified, _) => {
                let object = self.place(object);
                if !self.selects(&bound, &object) {
                    failed(&format!("the binding {binding:?} does not select {target}, so it hears nothing of it"));
                }
                object
            }
        };
        let before = before.filter(|_| change != Change::Added);
        let filtered = |object: &Object| self.filtered(&bound, object);
        wire::WatchEvent {
            change: match change {
                Change::Added => wire::Change::Added,
                Change::Modified => wire::Change::Modified,
                Change::Deleted => wire::Change::Deleted,
            },
            target: target.to_wire(),
            uid: object.uid().unwrap_or_default().to_owned(),
            resource_version: object.resource_version().unwrap_or_default().to_owned(),
            object: bound.content(&object).map(|value| value.to_string()),
            filter_result: filtered(&object),
            previous_filter_result: before.as_ref().and_then(filtered),
            previous_object: before
                .filter(|_| bound.previous_object && change == Change::Modified)
                .and_then(|before| bound.content(&before))
                .map(|value| value.to_string()),
        }
    }

    fn selects(&self, binding: &Binding, object: &Object) -> bool {
        let plural = self.cluster.kinds.plural(object.api_version(), object.kind());
        binding.is_about(object.api_version(), object.kind(), &plural)
            && binding.selects(object, self.cluster.namespace_of(object))
    }

    /// The snapshot of a binding, in order of namespace and name.
    #[track_caller]
    pub(super) fn items(&self, name: &str, run: &Run) -> Rc<Vec<Item>> {
        let binding = self.binding(name);
        let stale = run.stale.iter().find(|(of, _)| of == name);
        let objects: Vec<Object> = match stale {
            Some((_, objects)) => objects.clone(),
            None => self.cluster.all().filter(|object| self.selects(binding, object)).cloned().collect(),
        };
        let mut items: Vec<Item> = objects
            .into_iter()
            .map(|mut object| {
                complete(&mut object, binding);
                Item {
                    namespace: object.namespace().map(str::to_owned),
                    name: object.name().to_owned(),
                    uid: object.uid().unwrap_or_default().to_owned(),
                    resource_version: object.resource_version().unwrap_or_default().to_owned(),
                    object: binding.content(&object).map(|value| value.to_string()),
                    filter_result: self.filtered(binding, &object),
                }
            })
            .collect();
        items.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
        Rc::new(items)
    }

    #[track_caller]
    fn filtered(&self, binding: &Binding, object: &Object) -> Option<String> {
        let program = binding.jq_filter.as_ref()?;
        match self.filters.get(&binding.name) {
            Some(filter) => Some(filter(object).to_string()),
            None => failed(&format!(
                "jq does not run natively: tell what the jqFilter of {name:?} gives, with \
                 kit.filter({name:?}, |object| …); it is {program}",
                name = binding.name
            )),
        }
    }
}

/// Types that stand for one kind need not say it.
fn complete(object: &mut Object, binding: &Binding) {
    let Some(fields) = object.as_object_mut() else { return };
    fields.entry("apiVersion").or_insert_with(|| json!(binding.api_version.as_deref().unwrap_or("v1")));
    fields.entry("kind").or_insert_with(|| json!(binding.kind));
}

/// The last state of an object that was there.
fn with_identity(mut object: Object, live: &Object) -> Object {
    for field in ["uid", "resourceVersion", "creationTimestamp"] {
        let value = live.pointer(&format!("/metadata/{field}")).cloned().unwrap_or_default();
        super::cluster::set(&mut object, field, value);
    }
    object
}
