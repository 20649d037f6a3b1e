//! Reads a hook's configuration document (YAML or JSON) into a [`HookSpec`].
//!
//! Finds everything that is wrong with a document before it gives up; ignores nothing.

mod kubernetes;
mod load;
mod policy;
mod print;
mod quantity;
mod reader;
mod scalar;
mod schedule;
mod selector;

use std::fmt;

use serde_json::Value;

use crate::model::{HookName, HookSpec, QueueName, StartupBinding};
pub use print::print;
use reader::{Fields, Reader};
pub use reader::{Problem, ProblemKind};

/// Everything that is wrong with a document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct DocumentError {
    /// At least one, in the document's order.
    pub problems: Vec<Problem>,
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.problems.len();
        write!(f, "the configuration document has {count} error{}", if count == 1 { "" } else { "s" })?;
        self.problems.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
    }
}

/// Reads the document that the hook's `config` returned. `check_filter` says what is wrong with
/// a jq program, if anything is.
pub fn parse(
    hook: &HookName,
    text: &str,
    check_filter: &dyn Fn(&str) -> Result<(), String>,
) -> Result<HookSpec, DocumentError> {
    let reader = Reader::new(check_filter);
    let spec = load::load(text)
        .map_err(|message| reader.wrong("", message))
        .ok()
        .and_then(|value| read_document(hook, &value, &reader));
    match (spec, reader.into_problems()) {
        (Some(spec), problems) if problems.is_empty() => Ok(spec),
        (_, problems) => Err(DocumentError { problems }),
    }
}

fn read_document(hook: &HookName, value: &Value, reader: &Reader<'_>) -> Option<HookSpec> {
    let document = Fields::of(value, "", reader)?;
    if !is_v1(&document) {
        return None;
    }
    document.not_yet("kubernetesValidating", "admission hooks are");
    document.not_yet("kubernetesMutating", "admission hooks are");
    document.not_yet("kubernetesCustomResourceConversion", "conversion hooks are");
    document.not_yet("settings", "rate limits (executionMinInterval, executionBurst) are");
    let retry = document.fields("retry").map(|fields| policy::retry(&fields)).unwrap_or_default();
    let spec = HookSpec {
        name: hook.clone(),
        on_startup: document.integer("onStartup").map(|order| StartupBinding { order, retry }),
        schedules: document.items("schedule").filter_map(|item| schedule::read(&item, hook, retry)).collect(),
        kubernetes: document.items("kubernetes").filter_map(|item| kubernetes::read(&item, hook, retry)).collect(),
        permissions: policy::permissions(&document).into(),
        limits: document.fields("limits").map(|fields| policy::limits(&fields)).unwrap_or_default(),
        concurrency: document.integer_in("concurrency", 1, 1000).and_then(|n| usize::try_from(n).ok()).unwrap_or(1),
        rate: None,
        combine: true,
        failure_events: None,
        warnings: Vec::new(),
    };
    document.finish();
    check_triggers(&spec, reader);
    check_names(&spec, reader);
    check_snapshots(&spec, reader);
    Some(spec)
}

fn is_v1(document: &Fields<'_, '_>) -> bool {
    let version = document.take("configVersion");
    document.check(version.is_some_and(|version| version == "v1"), "configVersion", || match version {
        Some(other) => format!("is {other}; only \"v1\" is known"),
        None => "is missing; documents without it (v0) are not supported, add \"configVersion: v1\"".to_owned(),
    })
}

fn check_triggers(spec: &HookSpec, reader: &Reader<'_>) {
    let none = spec.on_startup.is_none() && spec.schedules.is_empty() && spec.kubernetes.is_empty();
    if none && reader.is_clean() {
        reader.wrong("", "has no binding: add onStartup, schedule or kubernetes");
    }
}

/// Contexts and snapshots are told apart by their binding's name.
fn check_names(spec: &HookSpec, reader: &Reader<'_>) {
    for (i, binding) in spec.kubernetes.iter().enumerate() {
        if let Some(first) = spec.kubernetes.iter().take(i).position(|other| other.name == binding.name) {
            let name = &binding.name;
            let message =
                format!("is \"{name}\", as is that of kubernetes[{first}]; give each binding a name of its own");
            reader.wrong(&format!("kubernetes[{i}].name"), message);
        }
    }
}

/// `includeSnapshotsFrom` must name `kubernetes` bindings.
fn check_snapshots(spec: &HookSpec, reader: &Reader<'_>) {
    let schedules = spec.schedules.iter().map(|binding| &binding.include_snapshots_from);
    let kubernetes = spec.kubernetes.iter().map(|binding| &binding.include_snapshots_from);
    let numbered =
        |kind, lists: Vec<_>| lists.into_iter().enumerate().map(move |(i, names)| (format!("{kind}[{i}]"), names));
    let lists = numbered("schedule", schedules.collect()).chain(numbered("kubernetes", kubernetes.collect()));
    for (path, names) in lists {
        for (i, name) in names.iter().enumerate() {
            if !spec.kubernetes.iter().any(|binding| binding.name == *name) {
                let message = format!("names no kubernetes binding: there is none called \"{name}\"");
                reader.wrong(&format!("{path}.includeSnapshotsFrom[{i}]"), message);
            }
        }
    }
}

/// The queue of a binding: its own choice, or the hook's own.
fn queue(fields: &Fields<'_, '_>, hook: &HookName) -> QueueName {
    match fields.string("queue") {
        Some("") => {
            fields.wrong("queue", "is empty; name a queue or leave it out");
            QueueName::Own(hook.clone())
        }
        Some(name) => QueueName::Shared(name.into()),
        None => QueueName::Own(hook.clone()),
    }
}
