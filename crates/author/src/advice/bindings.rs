//! Bindings that run a hook for objects, events and changes that never led to anything, or that keep more of objects than
//! the hook reads.

use std::collections::{BTreeMap, BTreeSet};

use boathook_core::model::{Content, KubernetesBinding, WatchEventKind, is_variable};
use serde_json::{Value, json};

use super::{
    ENOUGH, FEW, Item, OfBinding, SOME, Subject,
    document::Change,
    probe::{Probe, Without, of_document, spared},
    seen::Place,
};

/// Labels that say which object it is, and not what it is for.
const OWN_LABELS: [&str; 3] = ["kubernetes.io/metadata.name", "pod-template-hash", "controller-revision-hash"];

/// One binding, and what is known of it.
struct One<'a> {
    index: String,
    binding: &'a KubernetesBinding,
    of: &'a OfBinding,
    runs: usize,
    document: &'a Value,
}

pub(super) fn advise(subject: &Subject<'_>) -> Vec<Item> {
    let mut items = Vec::new();
    for (index, binding) in of_document(subject.spec) {
        let Some(of) = subject.seen.bindings.get(&binding.name) else { continue };
        let one = One { index: index.to_string(), binding, of, runs: subject.seen.runs, document: subject.document };
        let unread = |without: &Without| {
            subject.unread.iter().any(|probe| probe.binding == binding.name && probe.without == *without)
        };
        if of.total() >= ENOUGH && of.led_times() > 0 {
            items.extend(one.namespaces());
            items.extend(one.labels().or_else(|| one.names()));
            items.extend(one.events());
        }
        items.extend(one.content(&unread));
        items.extend(one.filter(subject.unread));
    }
    items
}

impl One<'_> {
    fn item(&self, key: &str, advice: String, reason: String, spares: usize, changes: Vec<Change>) -> Item {
        let at = format!("kubernetes[{}].{key}", self.index);
        let reason = format!("binding {}: {reason}", self.binding.name.unique());
        Item { at, advice, reason, runs: self.runs, spares, changes }
    }

    fn set(&self, keys: &[&str], value: Value) -> Change {
        Change::set(&[&["kubernetes", self.index.as_str()], keys].concat(), value)
    }

    fn namespaces(&self) -> Option<Item> {
        let Self { binding, of, .. } = self;
        let known = &binding.namespaces;
        if binding.namespace_labels.is_some() || known.iter().any(|name| is_variable(name)) {
            return None;
        }
        let needed: BTreeSet<&str> = of.led.iter().map(|place| place.namespace.as_deref()).collect::<Option<_>>()?;
        let outside = |place: &&&Place| place.namespace.as_deref().is_none_or(|own| !needed.contains(own));
        let spares = of.others().iter().filter(outside).count();
        let narrower = known.is_empty() || needed.len() < known.len();
        if !narrower || needed.len() > SOME || (spares == 0 && of.led_times() < SOME * needed.len()) {
            return None;
        }
        let names = words(&needed);
        let reason = format!(
            "all {} of its events that led to something, and all objects of snapshots that runs opened, are in {names}{}",
            of.led_times(),
            if spares > 0 { format!("; {spares} events elsewhere led to nothing") } else { String::new() },
        );
        let change = self.set(&["namespace", "nameSelector", "matchNames"], json!(needed));
        Some(self.item("namespace.nameSelector", format!("only {names}"), reason, spares, vec![change]))
    }

    fn labels(&self) -> Option<Item> {
        let others = self.of.others();
        if self.binding.label_selector.is_some() || others.len() < FEW || self.of.led.len() < 2 {
            return None;
        }
        let of_led: Vec<&BTreeMap<String, String>> =
            self.of.led.iter().map(|place| place.labels.as_ref()).collect::<Option<_>>()?;
        let of_others: Vec<_> = others.iter().map(|place| place.labels.as_ref()).collect::<Option<_>>()?;
        let (first, rest) = of_led.split_first()?;
        let candidates = first.iter().filter(|(key, _)| !OWN_LABELS.contains(&key.as_str()));
        let mut best = None;
        for (key, value) in candidates.filter(|(key, _)| rest.iter().all(|labels| labels.contains_key(*key))) {
            let same = rest.iter().all(|labels| labels.get(key) == Some(value));
            let absent = of_others.iter().all(|labels| !labels.contains_key(key));
            let other = of_others.iter().all(|labels| labels.get(key) != Some(value));
            if same && other {
                best = Some((format!("{key}={value}"), json!({"matchLabels": {key: value}})));
                break;
            }
            if absent && best.is_none() {
                best = Some((key.clone(), json!({"matchExpressions": [{"key": key, "operator": "Exists"}]})));
            }
        }
        let (shown, selector) = best?;
        let reason = format!(
            "all objects that led to something have the label {shown}; {} events of objects without it led to nothing",
            others.len()
        );
        let change = self.set(&["labelSelector"], selector);
        Some(self.item("labelSelector", format!("only objects with {shown}"), reason, others.len(), vec![change]))
    }

    fn names(&self) -> Option<Item> {
        let Self { binding, of, .. } = self;
        let others = of.others();
        if !binding.names.is_empty() || binding.field_selector.is_some() || others.len() < FEW {
            return None;
        }
        let needed: BTreeSet<&str> = of.led.iter().map(|place| place.name.as_str()).collect();
        let outside = others.iter().filter(|place| !needed.contains(place.name.as_str())).count();
        if outside < FEW || needed.len() > SOME || of.led_times() < SOME * needed.len() {
            return None;
        }
        let names = words(&needed);
        let reason = format!(
            "all {} of its events that led to something are about {names}; {outside} events of other objects led to nothing",
            of.led_times()
        );
        let change = self.set(&["nameSelector", "matchNames"], json!(needed));
        Some(self.item("nameSelector", format!("only {names}"), reason, outside, vec![change]))
    }

    fn events(&self) -> Option<Item> {
        let idle = |kind: &WatchEventKind| {
            let times = self.of.events.get(kind).copied().unwrap_or_default();
            if times.led == 0 && times.idle >= ENOUGH { times.idle } else { 0 }
        };
        let (left_out, kept): (Vec<_>, Vec<_>) = self.binding.events.iter().copied().partition(|kind| idle(kind) > 0);
        if left_out.is_empty() || kept.is_empty() {
            return None;
        }
        let spares: usize = left_out.iter().map(idle).sum();
        let texts = |kinds: &[WatchEventKind]| kinds.iter().map(|kind| kind.as_str()).collect::<BTreeSet<_>>();
        let reason = format!("all {spares} events {} led to nothing", words(&texts(&left_out)));
        let kept: Vec<_> = kept.iter().map(|kind| kind.as_str()).collect();
        let change = self.set(&["executeHookOnEvent"], json!(kept));
        let advice = format!("only {}", kept.join(", "));
        Some(self.item("executeHookOnEvent", advice, reason, spares, vec![change]))
    }

    fn content(&self, unread: &dyn Fn(&Without) -> bool) -> Option<Item> {
        let (word, what) = if unread(&Without::Content(Content::None)) {
            ("none", "anything of the objects, except their names")
        } else if unread(&Without::Content(Content::Metadata)) {
            ("metadata", "more of the objects than their metadata")
        } else {
            return None;
        };
        let mut changes = vec![self.set(&["content"], word.into())];
        let keep = ["kubernetes", self.index.as_str(), "keepFullObjectsInMemory"];
        if self.document.pointer(&format!("/{}", keep.join("/"))).is_some() {
            changes.push(Change::remove(&keep));
        }
        // Without a filter, changes of what is not kept run the hook no more.
        let quiet = word == "metadata" && self.binding.jq_filter.is_none();
        let spares = self.of.changes.iter().filter(|change| quiet && !change.parts.contains("metadata")).count();
        let reason = format!("without {what}, every run does the same");
        Some(self.item("content", format!("{word} in place of {}", self.kept()), reason, spares, changes))
    }

    fn kept(&self) -> &'static str {
        match self.binding.content {
            Content::Full => "full",
            Content::Metadata => "metadata",
            Content::None => "none",
        }
    }

    /// Changes of parts that the hook does not read run it no more.
    fn filter(&self, unread: &[Probe]) -> Option<Item> {
        let mut parts = Vec::new();
        for probe in unread.iter().filter(|probe| probe.binding == self.binding.name) {
            if let Without::Field(part) | Without::Key(part) = &probe.without {
                parts.push(part.as_str());
            }
        }
        let spares = parts.iter().map(|part| spared(self.of, part)).sum();
        if parts.is_empty() {
            return None;
        }
        let gone: Vec<_> = parts.iter().map(|part| format!(".[{}]", Value::from(*part))).collect();
        let program = match self.binding.jq_filter.as_deref() {
            Some(filter) => format!("({filter}) | del({})", gone.join(", ")),
            None => format!(
                "del({}, .metadata.resourceVersion, .metadata.generation, .metadata.managedFields)",
                gone.join(", ")
            ),
        };
        let reason = format!(
            "without {}, every run does the same, and all {spares} events that changed only that led to nothing",
            words(&parts.iter().copied().collect())
        );
        let change = self.set(&["jqFilter"], program.clone().into());
        Some(self.item("jqFilter", program, reason, spares, vec![change]))
    }
}

fn words(texts: &BTreeSet<&str>) -> String {
    texts.iter().copied().collect::<Vec<_>>().join(", ")
}
