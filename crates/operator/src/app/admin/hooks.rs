//! A hook, and what is known about it, as a view. Pure.

use std::{fmt::Write as _, sync::Arc};

use boathook_core::{
    filter::{BindingStatus, Changes},
    model::{KubernetesBinding, QueueName, ScheduleBinding, StartupBinding},
    queue::HookStats,
};

use crate::{
    admin::views::{BindingKind, BindingView, HookState, HookView, OperationCounts, Operations, RunCounts},
    app::hooks::Hook,
};

/// What is known about a hook that runs.
pub(super) struct Facts<'a> {
    /// What the hook waits for.
    pub missing: Vec<String>,
    /// For each `kubernetes` binding, in the document's order: its status, and why its kind cannot be watched yet.
    pub bindings: Vec<(Arc<BindingStatus>, Option<String>)>,
    pub stats: Option<&'a HookStats>,
    pub runs: RunCounts,
}

/// The view of a hook that runs.
pub(super) fn live(hook: &Hook, facts: Facts<'_>) -> HookView {
    let state = match facts.stats {
        Some(stats) if stats.paused => HookState::Paused,
        _ if facts.missing.is_empty() => HookState::Ready,
        _ => HookState::Pending,
    };
    let spec = &hook.spec;
    let mut bindings: Vec<_> = spec.on_startup.iter().map(startup).collect();
    bindings.extend(spec.schedules.iter().map(schedule));
    let mut statuses = facts.bindings.into_iter();
    bindings.extend(spec.kubernetes.iter().map(|binding| kubernetes(binding, statuses.next())));
    HookView {
        name: spec.name.to_string(),
        digest: Some(hook.component.digest().to_owned()),
        interpreter: hook.component.script().map(|script| script.interpreter.in_full()),
        state,
        reasons: facts.missing,
        warnings: spec.warnings.clone(),
        may: spec.asks().iter().map(ToString::to_string).collect(),
        bindings,
        outstanding: facts.stats.map_or(0, |stats| stats.outstanding),
        runs: facts.runs,
    }
}

/// The view of a hook that does not run.
pub(super) fn quarantined(name: String, reason: String, runs: RunCounts) -> HookView {
    HookView {
        name,
        digest: None,
        interpreter: None,
        state: HookState::Quarantined,
        reasons: vec![reason],
        warnings: Vec::new(),
        may: Vec::new(),
        bindings: Vec::new(),
        outstanding: 0,
        runs,
    }
}

fn binding(name: String, kind: BindingKind, selection: String, queue: &QueueName) -> BindingView {
    BindingView {
        name,
        kind,
        selection,
        queue: queue.to_string(),
        group: None,
        pending: None,
        synchronised: None,
        objects: None,
        bytes: None,
        failing: None,
        late: None,
        filter_errors: None,
        last_error: None,
    }
}

fn startup(spec: &StartupBinding) -> BindingView {
    let selection = format!("order {}", spec.order);
    binding("onStartup".to_owned(), BindingKind::OnStartup, selection, &spec.queue)
}

fn schedule(spec: &ScheduleBinding) -> BindingView {
    let zone = spec.time_zone.as_deref().map(|zone| format!(" {zone}")).unwrap_or_default();
    let selection = format!("{}{zone}", spec.crontab);
    BindingView {
        group: spec.group.as_deref().map(str::to_owned),
        ..binding(spec.name.to_string(), BindingKind::Schedule, selection, &spec.queue)
    }
}

fn kubernetes(spec: &KubernetesBinding, status: Option<(Arc<BindingStatus>, Option<String>)>) -> BindingView {
    let (status, pending) = status.unwrap_or_default();
    BindingView {
        group: spec.group.as_deref().map(str::to_owned),
        pending,
        synchronised: Some(status.is_synchronised()),
        objects: Some(status.objects()),
        bytes: Some(status.bytes()),
        failing: Some(status.failing()),
        late: Some(status.late()),
        filter_errors: Some(status.filter_errors()),
        last_error: status.last_error().map(|error| error.to_string()),
        ..binding(spec.name.to_string(), BindingKind::Kubernetes, selection(spec), &spec.queue)
    }
}

fn selection(spec: &KubernetesBinding) -> String {
    let mut out = match &spec.api_version {
        Some(version) => format!("{version} {}", spec.kind),
        None => spec.kind.clone(),
    };
    let (names, namespaces) = (spec.names.join(","), spec.namespaces.join(","));
    let parts = [
        ("named", Some(names.as_str()).filter(|names| !names.is_empty())),
        ("in", Some(namespaces.as_str()).filter(|names| !names.is_empty())),
        ("in namespaces with", spec.namespace_labels.as_deref()),
        ("with", spec.label_selector.as_deref()),
        ("where", spec.field_selector.as_deref()),
    ];
    for (word, value) in parts {
        if let Some(value) = value {
            // Writing to a String cannot fail.
            let _ = write!(out, " {word} {value}");
        }
    }
    out
}

/// Counts what happened to a binding's objects.
pub(super) fn operations(status: &BindingStatus) -> Operations {
    let Changes { added, modified, deleted } = status.changes();
    Operations { since_start: OperationCounts { count: status.objects(), added, modified, deleted } }
}
